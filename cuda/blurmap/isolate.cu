/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The kernels of map_isolate around the blurs: a thread makes a sample of one channel.
 */
#include "cuda/blurmap/isolate.cuh"

#include "cuda/blurmap/fp32_sigma_lookup.cuh"
#include "cuda/common/border.cuh"
#include "cuda/common/int_math.cuh"
#include "cuda/common/launch.cuh"

namespace cf::blurmap
{

namespace
{

constexpr int kThreads = 256;

/* Up to it samples gather by themselves; up to the other where little counts around them: so many
 * times as little as the sample itself. It lies in a gap of what stays sharp, such as hair, and
 * sees what is far away by the tails of its Gaussian alone. */
constexpr float kSmallSigma = 1.0f, kGapSigma = 12.0f;
constexpr int kGap = 16;

/* Row `y` of a plane of 16 bits. */
__device__ inline uint16_t *row_of(const uint16_t *plane, ptrdiff_t stride, int y)
{
  return (uint16_t *)((uint8_t *)plane + (ptrdiff_t)y * stride);
}

/* What pads a row is its last sample: who interpolates at that reads the next one, too, if only to
 * weigh it by 0. */
template <typename Sample>
__global__ void __launch_bounds__(kThreads) read_map(const __grid_constant__ MapJob job)
{
  __shared__ CfTileShapes no_shapes;
  const MapPlane &plane = job.plane[0];
  const int x = (int)(blockIdx.x * kThreads + threadIdx.x), y = (int)blockIdx.y;
  const int from = min(x, plane.width - 1);

  if (x < (int)(plane.destination_stride / (ptrdiff_t)sizeof(uint16_t)))
    ((uint16_t *)(plane.destination + (ptrdiff_t)y * plane.destination_stride))[x] =
        (uint16_t)fmaf(map_at<Sample>(job, plane, no_shapes, from, y), (float)CF_MAP_ONE, 0.5f);
}

template <typename Sample>
__device__ inline int code_of(const IsolatePlane &plane, int x, int y, int channel)
{
  const Sample *row = (const Sample *)(plane.source + (ptrdiff_t)y * plane.source_stride);

  return (int)row[(size_t)x * plane.channels + channel] >> plane.shift;
}

__device__ inline bool is_weighted(const IsolatePlane &plane)
{
  return plane.alpha >= 0 && plane.channel != plane.alpha;
}

template <typename Sample>
__global__ void __launch_bounds__(kThreads) multiply(const __grid_constant__ IsolatePlane plane)
{
  const int x = (int)(blockIdx.x * kThreads + threadIdx.x), y = (int)blockIdx.y;
  const float share = 1.0f / (float)plane.max_code;

  if (x >= plane.width)
    return;
  float value = (float)row_of(plane.map, plane.stride, y)[x] * share *
                (float)code_of<Sample>(plane, x, y, plane.channel);
  if (is_weighted(plane))
    value *= share * (float)code_of<Sample>(plane, x, y, plane.alpha);
  row_of(plane.product, plane.stride, y)[x] = (uint16_t)(value + 0.5f);
}

/* As the CPU's gather: what the definition says; false where nothing counts. */
template <typename Sample>
__device__ inline bool gather(const IsolatePlane &plane, int x, int y, float across, float down,
                              float *value)
{
  const int radius_x = (int)ceilf(4.0f * across), radius_y = (int)ceilf(4.0f * down);
  const float steep_x = -0.5f / fmaxf(across * across, 1e-4f);
  const float steep_y = -0.5f / fmaxf(down * down, 1e-4f);
  float sum = 0.0f, weights = 0.0f;

  for (int j = -radius_y; j <= radius_y; j++) {
    const int v = fold_index(plane.border, y + j, plane.height);
    const float tap = expf(steep_y * (float)(j * j));

    for (int i = -radius_x; v >= 0 && i <= radius_x; i++) {
      const int u = fold_index(plane.border, x + i, plane.width);

      if (u < 0)
        continue;
      float weight =
          tap * expf(steep_x * (float)(i * i)) * (float)row_of(plane.map, plane.stride, v)[u];
      if (is_weighted(plane))
        weight *= (float)code_of<Sample>(plane, u, v, plane.alpha);
      weights += weight;
      sum = fmaf(weight, (float)code_of<Sample>(plane, u, v, plane.channel), sum);
    }
  }
  *value = sum / weights;
  return weights > 0.0f;
}

/* A channel of a sample; false where nothing that counts is to be seen. */
template <typename Sample>
__device__ inline bool isolate(const IsolatePlane &plane, int x, int y, int map, int weights,
                               float *value)
{
  const float m = (float)map * (1.0f / CF_MAP_ONE);
  const float across = m * plane.sigma_x, down = m * plane.sigma_y;
  const bool weighted = is_weighted(plane);

  if (fmaxf(across, down) <= (weights < map / kGap ? kGapSigma : kSmallSigma))
    return gather<Sample>(plane, x, y, across, down, value);

  const uint16_t *blurred = plane.alpha >= 0 && !weighted ? plane.alpha_weights : plane.blurred;
  const int by = weighted ? row_of(plane.alpha_weights, plane.stride, y)[x] : weights;
  *value = (float)row_of(blurred, plane.stride, y)[x] * (float)plane.max_code / (float)by;
  return by > 0;
}

template <typename Sample>
__global__ void __launch_bounds__(kThreads) divide(const __grid_constant__ IsolatePlane plane)
{
  const int x = (int)(blockIdx.x * kThreads + threadIdx.x), y = plane.first + (int)blockIdx.y;

  if (x >= plane.width)
    return;
  const int map = row_of(plane.map, plane.stride, y)[x];
  const int weights = row_of(plane.weights, plane.stride, y)[x];
  Sample *to = (Sample *)(plane.destination + (ptrdiff_t)y * plane.destination_stride);
  float value;

  if (map == 0 || weights == 0)
    value = (float)code_of<Sample>(plane, x, y, plane.channel);
  else if (!isolate<Sample>(plane, x, y, map, weights, &value))
    value = plane.blank;
  to[(size_t)x * plane.channels + plane.channel] =
      (Sample)((int)fminf(fmaxf(value + 0.5f, 0.0f), (float)plane.max_code) << plane.shift);
}

Launch launch_of(int width, int rows, void *stream)
{
  Launch how = {};

  how.grid = dim3((unsigned)div_up(width, kThreads), (unsigned)rows);
  how.block = dim3(kThreads);
  how.stream = (cudaStream_t)stream;
  return how;
}

} // namespace

bool isolate_read_map(const MapJob *job, int p, const IsolatePlane *plane, bool wide, void *stream,
                      CfStatus *status)
{
  MapJob of_plane = *job;

  of_plane.planes = 1;
  of_plane.plane[0] = job->plane[p];
  of_plane.plane[0].destination = (uint8_t *)plane->map;
  of_plane.plane[0].destination_stride = plane->stride;
  const int stored = (int)(plane->stride / (ptrdiff_t)sizeof(uint16_t));

  return launch(launch_of(stored, plane->height, stream), "reading a blur map", status,
                wide ? read_map<uint16_t> : read_map<uint8_t>, of_plane);
}

bool isolate_multiply(const IsolatePlane *plane, bool wide, void *stream, CfStatus *status)
{
  return launch(launch_of(plane->width, plane->height, stream), "weighing samples by a blur map",
                status, wide ? multiply<uint16_t> : multiply<uint8_t>, *plane);
}

bool isolate_divide(const IsolatePlane *plane, bool wide, void *stream, CfStatus *status)
{
  return launch(launch_of(plane->width, plane->end - plane->first, stream),
                "dividing by a blurred map", status, wide ? divide<uint16_t> : divide<uint8_t>,
                *plane);
}

} // namespace cf::blurmap
