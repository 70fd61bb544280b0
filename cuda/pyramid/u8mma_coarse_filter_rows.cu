/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Second launch of the u8mma pyramid: the coarse filter along rows, as matrix products: taps (16
 * outputs x 16 fine samples) by fine samples (16 x 8 rows). The order of samples in a product is
 * such that each thread has four consecutive ones, which it loads as one vector.
 *
 * Up to D = 8 there are many outputs with few taps: the CTA's samples go to shared memory, where
 * all warps read them. From D = 16 on there are few outputs with many taps: the warps divide the
 * taps of the same outputs, and their sums are added.
 */
#include "cuda/pyramid/u8mma_taps.cuh"

namespace cf::pyramid
{

namespace
{

/* The outputs of a CTA: a segment of eight rows of one channel. */
struct Segment {
  int channel;
  int row;   /* first row, from coarse_x_first on */
  int first; /* first output, from coarse_first on */

  __device__ Segment(const U8Plane &plane, int cta)
  {
    const int across = segments_of_rows(plane), eights = plane.row_pairs / 4;
    const int row_group = cta / across;

    first = (cta - row_group * across) * segment_columns(plane.x);
    channel = row_group / eights;
    row = (row_group - channel * eights) * 8;
  }

  /* The fine column with which the first product of the first output begins. */
  __device__ int sample(const U8Axis &axis) const
  {
    return axis.decimation2 * (axis.coarse_first + first) + axis.coarse_taps_first - axis.skipped;
  }
};

/* A row of `fine`. Samples before and after the stored ones repeat the first and the last. */
struct FineRow {
  const float *first;
  int left, last; /* columns of the first and the last vector of four in memory */

  __device__ FineRow(const U8Plane &plane, const Segment &segment, int row)
  {
    const int rows = plane.fine_end - plane.fine_first;
    const int y = plane.coarse_x_first + segment.row + row - plane.fine_first;

    first =
        plane.fine + ((size_t)segment.channel * rows + min(max(y, 0), rows - 1)) * plane.fine_pitch;
    left = plane.left;
    last = plane.left + plane.fine_pitch - 4;
  }

  __device__ float4 load(int x) const
  {
    return __ldcg((const float4 *)(first + (min(max(x, left), last) - left)));
  }

