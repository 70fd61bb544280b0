/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The products of the tensor filter: taps as matrices, across the rows, what waits for the columns,
 * and down these.
 */
#pragma once

#include "cuda/fir/mma_types.cuh"
#include "cuda/fir/mma_store.cuh"

#include <type_traits>

/* ---- Toeplitz matrices ---- */

/* Taps `tap` and `tap` + 1, where tap 0 is the first that the matrices reach. */
__device__ inline uint32_t cf_tensor_tap_pair(const uint32_t *taps, int tap)
{
  const uint16_t *halves = (const uint16_t *)taps + kTensorMargin + tap;

  return halves[0] | (uint32_t)halves[1] << 16;
}

__device__ inline uint32_t cf_tensor_tap_pair(const volatile uint32_t *taps, int tap)
{
  const volatile uint16_t *halves = (const volatile uint16_t *)taps + kTensorMargin + tap;

  return halves[0] | (uint32_t)halves[1] << 16;
}

/* A thread's part of all of them; if paired, only of those for its direction. Output pixels are
 * so ordered that it has two neighbours. */
template <int Tiles, bool Paired> class CfTensorMatrices
{
  uint32_t words[Paired ? 4 * Tiles : 6 * Tiles + 1];

public:
  __device__ CfTensorMatrices(const uint32_t *row_taps, const uint32_t *column_taps, bool down)
  {
    const int lane = threadIdx.x & 31, g = lane >> 2, q = lane & 3;

#pragma unroll
    for (int i = 0; i < 2 * Tiles; i++) {
      if (!Paired || !down) {
        words[i] = cf_tensor_tap_pair(row_taps, 8 * i + 2 * q - 2 * g);
        words[2 * Tiles + i] = cf_tensor_tap_pair(row_taps, 8 * i + 2 * q - 2 * g - 1);
      }
    }
#pragma unroll
    for (int i = 0; i <= 2 * Tiles; i++) {
      if (!Paired || down)
        words[(Paired ? 0 : 4 * Tiles) + i] =
            cf_tensor_tap_pair(column_taps, 8 * (i - 1) + 2 * q - g);
    }
  }

  /* The left side of row product `tile`: of the thread's first pixel and its second, every 8
   * inputs. */
  __device__ void across(int tile, uint32_t (&left)[4]) const
  {
    left[0] = words[2 * tile];
    left[1] = words[2 * Tiles + 2 * tile];
    left[2] = words[2 * tile + 1];
    left[3] = words[2 * Tiles + 2 * tile + 1];
  }

  /* The right side of column product `tile`, for the upper eight rows of the result or the lower.
   */
  __device__ void down(int tile, bool lower, uint32_t (&right)[2]) const
  {
    const int first = (Paired ? 0 : 4 * Tiles) + 2 * tile + !lower;

    right[0] = words[first];
    right[1] = words[first + 1];
  }
};

/* The same for one direction, where registers are many: products take those that follow each other,
 * and what is second in one right side and first in another is there twice, for otherwise it is
 * moved before each product. Volatile, lest the compiler finds that they are the same. */
template <int Tiles> class CfTensorDirection
{
  uint32_t words[Tiles][4];

public:
  __device__ CfTensorDirection(const uint32_t *row_taps, const uint32_t *column_taps, bool down)
  {
    const int lane = threadIdx.x & 31, g = lane >> 2, q = lane & 3;
    const volatile uint32_t *columns = column_taps;

#pragma unroll
    for (int tile = 0; tile < Tiles; tile++) {
#pragma unroll
      for (int i = 0; i < 4; i++) {
        words[tile][i] =
            down ? cf_tensor_tap_pair(columns, 16 * tile + 8 * (i / 2 + i % 2 - 1) + 2 * q - g)
                 : cf_tensor_tap_pair(row_taps, 16 * tile + i / 2 * 8 - i % 2 + 2 * q - 2 * g);
      }
    }
  }

  __device__ void across(int tile, uint32_t (&left)[4]) const
  {
#pragma unroll
    for (int i = 0; i < 4; i++)
      left[i] = words[tile][i];
  }

  __device__ void down(int tile, bool lower, uint32_t (&right)[2]) const
  {
    right[0] = words[tile][lower ? 0 : 2];
    right[1] = words[tile][lower ? 1 : 3];
  }
};

