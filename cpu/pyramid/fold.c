/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Columns of pictures that are small beside sigma. Where the border mirrors or wraps, filters read
 * the picture many times over outside of it; but what the few coarse rows weigh each row of the
 * picture with can be added up beforehand.
 */
#include "cpu/pyramid/layout.h"

#include <stdatomic.h>
#include <string.h>

#include "cpu/common/cpu.h"
#include "cpu/common/parallel.h"
#include "cpu/fir/unpack.h"

/* A thread's piece of all rows should stay in its second-level cache. */
#define PIECE_BYTES 524288

/* In the time that decimating a sample along one axis takes, so many are weighed for coarse rows.
 */
#define WEIGHED_A_SAMPLE 4

bool cf_cpu_pyramid_folds(const CfCpuPyramid *pyramid)
{
  const CfPyramidAxis *x = &pyramid->x, *y = &pyramid->y;
  const double across = (double)x->made_count * x->factors.decimation / x->size;
  const double down = (double)y->made_count * y->factors.decimation / y->size;

  return pyramid->fold.allowed && y->factor > 1 && pyramid->border != CF_BORDER_REPLICATE &&
         pyramid->border != CF_BORDER_CONSTANT &&
         WEIGHED_A_SAMPLE * down * (1.0 + across) > y->coarse_count + 3;
}

/* Tables */

static int response_count(const CfPyramidAxis *axis)
{
  return axis->factors.decimation * (axis->low_count - 1) + axis->prefilter_count;
}

static void fill_response(const CfPyramidAxis *axis, double *response)
{
  memset(response, 0, (size_t)response_count(axis) * sizeof *response);
  for (int t = 0; t < axis->low_count; t++) {
    for (int k = 0; k < axis->prefilter_count; k++)
      response[t * axis->factors.decimation + k] += axis->low[t] * axis->prefilter[k];
  }
}

static void fill_row(const CfCpuPyramid *pyramid, int coarse, const double *response, double *row,
                     float *tap)
{
  const CfPyramidAxis *axis = &pyramid->y;
  const int fine = axis->factors.thinning * (axis->coarse_first + coarse) + axis->low_first;
  const int top = axis->factors.decimation * fine + axis->prefilter_first;

  memset(row, 0, (size_t)pyramid->height * sizeof *row);
  for (int i = 0; i < response_count(axis); i++)
    row[cf_border_index(pyramid->border, top + i, pyramid->height)] += response[i];
  for (int y = 0; y < pyramid->height; y++)
    tap[y] = (float)row[y];
}

void cf_cpu_pyramid_lay_out_fold(CfCpuPyramid *pyramid, CfArena *arena)
{
  const size_t height = (size_t)pyramid->height, rows = (size_t)pyramid->y.coarse_count;
  CfPyramidFold *fold = &pyramid->fold;

  fold->response = cf_arena_take(arena, (size_t)response_count(&pyramid->y) * sizeof(double));
  fold->row = cf_arena_take(arena, height * sizeof(double));
  fold->tap = cf_arena_take(arena, rows * height * sizeof(float));
  fold->stride = cf_cpu_pyramid_row_samples(pyramid, pyramid->width);
  if (!fold->tap)
    return;
  fill_response(&pyramid->y, fold->response);
  for (int j = 0; j < pyramid->y.coarse_count; j++)
    fill_row(pyramid, j, fold->response, fold->row, fold->tap + (size_t)j * height);
}

/* Sums */

typedef float Vector __attribute__((vector_size(CF_ALIGNMENT)));

#define LANES (CF_ALIGNMENT / (int)sizeof(float))
/* Coarse rows that are added up at a time, since each row of a piece comes from afar. */
#define TOGETHER 4

/* A piece: `height` rows of `samples` samples, whole granules, and as many taps for a coarse row.
 */
typedef struct {
  const float *base;
  int height, samples;
} Piece;

