/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The kernel of blur maps: a block makes a tile of 32x32 samples of one plane, channel by channel.
 * It finds which levels its samples lie between, and adds up each of them by its share.
 */
#include "blurmap_tile.cuh"

namespace
{

constexpr int kRows =
    kMapTile * kMapTile / kMapThreads; /* samples of a thread, one below another */
constexpr int kMaskWords = CF_BLUR_LEVELS / 32;

/* ---- the map ---- */

template <typename Sample>
__device__ inline int code_at(const CfMapJob &job, const CfMapPlane &plane, int x, int y,
                              int channel)
{
  const Sample *row = (const Sample *)(plane.source + (ptrdiff_t)y * plane.source_stride);

  return (int)row[(size_t)x * plane.channels + channel] >> job.shift;
}

template <typename Sample>
__device__ inline float picture_map(const CfMapJob &job, const CfMapPlane &plane, int x, int y)
{
  const int x1 = min((x + 1) << plane.shift_x, job.luma_width), x0 = x << plane.shift_x;
  const int y1 = min((y + 1) << plane.shift_y, job.luma_height), y0 = y << plane.shift_y;
  const float share = 1.0f / (float)((x1 - x0) * (y1 - y0));
  float m = job.mixer.offset;

  for (int i = 0; i < job.mixer.terms; i++) {
    int sum = 0;
    for (int v = y0; v < y1; v++) {
      for (int u = x0; u < x1; u++)
        sum += code_at<Sample>(job, job.of_mixer[i], u, v, job.mixer.term[i].channel);
    }
    m += job.mixer.term[i].weight * (float)sum * share;
  }
  return fminf(fmaxf(m, 0.0f), 1.0f);
}

__device__ inline float region_map(const CfMapJob &job, const CfMapPlane &plane,
                                   const CfTileShapes &shapes, int x, int y)
{
  const CfCovered covered =
      cf_sample_coverage(job.list, shapes, x, y, plane.shift_x, plane.shift_y);

  if (covered.coverage <= 0)
    return 0.0f;
  const int side = cf_shape_at(job.list, covered.owner).side;
  return fminf(fminf(job.relative * (float)side, 250.0f) / job.largest, 1.0f);
}

template <typename Sample>
__device__ inline float map_at(const CfMapJob &job, const CfMapPlane &plane,
                               const CfTileShapes &shapes, int x, int y)
{
  switch (job.mode) {
  case CF_MAP_FILE:
    return cf_map_bilinear(&plane.shape, job.values, x, y);
  case CF_MAP_RADIAL:
  case CF_MAP_LINEAR:
    return cf_map_analytic(&plane.shape, x, y);
  case CF_MAP_NONE:
    return region_map(job, plane, shapes, x, y);
  default:
    return picture_map<Sample>(job, plane, x, y);
  }
}

/* As cf_blur_positions. */
__device__ inline float position_of(const CfMapTable *table, float m)
{
  const float scaled = m * CF_BLUR_TABLE;
  const int entry = (int)scaled;
  const float left = __ldg(&table->position[entry]), right = __ldg(&table->position[entry + 1]);

  return left + (scaled - (float)entry) * (right - left);
}

/* ---- levels filtered in the tile ---- */

/* Centred samples of one channel, weighted by alpha unless they are alpha, around the tile. */
template <typename Sample>
__device__ inline void load_tile(const CfMapJob &job, const CfMapPlane &plane, int channel, int x0,
                                 int y0, int width, int height, float *tile)
{
  const bool weighted = plane.alpha >= 0 && channel != plane.alpha;

  for (int i = (int)threadIdx.x; i < width * height; i += kMapThreads) {
    const int row = i / width;
    const int x = cf_fold(job.border, x0 + i - row * width, plane.width);
    const int y = cf_fold(job.border, y0 + row, plane.height);
    const bool outside = x < 0 || y < 0;
    const int code = outside ? plane.border[channel] : code_at<Sample>(job, plane, x, y, channel);
    float value = (float)code - plane.centre[channel];

    if (weighted)
      value *= cf_weight(outside ? (float)plane.border[plane.alpha]
                                 : (float)code_at<Sample>(job, plane, x, y, plane.alpha));
    tile[i] = value;
  }
}

__device__ inline float4 taps_at(const float *tap, int group)
{
  return group < 0 ? make_float4(0.0f, 0.0f, 0.0f, 0.0f) : __ldg((const float4 *)tap + group);
}

/* Four results side by side for every row that the columns need. */
__device__ inline void filter_tile_rows(const CfMapLevel &level, const float *tile, int stride,
                                        int rows, float *across)
{
  const int groups = level.radius_x / 2 + 1;

  for (int i = (int)threadIdx.x; i < rows * (kMapTile / 4); i += kMapThreads) {
    const int row = i / (kMapTile / 4), quad = i % (kMapTile / 4);
    const float *from = tile + row * stride + 4 * quad;
    float4 before = taps_at(nullptr, -1);
    float sum[4] = {};

    for (int group = 0; group < groups; group++) {
      const float4 four = *(const float4 *)(from + 4 * group), taps = taps_at(level.tap_x, group);
      const float sample[4] = {four.x, four.y, four.z, four.w};

      cf_pyramid_accumulate(sum, sample, before, taps);
      before = taps;
    }
    *(float4 *)(across + row * kMapTile + 4 * quad) = make_float4(sum[0], sum[1], sum[2], sum[3]);
  }
}

__device__ inline void filter_tile_columns(const CfMapLevel &level, const float *across,
                                           float (&total)[kRows][1])
{
  const int lane = (int)threadIdx.x % kMapTile, row = (int)threadIdx.x / kMapTile * kRows;
  const int groups = level.radius_y / 2 + 1;
  float4 before = taps_at(nullptr, -1);
  float sum[kRows] = {};

  for (int group = 0; group < groups; group++) {
    const float4 taps = taps_at(level.tap_y, group);
    float sample[4];

#pragma unroll
    for (int i = 0; i < 4; i++)
      sample[i] = across[(row + 4 * group + i) * kMapTile + lane];
    cf_pyramid_accumulate(sum, sample, before, taps);
    before = taps;
  }
#pragma unroll
  for (int i = 0; i < kRows; i++)
    total[i][0] = sum[i];
}

/* ---- levels read from coarse samples ---- */

struct Spline {
  int first;
  float weight[4];

