/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The separable filter of all formats, taps and GPUs, in two launches a plane: rows into an
 * intermediate picture and columns out of it, in single precision, or in double for gains that need
 * it.
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

/* The Gaussian of sigma 250 has 2001; 2048 doubles and the work fit kernel parameters. */
constexpr int kMaxTaps = 2048;

/* Outputs of a thread along the axis of its filter, so that a sample serves as many products; taps
 * are followed by zeros, since the outputs together read more samples than one does. */
constexpr int kRowOutputs = 8, kColumnOutputs = 4, kZeros = 8;

constexpr int kRowPixels = 256, kRowRows = 8;    /* outputs of a CTA, row pass */
constexpr int kChunk = 128;                      /* samples that follow, between two loads */
constexpr int kStride = kRowPixels + kChunk + 1; /* 1 modulo 32: free of bank conflicts */

constexpr int kColumnPixels = 32 * 4, kColumnRows = kThreads / 32 * kColumnOutputs;

template <typename Real> struct Job {
  PlaneWork work;
  bool wide;  /* samples of two bytes */
  Real *sums; /* [channel][y][x], of the readable rows */
  int pitch;  /* of a row of sums, a multiple of kRowOutputs */
  int taps;
  Real row_sum; /* of the row filter's taps */
  Real tap[kMaxTaps + kZeros];
};

template <typename Real> struct alignas(16) Four {
  Real value[4];
};

/* The next tap becomes the first output's, and each output's the next one's. */
template <int Outputs, typename Real>
__device__ inline void shift_taps(Real (&tap)[Outputs], Real next)
{
#pragma unroll
  for (int o = Outputs - 1; o > 0; o--)
    tap[o] = tap[o - 1];
  tap[0] = next;
}

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

/* A pixel of any format is at most four bytes. */
__device__ inline void store_pixel(const PlaneWork &work, bool wide, int x, int y, uint32_t pixel)
{
  const int bytes = work.channels * (wide ? 2 : 1);
  uint8_t *to = work.destination + (ptrdiff_t)y * work.destination_stride + (size_t)x * bytes;

  if (bytes == 4 && work.vector_aligned) {
    *(uint32_t *)to = pixel;
  } else if (wide) {
    for (int c = 0; c < work.channels; c++)
      ((uint16_t *)to)[c] = (uint16_t)(pixel >> 16 * c);
  } else {
    for (int c = 0; c < bytes; c++)
      to[c] = (uint8_t)(pixel >> 8 * c);
  }
}

/* A CTA filters 8 rows by 256 pixels of one channel; a warp 8 rows by 4 groups of 8 pixels. */
template <typename Real>
__global__ void __launch_bounds__(kThreads) filter_rows(const __grid_constant__ Job<Real> job)
{
  __shared__ Real input[kRowRows * kStride];
  const PlaneWork &work = job.work;
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int across = div_up(work.width, kRowPixels);
  const int readable = work.readable_end - work.readable_first;
  const int down = div_up(readable, kRowRows);
  const int channel = (int)blockIdx.x / (across * down);
  const int index = (int)blockIdx.x - channel * (across * down);
  const int x0 = index % across * kRowPixels, y0 = index / across * kRowRows;
  const int row = lane & 7, pixel = warp * 32 + (lane >> 3) * kRowOutputs;
  const int samples = job.taps + kRowOutputs - 1; /* of a thread */
  Real sum[kRowOutputs] = {}, tap[kRowOutputs] = {};

  if (work.transform[channel].action != kFilter)
    return;

  for (int first = 0; first < samples; first += kChunk) {
    const int left = x0 - work.row_anchor + first, count = min(kChunk, samples - first);
    const int y = work.readable_first + min(y0 + warp, readable - 1);

    __syncthreads();
    for (int x = lane; x < kRowPixels + count; x += 32)
      input[warp * kStride + x] = weighted_value<Real>(
          work, job.wide, fold_index(work.border, left + x, work.width), y, channel);
    __syncthreads();
#pragma unroll 8
    for (int i = 0; i < count; i++) {
      const Real sample = input[row * kStride + pixel + i];

      shift_taps(tap, job.tap[first + i]);
#pragma unroll
      for (int o = 0; o < kRowOutputs; o++)
        sum[o] += tap[o] * sample;
    }
  }

  if (y0 + row >= readable || x0 + pixel >= work.width)
    return;
  Four<Real> *out =
      (Four<Real> *)(job.sums + ((size_t)channel * readable + y0 + row) * job.pitch + x0 + pixel);
#pragma unroll
  for (int o = 0; o < kRowOutputs; o += 4)
    out[o / 4] = {{sum[o], sum[o + 1], sum[o + 2], sum[o + 3]}};
}

