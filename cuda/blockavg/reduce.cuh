/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Block average: the job, and what a thread computes of one 16-byte column: sums over rows, kept
 * apart for each sample, or folded to one sum a channel where the column lies within one block.
 *
 * Each kind offers: prepare() and add() rows, store() to shared memory, load() one sample's sum
 * from there, combine() two sums, and finish() them to a colour in the memory order of a pixel;
 * join() is combine() for words of which several sums may share one; common() are the bits that all
 * prepared bytes have set, where the kind cares.
 */
#pragma once

#include "cuda/blockavg/tuning.h"
#include "cuda/common/context.cuh"

namespace cf::blockavg
{

constexpr int kColumnBytes = 16;

enum Stage {
  kWhole, /* tiles of whole blocks: sums and fill */
  kSums,  /* tiles of fixed size add to the sums in memory */
  kFill,  /* the same tiles take their colours from those sums */
};

struct Plane {
  const uint8_t *source;
  uint8_t *destination;
  ptrdiff_t source_stride, destination_stride;
  unsigned long long *sums; /* [block row][block][channel], kSums and kFill */
  int width, height, channels;
  int block_width, block_height; /* luma pixels */
  int shift_x, shift_y;
  int blocks_x;
  int tile_blocks; /* kWhole: blocks side by side in a tile */
  int tile_pixels; /* else: pixels side by side, whole columns */
  int slices;      /* tiles that share the height of a block */
  int tiles_x, first_tile;
  int columns;  /* handled side by side; a power of two */
  bool aligned; /* every block starts on a column */
  bool vector;  /* source and destination rows start on 16 bytes */
};

struct Job {
  Plane plane[CF_MAX_PLANES];
  int planes;
  Stage stage;
  int shift;      /* of code values in their 16-bit samples */
  uint32_t mask;  /* of a code value, in both halves */
  uint32_t flip;  /* all bits of the codes: the maximum is the complement's minimum */
  int alpha;      /* its channel, 0 or 3 */
  uint32_t empty; /* colour of blocks without any alpha */
  uint32_t lumas; /* of packed 4:2:2 the two channels that are averaged together, a bit each */
};

/* The first sample of a block, cut to 0..limit. */
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

/* The block that a sample belongs to. */
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

/* What all means share: as many sums as are kept apart, each in a word of its own. */
template <int Words> struct Sums {
  static constexpr int kWords = Words;
  static constexpr uint32_t kNeutral = 0;
  static constexpr bool kWeighted = false;
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

  __device__ static uint32_t combine(uint32_t a, uint32_t b)
  {
    return a + b;
  }

  __device__ static uint32_t join(uint32_t a, uint32_t b)
  {
    return a + b;
  }
};

/* Two samples share a word where they are kept apart. */
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

  template <typename Sum>
  __device__ static uint32_t finish(const Sum (&total)[C], Sum area, const Job &job)
  {
    uint32_t colour = 0;

#pragma unroll
    for (int k = 0; k < C; k++) {
      const bool pair = C == 4 && (job.lumas >> k & 1);
      const Sum sum = pair ? total[k] + total[(k + 2) % C] : total[k],
                count = pair ? 2 * area : area;
      colour |= (uint32_t)((sum + count / 2) / count) << 8 * k;
    }
    return colour;
  }
};

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

  template <typename Sum>
  __device__ static uint32_t finish(const Sum (&total)[C], Sum area, const Job &job)
  {
    uint32_t colour = 0;

#pragma unroll
    for (int k = 0; k < C; k++)
      colour |= (uint32_t)((total[k] + area / 2) / area) << job.shift << 16 * k;
    return colour;
  }
};

/* Colours weighted by alpha; four 8-bit channels, alpha first or last. */
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

  template <typename Sum>
  __device__ static uint32_t finish(const Sum (&total)[C], Sum area, const Job &job)
  {
    const Sum alpha = job.alpha ? total[C - 1] : total[0];
    uint32_t colour = 0;

    if (alpha == 0)
      return job.empty;
#pragma unroll
    for (int k = 0; k < C; k++) {
      const Sum divisor = k == job.alpha ? area : alpha;
      colour |= (uint32_t)((total[k] + divisor / 2) / divisor) << 8 * k;
    }
    return colour;
  }
};

/* Plain sums of pixels with alpha, which also tell whether all of them are opaque. */
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

/* The minimum, of complemented codes for the maximum. */
template <int C, bool Folded, int SampleBytes> struct Extremum {
  static constexpr int kSampleBytes = SampleBytes, kWords = Folded ? C : 4;
  static constexpr int kPerWord = 4 / SampleBytes;
  static constexpr uint32_t kNeutral = ~0u;
  static constexpr bool kWeighted = false;
  uint32_t sum[4];

  __device__ static uint32_t common()
  {
    return ~0u;
  }

  __device__ void clear()
  {
#pragma unroll
    for (int i = 0; i < 4; i++)
      sum[i] = kNeutral;
  }

  __device__ static uint4 prepare(uint4 v, const Job &job)
  {
    return make_uint4(
        (v.x >> job.shift & job.mask) ^ job.flip, (v.y >> job.shift & job.mask) ^ job.flip,
        (v.z >> job.shift & job.mask) ^ job.flip, (v.w >> job.shift & job.mask) ^ job.flip);
  }

  __device__ void add(const uint4 &v, const Job &)
  {
#pragma unroll
    for (int i = 0; i < 4; i++)
      sum[i] = join(sum[i], word(v, i));
  }

  __device__ static uint32_t unpack(uint32_t packed, int sample)
  {
    return SampleBytes == 1 ? packed >> 8 * (sample % 4) & 0xff
                            : packed >> 16 * (sample % 2) & 0xffff;
  }

  __device__ void store(uint32_t *shared, int stride) const
  {
    if constexpr (Folded) {
#pragma unroll
      for (int k = 0; k < C; k++) {
        uint32_t folded = kNeutral;
#pragma unroll
        for (int i = k; i < 4 * kPerWord; i += C)
          folded = combine(folded, unpack(sum[i / kPerWord], i));
        shared[k * stride] = folded;
      }
    } else {
#pragma unroll
      for (int i = 0; i < 4; i++)
        shared[i * stride] = sum[i];
    }
  }

  __device__ static uint32_t load(const uint32_t *shared, int stride, int sample)
  {
    return unpack(shared[sample / kPerWord * stride], sample);
  }

  __device__ static uint32_t combine(uint32_t a, uint32_t b)
  {
    return min(a, b);
  }

  __device__ static uint32_t join(uint32_t a, uint32_t b)
  {
    return SampleBytes == 1 ? __vminu4(a, b) : __vminu2(a, b);
  }

  template <typename Sum>
  __device__ static uint32_t finish(const Sum (&total)[C], Sum, const Job &job)
  {
    uint32_t colour = 0;

#pragma unroll
    for (int k = 0; k < C; k++)
      colour |= ((uint32_t)total[k] ^ unpack(job.flip, 0)) << job.shift << 8 * SampleBytes * k;
    return colour;
  }
};

template <int C, bool Folded> using ExtremumBytes = Extremum<C, Folded, 1>;
template <int C, bool Folded> using ExtremumWords = Extremum<C, Folded, 2>;

} // namespace cf::blockavg
