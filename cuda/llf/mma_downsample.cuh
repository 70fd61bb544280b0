/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Down the pyramid on tensor cores: rows of components filtered across by matrix products, the
 * Gaussian, and the tile of the finer level in shared memory that both are computed from.
 */
#pragma once

#include "cuda/llf/mma_common.cuh"

namespace cf::llf
{

/* 32 pixels of a coarse row in registers, as two accumulators of 16 pixels: words 2 c and 2 c + 1
 * of each hold group c of its first and last 8 pixels. */
struct RowFragments {
  uint32_t word[2][2 * kGroups];
};

/* The weight of fine pixel number `tap` among the five of a coarse pixel. */
constexpr float band_weight(int tap)
{
  return tap == 0 || tap == 4   ? kHalfEdge
         : tap == 1 || tap == 3 ? kHalfSide
         : tap == 2             ? kHalfCentre
                                : 0.0f;
}

/* The taps as a banded matrix: row p is coarse pixel p, column k the k-th of 35 fine pixels, which
 * begin 2 before the one at coarse pixel 0. Words 4 part .. 4 part + 3 are columns 16 part and up.
 */
constexpr Fragment<12> band_fragment()
{
  Fragment<12> band = {};

  for (int lane = 0; lane < 32; lane++) {
    for (int i = 0; i < 12; i++) {
      const int part = i / 4, q = i % 4, pixel = lane / 4 + (q & 1) * 8;
      const int tap = 16 * part + 2 * (lane % 4) + (q >> 1) * 8 - 2 * pixel;

      band.word[lane][i] = half_pair_bits(band_weight(tap), band_weight(tap + 1));
    }
  }
  return band;
}

static __device__ const Fragment<12> kBand = band_fragment();

/* A lane's part of this matrix, and the filter. */
struct Band {
  uint32_t a[3][4]; /* [part] */

  __device__ __forceinline__ Band(int lane)
  {
#pragma unroll
    for (int part = 0; part < 3; part++) {
      const uint4 words = *reinterpret_cast<const uint4 *>(&kBand.word[lane][4 * part]);

      a[part][0] = words.x;
      a[part][1] = words.y;
      a[part][2] = words.z;
      a[part][3] = words.w;
    }
  }

  /* Filters across. `fine` has five fragments of 16 pixels, of which the first 67 pixels count; the
   * others must be finite, since they are multiplied by 0. */
  __device__ void filter(const uint32_t fine[5][2 * kGroups], RowFragments *coarse) const
  {
#pragma unroll
    for (int m = 0; m < 2; m++) {
#pragma unroll
      for (int c = 0; c < kGroups; c++) {
        uint32_t sum[2];

        mma_f16(sum, a[0], fine[2 * m][2 * c], fine[2 * m][2 * c + 1], 0, 0);
        mma_f16(sum, a[1], fine[2 * m + 1][2 * c], fine[2 * m + 1][2 * c + 1], sum[0], sum[1]);
        mma_f16_k8(coarse->word[m] + 2 * c, a[2][0], a[2][1], fine[2 * m + 2][2 * c], sum[0],
                   sum[1]);
      }
    }
  }
};

/* The level that a kernel computes. Only the pyramid's coarsest level has `coarse.collapsed` here:
 * its collapsed image is top_gain times its Gaussian. */
struct DownsampleOutput {
  Level coarse;
  float top_gain;

  __device__ void store_gauss(int x, int y, float gauss) const
  {
    if (x >= coarse.width || y >= coarse.height)
      return;
    store_gauss_at(y * coarse.width + x, gauss);
  }

