/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Third launch of the fp32 pyramid: the coarse filter along columns.
 */
#include "cuda/common/int_math.cuh"
#include "cuda/pyramid/fp32.cuh"

namespace cf::pyramid
{

namespace
{

constexpr int kSlices = kThreads / kCoarseFilterColumns; /* warps, each with a slice of the taps */
constexpr int kZeros = kCoarseFilterRows;                /* before the taps in shared memory */

/* The coarse samples of a CTA: 8 rows by 32 columns of one channel. */
struct CoarseTile {
  int channel, column, row; /* coarse */

  __device__ CoarseTile(const Fp32Plane &plane, int cta)
  {
    const int width = plane.x.coarse_end - plane.x.coarse_first;
    const int across = (width + kCoarseFilterColumns - 1) / kCoarseFilterColumns;
    const int first = first_coarse_filter_row(plane), group = cta / across;
    const int groups = (plane.coarse_end - first + kCoarseFilterRows - 1) / kCoarseFilterRows;

    column = cta % across * kCoarseFilterColumns;
    channel = group / groups;
    row = first + (group - channel * groups) * kCoarseFilterRows;
  }
};

/* Groups of 4 fine rows that the eight rows of a tile read. */
__device__ inline int groups_of(const Fp32Axis &axis)
{
  return (axis.coarse_taps_count + kCoarseFilterRows - 1 + 3) / 4;
}

/* Adds 4 consecutive samples to 8 consecutive outputs; `taps[0]` is the tap of the first sample in
 * the first output. */
__device__ inline void accumulate(float (&sum)[kCoarseFilterRows], const float (&sample)[4],
                                  const float *taps)
{
  float tap[12];

#pragma unroll
  for (int i = 0; i < 3; i++) {
    const float4 quad = *(const float4 *)(taps - 8 + 4 * i);
    tap[4 * i] = quad.x;
    tap[4 * i + 1] = quad.y;
    tap[4 * i + 2] = quad.z;
    tap[4 * i + 3] = quad.w;
  }
#pragma unroll
  for (int i = 0; i < 4; i++) {
#pragma unroll
    for (int o = 0; o < kCoarseFilterRows; o++)
      sum[o] = fmaf(sample[i], tap[8 + i - o], sum[o]);
  }
}

/* A lane is a column. Each warp sums a slice of the taps, to have more loads in flight: there are
 * few outputs. Then warps add up `slice_sums`, a row each at a time. */
__device__ inline void filter_tile(const Fp32Plane &plane, const CoarseTile &tile,
                                   const float *taps,
                                   float (*slice_sums)[kCoarseFilterRows][kCoarseFilterColumns])
{
  const Fp32Axis &axis = plane.y;
  const int width = plane.x.coarse_end - plane.x.coarse_first;
  const int rows = plane.fine_end - plane.fine_first, pitch = plane.coarse_x_pitch;
  const int lane = (int)threadIdx.x % kCoarseFilterColumns,
            slice = (int)threadIdx.x / kCoarseFilterColumns;
  const int x = tile.column + lane, groups = groups_of(axis);
  const int first = tile.row + axis.coarse_taps_first - plane.fine_first, last = rows - 1;
  const float *from = plane.coarse_x + (size_t)tile.channel * rows * pitch + min(x, width - 1);
  const bool inside = first >= 0 && first + 4 * groups <= rows;
  float sum[kCoarseFilterRows] = {};

#pragma unroll 4
  for (int group = slice; group < groups; group += kSlices) {
    float sample[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const int y = first + 4 * group + i;
      sample[i] = from[(inside ? y : min(max(y, 0), last)) * pitch];
    }
    accumulate(sum, sample, taps + 4 * group);
  }
#pragma unroll
  for (int o = 0; o < kCoarseFilterRows; o++)
    slice_sums[slice][o][lane] = sum[o];
  __syncthreads();

#pragma unroll
  for (int o = slice; o < kCoarseFilterRows; o += kSlices) {
    float total = slice_sums[0][o][lane];
#pragma unroll
    for (int i = 1; i < kSlices; i++)
      total += slice_sums[i][o][lane];
    if (x < width && tile.row + o >= plane.coarse_first && tile.row + o < plane.coarse_end)
      plane.coarse[((size_t)(tile.row + o - plane.coarse_first) * width + x) * plane.channels +
                   tile.channel] = total;
  }
}

__global__ void __launch_bounds__(kThreads)
    coarse_filter_kernel(const __grid_constant__ Fp32Job job)
{
  __shared__ __align__(16) float taps[kZeros + kFp32MaxTaps];
  __shared__ float slice_sums[kSlices][kCoarseFilterRows][kCoarseFilterColumns];
  int cta;
  const Fp32Plane &plane = plane_of_cta(job, &Fp32Plane::coarse_filter_first_cta, &cta);

  pdl_trigger();
  pdl_wait();
  for (int i = (int)threadIdx.x; i < kZeros + 4 * groups_of(plane.y); i += kThreads)
    taps[i] = i < kZeros ? 0.0f : plane.y.taps[i - kZeros];
  __syncthreads();
  filter_tile(plane, CoarseTile(plane, cta), taps + kZeros, slice_sums);
}

} // namespace

bool fp32_coarse_filter(const Fp32Job *job, const Fp32LaunchPlan &plan, void *stream,
                        CfStatus *status)
{
  return launch_job(coarse_filter_kernel, job, plan.coarse_filter_ctas, kThreads, 0, stream,
                    "filtering the blur pyramid", status);
}

} // namespace cf::pyramid
