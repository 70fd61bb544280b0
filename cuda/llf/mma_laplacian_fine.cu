/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The terms of levels 0 and 1 on tensor cores. They do not depend on the coarser levels' collapsed
 * images, so these kernels run beside the chain of small ones that make them.
 */
#include "cuda/llf/mma_laplacian_tile.cuh"
#include "cuda/llf/mma_lut_derivative.cuh"
#include "cuda/llf/mma_laplacian_smem.cuh"

#include <algorithm>
#include <type_traits>

namespace cf::llf
{
namespace
{

/* Blocks of a multiprocessor. */
template <int GROUPS> constexpr int RESIDENT = 2;

/* Tiles a multiprocessor, below which a picture is small. Where the chain of coarse levels has a
 * stream of its own its kernels find room beside one block: 1920x1080 takes 6 % less with one. */
constexpr int SMALL_TILES = 16;

/* The same where the chain has its room already: fewer tiles are not worth two of them in shared
 * memory. */
constexpr int SMALL_TILES_BESIDE = 4;

/* Of a row in the table; of four groups they would not leave room for two teams. */
template <int GROUPS, Key key>
constexpr int MOST_COPIES = HAS_SLOPES<key> ? (GROUPS == 4 ? 4 : 8)
                            : GROUPS == 4   ? 1
                                            : KeyOf<key>::COPIES;

/* Teams that share a large table. */
template <Key key, int COPIES>
constexpr int TEAMS = COPIES > 1 || key == Key::LUMA || key == Key::WORD ? 2 : 1;

/* Level 1's terms are made along with level 0's. RGB's are in large pictures only: at 1920x1080 a
 * frame takes 93 us so, and 81 with a kernel of their own. */
template <Key key> constexpr bool ALWAYS_JOINED = key != Key::LUMA;

/* Shared memory, in bytes: the table; and of each team tiles of levels 1 and 2, of level 1's
 * Gaussian, and of pixels. */
template <int GROUPS, Key key, int COPIES, int BUFFERS, bool JOINED> struct Memory {
  static constexpr int TABLE = GROUPS * TABLE_ROWS<key> * COPIES * GROUP_BYTES;
  static constexpr int COARSE = (BaseTile<GROUPS>::BYTES + 127) / 128 * 128;
  static constexpr int SECOND = BUFFERS * COARSE;
  static constexpr int SECOND_BYTES = JOINED ? (NextTile<GROUPS>::BYTES + 127) / 128 * 128 : 0;
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
                                           const Turn<T::GROUPS> &turn, const Expansion &expansion,
                                           const Ones &ones, const Slopes<T::GROUPS, key> &slopes)
{
  constexpr int TABLE_BYTES = TABLE_ROWS<key> * COPIES * GROUP_BYTES;
  const Numbers<key, COPIES> numbers(strip);
  auto rotation_of = [&](int j, uint32_t *rotation) {
    if constexpr (key == Key::NONE) {
      rotate<T::GROUPS>(rotation, turn, numbers.from[j], numbers.from[8 + j]);
    } else {
      const uint32_t row = numbers.row_of(j, table);

      if constexpr (T::GROUPS == 1) {
        ldmatrix_x2(rotation, row);
      } else {
#pragma unroll
        for (int c = 0; c < T::GROUPS; c += 2) {
          uint32_t words[4];
          cf::ldmatrix_x4(words, row + c * TABLE_BYTES);
#pragma unroll
          for (int k = 0; k < 4; k++)
            rotation[2 * c + k] = words[k];
        }
      }
    }
  };

  auto none = [](int, int, uint32_t *self) { self[0] = self[1] = 0; };

  if constexpr (HAS_SLOPES<key>) {
    SlopedSums<T::GROUPS, key> sums;

    expand_pairs<T, 8>(expansion, columns, none, rotation_of,
                       [&](int j, const uint32_t *components, const uint32_t *rotation) {
                         sums.add(j, components, rotation, slopes);
                       });
    sums.values(sum, low);
  } else {
    sum[0] = sum[1] = sum[2] = sum[3] = 0.0f;
    expand_pairs<T, 8>(expansion, columns, none, rotation_of,
                       [&](int j, const uint32_t *components, const uint32_t *rotation) {
                         add_rotated<T::GROUPS>(sum, components, rotation, ones.of(j));
                       });
  }
}

/* The same of half a strip of level 1; `gauss` is a lane's part of it. */
template <int GROUPS>
__device__ __forceinline__ void
make_next_terms(float (&sum)[4], const Columns<NextTile<GROUPS>> &columns,
                OwnPixels<BaseTile<GROUPS>> pixels, const float *gauss, const Turn<GROUPS> &turn,
                const Expansion &expansion, const HalfOnes &ones)
{
  const float4 above = *reinterpret_cast<const float4 *>(gauss);
  const float4 below = *reinterpret_cast<const float4 *>(gauss + 4);

  sum[0] = sum[1] = sum[2] = sum[3] = 0.0f;
  expand_pairs<NextTile<GROUPS>, 4>(
      expansion, columns, [&](int j, int c, uint32_t *self) { pixels.load(j, c, self); },
      [&](int j, uint32_t *rotation) {
        rotate<GROUPS>(rotation, turn, (&above.x)[j], (&below.x)[j]);
      },
      [&](int j, const uint32_t *components, const uint32_t *rotation) {
        add_rotated<GROUPS>(sum, components, rotation, ones.of(j));
      });
}

constexpr int MOST_TAKEN_LEVELS = 2;

using TakenLevels = Levels<MOST_TAKEN_LEVELS>;

/* Whether there is a kernel that makes terms of levels 2 and up along with level 0's. It is one of
 * its own: at 640x360 a frame took 41 us instead of 38 with code that was not run. */
template <int GROUPS, Key key> constexpr bool TAKES_LEVELS = GROUPS <= 2 && key == Key::BYTE;

/* Tiles of coarser levels: number `first`, and every so many. They come first: at the end, when
 * nothing else hides what they wait for, they took 4 us. They are the last teams'; the others make
 * a tile of level 0 meanwhile, which takes 2.4 us where one of these takes 4, and more of those
 * that are left over: 1920x1080 takes 51.5 us a frame so, and 52.4 if all teams have as many. */
template <int TEAMS, int GROUPS>
__device__ __forceinline__ void
make_levels(const TakenLevels &levels, uint8_t *memory, int team, int thread, int first, int step,
            const Expansion &expansion, const Turn<GROUPS> &turn, bool beside)
{
  auto await = [&] { await_team<TEAMS, THREADS>(team); };

  for (int tile = first; tile < levels.tiles; tile += step) {
    make_level_tile<LevelTile<GROUPS>, DirectPixels>(levels, memory, tile, thread, expansion, turn,
                                                     beside, await);
    await();
  }
}

/* --- the kernel --- */

/* Tiles as far as pixels and rows of tiles. */
struct Step {
  int x, y;