/* The same for both. */
template <int Tiles> class CfTensorDirections
{
  CfTensorDirection<Tiles> rows, columns;

public:
  __device__ CfTensorDirections(const uint32_t *row_taps, const uint32_t *column_taps, bool)
      : rows(row_taps, column_taps, false), columns(row_taps, column_taps, true)
  {
  }

  __device__ void across(int tile, uint32_t (&left)[4]) const
  {
    rows.across(tile, left);
  }

  __device__ void down(int tile, bool lower, uint32_t (&right)[2]) const
  {
    columns.down(tile, lower, right);
  }
};

template <int C, int Tiles>
using CfTensorMatricesOf =
    std::conditional_t<CfTensorShape<C, Tiles>::kHasRegisters, CfTensorDirections<Tiles>,
                       CfTensorMatrices<Tiles, CfTensorShape<C, Tiles>::kPaired>>;

/* ---- across ---- */

__device__ inline uint4 cf_tensor_pack_sums(const CfTensorSums &s)
{
  return make_uint4(cf::pack_half2(s[0][0], s[0][1]), cf::pack_half2(s[0][2], s[0][3]),
                    cf::pack_half2(s[1][0], s[1][1]), cf::pack_half2(s[1][2], s[1][3]));
}

/* What the halves that cf_tensor_pack_sums makes lack, as the first bytes of halves: sums have 14
 * bits then, and not 11. */
__device__ inline uint2 cf_tensor_pack_rests(const CfTensorSums &s)
{
  CfTensorSums rest;

#pragma unroll
  for (int i = 0; i < 8; i++) {
    const float sum = s[i / 4][i % 4];
    rest[i / 4][i % 4] = sum - __half2float(__float2half_rn(sum));
  }

  const uint4 halves = cf_tensor_pack_sums(rest);
  constexpr uint32_t kHalfOfThem = 0x00800080;
  return make_uint2(cf::permute_bytes(halves.x + kHalfOfThem, halves.y + kHalfOfThem, 0x7531),
                    cf::permute_bytes(halves.z + kHalfOfThem, halves.w + kHalfOfThem, 0x7531));
}

__device__ inline uint4 cf_tensor_unpack_rests(const uint2 &rests)
{
  return make_uint4(cf::permute_bytes(rests.x, 0, 0x1404), cf::permute_bytes(rests.x, 0, 0x3424),
                    cf::permute_bytes(rests.y, 0, 0x1404), cf::permute_bytes(rests.y, 0, 0x3424));
}

/* Rows of alpha that wait for the columns. */
struct CfTensorAlpha {
  uint4 halves;
  uint2 rests; /* not if there is no room for them */
};

/* 16 rows of `Channels` planes from `pixel` of the result on. */
template <int C, int Tiles, typename Matrices, int Blocks, int Channels>
__device__ inline void cf_tensor_sum_across(const Matrices &matrices, uint32_t planes, int pixel,
                                            CfTensorSums (&sums)[Blocks][Channels])
{
  typedef CfTensorShape<C, Tiles> Shape;
  const int lane = threadIdx.x & 31;
  const int first = Shape::kHalo - Shape::kRadius + pixel + (lane >> 3 & 1) * 8;
  const uint32_t from = planes + ((lane & 7) + (lane >> 4) * 8) * Shape::kStride + first * 2;

#pragma unroll
  for (int k = 0; k < Blocks + Tiles - 1; k++) {
#pragma unroll
    for (int c = 0; c < Channels; c++) {
      uint32_t data[4];
      cf::ldmatrix_x4(data, from + c * Shape::kPlaneBytes + k * 32);
#pragma unroll
      for (int b = 0; b < Blocks; b++) {
        const int tile = k - b;
        if (tile >= 0 && tile < Tiles) {
          uint32_t left[4];
          matrices.across(tile, left);
          cf::mma_f32(sums[b][c][0], left, data[0], data[1]);
          cf::mma_f32(sums[b][c][1], left, data[2], data[3]);
        }
      }
    }
  }
}

/* The same as left sides of the products that follow. */
template <int C, int Tiles, typename Matrices, int Blocks, int Channels>
__device__ inline void cf_tensor_filter_across(const Matrices &matrices, uint32_t planes, int pixel,
                                               uint4 (&across)[Blocks][Channels])
{
  CfTensorSums sums[Blocks][Channels] = {};

  cf_tensor_sum_across<C, Tiles>(matrices, planes, pixel, sums);
#pragma unroll
  for (int b = 0; b < Blocks; b++) {
#pragma unroll
    for (int c = 0; c < Channels; c++)
      across[b][c] = cf_tensor_pack_sums(sums[b][c]);
  }
}

