/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The way out of the tensor filter: sums to code values, and these to memory.
 */
#pragma once

#include "cuda/fir/mma_types.cuh"

/* Two fragments of a product, rows 0..7 and rows 8..15: a thread has [0] and [1] of its first pixel
 * in two rows that follow each other, [2] and [3] of its second. */
typedef float CfTensorSums[2][4];

/* A value in units of 255, from 0 to 1, as code value in the low byte, and 255 in the next:
 * 12582912 is 1.5 * 2^23, whose unit in the last place is 1. */
__device__ inline uint32_t cf_tensor_round(float value)
{
  return __float_as_uint(fmaf(value, 255.0f, 12582912.0f + 0xff00));
}

/* The code value of an opaque result in the second byte, and the highest bit set. */
template <bool Bounded>
__device__ inline uint32_t cf_tensor_code(const CfTensorStrip &strip, int channel, float sum)
{
  if (Bounded)
    return __float_as_uint(fmaf(sum, strip.code_factor[channel], strip.code_addend[channel]));
  return __float_as_uint(fmaf(cf::fma_saturate(sum, strip.factor[channel], strip.addend[channel]),
                              -255.0f, -kTensorCodes));
}

/* The sums of `absolute` channels to magnitudes. */
template <int Channels>
__device__ inline void cf_tensor_take_magnitudes(const CfTensorStrip &strip,
                                                 CfTensorSums (&sums)[Channels])
{
#pragma unroll
  for (int c = 0; c < Channels; c++) {
    if (strip.absolute >> c & 1) {
#pragma unroll
      for (int i = 0; i < 8; i++) {
        float &sum = sums[c][i / 4][i % 4];
        sum = fabsf(fmaf(sum, strip.inner_factor[c], strip.inner_addend[c]));
      }
    }
  }
}

template <bool Bounded, int Channels>
__device__ inline void cf_tensor_codes_of(const CfTensorStrip &strip,
                                          const CfTensorSums (&sums)[Channels],
                                          uint32_t (&codes)[Channels][2][4])
{
#pragma unroll
  for (int c = 0; c < Channels; c++) {
#pragma unroll
    for (int i = 0; i < 8; i++)
      codes[c][i / 4][i % 4] = cf_tensor_code<Bounded>(strip, c, sums[c][i / 4][i % 4]);
  }
}

/* Opaque results as cf_tensor_code has them. */
template <int Channels>
__device__ inline void cf_tensor_take_codes(const CfTensorStrip &strip,
                                            CfTensorSums (&sums)[Channels],
                                            uint32_t (&codes)[Channels][2][4])
{
  if (strip.bounded) {
    cf_tensor_codes_of<true>(strip, sums, codes);
  } else {
    if (strip.absolute)
      cf_tensor_take_magnitudes(strip, sums);
    cf_tensor_codes_of<false>(strip, sums, codes);
  }
}

/* The strip with its code factors in registers: else they are loaded, and waited for, each time. */
template <int Channels>
__device__ inline CfTensorStrip cf_tensor_hold_factors(const CfTensorStrip &strip)
{
  CfTensorStrip held = strip;
  int bounded = strip.bounded;

  asm volatile("" : "+r"(bounded));
  held.bounded = bounded;
#pragma unroll
  for (int c = 0; c < Channels; c++)
    asm volatile("" : "+f"(held.code_factor[c]), "+f"(held.code_addend[c]));
  return held;
}

/* The second bytes of four words. */
__device__ inline uint32_t cf_pack_bytes(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
  return __byte_perm(__byte_perm(a, b, 0x0051), __byte_perm(c, d, 0x0051), 0x5410);
}

/* Where a warp stores: 16 rows from y0 on, from pixel x0 on. `inside`: all of them are wanted. */
struct CfTensorTarget {
  int x0, y0, end;
  bool inside;
};

