/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Loads the source to shared memory, for the kernels on tensor cores: asynchronous copies of 16
 * rows in each step, borders included.
 *
 * The grid is one wave, so the slowest CTA determines the time: the extra work of strips at the
 * picture's left and right border must be small, and must not wait for memory.
 */
#pragma once

#include "cuda/fir/mma_shape.cuh"
#include "cuda/fir/pixel.cuh"

namespace cf::fir
{

/* The pieces of 16 bytes that a thread copies and converts, all in one of the 16 rows. The threads
 * of a row are in one warp, so that a warp waits for its own copies only. With pixels of four
 * bytes, half a warp stores 128 bytes of fp16 at a time, to the rows that its 16 threads have:
 * these are chosen so far apart that they start in different banks. */
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

  /* The offset of piece `i` in a stage. */
  __device__ static int offset(int i)
  {
    return (row() * Shape::kPieces + piece(i)) * 16;
  }
};

/* How a strip with its halo overlaps the picture along a row: words outside on the left, whole
 * pieces inside, words on the right (partly inside, or outside). */
template <typename Shape> struct StripEdges {
  static constexpr int kWordPixels = 4 / Shape::kPixelBytes;
  const int left;                 /* first pixel of the first piece */
  const int first_full, end_full; /* pixels in pieces that lie in the picture as a whole */
  const int words_before, words;  /* words before these pixels, and before and after them */
  const bool replicates;
  const bool replicates_pieces; /* whole pieces outside may be made of the nearest piece inside */

  __device__ StripEdges(const PlaneWork &work, int left)
      : left(left), first_full(max(left, 0)),
        end_full(min(left + Shape::kInputPixels,
                     work.width / Shape::kPiecePixels * Shape::kPiecePixels)),
        words_before((first_full - left) / kWordPixels),
        words(words_before +
              max(0, min(left + Shape::kInputPixels, round_up(work.width + Shape::kRadius, 4)) -
                         end_full) /
                  kWordPixels),
        replicates(work.border == CF_BORDER_REPLICATE),
        replicates_pieces(replicates && work.width % Shape::kPiecePixels == 0)
  {
  }

  /* Whether no piece has a pixel outside the picture. */
  __device__ bool is_inner() const
  {
    return end_full - first_full == Shape::kInputPixels;
  }

  /* Whether some pixels of a stage are never copied, since no tap other than 0 reads them. */
  __device__ bool have_uncopied() const
  {
    return !replicates_pieces &&
           end_full + (words - words_before) * kWordPixels != left + Shape::kInputPixels;
  }

  /* Whether copied words need replicate_into_piece(). */
  __device__ bool need_replication() const
  {
    return (kWordPixels > 1 || Shape::kPacked || replicates_pieces) && words > 0 && replicates;
  }
};

/* The word of pixels of C bytes from pixel x of a row on, each as the border extends the row. */
template <int C>
__device__ inline uint32_t folded_word(const PlaneWork &work, uint32_t colour, const uint8_t *from,
                                       int x)
{
  uint32_t word = colour;

#pragma unroll
  for (int i = 0; i < 4 / C; i++) {
    const int folded = from ? fold_index(work.border, x + i, work.width) : -1;
    if (folded >= 0) {
      const uint32_t pixel = C == 1 ? from[folded] : *(const uint16_t *)(from + folded * 2);
      const uint32_t mask = (1u << 8 * C % 32) - 1;
      word = (word & ~(mask << 8 * C * i)) | pixel << 8 * C * i;
    }
  }
  return word;
}

/* The same for macropixel x; its two lumas may come from different macropixels. */
__device__ inline uint32_t folded_macropixel(const PlaneWork &work, uint32_t colour,
                                             const uint8_t *from, int x)
{
  const int chroma = from ? fold_index(work.border, x, work.width) : -1;
  uint32_t word = 0;

  if (chroma < 0)
    return colour;
#pragma unroll 1
  for (int i = 0; i < 2; i++) {
    const int luma = fold_index(work.border, 2 * x + i, 2 * work.width);
    word |= from[2 * luma + work.luma] << 8 * (2 * i + work.luma) |
            from[4 * chroma + 2 * i + 1 - work.luma] << 8 * (2 * i + 1 - work.luma);
  }
  return word;
}

/* Makes the words before and after the whole pieces: words of one pixel by a copy; words of several
 * pixel by pixel, except that with the border replicate the nearest word is copied, of which
 * replicate_into_piece() later makes the border. */
template <typename Shape>
__device__ inline void copy_outer_words(const PlaneWork &work, uint32_t colour,
                                        const StripEdges<Shape> &edges, uint32_t to,
                                        const uint8_t *from)
{
  typedef ThreadPieces<Shape> Pieces;
  constexpr int C = Shape::kPixelBytes, kWordPixels = 4 / C;
  const int last = (work.width - 1) / kWordPixels * kWordPixels;

#pragma unroll 1
  for (int i = Pieces::piece(0); i < edges.words; i += Shape::kRowThreads) {
    const int x = i < edges.words_before ? edges.left + i * kWordPixels
                                         : edges.end_full + (i - edges.words_before) * kWordPixels;
    const uint32_t place = to + Pieces::row() * Shape::kPieces * 16 + (x - edges.left) * C;

    if (edges.replicates) {
      const int nearest = min(max(x, 0), last);
      cp_async_zero_fill<4>(place, from + nearest * C,
                            C == 4 ? 4 : min(4, (work.width - nearest) * C));
    } else if constexpr (Shape::kPacked) {
      st_shared(place, folded_macropixel(work, colour, from, x));
    } else if constexpr (C == 4) {
      const int folded = from ? fold_index(work.border, x, work.width) : -1;
      if (folded < 0)
        st_shared(place, colour);
      else
        cp_async_zero_fill<4>(place, from + folded * 4, 4);
    } else {
      st_shared(place, folded_word<C>(work, colour, from, x));
    }
  }
}

