/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Converts samples in shared memory to fp16 planes, for the kernels on tensor cores.
 */
#pragma once

#include "cuda/common/alpha.cuh"
#include "cuda/fir/mma_load.cuh"

namespace cf::fir
{

/* Applies the border replicate to a word of 4 / C pixels from pixel x on. The word holds the
 * nearest pixels of the row: those in the picture, or the first or last word of it. */
template <int C> __device__ inline uint32_t replicate_into_word(uint32_t word, int x, int width)
{
  constexpr int kWordPixels = 4 / C;
  const int last = (width - 1) % kWordPixels * C; /* byte of the last pixel in its word */
  const uint32_t first_pixel = C == 1 ? 0x0000 : C == 2 ? 0x1010 : 0x3210;
  const uint32_t last_pixel = first_pixel + last * 0x1111;
  uint32_t select = 0x3210;

  if (x < 0)
    select = first_pixel;
  else if (x >= width)
    select = last_pixel;
  else if (x + kWordPixels > width)
    select = (0x3210 & ((1 << 4 * (last + C)) - 1)) | (last_pixel & ~((1 << 4 * (last + C)) - 1));
  return __byte_perm(word, 0, select);
}

/* The same for a macropixel: outside the picture, both lumas are the one nearest to the edge. */
__device__ inline uint32_t replicate_luma(uint32_t word, int x, int width, int luma)
{
  const uint32_t first = luma ? 0x1210 : 0x3010, last = luma ? 0x3230 : 0x3212;

  return __byte_perm(word, 0, x < 0 ? first : x >= width ? last : 0x3210);
}

template <typename Shape>
__device__ inline uint4 replicate_into_piece(const uint4 &v, int x, int width, int luma)
{
  constexpr int C = Shape::kPixelBytes;
  const auto replicate = [&](uint32_t word, int at) {
    return Shape::kPacked ? replicate_luma(word, at, width, luma)
                          : replicate_into_word<C>(word, at, width);
  };

  if (width % (16 / C) == 0) {
    const uint32_t nearest = replicate(x < 0 ? v.x : v.w, x < 0 ? x : x + 12 / C);
    return make_uint4(nearest, nearest, nearest, nearest);
  }
  return make_uint4(replicate(v.x, x), replicate(v.y, x + 4 / C), replicate(v.z, x + 8 / C),
                    replicate(v.w, x + 12 / C));
}

/* Opaque alpha, 255, as two fp16 numbers. No centre is subtracted from alpha, so that faint alphas
 * are small numbers, which fp16 represents with small errors. */
constexpr uint32_t kOpaqueFp16x2 = 0x5bf85bf8;

/* Premultiplies the colours, less 128, of two pixels. alpha / 255 is the sum of two fp16 numbers,
 * high + low, so that a product is rounded only once. 1 / 255 is represented to 5e-8, and opaque
 * colours do not change. */
class AlphaWeightPair
{
  __half2 alpha, high, low;

  __device__ static __half2 splat(uint16_t half)
  {
    return __half2half2(__ushort_as_half(half));
  }

public:
  /* `centred`: the alphas less 128. */
  __device__ AlphaWeightPair(uint32_t centred)
  {
    const __half2 first = splat(0x1c04), second = splat(0x0001);

    alpha = __hadd2(as_half2(centred), splat(0x5800));
    high = __hmul2(alpha, first);
    low = __hfma2(alpha, second, __hfma2(alpha, first, __hneg2(high)));
  }

  __device__ uint32_t times(uint32_t colours) const
  {
    const __half2 pair = as_half2(colours);

    return as_bits(__hfma2(pair, high, __hmul2(pair, low)));
  }

