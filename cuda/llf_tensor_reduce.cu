/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Down the pyramid on tensor cores: rows as matrix products, columns as fp16 sums in registers.
 *
 * A warp makes a strip of 32 pixels of the coarse level and ROWS rows, walking down the fine rows
 * below it: each is filtered across once and enters the three coarse rows that reach it.
 */
#include "llf_tensor.cuh"

namespace llf
{

/* A block has ACROSS x DOWN warps and works on GROUPS groups of components. */
template <int groups, int across, int down, int rows> struct Shape {
  static constexpr int GROUPS = groups, ACROSS = across, DOWN = down, ROWS = rows;
  static constexpr int THREADS = 32 * ACROSS * DOWN;
  static constexpr int COARSE_X = 32 * ACROSS, COARSE_Y = ROWS * DOWN;
  static constexpr int FINE_X = 2 * COARSE_X + 3, FINE_Y = 2 * COARSE_Y + 3;
};

/* --- shared memory --- */

/* The table of codes, each row several times, so that the rows that a warp looks up lie in
 * different banks where there is room for it; and the tile of code values, which begins 16 samples
 * left of its first pair of coarse pixels, to keep the source's alignment. */
template <typename S, typename Sample> struct TableMemory {
  static constexpr int MARGIN = 16;
  static constexpr int COPIES = sizeof(Sample) == 1 ? 8 : 1;
  static constexpr int TABLE = TABLE_ENTRIES<Sample> * COPIES * GROUP_BYTES; /* bytes a group */
  static constexpr int PITCH = 2 * S::COARSE_X + 2 * MARGIN;                 /* samples */
  static constexpr int CODES = S::GROUPS * TABLE;
  static constexpr int BYTES = CODES + S::FINE_Y * PITCH * (int)sizeof(Sample);
};

/* Components, the intensities, and these filtered across. */
template <typename S> struct TileMemory {
  static constexpr int PITCH =
      (S::FINE_X * S::GROUPS * GROUP_BYTES + 127) / 128 * 128; /* bytes of a row of components */
  static constexpr int GAUSS_PITCH = S::FINE_X + 1;
  static constexpr int GAUSS = S::FINE_Y * PITCH;
  static constexpr int ACROSS = GAUSS + S::FINE_Y * GAUSS_PITCH * (int)sizeof(float);
  static constexpr int BYTES = ACROSS + S::FINE_Y * S::COARSE_X * (int)sizeof(float);

  /* Offset of a group of a pixel in its row; pairs of groups change places every four pixels, so
   * that eight pixels lie in different banks. */
  __device__ static int at(int x, int group)
  {
    const int place = S::GROUPS == 2 ? group ^ (x >> 2 & 1) : group;
    return (x * S::GROUPS + place) * GROUP_BYTES;
  }
};

namespace
{

/* --- the way of a strip --- */

/* 32 coarse pixels in two fragments of 16, each with 8 components a group. */
template <int GROUPS> struct Row {
  uint32_t word[2][2 * GROUPS];
};

/* The taps as a banded matrix: 16 coarse pixels of 35 fine ones, which begin 2 before. */
struct Band {
  uint32_t a[3][4];

  __device__ Band(int lane)
  {
#pragma unroll
    for (int part = 0; part < 3; part++) {
#pragma unroll
      for (int q = 0; q < 4; q++) {
        const int pixel = lane / 4 + (q & 1) * 8;
        const int tap = 16 * part + 2 * (lane % 4) + (q >> 1) * 8 - 2 * pixel;
        a[part][q] = cf_pack_halves(weight(tap), weight(tap + 1));
      }
    }
  }

  __device__ static float weight(int tap)
  {
    return tap == 0 || tap == 4   ? HALF_EDGE
           : tap == 1 || tap == 3 ? HALF_SIDE
           : tap == 2             ? HALF_CENTRE
                                  : 0.0f;
  }

