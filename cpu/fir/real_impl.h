/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The arithmetic of line_ops.h in floating point: the body of float.c and double.c, which define
 * REAL and LINES.
 */
#include "cpu/fir/line_ops.h"
#include "plan/int_math.h"

#include <string.h>

#include "cpu/common/cpu.h"

/* In code values. Smaller alpha counts as 0, far below the half code that is visible. */
#define SMALLEST_ALPHA (REAL)1e-3

static void set(void *table, size_t i, double value)
{
  ((REAL *)table)[i] = (REAL)value;
}

/* ---- Samples to lines ---- */

CF_MULTIVERSION
static void load_bytes(const uint8_t *from, int samples, REAL *restrict to)
{
  for (int i = 0; i < samples; i++)
    to[i] = (REAL)from[i];
}

CF_MULTIVERSION
static void load_words(const uint8_t *from, int shift, int samples, REAL *restrict to)
{
  for (int i = 0; i < samples; i++) {
    uint16_t sample;

    memcpy(&sample, from + 2 * i, sizeof sample);
    to[i] = (REAL)(sample >> shift);
  }
}

/* Pixels whose weights are computed at once. */
#define CHUNK CF_WEIGHT_CHUNK

/* Weights the channels of a pixel by alpha, and alpha itself by 1. */
CF_MULTIVERSION
static void load_weighted(const CfLineFormat *format, const uint8_t *from, int samples,
                          REAL *restrict to)
{
  const REAL *centre = format->centre;
  const int shift = 8 * format->alpha;
  const uint32_t one = UINT32_C(1) << shift, others = UINT32_C(0x01010101) ^ one;

  for (int begin = 0; begin < samples; begin += 4 * CHUNK) {
    const int count = cf_min(samples - begin, 4 * CHUNK);
    uint32_t spread[CHUNK];
    const uint8_t *weight = (const uint8_t *)spread;

    for (int x = 0; x < count / 4; x++) {
      uint32_t pixel;

      memcpy(&pixel, from + begin + 4 * x, sizeof pixel);
      spread[x] = (pixel >> shift & 255) * others | one;
    }
    for (int i = 0; i < count; i++)
      to[begin + i] = ((REAL)from[begin + i] - centre[i]) * (REAL)weight[i];
  }
}

static void load(const CfLineFormat *format, const uint8_t *from, int samples, void *to)
{
  if (format->premultiplied)
    load_weighted(format, from, samples, to);
  else if (format->bytes == 1)
    load_bytes(from, samples, to);
  else
    load_words(from, format->shift, samples, to);
}

/* ---- Sums of lines ---- */

/* Sums are computed in groups of lines, few enough to keep all their pointers in registers: sum[i]
 * = (first ? 0 : sum[i]) + the group. With `with_below`, sum_below is the sum one line further
 * down, which reads mostly the same lines. `first`, `count` and `with_below` are constants.
 * Rounding errors grow with the number of groups, not of taps. */
INLINE void add_taps(REAL *restrict sum, REAL *restrict sum_below, const REAL *const *lines,
                     const REAL *tap, const bool first, const int count, const bool with_below,
                     int samples)
{
  for (int i = 0; i < samples / CF_LINE_GRANULE * CF_LINE_GRANULE; i++) {
    REAL value = lines[0][i] * tap[0], below = with_below ? lines[1][i] * tap[0] : 0;

    for (int t = 1; t < count; t++) {
      value += lines[t][i] * tap[t];
      if (with_below)
        below += lines[t + 1][i] * tap[t];
    }
    sum[i] = first ? value : sum[i] + value;
    if (with_below)
      sum_below[i] = first ? below : sum_below[i] + below;
  }
}