/* The same of alpha. */
template <int C, int Tiles, typename Matrices, int Blocks>
__device__ inline void cf_tensor_filter_alpha_across(const Matrices &matrices, uint32_t plane,
                                                     int pixel, CfTensorAlpha (&across)[Blocks])
{
  CfTensorSums sums[Blocks][1] = {};

  cf_tensor_sum_across<C, Tiles>(matrices, plane, pixel, sums);
#pragma unroll
  for (int b = 0; b < Blocks; b++)
    across[b] = {cf_tensor_pack_sums(sums[b][0]), cf_tensor_pack_rests(sums[b][0])};
}

/* What cf_tensor_filter_alpha_across makes where all is opaque, to the bit. */
template <int Tiles, typename Matrices>
__device__ inline CfTensorAlpha cf_tensor_opaque_across(const Matrices &matrices)
{
  CfTensorSums sums = {};

#pragma unroll
  for (int tile = 0; tile < Tiles; tile++) {
    uint32_t left[4];
    matrices.across(tile, left);
    cf::mma_f32(sums[0], left, kTensorOpaque, kTensorOpaque);
    cf::mma_f32(sums[1], left, kTensorOpaque, kTensorOpaque);
  }
  return {cf_tensor_pack_sums(sums), cf_tensor_pack_rests(sums)};
}

/* ---- rows that wait for the columns ---- */

/* The last steps of the colours, and of alpha while one of them was not opaque. */
template <int C, int Tiles> class CfTensorKept
{
  typedef CfTensorShape<C, Tiles> Shape;
  uint4 kept[Shape::kKeepsInRegisters ? Shape::kKept : 1][Shape::kBlocks][Shape::kColours];
  uint4 *const shared;
  int oldest;

  __device__ uint4 &place(int slot, int block, int channel) const
  {
    return shared[((slot * Shape::kBlocks + block) * Shape::kKeptChannels + channel) *
                  Shape::kLanes];
  }

  __device__ uint2 &rests(int slot, int block) const
  {
    return ((uint2 *)(shared - threadIdx.x % Shape::kLanes + Shape::kKeptPlaces) +
            threadIdx.x % Shape::kLanes)[(slot * Shape::kBlocks + block) * Shape::kLanes];
  }

  /* `lane` is counted from this one. */
  __device__ void set_alpha(int slot, int block, int lane, const CfTensorAlpha &alpha) const
  {
    (&place(slot, block, Shape::kKeptColours))[lane] = alpha.halves;
    if constexpr (Shape::kHasRests)
      (&rests(slot, block))[lane] = alpha.rests;
  }

  /* From this lane to the same of the warp that has `block`. */
  __device__ static int to_lane_of(int block)
  {
    return block * 32 + (int)(threadIdx.x & 31) - (int)threadIdx.x;
  }

  /* Of what came `age` steps after the oldest. Of a pair, one warp writes the oldest while the
   * other reads the others. */
  __device__ int slot(int age) const
  {
    const int at = oldest + age + Shape::kPaired;

    return at < Shape::kKept ? at : at - Shape::kKept;
  }

public:
  __device__ CfTensorKept(uint4 *shared)
      : kept(), shared(shared + threadIdx.x % Shape::kLanes), oldest(0)
  {
  }

  __device__ uint4 get(int age, int block, int channel) const
  {
    if constexpr (Shape::kKeepsInRegisters)
      return kept[age][block][channel];
    else
      return place(slot(age), block, channel);
  }

  __device__ uint4 get_alpha(int age, int block) const
  {
    return place(slot(age), block, Shape::kKeptColours);
  }

  __device__ uint2 get_rests(int age, int block) const
  {
    return rests(slot(age), block);
  }

  __device__ void fill_alpha(const CfTensorAlpha &across)
  {
#pragma unroll 1
    for (int slot = 0; slot < Shape::kKept; slot++) {
#pragma unroll
      for (int b = 0; b < Shape::kBlocks; b++) {
        if (!Shape::kPaired || slot != oldest)
          set_alpha(slot, b, 0, across);
      }
    }
  }

  __device__ void put_alpha(const CfTensorAlpha (&newest)[Shape::kBlocks])
  {
#pragma unroll
    for (int b = 0; b < Shape::kBlocks; b++)
      set_alpha(oldest, b, 0, newest[b]);
  }

  /* In place of the oldest. */
  __device__ void put(const uint4 (&newest)[Shape::kBlocks][Shape::kColours])
  {
#pragma unroll
    for (int b = 0; b < Shape::kBlocks; b++) {
#pragma unroll
      for (int c = 0; c < Shape::kColours; c++) {
        if constexpr (Shape::kKeepsInRegisters) {
#pragma unroll
          for (int age = 0; age + 1 < Shape::kKept; age++)
            kept[age][b][c] = kept[age + 1][b][c];
          kept[Shape::kKept - 1][b][c] = newest[b][c];
        } else {
          place(oldest, b, c) = newest[b][c];
        }
      }
    }
  }

  /* One channel of blocks of pixels from `block` on, of which each warp that goes down has one. */
  __device__ void put_channel(const uint4 (&newest)[Shape::kAcrossBlocks][1], int channel,
                              int block)
  {
#pragma unroll
    for (int b = 0; b < Shape::kAcrossBlocks; b++)
      (&place(oldest, 0, channel))[to_lane_of(block + b)] = newest[b][0];
  }

  __device__ void put_channel(const CfTensorAlpha (&newest)[Shape::kAcrossBlocks], int block)
  {
#pragma unroll
    for (int b = 0; b < Shape::kAcrossBlocks; b++)
      set_alpha(oldest, 0, to_lane_of(block + b), newest[b]);
  }

  __device__ void advance()
  {
    oldest = oldest + 1 == Shape::kKept ? 0 : oldest + 1;
  }
};

