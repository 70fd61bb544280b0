/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Gaussian blur on the CPU: chooses between taps and pyramids for each plane. With regions the
 * whole area is filtered into a picture aside, which is then blended in.
 */
#include "gaussblur.h"

#include <stdlib.h>
#include <string.h>

#include "cpu/blurmap/engine.h"
#include "cpu/blurmap/isolate.h"
#include "cpu/common/memory.h"
#include "cpu/common/parallel.h"
#include "cpu/fir/engine.h"
#include "cpu/gaussblur/sharpen.h"
#include "cpu/pyramid/engine.h"
#include "cpu/regions/blend.h"

/* What filters a plane that has one sigma everywhere. */
typedef enum {
  BY_TAPS,
  BY_TAPS_IF_OPAQUE, /* taps in opaque pictures, else the pyramid */
  BY_PYRAMID,
  BY_SHARPENING, /* sharpening by pyramids; taps for planes that cannot be sharpened so */
} Method;

typedef struct {
  CfVideo video;
  int threads;
  CfBlurField field;
  bool field_changed; /* since the last picture */
  const char *algorithm;

  /* One sigma everywhere. */
  CfGaussblurParams uniform; /* the params that the following members were prepared for */
  bool ready;
  CfCpuFir *fir;
  CfCpuPyramid *pyramid[CF_MAX_PLANES];
  CfCpuSharpen *sharpen[CF_MAX_PLANES];
  Method method[CF_MAX_PLANES];

  CfCpuBlurMap *map;     /* from the first varying sigma on */
  CfCpuIsolate *isolate; /* from the first use of map_isolate on */
  CfPicture aside;       /* the filtered picture; from the first regions on */
  CfCoverage coverage;
} Blur;

/* ---- One sigma everywhere ---- */

static bool is_ready_for(const Blur *blur, const CfGaussblurParams *params)
{
  return blur->ready && blur->uniform.sigma == params->sigma &&
         blur->uniform.sigma_vertical == params->sigma_vertical &&
         blur->uniform.border == params->border;
}

/* In the functions below `x` and `y` are magnitudes of sigma, in samples of the plane. */

static bool prepare_pyramid(Blur *blur, int p, const CfFirPlan *plan, double x, double y,
                            CfStatus *status)
{
  const int bits = cf_format_info(blur->video.format)->bits;
  const bool weighted = plan->plane[p].premultiplied, fast = cf_cpu_fir_is_fast(blur->fir, p);
  CfPyramidFactors across, down;

  if (cf_cpu_pyramid_pays(bits, weighted, fast, x, y, &across, &down))
    blur->method[p] = BY_PYRAMID;
  else if (weighted && cf_cpu_pyramid_pays(bits, weighted, false, x, y, &across, &down))
    blur->method[p] = BY_TAPS_IF_OPAQUE;
  else
    return true;
  cf_cpu_fir_share(blur->fir, p, blur->method[p] == BY_PYRAMID ? CF_FIR_NOTHING : CF_FIR_IF_OPAQUE);
  if (!blur->pyramid[p])
    blur->pyramid[p] = cf_cpu_pyramid_open(&blur->video, p, blur->threads, status);
  if (!blur->pyramid[p])
    return false;
  cf_cpu_pyramid_allow_folding(blur->pyramid[p]);
  return cf_cpu_pyramid_update(blur->pyramid[p], plan, x, y, &across, &down, NULL, status);
}

static bool prepare_sharpening(Blur *blur, int p, const CfFirPlan *plan, double x, double y,
                               CfStatus *status)
{
  const int bits = cf_format_info(blur->video.format)->bits;

  if (!cf_cpu_sharpen_pays(bits, false, x, y))
    return true;
  blur->method[p] = BY_SHARPENING;
  if (!plan->plane[p].premultiplied || cf_cpu_sharpen_pays(bits, true, x, y))
    cf_cpu_fir_share(blur->fir, p, CF_FIR_NOTHING);
  if (!blur->sharpen[p])
    blur->sharpen[p] = cf_cpu_sharpen_open(&blur->video, p, blur->threads, status);
  return blur->sharpen[p] && cf_cpu_sharpen_update(blur->sharpen[p], plan, x, y, status);
}

