/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fir_lines.h"

#include <math.h>
#include <string.h>

#include "cpu.h"

#define SAMPLE_BITS 6 /* 255 << 6, added in pairs, just fits 16 bits */
#define TAP_ONE     32768
#define INLINE      static inline __attribute__((always_inline))

/* Taps */

static bool add_to_tap(int16_t *tap, int amount)
{
  const int sum = *tap + amount;

  if (sum < 0 || sum > INT16_MAX)
    return false;
  *tap = (int16_t)sum;
  return true;
}

static bool make_sum_one(int16_t *tap, int count, bool symmetric)
{
  int residue = TAP_ONE, largest = 0;

  for (int i = 0; i < count; i++) {
    residue -= tap[i];
    if (tap[i] > tap[largest])
      largest = i;
  }
  if (symmetric && count % 2 == 0)
    return add_to_tap(&tap[largest], residue / 2) &&
           add_to_tap(&tap[count - 1 - largest], residue / 2);
  return add_to_tap(&tap[symmetric ? count / 2 : largest], residue);
}

double cf_lines_fixed_taps(const CfTaps *taps, bool symmetric, int16_t *tap)
{
  const int products = symmetric ? (taps->count + 1) / 2 : taps->count;
  double tap_error = 0.0;

  for (int i = 0; i < taps->count; i++) {
    const double exact = taps->tap[i] / taps->sum;

    if (!(exact >= 0.0 && exact <= 1.0))
      return INFINITY;
    tap[i] = (int16_t)fmin(floor(exact * TAP_ONE + 0.5), INT16_MAX);
  }
  if (!make_sum_one(tap, taps->count, symmetric))
    return INFINITY;

  /* Tap errors add up to 0, so they see the distance of samples from the middle code. */
  for (int i = 0; i < taps->count; i++)
    tap_error += fabs(taps->tap[i] / taps->sum - tap[i] / (double)TAP_ONE);
  return tap_error * 127.5 + products * 0.5 / (1 << SAMPLE_BITS);
}

/* Lines */

CF_MULTIVERSION
static void load(const CfLineFormat *format, const uint8_t *from, int samples, void *to)
{
  int16_t *restrict line = to;

  (void)format;
  for (int i = 0; i < samples; i++)
    line[i] = (int16_t)(from[i] << SAMPLE_BITS);
}

/* Written as the compiler recognises it: one instruction since SSSE3. */
INLINE int16_t rounded_product(int16_t sample, int16_t tap)
{
  return (int16_t)(((((int)sample * tap) >> 14) + 1) >> 1);
}

/* sum[i] += what `count` taps, a constant, give: few enough to keep all pointers in registers. */
INLINE void add_taps(int16_t *restrict sum, const int16_t *const *lines, const int16_t *tap,
                     const int count, int samples)
{
  for (int i = 0; i < samples; i++) {
    int16_t value = sum[i];

    for (int t = 0; t < count; t++)
      value = (int16_t)(value + rounded_product(lines[t][i], tap[t]));
    sum[i] = value;
  }
}

/* The same where the lines before *last have the same taps in reverse order. */
INLINE void add_tap_pairs(int16_t *restrict sum, const int16_t *const *lines,
                          const int16_t *const *last, const int16_t *tap, const int count,
                          int samples)
{
  for (int i = 0; i < samples; i++) {
    int16_t value = sum[i];

    for (int t = 0; t < count; t++)
      value = (int16_t)(value + rounded_product((int16_t)(lines[t][i] + last[-t][i]), tap[t]));
    sum[i] = value;
  }
}

CF_MULTIVERSION
static void sum_taps(const int16_t *const *lines, const int16_t *tap, int count, int samples,
                     int16_t *to)
{
  int t = 0;

  for (; t + 8 <= count; t += 8)
    add_taps(to, lines + t, tap + t, 8, samples);
  if (t + 4 <= count) {
    add_taps(to, lines + t, tap + t, 4, samples);
    t += 4;
  }
  for (; t < count; t++)
    add_taps(to, lines + t, tap + t, 1, samples);
}

CF_MULTIVERSION
static void sum_tap_pairs(const int16_t *const *lines, const int16_t *const *last,
                          const int16_t *tap, int count, int samples, int16_t *to)
{
  int t = 0;

  for (; t + 4 <= count; t += 4)
    add_tap_pairs(to, lines + t, last - t, tap + t, 4, samples);
  if (t + 2 <= count) {
    add_tap_pairs(to, lines + t, last - t, tap + t, 2, samples);
    t += 2;
  }
  if (t < count)
    add_tap_pairs(to, lines + t, last - t, tap + t, 1, samples);
}

static void sum(const CfLineTaps *taps, const void *const *lines, int samples, void *to)
{
  const int16_t *const *line = (const int16_t *const *)lines;
  const int16_t *tap = taps->tap;

  memset(to, 0, (size_t)samples * sizeof(int16_t));
  if (!taps->symmetric) {
    sum_taps(line, tap, taps->count, samples, to);
    return;
  }
  if (taps->count % 2)
    sum_taps(line + taps->count / 2, tap + taps->count / 2, 1, samples, to);
  sum_tap_pairs(line, line + taps->count - 1, tap, taps->count / 2, samples, to);
}

CF_MULTIVERSION
static void store(const CfLineFormat *format, const void *line, int samples, const uint8_t *source,
                  uint8_t *restrict to)
{
  const int16_t *value = line;

  (void)format;
  (void)source;
  /* The bound on errors, below half a code, keeps this within 0..255. */
  for (int i = 0; i < samples; i++)
    to[i] = (uint8_t)((value[i] + (1 << SAMPLE_BITS >> 1)) >> SAMPLE_BITS);
}

const CfLines cf_lines_fixed = {
    .name = "fir-fixed",
    .size = sizeof(int16_t),
    .load = load,
    .sum = sum,
    .store = store,
};
