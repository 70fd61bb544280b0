/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The weights of the finest levels' coefficients, which hold the noise floor (CfLlfWeights), from
 * the variance of the picture and of its Gaussians. A CTA makes a tile of blocks, with some around
 * it; a warp has two rows of them, a lane a column. What a block needs of those beside it, other
 * lanes have, and of those above and below it, shared memory. So all reads are on their way at
 * once.
 */
#include "cuda/llf/tiled_fp16.cuh"
#include "cuda/llf/weights_moments.cuh"

#include <math.h>

namespace cf::llf
{
namespace
{

/* A tile's blocks, and so many around it. */
constexpr int kSide = 2, kWarps = 8, kRowsOfWarp = 2, kRows = kWarps * kRowsOfWarp;
constexpr int kTileAcross = 32 - 2 * kSide, kTileDown = kRows - 2 * kSide;

/* --- a tile --- */

struct Opening {
  float slope, offset, share;

  __device__ __forceinline__ float weight(float variance) const
  {
    constexpr float kDark = (float)(CF_LLF_WEIGHT_DARK * CF_LLF_WEIGHT_DARK);
    const float t = fma_saturate(slope, sqrt_approx(variance + kDark), offset);

    return share * t * t * fmaf(-2.0f, t, 3.0f);
  }
};

/* With a thirty-second of either neighbour. */
__device__ __forceinline__ float smoothed(float before, float here, float after)
{
  return fmaf(0.03125f, before + after, 0.9375f * here);
}

struct WeightedLevel {
  BlockWeights weights;
  int tiles_across;
  Opening opening;
};

/* Stores the weight of a block at the border, and in the margin. */
__device__ __forceinline__ void store_at_border(const BlockWeights &weights, int x, int y,
                                                float weight)
{
  const int before_x = x > 0 ? 0 : 1, before_y = y > 0 ? 0 : 1;
  const int after_x = x + 1 < weights.across ? 0 : weights.pitch - 2 - x;
  const int after_y = y + 1 < weights.down ? 0 : 1;

  for (int i = -before_y; i <= after_y; i++) {
    for (int k = -before_x; k <= after_x; k++)
      weights.plane[weights.index(x + k, y + i)] = weight;
  }
}

/* A block's variance, smoothed across. Beyond the level its border repeats. */
__device__ __forceinline__ float smoothed_across(float variance, int x, int across)
{
  const float before = __shfl_up_sync(~0u, variance, 1);
  const float after = __shfl_down_sync(~0u, variance, 1);

  return smoothed(x > 0 ? before : variance, variance, x + 1 < across ? after : variance);
}

/* The sample that stands for number `i` of `size`: cells of two repeat beyond the border, and a
 * last one of one sample has that twice. */
__device__ __forceinline__ int repeated(int i, int size)
{
  const int last_cell = (size - 1) & ~1;

  return min(i < 0 ? i & 1 : min(i, last_cell + (i & 1)), size - 1);
}

/* Rows of words, or of samples that make such. */
struct Rows {
  const uint8_t *from; /* row 0 */
  ptrdiff_t stride;    /* bytes */
  int width, height;
  bool aligned;
};

/* A lane's column of blocks. */
template <typename Values> struct Column {
  using Four = typename Values::Four;

  const Values &values;
  const Rows &rows;
  const uint8_t *from; /* in row 0, where the lane reads words */
  bool words;
  int samples[kBlock];

  __device__ __forceinline__ Column(const Values &values, const Rows &rows, int x)
      : values(values), rows(rows), from(rows.from + (ptrdiff_t)x * (int)sizeof(Four)),
        words(rows.aligned && x >= 0 && kBlock * (x + 1) <= rows.width)
  {
#pragma unroll
    for (int k = 0; k < kBlock; k++)
      samples[k] = repeated(kBlock * x + k, rows.width);
  }

  /* The rows of block `y`. */
  __device__ __forceinline__ void load(int y, Four (&four)[kBlock]) const
  {
    if (words && y >= 0 && kBlock * (y + 1) <= rows.height) {
      const uint8_t *const row = from + kBlock * y * rows.stride;

#pragma unroll
      for (int k = 0; k < kBlock; k++)
        four[k] = *reinterpret_cast<const Four *>(row + k * rows.stride);
    } else {
#pragma unroll
      for (int k = 0; k < kBlock; k++)
        four[k] = values.gather(samples, repeated(kBlock * y + k, rows.height));
    }
  }
};

/* What rows of blocks hand to those above and below them: halves of blocks, in a block's order, and
 * variances, smoothed across. */
struct Shared {
  uint2 half[2 * kRows][32];
  float variance[kRows][32];
};

/* Of the halves of row `row`. */
template <typename Values>
__device__ __forceinline__ void store_halves(const Values &values,
                                             typename Values::Four (&four)[kBlock], Shared *shared,
                                             int row, int lane)
{
  using M = Moments<typename Values::Sum>;

  values.prepare(four);
#pragma unroll
  for (int k = 0; k < 2; k++) {
    M cell[2];

    values.cells(four[2 * k], four[2 * k + 1], cell);
    *reinterpret_cast<M *>(&shared->half[2 * row + k][lane]) = moments_across(cell);
  }
}

template <typename Values>
__device__ __forceinline__ float variance_of_row(const Values &values, const Shared &shared,
                                                 int row, int lane)
{
  using M = Moments<typename Values::Sum>;
  M half[4];

#pragma unroll
  for (int k = 0; k < 4; k++)
    half[k] = *reinterpret_cast<const M *>(&shared.half[2 * row - 1 + k][lane]);
  return values.variance(moments_down(half));
}

/* The weights of tile `tile`. */
template <typename Values>
__device__ __forceinline__ void make_tile(const Values &values, const Rows &source,
                                          const WeightedLevel &level, int tile, Shared *shared)
{
  const BlockWeights &weights = level.weights;
  const int lane = threadIdx.x % 32, first_row = (int)threadIdx.x / 32 * kRowsOfWarp;
  const int x = tile % level.tiles_across * kTileAcross - kSide + lane;
  const int y = tile / level.tiles_across * kTileDown - kSide + first_row;
  const bool writes = lane >= kSide && lane < 32 - kSide && x < weights.across;
  const Column<Values> column(values, source, x);
  typename Values::Four four[kRowsOfWarp][kBlock];

#pragma unroll
  for (int k = 0; k < kRowsOfWarp; k++)
    column.load(y + k, four[k]);
#pragma unroll
  for (int k = 0; k < kRowsOfWarp; k++)
    store_halves(values, four[k], shared, first_row + k, lane);
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kRowsOfWarp; k++) {
    const int row = first_row + k;

    if (row > 0 && row < kRows - 1)
      shared->variance[row][lane] =
          smoothed_across(variance_of_row(values, *shared, row, lane), x, weights.across);
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kRowsOfWarp; k++) {
    const int row = first_row + k, to_y = y + k;

    if (row < kSide || row >= kRows - kSide || to_y >= weights.down || !writes)
      continue;
    const bool top = to_y == 0, bottom = to_y == weights.down - 1;
    const float weight = level.opening.weight(
        smoothed(shared->variance[top ? row : row - 1][lane], shared->variance[row][lane],
                 shared->variance[bottom ? row : row + 1][lane]));

    if (top || bottom || x == 0 || x == weights.across - 1)
      store_at_border(weights, x, to_y, weight);
    else
      weights.plane[weights.index(x, to_y)] = weight;
  }
}

struct Job {
  WeightedLevel level[CF_LLF_WEIGHTED_LEVELS];
  Level fine[CF_LLF_WEIGHTED_LEVELS]; /* from 1 on */
  int first_tile[CF_LLF_WEIGHTED_LEVELS + 1];
  int levels;
  Words words;
};

template <typename Sample, Colour Kind>
__global__ void __launch_bounds__(32 * kWarps, 5)
    weights_kernel(const __grid_constant__ Pixels pixels, const __grid_constant__ Job job,
                   bool beside)
{
  __shared__ Shared shared;
  int index = 0;

  begin(beside);
  while (index + 1 < job.levels && (int)blockIdx.x >= job.first_tile[index + 1])
    index++;
  const WeightedLevel &level = job.level[index];
  const int tile = (int)blockIdx.x - job.first_tile[index];

  if (index == 0) {
    make_tile(PictureValues<Sample, Kind>{pixels, job.words},
              Rows{job.words.from, pixels.channel[0].from_stride, pixels.width, pixels.height,
                   job.words.aligned},
              level, tile, &shared);
  } else {
    const Level &fine = job.fine[index];

    make_tile(GaussValues{fine.gauss, fine.width},
              Rows{reinterpret_cast<const uint8_t *>(fine.gauss),
                   (ptrdiff_t)fine.width * (ptrdiff_t)sizeof(float), fine.width, fine.height,
                   fine.width % kBlock == 0},
              level, tile, &shared);
  }
  end(beside);
}

Words words_of(const Pixels &pixels)
{
  const Channel &channel = pixels.channel[0];
  const bool rgb = pixels.colour == Colour::RGB;
  const Packing packing = packing_of(pixels);
  const uint8_t *const from = channel.from - (rgb ? packing.byte[0] : 0);
  const uintptr_t bits = (uintptr_t)from | (uintptr_t)channel.from_stride;
  /* A range that ends between two codes has both. */
  const uint32_t first = (uint32_t)floorf(pixels.offset);
  const uint32_t last = (uint32_t)fminf(ceilf(pixels.offset + pixels.scale), pixels.max_code);

  return Words{from,
               rgb ? packing.packed && bits % 16 == 0
                   : pixels.step[0] == 1 && bits % (pixels.wide ? 8 : 4) == 0,
               first * 65537u,
               last * 65537u,
               first > 0 || (float)last < pixels.max_code,
               packing,
               luma_row_of(pixels, packing)};
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

struct LinearLevel {
  Level own, coarse;
  Coefficients to;
};

__global__ void __launch_bounds__(256)
    linear_kernel(const __grid_constant__ Pixels pixels, LinearLevel level, bool is_picture,
                  float linear)
{
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  float mean[4];

  pdl_trigger_then_wait();
  if (x >= level.coarse.width || y >= level.coarse.height)
    return;
  expand_plane(level.coarse.gauss, neighbours(x, y, level.coarse.width, level.coarse.height), mean);
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const int own_x = 2 * x + (i & 1), own_y = 2 * y + (i >> 1);

    if (own_x >= level.own.width || own_y >= level.own.height)
      continue;
    const float own = is_picture ? __saturatef(load_intensity(pixels, own_x, own_y))
                                 : level.own.gauss[(size_t)own_y * level.own.width + own_x];
    level.to.add(own_x, own_y, linear * (own - mean[i]));
  }
}

__global__ void __launch_bounds__(256) settle_kernel(Level level, float linear)
{
  const size_t i = (size_t)blockIdx.x * 256 + threadIdx.x;

  pdl_trigger_then_wait();
  if (i < (size_t)level.width * level.height)
    level.collapsed[i] = fmaf(linear, level.gauss[i], level.collapsed[i]);
}

} // namespace

