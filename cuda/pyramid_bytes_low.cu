/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The low taps of the blur pyramid of bytes: along rows, then along columns. One output in D2 is
 * made, from D2 phases of samples and of taps that each are filtered without gaps.
 */
#include "pyramid_bytes.cuh"

namespace
{

/* ---- along rows ---- */

/* Up to kBytesSegment outputs of one row of one channel. */
struct Segment {
  int channel, row, first, count; /* row from fine_first, output from coarse_first on */

  __device__ Segment(const CfBytesPlane &plane, int block)
  {
    const int across = (plane.columns + kBytesSegment - 1) / kBytesSegment;
    const int rows = plane.fine_end - plane.fine_first;

    first = block % across * kBytesSegment;
    count = min(kBytesSegment, plane.columns - first);
    channel = block / across / rows;
    row = block / across - channel * rows;
  }
};

/* 4 samples into 4 sums that lie one sample apart; the taps and the 4 before them. */
__device__ inline void accumulate(float (&sum)[4], const float4 &four, const float4 &before,
                                  const float4 &taps)
{
  const float sample[4] = {four.x, four.y, four.z, four.w};
  const float tap[8] = {before.x, before.y, before.z, before.w, taps.x, taps.y, taps.z, taps.w};

#pragma unroll
  for (int i = 0; i < 4; i++) {
#pragma unroll
    for (int o = 0; o < 4; o++)
      sum[o] = fmaf(sample[i], tap[4 + i - o], sum[o]);
  }
}

__global__ void __launch_bounds__(kBytesThreads)
    low_rows_kernel(const __grid_constant__ CfBytesJob job)
{
  extern __shared__ __align__(16) float shared[];
  int block;
  const CfBytesPlane &plane = cf_bytes_plane(job, &CfBytesPlane::rows_blocks, &block);
  const CfBytesLine &line = plane.x;
  const Segment segment(plane, block);
  const int groups = line.row_groups, thinning = line.thinning;
  const int stride = kBytesSegment + 4 * groups; /* of a phase's samples */
  float *taps = shared, *samples = shared + thinning * 4 * (groups + 1);
  const int wanted = thinning * (line.coarse_first + segment.first) + line.low_first;
  const int needed = (segment.count + 3) / 4 * 4 + 4 * groups;
  const int last = line.made_end - 1;
  const float *from =
      plane.fine +
      ((size_t)segment.channel * (plane.fine_end - plane.fine_first) + segment.row) *
          plane.fine_pitch -
      plane.left;

  cf_let_next_kernel_start();
  for (int i = (int)threadIdx.x; i < thinning * 4 * (groups + 1); i += kBytesThreads) {
    const int phase = i / (4 * (groups + 1)), tap = i - phase * 4 * (groups + 1) - 4;

    taps[i] = tap >= 0 && tap < line.phase_taps ? line.low[phase * line.phase_taps + tap] : 0.0f;
  }
  cf_wait_for_previous_kernel();
  for (int i = (int)threadIdx.x; i < thinning * needed; i += kBytesThreads) {
    const int phase = i & (thinning - 1), at = thinning == 1 ? i : i >> 1;

    samples[phase * stride + at] = from[min(max(wanted + i, line.made_first), last)];
  }
  __syncthreads();

  const int first = 4 * (int)threadIdx.x;
  float sum[4] = {};
  if (first >= segment.count)
    return;
  for (int phase = 0; phase < thinning; phase++) {
    const float4 *tap = (const float4 *)taps + phase * (groups + 1);
    const float4 *sample = (const float4 *)(samples + phase * stride + first);
    float4 before = tap[0];

#pragma unroll 4
    for (int group = 0; group < groups; group++) {
      const float4 next = tap[group + 1];

      accumulate(sum, sample[group], before, next);
      before = next;
    }
  }
  *(float4 *)(plane.rows +
              ((size_t)segment.channel * (plane.fine_end - plane.fine_first) + segment.row) *
                  plane.rows_pitch +
              segment.first + first) = make_float4(sum[0], sum[1], sum[2], sum[3]);
}

/* ---- along columns ---- */

constexpr int kRows = kBytesLowRows;

/* Eight rows of some columns of one channel. They start at multiples of 8, so that bands of a
 * picture add up in the same order as the whole. */
struct Part {
  int channel, column, row, slice;