/* Chooses what filters a plane, and prepares it, except for the taps. */
static bool prepare_plane(Blur *blur, int p, const CfGaussblurParams *params, const CfFirPlan *plan,
                          CfStatus *status)
{
  const CfMapSigmas sigmas = cf_map_sigmas(&blur->video, params, p);
  const double x = sigmas.horizontal[1], y = sigmas.vertical[1];

  blur->method[p] = BY_TAPS;
  cf_cpu_fir_share(blur->fir, p, CF_FIR_WHOLE);
  return params->sigma < 0.0 ? prepare_sharpening(blur, p, plan, x, y, status)
                             : prepare_pyramid(blur, p, plan, x, y, status);
}

static bool prepare_uniform(Blur *blur, const CfGaussblurParams *params, CfStatus *status)
{
  CfFirPlan *plan = cf_cpu_fir_next_plan(blur->fir);

  if (is_ready_for(blur, params))
    return true;
  blur->ready = false;
  if (!cf_fir_plan_gaussblur(plan, &blur->video, params, status))
    return false;
  for (int p = 0; p < plan->planes; p++) {
    if (!prepare_plane(blur, p, params, plan, status))
      return false;
  }
  blur->uniform = *params;
  blur->uniform.map = NULL;
  blur->ready = cf_cpu_fir_commit(blur->fir, status);
  return blur->ready;
}

static void run_uniform(Blur *blur, const CfJob *job, const CfRect rects[CF_MAX_PLANES])
{
  const int planes = cf_format_info(blur->video.format)->planes;
  CfRect left[CF_MAX_PLANES];
  const char *sharpened = NULL;

  memcpy(left, rects, sizeof left);
  for (int p = 0; p < planes; p++) {
    const char *used = blur->method[p] == BY_SHARPENING
                           ? cf_cpu_sharpen_run(blur->sharpen[p], job, rects[p])
                           : NULL;

    if (used)
      left[p] = (CfRect){0};
    if (p == 0)
      sharpened = used;
  }
  const bool opaque = cf_cpu_fir_run_within(blur->fir, job, left);

  blur->algorithm = sharpened ? sharpened : cf_cpu_fir_algorithm(blur->fir);
  for (int p = 0; p < planes; p++) {
    if (blur->method[p] != BY_PYRAMID && (blur->method[p] != BY_TAPS_IF_OPAQUE || opaque))
      continue;
    const char *used = cf_cpu_pyramid_run(blur->pyramid[p], job, rects[p]);
    if (p == 0)
      blur->algorithm = used;
  }
}

/* ---- Sigma by a map or by the sizes of regions ---- */

static bool filter_by_map(Blur *blur, const CfJob *job, const CfRect rects[CF_MAX_PLANES],
                          CfStatus *status)
{
  if (!blur->map)
    blur->map = cf_cpu_blurmap_open(&blur->video, blur->threads, status);
  const CfBlurRows rows = cf_blur_rows(&blur->field, job, &blur->coverage);

  if (!blur->map || !cf_cpu_blurmap_run(blur->map, &rows, blur->field_changed, rects, status))
    return false;
  blur->field_changed = false;
  blur->algorithm = "levels-float";
  return true;
}

static bool filter_isolated(Blur *blur, const CfJob *job, const CfRect rects[CF_MAX_PLANES],
                            CfStatus *status)
{
  const CfBlurRows rows = cf_blur_rows(&blur->field, job, &blur->coverage);

  if (!blur->isolate)
    blur->isolate = cf_cpu_isolate_open(&blur->video, blur->threads, status);
  if (!blur->isolate || !cf_cpu_isolate_run(blur->isolate, &rows, rects, status))
    return false;
  blur->algorithm = "levels-isolated";
  return true;
}

/* ---- Pictures ---- */

