/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Halves frames of which each sample counts by its map value, by the taps 1 3 3 1 over 8 along one
 * axis or both: its colours times that, and the map itself.
 */
#include "cuda/blurmap/mma_device.cuh"
#include "cuda/common/border.cuh"
#include "cuda/common/half2.cuh"
#include "cuda/common/pdl.cuh"

namespace cf::blurmap
{

namespace
{

constexpr int kPixels = 4; /* of a lane in a row */
constexpr int kLanes = 30; /* of a warp that make texels: the outer ones only load */

__device__ inline uint32_t add_tap(float tap, uint32_t pair, uint32_t to)
{
  return as_bits(__hfma2(__float2half2_rn(tap), as_half2(pair), as_half2(to)));
}

/* A lane's pixels of a row: bytes and map values side by side. */
template <int C> struct Pixels {
  uint32_t words[C], map[2];

  __device__ uint32_t pixel(int i) const
  {
    const int byte = i * C, low = byte / 4;

    return C == 4 ? words[C == 4 ? i : 0]
                  : __funnelshift_r(words[low], words[low + 1 < C ? low + 1 : low],
                                    (unsigned)(byte % 4 * 8));
  }

  __device__ uint32_t map_of(int i) const
  {
    return i % 2 ? map[i / 2] >> 16 : map[i / 2] & 0xffff;
  }
};

template <int C>
__device__ inline void load_inner(const MapPlane &plane, int x, int row, Pixels<C> &pixels)
{
  const uint8_t *from = plane.source + (ptrdiff_t)row * plane.source_stride + (ptrdiff_t)x * C;
  const uint2 map =
      __ldg((const uint2 *)((const uint8_t *)plane.map + row * plane.map_stride + 2 * x));

  if constexpr (C == 4) {
    const uint4 four = __ldg((const uint4 *)from);

    pixels.words[0] = four.x;
    pixels.words[1] = four.y;
    pixels.words[2] = four.z;
    pixels.words[3] = four.w;
  } else {
#pragma unroll
    for (int i = 0; i < C; i++)
      pixels.words[i] = __ldg((const uint32_t *)from + i);
  }
  pixels.map[0] = map.x;
  pixels.map[1] = map.y;
}

/* Where they lie apart. Inlined, its code would displace that of all others. */
template <int C>
__device__ __noinline__ Pixels<C> load_outer(const MapJob &job, const MapPlane &plane, int x, int y)
{
  const int row = fold_index(job.border, y, plane.height);
  Pixels<C> pixels;
  uint32_t pixel[kPixels], map[kPixels];

#pragma unroll
  for (int i = 0; i < kPixels; i++) {
    const int column = fold_index(job.border, x + i, plane.width);

    pixel[i] = pixel_folded<C>(plane, column, row);
    map[i] = map_folded(plane, column, row);
  }
#pragma unroll
  for (int i = 0; i < C; i++)
    pixels.words[i] = 0;
#pragma unroll
  for (int i = 0; i < kPixels * C; i++)
    pixels.words[i / 4] |= (pixel[i / C] >> 8 * (i % C) & 255) << i % 4 * 8;
  pixels.map[0] = map[0] | map[1] << 16;
  pixels.map[1] = map[2] | map[3] << 16;
  return pixels;
}

/* Copies a lane's first or last pixel to all, where they lie to the left or right of the plane. */
template <int C> __device__ inline void spread(Pixels<C> &pixels, bool left)
{
  const uint32_t pixel = pixels.pixel(left ? 0 : kPixels - 1);
  const uint32_t map = pixels.map_of(left ? 0 : kPixels - 1);

#pragma unroll
  for (int w = 0; w < C; w++) {
    unsigned select = 0;

#pragma unroll
    for (int i = 0; i < 4; i++)
      select |= (unsigned)((4 * w + i) % C) << 4 * i;
    pixels.words[w] = __byte_perm(pixel, 0, select);
  }
  pixels.map[0] = pixels.map[1] = map * 0x10001;
}

/* With `clamps`, of the nearest row inside. */
template <int C>
__device__ inline void load_pixels(const MapJob &job, const MapPlane &plane, bool clamps, int x,
                                   int y, Pixels<C> &pixels)
{
  const int row = clamps ? min(max(y, 0), plane.height - 1) : y;

  if (clamps || (plane.vector && (unsigned)y < (unsigned)plane.height && x >= 0 &&
                 x + kPixels <= plane.width))
    load_inner<C>(plane, x, row, pixels);
  else
    pixels = load_outer<C>(job, plane, x, y);
}

template <bool Across> constexpr int kTexels = kPixels / (Across ? 2 : 1);

/* Of a lane's texels in a row. */
template <int C, bool Across> using Sums = Weighed<C>[kTexels<Across>];

/* One row's sums of a lane, 8 times too large where it halves. */
template <int C, bool Across>
__device__ inline void add_across(const MapPlane &plane, const Pixels<C> &pixels,
                                  Sums<C, Across> &sum)
{
  constexpr int kAround = Across ? 1 : 0;
  Weighed<C> value[kPixels + 2 * kAround];

#pragma unroll
  for (int i = 0; i < kPixels; i++)
    weigh<C>(plane, pixels.pixel(i), pixels.map_of(i), value[i + kAround]);
#pragma unroll
  for (int k = 0; k <= C / 2; k++) {
    if (Across) {
      value[0][k] = __shfl_up_sync(0xffffffffu, value[kPixels][k], 1);
      value[kPixels + kAround][k] = __shfl_down_sync(0xffffffffu, value[kAround][k], 1);
    }
#pragma unroll
    for (int i = 0; i < kTexels<Across>; i++) {
      const int x = Across ? 2 * i : 0;

      sum[i][k] =
          Across ? add_tap(3.0f, add_tap(1.0f, value[x + kAround][k], value[x + 2 * kAround][k]),
                           add_tap(1.0f, value[x][k], value[x + 3 * kAround][k]))
                 : value[i][k];
    }
  }
}

template <int C, bool Across>
__device__ inline void add(float tap, const Sums<C, Across> &sum, Sums<C, Across> &to)
{
#pragma unroll
  for (int i = 0; i < kTexels<Across>; i++) {
#pragma unroll
    for (int k = 0; k <= C / 2; k++)
      to[i][k] = add_tap(tap, sum[i][k], to[i][k]);
  }
}

template <int C, bool Across>
__device__ inline void store_texels(const MapPlane &plane, const MipImage &image, __half *to,
                                    float scale, const Sums<C, Across> &sum)
{
  const uint32_t both = as_bits(__float2half2_rn(scale));

#pragma unroll
  for (int c = 0; c <= C; c++, to += image.channel) {
    if (c < C && (plane.padding >> c & 1))
      continue;
#pragma unroll
    for (int i = 0; i < kTexels<Across>; i += 2)
      *(uint32_t *)(to + i) = hmul2_bits(both, channel_of_two<C>(sum[i], sum[i + 1], c));
  }
}

template <int C>
__device__ inline bool is_translucent(const MapPlane &plane, const Pixels<C> &pixels)
{
  if constexpr (C == 4)
    return plane.alpha >= 0 && !is_opaque(make_uint4(pixels.words[0], pixels.words[1],
                                                     pixels.words[2], pixels.words[3]),
                                          plane.alpha == 0);
  return false;
}

/* A warp's texels: kLanes lanes side by side, some rows. The pixels of a row of texels are fetched
 * while the one before is made. */
template <int C, bool Across, bool Down>
__device__ inline void downsample_strip(const MmaJob &job, const MapPlane &plane,
                                        const MipImage &image, int strip, int first, int rows)
{
  constexpr float kScale = (Across ? 0.125f : 1.0f) * (Down ? 0.125f : 1.0f);
  constexpr int kStep = Down ? 2 : 1;
  const int lane = (int)threadIdx.x % 32, group = strip * kLanes + lane - 1;
  const int x = (image.first_x << (Across ? 1 : 0)) + group * kPixels;
  const int column = group * kTexels<Across>;
  const bool stores = lane > 0 && lane <= kLanes && column < image.width;
  const int end = min(first + rows, image.height);
  __half *to = job.texels + image.at + (size_t)first * (size_t)image.pitch + (ptrdiff_t)column;
  /* Where pixels beyond the plane's sides are copies of its last ones. */
  const bool clamps =
      job.map.border == CF_BORDER_REPLICATE && plane.vector && plane.width % kPixels == 0;
  const int inner = clamps ? min(max(x, 0), plane.width - kPixels) : x;
  int y = kStep * (image.first_y + first) - (Down ? 1 : 0);
  bool translucent = false;
  Sums<C, Across> across, sum = {};
  Pixels<C> next[kStep];

  if (Down) {
#pragma unroll
    for (int k = 0; k < kStep; k++) {
      load_pixels<C>(job.map, plane, clamps, inner, y++, next[k]);
      translucent |= is_translucent<C>(plane, next[k]);
      if (x != inner)
        spread<C>(next[k], x < 0);
      add_across<C, Across>(plane, next[k], across);
      add<C, Across>(k ? 3.0f : 1.0f, across, sum);
    }
  }
#pragma unroll
  for (int k = 0; k < kStep; k++)
    load_pixels<C>(job.map, plane, clamps, inner, y++, next[k]);
#pragma unroll 1
  for (int i = first; i < end; i++, to += image.pitch) {
    Pixels<C> pixels[kStep];

#pragma unroll
    for (int k = 0; k < kStep; k++) {
      pixels[k] = next[k];
      if (i + 1 < end)
        load_pixels<C>(job.map, plane, clamps, inner, y++, next[k]);
      translucent |= is_translucent<C>(plane, pixels[k]);
      if (x != inner)
        spread<C>(pixels[k], x < 0);
    }
    add_across<C, Across>(plane, pixels[0], across);
    if (!Down) {
      if (stores)
        store_texels<C, Across>(plane, image, to, kScale, across);
      continue;
    }
    Sums<C, Across> below = {};

    add<C, Across>(3.0f, across, sum);
    add<C, Across>(1.0f, across, below);
    add_across<C, Across>(plane, pixels[kStep - 1], across);
    add<C, Across>(1.0f, across, sum);
    if (stores)
      store_texels<C, Across>(plane, image, to, kScale, sum);
    add<C, Across>(3.0f, across, below);
    memcpy(sum, below, sizeof sum);
  }
  if (translucent)
    *job.transparent = job.frame;
}

template <int C>
__device__ inline void downsample_plane(const MmaJob &job, const MipDownsample &pass, int block)
{
  const MapPlane &plane = job.map.plane[pass.plane];
  const MipImage &to = pass.to;
  const int warp = block * (kThreads / 32) + (int)threadIdx.x / 32;
  const int strip = warp % pass.across, first = warp / pass.across * pass.rows;

  if (first >= to.height)
    return;
  if (to.log_x && to.log_y)
    downsample_strip<C, true, true>(job, plane, to, strip, first, pass.rows);
  else if (to.log_x)
    downsample_strip<C, true, false>(job, plane, to, strip, first, pass.rows);
  else
    downsample_strip<C, false, true>(job, plane, to, strip, first, pass.rows);
}

/* Planes have `A` or `B` channels. */
template <int A, int B>
__global__ void __launch_bounds__(kThreads, kWeightedCtasOfSm)
    downsample_weighted_kernel(const __grid_constant__ MmaJob job)
{
  int block;
  const MipDownsample pass = downsample_of_cta(job, &block);

  pdl_trigger();
  if (A == B || job.map.plane[pass.plane].channels == A)
    downsample_plane<A>(job, pass, block);
  else
    downsample_plane<B>(job, pass, block);
}

} // namespace

bool downsample_weighted_frame(const MmaJob *job, int ctas, void *stream, CfStatus *status)
{
  const int first = job->map.plane[0].channels;
  void (*kernel)(MmaJob) = first == 4   ? downsample_weighted_kernel<4, 4>
                           : first == 3 ? downsample_weighted_kernel<3, 3>
                                        : downsample_weighted_kernel<1, 2>;

  return launch_mma(kernel, job, ctas, 0, stream, "pass a picture", status);
}

} // namespace cf::blurmap
