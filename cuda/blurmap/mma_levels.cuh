/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * For blend_tiles(): levels as matrix products, their blend, and rounding to codes, all in fp16.
 * The result of a product is rounded by 1/16 of a code at most, and the next product averages these
 * errors. In return a thread's 16 samples need 8 registers, and results need no conversion.
 */
#pragma once

#include "cuda/common/half2.cuh"
#include "cuda/common/ptx_async.cuh"
#include "cuda/common/ptx_mma.cuh"
#include "cuda/common/pdl.cuh"
#include "cuda/blurmap/tile_records.cuh"

#include <string.h>

namespace cf::blurmap
{

constexpr int kBlocks = 4; /* products side by side in a strip, 8 columns each */

/* A thread's samples of a strip, in the layout of accumulators: for each product, a pair of columns
 * in one row, and in the row 8 below. */
typedef uint32_t Halves[kBlocks][2];

/* n, 0 .. 1023, twice: the bits 0x6400 + n are the fp16 number 1024 + n. */
__device__ inline __half2 splat_half2(unsigned n)
{
  return __hsub2(as_half2(0x64006400u + n * 0x10001u), __float2half2_rn(1024.0f));
}

/* ---- levels ---- */

__device__ inline void unpack(const uint4 &from, uint32_t (&to)[4])
{
  to[0] = from.x;
  to[1] = from.y;
  to[2] = from.z;
  to[3] = from.w;
}

/* A StripLevel, unpacked for a lane. */
struct Level {
  unsigned number; /* counted from the strip's first level */
  int group, blocks_across;
  bool three_down; /* blocks_down is 3, not 2 */
  const uint4 *down, *across;
  uint32_t from, row_bytes; /* shared memory address of the lane's first ldmatrix row */
  uint32_t channel_bytes;

  /* For channel `channel` of windows at `shared` that hold `channels` channels each. With 0
   * channels there is only the level's own window. */
  __device__ Level(const StripLevel &entry, const uint4 *weights, uint32_t shared,
                   unsigned channels, unsigned channel)
  {
    const unsigned lane = threadIdx.x % 32;
    const uint4 all = *(const uint4 *)&entry;
    const uint32_t texels =
        channels * (all.w >> 13) + channel * (all.w & 8191) + (all.z & 8191) + lane / 16 * 8;

    row_bytes = 2 * (uint32_t)pitch_of(all.z >> 31 ? 0 : 1);
    channel_bytes = 2 * (all.w & 8191);
    number = all.z >> 13 & 127;
    group = (int)(all.x >> 24 & 31);
    blocks_across = (int)(all.y >> 24);
    three_down = all.x >> 31;
    down = weights + (all.x & 0xffffff) + lane;
    across = weights + (all.y & 0xffffff) + lane;
    from = shared + 2 * texels + lane % 16 * row_bytes;
  }

  /* Makes the level in a strip, for N consecutive channels. */
  template <int N> __device__ void apply(Halves (&sum)[N]) const
  {
#pragma unroll
    for (int c = 0; c < N; c++) {
#pragma unroll
      for (int block = 0; block < kBlocks; block++)
        sum[c][block][0] = sum[c][block][1] = 0;
    }
    if (three_down)
      add_products<N, 3>(sum);
    else
      add_products<N, 2>(sum);
  }

  template <int N, int BlocksDown> __device__ void add_products(Halves (&sum)[N]) const
  {
    uint32_t rows[BlocksDown][4];

#pragma unroll
    for (int i = 0; i < BlocksDown; i++)
      unpack(__ldg(down + 32 * i), rows[i]);
    const uint4 *taps = across;
    uint32_t address = from;
    int k = 0;

    /* Two blocks at a time if registers allow: weights may have to come from L2. */
    if constexpr (N < 3) {
#pragma unroll 1
      for (; k + 1 < blocks_across; k += 2, taps += 128, address += 64) {
        const uint4 first = __ldg(taps), last = __ldg(taps + 32);
        const uint4 next_first = __ldg(taps + 64), next_last = __ldg(taps + 96);

        add_block(rows, first, last, address, sum);
        add_block(rows, next_first, next_last, address + 32, sum);
      }
    }
#pragma unroll 1
    for (; k < blocks_across; k++, taps += 64, address += 32)
      add_block(rows, __ldg(taps), __ldg(taps + 32), address, sum);
  }

