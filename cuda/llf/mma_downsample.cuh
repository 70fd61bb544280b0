/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Down the pyramid on tensor cores: rows as matrix products, columns as fp16 sums in registers.
 *
 * A warp makes a strip of 32 pixels of the coarse level and kRows rows, walking down the fine rows
 * below it: each is filtered across once and enters the three coarse rows that reach it.
 */
#pragma once

#include "cuda/llf/mma_common.cuh"

namespace cf::llf
{

/* A block has kAcross x kDown warps and works on kGroups groups of components. */
template <int Across, int Down, int Rows> struct Shape {
  static constexpr int kAcross = Across, kDown = Down, kRows = Rows;
  static constexpr int kThreads = 32 * kAcross * kDown;
  static constexpr int kCoarseX = 32 * kAcross, kCoarseY = kRows * kDown;
  static constexpr int kFineX = 2 * kCoarseX + 3, kFineY = 2 * kCoarseY + 3;
};

/* The same where a block has warps for the Gaussian beside those for the components. All load. */
template <typename Components, int GaussWarps> struct WithGauss : Components {
  static constexpr int kWarps = Components::kThreads / 32, kGaussThreads = 32 * GaussWarps;
  static constexpr int kThreads = 32 * kWarps + kGaussThreads;
};

/* --- the way of a strip --- */

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

__device__ __forceinline__ void add_row(Row *total, float tap, const Row &row, bool begins)
{
  const uint32_t factor = cf::pack_half2(tap, tap);

#pragma unroll
  for (int m = 0; m < 2; m++) {
#pragma unroll
    for (int q = 0; q < 2 * kGroups; q++)
      total->word[m][q] = begins ? hmul2_bits(factor, row.word[m][q])
                                 : hfma2_bits(factor, row.word[m][q], total->word[m][q]);
  }
}

/* `filter_row (r, &row)` filters fine row r of the strip across; `store (row)` takes the coarse
 * rows in order. Fine row 0 is two above the first coarse row. */
template <int Rows, typename FilterRow, typename Store>
__device__ __forceinline__ void reduce_strip(FilterRow filter_row, Store store)
{
  Row row, ending, current, starting;

  filter_row(0, &row);
  add_row(&current, kHalfEdge, row, true);
  filter_row(1, &row);
  add_row(&current, kHalfSide, row, false);
#pragma unroll 1
  for (int r = 0; r < Rows; r++) {
    filter_row(2 * r + 2, &row);
    if (r > 0) {
      add_row(&ending, kHalfEdge, row, false);
      store(ending);
    }
    add_row(&current, kHalfCentre, row, false);
    add_row(&starting, kHalfEdge, row, true);
    filter_row(2 * r + 3, &row);
    add_row(&current, kHalfSide, row, false);
    add_row(&starting, kHalfSide, row, false);
    ending = current;
    current = starting;
  }
  filter_row(2 * Rows + 2, &row);
  add_row(&ending, kHalfEdge, row, false);
  store(ending);
}

struct DownsampleOutput {
  Level coarse;
  int groups, first_group; /* of a pixel; of those this block makes */
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

/* Stores the rows of a strip, one after the other. Lane 4 p + t holds pair t of pixels p and p + 8
 * of each fragment. */
struct StripWriter {
  uint8_t *next;
  int pixel_bytes, width; /* of a pixel, of the level */
  int left, below;        /* pixels of the level from the lane's first one on */

  __device__ __forceinline__ StripWriter(const DownsampleOutput &target, int x, int y, int lane)
  {
    const Level &level = target.coarse;
    const int first = x + lane / 4;

    pixel_bytes = target.groups * kGroupBytes;
    width = level.width;
    left = width - first;
    below = level.height - y;
    next =
        reinterpret_cast<uint8_t *>(
            level.groups + ((size_t)y * level.width + first) * target.groups + target.first_group) +
        lane % 4 * 4;
  }