INLINE void sum_groups(const REAL *const *lines, const REAL *tap, int count, const bool with_below,
                       int samples, REAL *to, REAL *below)
{
  int t = (count - 1) % 8 + 1;

#define FIRST_GROUP(constant)                                                                      \
  if (t == (constant))                                                                             \
  add_taps(to, below, lines, tap, true, constant, with_below, samples)
  FIRST_GROUP(1);
  FIRST_GROUP(2);
  FIRST_GROUP(3);
  FIRST_GROUP(4);
  FIRST_GROUP(5);
  FIRST_GROUP(6);
  FIRST_GROUP(7);
  FIRST_GROUP(8);
#undef FIRST_GROUP
  for (; t < count; t += 8)
    add_taps(to, below, lines + t, tap + t, false, 8, with_below, samples);
}

CF_MULTIVERSION
static void sum_taps(const REAL *const *lines, const REAL *tap, int count, int samples, REAL *to)
{
  sum_groups(lines, tap, count, false, samples, to, NULL);
}

CF_MULTIVERSION
static void sum_taps_twice(const REAL *const *lines, const REAL *tap, int count, int samples,
                           REAL *to, REAL *below)
{
  sum_groups(lines, tap, count, true, samples, to, below);
}

static void sum(const CfLineTaps *taps, const void *const *lines, int samples, void *to)
{
  sum_taps((const REAL *const *)lines, taps->tap, taps->count, samples, to);
}

static void sum_rows(const CfLineTaps *taps, const void *const *lines, int samples, void *const *to)
{
  sum_taps_twice((const REAL *const *)lines, taps->tap, taps->count, samples, to[0], to[1]);
}

/* ---- Lines to samples ---- */

INLINE REAL map_sum(const CfLineFormat *format, REAL value, int i)
{
  const REAL *scale = format->scale, *sign = format->sign, *offset = format->offset;
  const REAL scaled = value * scale[i], mirrored = scaled * sign[i];

  return (scaled > mirrored ? scaled : mirrored) + offset[i];
}

INLINE int clamp_code(REAL value, REAL limit)
{
  const REAL positive = value > 0 ? value : 0;

  return (int)(positive < limit ? positive : limit);
}

CF_MULTIVERSION
static void store_bytes(const CfLineFormat *format, const REAL *line, int samples,
                        uint8_t *restrict to)
{
  for (int i = 0; i < samples; i++)
    to[i] = (uint8_t)clamp_code(map_sum(format, line[i], i), 255);
}

CF_MULTIVERSION
static void store_words(const CfLineFormat *format, const REAL *line, int samples,
                        uint8_t *restrict to)
{
  const REAL limit = (REAL)format->max_code;
  const int shift = format->shift;

  for (int i = 0; i < samples; i++) {
    const uint16_t sample = (uint16_t)(clamp_code(map_sum(format, line[i], i), limit) << shift);

    memcpy(to + 2 * i, &sample, sizeof sample);
  }
}

/* Alpha before it is rounded. Alpha is the first or the last of 4 channels; reading and writing
 * both ends keeps memory accesses whole. Loading a part of a vector that was just stored, or a
 * whole one that was stored in parts, would wait until the store has reached the cache. */
CF_MULTIVERSION
static void read_alpha(const CfLineFormat *format, const REAL *line, int pixels,
                       const uint8_t *source, REAL *restrict alpha)
{
  const CfFirChannel *channel = &format->plan->channel[format->alpha];
  const REAL first = format->alpha == 0 ? (REAL)channel->scale : 0;
  const REAL last = format->alpha == 3 ? (REAL)channel->scale : 0;

  if (channel->filtered) {
    for (int x = 0; x < pixels; x++)
      alpha[x] = line[4 * x] * first + line[4 * x + 3] * last;
  } else {
    for (int x = 0; x < pixels; x++)
      alpha[x] = (REAL)source[4 * x + format->alpha];
  }
}

/* Divides colours by alpha; colours without alpha become 0. Returns the number of pixels without
 * alpha. */
