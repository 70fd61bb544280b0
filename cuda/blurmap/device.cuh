/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Device functions for the kernels of blur maps: which tile, samples and pixels a thread has.
 */
#pragma once

#include "cuda/blurmap/frame_types.cuh"
#include "cuda/common/alpha.cuh"
#include "cuda/common/half2.cuh"
#include "cuda/common/launch.cuh"

namespace cf::blurmap
{

/* Launches with the frame's carveout of shared memory (FrameJob.shared_percent). */
inline bool launch_mma(void (*kernel)(FrameJob), const FrameJob *job, int ctas, int shared_bytes,
                       void *stream, const char *doing, CfStatus *status)
{
  return (job->shared_percent < 0 ||
          cf::prefer_carveout((const void *)kernel, job->shared_percent, doing, status)) &&
         launch_job(kernel, job, ctas, kThreads, shared_bytes, stream, doing, status);
}

/* The image that this CTA makes a part of; `*cta` is its number among the CTAs of that image. */
__device__ inline MipDownsample downsample_of_cta(const FrameJob &job, int *cta)
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

/* The first column and row of a tile. Rows of tiles start at a multiple of kStripRows. */
__device__ inline int tile_x(const MapPlane &plane, int tile)
{
  return tile % plane.tiles_x * kTileColumns;
}

__device__ inline int tile_y(const MapPlane &plane, int tile)
{
  return plane.first / kStripRows * kStripRows + tile / plane.tiles_x * kTileRows;
}

/* Column and row in a strip of a thread's accumulator `i` of product `block`: 0 and 1 are two
 * columns of row lane / 4, 2 and 3 the same columns 8 rows below. */
__device__ inline int sample_x(int block, int i)
{
  return 8 * block + 2 * ((int)threadIdx.x % 4) + i % 2;
}

__device__ inline int sample_y(int i)
{
  return (int)threadIdx.x % 32 / 4 + i / 2 * 8;
}

/* The index of the first of the thread's two words of FrameJob.lods; the second is 32 further. */
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

/* The bytes of the pixel at (x, y), which is inside the plane, in the order of memory. */
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

/* The bytes of the pixel at indices from fold_index(); -1 is the constant border. Without branches,
 * so that the loads of several pixels overlap. */
template <int C> __device__ inline uint32_t pixel_folded(const MapPlane &plane, int column, int row)
{
  const uint32_t inner = pixel_inside<C>(plane, max(column, 0), max(row, 0));
  uint32_t outer = 0;

#pragma unroll
  for (int c = 0; c < C; c++)
    outer |= (uint32_t)plane.border[c] << 8 * c;
  return (column | row) < 0 ? outer : inner;
}

__device__ inline const __half *map_at(const MapPlane &plane, int x, int y)
{
  return (const __half *)((const uint8_t *)plane.map + y * plane.map_stride) + x;
}

/* The map's value at indices from fold_index(); it is 0 at the constant border. */
__device__ inline __half map_folded(const MapPlane &plane, int column, int row)
{
  return (column | row) < 0 ? __ushort_as_half(0)
                            : __ldg(map_at(plane, max(column, 0), max(row, 0)));
}

/* The two lowest of `bytes` as fp16, less two numbers. `biased` are these plus 1024, as fp16: the
 * bits 0x6400 + v are the number 1024 + v. */
__device__ inline uint32_t bytes_less(uint32_t bytes, uint32_t biased)
{
  return as_bits(__hsub2(as_half2(__byte_perm(bytes, kExponentsOf1024, 0x4140)), as_half2(biased)));
}

/* A pixel as fp16, two channels in a word, alpha last. From colours 128 is subtracted, from alpha
 * 255, and colours are premultiplied by alpha. With map_isolate, all channels are multiplied by the
 * map's value, and nothing is subtracted from alpha. */
template <int C> using PixelHalves = uint32_t[(C + 1) / 2];

/* The channel of a plane at place `i` in PixelHalves. */
template <int C> __device__ inline int channel_of(const MapPlane &plane, int i)
{
  return channel_with_alpha_last(C == 4 && plane.alpha == 0, i);
}

/* Converts a pixel. `maps`: the map's value twice, or those of the two pixels in `pixel`.
 * `translucent`: alpha may be below 255. */
template <int C, bool Isolates>
__device__ inline void to_halves(const MapPlane &plane, uint32_t pixel, uint32_t maps,
                                 bool translucent, PixelHalves<C> &value)
{
  constexpr uint32_t k128 = 0x64806480, k128AndMost = Isolates ? 0x64006480 : 0x64ff6480;
  constexpr uint32_t kOnes = 0x3c003c00;
  const bool by_alpha = C == 4 && plane.alpha >= 0;
  uint32_t shares = Isolates ? maps : kOnes, last_shares = shares;

  if (C == 4)
    pixel = __funnelshift_r(pixel, pixel, plane.alpha == 0 ? 8 : 0);
  if (by_alpha && translucent) {
    const uint32_t alphas = bytes_less(__byte_perm(pixel, 0, 0x33), 0x64006400);

    shares = hmul2_bits(shares, hmul2_bits(alphas, as_bits(__float2half2_rn(1.0f / 255))));
    last_shares = __byte_perm(shares, last_shares, 0x5410);
  }
#pragma unroll
  for (int k = 0; k < (C + 1) / 2; k++) {
    const bool has_alpha = by_alpha && k == 1;

    value[k] = bytes_less(pixel >> 16 * k, has_alpha ? k128AndMost : k128);
    if (Isolates || (by_alpha && translucent))
      value[k] = hmul2_bits(value[k], has_alpha ? last_shares : shares);
  }
}

/* Channel `c` of two pixels or sums of pixels, as a pair. */
template <int C>
__device__ inline uint32_t channel_of_two(const PixelHalves<C> &left, const PixelHalves<C> &right,
                                          int c)
{
  const bool second = C > 2 && c >= 2;

  return __byte_perm(left[second ? (C - 1) / 2 : 0], right[second ? (C - 1) / 2 : 0],
                     c % 2 ? 0x7632 : 0x5410);
}

} // namespace cf::blurmap
