/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The weights of the finest levels' coefficients, which hold the noise floor (CfLlfWeights), from
 * the variance of the picture and of its Gaussians; and what of the linear part is weighted.
 */
#include "cuda/llf/pixel_io.cuh"
#include "cuda/llf/pyramid_ops.cuh"
#include "cuda/llf/tiled_fp16.cuh"

namespace cf::llf
{
namespace
{

constexpr int kBlock = CF_LLF_WEIGHT_BLOCK;

/* A level with weights; gauss is NULL of the picture. */
struct WeightedLevel {
  BlockWeights weights;
  int width, height;
  const float *gauss;
  float share; /* CfLlfWeights */
};

/* Levels, of whose items a thread has one. */
struct Job {
  WeightedLevel level[CF_LLF_WEIGHTED_LEVELS];
  int first[CF_LLF_WEIGHTED_LEVELS + 1];
  int levels;
  float slope, offset; /* CfLlfWeights */
};

__device__ __forceinline__ int level_of(const Job &job, int item)
{
  int index = 0;

  while (index + 1 < job.levels && item >= job.first[index + 1])
    index++;
  return index;
}

constexpr int kThreads = 256;

/* --- variances --- */

/* The sample that stands for number `i` of `size`: cells of two repeat beyond the border, and a
 * last one of one sample has that twice. */
__device__ __forceinline__ int repeated(int i, int size)
{
  const int last_cell = (size - 1) & ~1;

  return min(i < 0 ? i & 1 : min(i, last_cell + (i & 1)), size - 1);
}

/* Sums of a block's values and of their squares. */
struct BlockSums {
  float value, square;

  /* A row of eight samples: the block's own, and two on either side. */
  __device__ __forceinline__ void add(int row, const float (&sample)[2 * kBlock])
  {
    const float tap = row < 2 || row > 5 ? 1.0f : 3.0f;
    float across = 0.0f, squares = 0.0f;

#pragma unroll
    for (int k = 0; k < 2 * kBlock; k++) {
      /* So single precision is enough for squares. */
      const float centred = sample[k] - 0.5f, weighted = k < 2 || k > 5 ? centred : 3.0f * centred;

      across += weighted;
      squares = fmaf(weighted, centred, squares);
    }
    value = fmaf(tap, across, value);
    square = fmaf(tap, squares, square);
  }

