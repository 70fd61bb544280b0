/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * For kernels of blur maps: the samples of one level in a tile, and those of Gaussians that differ
 * from sample to sample.
 */
#pragma once

#include "cuda/blurmap/fp32_sigma_lookup.cuh"
#include "cuda/common/alpha.cuh"
#include "cuda/common/border.cuh"
#include "cuda/pyramid/fp32.cuh"

namespace cf::blurmap
{

/* ---- levels filtered in the tile ---- */

/* Centred samples of one channel, weighted by alpha unless they are alpha, around the tile. */
template <typename Sample>
__device__ inline void load_tile(const MapJob &job, const MapPlane &plane, int channel, int x0,
                                 int y0, int width, int height, float *tile)
{
  const bool weighted = plane.alpha >= 0 && channel != plane.alpha;

  for (int i = (int)threadIdx.x; i < width * height; i += kFp32Threads) {
    const int row = i / width;
    const int x = fold_index(job.border, x0 + i - row * width, plane.width);
    const int y = fold_index(job.border, y0 + row, plane.height);
    const bool outside = x < 0 || y < 0;
    const int code = outside ? plane.border[channel] : code_at<Sample>(job, plane, x, y, channel);
    float value = (float)code - plane.centre[channel];

    if (weighted)
      value *= alpha_weight(outside ? (float)plane.border[plane.alpha]
                                    : (float)code_at<Sample>(job, plane, x, y, plane.alpha));
    tile[i] = value;
  }
}

__device__ inline float4 taps_at(const float *tap, int group)
{
  return group < 0 ? make_float4(0.0f, 0.0f, 0.0f, 0.0f) : __ldg((const float4 *)tap + group);
}

/* Four results side by side for every row that the columns need. */
__device__ inline void filter_tile_rows(const Fp32Level &level, const float *tile, int stride,
                                        int rows, float *across)
{
  const int groups = level.radius_x / 2 + 1;

  for (int i = (int)threadIdx.x; i < rows * (kFp32Tile / 4); i += kFp32Threads) {
    const int row = i / (kFp32Tile / 4), quad = i % (kFp32Tile / 4);
    const float *from = tile + row * stride + 4 * quad;
    float4 before = taps_at(nullptr, -1);
    float sum[4] = {};

    for (int group = 0; group < groups; group++) {
      const float4 four = *(const float4 *)(from + 4 * group), taps = taps_at(level.tap_x, group);
      const float sample[4] = {four.x, four.y, four.z, four.w};

      pyramid::accumulate(sum, sample, before, taps);
      before = taps;
    }
    *(float4 *)(across + row * kFp32Tile + 4 * quad) = make_float4(sum[0], sum[1], sum[2], sum[3]);
  }
}

__device__ inline void filter_tile_columns(const Fp32Level &level, const float *across,
                                           float (&total)[kRows])
{
  const int lane = (int)threadIdx.x % kFp32Tile, row = (int)threadIdx.x / kFp32Tile * kRows;
  const int groups = level.radius_y / 2 + 1;
  float4 before = taps_at(nullptr, -1);
  float sum[kRows] = {};

  for (int group = 0; group < groups; group++) {
    const float4 taps = taps_at(level.tap_y, group);
    float sample[4];

#pragma unroll
    for (int i = 0; i < 4; i++)
      sample[i] = across[(row + 4 * group + i) * kFp32Tile + lane];
    pyramid::accumulate(sum, sample, before, taps);
    before = taps;
  }
#pragma unroll
  for (int i = 0; i < kRows; i++)
    total[i] = sum[i];
}

/* ---- levels read from coarse samples ---- */

__device__ inline int first_coarse(int log, int lod)
{
  return (lod >> log) + pyramid::spline_first(1 << log, lod & ((1 << log) - 1));
}

/* The coarse rows that a tile reads, enlarged along rows: 32 samples each. */
__device__ inline void enlarge_rows(const MapJob &job, const Fp32Level &level, const float *from,
                                    int step, int x, int y0, float *lines)
{
  const int lane = (int)threadIdx.x % kFp32Tile, log = level.log_x;
  const int top = first_coarse(level.log_y, y0);
  const int last = first_coarse(level.log_y, y0 + kFp32Tile - 1) + (level.log_y ? 3 : 0);
  const int first = first_coarse(log, x) - level.first_x;
  const float4 weight = *(const float4 *)&job.spline[log][4 * (x & ((1 << log) - 1))];
  const float weights[4] = {weight.x, weight.y, weight.z, weight.w};
  int column[4];

#pragma unroll
  for (int k = 0; k < 4; k++)
    column[k] = min(max(first + k, 0), level.width - 1) * step;
  for (int row = top + (int)threadIdx.x / kFp32Tile; row <= last; row += kFp32Threads / kFp32Tile) {
    const int inside = min(max(row - level.first_y, 0), level.height - 1);
    const float *line = from + inside * (level.width * step);
    float sum = 0.0f;

#pragma unroll
    for (int k = 0; k < 4; k++)
      sum = fmaf(weights[k], line[column[k]], sum);
    lines[(row - top) * kFp32Tile + lane] = sum;
  }
}

/* A thread's samples from these. All threads of a warp are in the same row. */
__device__ inline void enlarge_columns(const MapJob &job, const Fp32Level &level,
                                       const float *lines, int y0, int y, float (&sum)[kRows])
{
  const int lane = (int)threadIdx.x % kFp32Tile, log = level.log_y;
  const float *line = lines - first_coarse(log, y0) * kFp32Tile + lane;
  float window[4];
  int before = 0;

#pragma unroll
  for (int i = 0; i < kRows; i++) {
    const int first = first_coarse(log, y + i);
    const float *weight = &job.spline[log][4 * ((y + i) & ((1 << log) - 1))];

    if (log == 0) {
      sum[i] = line[first * kFp32Tile];
      continue;
    }
    if (i == 0) {
#pragma unroll
      for (int k = 0; k < 4; k++)
        window[k] = line[(first + k) * kFp32Tile];
    } else if (first != before) {
      window[0] = window[1];
      window[1] = window[2];
      window[2] = window[3];
      window[3] = line[(first + 3) * kFp32Tile];
    }
    before = first;
    sum[i] = 0.0f;
#pragma unroll
    for (int k = 0; k < 4; k++)
      sum[i] = fmaf(weight[k], window[k], sum[i]);
  }
}

/* With all threads; `lines` is free again after the next barrier. */
__device__ inline void enlarge(const MapJob &job, const Fp32Level &level, const float *from,
                               int step, int x, int y0, int y, float *lines, float (&sum)[kRows])
{
  enlarge_rows(job, level, from, step, x, y0, lines);
  __syncthreads();
  enlarge_columns(job, level, lines, y0, y, sum);
}

/* ---- samples with Gaussians of their own ---- */

/* A thread's samples below each other: how much of each is its own Gaussian, and of which. Next to
 * levels that are not per_sample it is the neighbouring per_sample one. */
struct PerSampleGaussian {
  float share[kRows], across[kRows][kPerSampleRadius], down[kRows][kPerSampleRadius];

