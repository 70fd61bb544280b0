/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Up the pyramid on tensor cores. For 4 x 4 pixels at a time a product expands all components of
 * the coarser level, with the level's own ones as the addend; times the rotation of each pixel;
 * and a second product, with a column of ones, sums over the components in fp32. The columns of
 * eight such products, side by side, fill one accumulator of 32 x 4 pixels.
 */
#include "llf_tensor.cuh"

namespace llf
{

/* How level 0 gets at the rotation of a pixel. */
enum class Rotations { TABLE, COMPUTED };

/* A block makes a tile of 64 x FINE_Y pixels. */
template <int groups, int fine_y> struct Tile {
  static constexpr int GROUPS = groups, FINE_X = 64, FINE_Y = fine_y;
  static constexpr int COARSE_X = FINE_X / 2 + 2, COARSE_Y = FINE_Y / 2 + 2;
  static constexpr int WARPS = 8, THREADS = 32 * WARPS;

  /* Of shared memory: bytes of a row of coarse components, so that 4 rows of 2 pixels lie in
   * different banks; of two groups every other pair of rows is swapped instead. */
  static constexpr int PITCH = COARSE_X * GROUPS * GROUP_BYTES + (GROUPS == 4 ? GROUP_BYTES : 0);
  static constexpr int COLLAPSED_PITCH = 36; /* halves */
  static constexpr int PIXEL_PITCH = FINE_X + 4;

  static constexpr int HIGH = COARSE_Y * PITCH; /* the collapsed coarse level, in two halves */
  static constexpr int LOW = HIGH + COARSE_Y * COLLAPSED_PITCH * (int)sizeof(__half);
  static constexpr int PIXELS =
      (LOW + COARSE_Y * COLLAPSED_PITCH * (int)sizeof(__half) + 15) / 16 * 16;
  static constexpr int TABLE = PIXELS + FINE_Y * PIXEL_PITCH * (int)sizeof(float);
};

namespace
{

/* Blocks of a multiprocessor that the registers are divided between: as many as none spills. */
template <int GROUPS, Colour colour>
constexpr int RESIDENT = GROUPS == 4             ? 2
                         : colour == Colour::RGB ? 3
                                                 : 4;

/* --- the expanding matrix --- */

/* Ten times the weight, on one axis, of a coarse sample `offset` from the one above a pixel. */
__device__ __forceinline__ int tenths(int odd, int offset)
{
  if (odd)
    return offset == 0 || offset == 1 ? 5 : 0;
  return offset == 0 ? 8 : offset == 1 || offset == -1 ? 1 : 0;
}

/* The weight in fp16, rounded so that those of each pixel sum to exactly 1. */
__device__ __forceinline__ float half_weight(int hundredths)
{
  switch (hundredths) {
  case 64:
    return 1311.0f / 2048.0f;
  case 8:
    return 1310.0f / 16384.0f;
  case 1:
    return 1312.0f / 131072.0f;
  case 40:
    return 1638.0f / 4096.0f;
  case 5:
    return 1640.0f / 32768.0f;
  case 25:
    return 0.25f;
  default:
    return 0.0f;
  }
}

/* Row p is pixel (p % 4, p / 4), column 8 h + 2 r + c the coarse sample (2 h + c, r) of the 4 x 4
 * whose second is above the first pixels. Components are subtracted. The collapsed level is large
 * where the linear term is: its weights are whole hundredths. */
struct Expansion {
  uint32_t minus[4], hundred[4];

