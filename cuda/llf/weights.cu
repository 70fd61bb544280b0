/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The weights of the finest levels' coefficients, which hold the noise floor (CfLlfWeights), from
 * the variance of the picture and of its Gaussians. A lane has a column of blocks of a strip and
 * walks down its rows; what a block needs of those beside it, neighbouring lanes have.
 */
#include "cuda/common/half2.cuh"
#include "cuda/common/grid_flags.cuh"
#include "cuda/llf/tiled_fp16.cuh"

#include <type_traits>

namespace cf::llf
{
namespace
{

/* Of a strip: the two outer lanes on either side only help. */
constexpr int kSide = 2, kLanes = 32 - 2 * kSide, kBlock = CF_LLF_WEIGHT_BLOCK, kWarps = 4;

/* Rows of weights that a warp makes: of large levels more, since each strip begins with three more.
 */
int rows_of_strip(int blocks_across, int blocks_down)
{
  return (long long)blocks_across * blocks_down > 300000 ? 8 : 4;
}

/* --- where the values come from; all less 1/2, so single precision is enough for squares --- */

struct GaussValues {
  const float *gauss;
  int width, height;
  bool aligned;
  using Four = float4;

  __device__ __forceinline__ bool has_words(int x) const
  {
    return aligned && x >= 0 && x + kBlock <= width;
  }

  __device__ __forceinline__ const uint8_t *row(int y) const
  {
    return reinterpret_cast<const uint8_t *>(gauss + (ptrdiff_t)y * width);
  }

  __device__ __forceinline__ ptrdiff_t stride() const
  {
    return (ptrdiff_t)width * (ptrdiff_t)sizeof(float);
  }

  __device__ __forceinline__ void unpack(const Four &four, float value[kBlock]) const
  {
    value[0] = four.x - 0.5f;
    value[1] = four.y - 0.5f;
    value[2] = four.z - 0.5f;
    value[3] = four.w - 0.5f;
  }

  __device__ __forceinline__ float value(int x, int y) const
  {
    return gauss[(size_t)y * width + x] - 0.5f;
  }
};

/* Words hold four samples, or four pixels of four bytes whose channels `byte` tells. */
template <typename Sample, Colour Kind> struct PictureValues {
  const Pixels &pixels;
  const uint8_t *from;
  uint32_t take[3]; /* the bytes of a pixel, as the low bits of floats */
  bool aligned;
  using Four = std::conditional_t<Kind == Colour::RGB, uint4,
                                  std::conditional_t<sizeof(Sample) == 2, uint2, uint32_t>>;

  __device__ __forceinline__ bool has_words(int x) const
  {
    return aligned && x >= 0 && x + kBlock <= pixels.width;
  }

  __device__ __forceinline__ const uint8_t *row(int y) const
  {
    return from + (ptrdiff_t)y * pixels.channel[0].from_stride;
  }

  __device__ __forceinline__ ptrdiff_t stride() const
  {
    return pixels.channel[0].from_stride;
  }

  __device__ __forceinline__ float code(uint32_t word, uint32_t selector) const
  {
    return __uint_as_float(permute_bytes(word, 0x4b000000u, selector)) - 8388608.0f;
  }

  __device__ __forceinline__ float centred(float intensity) const
  {
    return intensity - 0.5f;
  }

  __device__ __forceinline__ float pixel(uint32_t word) const
  {
    const float sum = fmaf(pixels.weight[1], code(word, take[1]),
                           fmaf(pixels.weight[0], code(word, take[0]), pixels.bias));

    return centred(fma_saturate(pixels.weight[2], code(word, take[2]), sum));
  }

  __device__ __forceinline__ float sample(float code) const
  {
    return centred(fma_saturate(pixels.weight[0], code, pixels.bias));
  }

  __device__ __forceinline__ void unpack(const Four &four, float value[kBlock]) const
  {
    if constexpr (Kind == Colour::RGB) {
      value[0] = pixel(four.x);
      value[1] = pixel(four.y);
      value[2] = pixel(four.z);
      value[3] = pixel(four.w);
    } else if constexpr (sizeof(Sample) == 2) {
      value[0] = sample(code((four.x & 65535u) >> pixels.shift, 0x7410));
      value[1] = sample(code(four.x >> 16 >> pixels.shift, 0x7410));
      value[2] = sample(code((four.y & 65535u) >> pixels.shift, 0x7410));
      value[3] = sample(code(four.y >> 16 >> pixels.shift, 0x7410));
    } else {
#pragma unroll
      for (int k = 0; k < kBlock; k++)
        value[k] = sample(code(four, 0x7440 + k));
    }
  }

  __device__ __forceinline__ float value(int x, int y) const
  {
    return centred(__saturatef(load_intensity<Sample, Kind>(pixels, x, y)));
  }
};

/* --- a strip --- */

/* Sums of values and of their squares. */
struct Moments {
  float value, square;
};

__device__ __forceinline__ Moments outer_and_inner(const Moments &first, const Moments &second,
                                                   const Moments &third, const Moments &fourth)
{
  return {fmaf(3.0f, second.value + third.value, first.value + fourth.value),
          fmaf(3.0f, second.square + third.square, first.square + fourth.square)};
}

__device__ __forceinline__ float outer_and_inner(float left, float right)
{
  const float before = __shfl_up_sync(~0u, right, 1), after = __shfl_down_sync(~0u, left, 1);

  return fmaf(3.0f, left + right, before + after);
}

/* Of the upper or the lower half of a block, and of half of the blocks beside it. */
__device__ __forceinline__ Moments moments_across(const float (&upper)[kBlock],
                                                  const float (&lower)[kBlock])
{
  float value[2], square[2];

#pragma unroll
  for (int cell = 0; cell < 2; cell++) {
    const float a = upper[2 * cell], b = upper[2 * cell + 1];
    const float c = lower[2 * cell], d = lower[2 * cell + 1];

    value[cell] = (a + b) + (c + d);
    square[cell] = fmaf(a, a, fmaf(b, b, fmaf(c, c, d * d)));
  }
  return {outer_and_inner(value[0], value[1]), outer_and_inner(square[0], square[1])};
}

/* Of moments that count 256 values. */
__device__ __forceinline__ float variance_of(const Moments &moments)
{
  constexpr float kUnit = 1.0f / 256.0f;
  const float mean = kUnit * moments.value;

  return fmaxf(fmaf(-mean, mean, kUnit * moments.square), 0.0f);
}

struct Opening {
  float slope, offset, share;

