/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The weights of the finest levels' coefficients, which hold the noise floor (CfLlfWeights), from
 * the picture and its Gaussians; and what of the linear part is weighted.
 */
#include "cuda/common/grid_flags.cuh"
#include "cuda/llf/pixel_io.cuh"
#include "cuda/llf/pyramid_ops.cuh"
#include "cuda/llf/tiled_fp16.cuh"

#include <algorithm>

namespace cf::llf
{
namespace
{

constexpr int kBlock = CF_LLF_WEIGHT_BLOCK, kThreads = 256;

/* Of blocks a warp has kStripY rows, and a lane two columns. The first lane and the last are there
 * for their neighbours. */
constexpr int kStripX = 60, kStripY = 4;

/* A level with weights; gauss is NULL of the picture. */
struct WeightedLevel {
  CellWeights weights;
  int width, height;
  const float *gauss;
  float2 *moments;
  float share; /* CfLlfWeights */
  int first;   /* item, a block or a strip */
};

struct Job {
  WeightedLevel level[CF_LLF_WEIGHTED_LEVELS];
  int levels, items;
  float slope, offset; /* CfLlfWeights */

  void add(const Pyramid &pyramid, int index, float share, int count)
  {
    const Level &added = pyramid.level[index];

    level[levels++] = {pyramid.weights[index], added.width, added.height, added.gauss,
                       pyramid.moments[index], share,       items};
    items += count;
  }
};

__device__ __forceinline__ const WeightedLevel &level_of(const Job &job, int item)
{
  int index = 0;

  while (index + 1 < job.levels && item >= job.level[index + 1].first)
    index++;
  return job.level[index];
}

/* The sample that stands for number `i` >= 0 of `size`: beyond the border the last cell repeats, of
 * whose samples one may be missing. */
__device__ __forceinline__ int repeated(int i, int size)
{
  return min(i, min(((size - 1) & ~1) + (i & 1), size - 1));
}

/* Of a block: the means of what samples are off by from 1/2, and of the square of that. */
struct BlockSums {
  float value, square;

  __device__ __forceinline__ void add(float sample)
  {
    value += sample - 0.5f;
    square = fmaf(sample - 0.5f, sample - 0.5f, square);
  }

