/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpu/pyramid/fixed.h"

#include <string.h>

#include "cpu/common/cpu.h"

#define FRACTION 7

CF_MULTIVERSION
void cf_fixed_from_float(const float *from, int samples, int16_t *restrict to)
{
  for (int i = 0; i < samples; i++)
    to[i] = (int16_t)((int)(from[i] * (float)(1 << FRACTION) + 32768.5f) - 32768);
}

INLINE int16_t weigh(const int16_t *const row[4], const int16_t tap[4], int i)
{
  return (int16_t)(cf_fixed_product(row[0][i], tap[0]) + cf_fixed_product(row[1][i], tap[1]) +
                   cf_fixed_product(row[2][i], tap[2]) + cf_fixed_product(row[3][i], tap[3]));
}

CF_MULTIVERSION
static void weigh_rows(const int16_t *const row[4], const int16_t tap[4], int samples,
                       int16_t *restrict to)
{
  for (int i = 0; i < samples; i++)
    to[i] = weigh(row, tap, i);
}

static void sum(const CfLineTaps *taps, const void *const *lines, int samples, void *to)
{
  weigh_rows((const int16_t *const *)lines, taps->tap, samples, to);
}

const CfLines cf_fixed_spline = {
    .size = sizeof(int16_t),
    .line_size = sizeof(int16_t),
    .sum = sum,
};

INLINE void round_samples(const int16_t *from, int samples, uint8_t *restrict to)
{
  for (int i = 0; i < samples; i++)
    to[i] = (uint8_t)((from[i] + (1 << FRACTION >> 1)) >> FRACTION);
}

CF_MULTIVERSION
static void round_row(const int16_t *row, int samples, uint8_t *to)
{
  round_samples(row, samples, to);
}

/* In two loops over chunks: compilers use the instruction of cf_fixed_product() only where its
 * 16-bit results are stored. */
CF_MULTIVERSION
static void blend_rows(const int16_t *const rows[4], const int16_t taps[4], int samples,
                       uint8_t *to)
{
  const int16_t *const row[] = {rows[0], rows[1], rows[2], rows[3]};
  const int16_t tap[] = {taps[0], taps[1], taps[2], taps[3]};
  int16_t sum[CF_LINE_GRANULE];
  int done = 0;

  for (; done + CF_LINE_GRANULE <= samples; done += CF_LINE_GRANULE) {
    for (int i = 0; i < CF_LINE_GRANULE; i++)
      sum[i] = weigh(row, tap, done + i);
    round_samples(sum, CF_LINE_GRANULE, to + done);
  }
  for (int i = 0; i < samples - done; i++)
    sum[i] = weigh(row, tap, done + i);
  round_samples(sum, samples - done, to + done);
}

void cf_fixed_blend_rows(const CfLineTaps *taps, const int16_t *const row[4], int samples,
                         uint8_t *to)
{
  if (taps->tap)
    blend_rows(row, taps->tap, samples, to);
  else
    round_row(row[0], samples, to);
}

/* ---- Sharpening: values are relative to CF_FIXED_MIDDLE, which leaves room for a sign and one
 * more bit ---- */

void cf_fixed_sum_rows(const CfLineTaps *taps, const int16_t *const row[4], int samples,
                       int16_t *to)
{
  if (taps->tap)
    weigh_rows(row, taps->tap, samples, to);
  else
    memcpy(to, row[0], (size_t)samples * sizeof *to);
}

CF_MULTIVERSION
void cf_fixed_less_half(const uint8_t *from, const int16_t *blurred, int samples,
                        int16_t *restrict to)
{
  for (int i = 0; i < samples; i++)
    to[i] = (int16_t)((from[i] - CF_FIXED_MIDDLE) * (1 << CF_FIXED_BITS) - ((blurred[i] + 2) >> 2));
}

CF_MULTIVERSION
void cf_fixed_sharpen(const uint8_t *from, const int16_t *along_y, const int16_t *along_x,
                      int samples, uint8_t *restrict to)
{
  for (int i = 0; i < samples; i++) {
    const int sum = along_y[i] + along_x[i] + (CF_FIXED_MIDDLE << FRACTION);
    const int value = ((from[i] << (FRACTION + 2)) - 2 * sum + (1 << FRACTION >> 1)) >> FRACTION;

    to[i] = (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
  }
}
