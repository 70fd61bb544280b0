/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How a warp that decimates loads the source: 16 bytes a thread, of 8 rows at once, as the products
 * of matrices want them.
 */
#pragma once

#include "cuda/pyramid/u8mma.cuh"

namespace cf::pyramid
{

/* A row of the source, or that of the constant border. */
struct SourceRow {
  const uint8_t *first;
  bool border;

  __device__ SourceRow(const U8Plane &plane, int y)
  {
    const int folded = fold_index(plane.y.border, y, plane.height);
    const int readable = min(max(folded, plane.readable_first), plane.readable_end - 1);

    first = plane.source + (ptrdiff_t)readable * plane.source_stride;
    border = folded < 0;
  }
};

template <int C> __device__ inline uint32_t load_pixel(const U8Plane &plane, const uint8_t *from)
{
  uint32_t value = 0;

  if (C == 4 && plane.source_vector)
    return __ldg((const uint32_t *)from);
#pragma unroll
  for (int c = 0; c < C; c++)
    value |= (uint32_t)from[c] << 8 * c;
  return value;
}

/* 16 bytes of pixels inside and outside. Apart, so that there is one copy of it. */
template <int C>
__device__ __noinline__ uint4 gather_pixels(const U8Plane &plane, const uint8_t *row, int x)
{
  constexpr uint32_t kMask = C == 4 ? 0xffffffffu : (1u << 8 * (C % 4)) - 1;
  uint32_t word[4] = {};

#pragma unroll
  for (int i = 0; i < 16 / C; i++) {
    const int from = fold_index(plane.x.border, x + i, plane.width);
    const uint32_t value =
        from < 0 ? plane.border : load_pixel<C>(plane, row + (ptrdiff_t)from * C);

    word[C * i / 4] |= (value & kMask) << 8 * (C * i % 4);
  }
  return make_uint4(word[0], word[1], word[2], word[3]);
}

/* Whether all that fine samples read is at most as far outside as the picture is large, so that
 * folding once is enough. */
__device__ inline bool folds_once(const U8Axis &axis)
{
  const int first = axis.decimation * axis.stored_first + axis.prefilter_first;
  const int end =
      axis.decimation * (axis.stored_end - 1) + axis.prefilter_first + axis.prefilter_count;

  return first > -axis.size && end < 2 * axis.size;
}

/* The bytes of two tiles in one row for a thread, 16 of each chunk. With `Folds` what is outside is
 * elsewhere in the picture: then kernels are others, since warps wait for instructions too. */
template <int C, int D, bool Folds> struct SourceLoader {
  typedef DecimateTile<C, D> Tile;
  static constexpr int kChunks = Tile::kChunks + (kTilesPerWarp - 1) * Tile::kShift;
  static constexpr int kPixels = 16 / C;

  const U8Plane &plane;
  int x;                                /* first pixel of the thread in the first chunk */
  int end;                              /* pixels from here on are not needed */
  bool inside;                          /* all chunks of the warp are */
  bool simple;                          /* what is outside can be made of 16 bytes inside */
  uint32_t folded[Folds ? kChunks : 1]; /* byte of a row that stands for the pixels */

  __device__ SourceLoader(const U8Plane &plane, int column) : plane(plane)
  {
    const int left = D * column - Tile::kBefore;

    x = left + (int)threadIdx.x % 4 * kPixels;
    end = D * (plane.left + plane.fine_pitch) + Tile::kTaps;
    inside = left >= 0 && left + kChunks * Tile::kPixels <= plane.width;
    simple = plane.source_vector && plane.width % kPixels == 0 &&
             (!Folds || (folds_once(plane.x) && folds_once(plane.y)));
    if constexpr (Folds) {
#pragma unroll
      for (int c = 0; c < kChunks; c++)
        folded[c] = nearest(fold_columns(x_of(c)));
    }
  }

  __device__ int x_of(int chunk) const
  {
    return x + chunk * Tile::kPixels;
  }

  /* Byte in a row where 16 can be loaded. */
  __device__ uint32_t nearest(int x0) const
  {
    return C * (uint32_t)min(max(x0, 0), plane.width - kPixels);
  }

  /* The pixels that, in another order, are those from x0 on; with the border reflect-101 one of
   * them and all but one of those that the next thread loads. */
  __device__ int fold_columns(int x0) const
  {
    const int width = plane.width;

    if (x0 >= 0 && x0 < width)
      return x0;
    if (plane.x.border == CF_BORDER_WRAP)
      return x0 < 0 ? x0 + width : x0 - width;
    if (plane.x.border == CF_BORDER_REFLECT)
      return x0 < 0 ? -x0 - kPixels : 2 * width - x0 - kPixels;
    if (plane.x.border == CF_BORDER_REFLECT_101)
      return x0 < 0 ? -x0 : 2 * width - x0 - kPixels;
    return x0;
  }

  __device__ int fold_row(int y) const
  {
    const int height = plane.height, edge = plane.y.border == CF_BORDER_REFLECT_101 ? 0 : 1;

    if (plane.y.border == CF_BORDER_WRAP)
      return y < 0 ? y + height : y < height ? y : y - height;
    return y < 0 ? -y - edge : y < height ? y : 2 * height - 2 + edge - y;
  }

  __device__ static uint4 all(uint32_t word)
  {
    return make_uint4(word, word, word, word);
  }

  __device__ static uint32_t repeat(uint32_t pixel)
  {
    return C == 1 ? (pixel & 0xff) * 0x01010101u : C == 2 ? __byte_perm(pixel, 0, 0x1010) : pixel;
  }

  /* With packed 4:2:2 the nearest luma in the place of the farther one. */
  __device__ static uint32_t edge_of(uint32_t pixel, bool left, uint32_t lumas)
  {
    const uint32_t select = lumas == 5 ? (left ? 0x3010 : 0x3212) : left ? 0x1210 : 0x3230;

    return lumas ? __byte_perm(pixel, 0, select) : repeat(pixel);
  }

  __device__ static uint32_t reverse(uint32_t word)
  {
    return C == 1 ? __byte_perm(word, 0, 0x0123) : C == 2 ? __byte_perm(word, 0, 0x1032) : word;
  }

  __device__ static uint4 reverse(const uint4 &word)
  {
    return make_uint4(reverse(word.w), reverse(word.z), reverse(word.y), reverse(word.x));
  }

  /* All but the first pixel of eight words' first half, and the next. */
  __device__ static uint4 skip_pixel(const uint4 &word, uint32_t next)
  {
    constexpr uint32_t kSelect = C == 1 ? 0x4321 : C == 2 ? 0x5432 : 0x7654;

    return make_uint4(__byte_perm(word.x, word.y, kSelect), __byte_perm(word.y, word.z, kSelect),
                      __byte_perm(word.z, word.w, kSelect), __byte_perm(word.w, next, kSelect));
  }

  /* The last pixel of `before`, and all but the last of the words. */
  __device__ static uint4 insert_pixel(uint32_t before, const uint4 &word)
  {
    constexpr uint32_t kSelect = C == 1 ? 0x6543 : C == 2 ? 0x5432 : 0x3210;

    return make_uint4(__byte_perm(before, word.x, kSelect), __byte_perm(word.x, word.y, kSelect),
                      __byte_perm(word.y, word.z, kSelect), __byte_perm(word.z, word.w, kSelect));
  }

  __device__ int row_of(int step) const
  {
    return 16 * step + plane.y.prefilter_first + (int)threadIdx.x % 32 / 4;
  }

  /* Rows g and g + 8 of a step. What lies outside is loaded from the place inside that stands for
   * it: all warps run the same instructions, so none waits for those that only borders need. */
  __device__ void fetch(int step, uint4 (&to)[2][kChunks]) const
  {
    const int y = row_of(step);

    if (!simple) {
      Words words;

      load_any(y, words);
#pragma unroll
      for (int i = 0; i < 2 * kChunks; i++)
        to[i / kChunks][i % kChunks] = words.row[i / kChunks][i % kChunks];
      return;
    }
#pragma unroll
    for (int h = 0; h < 2; h++) {
      int row = y + 8 * h;

      if (Folds)
        row = fold_row(row);
      row = min(max(row, plane.readable_first), plane.readable_end - 1);
      const uint8_t *from = plane.source + (ptrdiff_t)row * plane.source_stride;

#pragma unroll
      for (int c = 0; c < kChunks; c++)
        to[h][c] = __ldg(
            (const uint4 *)(from + (Folds ? folded[c % (Folds ? kChunks : 1)] : nearest(x_of(c)))));
    }
  }

  /* Makes what lies outside of what was loaded. Apart, since it waits for that. `lumas`: see
   * U8Plane.
   */
  __device__ void complete(int step, uint32_t lumas, uint4 (&to)[2][kChunks]) const
  {
    const int y = row_of(step);

    if (!simple)
      return;
    if (!inside) {
      if (Folds && plane.x.border == CF_BORDER_REFLECT_101) {
        mirror_at_pixels(to[0]);
        mirror_at_pixels(to[1]);
      } else {
        make_outside(lumas, to);
      }
    }
    if (plane.y.border == CF_BORDER_CONSTANT) {
#pragma unroll
      for (int h = 0; h < 2; h++) {
        if (y + 8 * h < 0 || y + 8 * h >= plane.height)
          fill_border(to[h]);
      }
    }
  }

  __device__ void make_outside(uint32_t lumas, uint4 (&to)[2][kChunks]) const
  {
    const bool constant = plane.x.border == CF_BORDER_CONSTANT;
    const uint32_t mask = constant ? 0 : 0xffffffff, border = constant ? plane.border : 0;

#pragma unroll
    for (int c = 0; c < kChunks; c++) {
      const int x0 = x_of(c);
      const bool outside = x0 < 0 || x0 >= plane.width;

#pragma unroll
      for (int h = 0; h < 2; h++) {
        if (!Folds) {
          const uint32_t pixel = x0 < 0 ? to[h][c].x : to[h][c].w >> (32 - 8 * (C % 4)) % 32;
          const uint32_t edge = (edge_of(pixel, x0 < 0, lumas) & mask) | border;

          to[h][c].x = outside ? edge : to[h][c].x;
          to[h][c].y = outside ? edge : to[h][c].y;
          to[h][c].z = outside ? edge : to[h][c].z;
          to[h][c].w = outside ? edge : to[h][c].w;
        } else if (outside && plane.x.border == CF_BORDER_REFLECT) {
          to[h][c] = reverse(to[h][c]);
        }
      }
    }
  }

  /* What the next thread loaded are the pixels nearer to the picture. */
  __device__ void mirror_at_pixels(uint4 (&to)[kChunks]) const
  {
#pragma unroll
    for (int c = 0; c < kChunks; c++) {
      const uint4 next = of_next_thread(to[c], to[min(c + 1, kChunks - 1)]);
      const int x0 = x_of(c);

      if (x0 < 0)
        to[c] = reverse(skip_pixel(next, to[c].x));
      else if (x0 >= plane.width)
        to[c] = reverse(insert_pixel(next.w, to[c]));
    }
  }

  /* The next of four threads has `own` of it, the last of them the first one's `following`. */
  __device__ static uint4 of_next_thread(const uint4 &own, const uint4 &following)
  {
    const int lane = (int)threadIdx.x % 32, from = (lane & ~3) | ((lane + 1) & 3);
    const uint4 give = lane % 4 == 0 ? following : own;

    return make_uint4(
        __shfl_sync(0xffffffffu, give.x, from), __shfl_sync(0xffffffffu, give.y, from),
        __shfl_sync(0xffffffffu, give.z, from), __shfl_sync(0xffffffffu, give.w, from));
  }

  __device__ void fill_border(uint4 (&to)[kChunks]) const
  {
#pragma unroll
    for (int c = 0; c < kChunks; c++)
      to[c] = all(plane.border);
  }

  struct Words {
    uint4 row[2][kChunks];
  };

  /* Where a picture is smaller than what fine samples read outside, or rows do not start and end
   * with 16 bytes. A function of its own: inlined, it stands between what all frames run. */
  __device__ __noinline__ void load_any(int y, Words &words) const
  {
    uint4(&to)[2][kChunks] = words.row;

#pragma unroll 1
    for (int h = 0; h < 2; h++) {
      const SourceRow row(plane, y + 8 * h);

#pragma unroll 1
      for (int c = 0; c < kChunks; c++) {
        const int x0 = x_of(c);

        if (plane.source_vector && x0 >= 0 && x0 + kPixels <= plane.width)
          to[h][c] = __ldg((const uint4 *)(row.first + (ptrdiff_t)C * x0));
        else if (x0 < end)
          to[h][c] = gather_pixels<C>(plane, row.first, x0);
        else
          to[h][c] = all(0);
      }
      if (row.border)
        fill_border(to[h]);
    }
  }
};

} // namespace cf::pyramid
