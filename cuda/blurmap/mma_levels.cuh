/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * For the kernel of blur maps on tensor cores: levels as products of weights, and their blend, in
 * halves. What a product leaves is at most 1/16 off where it is largest, and the next one averages
 * it; in return a thread's 16 samples take 8 registers, and no product has to be converted.
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

constexpr int kBlocks = 4; /* products beside each other: 8 columns of a tile each */

/* What a thread holds of a strip's four products, as the tensor cores leave it: of each a pair of
 * columns in one row, and in another 8 rows below. */
typedef uint32_t Halves[kBlocks][2];

/* The same small number twice: 0x6400 + n is the half 1024 + n. */
__device__ inline __half2 twice(unsigned n)
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

/* A level in a strip, for a lane. */
struct Level {
  unsigned number; /* from the first of the strip on */
  int group, blocks_across;
  bool three_down; /* blocks, not two */
  const uint4 *down, *across;
  uint32_t from, row_bytes; /* where the lane loads its first texels */
  uint32_t channel_bytes;

  /* Of channel `channel` in shared memory, whose windows hold `channels`, or are not kept. */
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

  /* Some channels of a strip. */
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

    /* Two at a time where registers allow: in small pictures taps come from afar. */
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

  /* 16 columns of texels. */
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

/* Adds a level by its share: 1 less how far a sample's lod is from it. */
template <int N>
__device__ inline void add_share(const Halves &lods, unsigned level, const Halves (&sum)[N],
                                 Halves (&result)[N])
{
  const __half2 at = twice(level), one = __float2half2_rn(1.0f);

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

/* Codes of a strip, four of each product. */
typedef uint32_t Codes[kBlocks];

/* 1024 + v of a half is an integer v in its lowest bits; of two that are as near, the even one, as
 * 128 of half way from black to white. Products round by 1/4 at most from 0 to the largest code,
 * and by more below. */
__device__ inline void finish(const Halves &sum, float centre, Codes &codes)
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

/* Of 255 that count around a sample; with less nothing does. */
constexpr float kLeastWeight = 1.0f / (1 << 15);

/* What sums are multiplied by: `scale` / (weights + `centre`), or 0 where these are less than
 * `visible`. */
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

/* More than 255 by what halves are off: regular patterns have many samples half way between two
 * codes, which are to be rounded up all the same. */
constexpr float kCodes = 255.125f;

/* Codes of weighted sums. */
__device__ inline void finish_weighted(const Halves &sum, const Halves &inverse, float centre,
                                       Codes &codes)
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

/* Codes of samples that nothing shows of. */
__device__ inline void blank_invisible(const Halves &inverse, float blank, Codes &codes)
{
  const __half2 zero = __float2half2_rn(0.0f);

#pragma unroll
  for (int block = 0; block < kBlocks; block++) {
    const uint32_t shows = __byte_perm(__hgt2_mask(as_half2(inverse[block][0]), zero),
                                       __hgt2_mask(as_half2(inverse[block][1]), zero), 0x6420);

    codes[block] = (codes[block] & shows) | ((uint32_t)blank * 0x01010101u & ~shows);
  }
}

} // namespace cf::blurmap
