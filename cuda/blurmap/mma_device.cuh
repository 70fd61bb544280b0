/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * For the kernels of blur maps on tensor cores: which tile, samples and pixels a thread has.
 */
#pragma once

#include "cuda/blurmap/mma_types.cuh"
#include "cuda/common/alpha.cuh"
#include "cuda/common/half2.cuh"
#include "cuda/common/launch.cuh"

namespace cf::blurmap
{

/* With the frame's share of shared memory (MmaJob.shared_percent). */
inline bool launch_mma(void (*kernel)(MmaJob), const MmaJob *job, int ctas, int shared_bytes,
                       void *stream, const char *doing, CfStatus *status)
{
  return cf_cuda_ok(cudaFuncSetAttribute((const void *)kernel,
                                         cudaFuncAttributePreferredSharedMemoryCarveout,
                                         job->shared_percent),
                    doing, status) &&
         launch_job(kernel, job, ctas, kThreads, shared_bytes, stream, doing, status);
}

/* The image that this CTA makes part of; `*cta` is its number among those that do. */
__device__ inline MipDownsample downsample_of_cta(const MmaJob &job, int *cta)
{
  const bool inlined = job.downsamples <= kInlineDownsamples;
  int i = 0;

  while (i + 1 < job.downsamples &&
         (int)blockIdx.x >= (inlined ? job.inline_downsample : job.downsample)[i + 1].first_cta)
    i++;
  const MipDownsample downsample = inlined ? job.inline_downsample[i] : job.downsample[i];
  *cta = (int)blockIdx.x - downsample.first_cta;
  return downsample;
}

/* A tile's first column, and its first row: strips start at multiples of kStripRows. */
__device__ inline int tile_x(const MapPlane &plane, int tile)
{
  return tile % plane.tiles_x * kTileColumns;
}

__device__ inline int tile_y(const MapPlane &plane, int tile)
{
  return plane.first / kStripRows * kStripRows + tile / plane.tiles_x * kTileRows;
}

/* Column and row, in a strip, of a thread's result `i` of product `block`: two columns in row
 * `lane / 4`, then two 8 rows below. */
__device__ inline int sample_x(int block, int i)
{
  return 8 * block + 2 * ((int)threadIdx.x % 4) + i % 2;
}

__device__ inline int sample_y(int i)
{
  return (int)threadIdx.x % 32 / 4 + i / 2 * 8;
}

/* The first of the thread's two words of LODs (MmaJob.lods). */
__device__ inline size_t lods_of_thread()
{
  const size_t warp = (size_t)blockIdx.x * (kThreads / 32) + threadIdx.x / 32;

  return warp * 2 * 32 + threadIdx.x % 32;
}

__device__ inline int plane_of_tile(const MapJob &job, int tile)
{
  int p = 0;

  while (p + 1 < job.planes && tile >= job.plane[p + 1].first_tile)
    p++;
  return p;
}

/* The bytes of a pixel of a plane, in the order of its channels. */
template <int C> __device__ inline uint32_t pixel_inside(const MapPlane &plane, int x, int y)
{
  const uint8_t *from = plane.source + (ptrdiff_t)y * plane.source_stride + (ptrdiff_t)x * C;
  uint32_t bytes = 0;

  if (C == 4 && plane.vector)
    return __ldg((const uint32_t *)from);
#pragma unroll
  for (int c = 0; c < C; c++)
    bytes |= (uint32_t)__ldg(from + c) << 8 * c;
  return bytes;
}

/* The same where folding led to, which may be the colour of a constant border. Without branches, so
 * that many pixels load at a time. */
template <int C> __device__ inline uint32_t pixel_folded(const MapPlane &plane, int column, int row)
{
  const uint32_t inner = pixel_inside<C>(plane, max(column, 0), max(row, 0));
  uint32_t outer = 0;

#pragma unroll
  for (int c = 0; c < C; c++)
    outer |= (uint32_t)plane.border[c] << 8 * c;
  return (column | row) < 0 ? outer : inner;
}

/* The same of the map, of which nothing counts where the border is constant. */
__device__ inline uint32_t map_folded(const MapPlane &plane, int column, int row)
{
  const uint16_t *from =
      (const uint16_t *)((const uint8_t *)plane.map + max(row, 0) * plane.map_stride);

  return (column | row) < 0 ? 0 : __ldg(from + max(column, 0));
}

/* Byte `i` less the centre: 0x4b000000 + v is 2^23 + v. */
__device__ inline float centred_byte(uint32_t bytes, int i, float centre)
{
  return __uint_as_float(__byte_perm(bytes, 0x4b000000u, 0x7650u | (unsigned)i)) -
         (8388608.0f + centre);
}

/* The two lowest bytes, less 128, as halves: 0x6400 + v is the half 1024 + v. */
__device__ inline uint32_t centred_halves(uint32_t bytes)
{
  const __half2 biased = as_half2(__byte_perm(bytes, kExponentsOf1024, 0x4140));

  return as_bits(__hsub2(biased, __float2half2_rn(1152.0f)));
}

/* A pixel that counts by its map value, in halves: its channels times map and alpha, two in a word,
 * and then the map. Alpha and map come to 255 at most. */
template <int C> using Weighed = uint32_t[C / 2 + 1];

template <int C>
__device__ inline void weigh(const MapPlane &plane, uint32_t pixel, uint32_t map, Weighed<C> &value)
{
  constexpr uint32_t k255 = 0x5bf85bf8;
  const float m = (__uint_as_float(map | 0x4b000000u) - 8388608.0f) * (1.0f / CF_MAP_ONE);
  const bool by_alpha = C == 4 && plane.alpha >= 0;
  const float share = by_alpha ? alpha_weight(m * centred_byte(pixel, plane.alpha, 0.0f)) : m;
  const uint32_t maps = pack_half2(m, m), shares = by_alpha ? pack_half2(share, share) : maps;

#pragma unroll
  for (int k = 0; k <= C / 2; k++) {
    uint32_t pair = 2 * k < C ? centred_halves(pixel >> 16 * (k % 2)) : k255;

    if (2 * k + 1 == C || (C == 4 && k == 1 && plane.alpha == 3))
      pair = __byte_perm(pair, k255, 0x5410);
    if (C == 4 && k == 0 && plane.alpha == 0)
      pair = __byte_perm(pair, k255, 0x3254);
    value[k] = hmul2_bits(pair, 2 * k < C ? shares : maps);
  }
}

/* Channel `c` of two such pixels, or sums of them, side by side. */
template <int C>
__device__ inline uint32_t channel_of_two(const Weighed<C> &left, const Weighed<C> &right, int c)
{
  uint32_t low = left[0], high = right[0];

#pragma unroll
  for (int k = 1; k <= C / 2; k++) {
    low = c / 2 == k ? left[k] : low;
    high = c / 2 == k ? right[k] : high;
  }
  return __byte_perm(low, high, c % 2 ? 0x7632 : 0x5410);
}

} // namespace cf::blurmap
