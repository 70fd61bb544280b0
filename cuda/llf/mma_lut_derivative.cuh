/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The terms of level 0 where a row of the table stands for several intensities: their sums, and by
 * how much these grow from one to the next.
 */
#pragma once

#include "cuda/llf/mma_lut_index.cuh"
#include "cuda/llf/mma_upsample.cuh"

namespace cf::llf
{

/* Of a component s, c and its rotation cos, -sin, s times the rotation and c times it: their term
 * s cos - c sin and its derivative -s sin - c cos are sums over these by two columns of a matrix.
 * A lane's part of those, of blocks 2 n and 2 n + 1 in columns 2 n and 2 n + 1. */
template <LutKind Kind> struct LutDerivative {
  uint32_t word[4][kGroups][2];

  /* `step` is that of the intensity for the lowest bit. */
  __device__ __forceinline__ LutDerivative(const HarmonicFrequencies &turn, float step, int lane)
  {
    if constexpr (kHasDerivative<Kind>) {
#pragma unroll
      for (int n = 0; n < 4; n++) {
#pragma unroll
        for (int c = 0; c < kGroups; c++) {
          const float radians = -turn.radians[c] * step;
          const bool slope = lane / 4 % 2, used = lane / 8 == n;

          word[n][c][0] = used ? slope ? cf::pack_half2(0.0f, radians) : 0x00003c00u : 0u;
          word[n][c][1] = used ? slope ? cf::pack_half2(-radians, 0.0f) : 0x3c000000u : 0u;
          word[n][c][0] = keep_in_register(word[n][c][0]);
          word[n][c][1] = keep_in_register(word[n][c][1]);
        }
      }
    }
  }
};

/* The sums of a strip's terms and, 1024 times as large, by how much a step of the lowest bit
 * changes them. */
template <LutKind Kind> struct DerivativeSums {
  float sums[2][4] = {}; /* of blocks 2 n and 2 n + 1: term, slope, and those two rows below */

  /* Of block j. */
  __device__ __forceinline__ void add(int j, const uint32_t *components, const uint32_t *rotation,
                                      const LutDerivative<Kind> &slopes)
  {
#pragma unroll
    for (int c = 0; c < kGroups; c++) {
      uint32_t products[4];

#pragma unroll
      for (int k = 0; k < 2; k++) {
        const __half2 pair = as_half2(components[2 * c + k]);
        const __half2 turned = as_half2(rotation[2 * c + k]);

        products[k] = as_bits(__hmul2(__low2half2(pair), turned));
        products[2 + k] = as_bits(__hmul2(__high2half2(pair), turned));
      }
      mma_f32(sums[j % 2], products, slopes.word[j / 2][c]);
    }
  }

  /* The strip's values. `numbers` are a lane's pair of pixels, and the one two rows below. */
  __device__ __forceinline__ void values(float (&sum)[4], const uint8_t *numbers) const
  {
    constexpr int kBelow = 2 * 32 * (int)sizeof(uint16_t);
    constexpr float kOne = (float)(1 << (24 - 10 - kNumberShift<Kind>)),
                    kMiddle = kMiddleNumber<Kind>;
    constexpr uint32_t kMask = ((1 << kLowNumberBits<Kind>)-1 << kNumberShift<Kind>)*65537u;

#pragma unroll
    for (int k = 0; k < 2; k++) {
      /* Low bits of halves are denormals. */
      const uint32_t bits = *reinterpret_cast<const uint32_t *>(numbers + k * kBelow) & kMask;
      const float2 off = __half22float2(
          __hfma2(as_half2(bits), __float2half2_rn(kOne), __float2half2_rn(-kMiddle / 1024.0f)));

      sum[2 * k] = fmaf(off.x, sums[0][2 * k + 1], sums[0][2 * k]);
      sum[2 * k + 1] = fmaf(off.y, sums[1][2 * k + 1], sums[1][2 * k]);
    }
  }
};

} // namespace cf::llf
