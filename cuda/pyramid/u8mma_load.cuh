/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Loads of a warp of the decimation: each thread loads 16 bytes of a row, four threads a chunk of
 * 64 bytes, eight rows at a time: the right matrices of the products along rows.
 */
#pragma once

#include "cuda/pyramid/u8mma.cuh"

namespace cf::pyramid
{

/* Row `y` of the source, as the border extends it. */
struct SourceRow {
  const uint8_t *first; /* pixel of the row */
  bool border;          /* all of it is the constant border */

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

/* The 16 bytes of pixels from `x` on, each as the border extends the row. Not inlined: one copy of
 * the code. */
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

/* Whether all samples that are read lie at most one picture size outside, so that a border mode
 * maps them into the picture by one reflection or shift. */
__device__ inline bool folds_once(const U8Axis &axis)
{
  const int first = axis.decimation * axis.stored_first + axis.prefilter_first;
  const int end =
      axis.decimation * (axis.stored_end - 1) + axis.prefilter_first + axis.prefilter_count;

  return first > -axis.size && end < 2 * axis.size;
}

/* Loads a thread's bytes of the warp's tiles, 16 of each chunk. `Folds` is U8LaunchPlan.folds;
 * kernels without it have less code to fetch. */
template <int C, int D, bool Folds> struct SourceLoader {
  typedef DecimateTile<C, D> Tile;
  static constexpr int kChunks = Tile::kChunks + (kTilesPerWarp - 1) * Tile::kShift;
  static constexpr int kPixels = 16 / C;

  const U8Plane &plane;
  int x;                                /* the thread's first pixel in the first chunk */
  int end;                              /* pixels from here on are not needed */
  bool inside;                          /* all of the warp's pixels lie in the row */
  bool vector_loads;                    /* any 16 bytes can be made of 16 aligned bytes of a row */
  uint32_t folded[Folds ? kChunks : 1]; /* of each chunk, the offset in a row of these */

  __device__ SourceLoader(const U8Plane &plane, int column) : plane(plane)
  {
    const int left = D * column - Tile::kBefore;

    x = left + (int)threadIdx.x % 4 * kPixels;
    end = D * (plane.left + plane.fine_pitch) + Tile::kTaps;
    inside = left >= 0 && left + kChunks * Tile::kPixels <= plane.width;
    vector_loads = plane.source_vector && plane.width % kPixels == 0 &&
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

  /* The offset of the 16 bytes of a row that are nearest to pixel x0. */
  __device__ uint32_t nearest(int x0) const
  {
    return C * (uint32_t)min(max(x0, 0), plane.width - kPixels);
  }

  /* The first of the kPixels pixels inside that the pixels from x0 on repeat, in some order. With
   * reflect-101 one of those comes from the neighbouring thread: see reflect_101(). */
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

  __device__ static uint4 splat(uint32_t word)
  {
    return make_uint4(word, word, word, word);
  }

  __device__ static uint32_t repeat(uint32_t pixel)
  {
    return C == 1 ? (pixel & 0xff) * 0x01010101u : C == 2 ? __byte_perm(pixel, 0, 0x1010) : pixel;
  }

  /* A word of copies of the edge pixel, the first (`left`) or last of `pixel`. Of packed 4:2:2,
   * both lumas are copies of the one nearer to the edge. */
  __device__ static uint32_t edge_of(uint32_t pixel, bool left, uint32_t luma_bytes)
  {
    const uint32_t select = luma_bytes == 5 ? (left ? 0x3010 : 0x3212) : left ? 0x1210 : 0x3230;

    return luma_bytes ? __byte_perm(pixel, 0, select) : repeat(pixel);
  }

  __device__ static uint32_t reverse(uint32_t word)
  {
    return C == 1 ? __byte_perm(word, 0, 0x0123) : C == 2 ? __byte_perm(word, 0, 0x1032) : word;
  }

  __device__ static uint4 reverse(const uint4 &word)
  {
    return make_uint4(reverse(word.w), reverse(word.z), reverse(word.y), reverse(word.x));
  }

  /* The pixels of `word` but the first, then the first of `next`. */
  __device__ static uint4 skip_pixel(const uint4 &word, uint32_t next)
  {
    constexpr uint32_t kSelect = C == 1 ? 0x4321 : C == 2 ? 0x5432 : 0x7654;

    return make_uint4(__byte_perm(word.x, word.y, kSelect), __byte_perm(word.y, word.z, kSelect),
                      __byte_perm(word.z, word.w, kSelect), __byte_perm(word.w, next, kSelect));
  }

  /* The last pixel of `before`, then those of `word` but the last. */
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

  /* Starts the loads of rows g and g + 8 of a step, g = lane / 4. Outside the picture the pixels
   * inside are loaded of which complete() makes the border: all warps run the same code. */
  __device__ void fetch(int step, uint4 (&to)[2][kChunks]) const
  {
    const int y = row_of(step);

    if (!vector_loads) {
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

  /* Waits for what fetch() loads, and makes the border of it. `luma_bytes`: see U8Plane. */
  __device__ void complete(int step, uint32_t luma_bytes, uint4 (&to)[2][kChunks]) const
  {
    const int y = row_of(step);

    if (!vector_loads)
      return;
    if (!inside) {
      if (Folds && plane.x.border == CF_BORDER_REFLECT_101) {
        reflect_101(to[0]);
        reflect_101(to[1]);
      } else {
        extend_columns(luma_bytes, to);
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

  /* The border along rows, but for reflect-101. */
  __device__ void extend_columns(uint32_t luma_bytes, uint4 (&to)[2][kChunks]) const
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
          const uint32_t edge = (edge_of(pixel, x0 < 0, luma_bytes) & mask) | border;

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

  /* The border reflect-101 along rows: the reflection is shifted by one pixel against the 16 bytes
   * that fold_columns() chose, and the missing pixel is in the next thread's. */
  __device__ void reflect_101(uint4 (&to)[kChunks]) const
  {
#pragma unroll
    for (int c = 0; c < kChunks; c++) {
      const uint4 next = shuffle_from_next(to[c], to[min(c + 1, kChunks - 1)]);
      const int x0 = x_of(c);

      if (x0 < 0)
        to[c] = reverse(skip_pixel(next, to[c].x));
      else if (x0 >= plane.width)
        to[c] = reverse(insert_pixel(next.w, to[c]));
    }
  }

  /* `own` of the next of the four threads of a row; the last thread gets the first one's
   * `following`. */
  __device__ static uint4 shuffle_from_next(const uint4 &own, const uint4 &following)
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
      to[c] = splat(plane.border);
  }

  struct Words {
    uint4 row[2][kChunks];
  };

  /* Two rows with any alignment, and any distance outside the picture. Not inlined, to keep it out
   * of the code path of most frames. */
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
          to[h][c] = splat(0);
      }
      if (row.border)
        fill_border(to[h]);
    }
  }
};

} // namespace cf::pyramid