/* ---- down ---- */

template <typename Matrices>
__device__ inline void cf_tensor_add_down(const Matrices &matrices, int tile, const uint4 &across,
                                          CfTensorSums &sums)
{
  const uint32_t left[4] = {across.x, across.y, across.z, across.w};

#pragma unroll
  for (int half = 0; half < 2; half++) {
    uint32_t right[2];
    matrices.down(tile, half, right);
    cf::mma_f32(sums[half], left, right[0], right[1]);
  }
}

/* The newest step is among those kept where another warp made it. */
template <int C, int Tiles, int Blocks>
__device__ inline void cf_tensor_filter_down(
    const CfTensorMatricesOf<C, Tiles> &matrices, const CfTensorKept<C, Tiles> &kept,
    const uint4 (&newest)[CfTensorShape<C, Tiles>::kBlocks][CfTensorShape<C, Tiles>::kColours],
    int first, CfTensorSums (&sums)[Blocks][CfTensorShape<C, Tiles>::kColours])
{
  constexpr bool kHasNewest = !CfTensorShape<C, Tiles>::kPaired;

#pragma unroll
  for (int tile = 0; tile < Tiles; tile++) {
#pragma unroll
    for (int b = 0; b < Blocks; b++) {
#pragma unroll
      for (int c = 0; c < CfTensorShape<C, Tiles>::kColours; c++)
        cf_tensor_add_down(matrices, tile,
                           kHasNewest && tile == Tiles - 1 ? newest[first + b][c]
                                                           : kept.get(tile, first + b, c),
                           sums[b][c]);
    }
  }
}

/* What rests add comes first, for it is small. */
template <int C, int Tiles>
__device__ inline void cf_tensor_filter_alpha_down(const CfTensorMatricesOf<C, Tiles> &matrices,
                                                   const CfTensorKept<C, Tiles> &kept,
                                                   const CfTensorAlpha &newest, int block,
                                                   CfTensorSums &sums)
{
  typedef CfTensorShape<C, Tiles> Shape;
  constexpr bool kHasNewest = !Shape::kPaired;

  if constexpr (Shape::kHasRests) {
#pragma unroll
    for (int tile = 0; tile < Tiles; tile++) {
      const bool is_newest = kHasNewest && tile == Tiles - 1;
      cf_tensor_add_down(
          matrices, tile,
          cf_tensor_unpack_rests(is_newest ? newest.rests : kept.get_rests(tile, block)), sums);
    }
  }
#pragma unroll
  for (int tile = 0; tile < Tiles; tile++)
    cf_tensor_add_down(
        matrices, tile,
        kHasNewest && tile == Tiles - 1 ? newest.halves : kept.get_alpha(tile, block), sums);
}
