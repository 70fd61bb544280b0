/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The u8mma pyramid on the host: describes planes and axes, divides them among CTAs, launches.
 */
#include "cuda/pyramid/u8mma.h"
#include "cuda/common/half2.cuh"
#include "cuda/common/int_math.cuh"
#include "cuda/pyramid/fp32.h"
#include "cuda/pyramid/tuning.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

namespace cf::pyramid
{

namespace
{

/* Source rows of a step of the decimation. Whether all of them are opaque decides how each is
 * rounded, so a band must be able to read also those that no tap of its fine rows reaches. */
constexpr int kStepRows = 16;

/* ---- describing the planes ---- */

void describe_u8_axis(U8Axis *to, const CfPyramidAxis *axis, CfBorder border)
{
  describe_axis(to, axis, border);
  to->decimation = axis->factors.decimation;
  to->factor_log2 = ilogb(axis->factor);
  to->inverse_factor = 1.0f / (float)axis->factor;
  to->prefilter_count = axis->prefilter_count;
  to->halo = to->halo < 0 ? -1 : to->halo + kStepRows;
}

void set_taps(U8Taps *to, const CfPyramidAxis *axis)
{
  for (int i = 0; i < (axis->coarse_taps_count + 1) / 2; i++) {
    const uint16_t half = half_bits(axis->coarse_taps[i]);

    to->tap[i] = half | (uint32_t)half_bits(axis->coarse_taps[i] - half_value(half)) << 16;
  }
}

/* Sets the chunks of 16 samples that a product's outputs read: 16 outputs along rows; along columns
 * those that a stack of tiles needs, which may start at an odd sample. */
void describe_products(U8Plane *plane)
{
  U8Axis *x = &plane->x, *y = &plane->y;
  const int needed = 16 * stack_tiles(y->factor) / y->factor + 4;

  x->skipped = (x->decimation2 * x->coarse_first + x->coarse_taps_first - plane->left) & 3;
  x->chunks = div_up(x->skipped + 15 * x->decimation2 + x->coarse_taps_count, 16);
  y->chunks = div_up(1 + (needed - 1) * y->decimation2 + y->coarse_taps_count, 16);
}

/* The sum of the prefilter's taps as bytes. */
float prefilter_sum(const CfPyramidAxis *axis)
{
  return 2.0f * powf((float)axis->factors.decimation, 3.0f);
}

void set_prefilter(U8Job *job, const CfPyramidAxis *axis)
{
  const int decimation = axis->factors.decimation;

  for (int i = 0; i < axis->prefilter_count; i++)
    job->prefilter[decimation == 8][i] = (uint8_t)lrint(axis->prefilter[i] * prefilter_sum(axis));
}

void describe_samples(U8Plane *plane, const CfVideo *video, int p, const CfFirPlane *filter)
{
  const CfFormatInfo *format = cf_format_info(video->format);
  const int sample_bits = 8 * cf_sample_bytes(format);

  describe_plane(plane, video, p, filter);
  plane->sample_bytes = cf_sample_bytes(format);
  plane->border = plane->transparent = 0;
  for (int i = 0; sample_bits * i < 32; i++)
    plane->border |= (uint32_t)filter->channel[i % plane->channels].border
                     << (sample_bits * i + format->shift);
  for (int c = 0; plane->alpha >= 0 && c < plane->channels; c++)
    plane->transparent |= (uint32_t)filter->channel[c].centre << 8 * c;
}

/* Describes plane `p` of a job. With `fine_columns`, D1 along rows is kU8LeastDecimation. */
bool describe_blur(U8Job *job, const CfVideo *video, int p, const CfFirPlan *plan,
                   const double sigma[2], bool fine_columns, CfStatus *status)
{
  const bool weighted = plan->plane[p].premultiplied;
  const int bits = cf_format_info(video->format)->bits;
  CfPyramidFactors factors[2] = {cf_pyramid_factors(sigma[0], bits, weighted, &kU8Limits),
                                 cf_pyramid_factors(sigma[1], bits, weighted, &kU8Limits)};
  U8Plane *plane = &job->plane[p];
  CfPyramidAxis x = {}, y = {};

  factors[0].boxes = factors[1].boxes = true; /* also of 10 bits: see kU8LeastSigma */
  if (fine_columns) {
    factors[0].decimation2 *= factors[0].decimation / kU8LeastDecimation;
    factors[0].decimation = kU8LeastDecimation;
  }
  describe_samples(plane, video, p, &plan->plane[p]);
  const bool good =
      cf_pyramid_axis(&x, sigma[0], plane->width, plan->border, &factors[0], status) &&
      cf_pyramid_axis(&y, sigma[1], plane->height, plan->border, &factors[1], status);
  if (good) {
    describe_u8_axis(&plane->x, &x, plan->border);
    describe_u8_axis(&plane->y, &y, plan->border);
    set_prefilter(job, &x);
    set_prefilter(job, &y);
    set_taps(&job->taps[p][0], &x);
    set_taps(&job->taps[p][1], &y);
    /* Fine columns start where 16 aligned bytes of the source do. Coarse columns extend to the last
     * tile that is upsampled, which reads 8 at a time. */
    plane->left = plane->x.stored_first & ~3;
    plane->fine_pitch = round_up(plane->x.stored_end - plane->left, 4);
    plane->columns = round_up(round_up(plane->width, kUpsampleColumns) / plane->x.factor + 8, 8);
    plane->fine_scale =
        256.0f / (prefilter_sum(&x) * prefilter_sum(&y) * (float)(1 << plane->shift));
    describe_products(plane);
  }
  cf_pyramid_axis_free(&x);
  cf_pyramid_axis_free(&y);
  return good;
}

bool folds(int border)
{
  return border != CF_BORDER_REPLICATE && border != CF_BORDER_CONSTANT;
}

/* Makes a job of packed 4:2:2 from planes 0 (Y) and 1 (U) as describe_blur() left them. False if
 * that is not possible: fine and coarse samples of both must lie at the same places. */
bool describe_packed(U8Job *job, int border)
{
  U8Plane *luma = &job->plane[0], *chroma = &job->plane[1], *both = &job->plane[2];
  U8Axis *x = &both->x;
  const int end =
      luma->x.stored_end > chroma->x.stored_end ? luma->x.stored_end : chroma->x.stored_end;

  *both = *chroma;
  both->channels = 4;
  both->fine_scale = luma->fine_scale;
  both->left = luma->left < chroma->left ? luma->left : chroma->left;
  both->fine_pitch = round_up(end - both->left, 4);
  both->columns = luma->columns > chroma->columns ? luma->columns : chroma->columns;
  x->stored_first = both->left;
  x->stored_end = end;
  chroma->channels = 2;
  for (U8Plane *plane = luma; plane < both; plane++) {
    plane->left = both->left;
    plane->fine_pitch = both->fine_pitch;
    plane->columns = both->columns;
    describe_products(plane);
  }
  /* The coarse filter divides rows among CTAs by D, which is luma's for both. */
  chroma->x.factor = luma->x.factor;
  chroma->x.factor_log2 = luma->x.factor_log2;
  job->planes = 3;
  job->packed = true;
  return !folds(border) && luma->x.factor == 2 * x->factor && luma->x.decimation == 8 &&
         luma->x.decimation2 == x->decimation2 && luma->x.coarse_first == x->coarse_first &&
         both->width % 4 == 0 && luma->width == 2 * both->width;
}

/* ---- a job's geometry ---- */

/* Sets pointers and rows of all planes. */
void place_job(U8Job *work, const CfVideo *video, const CfJob *job)
{
  for (int i = 0; i < work->planes; i++) {
    U8Plane *plane = &work->plane[i];
    const int p = work->packed ? 0 : i;

    place_picture(plane, p, job);
    plane->source_vector = cf_is_vector_aligned(plane->source, plane->source_stride);
    plane->destination_vector = cf_is_vector_aligned(plane->destination, plane->destination_stride);
    place_rows(plane, &plane->y, cf_job_plane_rows(video, p, job),
               cf_job_readable_rows(video, p, job, plane->y.halo));
    plane->coarse_x_first = (plane->fine_first & ~1) - 2;
    plane->row_pairs = round_up(plane->fine_end + 3 - plane->coarse_x_first, 8) / 2;
  }
}

/* Places the scratch arrays from `base` on, and returns their bytes; NULL only counts these. `fine`
 * follows `coarse_x`, since upsampling reads a few columns beyond the end of `coarse_x`. */
size_t place_memory(U8Job *job, uint8_t *base)
{
  size_t used = 0;

  for (int p = job->packed ? 2 : 0; p < job->planes; p++) {
    U8Plane *plane = &job->plane[p];
    const size_t channels = job->packed ? 3 : plane->channels;
    const size_t coarse = (size_t)plane->row_pairs * plane->columns;
    const size_t fine = (size_t)(plane->fine_end - plane->fine_first) * plane->fine_pitch;

    plane->coarse_x = (uint2 *)(base + used);
    used += scratch_bytes(coarse * channels * sizeof(uint2));
    plane->fine = (float *)(base + used);
    used += scratch_bytes(fine * channels * sizeof(float));
    for (int i = 0; job->packed && i < 2; i++) {
      job->plane[i].coarse_x = plane->coarse_x + coarse * i;
      job->plane[i].fine = plane->fine + fine * i;
    }
  }
  return used;
}

/* ---- the launch plan ---- */

int decimate_ctas_across(const U8Plane *plane)
{
  const int columns = kTilesPerWarp * 16 / (plane->channels * plane->sample_bytes);

  return div_up(div_up(plane->x.stored_end - plane->left, columns), kWarps);
}

int upsample_ctas_across(const U8Plane *plane)
{
  return div_up(plane->width,
                kUpsampleColumns * kWarps * column_groups(plane->channels, plane->x.factor));
}

double work_of(const U8Plane *plane)
{
  return (double)plane->width * plane->channels * (plane->end - plane->first);
}

/* Divides the planes, whose rows are set, among the CTAs of each grid. */
U8LaunchPlan plan_launches(U8Job *job, const CfDevice *device)
{
  const int decimate_ctas = device->info.multiprocessors * kU8DecimateCtasPerSm;
  const int upsample_slots = device->info.multiprocessors * kU8UpsampleCtasPerSm;
  U8LaunchPlan plan = {};
  double work = 0.0;

  job->overlaps = device->code >= 90;
  plan.pixels = job->plane[0].channels == 4;
  plan.wide = job->plane[0].sample_bytes == 2;
  plan.folds = folds(job->plane[0].x.border);
  for (int p = job->packed ? 2 : 0; p < job->planes; p++)
    work += work_of(&job->plane[p]);
  for (int p = 0; p < job->planes; p++) {
    U8Plane *plane = &job->plane[p];
    const bool is_picture = !job->packed || p == 2;
    const int across = decimate_ctas_across(plane);
    const int fine = plane->fine_end - (plane->fine_first & ~3);
    const int stack = 16 * stack_tiles(plane->y.factor);
    const int stacks = div_up(plane->end, stack) - plane->first / stack;
    const int strips = clamp((int)(decimate_ctas * work_of(plane) / work / across), 1, fine);

    plane->strip = round_up(div_up(fine, strips), 16 / plane->y.decimation);
    plane->decimate_first_cta = plan.decimate_ctas;
    plane->coarse_filter_first_cta = plan.coarse_filter_ctas;
    plane->upsample_first_cta = plan.upsample_ctas;
    if (is_picture) {
      plan.decimate_ctas += across * div_up(fine, plane->strip);
      plan.upsample_ctas += upsample_ctas_across(plane) * stacks;
      job->stack_split_log2 = job->packed && 2 * plan.upsample_ctas <= upsample_slots;
      plan.upsample_ctas <<= job->stack_split_log2;
    }
    if (!job->packed || p < 2)
      plan.coarse_filter_ctas += segments_of_rows(*plane) * plane->row_pairs / 4 * plane->channels;
  }
  return plan;
}

} // namespace

/* ---- the calls ---- */

bool u8_supports(const CfVideo *video, const CfDevice *device, const CfGaussblurParams *params)
{
  const CfFormatInfo *format = cf_format_info(video->format);

  if (device->code < 80 || format->bits > 10)
    return false;
  for (int p = 0; p < format->planes; p++) {
    const int channels = format->plane[p].channels;
    double sigma[2];

    plane_sigmas(video, p, params, sigma);
    if ((channels != 1 && channels != 2 && channels != 4) ||
        fmin(sigma[0], sigma[1]) < kU8LeastSigma)
      return false;
  }
  return true;
}

bool u8_pays(const CfVideo *video, const CfDevice *device, const CfGaussblurParams *params)
{
  const CfFormatInfo *format = cf_format_info(video->format);
  const double least = format->bits > 8 ? kU8LeastSigmaWidePlanes : kU8LeastSigmaPlanes;
  const bool pays = format->plane[0].channels == 4 ? params->sigma > kU8LargestTapsSigmaPixels
                                                   : params->sigma >= least;

  return (pays || fp32_pays(video, device, params)) && u8_supports(video, device, params);
}

bool u8_update(U8Blur *blur, const CfVideo *video, const CfGaussblurParams *params,
               CfStatus *status)
{
  const CfFormatInfo *format = cf_format_info(video->format);
  U8Blur next = {};
  CfFirPlan plan = {};
  double sigma[2];

  bool good = cf_fir_plan_channels(&plan, video, (CfBorder)params->border, status);
  next.planes.planes = format->planes;
  for (int p = 0; good && p < format->planes; p++) {
    plane_sigmas(video, p, params, sigma);
    good = describe_blur(&next.planes, video, p, &plan, sigma, false, status);
  }
  if (good && video->format == CF_FORMAT_Y42B) {
    next.packed = next.planes;
    plane_sigmas(video, 1, params, sigma);
    good = describe_blur(&next.packed, video, 1, &plan, sigma, true, status);
    next.packs = good && describe_packed(&next.packed, params->border);
  }
  if (good)
    *blur = next;
  cf_fir_plan_free(&plan);
  return good;
}

static bool run_placed(U8Job *work, bool *has_carveouts, CfDevice *device, void *stream,
                       CfStatus *status)
{
  U8LaunchPlan plan = plan_launches(work, device);

  plan.sets_carveouts = !*has_carveouts;
  return cf_with_scratch(device, place_memory(work, nullptr), stream, status,
                         [&](uint8_t *scratch) {
                           place_memory(work, scratch);
                           *has_carveouts = u8_decimate(work, plan, stream, status) &&
                                            u8_coarse_filter_rows(work, plan, stream, status) &&
                                            u8_upsample(work, plan, stream, status);
                           return *has_carveouts;
                         });
}

bool u8_run(U8Blur *blur, const CfVideo *video, CfDevice *device, const CfJob *job,
            CfStatus *status)
{
  place_job(&blur->planes, video, job);
  return run_placed(&blur->planes, &blur->has_carveouts[0], device, job->stream, status);
}

bool u8_run_packed(U8Blur *blur, const CfVideo *video, CfFormat packed, CfDevice *device,
                   const CfJob *job, bool *done, CfStatus *status)
{
  U8Job *work = &blur->packed;
  U8Plane *picture = &work->plane[2];

  *done = false;
  if (!blur->packs)
    return true;
  place_job(work, video, job);
  if (!picture->source_vector || !picture->destination_vector)
    return true;
  *done = true;
  picture->luma_bytes = cf_format_info(packed)->plane[0].role[0] == CF_ROLE_LUMA ? 0x5 : 0xa;
  const uint32_t mask = picture->luma_bytes == 0x5 ? 0x00ff00ff : 0xff00ff00;
  picture->border = (work->plane[0].border & mask) | (work->plane[1].border & ~mask);
  return run_placed(work, &blur->has_carveouts[1], device, job->stream, status);
}

} // namespace cf::pyramid
