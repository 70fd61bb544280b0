/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Blur maps: what of a job goes where.
 */
#include "cuda/blurmap/state.cuh"

#include <stdlib.h>
#include <string.h>

namespace
{

/* ---- levels ---- */

bool plan_cells(CfCudaBlurMap *blur, CfStatus *status)
{
  const CfBlurLevels *levels[CF_MAX_PLANES];

  for (int p = 0; p < blur->planes; p++)
    levels[p] = &blur->plane[p].levels;
  return cf_cells_plan(blur->cells, blur->border, levels, status);
}

bool same_sigmas(const CfMapSigmas *a, const CfMapSigmas *b)
{
  return a->horizontal[0] == b->horizontal[0] && a->horizontal[1] == b->horizontal[1] &&
         a->vertical[0] == b->vertical[0] && a->vertical[1] == b->vertical[1];
}

bool is_ready_for(const CfCudaBlurMap *blur, const CfBlurField *field, const CfRegions *regions)
{
  bool ready = blur->ready && blur->border == field->params.border;

  for (int p = 0; ready && p < blur->planes; p++) {
    const CfMapSigmas sigmas = cf_blur_field_sigmas(field, regions, p);
    ready = same_sigmas(&sigmas, &blur->plane[p].sigmas);
  }
  return ready;
}

bool prepare(CfCudaBlurMap *blur, const CfBlurField *field, const CfRegions *regions,
             CfStatus *status)
{
  if (is_ready_for(blur, field, regions))
    return true;
  blur->ready = blur->placed = false;
  blur->border = field->params.border;
  if (!cf::pyramid::plan_channels(&blur->plan, &blur->video, blur->border, status))
    return false;
  blur->in_cells = blur->cells;
  for (int p = 0; p < blur->planes; p++) {
    CfMapPlaneState *plane = &blur->plane[p];

    plane->sigmas = cf_blur_field_sigmas(field, regions, p);
    plane->copy = -1;
    cf_blur_levels(&plane->levels, &plane->sigmas);
    blur->in_cells = blur->in_cells && cf_cells_suit(&blur->video, p, &plane->levels);
    memcpy(plane->table.position, plane->levels.position, sizeof plane->table.position);
    for (int end = 0; end < 2; end++) {
      plane->table.sigma_x[end] = (float)plane->sigmas.horizontal[end];
      plane->table.sigma_y[end] = (float)plane->sigmas.vertical[end];
    }
    for (int i = 0; i < plane->levels.count; i++) {
      if (plane->levels.level[i].horizontal == 0.0 && plane->levels.level[i].vertical == 0.0)
        plane->copy = i;
    }
  }
  if (!(blur->in_cells ? plan_cells(blur, status) : cf_map_describe_levels(blur, status)))
    return false;
  blur->ready = true;
  return true;
}

/* ---- uploads ---- */

bool upload_tables(CfCudaBlurMap *blur, const CfBlurField *field, const CfJob *job,
                   CfStatus *status)
{
  const CfMapMixer mixer = cf_map_mixer(&blur->video, &field->params);

  if (blur->placed && blur->first_row == job->first_row && blur->rows == job->rows)
    return true;
  blur->placed = false;
  for (int p = 0; p < blur->planes; p++) {
    CfMapPlaneState *plane = &blur->plane[p];
    const size_t levels = blur->in_cells ? 0 : (size_t)plane->levels.count;
    const size_t bytes = offsetof(CfMapTable, level) + levels * sizeof plane->table.level[0];

    cf_cell_list_positions(&plane->table, plane->copy, &mixer);
    if (!cf_map_upload(&blur->tables[p], &plane->table, bytes, job->stream, status))
      return false;
  }
  blur->placed = true;
  blur->classified = false;
  blur->first_row = job->first_row;
  blur->rows = job->rows;
  return true;
}

bool upload_values(CfCudaBlurMap *blur, const CfMap *map, void *stream, CfStatus *status)
{
  const size_t bytes =
      (size_t)cf_map_width(map) * (size_t)cf_map_height(map) * sizeof *blur->values;

  if (bytes > blur->values_bytes) {
    cf_device_free(blur->values);
    blur->values_bytes = 0;
    blur->values = (uint16_t *)cf_device_alloc(bytes, status);
    if (!blur->values)
      return false;
    blur->values_bytes = bytes;
  }
  return cf_map_upload(blur->values, cf_map_values(map), bytes, stream, status);
}
/* ---- the tiles ---- */

void describe_plane(const CfCudaBlurMap *blur, const CfBlurField *field, const CfJob *job, int p,
                    CfMapPlane *to)
{
  const CfFormatInfo *format = cf_format_info(blur->video.format);
  const CfFirPlane *filter = &blur->plan.plane[p];
  const CfMapRows rows = cf_map_plane_rows(blur, job, p);

  to->source = job->source.data[p];
  to->destination = job->destination.data[p];
  to->source_stride = job->source.stride[p];
  to->destination_stride = job->destination.stride[p];
  to->width = cf_plane_width(&blur->video, p);
  to->height = cf_plane_height(&blur->video, p);
  to->first = rows.first;
  to->end = rows.end;
  to->channels = format->plane[p].channels;
  to->shift_x = format->plane[p].subsampling_x;
  to->shift_y = format->plane[p].subsampling_y;
  to->alpha = filter->premultiplied ? cf_alpha_channel(&format->plane[p]) : -1;
  for (int c = 0; c < to->channels; c++) {
    to->centre[c] = cf::pyramid::code_centre(format, c == to->alpha);
    to->blank[c] = (float)filter->channel[c].centre;
    to->border[c] = filter->channel[c].border;
    to->padding |= format->plane[p].role[c] == CF_ROLE_PADDING ? 1u << c : 0;
  }
  to->table = &blur->tables[p];
  to->copy = blur->plane[p].copy;
  for (int i = 0; i < blur->plane[p].levels.count; i++) {
    if (blur->plane[p].table.level[i].kind == CF_MAP_DIRECT)
      to->direct[i / 32] |= 1u << i % 32;
  }
  to->shape = cf_map_shape(&blur->video, &field->params, p);
  to->tiles_x = cf_map_tiles_along(to->width);
}

/* Describes a job but for its regions; the number of tiles. */
int describe_job(const CfCudaBlurMap *blur, const CfBlurField *field, const CfJob *job,
                 CfMapJob *to)
{
  const CfFormatInfo *format = cf_format_info(blur->video.format);
  int tiles = 0;

  memset(to, 0, sizeof *to);
  to->planes = blur->planes;
  to->border = blur->border;
  to->shift = format->shift;
  to->max_code = cf_max_code(format);
  to->luma_width = blur->video.width;
  to->luma_height = blur->video.height;
  to->values = blur->values;
  to->levels = blur->tiles;
  memcpy(to->spline, blur->job.spline, sizeof to->spline);
  to->mode = cf_blur_field_is_relative(field, job->regions) ? CF_MAP_NONE : field->params.map_mode;
  for (int p = 0; p < blur->planes; p++) {
    CfMapPlane *plane = &to->plane[p];

    describe_plane(blur, field, job, p, plane);
    plane->first_tile = tiles;
    tiles += plane->tiles_x * cf_map_tiles_along(plane->end - plane->first);
  }
  if (to->mode == CF_MAP_LUMA || to->mode == CF_MAP_ALPHA) {
    to->mixer = cf_map_mixer(&blur->video, &field->params);
    for (int i = 0; i < to->mixer.terms; i++)
      to->of_mixer[i] = to->plane[to->mixer.term[i].plane];
  }
  return tiles;
}

/* Of what tiles load around them. Samples with a Gaussian of their own reach as far along both
 * axes, whatever their levels do. */
void largest_radius(const CfCudaBlurMap *blur, int *x, int *y)
{
  *x = *y = 0;
  for (int p = 0; p < blur->planes; p++) {
    const CfMapPlaneState *plane = &blur->plane[p];

    for (int i = 0; i < plane->levels.count; i++) {
      const CfMapLevel *level = &plane->table.level[i];
      const int own = level->kind == CF_MAP_DIRECT ? kMapDirectRadius : 0;

      if (level->kind == CF_MAP_LARGE)
        continue;
      *x = max(max(level->radius_x, own), *x);
      *y = max(max(level->radius_y, own), *y);
    }
  }
}

bool find_shapes(const CfCudaBlurMap *blur, const CfBlurField *field, const CfJob *job,
                 CfMapJob *work, void **scratch, CfStatus *status)
{
  bool alike;

  *scratch = nullptr;
  if (work->mode != CF_MAP_NONE)
    return true;
  work->relative = (float)field->params.sigma_relative;
  work->largest = (float)cf_blur_field_largest_sigma(field, job->regions, &alike);
  return cf_shape_list_make(&work->list, blur->device, &blur->video, job->regions, job->stream,
                            scratch, status);
}

bool classify_tiles(CfCudaBlurMap *blur, const CfBlurField *field, const CfJob *job,
                    const CfMapJob *work, int tiles, CfStatus *status)
{
  if (blur->classified)
    return true;
  blur->classified = cf_blur_field_is_still(field) && !job->regions;
  return cf_map_classify(work, blur->wide, tiles, job->stream, status);
}

/* With the memory of pyramids. */
bool make_tiles(CfCudaBlurMap *blur, const CfMapMemory *memory, CfMapJob *work, int tiles,
                void *stream, CfStatus *status)
{
  const size_t bytes = memory->columns + memory->rows + memory->coarse;
  int radius_x, radius_y;

  uint8_t *scratch =
      bytes ? (uint8_t *)cf_scratch_take(blur->device, bytes, stream, status) : nullptr;
  if (bytes && !scratch)
    return false;
  work->coarse = (const float *)(scratch + memory->columns + memory->rows);
  largest_radius(blur, &radius_x, &radius_y);
  const bool good = cf_map_make_pyramids(blur, memory, scratch, stream, status) &&
                    cf_map_filter(work, blur->wide, tiles, radius_x, radius_y, stream, status);
  return (!scratch || cf_scratch_give(blur->device, scratch, stream, good ? status : nullptr)) &&
         good;
}

bool run_cells(CfCudaBlurMap *blur, const CfBlurField *field, const CfJob *job,
               const CfMapJob *work, CfStatus *status)
{
  const bool same_map = blur->classified;

  blur->classified = cf_blur_field_is_still(field) && !job->regions;
  return cf_cells_run(blur->cells, work, same_map, job->stream, status);
}

size_t all_tiles(const CfVideo *video)
{
  size_t tiles = 0;

  for (int p = 0; p < cf_format_info(video->format)->planes; p++)
    tiles += (size_t)cf_map_tiles_along(cf_plane_width(video, p)) *
             (size_t)cf_map_tiles_along(cf_plane_height(video, p));
  return tiles;
}

} // namespace

