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

template <int GROUPS> using BaseTile = Tile<GROUPS, 32>;

constexpr int TILE_X = 64, TILE_Y = 32, THREADS = 256, WARPS = THREADS / 32;
constexpr int PIXEL_PITCH = TILE_X + 4; /* words */

/* Blocks of a multiprocessor: the coarse levels' kernels find room beside them. In small pictures
 * these are what a frame waits for: 1920x1080 takes 6 % less with one. */
template <int GROUPS> constexpr int RESIDENT = GROUPS == 4 ? 1 : 2;
constexpr int SMALL_TILES = 16; /* a multiprocessor */

/* Of a row in the table; of four groups they would not leave room for two teams. */
template <int GROUPS, Key key> constexpr int MOST_COPIES = GROUPS == 4 ? 1 : KeyOf<key>::COPIES;

/* Teams that share a large table. */
template <Key key, int COPIES> constexpr int TEAMS = COPIES > 1 || key == Key::LUMA ? 2 : 1;

/* Shared memory, in bytes: the table; and of each team two tiles of the coarse level and one of
 * pixels. */
template <int GROUPS, Key key, int COPIES> struct Memory {
  static constexpr int TABLE = GROUPS * KeyOf<key>::ENTRIES * COPIES * GROUP_BYTES;
  static constexpr int COARSE = (BaseTile<GROUPS>::BYTES + 127) / 128 * 128;
  static constexpr int PIXELS = 2 * COARSE;
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

/* Four pixels as they are read, since what is made of them has to wait for them. */
template <Key key> struct Four {
  uint4 words; /* with three channels of each in the bytes that the packing
                  names, or intensities */
};

template <> struct Four<Key::BYTE> {
  uint32_t words;
};

template <> struct Four<Key::WORD> {
  uint2 words;
};

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

template <typename T, Key key, int COPIES>
__device__ __forceinline__ void make_terms(float (&sum)[4], uint8_t *coarse, uint32_t table,
                                           const uint32_t *pixels, const Turn<T::GROUPS> &turn,
                                           const Expansion &expansion, int strip_x, int strip_y,
                                           int lane)
{
  constexpr int ROW_BYTES = COPIES * GROUP_BYTES;
  constexpr int TABLE_BYTES = KeyOf<key>::ENTRIES * ROW_BYTES;
  const uint32_t copy = table + lane % COPIES * GROUP_BYTES;
  const uint32_t *const strip = pixels + 4 * strip_y * PIXEL_PITCH + 32 * strip_x;

  Columns<T> columns(coarse, strip_x, strip_y, lane);
  expand_strip<T::GROUPS>(
      sum, expansion, lane, [&](int j, uint32_t *words) { columns.load(words, j); },
      [&](int, int, uint32_t *self) { self[0] = self[1] = 0; },
      [&](int j, uint32_t *rotation) {
        if constexpr (key == Key::NONE) {
          const uint32_t *const pixel = strip + lane / 16 * PIXEL_PITCH + 4 * j + lane / 4 % 4;
          rotate<T::GROUPS>(rotation, turn, __uint_as_float(pixel[0]),
                            __uint_as_float(pixel[2 * PIXEL_PITCH]));
        } else {
          const uint32_t row =
              copy + strip[lane % 16 / 4 * PIXEL_PITCH + 4 * j + lane % 4] * ROW_BYTES;

          if constexpr (T::GROUPS == 1) {
            load_2(rotation, row);
          } else {
#pragma unroll
            for (int c = 0; c < T::GROUPS; c += 2) {
              uint32_t words[4];
              cf_load_matrix(words, row + (c + lane / 16) * TABLE_BYTES);
#pragma unroll
              for (int k = 0; k < 4; k++)
                rotation[2 * c + k] = words[k];
            }
          }
        }
      });
}

/* --- the kernel --- */

/* Blocks stay for many tiles, since the table is dear, and load the next one meanwhile. They go
 * from the last tile to the first, like the reduction of level 1 beside them. */
template <int GROUPS, typename Sample, Colour colour, Key key, int COPIES>
__global__ void __launch_bounds__(TEAMS<key, COPIES> *THREADS,
                                  TEAMS<key, COPIES> == 1 ? RESIDENT<GROUPS> : 1)
    pixel_terms_kernel(const __grid_constant__ Pixels pixels, const __grid_constant__ Series series,
                       Level coarse, __half *cells, Packing packing, LumaRow luma_row, bool aligned)
{
  using T = BaseTile<GROUPS>;
  using M = Memory<GROUPS, key, COPIES>;
  constexpr int FOURS = TILE_X * TILE_Y / 4 / THREADS, ACROSS = TILE_X / 4;

  extern __shared__ __align__(128) uint8_t table[];
  const int team = threadIdx.x / THREADS, thread = threadIdx.x % THREADS;
  const int teams = blockDim.x / THREADS, step = teams * (int)gridDim.x;
  uint8_t *const memory = table + M::TABLE + team * M::TEAM;
  uint32_t *const rows = reinterpret_cast<uint32_t *>(memory + M::PIXELS);
  const int lane = thread % 32, warp = thread / 32;
  const int tiles_x = (pixels.width + TILE_X - 1) / TILE_X;
  const int tiles = tiles_x * ((pixels.height + TILE_Y - 1) / TILE_Y);
  const int column = thread % ACROSS * 4, row = thread / ACROSS;
  const Expansion expansion(lane);
  const Turn<GROUPS> turn(series, lane);
  const CoarseLoader<T> loader(coarse, thread);
  const float reciprocal = 1.0f / (float)tiles_x;
  Four<key> fours[FOURS];
  int buffer = 0, next_x, next_y;

  auto load_tile = [&](int tile) {
    const int tile_y = (int)(((float)tile + 0.5f) * reciprocal);

    next_x = (tile - tile_y * tiles_x) * TILE_X;
    next_y = tile_y * TILE_Y;
    loader.load(memory + buffer * M::COARSE, coarse, next_x, next_y);
    cf_copy_commit();
#pragma unroll
    for (int i = 0; i < FOURS; i++)
      fours[i] = load_four<Sample, colour, key>(
          pixels, packing, luma_row, aligned, next_x + column,
          min(next_y + row + i * (THREADS / ACROSS), pixels.height - 1));
  };

  if constexpr (key != Key::NONE)
    fill_rotations<GROUPS, key, COPIES>(table, pixels, series);
  await_previous();
  if constexpr (TEAMS < key, COPIES >> 1)
    __syncthreads();

  int tile = tiles - 1 - (int)blockIdx.x - team * (int)gridDim.x;
  if (tile >= 0)
    load_tile(tile);
  while (tile >= 0) {
    const int x = next_x, y = next_y;
    uint8_t *const components = memory + buffer * M::COARSE;

#pragma unroll
    for (int i = 0; i < FOURS; i++)
      *reinterpret_cast<uint4 *>(rows + (row + i * (THREADS / ACROSS)) * PIXEL_PITCH + column) =
          rows_of<key>(pixels, luma_row, fours[i]);
    cf_copy_wait<0>();
    await_team<TEAMS<key, COPIES>, THREADS>(team);
    tile -= step;
    buffer ^= 1;
    if (tile >= 0)
      load_tile(tile);
#pragma unroll 1
    for (int strip = warp; strip < TILE_Y / 2; strip += WARPS) {
      const int strip_x = strip % 2, strip_y = strip / 2;
      float sum[4];

      if (x + 32 * strip_x >= pixels.width || y + 4 * strip_y >= pixels.height)
        continue;
      make_terms<T, key, COPIES>(sum, components, cf_shared_address(table), rows, turn, expansion,
                                 strip_x, strip_y, lane);
      store_cells(cells, pixels.width, pixels.height, x + 32 * strip_x, y + 4 * strip_y, lane, sum);
    }
    await_team<TEAMS<key, COPIES>, THREADS>(team);
  }
}

/* --- launching --- */

/* Large tables of four groups would not leave room for two blocks. */
template <int GROUPS, Key key>
constexpr bool HAS_TABLE = key != Key::NONE && (GROUPS < 4 || key == Key::BYTE);

template <int GROUPS, Key key, int COPIES> int teams_of(const Gpu &gpu)
{
  constexpr int MOST = TEAMS<key, COPIES>;
  return Memory<GROUPS, key, COPIES>::bytes(MOST) <= gpu.shared_per_block ? MOST : 1;
}

template <int GROUPS, typename Sample, Colour colour, Key key, int COPIES>
bool launch_terms(Queue *queue, const Gpu &gpu, const Pixels &pixels, const Series &series,
                  const Pyramid &pyramid)
{
  using M = Memory<GROUPS, key, COPIES>;
  constexpr int RESERVED = 1024;
  const int tiles = blocks(pixels.width, TILE_X) * blocks(pixels.height, TILE_Y);
  const bool small = tiles < SMALL_TILES * gpu.multiprocessors;
  const int teams = small ? 1 : teams_of<GROUPS, key, COPIES>(gpu);
  const int fitting = gpu.shared_per_multiprocessor / (M::bytes(teams) + RESERVED);
  const int most = small || TEAMS<key, COPIES> > 1 ? 1 : RESIDENT<GROUPS>;
  const int beside = fitting < 1 ? 1 : fitting < most ? fitting : most;
  /* These blocks stay till the end, and the coarse levels' one needs a multiprocessor for itself.
   */
  const int resident = beside * (gpu.multiprocessors > 1 ? gpu.multiprocessors - 1 : 1);
  const Packing packing = packing_of(pixels);
  const Channel &channel = pixels.channel[0];
  const uintptr_t address =
      ((uintptr_t)channel.from - packing.byte[0]) | (uintptr_t)channel.from_stride;
  const bool aligned = key == Key::LUMA
                           ? packing.packed && address % 16 == 0
                           : pixels.step[0] == 1 && address % (4 * sizeof(Sample)) == 0;

  return launch(queue, "llf terms", pixel_terms_kernel<GROUPS, Sample, colour, key, COPIES>,
                dim3(tiles < resident ? tiles : resident), dim3(teams * THREADS), M::bytes(teams),
                pixels, series, pyramid.level[1], pyramid.cells[0], packing,
                luma_row_of(pixels, packing), aligned);
}

/* Calls `function` with the sample type, the colour and the key as types. */
template <Key value> struct KeyConstant {
  static constexpr Key key = value;
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
      if (key_of(pixels) == KEY && Memory<GROUPS, KEY, 1>::bytes(1) <= gpu.shared_per_block)
        return function(sample, Filtered(), KeyConstant<KEY>());
    }
    return function(sample, Filtered(), KeyConstant<Key::NONE>());
  });
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

    if (Memory<GROUPS, KEY, MOST>::bytes(1) <= gpu.shared_per_block)
      return launch_terms<GROUPS, Sample, COLOUR, KEY, MOST>(queue, gpu, pixels, series, pyramid);
    return launch_terms<GROUPS, Sample, COLOUR, KEY, 1>(queue, gpu, pixels, series, pyramid);
  });
}