  __device__ __forceinline__ float variance() const
  {
    constexpr float kUnit = 1.0f / 256.0f;
    const float mean = kUnit * value;

    return fmaxf(fmaf(-mean, mean, kUnit * square), 0.0f);
  }
};

__device__ __forceinline__ float variance_of_block(const Pixels &pixels, const WeightedLevel &level,
                                                   int x, int y)
{
  const int width = level.width, first = kBlock * x;
  auto row_of = [&](int row) { return repeated(kBlock * y - 2 + row, level.height); };
  BlockSums sums = {};

  if (level.gauss && width % kBlock == 0) {
#pragma unroll
    for (int row = 0; row < 2 * kBlock; row++) {
      const float *const from = level.gauss + (size_t)row_of(row) * width;
      const float2 before = *reinterpret_cast<const float2 *>(from + max(first - 2, 0));
      const float4 own = *reinterpret_cast<const float4 *>(from + first);
      const float2 after = *reinterpret_cast<const float2 *>(from + min(first + 4, width - 2));

      sums.add(row, {before.x, before.y, own.x, own.y, own.z, own.w, after.x, after.y});
    }
    return sums.variance();
  }
#pragma unroll 1
  for (int row = 0; row < 2 * kBlock; row++) {
    float sample[2 * kBlock];

#pragma unroll
    for (int k = 0; k < 2 * kBlock; k++) {
      const int from_x = repeated(first - 2 + k, width);

      sample[k] = level.gauss ? level.gauss[(size_t)row_of(row) * width + from_x]
                              : __saturatef(load_intensity(pixels, from_x, row_of(row)));
    }
    sums.add(row, sample);
  }
  return sums.variance();
}

/* A thread makes the variance of a block. */
__global__ void __launch_bounds__(kThreads)
    variance_kernel(const __grid_constant__ Pixels pixels, const __grid_constant__ Job job,
                    bool beside)
{
  const int item = blockIdx.x * kThreads + threadIdx.x, index = level_of(job, item);
  const WeightedLevel &level = job.level[index];
  const int i = item - job.first[index], across = level.weights.across;

  begin(beside);
  if (item < job.first[job.levels])
    level.weights.variance[level.weights.variance_index(i % across, i / across)] =
        variance_of_block(pixels, level, i % across, i / across);
  end(beside);
}

/* --- weights --- */

/* With a thirty-second of either neighbour. */
__device__ __forceinline__ float smoothed(float before, float here, float after)
{
  return fmaf(0.03125f, before + after, 0.9375f * here);
}

/* Weights as a thread makes them: four of a row, from the one before a multiple of four on. */
constexpr int kTogether = 4;

/* A thread makes weights of a level or of its margin, which repeats them. */
__global__ void __launch_bounds__(kThreads) weights_kernel(const __grid_constant__ Job job)
{
  const int item = blockIdx.x * kThreads + threadIdx.x, index = level_of(job, item);
  const WeightedLevel &level = job.level[index];
  const BlockWeights &weights = level.weights;
  const int i = item - job.first[index], groups = weights.pitch / kTogether;
  const int x = i % groups * kTogether - 1, y = i / groups - 1;
  const int last_x = weights.across - 1, last_y = weights.down - 1, own_y = min(max(y, 0), last_y);
  const float *rows[3];
  __half made[kTogether];

  pdl_relay_then_trigger();
  pdl_wait();
  if (item >= job.first[job.levels])
    return;
#pragma unroll
  for (int k = 0; k < 3; k++)
    rows[k] = weights.variance + weights.variance_index(0, min(max(own_y + k - 1, 0), last_y));
  auto smoothed_down = [&](int column) {
    const int at = min(max(column, 0), last_x);

    return smoothed(rows[0][at], rows[1][at], rows[2][at]);
  };
  auto weight_of = [&](float variance) {
    constexpr float kDark = (float)(CF_LLF_WEIGHT_DARK * CF_LLF_WEIGHT_DARK);
    const float t = fma_saturate(job.slope, sqrt_approx(variance + kDark), job.offset);

    return __float2half_rn(level.share * t * t * fmaf(-2.0f, t, 3.0f));
  };

  if (x > 0 && x + kTogether <= last_x) {
    float4 first[3];
    float2 next[3];

#pragma unroll
    for (int k = 0; k < 3; k++) {
      first[k] = *reinterpret_cast<const float4 *>(rows[k] + x - 1);
      next[k] = *reinterpret_cast<const float2 *>(rows[k] + x + 3);
    }
    const float down[kTogether + 2] = {
        smoothed(first[0].x, first[1].x, first[2].x), smoothed(first[0].y, first[1].y, first[2].y),
        smoothed(first[0].z, first[1].z, first[2].z), smoothed(first[0].w, first[1].w, first[2].w),
        smoothed(next[0].x, next[1].x, next[2].x),    smoothed(next[0].y, next[1].y, next[2].y)};
#pragma unroll
    for (int k = 0; k < kTogether; k++)
      made[k] = weight_of(smoothed(down[k], down[k + 1], down[k + 2]));
  } else {
#pragma unroll
    for (int k = 0; k < kTogether; k++) {
      const int at = min(max(x + k, 0), last_x);

      made[k] =
          weight_of(smoothed(smoothed_down(at - 1), smoothed_down(at), smoothed_down(at + 1)));
    }
  }
  __half2 *const to = reinterpret_cast<__half2 *>(weights.plane + weights.index(x, y));
  to[0] = __halves2half2(made[0], made[1]);
  to[1] = __halves2half2(made[2], made[3]);
}

/* --- the linear part --- */

/* The places of a level's coefficients on tensor cores: levels 0 and 1 have cells. */
struct Coefficients {
  __half *cells;
  float *plane;
  int width;

