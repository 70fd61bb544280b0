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

/* Loads a thread's bytes of the warp's tiles, 16 of each chunk. */
template <int C, int D> struct SourceLoader {
  typedef DecimateTile<C, D> Tile;
  static constexpr int kChunks = Tile::kChunks + (kTilesPerWarp - 1) * Tile::kShift;
  static constexpr int kPixels = 16 / C;

  const U8Plane &plane;
  int x;             /* the thread's first pixel in the first chunk */
  int end;           /* pixels from here on are not needed */
  bool inside;       /* all of the warp's pixels lie in the row */
  bool repeats_edge; /* the border repeats the pixels at the edge, or is constant */
  bool vector_loads; /* in rows inside, any 16 bytes can be made of 16 aligned ones */

  __device__ SourceLoader(const U8Plane &plane, int column) : plane(plane)
  {
    const int left = D * column - Tile::kBefore;

    x = left + (int)threadIdx.x % 4 * kPixels;
    end = D * (plane.left + plane.fine_pitch) + Tile::kTaps;
    inside = left >= 0 && left + kChunks * Tile::kPixels <= plane.width;
    repeats_edge = plane.x.border == CF_BORDER_REPLICATE || plane.x.border == CF_BORDER_CONSTANT;
    vector_loads = plane.source_vector && plane.width % kPixels == 0 && (inside || repeats_edge);
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

  __device__ int row_of(int step) const
  {
    return 16 * step + plane.y.prefilter_first + (int)threadIdx.x % 32 / 4;
  }

  /* Whether a step reads rows outside the picture that are not those at its edge. */
  __device__ bool folds_rows(int step) const
  {
    const int top = 16 * step + plane.y.prefilter_first;

    return !repeats_edge && (top < 0 || top + 16 > plane.height);
  }

  /* Starts the loads of rows g and g + 8 of a step, g = lane / 4. Outside the picture the pixels at
   * its edge are loaded, of which complete() makes the border. */
  __device__ void fetch(int step, uint4 (&to)[2][kChunks]) const
  {
    const int y = row_of(step);

    if (!vector_loads || folds_rows(step)) {
      Words words;

      load_any(y, words);
#pragma unroll
      for (int i = 0; i < 2 * kChunks; i++)
        to[i / kChunks][i % kChunks] = words.row[i / kChunks][i % kChunks];
      return;
    }
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const int row = min(max(y + 8 * h, plane.readable_first), plane.readable_end - 1);
      const uint8_t *from = plane.source + (ptrdiff_t)row * plane.source_stride;

#pragma unroll
      for (int c = 0; c < kChunks; c++)
        to[h][c] = __ldg((const uint4 *)(from + nearest(x_of(c))));
    }
  }

  /* Waits for what fetch() loads, and makes the border of it. `luma_bytes`: see U8Plane. */
  __device__ void complete(int step, uint32_t luma_bytes, uint4 (&to)[2][kChunks]) const
  {
    const int y = row_of(step);

    if (!vector_loads)
      return;
    if (!inside)
      extend_columns(luma_bytes, to);
    if (plane.y.border == CF_BORDER_CONSTANT) {
#pragma unroll
      for (int h = 0; h < 2; h++) {
        if (y + 8 * h < 0 || y + 8 * h >= plane.height)
          fill_border(to[h]);
      }
    }
  }

  /* The border along rows. */
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
        const uint32_t pixel = x0 < 0 ? to[h][c].x : to[h][c].w >> (32 - 8 * (C % 4)) % 32;
        const uint32_t edge = (edge_of(pixel, x0 < 0, luma_bytes) & mask) | border;

        to[h][c].x = outside ? edge : to[h][c].x;
        to[h][c].y = outside ? edge : to[h][c].y;
        to[h][c].z = outside ? edge : to[h][c].z;
        to[h][c].w = outside ? edge : to[h][c].w;
      }
    }
  }

  __device__ void fill_border(uint4 (&to)[kChunks]) const
  {
#pragma unroll
    for (int c = 0; c < kChunks; c++)
      to[c] = splat(plane.border);
  }

  /* Whether the 16 bytes from pixel x0 on lie in the row, and can be loaded at once. */
  __device__ bool is_vector(int x0) const
  {
    return plane.source_vector && x0 >= 0 && x0 + kPixels <= plane.width;
  }

  struct Words {
    uint4 row[2][kChunks];
  };

  /* Two rows with any alignment and border, at any distance outside the picture. Not inlined, to
   * keep it out of the code path of most frames. */
  __device__ __noinline__ void load_any(int y, Words &words) const
  {
    const SourceRow rows[2] = {SourceRow(plane, y), SourceRow(plane, y + 8)};
    uint4(&to)[2][kChunks] = words.row;

    /* Vectors first, so that all of them are in flight at once. */
#pragma unroll
    for (int i = 0; i < 2 * kChunks; i++) {
      const int h = i / kChunks, c = i % kChunks;

      to[h][c] = is_vector(x_of(c)) ? __ldg((const uint4 *)(rows[h].first + (ptrdiff_t)C * x_of(c)))
                                    : splat(0);
    }
#pragma unroll 1
    for (int h = 0; h < 2; h++) {
#pragma unroll 1
      for (int c = 0; c < kChunks; c++) {
        if (!is_vector(x_of(c)) && x_of(c) < end)
          to[h][c] = gather_pixels<C>(plane, rows[h].first, x_of(c));
      }
      if (rows[h].border)
        fill_border(to[h]);
    }
  }
};

} // namespace cf::pyramid
