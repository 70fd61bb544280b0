/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Up the pyramid on tensor cores. For 4 x 4 pixels at a time a product expands all components of
 * the coarser level, with the level's own ones as the addend; times the rotation of each pixel;
 * and a second product, with a column of ones, sums over the components in fp32. The columns of
 * eight such products, side by side, fill one accumulator of 32 x 4 pixels.
 */
#pragma once

#include "llf_tensor.cuh"

namespace llf
{

/* A block makes a tile of 64 x FINE_Y pixels. */
template <int groups, int fine_y> struct Tile {
  static constexpr int GROUPS = groups, FINE_X = 64, FINE_Y = fine_y;
  static constexpr int COARSE_X = FINE_X / 2 + 2, COARSE_Y = FINE_Y / 2 + 2;
  static constexpr int WARPS = 8, THREADS = 32 * WARPS;

  /* Of shared memory: bytes of a row of coarse components, so that 4 rows of 2 pixels lie in
   * different banks; of two groups every other pair of rows is swapped instead. */
  static constexpr int PITCH = COARSE_X * GROUPS * GROUP_BYTES + (GROUPS == 4 ? GROUP_BYTES : 0);
  static constexpr int BYTES = COARSE_Y * PITCH;
};

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
 * whose second is above the first pixels. Components are subtracted. */
struct Expansion {
  uint32_t minus[4];

  __device__ Expansion(int lane)
  {
#pragma unroll
    for (int q = 0; q < 4; q++) {
      const int pixel = lane / 4 + (q & 1) * 8, x = pixel % 4, y = pixel / 4;
      const int row = tenths(y & 1, lane % 4 - 1 - y / 2);
      const int left = row * tenths(x & 1, 2 * (q >> 1) - 1 - x / 2);
      const int right = row * tenths(x & 1, 2 * (q >> 1) - x / 2);

      minus[q] = cf_pack_halves(-half_weight(left), -half_weight(right));
    }
  }
};

/* --- shared memory --- */

/* Starts to load the coarse level's components about the tile, repeated beyond its border: what
 * thread `thread` of the tile's does of it. */
template <typename T>
__device__ void load_coarse(uint8_t *memory, const Level &coarse, int tile_x, int tile_y,
                            int thread)
{
  constexpr int COPIES = (T::COARSE_X * T::GROUPS + 31) / 32;
  const int lane = thread % 32, warp = thread / 32;
  const int first_x = tile_x / 2 - 1, first_y = tile_y / 2 - 1;
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

/* Radians per full scale of lane t's harmonics 4 c + t + 1. */
template <int GROUPS> struct Turn {
  float radians[GROUPS];

  __device__ Turn(const Series &series, int lane)
  {
#pragma unroll
    for (int c = 0; c < GROUPS; c++)
      radians[c] = 6.283185307f * series.turn * (float)(4 * c + lane % 4 + 1);
  }
};

/* cos and -sin of lane t's harmonics at two intensities, as add_rotated() wants them. The hardware
 * sine is good to 2^-20 of the few turns there are. */
template <int GROUPS>
__device__ __forceinline__ void rotate(uint32_t *rotation, const Turn<GROUPS> &turn, float first,
                                       float second)
{
#pragma unroll
  for (int c = 0; c < GROUPS; c++) {
    float sine, cosine;

    __sincosf(turn.radians[c] * first, &sine, &cosine);
    rotation[2 * c] = cf_pack_halves(cosine, -sine);
    __sincosf(turn.radians[c] * second, &sine, &cosine);
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
  Columns<T::GROUPS> columns;

#pragma unroll
  for (int q = 0; q < 4; q++)
    sum[q] = 0.0f;
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

} // namespace llf
