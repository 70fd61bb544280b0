/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The weights of the finest levels' coefficients, which hold the noise floor (CfLlfWeights), from
 * the variance of the picture and of its Gaussians. A lane has a column of blocks of a strip and
 * walks down its rows; what a block needs of those beside it, neighbouring lanes have.
 */
#include "cuda/llf/tiled_fp16.cuh"
#include "cuda/llf/weights_moments.cuh"

#include <math.h>

namespace cf::llf
{
namespace
{

/* Of a strip: the two outer lanes on either side only help. */
constexpr int kSide = 2, kLanes = 32 - 2 * kSide, kWarps = 4;

/* Rows of weights that a warp makes: of large levels more, since each strip begins with three more.
 */
int rows_of_strip(int blocks_across, int blocks_down)
{
  return (long long)blocks_across * blocks_down > 300000 ? 12 : 6;
}

/* --- a strip --- */

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
  int strips, rows; /* strips side by side, and the rows of blocks of one */
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

/* A lane's four columns of a level, four rows at a time; the next four are on their way. */
template <typename Values> struct Column {
  using Four = typename Values::Four;
  using Sum = typename Values::Sum;

  const Values &values;
  const uint8_t *from; /* row 0, where the lane reads words */
  ptrdiff_t stride;
  int height, y; /* of the next row to load */
  bool words;
  int columns[kBlock];
  Four ahead[kBlock];

  __device__ __forceinline__ Column(const Values &values, const Rows &rows, int x, int y)
      : values(values), from(rows.from + (ptrdiff_t)(x / kBlock) * (int)sizeof(Four)),
        stride(rows.stride), height(rows.height), y(y),
        words(rows.aligned && x >= 0 && x + kBlock <= rows.width)
  {
#pragma unroll
    for (int k = 0; k < kBlock; k++)
      columns[k] = repeated(x + k, rows.width);
    load();
  }

  __device__ __forceinline__ void load()
  {
    if (words && y >= 0 && y + kBlock <= height) {
      const uint8_t *const row = from + y * stride;

#pragma unroll
      for (int k = 0; k < kBlock; k++)
        ahead[k] = *reinterpret_cast<const Four *>(row + k * stride);
    } else {
#pragma unroll
      for (int k = 0; k < kBlock; k++)
        ahead[k] = values.gather(columns, repeated(y + k, height));
    }
    y += kBlock;
  }

  /* Of the next two halves of blocks. */
  __device__ __forceinline__ void next(Moments<Sum> (&halves)[2])
  {
    Moments<Sum> cell[2][2];

    values.prepare(ahead);
    values.cells(ahead[0], ahead[1], cell[0]);
    values.cells(ahead[2], ahead[3], cell[1]);
    load();
    halves[0] = moments_across(cell[0]);
    halves[1] = moments_across(cell[1]);
  }
};

/* The weights of strip `strip`, from row `first` of blocks on. */
template <typename Values>
__device__ __forceinline__ void make_strip(const Values &values, const Rows &source,
                                           const WeightedLevel &level, int strip, int first)
{
  const BlockWeights weights = level.weights;
  const Opening opening = level.opening;
  const int lane = threadIdx.x % 32, x = strip * kLanes + lane - kSide;
  const bool writes = lane >= kSide && lane < 32 - kSide && x < weights.across;
  const bool at_side = x == 0 || x == weights.across - 1;
  const int end = min(first + level.rows, weights.down);
  Column<Values> column(values, source, kBlock * x, kBlock * (first - 1) - kBlock / 2);
  Moments<typename Values::Sum> above[2] = {}, below[2];
  float rows[3] = {};

  /* What is above row first - 1 has no use but to begin with. */
#pragma unroll 1
  for (int y = first - 2; y <= end; y++) {
    column.next(below);
    rows[0] = rows[1];
    rows[1] = rows[2];
    rows[2] = smoothed_across(values.variance(moments_down(above, below)), x, weights.across);
    above[0] = below[0];
    above[1] = below[1];
    if (y <= first || !writes) /* two rows have not been made yet */
      continue;
    const bool top = y == 1, bottom = y == weights.down;
    const float weight =
        opening.weight(smoothed(top ? rows[1] : rows[0], rows[1], bottom ? rows[1] : rows[2]));

    if (at_side || top || bottom)
      store_at_border(weights, x, y - 1, weight);
    else
      weights.plane[weights.index(x, y - 1)] = weight;
  }
}

struct Job {
  WeightedLevel level[CF_LLF_WEIGHTED_LEVELS];
  Level fine[CF_LLF_WEIGHTED_LEVELS]; /* from 1 on */
  int first_block[CF_LLF_WEIGHTED_LEVELS + 1];
  int levels;
  Words words;
};

template <typename Sample, Colour Kind>
__global__ void __launch_bounds__(32 * kWarps)
    weights_kernel(const __grid_constant__ Pixels pixels, const __grid_constant__ Job job,
                   bool beside)
{
  int index = 0;

  begin(beside);
  while (index + 1 < job.levels && (int)blockIdx.x >= job.first_block[index + 1])
    index++;
  const WeightedLevel &level = job.level[index];
  const int warp = ((int)blockIdx.x - job.first_block[index]) * kWarps + (int)threadIdx.x / 32;
  const int strip = warp % level.strips, first = warp / level.strips * level.rows;

  if (first < level.weights.down && index == 0) {
    make_strip(PictureValues<Sample, Kind>{pixels, job.words},
               Rows{job.words.from, pixels.channel[0].from_stride, pixels.width, pixels.height,
                    job.words.aligned},
               level, strip, first);
  } else if (first < level.weights.down) {
    const Level &fine = job.fine[index];

    make_strip(GaussValues{fine.gauss, fine.width},
               Rows{reinterpret_cast<const uint8_t *>(fine.gauss),
                    (ptrdiff_t)fine.width * (ptrdiff_t)sizeof(float), fine.width, fine.height,
                    fine.width % kBlock == 0},
               level, strip, first);
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
    const int strips = blocks(weights.across, kLanes);
    const int rows = rows_of_strip(weights.across, weights.down);

    job.level[l] = WeightedLevel{
        weights, strips, rows, {weighting.slope, weighting.offset, weighting.share[l]}};
    job.fine[l] = pyramid.level[l];
    job.first_block[l + 1] =
        job.first_block[l] + blocks(strips * blocks(weights.down, rows), kWarps);
  }
  return with_pixel_types(pixels, [&](auto sample, auto colour) {
    using Sample = typename decltype(sample)::type;
    constexpr Colour kKind = decltype(colour)::colour == Colour::RGB ? Colour::RGB : Colour::SINGLE;

    return launch(queue, "llf weights", weights_kernel<Sample, kKind>,
                  dim3(job.first_block[job.levels]), dim3(32 * kWarps), 0, pixels, job, beside);
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
