/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Separable filter of any length in single or double precision, for taps whose rows do not fit
 * shared memory and for gains that need double. Two launches for each plane: rows to scratch
 * memory, columns from there.
 */
#include <string.h>

#include "cuda/common/int_math.cuh"
#include "cuda/common/launch.cuh"
#include "cuda/fir/pixel.cuh"

namespace cf::fir
{
namespace
{

constexpr int kThreads = 256;
constexpr int kOutputs = 8; /* sums of a thread, consecutive along the axis of the filter */

/* The Gaussian of sigma 250 has 2001 taps. 2048 doubles fit a kernel's parameters (32,764 bytes)
 * beside PlaneWork. */
constexpr int kMaxTaps = 2048;
constexpr int kTapSlots = kMaxTaps + 2 * kOutputs;

constexpr int kRowPixels = 256, kRowRows = 8;    /* outputs of a CTA of the row pass */
constexpr int kChunk = 128;                      /* taps for which samples are loaded at a time */
constexpr int kStride = kRowPixels + kChunk + 1; /* 1 modulo 32: free of bank conflicts */

/* Outputs of a CTA of the column pass. */
constexpr int kColumnPixels = 32, kColumnRows = kThreads / 32 * kOutputs;

template <typename Real> struct Job {
  PlaneWork work;
  bool wide;    /* samples of two bytes */
  Real *sums;   /* scratch memory: [channel][readable row][x] */
  int groups;   /* groups of 8 taps that 8 neighbouring outputs read */
  Real row_sum; /* sum of the row filter's taps */
  Real tap[kTapSlots];
};

__device__ inline int source_code(const PlaneWork &work, bool wide, int x, int y, int channel)
{
  const uint8_t *row = work.source + (ptrdiff_t)y * work.source_stride;
  const size_t index = (size_t)x * work.channels + channel;

  return wide ? ((const uint16_t *)row)[index] >> work.shift : row[index];
}

template <typename Real>
__device__ inline Real weighted_value(const PlaneWork &work, bool wide, int x, int y, int channel)
{
  if (x < 0)
    return work.transform[channel].border;

  const Real value =
      (Real)source_code(work, wide, x, y, channel) - (Real)work.transform[channel].centre;
  return work.alpha >= 0 && channel != work.alpha
             ? value * alpha_weight((Real)source_code(work, wide, x, y, work.alpha))
             : value;
}

/* A CTA filters 8 rows by 256 pixels of one channel, a warp of these 8 rows by 4 groups of 8
 * pixels. */
template <typename Real>
__global__ void __launch_bounds__(kThreads) filter_rows(const __grid_constant__ Job<Real> job)
{
  __shared__ Real input[kRowRows * kStride];
  const PlaneWork &work = job.work;
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int across = (work.width + kRowPixels - 1) / kRowPixels;
  const int readable = work.readable_end - work.readable_first;
  const int down = (readable + kRowRows - 1) / kRowRows;
  const int channel = (int)blockIdx.x / (across * down);
  const int index = (int)blockIdx.x - channel * (across * down);
  const int x0 = index % across * kRowPixels, y0 = index / across * kRowRows;
  const int row = lane & 7, pixel = warp * 32 + (lane >> 3) * kOutputs;
  Real sum[kOutputs] = {}, before[kOutputs], tap[kOutputs] = {};

  if (work.transform[channel].action != kFilter)
    return;

  for (int group = 0; group < job.groups; group += kChunk / kOutputs) {
    const int left = x0 - work.row_anchor + group * kOutputs;
    const int y = work.readable_first + min(y0 + warp, readable - 1);

    __syncthreads();
    for (int x = lane; x < kRowPixels + kChunk; x += 32)
      input[warp * kStride + x] = weighted_value<Real>(
          work, job.wide, fold_index(work.border, left + x, work.width), y, channel);
    __syncthreads();
    for (int g = 0; g < min(kChunk / kOutputs, job.groups - group); g++) {
      Real sample[kOutputs];
#pragma unroll
      for (int i = 0; i < kOutputs; i++)
        sample[i] = input[row * kStride + pixel + g * kOutputs + i];
      next_taps(before, tap, job.tap + (group + g) * kOutputs);
      accumulate(sum, sample, before, tap);
    }
  }

  if (y0 + row >= readable)
    return;
  Real *out = job.sums + ((size_t)channel * readable + y0 + row) * work.width + x0 + pixel;
#pragma unroll
  for (int o = 0; o < kOutputs; o++) {
    if (x0 + pixel + o < work.width)
      out[o] = sum[o];
  }
}

template <typename Real>
__device__ inline void filter_column(const Job<Real> &job, int x, int y0, int channel,
                                     Real (&sum)[kOutputs])
{
  const PlaneWork &work = job.work;
  const int readable = work.readable_end - work.readable_first;
  const Real *column = job.sums + (size_t)channel * readable * work.width + x;
  const Real outside = (Real)work.transform[channel].border * job.row_sum;
  const int top = y0 - work.column_anchor;
  Real before[kOutputs], tap[kOutputs] = {};

#pragma unroll
  for (int o = 0; o < kOutputs; o++)
    sum[o] = 0;
  for (int group = 0; group < job.groups; group++) {
    Real sample[kOutputs];
#pragma unroll
    for (int i = 0; i < kOutputs; i++) {
      const int y = source_row(work, top + group * kOutputs + i);
      sample[i] = y < 0 ? outside : column[(size_t)(y - work.readable_first) * work.width];
    }
    next_taps(before, tap, job.tap + group * kOutputs);
    accumulate(sum, sample, before, tap);
  }
}

/* A thread filters 8 pixels one below the other, all channels; alpha first, since the sums of the
 * others are divided by it. */
template <typename Real>
__global__ void __launch_bounds__(kThreads) filter_columns(const __grid_constant__ Job<Real> job)
{
  const PlaneWork &work = job.work;
  const int across = (work.width + kColumnPixels - 1) / kColumnPixels;
  const int x = (int)(blockIdx.x % across) * kColumnPixels + (threadIdx.x & 31);
  const int y0 =
      work.first + (int)(blockIdx.x / across) * kColumnRows + (threadIdx.x >> 5) * kOutputs;
  Real alpha[kOutputs];

  if (x >= work.width || y0 >= work.end)
    return;
#pragma unroll
  for (int o = 0; o < kOutputs; o++)
    alpha[o] = 255;

  for (int i = 0; i < work.channels; i++) {
    const int channel = work.alpha < 0 ? i : (work.alpha + i) % work.channels;
    const ChannelTransform &transform = work.transform[channel];
    Real sum[kOutputs];

    if (transform.action == kFilter)
      filter_column(job, x, y0, channel, sum);
#pragma unroll
    for (int o = 0; o < kOutputs; o++) {
      const int y = y0 + o;
      Real value;

      if (y >= work.end)
        break;
      if (work.unsharp && transform.action == kFilter)
        sum[o] = add_difference(work, weighted_value<Real>(work, job.wide, x, y, channel), sum[o]);
      if (transform.action != kFilter)
        value = source_code(work, job.wide, x, y, channel);
      else if (channel == work.alpha)
        value = apply_transform(transform, sum[o]);
      else
        value = unpremultiply(transform, sum[o], alpha[o]);
      if (channel == work.alpha)
        alpha[o] = value;

      const uint32_t sample = to_sample(work, value);
      uint8_t *to = work.destination + (ptrdiff_t)y * work.destination_stride;
      const size_t index = (size_t)x * work.channels + channel;
      if (job.wide)
        ((uint16_t *)to)[index] = (uint16_t)sample;
      else
        to[index] = (uint8_t)sample;
    }
  }
}

template <typename Real> void set_taps(Job<Real> *job, const CfTaps *taps)
{
  memset(job->tap, 0, sizeof job->tap);
  for (int i = 0; i < taps->count; i++)
    job->tap[i] = (Real)taps->tap[i];
  job->groups = (taps->count + 2 * kOutputs - 2) / kOutputs;
}

template <typename Real>
bool run_plane(const PlaneWork *work, bool wide, const CfFirPlane *plan, Real *sums,
               cudaStream_t stream, CfStatus *status)
{
  const int row_blocks =
      div_up(work->width, kRowPixels) * div_up(work->readable_end - work->readable_first, kRowRows);
  const int column_blocks =
      div_up(work->width, kColumnPixels) * div_up(work->end - work->first, kColumnRows);
  Launch how = {};
  Job<Real> job;

  how.block = dim3(kThreads);
  how.stream = stream;
  job.work = *work;
  job.wide = wide;
  job.sums = sums;
  job.row_sum = (Real)plan->row.sum;
  set_taps(&job, &plan->row);
  how.grid = dim3((unsigned)(row_blocks * work->channels));
  if (!launch(how, "filtering rows", status, filter_rows<Real>, job))
    return false;
  set_taps(&job, &plan->column);
  how.grid = dim3((unsigned)column_blocks);
  return launch(how, "filtering columns", status, filter_columns<Real>, job);
}

template <typename Real>
bool run_planes(const Picture *picture, CfDevice *device, void *stream, CfStatus *status)
{
  size_t largest = 0;

  for (int p = 0; p < picture->planes; p++) {
    const PlaneWork *work = &picture->plane[p];
    const size_t samples =
        (size_t)work->width * (size_t)(work->readable_end - work->readable_first) * work->channels;
    largest = samples > largest ? samples : largest;
    if (picture->plan[p]->row.count > kMaxTaps || picture->plan[p]->column.count > kMaxTaps)
      return cf_fail(status, CF_ERROR_INVALID, "the filter has more than %d taps", kMaxTaps);
  }

  return cf_with_scratch(device, largest * sizeof(Real), stream, status, [&](uint8_t *sums) {
    bool good = true;

    for (int p = 0; good && p < picture->planes; p++)
      good = run_plane(&picture->plane[p], picture->sample_bytes == 2, picture->plan[p],
                       (Real *)sums, (cudaStream_t)stream, status);
    return good;
  });
}

} // namespace

bool two_pass_run(const Picture *picture, CfDevice *device, bool single, void *stream,
                  CfStatus *status)
{
  return single ? run_planes<float>(picture, device, stream, status)
                : run_planes<double>(picture, device, stream, status);
}

} // namespace cf::fir
