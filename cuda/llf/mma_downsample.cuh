/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Down the pyramid on tensor cores: a row of the coarser level as matrix products, and what kernels
 * leave of a level besides its components.
 */
#pragma once

#include "cuda/llf/mma_common.cuh"

namespace cf::llf
{

/* 32 coarse pixels in two fragments of 16, each with 8 components a group. */
struct Row {
  uint32_t word[2][2 * kGroups];
};

/* The taps as a banded matrix: 16 coarse pixels of 35 fine ones, which begin 2 before. */
constexpr float band_weight(int tap)
{
  return tap == 0 || tap == 4   ? kHalfEdge
         : tap == 1 || tap == 3 ? kHalfSide
         : tap == 2             ? kHalfCentre
                                : 0.0f;
}

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

struct Band {
  uint32_t a[3][4];

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

  /* `fine` has five fragments of 16 pixels: 67 are used. */
  __device__ void filter(const uint32_t fine[5][2 * kGroups], Row *coarse) const
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

/* The level that is made, whose collapsed image, where it is the last of all, is top_gain times its
 * Gaussian. */
struct DownsampleOutput {
  Level coarse;
  float top_gain;

  __device__ void store_gauss(int x, int y, float gauss) const
  {
    if (x >= coarse.width || y >= coarse.height)
      return;
    const size_t index = (size_t)y * coarse.width + x;
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

/* --- a tile of the finer level in shared memory --- */

/* Components, and behind them intensities. */
template <int Width, int Height> struct FineTile {
  static constexpr int kWidth = Width, kHeight = Height;
  static constexpr int kPitch = (Width * kGroups * kGroupBytes + 127) / 128 * 128; /* bytes */
  static constexpr int kGaussPitch = Width + 1;                                    /* floats */
  static constexpr int kGauss = Height * kPitch;
  static constexpr int kBytes = kGauss + Height * kGaussPitch * (int)sizeof(float);

  /* Where a group of a pixel lies in its row; pairs of groups change places every four pixels, so
   * that eight pixels lie in different banks. */
  __device__ __forceinline__ static int place(int x, int group)
  {
    return (x * kGroups + (group ^ (x >> 2 & 1))) * kGroupBytes;
  }

  /* Starts to load a row. Where nothing is mirrored, copies lie at distances that are known when
   * compiling. */
  template <bool Inside>
  __device__ __forceinline__ static void start_row(uint32_t to, uint32_t gauss_to,
                                                   const Level &fine, int first_x, int y)
  {
    constexpr int kCopies = (Width * kGroups + 31) / 32, kFloats = (Width + 31) / 32;
    const int lane = threadIdx.x % 32;
    const size_t start = (size_t)y * fine.width + (Inside ? first_x : 0);
    const uint4 *const group = fine.groups + start * kGroups;

    to += place(lane / kGroups, lane % kGroups);
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

  /* Loads the tile whose first pixel is (first_x, first_y), by `warps` warps. */
  __device__ __forceinline__ static void load(uint8_t *memory, const Level &fine, int first_x,
                                              int first_y, int warps)
  {
    const uint32_t to = smem_address(memory);
    const bool inside = first_x >= 0 && first_y >= 0 && first_x + Width <= fine.width &&
                        first_y + Height <= fine.height;

#pragma unroll 1
    for (int row = (int)threadIdx.x / 32; row < Height; row += warps) {
      const uint32_t line = to + row * kPitch;
      const uint32_t gauss = to + kGauss + row * kGaussPitch * (int)sizeof(float);

      if (inside)
        start_row<true>(line, gauss, fine, first_x, first_y + row);
      else
        start_row<false>(line, gauss, fine, first_x, mirrored(first_y + row, fine.height));
    }
    cp_async_commit_and_wait();
    __syncthreads();
  }
};

/* A sample of the next level's Gaussian, from the first of its 5 x 5. */
__device__ __forceinline__ float reduced_square(const float *from, int pitch)
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
