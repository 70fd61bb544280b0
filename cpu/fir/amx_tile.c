/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Compiled for AVX-512 with byte permutations and for AMX; runs only on processors with both.
 */
#include "cpu/fir/amx_tile.h"

#include <immintrin.h>
#include <string.h>

#include "cpu/fir/amx_split.h"
#include "plan/int_math.h"

#define LANES      CF_MATRIX_ROWS /* sums in a row of a tile register, and in a vector */
#define TILE_SUMS  (LANES * CF_MATRIX_ROWS)
#define SLOT_BYTES (CF_MATRIX_ROWS * LANES)

/* The state of a tile of the picture while it is filtered. Samples are deinterleaved: a column is
 * 16 neighbouring pixels of one channel, a group is the columns of all channels of these pixels. */
typedef struct {
  const CfFirWork *work;
  const CfFirMatrix *matrix;
  const CfFirRows *rows;
  const CfRect *tile;
  int groups;
  bool watch_alpha;     /* stop at pixels that are not opaque */
  int unfiltered;       /* channel that is not filtered and becomes 255: an opaque alpha, or
                           padding; -1: none */
  __mmask64 not_opaque; /* of 64 neighbouring pixels, those that were not opaque in some row */

  /* The source samples of a segment, `segment_groups` groups: per row tile and channel, 16 rows of
   * 64 samples. Tile loads are fastest on whole cache lines. */
  uint8_t *segment;
  uint8_t *ring; /* per column, filtered rows: quads of interleaved high bytes, then low bytes */
  size_t ring_pitch;
  int32_t *row_sums, *column_sums; /* of one group: two tiles of sums per column */
  int32_t *initial_sums;           /* a tile of the initial value of column sums */
} Tile;

/* A block of 16 source rows that enters the ring. */
typedef struct {
  int index, slot, oldest; /* its number in the tile; its slot in the ring; the slot of the oldest
                              block in the ring */
  int y, rows;             /* rows of the result that the block completes; no rows while the ring
                              fills */
} Block;

/* Of the channels of a pixel `count` are filtered, from `first` on. The other one of four is 255 in
 * all pixels, and so in the result, or it is padding. */
typedef struct {
  int channels, first, count;
} Pixels;

/* ---- Scratch ---- */

static void lay_out(Tile *tile, int width, CfArena *arena)
{
  const CfFirMatrix *matrix = tile->matrix;
  const size_t channels = (size_t)tile->work->channels;
  const size_t sums = channels * 2 * TILE_SUMS * sizeof(int32_t);

  tile->groups = (width + LANES - 1) / LANES;
  tile->ring_pitch = (size_t)matrix->ring_tiles * CF_MATRIX_TILE;
  tile->segment = cf_arena_take(arena, (size_t)matrix->row_tiles * channels * CF_MATRIX_TILE);
  tile->ring = cf_arena_take(arena, (size_t)tile->groups * channels * tile->ring_pitch);
  tile->row_sums = cf_arena_take(arena, sums);
  tile->column_sums = cf_arena_take(arena, sums);
  tile->initial_sums = cf_arena_take(arena, TILE_SUMS * sizeof(int32_t));
}

size_t cf_fir_matrix_scratch(const CfFirWork *work, int tile_width)
{
  Tile tile = {.work = work, .matrix = &work->matrix};
  CfArena arena = {0};

  lay_out(&tile, tile_width, &arena);
  return arena.used;
}

/* ---- Source rows to segments ---- */

/* Copies columns x..x + 63 of source row `y` (-1: a row of the constant border) where some lie
 * outside the picture, and columns that nobody reads as 255. */
