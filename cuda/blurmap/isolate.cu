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

/* A sample of a plane of 16 bits. */
__device__ inline uint16_t &sample_of(const MapPlane &plane, uint16_t *of, int x, int y)
{
  return ((uint16_t *)((uint8_t *)of + (ptrdiff_t)y * plane.map_stride))[x];
}

/* What pads a row is its last sample: who interpolates at that reads the next one, too, if only to
 * weigh it by 0. */
template <typename Sample>
__global__ void __launch_bounds__(kThreads) read_map(const __grid_constant__ MapJob job, int p)
{
  __shared__ CfTileShapes no_shapes;
  const MapPlane &plane = job.plane[p];
  const int x = (int)(blockIdx.x * kThreads + threadIdx.x), y = (int)blockIdx.y;
  const int from = min(x, plane.width - 1);

  if (x < (int)(plane.map_stride / (ptrdiff_t)sizeof(uint16_t)))
    sample_of(plane, plane.map, x, y) =
        (uint16_t)fmaf(map_at<Sample>(job, plane, no_shapes, from, y), (float)CF_MAP_ONE, 0.5f);
}

__device__ inline const uint16_t *map_row(const MapPlane &plane, int y)
{
  return (const uint16_t *)((const uint8_t *)plane.map + (ptrdiff_t)y * plane.map_stride);
}

__device__ inline bool is_weighted(const IsolateJob &job, const MapPlane &plane)
{
  return plane.alpha >= 0 && job.channel != plane.alpha;
}

template <typename Sample>
__global__ void __launch_bounds__(kThreads) multiply(const __grid_constant__ IsolateJob job)
{
  const MapPlane &plane = job.map.plane[job.p];
  const int x = (int)(blockIdx.x * kThreads + threadIdx.x), y = (int)blockIdx.y;
  const float share = 1.0f / (float)job.map.max_code;

  if (x >= plane.width)
    return;
  float value = (float)map_row(plane, y)[x] * share *
                (float)code_at<Sample>(job.map, plane, x, y, job.channel);
  if (is_weighted(job, plane))
    value *= share * (float)code_at<Sample>(job.map, plane, x, y, plane.alpha);
  sample_of(plane, job.product, x, y) = (uint16_t)(value + 0.5f);
}

/* Whether a sample of this map value gathers, around which the map comes to `weight` of
 * CF_MAP_ONE. */
__device__ inline bool gathers(const MapPlane &plane, int map, float weight)
{
  const float sigma =
      (float)map * (1.0f / CF_MAP_ONE) * fmaxf(plane.table->sigma_x[1], plane.table->sigma_y[1]);

  return map > 0 && sigma <= (weight * kGap < (float)map ? kGapSigma : kSmallSigma);
}

/* As the CPU's gather: what the definition says; blank where nothing counts. */
template <typename Sample>
__device__ inline float gather(const IsolateJob &job, const MapPlane &plane, int x, int y)
{
  const float m = (float)map_row(plane, y)[x] * (1.0f / CF_MAP_ONE);
  const float across = m * plane.table->sigma_x[1], down = m * plane.table->sigma_y[1];
  const int radius_x = (int)ceilf(4.0f * across), radius_y = (int)ceilf(4.0f * down);
  const float steep_x = -0.5f / fmaxf(across * across, 1e-4f);
  const float steep_y = -0.5f / fmaxf(down * down, 1e-4f);
  float sum = 0.0f, weights = 0.0f;

  for (int j = -radius_y; j <= radius_y; j++) {
    const int v = fold_index(job.map.border, y + j, plane.height);
    const float tap = expf(steep_y * (float)(j * j));

    for (int i = -radius_x; v >= 0 && i <= radius_x; i++) {
      const int u = fold_index(job.map.border, x + i, plane.width);

      if (u < 0)
        continue;
      float weight = tap * expf(steep_x * (float)(i * i)) * (float)map_row(plane, v)[u];
      if (is_weighted(job, plane))
        weight *= (float)code_at<Sample>(job.map, plane, u, v, plane.alpha);
      weights += weight;
      sum = fmaf(weight, (float)code_at<Sample>(job.map, plane, u, v, job.channel), sum);
    }
  }
  return weights > 0.0f ? sum / weights : plane.blank[job.channel];
}

template <typename Sample>
__global__ void __launch_bounds__(kThreads) divide(const __grid_constant__ IsolateJob job)
{
  const MapPlane &plane = job.map.plane[job.p];
  const int x = (int)(blockIdx.x * kThreads + threadIdx.x), y = plane.first + (int)blockIdx.y;

  if (x >= plane.width)
    return;
  const int map = map_row(plane, y)[x], weights = sample_of(plane, job.weights, x, y);
  const bool is_alpha = job.channel == plane.alpha;
  const int by = is_weighted(job, plane) ? sample_of(plane, job.alpha_weights, x, y) : weights;
  float value = plane.blank[job.channel];

  if (map == 0 || weights == 0)
    value = (float)code_at<Sample>(job.map, plane, x, y, job.channel);
  else if (gathers(plane, map, (float)weights))
    value = gather<Sample>(job, plane, x, y);
  else if (by > 0)
    value = (float)sample_of(plane, is_alpha ? job.alpha_weights : job.blurred, x, y) *
            (float)job.map.max_code / (float)by;
  ((Sample *)(plane.destination +
              (ptrdiff_t)y * plane.destination_stride))[(size_t)x * plane.channels + job.channel] =
      (Sample)((int)fminf(fmaxf(value + 0.5f, 0.0f), (float)job.map.max_code) << job.map.shift);
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

bool isolate_read_maps(const MapJob *job, bool wide, void *stream, CfStatus *status)
{
  for (int p = 0; p < job->planes; p++) {
    const MapPlane *plane = &job->plane[p];
    const int stored = (int)(plane->map_stride / (ptrdiff_t)sizeof(uint16_t));

    if (!launch(launch_of(stored, plane->height, stream), "reading a blur map", status,
                wide ? read_map<uint16_t> : read_map<uint8_t>, *job, p))
      return false;
  }
  return true;
}

bool isolate_multiply(const IsolateJob *job, bool wide, void *stream, CfStatus *status)
{
  const MapPlane *plane = &job->map.plane[job->p];

  return launch(launch_of(plane->width, plane->height, stream), "weighing samples by a blur map",
                status, wide ? multiply<uint16_t> : multiply<uint8_t>, *job);
}

bool isolate_divide(const IsolateJob *job, bool wide, void *stream, CfStatus *status)
{
  const MapPlane *plane = &job->map.plane[job->p];

  return launch(launch_of(plane->width, plane->end - plane->first, stream),
                "dividing by a blurred map", status, wide ? divide<uint16_t> : divide<uint8_t>,
                *job);
}

} // namespace cf::blurmap