  __device__ Spline(int factor, int position)
  {
    const int cell = position / factor, phase = position - cell * factor;
    const float at = (phase - 0.5f * (float)(factor - 1)) / (float)factor;
    const float f = at - floorf(at), g = 1.0f - f;

    first = cell + cf_spline_first(factor, phase);
    weight[0] = factor == 1 ? 1.0f : g * g * g * (1.0f / 6);
    weight[1] = factor == 1 ? 0.0f : (4.0f - 6.0f * f * f + 3.0f * f * f * f) * (1.0f / 6);
    weight[2] = factor == 1 ? 0.0f : (4.0f - 6.0f * g * g + 3.0f * g * g * g) * (1.0f / 6);
    weight[3] = factor == 1 ? 0.0f : f * f * f * (1.0f / 6);
  }
};

/* One or all four channels of a coarse sample. */
template <int Channels> struct Coarse;

template <> struct Coarse<1> {
  static __device__ void load(const float *from, float (&value)[1])
  {
    value[0] = *from;
  }
};

template <> struct Coarse<4> {
  static __device__ void load(const float *from, float (&value)[4])
  {
    const float4 four = *(const float4 *)from;

    value[0] = four.x;
    value[1] = four.y;
    value[2] = four.z;
    value[3] = four.w;
  }
};

/* Samples of a level below each other, whose coarse samples start at `from` and lie `step` apart.
 */
template <int Channels>
__device__ inline void enlarge(const CfMapLevel &level, const float *from, int step, int x, int y,
                               float (&sum)[kRows][Channels])
{
  const Spline across(level.factor_x, x);
  int column[4], top = 0;
  float near[4][Channels];

#pragma unroll
  for (int k = 0; k < 4; k++)
    column[k] = min(max(across.first + k - level.first_x, 0), level.width - 1) * step;

  const auto load_row = [&](int row, float(&to)[Channels]) {
    const int inside = min(max(row - level.first_y, 0), level.height - 1);
    const float *line = from + (size_t)inside * level.width * step;
    float value[4][Channels];
#pragma unroll
    for (int k = 0; k < 4; k++)
      Coarse<Channels>::load(line + column[k], value[k]);
#pragma unroll
    for (int c = 0; c < Channels; c++) {
      to[c] = 0.0f;
#pragma unroll
      for (int k = 0; k < 4; k++)
        to[c] = fmaf(across.weight[k], value[k][c], to[c]);
    }
  };

#pragma unroll
  for (int i = 0; i < kRows; i++) {
    const Spline down(level.factor_y, y + i);

    if (i == 0 || down.first > top + 1) {
#pragma unroll
      for (int k = 0; k < 4; k++)
        load_row(down.first + k, near[k]);
    } else if (down.first == top + 1) {
#pragma unroll
      for (int c = 0; c < Channels; c++) {
        near[0][c] = near[1][c];
        near[1][c] = near[2][c];
        near[2][c] = near[3][c];
      }
      load_row(down.first + 3, near[3]);
    }
    top = down.first;
#pragma unroll
    for (int c = 0; c < Channels; c++) {
#pragma unroll
      for (int k = 0; k < 4; k++)
        sum[i][c] = fmaf(down.weight[k], near[k][c], sum[i][c]);
    }
  }
}

/* Of a level in a blend. */
__device__ inline float share_of(int level, float position)
{
  return fmaxf(1.0f - fabsf(position - (float)level), 0.0f);
}

/* ---- the kernel ---- */

template <typename Sample>
__device__ inline void store_code(const CfMapJob &job, const CfMapPlane &plane, int x, int y,
                                  int channel, int code)
{
  Sample *row = (Sample *)(plane.destination + (ptrdiff_t)y * plane.destination_stride);

  row[(size_t)x * plane.channels + channel] = (Sample)(code << job.shift);
}

/* The samples of a thread. */
struct Spot {
  int x0, y0; /* of the tile */
  int x, y;