/* Lane q of each four neighbours ends with the words that these had in place q. */
__device__ inline void cf_transpose(uint32_t (&w)[4], int q)
{
  uint32_t a = q & 1 ? w[0] : w[1], b = q & 1 ? w[2] : w[3];

  a = __shfl_xor_sync(~0u, a, 1);
  b = __shfl_xor_sync(~0u, b, 1);
  w[0] = q & 1 ? a : w[0];
  w[1] = q & 1 ? w[1] : a;
  w[2] = q & 1 ? b : w[2];
  w[3] = q & 1 ? w[3] : b;
  a = q & 2 ? w[0] : w[2];
  b = q & 2 ? w[1] : w[3];
  a = __shfl_xor_sync(~0u, a, 2);
  b = __shfl_xor_sync(~0u, b, 2);
  w[0] = q & 2 ? a : w[0];
  w[2] = q & 2 ? w[2] : a;
  w[1] = q & 2 ? b : w[1];
  w[3] = q & 2 ? w[3] : b;
}

/* ---- one channel: 64 pixels of a warp ---- */

/* Codes of a block of 16 pixels, four neighbours a word: rows 0..7 and 8..15. */
__device__ inline void cf_tensor_gray_codes(const CfTensorStrip &strip, CfTensorSums (&sums)[1],
                                            uint32_t &upper, uint32_t &lower)
{
  uint32_t codes[1][2][4], words[2];

  cf_tensor_take_codes(strip, sums, codes);
#pragma unroll
  for (int h = 0; h < 2; h++) {
    const uint32_t(&code)[4] = codes[0][h];
    words[h] = cf::movmatrix_trans(cf_pack_bytes(code[0], code[2], code[1], code[3]));
  }
  upper = words[0];
  lower = words[1];
}

template <int Blocks>
__device__ inline void cf_tensor_store_gray(const CfFirWork &work, uint32_t (&codes)[2][Blocks],
                                            const CfTensorTarget &target)
{
  const int lane = threadIdx.x & 31, g = lane >> 2, q = lane & 3;
  const int x = target.x0 + (Blocks == 4 ? q * 16 : (q & 1) * 16 + (q >> 1) * 8);

#pragma unroll
  for (int h = 0; h < 2; h++) {
    const int y = target.y0 + g + 8 * h;
    uint8_t *to = work.destination + (ptrdiff_t)y * work.destination_stride + x;
    uint32_t(&words)[Blocks] = codes[h];

    /* To 8 or 16 neighbours. */
    if constexpr (Blocks == 4) {
      cf_transpose(words, q);
    } else {
      const uint32_t other = __shfl_xor_sync(~0u, q & 1 ? words[0] : words[1], 1);
      words[0] = q & 1 ? other : words[0];
      words[1] = q & 1 ? words[1] : other;
    }
    if (target.inside) {
      if constexpr (Blocks == 4)
        *(uint4 *)to = make_uint4(words[0], words[1], words[2], words[3]);
      else
        *(uint2 *)to = make_uint2(words[0], words[1]);
    } else if (y >= work.first && y < target.end) {
#pragma unroll
      for (int i = 0; i < 4 * Blocks; i++) {
        if (x + i < work.width)
          to[i] = (uint8_t)(words[i / 4] >> 8 * (i % 4));
      }
    }
  }
}

/* ---- two channels ---- */

__device__ inline void cf_tensor_store_pair(const CfFirWork &work, const CfTensorStrip &strip,
                                            CfTensorSums (&sums)[2], const CfTensorTarget &target)
{
  const int lane = threadIdx.x & 31, g = lane >> 2, q = lane & 3;
  const int x = target.x0 + 2 * g;
  uint8_t *to = work.destination + (ptrdiff_t)(target.y0 + 2 * q) * work.destination_stride + x * 2;

  uint32_t codes[2][2][4];

  cf_tensor_take_codes(strip, sums, codes);
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const int h = i >> 1, e = i & 1, y = target.y0 + 2 * q + 8 * h + e;
    uint8_t *row = to + (8 * h + e) * work.destination_stride;
    const uint32_t word =
        cf_pack_bytes(codes[0][h][e], codes[1][h][e], codes[0][h][2 + e], codes[1][h][2 + e]);

    if (target.inside) {
      *(uint32_t *)row = word;
    } else if (y >= work.first && y < target.end) {
#pragma unroll
      for (int b = 0; b < 4; b++) {
        if (x * 2 + b < work.width * 2)
          row[b] = (uint8_t)(word >> 8 * b);
      }
    }
  }
}

/* ---- four bytes ---- */

