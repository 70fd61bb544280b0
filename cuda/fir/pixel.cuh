/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Border rows, sums of taps, and sums to samples: device functions that several methods share.
 */
#pragma once

#include "cuda/common/alpha.cuh"
#include "cuda/fir/types.cuh"

namespace cf::fir
{

/* The source row that stands for row `y`; -1 for the constant border. Rows beyond the halo are only
 * multiplied by the zeros that pad taps to whole groups, so the nearest readable row will do. */
__device__ inline int source_row(const PlaneWork &work, int y)
{
  const int folded = fold_index(work.border, y, work.height);

  return folded < 0 ? -1 : min(max(folded, work.readable_first), work.readable_end - 1);
}

/* Adds N consecutive samples to N consecutive outputs. `tap` are the taps of the samples in the
 * first output, `before` the N taps before these. */
template <typename Real, int N>
__device__ inline void accumulate(Real (&sum)[N], const Real (&sample)[N], const Real (&before)[N],
                                  const Real (&tap)[N])
{
#pragma unroll
  for (int i = 0; i < N; i++) {
#pragma unroll
    for (int o = 0; o < N; o++)
      sum[o] += sample[i] * (i >= o ? tap[i - o] : before[N + i - o]);
  }
}

/* Moves on to the next N taps. */
template <typename Real, int N>
__device__ inline void next_taps(Real (&before)[N], Real (&tap)[N], const Real *taps)
{
#pragma unroll
  for (int i = 0; i < N; i++) {
    before[i] = tap[i];
    tap[i] = taps[i];
  }
}

/* ChannelTransform of a sum. A single fma, so that all kernels round alike. */
template <typename Real>
__device__ inline Real apply_transform(const ChannelTransform &transform, Real sum)
{
  const Real scale = (Real)transform.scale, offset = (Real)transform.centre + (Real)transform.bias;

  return transform.absolute ? fma(fabs(scale), fabs(sum), offset) : fma(scale, sum, offset);
}

/* Unsharp masking: the sum to use instead of `mean`, the filtered one. `value` is the sample,
 * centred and premultiplied as samples are summed. */
template <typename Real>
__device__ inline Real add_difference(const PlaneWork &work, Real value, Real mean)
{
  const Real more = value - mean;

  return fabs(more) > (Real)work.threshold ? fma((Real)work.amount, more, value) : value;
}

/* A colour from the sum of premultiplied colours and the filtered alpha. Below 1/4, which is well
 * above rounding errors and below what rounds to 1, the pixel is transparent and gets the centre:
 * since alpha is summed less 255, transparent areas are 0 only within rounding errors. */
template <typename Real>
__device__ inline Real unpremultiply(const ChannelTransform &transform, Real sum, Real alpha)
{
  return alpha < (Real)0.25 ? (Real)transform.centre
                            : apply_transform(transform, sum * ((Real)1 / alpha_weight(alpha)));
}

/* Rounds half up, clamps, and shifts to the sample's bits. */
template <typename Real> __device__ inline uint32_t to_sample(const PlaneWork &work, Real value)
{
  const Real rounded = floor(value + (Real)0.5);
  const Real clamped = rounded > 0 ? (rounded < work.max_code ? rounded : (Real)work.max_code) : 0;

  return (uint32_t)clamped << work.shift;
}

} // namespace cf::fir