  __device__ Spot(const CfMapPlane &plane, int tile)
  {
    x0 = tile % plane.tiles_x * kMapTile;
    y0 = plane.first + tile / plane.tiles_x * kMapTile;
    x = x0 + (int)threadIdx.x % kMapTile;
    y = y0 + (int)threadIdx.x / kMapTile * kRows;
  }
};

__device__ inline const CfMapPlane &plane_of_block(const CfMapJob &job)
{
  int p = 0;

  while (p + 1 < job.planes && (int)blockIdx.x >= job.plane[p + 1].first_tile)
    p++;
  return job.plane[p];
}

/* Where the samples lie between the levels, -1 outside the plane. */
template <typename Sample>
__device__ inline void find_positions(const CfMapJob &job, const CfMapPlane &plane,
                                      const Spot &spot, CfTileShapes *shapes,
                                      float (&position)[kRows])
{
  if (job.mode == CF_MAP_NONE)
    cf_find_shapes(job.list,
                   {spot.x0 << plane.shift_x, spot.y0 << plane.shift_y,
                    (spot.x0 + kMapTile) << plane.shift_x, (spot.y0 + kMapTile) << plane.shift_y},
                   shapes);
#pragma unroll
  for (int i = 0; i < kRows; i++) {
    position[i] = -1.0f;
    if (spot.x < plane.width && spot.y + i < plane.end)
      position[i] =
          position_of(plane.table, map_at<Sample>(job, plane, *shapes, spot.x, spot.y + i));
  }
}

template <typename Sample>
__global__ void __launch_bounds__(kMapThreads) classify(const __grid_constant__ CfMapJob job)
{
  __shared__ CfTileShapes shapes;
  __shared__ unsigned used[kMaskWords];
  const CfMapPlane &plane = plane_of_block(job);
  const Spot spot(plane, (int)blockIdx.x - plane.first_tile);
  float position[kRows];

  if (threadIdx.x < kMaskWords)
    used[threadIdx.x] = 0;
  find_positions<Sample>(job, plane, spot, &shapes, position);
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kRows; i++) {
    const int level = (int)position[i];

    if (position[i] < 0.0f)
      continue;
    atomicOr(&used[level / 32], 1u << level % 32);
    if (position[i] > (float)level)
      atomicOr(&used[(level + 1) / 32], 1u << (level + 1) % 32);
  }
  __syncthreads();
  if (threadIdx.x == 0)
    job.levels[blockIdx.x] = make_uint4(used[0], used[1], used[2], used[3]);
}

