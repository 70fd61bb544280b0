/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Makes the first mip images, from the frame: downsamples by 2, by the taps 1 3 3 1 over 8, along
 * one axis or both, in pairs of fp16. Sums along rows are exact; those along columns are rounded by
 * 1/2048 of their value at most. With map_isolate each sample is multiplied by its map value.
 */
#include "cuda/blurmap/device.cuh"
#include "cuda/common/border.cuh"
#include "cuda/common/half2.cuh"
#include "cuda/common/pdl.cuh"

namespace cf::blurmap
{

namespace
{

constexpr int kLanes = 30; /* lanes that make texels; lanes 0 and 31 load for their neighbours */

/* A lane has four PixelHalves in a row. With one channel, each word holds two pixels: pixel i and
 * pixel i + 4. */
constexpr int kPairs = 4;

__host__ __device__ constexpr int columns_of_lane(int channels)
{
  return channels == 1 ? 2 * kPairs : kPairs;
}

/* A lane's pixels of a row: their bytes, and with map_isolate their map values, as in memory. */
template <int C, bool Isolates> struct Pixels {
  static constexpr int kColumns = columns_of_lane(C), kWords = kColumns * C / 4;
  uint32_t words[kWords], map[kColumns / 2];

  __device__ uint32_t pixel(int i) const
  {
    const int byte = i * C, low = byte / 4;

    return __funnelshift_r(words[low], words[low + 1 < kWords ? low + 1 : low],
                           (unsigned)(byte % 4 * 8));
  }

  /* The bytes and map values for PixelHalves `i`. */
  __device__ uint32_t pair(int i) const
  {
    return C == 1 ? __byte_perm(words[0], words[kWords - 1], 0x40u + 0x11u * (unsigned)i)
                  : pixel(i);
  }

  __device__ uint32_t maps_of_pair(int i) const
  {
    return C == 1 ? __byte_perm(map[i / 2], map[kColumns / 2 - 2 + i / 2], i % 2 ? 0x7632 : 0x5410)
                  : map_twice(i);
  }

  __device__ uint32_t map_twice(int i) const
  {
    return __byte_perm(map[i / 2], 0, i % 2 ? 0x3232 : 0x1010);
  }

  __device__ bool is_translucent(const MapPlane &plane) const
  {
    return C == 4 && plane.alpha >= 0 && !is_opaque(words, plane.alpha == 0);
  }

  /* Replaces all pixels by the first (`left`) or last one: the border replicate. */
  __device__ void replicate_edge(bool left)
  {
    const uint32_t outermost = left ? pixel(0) : pixel(kColumns - 1); /* constants: in registers */

    if (Isolates) {
      const uint32_t outermost_map = left ? map_twice(0) : map_twice(kColumns - 1);

#pragma unroll
      for (int i = 0; i < kColumns / 2; i++)
        map[i] = outermost_map;
    }
#pragma unroll
    for (int w = 0; w < kWords; w++) {
      unsigned select = 0;

#pragma unroll
      for (int i = 0; i < 4; i++)
        select |= (unsigned)((4 * w + i) % C) << 4 * i;
      words[w] = __byte_perm(outermost, 0, select);
    }
  }
};

/* Loads pixels inside the plane, whose rows are aligned to 16 bytes. */
template <int C, bool Isolates>
__device__ inline void load_inner(const MapPlane &plane, int x, int row,
                                  Pixels<C, Isolates> &pixels)
{
  constexpr int N = Pixels<C, Isolates>::kWords;
  const uint8_t *from = plane.source + (ptrdiff_t)row * plane.source_stride + (ptrdiff_t)x * C;

  if constexpr (N == 4) {
    const uint4 four = __ldg((const uint4 *)from);

    pixels.words[0] = four.x;
    pixels.words[1] = four.y;
    pixels.words[2] = four.z;
    pixels.words[3] = four.w;
  } else if constexpr (N == 2) {
    const uint2 two = __ldg((const uint2 *)from);

    pixels.words[0] = two.x;
    pixels.words[1] = two.y;
  } else {
#pragma unroll
    for (int i = 0; i < N; i++)
      pixels.words[i] = __ldg((const uint32_t *)from + i);
  }
  if (Isolates) {
    const uint2 *map = (const uint2 *)map_at(plane, x, row);

#pragma unroll
    for (int i = 0; i < Pixels<C, Isolates>::kColumns / 4; i++) {
      const uint2 four = __ldg(map + i);

      pixels.map[2 * i] = four.x;
      pixels.map[2 * i + 1] = four.y;
    }
  }
}

/* Bytes and map value of a pixel, as the border extends the plane. Not inlined: many copies would
 * fill the instruction cache. */
template <int C, bool Isolates>
__device__ __noinline__ uint2 outer_pixel(const MapJob &job, const MapPlane &plane, int x, int y)
{
  const int column = fold_index(job.border, x, plane.width);
  const int row = fold_index(job.border, y, plane.height);

  return make_uint2(pixel_folded<C>(plane, column, row),
                    Isolates ? __half_as_ushort(map_folded(plane, column, row)) : 0);
}

template <int C, bool Isolates>
__device__ inline void load_outer(const MapJob &job, const MapPlane &plane, int x, int y,
                                  Pixels<C, Isolates> &pixels)
{
  pixels = {};
#pragma unroll
  for (int i = 0; i < Pixels<C, Isolates>::kColumns; i++) {
    const uint2 one = outer_pixel<C, Isolates>(job, plane, x + i, y);

#pragma unroll
    for (int c = 0; c < C; c++)
      pixels.words[(i * C + c) / 4] |= (one.x >> 8 * c & 255) << (i * C + c) % 4 * 8;
    if (Isolates)
      pixels.map[i / 2] |= one.y << i % 2 * 16;
  }
}

/* Loads a lane's pixels of row y. With `clamps`, x is inside the plane and rows are clamped. */
template <int C, bool Isolates>
__device__ inline void load_pixels(const MapJob &job, const MapPlane &plane, bool clamps, int x,
                                   int y, Pixels<C, Isolates> &pixels)
{
  const int row = clamps ? min(max(y, 0), plane.height - 1) : y;

  if (clamps || (plane.vector && (unsigned)y < (unsigned)plane.height && x >= 0 &&
                 x + Pixels<C, Isolates>::kColumns <= plane.width))
    load_inner(plane, x, row, pixels);
  else
    load_outer(job, plane, x, y, pixels);
}

__device__ inline uint32_t add_tap(float tap, uint32_t pair, uint32_t to)
{
  return hfma2_bits(as_bits(__float2half2_rn(tap)), pair, to);
}

/* Texels of a lane in a row. */
template <bool Across> constexpr int kTexels = kPairs / (Across ? 2 : 1);

template <int C, bool Across> using Sums = PixelHalves<C>[kTexels<Across>];

/* The sums along one row of a lane's texels, 8 times too large with `Across`. Sets `*translucent`
 * if the lane has alpha below 255. */
template <int C, bool Isolates, bool Across>
__device__ inline void add_across(const MapPlane &plane, const Pixels<C, Isolates> &pixels,
                                  bool *translucent, Sums<C, Across> &sum)
{
  constexpr int kAround = Across ? 1 : 0;
  const bool is_translucent_lane = pixels.is_translucent(plane);
  const bool any_translucent = C == 4 && __any_sync(0xffffffffu, is_translucent_lane);
  PixelHalves<C> value[kPairs + 2 * kAround];

  *translucent |= is_translucent_lane;
  if (C == 4 && any_translucent) {
#pragma unroll
    for (int i = 0; i < kPairs; i++)
      to_halves<C, Isolates>(plane, pixels.pair(i), Isolates ? pixels.maps_of_pair(i) : 0, true,
                             value[i + kAround]);
  } else {
#pragma unroll
    for (int i = 0; i < kPairs; i++)
      to_halves<C, Isolates>(plane, pixels.pair(i), Isolates ? pixels.maps_of_pair(i) : 0, false,
                             value[i + kAround]);
  }
#pragma unroll
  for (int k = 0; k < (C + 1) / 2; k++) {
    if (Across) {
      const uint32_t first = value[kAround][k], last = value[kPairs][k];
      const uint32_t before = __shfl_up_sync(0xffffffffu, last, 1);
      const uint32_t after = __shfl_down_sync(0xffffffffu, first, 1);

      value[0][k] = C == 1 ? __byte_perm(before, last, 0x5432) : before;
      value[kPairs + kAround][k] = C == 1 ? __byte_perm(first, after, 0x5432) : after;
    }
#pragma unroll
    for (int i = 0; i < kTexels<Across>; i++) {
      const int x = Across ? 2 * i : i;

      sum[i][k] =
          Across ? add_tap(3.0f, add_tap(1.0f, value[x + kAround][k], value[x + 2 * kAround][k]),
                           add_tap(1.0f, value[x][k], value[x + 3 * kAround][k]))
                 : value[x][k];
    }
  }
}

template <int C, bool Across>
__device__ inline void add(float tap, const Sums<C, Across> &sum, Sums<C, Across> &to)
{
#pragma unroll
  for (int i = 0; i < kTexels<Across>; i++) {
#pragma unroll
    for (int k = 0; k < (C + 1) / 2; k++)
      to[i][k] = add_tap(tap, sum[i][k], to[i][k]);
  }
}

template <int C, bool Across>
__device__ inline void store_texels(const MapPlane &plane, const MipImage &image, __half *to,
                                    float scale, const Sums<C, Across> &sum)
{
  constexpr int kCount = kTexels<Across>;
  const uint32_t both = as_bits(__float2half2_rn(scale));

#pragma unroll
  for (int c = 0; c < (C == 1 ? 2 : C); c++) {
    if (c < C && (plane.padding >> c & 1))
      continue;
    __half *channel = to + (C == 1 ? c * kCount : channel_of<C>(plane, c) * image.channel);
#pragma unroll
    for (int i = 0; i < kCount; i += 2)
      *(uint32_t *)(channel + i) = hmul2_bits(both, channel_of_two<C>(sum[i], sum[i + 1], c));
  }
}

/* Makes a warp's texels: the columns of kLanes lanes, `rows` rows. The pixels for a row of texels
 * are loaded while the row before is computed. */
template <int C, bool Isolates, bool Across, bool Down>
__device__ inline void downsample_strip(const FrameJob &job, const MapPlane &plane,
                                        const MipImage &image, int strip, int first, int rows)
{
  constexpr float kScale = (Across ? 0.125f : 1.0f) * (Down ? 0.125f : 1.0f);
  constexpr int kStep = Down ? 2 : 1, kColumns = Pixels<C, Isolates>::kColumns;
  const int lane = (int)threadIdx.x % 32, column_group = strip * kLanes + lane - 1;
  const int x = (image.first_x << (Across ? 1 : 0)) + column_group * kColumns;
  const int column = column_group * (kColumns / (Across ? 2 : 1));
  const bool stores = lane > 0 && lane <= kLanes && column < image.width;
  const int end = min(first + rows, image.height);
  __half *to = job.texels + image.at + (size_t)first * (size_t)image.pitch + (ptrdiff_t)column;
  /* Border replicate on a lane's whole group of pixels. */
  const bool clamps =
      job.map.border == CF_BORDER_REPLICATE && plane.vector && plane.width % kColumns == 0;
  const int inner = clamps ? min(max(x, 0), plane.width - kColumns) : x;
  int y = kStep * (image.first_y + first) - (Down ? 1 : 0);
  bool translucent = false;
  Sums<C, Across> across, sum = {};
  Pixels<C, Isolates> next[kStep];

  if (Down) {
#pragma unroll
    for (int k = 0; k < kStep; k++) {
      load_pixels(job.map, plane, clamps, inner, y++, next[k]);
      if (x != inner)
        next[k].replicate_edge(x < 0);
      add_across<C, Isolates, Across>(plane, next[k], &translucent, across);
      add<C, Across>(k ? 3.0f : 1.0f, across, sum);
    }
  }
#pragma unroll
  for (int k = 0; k < kStep; k++)
    load_pixels(job.map, plane, clamps, inner, y++, next[k]);
#pragma unroll 1
  for (int i = first; i < end; i++, to += image.pitch) {
    Pixels<C, Isolates> pixels[kStep];

#pragma unroll
    for (int k = 0; k < kStep; k++) {
      pixels[k] = next[k];
      if (i + 1 < end)
        load_pixels(job.map, plane, clamps, inner, y++, next[k]);
      if (x != inner)
        pixels[k].replicate_edge(x < 0);
    }
    add_across<C, Isolates, Across>(plane, pixels[0], &translucent, across);
    if (!Down) {
      if (stores)
        store_texels<C, Across>(plane, image, to, kScale, across);
      continue;
    }
    Sums<C, Across> below = {};

    add<C, Across>(3.0f, across, sum);
    add<C, Across>(1.0f, across, below);
    add_across<C, Isolates, Across>(plane, pixels[kStep - 1], &translucent, across);
    add<C, Across>(1.0f, across, sum);
    if (stores)
      store_texels<C, Across>(plane, image, to, kScale, sum);
    add<C, Across>(3.0f, across, below);
    memcpy(sum, below, sizeof sum);
  }
  if (translucent)
    *job.transparent = job.frame;
}

template <int C, bool Isolates>
__device__ inline void downsample_plane(const FrameJob &job, const MipDownsample &pass, int cta)
{
  const MapPlane &plane = job.map.plane[pass.plane];
  const MipImage &to = pass.to;
  const int warp = cta * (kThreads / 32) + (int)threadIdx.x / 32;
  const int strip = warp % pass.across, first = warp / pass.across * pass.rows;

  if (first >= to.height)
    return;
  if (to.log_x && to.log_y)
    downsample_strip<C, Isolates, true, true>(job, plane, to, strip, first, pass.rows);
  else if (to.log_x)
    downsample_strip<C, Isolates, true, false>(job, plane, to, strip, first, pass.rows);
  else
    downsample_strip<C, Isolates, false, true>(job, plane, to, strip, first, pass.rows);
}

/* For planes of `A` and of `B` channels. */
template <int A, int B, bool Isolates>
__global__ void __launch_bounds__(kThreads, kFrameCtasOfSm)
    downsample_frame_kernel(const __grid_constant__ FrameJob job)
{
  int cta;
  const MipDownsample pass = downsample_of_cta(job, &cta);

  pdl_trigger();
  if (A == B || job.map.plane[pass.plane].channels == A)
    downsample_plane<A, Isolates>(job, pass, cta);
  else
    downsample_plane<B, Isolates>(job, pass, cta);
}

template <bool Isolates> void (*kernel_of(int channels))(FrameJob)
{
  return channels == 4   ? downsample_frame_kernel<4, 4, Isolates>
         : channels == 3 ? downsample_frame_kernel<3, 3, Isolates>
                         : downsample_frame_kernel<1, 2, Isolates>;
}

} // namespace

int frame_texels_of_warp(int channels, int log_x)
{
  return kLanes * columns_of_lane(channels) / (log_x ? 2 : 1);
}

bool downsample_frame(const FrameJob *job, int ctas, void *stream, CfStatus *status)
{
  const int channels = job->map.plane[0].channels;

  return launch_mma(job->map.isolates ? kernel_of<true>(channels) : kernel_of<false>(channels), job,
                    ctas, 0, stream, "halving a picture", status);
}

} // namespace cf::blurmap
