/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpu/blockavg/lines.h"

#include <string.h>

#include "cpu/common/cpu.h"

#define INLINE static inline __attribute__((always_inline))

/* Sample i of a row of 16 bits, which may start at any byte. */
INLINE int sample_16(const uint8_t *row, int i)
{
  uint16_t sample;

  memcpy(&sample, row + 2 * (ptrdiff_t)i, sizeof sample);
  return sample;
}

/* ---- Rows to columns ---- */

CF_MULTIVERSION
static void add_rows_8(void *columns, const uint8_t *rows, ptrdiff_t stride, int count, int samples,
                       int shift)
{
  uint16_t *restrict sums = columns;
  int y = 0;

  (void)shift;
  /* Eight rows, or four, for one access to the columns. */
  for (; y + 8 <= count; y += 8, rows += 8 * stride) {
    const uint8_t *restrict a = rows, *restrict b = rows + stride;
    const uint8_t *restrict c = rows + 2 * stride, *restrict d = rows + 3 * stride;
    const uint8_t *restrict e = rows + 4 * stride, *restrict f = rows + 5 * stride;
    const uint8_t *restrict g = rows + 6 * stride, *restrict h = rows + 7 * stride;

    for (int i = 0; i < samples; i++)
      sums[i] = (uint16_t)(sums[i] + (a[i] + b[i]) + (c[i] + d[i]) + (e[i] + f[i]) + (g[i] + h[i]));
  }
  for (; y + 4 <= count; y += 4, rows += 4 * stride) {
    const uint8_t *restrict a = rows, *restrict b = rows + stride;
    const uint8_t *restrict c = rows + 2 * stride, *restrict d = rows + 3 * stride;

    for (int i = 0; i < samples; i++)
      sums[i] = (uint16_t)(sums[i] + (a[i] + b[i]) + (c[i] + d[i]));
  }
  for (; y < count; y++, rows += stride) {
    const uint8_t *restrict row = rows;

    for (int i = 0; i < samples; i++)
      sums[i] = (uint16_t)(sums[i] + row[i]);
  }
}

CF_MULTIVERSION
static void add_rows_16(void *columns, const uint8_t *rows, ptrdiff_t stride, int count,
                        int samples, int shift)
{
  uint32_t *restrict sums = columns;

  for (int y = 0; y < count; y++, rows += stride) {
    const uint8_t *restrict row = rows;

    for (int i = 0; i < samples; i++)
      sums[i] += (uint32_t)(sample_16(row, i) >> shift);
  }
}

INLINE void add_weighted_row(uint32_t *restrict sums, const uint8_t *restrict row, int samples,
                             const int alpha)
{
  for (int i = 0; i < samples; i += 4) {
    for (int channel = 0; channel < 4; channel++)
      sums[i + channel] += (uint32_t)(row[i + channel] * row[i + alpha]);
  }
}

CF_MULTIVERSION
static void add_weighted_rows(void *columns, const uint8_t *rows, ptrdiff_t stride, int count,
                              int samples, int alpha)
{
  for (int y = 0; y < count; y++, rows += stride) {
    if (alpha == 0)
      add_weighted_row(columns, rows, samples, 0);
    else
      add_weighted_row(columns, rows, samples, 3);
  }
}

CF_MULTIVERSION
static void least_rows_8(void *columns, const uint8_t *rows, ptrdiff_t stride, int count,
                         int samples, int flip)
{
  uint8_t *restrict least = columns;

  for (int y = 0; y < count; y++, rows += stride) {
    const uint8_t *restrict row = rows;

    for (int i = 0; i < samples; i++) {
      const uint8_t value = (uint8_t)(row[i] ^ flip);
      least[i] = value < least[i] ? value : least[i];
    }
  }
}

CF_MULTIVERSION
static void least_rows_16(void *columns, const uint8_t *rows, ptrdiff_t stride, int count,
                          int samples, int flip)
{
  uint16_t *restrict least = columns;

  for (int y = 0; y < count; y++, rows += stride) {
    const uint8_t *restrict row = rows;

    for (int i = 0; i < samples; i++) {
      const uint16_t value = (uint16_t)(sample_16(row, i) ^ flip);
      least[i] = value < least[i] ? value : least[i];
    }
  }
}