/* [row][pixel]; pixels from x on, rows from y0 on. */
template <typename Real>
__device__ inline void filter_column(const Job<Real> &job, int x, int y0, int channel,
                                     Real (&sum)[kColumnOutputs][4])
{
  const PlaneWork &work = job.work;
  const int readable = work.readable_end - work.readable_first, top = y0 - work.column_anchor;
  const Real *column = job.sums + (size_t)channel * readable * job.pitch + x;
  const Real outside = (Real)work.transform[channel].border * job.row_sum;
  Real tap[kColumnOutputs] = {};

#pragma unroll 4
  for (int i = 0; i < job.taps + kColumnOutputs - 1; i++) {
    const int y = source_row(work, top + i);
    Four<Real> four = {{outside, outside, outside, outside}};

    if (y >= 0)
      four = *(const Four<Real> *)(column + (size_t)(y - work.readable_first) * job.pitch);
    shift_taps(tap, job.tap[i]);
#pragma unroll
    for (int o = 0; o < kColumnOutputs; o++) {
#pragma unroll
      for (int j = 0; j < 4; j++)
        sum[o][j] += tap[o] * four.value[j];
    }
  }
}

/* The result of a filtered sum, or what else the channel has. */
template <typename Real>
__device__ inline Real value_of(const Job<Real> &job, int x, int y, int channel, Real sum,
                                Real alpha)
{
  const PlaneWork &work = job.work;
  const ChannelTransform &transform = work.transform[channel];

  if (transform.action != kFilter)
    return source_code(work, job.wide, x, y, channel);
  if (work.unsharp)
    sum = add_difference(work, weighted_value<Real>(work, job.wide, x, y, channel), sum);
  return work.alpha < 0 || channel == work.alpha ? apply_transform(transform, sum)
                                                 : unpremultiply(transform, sum, alpha);
}

/* A thread filters 4 rows of 4 pixels, alpha first, which divides the other channels. */
template <typename Real>
__global__ void __launch_bounds__(kThreads, 2) filter_columns(const __grid_constant__ Job<Real> job)
{
  const PlaneWork &work = job.work;
  const int across = div_up(work.width, kColumnPixels);
  const int x0 = (int)(blockIdx.x % across) * kColumnPixels + (threadIdx.x & 31) * 4;
  const int y0 =
      work.first + (int)(blockIdx.x / across) * kColumnRows + (threadIdx.x >> 5) * kColumnOutputs;
  Real alpha[kColumnOutputs][4] = {};
  uint32_t pixel[kColumnOutputs][4] = {};

  if (x0 >= work.width || y0 >= work.end)
    return;
  for (int i = 0; i < work.channels; i++) {
    const int channel = work.alpha < 0 ? i : (work.alpha + i) % work.channels;
    Real sum[kColumnOutputs][4] = {};

    if (work.transform[channel].action == kFilter)
      filter_column(job, x0, y0, channel, sum);
#pragma unroll
    for (int k = 0; k < 4 * kColumnOutputs; k++) {
      const int o = k / 4, j = k % 4;

      if (y0 + o >= work.end || x0 + j >= work.width)
        continue;
      const Real value = value_of(job, x0 + j, y0 + o, channel, sum[o][j], alpha[o][j]);
      if (channel == work.alpha)
        alpha[o][j] = value;
      pixel[o][j] |= to_sample(work, value) << channel * (job.wide ? 16 : 8);
    }
  }
#pragma unroll
  for (int k = 0; k < 4 * kColumnOutputs; k++) {
    if (y0 + k / 4 < work.end && x0 + k % 4 < work.width)
      store_pixel(work, job.wide, x0 + k % 4, y0 + k / 4, pixel[k / 4][k % 4]);
  }
}

template <typename Real> void set_taps(Job<Real> *job, const CfTaps *taps)
{
  memset(job->tap, 0, sizeof job->tap);
  for (int i = 0; i < taps->count; i++)
    job->tap[i] = (Real)taps->tap[i];
  job->taps = taps->count;
}

int pitch_of(const PlaneWork *work)
{
  return round_up(work->width, kRowOutputs);
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
  job.pitch = pitch_of(work);
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
    const size_t samples = (size_t)pitch_of(work) *
                           (size_t)(work->readable_end - work->readable_first) * work->channels;
    largest = samples > largest ? samples : largest;
    if (picture->plan[p]->row.count > kMaxTaps || picture->plan[p]->column.count > kMaxTaps)
      return cf_fail(status, CF_ERROR_INVALID, "the filter has more than %d taps", kMaxTaps);
  }

  Real *sums = (Real *)cf_scratch_take(device, largest * sizeof(Real), stream, status);
  if (!sums)
    return false;
  bool good = true;
  for (int p = 0; good && p < picture->planes; p++)
    good = run_plane(&picture->plane[p], picture->sample_bytes == 2, picture->plan[p], sums,
                     (cudaStream_t)stream, status);
  return cf_scratch_give(device, sums, stream, good ? status : nullptr) && good;
}

} // namespace

bool two_pass_run(const Picture *picture, CfDevice *device, bool single, void *stream,
                  CfStatus *status)
{
  return single ? run_planes<float>(picture, device, stream, status)
                : run_planes<double>(picture, device, stream, status);
}

} // namespace cf::fir
