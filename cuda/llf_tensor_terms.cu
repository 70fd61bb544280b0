/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The terms of levels 0 and 1 on tensor cores. They do not depend on the coarser levels' collapsed
 * images, so these kernels run beside the chain of small ones that make them.
 */
#include "llf_tensor_cells.cuh"
#include "llf_tensor_up.cuh"

namespace llf
{
namespace
{

constexpr int TILE_X = 64, TILE_Y = 32, THREADS = 256, WARPS = THREADS / 32;

/* Of level 0, and of the pixels of level 1 that it needs: those inside are all a level-1 tile. */
template <int GROUPS> using BaseTile = Tile<GROUPS, TILE_Y, TILE_X>;
template <int GROUPS> using NextTile = Tile<GROUPS, TILE_Y / 2, TILE_X / 2>;

constexpr int NEXT_X = TILE_X / 2, NEXT_Y = TILE_Y / 2;
constexpr int PIXEL_PITCH = TILE_X + 4; /* words */

/* Blocks of a multiprocessor. */
template <int GROUPS> constexpr int RESIDENT = 2;

/* Tiles a multiprocessor, below which a picture is small. Where the chain of coarse levels has a
 * stream of its own its kernels find room beside one block: 1920x1080 takes 6 % less with one. */
constexpr int SMALL_TILES = 16;

/* The same where the chain has its room already: fewer tiles are not worth two of them in shared
 * memory. */
constexpr int SMALL_TILES_BESIDE = 4;

/* Of a row in the table; of four groups they would not leave room for two teams. */
template <int GROUPS, Key key> constexpr int MOST_COPIES = GROUPS == 4 ? 1 : KeyOf<key>::COPIES;

/* Teams that share a large table. */
template <Key key, int COPIES> constexpr int TEAMS = COPIES > 1 || key == Key::LUMA ? 2 : 1;

/* Level 1's terms are made along with level 0's. The table of RGB's luma leaves room for that, or
 * for two tiles of components for each team: at 3840x2160 the first takes 212 us a frame where the
 * second takes 223, at 1920x1080 102 where it takes 92. */
template <Key key> constexpr bool ALWAYS_JOINED = key != Key::LUMA;

/* Shared memory, in bytes: the table; and of each team tiles of levels 1 and 2, of level 1's
 * Gaussian, and of pixels. */
template <int GROUPS, Key key, int COPIES, int BUFFERS, bool JOINED> struct Memory {
  static constexpr int TABLE = GROUPS * KeyOf<key>::ENTRIES * COPIES * GROUP_BYTES;
  static constexpr int COARSE = (BaseTile<GROUPS>::BYTES + 127) / 128 * 128;
  static constexpr int SECOND = BUFFERS * COARSE;
  static constexpr int SECOND_BYTES = JOINED ? (NextTile<GROUPS>::BYTES + 127) / 128 * 128 : 0;
  static constexpr int GAUSS = SECOND + BUFFERS * SECOND_BYTES;
  static constexpr int GAUSS_BYTES = JOINED ? NEXT_X * NEXT_Y * (int)sizeof(float) : 0;
  static constexpr int PIXELS = GAUSS + BUFFERS * GAUSS_BYTES;
  static constexpr int TEAM = PIXELS + TILE_Y * PIXEL_PITCH * (int)sizeof(uint32_t);

  __host__ __device__ static constexpr int bytes(int teams)
  {
    return TABLE + teams * TEAM;
  }
};

/* --- rotations and pixels --- */

/* Row i of table c: the rotations of harmonics 4 c + 1 .. 4 c + 4. */
template <int GROUPS, Key key, int COPIES>
__device__ void fill_rotations(uint8_t *memory, const Pixels &pixels, const Series &series)
{
  constexpr int ENTRIES = KeyOf<key>::ENTRIES;
  uint4 *const table = reinterpret_cast<uint4 *>(memory);

  for (int i = threadIdx.x; i < ENTRIES * GROUPS; i += blockDim.x) {
    const int row = i % ENTRIES, group = i / ENTRIES;
    const float turns = series.turn * intensity_of_row<key>(pixels, (float)row);
    Rotation rotation((float)(4 * group + 1) * turns, turns);
    uint32_t words[4];

#pragma unroll
    for (int k = 0; k < 4; k++) {
      words[k] = cf_pack_halves(rotation.cosine, -rotation.sine);
      rotation.advance();
    }
#pragma unroll
    for (int copy = 0; copy < COPIES; copy++)
      table[i * COPIES + (copy + threadIdx.x) % COPIES] =
          make_uint4(words[0], words[1], words[2], words[3]);
  }
}

template <typename Sample, Colour colour, Key key>
__device__ __forceinline__ Four<key> load_four(const Pixels &pixels, const Packing &packing,
                                               const LumaRow &luma_row, bool aligned, int x, int y)
{
  const Channel &channel = pixels.channel[0];
  const uint8_t *const row = channel.from + y * channel.from_stride;

  if (key != Key::NONE && aligned && x + 4 <= pixels.width)
    return *reinterpret_cast<const Four<key> *>(
        row + (ptrdiff_t)x * (key == Key::LUMA ? 4 : (int)sizeof(Sample)) -
        (key == Key::LUMA ? packing.byte[0] : 0));

  Four<key> four = {};
#pragma unroll
  for (int k = 0; k < 4; k++) {
    const int pixel_x = min(x + k, pixels.width - 1);
    auto sample = [&](int c) {
      return (uint32_t)load_code<Sample>(pixels.channel[c].from, pixels.channel[c].from_stride,
                                         pixels.step[c], pixel_x, y, 0);
    };

    if constexpr (key == Key::BYTE) {
      four.words |= sample(0) << 8 * k;
    } else if constexpr (key == Key::WORD) {
      (k < 2 ? four.words.x : four.words.y) |= sample(0) << 16 * (k & 1);
    } else {
      uint32_t *const to = k == 0   ? &four.words.x
                           : k == 1 ? &four.words.y
                           : k == 2 ? &four.words.z
                                    : &four.words.w;
      if constexpr (key == Key::LUMA)
        *to = load_channels(pixels, packing, pixel_x, y);
      else
        *to = __float_as_uint(
            rounded_intensity<Sample, colour>(pixels, packing, luma_row, pixel_x, y));
    }
  }
  return four;
}

/* The numbers of their rows in the table, or intensities. */
template <Key key>
__device__ __forceinline__ uint4 rows_of(const Pixels &pixels, const LumaRow &luma_row,
                                         const Four<key> &four)
{
  if constexpr (key == Key::BYTE) {
    return make_uint4(four.words & 255, four.words >> 8 & 255, four.words >> 16 & 255,
                      four.words >> 24);
  } else if constexpr (key == Key::WORD) {
    return make_uint4((four.words.x & 65535) >> pixels.shift, four.words.x >> 16 >> pixels.shift,
                      (four.words.y & 65535) >> pixels.shift, four.words.y >> 16 >> pixels.shift);
  } else if constexpr (key == Key::LUMA) {
    return make_uint4(luma_row.of(four.words.x), luma_row.of(four.words.y),
                      luma_row.of(four.words.z), luma_row.of(four.words.w));
  } else {
    return four.words;
  }
}

/* --- terms --- */

/* Of a strip of pixels whose block 0 has, in a lane's part of it, the row numbers `rows`. */
template <typename T, Key key, int COPIES>
__device__ __forceinline__ void make_terms(float (&sum)[4], Columns<T> columns, uint32_t table,
                                           const uint32_t *rows, const Turn<T::GROUPS> &turn,
                                           const Expansion &expansion, const Ones &ones)
{
  constexpr int ROW_BYTES = COPIES * GROUP_BYTES;
  constexpr int TABLE_BYTES = KeyOf<key>::ENTRIES * ROW_BYTES;

  expand_strip<T::GROUPS>(
      sum, expansion, ones, [&](int j, uint32_t *words) { columns.load(words, j); },
      [&](int, int, uint32_t *self) { self[0] = self[1] = 0; },
      [&](int j, uint32_t *rotation) {
        if constexpr (key == Key::NONE) {
          rotate<T::GROUPS>(rotation, turn, __uint_as_float(rows[4 * j]),
                            __uint_as_float(rows[4 * j + 2 * PIXEL_PITCH]));
        } else {
          const uint32_t row = table + rows[4 * j] * ROW_BYTES;

          if constexpr (T::GROUPS == 1) {
            load_2(rotation, row);
          } else {
#pragma unroll
            for (int c = 0; c < T::GROUPS; c += 2) {
              uint32_t words[4];
              cf_load_matrix(words, row + c * TABLE_BYTES);
#pragma unroll
              for (int k = 0; k < 4; k++)
                rotation[2 * c + k] = words[k];
            }
          }
        }
      });
}

/* A level's own components in shared memory, as the addends of the expansion: matrices of eight
 * pixels, two of a group. */
template <typename T> struct OwnPixels {
  uint32_t from;
  uint32_t words[4];

  __device__ __forceinline__ OwnPixels(const uint8_t *memory, int strip_y, int lane)
  {
    const int matrix = lane / 8, pixel = lane % 8 + (matrix & 1) * 8;
    const int row = 1 + 4 * strip_y + pixel / 4, column = 1 + pixel % 4;
    const int swap = T::GROUPS == 2 ? row >> 1 & 1 : 0;

    from = cf_shared_address(memory) + row * T::PITCH +
           (column * T::GROUPS + (T::GROUPS > 1 ? (matrix >> 1) ^ swap : 0)) * GROUP_BYTES;
  }

  __device__ __forceinline__ OwnPixels shifted(int bytes) const
  {
    OwnPixels pixels = *this;
    pixels.from += bytes;
    return pixels;
  }

  __device__ __forceinline__ void load(int j, int c, uint32_t *self)
  {
    const uint32_t at = from + (4 * j * T::GROUPS + c) * GROUP_BYTES;

    if constexpr (T::GROUPS == 1) {
      load_2(words, at);
    } else if (c % 2 == 0) {
      cf_load_matrix(words, at);
    }
    self[0] = words[c % 2 * 2];
    self[1] = words[c % 2 * 2 + 1];
  }
};

/* The same of level 1; `gauss` is a lane's first pixel. */
template <int GROUPS>
__device__ __forceinline__ void make_next_terms(float (&sum)[4], Columns<NextTile<GROUPS>> columns,
                                                OwnPixels<BaseTile<GROUPS>> pixels,
                                                const float *gauss, const Turn<GROUPS> &turn,
                                                const Expansion &expansion, const Ones &ones)
{
  expand_strip<GROUPS>(
      sum, expansion, ones, [&](int j, uint32_t *words) { columns.load(words, j); },
      [&](int j, int c, uint32_t *self) { pixels.load(j, c, self); },
      [&](int j, uint32_t *rotation) {
        rotate<GROUPS>(rotation, turn, gauss[4 * j], gauss[4 * j + 2 * NEXT_X]);
      });
}

/* Starts to load the Gaussian of a tile of level 1. */
__device__ __forceinline__ void load_gauss(float *memory, const Level &level, int x, int y,
                                           int thread)
{
#pragma unroll
  for (int k = 0; k < NEXT_X * NEXT_Y / THREADS; k++) {
    const int i = thread + k * THREADS;
    const int from_x = min(x + i % NEXT_X, level.width - 1);
    const int from_y = min(y + i / NEXT_X, level.height - 1);

    cf_copy_async_word(cf_shared_address(memory + i),
                       level.gauss + (size_t)from_y * level.width + from_x, 4);
  }
}

/* A number that costs a register rather than being made again for every strip. */
__device__ __forceinline__ uint32_t kept(uint32_t number)
{
  asm volatile("mov.b32 %0, %0;" : "+r"(number));
  return number;
}

/* --- the kernel --- */

/* Blocks stay for many tiles, since the table is dear, and load the next one meanwhile. They go
 * from the last tile to the first, like the reduction of level 1 beside them. */
template <int GROUPS, typename Sample, Colour colour, Key key, int COPIES, int BUFFERS, bool JOINED>
__global__ void __launch_bounds__(TEAMS<key, COPIES> *THREADS,
                                  TEAMS<key, COPIES> == 1 ? RESIDENT<GROUPS> : 1)
    pixel_terms_kernel(const __grid_constant__ Pixels pixels, const __grid_constant__ Series series,
                       Level coarse, Level second, __half *cells, __half *next_cells,
                       Packing packing, LumaRow luma_row, bool aligned, bool beside)
{
  using T = BaseTile<GROUPS>;
  using M = Memory<GROUPS, key, COPIES, BUFFERS, JOINED>;
  constexpr int FOURS = TILE_X * TILE_Y / 4 / THREADS, ACROSS = TILE_X / 4;
  constexpr int STRIPS = TILE_Y / 2 / WARPS;
  constexpr int STRIP_ROWS = 2 * WARPS; /* from one strip of a warp to its next */

  extern __shared__ __align__(128) uint8_t table[];
  const int team = threadIdx.x / THREADS, thread = threadIdx.x % THREADS;
  const int teams = blockDim.x / THREADS, step = teams * (int)gridDim.x;
  uint8_t *const memory = table + M::TABLE + team * M::TEAM;
  uint32_t *const rows = reinterpret_cast<uint32_t *>(memory + M::PIXELS);
  const int lane = thread % 32, warp = thread / 32;
  const int strip_x = 32 * (warp % 2), strip_y = 4 * (warp / 2);
  const int tiles_x = (pixels.width + TILE_X - 1) / TILE_X;
  const int tiles = tiles_x * ((pixels.height + TILE_Y - 1) / TILE_Y);
  const int column = thread % ACROSS * 4, row = thread / ACROSS;
  const Expansion expansion(lane);
  const Ones ones(lane);
  const Turn<GROUPS> turn(series, lane);
  const CoarseLoader<T> loader(coarse, thread);
  const CoarseLoader<NextTile<GROUPS>> second_loader(second, thread);
  const float reciprocal = 1.0f / (float)tiles_x;
  const int across = cells_across(pixels.width), next_across = cells_across(coarse.width);
  /* Where a lane finds its part of the warp's strips; of level 1, of the first strip. */
  Columns<T> columns(memory, warp % 2, warp / 2, lane);
  const OwnPixels<T> own_pixels(memory, 0, lane);
  const int in_strip = key == Key::NONE
                           ? (strip_y + lane / 16) * PIXEL_PITCH + strip_x + lane / 4 % 4
                           : (strip_y + lane % 16 / 4) * PIXEL_PITCH + strip_x + lane % 4;
  const uint32_t *const strip = reinterpret_cast<const uint32_t *>(
      table + kept(team * M::TEAM + M::TABLE + M::PIXELS + in_strip * (int)sizeof(uint32_t)));
  const float *const gauss =
      reinterpret_cast<const float *>(memory + M::GAUSS) + lane / 16 * NEXT_X + lane / 4 % 4;
  const uint32_t looked_up =
      cf_shared_address(table) + lane % COPIES * GROUP_BYTES +
      (GROUPS == 1 ? 0 : lane / 16 * (KeyOf<key>::ENTRIES * COPIES * GROUP_BYTES));
  Four<key> fours[FOURS];
  int buffer = 0, next_x, next_y;

  columns.from = kept(columns.from);

  auto load_components = [&] {
    loader.load(memory + buffer * M::COARSE, coarse, next_x, next_y);
    if constexpr (JOINED) {
      second_loader.load(memory + M::SECOND + buffer * M::SECOND_BYTES, second, next_x / 2,
                         next_y / 2);
      load_gauss(reinterpret_cast<float *>(memory + M::GAUSS + buffer * M::GAUSS_BYTES), coarse,
                 next_x / 2, next_y / 2, thread);
    }
    cf_copy_commit();
  };
  auto load_tile = [&](int tile) {
    const int tile_y = (int)(((float)tile + 0.5f) * reciprocal);

    next_x = (tile - tile_y * tiles_x) * TILE_X;
    next_y = tile_y * TILE_Y;
    if constexpr (BUFFERS == 2)
      load_components();
#pragma unroll
    for (int i = 0; i < FOURS; i++)
      fours[i] = load_four<Sample, colour, key>(
          pixels, packing, luma_row, aligned, next_x + column,
          min(next_y + row + i * (THREADS / ACROSS), pixels.height - 1));
  };

  if constexpr (key != Key::NONE)
    fill_rotations<GROUPS, key, COPIES>(table, pixels, series);
  begin(beside);
  if constexpr (TEAMS < key, COPIES >> 1)
    __syncthreads();

  int tile = tiles - 1 - (int)blockIdx.x - team * (int)gridDim.x;
  if (tile >= 0)
    load_tile(tile);
  for (int turns = 0; tile >= 0; turns++) {
    const int x = next_x, y = next_y, current = buffer;

    if constexpr (BUFFERS == 1)
      load_components();
#pragma unroll
    for (int i = 0; i < FOURS; i++)
      *reinterpret_cast<uint4 *>(rows + (row + i * (THREADS / ACROSS)) * PIXEL_PITCH + column) =
          rows_of<key>(pixels, luma_row, fours[i]);
    cf_copy_wait<0>();
    await_team<TEAMS<key, COPIES>, THREADS>(team);
    tile -= step;
    if constexpr (BUFFERS == 2)
      buffer ^= 1;
    if (tile >= 0)
      load_tile(tile);
#pragma unroll
    for (int k = 0; k < STRIPS; k++) {
      const int from_x = x + strip_x, from_y = y + strip_y + k * STRIP_ROWS;
      float sum[4];

      if (from_x >= pixels.width || from_y >= pixels.height)
        continue;
      make_terms<T, key, COPIES>(
          sum, columns.shifted(current * M::COARSE + k * STRIP_ROWS / 2 * T::PITCH), looked_up,
          strip + k * STRIP_ROWS * PIXEL_PITCH, turn, expansion, ones);
      store_cells(cells, pixels.width, across, from_x, from_y, lane, sum);
    }
    if constexpr (JOINED) {
      /* Level 1 has half as many strips as there are warps: they take turns. */
      const int next = (warp + 4 * (turns % 2)) % WARPS;
      const int from_x = x / 2, from_y = y / 2 + 4 * next;
      if (next < NEXT_Y / 4 && from_x < coarse.width && from_y < coarse.height) {
        const Columns<NextTile<GROUPS>> next_columns(memory + M::SECOND + current * M::SECOND_BYTES,
                                                     0, next, lane);
        float sum[4];

        make_next_terms<GROUPS>(
            sum, next_columns, own_pixels.shifted(current * M::COARSE + 4 * next * T::PITCH),
            gauss + current * (M::GAUSS_BYTES / 4) + 4 * next * NEXT_X, turn, expansion, ones);
        store_cells(next_cells, coarse.width, next_across, from_x, from_y, lane, sum);
      }
    }
    await_team<TEAMS<key, COPIES>, THREADS>(team);
  }
  end(beside);
}

/* --- launching --- */

/* Large tables of four groups would not leave room for two blocks. */
template <int GROUPS, Key key>
constexpr bool HAS_TABLE = key != Key::NONE && (GROUPS < 4 || key == Key::BYTE);

/* Two tiles of components in shared memory for each team, where they have room beside a table that
 * holds rows several times. */
template <int GROUPS, Key key> constexpr bool HAS_TWO_BUFFERS = GROUPS < 4 && key != Key::NONE;

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
                  const Pyramid &pyramid)
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
  const int left = queue->beside ? MAX_TAIL_BLOCKS : small ? 1 : gpu.multiprocessors * 2 / 11;
  const int resident = beside * (gpu.multiprocessors > left ? gpu.multiprocessors - left : 1);
  const Packing packing = packing_of(pixels);
  const Channel &channel = pixels.channel[0];
  const uintptr_t address =
      ((uintptr_t)channel.from - packing.byte[0]) | (uintptr_t)channel.from_stride;
  const bool aligned = key == Key::LUMA
                           ? packing.packed && address % 16 == 0
                           : pixels.step[0] == 1 && address % (4 * sizeof(Sample)) == 0;