  __device__ Expansion(int lane)
  {
#pragma unroll
    for (int q = 0; q < 4; q++) {
      const int pixel = lane / 4 + (q & 1) * 8, x = pixel % 4, y = pixel / 4;
      const int row = tenths(y & 1, lane % 4 - 1 - y / 2);
      const int left = row * tenths(x & 1, 2 * (q >> 1) - 1 - x / 2);
      const int right = row * tenths(x & 1, 2 * (q >> 1) - x / 2);

      minus[q] = cf_pack_halves(-half_weight(left), -half_weight(right));
      hundred[q] = cf_pack_halves((float)left, (float)right);
    }
  }
};

/* --- shared memory --- */

/* The coarse level's components and collapsed image about the tile, repeated beyond its border. */
template <typename T>
__device__ void load_coarse(uint8_t *memory, const Level &coarse, int tile_x, int tile_y)
{
  constexpr int COPIES = (T::COARSE_X * T::GROUPS + 31) / 32;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int first_x = tile_x / 2 - 1, first_y = tile_y / 2 - 1;
  __half *const high = reinterpret_cast<__half *>(memory + T::HIGH);
  __half *const low = reinterpret_cast<__half *>(memory + T::LOW);
  int from[COPIES];

#pragma unroll
  for (int k = 0; k < COPIES; k++) {
    const int i = lane + 32 * k, x = first_x + i / T::GROUPS;
    from[k] = min(max(x, 0), coarse.width - 1) * T::GROUPS + i % T::GROUPS;
  }
  for (int row = warp; row < T::COARSE_Y; row += T::WARPS) {
    const size_t y = (size_t)min(max(first_y + row, 0), coarse.height - 1) * coarse.width;
    const uint32_t to = cf_shared_address(memory + row * T::PITCH);
    const int swap = T::GROUPS == 2 ? row >> 1 & 1 : 0;

#pragma unroll
    for (int k = 0; k < COPIES; k++) {
      const int i = lane + 32 * k;
      if (i < T::COARSE_X * T::GROUPS)
        start_copy(to + (i ^ swap) * GROUP_BYTES, coarse.groups + y * T::GROUPS + from[k]);
    }
    for (int x = lane; x < T::COARSE_X; x += 32) {
      const float value = coarse.collapsed[y + min(max(first_x + x, 0), coarse.width - 1)];
      const __half rounded = __float2half_rn(value);

      high[row * T::COLLAPSED_PITCH + x] = rounded;
      low[row * T::COLLAPSED_PITCH + x] = __float2half_rn(value - __half2float(rounded));
    }
  }
}

/* --- a strip of 32 x 4 pixels --- */

/* Pairs of coarse columns 2 j, 2 j + 1 of the strip's four coarse rows, for j = 0..8. */
template <int GROUPS> struct Columns {
  uint32_t word[10][GROUPS];

  /* Loads what is needed from pair j on and not there yet; called with j = 0, 1, .. 7. */
  template <typename T>
  __device__ __forceinline__ void load(uint32_t memory, int strip_x, int strip_y, int lane, int j)
  {
    const int row = 2 * strip_y + (lane % 8 >> 1), column = 16 * strip_x + (lane & 1);
    const uint32_t from = memory + row * T::PITCH + column * GROUPS * GROUP_BYTES;

    if constexpr (GROUPS == 1) {
      uint32_t pairs[4];

      if (j == 0 || j == 3) {
        cf_load_matrix_transposed(pairs, from + ((j == 0 ? 0 : 4) + lane / 8) * 2 * GROUP_BYTES);
#pragma unroll
        for (int k = 0; k < 4; k++)
          word[(j == 0 ? 0 : 4) + k][0] = pairs[k];
      } else if (j == 7) {
        load_2_transposed(pairs, from + 8 * 2 * GROUP_BYTES);
        word[8][0] = pairs[0];
      }
    } else if constexpr (GROUPS == 2) {
      const int swap = row >> 1 & 1;
      const uint32_t group = ((lane >> 3 & 1) ^ swap) * GROUP_BYTES;

      /* Two pairs at a time; after the last one comes itself again. */
      if (j == 0)
        load_pairs(0, from + group + (lane >> 4) * 4 * GROUP_BYTES);
      if (j & 1)
        load_pairs(j + 1, from + group + (j + 1 + (j < 7 ? lane >> 4 : 0)) * 4 * GROUP_BYTES);
    } else {
      const uint32_t group = lane / 8 * GROUP_BYTES;

      if (j == 0)
        cf_load_matrix_transposed(word[0], from + group);
      cf_load_matrix_transposed(word[j + 1], from + group + (j + 1) * 8 * GROUP_BYTES);
    }
  }

  __device__ __forceinline__ void load_pairs(int j, uint32_t from)
  {
    uint32_t pairs[4];

    cf_load_matrix_transposed(pairs, from);
    word[j][0] = pairs[0];
    word[j][GROUPS - 1] = pairs[1];
    word[j + 1][0] = pairs[2];
    word[j + 1][GROUPS - 1] = pairs[3];
  }
};

/* Adds to `sum` the components' products with their rotations; `ones` is all ones for the column of
 * this block of 4 x 4. Words 2 c and 2 c + 1 are group c of pixels p and p + 8. */
template <int GROUPS>
__device__ __forceinline__ void add_rotated(float (&sum)[4], const uint32_t *components,
                                            const uint32_t *rotation, uint32_t ones)
{
  if constexpr (GROUPS == 1) {
    const uint32_t product[2] = {multiplied(components[0], rotation[0]),
                                 multiplied(components[1], rotation[1])};
    multiply_add_8(sum, product, ones);
  } else {
#pragma unroll
    for (int c = 0; c < 2 * GROUPS; c += 4) {
      const uint32_t product[4] = {multiplied(components[c], rotation[c]),
                                   multiplied(components[c + 1], rotation[c + 1]),
                                   multiplied(components[c + 2], rotation[c + 2]),
                                   multiplied(components[c + 3], rotation[c + 3])};
      cf_mma(sum, product, ones, ones);
    }
  }
}

/* cos and -sin of lane t's harmonics 4 c + t + 1 at two intensities, as add_rotated() wants them.
 */
template <int GROUPS>
__device__ __forceinline__ void rotate(uint32_t *rotation, float turn, float first, float second,
                                       int lane)
{
#pragma unroll
  for (int c = 0; c < GROUPS; c++) {
    const float harmonic = (float)(4 * c + lane % 4 + 1) * turn;
    float sine, cosine;

    sincos_turns(harmonic * first, &sine, &cosine);
    rotation[2 * c] = cf_pack_halves(cosine, -sine);
    sincos_turns(harmonic * second, &sine, &cosine);
    rotation[2 * c + 1] = cf_pack_halves(cosine, -sine);
  }
}

/* The strip's values: q of pixel (strip_pixel_x (q), strip_pixel_y (q)). `own (j, c, words)` gives
 * the level's own components of group c in block j, `rotation (j, words)` its rotations. */
template <typename T, typename Own, typename RotationOf>
__device__ __forceinline__ void expand_strip(float (&sum)[4], uint8_t *memory,
                                             const Expansion &expansion, int strip_x, int strip_y,
                                             int lane, Own own, RotationOf rotation_of)
{
  const int at = (2 * strip_y + lane % 4) * T::COLLAPSED_PITCH + 16 * strip_x + 2 * (lane / 4);
  const uint32_t *const high =
      reinterpret_cast<const uint32_t *>(reinterpret_cast<__half *>(memory + T::HIGH) + at);
  const uint32_t *const low =
      reinterpret_cast<const uint32_t *>(reinterpret_cast<__half *>(memory + T::LOW) + at);
  Columns<T::GROUPS> columns;

#pragma unroll
  for (int q = 0; q < 4; q++)
    sum[q] = 0.0f;
  cf_mma(sum, expansion.hundred, high[0], high[1]);
  cf_mma(sum, expansion.hundred, low[0], low[1]);
#pragma unroll
  for (int q = 0; q < 4; q++)
    sum[q] *= 0.01f;

#pragma unroll
  for (int j = 0; j < 8; j++) {
    uint32_t components[2 * T::GROUPS], rotation[2 * T::GROUPS];

    columns.template load<T>(cf_shared_address(memory), strip_x, strip_y, lane, j);
    rotation_of(j, rotation);
#pragma unroll
    for (int c = 0; c < T::GROUPS; c++) {
      uint32_t self[2];

      own(j, c, self);
      multiply_half(components + 2 * c, expansion.minus, columns.word[j][c], columns.word[j + 1][c],
                    self[0], self[1]);
    }
    add_rotated<T::GROUPS>(sum, components, rotation, lane / 4 == j ? 0x3c003c00u : 0u);
  }
}

/* Where a lane's four sums lie in the strip. */
__device__ __forceinline__ int strip_pixel_x(int lane, int q)
{
  return 8 * (lane % 4) + 4 * (q & 1) + lane / 4 % 4;
}

__device__ __forceinline__ int strip_pixel_y(int lane, int q)
{
  return lane / 16 + 2 * (q >> 1);
}

/* --- levels above 0 --- */

template <typename T>
__global__ void __launch_bounds__(T::THREADS, RESIDENT<T::GROUPS, Colour::SINGLE>)
    expand_level_kernel(Level own, Level coarse, const __grid_constant__ Series series)
{
  extern __shared__ __align__(128) uint8_t memory[];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int tile_x = blockIdx.x * T::FINE_X, tile_y = blockIdx.y * T::FINE_Y;
  const Expansion expansion(lane);

  await_previous();
  load_coarse<T>(memory, coarse, tile_x, tile_y);
  wait_copies();
  __syncthreads();

  for (int strip = warp; strip < T::FINE_Y / 2; strip += T::WARPS) {
    const int strip_x = strip % 2, strip_y = strip / 2;
    const int x = tile_x + 32 * strip_x, y = tile_y + 4 * strip_y;
    float sum[4];

    if (x >= own.width || y >= own.height)
      continue;
    const int pixel_x = x + lane / 4 % 4, pixel_y = y + lane / 16;
    const size_t row_0 = (size_t)min(pixel_y, own.height - 1) * own.width;
    const size_t row_1 = (size_t)min(pixel_y + 2, own.height - 1) * own.width;

    expand_strip<T>(
        sum, memory, expansion, strip_x, strip_y, lane,
        [&](int j, int c, uint32_t *self) {
          const int column = min(pixel_x + 4 * j, own.width - 1);
          const uint4 *const group_0 = own.groups + (row_0 + column) * T::GROUPS + c;
          const uint4 *const group_1 = own.groups + (row_1 + column) * T::GROUPS + c;
          self[0] = reinterpret_cast<const uint32_t *>(group_0)[lane % 4];
          self[1] = reinterpret_cast<const uint32_t *>(group_1)[lane % 4];
        },
        [&](int j, uint32_t *rotation) {
          const int column = min(pixel_x + 4 * j, own.width - 1);
          rotate<T::GROUPS>(rotation, series.turn, own.gauss[row_0 + column],
                            own.gauss[row_1 + column], lane);
        });
#pragma unroll
    for (int q = 0; q < 4; q++) {
      const int to_x = x + strip_pixel_x(lane, q), to_y = y + strip_pixel_y(lane, q);
      if (to_x < own.width && to_y < own.height)
        own.collapsed[(size_t)to_y * own.width + to_x] = sum[q];
    }
  }
}

/* --- level 0 --- */

/* Row `code` of table c: the rotations of harmonics 4 c + 1 .. 4 c + 4. */
template <typename T, typename Sample>
__device__ void fill_rotations(uint8_t *memory, const Pixels &pixels, const Series &series)
{
  uint4 *const table = reinterpret_cast<uint4 *>(memory + T::TABLE);

  for (int i = threadIdx.x; i < TABLE_ENTRIES<Sample> * T::GROUPS; i += T::THREADS) {
    const int code = i % TABLE_ENTRIES<Sample>, group = i / TABLE_ENTRIES<Sample>;
    const float turns = series.turn * intensity_of_code(pixels, (float)code);
    uint32_t words[4];

#pragma unroll
    for (int k = 0; k < 4; k++) {
      float sine, cosine;
      sincos_turns((float)(4 * group + k + 1) * turns, &sine, &cosine);
      words[k] = cf_pack_halves(cosine, -sine);
    }
    table[i] = make_uint4(words[0], words[1], words[2], words[3]);
  }
}

/* The tile's code values as integers, or its intensities as floats. */
template <typename T, typename Sample, Colour colour, Rotations rotations>
__device__ void load_pixels(uint32_t *to, const Pixels &pixels, int tile_x, int tile_y,
                            bool aligned)
{
  for (int i = threadIdx.x; i < T::FINE_Y * T::FINE_X / 4; i += T::THREADS) {
    const int column = i % (T::FINE_X / 4) * 4, row = i / (T::FINE_X / 4);
    const int x = tile_x + column, y = min(tile_y + row, pixels.height - 1);
    uint32_t words[4];

    if (rotations == Rotations::TABLE && aligned && x + 4 <= pixels.width) {
      const uint8_t *const from =
          pixels.channel[0].from + y * pixels.channel[0].from_stride + x * sizeof(Sample);
      if constexpr (sizeof(Sample) == 1) {
        const uint32_t four = *reinterpret_cast<const uint32_t *>(from);
#pragma unroll
        for (int k = 0; k < 4; k++)
          words[k] = four >> 8 * k & 255;
      } else {
        const uint2 four = *reinterpret_cast<const uint2 *>(from);
        words[0] = (four.x & 65535) >> pixels.shift;
        words[1] = four.x >> 16 >> pixels.shift;
        words[2] = (four.y & 65535) >> pixels.shift;
        words[3] = four.y >> 16 >> pixels.shift;
      }
    } else {
#pragma unroll
      for (int k = 0; k < 4; k++) {
        const int pixel_x = min(x + k, pixels.width - 1);
        if (rotations == Rotations::TABLE)
          words[k] = load_code<Sample>(pixels.channel[0].from, pixels.channel[0].from_stride,
                                       pixels.step[0], pixel_x, y, pixels.shift);
        else
          words[k] =
              __float_as_uint(__saturatef(load_intensity<Sample, colour>(pixels, pixel_x, y)));
      }
    }
    *reinterpret_cast<uint4 *>(to + row * T::PIXEL_PITCH + column) =
        make_uint4(words[0], words[1], words[2], words[3]);
  }
}

/* Replaces a strip's code values or intensities by what the filter makes of them. */
template <typename T, typename Sample, Rotations rotations>
__device__ __forceinline__ void filter_strip(uint8_t *memory, const Pixels &pixels,
                                             const Series &series, const Expansion &expansion,
                                             int strip_x, int strip_y, int lane)
{
  uint32_t *const strip = reinterpret_cast<uint32_t *>(memory + T::PIXELS) +
                          4 * strip_y * T::PIXEL_PITCH + 32 * strip_x;
  constexpr int TABLE_BYTES = TABLE_ENTRIES<Sample> * GROUP_BYTES;
  float sum[4];

  expand_strip<T>(
      sum, memory, expansion, strip_x, strip_y, lane,
      [&](int, int, uint32_t *self) { self[0] = self[1] = 0; },
      [&](int j, uint32_t *rotation) {
        if constexpr (rotations == Rotations::TABLE) {
          const uint32_t code = strip[lane % 16 / 4 * T::PIXEL_PITCH + 4 * j + lane % 4];
          const uint32_t row = cf_shared_address(memory + T::TABLE) + code * GROUP_BYTES;

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
        } else {
          const uint32_t *const pixel = strip + lane / 16 * T::PIXEL_PITCH + 4 * j + lane / 4 % 4;
          rotate<T::GROUPS>(rotation, series.turn, __uint_as_float(pixel[0]),
                            __uint_as_float(pixel[2 * T::PIXEL_PITCH]), lane);
        }
      });

  __syncwarp();
#pragma unroll
  for (int q = 0; q < 4; q++) {
    uint32_t *const pixel =
        strip + strip_pixel_y(lane, q) * T::PIXEL_PITCH + strip_pixel_x(lane, q);
    const float luma = rotations == Rotations::TABLE ? intensity_of_code(pixels, (float)*pixel)
                                                     : __uint_as_float(*pixel);
    *pixel = __float_as_uint(fmaf(1.0f + series.linear, luma, sum[q]));
  }
}

/* Blocks stay for many tiles, since the table is dear; tiles go from the last to the first, since
 * expanding level 1 went the other way and left its end in the cache. */
template <typename T, typename Sample, Colour colour, Rotations rotations>
__global__ void __launch_bounds__(T::THREADS, RESIDENT<T::GROUPS, colour>)
    finish_tile_kernel(const __grid_constant__ Pixels pixels, const __grid_constant__ Series series,
                       Level coarse, bool aligned)
{
  extern __shared__ __align__(128) uint8_t memory[];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int tiles_x = (pixels.width + T::FINE_X - 1) / T::FINE_X;
  const int tiles = tiles_x * ((pixels.height + T::FINE_Y - 1) / T::FINE_Y);
  const Expansion expansion(lane);
  const float *const filtered_pixels = reinterpret_cast<const float *>(memory + T::PIXELS);

  if (rotations == Rotations::TABLE)
    fill_rotations<T, Sample>(memory, pixels, series);
  await_previous();

  for (int tile = tiles - 1 - (int)blockIdx.x; tile >= 0; tile -= (int)gridDim.x) {
    const int tile_x = tile % tiles_x * T::FINE_X, tile_y = tile / tiles_x * T::FINE_Y;

    load_coarse<T>(memory, coarse, tile_x, tile_y);
    load_pixels<T, Sample, colour, rotations>(reinterpret_cast<uint32_t *>(memory + T::PIXELS),
                                              pixels, tile_x, tile_y, aligned);
    wait_copies();
    __syncthreads();
    for (int strip = warp; strip < T::FINE_Y / 2; strip += T::WARPS) {
      if (tile_x + 32 * (strip % 2) < pixels.width && tile_y + 4 * (strip / 2) < pixels.height)
        filter_strip<T, Sample, rotations>(memory, pixels, series, expansion, strip % 2, strip / 2,
                                           lane);
    }
    __syncthreads();

    for (int i = threadIdx.x; i < T::FINE_Y * T::FINE_X / 4; i += T::THREADS) {
      const int quad_x = i % (T::FINE_X / 2) * 2, quad_y = i / (T::FINE_X / 2) * 2;
      const int x = tile_x + quad_x, y = tile_y + quad_y;
      const float *const from = filtered_pixels + quad_y * T::PIXEL_PITCH + quad_x;
      float raw[4];

      if (x >= pixels.width || y >= pixels.height)
        continue;
      const float filtered[4] = {from[0], from[1], from[T::PIXEL_PITCH], from[T::PIXEL_PITCH + 1]};
      load_quad<Sample, colour>(pixels, x, y, raw);
      store_quad<Sample, colour>(pixels, x, y, raw, filtered);
    }
    __syncthreads();
  }
}

/* --- launching --- */

template <int GROUPS> using BaseTile = Tile<GROUPS, 32>;
template <int GROUPS> using LargeTile = Tile<GROUPS, 16>;
template <int GROUPS> using SmallTile = Tile<GROUPS, 8>; /* fills the GPU on coarse levels */

constexpr long long LARGE_LEVEL = 400000; /* pixels */

template <typename T>
bool launch_expand(Queue *queue, const Pyramid &pyramid, int fine, const Series &series)
{
  const Level &own = pyramid.level[fine];

  return launch(queue, "llf expand", expand_level_kernel<T>,
                dim3(blocks(own.width, T::FINE_X), blocks(own.height, T::FINE_Y)), dim3(T::THREADS),
                T::PIXELS, own, pyramid.level[fine + 1], series);
}

template <int GROUPS>
bool launch_expand(Queue *queue, const Pyramid &pyramid, int fine, const Series &series)
{
  const Level &own = pyramid.level[fine];

  return (long long)own.width * own.height > LARGE_LEVEL
             ? launch_expand<LargeTile<GROUPS>>(queue, pyramid, fine, series)
             : launch_expand<SmallTile<GROUPS>>(queue, pyramid, fine, series);
}

/* A table of 1024 entries and four groups would not leave room for two blocks. */
template <int GROUPS, typename Sample, Colour colour>
constexpr bool FINISHES_BY_TABLE = colour != Colour::RGB && !(GROUPS == 4 && sizeof(Sample) == 2);

template <typename T, typename Sample, Rotations rotations> constexpr int finish_bytes()
{
  return T::TABLE +
         (rotations == Rotations::TABLE ? T::GROUPS * TABLE_ENTRIES<Sample> * GROUP_BYTES : 0);
}

template <typename T, typename Sample, Colour colour, Rotations rotations>
bool launch_finish(Queue *queue, const Gpu &gpu, const Pixels &pixels, const Series &series,
                   const Pyramid &pyramid)
{
  constexpr int BYTES = finish_bytes<T, Sample, rotations>(), RESERVED = 1024;
  const int tiles = blocks(pixels.width, T::FINE_X) * blocks(pixels.height, T::FINE_Y);
  const int fitting = gpu.shared_per_multiprocessor / (BYTES + RESERVED);
  const int most = RESIDENT<T::GROUPS, colour>;
  const int resident = gpu.multiprocessors * (fitting < 1 ? 1 : fitting < most ? fitting : most);
  const uintptr_t address =
      (uintptr_t)pixels.channel[0].from | (uintptr_t)pixels.channel[0].from_stride;
  const bool aligned = pixels.step[0] == 1 && address % (4 * sizeof(Sample)) == 0;

  return launch(queue, "llf finish", finish_tile_kernel<T, Sample, colour, rotations>,
                dim3(tiles < resident ? tiles : resident), dim3(T::THREADS), BYTES, pixels, series,
                pyramid.level[1], aligned);
}

template <int GROUPS>
bool launch_finish(Queue *queue, const Gpu &gpu, const Pixels &pixels, const Series &series,
                   const Pyramid &pyramid)
{
  return with_pixel_types(pixels, [&](auto sample, auto colour_constant) {
    using Sample = typename decltype(sample)::type;
    constexpr Colour colour = decltype(colour_constant)::colour;

    if constexpr (FINISHES_BY_TABLE<GROUPS, Sample, colour>) {
      if (has_table(pixels))
        return launch_finish<BaseTile<GROUPS>, Sample, colour, Rotations::TABLE>(queue, gpu, pixels,
                                                                                 series, pyramid);
    }
    return launch_finish<BaseTile<GROUPS>, Sample, colour, Rotations::COMPUTED>(queue, gpu, pixels,
                                                                                series, pyramid);
  });
}

template <int GROUPS, typename Sample, Colour colour> bool prepare_finish(CfStatus *status)
{
  using T = BaseTile<GROUPS>;

  if constexpr (FINISHES_BY_TABLE<GROUPS, Sample, colour>) {
    if (!allow_shared(finish_tile_kernel<T, Sample, colour, Rotations::TABLE>,
                      finish_bytes<T, Sample, Rotations::TABLE>(), status))
      return false;
  }
  return allow_shared(finish_tile_kernel<T, Sample, colour, Rotations::COMPUTED>,
                      finish_bytes<T, Sample, Rotations::COMPUTED>(), status);
}

template <int GROUPS> bool prepare(CfStatus *status)
{
  return prepare_finish<GROUPS, uint8_t, Colour::SINGLE>(status) &&
         prepare_finish<GROUPS, uint8_t, Colour::CHROMA>(status) &&
         prepare_finish<GROUPS, uint8_t, Colour::RGB>(status) &&
         prepare_finish<GROUPS, uint16_t, Colour::SINGLE>(status) &&
         prepare_finish<GROUPS, uint16_t, Colour::CHROMA>(status) &&
         allow_shared(expand_level_kernel<LargeTile<GROUPS>>, LargeTile<GROUPS>::PIXELS, status) &&
         allow_shared(expand_level_kernel<SmallTile<GROUPS>>, SmallTile<GROUPS>::PIXELS, status);
}

} // namespace

bool tensor_prepare_expand(CfStatus *status)
{
  return prepare<1>(status) && prepare<2>(status) && prepare<4>(status);
}

bool tensor_expand(Queue *queue, const Pyramid &pyramid, int fine, const Series &series)
{
  return pyramid.groups == 1   ? launch_expand<1>(queue, pyramid, fine, series)
         : pyramid.groups == 2 ? launch_expand<2>(queue, pyramid, fine, series)
                               : launch_expand<4>(queue, pyramid, fine, series);
}

bool tensor_finish(Queue *queue, const Gpu &gpu, const Pixels &pixels, const Series &series,
                   const Pyramid &pyramid)
{
  return pyramid.groups == 1   ? launch_finish<1>(queue, gpu, pixels, series, pyramid)
         : pyramid.groups == 2 ? launch_finish<2>(queue, gpu, pixels, series, pyramid)
                               : launch_finish<4>(queue, gpu, pixels, series, pyramid);
}

} // namespace llf
