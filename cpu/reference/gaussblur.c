/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where sigma is the same everywhere, rows and columns are filtered one after the other; otherwise
 * each sample gathers with its own Gaussian. Regions are blended in afterwards.
 */
#include "gaussblur.h"

#include <stdlib.h>

#include "cpu/blurmap/field.h"
#include "cpu/common/memory.h"
#include "cpu/reference/fir.h"
#include "cpu/regions/blend.h"
#include "plan/gaussian.h"

typedef struct {
  CfReferenceFir *fir;
  CfBlurField field;
  void *memory;
  float *m;           /* map values of one row */
  float *weights;     /* of one plane, with map-isolate */
  CfPicture filtered; /* the filtered picture that is blended where regions are */
  double row_tap[CF_GAUSSIAN_MOST_TAPS], column_tap[CF_GAUSSIAN_MOST_TAPS];
  double row_sigma, column_sigma; /* that the taps were computed for */
  const char *algorithm;

  CfCoverage coverage;

  /* The job that is being run. */
  CfBlurRows rows;
  CfMapSigmas sigmas[CF_MAX_PLANES];
  int p, y; /* plane and row of the values in `m` */
} Blur;

/* ---- Gathering ---- */

static CfTaps gaussian(double sigma, double *tap, double *tap_sigma)
{
  const int radius = cf_gaussian_radius(sigma);

  if (*tap_sigma != sigma)
    cf_gaussian_taps(sigma, radius, tap);
  *tap_sigma = sigma;
  return (CfTaps){
      .count = 2 * radius + 1, .anchor = radius, .tap = tap, .sum = 1.0, .magnitude = 1.0};
}

static void taps_at(void *context, int p, int x, int y, CfTaps *row, CfTaps *column)
{
  Blur *blur = context;
  const double *horizontal = blur->sigmas[p].horizontal, *vertical = blur->sigmas[p].vertical;

  if (p != blur->p || y != blur->y)
    cf_blur_row(&blur->rows, p, y, blur->m);
  blur->p = p;
  blur->y = y;

  const double m = (double)blur->m[x];
  *row = gaussian(horizontal[0] + m * (horizontal[1] - horizontal[0]), blur->row_tap,
                  &blur->row_sigma);
  *column = gaussian(vertical[0] + m * (vertical[1] - vertical[0]), blur->column_tap,
                     &blur->column_sigma);
}

static const float *weights(void *context, int p)
{
  Blur *blur = context;
  const CfVideo *video = &blur->fir->video;
  const int width = cf_plane_width(video, p);

  if (!cf_blur_field_isolates(&blur->field, NULL))
    return NULL;
  for (int y = 0; y < cf_plane_height(video, p); y++)
    cf_blur_row(&blur->rows, p, y, blur->weights + (size_t)y * (size_t)width);
  return blur->weights;
}

static bool gather(Blur *blur, const CfJob *job, CfStatus *status)
{
  const CfReferenceTaps taps = {taps_at, weights, blur};

  if (!cf_fir_plan_channels(&blur->fir->plan, &blur->fir->video,
                            (CfBorder)blur->field.params.border, status))
    return false;
  blur->rows = cf_blur_rows(&blur->field, job, &blur->coverage);
  blur->p = blur->y = -1;
  for (int p = 0; p < blur->fir->plan.planes; p++)
    blur->sigmas[p] = cf_blur_field_sigmas(&blur->field, job->regions, p);
  cf_reference_fir_gather(blur->fir, job, &taps);
  blur->algorithm = "gather-double";
  return true;
}

/* ---- Pictures ---- */

static bool filter(Blur *blur, const CfJob *job, CfStatus *status)
{
  CfGaussblurParams uniform;

  if (cf_blur_field_varies(&blur->field, job->regions, &uniform))
    return gather(blur, job, status);
  blur->algorithm = "fir-double";
  return cf_fir_plan_gaussblur(&blur->fir->plan, &blur->fir->video, &uniform, status) &&
         cf_reference_fir_run(blur->fir, job, status);
}

static bool filter_regions(Blur *blur, const CfJob *job, CfStatus *status)
{
  CfJob filtered = *job;

  filtered.destination = blur->filtered;
  if (!cf_coverage_set(&blur->coverage, &blur->fir->video, job->regions, status) ||
      !filter(blur, &filtered, status))
    return false;
  cf_blend_picture(&blur->coverage, &job->source, &blur->filtered, &job->destination, 1);
  return true;
}

/* ---- The engine ---- */

static bool run(void *state, const CfJob *job, CfStatus *status)
{
  return job->regions ? filter_regions(state, job, status) : filter(state, job, status);
}

static bool update(void *state, const void *params, CfStatus *status)
{
  Blur *blur = state;

  cf_blur_field_set(&blur->field, &blur->fir->video, params);
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

  cf_reference_fir_close(blur->fir);
  cf_blur_field_clear(&blur->field);
  cf_coverage_clear(&blur->coverage);
  free(blur->memory);
  free(blur);
}

static void lay_out(CfArena *arena, void *state)
{
  Blur *blur = state;
  const CfVideo *video = &blur->fir->video;
  const size_t width = (size_t)video->width;

  blur->m = cf_arena_take(arena, width * sizeof *blur->m);
  blur->weights = cf_arena_take(arena, width * (size_t)video->height * sizeof *blur->weights);
  for (int p = 0; p < cf_format_info(video->format)->planes; p++) {
    const size_t row = cf_row_bytes(video, p);

    blur->filtered.stride[p] = (ptrdiff_t)row;
    blur->filtered.data[p] = cf_arena_take(arena, row * (size_t)cf_plane_height(video, p));
  }
}

static void *open_state(const CfVideo *video, const void *params, const CfOpenOptions *options,
                        CfStatus *status)
{
  Blur *blur = calloc(1, sizeof *blur);

  if (blur)
    blur->fir = cf_reference_fir_open(video, status);
  if (blur && blur->fir)
    blur->memory = cf_laid_out(lay_out, blur);
  if (!blur || !blur->memory) {
    cf_fail(status, CF_ERROR_NO_MEMORY, "no memory for a filtered picture of %dx%d", video->width,
            video->height);
    if (blur)
      close_state(blur);
    return NULL;
  }
  blur->row_sigma = blur->column_sigma = -1.0;
  blur->algorithm = "none";
  update(blur, params, status);
  return blur;
}

const CfEngine cf_gaussblur_reference = {
    .name = "reference",
    .open = open_state,
    .update = update,
    .run = run,
    .algorithm = algorithm,
    .close = close_state,
    .regions = true,
};
