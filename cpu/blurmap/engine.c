/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpu/blurmap/engine.h"

#include <stdlib.h>

#include "cpu/blurmap/layout.h"
#include "cpu/common/alpha.h"
#include "cpu/common/memory.h"
#include "cpu/common/parallel.h"
#include "plan/int_math.h"

/* ---- Positions ---- */

/* A loop over the rows or the tiles of a plane. */
typedef struct {
  const CfCpuBlurMap *blur;
  const CfBlurPlane *plane;
  const CfJob *job;
  CfRect rect;
  const CfBlurRows *rows;     /* loop over rows only */
  const CfLineFormat *format; /* loop over tiles only */
  int columns;                /* of tiles */
} Work;

static void place_rows(void *context, int first, int end)
{
  const Work *work = context;
  const CfBlurPlane *plane = work->plane;

  for (int y = work->rect.y0 + first; y < work->rect.y0 + end; y++) {
    float *row = plane->position + (size_t)y * (size_t)plane->width;

    cf_blur_row(work->rows, plane->p, y, row);
    cf_blur_positions(&plane->levels, plane->width, row);
  }
}

/* ---- Planes ---- */

static CfRect tile_at(CfRect rect, int columns, int index)
{
  /* Tiles start at multiples of their size, as cf_cpu_pyramid_tile requires. */
  const int x0 =
      rect.x0 / CF_BLUR_TILE_WIDTH * CF_BLUR_TILE_WIDTH + index % columns * CF_BLUR_TILE_WIDTH;
  const int y0 = rect.y0 + index / columns * CF_BLUR_TILE_HEIGHT;

  return (CfRect){x0, y0, cf_min(x0 + CF_BLUR_TILE_WIDTH, rect.x1),
                  cf_min(y0 + CF_BLUR_TILE_HEIGHT, rect.y1)};
}

/* Computes the pyramids of the levels that the rectangle uses: first the fine samples of owners,
 * which levels share, then the coarse samples of each level. */
static void make_levels(const CfBlurPlane *plane, const CfJob *job, bool weighted, CfRect rect)
{
  CfBlurUsed used = {{false}}, owners = {{false}};

  cf_cpu_blurmap_note_used(plane, rect, &used);
  for (int i = 0; i < plane->levels.count; i++) {
    if (used.used[i] && plane->level[i].large)
      owners.used[cf_cpu_blurmap_owner(plane, i)] = true;
  }
  for (int i = 0; i < plane->levels.count; i++) {
    if (owners.used[i])
      cf_cpu_pyramid_make_fine(plane->level[i].pyramid, job, weighted, rect.y0, rect.y1);
  }
  for (int i = 0; i < plane->levels.count; i++) {
    if (used.used[i] && plane->level[i].large)
      cf_cpu_pyramid_make_coarse(plane->level[i].pyramid, rect.y0, rect.y1);
  }
}

static void run_tiles(void *context, int first, int end)
{
  const Work *work = context;

  for (int i = first; i < end; i++)
    cf_cpu_blurmap_tile(work->blur, work->plane, work->format, work->job,
                        tile_at(work->rect, work->columns, i));
}

static void run_plane(const CfCpuBlurMap *blur, const CfBlurPlane *plane, const CfJob *job,
                      CfRect rect)
{
  const bool weighted = blur->plan.plane[plane->p].premultiplied &&
                        !cf_plane_is_opaque(&blur->video, plane->p, &job->source);
  const int left = rect.x0 / CF_BLUR_TILE_WIDTH * CF_BLUR_TILE_WIDTH;
  const int columns = (rect.x1 - left + CF_BLUR_TILE_WIDTH - 1) / CF_BLUR_TILE_WIDTH;
  const int rows = (rect.y1 - rect.y0 + CF_BLUR_TILE_HEIGHT - 1) / CF_BLUR_TILE_HEIGHT;

  Work work = {.blur = blur,
               .plane = plane,
               .job = job,
               .rect = rect,
               .format = weighted ? &plane->weighted : &plane->straight,
               .columns = columns};

  make_levels(plane, job, weighted, rect);
  cf_parallel_for(blur->threads, columns * rows, 1, run_tiles, &work);
}

bool cf_cpu_blurmap_run(CfCpuBlurMap *blur, const CfBlurRows *rows, bool changed,
                        const CfRect rects[CF_MAX_PLANES], CfStatus *status)
{
  const CfJob *job = rows->job;
  const bool still = cf_blur_field_is_still(rows->field) && !job->regions;

  if (!cf_cpu_blurmap_prepare(blur, rows->field, job->regions, status))
    return false;
  for (int p = 0; p < blur->plan.planes; p++) {
    CfBlurPlane *plane = &blur->plane[p];

    if (cf_rect_is_empty(rects[p]))
      continue;

    Work work = {.blur = blur, .plane = plane, .job = job, .rect = rects[p], .rows = rows};
    if (changed || !still || !plane->placed)
      cf_parallel_evenly(blur->threads, rects[p].y1 - rects[p].y0, place_rows, &work);
    plane->placed = still;
    run_plane(blur, plane, job, rects[p]);
  }
  return true;
}

/* ---- State ---- */

static bool open_plane(const CfCpuBlurMap *blur, int p, CfBlurPlane *plane)
{
  const CfFormatInfo *info = cf_format_info(blur->video.format);

  plane->p = p;
  plane->width = cf_plane_width(&blur->video, p);
  plane->height = cf_plane_height(&blur->video, p);
  plane->channels = info->plane[p].channels;
  plane->bytes = cf_sample_bytes(info);
  plane->position =
      cf_aligned_alloc((size_t)plane->width * (size_t)plane->height * sizeof *plane->position);
  return plane->position != NULL;
}

CfCpuBlurMap *cf_cpu_blurmap_open(const CfVideo *video, int threads, CfStatus *status)
{
  CfCpuBlurMap *blur = calloc(1, sizeof *blur);
  bool good = blur != NULL;

  if (blur) {
    blur->video = *video;
    blur->threads = threads;
  }
  for (int p = 0; good && p < cf_format_info(video->format)->planes; p++)
    good = open_plane(blur, p, &blur->plane[p]);
  if (!good) {
    cf_cpu_blurmap_close(blur);
    cf_fail(status, CF_ERROR_NO_MEMORY, "no memory for a blur map of %dx%d", video->width,
            video->height);
    return NULL;
  }
  return blur;
}

void cf_cpu_blurmap_close(CfCpuBlurMap *blur)
{
  if (!blur)
    return;
  for (int p = 0; p < CF_MAX_PLANES; p++) {
    for (int i = 0; i < CF_BLUR_LEVELS; i++)
      cf_cpu_pyramid_close(blur->plane[p].level[i].pyramid);
    free(blur->plane[p].position);
    free(blur->plane[p].tables.base);
  }
  cf_fir_plan_free(&blur->plan);
  free(blur->scratch.base);
  free(blur);
}
