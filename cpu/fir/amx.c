/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpu/fir/amx.h"

#include <math.h>
#include <string.h>

#include "cpu/common/level.h"
#include "cpu/fir/line_ops.h"
#include "plan/int_math.h"

#define FRACTION      16                /* fractional bits of taps */
#define LARGEST_TAP   (127 * 256 + 127) /* its high half still fits in a signed byte */
#define LARGEST_ERROR 0.15              /* in codes, both directions together */
#define BYTES_A_QUAD  4

/* ---- Availability ---- */

#ifdef CF_FIR_MATRIX_BUILT

#include <sys/syscall.h>
#include <unistd.h>

#define REQUEST_PERMISSION 0x1023 /* ARCH_REQ_XCOMP_PERM */
#define TILE_DATA          18     /* XFEATURE_XTILEDATA */

bool cf_fir_matrix_available(void)
{
  return cf_cpu_level() >= CF_CPU_AMX &&
         syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}

#else

bool cf_fir_matrix_available(void)
{
  return false;
}

#endif

/* ---- Taps ---- */

/* The largest error in codes by rounded taps. The errors of all taps add up to 0, so samples count
 * by their distance from the middle code. */
static double worst_error(const CfTaps *taps, const int *tap)
{
  double error = 0.0;

  for (int i = 0; i < taps->count; i++)
    error += fabs(taps->tap[i] / taps->sum - ldexp(tap[i], -FRACTION));
  return 127.5 * error;
}

static int8_t low_half(int tap)
{
  return (int8_t)(tap & 255);
}

static int8_t high_half(int tap)
{
  return (int8_t)((tap - low_half(tap)) / 256);
}

static int tap_at(const int *tap, int count, int i)
{
  return i >= 0 && i < count ? tap[i] : 0;
}

/* ---- Tables ---- */

/* Result `column` of group `group` is the sum over samples of tap[sample - 16 group - column]. The
 * right factor of a product stores quads of four of its rows interleaved in one row. */
static void fill_row(const CfFirMatrix *matrix, const int *taps, int group, int8_t *to)
{
  for (int sample = 0; sample < matrix->row_tiles * CF_MATRIX_DEPTH; sample++) {
    int8_t *tile = to + sample / CF_MATRIX_DEPTH * 2 * CF_MATRIX_TILE;
    const int row = sample % CF_MATRIX_DEPTH;

    for (int column = 0; column < CF_MATRIX_ROWS; column++) {
      const int tap = tap_at(taps, matrix->row_count, sample - CF_MATRIX_ROWS * group - column);
      const int at =
          (row / BYTES_A_QUAD * CF_MATRIX_ROWS + column) * BYTES_A_QUAD + row % BYTES_A_QUAD;

      tile[at] = high_half(tap);
      tile[CF_MATRIX_TILE + at] = low_half(tap);
    }
  }
}

/* The row of the ring at byte `byte` along the depth: enter_rows() stores the rows of a quad in
 * this order. */
static int ring_row(int byte)
{
  static const int order[BYTES_A_QUAD] = {0, 2, 1, 3};

  return byte / BYTES_A_QUAD * BYTES_A_QUAD + order[byte % BYTES_A_QUAD];
}

static void fill_column(const CfFirMatrix *matrix, const int *taps, int rotation, int8_t *to)
{
  const int rows = matrix->ring_rows;

  for (int byte = 0; byte < matrix->ring_tiles * CF_MATRIX_DEPTH; byte++) {
    int8_t *tile = to + byte / CF_MATRIX_DEPTH * 2 * CF_MATRIX_TILE + byte % CF_MATRIX_DEPTH;
    const bool high = byte < rows;
    const int slot = ring_row(high ? byte : byte - rows);
    const int row = (slot - rotation * CF_MATRIX_ROWS + rows) % rows;

    for (int result = 0; result < CF_MATRIX_ROWS; result++) {
      const int tap = byte < 2 * rows ? tap_at(taps, matrix->column_count, row - result) : 0;

      tile[result * CF_MATRIX_DEPTH] = high ? high_half(tap) : 0;
      tile[CF_MATRIX_TILE + result * CF_MATRIX_DEPTH] = high ? low_half(tap) : high_half(tap);
    }
  }
}

/* Rounds, and replaces the products of low bytes, whose mean is 127.5, and low taps. */
static int rounding_with_mean(const int *tap, int count)
{
  int low = 0;

  for (int i = 0; i < count; i++)
    low += low_half(tap[i]);
  return (1 << FRACTION >> 1) + (int)floor(127.5 * low / 256.0);
}

bool cf_fir_matrix_lay_out(CfFirMatrix *matrix, const CfTaps *row, const CfTaps *column,
                           CfArena *arena)
{
  const int row_reach = CF_MATRIX_ROWS - 1 + row->count;
  const int ring_slots = cf_divide_up(CF_MATRIX_ROWS - 1 + column->count, CF_MATRIX_ROWS);
  const int row_tiles = cf_divide_up(row_reach, CF_MATRIX_DEPTH);
  const int ring_rows = ring_slots * CF_MATRIX_ROWS;
  int row_taps[CF_MAX_TAPS], column_taps[CF_MAX_TAPS];

  if (!cf_quantise_taps(row, 1 << FRACTION, LARGEST_TAP, row_taps) ||
      !cf_quantise_taps(column, 1 << FRACTION, LARGEST_TAP, column_taps) ||
      worst_error(row, row_taps) + worst_error(column, column_taps) > LARGEST_ERROR)
    return false;
  *matrix = (CfFirMatrix){
      .row_count = row->count,
      .row_anchor = row->anchor,
      .column_count = column->count,
      .column_anchor = column->anchor,
      .row_tiles = row_tiles,
      .segment_groups = (row_tiles * CF_MATRIX_DEPTH - row_reach) / CF_MATRIX_ROWS + 1,
      .ring_rows = ring_rows,
      .ring_tiles = cf_divide_up(2 * ring_rows, CF_MATRIX_DEPTH),
      .high_tiles = cf_divide_up(ring_rows, CF_MATRIX_DEPTH),
      .rounding = rounding_with_mean(column_taps, column->count),
  };

  const size_t group = (size_t)row_tiles * 2 * CF_MATRIX_TILE;
  const size_t rotation = (size_t)matrix->ring_tiles * 2 * CF_MATRIX_TILE;
  int8_t *row_table = cf_arena_take(arena, (size_t)matrix->segment_groups * group);
  int8_t *column_table = cf_arena_take(arena, (size_t)ring_slots * rotation);
  for (int i = 0; row_table && i < matrix->segment_groups; i++)
    fill_row(matrix, row_taps, i, row_table + (size_t)i * group);
  for (int i = 0; column_table && i < ring_slots; i++)
    fill_column(matrix, column_taps, i, column_table + (size_t)i * rotation);
  matrix->row = row_table;
  matrix->column = column_table;
  return true;
}