  __device__ __forceinline__ float2 means() const
  {
    return make_float2(value / (kBlock * kBlock), square / (kBlock * kBlock));
  }
};

/* Block (x, y). */
__device__ __forceinline__ float2 moments_of_block(const Pixels &pixels, const WeightedLevel &level,
                                                   int x, int y)
{
  BlockSums sums = {};

#pragma unroll 1
  for (int i = 0; i < kBlock * kBlock; i++) {
    const int from_x = repeated(kBlock * x + i % kBlock, level.width);
    const int from_y = repeated(kBlock * y + i / kBlock, level.height);

    sums.add(level.gauss ? level.gauss[(size_t)from_y * level.width + from_x]
                         : __saturatef(load_intensity(pixels, from_x, from_y)));
  }
  return sums.means();
}

/* The same of a level that has whole blocks across. */
__device__ __forceinline__ float2 moments_of_block(const WeightedLevel &level, int x, int y)
{
  BlockSums sums = {};

#pragma unroll
  for (int row = 0; row < kBlock; row++) {
    const float4 four = *reinterpret_cast<const float4 *>(
        level.gauss + (size_t)repeated(kBlock * y + row, level.height) * level.width + kBlock * x);

    sums.add(four.x);
    sums.add(four.y);
    sums.add(four.z);
    sums.add(four.w);
  }
  return sums.means();
}

/* A thread makes those of every so many blocks; `made`, if it is not NULL, counts CTAs that have.
 */
__global__ void __launch_bounds__(kThreads)
    moments_kernel(const __grid_constant__ Pixels pixels, const __grid_constant__ Job job,
                   unsigned *made, bool beside)
{
  begin(beside);
  for (int item = blockIdx.x * kThreads + threadIdx.x; item < job.items;
       item += gridDim.x * kThreads) {
    const WeightedLevel &level = level_of(job, item);
    const int i = item - level.first, x = i % level.weights.across, y = i / level.weights.across;

    level.moments[i] = level.gauss && level.width % kBlock == 0
                           ? moments_of_block(level, x, y)
                           : moments_of_block(pixels, level, x, y);
  }
  count_cta_done(made);
  end(beside);
}

/* --- weights --- */

/* With a sixteenth of either neighbour. */
__device__ __forceinline__ float smoothed(float before, float here, float after)
{
  return fmaf(0.0625f, before + after, 0.875f * here);
}

__device__ __forceinline__ float mixed(float first, float second, float part)
{
  return fmaf(part, second - first, first);
}

/* Of the lanes beside this one, which are other columns. */
__device__ __forceinline__ float lane_before(float value)
{
  return __shfl_up_sync(~0u, value, 1);
}

__device__ __forceinline__ float lane_after(float value)
{
  return __shfl_down_sync(~0u, value, 1);
}

/* Of two columns, with what is in the lanes beside. */
__device__ __forceinline__ float2 smoothed_across(float2 two)
{
  return make_float2(smoothed(lane_before(two.y), two.x, two.y),
                     smoothed(two.x, two.y, lane_after(two.x)));
}

/* The weight of a block from its smoothed moments. */
__device__ __forceinline__ float weight_of(const Job &job, float share, float mean, float square)
{
  constexpr float kDark = (float)(CF_LLF_WEIGHT_DARK * CF_LLF_WEIGHT_DARK);
  const float variance = fmaxf(fmaf(-mean, mean, square), 0.0f);
  const float t = fma_saturate(job.slope, sqrt_approx(variance + kDark), job.offset);

  return share * t * t * fmaf(-2.0f, t, 3.0f);
}

/* The weights of a row of blocks, at the middles of the four cells of columns x and x + 1, from the
 * moments of this row and those above and below. */
__device__ __forceinline__ float4 weights_of_row(const Job &job, const WeightedLevel &level, int x,
                                                 const float2 (*rows)[2])
{
  auto down = [&](float2 above, float2 here, float2 below) {
    return make_float2(smoothed(above.x, here.x, below.x), smoothed(above.y, here.y, below.y));
  };
  const float2 first = down(rows[0][0], rows[1][0], rows[2][0]);
  const float2 second = down(rows[0][1], rows[1][1], rows[2][1]);
  const float2 mean = smoothed_across(make_float2(first.x, second.x));
  const float2 square = smoothed_across(make_float2(first.y, second.y));
  const float left = weight_of(job, level.share, mean.x, square.x);
  const float right = weight_of(job, level.share, mean.y, square.y);
  const float before = lane_before(right), after = lane_after(left);
  const int last = level.weights.across - 1;

  return make_float4(mixed(left, x > 0 ? before : left, 0.25f),
                     mixed(left, x < last ? right : left, 0.25f), mixed(right, left, 0.25f),
                     mixed(right, x + 1 < last ? after : right, 0.25f));
}

/* `beside` earlier kernels it waits until so many CTAs have made moments, each thread by itself. */
__global__ void __launch_bounds__(kThreads)
    weights_kernel(const __grid_constant__ Job job, const unsigned *moments_made, unsigned ctas,
                   bool beside)
{
  const int strip = (blockIdx.x * kThreads + threadIdx.x) / 32, lane = threadIdx.x % 32;
  const WeightedLevel &level = level_of(job, strip);
  const CellWeights &weights = level.weights;
  const int i = strip - level.first, across = (weights.across + kStripX - 1) / kStripX;
  const int x = i % across * kStripX + 2 * (lane - 1), y = i / across * kStripY;
  const bool stores = strip < job.items && lane > 0 && lane < 31 && x < weights.across;
  float2 moments[kStripY + 4][2];
  float4 made[kStripY + 2];

  begin(beside);
  if (beside)
    spin_acquire(moments_made, ctas);
#pragma unroll
  for (int k = 0; k < 2 * (kStripY + 4); k++)
    moments[k / 2][k % 2] =
        level.moments[min(max(y - 2 + k / 2, 0), weights.down - 1) * weights.across +
                      min(max(x + k % 2, 0), weights.across - 1)];
#pragma unroll
  for (int k = 0; k < kStripY + 2; k++)
    made[k] = weights_of_row(job, level, x, moments + k);

    /* Cells between the middles of a row of blocks and the next; beyond the border rows repeat. */
#pragma unroll
  for (int k = 0; k <= kStripY; k++) {
    const int row = y + k;
    const float4 above = row > 0 ? made[k] : made[k + 1];
    const float4 below = row < weights.down ? made[k + 1] : made[k];
    auto store = [&](int cell_row, float part) {
      *reinterpret_cast<uint2 *>(weights.plane + weights.index(2 * x, cell_row)) =
          make_uint2(cf::pack_half2(mixed(above.x, below.x, part), mixed(above.y, below.y, part)),
                     cf::pack_half2(mixed(above.z, below.z, part), mixed(above.w, below.w, part)));
    };

    if (stores && k > 0 && row <= weights.down)
      store(2 * row - 1, 0.25f);
    if (stores && k < kStripY && row < weights.down)
      store(2 * row, 0.75f);
  }
  end(beside);
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

/* Of the levels whose moments are not made with levels 1 and 2. */
Job moments_to_make(const Pyramid &pyramid)
{
  Job job = {};

  for (int l = pyramid.picture_measured ? 1 : 0; l < pyramid.weighted; l++)
    job.add(pyramid, l, 1.0f, pyramid.weights[l].across * pyramid.weights[l].down);
  return job;
}

/* Few that stay, since there is little room beside other kernels. */
int moments_ctas(const Gpu &gpu, const Job &job)
{
  return std::min(blocks(job.items, kThreads), 2 * gpu.multiprocessors);
}

} // namespace

bool make_moments(Queue *queue, const Pixels &pixels, const Pyramid &pyramid, bool beside)
{
  const Job job = moments_to_make(pyramid);

  return job.items == 0 || launch(queue, "llf moments", moments_kernel,
                                  dim3(moments_ctas(queue->gpu, job)), dim3(kThreads), 0, pixels,
                                  job, beside ? &pyramid.progress->moments_made : nullptr, beside);
}

bool make_weights(Queue *queue, const CfLlfWeights &weighting, const Pyramid &pyramid, bool beside)
{
  const unsigned ctas = (unsigned)moments_ctas(queue->gpu, moments_to_make(pyramid));
  Job job = {};

  job.slope = (float)weighting.slope;
  job.offset = (float)weighting.offset;
  for (int l = 0; l < pyramid.weighted; l++)
    job.add(pyramid, l, (float)weighting.share[l],
            blocks(pyramid.weights[l].across, kStripX) * blocks(pyramid.weights[l].down, kStripY));
  return launch(queue, "llf weights", weights_kernel, dim3(blocks(job.items, kThreads / 32)),
                dim3(kThreads), 0, job, beside ? &pyramid.progress->moments_made : nullptr, ctas,
                beside);
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
