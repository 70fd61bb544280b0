/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The kernels of blur maps: a block makes a tile of 32x32 samples of one plane. One kernel finds
 * which levels the tiles' samples lie between, others add up each of them by its share.
 */
#include "cuda/blurmap/fp32_filters.cuh"
#include "cuda/blurmap/tuning.h"

namespace cf::blurmap
{

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
__global__ void __launch_bounds__(kFp32Threads) classify(const __grid_constant__ MapJob job)
{
  __shared__ CfTileShapes shapes;
  __shared__ unsigned used[kMaskWords];
  const MapPlane &plane = plane_of_block(job);
  const ThreadSamples samples(plane, (int)blockIdx.x - plane.first_tile);
  Lods lods;

  if (threadIdx.x < kMaskWords)
    used[threadIdx.x] = 0;
  look_up_lods<Sample>(job, plane, samples, &shapes, &lods);
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kRows; i++) {
    const float lod = lods.lod[i];
    const int level = (int)lod;

    if (lod < 0.0f)
      continue;
    if (lod == (float)plane.copy) {
      note(used, level);
      continue;
    }
    note(used, is_per_sample(plane, level) ? kPerSampleBit : level);
    if (lod > (float)level)
      note(used, is_per_sample(plane, level + 1) ? kPerSampleBit : level + 1);
  }
  __syncthreads();
  if (threadIdx.x == 0)
    job.levels[blockIdx.x] = make_uint4(used[0], used[1], used[2], used[3]);
}

/* ---- blends ---- */

template <typename Sample>
__device__ inline void store_code(const MapJob &job, const MapPlane &plane, int x, int y,
                                  int channel, int code)
{
  Sample *row = (Sample *)(plane.destination + (ptrdiff_t)y * plane.destination_stride);

  row[(size_t)x * plane.channels + channel] = (Sample)(code << job.shift);
}

/* Of a level in a blend. */
__device__ inline float share_of(int level, float lod)
{
  return fmaxf(1.0f - fabsf(lod - (float)level), 0.0f);
}

/* What a tile is made of. */
struct Levels {
  unsigned used[kMaskWords]; /* small and large ones */
  int radius_x, radius_y;    /* of the samples to load around the tile */
  bool per_sample;           /* some samples have their own Gaussian */
  bool small, large;

  __device__ Levels(const MapPlane &plane, uint4 mask)
      : used{mask.x, mask.y, mask.z, mask.w}, radius_x(0), radius_y(0),
        per_sample(take(kPerSampleBit)), small(false), large(false)
  {
    take(plane.copy);
    for_each(plane, [&](int, const Fp32Level &level) {
      small = small || level.kind == kInTile;
      large = large || level.kind == kFromPyramid;
      radius_x = max(radius_x, level.radius_x);
      radius_y = max(radius_y, level.radius_y);
    });
    radius_x = per_sample ? max(radius_x, kPerSampleRadius) : radius_x;
    radius_y = per_sample ? max(radius_y, kPerSampleRadius) : radius_y;
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
  __device__ void for_each(const MapPlane &plane, const Action &action) const
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
    return !per_sample && !small && !large;
  }
};

__device__ inline int to_code(const MapJob &job, float value)
{
  return (int)fminf(fmaxf(value + pyramid::kRoundHalf, 0.0f), (float)job.max_code);
}

/* A colour whose weighted sum this is; `alpha` is not centred. */
__device__ inline float unweigh(const MapPlane &plane, int channel, float sum, float alpha)
{
  return alpha < 0.5f ? plane.blank[channel]
                      : __fdividef(sum, alpha_weight(alpha)) + plane.centre[channel];
}

template <typename Sample, typename PerSample>
__device__ inline void blend_channel(const MapJob &job, const MapPlane &plane, int channel,
                                     const ThreadSamples &samples, const Levels &levels,
                                     const Lods &lods, const PerSample &own, float *shared,
                                     float (&result)[kRows])
{
  const int width = kFp32Tile + 2 * levels.radius_x, height = kFp32Tile + 2 * levels.radius_y;
  float *lines = shared + width * height;

  __syncthreads();
  if (levels.small || levels.per_sample) {
    load_tile<Sample>(job, plane, channel, samples.x0 - levels.radius_x,
                      samples.y0 - levels.radius_y, width, height, shared);
    __syncthreads();
  }
  if (levels.per_sample)
    own.add(shared + (samples.y - samples.y0 + levels.radius_y) * width + samples.x - samples.x0 +
                levels.radius_x,
            width, result);
  levels.for_each(plane, [&](int number, const Fp32Level &level) {
    float sum[kRows];

    if (level.kind == kFromPyramid) {
      enlarge(job, level, job.coarse + level.coarse + channel, plane.channels,
              min(samples.x, plane.width - 1), samples.y0, samples.y, lines, sum);
    } else {
      filter_tile_rows(level,
                       shared + (levels.radius_y - level.radius_y) * width + levels.radius_x -
                           level.radius_x,
                       width, kFp32Tile + 2 * level.radius_y, lines);
      __syncthreads();
      filter_tile_columns(level, lines, sum);
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kRows; i++)
      result[i] = fmaf(share_of(number, lods.lod[i]), sum[i], result[i]);
  });
}