CF_MULTIVERSION
static int divide_by_alpha(const REAL *line, const REAL *alpha, const int channel, int pixels,
                           REAL *restrict values)
{
  const REAL first = channel == 0, last = channel == 3;
  REAL inverse[CHUNK], factor[4 * CHUNK];
  int empty = 0;

  for (int x = 0; x < pixels; x++)
    inverse[x] = alpha[x] < SMALLEST_ALPHA ? 0 : 1 / alpha[x];
  for (int x = 0; x < pixels; x++)
    empty += alpha[x] < SMALLEST_ALPHA;
  for (int x = 0; x < pixels; x++) {
    factor[4 * x] = inverse[x] * (1 - first) + first;
    factor[4 * x + 1] = inverse[x];
    factor[4 * x + 2] = inverse[x];
    factor[4 * x + 3] = inverse[x] * (1 - last) + last;
  }
  for (int i = 0; i < 4 * pixels; i++)
    values[i] = line[i] * factor[i];
  return empty;
}

static void empty_colours(const CfLineFormat *format, const REAL *alpha, int pixels, uint8_t *to)
{
  for (int x = 0; x < pixels; x++) {
    for (int c = 0; c < 4 && alpha[x] < SMALLEST_ALPHA; c++) {
      if (c != format->alpha)
        to[4 * x + c] = (uint8_t)format->plan->channel[c].centre;
    }
  }
}

static void store_weighted(const CfLineFormat *format, const REAL *line, int pixels,
                           const uint8_t *source, uint8_t *to)
{
  REAL alpha[CHUNK], values[4 * CHUNK];

  read_alpha(format, line, pixels, source, alpha);
  const int empty = divide_by_alpha(line, alpha, format->alpha, pixels, values);
  store_bytes(format, values, 4 * pixels, to);
  if (empty)
    empty_colours(format, alpha, pixels, to);
}

static void store_values(const CfLineFormat *format, const REAL *values, int samples,
                         const uint8_t *source, uint8_t *to)
{
  if (!format->premultiplied) {
    (format->bytes == 1 ? store_bytes : store_words)(format, values, samples, to);
    return;
  }
  for (int i = 0; i < samples; i += 4 * CHUNK) {
    const int pixels = (samples - i) / 4 < CHUNK ? (samples - i) / 4 : CHUNK;

    store_weighted(format, values + i, pixels, source + i, to + i);
  }
}

/* Adds to each sample `own` a multiple of its difference from the mean, where that exceeds
 * threshold[i % 4]. */
CF_MULTIVERSION
static void add_difference(const REAL *restrict own, const REAL *restrict mean, REAL amount,
                           const REAL *restrict threshold, int samples, REAL *restrict to)
{
  for (int i = 0; i < samples; i++) {
    const REAL more = own[i] - mean[i], size = more < 0 ? -more : more;

    to[i] = own[i] + (size > threshold[i % 4] ? amount * more : 0);
  }
}

static void store_unsharp(const CfLineFormat *format, const REAL *mean, int samples,
                          const uint8_t *source, uint8_t *to)
{
  const int most = 4 * CHUNK / format->channels * format->channels;
  REAL own[4 * CHUNK], values[4 * CHUNK], threshold[4];

  for (int c = 0; c < 4; c++)
    threshold[c] = (REAL)(format->plan->threshold *
                          (format->premultiplied && c != format->alpha ? 255.0 : 1.0));
  for (int i = 0; i < samples; i += most) {
    const int count = cf_min(samples - i, most);
    const ptrdiff_t at = (ptrdiff_t)i * format->bytes;

    load(format, source + at, count, own);
    add_difference(own, mean + i, (REAL)format->plan->amount, threshold, count, values);
    store_values(format, values, count, source + at, to + at);
  }
}

static void store(const CfLineFormat *format, const void *line, int samples, const uint8_t *source,
                  uint8_t *to)
{
  (format->plan->unsharp ? store_unsharp : store_values)(format, line, samples, source, to);
}

const CfLines LINES = {
    .set = set,
    .size = sizeof(REAL),
    .line_size = sizeof(REAL),
    .rows = 2,
    .load = load,
    .sum = sum,
    .sum_rows = sum_rows,
    .store = store,
};
