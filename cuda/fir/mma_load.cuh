/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The source into shared memory, for the kernels on tensor cores: asynchronous copies of 16 rows a
 * step, borders included, and then samples to fp16.
 *
 * The grid is one wave, so that its slowest CTA is the time: what strips at the picture's left and
 * right border do more than the others must be little, and must not wait for memory.
 */
#pragma once

#include "cuda/common/alpha.cuh"
#include "cuda/fir/mma_shape.cuh"
#include "cuda/fir/pixel.cuh"

namespace cf::fir
{

/* The pieces of 16 bytes that a thread copies and converts: some of one row of the 16. A row's
 * threads are in one warp, so that a warp waits for its own copies only. Of pixels of four bytes
 * half a warp stores 128 bytes of fp16 at a time, in as many rows as 16 threads have: these rows
 * are so far apart that they start in different banks. */
template <typename Shape> struct ThreadPieces {
  __device__ static int row()
  {
    const int i = threadIdx.x / Shape::kRowThreads;

    if constexpr (Shape::kPixelBytes == 4 && Shape::kRowThreads < 16) {
      constexpr int kApart = Shape::kRowThreads / 2, kTogether = 8 / kApart;
      return i / 8 * 8 + i % 8 / kTogether + i % kTogether * kApart;
    } else {
      return i;
    }
  }

  __device__ static int piece(int i)
  {
    return threadIdx.x % Shape::kRowThreads + i * Shape::kRowThreads;
  }

  __device__ static bool exists(int i)
  {
    return (i + 1) * Shape::kRowThreads <= Shape::kPieces || piece(i) < Shape::kPieces;
  }

  /* Of its first byte in a stage. */
  __device__ static int place(int i)
  {
    return (row() * Shape::kPieces + piece(i)) * 16;
  }
};

/* Copies 16 rows of the strip: whole pieces that lie in the picture's columns, and words of four
 * bytes around them where the strip is at the picture's border. */
template <typename Shape> class RowCopier
{
  typedef ThreadPieces<Shape> Pieces;
  static constexpr int C = Shape::kPixelBytes;
  static constexpr int kWordPixels = 4 / C;
  const PlaneWork &work;
  const uint32_t colour; /* outside the picture, where the border is constant */
  const int left;        /* the plane's pixel that the first piece starts with */
  const uint32_t stages;
  const int first_full, end_full; /* pixels of the strip in whole pieces of the picture */
  const int words_before, words;  /* of a row: in front of these pixels, and in all */

  /* The row of the source for row y, NULL for the border's colour. */
  __device__ const uint8_t *row_at(int y) const
  {
    const int from = source_row(work, y);

    return from < 0 ? nullptr : work.source + (ptrdiff_t)from * work.source_stride;
  }

  /* All pieces are in the picture: one address, and offsets that instructions contain. */
  __device__ void copy_all_pieces(uint32_t to, const uint8_t *from) const
  {
    const uint32_t first_to = to + Pieces::place(0);
    const uint8_t *first = from + (left + Pieces::piece(0) * Shape::kPiecePixels) * C;

#pragma unroll
    for (int i = 0; i < Shape::kLoads; i++) {
      if (Pieces::exists(i))
        cp_async<16>(first_to + i * Shape::kRowThreads * 16, first + i * Shape::kRowThreads * 16);
    }
  }

  /* Pieces outside the picture are copies of the nearest one (replicates_pieces). */
  __device__ void copy_nearest_pieces(uint32_t to, const uint8_t *from) const
  {
    const int last = work.width - Shape::kPiecePixels;

#pragma unroll
    for (int i = 0; i < Shape::kLoads; i++) {
      const int x = left + Pieces::piece(i) * Shape::kPiecePixels;
      if (Pieces::exists(i))
        cp_async<16>(to + Pieces::place(i), from + min(max(x, 0), last) * C);
    }
  }

  __device__ void copy_pieces(uint32_t to, const uint8_t *from) const
  {
#pragma unroll
    for (int i = 0; i < Shape::kLoads; i++) {
      const int x = left + Pieces::piece(i) * Shape::kPiecePixels;
      if (Pieces::exists(i) && x >= first_full && x < end_full) {
        if (from) {
          cp_async<16>(to + Pieces::place(i), from + x * C);
        } else {
          for (int word = 0; word < 4; word++)
            st_shared(to + Pieces::place(i) + 4 * word, colour);
        }
      }
    }
  }

  /* The word at pixel x of a row, pixel by pixel. */
  __device__ uint32_t folded_word(const uint8_t *from, int x) const
  {
    uint32_t word = colour;

#pragma unroll
    for (int i = 0; i < kWordPixels; i++) {
      const int folded = from ? fold_index(work.border, x + i, work.width) : -1;
      if (folded >= 0) {
        const uint32_t pixel = C == 1 ? from[folded] : *(const uint16_t *)(from + folded * 2);
        const uint32_t mask = (1u << 8 * C % 32) - 1;
        word = (word & ~(mask << 8 * C * i)) | pixel << 8 * C * i;
      }
    }
    return word;
  }

  /* Words of one pixel are copied from where the border's rule says. Words of several pixels are
   * too, pixel by pixel, except that replicated ones get the nearest whole word, which
   * replicate_into_word corrects after the copy. */
  __device__ void copy_outer_words(uint32_t to, const uint8_t *from) const
  {
    const int last = (work.width - 1) / kWordPixels * kWordPixels;

#pragma unroll 1
    for (int i = Pieces::piece(0); i < words; i += Shape::kRowThreads) {
      const int x =
          i < words_before ? left + i * kWordPixels : end_full + (i - words_before) * kWordPixels;
      const uint32_t place = to + Pieces::row() * Shape::kPieces * 16 + (x - left) * C;

      if (work.border == CF_BORDER_REPLICATE) {
        const int nearest = min(max(x, 0), last);
        cp_async_zero_fill<4>(place, from + nearest * C,
                              C == 4 ? 4 : min(4, (work.width - nearest) * C));
      } else if constexpr (C == 4) {
        const int folded = from ? fold_index(work.border, x, work.width) : -1;
        if (folded < 0)
          st_shared(place, colour);
        else
          cp_async_zero_fill<4>(place, from + folded * 4, 4);
      } else {
        st_shared(place, folded_word(from, x));
      }
    }
  }

public:
  __device__ RowCopier(const PlaneWork &work, uint32_t colour, int left, const uint8_t *stages)
      : work(work), colour(colour), left(left), stages(smem_address(stages)),
        first_full(max(left, 0)),
        end_full(min(left + Shape::kInputPixels,
                     work.width / Shape::kPiecePixels * Shape::kPiecePixels)),
        words_before((first_full - left) / kWordPixels),
        words(words_before +
              max(0, min(left + Shape::kInputPixels, round_up(work.width + Shape::kRadius, 4)) -
                         end_full) /
                  kWordPixels)
  {
  }

  /* Sets pixels that are never copied to opaque white. No result depends on them, but zeros
   * multiply them, so that they must be finite, and opaque lest the strip count as weighted. */
  __device__ void fill_rest(uint8_t *stages) const
  {
    if (replicates_pieces() ||
        end_full + (words - words_before) * kWordPixels == left + Shape::kInputPixels)
      return;
    for (int i = threadIdx.x; i < Shape::kStages * Shape::kStageBytes / 16; i += Shape::kThreads)
      ((uint4 *)stages)[i] = make_uint4(~0u, ~0u, ~0u, ~0u);
    Shape::synchronize();
  }

  /* Whether pieces outside the picture are copies of the nearest one. */
  __device__ bool replicates_pieces() const
  {
    return work.border == CF_BORDER_REPLICATE && work.width % Shape::kPiecePixels == 0;
  }

  /* Whether words at the border have to be corrected (replicate_into_word). */
  __device__ bool needs_replication() const
  {
    return (C != 4 || replicates_pieces()) && words > 0 && work.border == CF_BORDER_REPLICATE;
  }

  /* Whether no piece has a pixel outside the picture. */
  __device__ bool is_inner() const
  {
    return end_full - first_full == Shape::kInputPixels;
  }

  /* is_inner(), and 16 rows inside the picture. `from` is the thread's first piece. */
  __device__ void fetch_inner(int stage, const uint8_t *from) const
  {
    const uint32_t to = stages + stage * Shape::kStageBytes + Pieces::place(0);

#pragma unroll
    for (int i = 0; i < Shape::kLoads; i++) {
      if (Pieces::exists(i))
        cp_async<16>(to + i * Shape::kRowThreads * 16, from + i * Shape::kRowThreads * 16);
    }
    cp_async_commit();
  }

  /* Starts the copies of 16 rows from y0 on, if they are wanted. */
  __device__ void fetch(int stage, bool wanted, int y0) const
  {
    const uint32_t to = stages + stage * Shape::kStageBytes;

    if (wanted) {
      const uint8_t *from = row_at(y0 + Pieces::row());

      if (is_inner() && from) {
        copy_all_pieces(to, from);
      } else if (replicates_pieces()) {
        copy_nearest_pieces(to, from);
      } else {
        copy_pieces(to, from);
        if (words > 0)
          copy_outer_words(to, from);
      }
    }
    cp_async_commit();
  }
};

/* Starts the copies of one step after another: inside the picture without folding rows and columns
 * for each. */
template <typename Shape> class StepFetcher
{
  typedef ThreadPieces<Shape> Pieces;
  const RowCopier<Shape> &copier;
  const PlaneWork &work;
  const bool inner;
  const int y0, steps;
  const uint8_t *next; /* the thread's first piece of the next step */

public:
  __device__ StepFetcher(const RowCopier<Shape> &copier, const PlaneWork &work, int left, int y0,
                         int steps)
      : copier(copier), work(work), inner(copier.is_inner()), y0(y0), steps(steps),
        next(work.source + (ptrdiff_t)(y0 + Pieces::row()) * work.source_stride +
             (left + Pieces::piece(0) * Shape::kPiecePixels) * Shape::kChannels)
  {
  }

  /* `step` is 0 and then one more each time. */
  __device__ void fetch(int step)
  {
    const int y = y0 + step * kStepRows;

    if (inner && y >= work.readable_first && y + kStepRows <= work.readable_end && step < steps)
      copier.fetch_inner(step % Shape::kStages, next);
    else
      copier.fetch(step % Shape::kStages, step < steps, y);
    next += kStepRows * work.source_stride;
  }
};

/* Puts the replicated border into a word of several pixels, of C bytes, from pixel x on. */
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

template <int C> __device__ inline uint4 replicate_into_piece(const uint4 &v, int x, int width)
{
  if (width % (16 / C) == 0) {
    const uint32_t nearest =
        replicate_into_word<C>(x < 0 ? v.x : v.w, x < 0 ? x : x + 12 / C, width);
    return make_uint4(nearest, nearest, nearest, nearest);
  }
  return make_uint4(replicate_into_word<C>(v.x, x, width),
                    replicate_into_word<C>(v.y, x + 4 / C, width),
                    replicate_into_word<C>(v.z, x + 8 / C, width),
                    replicate_into_word<C>(v.w, x + 12 / C, width));
}

/* Two fp16 numbers of opaque alpha. Alpha counts from 0, not from 128: what is faint must be a
 * small number for fp16 to be exact in proportion. */
constexpr uint32_t kOpaqueFp16x2 = 0x5bf85bf8;

/* Premultiplies the colours of two pixels, which count from 128 and so become as small as what is
 * visible of them. alpha / 255 is the sum of two fp16 numbers, so that products are rounded once;
 * 1 / 255 is but for 5e-8 of it, and opaque colours stay what they are. */
class AlphaWeightPair
{
  __half2 alpha, high, low;