/* a b c and a fourth, which comes first where the colours do not; low bytes of each. */
__device__ inline uint32_t cf_tensor_pixel(uint32_t a, uint32_t b, uint32_t c, uint32_t fourth,
                                           int first_colour)
{
  const uint32_t ab = __byte_perm(a, b, 0x0040), cd = __byte_perm(c, fourth, 0x0040);

  return first_colour ? __byte_perm(ab, cd, 0x4105) : __byte_perm(ab, cd, 0x5410);
}

/* a b c 255, or 255 a b c, of codes as cf_tensor_code has them: permutations repeat the highest bit
 * of bytes whose digit has 8 added. */
__device__ inline uint32_t cf_tensor_opaque_pixel(uint32_t a, uint32_t b, uint32_t c,
                                                  int first_colour)
{
  const uint32_t low = first_colour ? 0x051b : 0x0051, high = first_colour ? 0x5210 : 0xf510;

  return cf::permute_bytes(cf::permute_bytes(a, b, low), c, high);
}

/* Where alpha' rounds to one neighbour here and to the other on the CPU, the colour must not do so
 * too: codes (c, a) and (c + 1, a + 1) are (c + a + 1) / 255 apart premultiplied, but (c, a + 1) is
 * within 1 of all four. So where alpha' may round either way, colours that may too go the way that
 * alpha does not, unless c + a is less than 255 and cannot be more apart than 1. */
struct CfTensorOpacity {
  float alpha, inverse;
  float share; /* of the colours' addends */
  float code;
  float nudge; /* for colours, in units of 255 */

  /* `sum` is that of alpha. */
  __device__ CfTensorOpacity(const CfTensorWeights &weights, float sum, float alpha) : alpha(alpha)
  {
    code = rintf(alpha + weights.tie);
    inverse = cf::reciprocal_approx(alpha);
    share = fmaf(sum * inverse, weights.weight_factor, weights.share);

    const float above = alpha - code;
    const float most = alpha < kTensorFaint ? weights.faint_error : weights.error;
    nudge = fabsf(above) > weights.sure ? copysignf(most, above) : 0.0f;
  }

  /* Where alpha is not filtered, others than opaque pixels may have this sum, but then the same
   * colours too. */
  __device__ bool is_opaque(const CfTensorWeights &weights, float sum) const
  {
    return fabsf(sum - weights.opaque) < weights.tolerance && alpha > 254.0f;
  }
};

__device__ inline uint32_t cf_tensor_weighted_code(const CfTensorStrip &strip,
                                                   const CfTensorWeights &weights, int channel,
                                                   float sum, const CfTensorOpacity &opacity)
{
  const float weighed = fmaf(sum * opacity.inverse, strip.inner_factor[channel],
                             weights.addend[channel] * opacity.share);
  /* Where alpha' rounds to 0, as it does up to 1/2, the CPU may find 1. */
  const float none = weights.centre[channel] * (1.0f / 255.0f);
  float value =
      (strip.absolute >> channel & 1 ? fabsf(weighed) : weighed) + weights.offset[channel];

  if (fmaf(value + fabsf(opacity.nudge), 255.0f, opacity.alpha) > 250.0f)
    value += opacity.nudge;
  return cf_tensor_round(__saturatef(opacity.alpha < 0.25f ? none : value));
}

/* The code in the low byte of a pixel's alpha, as the source has it. */
__device__ inline uint32_t cf_tensor_source_alpha(const CfFirWork &work, int first_colour, int x,
                                                  int y)
{
  return x < work.width && y >= work.first && y < work.end
             ? work.source[(ptrdiff_t)y * work.source_stride + x * 4 + (first_colour ? 0 : 3)]
             : 0;
}

__device__ inline uint32_t cf_tensor_weighted_pixel(const CfTensorStrip &strip,
                                                    const CfTensorJob &job, float sum_a,
                                                    float sum_b, float sum_c,
                                                    const CfTensorOpacity &opacity)
{
  const CfTensorWeights &weights = job.weights;

  return cf_tensor_pixel(cf_tensor_weighted_code(strip, weights, 0, sum_a, opacity),
                         cf_tensor_weighted_code(strip, weights, 1, sum_b, opacity),
                         cf_tensor_weighted_code(strip, weights, 2, sum_c, opacity),
                         cf_tensor_round(__saturatef(opacity.code * (1.0f / 255.0f))),
                         job.first_colour);
}

