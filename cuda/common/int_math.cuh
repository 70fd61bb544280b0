/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Integer arithmetic for host and device, and integers in the bits of floats.
 */
#pragma once

#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>

namespace cf
{

/* Integers become floats and back without a conversion, of which GPUs make few per clock: the bits
 * kWholeBits + v are the float kWhole + v = 2^23 + v, for v from 0 to 2^23 - 1. */
constexpr uint32_t kWholeBits = 0x4b000000;
constexpr float kWhole = 8388608.0f;

/* value / divisor rounded up; value >= 0, divisor > 0. */
template <typename T> __host__ __device__ constexpr T div_up(T value, T divisor)
{
  return (value + divisor - 1) / divisor;
}

template <typename T> __host__ __device__ constexpr T round_up(T value, T multiple)
{
  return div_up(value, multiple) * multiple;
}

template <typename T> __host__ __device__ constexpr T smaller(T a, T b)
{
  return a < b ? a : b;
}

template <typename T> __host__ __device__ constexpr T larger(T a, T b)
{
  return a > b ? a : b;
}

template <typename T> __host__ __device__ constexpr T clamp(T value, T low, T high)
{
  return value < low ? low : value > high ? high : value;
}

/* The bytes of a part of a scratch block. Parts start at multiples of 256, aligned for any access.
 */
__host__ __device__ constexpr size_t scratch_bytes(size_t bytes)
{
  return round_up<size_t>(bytes, 256);
}

} // namespace cf
