/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Halves frames by the taps 1 3 3 1 over 8 and their halved images by 1 5 10 10 5 1 over 32, along
 * one axis or both.
 */
#include "blurmap_cells.cuh"
#include "tensor_ops.cuh"

namespace
{

constexpr int kLanes = 30; /* of a warp that make cells of a frame: the outer ones only load */

__device__ inline CfCellHalving halving_of_block(const CfCellJob &job, int *block)
{
  int i = 0;

  while (i + 1 < job.halvings && (int)blockIdx.x >= job.halving[i + 1].first_block)
    i++;
  *block = (int)blockIdx.x - job.halving[i].first_block;
  return job.halving[i];
}

/* Two numbers of 16 bits as floats. */
__device__ inline float low_float(uint32_t pair)
{
  return __uint_as_float(__byte_perm(pair, 0x4b000000u, 0x7610)) - 8388608.0f;
}

__device__ inline float high_float(uint32_t pair)
{
  return __uint_as_float(__byte_perm(pair, 0x4b000000u, 0x7632)) - 8388608.0f;
}

/* ---- frames: sums of two samples at a time in the halves of a word, in quarters of a code ---- */

/* Pixels that a lane reads at a time, in four words; of three channels in three. */
template <int C> constexpr int kPixels = C == 3 ? 4 : 16 / C;
template <int C> constexpr int kWords = C == 3 ? 3 : 4;

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

/* Where some of them lie outside, or rows are not aligned. Inlined, it would be most of the kernel.
 */
template <int C>
__device__ __noinline__ uint4 outer_pixels(const CfMapJob &job, const CfMapPlane &plane, int x,
                                           int y)
{
  uint32_t words[4] = {};

#pragma unroll 1
  for (int i = 0; i < kPixels<C>; i++) {
    const uint32_t pixel = cf_cell_pixel<C>(job, plane, x + i, y);
#pragma unroll
    for (int c = 0; c < C; c++) {
      const int byte = i * C + c;
#pragma unroll
      for (int w = 0; w < 4; w++)
        words[w] |= byte / 4 == w ? (pixel >> 8 * c & 255) << byte % 4 * 8 : 0;
    }
  }
  return make_uint4(words[0], words[1], words[2], words[3]);
}

template <int C>
__device__ inline void load_pixels(const CfMapJob &job, const CfMapPlane &plane, int x, int y,
                                   uint32_t (&words)[kWords<C>])
{
  const uint8_t *from = plane.source + (ptrdiff_t)y * plane.source_stride + (ptrdiff_t)x * C;
  const bool whole =
      plane.vector && y >= 0 && y < plane.height && x >= 0 && x + kPixels<C> <= plane.width;

  if (whole && C == 3) {
#pragma unroll
    for (int i = 0; i < kWords<C>; i++)
      words[i] = __ldg((const uint32_t *)from + i);
    return;
  }
  const uint4 four = whole ? __ldg((const uint4 *)from) : outer_pixels<C>(job, plane, x, y);
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
__device__ inline void add_across(const CfMapJob &job, const CfMapPlane &plane, int x, int y,
                                  bool *transparent, uint32_t (&sum)[kSums<C, Across>])
{
  constexpr int P = kPixels<C>;
  uint32_t words[kWords<C>];

  load_pixels<C>(job, plane, x, y, words);
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

/* Channel `c` of cell `i` of a lane's sums. */
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
              ? cf_weight(scale * (plane.alpha == 0 ? value[k][0] : value[k][C - 1]))
              : 1.0f;
#pragma unroll
      for (int c = 0; c < C; c++)
        value[k][c] = fmaf(scale, value[k][c],
                           c == plane.alpha ? -plane.centre[c] : -plane.centre[c] * weight);
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

/* A warp's cells: kLanes lanes side by side, kHalvedRows rows. */
template <int C, bool Across, bool Down>
__device__ inline void halve_strip(const CfCellJob &job, const CfMapPlane &plane,
                                   const CfCellImage &image, int strip, int first)
{
  constexpr float kScale = 0.25f * (Across ? 0.125f : 1.0f) * (Down ? 0.125f : 1.0f);
  const int lane = (int)threadIdx.x % 32, group = strip * kLanes + lane - 1;
  const int x = (image.first_x << (Across ? 1 : 0)) + group * kPixels<C>;
  const int column = group * kCells<C, Across>;
  const bool stores = lane > 0 && lane <= kLanes && column < image.width;
  const int end = min(first + kHalvedRows, image.height);
  __half *to = job.cells + image.at + (size_t)first * (size_t)image.pitch + (ptrdiff_t)column;
  uint32_t row[4][kSums<C, Across>];
  bool transparent = false;

  if (Down) {
    const int y = 2 * (image.first_y + first);

    add_across<C, Across>(job.map, plane, x, y - 1, &transparent, row[0]);
    add_across<C, Across>(job.map, plane, x, y, &transparent, row[1]);
  }
  for (int i = first; i < end; i++, to += image.pitch) {
    const int y = image.first_y + i;

    if (!Down) {
      add_across<C, Across>(job.map, plane, x, y, &transparent, row[0]);
      if (stores)
        store_cells<C, Across>(plane, image, to, kScale, row[0]);
      continue;
    }
    add_across<C, Across>(job.map, plane, x, 2 * y + 1, &transparent, row[2]);
    add_across<C, Across>(job.map, plane, x, 2 * y + 2, &transparent, row[3]);
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
__device__ inline void halve_plane(const CfCellJob &job, const CfCellHalving &halving, int block)
{
  const CfMapPlane &plane = job.map.plane[halving.plane];
  const CfCellImage &to = halving.to;
  const int strip = block % halving.across * (kCellThreads / 32) + (int)threadIdx.x / 32;
  const int first = block / halving.across * kHalvedRows;

  if (to.log_x && to.log_y)
    halve_strip<C, true, true>(job, plane, to, strip, first);
  else if (to.log_x)
    halve_strip<C, true, false>(job, plane, to, strip, first);
  else
    halve_strip<C, false, true>(job, plane, to, strip, first);
}

/* Planes have `A` or `B` channels. */
template <int A, int B>
__global__ void __launch_bounds__(kCellThreads)
    halve_frame_kernel(const __grid_constant__ CfCellJob job)
{
  int block;
  const CfCellHalving halving = halving_of_block(job, &block);

  cf_let_next_kernel_start();
  if (A == B || job.map.plane[halving.plane].channels == A)
    halve_plane<A>(job, halving, block);
  else
    halve_plane<B>(job, halving, block);
}

/* ---- images ---- */

constexpr int kImageColumns = 64; /* cells of a block, two of each thread in a row */

__device__ inline float cell_at(const CfCellImage &image, const __half *cells, int x, int y)
{
  const int column = min(max(x - image.first_x, 0), image.width - 1);
  const int row = min(max(y - image.first_y, 0), image.height - 1);

  return __half2float(cells[(size_t)row * (size_t)image.pitch + (size_t)column]);
}

/* The taps 1 5 10 10 5 1 over 32. */
__device__ inline float add_six(float a, float b, float c, float d, float e, float f)
{
  return fmaf(10.0f / 32, c + d, fmaf(5.0f / 32, b + e, 1.0f / 32 * (a + f)));
}

/* Two cells side by side, the first in column `x`, even, of a row of the finer image. */
__device__ inline void add_image_across(const CfCellImage &image, const __half *cells, int x, int y,
                                        bool halves, float (&sum)[2])
{
  const int column = x - image.first_x;
  float value[8];

  if (!halves) {
    sum[0] = cell_at(image, cells, x, y);
    sum[1] = cell_at(image, cells, x + 1, y);
    return;
  }
  if (column >= 2 && column + 6 <= image.width) {
    const int row = min(max(y - image.first_y, 0), image.height - 1);
    const __half2 *from =
        (const __half2 *)(cells + (size_t)row * (size_t)image.pitch + (size_t)(column - 2));

#pragma unroll
    for (int i = 0; i < 4; i++) {
      const float2 two = __half22float2(__ldg(from + i));
      value[2 * i] = two.x;
      value[2 * i + 1] = two.y;
    }
  } else {
#pragma unroll 1
    for (int i = 0; i < 8; i++) {
      const float one = cell_at(image, cells, x - 2 + i, y);
#pragma unroll
      for (int k = 0; k < 8; k++)
        value[k] = k == i ? one : value[k];
    }
  }
#pragma unroll
  for (int i = 0; i < 2; i++)
    sum[i] = add_six(value[2 * i], value[2 * i + 1], value[2 * i + 2], value[2 * i + 3],
                     value[2 * i + 4], value[2 * i + 5]);
}

constexpr int kImageRows = kHalvedRows / (kCellThreads / 32); /* of a thread */

__global__ void __launch_bounds__(kCellThreads)
    halve_image_kernel(const __grid_constant__ CfCellJob job)
{
  int block;
  const CfCellHalving halving = halving_of_block(job, &block);
  const CfCellImage &from = halving.from, &to = halving.to;
  const int rows = (to.height + kHalvedRows - 1) / kHalvedRows;
  const int channel = block / (halving.across * rows), place = block % (halving.across * rows);
  const int column = place % halving.across * kImageColumns + (int)threadIdx.x % 32 * 2;
  const int first = place / halving.across * kHalvedRows + (int)threadIdx.x / 32 * kImageRows;
  const int end = min(first + kImageRows, to.height);
  const bool across = to.log_x > from.log_x, down = to.log_y > from.log_y;
  const __half *source = job.cells + from.at + channel * from.channel;
  __half *target = job.cells + to.at + channel * to.channel;
  const int x = (to.first_x + column) << (across ? 1 : 0);
  float line[6][2];

  cf_let_next_kernel_start();
  if (column >= to.width || first >= end)
    return;
  cf_wait_for_previous_kernel();
  if (down) {
#pragma unroll
    for (int i = 0; i < 4; i++)
      add_image_across(from, source, x, 2 * (to.first_y + first) - 2 + i, across, line[i]);
  }
#pragma unroll 1
  for (int row = first; row < end; row++) {
    const int y = to.first_y + row;
    float sum[2];

    if (!down) {
      add_image_across(from, source, x, y, across, sum);
    } else {
      add_image_across(from, source, x, 2 * y + 2, across, line[4]);
      add_image_across(from, source, x, 2 * y + 3, across, line[5]);
#pragma unroll
      for (int i = 0; i < 2; i++) {
        sum[i] = add_six(line[0][i], line[1][i], line[2][i], line[3][i], line[4][i], line[5][i]);
#pragma unroll
        for (int k = 0; k < 4; k++)
          line[k][i] = line[k + 2][i];
      }
    }
    *(uint32_t *)(target + (size_t)row * (size_t)to.pitch + (size_t)column) =
        cf_pack_halves(sum[0], sum[1]);
  }
}

} // namespace

int cf_cell_block_columns(int channels, bool from_frame, int log_x)
{
  const int pixels = channels == 3 ? 4 : 16 / channels;

  return from_frame ? kCellThreads / 32 * kLanes * pixels / (log_x ? 2 : 1) : kImageColumns;
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