/* ---- the calls ---- */

CfMapRows cf_map_plane_rows(const CfCudaBlurMap *blur, const CfJob *job, int p)
{
  const int shift = cf_format_info(blur->video.format)->plane[p].subsampling_y;
  const int height = cf_plane_height(&blur->video, p);
  const int end = (job->first_row + job->rows + (1 << shift) - 1) >> shift;

  return job->rows == 0 ? CfMapRows{0, height}
                        : CfMapRows{job->first_row >> shift, end < height ? end : height};
}

/* Copies of up to this have left pageable memory when the call returns. */
#define CHUNK_BYTES (64 * 1024)

bool cf_map_upload(void *to, const void *from, size_t bytes, void *stream, CfStatus *status)
{
  for (size_t at = 0; at < bytes; at += CHUNK_BYTES) {
    const size_t count = bytes - at < CHUNK_BYTES ? bytes - at : CHUNK_BYTES;

    if (!cf_cuda_ok(cudaMemcpyAsync((uint8_t *)to + at, (const uint8_t *)from + at, count,
                                    cudaMemcpyHostToDevice, (cudaStream_t)stream),
                    "copying a blur map to the device", status))
      return false;
  }
  return true;
}

CfCudaBlurMap *cf_cuda_blur_map_open(const CfVideo *video, CfDevice *device, CfStatus *status)
{
  CfCudaBlurMap *blur = (CfCudaBlurMap *)calloc(1, sizeof *blur);

  if (!blur) {
    cf_fail(status, CF_ERROR_NO_MEMORY, "no memory for a blur map of %dx%d", video->width,
            video->height);
    return nullptr;
  }
  blur->video = *video;
  blur->device = device;
  blur->wide = cf_sample_bytes(cf_format_info(video->format)) == 2;
  blur->planes = cf_format_info(video->format)->planes;
  blur->tables = (CfMapTable *)cf_device_alloc((size_t)blur->planes * sizeof *blur->tables, status);
  blur->tiles = blur->tables
                    ? (uint4 *)cf_device_alloc(all_tiles(video) * sizeof *blur->tiles, status)
                    : nullptr;
  bool good = blur->tiles;
  if (good && cf_cells_serve(video, device)) {
    blur->cells = cf_cells_open(video, device, status);
    good = blur->cells;
  }
  if (!good) {
    cf_cuda_blur_map_close(blur);
    return nullptr;
  }
  return blur;
}

