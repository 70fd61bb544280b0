/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The weights of the finest levels' coefficients, which keep the noise floor (CfLlfWeights), from
 * the picture and its Gaussian pyramid; and the linear part of the weighted levels.
 */
#include "cuda/common/grid_flags.cuh"
#include "cuda/llf/pixel_io.cuh"
#include "cuda/llf/pyramid_ops.cuh"
#include "cuda/llf/tiled_fp16.cuh"

namespace cf::llf
{
namespace
{

constexpr int kBlock = CF_LLF_WEIGHT_BLOCK, kThreads = 256;

/* A warp computes the weights of a strip of kStripX x kStripY blocks, a lane those of two columns.
 * The first and the last lane store nothing: their neighbours need their moments and weights. */
constexpr int kStripX = 60, kStripY = 4;

/* A level with weights; gauss is NULL for level 0, which is the picture. */
struct WeightedLevel {
  CellWeights weights;
  int width, height;
  const float *gauss;
  float2 *moments;
  float share; /* CfLlfWeights */
  int first;   /* its first item */
};

/* The work of a kernel: items of all levels in succession, which are blocks or strips. */
struct WeightWork {
  WeightedLevel level[CF_LLF_WEIGHTED_LEVELS];
  int count, items;
  float slope, offset; /* CfLlfWeights */

