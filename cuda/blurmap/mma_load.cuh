/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * For blend_tiles(): loads the windows of a tile, from mip images or the frame, to shared memory.
 */
#pragma once

#include "cuda/common/alpha.cuh"
#include "cuda/common/border.cuh"
#include "cuda/common/half2.cuh"
#include "cuda/common/ptx_async.cuh"
#include "cuda/common/ptx_mma.cuh"
#include "cuda/common/pdl.cuh"
#include "cuda/blurmap/tile_records.cuh"

#include <string.h>

namespace cf::blurmap
{

/* The order in which channels are stored in shared memory and made: alpha, if colours are
 * premultiplied by it, then colours. */
struct ChannelOrder {
  int first; /* the first colour */
  int alpha; /* -1 if colours are not premultiplied */
  int count; /* channels that are made */

  __device__ int channel(int i) const
  {
    return alpha < 0 ? first + i : i == 0 ? alpha : first + i - 1;
  }

  /* The position of channel `c`; at least `count` if it is not made. */
  __device__ int position(int c) const
  {
    const int colour = c >= first ? c - first + (alpha < 0 ? 0 : 1) : count;

    return c == alpha ? 0 : colour;
  }
};

/* Two neighbouring pixels, and with map_isolate their map values as fp16. */
struct TwoPixels {
  uint32_t pixel[2], map;
};

/* Loads two pixels inside the plane, from an even column on. */
template <int C, bool Isolates>
__device__ inline void load_inner(const MapPlane &plane, int x, int y, TwoPixels &two)
{
  const uint8_t *from = plane.source + (ptrdiff_t)y * plane.source_stride + C * x;

  if (Isolates)
    two.map = __ldg((const uint32_t *)map_at(plane, x, y));
  if (C == 4 && plane.vector) {
    const uint2 words = load_no_l1((const uint2 *)from);

    two.pixel[0] = words.x;
    two.pixel[1] = words.y;
  } else {
    two.pixel[0] = pixel_inside<C>(plane, x, y);
    two.pixel[1] = pixel_inside<C>(plane, x + 1, y);
  }
}

/* Converts two pixels, and stores channels begin .. end - 1 of `order` as pairs, `step` apart. */
template <int C, bool Isolates>
__device__ inline void store_two(const MapPlane &plane, ChannelOrder order, int begin, int end,
                                 const TwoPixels &two, __half *to, int step)
{
  const bool translucent = order.alpha >= 0;
  PixelHalves<C> left, right;

  to_halves<C, Isolates>(plane, two.pixel[0], __byte_perm(two.map, 0, 0x1010), translucent, left);
  to_halves<C, Isolates>(plane, two.pixel[1], __byte_perm(two.map, 0, 0x3232), translucent, right);
#pragma unroll
  for (int c = 0; c < C; c++) {
    const int i = order.position(channel_of<C>(plane, c));

    if (i >= begin && i < end)
      *(uint32_t *)(to + (i - begin) * step) = channel_of_two<C>(left, right, c);
  }
}

/* Loads the rows of a window by load(row, pixels of the lane): each warp loads a row at a time,
 * with the loads of `AtATime` rows in flight together. */
template <int C, bool Isolates, int AtATime, typename Load>
__device__ inline void load_rows(const MapPlane &plane, ChannelOrder order, int begin, int end,
                                 const Window &window, __half *to, const Load &load)
{
  constexpr int kRows = kThreads / 32;

#pragma unroll 1
  for (int first = (int)threadIdx.x / 32; first < window.rows; first += AtATime * kRows) {
    TwoPixels two[AtATime];

#pragma unroll
    for (int i = 0; i < AtATime; i++)
      load(first + i * kRows, two[i]);
#pragma unroll
    for (int i = 0; i < AtATime; i++)
      store_two<C, Isolates>(plane, order, begin, end, two[i],
                             to + (first + i * kRows) * window.pitch, window.texels());
  }
}

/* Channel `c` of four neighbouring pixels, as fp16 numbers 1024 + code. */
template <int C> __device__ inline uint2 biased_four(const uint32_t (&words)[C], int c)
{
  constexpr uint32_t kBias = 0x64646464u;

  if constexpr (C == 1) {
    return make_uint2(__byte_perm(words[0], kBias, 0x4140), __byte_perm(words[0], kBias, 0x4342));
  } else if constexpr (C == 2) {
    const unsigned select = c ? 0x4341 : 0x4240;
    return make_uint2(__byte_perm(words[0], kBias, select), __byte_perm(words[1], kBias, select));
  } else {
    const unsigned two = c < 2 ? 0x5140 : 0x7362, select = c % 2 ? 0x4342 : 0x4140;
    return make_uint2(__byte_perm(__byte_perm(words[0], words[1], two), kBias, select),
                      __byte_perm(__byte_perm(words[2], words[3], two), kBias, select));
  }
}

/* The border replicate: with `side` < 0 all four pixels become copies of the first, with `side` > 0
 * of the last. */
template <int C> __device__ inline void replicate_edge(uint32_t (&words)[C], int side)
{
  if constexpr (C == 1) {
    words[0] = __byte_perm(words[0], 0, side < 0 ? 0 : side > 0 ? 0x3333 : 0x3210);
  } else if constexpr (C == 2) {
    const uint32_t left = words[0], right = words[1];
    const unsigned outer = side < 0 ? 0x1010 : 0x7676;

    words[0] = __byte_perm(left, right, side ? outer : 0x3210);
    words[1] = __byte_perm(left, right, side ? outer : 0x7654);
  }
}

/* Loads four pixels; those of four channels are shifted, so that byte `first` becomes the lowest.
 */
template <int C>
__device__ inline void load_four(const uint8_t *from, int first, uint32_t (&words)[C])
{
  if constexpr (C == 4) {
    const uint4 four = load_no_l1((const uint4 *)from);
    words[0] = four.x >> 8 * first;
    words[1] = four.y >> 8 * first;
    words[2] = four.z >> 8 * first;
    words[3] = four.w >> 8 * first;
  } else if constexpr (C == 2) {
    const uint2 two = load_no_l1((const uint2 *)from);
    words[0] = two.x;
    words[1] = two.y;
  } else {
    words[0] = load_no_l1((const uint32_t *)from);
  }
}

/* Loads a window of the frame by vectors: 14 lanes load a row, four pixels each. Not for
 * premultiplied pixels; samples outside, if any, must be those of the border replicate. */
template <int C, bool Isolates>
__device__ inline void load_frame_vectors(const MapPlane &plane, ChannelOrder order, int begin,
                                          int end, int x0, int y0, const Window &window,
                                          __half *shared)
{
  constexpr int kAtATime = 12, kRows = 2 * kThreads / 32, kQuads = columns_of(0) / 4;
  const int lane = (int)threadIdx.x % 32, quad = lane % kQuads;
  const uint32_t step = (uint32_t)window.texels();
  const __half2 bias = __float2half2_rn(1152.0f);

  if (lane >= 2 * kQuads)
    return;
  const int row = (int)threadIdx.x / 32 * 2 + lane / kQuads;
  const int x = C == 4 ? x0 + 4 * quad : min(max(x0 + 4 * quad, 0), plane.width - 4);
  const int side = x0 + 4 * quad - x, stride = (int)plane.source_stride;
  const uint8_t *source = plane.source + (ptrdiff_t)(C == 4 ? y0 + row : 0) * stride + x * C;
  __half *to = shared + row * window.pitch + 4 * quad;
  static_assert(kTileRows - kStripRows + window_of(0) == kAtATime * kRows, "rows");
  uint32_t words[kAtATime][C], map[kAtATime][2] = {};

#pragma unroll
  for (int i = 0; i < kAtATime; i++) {
    const int y = min(max(y0 + row + i * kRows, 0), plane.height - 1);
    const uint8_t *from = source + (ptrdiff_t)(C == 4 ? i * kRows : y) * stride;

    if constexpr (Isolates) {
      const uint2 four = load_no_l1((const uint2 *)map_at(plane, x, y));
      map[i][0] = four.x;
      map[i][1] = four.y;
    }
    load_four<C>(from, order.first, words[i]);
  }
#pragma unroll
  for (int i = 0; i < kAtATime; i++, to += kRows * window.pitch) {
    if (C < 4) {
      replicate_edge<C>(words[i], side);
      replicate_edge<2>(map[i], side);
    }
#pragma unroll
    for (int c = 0; c < (C == 4 ? 3 : C); c++) {
      const uint2 four = biased_four<C>(words[i], c);
      uint32_t left = as_bits(__hsub2(as_half2(four.x), bias));
      uint32_t right = as_bits(__hsub2(as_half2(four.y), bias));

      if (Isolates) {
        left = hmul2_bits(left, map[i][0]);
        right = hmul2_bits(right, map[i][1]);
      }
      if (c >= begin && c < end)
        *(uint2 *)(to + (uint32_t)(c - begin) * step) = make_uint2(left, right);
    }
  }
}

/* Loads a window of the frame, whose first sample is (x0, y0). */
template <int C, bool Isolates>
__device__ inline void load_frame(const MapJob &job, const MapPlane &plane, ChannelOrder order,
                                  int begin, int end, int x0, int y0, const Window &window,
                                  __half *shared)
{
  const int pair = (int)threadIdx.x % 32, x = x0 + 2 * pair;
  const bool inside =
      x0 >= 0 && x0 + columns_of(0) <= plane.width && y0 >= 0 && y0 + window.rows <= plane.height;
  __half *to = shared + 2 * pair;

  if constexpr (C != 3) {
    if (order.alpha < 0 && plane.vector &&
        (inside || (C < 4 && job.border == CF_BORDER_REPLICATE && plane.width % 4 == 0))) {
      load_frame_vectors<C, Isolates>(plane, order, begin, end, x0, y0, window, shared);
      return;
    }
  }
  if (pair >= columns_of(0) / 2)
    return;
  if (inside) {
    load_rows<C, Isolates, kInnerRows>(
        plane, order, begin, end, window, to,
        [&](int row, TwoPixels &two) { load_inner<C, Isolates>(plane, x, y0 + row, two); });
    return;
  }
  const int left = fold_index(job.border, x, plane.width);
  const int right = fold_index(job.border, x + 1, plane.width);
  load_rows<C, Isolates, kOuterRows>(
      plane, order, begin, end, window, to, [&](int row, TwoPixels &two) {
        const int y = fold_index(job.border, y0 + row, plane.height);

        two.pixel[0] = pixel_folded<C>(plane, left, y);
        two.pixel[1] = pixel_folded<C>(plane, right, y);
        if (Isolates)
          two.map =
              as_bits(__halves2half2(map_folded(plane, left, y), map_folded(plane, right, y)));
      });
}

__device__ inline int clamped(int i, int first, int count)
{
  return min(max(i - first, 0), count - 1);
}

/* Starts copying a window: each row in `pieces` pieces of `Bytes`, by 2^log_across threads. */
template <int Bytes>
__device__ inline void copy_rows(const MipWindow &window, int pieces, int log_across,
                                 const __half *texels, ChannelOrder order, int begin, int end,
                                 int pitch, uint32_t to)
{
  constexpr int kTexels = Bytes / 2, kMost = CF_MAX_CHANNELS;
  const int piece = (int)threadIdx.x & ((1 << log_across) - 1);
  const int step = kThreads >> log_across, rows = (int)(window.rows & 0xffff);
  int row = (int)threadIdx.x >> log_across;
  const __half *from[kMost];

#pragma unroll
  for (int i = 0; i < kMost; i++)
    from[i] = texels + window.from + (uint32_t)row * window.pitch + kTexels * piece +
              (uint32_t)order.channel(begin + i) * window.channel;
  to += (uint32_t)(2 * (row * pitch + kTexels * piece));
  const uint32_t channel = (uint32_t)(2 * rows * pitch), skip = (uint32_t)step * window.pitch;
#pragma unroll 1
  for (; row < rows && piece < pieces; row += step, to += (uint32_t)(2 * step * pitch)) {
#pragma unroll
    for (int i = 0; i < kMost; i++) {
      if (begin + i < end)
        cp_async<Bytes>(to + (uint32_t)i * channel, from[i]);
      from[i] += skip;
    }
  }
}

/* Copies a channel of a window that is not inside the image or not aligned: kCopyClamped. */
__device__ inline void copy_quads(const MipImage &image, const __half *from, int x0, int y0,
                                  const Window &window, __half *to)
{
#pragma unroll 1
  for (int quad = (int)threadIdx.x % 8; quad < window.columns / 4; quad += 8) {
    const int x = x0 + 4 * quad;
    int column[4];

#pragma unroll
    for (int k = 0; k < 4; k++)
      column[k] = clamped(x + k, image.first_x, image.width);
#pragma unroll 4
    for (int row = (int)threadIdx.x / 8; row < window.rows; row += kThreads / 8) {
      const uint16_t *line =
          (const uint16_t *)from +
          (size_t)clamped(y0 + row, image.first_y, image.height) * (size_t)image.pitch;
      uint32_t texel[4];

#pragma unroll
      for (int k = 0; k < 4; k++)
        texel[k] = __ldg(line + column[k]);
      *(uint2 *)(to + row * window.pitch + 4 * quad) =
          make_uint2(texel[0] | texel[1] << 16, texel[2] | texel[3] << 16);
    }
  }
}

__device__ inline void load_image(const MipImage &image, const __half *texels, ChannelOrder order,
                                  int begin, int end, int x0, int y0, const Window &window,
                                  __half *to)
{
#pragma unroll 1
  for (int i = begin; i < end; i++, to += window.texels())
    copy_quads(image, texels + image.at + (size_t)order.channel(i) * image.channel, x0, y0, window,
               to);
}

/* Loads a window without a MipWindow: channels begin .. end - 1 of `order`. Returns its texels. */
template <int C, bool Isolates>
__device__ inline int load_texels(const FrameJob &job, const MapPlane &plane, const MipImage &from,
                                  ChannelOrder order, int begin, int end, int x0, int y0,
                                  __half *to)
{
  /* A copy in registers: the compiler cannot know that stores to `to` do not change `from`. */
  const MipImage image = from;
  const Window window(image.log_x, image.log_y, y0);
  const int left = (x0 >> image.log_x) - CF_MIP_REACH, top = (y0 >> image.log_y) - CF_MIP_REACH;

  if (image.height == 0)
    load_frame<C, Isolates>(job.map, plane, order, begin, end, left, top, window, to);
  else
    load_image(image, job.texels, order, begin, end, left, top, window, to);
  return (end - begin) * window.texels();
}

/* Starts loading the windows of the groups in `batch`, one after the other; `groups` are all that
 * the tile needs, `recorded` is how many of these its record lists. await_texels() must follow. */
template <int C, bool Isolates>
__device__ inline void load_groups(const FrameJob &job, const MapPlane &plane,
                                   const PlanePlan &plan, unsigned recorded, unsigned groups,
                                   unsigned batch, ChannelOrder order, int begin, int end, int x0,
                                   int y0, __half *to)
{
  const MipWindow *next = job.tiles[blockIdx.x].window;

#pragma unroll 1
  for (; groups; groups &= groups - 1, next++) {
    const int group = __ffs((int)groups) - 1;

    if (!(batch >> group & 1))
      continue;
    const uint4 words = recorded ? __ldg((const uint4 *)next) : make_uint4(0, 0, 0, 0);
    const MipWindow window = {words.x, words.y, words.z, words.w};
    const int kind = recorded ? (int)(window.rows >> 16) : kCopyClamped;

    if (kind == kCopyFrame || kind == kCopyClamped) {
      to += load_texels<C, Isolates>(job, plane, plan.image[group], order, begin, end, x0, y0, to);
      continue;
    }
    const int pitch = pitch_of(kind == kCopy7x16 ? 0 : 1);
    const uint32_t address = smem_address(to);
    if (kind == kCopy8x8)
      copy_rows<8>(window, 8, 3, job.texels, order, begin, end, pitch, address);
    else if (kind == kCopy16x4)
      copy_rows<4>(window, 16, 4, job.texels, order, begin, end, pitch, address);
    else
      copy_rows<16>(window,
                    kind == kCopy7x16   ? 7
                    : kind == kCopy5x16 ? 5
                                        : 4,
                    kind == kCopy4x16 ? 2 : 3, job.texels, order, begin, end, pitch, address);
    to += (end - begin) * (int)(window.rows & 0xffff) * pitch;
  }
  /* Products read 16 bytes behind the last texels, with weights of 0: they must not be NaN. */
  if (threadIdx.x < 4)
    ((uint32_t *)to)[threadIdx.x] = 0;
  cp_async_commit();
}

__device__ inline void await_texels()
{
  cp_async_wait<0>();
  __syncthreads();
}

/* Replaces the contents of shared memory by one channel of a batch. Not inlined, to save registers
 * in the code of tiles that fit. */
template <int C, bool Isolates>
__device__ __noinline__ void load_next(const FrameJob &job, const MapPlane &plane,
                                       const PlanePlan &plan, unsigned recorded, unsigned groups,
                                       unsigned batch, ChannelOrder order, int channel, int x0,
                                       int y0, __half *to)
{
  __syncthreads();
  load_groups<C, Isolates>(job, plane, plan, recorded, groups, batch, order, channel, channel + 1,
                           x0, y0, to);
  await_texels();
}

} // namespace cf::blurmap