  __device__ Part(const CfBytesPlane &plane, int block)
  {
    const int columns = kBytesThreads / plane.slices;
    const int across = (plane.columns + columns - 1) / columns;
    const int top = plane.coarse_first & ~(kRows - 1);
    const int eights = (plane.coarse_end - top + kRows - 1) / kRows, group = block / across;

    slice = (int)threadIdx.x / columns;
    column = block % across * columns + (int)threadIdx.x % columns;
    channel = group / eights;
    row = top + (group - channel * eights) * kRows;
  }
};

/* 4 samples into 8 sums that lie one sample apart; `taps` points to that of the first in the first.
 */
__device__ inline void accumulate(float (&sum)[kRows], const float (&sample)[4], const float *taps)
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
    for (int o = 0; o < kRows; o++)
      sum[o] = fmaf(sample[i], tap[8 + i - o], sum[o]);
  }
}

__device__ inline void store(const CfBytesPlane &plane, const Part &part, int row, float value)
{
  if (part.column >= plane.columns || row < plane.coarse_first || row >= plane.coarse_end)
    return;
  uint16_t *to = plane.coarse +
                 ((size_t)part.channel * (plane.coarse_end - plane.coarse_first) +
                  (row - plane.coarse_first)) *
                     plane.columns +
                 part.column;
  const __half half = __float2half_rn(value);

  to[0] = __half_as_ushort(half);
  to[plane.coarse_rest] = __half_as_ushort(__float2half_rn(value - __half2float(half)));
}

__global__ void __launch_bounds__(kBytesThreads)
    low_columns_kernel(const __grid_constant__ CfBytesJob job)
{
  __shared__ __align__(16) float taps[kBytesThinning * 8 + kBytesLowTaps + 32];
  __shared__ float parts[kRows][kBytesThreads];
  int block;
  const CfBytesPlane &plane = cf_bytes_plane(job, &CfBytesPlane::low_blocks, &block);
  const CfBytesLine &line = plane.y;
  const Part part(plane, block);
  const int groups = line.column_groups, thinning = line.thinning;
  const int phase_stride = 8 + 4 * groups;
  const int last = plane.fine_end - plane.fine_first - 1;
  const float *from = plane.rows + (size_t)part.channel * (last + 1) * plane.rows_pitch +
                      min(part.column, plane.columns - 1);
  const int top = thinning * part.row + line.low_first - plane.fine_first;
  float sum[kRows] = {};

  cf_let_next_kernel_start();
  for (int i = (int)threadIdx.x; i < thinning * phase_stride; i += kBytesThreads) {
    const int phase = i / phase_stride, tap = i - phase * phase_stride - 8;

    taps[i] = tap >= 0 && tap < line.phase_taps ? line.low[phase * line.phase_taps + tap] : 0.0f;
  }
  cf_wait_for_previous_kernel();
  __syncthreads();

#pragma unroll 2
  for (int i = part.slice; i < thinning * groups; i += plane.slices) {
    const int phase = i >= groups ? 1 : 0, group = i - phase * groups;
    float sample[4];

#pragma unroll
    for (int j = 0; j < 4; j++) {
      const int row = top + phase + thinning * (4 * group + j);
      sample[j] = from[(size_t)min(max(row, 0), last) * plane.rows_pitch];
    }
    accumulate(sum, sample, taps + phase * phase_stride + 8 + 4 * group);
  }
  if (plane.slices == 1) {
#pragma unroll
    for (int o = 0; o < kRows; o++)
      store(plane, part, part.row + o, sum[o]);
    return;
  }

  const int columns = kBytesThreads / plane.slices;
#pragma unroll
  for (int o = 0; o < kRows; o++)
    parts[o][threadIdx.x] = sum[o];
  __syncthreads();
  for (int o = part.slice; o < kRows; o += plane.slices) {
    float total = 0.0f;

    for (int i = 0; i < plane.slices; i++)
      total += parts[o][i * columns + (int)threadIdx.x % columns];
    store(plane, part, part.row + o, total);
  }
}

} // namespace

bool cf_bytes_low_rows(const CfBytesJob *job, int blocks, int bytes, void *stream, CfStatus *status)
{
  return cf_bytes_launch(low_rows_kernel, job, blocks, bytes, stream, "blurring coarse rows",
                         status);
}

bool cf_bytes_low_columns(const CfBytesJob *job, int blocks, void *stream, CfStatus *status)
{
  return cf_bytes_launch(low_columns_kernel, job, blocks, 0, stream, "blurring coarse columns",
                         status);
}
