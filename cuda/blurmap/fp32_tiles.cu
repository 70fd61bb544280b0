/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The kernels of blur maps: a block makes a tile of 32x32 samples of one plane. One kernel finds
 * which levels the tiles' samples lie between, others add up each of them by its share.
 */
#include "cuda/blurmap/fp32_filters.cuh"

namespace
{

/* ---- which levels ---- */

__device__ inline void note(unsigned *used, int level)
{
  const unsigned bit = 1u << level % 32;

  if (!(used[level / 32] & bit))
    atomicOr(&used[level / 32], bit);
}

template <typename Sample>
__global__ void __launch_bounds__(kMapThreads) classify(const __grid_constant__ CfMapJob job)
{
  __shared__ CfTileShapes shapes;
  __shared__ unsigned used[kMaskWords];
  const CfMapPlane &plane = plane_of_block(job);
  const Spot spot(plane, (int)blockIdx.x - plane.first_tile);
  Places places;

  if (threadIdx.x < kMaskWords)
    used[threadIdx.x] = 0;
  find_places<Sample>(job, plane, spot, &shapes, &places);
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kRows; i++) {
    const float position = places.position[i];
    const int level = (int)position;

    if (position < 0.0f)
      continue;
    if (position == (float)plane.copy) {
      note(used, level);
      continue;
    }
    note(used, is_direct(plane, level) ? kMapDirectBit : level);
    if (position > (float)level)
      note(used, is_direct(plane, level + 1) ? kMapDirectBit : level + 1);
  }
  __syncthreads();
  if (threadIdx.x == 0)
    job.levels[blockIdx.x] = make_uint4(used[0], used[1], used[2], used[3]);
}

/* ---- blends ---- */

template <typename Sample>
__device__ inline void store_code(const CfMapJob &job, const CfMapPlane &plane, int x, int y,
                                  int channel, int code)
{
  Sample *row = (Sample *)(plane.destination + (ptrdiff_t)y * plane.destination_stride);

  row[(size_t)x * plane.channels + channel] = (Sample)(code << job.shift);
}

/* Of a level in a blend. */
__device__ inline float share_of(int level, float position)
{
  return fmaxf(1.0f - fabsf(position - (float)level), 0.0f);
}

/* What a tile is made of. */
struct Levels {
  unsigned used[kMaskWords]; /* small and large ones */
  int radius_x, radius_y;    /* of the samples to load around the tile */
  bool direct;               /* some samples have their own Gaussian */
  bool small, large;

  __device__ Levels(const CfMapPlane &plane, uint4 mask)
      : used{mask.x, mask.y, mask.z, mask.w}, radius_x(0), radius_y(0), direct(take(kMapDirectBit)),
        small(false), large(false)
  {
    take(plane.copy);
    for_each(plane, [&](int, const CfMapLevel &level) {
      small = small || level.kind == CF_MAP_SMALL;
      large = large || level.kind == CF_MAP_LARGE;
      radius_x = max(radius_x, level.radius_x);
      radius_y = max(radius_y, level.radius_y);
    });
    radius_x = direct ? max(radius_x, kMapDirectRadius) : radius_x;
    radius_y = direct ? max(radius_y, kMapDirectRadius) : radius_y;
  }

