/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The remapping curve r of the local Laplacian filter on the device.
 */
#pragma once

#include "cuda/common/ptx_math.cuh"
#include "cuda/llf/types.cuh"

namespace cf::llf
{

/* r(|d|) for magnitude = |d| >= 0; r(0) = 0. The blend's smooth step in terms of u = `lack`, which
 * is 1 up to the noise floor and 0 from its double on, gives detail the share (1 - u^2)^2. */
__device__ __forceinline__ float remap_magnitude(const Curve &curve, float magnitude)
{
  const float detail = exp2_approx(fmaf(curve.alpha, log2_approx(magnitude), curve.detail_gain));
  const float lack = __saturatef(fmaf(curve.noise_slope, magnitude, curve.noise_offset));
  const float root = fmaf(lack, lack, -1.0f);
  const float blended = fmaf(root, root * (detail - magnitude), magnitude);
  const float tone = fmaf(curve.beta, magnitude, curve.tone_offset);

  return magnitude <= curve.sigma ? blended : tone;
}

/* r (I - g) - (1 + linear) (I - g) about sampled intensity g, in stored units (Samples::units); 0
 * beyond the batch's last sample. */
__device__ __forceinline__ float sample_delta(const Samples &samples, int sample, float intensity)
{
  const float center = (float)(samples.first + sample) / (float)(samples.levels - 1);
  const float d = intensity - center;

  if (sample >= samples.count)
    return 0.0f;
  return (copysignf(remap_magnitude(samples.curve, fabsf(d)), d) - (1.0f + samples.linear) * d) *
         samples.units;
}

} // namespace cf::llf