  __device__ void store_gauss_at(int index, float gauss) const
  {
    coarse.gauss[index] = gauss;
    if (coarse.collapsed)
      coarse.collapsed[index] = top_gain * gauss;
  }
};

inline DownsampleOutput output_of_level(const Pyramid &pyramid, int level, float top_gain)
{
  DownsampleOutput target = {pyramid.level[level], top_gain};

  if (level < pyramid.images - 1)
    target.coarse.collapsed = nullptr;
  return target;
}

/* ---- A tile of the finer level in shared memory ---- */

/* The rows of components, then the Gaussian. */
template <int Width, int Height> struct FineTile {
  static constexpr int kWidth = Width, kHeight = Height;
  static constexpr int kPitch = (Width * kGroups * kGroupBytes + 127) / 128 * 128; /* bytes */
  static constexpr int kGaussPitch = Width + 1;                                    /* floats */
  static constexpr int kGaussOffset = Height * kPitch;                             /* bytes */
  static constexpr int kBytes = kGaussOffset + Height * kGaussPitch * (int)sizeof(float);

  /* The offset of a pixel's group in its row, in bytes. In every other four pixels the two groups
   * are swapped, so that eight pixels that ldmatrix reads together lie in different banks. */
  __device__ __forceinline__ static int offset_of(int x, int group)
  {
    return (x * kGroups + (group ^ (x >> 2 & 1))) * kGroupBytes;
  }

  /* Starts the copies of a row, by one warp. Inside: no pixel is mirrored, and the copies'
   * addresses differ by compile-time constants. */
  template <bool Inside>
  __device__ __forceinline__ static void start_row(uint32_t to, uint32_t gauss_to,
                                                   const Level &fine, int first_x, int y)
  {
    constexpr int kCopies = (Width * kGroups + 31) / 32, kFloats = (Width + 31) / 32;
    const int lane = threadIdx.x % 32;
    const size_t start = (size_t)y * fine.width + (Inside ? first_x : 0);
    const uint4 *const group = fine.groups + start * kGroups;

    to += offset_of(lane / kGroups, lane % kGroups);
#pragma unroll
    for (int k = 0; k < kCopies; k++) {
      const int i = lane + 32 * k;
      const int x = Inside ? i / kGroups : mirrored(first_x + i / kGroups, fine.width);

      if (i < Width * kGroups)
        cp_async<16>(to + k * 32 * kGroupBytes, group + x * kGroups + i % kGroups);
    }
#pragma unroll
    for (int k = 0; k < kFloats; k++) {
      const int i = lane + 32 * k;
      const int x = Inside ? i : mirrored(first_x + i, fine.width);

      if (i < Width)
        cp_async_zero_fill<4>(gauss_to + i * (int)sizeof(float), fine.gauss + start + x, 4);
    }
  }

  /* Loads the tile whose first pixel is (first_x, first_y), mirrored at the level's borders, by
   * `warps` warps per tile. Ends with a barrier of the CTA. */
  __device__ __forceinline__ static void load(uint8_t *memory, const Level &fine, int first_x,
                                              int first_y, int warps)
  {
    const uint32_t to = smem_address(memory);
    const bool inside = first_x >= 0 && first_y >= 0 && first_x + Width <= fine.width &&
                        first_y + Height <= fine.height;

#pragma unroll 1
    for (int row = (int)threadIdx.x / 32; row < Height; row += warps) {
      const uint32_t line = to + row * kPitch;
      const uint32_t gauss = to + kGaussOffset + row * kGaussPitch * (int)sizeof(float);

      if (inside)
        start_row<true>(line, gauss, fine, first_x, first_y + row);
      else
        start_row<false>(line, gauss, fine, first_x, mirrored(first_y + row, fine.height));
    }
    cp_async_commit_and_wait();
    __syncthreads();
  }
};

/* A pixel of the coarser Gaussian, from 5 x 5 finer pixels, of which `from` is the first. */
__device__ __forceinline__ float reduced_5x5(const float *from, int pitch)
{
  float down[5];

#pragma unroll
  for (int k = 0; k < 5; k++) {
    const float *const p = from + k * pitch;
    down[k] = reduced(p[0], p[1], p[2], p[3], p[4]);
  }
  return reduced(down[0], down[1], down[2], down[3], down[4]);
}

} // namespace cf::llf