/* The levels that a tile reads. */
struct Levels {
  unsigned used[kMaskWords];
  int count, radius_x, radius_y; /* the largest radius of those filtered in the tile */
  bool small;                    /* there are such */

  __device__ Levels(const CfMapPlane &plane, uint4 mask)
      : used{mask.x, mask.y, mask.z, mask.w}, count(0), radius_x(0), radius_y(0), small(false)
  {
    for_each(plane, [&](int, const CfMapLevel &level) {
      count++;
      if (!level.large) {
        small = true;
        radius_x = max(radius_x, level.radius_x);
        radius_y = max(radius_y, level.radius_y);
      }
    });
  }

  template <typename Action>
  __device__ void for_each(const CfMapPlane &plane, const Action &action) const
  {
#pragma unroll
    for (int word = 0; word < kMaskWords; word++) {
      for (unsigned bits = used[word]; bits; bits &= bits - 1) {
        const int number = 32 * word + __ffs((int)bits) - 1;
        action(number, plane.table->level[number]);
      }
    }
  }

  __device__ bool are_only(int number) const
  {
    bool has = false;

#pragma unroll
    for (int word = 0; word < kMaskWords; word++)
      has = has || (number >> 5 == word && (used[word] >> (number & 31) & 1));
    return count == 1 && has;
  }
};

__device__ inline int to_code(const CfMapJob &job, float value)
{
  return (int)fminf(fmaxf(value + kPyramidHalf, 0.0f), (float)job.max_code);
}

/* A colour whose weighted sum this is; `alpha` is not centred. */
__device__ inline float unweigh(const CfMapPlane &plane, int channel, float sum, float alpha)
{
  return alpha < 0.5f ? plane.blank[channel] : sum / cf_weight(alpha) + plane.centre[channel];
}

/* All four channels at once where all levels are large. */
__device__ inline void blend_pixels(const CfMapJob &job, const CfMapPlane &plane, const Spot &spot,
                                    const Levels &levels, const float (&position)[kRows])
{
  const int x = min(spot.x, plane.width - 1);
  float result[kRows][4] = {};

  levels.for_each(plane, [&](int number, const CfMapLevel &level) {
    float sum[kRows][4] = {};
    enlarge<4>(level, job.coarse + level.coarse, 4, x, spot.y, sum);
#pragma unroll
    for (int i = 0; i < kRows; i++) {
      const float share = share_of(number, position[i]);
#pragma unroll
      for (int c = 0; c < 4; c++)
        result[i][c] = fmaf(share, sum[i][c], result[i][c]);
    }
  });
#pragma unroll
  for (int i = 0; i < kRows; i++) {
    if (position[i] < 0.0f)
      continue;
    const float alpha =
        plane.alpha == 0 ? result[i][0] + plane.centre[0] : result[i][3] + plane.centre[3];
    uint32_t bytes = 0;
#pragma unroll
    for (int c = 0; c < 4; c++) {
      const bool weighted = plane.alpha >= 0 && c != plane.alpha;
      const float value =
          weighted ? unweigh(plane, c, result[i][c], alpha) : result[i][c] + plane.centre[c];
      bytes |= (uint32_t)to_code(job, value) << 8 * c;
    }
    uint8_t *to =
        plane.destination + (ptrdiff_t)(spot.y + i) * plane.destination_stride + 4 * spot.x;
    if (plane.vector) {
      *(uint32_t *)to = bytes;
    } else {
#pragma unroll
      for (int c = 0; c < 4; c++)
        to[c] = (uint8_t)(bytes >> 8 * c);
    }
  }
}

