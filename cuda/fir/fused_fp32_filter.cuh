/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Sums of the plain filter: across from the samples into the ring of rows, and down from there.
 */
#pragma once

#include "cuda/fir/fused_fp32.cuh"

/* Adds 8 samples to 8 sums that lie one sample apart; `tap` are the 8 taps of the first sum on
 * these samples and `before` the 8 in front of them. */
__device__ inline void cf_plain_accumulate(float (&sum)[kPlainOutputs],
                                           const float (&sample)[kPlainOutputs],
                                           const float (&before)[kPlainOutputs],
                                           const float (&tap)[kPlainOutputs])
{
#pragma unroll
  for (int i = 0; i < kPlainOutputs; i++) {
#pragma unroll
    for (int o = 0; o < kPlainOutputs; o++)
      sum[o] = fmaf(sample[i], i >= o ? tap[i - o] : before[kPlainOutputs + i - o], sum[o]);
  }
}

__device__ inline void cf_plain_next_taps(float (&before)[kPlainOutputs],
                                          float (&tap)[kPlainOutputs], const float *taps)
{
#pragma unroll
  for (int i = 0; i < kPlainOutputs; i++) {
    before[i] = tap[i];
    tap[i] = taps[i];
  }
}

/* A warp's task in both passes: one channel, 32 pixels, 8 rows. */
struct CfPlainTask {
  int channel, pixel, row;

  __device__ CfPlainTask(int index, int pixels)
  {
    const int across = pixels / 32;
    row = (index & 1) * 8;
    pixel = (index >> 1) % across * 32;
    channel = (index >> 1) / across;
  }
};

template <int C>
__device__ inline void cf_plain_filter_rows(const CfFirWork &work, const CfPlainLayout<C> &layout,
                                            const CfPlainStrip &strip, const float *taps,
                                            const float *input, int ring_row, float *ring)
{
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;

  for (int index = warp; index < C * 2 * CfPlainLayout<C>::kPixels / 32; index += kPlainWarps) {
    const CfPlainTask task(index, CfPlainLayout<C>::kPixels);
    const int row = task.row + (lane & 7), pixel = task.pixel + (lane >> 3) * kPlainOutputs;
    const float *samples = input + (task.channel * kPlainStep + row) * layout.input_stride + pixel;
    float sum[kPlainOutputs] = {}, before[kPlainOutputs], tap[kPlainOutputs] = {};

    if (work.tone[task.channel].use != CF_FIR_FILTER)
      continue;
    for (int group = 0; group < strip.row_groups; group++) {
      float sample[kPlainOutputs];
#pragma unroll
      for (int i = 0; i < kPlainOutputs; i++)
        sample[i] = samples[group * kPlainOutputs + i];
      cf_plain_next_taps(before, tap, taps + group * kPlainOutputs);
      cf_plain_accumulate(sum, sample, before, tap);
    }

    float *out = ring + (task.channel * layout.ring_rows + ring_row + row) * layout.kRingStride;
#pragma unroll
    for (int o = 0; o < kPlainOutputs; o++)
      out[pixel + o] = sum[o];
  }
}

/* Sums of the 8 rows of `task` at this lane's pixel. The rows start at `ring_row` of the ring. */
template <int C>
__device__ inline void cf_plain_filter_column(const CfPlainLayout<C> &layout,
                                              const CfPlainStrip &strip, const float *taps,
                                              const float *ring, const CfPlainTask &task,
                                              int ring_row, float (&sum)[kPlainOutputs])
{
  const int pixel = task.pixel + (threadIdx.x & 31);
  const float *column = ring + task.channel * layout.ring_rows * layout.kRingStride + pixel;
  float before[kPlainOutputs], tap[kPlainOutputs] = {};
  int row = ring_row + task.row;

  for (int group = 0; group < strip.column_groups; group++) {
    float sample[kPlainOutputs];
#pragma unroll
    for (int i = 0; i < kPlainOutputs; i++)
      sample[i] = column[(row + i) * layout.kRingStride];
    cf_plain_next_taps(before, tap, taps + group * kPlainOutputs);
    cf_plain_accumulate(sum, sample, before, tap);
    row += kPlainOutputs;
    row = row == layout.ring_rows ? 0 : row;
  }
}
