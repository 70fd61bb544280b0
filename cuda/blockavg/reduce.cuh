/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Block average: a thread's sums of a 16-byte column over rows, one for each sample or, `Folded`,
 * one for each channel, where the column lies within one block.
 *
 * Each class has: prepare() and add() for a row, store() to shared memory, load() of one sample's
 * sum from there, and finish(), from a block's sums to its colour as a pixel in memory. common()
 * are the bits that are set in all prepared words, for classes that need it.
 */
#pragma once

#include "cuda/blockavg/job.cuh"

namespace cf::blockavg
{

/* cf_grid_start() of plan/mosaic.h in 32 bits, which are enough for the pictures and regions here.
 */
__device__ inline int block_start(int block, int size, int origin, int shift, int limit)
{
  const int start = (block * size + origin + (1 << shift) - 1) >> shift;

  return min(max(start, 0), limit);
}

__device__ inline int block_left(const Plane &plane, int block)
{
  return block_start(block, plane.block_width, 0, plane.shift_x, plane.width);
}

__device__ inline int block_top(const Plane &plane, int row)
{
  return block_start(row, plane.block_height, 0, plane.shift_y, plane.height);
}

/* cf_grid_block() of a grid that starts at 0. */
__device__ inline int block_at(const Plane &plane, int x)
{
  return (int)((unsigned)(x << plane.shift_x) / (unsigned)plane.block_width);
}

__device__ inline uint32_t word(const uint4 &v, int i)
{
  return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w;
}

/* Gathers the bytes of channel `k` of the four pixels in `v`. */
__device__ inline uint32_t gather_channel(const uint4 &v, int k)
{
  const uint32_t pick = (uint32_t)(k | (4 + k) << 4);

  return __byte_perm(__byte_perm(v.x, v.y, pick), __byte_perm(v.z, v.w, pick), 0x5410);
}

/* The base of all classes: `Words` sums, each in a word. */
template <int Words> struct Sums {
  static constexpr int kWords = Words;
  static constexpr bool kWeighted = false;
  static constexpr bool kLargest = false; /* sums are the largest samples */
  uint32_t sum[Words];

  __device__ static uint32_t common()
  {
    return ~0u;
  }

  __device__ void clear()
  {
#pragma unroll
    for (int i = 0; i < kWords; i++)
      sum[i] = 0;
  }

  __device__ static uint4 prepare(uint4 v, const Job &)
  {
    return v;
  }

  __device__ void store(uint32_t *shared, int stride) const
  {
#pragma unroll
    for (int i = 0; i < kWords; i++)
      shared[i * stride] = sum[i];
  }

  __device__ static uint32_t load(const uint32_t *shared, int stride, int sample)
  {
    return shared[sample * stride];
  }
};

/* Means of bytes. Not folded, a word has two 16-bit sums. */
template <int C, bool Folded> struct MeanBytes : Sums<Folded ? C : 8> {
  static constexpr int kSampleBytes = 1;
  using Sums<Folded ? C : 8>::sum;

  __device__ void add(const uint4 &v, const Job &)
  {
    if constexpr (!Folded) {
#pragma unroll
      for (int i = 0; i < 4; i++) {
        sum[2 * i] += word(v, i) & 0x00ff00ffu;
        sum[2 * i + 1] += word(v, i) >> 8 & 0x00ff00ffu;
      }
    } else if constexpr (C == 4) {
#pragma unroll
      for (int k = 0; k < 4; k++)
        sum[k] = __dp4a(gather_channel(v, k), 0x01010101u, sum[k]);
    } else {
#pragma unroll
      for (int i = 0; i < 4; i++) {
#pragma unroll
        for (int k = 0; k < C; k++)
          sum[k] = __dp4a(word(v, i), C == 1 ? 0x01010101u : 0x00010001u << 8 * k, sum[k]);
      }
    }
  }

  __device__ static uint32_t load(const uint32_t *shared, int stride, int sample)
  {
    const uint32_t pair = shared[((sample >> 2) * 2 + (sample & 1)) * stride];

    return sample & 2 ? pair >> 16 : pair & 0xffff;
  }

  __device__ static uint32_t finish(const uint32_t (&total)[C], uint32_t area, const Job &job)
  {
    uint32_t colour = 0;

#pragma unroll
    for (int k = 0; k < C; k++) {
      const bool pair = C == 4 && (job.lumas >> k & 1);
      const uint32_t sum = pair ? total[k] + total[(k + 2) % C] : total[k];
      const uint32_t count = pair ? 2 * area : area;
      colour |= rounded_mean(sum, count) << 8 * k;
    }
    return colour;
  }
};

/* Means of 16-bit samples. */
template <int C, bool Folded> struct MeanWords : Sums<Folded ? C : 8> {
  static constexpr int kSampleBytes = 2;
  using Sums<Folded ? C : 8>::sum;

  __device__ static uint4 prepare(uint4 v, const Job &job)
  {
    return make_uint4(v.x >> job.shift & job.mask, v.y >> job.shift & job.mask,
                      v.z >> job.shift & job.mask, v.w >> job.shift & job.mask);
  }

  __device__ void add(const uint4 &v, const Job &)
  {
#pragma unroll
    for (int i = 0; i < 8; i++) {
      const uint32_t w = word(v, i / 2);
      sum[Folded ? i % C : i] += i & 1 ? w >> 16 : w & 0xffff;
    }
  }

  __device__ static uint32_t finish(const uint32_t (&total)[C], uint32_t area, const Job &job)
  {
    uint32_t colour = 0;

#pragma unroll
    for (int k = 0; k < C; k++)
      colour |= rounded_mean(total[k], area) << job.shift << 16 * k;
    return colour;
  }
};

/* Means of colours weighted by alpha, of four 8-bit channels, alpha first or last. */
template <int C, bool Folded> struct MeanPremultiplied : Sums<Folded ? 4 : 16> {
  static constexpr int kSampleBytes = 1;
  static constexpr bool kWeighted = true;
  using Sums<Folded ? 4 : 16>::sum;

  __device__ void add(const uint4 &v, const Job &job)
  {
    if constexpr (Folded) {
      const uint32_t alpha = job.alpha ? gather_channel(v, 3) : gather_channel(v, 0);
#pragma unroll
      for (int k = 0; k < 4; k++)
        sum[k] = __dp4a(gather_channel(v, k), k == job.alpha ? 0x01010101u : alpha, sum[k]);
    } else {
#pragma unroll
      for (int i = 0; i < 4; i++) {
        const uint32_t pixel = word(v, i), alpha = job.alpha ? pixel >> 24 : pixel & 0xff;
#pragma unroll
        for (int k = 0; k < 4; k++)
          sum[4 * i + k] += (pixel >> 8 * k & 0xff) * (k == job.alpha ? 1 : alpha);
      }
    }
  }

  __device__ static uint32_t finish(const uint32_t (&total)[C], uint32_t area, const Job &job)
  {
    const uint32_t alpha = job.alpha ? total[C - 1] : total[0];
    uint32_t colour = 0;

    if (alpha == 0)
      return job.empty;
#pragma unroll
    for (int k = 0; k < C; k++) {
      colour |= rounded_mean(total[k], k == job.alpha ? area : alpha) << 8 * k;
    }
    return colour;
  }
};

/* The largest samples or, of samples inverted by Job.inverted, the smallest ones. */
template <int C, int Bytes> struct Largest : Sums<1> {
  static constexpr int kSampleBytes = Bytes;
  static constexpr bool kLargest = true;
  static constexpr int kBits = 8 * Bytes;
  static constexpr uint32_t kSample = (1u << kBits) - 1;

  __device__ static uint4 prepare(uint4 v, const Job &job)
  {
    return make_uint4(
        (v.x >> job.shift & job.mask) ^ job.inverted, (v.y >> job.shift & job.mask) ^ job.inverted,
        (v.z >> job.shift & job.mask) ^ job.inverted, (v.w >> job.shift & job.mask) ^ job.inverted);
  }

  __device__ void add(const uint4 &v, const Job &)
  {
#pragma unroll
    for (int i = 0; i < 4; i++)
      sum[0] = Bytes == 1 ? __vmaxu4(sum[0], word(v, i)) : __vmaxu2(sum[0], word(v, i));
  }

  __device__ void store(uint32_t *shared, int stride) const
  {
#pragma unroll
    for (int k = 0; k < C; k++) {
      uint32_t most = 0;
#pragma unroll
      for (int bit = kBits * k; bit < 32; bit += kBits * C)
        most = max(most, sum[0] >> bit & kSample);
      shared[k * stride] = most;
    }
  }

  __device__ static uint32_t finish(const uint32_t (&total)[C], uint32_t, const Job &job)
  {
    uint32_t colour = 0;

#pragma unroll
    for (int k = 0; k < C; k++)
      colour |= (total[k] ^ (job.inverted & kSample)) << kBits * k;
    return colour << job.shift;
  }
};

template <int C, bool> using LargestBytes = Largest<C, 1>;
template <int C, bool> using LargestWords = Largest<C, 2>;

/* Plain sums of pixels with alpha; common() tells whether all of them are opaque. */
struct MeanOpaque : MeanBytes<4, false> {
  uint32_t set = ~0u;

  __device__ uint32_t common() const
  {
    return set;
  }

  __device__ uint4 prepare(uint4 v, const Job &)
  {
    set &= v.x & v.y & v.z & v.w;
    return v;
  }
};

} // namespace cf::blockavg
