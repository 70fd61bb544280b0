/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The terms of levels 0 and 1 on tensor cores. They do not depend on the coarser levels' collapsed
 * images, so these kernels run beside the chain of small ones that make them.
 */
#include "cuda/llf/mma_laplacian_smem.cuh"
#include "cuda/llf/mma_lut_derivative.cuh"
#include "cuda/llf/tiled_fp16.cuh"

#include <algorithm>
#include <type_traits>

namespace cf::llf
{
namespace
{

/* Blocks of a multiprocessor. */
constexpr int RESIDENT = 2;

/* Of a row in the table. */
template <Key key> constexpr int MOST_COPIES = HAS_SLOPES<key> ? 8 : KeyOf<key>::COPIES;

/* Teams that share a large table. */
template <Key key, int COPIES>
constexpr int TEAMS = COPIES > 1 || key == Key::LUMA || key == Key::WORD ? 2 : 1;

/* Level 1's terms are made along with level 0's. RGB's are in large pictures only: at 1920x1080 a
 * frame takes 93 us so, and 81 with a kernel of their own. */
template <Key key> constexpr bool ALWAYS_JOINED = key != Key::LUMA;

/* Shared memory, in bytes: the table; and of each team tiles of levels 1 and 2, of level 1's
 * Gaussian, and of pixels. */
template <Key key, int COPIES, int BUFFERS, bool JOINED> struct Memory {
  static constexpr int TABLE = kGroups * TABLE_ROWS<key> * COPIES * GROUP_BYTES;
  static constexpr int COARSE = (BaseTile::BYTES + 127) / 128 * 128;
  static constexpr int SECOND = BUFFERS * COARSE;
  static constexpr int SECOND_BYTES = JOINED ? (NextTile::BYTES + 127) / 128 * 128 : 0;
  static constexpr int GAUSS = SECOND + BUFFERS * SECOND_BYTES;
  static constexpr int GAUSS_BYTES = JOINED ? NEXT_X * NEXT_Y * (int)sizeof(float) : 0;
  static constexpr int PIXELS = GAUSS + BUFFERS * GAUSS_BYTES;
  static constexpr int NUMBERS = TILE_X * TILE_Y / 128 * STRIP_BYTES<key>;
  /* With two, a warp that has ended a tile need not wait for the others. */
  static constexpr int NUMBER_BUFFERS = BUFFERS == 2 && key != Key::LUMA ? 2 : 1;
  static constexpr int TEAM = PIXELS + NUMBER_BUFFERS * NUMBERS;

  __host__ __device__ static constexpr int bytes(int teams)
  {
    return TABLE + teams * TEAM;
  }
};

/* --- terms --- */

/* Of a strip of pixels. */
template <typename T, Key key, int COPIES>
__device__ __forceinline__ void make_terms(float (&sum)[4], const Columns<T> &columns,
                                           uint32_t table, const uint8_t *strip, const uint8_t *low,
                                           const Turn &turn, const Expansion &expansion,
                                           const Ones &ones, const Slopes<key> &slopes)
{
  const Numbers<key, COPIES> numbers(strip);
  auto rotation_of = [&](int j, uint32_t *rotation) {
    const uint32_t row = numbers.row_of(j, table);

    uint32_t words[4];
    cf::ldmatrix_x4(words, row);
#pragma unroll
    for (int k = 0; k < 4; k++)
      rotation[k] = words[k];
  };

  auto none = [](int, int, uint32_t *self) { self[0] = self[1] = 0; };

  if constexpr (HAS_SLOPES<key>) {
    SlopedSums<key> sums;

    expand_pairs<T, 8>(expansion, columns, none, rotation_of,
                       [&](int j, const uint32_t *components, const uint32_t *rotation) {
                         sums.add(j, components, rotation, slopes);
                       });
    sums.values(sum, low);
  } else {
    sum[0] = sum[1] = sum[2] = sum[3] = 0.0f;
    expand_pairs<T, 8>(expansion, columns, none, rotation_of,
                       [&](int j, const uint32_t *components, const uint32_t *rotation) {
                         add_rotated(sum, components, rotation, ones.of(j));
                       });
  }
}

/* The same of half a strip of level 1; `gauss` is a lane's part of it. */
__device__ __forceinline__ void make_next_terms(float (&sum)[4], const Columns<NextTile> &columns,
                                                OwnPixels<BaseTile> pixels, const float *gauss,
                                                const Turn &turn, const Expansion &expansion,
                                                const HalfOnes &ones)
{
  const float4 above = *reinterpret_cast<const float4 *>(gauss);
  const float4 below = *reinterpret_cast<const float4 *>(gauss + 4);

  sum[0] = sum[1] = sum[2] = sum[3] = 0.0f;
  expand_pairs<NextTile, 4>(
      expansion, columns, [&](int j, int c, uint32_t *self) { pixels.load(j, c, self); },
      [&](int j, uint32_t *rotation) { rotate(rotation, turn, (&above.x)[j], (&below.x)[j]); },
      [&](int j, const uint32_t *components, const uint32_t *rotation) {
        add_rotated(sum, components, rotation, ones.of(j));
      });
}

/* --- the kernel --- */

/* Tiles as far as pixels and rows of tiles. */
struct Step {
  int x, y;

