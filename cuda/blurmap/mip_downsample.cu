/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Makes mip images from larger ones: downsamples by 2, by the taps 1 5 10 10 5 1 over 32, along one
 * axis or both, in fp16.
 */
#include "cuda/blurmap/device.cuh"
#include "cuda/common/half2.cuh"
#include "cuda/common/ptx_async.cuh"
#include "cuda/common/ptx_mma.cuh"
#include "cuda/common/pdl.cuh"

namespace cf::blurmap
{

namespace
{

constexpr int kThreadTexels = kDownsampleColumns / 32; /* neighbouring texels of a thread */
constexpr int kThreadRows = kDownsampleRows / (kThreads / 32);

__device__ inline uint32_t add_halves(uint32_t a, uint32_t b)
{
  return as_bits(__hadd2(as_half2(a), as_half2(b)));
}

__device__ inline uint32_t multiply_add(float tap, uint32_t value, uint32_t to)
{
  return as_bits(__hfma2(__float2half2_rn(tap), as_half2(value), as_half2(to)));
}

/* Six pairs of texels by the taps: along columns. */
__device__ inline uint32_t add_six(uint32_t a, uint32_t b, uint32_t c, uint32_t d, uint32_t e,
                                   uint32_t f)
{
  return multiply_add(
      10.0f / 32, add_halves(c, d),
      multiply_add(5.0f / 32, add_halves(b, e), multiply_add(1.0f / 32, add_halves(a, f), 0)));
}

/* Along a row: the six texels of three pairs; the result is the sum of its two halves. */
__device__ inline __half2 add_along(uint32_t left, uint32_t middle, uint32_t right)
{
  const __half2 outer = __floats2half2_rn(1.0f / 32, 5.0f / 32);

  return __hfma2(
      as_half2(middle), __float2half2_rn(10.0f / 32),
      __hfma2(__lowhigh2highlow(as_half2(right)), outer, __hmul2(as_half2(left), outer)));
}

/* The pairs of texels that a thread loads of a row of the larger image: kInner pairs and, with
 * `Across`, one before and one behind. Pairs outside the image repeat its outermost texel. The
 * image's width is a multiple of 2 kInner. */
template <bool Across> struct Pairs {
  static constexpr int kInner = kThreadTexels / (Across ? 1 : 2),
                       kCount = kInner + (Across ? 2 : 0);
  int at, before, after; /* columns of the first inner pair and of its neighbours, clamped */

  /* Byte selectors of the pairs: 0x3210, or a repetition of the first or last texel. */
  unsigned side, side_before, side_after;

  static __device__ unsigned beyond(const MipImage &image, int column)
  {
    return column < 0 ? 0x1010 : column >= image.width ? 0x3232 : 0x3210;
  }

  static __device__ int inside(const MipImage &image, int column, int texels)
  {
    return min(max(column, 0), image.width - texels);
  }

  __device__ Pairs(const MipImage &image, int x)
  {
    const int column = x - image.first_x;

    at = inside(image, column, 2 * kInner);
    before = inside(image, column - 2, 2);
    after = inside(image, column + 2 * kInner, 2);
    side = beyond(image, column);
    side_before = beyond(image, column - 2);
    side_after = beyond(image, column + 2 * kInner);
  }

  __device__ void load(const MipImage &image, const __half *texels, int y,
                       uint32_t (&pair)[kCount]) const
  {
    const int row = min(max(y - image.first_y, 0), image.height - 1);
    const __half *from = texels + row * image.pitch;

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

  /* Four texels of the smaller image from a row of pairs. */
  static __device__ uint2 combine(const uint32_t (&pair)[kCount])
  {
    if constexpr (Across) {
      __half2 texel[kThreadTexels];

#pragma unroll
      for (int i = 0; i < kThreadTexels; i++)
        texel[i] = add_along(pair[i], pair[i + 1], pair[i + 2]);
      return make_uint2(add_both(texel[0], texel[1]), add_both(texel[2], texel[3]));
    } else {
      return make_uint2(pair[0], pair[1]);
    }
  }

  /* The sums of the two numbers in a, and of those in b. */
  static __device__ uint32_t add_both(__half2 a, __half2 b)
  {
    return as_bits(__hadd2(__lows2half2(a, b), __highs2half2(a, b)));
  }
};

template <bool Across, bool Down>
__device__ inline void downsample_texels(const MipDownsample &pass, const __half *source,
                                         __half *target, int column, int first)
{
  constexpr int kRead = Down ? 2 * kThreadRows + 4 : kThreadRows, N = Pairs<Across>::kCount;
  const MipImage &to = pass.to;
  const MipImage from = pass.from;
  const Pairs<Across> pairs(from, (to.first_x + column) << (Across ? 1 : 0));
  const int y = Down ? 2 * (to.first_y + first) - 2 : to.first_y + first;
  uint32_t line[kRead][N];

#pragma unroll
  for (int i = 0; i < kRead; i++)
    pairs.load(from, source, y + i, line[i]);
#pragma unroll
  for (int row = 0; row < kThreadRows; row++) {
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
      *(uint2 *)(target + (first + row) * to.pitch + column) = Pairs<Across>::combine(sum);
  }
}

__global__ void __launch_bounds__(kThreads, kDownsampleCtasOfSm)
    downsample_mip_kernel(const __grid_constant__ FrameJob job)
{
  int cta;
  const MipDownsample pass = downsample_of_cta(job, &cta);
  const MipImage &from = pass.from, &to = pass.to;
  const int rows = (to.height + pass.rows - 1) / pass.rows;
  const int channel = cta / (pass.across * rows), part = cta % (pass.across * rows);
  const int column =
      part % pass.across * kDownsampleColumns + (int)threadIdx.x % 32 * kThreadTexels;
  const int first = part / pass.across * pass.rows + (int)threadIdx.x / 32 * kThreadRows;
  const __half *source = job.texels + from.at + channel * from.channel;
  __half *target = job.texels + to.at + channel * to.channel;

  pdl_trigger();
  if (column >= to.width || first >= to.height)
    return;
  pdl_wait();
  /* Padding is never read, nor is alpha of opaque frames. */
  const MapPlane &plane = job.map.plane[pass.plane];
  if ((plane.padding >> channel & 1) || (channel == plane.alpha && *job.transparent != job.frame))
    return;
  if (to.log_x > from.log_x && to.log_y > from.log_y)
    downsample_texels<true, true>(pass, source, target, column, first);
  else if (to.log_x > from.log_x)
    downsample_texels<true, false>(pass, source, target, column, first);
  else
    downsample_texels<false, true>(pass, source, target, column, first);
}

} // namespace

bool downsample_mips(const FrameJob *job, int ctas, void *stream, CfStatus *status)
{
  return launch_mma(downsample_mip_kernel, job, ctas, 0, stream, "halving a picture", status);
}

} // namespace cf::blurmap