  __device__ __forceinline__ void add(int x, int y, float value) const
  {
    if (!cells) {
      plane[(size_t)y * width + x] += value;
      return;
    }
    __half *const at = cells +
                       (size_t)(y / kCellY * cells_across(width) + x / kCellX) * kCellHalves +
                       place_in_cell(x % kCellX, y % kCellY);
    *at = __float2half_rn(__half2float(*at) + value);
  }
};

/* With `settles` the coarser level has no weights, and gets its linear part at once. */
struct LinearLevel {
  Level own, coarse;
  Coefficients to;
  bool is_picture, settles;
};

__global__ void __launch_bounds__(256)
    linear_kernel(const __grid_constant__ Pixels pixels, LinearLevel level, float linear)
{
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  float mean[4];

  pdl_trigger_then_wait();
  if (x >= level.coarse.width || y >= level.coarse.height)
    return;
  if (level.settles) {
    const size_t i = (size_t)y * level.coarse.width + x;
    level.coarse.collapsed[i] = fmaf(linear, level.coarse.gauss[i], level.coarse.collapsed[i]);
  }
  expand_plane(level.coarse.gauss, neighbours(x, y, level.coarse.width, level.coarse.height), mean);
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const int own_x = 2 * x + (i & 1), own_y = 2 * y + (i >> 1);

    if (own_x >= level.own.width || own_y >= level.own.height)
      continue;
    const float own = level.is_picture ? __saturatef(load_intensity(pixels, own_x, own_y))
                                       : level.own.gauss[(size_t)own_y * level.own.width + own_x];
    level.to.add(own_x, own_y, linear * (own - mean[i]));
  }
}

} // namespace

bool make_weights(Queue *queue, const Pixels &pixels, const Weighting &weighting,
                  const Pyramid &pyramid, bool beside)
{
  Job variances = {}, job = {};

  job.slope = weighting.slope;
  job.offset = weighting.offset;
  for (int l = 0; l < pyramid.weighted; l++) {
    const BlockWeights &weights = pyramid.weights[l];
    const Level &level = pyramid.level[l];
    const WeightedLevel weighted = {weights, level.width, level.height, level.gauss,
                                    weighting.share[l]};
    auto add = [&](Job *to, int items) {
      to->level[to->levels] = weighted;
      to->first[to->levels + 1] = to->first[to->levels] + items;
      to->levels++;
    };

    add(&job, weights.pitch / kTogether * (weights.down + 2));
    if (l > 0 || !pyramid.picture_varied)
      add(&variances, weights.across * weights.down);
  }
  return (variances.levels == 0 || launch(queue, "llf variances", variance_kernel,
                                          dim3(blocks(variances.first[variances.levels], kThreads)),
                                          dim3(kThreads), 0, pixels, variances, beside)) &&
         launch(queue, "llf weights", weights_kernel, dim3(blocks(job.first[job.levels], kThreads)),
                dim3(kThreads), 0, job);
}

bool add_linear_terms(Queue *queue, const Pixels &pixels, const Series &series,
                      const Pyramid &pyramid)
{
  for (int l = 0; l < pyramid.weighted; l++) {
    const Level &own = pyramid.level[l], &coarse = pyramid.level[l + 1];
    const LinearLevel level = {own,
                               coarse,
                               {l < 2 ? pyramid.cells[l] : nullptr, own.collapsed, own.width},
                               l == 0,
                               l == pyramid.weighted - 1};

    if (!launch(queue, "llf linear terms", linear_kernel,
                dim3(blocks(coarse.width, 32), blocks(coarse.height, 8)), dim3(32, 8), 0, pixels,
                level, series.linear))
      return false;
  }
  return true;
}

} // namespace cf::llf