static inline __attribute__((always_inline)) void
weigh(const Piece *piece, const float *const tap[TOGETHER], int at, float *const to[TOGETHER])
{
  Vector sum[TOGETHER][2] = {{{0.0f}}};

  for (int y = 0; y < piece->height; y++) {
    const float *row = piece->base + (size_t)y * (size_t)piece->samples + at;
    Vector first, second;

    memcpy(&first, row, sizeof first);
    memcpy(&second, row + LANES, sizeof second);
    for (int k = 0; k < TOGETHER; k++) {
      sum[k][0] += tap[k][y] * first;
      sum[k][1] += tap[k][y] * second;
    }
  }
  for (int k = 0; k < TOGETHER; k++)
    memcpy(to[k] + at, sum[k], sizeof sum[k]);
}

CF_MULTIVERSION
static void weigh_piece(const Piece *piece, const float *const tap[TOGETHER],
                        float *const to[TOGETHER])
{
  for (int at = 0; at < piece->samples; at += 2 * LANES)
    weigh(piece, tap, at, to);
}

/* To rows first..last of `fold.filtered` from sample `offset` on. */
static void fold_piece(const CfCpuPyramid *pyramid, const Piece *piece, size_t offset, int first,
                       int last)
{
  const CfPyramidFold *fold = &pyramid->fold;

  for (int row = first; row <= last; row += TOGETHER) {
    const float *tap[TOGETHER];
    float *to[TOGETHER];

    for (int k = 0; k < TOGETHER; k++) {
      /* There may be no more rows: the last is made again. */
      const size_t at = (size_t)(row + k < last ? row + k : last);

      tap[k] = fold->tap + at * (size_t)pyramid->height;
      to[k] = fold->filtered + at * fold->stride + offset;
    }
    weigh_piece(piece, tap, to);
  }
}

/* Columns */

/* Of whole granules. */
static int piece_pixels(const CfCpuPyramid *pyramid)
{
  const int row_bytes = pyramid->height * pyramid->channels * (int)sizeof(float);
  const int granules = PIECE_BYTES / CF_LINE_GRANULE / row_bytes;

  return (granules > 1 ? granules : 1) * CF_LINE_GRANULE;
}

size_t cf_cpu_pyramid_fold_scratch(const CfCpuPyramid *pyramid)
{
  return (size_t)pyramid->height * (size_t)(piece_pixels(pyramid) * pyramid->channels) *
         sizeof(float);
}

typedef struct {
  const CfCpuPyramid *pyramid;
  const CfLineFormat *format;
  const uint8_t *source;
  ptrdiff_t stride;
  bool watched;
  int first, last; /* rows that are made */
  atomic_bool failed;
} Columns;

static void fold_pieces(void *context, int first_piece, int end)
{
  Columns *columns = context;
  const CfCpuPyramid *pyramid = columns->pyramid;
  const int widest = piece_pixels(pyramid), channels = pyramid->channels;
  const int pixel = channels * pyramid->bytes;

  for (int i = first_piece; i < end && !atomic_load(&columns->failed); i++) {
    const int x0 = i * widest, left = pyramid->width - x0, count = left < widest ? left : widest;
    const CfArena scratch = cf_cpu_pyramid_thread_scratch(pyramid);
    float *to = (float *)scratch.base;
    const Piece piece = {to, pyramid->height, cf_round_to_granule(count * channels)};

    for (int y = 0; y < pyramid->height; y++, to += piece.samples) {
      const uint8_t *from = columns->source + y * columns->stride + (ptrdiff_t)x0 * pixel;

      if (columns->watched && !cf_pixels_are_opaque(from, columns->format->alpha, count))
        atomic_store(&columns->failed, true);
      cf_lines_float.load(columns->format, from, count * channels, to);
    }
    fold_piece(pyramid, &piece, (size_t)(x0 * channels), columns->first, columns->last);
  }
}

bool cf_cpu_pyramid_fold_columns(const CfCpuPyramid *pyramid, const CfLineFormat *format,
                                 const uint8_t *source, ptrdiff_t stride, bool watched, int first,
                                 int last)
{
  const int widest = piece_pixels(pyramid), pieces = (pyramid->width + widest - 1) / widest;
  Columns columns = {.pyramid = pyramid,
                     .format = format,
                     .source = source,
                     .stride = stride,
                     .watched = watched,
                     .first = first,
                     .last = last};

  cf_parallel_for(pyramid->threads, pieces, 1, fold_pieces, &columns);
  return !atomic_load(&columns.failed);
}
