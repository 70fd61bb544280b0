/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The fp32 pyramid on the host: describes planes and axes, divides them among CTAs, launches.
 */
#include "cuda/pyramid/fp32.h"
#include "cuda/common/int_math.cuh"
#include "cuda/pyramid/tuning.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

namespace cf::pyramid
{

namespace
{

constexpr int kPitchElements = 32; /* rows of scratch memory start at multiples of a warp's lanes */

bool is_wide(const CfVideo *video)
{
  return cf_sample_bytes(cf_format_info(video->format)) == 2;
}

bool has_one_gray_plane(const CfFormatInfo *format)
{
  return format->planes == 1 && format->plane[0].channels == 1;
}

/* ---- describing the planes ---- */

void describe_taps(Fp32Axis *to, const CfPyramidAxis *axis, CfBorder border)
{
  describe_axis(to, axis, border);
  to->taps_groups = div_up(axis->coarse_taps_count + 3, 4);
  for (int i = 0; i < axis->coarse_taps_count; i++)
    to->taps[i] = (float)axis->coarse_taps[i];
}

void set_tables(Fp32Job *job, const CfPyramidAxis *axis)
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
         axis->coarse_taps_count + 10 <= kFp32MaxTaps;
}

void describe_samples(Fp32Plane *plane, const CfVideo *video, int p, const CfFirPlane *filter)
{
  const CfFormatInfo *format = cf_format_info(video->format);

  *plane = {};
  describe_plane(plane, video, p, filter);
  plane->samples = plane->width * plane->channels;
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

/* The longest segment for which a CTA needs at most kFp32HorizontalSharedBytes. */
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

/* Sets all row ranges of a plane. */
void place_plane_rows(Fp32Plane *plane, CfPlaneRows rows, CfPlaneRows readable)
{
  place_rows(plane, &plane->y, rows, readable);
  plane->decimated_y_rows = plane->fine_end - plane->fine_first;
}

/* Appends plane `p` of the picture to the job, with all of its rows but without pointers. */
bool add_plane(Fp32Job *job, const CfVideo *video, int p, const CfFirPlan *plan,
               const double sigma[2], const CfPyramidFactors factors[2], CfStatus *status)
{
  const bool wide = is_wide(video);
  Fp32Plane *plane = &job->plane[job->planes];
  CfPyramidAxis x = {}, y = {};

  describe_samples(plane, video, p, &plan->plane[p]);
  bool good = cf_pyramid_axis(&x, sigma[0], plane->width, plan->border, &factors[0], status) &&
              cf_pyramid_axis(&y, sigma[1], plane->height, plan->border, &factors[1], status);
  if (good && !(axis_fits(&x, wide) && axis_fits(&y, wide)))
    good = cf_fail(status, CF_ERROR_INVALID, "no blur pyramid on the GPU for sigmas of %g and %g",
                   sigma[0], sigma[1]);
  if (good) {
    const CfPlaneRows all = {0, plane->height};

    describe_taps(&plane->x, &x, plan->border);
    describe_taps(&plane->y, &y, plan->border);
    plane->segment = choose_segment(&plane->x, wide);
    plane->decimated_y_pitch = round_up(plane->width, kPitchElements);
    plane->coarse_x_pitch = round_up(x.coarse_count + 4, kPitchElements);
    place_plane_rows(plane, all, all);
    set_tables(job, &x);
    set_tables(job, &y);
    job->planes++;
  }
  cf_pyramid_axis_free(&x);
  cf_pyramid_axis_free(&y);
  return good;
}

/* ---- a job's geometry ---- */

/* Sets pointers and strides to plane `p` of a job's pictures. */
void place_plane_picture(Fp32Plane *plane, int p, const CfJob *job, bool wide)
{
  place_picture(plane, p, job);
  plane->vector = ((uintptr_t)plane->source | (uintptr_t)plane->source_stride |
                   (uintptr_t)plane->destination | (uintptr_t)plane->destination_stride) %
                      (wide ? 8 : 4) ==
                  0;
}

size_t decimated_y_bytes(const Fp32Plane *plane, bool wide)
{
  return scratch_bytes((size_t)plane->decimated_y_rows * plane->channels *
                       plane->decimated_y_pitch * (wide ? sizeof(float) : sizeof(uint16_t)));
}

size_t coarse_x_bytes(const Fp32Plane *plane)
{
  return scratch_bytes((size_t)(plane->fine_end - plane->fine_first) * plane->channels *
                       plane->coarse_x_pitch * sizeof(float));
}

size_t coarse_bytes(const Fp32Plane *plane)
{
  return scratch_bytes((size_t)(plane->coarse_end - plane->coarse_first) *
                       (plane->x.coarse_end - plane->x.coarse_first) * plane->channels *
                       sizeof(float));
}

/* Places the scratch arrays from `base` on, and returns their bytes; NULL only counts these. */
size_t place_memory(Fp32Job *job, bool wide, uint8_t *base)
{
  size_t used = 0;

  for (int p = 0; p < job->planes; p++) {
    Fp32Plane *plane = &job->plane[p];

    plane->decimated_y = base + used;
    used += decimated_y_bytes(plane, wide);
    plane->coarse_x = (float *)(base + used);
    used += coarse_x_bytes(plane);
    plane->coarse = (float *)(base + used);
    used += coarse_bytes(plane);
  }
  return used;
}

/* Divides the planes, whose rows are set, among the CTAs of each grid. */
Fp32LaunchPlan plan_launches(Fp32Job *job, bool wide, const CfDevice *device)
{
  Fp32LaunchPlan plan = {};
  double work = 0.0;

  plan.wide = wide;
  job->overlaps = device->code >= 90;

  /* The vertical decimation is one wave of CTAs, divided among the planes by their words. */
  for (int p = 0; p < job->planes; p++)
    work += (double)div_up(words_of(job->plane[p]), kThreads) *
            (job->plane[p].end - job->plane[p].first);
  for (int p = 0; p < job->planes; p++) {
    Fp32Plane *plane = &job->plane[p];
    const int across = div_up(words_of(*plane), kThreads);
    const int fine = plane->fine_end - plane->fine_first;
    const int coarse_columns = plane->x.coarse_end - plane->x.coarse_first;
    const int coarse_rows = plane->coarse_end - first_coarse_filter_row(*plane);
    const double share = (plane->end - plane->first) / work;
    const int strips =
        clamp((int)(device->info.multiprocessors * kFp32VerticalCtasPerSm * share), 1, fine);
    const int bytes = fp32_horizontal_shared_bytes(&plane->x, wide, plane->segment);

    plane->strip = larger(div_up(fine, strips), kFp32LeastStrip);
    plane->vertical_first_cta = plan.vertical_ctas;
    plane->horizontal_first_cta = plan.horizontal_ctas;
    plane->coarse_filter_first_cta = plan.coarse_filter_ctas;
    plane->upsample_first_cta = plan.upsample_ctas;
    plan.vertical_ctas += across * div_up(fine, plane->strip);
    plan.horizontal_ctas += div_up(coarse_columns, plane->segment) * fine * plane->channels;
    plan.coarse_filter_ctas += div_up(coarse_columns, kCoarseFilterColumns) *
                               div_up(coarse_rows, kCoarseFilterRows) * plane->channels;
    plan.upsample_ctas += across * (div_up(plane->end, kFp32UpsampleStripRows) -
                                    plane->first / kFp32UpsampleStripRows);
    plan.horizontal_shared_bytes = larger(plan.horizontal_shared_bytes, bytes);
  }
  return plan;
}

} // namespace

float code_centre(const CfFormatInfo *format, bool alpha)
{
  return (float)(alpha ? cf_max_code(format) : (cf_max_code(format) + 1) / 2);
}

/* ---- the calls ---- */

bool fp32_supports(const CfVideo *video, const CfGaussblurParams *params)
{
  double sigma[2];

  plane_sigmas(video, 0, params, sigma);
  return params->sigma >= 0.0 &&
         cf_pyramid_factor(fmax(sigma[0], sigma[1]), cf_format_info(video->format)->bits, false,
                           kFp32MaxFactor) > 1;
}

/* Taps of formats without a tensor core kernel are far slower: there the pyramid always pays. */
bool fp32_pays(const CfVideo *video, const CfDevice *device, const CfGaussblurParams *params)
{
  const CfFormatInfo *format = cf_format_info(video->format);
  const bool slow_taps = format->bits > 10 || (format->bits > 8 && device->code < 80);
  const double least = slow_taps                    ? 0.0
                       : has_one_gray_plane(format) ? kFp32LeastSigmaGray
                                                    : kFp32LeastSigma;

  return fp32_supports(video, params) && fmax(params->sigma, params->sigma_vertical) >= least;
}

bool fp32_update(Fp32Job *job, const CfVideo *video, const CfGaussblurParams *params,
                 CfStatus *status)
{
  const CfFormatInfo *format = cf_format_info(video->format);
  Fp32Job next = {};
  CfFirPlan plan = {};

  bool good = cf_fir_plan_channels(&plan, video, (CfBorder)params->border, status);
  for (int p = 0; good && p < format->planes; p++) {
    double sigma[2];

    plane_sigmas(video, p, params, sigma);
    const CfPyramidFactors factors[2] = {
        cf_pyramid_factors(sigma[0], format->bits, false, &kFp32Limits),
        cf_pyramid_factors(sigma[1], format->bits, false, &kFp32Limits)};

    good = add_plane(&next, video, p, &plan, sigma, factors, status);
  }
  if (good)
    *job = next;
  cf_fir_plan_free(&plan);
  return good;
}

bool fp32_run(Fp32Job *job, const CfVideo *video, CfDevice *device, const CfJob *pictures,
              CfStatus *status)
{
  void *const stream = pictures->stream;
  const bool wide = is_wide(video);

  for (int p = 0; p < job->planes; p++) {
    Fp32Plane *plane = &job->plane[p];

    place_plane_picture(plane, p, pictures, wide);
    place_plane_rows(plane, cf_job_plane_rows(video, p, pictures),
                     cf_job_readable_rows(video, p, pictures, plane->y.halo));
  }
  const Fp32LaunchPlan plan = plan_launches(job, wide, device);
  const size_t bytes = place_memory(job, wide, nullptr);
  return cf_with_scratch(device, bytes, stream, status, [&](uint8_t *scratch) {
    place_memory(job, wide, scratch);
    return fp32_decimate_vertical(job, plan, stream, status) &&
           fp32_decimate_horizontal(job, plan, stream, status) &&
           fp32_coarse_filter(job, plan, stream, status) &&
           fp32_upsample(job, plan, stream, status);
  });
}

} // namespace cf::pyramid