INLINE void gather_pixels(const Tile *tile, const int channels, int y, int x, uint8_t *to)
{
  const CfFirWork *work = tile->work;
  const uint8_t *source = y < 0 ? NULL : tile->rows->source + y * tile->rows->source_stride;
  const int reach = tile->matrix->row_count - 1 - tile->matrix->row_anchor;
  const int end = cf_min(tile->tile->x1 + reach, x + 64);
  const int inner = cf_max(x, 0), inner_end = cf_min(end, work->width);

  memset(to, 255, 64 * CF_MAX_CHANNELS);
  for (int i = x; i < end; i++) {
    if (!source || i < 0 || i >= work->width)
      memcpy(to + (i - x) * channels, cf_fir_pixel(work, source, i), (size_t)channels);
  }
  if (source && inner < inner_end)
    memcpy(to + (inner - x) * channels, source + (ptrdiff_t)inner * channels,
           (size_t)((inner_end - inner) * channels));
}

/* Loads the source samples of a segment for the 16 rows of a block, as far as they are read. */
INLINE void load_segment(Tile *tile, const int channels, int block, int segment)
{
  const CfFirMatrix *matrix = tile->matrix;
  const CfFirWork *work = tile->work;
  const int first = tile->tile->y0 - matrix->column_anchor + block * CF_MATRIX_ROWS;
  const int end = tile->tile->y1 - matrix->column_anchor + matrix->column_count - 1;
  const int left = tile->tile->x0 - matrix->row_anchor + segment * matrix->segment_groups * LANES;
  const __m512i opaque = _mm512_set1_epi8(-1);

  for (int row = 0; row < CF_MATRIX_ROWS && first + row < end; row++) {
    const int y = cf_border_index(work->border, first + row, work->height);

    for (int t = 0; t < matrix->row_tiles; t++) {
      const int x = left + t * CF_MATRIX_DEPTH;
      uint8_t *to = tile->segment + t * channels * CF_MATRIX_TILE + row * CF_MATRIX_DEPTH;

      if (y >= 0 && x >= 0 && x + 64 <= work->width) {
        const uint8_t *source =
            tile->rows->source + y * tile->rows->source_stride + (ptrdiff_t)x * channels;

        split_pixels(channels, source, to);
        /* Prefetches the next block: the hardware prefetcher does not follow 16 rows at once. */
        for (int i = 0; t == 0 && i < channels; i++)
          _mm_prefetch((const char *)source + CF_MATRIX_ROWS * tile->rows->source_stride + 64 * i,
                       _MM_HINT_T1);
      } else {
        uint8_t gathered[64 * CF_MAX_CHANNELS];

        gather_pixels(tile, channels, y, x, gathered);
        split_pixels(channels, gathered, to);
      }
      if (tile->watch_alpha)
        tile->not_opaque |=
            _mm512_cmpneq_epi8_mask(_mm512_load_si512(to + work->alpha * CF_MATRIX_TILE), opaque);
    }
  }
}

/* ---- Products ---- */

typedef struct {
  uint8_t palette, start_row, reserved[14];
  uint16_t row_bytes[16];
  uint8_t rows[16];
} TileShapes;

static void configure(void)
{
  static const TileShapes shapes = {
      .palette = 1,
      .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64},
      .rows = {16, 16, 16, 16, 16, 16, 16, 16},
  };

  _tile_loadconfig(&shapes);
}

/* A compiler barrier: compilers do not know that tile loads read what vectors have stored. */
INLINE void compiler_barrier(void)
{
  __asm__ volatile("" ::: "memory");
}

static int32_t *sums_of(int32_t *sums, int column)
{
  return sums + column * 2 * TILE_SUMS;
}

/* The sums of a column of pixels are in two tile registers, by high and by low taps. Columns
 * alternate between the register pairs 0, 1 and 2, 3, and a pair is stored only after the products
 * of the next column: a store right after its product would wait for it, and stall everything
 * behind. */
#define STORE_EVEN(to)                                                                             \
  do {                                                                                             \
    _tile_stored(0, (to), 64);                                                                     \
    _tile_stored(1, (to) + TILE_SUMS, 64);                                                         \
  } while (0)
#define STORE_ODD(to)                                                                              \
  do {                                                                                             \
    _tile_stored(2, (to), 64);                                                                     \
    _tile_stored(3, (to) + TILE_SUMS, 64);                                                         \
  } while (0)

/* Stores the pair of registers that is pending, if any; returns NULL, nothing pending. */
INLINE int32_t *store_pending(bool odd, int32_t *to)
{
  if (to && odd)
    STORE_ODD(to);
  else if (to)
    STORE_EVEN(to);
  return NULL;
}

