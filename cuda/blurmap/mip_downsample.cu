/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Halves halved images by the taps 1 5 10 10 5 1 over 32, along one axis or both.
 */
#include "cuda/blurmap/mip_types.cuh"
#include "cuda/common/half2.cuh"
#include "cuda/common/ptx_async.cuh"
#include "cuda/common/ptx_mma.cuh"
#include "cuda/common/pdl.cuh"

namespace
{

constexpr int kImageCells = kCellImageColumns / 32;              /* of a thread in a row */
constexpr int kImageRows = kCellImageRows / (kCellThreads / 32); /* of a thread */

__device__ inline uint32_t add_halves(uint32_t a, uint32_t b)
{
  return cf::as_bits(__hadd2(cf::as_half2(a), cf::as_half2(b)));
}

__device__ inline uint32_t multiply_add(float tap, uint32_t value, uint32_t to)
{
  return cf::as_bits(__hfma2(__float2half2_rn(tap), cf::as_half2(value), cf::as_half2(to)));
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

  return __hfma2(
      cf::as_half2(middle), __float2half2_rn(10.0f / 32),
      __hfma2(__lowhigh2highlow(cf::as_half2(right)), outer, __hmul2(cf::as_half2(left), outer)));
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
    return cf::as_bits(__hadd2(__lows2half2(a, b), __highs2half2(a, b)));
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

__global__ void __launch_bounds__(kCellThreads, 7)
    halve_image_kernel(const __grid_constant__ CfCellJob job)
{
  int block;
  const CfCellHalving halving = cf_cell_halving_of_block(job, &block);
  const CfCellImage &from = halving.from, &to = halving.to;
  const int rows = (to.height + halving.rows - 1) / halving.rows;
  const int channel = block / (halving.across * rows), place = block % (halving.across * rows);
  const int column =
      place % halving.across * kCellImageColumns + (int)threadIdx.x % 32 * kImageCells;
  const int first = place / halving.across * halving.rows + (int)threadIdx.x / 32 * kImageRows;
  const __half *source = job.cells + from.at + channel * from.channel;
  __half *target = job.cells + to.at + channel * to.channel;

  cf::pdl_trigger();
  if (column >= to.width || first >= to.height)
    return;
  cf::pdl_wait();
  /* Nobody reads padding, nor alpha where all of it is the same. */
  const CfMapPlane &plane = job.map.plane[halving.plane];
  if ((plane.padding >> channel & 1) || (channel == plane.alpha && *job.transparent != job.frame))
    return;
  if (to.log_x > from.log_x && to.log_y > from.log_y)
    halve_cells<true, true>(halving, source, target, column, first);
  else if (to.log_x > from.log_x)
    halve_cells<true, false>(halving, source, target, column, first);
  else
    halve_cells<false, true>(halving, source, target, column, first);
}

} // namespace

bool cf_cell_halve_image(const CfCellJob *job, int blocks, void *stream, CfStatus *status)
{
  return cf_cell_launch(halve_image_kernel, job, blocks, 0, stream, "halving a picture", status);
}