  return launch(queue, "llf terms",
                pixel_terms_kernel<GROUPS, Sample, colour, key, COPIES, BUFFERS, JOINED>,
                dim3(tiles < resident ? tiles : resident), dim3(teams * THREADS), M::bytes(teams),
                pixels, series, pyramid.level[1], pyramid.level[2], pyramid.cells[0],
                pyramid.cells[1], packing, luma_row_of(pixels, packing), aligned, queue->beside);
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

    if constexpr (HAS_TABLE<GROUPS, KEY>) {
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
          Memory<GROUPS, key, MOST_COPIES<GROUPS, key>, 1, true>::bytes(1) <= gpu.shared_per_block);
}

template <int GROUPS>
bool launch_terms(Queue *queue, const Gpu &gpu, const Pixels &pixels, const Series &series,
                  const Pyramid &pyramid)
{
  return with_key_types<GROUPS>(gpu, pixels, [&](auto sample, auto colour, auto key) {
    using Sample = typename decltype(sample)::type;
    constexpr Colour COLOUR = decltype(colour)::colour;
    constexpr Key KEY = decltype(key)::key;
    constexpr int MOST = MOST_COPIES<GROUPS, KEY>;
    constexpr bool ALWAYS = ALWAYS_JOINED<KEY>;

    if constexpr (!ALWAYS) {
      if (is_joined<GROUPS, KEY>(gpu, pixels))
        return launch_terms<GROUPS, Sample, COLOUR, KEY, MOST, 1, true>(queue, gpu, pixels, series,
                                                                        pyramid);
    }
    if constexpr (HAS_TWO_BUFFERS<GROUPS, KEY>) {
      if ((!is_small(gpu, pixels, queue->beside) || !ALWAYS) &&
          Memory<GROUPS, KEY, MOST, 2, ALWAYS>::bytes(1) <= gpu.shared_per_block)
        return launch_terms<GROUPS, Sample, COLOUR, KEY, MOST, 2, ALWAYS>(queue, gpu, pixels,
                                                                          series, pyramid);
    }
    if (Memory<GROUPS, KEY, MOST, 1, ALWAYS>::bytes(1) <= gpu.shared_per_block)
      return launch_terms<GROUPS, Sample, COLOUR, KEY, MOST, 1, ALWAYS>(queue, gpu, pixels, series,
                                                                        pyramid);
    return launch_terms<GROUPS, Sample, COLOUR, KEY, 1, 1, ALWAYS>(queue, gpu, pixels, series,
                                                                   pyramid);
  });
}

