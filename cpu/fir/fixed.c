/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpu/fir/line_ops.h"

#include <math.h>

#include "cpu/common/cpu.h"
#include "cpu/fir/line_tables.h"

#define BYTES_BITS 7 /* fractional bits of cf_lines_bytes between the directions */
#define TAP_ONE    32768

/* ---- Taps ---- */

/* Rounds the running sums of the first `count` taps instead of the taps, so that errors do not add
 * up at an edge. Returns the last sum. */
static int round_running_sums(const CfTaps *taps, int count, int one, int *tap)
{
  double sum = 0.0;
  int rounded = 0;

  for (int i = 0; i < count; i++) {
    const int before = rounded;

    sum += taps->tap[i] / taps->sum;
    rounded = (int)floor(sum * one + 0.5);
    tap[i] = rounded - before;
  }
  return rounded;
}

bool cf_quantise_taps(const CfTaps *taps, int one, int largest, int *tap)
{
  const int half = taps->count / 2;
  int sum = 0;

  if (taps->count > CF_MAX_TAPS || !(taps->sum > 0.0))
    return false;
  for (int i = 0; i < taps->count; i++) {
    if (!(taps->tap[i] >= 0.0))
      return false;
  }
  if (cf_taps_are_symmetric(taps)) {
    tap[half] = one - 2 * round_running_sums(taps, half, one, tap);
    for (int i = 0; i < half; i++)
      tap[taps->count - 1 - i] = tap[i];
  } else {
    round_running_sums(taps, taps->count, one, tap);
  }
  for (int i = 0; i < taps->count; i++) {
    if (tap[i] < 0 || tap[i] > largest)
      return false;
    sum += tap[i];
  }
  return sum == one;
}

/* Every product is off by at most half a unit in the last place, and by 1/sqrt(12) of a unit on
 * average. Where neighbouring samples are equal, so are the errors of their products with equal
 * taps. */
static CfFixedError estimate_error(const CfTaps *taps, const int16_t *tap)
{
  const int products = cf_taps_are_symmetric(taps) ? (taps->count + 1) / 2 : taps->count;
  const double unit = 1.0 / (1 << BYTES_BITS);
  double taps_off = 0.0;
  int inexact = 0, alike = 0;

  for (int i = 0; i < taps->count; i++)
    taps_off += fabs(taps->tap[i] / taps->sum - tap[i] / (double)TAP_ONE);
  for (int i = 0; i < products; i++) {
    inexact += tap[i] != 0;
    for (int j = 0; j < products; j++)
      alike += tap[i] != 0 && tap[i] == tap[j];
  }
  /* The errors of all taps add up to 0, so samples count by their distance from the middle code. */
  return (CfFixedError){.bound = 127.5 * taps_off + 0.5 * unit * inexact,
                        .rms = unit * sqrt(alike / 12.0)};
}

bool cf_lines_fixed_taps(const CfTaps *taps, int16_t *tap, CfFixedError *error)
{
  int rounded[CF_MAX_TAPS];

  if (!cf_quantise_taps(taps, TAP_ONE, INT16_MAX, rounded))
    return false;
  for (int i = 0; i < taps->count; i++)
    tap[i] = (int16_t)rounded[i];
  *error = estimate_error(taps, tap);
  return true;
}

/* ---- Lines ---- */

CF_MULTIVERSION
static void load(const CfLineFormat *format, const uint8_t *from, int samples, void *to)
{
  int16_t *restrict line = to;

  for (int i = 0; i < samples; i++)
    line[i] = (int16_t)(from[i] << CF_FIXED_BITS);
}

/* The lines of a symmetric kernel: last[-t] has the same tap as lines[t]. */
typedef struct {
  const int16_t *const *lines, *const *last;
  const int16_t *tap;
  const int16_t *middle; /* the line between the pairs, and its tap: 0 where the number of taps is
                            even */
  int16_t middle_tap;
} Pairs;

/* Sums are computed in groups of lines, few enough to keep all their pointers in registers: sum[i]
 * = (first ? middle product : sum[i]) + `count` pairs from pair `t` on. `first` and `count` are
 * constants. */
INLINE void add_pairs(int16_t *restrict sum, const Pairs *pairs, int t, const bool first,
                      const int count, int samples)
{
  const int16_t *const *lines = pairs->lines + t, *const *last = pairs->last - t;
  const int16_t *tap = pairs->tap + t, *middle = pairs->middle;
  const int16_t middle_tap = pairs->middle_tap;

  for (int i = 0; i < samples / CF_LINE_GRANULE * CF_LINE_GRANULE; i++) {
    int16_t value = first ? cf_fixed_product(middle[i], middle_tap) : sum[i];

    for (int p = 0; p < count; p++)
      value = (int16_t)(value + cf_fixed_product((int16_t)(lines[p][i] + last[-p][i]), tap[p]));
    sum[i] = value;
  }
}

CF_MULTIVERSION
static void sum_pairs(const Pairs *pairs, int count, int samples, int16_t *to)
{
  int t = (count - 1) % 4 + 1;

#define FIRST_GROUP(constant)                                                                      \
  if (t == (constant))                                                                             \
  add_pairs(to, pairs, 0, true, constant, samples)
  FIRST_GROUP(1);
  FIRST_GROUP(2);
  FIRST_GROUP(3);
  FIRST_GROUP(4);
#undef FIRST_GROUP
  for (; t < count; t += 4)
    add_pairs(to, pairs, t, false, 4, samples);
}

static void sum(const CfLineTaps *taps, const void *const *lines, int samples, void *to)
{
  const int16_t *const *line = (const int16_t *const *)lines;
  const int16_t *tap = taps->tap;
  const int middle = taps->count / 2;
  const Pairs pairs = {.lines = line,
                       .last = line + taps->count - 1,
                       .tap = tap,
                       .middle = line[middle],
                       .middle_tap = taps->count % 2 ? tap[middle] : (int16_t)0};

  sum_pairs(&pairs, middle, samples, to);
}

const CfLines cf_lines_fixed = {
    .size = sizeof(int16_t),
    .line_size = sizeof(int16_t),
    .load = load,
    .sum = sum,
};