  __device__ __forceinline__ float weight(float variance) const
  {
    constexpr float kDark = (float)(CF_LLF_WEIGHT_DARK * CF_LLF_WEIGHT_DARK);
    const float t = fma_saturate(slope, sqrt_approx(variance + kDark), offset);

    return share * t * t * fmaf(-2.0f, t, 3.0f);
  }
};

/* With a sixteenth of either neighbour. */
__device__ __forceinline__ float smoothed(float before, float here, float after)
{
  return fmaf(0.0625f, before + after, 0.875f * here);
}

struct WeightedLevel {
  BlockWeights weights;
  int strips, rows; /* strips side by side, and the rows of blocks of one */
  Opening opening;
};

/* Stores the weight of block (x, y), and in the margin where it is the border's. */
__device__ __forceinline__ void store_weight(const BlockWeights &weights, int x, int y,
                                             float weight)
{
  const int before_x = x > 0 ? 0 : 1, before_y = y > 0 ? 0 : 1;
  const int after_x = x + 1 < weights.across ? 0 : weights.pitch - 2 - x;
  const int after_y = y + 1 < weights.down ? 0 : 1;
  float *const to = weights.plane + weights.index(x, y);

  if (before_x + before_y + after_x + after_y == 0) {
    *to = weight;
    return;
  }
  for (int i = -before_y; i <= after_y; i++) {
    for (int k = -before_x; k <= after_x; k++)
      to[(ptrdiff_t)i * weights.pitch + k] = weight;
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

/* A lane's four columns of a level, four rows at a time; the next four are on their way. */
template <typename Values> struct Column {
  using Four = typename Values::Four;

  const Values &values;
  const uint8_t *from; /* row 0, where the lane reads words */
  ptrdiff_t stride;
  int height, y; /* of the next row to load */
  bool words;
  int columns[kBlock];
  Four ahead[kBlock];

  __device__ __forceinline__ Column(const Values &values, int width, int height, int x, int y)
      : values(values), from(values.row(0) + (ptrdiff_t)(x / kBlock) * (int)sizeof(Four)),
        stride(values.stride()), height(height), y(y), words(values.has_words(x))
  {
#pragma unroll
    for (int k = 0; k < kBlock; k++)
      columns[k] = repeated(x + k, width);
    load();
  }

  __device__ __forceinline__ void load()
  {
    if (words) {
#pragma unroll
      for (int k = 0; k < kBlock; k++)
        ahead[k] = *reinterpret_cast<const Four *>(from + repeated(y + k, height) * stride);
    }
    y += kBlock;
  }

  /* Of the next two halves of blocks. */
  __device__ __forceinline__ void next(Moments (&halves)[2])
  {
    float value[kBlock][kBlock];

#pragma unroll
    for (int row = 0; row < kBlock; row++) {
      if (words) {
        values.unpack(ahead[row], value[row]);
      } else {
#pragma unroll
        for (int k = 0; k < kBlock; k++)
          value[row][k] = values.value(columns[k], repeated(y - kBlock + row, height));
      }
    }
    load();
    halves[0] = moments_across(value[0], value[1]);
    halves[1] = moments_across(value[2], value[3]);
  }
};

/* The weights of strip `strip`, from row `first` of blocks on. */
template <typename Values>
__device__ __forceinline__ void make_strip(const Values &values, int width, int height,
                                           const WeightedLevel &level, int strip, int first)
{
  const int lane = threadIdx.x % 32, x = strip * kLanes + lane - kSide;
  const int across = level.weights.across, down = level.weights.down;
  const bool writes = lane >= kSide && lane < 32 - kSide && x < across;
  const int end = min(first + level.rows, down);
  Column<Values> column(values, width, height, kBlock * x, kBlock * (first - 1) - kBlock / 2);
  Moments above[2] = {}, below[2];
  float rows[3] = {};

  /* What is above row first - 1 has no use but to begin with. */
#pragma unroll 1
  for (int y = first - 2; y <= end; y++) {
    column.next(below);
    rows[0] = rows[1];
    rows[1] = rows[2];
    rows[2] = smoothed_across(variance_of(outer_and_inner(above[0], above[1], below[0], below[1])),
                              x, across);
    above[0] = below[0];
    above[1] = below[1];
    if (y <= first || !writes) /* two rows have not been made yet */
      continue;
    store_weight(level.weights, x, y - 1,
                 level.opening.weight(
                     smoothed(y > 1 ? rows[0] : rows[1], rows[1], y < down ? rows[2] : rows[1])));
  }
}

struct Job {
  WeightedLevel level[CF_LLF_WEIGHTED_LEVELS];
  Level fine[CF_LLF_WEIGHTED_LEVELS]; /* from 1 on */
  int first_block[CF_LLF_WEIGHTED_LEVELS + 1];
  int levels;
  bool aligned;
  Packing packing;
  const unsigned *coarse_inputs_ready;
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
  if (beside && index > 2)
    spin_acquire(job.coarse_inputs_ready, 1);
  const WeightedLevel &level = job.level[index];
  const int warp = ((int)blockIdx.x - job.first_block[index]) * kWarps + (int)threadIdx.x / 32;
  const int strip = warp % level.strips, first = warp / level.strips * level.rows;

  if (first < level.weights.down && index == 0) {
    const Packing &packing = job.packing;
    const PictureValues<Sample, Kind> values = {
        pixels,
        pixels.channel[0].from - (Kind == Colour::RGB ? packing.byte[0] : 0),
        {0x7440u + packing.byte[0], 0x7440u + packing.byte[1], 0x7440u + packing.byte[2]},
        job.aligned};

    make_strip(values, pixels.width, pixels.height, level, strip, first);
  } else if (first < level.weights.down) {
    const Level &fine = job.fine[index];

    make_strip(GaussValues{fine.gauss, fine.width, fine.height, fine.width % kBlock == 0},
               fine.width, fine.height, level, strip, first);
  }
  end(beside);
}

/* Whether lanes read whole words of the picture. */
bool is_aligned(const Pixels &pixels, const Packing &packing)
{
  const Channel &channel = pixels.channel[0];
  const bool rgb = pixels.colour == Colour::RGB;
  const uintptr_t bits =
      ((uintptr_t)channel.from - (rgb ? packing.byte[0] : 0)) | (uintptr_t)channel.from_stride;

  if (rgb)
    return packing.packed && bits % 16 == 0;
  return pixels.step[0] == 1 && bits % (pixels.wide ? 8 : 4) == 0;
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
  job.packing = packing_of(pixels);
  job.aligned = is_aligned(pixels, job.packing);
  job.coarse_inputs_ready = pyramid.coarse_inputs_ready;
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