  __device__ uint32_t alpha_bits() const
  {
    return as_bits(alpha);
  }
};

/* Converts a piece of 16 bytes to fp16: each channel goes to its own plane, from `to` on in the
 * first one. */
template <typename Shape> class PieceConverter
{
  static constexpr int C = Shape::kChannels;
  const MmaJob &job;
  const int shift; /* of samples of two bytes */
  const ByteToHalf to_fp16;

  /* Two codes of 10 bits less 512: 0x6400 + v is the fp16 number 1024 + v. */
  __device__ uint32_t centred_codes(uint32_t samples) const
  {
    const uint32_t biased = (samples >> shift & 0x03ff03ff) | 0x64006400;

    return as_bits(__hsub2(as_half2(biased), __half2half2(__ushort_as_half(0x6600))));
  }

  __device__ void convert_wide_samples(const uint4 &v, uint8_t *to) const
  {
    const uint32_t a = centred_codes(v.x), b = centred_codes(v.y);
    const uint32_t c = centred_codes(v.z), d = centred_codes(v.w);

    if constexpr (C == 2) {
      *(uint2 *)to = make_uint2(permute_bytes(a, b, 0x5410), permute_bytes(c, d, 0x5410));
      *(uint2 *)(to + Shape::kPlaneBytes) =
          make_uint2(permute_bytes(a, b, 0x7632), permute_bytes(c, d, 0x7632));
    } else {
      *(uint4 *)to = make_uint4(a, b, c, d);
    }
  }

public:
  __device__ PieceConverter(const MmaJob &job, int shift)
      : job(job), shift(shift), to_fp16(job.exponents)
  {
  }

  __device__ void convert_opaque(const uint4 &v, uint8_t *to) const
  {
    const uint32_t a = permute_bytes(v.x, v.y, job.first_two);
    const uint32_t b = permute_bytes(v.z, v.w, job.first_two);
    const uint32_t c = permute_bytes(v.x, v.y, job.third), d = permute_bytes(v.z, v.w, job.third);

    *(uint2 *)to = make_uint2(to_fp16.centred(a, 0x4140), to_fp16.centred(b, 0x4140));
    *(uint2 *)(to + Shape::kPlaneBytes) =
        make_uint2(to_fp16.centred(a, 0x4342), to_fp16.centred(b, 0x4342));
    *(uint2 *)(to + 2 * Shape::kPlaneBytes) =
        make_uint2(to_fp16.centred(c, 0x4140), to_fp16.centred(d, 0x4140));
    if constexpr (Shape::kHasAlpha)
      *(uint2 *)(to + 3 * Shape::kPlaneBytes) = make_uint2(kOpaqueFp16x2, kOpaqueFp16x2);
  }

  /* Pixels with any alpha. For opaque ones the result is that of convert_opaque(). */
  __device__ void convert_weighted(const uint4 &v, uint8_t *to) const
  {
    const uint32_t a = permute_bytes(v.x, v.y, job.first_two);
    const uint32_t b = permute_bytes(v.z, v.w, job.first_two);
    const uint32_t c = permute_bytes(v.x, v.y, job.third), d = permute_bytes(v.z, v.w, job.third);
    const AlphaWeightPair first(to_fp16.centred(c, 0x4342)), second(to_fp16.centred(d, 0x4342));

    *(uint2 *)to = make_uint2(first.times(to_fp16.centred(a, 0x4140)),
                              second.times(to_fp16.centred(b, 0x4140)));
    *(uint2 *)(to + Shape::kPlaneBytes) = make_uint2(first.times(to_fp16.centred(a, 0x4342)),
                                                     second.times(to_fp16.centred(b, 0x4342)));
    *(uint2 *)(to + 2 * Shape::kPlaneBytes) = make_uint2(first.times(to_fp16.centred(c, 0x4140)),
                                                         second.times(to_fp16.centred(d, 0x4140)));
    *(uint2 *)(to + 3 * Shape::kPlaneBytes) = make_uint2(first.alpha_bits(), second.alpha_bits());
  }

  /* Four macropixels, to pixel `x` of a row of planes. */
  __device__ void convert_macropixels(const uint4 &v, uint8_t *row, int x) const
  {
    const uint32_t a = permute_bytes(v.x, v.y, job.first_two);
    const uint32_t b = permute_bytes(v.z, v.w, job.first_two);
    uint8_t *const chroma = row + 2 * Shape::kPlaneBytes + 2 * x;

    *(uint4 *)(row + 4 * x) =
        make_uint4(to_fp16.centred(v.x, job.third), to_fp16.centred(v.y, job.third),
                   to_fp16.centred(v.z, job.third), to_fp16.centred(v.w, job.third));
    *(uint2 *)chroma = make_uint2(to_fp16.centred(a, 0x4140), to_fp16.centred(b, 0x4140));
    *(uint2 *)(chroma + Shape::kPlaneBytes) =
        make_uint2(to_fp16.centred(a, 0x4342), to_fp16.centred(b, 0x4342));
  }

  __device__ void convert_samples(const uint4 &v, uint8_t *to) const
  {
    if constexpr (Shape::kSampleBytes == 2) {
      convert_wide_samples(v, to);
    } else if constexpr (C == 2) {
      *(uint4 *)to = make_uint4(to_fp16.centred(v.x, 0x4240), to_fp16.centred(v.y, 0x4240),
                                to_fp16.centred(v.z, 0x4240), to_fp16.centred(v.w, 0x4240));
      *(uint4 *)(to + Shape::kPlaneBytes) =
          make_uint4(to_fp16.centred(v.x, 0x4341), to_fp16.centred(v.y, 0x4341),
                     to_fp16.centred(v.z, 0x4341), to_fp16.centred(v.w, 0x4341));
    } else {
      *(uint4 *)to = make_uint4(to_fp16.centred(v.x, 0x4140), to_fp16.centred(v.x, 0x4342),
                                to_fp16.centred(v.y, 0x4140), to_fp16.centred(v.y, 0x4342));
      *(uint4 *)(to + 16) = make_uint4(to_fp16.centred(v.z, 0x4140), to_fp16.centred(v.z, 0x4342),
                                       to_fp16.centred(v.w, 0x4140), to_fp16.centred(v.w, 0x4342));
    }
  }
};

/* Converts a step's samples to fp16 planes: codes less the middle one (128 or 512), with alpha
 * premultiplied, and alpha itself. */
template <typename Shape> class Fp16Converter
{
  typedef ThreadPieces<Shape> Pieces;
  const MmaJob &job;
  const int left, width, luma;
  const bool replicates;
  const PieceConverter<Shape> pieces;

  /* Piece `i`, with the border replicate applied. */
  __device__ uint4 with_border(const uint4 &v, int i) const
  {
    const int x = left + Pieces::piece(i) * Shape::kPiecePixels;

    return x < 0 || x + Shape::kPiecePixels > width ? replicate_into_piece<Shape>(v, x, width, luma)
                                                    : v;
  }

  __device__ static uint8_t *place(uint8_t *planes, int i)
  {
    return planes + Pieces::row() * Shape::kStride + Pieces::piece(i) * Shape::kPiecePixels * 2;
  }

  template <bool Weighted>
  __device__ void convert_all(const uint4 (&v)[Shape::kLoads], uint8_t *planes) const
  {
#pragma unroll
    for (int i = 0; i < Shape::kLoads; i++) {
      if (!Pieces::exists(i))
        continue;
      if constexpr (Shape::kPacked)
        pieces.convert_macropixels(v[i], planes + Pieces::row() * Shape::kStride,
                                   Pieces::piece(i) * Shape::kPiecePixels);
      else if constexpr (Weighted)
        pieces.convert_weighted(v[i], place(planes, i));
      else if constexpr (Shape::kChannels == 4)
        pieces.convert_opaque(v[i], place(planes, i));
      else
        pieces.convert_samples(v[i], place(planes, i));
    }
  }

public:
  __device__ Fp16Converter(const MmaJob &job, const PlaneWork &work, const StripEdges<Shape> &edges)
      : job(job), left(edges.left), width(work.width), luma(work.luma),
        replicates(edges.need_replication()), pieces(job, work.shift)
  {
  }

  /* Converts the thread's pieces of a stage. Returns false if a pixel has alpha below 255 and
   * colours are premultiplied. */
  __device__ bool convert(const uint8_t *stage, uint8_t *planes) const
  {
    uint4 v[Shape::kLoads];
    uint32_t alphas = ~0u;

#pragma unroll
    for (int i = 0; i < Shape::kLoads; i++) {
      v[i] = make_uint4(~0u, ~0u, ~0u, ~0u);
      if (Pieces::exists(i))
        v[i] = *(const uint4 *)(stage + Pieces::offset(i));
    }
    if (replicates) {
#pragma unroll
      for (int i = 0; i < Shape::kLoads; i++)
        v[i] = with_border(v[i], i);
    }
#pragma unroll
    for (int i = 0; i < Shape::kLoads; i++)
      alphas &= v[i].x & v[i].y & v[i].z & v[i].w;
    if constexpr (Shape::kChannels == 4) {
      const uint32_t opaque_bits = alpha_byte(job.first_colour);
      const bool opaque = !job.weights.exists || (alphas & opaque_bits) == opaque_bits;

      if (opaque)
        convert_all<false>(v, planes);
      else if constexpr (Shape::kHasAlpha)
        convert_all<true>(v, planes);
      return opaque;
    } else {
      convert_all<false>(v, planes);
      return true;
    }
  }
};

} // namespace cf::fir
