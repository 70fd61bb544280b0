/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The blur: of one sigma by its taps while they are few, else by a pyramid; of varying sigma by
 * levels. With regions a picture is filtered aside and composed.
 */
#include "cuda/blurmap/engine.cuh"
#include "cuda/regions/blend.cuh"
#include "cuda/fir/engine.cuh"
#include "cuda/pyramid/fp32.cuh"
#include "cuda/pyramid/u8mma.cuh"

#include <stdlib.h>

namespace
{

typedef struct {
  CfVideo video;
  CfDevice *device;
  CfBlurField field;
  bool field_changed; /* since it was last blurred by */
  const char *algorithm;

  /* The same sigma everywhere. */
  CfGaussblurParams uniform; /* what one of these is ready for */
  bool ready;
  enum { TAPS, PYRAMID, BYTE_PYRAMID } way;
  void *fir;
  CfCudaPyramid *pyramid;
  CfCudaBytePyramid *byte_pyramid;

  CfCudaBlurMap *map; /* once sigma varied */
} Blur;

bool plan(CfFirPlan *plan, const CfVideo *video, const void *params, CfStatus *status)
{
  return cf_fir_plan_gaussblur(plan, video, (const CfGaussblurParams *)params, status);
}

/* ---- the same sigma everywhere ---- */

bool is_ready_for(const Blur *blur, const CfGaussblurParams *params)
{
  return blur->ready && blur->uniform.sigma == params->sigma &&
         blur->uniform.sigma_vertical == params->sigma_vertical &&
         blur->uniform.border == params->border;
}

/* From where on the taps take longer on an H200, at 3840x2160: of opaque RGBA up to sigma 10 they
 * take 50 us, at 12 54 and at 14 62, and the pyramid 52, from 16 on 43. Where pixels are
 * transparent the pyramid is faster before that, 89 for 138 at 10, but which pictures are is not
 * known until they are read, and one sigma must not change its rounding from frame to frame. GRAY8
 * takes 28 by taps at 14 and 34 by the pyramid, below 16 also because D is 4 there. */
#define LARGEST_PIXEL_TAPS_SIGMA 10.0
#define SMALLEST_BYTE_SIGMA      16.0

/* Of the two pyramids this one is faster wherever it can be used: RGBA at 9 along rows and 24 along
 * columns takes 52 us, of the other 87. */
bool byte_pyramid_pays(const Blur *blur, const CfGaussblurParams *params)
{
  const CfFormatInfo *format = cf_format_info(blur->video.format);
  const bool pays = format->plane[0].channels == 4 ? params->sigma > LARGEST_PIXEL_TAPS_SIGMA
                                                   : params->sigma >= SMALLEST_BYTE_SIGMA;

  return (pays || cf_cuda_pyramid_pays(&blur->video, params)) &&
         cf_cuda_byte_pyramid_can(&blur->video, blur->device, params);
}

bool prepare_uniform(Blur *blur, const CfGaussblurParams *params, CfStatus *status)
{
  bool good;

  if (is_ready_for(blur, params))
    return true;
  const auto way = byte_pyramid_pays(blur, params)              ? Blur::BYTE_PYRAMID
                   : cf_cuda_pyramid_pays(&blur->video, params) ? Blur::PYRAMID
                                                                : Blur::TAPS;
  if (way == Blur::BYTE_PYRAMID)
    good = cf_cuda_byte_pyramid_update(blur->byte_pyramid, params, status);
  else if (way == Blur::PYRAMID)
    good = cf_cuda_pyramid_update(blur->pyramid, params, status);
  else
    good = cf_fir_update(blur->fir, params, status);
  if (!good)
    return false;
  blur->way = way;
  blur->uniform = *params;
  blur->ready = true;
  return true;
}

bool run_uniform(Blur *blur, const CfJob *job, CfStatus *status)
{
  blur->algorithm = blur->way == Blur::TAPS ? cf_fir_algorithm(blur->fir) : "pyramid";
  return blur->way == Blur::BYTE_PYRAMID ? cf_cuda_byte_pyramid_run(blur->byte_pyramid, job, status)
         : blur->way == Blur::PYRAMID    ? cf_cuda_pyramid_run(blur->pyramid, job, status)
                                         : cf_fir_run(blur->fir, job, status);
}

/* ---- pictures ---- */

bool filter_by_map(Blur *blur, const CfJob *job, CfStatus *status)
{
  if (!blur->map)
    blur->map = cf_cuda_blur_map_open(&blur->video, blur->device, status);
  if (!blur->map ||
      !cf_cuda_blur_map_run(blur->map, &blur->field, blur->field_changed, job, status))
    return false;
  blur->field_changed = false;
  blur->algorithm = "levels";
  return true;
}

bool filter(Blur *blur, const CfJob *job, CfStatus *status)
{
  CfGaussblurParams uniform;

  if (cf_blur_field_varies(&blur->field, job->regions, &uniform))
    return filter_by_map(blur, job, status);
  return prepare_uniform(blur, &uniform, status) && run_uniform(blur, job, status);
}

/* ---- regions ---- */

#define ALIGNMENT 256

size_t aside_stride(const CfVideo *video, int p)
{
  return (cf_row_bytes(video, p) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

size_t aside_bytes(const CfVideo *video)
{
  size_t bytes = 0;

  for (int p = 0; p < cf_format_info(video->format)->planes; p++)
    bytes += aside_stride(video, p) * (size_t)cf_plane_height(video, p);
  return bytes;
}

CfPicture aside_picture(const CfVideo *video, uint8_t *memory)
{
  CfPicture picture = {};

  for (int p = 0; p < cf_format_info(video->format)->planes; p++) {
    picture.data[p] = memory;
    picture.stride[p] = (ptrdiff_t)aside_stride(video, p);
    memory += aside_stride(video, p) * (size_t)cf_plane_height(video, p);
  }
  return picture;
}

/* Filters the rows that the regions touch. */
bool filter_aside(Blur *blur, const CfJob *job, CfRect bounds, const CfPicture *aside,
                  CfStatus *status)
{
  CfJob work = *job;

  if (cf_rect_is_empty(bounds))
    return true;
  work.destination = *aside;
  work.first_row = bounds.y0 / 2 * 2;
  work.rows = (bounds.y1 + 1) / 2 * 2 - work.first_row;
  if (work.first_row + work.rows > blur->video.height)
    work.rows = blur->video.height - work.first_row;
  return filter(blur, &work, status);
}

bool run_regions(Blur *blur, const CfJob *job, CfStatus *status)
{
  const CfRect bounds = cf_coverage_bounds(&blur->video, job->regions);
  uint8_t *memory =
      (uint8_t *)cf_scratch_take(blur->device, aside_bytes(&blur->video), job->stream, status);

  if (!memory)
    return false;
  const CfPicture aside = aside_picture(&blur->video, memory);
  const bool good = filter_aside(blur, job, bounds, &aside, status) &&
                    cf_cuda_compose(blur->device, &blur->video, job->regions, &job->source, &aside,
                                    &job->destination, job->stream, status);
  return cf_scratch_give(blur->device, memory, job->stream, good ? status : nullptr) && good;
}

bool run(void *state, const CfJob *job, CfStatus *status)
{
  Blur *blur = (Blur *)state;

  if (!cf_refuse_capture(job->stream, status))
    return false;
  return job->regions ? run_regions(blur, job, status) : filter(blur, job, status);
}

/* ---- the engine ---- */

bool update(void *state, const void *values, CfStatus *status)
{
  Blur *blur = (Blur *)state;
  CfBlurField next = {};
  CfGaussblurParams uniform;

  cf_blur_field_set(&next, &blur->video, (const CfGaussblurParams *)values);
  if (!cf_blur_field_varies(&next, nullptr, &uniform) && !prepare_uniform(blur, &uniform, status)) {
    cf_blur_field_clear(&next);
    return false;
  }
  cf_blur_field_clear(&blur->field);
  blur->field = next;
  blur->field_changed = true;
  return true;
}

void close_state(void *state)
{
  Blur *blur = (Blur *)state;

  if (!blur)
    return;
  cf_fir_close(blur->fir);
  cf_cuda_pyramid_close(blur->pyramid);
  cf_cuda_byte_pyramid_close(blur->byte_pyramid);
  cf_cuda_blur_map_close(blur->map);
  cf_blur_field_clear(&blur->field);
  free(blur);
}

void *open_state(const CfVideo *video, const void *params, const CfOpenOptions *options,
                 CfStatus *status)
{
  CfGaussblurParams short_taps = {};
  Blur *blur = (Blur *)calloc(1, sizeof *blur);

  if (!blur) {
    cf_fail(status, CF_ERROR_NO_MEMORY, "no memory for a blur");
    return nullptr;
  }
  short_taps.sigma = 1.0;
  short_taps.sigma_vertical = -1.0;
  blur->video = *video;
  blur->device = options->device;
  blur->algorithm = "none";
  blur->fir = cf_fir_open(video, &short_taps, options, plan, status);
  blur->pyramid = blur->fir ? cf_cuda_pyramid_open(video, options->device, status) : nullptr;
  blur->byte_pyramid =
      blur->pyramid ? cf_cuda_byte_pyramid_open(video, options->device, status) : nullptr;
  if (!blur->byte_pyramid || !update(blur, params, status)) {
    close_state(blur);
    return nullptr;
  }
  return blur;
}

const char *algorithm(const void *state)
{
  const Blur *blur = (const Blur *)state;

  return blur->algorithm;
}

int halo(const void *state)
{
  const Blur *blur = (const Blur *)state;
  CfGaussblurParams uniform;

  /* With sigma-relative the taps may still be those of a region. */
  if (blur->field.params.sigma_relative > 0.0 ||
      cf_blur_field_varies(&blur->field, nullptr, &uniform))
    return -1;
  return blur->way == Blur::BYTE_PYRAMID ? cf_cuda_byte_pyramid_halo(blur->byte_pyramid)
         : blur->way == Blur::PYRAMID    ? cf_cuda_pyramid_halo(blur->pyramid)
                                         : cf_fir_halo(blur->fir);
}

} // namespace

extern "C" const CfEngine cf_gaussblur_cuda = {
    "cuda", true, false, open_state, update, run, algorithm, close_state, true, halo,
};
