/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Two levels of the pyramid at once, in small pictures, where the chain of coarse levels is what a
 * frame waits for: what a tile of the coarser level needs of the finer one is made with it.
 */
#include "cuda/llf/mma_downsample.cuh"

namespace cf::llf
{
namespace
{

/* A tile of the coarser level, of the one in the middle with its margin, and of the finest. */
constexpr int kTileX = 8, kTileY = 9, kMiddleX = 2 * kTileX + 3, kMiddleY = 2 * kTileY + 3;
using Fine = FineTile<2 * kMiddleX + 3, 2 * kMiddleY + 3>;

/* Warps that make components of the middle level, and Gaussians. */
constexpr int kWarps = (kMiddleY + 1) / 2, kGaussWarps = 16 - kWarps, kThreads = 512;

/* Tiles of a CTA, side by side, at most. */
constexpr int kMostTiles = 2;

/* Shared memory of a tile, behind that of the finest level. */
constexpr int kPitch = (kMiddleX * kGroups * kGroupBytes + 127) / 128 * 128;
constexpr int kMiddle = (Fine::kBytes + 127) / 128 * 128;
constexpr int kMiddleGauss = kMiddle + kMiddleY * kPitch;
constexpr int kMiddleGaussBytes = (kMiddleX * kMiddleY * (int)sizeof(float) + 127) / 128 * 128;
constexpr int kBytes = kMiddleGauss + kMiddleGaussBytes;

/* The middle level in the CTA's shared memory: beyond the level's border it is mirrored. */
struct Middle {
  uint8_t *components;
  float *gauss;
  int x, y, width, height;

  __device__ int column(int i) const
  {
    return min(max(mirrored(x + i, width) - x, 0), kMiddleX - 1);
  }

  __device__ int row(int i) const
  {
    return min(max(mirrored(y + i, height) - y, 0), kMiddleY - 1);
  }