bool make_weights(Queue *queue, const Pixels &pixels, const Weighting &weighting,
                  const Pyramid &pyramid, bool beside)
{
  Job job = {};

  job.levels = pyramid.weighted;
  job.words = words_of(pixels);
  for (int l = 0; l < job.levels; l++) {
    const BlockWeights &weights = pyramid.weights[l];
    const int tiles_across = blocks(weights.across, kTileAcross);

    job.level[l] = WeightedLevel{
        weights, tiles_across, {weighting.slope, weighting.offset, weighting.share[l]}};
    job.fine[l] = pyramid.level[l];
    job.first_tile[l + 1] = job.first_tile[l] + tiles_across * blocks(weights.down, kTileDown);
  }
  return with_pixel_types(pixels, [&](auto sample, auto colour) {
    using Sample = typename decltype(sample)::type;
    constexpr Colour kKind = decltype(colour)::colour == Colour::RGB ? Colour::RGB : Colour::SINGLE;

    return launch(queue, "llf weights", weights_kernel<Sample, kKind>,
                  dim3(job.first_tile[job.levels]), dim3(32 * kWarps), 0, pixels, job, beside);
  });
}

bool add_linear_terms(Queue *queue, const Pixels &pixels, const Series &series,
                      const Pyramid &pyramid)
{
  const Level &first = pyramid.level[pyramid.weighted];

  for (int l = 0; l < pyramid.weighted; l++) {
    const Level &own = pyramid.level[l], &coarse = pyramid.level[l + 1];
    const LinearLevel level = {
        own, coarse, {l < 2 ? pyramid.cells[l] : nullptr, own.collapsed, own.width}};

    if (!launch(queue, "llf linear terms", linear_kernel,
                dim3(blocks(coarse.width, 32), blocks(coarse.height, 8)), dim3(32, 8), 0, pixels,
                level, l == 0, series.linear))
      return false;
  }
  return launch(queue, "llf settle", settle_kernel, dim3(blocks(first.width * first.height, 256)),
                dim3(256), 0, first, series.linear);
}

} // namespace cf::llf
