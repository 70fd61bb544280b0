/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Halves frames by the taps 1 3 3 1 over 8, along one axis or both.
 */
#include "cuda/blurmap/mip_from_frame_dp4a.cuh"
#include "cuda/common/alpha.cuh"
#include "cuda/common/border.cuh"
#include "cuda/common/half2.cuh"
#include "cuda/common/ptx_async.cuh"
#include "cuda/common/ptx_mma.cuh"
#include "cuda/common/pdl.cuh"

namespace cf::blurmap
{

namespace
{

/* 2^23 more than one of two numbers of 16 bits. */
__device__ inline float low_float(uint32_t pair)
{
  return __uint_as_float(__byte_perm(pair, 0x4b000000u, 0x7610));
}

__device__ inline float high_float(uint32_t pair)
{
  return __uint_as_float(__byte_perm(pair, 0x4b000000u, 0x7632));
}

/* Sums are of two samples at a time in the halves of a word, in quarters of a code. */

/* Pixels that a lane reads at a time, in four words; of three channels in three. */
template <int C> constexpr int kPixels = C == 3 ? 4 : 16 / C;
template <int C> constexpr int kWords = C == 3 ? 3 : 4;

/* Of a lane's folded columns in shared memory: odd, for the banks. */
template <int C> constexpr int kPitch = kPixels<C> + 1;

/* Of a pixel two channels, or of one channel two texels, share a word. */
template <int C> constexpr int kPairs = C > 2 ? 2 : 1;
template <int C, bool Across> constexpr int kTexels = kPixels<C> / (Across ? 2 : 1);
template <int C, bool Across>
constexpr int kSums = C == 1 ? kTexels<C, Across> / 2 : kTexels<C, Across> *kPairs<C>;

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
__device__ inline Columns<C> find_columns(const MapJob &job, const MapPlane &plane, int x,
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
      folded[i] = fold_index(job.border, x + i, plane.width);
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
__device__ inline uint4 outer_pixels(const MapPlane &plane, const int *folded, int row)
{
  uint32_t pixel[kPixels<C>], words[4] = {};

#pragma unroll
  for (int i = 0; i < kPixels<C>; i++)
    pixel[i] = pixel_folded<C>(plane, folded[i], row);
#pragma unroll
  for (int i = 0; i < kPixels<C> * C; i++)
    words[i / 4] |= (pixel[i / C] >> 8 * (i % C) & 255) << i % 4 * 8;
  return make_uint4(words[0], words[1], words[2], words[3]);
}

template <int C>
__device__ inline void load_pixels(const MapJob &job, const MapPlane &plane,
                                   const Columns<C> &columns, int y, uint32_t (&words)[kWords<C>])
{
  const int row = fold_index(job.border, y, plane.height);
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
  for (int i = 0; i < kTexels<C, Across>; i++) {
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
      /* Of the bytes 3 | 0 1 2 3 | 0 for two texels: 3 and 1, 0 and 2, 1 and 3, 2 and 0. */
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
__device__ inline void add_across(const MapPlane &plane, const uint32_t (&words)[kWords<C>],
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

/* 2^23 more than channel `c` of texel `i` of a lane's sums. */
template <int C, int N> __device__ inline float sum_of(const uint32_t (&sum)[N], int i, int c)
{
  const int word = C == 1 ? i / 2 : C == 2 ? i : 2 * i + c % 2;
  const bool high = C == 1 ? i % 2 : C == 2 ? c : c / 2;

  return high ? high_float(sum[word]) : low_float(sum[word]);
}

/* Less the centre, of which colours have as much as their weights add up to. */
template <int C, bool Across>
__device__ inline void store_texels(const MapPlane &plane, const MipImage &image, __half *to,
                                    float scale, const uint32_t (&sum)[kSums<C, Across>])
{
  uint32_t pair[C][kTexels<C, Across> / 2];

#pragma unroll
  for (int i = 0; i < kTexels<C, Across>; i += 2) {
    float value[2][C];

#pragma unroll
    for (int k = 0; k < 2; k++) {
#pragma unroll
      for (int c = 0; c < C; c++)
        value[k][c] = sum_of<C>(sum, i + k, c);

      const float weight =
          C == 4 && plane.alpha >= 0
              ? alpha_weight(scale *
                             ((plane.alpha == 0 ? value[k][0] : value[k][C - 1]) - 8388608.0f))
              : 1.0f;
#pragma unroll
      for (int c = 0; c < C; c++)
        value[k][c] = fmaf(scale, value[k][c],
                           (c == plane.alpha ? -plane.centre[c] : -plane.centre[c] * weight) -
                               scale * 8388608.0f);
    }
#pragma unroll
    for (int c = 0; c < C; c++)
      pair[c][i / 2] = pack_half2(value[0][c], value[1][c]);
  }
#pragma unroll
  for (int c = 0; c < C; c++) {
    __half *channel = to + c * image.channel;

    if (kTexels<C, Across> == 2) {
      *(uint32_t *)channel = pair[c][0];
    } else {
#pragma unroll
      for (int i = 0; i < kTexels<C, Across> / 2; i += 2)
        *(uint2 *)(channel + 2 * i) =
            make_uint2(pair[c][i], pair[c][i + 1 < kTexels<C, Across> / 2 ? i + 1 : i]);
    }
  }
}

/* A warp's texels: kLanes lanes side by side, some rows, whose pixels are fetched a row ahead. */
template <int C, bool Across, bool Down>
__device__ inline void downsample_strip(const MmaJob &job, const MapPlane &plane,
                                        const MipImage &image, int strip, int first, int rows,
                                        int *folded)
{
  constexpr float kScale = 0.25f * (Across ? 0.125f : 1.0f) * (Down ? 0.125f : 1.0f);
  constexpr int kStep = Down ? 2 : 1;
  const int lane = (int)threadIdx.x % 32, group = strip * kLanes + lane - 1;
  const int x = (image.first_x << (Across ? 1 : 0)) + group * kPixels<C>;
  const int column = group * kTexels<C, Across>;
  const bool stores = lane > 0 && lane <= kLanes && column < image.width;
  const int end = min(first + rows, image.height);
  __half *to = job.texels + image.at + (size_t)first * (size_t)image.pitch + (ptrdiff_t)column;
  uint32_t row[4][kSums<C, Across>], next[kStep][kWords<C>];
  const Columns<C> columns =
      find_columns<C>(job.map, plane, x, column - kTexels<C, Across> < image.width, folded);
  int y = kStep * (image.first_y + first) + (Down ? 1 : 0);
  bool transparent = false;

  uint32_t above[2][kWords<C>];

  if (Down) {
    load_pixels<C>(job.map, plane, columns, y - 2, above[0]);
    load_pixels<C>(job.map, plane, columns, y - 1, above[1]);
  }
#pragma unroll
  for (int k = 0; k < kStep; k++)
    load_pixels<C>(job.map, plane, columns, y + k, next[k]);
  if (Down) {
    spread_outer<C>(columns, above[0]);
    spread_outer<C>(columns, above[1]);
    add_across<C, Across>(plane, above[0], &transparent, row[0]);
    add_across<C, Across>(plane, above[1], &transparent, row[1]);
  }
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
        store_texels<C, Across>(plane, image, to, kScale, row[0]);
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
      store_texels<C, Across>(plane, image, to, kScale, row[0]);
#pragma unroll
    for (int k = 0; k < kSums<C, Across>; k++)
      row[0][k] = row[2][k];
  }
  if (transparent && lane == 0)
    *job.transparent = job.frame;
}

template <int C>
__device__ inline void downsample_plane(const MmaJob &job, const MipDownsample &pass, int block,
                                        int *shared)
{
  const MapPlane &plane = job.map.plane[pass.plane];
  const MipImage &to = pass.to;
  const int warp = block * (kThreads / 32) + (int)threadIdx.x / 32;
  const int strip = warp % pass.across, first = warp / pass.across * pass.rows;
  int *folded = shared + threadIdx.x * kPitch<C>;

  if (first >= to.height)
    return;
  if constexpr (C < 3) {
    if (to.log_x && to.log_y && downsample_dp4a<C>(job, plane, to, strip, first, pass.rows))
      return;
  }
  if (to.log_x && to.log_y)
    downsample_strip<C, true, true>(job, plane, to, strip, first, pass.rows, folded);
  else if (to.log_x)
    downsample_strip<C, true, false>(job, plane, to, strip, first, pass.rows, folded);
  else
    downsample_strip<C, false, true>(job, plane, to, strip, first, pass.rows, folded);
}

/* Planes have `A` or `B` channels. */
template <int A, int B>
__global__ void __launch_bounds__(kThreads, frame_ctas_of_sm(A))
    downsample_frame_kernel(const __grid_constant__ MmaJob job)
{
  __shared__ int shared[kThreads * (kPitch<A> > kPitch<B> ? kPitch<A> : kPitch<B>)];
  int block;
  const MipDownsample pass = downsample_of_cta(job, &block);

  pdl_trigger();
  if (A == B || job.map.plane[pass.plane].channels == A)
    downsample_plane<A>(job, pass, block, shared);
  else
    downsample_plane<B>(job, pass, block, shared);
}

} // namespace

int frame_texels_of_warp(int channels, int log_x)
{
  const int pixels = channels == 3 ? 4 : 16 / channels;

  return kLanes * pixels / (log_x ? 2 : 1);
}

bool downsample_frame(const MmaJob *job, int blocks, void *stream, CfStatus *status)
{
  const int first = job->map.plane[0].channels;
  void (*kernel)(MmaJob) = first == 4   ? downsample_frame_kernel<4, 4>
                           : first == 3 ? downsample_frame_kernel<3, 3>
                                        : downsample_frame_kernel<1, 2>;

  return launch_mma(kernel, job, blocks, 0, stream, "pass a picture", status);
}

} // namespace cf::blurmap