  Step(int tiles, int across) : x(tiles % across * TILE_X), y(tiles / across * TILE_Y)
  {
  }
};

/* A picture's tiles; how far a team's next one is from the one before, and from its first one where
 * it has no tile of a coarser level; and the cells of levels 0 and 1. */
struct Tiling {
  int tiles, across;
  Step step, first_step;
  int cells_across, next_cells_across;
};

/* Blocks stay for many tiles, since the table is dear, and load the next one meanwhile. They go
 * from the last tile to the first, like the reduction of level 1 beside them. */
template <int GROUPS, typename Sample, Colour colour, Key key, int COPIES, int BUFFERS, bool JOINED,
          bool TAKES>
__global__ void __launch_bounds__(TEAMS<key, COPIES> *THREADS,
                                  TEAMS<key, COPIES> == 1 ? RESIDENT<GROUPS> : 1)
    pixel_terms_kernel(const __grid_constant__ Pixels pixels, const __grid_constant__ Series series,
                       Level coarse, Level second, __half *cells, __half *next_cells,
                       const __grid_constant__ PictureRows source, Tiling tiling, bool beside,
                       const __grid_constant__ TakenLevels levels, unsigned *ended)
{
  using T = BaseTile<GROUPS>;
  using M = Memory<GROUPS, key, COPIES, BUFFERS, JOINED>;
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
  const Turn<GROUPS> turn(series, lane);
  /* 1024 times as much as the lowest bit, which counts so much less. */
  const Slopes<GROUPS, key> slopes(turn, 1024.0f * intensity_of_row<key>(pixels, 1.0f), lane);
  const CoarseLoader<T> loader(coarse, thread);
  const CoarseLoader<NextTile<GROUPS>> second_loader(second, thread);
  /* Where a lane finds its part of the warp's strips; of level 1, of the first strip. */
  Columns<T> columns(memory, warp % 2, warp / 2, lane);
  /* Level 1 has half as many strips as there are warps, which make a half each. */
  const int next = warp / 2, half = warp % 2;
  using Next = Columns<NextTile<GROUPS>>;
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
  const uint32_t looked_up =
      cf::smem_address(table) + lane % COPIES * GROUP_BYTES +
      (GROUPS == 1 ? 0 : lane / 16 * (TABLE_ROWS<key> * COPIES * GROUP_BYTES));
  const uint32_t gauss_to =
      keep_in_register(cf::smem_address(memory + M::GAUSS) +
                       place_of_gauss(thread % NEXT_X, thread / NEXT_X) * (int)sizeof(float));
  uint8_t *const numbers = table + keep_in_register(M::TABLE + team * M::TEAM + M::PIXELS +
                                                    place_of_number<key, TILE_X>(column, row));
  Four<key> fours[2];
  const int number = (int)blockIdx.x + team * (int)gridDim.x;
  int tile = tiling.tiles - 1 - number;
  Step step = tiling.step;
  int buffer = 0, next_x, next_y;

  columns.from = keep_in_register(columns.from);
  next_columns.from = keep_in_register(next_columns.from + half * 4 * Next::PAIR_BYTES);
  own_pixels.from = keep_in_register(own_pixels.from + half * 16 * GROUPS * GROUP_BYTES);

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
    load_eight<Sample, colour, key>(fours, pixels, source, next_x + column,
                                    min(next_y + row, pixels.height - 1));
  };
  /* To the next tile, if there is one. */
  auto go_on = [&] {
    const Step by = TAKES ? step : tiling.step;

    next_x -= by.x;
    next_y -= by.y;
    step = tiling.step;
    if (next_x < 0) {
      next_x += tiling.across * TILE_X;
      next_y -= TILE_Y;
    }
  };