  /* Applies the border to what load() returned. Two samples each: fp16, residuals, fp16, residuals.
   */
  __device__ uint4 split(int x, const float4 &loaded) const
  {
    const float edge = x < left ? loaded.x : loaded.w;
    const float4 four = x < left || x > last ? make_float4(edge, edge, edge, edge) : loaded;
    const uint2 low = split_half2(four.x, four.y), high = split_half2(four.z, four.w);

    return make_uint4(low.x, low.y, high.x, high.y);
  }
};

__device__ inline void multiply(const TapMatrix<4> &taps, const uint4 &samples, float (&sum)[4])
{
  taps.multiply(sum, make_uint2(samples.x, samples.y), make_uint2(samples.z, samples.w));
}

/* Stores 16 outputs of eight rows, the first being number `output` of the segment. */
__device__ inline void store(const U8Plane &plane, const Segment &segment, int output,
                             const float (&sum)[4])
{
  const int lane = (int)threadIdx.x % 32;
  uint2 *to =
      plane.coarse_x +
      ((size_t)segment.channel * plane.row_pairs + segment.row / 2 + lane % 4) * plane.columns;

#pragma unroll
  for (int half = 0; half < 2; half++) {
    const int column = segment.first + output + 8 * half + lane / 4;

    if (column < plane.columns)
      to[column] = split_half2(sum[2 * half], sum[2 * half + 1]);
  }
}

/* ---- D up to 8 ---- */

/* Chunks of 16 samples that 16 outputs read at most: of taps for sigmas up to 6 D with D = 4 (four
 * groups of 16 outputs for each warp), up to 8 D with D = 8 (two groups). */
template <int Groups> constexpr int kMostChunks = Groups == 2 ? 6 : 5;

/* [row][vector of four samples], padded against bank conflicts. */
template <int Groups> struct SharedSamples {
  static constexpr int kFours = 4 * (Groups * kWarps - 1 + kMostChunks<Groups>);

  uint4 four[8][(kFours + 7) / 8 * 8 + 4];
};

template <int Groups>
__device__ inline void stage_samples(const U8Plane &plane, const Segment &segment,
                                     SharedSamples<Groups> &samples)
{
  constexpr int kFours = SharedSamples<Groups>::kFours, kAcross = (kFours + 31) / 32;
  constexpr int kRows = 8 / kWarps;
  const int lane = (int)threadIdx.x % 32, x = segment.sample(plane.x) + 4 * lane;
  float4 loaded[kRows][kAcross];

#pragma unroll
  for (int r = 0; r < kRows; r++) {
    const FineRow row(plane, segment, (int)threadIdx.x / 32 * kRows + r);

#pragma unroll
    for (int i = 0; i < kAcross; i++)
      loaded[r][i] = row.load(x + 128 * i);
  }
#pragma unroll
  for (int r = 0; r < kRows; r++) {
    const int y = (int)threadIdx.x / 32 * kRows + r;
    const FineRow row(plane, segment, y);

#pragma unroll
    for (int i = 0; i < kAcross; i++) {
      if (32 * i + lane < kFours)
        samples.four[y][32 * i + lane] = row.split(x + 128 * i, loaded[r][i]);
    }
  }
}

template <int Groups>
__device__ inline void filter_shared(const U8Plane &plane, const Segment &segment,
                                     const SharedTaps &taps, SharedSamples<Groups> &samples)
{
  const U8Axis &axis = plane.x;
  const int lane = (int)threadIdx.x % 32, group = (int)threadIdx.x / 32 * Groups;
  const uint4 *from = &samples.four[lane / 4][4 * group + lane % 4];
  float sum[Groups][4] = {};

  stage_samples(plane, segment, samples);
  __syncthreads();
#pragma unroll 1
  for (int chunk = 0; chunk < axis.chunks; chunk++) {
    const TapMatrix<4> matrix(taps, 1, chunk, axis.skipped);

#pragma unroll
    for (int i = 0; i < Groups; i++)
      multiply(matrix, from[4 * (chunk + i)], sum[i]);
  }
#pragma unroll
  for (int i = 0; i < Groups; i++)
    store(plane, segment, 16 * (group + i), sum[i]);
}

/* ---- D from 16 on ---- */

constexpr int kTogether = 6; /* loads in flight per thread */

/* Partial sums of the warps that work on the same outputs. */
typedef float4 SharedSums[kWarps][32];

__device__ inline void filter_split_taps(const U8Plane &plane, const Segment &segment,
                                         const SharedTaps &taps, SharedSums &sums)
{
  const U8Axis &axis = plane.x;
  const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
  const int log2 = axis.factor_log2 - 4; /* of the number of warps for the same 16 outputs */
  const int part = warp & ((1 << log2) - 1), output = warp >> log2 << 4;
  const int end = (part + 1) * axis.chunks >> log2;
  const int x = segment.sample(axis) + axis.decimation2 * output + lane % 4 * 4;
  const FineRow row(plane, segment, lane / 4);
  float sum[4] = {};

  for (int first = part * axis.chunks >> log2; first < end; first += kTogether) {
    float4 sample[kTogether];

#pragma unroll
    for (int c = 0; c < kTogether; c++) {
      if (first + c < end)
        sample[c] = row.load(x + 16 * (first + c));
    }
    /* Not unrolled: more instructions would miss the instruction cache. */
#pragma unroll 1
    for (int chunk = first; chunk < min(first + kTogether, end); chunk++) {
      multiply(TapMatrix<4>(taps, axis.decimation2, chunk, axis.skipped),
               row.split(x + 16 * chunk, sample[0]), sum);
#pragma unroll
      for (int c = 0; c + 1 < kTogether; c++)
        sample[c] = sample[c + 1];
    }
  }

  sums[warp][lane] = make_float4(sum[0], sum[1], sum[2], sum[3]);
  __syncthreads();
  if (part > 0)
    return;
  for (int i = 1; i < 1 << log2; i++) {
    const float4 other = sums[warp + i][lane];

    sum[0] += other.x;
    sum[1] += other.y;
    sum[2] += other.z;
    sum[3] += other.w;
  }
  store(plane, segment, output, sum);
}

/* ---- kernels ---- */

/* Stages the taps, which does not depend on the launch before, then waits for that launch. */
__device__ inline void begin(const U8Job &job, const U8Plane &plane, SharedTaps &taps)
{
  pdl_trigger();
  stage_taps(plane.x, job.taps[&plane - job.plane][0], taps.half, taps.residual);
  __syncthreads();
  pdl_wait();
}

__global__ void __launch_bounds__(kThreads, kU8CoarseFilterCtasPerSm)
    coarse_filter_rows_kernel(const __grid_constant__ U8Job job)
{
  __shared__ SharedTaps taps;
  __shared__ union {
    SharedSamples<4> four;
    SharedSamples<2> two;
    SharedSums sums;
  } shared;
  int cta;
  const U8Plane &plane = plane_of_cta(job, &U8Plane::coarse_filter_first_cta, &cta);
  const Segment segment(plane, cta);

  begin(job, plane, taps);
  if (plane.x.factor == 4)
    filter_shared(plane, segment, taps, shared.four);
  else if (plane.x.factor == 8)
    filter_shared(plane, segment, taps, shared.two);
  else
    filter_split_taps(plane, segment, taps, shared.sums);
}

} // namespace

bool u8_coarse_filter_rows(const U8Job *job, const U8LaunchPlan &plan, void *stream,
                           CfStatus *status)
{
  return prefer_carveout(coarse_filter_rows_kernel, plan, status) &&
         launch_job(coarse_filter_rows_kernel, job, plan.coarse_filter_ctas, kThreads, 0, stream,
                    "blurring coarse rows", status);
}

} // namespace cf::pyramid
