/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Halves frames by the taps 1 3 3 1 over 8 and their halved images by 1 5 10 10 5 1 over 32, along
 * one axis or both.
 */
#include "blurmap_cells.cuh"
#include "blurmap_mma.cuh"

namespace
{

constexpr int kLanes = 30; /* of a warp that make cells of a frame: the outer ones only load */

__device__ inline CfCellHalving halving_of_block(const CfCellJob &job, int *block)
{
  const bool near = job.halvings <= kCellNearHalvings;
  int i = 0;

  while (i + 1 < job.halvings &&
         (int)blockIdx.x >= (near ? job.near : job.halving)[i + 1].first_block)
    i++;
  const CfCellHalving halving = near ? job.near[i] : job.halving[i];
  *block = (int)blockIdx.x - halving.first_block;
  return halving;
}

/* 2^23 more than one of two numbers of 16 bits. */
__device__ inline float low_float(uint32_t pair)
{
  return __uint_as_float(__byte_perm(pair, 0x4b000000u, 0x7610));
}

__device__ inline float high_float(uint32_t pair)
{
  return __uint_as_float(__byte_perm(pair, 0x4b000000u, 0x7632));
}

/* ---- frames: sums of two samples at a time in the halves of a word, in quarters of a code ---- */

/* Pixels that a lane reads at a time, in four words; of three channels in three. */
template <int C> constexpr int kPixels = C == 3 ? 4 : 16 / C;
template <int C> constexpr int kWords = C == 3 ? 3 : 4;

/* Of a lane's folded columns in shared memory: odd, for the banks. */
template <int C> constexpr int kPitch = kPixels<C> + 1;

/* Of a pixel two channels, or of one channel two cells, share a word. */
template <int C> constexpr int kPairs = C > 2 ? 2 : 1;
template <int C, bool Across> constexpr int kCells = kPixels<C> / (Across ? 2 : 1);
template <int C, bool Across>
constexpr int kSums = C == 1 ? kCells<C, Across> / 2 : kCells<C, Across> *kPairs<C>;

template <int C> __device__ inline uint32_t pixel_of(const uint32_t (&words)[kWords<C>], int i)
{
  if (C == 4)
    return words[i];
  const int byte = i * C, shift = byte % 4 * 8;
  const uint32_t low = words[byte / 4], high = words[min(byte / 4 + 1, kWords<C> - 1)];
  return __funnelshift_r(low, high, (unsigned)shift);
}

/* Where a lane's pixels lie: side by side in the plane, or wherever the border puts each of them.
 */
template <int C> struct Columns {
  bool whole;
  int x;
  int side;          /* -1 or 1 where all are copies of the first or last pixel of those at x */
  const int *folded; /* of the lane, in shared memory */
};

template <int C>
__device__ inline Columns<C> find_columns(const CfMapJob &job, const CfMapPlane &plane, int x,
                                          bool used, int *folded)
{
  const bool whole = plane.vector && x >= 0 && x + kPixels<C> <= plane.width;

  if (plane.vector && job.border == CF_BORDER_REPLICATE && plane.width % kPixels<C> == 0)
    return Columns<C>{true, min(max(x, 0), plane.width - kPixels<C>),
                      whole   ? 0
                      : x < 0 ? -1
                              : 1,
                      folded};
  if (!whole || job.border == CF_BORDER_CONSTANT) {
#pragma unroll 1
    for (int i = 0; i < kPixels<C>; i++)
      folded[i] = cf_fold(job.border, x + i, plane.width);
  }
  if (!used && plane.vector && plane.width >= kPixels<C>)
    return Columns<C>{true, 0, 0, folded};
  return Columns<C>{whole, x, 0, folded};
}

/* Copies a lane's first or last pixel to all, where they lie outside the plane. */
template <int C>
__device__ inline void spread_outer(const Columns<C> &columns, uint32_t (&words)[kWords<C>])
{
  if (columns.side == 0)
    return;
  const uint32_t pixel =
      columns.side < 0 ? pixel_of<C>(words, 0) : pixel_of<C>(words, kPixels<C> - 1);
#pragma unroll
  for (int w = 0; w < kWords<C>; w++) {
    unsigned select = 0;

#pragma unroll
    for (int i = 0; i < 4; i++)
      select |= (unsigned)((4 * w + i) % C) << 4 * i;
    words[w] = __byte_perm(pixel, 0, select);
  }
}

/* Where they lie apart. */
template <int C>
__device__ inline uint4 outer_pixels(const CfMapPlane &plane, const int *folded, int row)
{
  uint32_t pixel[kPixels<C>], words[4] = {};

#pragma unroll
  for (int i = 0; i < kPixels<C>; i++)
    pixel[i] = cf_cell_folded_pixel<C>(plane, folded[i], row);
#pragma unroll
  for (int i = 0; i < kPixels<C> * C; i++)
    words[i / 4] |= (pixel[i / C] >> 8 * (i % C) & 255) << i % 4 * 8;
  return make_uint4(words[0], words[1], words[2], words[3]);
}

template <int C>
__device__ inline void load_pixels(const CfMapJob &job, const CfMapPlane &plane,
                                   const Columns<C> &columns, int y, uint32_t (&words)[kWords<C>])
{
  const int row = cf_fold(job.border, y, plane.height);
  const uint8_t *from =
      plane.source + (ptrdiff_t)row * plane.source_stride + (ptrdiff_t)columns.x * C;
  const bool whole = columns.whole && row >= 0;

  if (whole && C == 3) {
#pragma unroll
    for (int i = 0; i < kWords<C>; i++)
      words[i] = __ldg((const uint32_t *)from + i);
    return;
  }
  const uint4 four =
      whole ? __ldg((const uint4 *)from) : outer_pixels<C>(plane, columns.folded, row);
  words[0] = four.x;
  words[1] = four.y;
  words[2] = four.z;
  if (C != 3)
    words[kWords<C> - 1] = four.w;
}

/* Of a weighted colour, in quarters: 1028 / 65536 is about 4 / 255. */
__device__ inline uint32_t weigh_byte(uint32_t pixel, int i, uint32_t alpha)
{
  return ((pixel >> 8 * i & 255) * alpha * 1028 + 32768) >> 16;
}

/* A pixel's channels as pairs. */
template <int C> __device__ inline void unpack(uint32_t pixel, uint32_t (&pair)[kPairs<C>])
{
  pair[0] = __byte_perm(pixel, 0, C == 2 ? 0x4140 : 0x4240);
  if (C > 2)
    pair[kPairs<C> - 1] = __byte_perm(pixel, 0, 0x4341);
}

/* In quarters, weighted by alpha. */
__device__ inline void unpack_weighted(bool alpha_first, uint32_t pixel, uint32_t (&pair)[2])
{
  const uint32_t alpha = alpha_first ? pixel & 255 : pixel >> 24;
  const uint32_t first = alpha_first ? 4 * alpha : weigh_byte(pixel, 0, alpha);
  const uint32_t last = alpha_first ? weigh_byte(pixel, 3, alpha) : 4 * alpha;

  pair[0] = first | weigh_byte(pixel, 2, alpha) << 16;
  pair[1] = weigh_byte(pixel, 1, alpha) | last << 16;
}

/* All four of 1 3 3 1. */
__device__ inline uint32_t add_four(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
  return a + d + 3 * (b + c);
}

/* A lane's sums of the pixels before, in and after it. */
template <int C, bool Across>
__device__ inline void add_pairs(const uint32_t (&pair)[kPixels<C> + 2][kPairs<C>], uint32_t scale,
                                 uint32_t (&sum)[kSums<C, Across>])
{
#pragma unroll
  for (int i = 0; i < kCells<C, Across>; i++) {
#pragma unroll
    for (int k = 0; k < kPairs<C>; k++)
      sum[i * kPairs<C> + k] =
          scale * (Across
                       ? add_four(pair[Across ? 2 * i : 0][k], pair[Across ? 2 * i + 1 : 0][k],
                                  pair[Across ? 2 * i + 2 : 0][k], pair[Across ? 2 * i + 3 : 0][k])
                       : pair[1 + i][k]);
  }
}

template <bool Across>
__device__ inline void add_gray(const uint32_t (&words)[4], uint32_t before, uint32_t after,
                                uint32_t (&sum)[kSums<1, Across>])
{
#pragma unroll
  for (int w = 0; w < 4; w++) {
    const uint32_t middle = words[w];

    if (Across) {
      /* Of the bytes 3 | 0 1 2 3 | 0 for two cells: 3 and 1, 0 and 2, 1 and 3, 2 and 0. */
      const uint32_t left = w > 0 ? words[w > 0 ? w - 1 : 0] : before;
      const uint32_t right = w < 3 ? words[w < 3 ? w + 1 : 3] : after;

      sum[w] = 4 * add_four(__byte_perm(left, middle, 0x0503) & 0x00ff00ff,
                            __byte_perm(middle, 0, 0x4240), __byte_perm(middle, 0, 0x4341),
                            __byte_perm(middle, right, 0x0402) & 0x00ff00ff);
    } else {
      sum[Across ? 0 : 2 * w] = 4 * __byte_perm(middle, 0, 0x4140);
      sum[Across ? 0 : 2 * w + 1] = 4 * __byte_perm(middle, 0, 0x4342);
    }
  }
}

/* One row's sums of a lane. */
template <int C, bool Across>
__device__ inline void add_across(const CfMapPlane &plane, const uint32_t (&words)[kWords<C>],
                                  bool *transparent, uint32_t (&sum)[kSums<C, Across>])
{
  constexpr int P = kPixels<C>;
  const uint32_t before = __shfl_up_sync(0xffffffffu, words[kWords<C> - 1], 1);
  const uint32_t after = __shfl_down_sync(0xffffffffu, words[0], 1);

  if constexpr (C == 1) {
    add_gray<Across>(words, before, after, sum);
  } else {
    uint32_t pair[P + 2][kPairs<C>];

    if constexpr (C == 4) {
      const uint32_t all = words[0] & words[1] & words[2] & words[3] & before & after;
      const bool opaque = plane.alpha < 0 || (plane.alpha == 0 ? all & 255 : all >> 24) == 255;

      if (!__all_sync(0xffffffffu, opaque)) {
        *transparent = true;
        unpack_weighted(plane.alpha == 0, before, pair[0]);
#pragma unroll
        for (int i = 0; i < P; i++)
          unpack_weighted(plane.alpha == 0, words[i], pair[1 + i]);
        unpack_weighted(plane.alpha == 0, after, pair[P + 1]);
        add_pairs<C, Across>(pair, 1, sum);
        return;
      }
    }
    unpack<C>(before >> 8 * (4 - C), pair[0]);
#pragma unroll
    for (int i = 0; i < P; i++)
      unpack<C>(pixel_of<C>(words, i), pair[1 + i]);
    unpack<C>(after, pair[P + 1]);
    add_pairs<C, Across>(pair, 4, sum);
  }
}

/* 2^23 more than channel `c` of cell `i` of a lane's sums. */
template <int C, int N> __device__ inline float sum_of(const uint32_t (&sum)[N], int i, int c)
{
  const int word = C == 1 ? i / 2 : C == 2 ? i : 2 * i + c % 2;
  const bool high = C == 1 ? i % 2 : C == 2 ? c : c / 2;

  return high ? high_float(sum[word]) : low_float(sum[word]);
}

/* Less the centre, of which colours have as much as their weights add up to. */
template <int C, bool Across>
__device__ inline void store_cells(const CfMapPlane &plane, const CfCellImage &image, __half *to,
                                   float scale, const uint32_t (&sum)[kSums<C, Across>])
{
  uint32_t pair[C][kCells<C, Across> / 2];

#pragma unroll
  for (int i = 0; i < kCells<C, Across>; i += 2) {
    float value[2][C];

#pragma unroll
    for (int k = 0; k < 2; k++) {
#pragma unroll
      for (int c = 0; c < C; c++)
        value[k][c] = sum_of<C>(sum, i + k, c);

      const float weight =
          C == 4 && plane.alpha >= 0
              ? cf_weight(scale * ((plane.alpha == 0 ? value[k][0] : value[k][C - 1]) - 8388608.0f))
              : 1.0f;
#pragma unroll
      for (int c = 0; c < C; c++)
        value[k][c] = fmaf(scale, value[k][c],
                           (c == plane.alpha ? -plane.centre[c] : -plane.centre[c] * weight) -
                               scale * 8388608.0f);
    }
#pragma unroll
    for (int c = 0; c < C; c++)
      pair[c][i / 2] = cf_pack_halves(value[0][c], value[1][c]);
  }
#pragma unroll
  for (int c = 0; c < C; c++) {
    __half *channel = to + c * image.channel;

    if (kCells<C, Across> == 2) {
      *(uint32_t *)channel = pair[c][0];
    } else {
#pragma unroll
      for (int i = 0; i < kCells<C, Across> / 2; i += 2)
        *(uint2 *)(channel + 2 * i) =
            make_uint2(pair[c][i], pair[c][i + 1 < kCells<C, Across> / 2 ? i + 1 : i]);
    }
  }
}

/* A warp's cells: kLanes lanes side by side, some rows, whose pixels are fetched a row ahead. */
template <int C, bool Across, bool Down>
__device__ inline void halve_strip(const CfCellJob &job, const CfMapPlane &plane,
                                   const CfCellImage &image, int strip, int first, int rows,
                                   int *folded)
{
  constexpr float kScale = 0.25f * (Across ? 0.125f : 1.0f) * (Down ? 0.125f : 1.0f);
  constexpr int kStep = Down ? 2 : 1;
  const int lane = (int)threadIdx.x % 32, group = strip * kLanes + lane - 1;
  const int x = (image.first_x << (Across ? 1 : 0)) + group * kPixels<C>;
  const int column = group * kCells<C, Across>;
  const bool stores = lane > 0 && lane <= kLanes && column < image.width;
  const int end = min(first + rows, image.height);
  __half *to = job.cells + image.at + (size_t)first * (size_t)image.pitch + (ptrdiff_t)column;
  uint32_t row[4][kSums<C, Across>], next[kStep][kWords<C>];
  const Columns<C> columns =
      find_columns<C>(job.map, plane, x, column - kCells<C, Across> < image.width, folded);
  int y = kStep * (image.first_y + first) + (Down ? 1 : 0);
  bool transparent = false;

  if (Down) {
    uint32_t words[2][kWords<C>];

    load_pixels<C>(job.map, plane, columns, y - 2, words[0]);
    load_pixels<C>(job.map, plane, columns, y - 1, words[1]);
    spread_outer<C>(columns, words[0]);
    spread_outer<C>(columns, words[1]);
    add_across<C, Across>(plane, words[0], &transparent, row[0]);
    add_across<C, Across>(plane, words[1], &transparent, row[1]);
  }
#pragma unroll
  for (int k = 0; k < kStep; k++)
    load_pixels<C>(job.map, plane, columns, y + k, next[k]);
  for (int i = first; i < end; i++, to += image.pitch) {
    uint32_t words[kStep][kWords<C>];

    y += kStep;
#pragma unroll
    for (int k = 0; k < kStep; k++) {
#pragma unroll
      for (int w = 0; w < kWords<C>; w++)
        words[k][w] = next[k][w];
      spread_outer<C>(columns, words[k]);
      if (i + 1 < end)
        load_pixels<C>(job.map, plane, columns, y + k, next[k]);
    }
    if (!Down) {
      add_across<C, Across>(plane, words[0], &transparent, row[0]);
      if (stores)
        store_cells<C, Across>(plane, image, to, kScale, row[0]);
      continue;
    }
    add_across<C, Across>(plane, words[0], &transparent, row[2]);
    add_across<C, Across>(plane, words[kStep - 1], &transparent, row[3]);
#pragma unroll
    for (int k = 0; k < kSums<C, Across>; k++) {
      row[0][k] = add_four(row[0][k], row[1][k], row[2][k], row[3][k]);
      row[1][k] = row[3][k];
    }
    if (stores)
      store_cells<C, Across>(plane, image, to, kScale, row[0]);
#pragma unroll
    for (int k = 0; k < kSums<C, Across>; k++)
      row[0][k] = row[2][k];
  }
  if (transparent && lane == 0)
    *job.transparent = job.frame;
}

template <int C>
__device__ inline void halve_plane(const CfCellJob &job, const CfCellHalving &halving, int block,
                                   int *shared)
{
  const CfMapPlane &plane = job.map.plane[halving.plane];
  const CfCellImage &to = halving.to;
  const int strip = block % halving.across * (kCellThreads / 32) + (int)threadIdx.x / 32;
  const int first = block / halving.across * halving.rows;
  int *folded = shared + threadIdx.x * kPitch<C>;

  if (to.log_x && to.log_y)
    halve_strip<C, true, true>(job, plane, to, strip, first, halving.rows, folded);
  else if (to.log_x)
    halve_strip<C, true, false>(job, plane, to, strip, first, halving.rows, folded);
  else
    halve_strip<C, false, true>(job, plane, to, strip, first, halving.rows, folded);
}

/* That an SM has registers for. */
__host__ __device__ constexpr int blocks_of_sm(int channels)
{
  return channels < 3 ? 6 : 8;
}

/* Planes have `A` or `B` channels. */
template <int A, int B>
__global__ void __launch_bounds__(kCellThreads, blocks_of_sm(A))
    halve_frame_kernel(const __grid_constant__ CfCellJob job)
{
  __shared__ int shared[kCellThreads * (kPitch<A> > kPitch<B> ? kPitch<A> : kPitch<B>)];
  int block;
  const CfCellHalving halving = halving_of_block(job, &block);

  cf_let_next_kernel_start();
  if (A == B || job.map.plane[halving.plane].channels == A)
    halve_plane<A>(job, halving, block, shared);
  else
    halve_plane<B>(job, halving, block, shared);
}

/* ---- images ---- */

constexpr int kImageCells = 4;                  /* of a thread in a row */
constexpr int kImageColumns = 32 * kImageCells; /* of a block */

constexpr int kImageRows = kCellImageRows / (kCellThreads / 32); /* of a thread */

__device__ inline uint32_t add_halves(uint32_t a, uint32_t b)
{
  return cf_bits_of_halves(__hadd2(cf_halves_of_bits(a), cf_halves_of_bits(b)));
}

__device__ inline uint32_t multiply_add(float tap, uint32_t value, uint32_t to)
{
  return cf_bits_of_halves(
      __hfma2(__float2half2_rn(tap), cf_halves_of_bits(value), cf_halves_of_bits(to)));
}

/* The taps 1 5 10 10 5 1 over 32 of pairs of cells. */
__device__ inline uint32_t add_six(uint32_t a, uint32_t b, uint32_t c, uint32_t d, uint32_t e,
                                   uint32_t f)
{
  return multiply_add(
      10.0f / 32, add_halves(c, d),
      multiply_add(5.0f / 32, add_halves(b, e), multiply_add(1.0f / 32, add_halves(a, f), 0)));
}

/* The same along a row: of the cells in three pairs one. */
__device__ inline __half2 add_along(uint32_t left, uint32_t middle, uint32_t right)
{
  const __half2 outer = __floats2half2_rn(1.0f / 32, 5.0f / 32);

  return __hfma2(cf_halves_of_bits(middle), __float2half2_rn(10.0f / 32),
                 __hfma2(__lowhigh2highlow(cf_halves_of_bits(right)), outer,
                         __hmul2(cf_halves_of_bits(left), outer)));
}

/* Where a thread's pairs of cells lie in a row, whose width is a multiple of theirs. A pair beyond
 * the margins is a copy of the outermost cell. */
template <bool Across> struct Pairs {
  static constexpr int kInner = kImageCells / (Across ? 1 : 2), kCount = kInner + (Across ? 2 : 0);
  int at, before, after; /* of the inner ones, and their neighbours */
  unsigned side;         /* on which all are beyond the margins, as a selector, or 0 */
  unsigned side_before, side_after;

  static __device__ unsigned beyond(const CfCellImage &image, int column)
  {
    return column < 0 ? 0x1010 : column >= image.width ? 0x3232 : 0x3210;
  }

  static __device__ int inside(const CfCellImage &image, int column, int cells)
  {
    return min(max(column, 0), image.width - cells);
  }

  __device__ Pairs(const CfCellImage &image, int x)
  {
    const int column = x - image.first_x;

    at = inside(image, column, 2 * kInner);
    before = inside(image, column - 2, 2);
    after = inside(image, column + 2 * kInner, 2);
    side = beyond(image, column);
    side_before = beyond(image, column - 2);
    side_after = beyond(image, column + 2 * kInner);
  }

  __device__ void load(const CfCellImage &image, const __half *cells, int y,
                       uint32_t (&pair)[kCount]) const
  {
    const int row = min(max(y - image.first_y, 0), image.height - 1);
    const __half *from = cells + row * image.pitch;

#pragma unroll
    for (int i = 0; i < kInner; i += 2) {
      const uint2 two = __ldg((const uint2 *)(from + at + 2 * i));
      pair[i + (Across ? 1 : 0)] = two.x;
      pair[i + (Across ? 2 : 1)] = two.y;
    }
    if (Across) {
      pair[0] = __byte_perm(__ldg((const uint32_t *)(from + before)), 0, side_before);
      pair[kCount - 1] = __byte_perm(__ldg((const uint32_t *)(from + after)), 0, side_after);
    }
    if (side != 0x3210) {
      const uint32_t first = pair[Across ? 1 : 0], last = pair[kInner - (Across ? 0 : 1)];
      const uint32_t outermost = side == 0x1010 ? first : last;
#pragma unroll
      for (int i = 0; i < kInner; i++)
        pair[i + (Across ? 1 : 0)] = __byte_perm(outermost, 0, side);
    }
  }

  /* The cells that a row of pairs is halved to. */
  static __device__ uint2 halve(const uint32_t (&pair)[kCount])
  {
    if constexpr (Across) {
      __half2 cell[kImageCells];

#pragma unroll
      for (int i = 0; i < kImageCells; i++)
        cell[i] = add_along(pair[i], pair[i + 1], pair[i + 2]);
      return make_uint2(add_both(cell[0], cell[1]), add_both(cell[2], cell[3]));
    } else {
      return make_uint2(pair[0], pair[1]);
    }
  }

  /* Each of a and b is the sum of its two halves. */
  static __device__ uint32_t add_both(__half2 a, __half2 b)
  {
    return cf_bits_of_halves(__hadd2(__lows2half2(a, b), __highs2half2(a, b)));
  }
};

template <bool Across, bool Down>
__device__ inline void halve_cells(const CfCellHalving &halving, const __half *source,
                                   __half *target, int column, int first)
{
  constexpr int kRead = Down ? 2 * kImageRows + 4 : kImageRows, N = Pairs<Across>::kCount;
  const CfCellImage &to = halving.to;
  const CfCellImage from = halving.from;
  const Pairs<Across> pairs(from, (to.first_x + column) << (Across ? 1 : 0));
  const int y = Down ? 2 * (to.first_y + first) - 2 : to.first_y + first;
  uint32_t line[kRead][N];

#pragma unroll
  for (int i = 0; i < kRead; i++)
    pairs.load(from, source, y + i, line[i]);
#pragma unroll
  for (int row = 0; row < kImageRows; row++) {
    uint32_t sum[N];

#pragma unroll
    for (int i = 0; i < N; i++) {
      const int k = Down ? 2 * row : row;
      sum[i] = Down ? add_six(line[k][i], line[k + (Down ? 1 : 0)][i], line[k + (Down ? 2 : 0)][i],
                              line[k + (Down ? 3 : 0)][i], line[k + (Down ? 4 : 0)][i],
                              line[k + (Down ? 5 : 0)][i])
                    : line[k][i];
    }
    if (first + row < to.height)
      *(uint2 *)(target + (first + row) * to.pitch + column) = Pairs<Across>::halve(sum);
  }
}

__global__ void __launch_bounds__(kCellThreads)
    halve_image_kernel(const __grid_constant__ CfCellJob job)
{
  int block;
  const CfCellHalving halving = halving_of_block(job, &block);
  const CfCellImage &from = halving.from, &to = halving.to;
  const int rows = (to.height + halving.rows - 1) / halving.rows;
  const int channel = block / (halving.across * rows), place = block % (halving.across * rows);
  const int column = place % halving.across * kImageColumns + (int)threadIdx.x % 32 * kImageCells;
  const int first = place / halving.across * halving.rows + (int)threadIdx.x / 32 * kImageRows;
  const __half *source = job.cells + from.at + channel * from.channel;
  __half *target = job.cells + to.at + channel * to.channel;

  cf_let_next_kernel_start();
  if (column >= to.width || first >= to.height)
    return;
  cf_wait_for_previous_kernel();
  if (to.log_x > from.log_x && to.log_y > from.log_y)
    halve_cells<true, true>(halving, source, target, column, first);
  else if (to.log_x > from.log_x)
    halve_cells<true, false>(halving, source, target, column, first);
  else
    halve_cells<false, true>(halving, source, target, column, first);
}

} // namespace

int cf_cell_block_columns(int channels, bool from_frame, int log_x)
{
  const int pixels = channels == 3 ? 4 : 16 / channels;

  return from_frame ? kCellThreads / 32 * kLanes * pixels / (log_x ? 2 : 1) : kImageColumns;
}

int cf_cell_blocks_of_sm(int channels)
{
  return blocks_of_sm(channels);
}

bool cf_cell_halve(const CfCellJob *job, bool from_frame, int blocks, void *stream,
                   CfStatus *status)
{
  const int first = job->map.plane[0].channels;
  void (*kernel)(CfCellJob) = halve_frame_kernel<1, 1>;

  if (!from_frame)
    kernel = halve_image_kernel;
  else if (first == 4)
    kernel = halve_frame_kernel<4, 4>;
  else if (first == 3)
    kernel = halve_frame_kernel<3, 3>;
  else if (job->map.planes > 1 && job->map.plane[1].channels == 2)
    kernel = halve_frame_kernel<1, 2>;
  return cf_cell_launch(kernel, job, blocks, 0, stream, "halving a picture", status);
}
