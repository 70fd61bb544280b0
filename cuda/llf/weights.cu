/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The weights of the finest levels' coefficients, which hold the noise floor (CfLlfWeights), from
 * the variance of the picture and of its Gaussians. A lane has four columns of a strip and walks
 * down its rows; what the 5 taps across need of other columns, neighbouring lanes have.
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
constexpr int kSide = 2, kLanes = 32 - 2 * kSide, kColumns = 4;
constexpr int kAcross = kLanes * kColumns / 2, kWarps = 4;

/* Rows of weights that a warp makes: of large levels more, since each strip begins with four more.
 */
int rows_of_strip(const Level &weights)
{
  return (long long)weights.width * weights.height > 1000000 ? 12 : 8;
}

/* --- where the values come from; all less 1/2, so single precision is enough for squares --- */

struct GaussValues {
  const float *gauss;
  int width, height;
  bool aligned;
  using Four = float4;

  __device__ __forceinline__ bool has_words(int x) const
  {
    return aligned && x >= 0 && x + kColumns <= width;
  }

  __device__ __forceinline__ const uint8_t *row(int y) const
  {
    return reinterpret_cast<const uint8_t *>(gauss + (ptrdiff_t)y * width);
  }

  __device__ __forceinline__ ptrdiff_t stride() const
  {
    return (ptrdiff_t)width * (ptrdiff_t)sizeof(float);
  }

  __device__ __forceinline__ void unpack(const Four &four, float value[kColumns]) const
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
    return aligned && x >= 0 && x + kColumns <= pixels.width;
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

  __device__ __forceinline__ void unpack(const Four &four, float value[kColumns]) const
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
      for (int k = 0; k < kColumns; k++)
        value[k] = sample(code(four, 0x7440 + k));
    }
  }

  __device__ __forceinline__ float value(int x, int y) const
  {
    return centred(__saturatef(load_intensity<Sample, Kind>(pixels, x, y)));
  }
};

/* --- a strip --- */

/* Five taps, over 1/20. */
struct Sums {
  float value[kColumns], square[kColumns];

  __device__ __forceinline__ void add(float tap, const float more[kColumns])
  {
#pragma unroll
    for (int k = 0; k < kColumns; k++) {
      value[k] = fmaf(tap, more[k], value[k]);
      square[k] = fmaf(tap, more[k] * more[k], square[k]);
    }
  }
};

/* The taps across at a lane's first and third column, of which the first needs two columns of the
 * lane before. */
__device__ __forceinline__ float2 across(const float column[kColumns])
{
  const float second_before = __shfl_up_sync(~0u, column[2], 1);
  const float before = __shfl_up_sync(~0u, column[3], 1);
  const float after = __shfl_down_sync(~0u, column[0], 1);

  return make_float2(
      fmaf(8.0f, column[0], fmaf(5.0f, before + column[1], second_before + column[2])),
      fmaf(8.0f, column[2], fmaf(5.0f, column[1] + column[3], column[0] + after)));
}

