/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpu/blockavg/lines.h"

#include <string.h>

#include "cpu/common/cpu.h"
#include "plan/int_math.h"

/* How samples are reduced to one value per block and channel, in two steps: rows of samples to
 * columns (one value per sample of the row), and columns to results. Results are doubles, which
 * hold the sum of any block exactly: 2^16 x 16384^2 = 2^44. */
typedef struct {
  int column_bytes;     /* of one column's value */
  int rows;             /* the most rows that columns can hold */
  int initial_byte;     /* initial value of every byte of the columns */
  double initial_value; /* initial value of a result */

  /* Adds `count` rows of `samples` samples to the columns. What `option` means is said below. */
  void (*reduce_rows)(void *columns, const uint8_t *rows, ptrdiff_t stride, int count, int samples,
                      int option);

  /* Adds the columns edges[b] <= i < edges[b + 1] of each block b to its `channels` results. */
  void (*reduce_columns)(double *results, const void *columns, const int *edges, int blocks,
                         int channels);
} Reduction;

/* Sample i of a row of 16-bit samples, which need not be aligned. */
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

  /* Eight or four rows per access to the columns. */
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

#define SUM(a, b)   ((a) + (b))
#define LEAST(a, b) ((b) < (a) ? (b) : (a))

/* Defines a reduce_rows for one type of columns and one operation. */
#define DEFINE_REDUCE_ROWS(name, column_type, sample, operation)                                   \
  CF_MULTIVERSION                                                                                  \
  static void name(void *columns, const uint8_t *rows, ptrdiff_t stride, int count, int samples,   \
                   int option)                                                                     \
  {                                                                                                \
    column_type *restrict column = columns;                                                        \
                                                                                                   \
    for (int y = 0; y < count; y++, rows += stride) {                                              \
      const uint8_t *restrict row = rows;                                                          \
                                                                                                   \
      for (int i = 0; i < samples; i++)                                                            \
        column[i] = operation(column[i], (column_type)(sample));                                   \
    }                                                                                              \
  }

DEFINE_REDUCE_ROWS(add_rows_16, uint32_t, sample_16(row, i) >> option, SUM)
DEFINE_REDUCE_ROWS(least_rows_8, uint8_t, row[i] ^ option, LEAST)
DEFINE_REDUCE_ROWS(least_rows_16, uint16_t, sample_16(row, i) ^ option, LEAST)

/* ---- Columns to results ---- */

/* Defines the reduction of the columns of blocks, for one type of columns and one operation. */
#define DEFINE_CHANNELS(name, column_type, value_type, initial, operation)                         \
  INLINE void name##_channels(const int channels, double *restrict results,                        \
                              const column_type *restrict columns, const int *restrict edges,      \
                              int blocks)                                                          \
  {                                                                                                \
    for (int block = 0; block < blocks; block++, results += channels) {                            \
      value_type value[CF_MAX_CHANNELS] = {initial, initial, initial, initial};                    \
                                                                                                   \
      for (int i = edges[block]; i < edges[block + 1]; i += channels) {                            \
        for (int channel = 0; channel < channels; channel++)                                       \
          value[channel] = operation(value[channel], columns[i + channel]);                        \
      }                                                                                            \
      for (int channel = 0; channel < channels; channel++)                                         \
        results[channel] = operation(results[channel], (double)value[channel]);                    \
    }                                                                                              \
  }

/* The same for sums, with the four channels of a pixel in one vector: compilers do not vectorise
 * loops as short as a block. */
