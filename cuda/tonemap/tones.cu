/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The peak, updated from a frame's histogram, and the tables of tones.
 */
#include "cuda/tonemap/types.cuh"

namespace cf::tonemap
{
namespace
{

constexpr int kCoarse = CF_TONEMAP_CUT_BINS, kWidth = CF_TONEMAP_BINS / kCoarse;
constexpr int kTableThreads = 32; /* small CTAs on many SMs: fp64 is slow on most GPUs */

static_assert(kWidth == 32, "a warp adds up a coarse bin");

/* One CTA, a thread for each bin. Thread 0 updates the peak. */
__global__ void __launch_bounds__(CF_TONEMAP_BINS)
    follow_kernel(Peak *peak, CfTonemapParams params, uint32_t samples, CfTonemapPace pace,
                  bool fresh)
{
  __shared__ uint32_t histogram[CF_TONEMAP_BINS], sum[kCoarse];
  const int bin = (int)threadIdx.x;
  uint32_t count = peak->histogram[bin];

  peak->histogram[bin] = 0;
  histogram[bin] = count;
  for (int distance = 16; distance > 0; distance /= 2)
    count += __shfl_down_sync(~0u, count, distance);
  if (bin % kWidth == 0)
    sum[bin / kWidth] = count;
  __syncthreads();
  if (bin > 0)
    return;

  if (fresh)
    peak->memory.started = false;
  cf_tonemap_follow(&peak->memory, &params, histogram, sum, samples, pace);
  peak->nits = cf_tonemap_nits(peak->memory.peak);
}

/* Line `i`, through the values at its start and at that of the next line. */
__device__ Line line_of(int i, double here, double next)
{
  const double slope = (next - here) * (kToneLines / 65535.0);

  return {(float)(here - slope * i * (65535.0 / kToneLines)), (float)slope};
}

/* A thread for each entry of the tables. */
__global__ void __launch_bounds__(kTableThreads)
    tones_kernel(CfTonemapParams params, double nits, Peak *peak, Tables *tables)
{
  const int i = (int)blockIdx.x * kTableThreads + (int)threadIdx.x;
  const double v = i * (CF_TONEMAP_STOPS / kToneLines), next = v + CF_TONEMAP_STOPS / kToneLines;
  const CfTonemapCurve curve = cf_tonemap_curve(&params, nits > 0.0 ? nits : peak->nits);

  tables->gain[i] = line_of(i, cf_tonemap_gain(&curve, v), cf_tonemap_gain(&curve, next));
  tables->rest[i].room = line_of(i, cf_tonemap_room(&curve, v), cf_tonemap_room(&curve, next));
  tables->rest[i].saturation = line_of(i, params.saturation * cf_tonemap_saturation(&curve, v),
                                       params.saturation * cf_tonemap_saturation(&curve, next));
  if (i == 0)
    peak->most = (float)((curve.most - CF_TONEMAP_KNEE) / (1.0 - CF_TONEMAP_KNEE));
}

} // namespace

bool follow_peak(const Queue &queue, const CfTonemapParams &params, uint32_t samples,
                 double seconds, bool fresh, Peak *peak)
{
  Launch how = {};

  how.grid = dim3(1);
  how.block = dim3(CF_TONEMAP_BINS);
  how.stream = queue.stream;
  return launch(how, "tone mapping peak", queue.status, follow_kernel, peak, params, samples,
                cf_tonemap_pace(seconds), fresh);
}

bool make_tones(const Queue &queue, const CfTonemapParams &params, double nits, Peak *peak,
                Tables *tables)
{
  Launch how = {};

  how.grid = dim3(kToneLines / kTableThreads);
  how.block = dim3(kTableThreads);
  how.stream = queue.stream;
  return launch(how, "tone mapping tones", queue.status, tones_kernel, params, nits, peak, tables);
}

} // namespace cf::tonemap