/* ---- Columns to results ---- */

#define SUM(a, b)   ((a) + (b))
#define LEAST(a, b) ((b) < (a) ? (b) : (a))

/* Defines the reduction of columns of one type by one operation for any number of channels. */
#define DEFINE_CHANNELS(name, column_type, value_type, fresh, take)                                \
  INLINE void name##_channels(double *restrict results, const column_type *restrict columns,       \
                              const int *restrict edges, int blocks, const int channels)           \
  {                                                                                                \
    for (int block = 0; block < blocks; block++, results += channels) {                            \
      value_type value[CF_MAX_CHANNELS] = {fresh, fresh, fresh, fresh};                            \
                                                                                                   \
      for (int i = edges[block]; i < edges[block + 1]; i += channels) {                            \
        for (int channel = 0; channel < channels; channel++)                                       \
          value[channel] = take(value[channel], columns[i + channel]);                             \
      }                                                                                            \
      for (int channel = 0; channel < channels; channel++)                                         \
        results[channel] = take(results[channel], (double)value[channel]);                         \
    }                                                                                              \
  }

/* Sums of four channels, each in one vector: compilers see none in loops as short as blocks. */
#define DEFINE_FOUR_SUMS(name, column_type, value_type)                                            \
  INLINE void name##_four(double *restrict results, const column_type *restrict columns,           \
                          const int *restrict edges, int blocks)                                   \
  {                                                                                                \
    typedef column_type Columns __attribute__((vector_size(4 * sizeof(column_type))));             \
    typedef value_type Values __attribute__((vector_size(4 * sizeof(value_type))));                \
    typedef double Results __attribute__((vector_size(4 * sizeof(double))));                       \
                                                                                                   \
    for (int block = 0; block < blocks; block++, results += 4) {                                   \
      Values value = {0};                                                                          \
      Results result;                                                                              \
                                                                                                   \
      for (int i = edges[block]; i < edges[block + 1]; i += 4) {                                   \
        Columns column;                                                                            \
        memcpy(&column, columns + i, sizeof column);                                               \
        value += __builtin_convertvector(column, Values);                                          \
      }                                                                                            \
      memcpy(&result, results, sizeof result);                                                     \
      result += __builtin_convertvector(value, Results);                                           \
      memcpy(results, &result, sizeof result);                                                     \
    }                                                                                              \
  }

/* Defines take_columns, unrolled for each number of channels. */
#define DEFINE_TAKE_COLUMNS(name, four_channels)                                                   \
  CF_MULTIVERSION                                                                                  \
  static void name(double *results, const void *columns, const int *edges, int blocks,             \
                   int channels)                                                                   \
  {                                                                                                \
    if (channels == 1)                                                                             \
      name##_channels(results, columns, edges, blocks, 1);                                         \
    else if (channels == 2)                                                                        \
      name##_channels(results, columns, edges, blocks, 2);                                         \
    else if (channels == 3)                                                                        \
      name##_channels(results, columns, edges, blocks, 3);                                         \
    else                                                                                           \
      four_channels;                                                                               \
  }

/* The sum of a block's columns of 256 rows of 8 bits is below 2^28, of 4096 rows of 16 bits below
 * 2^40. */
DEFINE_CHANNELS(add_columns_16, uint16_t, int32_t, 0, SUM)
DEFINE_FOUR_SUMS(add_columns_16, uint16_t, int32_t)
DEFINE_TAKE_COLUMNS(add_columns_16, add_columns_16_four(results, columns, edges, blocks))
DEFINE_CHANNELS(add_columns_32, uint32_t, int64_t, 0, SUM)
DEFINE_FOUR_SUMS(add_columns_32, uint32_t, int64_t)
DEFINE_TAKE_COLUMNS(add_columns_32, add_columns_32_four(results, columns, edges, blocks))
DEFINE_CHANNELS(least_columns_8, uint8_t, uint8_t, UINT8_MAX, LEAST)
DEFINE_TAKE_COLUMNS(least_columns_8, least_columns_8_channels(results, columns, edges, blocks, 4))
DEFINE_CHANNELS(least_columns_16, uint16_t, uint16_t, UINT16_MAX, LEAST)
DEFINE_TAKE_COLUMNS(least_columns_16, least_columns_16_channels(results, columns, edges, blocks, 4))

