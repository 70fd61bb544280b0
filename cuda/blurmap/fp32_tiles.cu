/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Blur maps in single precision, where the tensor core kernels do not apply: makes mip images, and
 * tiles that blend levels, each filtered along rows and then along columns from a mip image or from
 * the frame.
 */
#include "cuda/blurmap/device.cuh"
#include "cuda/blurmap/map_values.cuh"
#include "cuda/common/border.cuh"

namespace cf::blurmap
{

namespace
{

/* One channel of the frame or of a mip image, at any index: the border extends it. Channel number
 * plane.channels is the map (map_isolate). Values are multiplied by the map, and colours by alpha.
 */
template <typename Sample> struct Source {
  const MapJob &job;
  const MapPlane &plane;
  const MipImage &image; /* height 0: the frame */
  const float *texels;   /* FrameJob.texels */
  int channel;

  __device__ const float *texel(int column, int row) const
  {
    return texels + image.at + (size_t)channel * image.channel + (size_t)row * image.pitch + column;
  }

  __device__ float code(int column, int row, int c) const
  {
    return (float)((column | row) < 0 ? plane.border[c]
                                      : code_at<Sample>(job, plane, column, row, c));
  }

  __device__ float of_frame(int x, int y) const
  {
    const int column = fold_index(job.border, x, plane.width);
    const int row = fold_index(job.border, y, plane.height);
    float value = job.isolates ? __half2float(map_folded(plane, column, row)) : 1.0f;

    if (channel == plane.channels)
      return value;
    if (plane.alpha >= 0 && channel != plane.alpha)
      value *= alpha_weight(code(column, row, plane.alpha));
    return value * code(column, row, channel);
  }

  __device__ float operator()(int x, int y) const
  {
    if (image.height == 0)
      return of_frame(x, y);
    return __ldg(texel(min(max(x - image.first_x, 0), image.width - 1),
                       min(max(y - image.first_y, 0), image.height - 1)));
  }
};

/* The LOD of samples outside the rows and columns to make. */
constexpr float kNotMade = -2.0f;

/* ---- mip images ---- */

/* The taps of texel `at` along one axis: 1 3 3 1 over 8 from samples of the frame, 1 5 10 10 5 1
 * over 32 from texels, or 1 if this axis is not downsampled. `first` is the index of the first. */
struct DownsampleTaps {
  int first, taps;

  __device__ DownsampleTaps(int from_log, bool downsamples, int at)
      : first(!downsamples    ? at
              : from_log == 0 ? 2 * at - 1
                              : 2 * at - 2),
        taps(!downsamples    ? 1
             : from_log == 0 ? 4
                             : 6)
  {
  }

