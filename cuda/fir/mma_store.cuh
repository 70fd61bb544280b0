/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Sums to codes, and codes to memory, for the kernels on tensor cores.
 */
#pragma once

#include "cuda/common/alpha.cuh"
#include "cuda/fir/mma_filter.cuh"

namespace cf::fir
{

/* The bits of -(kCodeBias + result): the code is in bits 8 and up, and the highest bit is set. */
template <int MaxCode, bool Bounded>
__device__ inline uint32_t opaque_code(const MmaStrips &strip, int channel, float sum)
{
  if (Bounded)
    return __float_as_uint(fmaf(sum, strip.code_factor[channel], strip.code_addend[channel]));
  return __float_as_uint(fmaf(fma_saturate(sum, strip.factor[channel], strip.addend[channel]),
                              -(float)MaxCode, -kCodeBias));
}

/* Replaces the sums of `absolute` channels as MmaStrips says. */
template <int Channels, int Sums>
__device__ inline void replace_by_magnitudes(const MmaStrips &strip, MmaSums (&sums)[Sums])
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

template <int MaxCode, bool Bounded, int Sums, int Channels>
__device__ inline void opaque_codes_of(const MmaStrips &strip, const MmaSums (&sums)[Sums],
                                       uint32_t (&codes)[Channels][2][4])
{
#pragma unroll
  for (int c = 0; c < Channels; c++) {
#pragma unroll
    for (int i = 0; i < 8; i++)
      codes[c][i / 4][i % 4] = opaque_code<MaxCode, Bounded>(strip, c, sums[c][i / 4][i % 4]);
  }
}

/* The codes of opaque pixels, as opaque_code() has them, of the first `Channels` sums. Sums of
 * `absolute` channels are overwritten. */
template <int MaxCode, int Sums, int Channels>
__device__ inline void opaque_codes(const MmaStrips &strip, MmaSums (&sums)[Sums],
                                    uint32_t (&codes)[Channels][2][4])
{
  if (strip.bounded) {
    opaque_codes_of<MaxCode, true>(strip, sums, codes);
  } else {
    if (strip.absolute)
      replace_by_magnitudes<Channels>(strip, sums);
    opaque_codes_of<MaxCode, false>(strip, sums, codes);
  }
}

/* The second bytes of four words. */
__device__ inline uint32_t pack_second_bytes(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
  return __byte_perm(__byte_perm(a, b, 0x0051), __byte_perm(c, d, 0x0051), 0x5410);
}

/* Lane q (0..3) of each four neighbouring lanes gets word q of each of the four. */
__device__ inline void transpose_4x4(uint32_t (&w)[4], int q)
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

/* Two codes, as opaque_code() has them, as samples of 10 bits. */
__device__ inline uint32_t pack_wide_samples(uint32_t a, uint32_t b, int shift)
{
  return (permute_bytes(a, b, 0x6521) & 0x03ff03ff) << shift;
}

/* Tells the host that this frame has alpha below 255 (AlphaFeedback). */
__device__ inline void report_alpha(const MmaJob &job)
{
  if (threadIdx.x == 0)
    *(volatile uint32_t *)&job.feedback[1] = job.number;
}

/* ---- one byte ---- */

/* The codes of a block of 16 pixels: a word of the four pixels from 4 (lane % 4) on, of row lane /
 * 4 of the upper and of the lower eight rows. */
__device__ inline void gray_codes(const MmaStrips &strip, MmaSums (&sums)[1], uint32_t &upper,
                                  uint32_t &lower)
{
  uint32_t codes[1][2][4], words[2];

  opaque_codes<255>(strip, sums, codes);
#pragma unroll
  for (int h = 0; h < 2; h++) {
    const uint32_t(&code)[4] = codes[0][h];
    words[h] = movmatrix_trans(pack_second_bytes(code[0], code[2], code[1], code[3]));
  }
  upper = words[0];
  lower = words[1];
}

/* Stores 16 rows of 32 or 64 pixels, of codes that gray_codes() made. */
template <int Blocks>
__device__ inline void store_gray(const PlaneWork &work, uint32_t (&codes)[2][Blocks],
                                  const StoreTarget &target)
{
  const int lane = threadIdx.x & 31, g = lane >> 2, q = lane & 3;
  const int x = target.x0 + (Blocks == 4 ? q * 16 : (q & 1) * 16 + (q >> 1) * 8);

#pragma unroll
  for (int h = 0; h < 2; h++) {
    const int y = target.y0 + g + 8 * h;
    uint8_t *to = work.destination + (ptrdiff_t)y * work.destination_stride + x;
    uint32_t(&words)[Blocks] = codes[h];

    /* The four lanes of a row exchange words until each has 8 or 16 neighbouring pixels. */
    if constexpr (Blocks == 4) {
      transpose_4x4(words, q);
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

/* ---- two bytes ---- */

/* Stores 16 rows of 16 pixels of two bytes: two channels, or one of 10 bits. */
template <typename Pixel>
__device__ inline void store_pixel_pairs(const PlaneWork &work, const MmaStrips &strip,
                                         MmaSums (&sums)[Pixel::kChannels],
                                         const StoreTarget &target)
{
  const int lane = threadIdx.x & 31, g = lane >> 2, q = lane & 3;
  const int x = target.x0 + 2 * g;
  uint8_t *to = work.destination + (ptrdiff_t)(target.y0 + 2 * q) * work.destination_stride + x * 2;
  uint32_t codes[Pixel::kChannels][2][4];

  opaque_codes<Pixel::kMaxCode>(strip, sums, codes);
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const int h = i >> 1, e = i & 1, y = target.y0 + 2 * q + 8 * h + e;
    uint8_t *row = to + (8 * h + e) * work.destination_stride;
    uint32_t word;

    if constexpr (Pixel::kSampleBytes == 2)
      word = pack_wide_samples(codes[0][h][e], codes[0][h][2 + e], work.shift);
    else
      word =
          pack_second_bytes(codes[0][h][e], codes[1][h][e], codes[0][h][2 + e], codes[1][h][2 + e]);

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

/* ---- packed 4:2:2 ---- */

/* Stores 16 rows of 16 macropixels. A thread has lumas 2 g and 2 g + 1 of both blocks of luma (g =
 * lane / 4), and pixels g and g + 8 of both chromas: macropixels g and g + 8 of four rows. */
__device__ inline void store_macropixels(const MmaJob &job, const PlaneWork &work,
                                         MmaSums (&sums)[4], const StoreTarget &target)
{
  typedef MmaSums Pair[2];
  const int lane = threadIdx.x & 31, g = lane >> 2, q = lane & 3;
  const int x = target.x0 + g;
  uint8_t *to = work.destination + (ptrdiff_t)(target.y0 + 2 * q) * work.destination_stride + x * 4;
  uint32_t luma[2][2][4], chroma[2][2][4];

  opaque_codes<255>(job.strip[0], *(Pair *)sums, luma);
  opaque_codes<255>(job.strip[1], *(Pair *)(sums + 2), chroma);
#pragma unroll
  for (int i = 0; i < 8; i++) {
    const int b = i & 1, e = i >> 1 & 1, h = i >> 2, row = 8 * h + e, y = target.y0 + 2 * q + row;
    const uint32_t lumas = permute_bytes(luma[b][h][e], luma[b][h][2 + e], 0x0051);
    const uint32_t chromas =
        permute_bytes(chroma[0][h][2 * b + e], chroma[1][h][2 * b + e], 0x0051);

    if (target.inside || (y >= work.first && y < target.end && x + 8 * b < work.width))
      *(uint32_t *)(to + row * work.destination_stride + 32 * b) =
          permute_bytes(lumas, chromas, work.luma ? 0x1504 : 0x5140);
  }
}

/* ---- four bytes ---- */

/* A pixel of colours a, b, c and alpha, all as opaque_code() has them. */
__device__ inline uint32_t pack_pixel(uint32_t a, uint32_t b, uint32_t c, uint32_t alpha,
                                      int first_colour)
{
  const uint32_t ab = permute_bytes(a, b, 0x0051), cd = permute_bytes(c, alpha, 0x0051);

  return permute_bytes(ab, cd, first_colour ? 0x4105 : 0x5410);
}

/* The same with alpha 255. A selector digit with 8 added repeats the highest bit of a byte, which
 * opaque_code() has set. */
__device__ inline uint32_t pack_opaque_pixel(uint32_t a, uint32_t b, uint32_t c, int first_colour)
{
  const uint32_t low = first_colour ? 0x051b : 0x0051, high = first_colour ? 0x5210 : 0xf510;

  return permute_bytes(permute_bytes(a, b, low), c, high);
}

/* The source's alpha at a pixel; 0 outside the rows and columns to store. */
__device__ inline uint32_t source_alpha(const PlaneWork &work, int first_colour, int x, int y)
{
  return x < work.width && y >= work.first && y < work.end
             ? work.source[(ptrdiff_t)y * work.source_stride + x * 4 + (first_colour ? 0 : 3)]
             : 0;
}

/* A thread's 8 pixels of a step: [row 0, 1, 8, 9][two neighbours], from thread_pixel() and
 * thread_row() on. */
typedef uint32_t ThreadPixels[4][2];

/* Where pixel i of a thread's 8 is in MmaSums ([fragment][sum]), and in the picture relative to the
 * first. */
struct PixelIndex {
  int fragment, sum, dx, dy;

  __device__ PixelIndex(int i)
      : fragment(i >> 2), sum(2 * (i & 1) + (i >> 1 & 1)), dx(i & 1),
        dy(8 * (i >> 2) + (i >> 1 & 1))
  {
  }
};

__device__ inline int thread_pixel(const StoreTarget &target)
{
  return target.x0 + 2 * ((threadIdx.x & 31) >> 2);
}

__device__ inline int thread_row(const StoreTarget &target)
{
  return target.y0 + 2 * (threadIdx.x & 3);
}

__device__ inline void store_pixels(const PlaneWork &work, const ThreadPixels &pixel,
                                    const StoreTarget &target)
{
  const int x = thread_pixel(target), y = thread_row(target);
  const ptrdiff_t stride = work.destination_stride;
  uint8_t *to = work.destination + (ptrdiff_t)y * stride + x * 4;

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

/* Stores 16 rows of 16 pixels of two channels of 10 bits. */
__device__ inline void store_wide_pixels(const PlaneWork &work, const MmaStrips &strip,
                                         MmaSums (&sums)[2], const StoreTarget &target)
{
  uint32_t codes[2][2][4];
  ThreadPixels pixel;

  opaque_codes<1023>(strip, sums, codes);
#pragma unroll
  for (int i = 0; i < 8; i++) {
    const PixelIndex at(i);
    pixel[i >> 1][i & 1] =
        pack_wide_samples(codes[0][at.fragment][at.sum], codes[1][at.fragment][at.sum], work.shift);
  }
  store_pixels(work, pixel, target);
}

/* Stores 16 rows of 16 pixels of three colours and alpha 255 or copied: where all pixels that the
 * sums read are opaque, or colours are not premultiplied. */
template <int Sums>
__device__ inline void store_opaque_colours(const PlaneWork &work, const MmaStrips &strip,
                                            const MmaJob &job, MmaSums (&sums)[Sums],
                                            const StoreTarget &target)
{
  const int x = thread_pixel(target), y = thread_row(target);
  uint32_t codes[3][2][4];
  ThreadPixels pixel;

  opaque_codes<255>(strip, sums, codes);
#pragma unroll
  for (int i = 0; i < 8; i++) {
    const PixelIndex at(i);
    pixel[i >> 1][i & 1] =
        pack_opaque_pixel(codes[0][at.fragment][at.sum], codes[1][at.fragment][at.sum],
                          codes[2][at.fragment][at.sum], job.first_colour);
  }
  if (job.weights.copied) {
#pragma unroll
    for (int i = 0; i < 8; i++) {
      const PixelIndex at(i);
      pixel[i >> 1][i & 1] = __byte_perm(pixel[i >> 1][i & 1],
                                         source_alpha(work, job.first_colour, x + at.dx, y + at.dy),
                                         job.first_colour ? 0x3214 : 0x4210);
    }
  }
  store_pixels(work, pixel, target);
}

/* Stores 16 rows of 16 opaque pixels of two or four bytes, or macropixels. */
template <typename Pixel>
__device__ inline void store_block(const MmaJob &job, const PlaneWork &work, const MmaStrips &strip,
                                   MmaSums (&sums)[Pixel::kColours], const StoreTarget &target)
{
  if constexpr (Pixel::kPacked)
    store_macropixels(job, work, sums, target);
  else if constexpr (Pixel::kPixelBytes == 2)
    store_pixel_pairs<Pixel>(work, strip, sums, target);
  else if constexpr (Pixel::kSampleBytes == 2)
    store_wide_pixels(work, strip, sums, target);
  else
    store_opaque_colours(work, strip, job, sums, target);
}

/* A thread's filtered alphas (alpha'), and the distances of their sums from that of opaque alpha.
 */
struct FilteredAlphas {
  float alpha[8], distance[8];

  __device__ FilteredAlphas(const AlphaTransform &weights, const MmaSums &sums)
  {
#pragma unroll
    for (int i = 0; i < 8; i++) {
      const float sum = sums[PixelIndex(i).fragment][PixelIndex(i).sum];

      alpha[i] = sum * weights.factor;
      distance[i] = fabsf(sum - weights.opaque);
    }
  }

  __device__ bool is_opaque(const AlphaTransform &weights, int i) const
  {
    return distance[i] < weights.tolerance;
  }
};

/* Where alpha is not filtered: sets alpha' to the source's alpha, lets pixels count as opaque only
 * if that is 255, and corrects the sums of others as AlphaTransform says. */
__device__ inline void use_source_alphas(const PlaneWork &work, const MmaJob &job,
                                         const StoreTarget &target, FilteredAlphas &alphas,
                                         MmaSums (&sums)[4])
{
  const int x = thread_pixel(target), y = thread_row(target);
  const AlphaTransform &weights = job.weights;

#pragma unroll
  for (int i = 0; i < 8; i++) {
    const PixelIndex at(i);
    const float alpha = (float)source_alpha(work, job.first_colour, x + at.dx, y + at.dy);

    alphas.alpha[i] = alpha;
    if (alpha < 255.0f)
      alphas.distance[i] = weights.tolerance;
#pragma unroll
    for (int c = 0; c < 3 && !alphas.is_opaque(weights, i); c++)
      sums[c][at.fragment][at.sum] += fmaf(weights.mean[c], sums[3][at.fragment][at.sum],
                                           weights.offset[c] * alpha_weight(alpha));
  }
}

/* Stores 16 rows of 16 pixels from sums of premultiplied colours and, last, of alpha. Opaque pixels
 * among them become what store_opaque_colours() makes of them. */
__device__ inline void store_weighted_colours(const PlaneWork &work, const MmaStrips &strip,
                                              const MmaJob &job, MmaSums (&sums)[4],
                                              const StoreTarget &target)
{
  const AlphaTransform &weights = job.weights;
  FilteredAlphas alphas(weights, sums[3]);
  uint32_t codes[3][2][4];
  ThreadPixels pixel;

  if (!weights.filtered)
    use_source_alphas(work, job, target, alphas, sums);
#pragma unroll
  for (int i = 0; i < 8; i++) {
    const PixelIndex at(i);
    const float divided = 255.0f * reciprocal_approx(alphas.alpha[i]);
    const float weight = alphas.is_opaque(weights, i) ? 1.0f : divided;

#pragma unroll
    for (int c = 0; c < 3; c++)
      sums[c][at.fragment][at.sum] *= weight;
  }
  opaque_codes<255>(strip, sums, codes);
#pragma unroll
  for (int i = 0; i < 8; i++) {
    const PixelIndex at(i);
    const float alpha = alphas.alpha[i];
    const uint32_t alpha_code =
        __float_as_uint(fmaf(fma_saturate(alpha, 1.0f / 255.0f, 0.0f), -255.0f, -kCodeBias));
    const uint32_t packed = pack_pixel(codes[0][at.fragment][at.sum], codes[1][at.fragment][at.sum],
                                       codes[2][at.fragment][at.sum], alpha_code, job.first_colour);

    /* Below 1/4 alpha' is certainly 0, and the pixel transparent. From 1/4 to 1/2 its code is 0
     * here but may be 1 in exact arithmetic, so the colour is kept. */
    pixel[i >> 1][i & 1] = alpha < 0.25f ? weights.transparent : packed;
  }
  store_pixels(work, pixel, target);
}

} // namespace cf::fir