/* From sums over 1/400. */
__device__ __forceinline__ float variance_of(float value, float square)
{
  constexpr float kUnit = 1.0f / 400.0f;
  const float mean = kUnit * value;

  return fmaxf(fmaf(-mean, mean, kUnit * square), 0.0f);
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

/* A quarter, a half, a quarter. */
__device__ __forceinline__ float binomial(float before, float here, float after)
{
  return fmaf(0.25f, before + after, 0.5f * here);
}

/* A weighted level and its weights, on the coarser level's grid. */
struct WeightedLevel {
  int width, height, strips, down; /* of the weights; strips side by side, and their rows */
  float *weight;
  Opening opening;
};

/* Two variances of a lane, smoothed across. Beyond the level its border repeats. */
__device__ __forceinline__ float2 variances(const Sums &sums, int width, int to_x)
{
  const float2 value = across(sums.value), square = across(sums.square);
  const float here = variance_of(value.x, square.x), own = variance_of(value.y, square.y);
  const float before = __shfl_up_sync(~0u, own, 1), behind = __shfl_down_sync(~0u, here, 1);
  const float next = to_x + 1 < width ? own : here;

  return make_float2(binomial(to_x > 0 ? before : here, here, next),
                     binomial(here, own, to_x + 2 < width ? behind : own));
}

/* Weights of row `y` from the rows above, at and below it. */
__device__ __forceinline__ void store_weights(const WeightedLevel &level, const float2 (&rows)[3],
                                              int y, int to_x, bool writes)
{
  const float2 &above = y > 0 ? rows[0] : rows[1];
  const float2 &below = y + 1 < level.height ? rows[2] : rows[1];

  if (!writes || y >= level.height)
    return;
  float *const to = level.weight + (size_t)y * level.width + to_x;
  if (to_x < level.width)
    to[0] = level.opening.weight(binomial(above.x, rows[1].x, below.x));
  if (to_x + 1 < level.width)
    to[1] = level.opening.weight(binomial(above.y, rows[1].y, below.y));
}

/* A lane's four columns of a level, row by row; `kAhead` rows are on their way. */
template <typename Values> struct Column {
  using Four = typename Values::Four;
  static constexpr int kAhead = sizeof(Four) > 8 ? 4 : 8;

  const Values &values;
  const uint8_t *from; /* row 0, where the lane reads words */
  ptrdiff_t stride;
  int height, y; /* of the next row to load */
  bool words;
  int columns[kColumns];
  Four ahead[kAhead];

  __device__ __forceinline__ Column(const Values &values, int width, int height, int x, int y)
      : values(values), from(values.row(0) + (ptrdiff_t)(x / kColumns) * (int)sizeof(Four)),
        stride(values.stride()), height(height), y(y), words(values.has_words(x))
  {
#pragma unroll
    for (int k = 0; k < kColumns; k++)
      columns[k] = mirrored(x + k, width);
#pragma unroll
    for (int k = 0; k < kAhead; k++)
      load(k);
  }

  __device__ __forceinline__ void load(int k)
  {
    if (words)
      ahead[k] = *reinterpret_cast<const Four *>(from + mirrored(y, height) * stride);
    y++;
  }

  __device__ __forceinline__ void next(float value[kColumns])
  {
    if (words) {
      values.unpack(ahead[0], value);
    } else {
      const int row = mirrored(y - kAhead, height);
#pragma unroll
      for (int k = 0; k < kColumns; k++)
        value[k] = values.value(columns[k], row);
    }
#pragma unroll
    for (int k = 0; k + 1 < kAhead; k++)
      ahead[k] = ahead[k + 1];
    load(kAhead - 1);
  }
};

/* `down` rows of weights in strip `strip` from row `first` on. Of the level's rows, two and two,
 * the first is the first, third and last of three rows of weights, and the second the second and
 * fourth of two; rows of weights then need those above and below. */
template <typename Values>
__device__ __forceinline__ void make_strip(const Values &values, int fine_width, int fine_height,
                                           const WeightedLevel &level, int strip, int first,
                                           int down)
{
  const int lane = threadIdx.x % 32;
  const int x = kColumns * (strip * kLanes + lane - kSide), to_x = x >> 1;
  const bool writes = lane >= kSide && lane < 32 - kSide;
  Column<Values> column(values, fine_width, fine_height, x, 2 * first - 4);
  Sums older = {}, newer = {};
  float2 rows[3] = {};

#pragma unroll 1
  for (int i = 0; i < down + 4; i++) {
    float value[kColumns];

    column.next(value);
    older.add(1.0f, value);
    rows[0] = rows[1];
    rows[1] = rows[2];
    rows[2] = variances(older, level.width, to_x);
    if (i >= 4)
      store_weights(level, rows, first + i - 4, to_x, writes);
    older = newer;
    older.add(8.0f, value);
    newer = Sums{};
    newer.add(1.0f, value);
    column.next(value);
    older.add(5.0f, value);
    newer.add(5.0f, value);
  }
}

struct Job {
  WeightedLevel level[CF_LLF_WEIGHTED_LEVELS];
  Level fine[CF_LLF_WEIGHTED_LEVELS];          /* from 1 on */
  int first_block[CF_LLF_WEIGHTED_LEVELS + 1]; /* of levels 1 and up */
  int levels;
  bool aligned;
  Packing packing;
  const unsigned *coarse_inputs_ready;
};

template <typename Sample, Colour Kind>
__global__ void __launch_bounds__(32 * kWarps, Kind == Colour::RGB   ? 5
                                               : sizeof(Sample) == 2 ? 6
                                                                     : 7)
    picture_weights_kernel(const __grid_constant__ Pixels pixels, const __grid_constant__ Job job,
                           bool beside)
{
  const WeightedLevel &level = job.level[0];
  const int warp = (int)blockIdx.x * kWarps + (int)threadIdx.x / 32;
  const int strip = warp % level.strips, first = warp / level.strips * level.down;
  const PictureValues<Sample, Kind> values = {
      pixels,
      pixels.channel[0].from - (Kind == Colour::RGB ? job.packing.byte[0] : 0),
      {0x7440u + job.packing.byte[0], 0x7440u + job.packing.byte[1], 0x7440u + job.packing.byte[2]},
      job.aligned};

  begin(beside);
  if (first < level.height)
    make_strip(values, pixels.width, pixels.height, level, strip, first, level.down);
  end(beside);
}

/* Of levels 1 and up. */
__global__ void __launch_bounds__(32 * kWarps)
    level_weights_kernel(const __grid_constant__ Job job, bool beside)
{
  int index = 1;

  begin(beside);
  while (index + 1 < job.levels && (int)blockIdx.x >= job.first_block[index + 1])
    index++;
  if (beside && index > 2)
    spin_acquire(job.coarse_inputs_ready, 1);
  const WeightedLevel &level = job.level[index];
  const Level &fine = job.fine[index];
  const int warp = ((int)blockIdx.x - job.first_block[index]) * kWarps + (int)threadIdx.x / 32;
  const int strip = warp % level.strips, first = warp / level.strips * level.down;

  if (first < level.height)
    make_strip(GaussValues{fine.gauss, fine.width, fine.height, fine.width % kColumns == 0},
               fine.width, fine.height, level, strip, first, level.down);
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
    const Level &coarse = pyramid.level[l + 1];
    const int strips = blocks(coarse.width, kAcross), down = rows_of_strip(coarse);

    job.level[l] = WeightedLevel{coarse.width,
                                 coarse.height,
                                 strips,
                                 down,
                                 pyramid.weight[l],
                                 {weighting.slope[l], weighting.offset, weighting.share[l]}};
    job.fine[l] = pyramid.level[l];
    /* Level 0 has a kernel of its own. */
    job.first_block[l + 1] =
        l == 0 ? 0 : job.first_block[l] + blocks(strips * blocks(coarse.height, down), kWarps);
  }
  const WeightedLevel &first = job.level[0];
  const int first_blocks = blocks(first.strips * blocks(first.height, first.down), kWarps);

  return with_pixel_types(pixels,
                          [&](auto sample, auto colour) {
                            using Sample = typename decltype(sample)::type;
                            constexpr Colour kKind = decltype(colour)::colour == Colour::RGB
                                                         ? Colour::RGB
                                                         : Colour::SINGLE;

                            return launch(queue, "llf weights",
                                          picture_weights_kernel<Sample, kKind>, dim3(first_blocks),
                                          dim3(32 * kWarps), 0, pixels, job, beside);
                          }) &&
         (job.levels == 1 ||
          launch(queue, "llf weights", level_weights_kernel, dim3(job.first_block[job.levels]),
                 dim3(32 * kWarps), 0, job, beside));
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