template <typename Sample, typename PerSample>
__device__ inline void make_tile(const MapJob &job, const MapPlane &plane,
                                 const ThreadSamples &samples, const Levels &levels,
                                 const Lods &lods, const PerSample &own, float *shared)
{
  float alpha[kRows];

  for (int turn = 0; turn < plane.channels; turn++) {
    const int channel = plane.alpha < 0 ? turn : (plane.alpha + turn) % plane.channels;
    float result[kRows] = {};

    if (!levels.only_copies())
      blend_channel<Sample>(job, plane, channel, samples, levels, lods, own, shared, result);
#pragma unroll
    for (int i = 0; i < kRows; i++) {
      float value = result[i] + plane.centre[channel];

      if (lods.lod[i] < 0.0f)
        continue;
      if (channel == plane.alpha)
        alpha[i] = value;
      else if (plane.alpha >= 0)
        value = unweigh(plane, channel, result[i], alpha[i]);
      store_code<Sample>(job, plane, samples.x, samples.y + i, channel,
                         lods.lod[i] == (float)plane.copy
                             ? code_at<Sample>(job, plane, samples.x, samples.y + i, channel)
                             : to_code(job, value));
    }
  }
}

/* Tiles without and with samples that have Gaussians of their own are made by two kernels, since
 * these take many registers. */
template <typename Sample>
__global__ void __launch_bounds__(kFp32Threads, kFp32LevelsCtasOfSm)
    filter_levels(const __grid_constant__ MapJob job)
{
  extern __shared__ __align__(16) float shared[];
  __shared__ CfTileShapes shapes;
  const MapPlane &plane = plane_of_block(job);
  const ThreadSamples samples(plane, (int)blockIdx.x - plane.first_tile);
  const Levels levels(plane, job.levels[blockIdx.x]);
  Lods lods;

  if (levels.per_sample)
    return;
  look_up_lods<Sample>(job, plane, samples, &shapes, &lods);
  make_tile<Sample>(job, plane, samples, levels, lods, NoPerSample(), shared);
}

template <typename Sample>
__global__ void __launch_bounds__(kFp32Threads)
    filter_per_sample(const __grid_constant__ MapJob job)
{
  extern __shared__ __align__(16) float shared[];
  __shared__ CfTileShapes shapes;
  const MapPlane &plane = plane_of_block(job);
  const ThreadSamples samples(plane, (int)blockIdx.x - plane.first_tile);
  const Levels levels(plane, job.levels[blockIdx.x]);
  Lods lods;

  if (!levels.per_sample)
    return;
  look_up_lods<Sample>(job, plane, samples, &shapes, &lods);
  make_tile<Sample>(job, plane, samples, levels, lods, PerSampleGaussian(plane, lods), shared);
}

} // namespace

bool fp32_classify(const MapJob *job, bool wide, int tiles, void *stream, CfStatus *status)
{
  if (wide)
    classify<uint16_t><<<tiles, kFp32Threads, 0, (cudaStream_t)stream>>>(*job);
  else
    classify<uint8_t><<<tiles, kFp32Threads, 0, (cudaStream_t)stream>>>(*job);
  return cf_cuda_launched("reading a blur map", status);
}

bool fp32_blend(const MapJob *job, bool wide, bool per_sample, int tiles, int radius_x,
                int radius_y, void *stream, CfStatus *status)
{
  const int width = kFp32Tile + 2 * radius_x, height = kFp32Tile + 2 * radius_y;
  const size_t bytes = (size_t)(width * height + height * kFp32Tile) * sizeof(float);

  if (wide)
    filter_levels<uint16_t><<<tiles, kFp32Threads, bytes, (cudaStream_t)stream>>>(*job);
  else
    filter_levels<uint8_t><<<tiles, kFp32Threads, bytes, (cudaStream_t)stream>>>(*job);
  if (!cf_cuda_launched("blurring by a map", status))
    return false;
  if (!per_sample)
    return true;
  if (wide)
    filter_per_sample<uint16_t><<<tiles, kFp32Threads, bytes, (cudaStream_t)stream>>>(*job);
  else
    filter_per_sample<uint8_t><<<tiles, kFp32Threads, bytes, (cudaStream_t)stream>>>(*job);
  return cf_cuda_launched("blurring by a map", status);
}

} // namespace cf::blurmap