/* Of weighted pixels, `AtOnce` are made before it is asked whether one is opaque: the more, the
 * less they wait for each other, and the more registers they take. */
template <bool Weighted, int AtOnce>
__device__ inline void cf_tensor_store_colours(const CfFirWork &work, const CfTensorStrip &strip,
                                               const CfTensorJob &job, CfTensorSums (&sums)[3],
                                               const CfTensorSums &alpha_sums,
                                               const CfTensorTarget &target)
{
  const int lane = threadIdx.x & 31, g = lane >> 2, q = lane & 3;
  const int x = target.x0 + 2 * g, y = target.y0 + 2 * q;
  const ptrdiff_t stride = work.destination_stride;
  uint8_t *to = work.destination + (ptrdiff_t)y * stride + x * 4;
  uint32_t pixel[4][2];

  if constexpr (Weighted) {
#pragma unroll
    for (int first = 0; first < 8; first += AtOnce) {
      unsigned opaque = 0; /* bits of pixels */

#pragma unroll
      for (int i = first; i < first + AtOnce; i++) {
        const int h = i >> 2, e = i >> 1 & 1, p = i & 1, of = 2 * p + e;
        const CfTensorOpacity opacity(
            job.weights, alpha_sums[h][of],
            job.weights.filtered
                ? alpha_sums[h][of] * job.weights.factor
                : (float)cf_tensor_source_alpha(work, job.first_colour, x + p, y + 8 * h + e));

        pixel[i >> 1][p] = cf_tensor_weighted_pixel(strip, job, sums[0][h][of], sums[1][h][of],
                                                    sums[2][h][of], opacity);
        opaque |= (unsigned)opacity.is_opaque(job.weights, alpha_sums[h][of]) << i;
      }
#pragma unroll
      for (int i = first; opaque && i < first + AtOnce; i++) {
        const int h = i >> 2, e = i >> 1 & 1, p = i & 1, of = 2 * p + e;
        CfTensorSums s[3] = {{{sums[0][h][of]}}, {{sums[1][h][of]}}, {{sums[2][h][of]}}};
        uint32_t codes[3][2][4];

        if (opaque >> i & 1) {
          cf_tensor_take_codes(strip, s, codes);
          pixel[i >> 1][p] = cf_tensor_opaque_pixel(codes[0][0][0], codes[1][0][0], codes[2][0][0],
                                                    job.first_colour);
        }
      }
    }
  } else {
    uint32_t codes[3][2][4];

    cf_tensor_take_codes(strip, sums, codes);
#pragma unroll
    for (int i = 0; i < 8; i++) {
      const int h = i >> 2, e = i >> 1 & 1, p = i & 1, of = 2 * p + e;
      pixel[i >> 1][p] = cf_tensor_opaque_pixel(codes[0][h][of], codes[1][h][of], codes[2][h][of],
                                                job.first_colour);
    }
  }
  if (!Weighted && job.weights.copied) {
#pragma unroll
    for (int i = 0; i < 8; i++)
      pixel[i >> 1][i & 1] = __byte_perm(pixel[i >> 1][i & 1],
                                         cf_tensor_source_alpha(work, job.first_colour, x + (i & 1),
                                                                y + (i >> 2) * 8 + (i >> 1 & 1)),
                                         job.first_colour ? 0x3214 : 0x4210);
  }
  if (target.inside) {
    *(uint2 *)to = make_uint2(pixel[0][0], pixel[0][1]);
    *(uint2 *)(to + stride) = make_uint2(pixel[1][0], pixel[1][1]);
    *(uint2 *)(to + 8 * stride) = make_uint2(pixel[2][0], pixel[2][1]);
    *(uint2 *)(to + 9 * stride) = make_uint2(pixel[3][0], pixel[3][1]);
    return;
  }
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const int row = (i >> 1) * 8 + (i & 1);
    if (y + row >= work.first && y + row < target.end) {
      if (x < work.width)
        *(uint32_t *)(to + row * stride) = pixel[i][0];
      if (x + 1 < work.width)
        *(uint32_t *)(to + row * stride + 4) = pixel[i][1];
    }
  }
}
