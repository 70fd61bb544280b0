/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Compiled once per instruction set. Lines are bytes less 128. Filtered lines are 16-bit integers
 * with 7 fractional bits, in the order that widening the halves of lanes leaves; narrowing restores
 * it. In both directions each product is a pair of samples times their common tap; the middle
 * sample is paired with itself and has half its tap. Nothing can overflow, since taps are >= 0 and
 * add up to 1; so 0 and 255 are preserved exactly.
 */
#include "cpu/fir/bytes_vectors.h"
#include "cpu/fir/line_ops.h"

#define FRACTION   7
#define JOIN(a, b) a##b
#define NAME(a, b) JOIN(a, b)

/* ---- Pixels in memory to bytes of a line and back ---- */

/* Pixels of 4 bytes without the channel that is dropped: the first 3 bytes from `first` on. */
INLINE void drop_channel(const uint8_t *from, const int first, int pixels, uint8_t *to)
{
  const Bytes index = repeat((Lane){0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14} + (int8_t)first);
  int x = 0;

  for (; x + VECTOR_BYTES / 4 <= pixels; x += VECTOR_BYTES / 4)
    store_bytes(to + 3 * x, join_lanes(permute(load_bytes(from + 4 * x), index)) ^ all_bytes(128));
  for (; x < pixels; x++) {
    for (int i = 0; i < 3; i++)
      to[3 * x + i] = from[4 * x + first + i] ^ 128;
  }
}

/* Pixels of 4 bytes, with 255 for the channel that was dropped. */
INLINE void restore_channel(const uint8_t *from, const int first, int pixels, uint8_t *to)
{
  const Bytes index = repeat(first ? (Lane){-1, 0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11}
                                   : (Lane){0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1});
  int x = 0;

  for (; x + VECTOR_BYTES / 4 <= pixels; x += VECTOR_BYTES / 4)
    store_bytes(to + 4 * x, permute(part_lanes(load_bytes(from + 3 * x)), index) | (index < 0));
  for (; x < pixels; x++) {
    to[4 * x + (first ? 0 : 3)] = 255;
    memcpy(to + 4 * x + first, from + 3 * x, 3);
  }
}

static void load(const CfLineFormat *format, const uint8_t *from, int samples, void *to)
{
  uint8_t *line = to;
  int i = 0;

  if (format->dropped == 0) {
    drop_channel(from, 1, samples / 4, to);
  } else if (format->dropped == 3) {
    drop_channel(from, 0, samples / 4, to);
  } else {
    for (; i + VECTOR_BYTES <= samples; i += VECTOR_BYTES)
      store_bytes(line + i, load_bytes(from + i) ^ all_bytes(128));
    for (; i < samples; i++)
      line[i] = from[i] ^ 128;
  }
}

static void store(const CfLineFormat *format, const void *line, int samples, const uint8_t *source,
                  uint8_t *to)
{
  if (format->dropped == 0)
    restore_channel(line, 1, samples / 4, to);
  else if (format->dropped == 3)
    restore_channel(line, 0, samples / 4, to);
  else
    memcpy(to, line, (size_t)samples);
}

/* ---- Sums along a row ---- */

typedef struct {
  const int16_t *tap;
  int count;      /* number of products */
  ptrdiff_t last; /* bytes from the first sample to the sample with the same tap */
  ptrdiff_t step; /* bytes from one tap's sample to the next one's */
} RowTaps;

/* Sums of `vectors` vectors of bytes. `symmetric` and `vectors` are constants. */
INLINE void sum_bytes(const RowTaps *taps, const bool symmetric, const int vectors,
                      const uint8_t *line, int16_t *to)
{
  const uint8_t *front = line, *back = line + taps->last;
  Shorts sum[4] = {{0}};

  for (int t = 0; t < taps->count; t++, front += taps->step, back -= taps->step) {
    const Shorts tap = all_shorts(taps->tap[t]);

    for (int i = 0; i < vectors; i++) {
      Bytes a = load_bytes(front + i * VECTOR_BYTES);
      Bytes b = symmetric ? load_bytes(back + i * VECTOR_BYTES) : (Bytes){0};

      IN_REGISTER(a);
      IN_REGISTER(b);
      sum[2 * i] = add(sum[2 * i], product(fold_low(a, b), tap));
      sum[2 * i + 1] = add(sum[2 * i + 1], product(fold_high(a, b), tap));
    }
  }
  for (int i = 0; i < 2 * vectors; i++)
    store_shorts(to + i * VECTOR_SHORTS, sum[i]);
}

INLINE void sum_line(const RowTaps *taps, const bool symmetric, const uint8_t *line, int samples,
                     int16_t *to)
{
  int i = 0;

  for (; i + 2 * VECTOR_BYTES <= samples; i += 2 * VECTOR_BYTES)
    sum_bytes(taps, symmetric, 2, line + i, to + i);
  if (i < samples)
    sum_bytes(taps, symmetric, 1, line + i, to + i);
}