  /* `fine` has five fragments of 16 pixels: 67 are used. */
  template <int GROUPS>
  __device__ void filter(const uint32_t fine[5][2 * GROUPS], Row<GROUPS> *coarse) const
  {
#pragma unroll
    for (int m = 0; m < 2; m++) {
#pragma unroll
      for (int c = 0; c < GROUPS; c++) {
        uint32_t sum[2];

        multiply_half(sum, a[0], fine[2 * m][2 * c], fine[2 * m][2 * c + 1], 0, 0);
        multiply_half(sum, a[1], fine[2 * m + 1][2 * c], fine[2 * m + 1][2 * c + 1], sum[0],
                      sum[1]);
        multiply_half_8(coarse->word[m] + 2 * c, a[2], fine[2 * m + 2][2 * c], sum[0], sum[1]);
      }
    }
  }
};

template <int GROUPS>
__device__ __forceinline__ void add_row(Row<GROUPS> *total, float tap, const Row<GROUPS> &row,
                                        bool begins)
{
  const uint32_t factor = cf_pack_halves(tap, tap);

#pragma unroll
  for (int m = 0; m < 2; m++) {
#pragma unroll
    for (int q = 0; q < 2 * GROUPS; q++)
      total->word[m][q] = begins ? multiplied(factor, row.word[m][q])
                                 : multiplied_added(factor, row.word[m][q], total->word[m][q]);
  }
}

/* `filter_row (r, &row)` filters fine row r of the strip across; `store (r, row)` takes coarse row
 * r. Fine row 0 is two above the first coarse row. */
template <int GROUPS, int ROWS, typename FilterRow, typename Store>
__device__ __forceinline__ void reduce_strip(FilterRow filter_row, Store store)
{
  Row<GROUPS> row, ending, current, starting;

  filter_row(0, &row);
  add_row(&current, HALF_EDGE, row, true);
  filter_row(1, &row);
  add_row(&current, HALF_SIDE, row, false);
#pragma unroll 1
  for (int r = 0; r < ROWS; r++) {
    filter_row(2 * r + 2, &row);
    if (r > 0) {
      add_row(&ending, HALF_EDGE, row, false);
      store(r - 1, ending);
    }
    add_row(&current, HALF_CENTRE, row, false);
    add_row(&starting, HALF_EDGE, row, true);
    filter_row(2 * r + 3, &row);
    add_row(&current, HALF_SIDE, row, false);
    add_row(&starting, HALF_SIDE, row, false);
    ending = current;
    current = starting;
  }
  filter_row(2 * ROWS + 2, &row);
  add_row(&ending, HALF_EDGE, row, false);
  store(ROWS - 1, ending);
}

struct Target {
  Level coarse;
  int groups, first_group; /* of a pixel; of those this block makes */
  float top_gain;

  __device__ void store_gauss(int x, int y, float gauss) const
  {
    if (x >= coarse.width || y >= coarse.height)
      return;
    const size_t index = (size_t)y * coarse.width + x;
    coarse.gauss[index] = gauss;
    if (coarse.collapsed)
      coarse.collapsed[index] = top_gain * gauss;
  }