/* Filters a group along rows, by both halves of the taps. Stores `pending` on the way;
 * returns the sums that are now pending. */
INLINE int32_t *sum_rows(const Tile *tile, const Pixels pixels, int group, int32_t *pending)
{
  const CfFirMatrix *matrix = tile->matrix;
  const int8_t *taps =
      matrix->row + group % matrix->segment_groups * matrix->row_tiles * 2 * CF_MATRIX_TILE;
  const uint8_t *segment = tile->segment + pixels.first * CF_MATRIX_TILE;

  for (int c = 0; c < pixels.count; c++) {
    const bool odd = c % 2;

    if (odd) {
      _tile_zero(2);
      _tile_zero(3);
    } else {
      _tile_zero(0);
      _tile_zero(1);
    }
    for (int t = 0; t < matrix->row_tiles; t++) {
      if (c == 0 || matrix->row_tiles > 1) {
        _tile_loadd(6, taps + t * 2 * CF_MATRIX_TILE, 64);
        _tile_loadd(7, taps + (t * 2 + 1) * CF_MATRIX_TILE, 64);
      }
      if (odd) {
        _tile_loadd(5, segment + (t * pixels.channels + c) * CF_MATRIX_TILE, 64);
        _tile_dpbusd(2, 5, 6);
        _tile_dpbusd(3, 5, 7);
      } else {
        _tile_loadd(4, segment + (t * pixels.channels + c) * CF_MATRIX_TILE, 64);
        _tile_dpbusd(0, 4, 6);
        _tile_dpbusd(1, 4, 7);
      }
    }
    store_pending(!odd, pending);
    pending = sums_of(tile->row_sums, c);
  }
  return pending;
}

static uint8_t *ring_of(const Tile *tile, int column)
{
  return tile->ring + (size_t)column * tile->ring_pitch;
}

/* Adds up the sums along rows, splits them into high and low bytes, and stores these in the 16 rows
 * of slot `slot` of the ring. */
INLINE void enter_rows(const Tile *tile, const Pixels pixels, int group, int slot)
{
  const __m512i outer = _mm512_set1_epi32(0x00ff00ff);

  for (int c = 0; c < pixels.count; c++) {
    const int32_t *high = sums_of(tile->row_sums, c), *low = high + TILE_SUMS;
    uint8_t *to = ring_of(tile, group * pixels.count + c) + slot * SLOT_BYTES;
    uint8_t *low_to = to + tile->matrix->ring_rows * LANES;

    for (int quad = 0; quad < 4; quad++) {
      __m512i value[4];

      for (int row = 0; row < 4; row++) {
        const int at = (4 * quad + row) * LANES;

        value[row] = _mm512_add_epi32(_mm512_srai_epi32(_mm512_load_si512(low + at), 8),
                                      _mm512_load_si512(high + at));
      }
      const __m512i first = _mm512_or_si512(value[0], _mm512_slli_epi32(value[1], 16));
      const __m512i second = _mm512_or_si512(value[2], _mm512_slli_epi32(value[3], 16));
      /* 0xca: outer ? a : b */
      _mm512_store_si512(to + quad * 64, _mm512_ternarylogic_epi32(
                                             outer, _mm512_srli_epi32(first, 8), second, 0xca));
      _mm512_store_si512(low_to + quad * 64, _mm512_ternarylogic_epi32(
                                                 outer, first, _mm512_slli_epi32(second, 8), 0xca));
    }
  }
}

/* Filters a group along columns, where the oldest rows of the ring are in slot `rotation`.
 * `pending` as in sum_rows. */