  void add(const Pyramid &pyramid, int index, float share, int added_items)
  {
    const Level &added = pyramid.level[index];

    level[count++] = {pyramid.weights[index], added.width, added.height, added.gauss,
                      pyramid.moments[index], share,       items};
    items += added_items;
  }
};

__device__ __forceinline__ const WeightedLevel &level_of(const WeightWork &work, int item)
{
  int index = 0;

  while (index + 1 < work.count && item >= work.level[index + 1].first)
    index++;
  return work.level[index];
}

/* The sample to read for sample i >= 0 of a row or column of `size`: beyond the border the last
 * cell is replicated, and where that has one sample only, this sample. */
__device__ __forceinline__ int replicated(int i, int size)
{
  return min(i, min(((size - 1) & ~1) + (i & 1), size - 1));
}

/* Sums over a block of sample - 1/2 and its square: around 1/2 less precision cancels. */
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

/* The moments of block (x, y). */
__device__ __forceinline__ float2 moments_of_block(const Pixels &pixels, const WeightedLevel &level,
                                                   int x, int y)
{
  BlockSums sums = {};

#pragma unroll 1
  for (int i = 0; i < kBlock * kBlock; i++) {
    const int from_x = replicated(kBlock * x + i % kBlock, level.width);
    const int from_y = replicated(kBlock * y + i / kBlock, level.height);

    sums.add(level.gauss ? level.gauss[(size_t)from_y * level.width + from_x]
                         : __saturatef(load_intensity(pixels, from_x, from_y)));
  }
  return sums.means();
}

/* The same for a level whose width is a multiple of the block's. */
__device__ __forceinline__ float2 moments_of_block(const WeightedLevel &level, int x, int y)
{
  BlockSums sums = {};

#pragma unroll
  for (int row = 0; row < kBlock; row++) {
    const float4 samples = *reinterpret_cast<const float4 *>(
        level.gauss + (size_t)replicated(kBlock * y + row, level.height) * level.width +
        kBlock * x);

    sums.add(samples.x);
    sums.add(samples.y);
    sums.add(samples.z);
    sums.add(samples.w);
  }
  return sums.means();
}

/* Computes moments, a block per thread. */
__global__ void __launch_bounds__(kThreads)
    moments_kernel(const __grid_constant__ Pixels pixels, const __grid_constant__ WeightWork work,
                   bool beside)
{
  const int item = blockIdx.x * kThreads + threadIdx.x;
  const WeightedLevel &level = level_of(work, item);
  const int i = item - level.first, x = i % level.weights.across, y = i / level.weights.across;

  begin(beside);
  if (item < work.items)
    level.moments[i] = level.gauss && level.width % kBlock == 0
                           ? moments_of_block(level, x, y)
                           : moments_of_block(pixels, level, x, y);
  end(beside);
}

/* ---- Weights ---- */

/* The filter of moments along an axis. */
__device__ __forceinline__ float smoothed(float before, float here, float after)
{
  return fmaf(0.0625f, before + after, 0.875f * here);
}

__device__ __forceinline__ float interpolated(float first, float second, float share)
{
  return fmaf(share, second - first, first);
}

/* The value of the previous and of the next lane, which have the adjacent columns. */
__device__ __forceinline__ float lane_before(float value)
{
  return __shfl_up_sync(~0u, value, 1);
}

__device__ __forceinline__ float lane_after(float value)
{
  return __shfl_down_sync(~0u, value, 1);
}

/* Filters a lane's two columns across, with the neighbouring lanes' columns. */
__device__ __forceinline__ float2 smoothed_across(float2 columns)
{
  return make_float2(smoothed(lane_before(columns.y), columns.x, columns.y),
                     smoothed(columns.x, columns.y, lane_after(columns.x)));
}

/* The weight of a block from its smoothed moments. */
__device__ __forceinline__ float weight_of(const WeightWork &work, float share, float mean,
                                           float square)
{
  constexpr float kDark = (float)(CF_LLF_WEIGHT_DARK * CF_LLF_WEIGHT_DARK);
  const float variance = fmaxf(fmaf(-mean, mean, square), 0.0f);
  const float t = fma_saturate(work.slope, sqrt_approx(variance + kDark), work.offset);

  return share * t * t * fmaf(-2.0f, t, 3.0f);
}

/* The weights of a row of blocks, interpolated across to the middles of the four cells of columns x
 * and x + 1. rows[0..2]: the moments of the row above, this row and the row below. */
__device__ __forceinline__ float4 weights_of_row(const WeightWork &work, const WeightedLevel &level,
                                                 int x, const float2 (*rows)[2])
{
  auto down = [&](float2 above, float2 here, float2 below) {
    return make_float2(smoothed(above.x, here.x, below.x), smoothed(above.y, here.y, below.y));
  };
  const float2 first = down(rows[0][0], rows[1][0], rows[2][0]);
  const float2 second = down(rows[0][1], rows[1][1], rows[2][1]);
  const float2 mean = smoothed_across(make_float2(first.x, second.x));
  const float2 square = smoothed_across(make_float2(first.y, second.y));
  const float left = weight_of(work, level.share, mean.x, square.x);
  const float right = weight_of(work, level.share, mean.y, square.y);
  const float before = lane_before(right), after = lane_after(left);
  const int last = level.weights.across - 1;

  return make_float4(interpolated(left, x > 0 ? before : left, 0.25f),
                     interpolated(left, x < last ? right : left, 0.25f),
                     interpolated(right, left, 0.25f),
                     interpolated(right, x + 1 < last ? after : right, 0.25f));
}

/* Computes weights, a strip per warp. With `beside` each thread waits for the flag: moments are
 * made before the coarse levels. */
__global__ void __launch_bounds__(kThreads)
    weights_kernel(const __grid_constant__ WeightWork work, const unsigned *coarse_inputs_ready,
                   bool beside)
{
  const int strip = (blockIdx.x * kThreads + threadIdx.x) / 32, lane = threadIdx.x % 32;
  const WeightedLevel &level = level_of(work, strip);
  const CellWeights &weights = level.weights;
  const int i = strip - level.first, across = (weights.across + kStripX - 1) / kStripX;
  const int x = i % across * kStripX + 2 * (lane - 1), y = i / across * kStripY;
  const bool stores = strip < work.items && lane > 0 && lane < 31 && x < weights.across;
  float2 moments[kStripY + 4][2];
  float4 row_weights[kStripY + 2];

  begin(beside);
  if (beside)
    await_flag(coarse_inputs_ready);
#pragma unroll
  for (int k = 0; k < 2 * (kStripY + 4); k++)
    moments[k / 2][k % 2] =
        level.moments[min(max(y - 2 + k / 2, 0), weights.down - 1) * weights.across +
                      min(max(x + k % 2, 0), weights.across - 1)];
#pragma unroll
  for (int k = 0; k < kStripY + 2; k++)
    row_weights[k] = weights_of_row(work, level, x, moments + k);

    /* The two rows of cells between the middles of a row of blocks and of the next one, with the
     * border replicated. */
#pragma unroll
  for (int k = 0; k <= kStripY; k++) {
    const int row = y + k;
    const float4 above = row > 0 ? row_weights[k] : row_weights[k + 1];
    const float4 below = row < weights.down ? row_weights[k + 1] : row_weights[k];
    auto store = [&](int cell_row, float share) {
      *reinterpret_cast<uint2 *>(weights.plane + weights.index(2 * x, cell_row)) =
          make_uint2(cf::pack_half2(interpolated(above.x, below.x, share),
                                    interpolated(above.y, below.y, share)),
                     cf::pack_half2(interpolated(above.z, below.z, share),
                                    interpolated(above.w, below.w, share)));
    };

    if (stores && k > 0 && row <= weights.down)
      store(2 * row - 1, 0.25f);
    if (stores && k < kStripY && row < weights.down)
      store(2 * row, 0.75f);
  }
  end(beside);
}

/* ---- The linear part ---- */

/* A level's coefficients on tensor cores: of levels 0 and 1 in tiles, else in a plane. */
struct Coefficients {
  __half *tiled;
  float *plane;
  int width;

