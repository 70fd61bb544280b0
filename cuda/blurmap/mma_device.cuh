/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * For the kernels of blur maps on tensor cores: which tile, samples and pixels a thread has.
 */
#pragma once

#include "cuda/blurmap/mma_types.cuh"
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

/* Byte `i` less the centre: 0x4b000000 + v is 2^23 + v. */
__device__ inline float centred_byte(uint32_t bytes, int i, float centre)
{
  return __uint_as_float(__byte_perm(bytes, 0x4b000000u, 0x7650u | (unsigned)i)) -
         (8388608.0f + centre);
}

} // namespace cf::blurmap
