/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Taps as fp16 numbers, bounds of what rounding them and intermediate sums costs, and the
 * transforms from sums to codes that go with these taps.
 */
#include "cuda/fir/fp16_error_bound.h"

#include <math.h>
#include <string.h>

#include "cuda/common/half2.cuh"

namespace cf::fir
{
namespace
{

/* The largest errors allowed in any picture, in code values (kCoefficientError and kOtherError in
 * codes of 8 bits). Errors of rounded taps repeat wherever the picture does, so their bound is the
 * smallest; those of rounded row sums look like noise. Within kAlphaError, alpha's code is off by
 * one at most. */
constexpr double kCoefficientError = 0.05;
constexpr double kColourError = 0.35;
constexpr double kWeightedError = 0.55; /* of premultiplied colours */
constexpr double kAlphaError = 0.5;
constexpr double kOtherError = 1.0 / 512; /* of fp32 sums, here and on the CPU */
constexpr double kTie = 1.0 / 2048;       /* added before rounding, so that exact ties go up */

/* Kernels subtract this code from samples, which then are at most as large in magnitude. */
double middle_code(const PlaneWork &work)
{
  return (work.max_code + 1) / 2;
}

/* A code of 8 bits, in codes of the plane. */
double code_of_8_bits(const PlaneWork &work)
{
  return middle_code(work) / 128.0;
}

struct Rounded {
  TapRounding rounding;
  double error;     /* sum of |tap - correction * fp16| */
  double magnitude; /* sum of |correction * fp16| */
  double sum;       /* of the fp16 numbers */
};

double sum_of_fp16(const CfTaps *taps, double scale)
{
  double sum = 0.0;

  for (int i = 0; i < taps->count; i++)
    sum += half_value(half_bits(scale * taps->tap[i]));
  return sum;
}

/* Rounds scale * tap. The correction restores the sum of the taps, so that flat areas keep their
 * code; not if that sum is nearly 0. */
Rounded round_taps(const CfTaps *taps, double scale)
{
  Rounded rounded = {{scale, 1.0 / scale}, 0.0, 0.0, sum_of_fp16(taps, scale)};
  const double sum = rounded.sum;

  if (fabs(taps->sum) > 0.5 * taps->magnitude && sum != 0.0)
    rounded.rounding.correction = taps->sum / sum;
  for (int i = 0; i < taps->count; i++) {
    const double tap = rounded.rounding.correction * half_value(half_bits(scale * taps->tap[i]));
    rounded.error += fabs(taps->tap[i] - tap);
    rounded.magnitude += fabs(tap);
  }
  return rounded;
}

/* The largest error of rounding a number of at most `largest` magnitude to fp16: half a unit in the
 * last of 11 places, in the binade that ends at or above `largest`. Numbers only a rounding error
 * above a power of two are rounded to it. */
double fp16_error(double largest)
{
  return fmax(exp2(ceil(log2(largest * (1.0 - 0x1p-12))) - 12.0), 0x1p-25);
}

/* fp16_error() of a row's sum in units of the result, for samples of magnitude `most` at most. */
double row_sum_error(const Rounded &row, double most)
{
  const double correction = fabs(row.rounding.correction);

  return fp16_error(most * row.magnitude / correction) * correction;
}

/* The row sum of opaque alpha, as the device rounds it. */
double opaque_row(double sum)
{
  return half_value(half_bits(255.0 * sum));
}

/* Whether the device's fp32 sum of an opaque row, which has rounding errors, may round to another
 * fp16 number than opaque_row(). */
bool opaque_rounds_either_way(const Rounded &row)
{
  const double sum = 255.0 * row.sum;
  const double inexact = 0x1p-17 * 255.0 * row.magnitude / fabs(row.rounding.correction);

  return half_bits(sum - inexact) != half_bits(sum + inexact) && fabs(sum) > inexact;
}

/* Objectives of round_best(). Of rows: each error relative to its bound. */
double row_error(const Rounded &row, const PlaneWork &work)
{
  return 128.0 * row.error / kCoefficientError +
         row_sum_error(row, middle_code(work)) / kColourError +
         (opaque_rounds_either_way(row) ? 1e9 : 0.0);
}

double column_error(const Rounded &column, const PlaneWork &)
{
  return column.error;
}

/* The best of a few scales within an octave. The scale decides which way each tap rounds, and how
 * far sums are below the next power of two. */
Rounded round_best(const CfTaps *taps, const PlaneWork &work,
                   double (*error)(const Rounded &, const PlaneWork &))
{
  constexpr int kTrials = 16;
  Rounded best = round_taps(taps, 1.0);

  for (int i = 1; i < kTrials; i++) {
    const Rounded rounded = round_taps(taps, exp2((double)i / kTrials - 0.5));
    if (error(rounded, work) < error(best, work))
      best = rounded;
  }
  return best;
}

/* Error bounds for any picture, of results before ChannelTransform.scale. Samples are fp16 numbers
 * of at most middle_code() in magnitude, exact unless premultiplied; alpha is exact, at most 255.
 */
struct Bounds {
  double coefficients; /* of rounding the taps */
  double opaque;       /* of rounding the taps and row sums */
  double weighted;     /* of rounding the taps, row sums and premultiplied samples */
  double alpha;        /* of alpha: of rounding the taps and row sums */
  bool finite;         /* no sum overflows fp16 */
};

Bounds bound_errors(const CfFirPlane *plan, const PlaneWork &work, const Rounded &row,
                    const Rounded &column)
{
  const double most = middle_code(work);
  Bounds bounds;

  bounds.coefficients = most * (row.error * plan->column.magnitude + row.magnitude * column.error);
  bounds.opaque = bounds.coefficients + row_sum_error(row, most) * column.magnitude;
  bounds.weighted = bounds.opaque + fp16_error(most) * row.magnitude * column.magnitude;
  bounds.alpha = 255.0 / most * bounds.coefficients + row_sum_error(row, 255.0) * column.magnitude;
  bounds.finite = 2.0 * most * row.magnitude / fabs(row.rounding.correction) < 60000.0;
  return bounds;
}

bool fp16_suffices(const Picture *picture, int p, const Bounds &bounds)
{
  const CfFirPlane *plan = picture->plan[p];
  const PlaneWork &work = picture->plane[p];
  const int alpha = work.alpha;
  const double other = kOtherError * code_of_8_bits(work);
  const bool alpha_moves = alpha >= 0 && plan->channel[alpha].filtered;
  double scale = 0.0;

  for (int c = 0; c < work.channels; c++) {
    if (!plan->channel[c].filtered || c == alpha)
      continue;
    scale = fmax(scale, fabs(plan->channel[c].scale));
  }
  return bounds.finite && scale * bounds.coefficients <= kCoefficientError * code_of_8_bits(work) &&
         scale * bounds.opaque + other <= kColourError &&
         (alpha < 0 || scale * bounds.weighted + other <= kWeightedError) &&
         (!alpha_moves || fabs(plan->channel[alpha].scale) * bounds.alpha + other <= kAlphaError);
}

/* Sets pairs of fp16 taps, the anchor's in the middle slot; the other slots are 0. */
void set_taps(uint32_t (&to)[kTapPairs], const CfTaps *taps, double scale, int tap_tiles)
{
  const int middle = kTapMargin + 8 * (tap_tiles - 1);

  memset(to, 0, sizeof to);
  for (int i = 0; i < taps->count; i++) {
    const int slot = middle - taps->anchor + i;
    to[slot / 2] |= (uint32_t)half_bits(scale * taps->tap[i]) << 16 * (slot % 2);
  }
}

/* Whether results of premultiplied colours are weighted means of colours, so that they stay in
 * their range: no tap is negative, and alpha is filtered by the same taps. */
bool makes_means(const CfFirPlane *plan, int alpha)
{
  return plan->channel[alpha].filtered && fabs(plan->row.sum) == plan->row.magnitude &&
         fabs(plan->column.sum) == plan->column.magnitude;
}

/* Whether the results of any picture, with errors up to kColourError, round to codes without
 * clamping. */
bool stays_within_codes(const CfFirPlane *plan, const CfFirChannel *channel, double largest)
{
  const double gain = plan->row.sum * plan->column.sum;
  const double reach =
      0.5 * largest * fabs(channel->scale) * plan->row.magnitude * plan->column.magnitude;
  const double middle =
      channel->scale * gain * (0.5 * largest - channel->centre) + channel->centre + channel->bias;
  const double slack = 0.49 - kColourError;

  return !channel->absolute && middle - reach > -slack && middle + reach < largest + slack;
}

/* The transforms of MmaStrips: a result is scale * sum(c - centre) + centre + bias, but the
 * device's sums are of codes less middle_code(). */
void set_opaque_transform(MmaStrips *strip, const CfFirPlane *plan, const PlaneWork &work,
                          double correction, int first, int channels)
{
  const double largest = work.max_code;
  const double gain = plan->row.sum * plan->column.sum;

  strip->bounded = !plan->premultiplied || makes_means(plan, first ? 0 : 3);
  for (int c = 0; c < channels; c++) {
    const CfFirChannel *channel = &plan->channel[first + c];
    const double offset = channel->centre + channel->bias + kTie;
    const double shifted = channel->scale * gain * (middle_code(work) - channel->centre);
    const double factor = channel->scale * correction;

    strip->absolute |= channel->absolute << c;
    strip->factor[c] = (float)((channel->absolute ? 1.0 : factor) / largest);
    strip->addend[c] = (float)((channel->absolute ? offset : offset + shifted) / largest);
    strip->inner_factor[c] = (float)factor;
    strip->inner_addend[c] = (float)shifted;
    strip->bounded = strip->bounded && stays_within_codes(plan, channel, largest);
    strip->code_factor[c] = (float)-factor;
    strip->code_addend[c] = (float)-(kCodeBias + offset + shifted);
  }
}

void set_alpha_transform(AlphaTransform *weights, const Picture *picture, double correction)
{
  const int first = picture->first_colour;
  const CfFirPlane *plan = picture->plan[0];
  const CfFirChannel *alpha = &plan->channel[first ? 0 : 3];
  const double opaque = opaque_row(sum_of_fp16(&plan->row, picture->row[0].scale)) *
                        sum_of_fp16(&plan->column, picture->column[0].scale);

  weights->exists = plan->premultiplied;
  weights->copied = picture->has_alpha && !plan->premultiplied;
  weights->filtered = alpha->filtered;
  weights->factor = alpha->filtered ? (float)(255.0 / opaque) : 0.0f;
  weights->opaque = (float)opaque;
  weights->tolerance =
      (float)(1.0 / 64.0 / fabs(correction * (alpha->filtered ? alpha->scale : 1.0)));
  weights->transparent = 0;
  for (int c = 0; c < 3; c++) {
    const CfFirChannel *channel = &plan->channel[first + c];
    const double shift = 128.0 - channel->centre;

    weights->transparent |= (uint32_t)channel->centre << 8 * (first + c);
    weights->mean[c] = (float)(shift / 255.0);
    weights->offset[c] = (float)(-shift * plan->row.sum * plan->column.sum / correction);
  }
}

} // namespace

bool round_taps_to_fp16(Picture *picture)
{
  for (int p = 0; p < picture->planes; p++) {
    const PlaneWork &work = picture->plane[p];
    const Rounded row = round_best(&picture->plan[p]->row, work, row_error);
    const Rounded column = round_best(&picture->plan[p]->column, work, column_error);

    picture->row[p] = row.rounding;
    picture->column[p] = column.rounding;
    if (!fp16_suffices(picture, p, bound_errors(picture->plan[p], work, row, column)))
      return false;
  }
  return true;
}

void describe_mma_plane(MmaJob *job, const Picture *picture, int p, int tap_tiles)
{
  const CfFirPlane *plan = picture->plan[p];
  const PlaneWork &work = picture->plane[p];
  const int set = work.tap_set, channels = work.channels, sample_bits = 8 * picture->sample_bytes;
  const double correction = picture->row[p].correction * picture->column[p].correction;

  job->plane[p] = work;
  if (channels == 4) {
    set_opaque_transform(&job->strip[p], plan, work, correction, job->first_colour, 3);
    set_alpha_transform(&job->weights, picture, correction);
  } else {
    set_opaque_transform(&job->strip[p], plan, work, correction, 0, channels);
  }
  for (int i = 0; sample_bits * i < 32; i++)
    job->strip[p].colour |= (uint32_t)plan->channel[i % channels].border
                            << (sample_bits * i + work.shift);
  set_taps(job->taps[set][0], &plan->row, picture->row[p].scale, tap_tiles);
  set_taps(job->taps[set][1], &plan->column, picture->column[p].scale, tap_tiles);
}

} // namespace cf::fir
