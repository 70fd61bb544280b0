/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Down the pyramid of the local Laplacian filter: from intensities to the component images of level
 * 1, and from each level to the next coarser one. Runs on every GPU; the mma_* kernels replace it
 * where they apply.
 */
#include "cuda/llf/pixel_io.cuh"
#include "cuda/llf/pyramid_ops.cuh"
#include "cuda/llf/remap_curve.cuh"

namespace cf::llf
{
namespace
{

/* ---- Components: functions of the intensity, two per word ---- */

/* Pair n: sine and cosine of harmonic n + 1, times its coefficient. */
__device__ __forceinline__ float2 component_pair(const Series &series, float intensity, int n)
{
  float sine, cosine;

  sincos_harmonic(series, n, intensity, &sine, &cosine);
  return make_float2(series.b[n] * sine, series.b[n] * cosine);
}

/* Pair n: the remapping curves about sampled intensities 2 n and 2 n + 1 of the batch. */
__device__ __forceinline__ float2 component_pair(const Samples &samples, float intensity, int n)
{
  return make_float2(sample_delta(samples, 2 * n, intensity),
                     sample_delta(samples, 2 * n + 1, intensity));
}

/* The format of a pair in a word: fp16 for the series. */
template <typename Components> struct PairOf;

template <> struct PairOf<Series> {
  __device__ static uint32_t pack(float2 pair)
  {
    return llf::pack(pair);
  }

  __device__ static float2 unpack(uint32_t word)
  {
    return llf::unpack(word);
  }
};

/* 16-bit integers (Samples::units) for samples: their error must not grow with the value. */
template <> struct PairOf<Samples> {
  __device__ static uint32_t pack(float2 pair)
  {
    return ((uint32_t)__float2int_rn(pair.x) & 65535u) | (uint32_t)__float2int_rn(pair.y) << 16;
  }

  __device__ static float2 unpack(uint32_t word)
  {
    return make_float2((float)(short)(word & 65535u), (float)((int)word >> 16));
  }
};

/* ---- Level 0 to 1 ---- */

constexpr int kTileX = 32, kTileY = 8, kFineX = 2 * kTileX + 3, kFineY = 2 * kTileY + 3;

/* A CTA computes a tile of kTileX x kTileY pixels of level 1, one per thread, from a tile of level
 * 0 with its halo in shared memory. Component pairs pass through shared memory one by one, so that
 * each is evaluated once per pixel of level 0. `coarse.collapsed` is NULL unless level 1 is the
 * coarsest. */
template <typename Components>
__global__ void __launch_bounds__(kTileX *kTileY)
    build_level_1_kernel(Pixels pixels, Components components, int groups, Level coarse,
                         float top_gain)
{
  __shared__ float intensity[kFineY * kFineX];
  __shared__ float2 fine[kFineY * kFineX];
  __shared__ float2 rows[kFineY * kTileX];

  const int thread = threadIdx.x, threads = kTileX * kTileY;
  const int tile_x = blockIdx.x * kTileX, tile_y = blockIdx.y * kTileY;
  const int column = thread % kTileX, row = thread / kTileX;
  const int x = tile_x + column, y = tile_y + row;
  const bool inside = x < coarse.width && y < coarse.height;
  const size_t index = (size_t)y * coarse.width + x;

  /* Reduces `fine` across into `rows`, and returns this thread's pixel, reduced down. */
  auto reduce_fine = [&]() {
    __syncthreads(); /* `fine` is complete, and the last pair's rows have been read */
    for (int i = thread; i < kFineY * kTileX; i += threads) {
      const float2 *p = fine + i / kTileX * kFineX + 2 * (i % kTileX);
      rows[i] = reduced(p[0], p[1], p[2], p[3], p[4]);
    }
    __syncthreads();
    const float2 *p = rows + 2 * row * kTileX + column;
    return reduced(p[0], p[kTileX], p[2 * kTileX], p[3 * kTileX], p[4 * kTileX]);
  };

  pdl_trigger_then_wait();
  for (int i = thread; i < kFineY * kFineX; i += threads) {
    const int from_x = mirrored(2 * tile_x - 2 + i % kFineX, pixels.width);
    const int from_y = mirrored(2 * tile_y - 2 + i / kFineX, pixels.height);
    const float value = __saturatef(load_intensity(pixels, from_x, from_y));

    intensity[i] = value;
    fine[i] = make_float2(value, 0.0f);
  }

  const float gauss = reduce_fine().x;
  if (inside) {
    coarse.gauss[index] = gauss;
    if (coarse.collapsed)
      coarse.collapsed[index] = top_gain * gauss;
  }

  for (int group = 0; group < groups; group++) {
    uint32_t words[4];

#pragma unroll
    for (int k = 0; k < 4; k++) {
      for (int i = thread; i < kFineY * kFineX; i += threads)
        fine[i] = component_pair(components, intensity[i], 4 * group + k);
      words[k] = PairOf<Components>::pack(reduce_fine());
    }
    if (inside)
      coarse.groups[index * groups + group] = make_uint4(words[0], words[1], words[2], words[3]);
  }
}

/* ---- Level to level ---- */

constexpr int kReduceThreads = 256;

template <typename Pair>
__device__ __forceinline__ void add_tap(float tap, uint4 group, float total[8])
{
  const uint32_t words[4] = {group.x, group.y, group.z, group.w};

#pragma unroll
  for (int k = 0; k < 4; k++) {
    const float2 pair = Pair::unpack(words[k]);
    total[2 * k] = fmaf(tap, pair.x, total[2 * k]);
    total[2 * k + 1] = fmaf(tap, pair.y, total[2 * k + 1]);
  }
}

/* A thread computes one 16-byte group of one pixel of the coarser level. threadIdx.x is the group,
 * so that a warp reads whole pixels. The first group's thread also reduces the Gaussian.
 * `coarse.collapsed` is NULL unless `coarse` is the coarsest level. */
template <typename Pair>
__global__ void __launch_bounds__(kReduceThreads)
    reduce_level_kernel(Level fine, Level coarse, float top_gain)
{
  const float tap[5] = {TAP_EDGE, TAP_SIDE, TAP_CENTRE, TAP_SIDE, TAP_EDGE};
  const int group = threadIdx.x, groups = blockDim.x;
  const int x = blockIdx.x * blockDim.y + threadIdx.y, y = blockIdx.y;
  int column[5];

  pdl_trigger_then_wait();
  if (x >= coarse.width)
    return;

  const size_t index = (size_t)y * coarse.width + x;
#pragma unroll
  for (int i = 0; i < 5; i++)
    column[i] = mirrored(2 * x - 2 + i, fine.width);

  float total[8] = {0};
#pragma unroll
  for (int j = 0; j < 5; j++) {
    const uint4 *from =
        fine.groups + (size_t)mirrored(2 * y - 2 + j, fine.height) * fine.width * groups + group;
    float row[8] = {0};

#pragma unroll
    for (int i = 0; i < 5; i++)
      add_tap<Pair>(tap[i], from[column[i] * groups], row);
#pragma unroll
    for (int k = 0; k < 8; k++)
      total[k] = fmaf(tap[j], row[k], total[k]);
  }
  coarse.groups[index * groups + group] = make_uint4(
      Pair::pack(make_float2(total[0], total[1])), Pair::pack(make_float2(total[2], total[3])),
      Pair::pack(make_float2(total[4], total[5])), Pair::pack(make_float2(total[6], total[7])));

  if (group == 0) {
    const float gauss = reduced_plane(fine.gauss, fine.width, fine.height, x, y);

    coarse.gauss[index] = gauss;
    if (coarse.collapsed)
      coarse.collapsed[index] = top_gain * gauss;
  }
}

/* A level as the target of a reduction: only the coarsest has a collapsed image yet. */
Level reduced_level(const Pyramid &pyramid, int index)
{
  Level level = pyramid.level[index];

  if (index < pyramid.images - 1)
    level.collapsed = nullptr;
  return level;
}

} // namespace

template <typename Components>
bool build_level_1(Queue *queue, const Pixels &pixels, const Components &components,
                   const Pyramid &pyramid, float top_gain)
{
  const Level coarse = reduced_level(pyramid, 1);

  return launch(queue, "llf analyse", build_level_1_kernel<Components>,
                dim3(blocks(coarse.width, kTileX), blocks(coarse.height, kTileY)),
                dim3(kTileX * kTileY), 0, pixels, components, pyramid.groups, coarse, top_gain);
}

template <typename Components>
bool reduce_level(Queue *queue, const Components &, const Pyramid &pyramid, int fine,
                  float top_gain)
{
  const int pixels_per_cta = kReduceThreads / pyramid.groups;
  const Level coarse = reduced_level(pyramid, fine + 1);

  return launch(queue, "llf reduce", reduce_level_kernel<PairOf<Components>>,
                dim3(blocks(coarse.width, pixels_per_cta), coarse.height),
                dim3(pyramid.groups, pixels_per_cta), 0, pyramid.level[fine], coarse, top_gain);
}

template bool build_level_1(Queue *, const Pixels &, const Series &, const Pyramid &, float);
template bool build_level_1(Queue *, const Pixels &, const Samples &, const Pyramid &, float);
template bool reduce_level(Queue *, const Series &, const Pyramid &, int, float);
template bool reduce_level(Queue *, const Samples &, const Pyramid &, int, float);

} // namespace cf::llf