  __device__ uint4 *pixel(int x, int y) const
  {
    return coarse.groups + ((size_t)y * coarse.width + x) * groups + first_group;
  }
};

/* Lane 4 p + t holds pair t of pixels p and p + 8 of each fragment. With `interleaved`, the first
 * group's pairs are the even ones of eight, the second's the odd ones. */
template <int GROUPS, bool interleaved>
__device__ __forceinline__ void store_row(const Target &target, int x, int y, int lane,
                                          const Row<GROUPS> &row)
{
  if (y >= target.coarse.height)
    return;
#pragma unroll
  for (int m = 0; m < 2; m++) {
#pragma unroll
    for (int half = 0; half < 2; half++) {
      const int pixel_x = x + 16 * m + 8 * half + lane / 4;

      if (pixel_x >= target.coarse.width)
        continue;
      uint4 *const to = target.pixel(pixel_x, y);
      if constexpr (interleaved && GROUPS == 2) {
        reinterpret_cast<uint2 *>(to)[lane % 4] =
            make_uint2(row.word[m][half], row.word[m][2 + half]);
      } else {
#pragma unroll
        for (int c = 0; c < GROUPS; c++)
          reinterpret_cast<uint32_t *>(to + c)[lane % 4] = row.word[m][2 * c + half];
      }
    }
  }
}

/* --- level 0 by table --- */

/* Row `code` of table c: the components of harmonics first + 1.. as store_row() wants them. */
template <typename S, typename Sample>
__device__ void fill_table(uint8_t *memory, const Pixels &pixels, const Series &series, int first)
{
  using M = TableMemory<S, Sample>;

  for (int i = threadIdx.x; i < TABLE_ENTRIES<Sample> * S::GROUPS; i += S::THREADS) {
    const int code = i % TABLE_ENTRIES<Sample>, table = i / TABLE_ENTRIES<Sample>;
    const float turns = series.turn * intensity_of_code(pixels, (float)code);
    uint32_t words[4];

#pragma unroll
    for (int k = 0; k < 4; k++) {
      const int harmonic = first + (S::GROUPS == 2 ? 2 * k + table : k);
      float sine, cosine;

      sincos_turns((float)(harmonic + 1) * turns, &sine, &cosine);
      words[k] = cf_pack_halves(series.b[harmonic] * sine, series.b[harmonic] * cosine);
    }
    uint4 *const row = reinterpret_cast<uint4 *>(memory + table * M::TABLE) + code * M::COPIES;
#pragma unroll
    for (int copy = 0; copy < M::COPIES; copy++)
      row[(copy + threadIdx.x) % M::COPIES] = make_uint4(words[0], words[1], words[2], words[3]);
  }
}

/* Code values of the tile, mirrored at the borders. Chunks of 16 bytes inside the picture are
 * copied as they are where the source is aligned. */
template <typename S, typename Sample>
__device__ void load_codes(Sample *codes, const Pixels &pixels, int coarse_x, int coarse_y,
                           bool aligned)
{
  using M = TableMemory<S, Sample>;
  constexpr int CHUNK = 16 / sizeof(Sample), CHUNKS = M::PITCH / CHUNK;
  const Channel &channel = pixels.channel[0];

  for (int i = threadIdx.x; i < S::FINE_Y * CHUNKS; i += S::THREADS) {
    const int row = i / CHUNKS, column = i % CHUNKS * CHUNK;
    const int x = 2 * coarse_x - M::MARGIN + column;
    const int y = mirrored(2 * coarse_y - 2 + row, pixels.height);
    const uint8_t *const from = channel.from + y * channel.from_stride;
    Sample *const to = codes + row * M::PITCH + column;

    if (aligned && x >= 0 && x + CHUNK <= pixels.width) {
      start_copy(cf_shared_address(to), from + (ptrdiff_t)x * sizeof(Sample));
      continue;
    }
#pragma unroll
    for (int k = 0; k < CHUNK; k++) {
      if (x + k >= -2 && x + k < pixels.width + 2)
        to[k] = reinterpret_cast<const Sample *>(
            from)[(ptrdiff_t)mirrored(x + k, pixels.width) * pixels.step[0]];
      else
        to[k] = 0; /* any row of the table: its taps are 0 or its pixels outside */
    }
  }
  wait_copies();
}

/* Foot and headroom count as black and white in the Gaussian pyramid; the table knows. */
template <typename S> __device__ void clamp_codes(uint8_t *codes, int first, int last)
{
  using M = TableMemory<S, uint8_t>;
  const uint32_t low = first * 0x01010101u, high = last * 0x01010101u;

  for (int i = threadIdx.x; i < S::FINE_Y * M::PITCH / 4; i += S::THREADS) {
    uint32_t *const word = reinterpret_cast<uint32_t *>(codes) + i;
    *word = __vminu4(__vmaxu4(*word, low), high);
  }
}

/* Two neighbours at a time, 20 times each tap so that they are integers. */
template <typename S>
__device__ void reduce_codes(const uint8_t *codes, const Pixels &pixels, const Target &target,
                             int coarse_x, int coarse_y)
{
  using M = TableMemory<S, uint8_t>;
  constexpr int PAIRS = S::COARSE_X / 2;
  const float factor = pixels.weight[0] * (1.0f / 400.0f);

  for (int i = threadIdx.x; i < S::COARSE_Y * PAIRS; i += S::THREADS) {
    const int x = i % PAIRS * 2, y = i / PAIRS;
    uint32_t left = 0, right = 0;

#pragma unroll
    for (int row = 0; row < 5; row++) {
      const uint32_t *const words = reinterpret_cast<const uint32_t *>(
          codes + (2 * y + row) * M::PITCH + M::MARGIN - 4 + 2 * x);
      const uint32_t tap = row == 0 || row == 4 ? 1u : row == 2 ? 8u : 5u;

      left = __dp4a(words[0], (tap << 16) | (5 * tap << 24), left);
      left = __dp4a(words[1], 8 * tap | (5 * tap << 8) | (tap << 16), left);
      right = __dp4a(words[1], tap | (5 * tap << 8) | (8 * tap << 16) | (5 * tap << 24), right);
      right = __dp4a(words[2], tap, right);
    }
    target.store_gauss(coarse_x + x, coarse_y + y, fmaf((float)left, factor, pixels.bias));
    target.store_gauss(coarse_x + x + 1, coarse_y + y, fmaf((float)right, factor, pixels.bias));
  }
}

template <typename S>
__device__ void reduce_codes(const uint16_t *codes, const Pixels &pixels, const Target &target,
                             int coarse_x, int coarse_y)
{
  using M = TableMemory<S, uint16_t>;

  for (int i = threadIdx.x; i < S::COARSE_Y * S::COARSE_X; i += S::THREADS) {
    const int x = i % S::COARSE_X, y = i / S::COARSE_X;
    float rows[5];

#pragma unroll
    for (int row = 0; row < 5; row++) {
      const uint16_t *const from = codes + (2 * y + row) * M::PITCH + M::MARGIN - 2 + 2 * x;
      float taps[5];
#pragma unroll
      for (int k = 0; k < 5; k++)
        taps[k] = intensity_of_code(pixels, (float)(from[k] >> pixels.shift));
      rows[row] = reduced(taps[0], taps[1], taps[2], taps[3], taps[4]);
    }
    target.store_gauss(coarse_x + x, coarse_y + y,
                       reduced(rows[0], rows[1], rows[2], rows[3], rows[4]));
  }
}

/* The five fragments of a fine row, looked up. */
template <typename S, typename Sample>
__device__ __forceinline__ void look_up(uint32_t fine[5][2 * S::GROUPS], uint32_t table,
                                        const Sample *codes, int shift, int lane)
{
  using M = TableMemory<S, Sample>;
  constexpr int ROW = M::COPIES * GROUP_BYTES;
  const uint32_t copy = table + (lane % M::COPIES) * GROUP_BYTES;

  if constexpr (S::GROUPS == 2) {
    const uint32_t base = copy + lane / 16 * M::TABLE;
#pragma unroll
    for (int j = 0; j < 5; j++)
      cf_load_matrix_transposed(fine[j],
                                base + (uint32_t)(codes[16 * j + lane % 16] >> shift) * ROW);
  } else {
    uint32_t pair[4];
#pragma unroll
    for (int j = 0; j < 4; j += 2) {
      cf_load_matrix_transposed(pair, copy + (uint32_t)(codes[16 * j + lane] >> shift) * ROW);
      fine[j][0] = pair[0];
      fine[j][1] = pair[1];
      fine[j + 1][0] = pair[2];
      fine[j + 1][1] = pair[3];
    }
    load_2_transposed(fine[4], copy + (uint32_t)(codes[64 + lane % 16] >> shift) * ROW);
  }
}

/* Blocks stay for many tiles, since the table is dear. blockIdx.y counts blocks' groups. */
template <typename S, typename Sample>
__global__ void __launch_bounds__(S::THREADS, 2)
    analyse_table_kernel(const __grid_constant__ Pixels pixels,
                         const __grid_constant__ Series series, Target target, bool aligned,
                         int first_code, int last_code)
{
  using M = TableMemory<S, Sample>;
  extern __shared__ __align__(128) uint8_t memory[];
  Sample *const codes = reinterpret_cast<Sample *>(memory + M::CODES);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int strip_x = warp % S::ACROSS * 32, strip_y = warp / S::ACROSS * S::ROWS;
  const int tiles_x = (target.coarse.width + S::COARSE_X - 1) / S::COARSE_X;
  const int tiles = tiles_x * ((target.coarse.height + S::COARSE_Y - 1) / S::COARSE_Y);
  const Band band(lane);

  target.first_group = blockIdx.y * S::GROUPS;
  fill_table<S, Sample>(memory, pixels, series, 4 * target.first_group);
  await_previous();

  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const int x = tile % tiles_x * S::COARSE_X, y = tile / tiles_x * S::COARSE_Y;

    load_codes<S, Sample>(codes, pixels, x, y, aligned);
    __syncthreads();
    if (sizeof(Sample) == 1 && (first_code > 0 || last_code < 255)) {
      clamp_codes<S>(reinterpret_cast<uint8_t *>(codes), first_code, last_code);
      __syncthreads();
    }
    if (y + strip_y < target.coarse.height) {
      const Sample *const strip = codes + 2 * strip_y * M::PITCH + M::MARGIN - 2 + 2 * strip_x;

      reduce_strip<S::GROUPS, S::ROWS>(
          [&](int row, Row<S::GROUPS> *filtered) {
            uint32_t fine[5][2 * S::GROUPS];
            look_up<S, Sample>(fine, cf_shared_address(memory), strip + row * M::PITCH,
                               pixels.shift, lane);
            band.filter<S::GROUPS>(fine, filtered);
          },
          [&](int row, const Row<S::GROUPS> &filtered) {
            store_row<S::GROUPS, true>(target, x + strip_x, y + strip_y + row, lane, filtered);
          });
    }
    if (blockIdx.y == 0)
      reduce_codes<S>(codes, pixels, target, x, y);
    __syncthreads();
  }
}

/* --- from intensities, and from level to level --- */

template <typename S, typename Sample, Colour colour>
__device__ void compute_tile(uint8_t *memory, float *gauss, const Pixels &pixels,
                             const Series &series, int first_group, int coarse_x, int coarse_y)
{
  using M = TileMemory<S>;

  for (int i = threadIdx.x; i < S::FINE_Y * S::FINE_X; i += S::THREADS) {
    const int row = i / S::FINE_X, x = i % S::FINE_X;
    const float intensity = __saturatef(
        load_intensity<Sample, colour>(pixels, mirrored(2 * coarse_x - 2 + x, pixels.width),
                                       mirrored(2 * coarse_y - 2 + row, pixels.height)));
    Rotation rotation(series.turn * intensity, 4 * first_group);

    gauss[row * M::GAUSS_PITCH + x] = intensity;
#pragma unroll
    for (int c = 0; c < S::GROUPS; c++) {
      uint32_t words[4];
#pragma unroll
      for (int k = 0; k < 4; k++) {
        const float b = series.b[4 * (first_group + c) + k];
        words[k] = cf_pack_halves(b * rotation.sine, b * rotation.cosine);
        rotation.advance();
      }
      *reinterpret_cast<uint4 *>(memory + row * M::PITCH + M::at(x, c)) =
          make_uint4(words[0], words[1], words[2], words[3]);
    }
  }
}

template <typename S>
__device__ void load_tile(uint8_t *memory, float *gauss, const Level &fine, int groups,
                          int first_group, int coarse_x, int coarse_y)
{
  using M = TileMemory<S>;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  constexpr int COPIES = (S::FINE_X * S::GROUPS + 31) / 32, FLOATS = (S::FINE_X + 31) / 32;
  size_t from[COPIES];
  int to[COPIES], gauss_from[FLOATS];

#pragma unroll
  for (int k = 0; k < COPIES; k++) {
    const int i = lane + 32 * k, c = i % S::GROUPS, x = i / S::GROUPS;
    from[k] = (size_t)mirrored(2 * coarse_x - 2 + x, fine.width) * groups + first_group + c;
    to[k] = x < S::FINE_X ? M::at(x, c) : -1;
  }
#pragma unroll
  for (int k = 0; k < FLOATS; k++)
    gauss_from[k] = mirrored(2 * coarse_x - 2 + lane + 32 * k, fine.width);

  for (int row = warp; row < S::FINE_Y; row += S::THREADS / 32) {
    const size_t y = (size_t)mirrored(2 * coarse_y - 2 + row, fine.height) * fine.width;
    const uint32_t base = cf_shared_address(memory + row * M::PITCH);

#pragma unroll
    for (int k = 0; k < COPIES; k++) {
      if (to[k] >= 0)
        start_copy(base + to[k], fine.groups + y * groups + from[k]);
    }
#pragma unroll
    for (int k = 0; k < FLOATS; k++) {
      if (lane + 32 * k < S::FINE_X)
        gauss[row * M::GAUSS_PITCH + lane + 32 * k] = fine.gauss[y + gauss_from[k]];
    }
  }
  wait_copies();
}

template <typename S>
__device__ void reduce_gauss(const float *gauss, float *across, const Target &target, int coarse_x,
                             int coarse_y)
{
  using M = TileMemory<S>;

  for (int i = threadIdx.x; i < S::FINE_Y * S::COARSE_X; i += S::THREADS) {
    const float *const p = gauss + i / S::COARSE_X * M::GAUSS_PITCH + 2 * (i % S::COARSE_X);
    across[i] = reduced(p[0], p[1], p[2], p[3], p[4]);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < S::COARSE_Y * S::COARSE_X; i += S::THREADS) {
    const int x = i % S::COARSE_X, y = i / S::COARSE_X;
    const float *const p = across + 2 * y * S::COARSE_X + x;
    target.store_gauss(
        coarse_x + x, coarse_y + y,
        reduced(p[0], p[S::COARSE_X], p[2 * S::COARSE_X], p[3 * S::COARSE_X], p[4 * S::COARSE_X]));
  }
}

/* The five fragments of a fine row of the tile. Fragments end within the row's pitch or repeat its
 * last pixel, where the taps are 0. */
template <typename S>
__device__ __forceinline__ void load_fine(uint32_t fine[5][2 * S::GROUPS], uint32_t row,
                                          int strip_x, int lane)
{
  using M = TileMemory<S>;

#pragma unroll
  for (int j = 0; j < 5; j++) {
    const int x = min(2 * strip_x + 16 * j + lane % 16, S::FINE_X - 1);

    if constexpr (S::GROUPS == 2)
      cf_load_matrix_transposed(fine[j], row + M::at(x, lane / 16));
    else
      load_2_transposed(fine[j], row + M::at(x, 0));
  }
}

template <typename S>
__device__ void reduce_tile(uint8_t *memory, const Target &target, int x, int y)
{
  using M = TileMemory<S>;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int strip_x = warp % S::ACROSS * 32, strip_y = warp / S::ACROSS * S::ROWS;
  const Band band(lane);

  if (y + strip_y < target.coarse.height) {
    reduce_strip<S::GROUPS, S::ROWS>(
        [&](int row, Row<S::GROUPS> *filtered) {
          uint32_t fine[5][2 * S::GROUPS];
          load_fine<S>(fine, cf_shared_address(memory + (2 * strip_y + row) * M::PITCH), strip_x,
                       lane);
          band.filter<S::GROUPS>(fine, filtered);
        },
        [&](int row, const Row<S::GROUPS> &filtered) {
          store_row<S::GROUPS, false>(target, x + strip_x, y + strip_y + row, lane, filtered);
        });
  }
  if (target.first_group == 0)
    reduce_gauss<S>(reinterpret_cast<float *>(memory + M::GAUSS),
                    reinterpret_cast<float *>(memory + M::ACROSS), target, x, y);
}

template <typename S, typename Sample, Colour colour>
__global__ void __launch_bounds__(S::THREADS)
    analyse_computed_kernel(const __grid_constant__ Pixels pixels,
                            const __grid_constant__ Series series, Target target)
{
  extern __shared__ __align__(128) uint8_t memory[];
  const int x = blockIdx.x * S::COARSE_X, y = blockIdx.y * S::COARSE_Y;

  target.first_group = blockIdx.z * S::GROUPS;
  await_previous();
  compute_tile<S, Sample, colour>(memory, reinterpret_cast<float *>(memory + TileMemory<S>::GAUSS),
                                  pixels, series, target.first_group, x, y);
  __syncthreads();
  reduce_tile<S>(memory, target, x, y);
}

/* Tiles go from the last to the first where `backwards`: what the pass before wrote last is still
 * in the cache. */
template <typename S>
__global__ void __launch_bounds__(S::THREADS)
    reduce_level_kernel(Level fine, Target target, bool backwards)
{
  extern __shared__ __align__(128) uint8_t memory[];
  const int tile_x = backwards ? gridDim.x - 1 - blockIdx.x : blockIdx.x;
  const int tile_y = backwards ? gridDim.y - 1 - blockIdx.y : blockIdx.y;
  const int x = tile_x * S::COARSE_X, y = tile_y * S::COARSE_Y;

  target.first_group = blockIdx.z * S::GROUPS;
  await_previous();
  load_tile<S>(memory, reinterpret_cast<float *>(memory + TileMemory<S>::GAUSS), fine,
               target.groups, target.first_group, x, y);
  __syncthreads();
  reduce_tile<S>(memory, target, x, y);
}

/* --- launching --- */

/* Tall tiles repeat fewer rows, short ones fill the GPU where there are few. */
template <int GROUPS> using TallTable = Shape<GROUPS, 2, 4, 16>;
template <int GROUPS> using ShortTable = Shape<GROUPS, 2, 4, 8>;
template <int GROUPS> using TileShape = Shape<GROUPS, 1, 8, 1>;

constexpr long long LARGE_COARSE = 1000000; /* pixels */

Target target_of(const Pyramid &pyramid, int level, float top_gain)
{
  Target target = {pyramid.level[level], pyramid.groups, 0, top_gain};

  if (level < pyramid.images - 1)
    target.coarse.collapsed = nullptr;
  return target;
}

long long pixels_of(const Level &level)
{
  return (long long)level.width * level.height;
}

template <typename S, typename Sample>
bool launch_table(Queue *queue, const Gpu &gpu, const Pixels &pixels, const Series &series,
                  const Target &target)
{
  using M = TableMemory<S, Sample>;
  const int tiles =
      blocks(target.coarse.width, S::COARSE_X) * blocks(target.coarse.height, S::COARSE_Y);
  const int resident = gpu.multiprocessors * 2;
  const Channel &channel = pixels.channel[0];
  const bool aligned =
      pixels.step[0] == 1 && cf_is_vector_aligned(channel.from, channel.from_stride);
  const float last = pixels.offset + pixels.scale;

  return launch(queue, "llf analyse", analyse_table_kernel<S, Sample>,
                dim3(tiles < resident ? tiles : resident, target.groups / S::GROUPS),
                dim3(S::THREADS), M::BYTES, pixels, series, target, aligned, (int)pixels.offset,
                (int)last);
}

template <int GROUPS>
bool launch_analyse(Queue *queue, const Gpu &gpu, const Pixels &pixels, const Series &series,
                    const Target &target)
{
  const bool large = pixels_of(target.coarse) > LARGE_COARSE;

  if (!has_table(pixels)) {
    using S = TileShape<GROUPS>;

    return with_pixel_types(pixels, [&](auto sample, auto colour) {
      return launch(
          queue, "llf analyse",
          analyse_computed_kernel<S, typename decltype(sample)::type, decltype(colour)::colour>,
          dim3(blocks(target.coarse.width, S::COARSE_X), blocks(target.coarse.height, S::COARSE_Y),
               target.groups / GROUPS),
          dim3(S::THREADS), TileMemory<S>::BYTES, pixels, series, target);
    });
  }
  if (pixels.wide)
    return large ? launch_table<TallTable<GROUPS>, uint16_t>(queue, gpu, pixels, series, target)
                 : launch_table<ShortTable<GROUPS>, uint16_t>(queue, gpu, pixels, series, target);
  return large ? launch_table<TallTable<GROUPS>, uint8_t>(queue, gpu, pixels, series, target)
               : launch_table<ShortTable<GROUPS>, uint8_t>(queue, gpu, pixels, series, target);
}

template <typename S>
bool launch_reduce(Queue *queue, const Pyramid &pyramid, int fine, const Target &target)
{
  return launch(queue, "llf reduce", reduce_level_kernel<S>,
                dim3(blocks(target.coarse.width, S::COARSE_X),
                     blocks(target.coarse.height, S::COARSE_Y), pyramid.groups / S::GROUPS),
                dim3(S::THREADS), TileMemory<S>::BYTES, pyramid.level[fine], target, fine == 1);
}

template <typename S> bool prepare_table(CfStatus *status)
{
  return allow_shared(analyse_table_kernel<S, uint8_t>, TableMemory<S, uint8_t>::BYTES, status) &&
         allow_shared(analyse_table_kernel<S, uint16_t>, TableMemory<S, uint16_t>::BYTES, status);
}

template <int GROUPS> bool prepare(CfStatus *status)
{
  using S = TileShape<GROUPS>;
  const int bytes = TileMemory<S>::BYTES;

  return prepare_table<TallTable<GROUPS>>(status) && prepare_table<ShortTable<GROUPS>>(status) &&
         allow_shared(analyse_computed_kernel<S, uint8_t, Colour::SINGLE>, bytes, status) &&
         allow_shared(analyse_computed_kernel<S, uint8_t, Colour::CHROMA>, bytes, status) &&
         allow_shared(analyse_computed_kernel<S, uint8_t, Colour::RGB>, bytes, status) &&
         allow_shared(analyse_computed_kernel<S, uint16_t, Colour::SINGLE>, bytes, status) &&
         allow_shared(analyse_computed_kernel<S, uint16_t, Colour::CHROMA>, bytes, status) &&
         allow_shared(analyse_computed_kernel<S, uint16_t, Colour::RGB>, bytes, status) &&
         allow_shared(reduce_level_kernel<S>, bytes, status);
}

} // namespace

bool tensor_prepare_reduce(CfStatus *status)
{
  return prepare<1>(status) && prepare<2>(status);
}

bool tensor_analyse(Queue *queue, const Gpu &gpu, const Pixels &pixels, const Series &series,
                    const Pyramid &pyramid, float top_gain)
{
  const Target target = target_of(pyramid, 1, top_gain);

  return pyramid.groups == 1 ? launch_analyse<1>(queue, gpu, pixels, series, target)
                             : launch_analyse<2>(queue, gpu, pixels, series, target);
}

bool tensor_reduce(Queue *queue, const Pyramid &pyramid, int fine, float top_gain)
{
  const Target target = target_of(pyramid, fine + 1, top_gain);

  return pyramid.groups == 1 ? launch_reduce<TileShape<1>>(queue, pyramid, fine, target)
                             : launch_reduce<TileShape<2>>(queue, pyramid, fine, target);
}

} // namespace llf
