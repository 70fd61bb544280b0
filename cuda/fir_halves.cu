/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fir_halves.cuh"

#include <math.h>
#include <string.h>

namespace
{

/* What fp16 may cost, in code values: coefficients, and coefficients with the rounding of rows. */
constexpr double kCoefficientError = 0.05;
constexpr double kTotalError = 0.25;
constexpr double kAlphaError = 0.5; /* of an alpha that is not opaque: rounded, 1 code apart */
constexpr double kTie = 1.0 / 2048; /* sends exact halves up, as elsewhere */

struct Rounded {
  CfFirRounding rounding;
  double error;     /* sum of |tap - correction * half| */
  double magnitude; /* sum of |correction * half| */
};

/* The correction restores the taps' sum, where that is not about to vanish: flat areas stay. */
Rounded round_taps(const CfTaps *taps, double scale)
{
  Rounded rounded = {{scale, 1.0 / scale}, 0.0, 0.0};
  double sum = 0.0;

  for (int i = 0; i < taps->count; i++)
    sum += cf_half_value(cf_half_bits(scale * taps->tap[i]));
  if (fabs(taps->sum) > 0.5 * taps->magnitude && sum != 0.0)
    rounded.rounding.correction = taps->sum / sum;
  for (int i = 0; i < taps->count; i++) {
    const double half =
        rounded.rounding.correction * cf_half_value(cf_half_bits(scale * taps->tap[i]));
    rounded.error += fabs(taps->tap[i] - half);
    rounded.magnitude += fabs(half);
  }
  return rounded;
}

/* Which way taps round depends on their scale, so the best of a few over one octave is taken: the
 * error of Gaussians becomes a quarter smaller, and more even over sigma. */
Rounded round_best(const CfTaps *taps)
{
  constexpr int kTrials = 16;
  Rounded best = round_taps(taps, 1.0);

  for (int i = 1; i < kTrials; i++) {
    const Rounded rounded = round_taps(taps, exp2((double)i / kTrials - 0.5));
    if (rounded.error < best.error)
      best = rounded;
  }
  return best;
}

/* Bounds for any picture: samples minus 128 are within 128, and a half is within 2^-12 of its
 * number, relatively. Weighted samples are halves as much as rows filtered across, so that they may
 * cost what rows may; alpha minus 255 is within 255. */
bool halves_suffice(const CfFirPlane *plan, int channels, int alpha, const Rounded &row,
                    const Rounded &column)
{
  const double errors = row.error * plan->column.magnitude + row.magnitude * column.error;
  const double rows = row.magnitude * column.magnitude * 0x1p-12;
  const double largest_half = 255.0 * row.magnitude / fabs(row.rounding.correction);
  double scale = 0.0;

  for (int c = 0; c < channels; c++) {
    if (plan->channel[c].filtered && c != alpha)
      scale = fmax(scale, fabs(plan->channel[c].scale));
  }
  if (alpha >= 0 && plan->channel[alpha].filtered &&
      255.0 * fabs(plan->channel[alpha].scale) * (errors + rows) > kAlphaError)
    return false;
  return 128.0 * scale * errors <= kCoefficientError &&
         128.0 * scale * (errors + rows) <= kTotalError && largest_half < 60000.0;
}

/* Taps around the middle slot; those that the variant does not reach stay 0. */
void place_taps(uint32_t (&to)[kTensorTapPairs], const CfTaps *taps, double scale, int tiles)
{
  const int middle = kTensorMargin + 8 * (tiles - 1);

  memset(to, 0, sizeof to);
  for (int i = 0; i < taps->count; i++) {
    const int slot = middle - taps->anchor + i;
    to[slot / 2] |= (uint32_t)cf_half_bits(scale * taps->tap[i]) << 16 * (slot % 2);
  }
}

/* A result is scale * sum(c - centre) + centre + bias, and the sums run over c - 128. */
void place_tones(CfTensorStrip *strip, const CfFirPlane *plan, double correction, int first,
                 int channels)
{
  const double gain = plan->row.sum * plan->column.sum;

  for (int c = 0; c < channels; c++) {
    const CfFirChannel *channel = &plan->channel[first + c];
    const double offset = channel->centre + channel->bias + kTie;
    const double shifted = channel->scale * gain * (128.0 - channel->centre);
    const double factor = channel->scale * correction;

    strip->absolute |= channel->absolute << c;
    strip->factor[c] = (float)((channel->absolute ? 1.0 : factor) / 255.0);
    strip->addend[c] = (float)((channel->absolute ? offset : offset + shifted) / 255.0);
    strip->inner_factor[c] = (float)factor;
    strip->inner_addend[c] = (float)shifted;
  }
}

void place_weights(CfTensorWeights *weights, const CfFirPlane *plan, double correction, int first,
                   bool has_alpha)
{
  const CfFirChannel *alpha = &plan->channel[first ? 0 : 3];

  weights->exists = plan->premultiplied;
  weights->copied = has_alpha && !plan->premultiplied;
  weights->filtered = alpha->filtered;
  weights->factor = alpha->filtered ? (float)(alpha->scale * correction) : 0.0f;
  weights->tie = (float)(kTie / 255.0);
  for (int c = 0; c < 3; c++) {
    const CfFirChannel *channel = &plan->channel[first + c];

    weights->centre[c] = (float)channel->centre;
    weights->offset[c] = (float)((channel->centre + channel->bias + kTie) / 255.0);
  }
}

} // namespace

bool cf_fir_round_taps(CfFirPicture *picture)
{
  for (int p = 0; p < picture->planes; p++) {
    const Rounded row = round_best(&picture->plan[p]->row);
    const Rounded column = round_best(&picture->plan[p]->column);

    picture->row[p] = row.rounding;
    picture->column[p] = column.rounding;
    if (!halves_suffice(picture->plan[p], picture->plane[p].channels, picture->plane[p].alpha, row,
                        column))
      return false;
  }
  return true;
}

void cf_fir_place_plane(CfTensorJob *job, const CfFirPicture *picture, int p, int tiles)
{
  const CfFirPlane *plan = picture->plan[p];
  const int set = picture->plane[p].set, channels = picture->plane[p].channels;
  const double correction = picture->row[p].correction * picture->column[p].correction;

  job->plane[p] = picture->plane[p];
  if (channels == 4) {
    place_tones(&job->strip[p], plan, correction, job->first_colour, 3);
    place_weights(&job->weights, plan, correction, job->first_colour, picture->has_alpha);
  } else {
    place_tones(&job->strip[p], plan, correction, 0, channels);
  }
  for (int byte = 0; byte < 4; byte++)
    job->strip[p].colour |= (uint32_t)plan->channel[byte % channels].border << 8 * byte;
  place_taps(job->taps[set][0], &plan->row, picture->row[p].scale, tiles);
  place_taps(job->taps[set][1], &plan->column, picture->column[p].scale, tiles);
}