INLINE int32_t *sum_columns(const Tile *tile, const Pixels pixels, int group, int rotation,
                            int32_t *pending)
{
  const CfFirMatrix *matrix = tile->matrix;
  const int8_t *taps =
      matrix->column + (size_t)rotation * (size_t)matrix->ring_tiles * 2 * CF_MATRIX_TILE;

  for (int c = 0; c < pixels.count; c++) {
    const uint8_t *ring = ring_of(tile, group * pixels.count + c);
    const bool odd = (pixels.count + c) % 2;

    if (odd) {
      _tile_zero(2);
      _tile_loadd(3, tile->initial_sums, 64);
    } else {
      _tile_zero(0);
      _tile_loadd(1, tile->initial_sums, 64);
    }
    for (int t = 0; t < matrix->ring_tiles; t++) {
      const bool high = t < matrix->high_tiles;

      if (c == 0 || matrix->ring_tiles > 1) {
        if (high)
          _tile_loadd(6, taps + t * 2 * CF_MATRIX_TILE, 64);
        _tile_loadd(7, taps + (t * 2 + 1) * CF_MATRIX_TILE, 64);
      }
      if (odd) {
        _tile_loadd(5, ring + t * CF_MATRIX_TILE, 64);
        if (high)
          _tile_dpbsud(2, 6, 5);
        _tile_dpbsud(3, 7, 5);
      } else {
        _tile_loadd(4, ring + t * CF_MATRIX_TILE, 64);
        if (high)
          _tile_dpbsud(0, 6, 4);
        _tile_dpbsud(1, 7, 4);
      }
    }
    store_pending(!odd, pending);
    pending = sums_of(tile->column_sums, c);
  }
  return pending;
}

/* ---- Column sums to the picture ---- */

/* Sums with 16 fractional bits, in codes. */
INLINE __m512i sum_at(const int32_t *sums, int column, int row)
{
  const int32_t *high = sums + column * 2 * TILE_SUMS + row * LANES;

  return _mm512_add_epi32(_mm512_slli_epi32(_mm512_load_si512(high), 8),
                          _mm512_load_si512(high + TILE_SUMS));
}

static uint64_t first_bits(int count)
{
  return count >= 64 ? UINT64_MAX : (UINT64_C(1) << count) - 1;
}

/* The sums of channel `channel`, shifted so that the code lies in the byte of that channel; the
 * other bytes are not 0. */
INLINE __m512i code_in_place(const Pixels pixels, const int32_t *sums, int row, const int channel)
{
  const __m512i sum = sum_at(sums, channel - pixels.first, row);

  return channel == 0   ? _mm512_srli_epi32(sum, 16)
         : channel == 1 ? _mm512_srli_epi32(sum, 8)
         : channel == 2 ? sum
                        : _mm512_slli_epi32(sum, 8);
}

/* Writes the first `count` pixels, 1..16, of a row of a group. */
INLINE void store_pixels(const Pixels pixels, const int32_t *sums, int row, int count, uint8_t *to)
{
  const __mmask16 mask = (__mmask16)first_bits(count);
  __m512i all = _mm512_set1_epi32(-1);

  for (int c = pixels.first; c < pixels.first + pixels.count; c++)
    all = _mm512_ternarylogic_epi32(_mm512_set1_epi32((int)(UINT32_C(255) << 8 * c)),
                                    code_in_place(pixels, sums, row, c), all, 0xca); /* 0xca:
                                                                                        mask ?
                                                                                        code :
                                                                                        all */
  switch (pixels.channels) {
  case 1:
    _mm_mask_storeu_epi8(to, mask, _mm512_cvtepi32_epi8(all));
    break;
  case 2:
    _mm256_mask_storeu_epi16(to, mask, _mm512_cvtepi32_epi16(all));
    break;
  case 3: {
    const __m512i packed =
        _mm512_shuffle_epi8(all, _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10,
                                                                      12, 13, 14, -1, -1, -1, -1)));
    const __m512i joined = _mm512_permutexvar_epi32(
        _mm512_setr_epi32(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 15, 15, 15, 15), packed);

    _mm512_mask_storeu_epi8(to, first_bits(3 * count), joined);
    break;
  }
  default:
    _mm512_mask_storeu_epi32(to, mask, all);
  }
}