#define DEFINE_SUMS(name, column_type, value_type)                                                 \
  DEFINE_CHANNELS(name, column_type, value_type, 0, SUM)                                           \
  INLINE void name##_sums(const int channels, double *restrict results,                            \
                          const column_type *restrict columns, const int *restrict edges,          \
                          int blocks)                                                              \
  {                                                                                                \
    typedef column_type Columns __attribute__((vector_size(4 * sizeof(column_type))));             \
    typedef value_type Values __attribute__((vector_size(4 * sizeof(value_type))));                \
    typedef double Results __attribute__((vector_size(4 * sizeof(double))));                       \
                                                                                                   \
    if (channels < 4) {                                                                            \
      name##_channels(channels, results, columns, edges, blocks);                                  \
      return;                                                                                      \
    }                                                                                              \
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

/* Defines a reduce_columns, unrolled for each number of channels. */
#define DEFINE_REDUCE_COLUMNS(name, reduction)                                                     \
  CF_MULTIVERSION                                                                                  \
  static void name(double *results, const void *columns, const int *edges, int blocks,             \
                   int channels)                                                                   \
  {                                                                                                \
    CF_FOR_CHANNELS(channels, reduction, results, columns, edges, blocks);                         \
  }

/* Summed over the 16384 columns of the widest block, 256 rows of 8 bits stay below 2^30, and 4096
 * rows of 16 bits below 2^42. */
DEFINE_SUMS(add_columns_16, uint16_t, int32_t)
DEFINE_REDUCE_COLUMNS(add_columns_16, add_columns_16_sums)
DEFINE_SUMS(add_columns_32, uint32_t, int64_t)
DEFINE_REDUCE_COLUMNS(add_columns_32, add_columns_32_sums)
DEFINE_CHANNELS(least_columns_8, uint8_t, uint8_t, UINT8_MAX, LEAST)
DEFINE_REDUCE_COLUMNS(least_columns_8, least_columns_8_channels)
DEFINE_CHANNELS(least_columns_16, uint16_t, uint16_t, UINT16_MAX, LEAST)
DEFINE_REDUCE_COLUMNS(least_columns_16, least_columns_16_channels)

/* Sums of code values; the option is the format's shift. Columns of 16 bits hold 256 rows, since
 * 257 x 255 = 65535, those of 32 bits more than 4096. */
static const Reduction sums_8 = {2, 256, 0, 0.0, add_rows_8, add_columns_16};
static const Reduction sums_16 = {4, 4096, 0, 0.0, add_rows_16, add_columns_32};

/* Sums of colour times alpha, of 8-bit pixels of four channels; the option is the channel of alpha,
 * whose own sums are meaningless. */
static const Reduction weighted_sums = {4, 4096, 0, 0.0, add_weighted_rows, add_columns_32};

/* Minima of raw samples xor the option: with 0 the smallest sample, with all bits set the
 * complement of the largest. */
static const Reduction least_8 = {1, 4096, UINT8_MAX, UINT8_MAX, least_rows_8, least_columns_8};
static const Reduction least_16 = {2, 4096, UINT8_MAX, UINT16_MAX, least_rows_16, least_columns_16};

/* ---- Results to values ---- */

/* Raw samples of the means of `count` sums: sum * inverse_width * inverse_height, shifted left by
 * `shift`. Exact: a mean of n samples plus 1/2 is a multiple of 1/(2n), and the 1/4 added to the
 * sum keeps it 1/(4n), at least 2^-30, away from the next integer, while the error of a double near
 * 2^16 is below 2^-34. */
CF_MULTIVERSION
static void write_means(uint16_t *restrict values, const double *restrict sums,
                        const double *restrict inverse_widths, double inverse_height, int count,
                        int shift)
{
  for (int i = 0; i < count; i++) {
    const double inverse = inverse_widths[i] * inverse_height;
    values[i] = (uint16_t)((int)((sums[i] + 0.25) * inverse + 0.5) << shift);
  }
}

/* The same for `count` minima; clears the lowest `shift` bits. */
static void write_extremes(uint16_t *values, const double *least, int count, int option, int shift)
{
  for (int i = 0; i < count; i++)
    values[i] = (uint16_t)(((int)least[i] ^ option) >> shift << shift);
}

/* ---- A row of blocks ---- */

/* Reduces blocks first..end - 1 of the row to results. */
static void reduce(const CfBlockRow *row, const Reduction *reduction, int option, int first,
                   int end, const CfBlockScratch *scratch, double *results)
{
  const int channels = row->info->channels, *edges = row->edges + first;
  const int samples = edges[end - first] - edges[0];
  const size_t start = (size_t)edges[0];
  const uint8_t *source =
      row->source + start * (size_t)cf_sample_bytes(cf_format_info(row->video->format));
  uint8_t *column = (uint8_t *)scratch->columns + start * (size_t)reduction->column_bytes;

  for (int i = first * channels; i < end * channels; i++)
    results[i] = reduction->initial_value;
  for (int y = 0; y < row->height; y += reduction->rows) {
    const int rows = cf_min(row->height - y, reduction->rows);

    memset(column, reduction->initial_byte, (size_t)samples * (size_t)reduction->column_bytes);
    reduction->reduce_rows(column, source + y * row->stride, row->stride, rows, samples, option);
    reduction->reduce_columns(results + first * channels, scratch->columns, edges, end - first,
                              channels);
  }
}

/* Replaces the means of colours by means weighted by alpha in blocks that are not opaque. Only the
 * span of such blocks is read again, from the cache. As exact as write_means: the 1/4 keeps
 * quotients 2^-38 away from the next integer, with errors below 2^-42. */
static void weigh_colours(const CfBlockRow *row, const CfBlockScratch *scratch, uint16_t *values)
{
  const int alpha = cf_alpha_channel(row->info), channels = row->info->channels;
  /* (Sum of alpha) * channels / (samples of the block) where the block is opaque. */
  const double opaque = (double)cf_max_code(cf_format_info(row->video->format)) * row->height;
  int first = row->count, end = 0;

  for (int block = 0; block < row->count; block++) {
    const double weight = scratch->results[block * channels + alpha];

    if (weight > 0.0 && weight * channels < opaque * (row->edges[block + 1] - row->edges[block])) {
      first = end ? first : block;
      end = block + 1;
    }
  }
  if (end)
    reduce(row, &weighted_sums, alpha, first, end, scratch, scratch->weighted);
  for (int block = 0; block < row->count; block++) {
    const double weight = scratch->results[block * channels + alpha];
    const double *sum = scratch->weighted + block * channels;

    if (weight * channels == opaque * (row->edges[block + 1] - row->edges[block]))
      continue;
    for (int c = 0; c < channels; c++) {
      if (c != alpha)
        values[block * channels + c] =
            weight > 0.0 ? (uint16_t)((sum[c] + 0.25) / weight + 0.5)
                         : (uint16_t)cf_neutral_code(row->video, row->info->role[c]);
    }
  }
}

void cf_block_row_measure(const CfBlockRow *row, int mode, const CfBlockScratch *scratch,
                          uint16_t *values)
{
  const CfFormatInfo *format = cf_format_info(row->video->format);
  const bool bytes = format->bits == 8;
  const int count = row->count * row->info->channels;

  if (mode != CF_BLOCKAVG_AVERAGE) {
    const int option = mode == CF_BLOCKAVG_MIN ? 0 : bytes ? UINT8_MAX : UINT16_MAX;

    reduce(row, bytes ? &least_8 : &least_16, option, 0, row->count, scratch, scratch->results);
    write_extremes(values, scratch->results, count, option, format->shift);
    return;
  }
  reduce(row, bytes ? &sums_8 : &sums_16, format->shift, 0, row->count, scratch, scratch->results);
  write_means(values, scratch->results, row->inverse_widths, 1.0 / row->height, count,
              format->shift);
  if (row->weighted && cf_alpha_channel(row->info) >= 0)
    weigh_colours(row, scratch, values);
}

/* ---- Values to lines ---- */

/* Pixels of 1, 2, 3 and 4 bytes repeat after at most 24 bytes: blocks are filled by three words at
 * a time. The last words may reach into the next block, which overwrites them. */
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
