/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Level 0 as the kernel of its terms has it in shared memory: a table of rotations, and of each
 * pixel the number of its row there. Where a row stands for several intensities, terms are sums and
 * by how much these grow from one to the next.
 */
#pragma once

#include "cuda/llf/mma_upsample.cuh"

namespace cf::llf
{

/* --- rotations --- */

/* Of luma and of 16 bits the table has rows for the high bits, at the middle of what the low ones
 * can be: each several times, in different banks. The low ones count to first order, for which sums
 * are made along with those of the terms. */
template <LutKind Kind>
constexpr int kLowNumberBits = Kind == LutKind::kRgbLuma ? 3
                               : Kind == LutKind::kU16   ? 8
                                                         : 0;
template <LutKind Kind>
constexpr int kNumberShift = Kind == LutKind::kRgbLuma ? LumaRow::kShift : 0;
template <LutKind Kind> constexpr bool kHasDerivative = kLowNumberBits<Kind> != 0;

template <LutKind Kind>
constexpr int
    kTableRows = (LutOf<Kind>::kEntries + (1 << kLowNumberBits<Kind>)-1) >> kLowNumberBits<Kind>;

/* The middle of what they can be. */
template <LutKind Kind>
constexpr float kMiddleNumber = 0.5f * (float)((1 << kLowNumberBits<Kind>)-1);

/* Row i of table c: the rotations of harmonics 4 c + 1 .. 4 c + 4. */
template <LutKind Kind, int Copies>
__device__ void fill_rotations(uint8_t *memory, const Pixels &pixels, const Series &series)
{
  constexpr int kEntries = kTableRows<Kind>;
  uint4 *const table = reinterpret_cast<uint4 *>(memory);

  for (int i = threadIdx.x; i < kEntries * kGroups; i += blockDim.x) {
    const int row = i % kEntries, group = i / kEntries;
    const float turns =
        series.turn *
        intensity_of_row<Kind>(pixels, (float)(row << kLowNumberBits<Kind>)+kMiddleNumber<Kind>);
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

/* Eight pixels in a row. */
template <LutKind Kind>
__device__ __forceinline__ void load_eight(typename LutOf<Kind>::Quad (&quads)[2],
                                           const Pixels &pixels, const PictureWords &picture, int x,
                                           int y)
{
  using Quad = typename LutOf<Kind>::Quad;
  const bool together = picture.aligned && x + 8 <= pixels.width;

#pragma unroll
  for (int i = 0; i < 2; i++) {
    if (together)
      quads[i] = reinterpret_cast<const Quad *>(picture.from + (ptrdiff_t)y * picture.stride +
                                                (uint32_t)x * (uint32_t)(sizeof(Quad) / 4))[i];
    else
      quads[i] = gather_quad<Kind>(pixels, picture, y,
                                   [&](int k) { return min(x + 4 * i + k, pixels.width - 1); });
  }
}

/* --- numbers of rows --- */

/* In shared memory, those of a lane's part of a strip, of 32 x 4 pixels, lie side by side; strips
 * side by side in different banks. */
template <LutKind Kind>
constexpr int kStripBytes = 128 * (int)sizeof(typename LutOf<Kind>::Sample) + 16;

/* Where a pixel has its place in a tile: bytes. */
template <LutKind Kind, int TileX> __device__ __forceinline__ int place_of_number(int x, int y)
{
  const int place = y % 4 * 32 + x % 4 * 8 + x % 32 / 4;

  return (y / 4 * (TileX / 32) + x / 32) * kStripBytes<Kind> +
         place * (int)sizeof(typename LutOf<Kind>::Sample);
}

/* Stores what is known of eight pixels in a row, the first of which has its place at `to`. */
template <LutKind Kind>
__device__ __forceinline__ void store_numbers(uint8_t *to, const Pixels &pixels,
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
      uint32_t numbers[4];

      picture.luma_row.shifted_rows_of<4>(words, numbers);
#pragma unroll
      for (int k = 0; k < 4; k++)
        pairs[k / 2][k % 2] = numbers[k];
    }
#pragma unroll
    for (int k = 0; k < 4; k++)
      *reinterpret_cast<uint32_t *>(to + 8 * k * sizeof(uint16_t)) =
          __byte_perm(pairs[0][k / 2], pairs[1][k / 2], k % 2 ? 0x7632 : 0x5410);
  }
}

/* A lane's part of a strip: of its eight blocks of 4 x 4 pixels, the row that it names for the
 * look-up. */
template <LutKind Kind, int Copies> struct LutIndices {
  /* Bits that do not count, and how much larger the steps of the others are than of bytes. */
  static constexpr int kLowBits = kLowNumberBits<Kind> + kNumberShift<Kind>;
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

/* --- terms and their derivatives --- */

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