static void add_results(double *results, const double *others, int count)
{
  for (int i = 0; i < count; i++)
    results[i] += others[i];
}

static void least_results(double *results, const double *others, int count)
{
  for (int i = 0; i < count; i++)
    results[i] = LEAST(results[i], others[i]);
}

/* Columns of 16 bits take 256 rows, since 257 x 255 = 65535; a block has 4096 rows at most. */
const CfBlockReduction cf_block_sums_8 = {2, 256, 0, 0.0, add_rows_8, add_columns_16, add_results};
const CfBlockReduction cf_block_sums_16 = {4,           4096,           0,          0.0,
                                           add_rows_16, add_columns_32, add_results};
const CfBlockReduction cf_block_weighted_sums = {
    4, 4096, 0, 0.0, add_weighted_rows, add_columns_32, add_results};
const CfBlockReduction cf_block_least_8 = {
    1, 4096, UINT8_MAX, UINT8_MAX, least_rows_8, least_columns_8, least_results};
const CfBlockReduction cf_block_least_16 = {
    2, 4096, UINT8_MAX, UINT16_MAX, least_rows_16, least_columns_16, least_results};

/* ---- Results to lines ---- */

/* Exact: a mean of n samples plus 1/2 is a multiple of 1/(2n); the 1/(4n) of the quarter keeps it
 * that far from the next whole number, at least 2^-26, while the errors of a double near 2^16 are
 * below 2^-34. */
CF_MULTIVERSION
void cf_block_means(uint16_t *restrict values, const double *restrict sums,
                    const double *restrict inverse_widths, double inverse_height, int count,
                    int shift)
{
  for (int i = 0; i < count; i++) {
    const double inverse = inverse_widths[i] * inverse_height;
    values[i] = (uint16_t)((int)((sums[i] + 0.25) * inverse + 0.5) << shift);
  }
}

void cf_block_extremes(uint16_t *values, const double *least, int count, int option, int shift)
{
  for (int i = 0; i < count; i++)
    values[i] = (uint16_t)(((int)least[i] ^ option) >> shift << shift);
}

/* Pixels of 1, 2, 3 and 4 bytes repeat after 24 or fewer bytes: blocks are filled by three words at
 * a time, over their end, where the next block overwrites it. */
INLINE void fill_pixels(uint8_t *restrict line, const uint16_t *restrict values,
                        const int *restrict edges, int blocks, const int channels,
                        const int sample_bytes)
{
  const int bits = 8 * channels * sample_bytes;

  for (int block = 0; block < blocks; block++, values += channels) {
    uint8_t *to = line + (size_t)edges[block] * sample_bytes;
    const uint8_t *end = line + (size_t)edges[block + 1] * sample_bytes;
    uint64_t pixel = 0, words[3];

    for (int channel = 0; channel < channels; channel++)
      pixel |= (uint64_t)values[channel] << 8 * sample_bytes * channel;
    for (int i = 0; i < 3; i++) {
      words[i] = 0;
      for (int at = -(64 * i % bits); at < 64; at += bits)
        words[i] |= at < 0 ? pixel >> -at : pixel << at;
    }
    for (; to < end; to += sizeof words)
      memcpy(to, words, sizeof words);
  }
}

CF_MULTIVERSION
void cf_block_fill(uint8_t *line, const uint16_t *values, const int *edges, int blocks,
                   int channels, int sample_bytes)
{
  if (sample_bytes == 2 && channels == 1)
    fill_pixels(line, values, edges, blocks, 1, 2);
  else if (sample_bytes == 2)
    fill_pixels(line, values, edges, blocks, 2, 2);
  else if (channels == 1)
    fill_pixels(line, values, edges, blocks, 1, 1);
  else if (channels == 2)
    fill_pixels(line, values, edges, blocks, 2, 1);
  else if (channels == 3)
    fill_pixels(line, values, edges, blocks, 3, 1);
  else
    fill_pixels(line, values, edges, blocks, 4, 1);
}
