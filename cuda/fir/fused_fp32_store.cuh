/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The way out of the plain filter: sums to samples, and these to memory.
 */
#pragma once

#include "cuda/fir/fused_fp32_filter.cuh"

template <int C, typename Sample>
__device__ inline uint32_t cf_plain_source_sample(const CfFirWork &work, int x, int y, int channel)
{
  const Sample *row = (const Sample *)(work.source + (ptrdiff_t)y * work.source_stride);

  return row[(size_t)x * C + channel] >> work.shift << work.shift;
}

/* Without weights: each warp finishes its channel, and the samples meet in shared memory. */
template <int C, typename Sample>
__device__ inline void
cf_plain_finish_samples(const CfFirWork &work, const CfPlainLayout<C> &layout,
                        const CfPlainStrip &strip, const float *taps, const float *ring,
                        int ring_row, int x0, int y0, Sample *output)
{
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;

  for (int index = warp; index < C * 2 * CfPlainLayout<C>::kPixels / 32; index += kPlainWarps) {
    const CfPlainTask task(index, CfPlainLayout<C>::kPixels);
    const CfFirTone &tone = work.tone[task.channel];
    const int pixel = task.pixel + lane;
    float sum[kPlainOutputs] = {};

    if (tone.use == CF_FIR_FILTER)
      cf_plain_filter_column<C>(layout, strip, taps, ring, task, ring_row, sum);
#pragma unroll
    for (int o = 0; o < kPlainOutputs; o++) {
      const int row = task.row + o;
      uint32_t sample = 0;

      if (tone.use == CF_FIR_FILTER)
        sample = cf_to_sample(work, cf_apply_tone(tone, sum[o]));
      else if (tone.use == CF_FIR_COPY && x0 + pixel < work.width && y0 + row < work.end)
        sample = cf_plain_source_sample<C, Sample>(work, x0 + pixel, y0 + row, task.channel);
      output[(row * CfPlainLayout<C>::kPixels + pixel) * C + task.channel] = (Sample)sample;
    }
  }
}

template <int C, typename Sample>
__device__ inline void cf_plain_store_samples(const CfFirWork &work, int x0, int y0, int y1,
                                              const Sample *output)
{
  constexpr int kRowBytes = CfPlainLayout<C>::kPixels * C * (int)sizeof(Sample);
  constexpr int kPieces = kRowBytes / 16;
  const int first = x0 * C * (int)sizeof(Sample);
  const int valid = min(kRowBytes, work.width * C * (int)sizeof(Sample) - first);

  for (int index = threadIdx.x; index < kPlainStep * kPieces; index += kPlainThreads) {
    const int row = index / kPieces, at = index % kPieces * 16;
    const uint8_t *from = (const uint8_t *)output + row * kRowBytes + at;
    uint8_t *to = work.destination + (ptrdiff_t)(y0 + row) * work.destination_stride + first + at;

    if (y0 + row >= y1)
      continue;
    if (work.vector && at + 16 <= valid) {
      *(uint4 *)to = *(const uint4 *)from;
    } else {
      for (int i = 0; i < min(16, valid - at); i += (int)sizeof(Sample))
        *(Sample *)(to + i) = *(const Sample *)(from + i);
    }
  }
}

/* With weights: the sums of a pixel's channels meet in shared memory, planes of kPlainStep rows. */
template <int C>
__device__ inline void cf_plain_collect_sums(const CfFirWork &work, const CfPlainLayout<C> &layout,
                                             const CfPlainStrip &strip, const float *taps,
                                             const float *ring, int ring_row, float *output)
{
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;

  for (int index = warp; index < C * 2 * CfPlainLayout<C>::kPixels / 32; index += kPlainWarps) {
    const CfPlainTask task(index, CfPlainLayout<C>::kPixels);
    float sum[kPlainOutputs] = {};

    if (work.tone[task.channel].use != CF_FIR_FILTER)
      continue;
    cf_plain_filter_column<C>(layout, strip, taps, ring, task, ring_row, sum);
#pragma unroll
    for (int o = 0; o < kPlainOutputs; o++)
      output[(task.channel * kPlainStep + task.row + o) * CfPlainLayout<C>::kPixels + task.pixel +
             lane] = sum[o];
  }
}

template <int C, typename Sample>
__device__ inline void cf_plain_store_weighted(const CfFirWork &work, int x0, int y0, int y1,
                                               const float *output)
{
  constexpr int kPixels = CfPlainLayout<C>::kPixels;

  for (int index = threadIdx.x; index < kPlainStep * kPixels; index += kPlainThreads) {
    const int row = index / kPixels, x = x0 + index % kPixels, y = y0 + row;
    float sum[C], alpha = 0.0f;

    if (y >= y1 || x >= work.width)
      continue;
#pragma unroll
    for (int c = 0; c < C; c++) {
      sum[c] = output[c * kPlainStep * kPixels + index];
      if (c == work.alpha)
        alpha = work.tone[c].use == CF_FIR_FILTER
                    ? cf_apply_tone(work.tone[c], sum[c])
                    : (float)(cf_plain_source_sample<C, Sample>(work, x, y, c) >> work.shift);
    }

    Sample sample[C];
#pragma unroll
    for (int c = 0; c < C; c++) {
      const CfFirTone &tone = work.tone[c];
      float value;

      if (tone.use != CF_FIR_FILTER)
        value = (float)(cf_plain_source_sample<C, Sample>(work, x, y, c) >> work.shift);
      else if (c == work.alpha)
        value = alpha;
      else
        value = cf_unweigh(tone, sum[c], alpha);
      sample[c] = (Sample)cf_to_sample(work, value);
    }

    Sample *to =
        (Sample *)(work.destination + (ptrdiff_t)y * work.destination_stride) + (size_t)x * C;
    if (work.vector) {
      static_assert(C * sizeof(Sample) == 4, "a weighted pixel is one word");
      *(uint32_t *)to = sample[0] | sample[1] << 8 | sample[2] << 16 | (uint32_t)sample[3] << 24;
    } else {
#pragma unroll
      for (int c = 0; c < C; c++)
        to[c] = sample[c];
    }
  }
}