  /* Whether a pixel is the CTA's own, and not the margin. */
  __device__ bool owns(int column, int row) const
  {
    return column >= 2 && column < 2 + 2 * kTileX && row >= 2 && row < 2 + 2 * kTileY &&
           x + column < width && y + row < height;
  }
};

/* Filters the rows 2 y .. 2 y + 4 of `line_of (row)` across, of which `place[j]` is where a lane's
 * pixel of the j-th 16 lies, and then down. Word c of made[0] are 8 pixels of group c / 2, the
 * second 8 if c is odd; with Wide, made[1] are a few more. */
template <bool Wide, typename LineOf>
__device__ __forceinline__ void reduce_row(const Band &band, const uint32_t *places, LineOf line_of,
                                           uint32_t (&made)[2][2 * kGroups])
{
  constexpr float kTaps[5] = {kHalfEdge, kHalfSide, kHalfCentre, kHalfSide, kHalfEdge};
  constexpr int kParts = Wide ? 3 : 2;

#pragma unroll
  for (int k = 0; k < 5; k++) {
    const uint32_t line = line_of(k), tap = pack_half2(kTaps[k], kTaps[k]);
    uint32_t pixels[kParts][2 * kGroups];

#pragma unroll
    for (int j = 0; j < kParts; j++)
      ldmatrix_x4_trans(pixels[j], places[j] + line);
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
__device__ __forceinline__ void reduce_to_middle(uint32_t fine, const Middle &middle,
                                                 const Level &target, const Band &band, int row)
{
  const int lane = threadIdx.x % 32;
  uint32_t places[3], made[2][2 * kGroups];

#pragma unroll
  for (int j = 0; j < 3; j++)
    places[j] = fine + Fine::place(min(16 * j + lane % 16, Fine::kWidth - 1), lane / 16);
  reduce_row<true>(
      band, places, [&](int k) { return (2 * row + k) * Fine::kPitch; }, made);

  uint8_t *const line = middle.components + row * kPitch + lane % 4 * 4;
  uint4 *const to =
      target.groups + ((ptrdiff_t)(middle.y + row) * middle.width + middle.x) * kGroups;
#pragma unroll
  for (int i = 0; i < 3; i++) {
    const int column = 8 * i + lane / 4;

    if (column >= kMiddleX)
      continue;
#pragma unroll
    for (int c = 0; c < kGroups; c++) {
      const uint32_t pair = made[i / 2][2 * c + i % 2];

      *reinterpret_cast<uint32_t *>(line + Fine::place(column, c)) = pair;
      if (middle.owns(column, row))
        reinterpret_cast<uint32_t *>(to + column * kGroups + c)[lane % 4] = pair;
    }
  }
}

/* The Gaussian, by warps of its own. */
__device__ __forceinline__ void reduce_gauss_to_middle(const float *gauss, const Middle &middle,
                                                       const DownsampleOutput &target, int thread)
{
  for (int i = thread; i < kMiddleY * kMiddleX; i += 32 * kGaussWarps) {
    const int column = i % kMiddleX, row = i / kMiddleX;
    const float made =
        reduced_square(gauss + 2 * row * Fine::kGaussPitch + 2 * column, Fine::kGaussPitch);

    middle.gauss[i] = made;
    if (middle.owns(column, row))
      target.store_gauss(middle.x + column, middle.y + row, made);
  }
}

/* Row `row` of a tile of the coarser level. */
__device__ __forceinline__ void reduce_middle(const Middle &middle, const Level &target,
                                              const Band &band, int tile_x, int tile_y, int row)
{
  const int lane = threadIdx.x % 32, x = tile_x + lane / 4, y = tile_y + row;
  uint32_t places[2], made[2][2 * kGroups];

#pragma unroll
  for (int j = 0; j < 2; j++)
    places[j] =
        smem_address(middle.components) + Fine::place(middle.column(16 * j + lane % 16), lane / 16);
  reduce_row<false>(
      band, places, [&](int k) { return middle.row(2 * row + k) * kPitch; }, made);
  if (x >= target.width || y >= target.height)
    return;
#pragma unroll
  for (int c = 0; c < kGroups; c++)
    reinterpret_cast<uint32_t *>(target.groups + ((ptrdiff_t)y * target.width + x) * kGroups +
                                 c)[lane % 4] = made[0][2 * c];
}

__device__ __forceinline__ void reduce_middle_gauss(const Middle &middle,
                                                    const DownsampleOutput &target, int tile_x,
                                                    int tile_y, int i)
{
  const int x = i % kTileX, y = i / kTileX;
  int columns[5];
  float down[5];

  if (i >= kTileX * kTileY)
    return;
#pragma unroll
  for (int k = 0; k < 5; k++)
    columns[k] = middle.column(2 * x + k);
#pragma unroll
  for (int k = 0; k < 5; k++) {
    const float *const line = middle.gauss + middle.row(2 * y + k) * kMiddleX;
    down[k] = reduced(line[columns[0]], line[columns[1]], line[columns[2]], line[columns[3]],
                      line[columns[4]]);
  }
  target.store_gauss(tile_x + x, tile_y + y, reduced(down[0], down[1], down[2], down[3], down[4]));
}

/* Level `second`, of which a CTA has `Tiles` tiles side by side, and `first`, between it and
 * `fine`.
 */
template <int Tiles>
__global__ void __launch_bounds__(Tiles *kThreads, 1)
    downsample_x2_kernel(const __grid_constant__ Level fine,
                         const __grid_constant__ DownsampleOutput first,
                         const __grid_constant__ DownsampleOutput second)
{
  extern __shared__ __align__(128) uint8_t shared[];
  uint8_t *const memory = shared + threadIdx.y * kBytes;
  const int x = (blockIdx.x * Tiles + threadIdx.y) * kTileX, y = blockIdx.y * kTileY;
  const int warp = threadIdx.x / 32;
  const float *const gauss = reinterpret_cast<const float *>(memory + Fine::kGauss);
  const Middle middle = {memory + kMiddle,   reinterpret_cast<float *>(memory + kMiddleGauss),
                         2 * x - 2,          2 * y - 2,
                         first.coarse.width, first.coarse.height};
  const Band band(threadIdx.x % 32);

  pdl_wait_then_trigger();
  Fine::load(memory, fine, 2 * middle.x - 2, 2 * middle.y - 2, kThreads / 32);
  if (warp < kWarps) {
    for (int row = warp; row < kMiddleY; row += kWarps)
      reduce_to_middle(smem_address(memory), middle, first.coarse, band, row);
  } else {
    reduce_gauss_to_middle(gauss, middle, first, threadIdx.x - 32 * kWarps);
  }
  __syncthreads();
  if (warp < kTileY)
    reduce_middle(middle, second.coarse, band, x, y, warp);
  else
    reduce_middle_gauss(middle, second, x, y, threadIdx.x - 32 * kTileY);
}

/* Two where one each would take more than half of the SMs at once: on the other half the coarse
 * levels' cluster, whose CTAs need SMs near to each other, and terms of levels 0 and 1 begin. */
int tiles_of_cta(const Gpu &gpu, dim3 tiles)
{
  const int count = (int)(tiles.x * tiles.y), sms = gpu.multiprocessors;
  const bool room = kMostTiles * kBytes <= gpu.shared_per_block;

  return room && 2 * count > sms && count <= sms ? kMostTiles : 1;
}

} // namespace

bool mma_downsample_x2(Queue *queue, const Pyramid &pyramid, int fine, float top_gain)
{
  const DownsampleOutput first = output_of_level(pyramid, fine + 1, top_gain);
  const DownsampleOutput second = output_of_level(pyramid, fine + 2, top_gain);
  const dim3 tiles(blocks(second.coarse.width, kTileX), blocks(second.coarse.height, kTileY));

  auto launch_kernel = [&](auto kernel, int each) {
    return launch(queue, "llf reduce twice", kernel, dim3(blocks(tiles.x, each), tiles.y),
                  dim3(kThreads, each), each * kBytes, pyramid.level[fine], first, second);
  };

  return tiles_of_cta(queue->gpu, tiles) == kMostTiles
             ? launch_kernel(downsample_x2_kernel<kMostTiles>, kMostTiles)
             : launch_kernel(downsample_x2_kernel<1>, 1);
}

} // namespace cf::llf