bool cf_cuda_blur_map_run(CfCudaBlurMap *blur, const CfBlurField *field, bool changed,
                          const CfJob *job, CfStatus *status)
{
  if (!prepare(blur, field, job->regions, status))
    return false;

  if (changed)
    blur->classified = false;
  const CfMapMemory memory = blur->in_cells ? CfMapMemory{} : cf_map_place_pyramids(blur, job);
  if (field->params.map_mode == CF_MAP_FILE && changed &&
      !upload_values(blur, field->params.map, job->stream, status))
    return false;
  if (changed && (field->params.map_mode == CF_MAP_LUMA || field->params.map_mode == CF_MAP_ALPHA))
    blur->placed = false;
  if (!upload_tables(blur, field, job, status))
    return false;

  CfMapJob work;
  const int tiles = describe_job(blur, field, job, &work);
  void *shapes;
  if (!find_shapes(blur, field, job, &work, &shapes, status))
    return false;
  const bool good = blur->in_cells
                        ? run_cells(blur, field, job, &work, status)
                        : classify_tiles(blur, field, job, &work, tiles, status) &&
                              make_tiles(blur, &memory, &work, tiles, job->stream, status);
  return (!shapes || cf_scratch_give(blur->device, shapes, job->stream, good ? status : nullptr)) &&
         good;
}

void cf_cuda_blur_map_close(CfCudaBlurMap *blur)
{
  if (!blur)
    return;
  cf_cells_close(blur->cells);
  cf_device_free(blur->tables);
  cf_device_free(blur->tiles);
  cf_device_free(blur->values);
  cf_fir_plan_free(&blur->plan);
  free(blur);
}