  __device__ __forceinline__ void write(const Row &row)
  {
    if (below-- <= 0)
      return;
#pragma unroll
    for (int i = 0; i < 4; i++) {
      uint8_t *const to = next + 8 * i * pixel_bytes;
      const int m = i / 2, half = i % 2;

      if (8 * i >= left)
        continue;
#pragma unroll
      for (int c = 0; c < kGroups; c++)
        *reinterpret_cast<uint32_t *>(to + c * kGroupBytes) = row.word[m][2 * c + half];
    }
    next += (ptrdiff_t)width * pixel_bytes;
  }
};

/* --- tiles of components in shared memory --- */

/* Components, and the intensities. */
template <typename S> struct TileMemory {
  static constexpr int kPitch =
      (S::kFineX * kGroups * kGroupBytes + 127) / 128 * 128; /* bytes of a row of components */
  static constexpr int kGaussPitch = S::kFineX + 1;
  static constexpr int kGauss = S::kFineY * kPitch;
  static constexpr int kBytes = kGauss + S::kFineY * kGaussPitch * (int)sizeof(float);

  /* Offset of a group of a pixel in its row; pairs of groups change places every four pixels, so
   * that eight pixels lie in different banks. */
  __device__ static int at(int x, int group)
  {
    return (x * kGroups + (group ^ (x >> 2 & 1))) * kGroupBytes;
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

/* A tile's Gaussian, by threads 0 .. kGaussThreads - 1 of those that make it. */
template <typename S>
__device__ __forceinline__ void reduce_gauss(const float *gauss, const DownsampleOutput &target,
                                             int x, int y, int thread)
{
  using M = TileMemory<S>;

  for (int i = thread; i < S::kCoarseX * S::kCoarseY; i += S::kGaussThreads) {
    const int column = i % S::kCoarseX, row = i / S::kCoarseX;

    target.store_gauss(
        x + column, y + row,
        reduced_square(gauss + 2 * row * M::kGaussPitch + 2 * column, M::kGaussPitch));
  }
}

/* The five fragments of a fine row of the tile. Fragments end within the row's pitch or repeat its
 * last pixel, where the taps are 0. */
template <typename S>
__device__ __forceinline__ void load_fine(uint32_t fine[5][2 * kGroups], uint32_t row, int strip_x,
                                          int lane)
{
  using M = TileMemory<S>;

#pragma unroll
  for (int j = 0; j < 5; j++) {
    const int x = min(2 * strip_x + 16 * j + lane % 16, S::kFineX - 1);

    cf::ldmatrix_x4_trans(fine[j], row + M::at(x, lane / 16));
  }
}

/* A warp's rows of a tile. */
template <typename S>
__device__ __forceinline__ void
reduce_components(const uint8_t *memory, const DownsampleOutput &target, int x, int y, int warp)
{
  using M = TileMemory<S>;
  const int lane = threadIdx.x % 32;
  const int strip_x = warp % S::kAcross * 32, strip_y = warp / S::kAcross * S::kRows;
  const Band band(lane);

  if (y + strip_y >= target.coarse.height)
    return;
  StripWriter writer(target, x + strip_x, y + strip_y, lane);

  reduce_strip<S::kRows>(
      [&](int row, Row *filtered) {
        uint32_t fine[5][2 * kGroups];
        load_fine<S>(fine, cf::smem_address(memory + (2 * strip_y + row) * M::kPitch), strip_x,
                     lane);
        band.filter(fine, filtered);
      },
      [&](const Row &filtered) { writer.write(filtered); });
}

template <typename S>
__device__ __forceinline__ void reduce_tile(const uint8_t *memory, const DownsampleOutput &target,
                                            int x, int y)
{
  const int warp = (int)threadIdx.x / 32;

  if (warp < S::kWarps)
    reduce_components<S>(memory, target, x, y, warp);
  else if (target.first_group == 0)
    reduce_gauss<S>(reinterpret_cast<const float *>(memory + TileMemory<S>::kGauss), target, x, y,
                    (int)threadIdx.x - 32 * S::kWarps);
}

using TileShape = WithGauss<Shape<1, 4, 2>, 2>;

inline DownsampleOutput output_of_level(const Pyramid &pyramid, int level, float top_gain)
{
  DownsampleOutput target = {pyramid.level[level], pyramid.groups, 0, top_gain};

  if (level < pyramid.images - 1)
    target.coarse.collapsed = nullptr;
  return target;
}

} // namespace cf::llf