  if constexpr (key != Key::NONE)
    fill_rotations<GROUPS, key, COPIES>(table, pixels, series);
  begin(beside);
  if constexpr (TEAMS < key, COPIES >> 1)
    __syncthreads();
  if constexpr (TAKES) {
    const int teams = (int)blockDim.x / THREADS * (int)gridDim.x;
    const int others = max(teams - levels.tiles, 0);

    make_levels<TEAMS<key, COPIES>>(levels, memory, team, thread, teams - 1 - number, teams,
                                    expansion, turn, beside);
    if (number < others)
      step = tiling.first_step;
    else
      tile -= others;
  }
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

        make_next_terms<GROUPS>(sum, next_columns.shifted(current * M::SECOND_BYTES),
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
  count_cta_done(ended);
  end(beside);
}

/* --- launching --- */

/* Two tiles of components in shared memory for each team, where they have room beside a table that
 * holds rows several times. */
template <int GROUPS, Key key> constexpr bool HAS_TWO_BUFFERS = GROUPS < 4 && key != Key::NONE;

/* The same of RGB's terms where they are joined. */
template <int GROUPS> constexpr int JOINED_BUFFERS = GROUPS < 4 ? 2 : 1;

template <int GROUPS, Key key, int COPIES, int BUFFERS, bool JOINED> int teams_of(const Gpu &gpu)
{
  constexpr int MOST = TEAMS<key, COPIES>;
  return Memory<GROUPS, key, COPIES, BUFFERS, JOINED>::bytes(MOST) <= gpu.shared_per_block ? MOST
                                                                                           : 1;
}

bool is_small(const Gpu &gpu, const Pixels &pixels, bool beside)
{
  return blocks(pixels.width, TILE_X) * blocks(pixels.height, TILE_Y) <
         (beside ? SMALL_TILES_BESIDE : SMALL_TILES) * gpu.multiprocessors;
}

template <int GROUPS, typename Sample, Colour colour, Key key, int COPIES, int BUFFERS, bool JOINED>
bool launch_terms(Queue *queue, const Gpu &gpu, const Pixels &pixels, const Series &series,
                  const Pyramid &pyramid, const TakenLevels &levels)
{
  using M = Memory<GROUPS, key, COPIES, BUFFERS, JOINED>;
  constexpr int RESERVED = 1024;
  const int tiles = blocks(pixels.width, TILE_X) * blocks(pixels.height, TILE_Y);
  const bool small = !queue->beside && is_small(gpu, pixels, false);
  const int teams = small ? 1 : teams_of<GROUPS, key, COPIES, BUFFERS, JOINED>(gpu);
  const int fitting = gpu.shared_per_multiprocessor / (M::bytes(teams) + RESERVED);
  const int most = small || TEAMS<key, COPIES> > 1 ? 1 : RESIDENT<GROUPS>;
  const int beside = fitting < 1 ? 1 : fitting < most ? fitting : most;
  /* These blocks stay till the end, and leave room for the coarse levels: to those that are beside
   * them already; in a stream of their own to the last kernel, which needs a multiprocessor for
   * itself, or in large pictures to all of them. */
  const int left = queue->beside ? queue->left : small ? 1 : gpu.multiprocessors * 2 / 11;
  const int resident = beside * (gpu.multiprocessors > left ? gpu.multiprocessors - left : 1);
  const Packing packing = packing_of(pixels);
  const Channel &channel = pixels.channel[0];
  const uintptr_t address =
      ((uintptr_t)channel.from - packing.byte[0]) | (uintptr_t)channel.from_stride;
  PictureRows source = {channel.from - (key == Key::LUMA ? packing.byte[0] : 0), packing,
                        luma_row_of(pixels, packing), (int)channel.from_stride, false};

  source.aligned = source.stride == channel.from_stride &&
                   (key == Key::LUMA ? packing.packed && address % 16 == 0
                                     : pixels.step[0] == 1 && address % (4 * sizeof(Sample)) == 0);
  const int grid = tiles < resident ? tiles : resident, all_teams = teams * grid;
  const int across = blocks(pixels.width, TILE_X);
  const Tiling tiling = {tiles,
                         across,
                         Step(all_teams, across),
                         Step(std::max(all_teams - levels.tiles, 0), across),
                         cells_across(pixels.width),
                         cells_across(pyramid.level[1].width)};

  queue->awaited += grid;
  auto launch_kernel = [&](auto takes) {
    return launch(queue, "llf terms",
                  pixel_terms_kernel<GROUPS, Sample, colour, key, COPIES, BUFFERS, JOINED,
                                     decltype(takes)::value>,
                  dim3(grid), dim3(teams * THREADS), M::bytes(teams), pixels, series,
                  pyramid.level[1], pyramid.level[2], pyramid.cells[0], pyramid.cells[1], source,
                  tiling, queue->beside, levels, queue->ended);
  };

  if constexpr (TAKES_LEVELS<GROUPS, key>) {
    if (levels.count > 0)
      return launch_kernel(std::true_type());
  }
  return launch_kernel(std::false_type());
}

/* Calls `function` with the sample type, the colour and the key as types. */
template <Key value> struct KeyConstant {
  static constexpr Key key = value;
};

template <int groups> struct GroupsConstant {
  static constexpr int value = groups;
};

template <int GROUPS, typename Function>
bool with_key_types(const Gpu &gpu, const Pixels &pixels, Function function)
{
  return with_pixel_types(pixels, [&](auto sample, auto colour) {
    constexpr bool WIDE = sizeof(typename decltype(sample)::type) == 2;
    constexpr bool RGB = decltype(colour)::colour == Colour::RGB;
    constexpr Key KEY = RGB ? (WIDE ? Key::NONE : Key::LUMA) : WIDE ? Key::WORD : Key::BYTE;
    /* Chroma has no part in this. */
    using Filtered = ColourConstant<RGB ? Colour::RGB : Colour::SINGLE>;

    if constexpr (KEY != Key::NONE) {
      if (key_of(pixels) == KEY &&
          Memory<GROUPS, KEY, 1, 1, ALWAYS_JOINED<KEY>>::bytes(1) <= gpu.shared_per_block)
        return function(sample, Filtered(), KeyConstant<KEY>());
    }
    return function(sample, Filtered(), KeyConstant<Key::NONE>());
  });
}

template <int GROUPS, Key key> bool is_joined(const Gpu &gpu, const Pixels &pixels)
{
  return ALWAYS_JOINED<key> ||
         (is_large(pixels) &&
          Memory<GROUPS, key, MOST_COPIES<GROUPS, key>, JOINED_BUFFERS<GROUPS>, true>::bytes(1) <=
              gpu.shared_per_block);
}

template <int GROUPS>
bool launch_terms(Queue *queue, const Gpu &gpu, const Pixels &pixels, const Series &series,
                  const Pyramid &pyramid, const TakenLevels &levels)
{
  return with_key_types<GROUPS>(gpu, pixels, [&](auto sample, auto colour, auto key) {
    using Sample = typename decltype(sample)::type;
    constexpr Colour COLOUR = decltype(colour)::colour;
    constexpr Key KEY = decltype(key)::key;
    constexpr int MOST = MOST_COPIES<GROUPS, KEY>;
    constexpr bool ALWAYS = ALWAYS_JOINED<KEY>;

    if constexpr (!ALWAYS) {
      if (is_joined<GROUPS, KEY>(gpu, pixels))
        return launch_terms<GROUPS, Sample, COLOUR, KEY, MOST, JOINED_BUFFERS<GROUPS>, true>(
            queue, gpu, pixels, series, pyramid, levels);
    }
    if constexpr (HAS_TWO_BUFFERS<GROUPS, KEY>) {
      if ((!is_small(gpu, pixels, queue->beside) || !ALWAYS) &&
          Memory<GROUPS, KEY, MOST, 2, ALWAYS>::bytes(1) <= gpu.shared_per_block)
        return launch_terms<GROUPS, Sample, COLOUR, KEY, MOST, 2, ALWAYS>(queue, gpu, pixels,
                                                                          series, pyramid, levels);
    }
    if (Memory<GROUPS, KEY, MOST, 1, ALWAYS>::bytes(1) <= gpu.shared_per_block)
      return launch_terms<GROUPS, Sample, COLOUR, KEY, MOST, 1, ALWAYS>(queue, gpu, pixels, series,
                                                                        pyramid, levels);
    return launch_terms<GROUPS, Sample, COLOUR, KEY, 1, 1, ALWAYS>(queue, gpu, pixels, series,
                                                                   pyramid, levels);
  });
}

template <int GROUPS, typename Sample, Colour colour, Key key, int COPIES, int BUFFERS, bool JOINED>
bool allow_copies(const Gpu &gpu, CfStatus *status)
{
  const int bytes = Memory<GROUPS, key, COPIES, BUFFERS, JOINED>::bytes(
      teams_of<GROUPS, key, COPIES, BUFFERS, JOINED>(gpu));

  if constexpr (TAKES_LEVELS<GROUPS, key>) {
    if (!allow_shared(
            gpu, pixel_terms_kernel<GROUPS, Sample, colour, key, COPIES, BUFFERS, JOINED, true>,
            bytes, status))
      return false;
  }
  return allow_shared(
      gpu, pixel_terms_kernel<GROUPS, Sample, colour, key, COPIES, BUFFERS, JOINED, false>, bytes,
      status);
}

template <int GROUPS, typename Sample, Colour colour, Key key>
bool allow(const Gpu &gpu, CfStatus *status)
{
  constexpr int MOST = MOST_COPIES<GROUPS, key>;
  constexpr bool ALWAYS = ALWAYS_JOINED<key>;

  if constexpr (HAS_TWO_BUFFERS<GROUPS, key>) {
    if (!allow_copies<GROUPS, Sample, colour, key, MOST, 2, ALWAYS>(gpu, status))
      return false;
  }
  if constexpr (key != Key::NONE) {
    if (!allow_copies<GROUPS, Sample, colour, key, MOST, 1, ALWAYS>(gpu, status) ||
        !allow_copies<GROUPS, Sample, colour, key, MOST, JOINED_BUFFERS<GROUPS>, true>(gpu,
                                                                                       status) ||
        !allow_copies<GROUPS, Sample, colour, key, 1, 1, ALWAYS>(gpu, status))
      return false;
  }
  return allow_copies<GROUPS, Sample, colour, Key::NONE, 1, 1, true>(gpu, status);
}

template <int GROUPS> bool prepare(const Gpu &gpu, CfStatus *status)
{
  return allow<GROUPS, uint8_t, Colour::SINGLE, Key::BYTE>(gpu, status) &&
         allow<GROUPS, uint8_t, Colour::RGB, Key::LUMA>(gpu, status) &&
         allow<GROUPS, uint16_t, Colour::SINGLE, Key::WORD>(gpu, status) &&
         allow<GROUPS, uint16_t, Colour::RGB, Key::NONE>(gpu, status);
}

} // namespace

bool tensor_prepare_terms(const Gpu &gpu, CfStatus *status)
{
  return prepare<1>(gpu, status) && prepare<2>(gpu, status) && prepare<4>(gpu, status);
}

bool tensor_terms_are_joined(const Gpu &gpu, const Pixels &pixels, const Pyramid &pyramid)
{
  auto joined = [&](auto groups) {
    constexpr int GROUPS = decltype(groups)::value;

    return with_key_types<GROUPS>(gpu, pixels, [&](auto, auto, auto key) {
      return is_joined<GROUPS, decltype(key)::key>(gpu, pixels);
    });
  };

  return pyramid.groups == 1   ? joined(GroupsConstant<1>())
         : pyramid.groups == 2 ? joined(GroupsConstant<2>())
                               : joined(GroupsConstant<4>());
}

bool tensor_terms_take_levels(const Gpu &gpu, const Pixels &pixels, const Pyramid &pyramid)
{
  auto take_levels = [&](auto groups) {
    constexpr int GROUPS = decltype(groups)::value;

    return with_key_types<GROUPS>(gpu, pixels, [&](auto, auto, auto key) {
      return TAKES_LEVELS<GROUPS, decltype(key)::key>;
    });
  };

  return pyramid.groups == 1   ? take_levels(GroupsConstant<1>())
         : pyramid.groups == 2 ? take_levels(GroupsConstant<2>())
                               : take_levels(GroupsConstant<4>());
}

bool tensor_pixel_terms(Queue *queue, const Gpu &gpu, const Pixels &pixels, const Series &series,
                        const Pyramid &pyramid, int first, int last)
{
  auto launch_with_levels = [&](auto groups) {
    constexpr int GROUPS = decltype(groups)::value;

    return launch_terms<GROUPS>(
        queue, gpu, pixels, series, pyramid,
        levels_of<LevelTile<GROUPS>, MOST_TAKEN_LEVELS>(pyramid, first, last));
  };

  return pyramid.groups == 1   ? launch_with_levels(GroupsConstant<1>())
         : pyramid.groups == 2 ? launch_with_levels(GroupsConstant<2>())
                               : launch_with_levels(GroupsConstant<4>());
}

} // namespace cf::llf