  __device__ bool take(int level)
  {
    bool was = false;

#pragma unroll
    for (int word = 0; word < kMaskWords; word++) {
      const unsigned bit = level >> 5 == word ? 1u << (level & 31) : 0;
      was = was || (used[word] & bit);
      used[word] &= ~bit;
    }
    return was;
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

  __device__ bool only_copies() const
  {
    return !direct && !small && !large;
  }
};

__device__ inline int to_code(const CfMapJob &job, float value)
{
  return (int)fminf(fmaxf(value + cf::pyramid::kRoundHalf, 0.0f), (float)job.max_code);
}

/* A colour whose weighted sum this is; `alpha` is not centred. */
__device__ inline float unweigh(const CfMapPlane &plane, int channel, float sum, float alpha)
{
  return alpha < 0.5f ? plane.blank[channel]
                      : __fdividef(sum, cf::alpha_weight(alpha)) + plane.centre[channel];
}

template <typename Sample, typename Direct>
__device__ inline void blend_channel(const CfMapJob &job, const CfMapPlane &plane, int channel,
                                     const Spot &spot, const Levels &levels, const Places &places,
                                     const Direct &own, float *shared, float (&result)[kRows])
{
  const int width = kMapTile + 2 * levels.radius_x, height = kMapTile + 2 * levels.radius_y;
  float *lines = shared + width * height;

  __syncthreads();
  if (levels.small || levels.direct) {
    load_tile<Sample>(job, plane, channel, spot.x0 - levels.radius_x, spot.y0 - levels.radius_y,
                      width, height, shared);
    __syncthreads();
  }
  if (levels.direct)
    own.add(shared + (spot.y - spot.y0 + levels.radius_y) * width + spot.x - spot.x0 +
                levels.radius_x,
            width, result);
  levels.for_each(plane, [&](int number, const CfMapLevel &level) {
    float sum[kRows];

    if (level.kind == CF_MAP_LARGE) {
      enlarge(job, level, job.coarse + level.coarse + channel, plane.channels,
              min(spot.x, plane.width - 1), spot.y0, spot.y, lines, sum);
    } else {
      filter_tile_rows(level,
                       shared + (levels.radius_y - level.radius_y) * width + levels.radius_x -
                           level.radius_x,
                       width, kMapTile + 2 * level.radius_y, lines);
      __syncthreads();
      filter_tile_columns(level, lines, sum);
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kRows; i++)
      result[i] = fmaf(share_of(number, places.position[i]), sum[i], result[i]);
  });
}

template <typename Sample, typename Direct>
__device__ inline void make_tile(const CfMapJob &job, const CfMapPlane &plane, const Spot &spot,
                                 const Levels &levels, const Places &places, const Direct &own,
                                 float *shared)
{
  float alpha[kRows];

  for (int turn = 0; turn < plane.channels; turn++) {
    const int channel = plane.alpha < 0 ? turn : (plane.alpha + turn) % plane.channels;
    float result[kRows] = {};

    if (!levels.only_copies())
      blend_channel<Sample>(job, plane, channel, spot, levels, places, own, shared, result);
#pragma unroll
    for (int i = 0; i < kRows; i++) {
      float value = result[i] + plane.centre[channel];

      if (places.position[i] < 0.0f)
        continue;
      if (channel == plane.alpha)
        alpha[i] = value;
      else if (plane.alpha >= 0)
        value = unweigh(plane, channel, result[i], alpha[i]);
      store_code<Sample>(job, plane, spot.x, spot.y + i, channel,
                         places.position[i] == (float)plane.copy
                             ? code_at<Sample>(job, plane, spot.x, spot.y + i, channel)
                             : to_code(job, value));
    }
  }
}

/* Tiles without and with samples that have Gaussians of their own are made by two kernels, since
 * these take many registers. */
template <typename Sample>
__global__ void __launch_bounds__(kMapThreads, 3)
    filter_levels(const __grid_constant__ CfMapJob job)
{
  extern __shared__ __align__(16) float shared[];
  __shared__ CfTileShapes shapes;
  const CfMapPlane &plane = plane_of_block(job);
  const Spot spot(plane, (int)blockIdx.x - plane.first_tile);
  const Levels levels(plane, job.levels[blockIdx.x]);
  Places places;

  if (levels.direct)
    return;
  find_places<Sample>(job, plane, spot, &shapes, &places);
  make_tile<Sample>(job, plane, spot, levels, places, NothingOwn(), shared);
}

template <typename Sample>
__global__ void __launch_bounds__(kMapThreads) filter_own(const __grid_constant__ CfMapJob job)
{
  extern __shared__ __align__(16) float shared[];
  __shared__ CfTileShapes shapes;
  const CfMapPlane &plane = plane_of_block(job);
  const Spot spot(plane, (int)blockIdx.x - plane.first_tile);
  const Levels levels(plane, job.levels[blockIdx.x]);
  Places places;

  if (!levels.direct)
    return;
  find_places<Sample>(job, plane, spot, &shapes, &places);
  make_tile<Sample>(job, plane, spot, levels, places, Own(plane, places), shared);
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
    filter_levels<uint16_t><<<tiles, kMapThreads, bytes, (cudaStream_t)stream>>>(*job);
  else
    filter_levels<uint8_t><<<tiles, kMapThreads, bytes, (cudaStream_t)stream>>>(*job);
  if (!cf_cuda_launched("blurring by a map", status))
    return false;
  if (wide)
    filter_own<uint16_t><<<tiles, kMapThreads, bytes, (cudaStream_t)stream>>>(*job);
  else
    filter_own<uint8_t><<<tiles, kMapThreads, bytes, (cudaStream_t)stream>>>(*job);
  return cf_cuda_launched("blurring by a map", status);
}
