/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cuda/pyramid/fp32.h"
#include "cuda/common/int_math.cuh"
#include "cuda/pyramid/tuning.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

namespace cf::pyramid
{

struct Fp32Pyramid {
  CfVideo video;
  CfDevice *device;
  bool wide;   /* samples of 16 bits */
  Fp32Job job; /* but for pointers, strides and what depends on the band */
};

namespace
{

/* Rows of scratch memory start at multiples of what whole warps write. */
constexpr int kPitchElements = 32;

/* ---- describing the planes ---- */

void describe_axis(Fp32Axis *to, const CfPyramidAxis *axis, CfBorder border)
{
  memset(to, 0, sizeof *to);
  to->factor = axis->factor;
  to->size = axis->size;
  to->border = border;
  to->prefilter_first = axis->prefilter_first;
  to->taps_first = axis->low_first;
  to->taps_count = axis->low_count;
  to->taps_groups = div_up(axis->low_count + 3, 4);
  to->stored_first = axis->made_first;
  to->stored_end = axis->made_first + axis->made_count;
  to->coarse_first = axis->coarse_first;
  to->coarse_end = axis->coarse_first + axis->coarse_count;
  to->halo = cf_pyramid_halo(axis, border);
  for (int i = 0; i < axis->low_count; i++)
    to->taps[i] = (float)axis->low[i];
}

void place_tables(Fp32Job *job, const CfPyramidAxis *axis)
{
  float *prefilter = job->prefilter[factor_log2(axis->factor)];
  float *spline = job->spline[factor_log2(axis->factor)];

  for (int i = 0; i < axis->prefilter_count; i++)
    prefilter[i] = (float)axis->prefilter[i];
  for (int i = 0; i < 4 * axis->factor; i++)
    spline[i] = (float)axis->spline[i];
}

bool axis_fits(const CfPyramidAxis *axis, bool wide)
{
  const int span = wide ? kPrefilterSpan16 : kPrefilterSpan8;

  return axis->factor <= kFp32MaxFactor && axis->prefilter_count <= span * axis->factor &&
         axis->low_count + 10 <= kFp32MaxTaps;
}

void describe_plane(Fp32Plane *plane, const CfVideo *video, int p, const CfFirPlan *plan)
{
  const CfFormatInfo *format = cf_format_info(video->format);
  const CfFirPlane *filter = &plan->plane[p];

  memset(plane, 0, sizeof *plane);
  plane->width = cf_plane_width(video, p);
  plane->height = cf_plane_height(video, p);
  plane->channels = format->plane[p].channels;
  plane->samples = plane->width * plane->channels;
  plane->alpha = filter->premultiplied ? cf_alpha_channel(&format->plane[p]) : -1;
  plane->shift = format->shift;
  plane->max_code = cf_max_code(format);
  for (int i = 0; i < 12; i++) {
    const int channel = i % plane->channels;

    plane->border[i] = (uint16_t)(filter->channel[channel].border << format->shift);
    if (i < 4) {
      plane->centre[i] = code_centre(format, channel == plane->alpha);
      plane->transparent_code[i] = (float)filter->channel[channel].centre;
    }
  }
}

/* The longest segment whose CTA has enough shared memory. */
int choose_segment(const Fp32Axis *axis, bool wide)
{
  const int coarse = axis->coarse_end - axis->coarse_first;
  int segments = 1, segment;

  do {
    segment = round_up(div_up(coarse, segments), 4);
    segments++;
  } while (segment > 4 &&
           fp32_horizontal_shared_bytes(axis, wide, segment) > kFp32HorizontalSharedBytes);
  return segment;
}

/* ---- a job's geometry ---- */

int words(const Fp32Plane *plane)
{
  return div_up(plane->samples, 4);
}

/* Where the intermediate samples lie; with a NULL base only counts their bytes. */
size_t place_memory(Fp32Pyramid *pyramid, uint8_t *base)
{
  size_t used = 0;

  for (int p = 0; p < pyramid->job.planes; p++) {
    Fp32Plane *plane = &pyramid->job.plane[p];

    plane->decimated_y = base + used;
    used += fp32_decimated_y_bytes(plane, pyramid->wide);
    plane->coarse_x = (float *)(base + used);
    used += fp32_coarse_x_bytes(plane);
    plane->coarse = (float *)(base + used);
    used += fp32_coarse_bytes(plane);
  }
  return used;
}

void place_job(Fp32Pyramid *pyramid, const CfJob *job)
{
  for (int p = 0; p < pyramid->job.planes; p++) {
    Fp32Plane *plane = &pyramid->job.plane[p];

    fp32_place_picture(plane, p, job, pyramid->wide);
    fp32_place_rows(plane, cf_job_plane_rows(&pyramid->video, p, job),
                    cf_job_readable_rows(&pyramid->video, p, job, plane->y.halo));
  }
}

bool has_one_gray_plane(const CfFormatInfo *format)
{
  return format->planes == 1 && format->plane[0].channels == 1;
}

} // namespace

/* ---- parts ---- */

void plane_sigmas(const CfVideo *video, int p, const CfGaussblurParams *params, double sigma[2])
{
  const CfPlaneFormat *plane = &cf_format_info(video->format)->plane[p];
  const double vertical = params->sigma_vertical < 0.0 ? params->sigma : params->sigma_vertical;

  sigma[0] = ldexp(params->sigma, -plane->subsampling_x);
  sigma[1] = ldexp(vertical, -plane->subsampling_y);
}

float code_centre(const CfFormatInfo *format, bool alpha)
{
  return (float)(alpha ? cf_max_code(format) : (cf_max_code(format) + 1) / 2);
}

bool plan_channels(CfFirPlan *plan, const CfVideo *video, int border, CfStatus *status)
{
  /* Any blur tells what happens to the channels. */
  CfGaussblurParams some = {};

  some.sigma = 1.0;
  some.sigma_vertical = -1.0;
  some.border = border;
  return cf_fir_plan_gaussblur(plan, video, &some, status);
}

void fp32_place_rows(Fp32Plane *plane, CfPlaneRows made, CfPlaneRows readable)
{
  const Fp32Axis *y = &plane->y;
  const int reach = y->factor > 1 ? 2 : 0;

  plane->first = made.first;
  plane->end = made.end;
  plane->readable_first = readable.first;
  plane->readable_end = readable.end;
  plane->coarse_first = clamp(made.first / y->factor - reach, y->coarse_first, y->coarse_end - 1);
  plane->coarse_end =
      clamp((made.end - 1) / y->factor + reach + 1, y->coarse_first + 1, y->coarse_end);
  plane->fine_first =
      clamp(plane->coarse_first + y->taps_first, y->stored_first, y->stored_end - 1);
  plane->fine_end = clamp(plane->coarse_end - 1 + y->taps_first + y->taps_count,
                          plane->fine_first + 1, y->stored_end);
  plane->decimated_y_rows = plane->fine_end - plane->fine_first;
}

void fp32_place_picture(Fp32Plane *plane, int p, const CfJob *job, bool wide)
{
  plane->source = job->source.data[p];
  plane->source_stride = job->source.stride[p];
  plane->destination = job->destination.data[p];
  plane->destination_stride = job->destination.stride[p];
  plane->vector = ((uintptr_t)plane->source | (uintptr_t)plane->source_stride |
                   (uintptr_t)plane->destination | (uintptr_t)plane->destination_stride) %
                      (wide ? 8 : 4) ==
                  0;
}

bool fp32_describe(Fp32Job *job, const CfVideo *video, int p, const CfFirPlan *plan,
                   const double sigma[2], const CfPyramidFactors factors[2], CfStatus *status)
{
  const bool wide = cf_sample_bytes(cf_format_info(video->format)) == 2;
  Fp32Plane *plane = &job->plane[job->planes];
  CfPyramidAxis x = {}, y = {};

  describe_plane(plane, video, p, plan);
  bool good = cf_pyramid_axis(&x, sigma[0], plane->width, plan->border, &factors[0], status) &&
              cf_pyramid_axis(&y, sigma[1], plane->height, plan->border, &factors[1], status);
  if (good && !(axis_fits(&x, wide) && axis_fits(&y, wide)))
    good = cf_fail(status, CF_ERROR_INVALID, "no blur pyramid on the GPU for sigmas of %g and %g",
                   sigma[0], sigma[1]);
  if (good) {
    const CfPlaneRows all = {0, plane->height};

    describe_axis(&plane->x, &x, plan->border);
    describe_axis(&plane->y, &y, plan->border);
    plane->segment = choose_segment(&plane->x, wide);
    plane->horizontal_rows = plane->coarse_filter_eights = 1;
    plane->decimated_y_pitch = round_up(plane->width, kPitchElements);
    plane->coarse_x_pitch = round_up(x.coarse_count + 4, kPitchElements);
    fp32_place_rows(plane, all, all);
    place_tables(job, &x);
    place_tables(job, &y);
    job->planes++;
  }
  cf_pyramid_axis_free(&x);
  cf_pyramid_axis_free(&y);
  return good;
}

Fp32LaunchPlan fp32_plan_launches(Fp32Job *job, bool wide, const CfDevice *device)
{
  Fp32LaunchPlan plan = {};
  double work = 0.0;

  plan.wide = wide;
  job->overlaps = device->code >= 90;

  /* The CTAs of one wave that decimates along columns, shared between the planes. */
  for (int p = 0; p < job->planes; p++)
    work +=
        (double)div_up(words(&job->plane[p]), kThreads) * (job->plane[p].end - job->plane[p].first);
  for (int p = 0; p < job->planes; p++) {
    Fp32Plane *plane = &job->plane[p];
    const int across = div_up(words(plane), kThreads);
    const int fine = plane->fine_end - plane->fine_first;
    const int coarse_columns = plane->x.coarse_end - plane->x.coarse_first;
    const int coarse_rows = plane->coarse_end - first_eight(*plane);
    const double share = (plane->end - plane->first) / work;
    const int waves = plane->need ? kFp32VerticalWavesOfMaps : 1;
    const int strips = clamp(
        (int)(device->info.multiprocessors * kFp32VerticalCtasPerSm * waves * share), 1, fine);
    const int bytes = fp32_horizontal_shared_bytes(&plane->x, wide, plane->segment);

    plane->strip = larger(div_up(fine, strips), kFp32LeastStrip);
    plane->vertical_first_cta = plan.vertical_ctas;
    plane->horizontal_first_cta = plan.horizontal_ctas;
    plane->coarse_filter_first_cta = plan.coarse_filter_ctas;
    plane->upsample_first_cta = plan.upsample_ctas;
    plan.vertical_ctas += across * div_up(fine, plane->strip);
    plan.horizontal_ctas += div_up(coarse_columns, plane->segment) *
                            div_up(fine, plane->horizontal_rows) * plane->channels;
    plan.coarse_filter_ctas +=
        div_up(coarse_columns, kCoarseFilterColumns) *
        div_up(coarse_rows, kCoarseFilterRows * plane->coarse_filter_eights) * plane->channels;
    plan.upsample_ctas += across * (div_up(plane->end, kFp32UpsampleStripRows) -
                                    plane->first / kFp32UpsampleStripRows);
    plan.horizontal_shared_bytes = larger(plan.horizontal_shared_bytes, bytes);
  }
  return plan;
}

size_t fp32_decimated_y_bytes(const Fp32Plane *plane, bool wide)
{
  return scratch_bytes((size_t)plane->decimated_y_rows * plane->channels *
                       plane->decimated_y_pitch * (wide ? sizeof(float) : sizeof(uint16_t)));
}

size_t fp32_coarse_x_bytes(const Fp32Plane *plane)
{
  return scratch_bytes((size_t)(plane->fine_end - plane->fine_first) * plane->channels *
                       plane->coarse_x_pitch * sizeof(float));
}

size_t fp32_coarse_bytes(const Fp32Plane *plane)
{
  return scratch_bytes((size_t)(plane->coarse_end - plane->coarse_first) *
                       (plane->x.coarse_end - plane->x.coarse_first) * plane->channels *
                       sizeof(float));
}

/* ---- the calls ---- */

bool fp32_serves(const CfVideo *video, const CfGaussblurParams *params)
{
  double sigma[2];

  plane_sigmas(video, 0, params, sigma);
  return params->sigma >= 0.0 &&
         cf_pyramid_factor(fmax(sigma[0], sigma[1]), cf_format_info(video->format)->bits, false,
                           kFp32MaxFactor) > 1;
}

/* Where taps are not for tensor cores they take far longer. */
bool fp32_pays(const CfVideo *video, const CfDevice *device, const CfGaussblurParams *params)
{
  const CfFormatInfo *format = cf_format_info(video->format);
  const bool slow_taps = format->bits > 10 || (format->bits > 8 && device->code < 80);
  const double least = slow_taps                    ? 0.0
                       : has_one_gray_plane(format) ? kFp32LeastSigmaGray
                                                    : kFp32LeastSigma;

  return fp32_serves(video, params) && fmax(params->sigma, params->sigma_vertical) >= least;
}

Fp32Pyramid *fp32_open(const CfVideo *video, CfDevice *device, CfStatus *status)
{
  Fp32Pyramid *pyramid = (Fp32Pyramid *)calloc(1, sizeof *pyramid);

  if (!pyramid) {
    cf_fail(status, CF_ERROR_NO_MEMORY, "no memory for a blur pyramid");
    return nullptr;
  }
  pyramid->video = *video;
  pyramid->device = device;
  pyramid->wide = cf_sample_bytes(cf_format_info(video->format)) == 2;
  return pyramid;
}

bool fp32_update(Fp32Pyramid *pyramid, const CfGaussblurParams *params, CfStatus *status)
{
  const CfFormatInfo *format = cf_format_info(pyramid->video.format);
  Fp32Job *next = (Fp32Job *)calloc(1, sizeof *next);
  CfFirPlan plan = {};

  if (!next)
    return cf_fail(status, CF_ERROR_NO_MEMORY, "no memory for a blur pyramid");
  bool good = plan_channels(&plan, &pyramid->video, params->border, status);
  for (int p = 0; good && p < format->planes; p++) {
    double sigma[2];

    plane_sigmas(&pyramid->video, p, params, sigma);
    const CfPyramidFactors factors[2] = {
        cf_pyramid_factors(sigma[0], format->bits, false, &kFp32Limits),
        cf_pyramid_factors(sigma[1], format->bits, false, &kFp32Limits)};

    good = fp32_describe(next, &pyramid->video, p, &plan, sigma, factors, status);
  }
  if (good)
    pyramid->job = *next;
  cf_fir_plan_free(&plan);
  free(next);
  return good;
}

bool fp32_run(Fp32Pyramid *pyramid, const CfJob *job, CfStatus *status)
{
  const Fp32Job *work = &pyramid->job;

  place_job(pyramid, job);
  const Fp32LaunchPlan plan = fp32_plan_launches(&pyramid->job, pyramid->wide, pyramid->device);
  void *scratch =
      cf_scratch_take(pyramid->device, place_memory(pyramid, nullptr), job->stream, status);
  if (!scratch)
    return false;
  place_memory(pyramid, (uint8_t *)scratch);

  const bool good = fp32_decimate_vertical(work, plan, job->stream, status) &&
                    fp32_decimate_horizontal(work, plan, job->stream, status) &&
                    fp32_coarse_filter(work, plan, job->stream, status) &&
                    fp32_upsample(work, plan, job->stream, status);
  return cf_scratch_give(pyramid->device, scratch, job->stream, good ? status : nullptr) && good;
}

int fp32_halo(const Fp32Pyramid *pyramid)
{
  int halo[CF_MAX_PLANES];

  for (int p = 0; p < pyramid->job.planes; p++)
    halo[p] = pyramid->job.plane[p].y.halo;
  return cf_luma_halo(&pyramid->video, halo);
}

void fp32_close(Fp32Pyramid *pyramid)
{
  free(pyramid);
}

} // namespace cf::pyramid