  __device__ PerSampleGaussian(const MapPlane &plane, const Lods &lods)
  {
#pragma unroll
    for (int i = 0; i < kRows; i++) {
      const float lod = fmaxf(lods.lod[i], 0.0f);
      const int level = (int)lod;
      const float part = lod - (float)level;
      const bool left = is_per_sample(plane, level);
      const bool right = part > 0.0f && is_per_sample(plane, level + 1);
      const LevelTable &table = *plane.table;
      const Fp32Level &nearest = table.level[right && !left ? level + 1 : level];
      const bool own = left && (right || part == 0.0f);
      const float m = fmaxf(lods.m[i], 0.0f);

      share[i] = own ? 1.0f : left ? 1.0f - part : right ? part : 0.0f;
      if (lods.lod[i] < 0.0f)
        share[i] = 0.0f;
      const float norm_x = weigh(
          own ? fmaf(m, table.sigma_x[1] - table.sigma_x[0], table.sigma_x[0]) : nearest.sigma_x,
          across[i]);
      const float norm_y = weigh(
          own ? fmaf(m, table.sigma_y[1] - table.sigma_y[0], table.sigma_y[0]) : nearest.sigma_y,
          down[i]);
      share[i] *= norm_x * norm_y;
    }
  }

  /* The taps 1 to 4 beside a middle one of 1; 1 / the sum of all. */
  __device__ static float weigh(float sigma, float (&tap)[kPerSampleRadius])
  {
    const float q = __expf(-0.5f / fmaxf(sigma * sigma, 1e-4f)), q4 = q * q * q * q;

    tap[0] = q;
    tap[1] = q4;
    tap[2] = q4 * q4 * q;
    tap[3] = q4 * q4 * q4 * q4;
    return 1.0f / (1.0f + 2.0f * (tap[0] + tap[1] + tap[2] + tap[3]));
  }

  /* Adds the samples; `from` points to the loaded one that is the thread's first. */
  __device__ void add(const float *from, int stride, float (&result)[kRows]) const
  {
    constexpr int R = kPerSampleRadius;
    float sum[kRows] = {};

    if (share[0] == 0.0f && share[1] == 0.0f && share[2] == 0.0f && share[3] == 0.0f)
      return;
#pragma unroll
    for (int row = -R; row < kRows + R; row++) {
      const float *line = from + row * stride;
      const float middle = line[0];
      float pair[R];

#pragma unroll
      for (int k = 0; k < R; k++)
        pair[k] = line[-1 - k] + line[1 + k];
#pragma unroll
      for (int i = 0; i < kRows; i++) {
        const int away = row > i ? row - i : i - row;
        float value = middle;

        if (away > R)
          continue;
#pragma unroll
        for (int k = 0; k < R; k++)
          value = fmaf(across[i][k], pair[k], value);
        sum[i] = away == 0 ? sum[i] + value : fmaf(down[i][away - 1], value, sum[i]);
      }
    }
#pragma unroll
    for (int i = 0; i < kRows; i++)
      result[i] = fmaf(share[i], sum[i], result[i]);
  }
};

struct NoPerSample {
  __device__ void add(const float *, int, float (&)[kRows]) const
  {
  }
};

} // namespace cf::blurmap