static void sum(const CfLineTaps *taps, const void *const *lines, int samples, void *to)
{
  const uint8_t *line = lines[0];
  const ptrdiff_t step = taps->count > 1 ? (const uint8_t *)lines[1] - line : 0;
  const RowTaps row = {taps->tap, taps->symmetric ? (taps->count + 1) / 2 : taps->count,
                       (taps->count - 1) * step, step};

  if (taps->symmetric)
    sum_line(&row, true, line, samples, to);
  else
    sum_line(&row, false, line, samples, to);
}

/* ---- Sums along columns ---- */

/* Sums of four neighbouring rows of the result. a0..a3 are the four rows that the current tap
 * multiplies, b0..b3 the four that the mirrored tap multiplies, which is the same tap. With each
 * tap both move on by one row, so that a step loads only two rows; names rotate instead of
 * registers. */
#define ADD(sum, a, b) sum = add(sum, product(symmetric ? add(a, b) : a, tap))
#define STEP(a0, a1, a2, a3, b0, b1, b2, b3)                                                       \
  do {                                                                                             \
    const Shorts tap = all_shorts(taps[t]);                                                        \
    ADD(sum0, a0, b0);                                                                             \
    ADD(sum1, a1, b1);                                                                             \
    ADD(sum2, a2, b2);                                                                             \
    ADD(sum3, a3, b3);                                                                             \
    a0 = load_shorts(rows[t + 4] + at);                                                            \
    if (symmetric)                                                                                 \
      b3 = load_shorts(rows[last > t ? last - 1 - t : 0] + at);                                    \
    t++;                                                                                           \
  } while (0)

INLINE void sum_shorts(const int16_t *taps, const bool symmetric, int count, int last,
                       const int16_t *const *rows, int at, Shorts sums[4])
{
  const int same = symmetric ? last : 0;
  Shorts a0 = load_shorts(rows[0] + at), a1 = load_shorts(rows[1] + at);
  Shorts a2 = load_shorts(rows[2] + at), a3 = load_shorts(rows[3] + at);
  Shorts b0 = load_shorts(rows[same] + at), b1 = load_shorts(rows[same + 1] + at);
  Shorts b2 = load_shorts(rows[same + 2] + at), b3 = load_shorts(rows[same + 3] + at);
  Shorts sum0 = all_shorts(1 << FRACTION >> 1), sum1 = sum0, sum2 = sum0, sum3 = sum0;
  int t = 0;

  while ((count - t) % 4) {
    STEP(a0, a1, a2, a3, b0, b1, b2, b3);
    const Shorts a = a0, b = b3;
    a0 = a1, a1 = a2, a2 = a3, a3 = a;
    b3 = b2, b2 = b1, b1 = b0, b0 = b;
  }
  while (t < count) {
    STEP(a0, a1, a2, a3, b0, b1, b2, b3);
    STEP(a1, a2, a3, a0, b3, b0, b1, b2);
    STEP(a2, a3, a0, a1, b2, b3, b0, b1);
    STEP(a3, a0, a1, a2, b1, b2, b3, b0);
  }
  sums[0] = sum0, sums[1] = sum1, sums[2] = sum2, sums[3] = sum3;
}

INLINE void sum_columns(const CfLineTaps *taps, const bool symmetric, int count,
                        const int16_t *const *rows, int samples, uint8_t *const *to)
{
  for (int at = 0; at < samples; at += VECTOR_BYTES) {
    Shorts low[4], high[4];

    sum_shorts(taps->tap, symmetric, count, taps->count - 1, rows, at, low);
    sum_shorts(taps->tap, symmetric, count, taps->count - 1, rows, at + VECTOR_SHORTS, high);
    for (int i = 0; i < 4; i++)
      store_bytes(to[i] + at, narrow(low[i] >> FRACTION, high[i] >> FRACTION) ^ all_bytes(128));
  }
}

static void sum_rows(const CfLineTaps *taps, const void *const *lines, int samples, void *const *to)
{
  const int16_t *const *rows = (const int16_t *const *)lines;

  if (taps->symmetric)
    sum_columns(taps, true, (taps->count + 1) / 2, rows, samples, (uint8_t *const *)to);
  else
    sum_columns(taps, false, taps->count, rows, samples, (uint8_t *const *)to);
}

const CfLines NAME(cf_lines_bytes_, CF_BYTES_BUILD) = {
    .size = sizeof(int16_t),
    .line_size = sizeof(uint8_t),
    .rows = 4,
    .load = load,
    .sum = sum,
    .sum_rows = sum_rows,
    .store = store,
};
