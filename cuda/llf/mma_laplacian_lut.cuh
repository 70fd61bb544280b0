/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Level 0 in the shared memory of the Laplacian kernel: a LUT of rotations, and the LUT index of
 * each pixel. Where a LUT row stands for several intensities, the kernel also
 * computes the derivative of the coefficient, and corrects it for the pixel's own intensity.
 */
#pragma once

#include "cuda/llf/mma_upsample.cuh"

namespace cf::llf
{

/* ---- Rotations ---- */

/* For RGB luma and for 16 bits the LUT has a row per value of an index's high bits, computed for
 * the middle of the low bits' range. The low bits count to first order, by the derivative.
 * kIndexShift is how far indices are shifted left in shared memory. */
template <LutKind Kind>
constexpr int kLowIndexBits = Kind == LutKind::kRgbLuma ? 3
                              : Kind == LutKind::kU16   ? 8
                                                        : 0;
template <LutKind Kind> constexpr int kIndexShift = Kind == LutKind::kRgbLuma ? LumaRow::kShift : 0;
template <LutKind Kind> constexpr bool kHasDerivative = kLowIndexBits<Kind> != 0;

/* The tiles of levels 2 and up: of little height, since small levels have few of them. */
using CoarseTile = Tile<16>;

/* Whether a CTA of levels 0 and 1 leaves room on its SM for one of levels 2 and up. With
 * derivatives it needs all registers. */
template <LutKind Kind> constexpr bool kLeavesRoom = !kHasDerivative<Kind>;

template <LutKind Kind>
constexpr int
    kTableRows = (LutOf<Kind>::kEntries + (1 << kLowIndexBits<Kind>)-1) >> kLowIndexBits<Kind>;

/* The middle of the low bits' range. */
template <LutKind Kind> constexpr float kMiddleIndex = 0.5f * (float)((1 << kLowIndexBits<Kind>)-1);

/* Fills the LUT, a table per group; the CTA must synchronise before it reads it. A row of table c
 * has the rotations, cos and -sin, of harmonics 4 c + 1..4 c + 4, and is stored Copies times in
 * succession, in different banks. */
template <LutKind Kind, int Copies>
__device__ void fill_rotations(uint8_t *memory, const Pixels &pixels, const Series &series)
{
  constexpr int kEntries = kTableRows<Kind>;
  uint4 *const table = reinterpret_cast<uint4 *>(memory);

  for (int i = threadIdx.x; i < kEntries * kGroups; i += blockDim.x) {
    const int row = i % kEntries, group = i / kEntries;
    const float turns =
        series.turn *
        intensity_of_row<Kind>(pixels, (float)(row << kLowIndexBits<Kind>)+kMiddleIndex<Kind>);
    Rotation rotation((float)(4 * group + 1) * turns, turns);
    uint32_t words[4];

#pragma unroll
    for (int k = 0; k < 4; k++) {
      words[k] = cf::pack_half2(rotation.cosine, -rotation.sine);
      rotation.advance();
    }
#pragma unroll
    for (int copy = 0; copy < Copies; copy++)
      table[i * Copies + (copy + threadIdx.x) % Copies] =
          make_uint4(words[0], words[1], words[2], words[3]);
  }
}

/* Loads eight adjacent pixels, with the right border replicated. */
template <LutKind Kind>
__device__ __forceinline__ void load_eight(typename LutOf<Kind>::Quad (&quads)[2],
                                           const Pixels &pixels, const PictureWords &picture, int x,
                                           int y)
{
  using Quad = typename LutOf<Kind>::Quad;
  const Quad *const from = reinterpret_cast<const Quad *>(
      picture.from + (ptrdiff_t)y * picture.stride + (uint32_t)x * (uint32_t)(sizeof(Quad) / 4));

  if (picture.aligned && x + 8 <= pixels.width) {
    quads[0] = from[0];
    quads[1] = from[1];
  } else {
#pragma unroll
    for (int i = 0; i < 2; i++)
      quads[i] = gather_quad<Kind>(pixels, picture, y,
                                   [&](int k) { return min(x + 4 * i + k, pixels.width - 1); });
  }
}

/* ---- LUT indices ---- */

/* Bytes of a strip's indices in shared memory. A strip is eight blocks of 4 x 4 pixels; the indices
 * of pixel (x, y) of all eight are adjacent, so that a lane gets them by one load. The padding puts
 * adjacent strips in different banks. */
template <LutKind Kind>
constexpr int kStripBytes = 128 * (int)sizeof(typename LutOf<Kind>::Sample) + 16;

/* The byte offset of the index of pixel (x, y) of a tile. */
template <LutKind Kind, int TileX> __device__ __forceinline__ int index_offset(int x, int y)
{
  const int place = y % 4 * 32 + x % 4 * 8 + x % 32 / 4;

  return (y / 4 * (TileX / 32) + x / 32) * kStripBytes<Kind> +
         place * (int)sizeof(typename LutOf<Kind>::Sample);
}

/* Stores the indices of eight adjacent pixels; `to` is the place of the first one's. */
template <LutKind Kind>
__device__ __forceinline__ void store_indices(uint8_t *to, const Pixels &pixels,
                                              const PictureWords &picture,
                                              const typename LutOf<Kind>::Quad (&quads)[2])
{
  if constexpr (Kind == LutKind::kU8) {
    const uint32_t first = __byte_perm(quads[0], quads[1], 0x5140);
    const uint32_t second = __byte_perm(quads[0], quads[1], 0x7362);
    uint16_t *const pairs = reinterpret_cast<uint16_t *>(to);

    pairs[0] = (uint16_t)first;
    pairs[4] = (uint16_t)(first >> 16);
    pairs[8] = (uint16_t)second;
    pairs[12] = (uint16_t)(second >> 16);
  } else {
    uint32_t pairs[2][2];

#pragma unroll
    for (int i = 0; i < 2; i++) {
      if constexpr (Kind == LutKind::kU10) {
        pairs[i][0] = u10_rows(quads[i].x, pixels.shift);
        pairs[i][1] = u10_rows(quads[i].y, pixels.shift);
      }
      if constexpr (Kind == LutKind::kU16) {
        pairs[i][0] = quads[i].x;
        pairs[i][1] = quads[i].y;
      }
    }
    if constexpr (Kind == LutKind::kRgbLuma) {
      const uint32_t words[8] = {quads[0].x, quads[0].y, quads[0].z, quads[0].w,
                                 quads[1].x, quads[1].y, quads[1].z, quads[1].w};
      uint32_t indices[4];

      picture.luma_row.shifted_rows_of<4>(words, indices);
#pragma unroll
      for (int k = 0; k < 4; k++)
        pairs[k / 2][k % 2] = indices[k];
    }
#pragma unroll
    for (int k = 0; k < 4; k++)
      *reinterpret_cast<uint32_t *>(to + 8 * k * sizeof(uint16_t)) =
          __byte_perm(pairs[0][k / 2], pairs[1][k / 2], k % 2 ? 0x7632 : 0x5410);
  }
}

/* The indices of pixel lane % 16 of each of a strip's eight blocks: the LUT rows whose addresses
 * the lane gives to ldmatrix. */
template <LutKind Kind, int Copies> struct LutIndices {
  /* A row's offset in its table is (index >> kLowBits) * kBytes: a step of kStep in the index is
   * kBytes, by a multiplication or a division. */
  static constexpr int kLowBits = kLowIndexBits<Kind> + kIndexShift<Kind>;
  static constexpr int kStep = 1 << kLowBits, kBytes = Copies * kGroupBytes;
  static constexpr int kFactor = kBytes > kStep ? kBytes / kStep : 1;
  static constexpr int kDivisor = kBytes < kStep ? kStep / kBytes : 1;
  static_assert(kFactor < 256, "a byte multiplies");

  uint4 words;

  __device__ __forceinline__ explicit LutIndices(const uint8_t *from)
      : words(*reinterpret_cast<const uint4 *>(from))
  {
    if constexpr (kLowBits > 0)
      words = make_uint4(high(words.x), high(words.y), high(words.z), high(words.w));
  }

  __device__ __forceinline__ static uint32_t high(uint32_t two)
  {
    return (two & (65536u - kStep) * 65537u) / kDivisor;
  }

  __device__ __forceinline__ uint32_t row_of(int j, uint32_t table) const
  {
    return __dp2a_lo(word(words, j / 2), (uint32_t)kFactor << 8 * (j % 2), table);
  }

  __device__ static int place(int lane)
  {
    return lane % 16 * 16;
  }
};

template <int Copies> struct LutIndices<LutKind::kU8, Copies> {
  static constexpr int kRowBytes = Copies * kGroupBytes;
  static_assert(kRowBytes < 256, "a byte multiplies");

  uint2 words;

  __device__ __forceinline__ explicit LutIndices(const uint8_t *from)
      : words(*reinterpret_cast<const uint2 *>(from))
  {
  }

  __device__ __forceinline__ uint32_t row_of(int j, uint32_t table) const
  {
    return __dp4a(j < 4 ? words.x : words.y, (uint32_t)kRowBytes << 8 * (j % 4), table);
  }

  __device__ static int place(int lane)
  {
    return lane % 16 * 8;
  }
};

/* ---- Coefficients and their derivatives ---- */

/* The matrix that sums over the harmonics. From a component pair (s, c) and its rotation (cos,
 * -sin) come four products: s cos, -s sin, c cos and -c sin. One column adds up the coefficient, s
 * cos - c sin, and the next its derivative, (-s sin - c cos) times the angular frequency.
 * word[n][c] is a lane's fragment for group c, with these columns as columns 2 n and 2 n + 1;
 * blocks 2 n and 2 n + 1 use it, each with an accumulator of its own. */
template <LutKind Kind> struct LutDerivative {
  uint32_t word[4][kGroups][2];

  /* `step` is the step of intensity that the derivative is for. */
  __device__ __forceinline__ LutDerivative(const HarmonicFrequencies &turn, float step, int lane)
  {
    if constexpr (kHasDerivative<Kind>) {
#pragma unroll
      for (int n = 0; n < 4; n++) {
#pragma unroll
        for (int c = 0; c < kGroups; c++) {
          const float radians = -turn.radians[c] * step;
          const bool is_derivative = lane / 4 % 2, used = lane / 8 == n;

          word[n][c][0] = used ? is_derivative ? cf::pack_half2(0.0f, radians) : 0x00003c00u : 0u;
          word[n][c][1] = used ? is_derivative ? cf::pack_half2(-radians, 0.0f) : 0x3c000000u : 0u;
          word[n][c][0] = keep_in_register(word[n][c][0]);
          word[n][c][1] = keep_in_register(word[n][c][1]);
        }
      }
    }
  }
};

/* A strip's coefficients, and their change for 1024 steps of the lowest bit. */
template <LutKind Kind> struct DerivativeSums {
  /* For even and odd blocks: coefficient and derivative of one pixel, and of that two rows below.
   */
  float sums[2][4] = {};

  /* Adds block j. */
  __device__ __forceinline__ void add(int j, const uint32_t *components, const uint32_t *rotation,
                                      const LutDerivative<Kind> &derivative)
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
      mma_f32(sums[j % 2], products, derivative.word[j / 2][c]);
    }
  }

  /* The strip's coefficients, corrected by the low bits. `indices` points to those of the lane's
   * first pair of pixels; its second is two rows below. */
  __device__ __forceinline__ void values(float (&sum)[4], const uint8_t *indices) const
  {
    constexpr int kBelow = 2 * 32 * (int)sizeof(uint16_t);
    constexpr float kOne = (float)(1 << (24 - 10 - kIndexShift<Kind>)),
                    kMiddle = kMiddleIndex<Kind>;
    constexpr uint32_t kMask = ((1 << kLowIndexBits<Kind>)-1 << kIndexShift<Kind>)*65537u;

#pragma unroll
    for (int k = 0; k < 2; k++) {
      /* Low bits, read as fp16, are denormals: the product is (low - middle) / 1024. */
      const uint32_t bits = *reinterpret_cast<const uint32_t *>(indices + k * kBelow) & kMask;
      const float2 off = __half22float2(
          __hfma2(as_half2(bits), __float2half2_rn(kOne), __float2half2_rn(-kMiddle / 1024.0f)));

      sum[2 * k] = fmaf(off.x, sums[0][2 * k + 1], sums[0][2 * k]);
      sum[2 * k + 1] = fmaf(off.y, sums[1][2 * k + 1], sums[1][2 * k]);
    }
  }
};

} // namespace cf::llf
