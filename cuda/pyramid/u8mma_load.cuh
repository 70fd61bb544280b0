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

/* The bytes of two tiles in one row for a thread, 16 of each chunk. */
template <int C, int D> struct SourceLoader {
  typedef DecimateTile<C, D> Tile;
  static constexpr int kChunks = Tile::kChunks + (kTilesPerWarp - 1) * Tile::kShift;
  static constexpr int kPixels = 16 / C;

  const U8Plane &plane;
  int x;       /* first pixel of the thread in the first chunk */
  int end;     /* pixels from here on are not needed */
  bool inside; /* all chunks of the warp are */
  bool simple; /* what is outside in a row can be made of 16 bytes inside */

  __device__ SourceLoader(const U8Plane &plane, int column) : plane(plane)
  {
    const int left = D * column - Tile::kBefore;

    x = left + (int)threadIdx.x % 4 * kPixels;
    end = D * (plane.left + plane.fine_pitch) + Tile::kTaps;
    inside = left >= 0 && left + kChunks * Tile::kPixels <= plane.width;
    simple = plane.source_vector && plane.width % kPixels == 0 &&
             (inside || !border_folds(plane.x.border));
  }

  __device__ int x_of(int chunk) const
  {
    return x + chunk * Tile::kPixels;
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

  __device__ int row_of(int step) const
  {
    return 16 * step + plane.y.prefilter_first + (int)threadIdx.x % 32 / 4;
  }

  /* Rows g and g + 8 of a step. What lies outside is loaded from the nearest place inside: all
   * warps run the same instructions, so none waits for those that only borders need. */
  __device__ void fetch(int step, uint4 (&to)[2][kChunks]) const
  {
    const int y = row_of(step), top = y - (int)threadIdx.x % 32 / 4;
    const bool rows_inside = top >= 0 && top + 16 <= plane.height;

    if (!simple || (!rows_inside && border_folds(plane.y.border))) {
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
        to[h][c] = __ldg((const uint4 *)(from + C * min(max(x_of(c), 0), plane.width - kPixels)));
    }
  }

  /* Makes what lies outside of what was loaded. Apart, since it waits for that. `lumas`: see
   * U8Plane. */
  __device__ void complete(int step, uint32_t lumas, uint4 (&to)[2][kChunks]) const
  {
    const int y = row_of(step);

    if (!simple)
      return;
    if (!inside)
      make_outside(lumas, to);
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

#pragma unroll
    for (int c = 0; c < kChunks; c++) {
      const int x0 = x_of(c);

#pragma unroll
      for (int h = 0; h < 2; h++) {
        const uint32_t pixel = x0 < 0 ? to[h][c].x : to[h][c].w >> (32 - 8 * (C % 4)) % 32;

        if (x0 < 0 || x0 >= plane.width)
          to[h][c] = all(constant ? plane.border : edge_of(pixel, x0 < 0, lumas));
      }
    }
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

  /* Where what is outside is elsewhere in the picture, or rows do not start and end with 16 bytes.
   * Apart, since its instructions between those of all others cost 2 us. */
  __device__ __noinline__ void load_any(int y, Words &words) const
  {
    const auto is_whole = [&](int x0) {
      return plane.source_vector && x0 >= 0 && x0 + kPixels <= plane.width;
    };

#pragma unroll 1
    for (int h = 0; h < 2; h++) {
      const SourceRow row(plane, y + 8 * h);
      uint4(&to)[kChunks] = words.row[h];

#pragma unroll
      for (int c = 0; c < kChunks; c++)
        to[c] = is_whole(x_of(c)) ? __ldg((const uint4 *)(row.first + C * x_of(c))) : all(0);
#pragma unroll 1
      for (int c = 0; c < kChunks; c++) {
        if (x_of(c) < end && !is_whole(x_of(c)))
          to[c] = gather_pixels<C>(plane, row.first, x_of(c));
      }
      if (row.border)
        fill_border(to);
    }
  }
};

} // namespace cf::pyramid