  /* Adds the products with 16 columns of texels. */
  template <int N, int BlocksDown>
  __device__ void add_block(const uint32_t (&rows)[BlocksDown][4], const uint4 &first,
                            const uint4 &last, uint32_t address, Halves (&sum)[N]) const
  {
#pragma unroll
    for (int c = 0; c < N; c++) {
      uint32_t texels[4], left[4] = {};

#pragma unroll
      for (int i = 0; i < BlocksDown; i++) {
        ldmatrix_x4_trans_after_barrier(texels, address + (uint32_t)c * channel_bytes +
                                                    (uint32_t)(16 * i) * row_bytes);
        mma_f16(left, rows[i], texels[0], texels[1], left[0], left[1]);
        mma_f16(left + 2, rows[i], texels[2], texels[3], left[2], left[3]);
      }
      add(sum[c][0], left, first.x, first.y);
      add(sum[c][1], left, first.z, first.w);
      add(sum[c][2], left, last.x, last.y);
      add(sum[c][3], left, last.z, last.w);
    }
  }

  static __device__ void add(uint32_t (&sum)[2], const uint32_t (&left)[4], uint32_t b0,
                             uint32_t b1)
  {
    mma_f16(sum, left, b0, b1, sum[0], sum[1]);
  }
};

/* Adds a level times its blend weight, max(0, 1 - |lod - level|). */
template <int N>
__device__ inline void blend_level(const Halves &lods, unsigned level, const Halves (&sum)[N],
                                   Halves (&result)[N])
{
  const __half2 at = splat_half2(level), one = __float2half2_rn(1.0f);

#pragma unroll
  for (int block = 0; block < kBlocks; block++) {
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const __half2 away = __habs2(__hsub2(as_half2(lods[block][i]), at));
      const __half2 share = __hadd2_sat(one, __hneg2(away));

#pragma unroll
      for (int c = 0; c < N; c++)
        result[c][block][i] =
            as_bits(__hfma2(share, as_half2(sum[c][block][i]), as_half2(result[c][block][i])));
    }
  }
}

/* ---- results ---- */

/* A thread's codes of a strip: for each product four, in the order of the accumulators. */
typedef uint32_t Codes[kBlocks];

/* Rounds sums plus `centre` to codes: adding 1024 leaves an integer in the lowest bits. Ties go to
 * the even code, such as 128 for the mean of black and white. */
__device__ inline void round_to_codes(const Halves &sum, float centre, Codes &codes)
{
  const __half2 zero = __float2half2_rn(1024.0f + centre), least = __float2half2_rn(1024.0f);

#pragma unroll
  for (int block = 0; block < kBlocks; block++) {
    uint32_t code[2];

#pragma unroll
    for (int i = 0; i < 2; i++) {
      const __half2 value = __hadd2(as_half2(sum[block][i]), zero);
      code[i] = as_bits(__hmax2(value, least));
    }
    codes[block] = __byte_perm(code[0], code[1], 0x6420);
  }
}

/* The smallest sum of weights (255 if all samples around count) that makes a sample visible. */
constexpr float kLeastWeight = 1.0f / (1 << 15);

/* The factors of sums: scale / (weights + centre), or 0 where weights + centre < visible. */
__device__ inline void invert(const Halves &weights, float centre, float visible, float scale,
                              Halves &inverse)
{
#pragma unroll
  for (int block = 0; block < kBlocks; block++) {
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const __half2 all = __hadd2(as_half2(weights[block][i]), __float2half2_rn(centre));

      inverse[block][i] = as_bits(__hmul2(h2rcp(all), __float2half2_rn(scale))) &
                          __hge2_mask(all, __float2half2_rn(visible));
    }
  }
}

/* 255 plus more than the rounding errors of fp16, so that exact ties, of which regular patterns
 * have many, are always rounded up. */
constexpr float kCodes = 255.125f;

/* Rounds weighted sums, times the factors of invert(), plus `centre`, to codes. */
__device__ inline void round_weighted_to_codes(const Halves &sum, const Halves &inverse,
                                               float centre, Codes &codes)
{
  const __half2 zero = __float2half2_rn(centre * (1.0f / 255));

#pragma unroll
  for (int block = 0; block < kBlocks; block++) {
    uint32_t code[2];

#pragma unroll
    for (int i = 0; i < 2; i++) {
      const __half2 share = __hfma2_sat(as_half2(sum[block][i]), as_half2(inverse[block][i]), zero);
      code[i] = as_bits(__hfma2(share, __float2half2_rn(kCodes), __float2half2_rn(1024.0f)));
    }
    codes[block] = __byte_perm(code[0], code[1], 0x6420);
  }
}

/* Replaces the codes of invisible samples, whose factor is 0, by `transparent_code`. */
__device__ inline void set_transparent(const Halves &inverse, float transparent_code, Codes &codes)
{
  const __half2 zero = __float2half2_rn(0.0f);

#pragma unroll
  for (int block = 0; block < kBlocks; block++) {
    const uint32_t visible = __byte_perm(__hgt2_mask(as_half2(inverse[block][0]), zero),
                                         __hgt2_mask(as_half2(inverse[block][1]), zero), 0x6420);

    codes[block] = (codes[block] & visible) | ((uint32_t)transparent_code * 0x01010101u & ~visible);
  }
}

} // namespace cf::blurmap