template <int GROUPS, typename Sample, Colour colour, Key key, int COPIES>
bool allow_copies(const Gpu &gpu, CfStatus *status)
{
  return allow_shared(gpu, pixel_terms_kernel<GROUPS, Sample, colour, key, COPIES>,
                      Memory<GROUPS, key, COPIES>::bytes(teams_of<GROUPS, key, COPIES>(gpu)),
                      status);
}

template <int GROUPS, typename Sample, Colour colour, Key key>
bool allow(const Gpu &gpu, CfStatus *status)
{
  if constexpr (HAS_TABLE<GROUPS, key>) {
    if (!allow_copies<GROUPS, Sample, colour, key, MOST_COPIES<GROUPS, key>>(gpu, status) ||
        !allow_copies<GROUPS, Sample, colour, key, 1>(gpu, status))
      return false;
  }
  return allow_copies<GROUPS, Sample, colour, Key::NONE, 1>(gpu, status);
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

bool tensor_pixel_terms(Queue *queue, const Gpu &gpu, const Pixels &pixels, const Series &series,
                        const Pyramid &pyramid)
{
  return pyramid.groups == 1   ? launch_terms<1>(queue, gpu, pixels, series, pyramid)
         : pyramid.groups == 2 ? launch_terms<2>(queue, gpu, pixels, series, pyramid)
                               : launch_terms<4>(queue, gpu, pixels, series, pyramid);
}

} // namespace llf