  __device__ static __half2 both(uint16_t half)
  {
    return __half2half2(__ushort_as_half(half));
  }

public:
  /* `centred`: the alphas less 128. */
  __device__ AlphaWeightPair(uint32_t centred)
  {
    const __half2 first = both(0x1c04), second = both(0x0001);

    memcpy(&alpha, &centred, sizeof alpha);
    alpha = __hadd2(alpha, both(0x5800));
    high = __hmul2(alpha, first);
    low = __hfma2(alpha, second, __hfma2(alpha, first, __hneg2(high)));
  }

  __device__ uint32_t times(uint32_t colours) const
  {
    __half2 pair;
    uint32_t result;

    memcpy(&pair, &colours, sizeof pair);
    pair = __hfma2(pair, high, __hmul2(pair, low));
    memcpy(&result, &pair, sizeof result);
    return result;
  }

  __device__ uint32_t alpha_bits() const
  {
    uint32_t result;

    memcpy(&result, &alpha, sizeof result);
    return result;
  }
};

/* Converts a step's samples to planes of fp16: codes less the middle one, 128 or 512, colours
 * premultiplied, alpha. */
template <typename Shape> class Fp16Converter
{
  typedef ThreadPieces<Shape> Pieces;
  static constexpr int C = Shape::kChannels;
  const MmaJob &job;
  const int left, width, shift;
  const bool replicates;
  const ByteToHalf to_fp16;

  /* Piece i with the replicated border put right. */
  __device__ uint4 with_border(const uint4 &v, int i) const
  {
    const int x = left + Pieces::piece(i) * Shape::kPiecePixels;

    return x < 0 || x + Shape::kPiecePixels > width
               ? replicate_into_piece<Shape::kPixelBytes>(v, x, width)
               : v;
  }

  __device__ static uint8_t *place(uint8_t *planes, int i)
  {
    return planes + Pieces::row() * Shape::kStride + Pieces::piece(i) * Shape::kPiecePixels * 2;
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
  }

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

  __device__ void convert_pixels(const uint4 &v, uint8_t *to) const
  {
    if (is_opaque(v, job.first_colour)) {
      *(uint2 *)(to + 3 * Shape::kPlaneBytes) = make_uint2(kOpaqueFp16x2, kOpaqueFp16x2);
      convert_opaque(v, to);
    } else {
      convert_weighted(v, to);
    }
  }

  /* Two codes of 10 bits less 512: 0x6400 + v is the fp16 number 1024 + v. */
  __device__ uint32_t centred_codes(uint32_t samples) const
  {
    const uint32_t biased = (samples >> shift & 0x03ff03ff) | kExponentsOf1024;

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

public:
  __device__ Fp16Converter(const MmaJob &job, const PlaneWork &work, int left, bool replicates)
      : job(job), left(left), width(work.width), shift(work.shift), replicates(replicates),
        to_fp16(job.exponents)
  {
  }

  /* The thread's pieces of a stage. Returns whether all were opaque, or need not be. */
  __device__ bool convert(const uint8_t *stage, uint8_t *planes) const
  {
    uint4 v[Shape::kLoads];
    uint32_t alphas = ~0u;

#pragma unroll
    for (int i = 0; i < Shape::kLoads; i++) {
      v[i] = make_uint4(~0u, ~0u, ~0u, ~0u);
      if (Pieces::exists(i))
        v[i] = *(const uint4 *)(stage + Pieces::place(i));
    }
    if (replicates) {
#pragma unroll
      for (int i = 0; i < Shape::kLoads; i++)
        v[i] = with_border(v[i], i);
    }
#pragma unroll
    for (int i = 0; i < Shape::kLoads; i++)
      alphas &= v[i].x & v[i].y & v[i].z & v[i].w;
    if constexpr (C == 4) {
      const uint32_t opaque_bits = alpha_byte(job.first_colour);
      const bool opaque = !job.weights.exists || (alphas & opaque_bits) == opaque_bits;
#pragma unroll
      for (int i = 0; i < Shape::kLoads; i++) {
        uint8_t *to = place(planes, i);
        if (opaque && Pieces::exists(i)) {
          if constexpr (Shape::kHasAlpha)
            *(uint2 *)(to + 3 * Shape::kPlaneBytes) = make_uint2(kOpaqueFp16x2, kOpaqueFp16x2);
          convert_opaque(v[i], to);
        }
      }
      if (Shape::kHasAlpha && !opaque) {
#pragma unroll 1
        for (int i = 0; i < Shape::kLoads; i++) {
          const uint4 *const again = (const uint4 *)(stage + Pieces::place(i));
          if (Pieces::exists(i))
            convert_pixels(replicates ? with_border(*again, i) : *again, place(planes, i));
        }
      }
      return opaque;
    } else {
#pragma unroll
      for (int i = 0; i < Shape::kLoads; i++) {
        if (Pieces::exists(i))
          convert_samples(v[i], place(planes, i));
      }
      return true;
    }
  }
};

} // namespace cf::fir
