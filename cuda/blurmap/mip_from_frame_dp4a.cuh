/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * For the kernel that halves frames: planes of one or two channels along both axes, where each
 * lane's 16 bytes lie side by side, as in most of a frame. A row of pixels is added to both rows of
 * texels that take something of it, four pixels of a channel at a time.
 */
#pragma once

#include "cuda/blurmap/mma_device.cuh"
#include "cuda/common/half2.cuh"

namespace cf::blurmap
{

constexpr int kLanes = 30; /* of a warp that make texels of a frame: the outer ones only load */

template <int C> struct Dp4aRows {
  static constexpr int kPixels = 16 / C, kTexels = kPixels / 2;
  static constexpr int kWords = 4 / C; /* of a channel */
  static constexpr int kAhead = 2;     /* rows of texels whose pixels are on their way */

  /* Each 2^23 more than a sum, so that as a float it is that. */
  typedef uint32_t Sums[C][kTexels];

  const MapPlane &plane;
  int x, side; /* -1 or 1 where all pixels are copies of the first or last of those at x */
  const uint8_t *from;

  __device__ Dp4aRows(const MapPlane &of, int column)
      : plane(of), x(min(max(column, 0), of.width - kPixels)), side(column < 0   ? -1
                                                                    : column > x ? 1
                                                                                 : 0),
        from(of.source + (ptrdiff_t)x * C)
  {
  }

  __device__ void load(int y, uint32_t (&words)[4]) const
  {
    const int row = min(max(y, 0), plane.height - 1);
    const uint4 four = __ldg((const uint4 *)(from + (ptrdiff_t)row * plane.source_stride));

    words[0] = four.x;
    words[1] = four.y;
    words[2] = four.z;
    words[3] = four.w;
  }

  /* Copies a lane's first or last pixel to all, where they lie outside the plane. */
  __device__ void spread(uint32_t (&words)[4]) const
  {
    constexpr unsigned kFirst = C == 1 ? 0 : 0x1010, kLast = C == 1 ? 0x3333 : 0x3232;

    if (side == 0)
      return;
    const uint32_t pixel =
        side < 0 ? __byte_perm(words[0], 0, kFirst) : __byte_perm(words[3], 0, kLast);
#pragma unroll
    for (int w = 0; w < 4; w++)
      words[w] = pixel;
  }

  /* Four pixels of channel `c`. */
  static __device__ uint32_t channel_of(const uint32_t (&words)[4], int c, int i)
  {
    return C == 1 ? words[i]
                  : __byte_perm(words[2 * i % 4], words[(2 * i + 1) % 4], c ? 0x7531 : 0x6420);
  }

  /* Adds a row: 1 3 3 1 of its pixels, and three times that. */
  __device__ void add(uint32_t (&words)[4], Sums &once, Sums &thrice) const
  {
    spread(words);
    const uint32_t before = __shfl_up_sync(0xffffffffu, words[3], 1);
    const uint32_t after = __shfl_down_sync(0xffffffffu, words[0], 1);

#pragma unroll
    for (int c = 0; c < C; c++) {
      uint32_t four[kWords];

#pragma unroll
      for (int i = 0; i < kWords; i++)
        four[i] = channel_of(words, c, i);
#pragma unroll
      for (int i = 0; i < kTexels; i++) {
        const int w = i / 2;
        const uint32_t around =
            i % 2 == 0 ? (w == 0 ? __byte_perm(before, four[0], 0x6540u + (unsigned)(4 - C + c))
                                 : __byte_perm(four[w > 0 ? w - 1 : 0], four[w], 0x6543))
                       : (w == kWords - 1
                              ? __byte_perm(four[w], after, 0x4321u + ((unsigned)c << 12))
                              : __byte_perm(four[w], four[w + 1 < kWords ? w + 1 : w], 0x4321));

        once[c][i] = __dp4a(around, 0x01030301u, once[c][i]);
        thrice[c][i] = __dp4a(around, 0x03090903u, thrice[c][i]);
      }
    }
  }

  static __device__ void clear(Sums &sums)
  {
#pragma unroll
    for (int c = 0; c < C; c++) {
#pragma unroll
      for (int i = 0; i < kTexels; i++)
        sums[c][i] = 0x4b000000u;
    }
  }

  /* Less the centre. */
  __device__ void store(const Sums &sums, uint32_t channel, __half *to) const
  {
    constexpr float kScale = 1.0f / 64;

#pragma unroll
    for (int c = 0; c < C; c++) {
      __half *texels = to + (uint32_t)c * channel;
      const float zero = -plane.centre[c] - kScale * 8388608.0f;
      uint32_t pair[kTexels / 2];

#pragma unroll
      for (int i = 0; i < kTexels / 2; i++)
        pair[i] = pack_half2(fmaf(kScale, __uint_as_float(sums[c][2 * i]), zero),
                             fmaf(kScale, __uint_as_float(sums[c][2 * i + 1]), zero));
#pragma unroll
      for (int i = 0; i < kTexels / 2; i += 2)
        *(uint2 *)(texels + 2 * i) = make_uint2(pair[i], pair[i + 1]);
    }
  }
};

/* A warp's texels, some rows. False if they are not of that kind. */
template <int C>
__device__ inline bool downsample_dp4a(const MmaJob &job, const MapPlane &plane,
                                       const MipImage &image, int strip, int first, int rows)
{
  typedef Dp4aRows<C> Q;
  const int lane = (int)threadIdx.x % 32, end = min(first + rows, image.height);
  const int left = 2 * image.first_x + (strip * kLanes - 1) * Q::kPixels;
  const int top = 2 * (image.first_y + first) - 1, bottom = 2 * (image.first_y + end);
  const bool inside =
      left >= 0 && left + 32 * Q::kPixels <= plane.width && top >= 0 && bottom < plane.height;

  if (!plane.vector || plane.width < Q::kPixels ||
      !(inside || (job.map.border == CF_BORDER_REPLICATE && plane.width % Q::kPixels == 0)))
    return false;
  const Q quick(plane, left + lane * Q::kPixels);
  const int column = (strip * kLanes + lane - 1) * Q::kTexels;
  const bool stores = lane > 0 && lane <= kLanes && column < image.width;
  __half *to = job.texels + image.at + (size_t)first * (size_t)image.pitch + (ptrdiff_t)column;
  uint32_t above[2][4], ahead[Q::kAhead][2][4];
  typename Q::Sums sums, next;

  quick.load(top, above[0]);
  quick.load(top + 1, above[1]);
#pragma unroll
  for (int k = 0; k < Q::kAhead; k++) {
    quick.load(top + 2 + 2 * k, ahead[k][0]);
    quick.load(top + 3 + 2 * k, ahead[k][1]);
  }
  Q::clear(sums);
  Q::clear(next);
  quick.add(above[0], sums, next);
  quick.add(above[1], next, sums);
  int y = top + 2 + 2 * Q::kAhead;
#pragma unroll 1
  for (int i = first; i < end; i += Q::kAhead) {
#pragma unroll
    for (int k = 0; k < Q::kAhead; k++, y += 2, to += image.pitch) {
      uint32_t words[2][4];

      if (i + k >= end)
        break;
#pragma unroll
      for (int w = 0; w < 4; w++) {
        words[0][w] = ahead[k][0][w];
        words[1][w] = ahead[k][1][w];
      }
      if (i + k + Q::kAhead < end) {
        quick.load(y, ahead[k][0]);
        quick.load(y + 1, ahead[k][1]);
      }
      Q::clear(next);
      quick.add(words[0], next, sums);
      quick.add(words[1], sums, next);
      if (stores)
        quick.store(sums, image.channel, to);
#pragma unroll
      for (int c = 0; c < C; c++) {
#pragma unroll
        for (int n = 0; n < Q::kTexels; n++)
          sums[c][n] = next[c][n];
      }
    }
  }
  return true;
}

} // namespace cf::blurmap
