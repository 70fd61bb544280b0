/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Third launch of the fp32 pyramid: the coarse filter's taps along columns.
 */
#include "cuda/common/int_math.cuh"
#include "cuda/pyramid/fp32.cuh"

namespace cf::pyramid
{

namespace
{

constexpr int kSlices = kThreads / kCoarseFilterColumns;
constexpr int kZeros = kCoarseFilterRows; /* before the taps */

/* What a CTA makes: eight rows of 32 coarse columns of one channel. Eights start at multiples of 8,
 * so that bands of a picture add up in the same order as the whole. */
struct Part {
  int channel, column, row; /* coarse */

  __device__ Part(const Fp32Plane &plane, int cta)
  {
    const int width = plane.x.coarse_end - plane.x.coarse_first;
    const int across = (width + kCoarseFilterColumns - 1) / kCoarseFilterColumns;
    const int top = first_eight(plane), group = cta / across;
    const int groups = (plane.coarse_end - top + kCoarseFilterRows - 1) / kCoarseFilterRows;

    column = cta % across * kCoarseFilterColumns;
    channel = group / groups;
    row = top + (group - channel * groups) * kCoarseFilterRows;
  }
};

/* Of 4 rows, that eight rows of results read. */
__device__ inline int groups_of(const Fp32Axis &axis)
{
  return (axis.taps_count + kCoarseFilterRows - 1 + 3) / 4;
}

/* 4 samples into 8 sums that lie one sample apart; `taps` points to that of the first in the first.
 */
__device__ inline void accumulate(float (&sum)[kCoarseFilterRows], const float (&sample)[4],
                                  const float *taps)
{
  float tap[12];

#pragma unroll
  for (int i = 0; i < 3; i++) {
    const float4 four = *(const float4 *)(taps - 8 + 4 * i);
    tap[4 * i] = four.x;
    tap[4 * i + 1] = four.y;
    tap[4 * i + 2] = four.z;
    tap[4 * i + 3] = four.w;
  }
#pragma unroll
  for (int i = 0; i < 4; i++) {
#pragma unroll
    for (int o = 0; o < kCoarseFilterRows; o++)
      sum[o] = fmaf(sample[i], tap[8 + i - o], sum[o]);
  }
}

/* Each warp adds up a part of the taps, since with few outputs what takes time is one load after
 * the other. */
__device__ inline void filter_part(const Fp32Plane &plane, const Part &part, const float *taps,
                                   float (*parts)[kCoarseFilterRows][kCoarseFilterColumns])
{
  const Fp32Axis &axis = plane.y;
  const int width = plane.x.coarse_end - plane.x.coarse_first;
  const int rows = plane.fine_end - plane.fine_first, pitch = plane.coarse_x_pitch;
  const int lane = (int)threadIdx.x % kCoarseFilterColumns,
            slice = (int)threadIdx.x / kCoarseFilterColumns;
  const int x = part.column + lane, groups = groups_of(axis);
  const int top = part.row + axis.taps_first - plane.fine_first, last = rows - 1;
  const float *from = plane.coarse_x + (size_t)part.channel * rows * pitch + min(x, width - 1);
  const bool inside = top >= 0 && top + 4 * groups <= rows;
  float sum[kCoarseFilterRows] = {};

#pragma unroll 4
  for (int group = slice; group < groups; group += kSlices) {
    float sample[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const int y = top + 4 * group + i;
      sample[i] = from[(inside ? y : min(max(y, 0), last)) * pitch];
    }
    accumulate(sum, sample, taps + 4 * group);
  }
#pragma unroll
  for (int o = 0; o < kCoarseFilterRows; o++)
    parts[slice][o][lane] = sum[o];
  __syncthreads();

  /* Now a warp is a row. */
#pragma unroll
  for (int o = slice; o < kCoarseFilterRows; o += kSlices) {
    float total = parts[0][o][lane];
#pragma unroll
    for (int i = 1; i < kSlices; i++)
      total += parts[i][o][lane];
    if (x < width && part.row + o >= plane.coarse_first && part.row + o < plane.coarse_end)
      plane.coarse[((size_t)(part.row + o - plane.coarse_first) * width + x) * plane.channels +
                   part.channel] = total;
  }
}

__global__ void __launch_bounds__(kThreads)
    coarse_filter_kernel(const __grid_constant__ Fp32Job job)
{
  __shared__ __align__(16) float taps[kZeros + kFp32MaxTaps];
  __shared__ float parts[kSlices][kCoarseFilterRows][kCoarseFilterColumns];
  int cta;
  const Fp32Plane &plane = plane_of_cta(job, &Fp32Plane::coarse_filter_first_cta, &cta);

  pdl_trigger();
  pdl_wait();
  for (int i = (int)threadIdx.x; i < kZeros + 4 * groups_of(plane.y); i += kThreads)
    taps[i] = i < kZeros ? 0.0f : plane.y.taps[i - kZeros];
  __syncthreads();
  filter_part(plane, Part(plane, cta), taps + kZeros, parts);
}

} // namespace

bool fp32_coarse_filter(const Fp32Job *job, const Fp32LaunchPlan &plan, void *stream,
                        CfStatus *status)
{
  return launch_job(coarse_filter_kernel, job, plan.coarse_filter_ctas, kThreads, 0, stream,
                    "filtering the blur pyramid", status);
}

} // namespace cf::pyramid
