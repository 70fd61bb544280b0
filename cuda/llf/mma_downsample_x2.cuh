/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Two levels of the pyramid at once, where the chain of coarse levels is what a frame waits for:
 * each block makes what its tile of the coarser level needs of the finer one by itself.
 */
#pragma once

#include "cuda/llf/mma_tile_load.cuh"

namespace cf::llf
{

/* A tile of the coarser level, of the one in the middle with its margin, and of the finest. */
template <int Rows> struct FusedTile {
  static constexpr int kTileX = 8, kTileY = Rows;
  static constexpr int kCoarseX = 2 * kTileX + 3, kCoarseY = 2 * kTileY + 3;
  static constexpr int kFineX = 2 * kCoarseX + 3, kFineY = 2 * kCoarseY + 3;
  /* Warps that make components of the middle level, and Gaussians. */
  static constexpr int kWarps = (kCoarseY + 1) / 2, kGaussWarps = 16 - kWarps, kThreads = 512;
  /* Shared memory behind that of the finest level. */
  static constexpr int kPitch = (kCoarseX * kGroups * kGroupBytes + 127) / 128 * 128;
  static constexpr int kMiddle = (TileMemory<FusedTile>::kBytes + 127) / 128 * 128;
  static constexpr int kMiddleGauss = kMiddle + kCoarseY * kPitch;
  static constexpr int kBytes = kMiddleGauss + kCoarseX * kCoarseY * (int)sizeof(float);
};

/* The middle level in the block's shared memory: beyond the level's border it is mirrored. */
template <typename S> struct Middle {
  uint8_t *components;
  float *gauss;
  int x, y, width, height;

  __device__ int column(int i) const
  {
    return min(max(mirrored(x + i, width) - x, 0), S::kCoarseX - 1);
  }

  __device__ int row(int i) const
  {
    return min(max(mirrored(y + i, height) - y, 0), S::kCoarseY - 1);
  }

  /* Whether a pixel is the block's own, and not the margin. */
  __device__ bool owns(int column, int row) const
  {
    return column >= 2 && column < 2 + 2 * S::kTileX && row >= 2 && row < 2 + 2 * S::kTileY &&
           x + column < width && y + row < height;
  }
};

/* Filters the rows 2 y .. 2 y + 4 of `line_of (row)` across, of which `place[j]` is where a lane's
 * pixel of the j-th 16 lies, and then down. Word c of made[0] are 8 pixels of group c / 2, the
 * second 8 if c is odd; with WIDE, made[1] are a few more. */
template <bool Wide, typename LineOf>
__device__ __forceinline__ void reduce_row(const Band &band, const uint32_t *places, LineOf line_of,
                                           uint32_t (&made)[2][2 * kGroups])
{
  constexpr float kTaps[5] = {kHalfEdge, kHalfSide, kHalfCentre, kHalfSide, kHalfEdge};
  constexpr int kParts = Wide ? 3 : 2;

#pragma unroll
  for (int k = 0; k < 5; k++) {
    const uint32_t line = line_of(k), tap = cf::pack_half2(kTaps[k], kTaps[k]);
    uint32_t pixels[kParts][2 * kGroups];

#pragma unroll
    for (int j = 0; j < kParts; j++) {
      cf::ldmatrix_x4_trans(pixels[j], places[j] + line);
    }
#pragma unroll
    for (int c = 0; c < 2 * kGroups; c += 2) {
      uint32_t sum[2][2];

      mma_f16(sum[0], band.a[0], pixels[0][c], pixels[0][c + 1], 0, 0);
      mma_f16(sum[0], band.a[1], pixels[1][c], pixels[1][c + 1], sum[0][0], sum[0][1]);
      if constexpr (Wide) {
        mma_f16_k8(sum[0], band.a[2][0], band.a[2][1], pixels[2][c], sum[0][0], sum[0][1]);
        /* Few more are used, which the band's first part makes. */
        mma_f16(sum[1], band.a[0], pixels[2][c], pixels[2][c + 1], 0, 0);
      }
#pragma unroll
      for (int m = 0; m < (Wide ? 2 : 1); m++) {
#pragma unroll
        for (int i = 0; i < 2; i++)
          made[m][c + i] =
              k == 0 ? hmul2_bits(tap, sum[m][i]) : hfma2_bits(tap, sum[m][i], made[m][c + i]);
      }
    }
  }
}

/* Row `row` of the middle level. */
template <typename S>
__device__ __forceinline__ void reduce_to_middle(uint32_t fine, const Middle<S> &middle,
                                                 const DownsampleOutput &target, const Band &band,
                                                 int row)
{
  using M = TileMemory<S>;
  const int lane = threadIdx.x % 32;
  uint32_t places[3], made[2][2 * kGroups];

#pragma unroll
  for (int j = 0; j < 3; j++)
    places[j] = fine + M::at(min(16 * j + lane % 16, S::kFineX - 1), lane / 16);
  reduce_row<true>(
      band, places, [&](int k) { return (2 * row + k) * M::kPitch; }, made);

  uint8_t *const line = middle.components + row * S::kPitch + lane % 4 * 4;
  const ptrdiff_t to = (ptrdiff_t)(middle.y + row) * middle.width + middle.x;
#pragma unroll
  for (int i = 0; i < 3; i++) {
    const int column = 8 * i + lane / 4;

    if (column >= S::kCoarseX)
      continue;
#pragma unroll
    for (int c = 0; c < kGroups; c++)
      *reinterpret_cast<uint32_t *>(line + M::at(column, c)) = made[i / 2][2 * c + i % 2];
    if (!middle.owns(column, row))
      continue;
#pragma unroll
    for (int c = 0; c < kGroups; c++)
      reinterpret_cast<uint32_t *>(target.coarse.groups + (to + column) * target.groups +
                                   target.first_group + c)[lane % 4] = made[i / 2][2 * c + i % 2];
  }
}

/* The Gaussian, by warps of its own. */
template <typename S>
__device__ __forceinline__ void reduce_gauss_to_middle(const float *gauss, const Middle<S> &middle,
                                                       const DownsampleOutput &target, int thread)
{
  using M = TileMemory<S>;
  constexpr int X = S::kCoarseX, kThreads = 32 * S::kGaussWarps;

  for (int i = thread; i < S::kCoarseY * X; i += kThreads) {
    const int column = i % X, row = i / X;
    const float made =
        reduced_square(gauss + 2 * row * M::kGaussPitch + 2 * column, M::kGaussPitch);

    middle.gauss[i] = made;
    if (target.first_group == 0 && middle.owns(column, row))
      target.store_gauss(middle.x + column, middle.y + row, made);
  }
}

/* Row `row` of a tile of the coarser level. */
template <typename S>
__device__ __forceinline__ void reduce_middle(const Middle<S> &middle,
                                              const DownsampleOutput &target, const Band &band,
                                              int tile_x, int tile_y, int row)
{
  using M = TileMemory<S>;
  const int lane = threadIdx.x % 32, x = tile_x + lane / 4, y = tile_y + row;
  uint32_t places[2], made[2][2 * kGroups];

#pragma unroll
  for (int j = 0; j < 2; j++)
    places[j] =
        cf::smem_address(middle.components) + M::at(middle.column(16 * j + lane % 16), lane / 16);
  reduce_row<false>(
      band, places, [&](int k) { return middle.row(2 * row + k) * S::kPitch; }, made);
  if (x >= target.coarse.width || y >= target.coarse.height)
    return;
#pragma unroll
  for (int c = 0; c < kGroups; c++)
    reinterpret_cast<uint32_t *>(target.coarse.groups +
                                 ((ptrdiff_t)y * target.coarse.width + x) * target.groups +
                                 target.first_group + c)[lane % 4] = made[0][2 * c];
}

template <typename S>
__device__ __forceinline__ void reduce_middle_gauss(const Middle<S> &middle,
                                                    const DownsampleOutput &target, int tile_x,
                                                    int tile_y, int i)
{
  const int x = i % S::kTileX, y = i / S::kTileX;
  int columns[5];
  float down[5];

  if (i >= S::kTileX * S::kTileY)
    return;
#pragma unroll
  for (int k = 0; k < 5; k++)
    columns[k] = middle.column(2 * x + k);
#pragma unroll
  for (int k = 0; k < 5; k++) {
    const float *const line = middle.gauss + middle.row(2 * y + k) * S::kCoarseX;
    down[k] = reduced(line[columns[0]], line[columns[1]], line[columns[2]], line[columns[3]],
                      line[columns[4]]);
  }
  target.store_gauss(tile_x + x, tile_y + y, reduced(down[0], down[1], down[2], down[3], down[4]));
}

/* Both levels, in tiles of the coarser one; `parts` share a pixel's components. */
struct FusedLevels {
  Level fine;
  DownsampleOutput first, second;
  int across, parts, tasks; /* a block each */
};

template <int Rows>
__device__ __forceinline__ void make_fused_tile(uint8_t *memory, const FusedLevels &levels,
                                                int task)
{
  using S = FusedTile<Rows>;
  using M = TileMemory<S>;
  const int warp = threadIdx.x / 32, tile = task / levels.parts, tile_y = tile / levels.across;
  const int x = (tile - tile_y * levels.across) * S::kTileX, y = tile_y * S::kTileY;
  float *const gauss = reinterpret_cast<float *>(memory + M::kGauss);
  const Middle<S> middle = {memory + S::kMiddle,
                            reinterpret_cast<float *>(memory + S::kMiddleGauss),
                            2 * x - 2,
                            2 * y - 2,
                            levels.first.coarse.width,
                            levels.first.coarse.height};
  DownsampleOutput middle_target = levels.first, target = levels.second;

  middle_target.first_group = target.first_group = task % levels.parts * kGroups;
  const Band band(threadIdx.x % 32);
  pdl_wait_then_trigger();
  load_tile<S>(memory, gauss, levels.fine, target.groups, target.first_group, middle.x, middle.y);
  __syncthreads();
  if (warp < S::kWarps) {
    for (int row = warp; row < S::kCoarseY; row += S::kWarps)
      reduce_to_middle<S>(cf::smem_address(memory), middle, middle_target, band, row);
  } else {
    reduce_gauss_to_middle<S>(gauss, middle, middle_target, threadIdx.x - 32 * S::kWarps);
  }
  __syncthreads();
  if (warp < S::kTileY)
    reduce_middle<S>(middle, target, band, x, y, warp);
  else if (target.first_group == 0)
    reduce_middle_gauss<S>(middle, target, x, y, threadIdx.x - 32 * S::kTileY);
}

/* The two levels behind `fine`, as mma_downsample() makes one. */
template <int Rows> FusedLevels fused_levels(const Pyramid &pyramid, int fine, float top_gain)
{
  const DownsampleOutput first = output_of_level(pyramid, fine + 1, top_gain);
  const DownsampleOutput second = output_of_level(pyramid, fine + 2, top_gain);
  const int across = blocks(second.coarse.width, FusedTile<Rows>::kTileX);
  const int parts = pyramid.groups > 2 ? pyramid.groups / 2 : 1;
  const int tasks = across * blocks(second.coarse.height, Rows) * parts;

  return FusedLevels{pyramid.level[fine], first, second, across, parts, tasks};
}

} // namespace cf::llf