static bool filter(Blur *blur, const CfJob *job, CfRect within, CfStatus *status)
{
  CfRect rects[CF_MAX_PLANES];
  CfGaussblurParams uniform;

  for (int p = 0; p < cf_format_info(blur->video.format)->planes; p++)
    rects[p] = cf_plane_rect(&blur->video, p, within);
  if (cf_blur_field_varies(&blur->field, job->regions, &uniform))
    return cf_blur_field_isolates(&blur->field, job->regions)
               ? filter_isolated(blur, job, rects, status)
               : filter_by_map(blur, job, rects, status);
  if (!prepare_uniform(blur, &uniform, status))
    return false;
  run_uniform(blur, job, rects);
  return true;
}

static bool reserve_aside(Blur *blur, CfStatus *status)
{
  for (int p = 0; p < cf_format_info(blur->video.format)->planes; p++) {
    const size_t row = cf_row_bytes(&blur->video, p);

    if (blur->aside.data[p])
      continue;
    blur->aside.stride[p] = (ptrdiff_t)row;
    blur->aside.data[p] = cf_aligned_alloc(row * (size_t)cf_plane_height(&blur->video, p));
    if (!blur->aside.data[p])
      return cf_fail(status, CF_ERROR_NO_MEMORY, "no memory for a filtered picture of %dx%d",
                     blur->video.width, blur->video.height);
  }
  return true;
}

static bool run(void *state, const CfJob *job, CfStatus *status)
{
  Blur *blur = state;
  CfJob aside = *job;

  if (!job->regions)
    return filter(blur, job, (CfRect){0, 0, blur->video.width, blur->video.height}, status);

  if (!reserve_aside(blur, status) ||
      !cf_coverage_set(&blur->coverage, &blur->video, job->regions, status))
    return false;
  aside.destination = blur->aside;
  if (!filter(blur, &aside, blur->coverage.bounds, status))
    return false;
  cf_blend_picture(&blur->coverage, &job->source, &blur->aside, &job->destination, blur->threads);
  return true;
}

/* ---- The engine ---- */

static bool update(void *state, const void *params, CfStatus *status)
{
  Blur *blur = state;
  CfGaussblurParams uniform;

  CfBlurField next = {0};

  cf_blur_field_set(&next, &blur->video, params);
  if (!cf_blur_field_varies(&next, NULL, &uniform) && !prepare_uniform(blur, &uniform, status)) {
    cf_blur_field_clear(&next);
    return false;
  }
  cf_blur_field_clear(&blur->field);
  blur->field = next;
  blur->field_changed = true;
  return true;
}

static const char *algorithm(const void *state)
{
  const Blur *blur = state;

  return blur->algorithm;
}

static void close_state(void *state)
{
  Blur *blur = state;

  if (!blur)
    return;
  for (int p = 0; p < CF_MAX_PLANES; p++) {
    cf_cpu_pyramid_close(blur->pyramid[p]);
    cf_cpu_sharpen_close(blur->sharpen[p]);
    free(blur->aside.data[p]);
  }
  cf_cpu_blurmap_close(blur->map);
  cf_cpu_isolate_close(blur->isolate);
  cf_cpu_fir_close(blur->fir);
  cf_coverage_clear(&blur->coverage);
  cf_blur_field_clear(&blur->field);
  free(blur);
}

static void *open_state(const CfVideo *video, const void *params, const CfOpenOptions *options,
                        CfStatus *status)
{
  Blur *blur = cf_zeroed(sizeof *blur, status);

  if (!blur)
    return NULL;
  blur->video = *video;
  blur->threads = cf_thread_count(options->threads);
  blur->algorithm = "none";
  blur->fir = cf_cpu_fir_open(video, options, status);
  if (!blur->fir || !update(blur, params, status)) {
    close_state(blur);
    return NULL;
  }
  return blur;
}

const CfEngine cf_gaussblur_cpu = {
    .name = "cpu",
    .open = open_state,
    .update = update,
    .run = run,
    .algorithm = algorithm,
    .close = close_state,
    .regions = true,
    .regions_in_place = true,
};