  __device__ float tap(int k) const
  {
    const int inwards = min(k, taps - 1 - k);

    return taps == 1   ? 1.0f
           : taps == 4 ? (inwards == 0 ? 0.125f : 0.375f)
                       : (inwards == 0   ? 0.03125f
                          : inwards == 1 ? 0.15625f
                                         : 0.3125f);
  }
};

/* A thread makes a column of texels of one channel. */
template <typename Sample>
__global__ void __launch_bounds__(kThreads)
    downsample_fp32_kernel(const __grid_constant__ FrameJob job)
{
  int cta;
  const MipDownsample pass = downsample_of_cta(job, &cta);
  const MipImage &to = pass.to;
  const int parts = (to.height + pass.rows - 1) / pass.rows * pass.across;
  const Source<Sample> source = {job.map, job.map.plane[pass.plane], pass.from,
                                 (const float *)job.texels, cta / parts};
  const Source<Sample> target = {job.map, source.plane, to, source.texels, source.channel};
  const int column = cta % pass.across * kDownsampleColumns + (int)threadIdx.x;
  const int first = cta % parts / pass.across * pass.rows;
  const DownsampleTaps across(pass.from.log_x, to.log_x > pass.from.log_x, to.first_x + column);

  for (int row = first; row < min(first + pass.rows, to.height) && column < to.width; row++) {
    const DownsampleTaps down(pass.from.log_y, to.log_y > pass.from.log_y, to.first_y + row);
    float sum = 0.0f;

    for (int j = 0; j < down.taps; j++) {
      for (int i = 0; i < across.taps; i++)
        sum = fmaf(down.tap(j) * across.tap(i), source(across.first + i, down.first + j), sum);
    }
    *(float *)target.texel(column, row) = sum;
  }
}

/* ---- tiles ---- */

constexpr int kTaps = 2 * CF_MIP_REACH + 1;        /* most taps of a level along an axis */
constexpr int kRows = kTileRows / (kThreads / 32); /* consecutive rows of a thread */

struct Shared {
  CfTileShapes shapes;
  unsigned used[CF_BLUR_LEVELS / 32];                        /* a bit for each level of the tile */
  float across[kTaps][kTileColumns], down[kTileRows][kTaps]; /* taps of the current level */
  int first_across[kTileColumns], first_down[kTileRows];     /* texel of the first tap */
  float line[kTileRows + 2 * CF_MIP_REACH][kTileColumns];    /* filtered along rows */
};

/* Makes the taps of sample `at` along one axis, to tap[0], tap[step], ... Returns the texel of the
 * first one. `log`: texels have 2^log samples. */
__device__ inline int make_taps(float sigma, int log, int at, int count, float *tap, int step)
{
  const float size = (float)(1 << log), centre = ((float)at - 0.5f * (size - 1.0f)) / size;
  const float variance = sigma * sigma - (float)mip_variance12(log) * (1.0f / 12);
  const float reach = log == 0 ? ceilf(4.0f * sigma) : 4.0f * sqrtf(variance) / size;
  const float steep = -0.5f * size * size / fmaxf(variance, 1e-4f);
  const int first = (int)ceilf(centre - reach);
  float sum = 0.0f;

  for (int k = 0; k < count; k++) {
    const float away = (float)(first + k) - centre;
    const float value = away <= reach ? __expf(steep * away * away) : 0.0f;

    tap[k * step] = value;
    sum += value;
  }
  for (int k = 0; k < count; k++)
    tap[k * step] *= 1.0f / sum;
  return first;
}

/* The number of taps of a level along an axis. */
__device__ inline int taps_of(float sigma, int log)
{
  const float rest = sqrtf(sigma * sigma - (float)mip_variance12(log) * (1.0f / 12));

  return min(2 * (int)ceilf(4.0f * rest / (float)(1 << log)) + 1, kTaps);
}

/* Filters along a row, from column `left` on; inside the image or frame, without weights, by short
 * loops. */
template <typename Sample>
__device__ inline float filter_row(const Source<Sample> &source, int left, int y, int count,
                                   const float *tap)
{
  const MipImage &image = source.image;
  const MapPlane &plane = source.plane;
  const int column = left - image.first_x, step = plane.channels, shift = source.job.shift;
  float sum = 0.0f;

  if (image.height > 0 && column >= 0 && column + count <= image.width) {
    const float *from = source.texel(column, min(max(y - image.first_y, 0), image.height - 1));
#pragma unroll 5
    for (int k = 0; k < count; k++)
      sum = fmaf(tap[k * kTileColumns], __ldg(from + k), sum);
  } else if (image.height == 0 && plane.alpha < 0 && !source.job.isolates && left >= 0 &&
             left + count <= plane.width && y >= 0 && y < plane.height) {
    const Sample *from = (const Sample *)(plane.source + (ptrdiff_t)y * plane.source_stride) +
                         (ptrdiff_t)left * step + source.channel;
#pragma unroll 5
    for (int k = 0; k < count; k++)
      sum = fmaf(tap[k * kTileColumns], (float)(__ldg(from + k * step) >> shift), sum);
  } else {
#pragma unroll 1
    for (int k = 0; k < count; k++)
      sum = fmaf(tap[k * kTileColumns], source(left + k, y), sum);
  }
  return sum;
}

/* Adds a level, times its blend weights, to a thread's samples. By all threads of the CTA. */
template <typename Sample>
__device__ inline void add_level(const Source<Sample> &source, const LevelWeights &level,
                                 int number, int x0, int y0, const float (&lod)[kRows],
                                 Shared *shared, float (&result)[kRows])
{
  const int thread = (int)threadIdx.x, lane = thread % 32, log_x = source.image.log_x;
  const int log_y = source.image.log_y, warp = thread / 32;
  const int across = taps_of(level.sigma_x, log_x), down = taps_of(level.sigma_y, log_y);

  if (thread < kTileRows)
    shared->first_down[thread] =
        make_taps(level.sigma_y, log_y, y0 + thread, down, shared->down[thread], 1);
  else if (thread < kTileRows + kTileColumns)
    shared->first_across[lane] =
        make_taps(level.sigma_x, log_x, x0 + lane, across, &shared->across[0][lane], kTileColumns);
  __syncthreads();
  const int top = shared->first_down[0], left = shared->first_across[lane];
  const int rows = shared->first_down[kTileRows - 1] + down - top;
  for (int row = warp; row < rows; row += kThreads / 32)
    shared->line[row][lane] = filter_row(source, left, top + row, across, &shared->across[0][lane]);
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kRows; i++) {
    const float share = fmaxf(1.0f - fabsf(lod[i] - (float)number), 0.0f);
    const int row = warp * kRows + i, at = shared->first_down[row] - top;
    float sum = 0.0f;

    if (share == 0.0f)
      continue;
#pragma unroll 4
    for (int k = 0; k < down; k++)
      sum = fmaf(shared->down[row][k], shared->line[at + k][lane], sum);
    result[i] = fmaf(share, sum, result[i]);
  }
  __syncthreads();
}

/* Blends all levels of a thread's samples of one channel. */
template <typename Sample>
__device__ __noinline__ void blend_channel(const FrameJob &job, int p, int channel, int x0, int y0,
                                           const float (&lod)[kRows], Shared *shared,
                                           float (&result)[kRows])
{
  const PlanePlan &plan = job.plane[p];

#pragma unroll
  for (int i = 0; i < kRows; i++)
    result[i] = 0.0f;
  for (int number = 0; number < CF_BLUR_LEVELS; number++) {
    if (!(shared->used[number / 32] >> number % 32 & 1))
      continue;
    const LevelWeights &level = plan.level[number];
    const Source<Sample> source = {job.map, job.map.plane[p], plan.image[level.group],
                                   (const float *)job.texels, channel};

    add_level(source, level, number, x0, y0, lod, shared, result);
  }
}

/* Finds the LODs of a thread's samples, and marks their levels in shared->used. */
template <typename Sample>
__device__ inline void find_lods(const MapJob &job, const MapPlane &plane, int x, int y,
                                 Shared *shared, float (&lod)[kRows])
{
#pragma unroll 1
  for (int i = 0; i < kRows; i++) {
    float m[1], here = kNotMade;

    if (x < plane.width && y + i >= plane.first && y + i < plane.end) {
      if (job.isolates)
        m[0] = __half2float(map_folded(plane, x, y + i));
      else
        map_rows<Sample>(job, plane, shared->shapes, x, y + i, m);
      here = lod_of(plane.lod, m[0]);
      for (int level = (int)here; here != (float)plane.copy && (float)level < here + 1.0f; level++)
        atomicOr(&shared->used[level / 32], 1u << level % 32);
    }
#pragma unroll
    for (int k = 0; k < kRows; k++)
      lod[k] = k == i ? here : lod[k];
  }
}

template <typename Sample>
__device__ inline void store_code(const MapJob &job, const MapPlane &plane, int x, int y, int c,
                                  float value)
{
  Sample *row = (Sample *)(plane.destination + (ptrdiff_t)y * plane.destination_stride);
  const int code = (int)fminf(fmaxf(value + 0.5f, 0.0f), (float)job.max_code);

  row[(size_t)x * plane.channels + c] = (Sample)(code << job.shift);
}

/* A CTA makes a tile, a lane a column of it. The map and alpha are blended before the channels that
 * are divided by them. */
template <typename Sample>
__global__ void __launch_bounds__(kThreads, kFp32CtasOfSm)
    blend_fp32_kernel(const __grid_constant__ FrameJob job)
{
  __shared__ Shared shared;
  const int p = plane_of_tile(job.map, (int)blockIdx.x);
  const MapPlane &plane = job.map.plane[p];
  const int tile = (int)blockIdx.x - plane.first_tile;
  const int x0 = tile_x(plane, tile), y0 = tile_y(plane, tile);
  const int x = x0 + (int)threadIdx.x % 32, y = y0 + (int)threadIdx.x / 32 * kRows;
  float lod[kRows], all[kRows], alpha[kRows], sum[kRows];

  find_shapes(job.map, plane, x0, y0, kTileColumns, kTileRows, &shared.shapes);
  if (threadIdx.x < CF_BLUR_LEVELS / 32)
    shared.used[threadIdx.x] = 0;
  __syncthreads();
  find_lods<Sample>(job.map, plane, x, y, &shared, lod);
  __syncthreads();
  if (job.map.isolates)
    blend_channel<Sample>(job, p, plane.channels, x0, y0, lod, &shared, all);
  if (plane.alpha >= 0)
    blend_channel<Sample>(job, p, plane.alpha, x0, y0, lod, &shared, alpha);
  for (int c = 0; c < plane.channels; c++) {
    blend_channel<Sample>(job, p, c, x0, y0, lod, &shared, sum);
#pragma unroll
    for (int i = 0; i < kRows; i++) {
      const float least = job.map.isolates ? all[i] : 1.0f;
      const bool visible = plane.alpha < 0 || c == plane.alpha || alpha[i] >= 0.5f * least;
      const float by = plane.alpha < 0 || c == plane.alpha ? least : alpha_weight(alpha[i]);

      if (lod[i] == kNotMade)
        continue;
      store_code<Sample>(job.map, plane, x, y + i, c,
                         lod[i] == (float)plane.copy || least <= 0.0f
                             ? (float)code_at<Sample>(job.map, plane, x, y + i, c)
                         : visible ? sum[i] / by
                                   : plane.transparent_code[c]);
    }
  }
}

} // namespace

bool downsample_fp32(const FrameJob *job, int ctas, void *stream, CfStatus *status)
{
  return launch_job(job->map.wide ? downsample_fp32_kernel<uint16_t>
                                  : downsample_fp32_kernel<uint8_t>,
                    job, ctas, kThreads, 0, stream, "halving a picture", status);
}

bool blend_fp32(const FrameJob *job, void *stream, CfStatus *status)
{
  return launch_job(job->map.wide ? blend_fp32_kernel<uint16_t> : blend_fp32_kernel<uint8_t>, job,
                    job->tile_count, kThreads, 0, stream, "blurring by a map", status);
}

} // namespace cf::blurmap