  Step(int tiles, int across) : x(tiles % across * TILE_X), y(tiles / across * TILE_Y)
  {
  }
};

/* A picture's tiles; how far a team's next one is from the one before; and the cells of levels 0
 * and 1. */
struct Tiling {
  int tiles, across;
  Step step;
  int cells_across, next_cells_across;
};

/* Blocks stay for many tiles, since the table is dear, and load the next one meanwhile. They go
 * from the last tile to the first, like the reduction of level 1 beside them. */
template <Key key, int COPIES, int BUFFERS, bool JOINED>
__global__ void __launch_bounds__(TEAMS<key, COPIES> *THREADS,
                                  TEAMS<key, COPIES> == 1 ? RESIDENT : 1)
    pixel_terms_kernel(const __grid_constant__ Pixels pixels, const __grid_constant__ Series series,
                       Level coarse, Level second, __half *cells, __half *next_cells,
                       const __grid_constant__ PictureRows source, Tiling tiling, bool beside)
{
  using T = BaseTile;
  using M = Memory<key, COPIES, BUFFERS, JOINED>;
  static_assert(TILE_X * TILE_Y == 8 * THREADS, "eight pixels a thread");
  constexpr int STRIPS = TILE_Y / 2 / WARPS;
  constexpr int STRIP_ROWS = 2 * WARPS; /* from one strip of a warp to its next */

  extern __shared__ __align__(128) uint8_t table[];
  const int team = threadIdx.x / THREADS, thread = threadIdx.x % THREADS;
  uint8_t *const memory = table + M::TABLE + team * M::TEAM;
  const int lane = thread % 32, warp = thread / 32;
  const int strip_x = 32 * (warp % 2), strip_y = 4 * (warp / 2);
  const int column = thread % (TILE_X / 8) * 8, row = thread / (TILE_X / 8);
  const Expansion expansion(lane);
  const Ones ones(lane);
  const Turn turn(series, lane);
  /* 1024 times as much as the lowest bit, which counts so much less. */
  const Slopes<key> slopes(turn, 1024.0f * intensity_of_row<key>(pixels, 1.0f), lane);
  const CoarseLoader<T> loader(coarse, thread);
  const CoarseLoader<NextTile> second_loader(second, thread);
  /* Where a lane finds its part of the warp's strips; of level 1, of the first strip. */
  Columns<T> columns(memory, warp % 2, warp / 2, lane);
  /* Level 1 has half as many strips as there are warps, which make a half each. */
  const int next = warp / 2, half = warp % 2;
  using Next = Columns<NextTile>;
  OwnPixels<T> own_pixels(memory, next, lane);
  Next next_columns(memory + M::SECOND, 0, next, lane);
  const uint8_t *const strip =
      table + keep_in_register(team * M::TEAM + M::TABLE + M::PIXELS + warp * STRIP_BYTES<key> +
                               Numbers<key, COPIES>::place(lane));
  const uint8_t *const low =
      table + (HAS_SLOPES<key> ? keep_in_register(team * M::TEAM + M::TABLE + M::PIXELS +
                                                  warp * STRIP_BYTES<key> + 4 * lane)
                               : 0);
  const float *const gauss = reinterpret_cast<const float *>(memory + M::GAUSS) + warp * 64 +
                             (lane / 16 * 4 + lane / 4 % 4) * 8;
  const uint32_t looked_up = cf::smem_address(table) + lane % COPIES * GROUP_BYTES +
                             lane / 16 * (TABLE_ROWS<key> * COPIES * GROUP_BYTES);
  const uint32_t gauss_to =
      keep_in_register(cf::smem_address(memory + M::GAUSS) +
                       place_of_gauss(thread % NEXT_X, thread / NEXT_X) * (int)sizeof(float));
  uint8_t *const numbers = table + keep_in_register(M::TABLE + team * M::TEAM + M::PIXELS +
                                                    place_of_number<key, TILE_X>(column, row));
  Four<key> fours[2];
  const int tile = tiling.tiles - 1 - ((int)blockIdx.x + team * (int)gridDim.x);
  int buffer = 0, next_x, next_y;

  columns.from = keep_in_register(columns.from);
  next_columns.from = keep_in_register(next_columns.from + half * 4 * Next::PAIR_BYTES);
  own_pixels.from = keep_in_register(own_pixels.from + half * 16 * kGroups * GROUP_BYTES);

  auto load_components = [&] {
    loader.load(memory + buffer * M::COARSE, coarse, next_x, next_y);
    if constexpr (JOINED) {
      second_loader.load(memory + M::SECOND + buffer * M::SECOND_BYTES, second, next_x >> 1,
                         next_y >> 1);
      load_gauss(gauss_to + buffer * M::GAUSS_BYTES, coarse, next_x >> 1, next_y >> 1, thread);
    }
    cf::cp_async_commit();
  };
  auto load_tile = [&] {
    if constexpr (BUFFERS == 2)
      load_components();
    load_eight<key>(fours, pixels, source, next_x + column, min(next_y + row, pixels.height - 1));
  };
  /* To the next tile, if there is one. */
  auto go_on = [&] {
    next_x -= tiling.step.x;
    next_y -= tiling.step.y;
    if (next_x < 0) {
      next_x += tiling.across * TILE_X;
      next_y -= TILE_Y;
    }
  };

  fill_rotations<key, COPIES>(table, pixels, series);
  begin(beside);
  if constexpr (TEAMS < key, COPIES >> 1)
    __syncthreads();
  const int first_row = (int)(((float)tile + 0.5f) / (float)tiling.across);
  next_x = (tile - first_row * tiling.across) * TILE_X;
  next_y = tile < 0 ? -TILE_Y : first_row * TILE_Y;
  if (next_y >= 0)
    load_tile();
  while (next_y >= 0) {
    const int x = next_x, y = next_y, current = buffer;
    const int numbered = M::NUMBER_BUFFERS == 2 ? current * M::NUMBERS : 0;

    if constexpr (BUFFERS == 1)
      load_components();
    store_numbers<key>(numbers + numbered, pixels, source, fours);
    cf::cp_async_wait<0>();
    await_team<TEAMS<key, COPIES>, THREADS>(team);
    go_on();
    if constexpr (BUFFERS == 2)
      buffer ^= 1;
    if (next_y >= 0)
      load_tile();
    const uint32_t first_word =
        first_word_in_cells(tiling.cells_across, x + strip_x, y + strip_y, lane);
#pragma unroll
    for (int k = 0; k < STRIPS; k++) {
      const int from_x = x + strip_x, from_y = y + strip_y + k * STRIP_ROWS;
      float sum[4];

      if (from_x >= pixels.width || from_y >= pixels.height)
        continue;
      make_terms<T, key, COPIES>(
          sum, columns.shifted(current * M::COARSE + k * STRIP_ROWS / 2 * T::PITCH), looked_up,
          strip + numbered + k * WARPS * STRIP_BYTES<key>,
          low + numbered + k * WARPS * STRIP_BYTES<key>, turn, expansion, ones, slopes);
      if (from_x + CELL_X * (lane % 4) < pixels.width)
        store_cell(cells,
                   first_word + k * STRIP_ROWS / CELL_Y * tiling.cells_across * (CELL_HALVES / 2),
                   sum);
    }
    if constexpr (JOINED) {
      const int from_x = x >> 1, from_y = (y >> 1) + 4 * next;
      if (from_x + 16 * half < coarse.width && from_y < coarse.height) {
        float sum[4];

        make_next_terms(sum, next_columns.shifted(current * M::SECOND_BYTES),
                        own_pixels.shifted(current * M::COARSE),
                        gauss + current * (M::GAUSS_BYTES / 4), turn, expansion,
                        HalfOnes{ones, half == 1});
        if (lane % 4 / 2 == half)
          store_cells(next_cells, coarse.width, tiling.next_cells_across, from_x, from_y, lane,
                      sum);
      }
    }
    if constexpr (M::NUMBER_BUFFERS == 1)
      await_team<TEAMS<key, COPIES>, THREADS>(team);
  }
  end(beside);
}

/* --- launching --- */

template <Key key, int COPIES, int BUFFERS, bool JOINED> int teams_of(const Gpu &gpu)
{
  constexpr int MOST = TEAMS<key, COPIES>;
  return Memory<key, COPIES, BUFFERS, JOINED>::bytes(MOST) <= gpu.shared_per_block ? MOST : 1;
}

template <Key key, int COPIES, int BUFFERS, bool JOINED>
bool launch_terms(Queue *queue, const Gpu &gpu, const FramePlan &plan, const Pixels &pixels,
                  const Series &series, const Pyramid &pyramid)
{
  using M = Memory<key, COPIES, BUFFERS, JOINED>;
  constexpr int RESERVED = 1024;
  const int tiles = blocks(pixels.width, TILE_X) * blocks(pixels.height, TILE_Y);
  const int teams = teams_of<key, COPIES, BUFFERS, JOINED>(gpu);
  const int fitting = gpu.shared_per_multiprocessor / (M::bytes(teams) + RESERVED);
  const int most = TEAMS<key, COPIES> > 1 ? 1 : RESIDENT;
  const int beside = fitting < 1 ? 1 : fitting < most ? fitting : most;
  const int resident = beside * (gpu.multiprocessors - plan.reserved_sms);
  const Packing packing = packing_of(pixels);
  const Channel &channel = pixels.channel[0];
  const uintptr_t address =
      ((uintptr_t)channel.from - packing.byte[0]) | (uintptr_t)channel.from_stride;
  PictureRows source = {channel.from - (key == Key::LUMA ? packing.byte[0] : 0), packing,
                        luma_row_of(pixels, packing), (int)channel.from_stride, false};

  source.aligned =
      source.stride == channel.from_stride &&
      (key == Key::LUMA
           ? packing.packed && address % 16 == 0
           : pixels.step[0] == 1 && address % (4 * sizeof(typename KeyOf<key>::Sample)) == 0);
  const int grid = tiles < resident ? tiles : resident, all_teams = teams * grid;
  const int across = blocks(pixels.width, TILE_X);
  const Tiling tiling = {tiles, across, Step(all_teams, across), cells_across(pixels.width),
                         cells_across(pyramid.level[1].width)};

  return launch(queue, "llf terms", pixel_terms_kernel<key, COPIES, BUFFERS, JOINED>, dim3(grid),
                dim3(teams * THREADS), M::bytes(teams), pixels, series, pyramid.level[1],
                pyramid.level[2], pyramid.cells[0], pyramid.cells[1], source, tiling,
                plan.beside_coarse);
}

/* Calls `function` with the key as a type. */
template <Key value> struct KeyConstant {
  static constexpr Key key = value;
};

template <typename Function> bool with_key(const Pixels &pixels, Function function)
{
  switch (key_of(pixels)) {
  case Key::BYTE:
    return function(KeyConstant<Key::BYTE>());
  case Key::WORD:
    return function(KeyConstant<Key::WORD>());
  default:
    return function(KeyConstant<Key::LUMA>());
  }
}

template <Key key> bool is_joined(const Gpu &gpu, bool large)
{
  return ALWAYS_JOINED<key> ||
         (large && Memory<key, MOST_COPIES<key>, 2, true>::bytes(1) <= gpu.shared_per_block);
}

template <Key key, int COPIES, int BUFFERS, bool JOINED> bool fits(const Gpu &gpu)
{
  return Memory<key, COPIES, BUFFERS, JOINED>::bytes(1) <= gpu.shared_per_block;
}

/* The kernels that there are: see prepare(). */
bool launch_terms(Queue *queue, const Gpu &gpu, const FramePlan &plan, const Pixels &pixels,
                  const Series &series, const Pyramid &pyramid)
{
  return with_key(pixels, [&](auto key) {
    constexpr Key KEY = decltype(key)::key;
    constexpr int MOST = MOST_COPIES<KEY>;

    if constexpr (KEY == Key::LUMA) {
      if (plan.join_level_1)
        return launch_terms<KEY, MOST, 2, true>(queue, gpu, plan, pixels, series, pyramid);
      return fits<KEY, MOST, 2, false>(gpu)
                 ? launch_terms<KEY, MOST, 2, false>(queue, gpu, plan, pixels, series, pyramid)
                 : launch_terms<KEY, 1, 1, false>(queue, gpu, plan, pixels, series, pyramid);
    } else {
      return !plan.few_tiles && fits<KEY, MOST, 2, true>(gpu)
                 ? launch_terms<KEY, MOST, 2, true>(queue, gpu, plan, pixels, series, pyramid)
                 : launch_terms<KEY, MOST, 1, true>(queue, gpu, plan, pixels, series, pyramid);
    }
  });
}

template <Key key, int COPIES, int BUFFERS, bool JOINED>
bool allow_copies(const Gpu &gpu, CfStatus *status)
{
  const int bytes =
      Memory<key, COPIES, BUFFERS, JOINED>::bytes(teams_of<key, COPIES, BUFFERS, JOINED>(gpu));

  return allow_shared(gpu, pixel_terms_kernel<key, COPIES, BUFFERS, JOINED>, bytes, status);
}

template <Key key> bool allow_samples(const Gpu &gpu, CfStatus *status)
{
  constexpr int MOST = MOST_COPIES<key>;

  static_assert(Memory<key, MOST, 1, true>::bytes(1) <= LEAST_SHARED, "all GPUs have room");
  return allow_copies<key, MOST, 2, true>(gpu, status) &&
         allow_copies<key, MOST, 1, true>(gpu, status);
}

bool allow_luma(const Gpu &gpu, CfStatus *status)
{
  constexpr int MOST = MOST_COPIES<Key::LUMA>;

  static_assert(Memory<Key::LUMA, 1, 1, false>::bytes(1) <= LEAST_SHARED, "all GPUs have room");
  return allow_copies<Key::LUMA, MOST, 2, true>(gpu, status) &&
         allow_copies<Key::LUMA, MOST, 2, false>(gpu, status) &&
         allow_copies<Key::LUMA, 1, 1, false>(gpu, status);
}

bool prepare(const Gpu &gpu, CfStatus *status)
{
  return allow_samples<Key::BYTE>(gpu, status) && allow_samples<Key::WORD>(gpu, status) &&
         allow_luma(gpu, status);
}

} // namespace

int tensor_tiles(const Pixels &pixels)
{
  return blocks(pixels.width, TILE_X) * blocks(pixels.height, TILE_Y);
}

bool tensor_prepare_terms(const Gpu &gpu, CfStatus *status)
{
  return prepare(gpu, status);
}

bool tensor_terms_are_joined(const Gpu &gpu, const Pixels &pixels, bool large)
{
  return with_key(pixels, [&](auto key) {
    constexpr Key KEY = decltype(key)::key;

    return is_joined<KEY>(gpu, large);
  });
}

bool tensor_pixel_terms(Queue *queue, const Gpu &gpu, const FramePlan &plan, const Pixels &pixels,
                        const Series &series, const Pyramid &pyramid)
{
  return launch_terms(queue, gpu, plan, pixels, series, pyramid);
}

} // namespace cf::llf