INLINE void store_group(const Tile *tile, const Pixels pixels, int group, const Block *block)
{
  const int x = tile->tile->x0 + group * LANES, left = tile->tile->x1 - x;
  const ptrdiff_t stride = tile->rows->destination_stride;
  uint8_t *to = tile->rows->destination + block->y * stride + (ptrdiff_t)x * pixels.channels;

  for (int row = 0; row < block->rows; row++, to += stride) {
    /* The hardware prefetcher does not follow pieces of 16 rows at once. */
    __builtin_prefetch(to + CF_ALIGNMENT, 1);
    store_pixels(pixels, tile->column_sums, row, cf_min(left, LANES), to);
  }
}

/* ---- Blocks ---- */

/* Filters the source rows of a block along rows, and the rows of the result that these complete
 * along columns. False where pixels are not opaque but have to be. The loop is a pipeline over
 * groups, so that no step waits for the one before: in one round one group is summed along rows,
 * the group before it enters the ring and is summed along columns, and the group before that is
 * stored. */
INLINE bool filter_block(Tile *tile, const Pixels pixels, const Block *block)
{
  const int groups = tile->groups, segment_groups = tile->matrix->segment_groups;
  int32_t *pending = NULL;

  load_segment(tile, pixels.channels, block->index, 0);
  for (int group = 0; group < groups + 2; group++) {
    const int before = group - 1, next = group + 1;
    const bool enters = before >= 0 && before < groups;

    if (enters)
      enter_rows(tile, pixels, before, block->slot);
    compiler_barrier();
    pending =
        group < groups ? sum_rows(tile, pixels, group, pending) : store_pending(true, pending);
    if (next < groups && next % segment_groups == 0)
      load_segment(tile, pixels.channels, block->index, next / segment_groups);
    if (block->rows > 0 && group >= 2)
      store_group(tile, pixels, group - 2, block);
    compiler_barrier();
    pending = block->rows > 0 && enters ? sum_columns(tile, pixels, before, block->oldest, pending)
                                        : store_pending(pixels.count % 2 == 0, pending);
  }
  return tile->not_opaque == 0;
}

static bool filter_any_block(Tile *tile, const Block *block)
{
  switch (tile->work->channels) {
  case 1:
    return filter_block(tile, (Pixels){1, 0, 1}, block);
  case 2:
    return filter_block(tile, (Pixels){2, 0, 2}, block);
  case 3:
    return filter_block(tile, (Pixels){3, 0, 3}, block);
  default:
    return tile->unfiltered == 0   ? filter_block(tile, (Pixels){4, 1, 3}, block)
           : tile->unfiltered == 3 ? filter_block(tile, (Pixels){4, 0, 3}, block)
                                   : filter_block(tile, (Pixels){4, 0, 4}, block);
  }
}

static int filter_tile(Tile *tile)
{
  const int slots = tile->matrix->ring_rows / CF_MATRIX_ROWS, ahead = slots - 1;

  for (int i = 0;; i++) {
    const int y = tile->tile->y0 + (i - ahead) * CF_MATRIX_ROWS, left = tile->tile->y1 - y;
    const Block block = {.index = i,
                         .slot = i % slots,
                         .oldest = (i + 1) % slots,
                         .y = y,
                         .rows = i < ahead ? 0 : cf_min(left, CF_MATRIX_ROWS)};

    if (left <= 0)
      return tile->tile->y1;
    if (!filter_any_block(tile, &block))
      return i < ahead ? tile->tile->y0 : y;
  }
}

int cf_fir_matrix_run(const CfFirWork *work, const CfFirRows *rows, const CfRect *bounds,
                      void *scratch)
{
  CfArena arena = {.base = scratch};
  Tile tile = {.work = work,
               .matrix = &work->matrix,
               .rows = rows,
               .tile = bounds,
               .watch_alpha = work->weighted.lines || work->only_opaque};
  int end;

  tile.unfiltered = tile.watch_alpha ? work->alpha : work->padding;

  lay_out(&tile, bounds->x1 - bounds->x0, &arena);
  for (int i = 0; i < TILE_SUMS; i++)
    tile.initial_sums[i] = work->matrix.rounding;
  configure();
  end = filter_tile(&tile);
  _tile_release();
  return end;
}