template <typename Sample>
__device__ inline void blend_channel(const CfMapJob &job, const CfMapPlane &plane, int channel,
                                     const Spot &spot, const Levels &levels,
                                     const float (&position)[kRows], float *shared,
                                     float (&result)[kRows][1])
{
  const int width = kMapTile + 2 * levels.radius_x, height = kMapTile + 2 * levels.radius_y;
  float *across = shared + width * height;

  if (levels.small) {
    load_tile<Sample>(job, plane, channel, spot.x0 - levels.radius_x, spot.y0 - levels.radius_y,
                      width, height, shared);
    __syncthreads();
  }
  levels.for_each(plane, [&](int number, const CfMapLevel &level) {
    float sum[kRows][1] = {};

    if (level.large) {
      enlarge<1>(level, job.coarse + level.coarse + channel, plane.channels,
                 min(spot.x, plane.width - 1), spot.y, sum);
    } else {
      filter_tile_rows(level,
                       shared + (levels.radius_y - level.radius_y) * width + levels.radius_x -
                           level.radius_x,
                       width, kMapTile + 2 * level.radius_y, across);
      __syncthreads();
      filter_tile_columns(level, across, sum);
      __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < kRows; i++)
      result[i][0] = fmaf(share_of(number, position[i]), sum[i][0], result[i][0]);
  });
}

template <typename Sample>
__global__ void __launch_bounds__(kMapThreads) filter_map(const __grid_constant__ CfMapJob job)
{
  extern __shared__ __align__(16) float shared[];
  __shared__ CfTileShapes shapes;
  const CfMapPlane &plane = plane_of_block(job);
  const Spot spot(plane, (int)blockIdx.x - plane.first_tile);
  const Levels levels(plane, job.levels[blockIdx.x]);
  const bool copy = plane.copy >= 0 && levels.are_only(plane.copy);
  float position[kRows], alpha[kRows];

  find_positions<Sample>(job, plane, spot, &shapes, position);
  if (sizeof(Sample) == 1 && plane.channels == 4 && !levels.small) {
    blend_pixels(job, plane, spot, levels, position);
    return;
  }
  for (int turn = 0; turn < plane.channels; turn++) {
    const int channel = plane.alpha < 0 ? turn : (plane.alpha + turn) % plane.channels;
    float result[kRows][1] = {};

    if (!copy)
      blend_channel<Sample>(job, plane, channel, spot, levels, position, shared, result);
#pragma unroll
    for (int i = 0; i < kRows; i++) {
      float value = result[i][0] + plane.centre[channel];

      if (position[i] < 0.0f)
        continue;
      if (channel == plane.alpha)
        alpha[i] = value;
      else if (plane.alpha >= 0)
        value = unweigh(plane, channel, result[i][0], alpha[i]);
      store_code<Sample>(job, plane, spot.x, spot.y + i, channel,
                         position[i] == (float)plane.copy
                             ? code_at<Sample>(job, plane, spot.x, spot.y + i, channel)
                             : to_code(job, value));
    }
  }
}

} // namespace

bool cf_map_classify(const CfMapJob *job, bool wide, int tiles, void *stream, CfStatus *status)
{
  if (wide)
    classify<uint16_t><<<tiles, kMapThreads, 0, (cudaStream_t)stream>>>(*job);
  else
    classify<uint8_t><<<tiles, kMapThreads, 0, (cudaStream_t)stream>>>(*job);
  return cf_cuda_launched("reading a blur map", status);
}

bool cf_map_filter(const CfMapJob *job, bool wide, int tiles, int radius_x, int radius_y,
                   void *stream, CfStatus *status)
{
  const int width = kMapTile + 2 * radius_x, height = kMapTile + 2 * radius_y;
  const size_t bytes = (size_t)(width * height + height * kMapTile) * sizeof(float);

  if (wide)
    filter_map<uint16_t><<<tiles, kMapThreads, bytes, (cudaStream_t)stream>>>(*job);
  else
    filter_map<uint8_t><<<tiles, kMapThreads, bytes, (cudaStream_t)stream>>>(*job);
  return cf_cuda_launched("blurring by a map", status);
}
