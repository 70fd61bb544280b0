/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The kernels of blur maps: a block makes a tile of 32x32 samples of one plane. One kernel finds
 * which levels the tiles' samples lie between, others add up each of them by its share.
 */
#include "blurmap_sums.cuh"

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
  bool copies, direct;       /* some samples are copied, have their own Gaussian */
  bool small, large;

  __device__ Levels(const CfMapPlane &plane, uint4 mask)
      : used{mask.x, mask.y, mask.z, mask.w}, radius_x(0), radius_y(0), copies(take(plane.copy)),
        direct(take(kMapDirectBit)), small(false), large(false)
  {
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
  return (int)fminf(fmaxf(value + kPyramidHalf, 0.0f), (float)job.max_code);
}

/* A colour whose weighted sum this is; `alpha` is not centred. */
__device__ inline float unweigh(const CfMapPlane &plane, int channel, float sum, float alpha)
{
  return alpha < 0.5f ? plane.blank[channel]
                      : __fdividef(sum, cf_weight(alpha)) + plane.centre[channel];
}

/* All four channels at once where all levels are large. */
__device__ inline void blend_pixels(const CfMapJob &job, const CfMapPlane &plane, const Spot &spot,
                                    const Levels &levels, const float (&position)[kRows],
                                    float *lines)
{
  const int x = min(spot.x, plane.width - 1);
  float result[kRows][4] = {};

  levels.for_each(plane, [&](int number, const CfMapLevel &level) {
    float sum[kRows][4];

    __syncthreads();
    enlarge<4>(job, level, job.coarse + level.coarse, 4, x, spot.y0, spot.y, lines, sum);
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

template <typename Sample, typename Direct>
__device__ inline void blend_channel(const CfMapJob &job, const CfMapPlane &plane, int channel,
                                     const Spot &spot, const Levels &levels, const Places &places,
                                     const Direct &own, float *shared, float (&result)[kRows][1])
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
    float sum[kRows][1];

    if (level.kind == CF_MAP_LARGE) {
      enlarge<1>(job, level, job.coarse + level.coarse + channel, plane.channels,
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
      result[i][0] = fmaf(share_of(number, places.position[i]), sum[i][0], result[i][0]);
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
    float result[kRows][1] = {};

    if (!levels.only_copies())
      blend_channel<Sample>(job, plane, channel, spot, levels, places, own, shared, result);
#pragma unroll
    for (int i = 0; i < kRows; i++) {
      float value = result[i][0] + plane.centre[channel];

      if (places.position[i] < 0.0f)
        continue;
      if (channel == plane.alpha)
        alpha[i] = value;
      else if (plane.alpha >= 0)
        value = unweigh(plane, channel, result[i][0], alpha[i]);
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
  if (sizeof(Sample) == 1 && plane.channels == 4 && levels.large && !levels.small && !levels.copies)
    blend_pixels(job, plane, spot, levels, places.position, shared);
  else
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
  const size_t small = (size_t)(width * height + height * kMapTile) * sizeof(float);
  const size_t pixels = (size_t)kMapTile * kMapTile * 4 * sizeof(float);
  const size_t bytes = small > pixels ? small : pixels;

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