template <int GROUPS, typename Sample, Colour colour, Key key, int COPIES, int BUFFERS, bool JOINED>
bool allow_copies(const Gpu &gpu, CfStatus *status)
{
  return allow_shared(gpu, pixel_terms_kernel<GROUPS, Sample, colour, key, COPIES, BUFFERS, JOINED>,
                      Memory<GROUPS, key, COPIES, BUFFERS, JOINED>::bytes(
                          teams_of<GROUPS, key, COPIES, BUFFERS, JOINED>(gpu)),
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
  if constexpr (HAS_TABLE<GROUPS, key>) {
    if (!allow_copies<GROUPS, Sample, colour, key, MOST, 1, ALWAYS>(gpu, status) ||
        !allow_copies<GROUPS, Sample, colour, key, MOST, 1, true>(gpu, status) ||
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

bool tensor_pixel_terms(Queue *queue, const Gpu &gpu, const Pixels &pixels, const Series &series,
                        const Pyramid &pyramid)
{
  return pyramid.groups == 1   ? launch_terms<1>(queue, gpu, pixels, series, pyramid)
         : pyramid.groups == 2 ? launch_terms<2>(queue, gpu, pixels, series, pyramid)
                               : launch_terms<4>(queue, gpu, pixels, series, pyramid);
}

} // namespace llf