  __device__ __forceinline__ void add(int x, int y, float value) const
  {
    if (!tiled) {
      plane[(size_t)y * width + x] += value;
      return;
    }
    __half *const at = tiled +
                       (size_t)(y / kPatchY * patches_across(width) + x / kPatchX) * kPatchHalves +
                       place_in_patch(x % kPatchX, y % kPatchY);
    *at = __float2half_rn(__half2float(*at) + value);
  }
};

/* `completes_coarse`: the coarser level has no weights. Its collapsed image, D_W, then becomes E_W
 * of plan/llf_plan.h. */
struct LinearLevel {
  Level own, coarse;
  Coefficients to;
  bool is_picture, completes_coarse;
};

/* Adds linear * I_l to a level's coefficients: a quad per thread. */
__global__ void __launch_bounds__(256)
    linear_kernel(const __grid_constant__ Pixels pixels, LinearLevel level, float linear)
{
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  float expanded[4];

  pdl_trigger_then_wait();
  if (x >= level.coarse.width || y >= level.coarse.height)
    return;
  if (level.completes_coarse) {
    const size_t i = (size_t)y * level.coarse.width + x;
    level.coarse.collapsed[i] = fmaf(linear, level.coarse.gauss[i], level.coarse.collapsed[i]);
  }
  expand_plane(level.coarse.gauss, neighbours(x, y, level.coarse.width, level.coarse.height),
               expanded);
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const int own_x = 2 * x + (i & 1), own_y = 2 * y + (i >> 1);

    if (own_x >= level.own.width || own_y >= level.own.height)
      continue;
    const float own = level.is_picture ? __saturatef(load_intensity(pixels, own_x, own_y))
                                       : level.own.gauss[(size_t)own_y * level.own.width + own_x];
    level.to.add(own_x, own_y, linear * (own - expanded[i]));
  }
}

/* The blocks of the levels whose moments are not computed with levels 1 and 2. */
WeightWork moments_to_make(const Pyramid &pyramid)
{
  WeightWork work = {};

  for (int l = pyramid.builds_moments ? 1 : 0; l < pyramid.weighted; l++)
    work.add(pyramid, l, 1.0f, pyramid.weights[l].across * pyramid.weights[l].down);
  return work;
}

} // namespace

bool make_moments(Queue *queue, const Pixels &pixels, const Pyramid &pyramid, bool beside)
{
  const WeightWork work = moments_to_make(pyramid);

  return work.items == 0 ||
         launch(queue, "llf moments", moments_kernel, dim3(blocks(work.items, kThreads)),
                dim3(kThreads), 0, pixels, work, beside);
}

bool make_weights(Queue *queue, const CfLlfWeights &weighting, const Pyramid &pyramid, bool beside)
{
  WeightWork work = {};

  work.slope = (float)weighting.slope;
  work.offset = (float)weighting.offset;
  for (int l = 0; l < pyramid.weighted; l++)
    work.add(pyramid, l, (float)weighting.share[l],
             blocks(pyramid.weights[l].across, kStripX) * blocks(pyramid.weights[l].down, kStripY));
  return launch(queue, "llf weights", weights_kernel, dim3(blocks(work.items, kThreads / 32)),
                dim3(kThreads), 0, work, pyramid.coarse_inputs_ready, beside);
}

bool add_linear_terms(Queue *queue, const Pixels &pixels, const Series &series,
                      const Pyramid &pyramid)
{
  for (int l = 0; l < pyramid.weighted; l++) {
    const Level &own = pyramid.level[l], &coarse = pyramid.level[l + 1];
    const LinearLevel level = {own,
                               coarse,
                               {l < 2 ? pyramid.tiled[l] : nullptr, own.collapsed, own.width},
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
