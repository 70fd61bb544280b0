/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The body of fir_float.c and fir_double.c: the arithmetic of fir_lines.h in the type REAL.
 */
#include "fir_lines.h"

#include <string.h>

#include "cpu.h"

#define INLINE static inline __attribute__((always_inline))

/* Alpha below this, in code values, counts as 0: it is far below the half code that shows. */
#define SMALLEST_ALPHA (REAL)1e-3

/* Samples to lines */

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

INLINE void weigh_by_alpha(const REAL centre[4], const int alpha, int samples, REAL *line)
{
  for (int i = 0; i < samples; i += 4) {
    const REAL weight = line[i + alpha];

    for (int c = 0; c < 4; c++)
      line[i + c] = c == alpha ? weight : (line[i + c] - centre[c]) * weight;
  }
}

CF_MULTIVERSION
static void weigh_by_first(const REAL centre[4], int samples, REAL *line)
{
  weigh_by_alpha(centre, 0, samples, line);
}

CF_MULTIVERSION
static void weigh_by_last(const REAL centre[4], int samples, REAL *line)
{
  weigh_by_alpha(centre, 3, samples, line);
}

static void load(const CfLineFormat *format, const uint8_t *from, int samples, void *to)
{
  REAL centre[4];

  if (format->bytes == 1)
    load_bytes(from, samples, to);
  else
    load_words(from, format->shift, samples, to);
  if (!format->premultiplied)
    return;
  for (int c = 0; c < 4; c++)
    centre[c] = (REAL)format->plan->channel[c].centre;
  if (format->alpha == 0)
    weigh_by_first(centre, samples, to);
  else
    weigh_by_last(centre, samples, to);
}

/* Sums of lines */

/* Sums are taken in groups of lines, few enough to keep all their pointers in registers: sum[i] =
 * (first ? 0 : sum[i]) + the group. `first` and `count` are constants. Rounding errors grow with
 * the number of groups, not of taps. */
INLINE void add_taps(REAL *restrict sum, const REAL *const *lines, const REAL *tap,
                     const bool first, const int count, int samples)
{
  for (int i = 0; i < samples / CF_LINE_GRANULE * CF_LINE_GRANULE; i++) {
    REAL value = lines[0][i] * tap[0];

    for (int t = 1; t < count; t++)
      value += lines[t][i] * tap[t];
    sum[i] = first ? value : sum[i] + value;
  }
}

CF_MULTIVERSION
static void sum_taps(const REAL *const *lines, const REAL *tap, int count, int samples, REAL *to)
{
  int t = (count - 1) % 8 + 1;

  switch (t) {
  case 1:
    add_taps(to, lines, tap, true, 1, samples);
    break;
  case 2:
    add_taps(to, lines, tap, true, 2, samples);
    break;
  case 3:
    add_taps(to, lines, tap, true, 3, samples);
    break;
  case 4:
    add_taps(to, lines, tap, true, 4, samples);
    break;
  case 5:
    add_taps(to, lines, tap, true, 5, samples);
    break;
  case 6:
    add_taps(to, lines, tap, true, 6, samples);
    break;
  case 7:
    add_taps(to, lines, tap, true, 7, samples);
    break;
  default:
    add_taps(to, lines, tap, true, 8, samples);
  }
  for (; t < count; t += 8)
    add_taps(to, lines + t, tap + t, false, 8, samples);
}

static void sum(const CfLineTaps *taps, const void *const *lines, int samples, void *to)
{
  sum_taps((const REAL *const *)lines, taps->tap, taps->count, samples, to);
}

/* Lines to samples */

INLINE REAL tone(const CfLineFormat *format, REAL value, int i)
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
    to[i] = (uint8_t)clamp_code(tone(format, line[i], i), 255);
}

CF_MULTIVERSION
static void store_words(const CfLineFormat *format, const REAL *line, int samples,
                        uint8_t *restrict to)
{
  const REAL limit = (REAL)format->max_code;
  const int shift = format->shift;

  for (int i = 0; i < samples; i++) {
    const uint16_t sample = (uint16_t)(clamp_code(tone(format, line[i], i), limit) << shift);

    memcpy(to + 2 * i, &sample, sizeof sample);
  }
}

#define CHUNK 64 /* pixels */

/* Divides colours by alpha, and makes them 0 where there is none. */
INLINE void divide_by_alpha(const REAL *alpha, const int alpha_channel, REAL *line)
{
  for (int x = 0; x < CHUNK; x++) {
    const REAL factor = alpha[x] < SMALLEST_ALPHA ? 0 : 1 / alpha[x];

    for (int c = 0; c < 4; c++)
      line[4 * x + c] *= c == alpha_channel ? 1 : factor;
  }
}

CF_MULTIVERSION
static void divide_by_first(const REAL alpha[CHUNK], REAL line[4 * CHUNK])
{
  divide_by_alpha(alpha, 0, line);
}

CF_MULTIVERSION
static void divide_by_last(const REAL alpha[CHUNK], REAL line[4 * CHUNK])
{
  divide_by_alpha(alpha, 3, line);
}

static void store_chunk(const CfLineFormat *format, const REAL *line, int pixels,
                        const uint8_t *source, uint8_t *to)
{
  const CfFirChannel *channels = format->plan->channel;
  const CfFirChannel *alpha_channel = &channels[format->alpha];
  REAL values[4 * CHUNK] = {0}, alpha[CHUNK] = {0};

  memcpy(values, line, 4 * (size_t)pixels * sizeof *line);
  for (int x = 0; x < pixels; x++)
    alpha[x] = alpha_channel->filtered ? values[4 * x + format->alpha] * (REAL)alpha_channel->scale
                                       : (REAL)source[4 * x + format->alpha];
  if (format->alpha == 0)
    divide_by_first(alpha, values);
  else
    divide_by_last(alpha, values);
  store_bytes(format, values, 4 * pixels, to);

  for (int x = 0; x < pixels; x++) {
    for (int c = 0; c < 4 && alpha[x] < SMALLEST_ALPHA; c++) {
      if (c != format->alpha)
        to[4 * x + c] = (uint8_t)channels[c].centre;
    }
  }
}

static void store(const CfLineFormat *format, const void *line, int samples, const uint8_t *source,
                  uint8_t *to)
{
  const REAL *values = line;

  if (!format->premultiplied) {
    (format->bytes == 1 ? store_bytes : store_words)(format, values, samples, to);
    return;
  }
  for (int i = 0; i < samples; i += 4 * CHUNK) {
    const int pixels = (samples - i) / 4 < CHUNK ? (samples - i) / 4 : CHUNK;

    store_chunk(format, values + i, pixels, source + i, to + i);
  }
}

const CfLines LINES = {
    .name = LINES_NAME,
    .size = sizeof(REAL),
    .load = load,
    .sum = sum,
    .store = store,
};