/* Copies 16 rows of the strip to a stage: whole pieces, and around them words of four bytes. */
template <typename Shape> class RowCopier
{
  typedef ThreadPieces<Shape> Pieces;
  static constexpr int C = Shape::kPixelBytes;
  const PlaneWork &work;
  const uint32_t colour; /* the constant border, a word */
  const StripEdges<Shape> edges;
  const uint32_t stages;

  /* The source row that stands for row y; NULL for the constant border. */
  __device__ const uint8_t *row_at(int y) const
  {
    const int from = source_row(work, y);

    return from < 0 ? nullptr : work.source + (ptrdiff_t)from * work.source_stride;
  }

  /* StripEdges.replicates_pieces: pieces outside are copies of the nearest piece. */
  __device__ void copy_nearest_pieces(uint32_t to, const uint8_t *from) const
  {
    const int last = work.width - Shape::kPiecePixels;

#pragma unroll
    for (int i = 0; i < Shape::kLoads; i++) {
      const int x = edges.left + Pieces::piece(i) * Shape::kPiecePixels;
      if (Pieces::exists(i))
        cp_async<16>(to + Pieces::offset(i), from + min(max(x, 0), last) * C);
    }
  }

  __device__ void copy_pieces(uint32_t to, const uint8_t *from) const
  {
#pragma unroll
    for (int i = 0; i < Shape::kLoads; i++) {
      const int x = edges.left + Pieces::piece(i) * Shape::kPiecePixels;
      if (Pieces::exists(i) && x >= edges.first_full && x < edges.end_full) {
        if (from) {
          cp_async<16>(to + Pieces::offset(i), from + x * C);
        } else {
          for (int word = 0; word < 4; word++)
            st_shared(to + Pieces::offset(i) + 4 * word, colour);
        }
      }
    }
  }

public:
  __device__ RowCopier(const PlaneWork &work, uint32_t colour, const StripEdges<Shape> &edges,
                       const uint8_t *stages)
      : work(work), colour(colour), edges(edges), stages(smem_address(stages))
  {
  }

  /* Sets the pixels that are never copied to opaque white. Taps of 0 multiply them, so they must
   * be finite, and they must not make the strip count as translucent. */
  __device__ void fill_uncopied(uint8_t *stages) const
  {
    if (!edges.have_uncopied())
      return;
    for (int i = threadIdx.x; i < Shape::kStages * Shape::kStageBytes / 16; i += Shape::kThreads)
      ((uint4 *)stages)[i] = make_uint4(~0u, ~0u, ~0u, ~0u);
    Shape::synchronize();
  }

  /* Starts the copies of 16 rows that, like all pieces, are inside the picture. `from` is the
   * thread's first piece. */
  __device__ void fetch_inner(int stage, const uint8_t *from) const
  {
    const uint32_t to = stages + stage * Shape::kStageBytes + Pieces::offset(0);

#pragma unroll
    for (int i = 0; i < Shape::kLoads; i++) {
      if (Pieces::exists(i))
        cp_async<16>(to + i * Shape::kRowThreads * 16, from + i * Shape::kRowThreads * 16);
    }
    cp_async_commit();
  }

  /* Starts the copies of 16 rows from y0 on; with `wanted` false only commits an empty group. */
  __device__ void fetch(int stage, bool wanted, int y0) const
  {
    const uint32_t to = stages + stage * Shape::kStageBytes;

    if (wanted) {
      const uint8_t *from = row_at(y0 + Pieces::row());

      if (edges.replicates_pieces) {
        copy_nearest_pieces(to, from);
      } else {
        copy_pieces(to, from);
        if (edges.words > 0)
          copy_outer_words(work, colour, edges, to, from);
      }
    }
    cp_async_commit();
  }
};

/* Starts the copies of one step after the other; inside the picture by incremented addresses,
 * without border arithmetic. */
template <typename Shape> class StepFetcher
{
  typedef ThreadPieces<Shape> Pieces;
  const RowCopier<Shape> &copier;
  const PlaneWork &work;
  const bool inner;
  const int y0, steps;
  const uint8_t *next; /* the thread's first piece of the next step */

public:
  __device__ StepFetcher(const RowCopier<Shape> &copier, const PlaneWork &work,
                         const StripEdges<Shape> &edges, int y0, int steps)
      : copier(copier), work(work), inner(edges.is_inner()), y0(y0), steps(steps),
        next(work.source + (ptrdiff_t)(y0 + Pieces::row()) * work.source_stride +
             (edges.left + Pieces::piece(0) * Shape::kPiecePixels) * Shape::kPixelBytes)
  {
  }

  /* Must be called with step = 0, 1, 2, ... */
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

} // namespace cf::fir
