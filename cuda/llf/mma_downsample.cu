/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One level of the pyramid from the finer one, on tensor cores. A CTA loads a tile of the finer
 * level into shared memory. A warp computes a strip of 32 x kRows coarse pixels: it walks down the
 * fine rows, filters each across once, by matrix products, and adds it to the up to three coarse
 * rows that have taps in it, which stay in registers as fp16 sums. Other warps compute the
 * Gaussian.
 */
#include "cuda/llf/mma_downsample.cuh"

namespace cf::llf
{
namespace
{

/* kWarps: those for components. Tiles are in coarse pixels. */
constexpr int kRows = 2, kWarps = 4, kGaussThreads = 64, kThreads = 32 * kWarps + kGaussThreads;
constexpr int kTileX = 32, kTileY = kRows * kWarps;
using Fine = FineTile<2 * kTileX + 3, 2 * kTileY + 3>;

/* ---- Components ---- */

/* total += tap * row; `begins`: total = tap * row. */
__device__ __forceinline__ void add_row(RowFragments *total, float tap, const RowFragments &row,
                                        bool begins)
{
  const uint32_t factor = pack_half2(tap, tap);

#pragma unroll
  for (int m = 0; m < 2; m++) {
#pragma unroll
    for (int q = 0; q < 2 * kGroups; q++)
      total->word[m][q] = begins ? hmul2_bits(factor, row.word[m][q])
                                 : hfma2_bits(factor, row.word[m][q], total->word[m][q]);
  }
}

/* Filters a strip. filter_row (r, &row) filters fine row r across; row 0 is the first of the five
 * that the first coarse row needs. store (row) gets the coarse rows in order. */
template <typename FilterRow, typename Store>
__device__ __forceinline__ void reduce_strip(FilterRow filter_row, Store store)
{
  RowFragments row, ending, current, starting; /* a fine row, and the coarse rows that need it */

  filter_row(0, &row);
  add_row(&current, kHalfEdge, row, true);
  filter_row(1, &row);
  add_row(&current, kHalfSide, row, false);
#pragma unroll 1
  for (int r = 0; r < kRows; r++) {
    filter_row(2 * r + 2, &row);
    if (r > 0) {
      add_row(&ending, kHalfEdge, row, false);
      store(ending);
    }
    add_row(&current, kHalfCentre, row, false);
    add_row(&starting, kHalfEdge, row, true);
    filter_row(2 * r + 3, &row);
    add_row(&current, kHalfSide, row, false);
    add_row(&starting, kHalfSide, row, false);
    ending = current;
    current = starting;
  }
  filter_row(2 * kRows + 2, &row);
  add_row(&ending, kHalfEdge, row, false);
  store(ending);
}

/* Stores the rows of a strip, one after the other. Of the 32 pixels lane 4 p + t holds pair t of
 * pixels p, p + 8, p + 16 and p + 24. */
struct StripWriter {
  static constexpr int kPixelBytes = kGroups * kGroupBytes;

  uint8_t *next; /* the lane's pair of its first pixel, in the row to store next */
  int width;
  int columns_left, rows_left; /* of the level, from that pixel on */

  __device__ __forceinline__ StripWriter(const Level &level, int x, int y, int lane)
      : width(level.width), columns_left(level.width - x - lane / 4), rows_left(level.height - y)
  {
    next = reinterpret_cast<uint8_t *>(level.groups) +
           ((size_t)y * level.width + x + lane / 4) * kPixelBytes + lane % 4 * 4;
  }

  __device__ __forceinline__ void write(const RowFragments &row)
  {
    if (rows_left-- <= 0)
      return;
#pragma unroll
    for (int i = 0; i < 4; i++) {
      uint8_t *const to = next + 8 * i * kPixelBytes;

      if (8 * i >= columns_left)
        continue;
#pragma unroll
      for (int c = 0; c < kGroups; c++)
        *reinterpret_cast<uint32_t *>(to + c * kGroupBytes) = row.word[i / 2][2 * c + i % 2];
    }
    next += (ptrdiff_t)width * kPixelBytes;
  }
};

/* Computes a warp's strip of the tile at (x, y). The last of a fine row's five fragments repeats
 * the row's last pixel, where the taps are 0. */
__device__ __forceinline__ void reduce_components(const uint8_t *memory, const Level &coarse, int x,
                                                  int y, int warp)
{
  const int lane = threadIdx.x % 32, first_row = warp * kRows;
  const Band band(lane);

  if (y + first_row >= coarse.height)
    return;
  StripWriter writer(coarse, x, y + first_row, lane);

  reduce_strip(
      [&](int row, RowFragments *filtered) {
        const uint32_t line = smem_address(memory + (2 * first_row + row) * Fine::kPitch);
        uint32_t fine[5][2 * kGroups];

#pragma unroll
        for (int j = 0; j < 5; j++)
          ldmatrix_x4_trans(
              fine[j],
              line + Fine::offset_of(min(16 * j + lane % 16, Fine::kWidth - 1), lane / 16));
        band.filter(fine, filtered);
      },
      [&](const RowFragments &filtered) { writer.write(filtered); });
}

/* ---- The kernel ---- */

/* `releases_fine`: this is the first kernel after levels 1 and 2. It triggers only after its wait,
 * so that later grids may read these levels without waiting (pdl.cuh). */
__global__ void __launch_bounds__(kThreads, 4)
    downsample_kernel(Level fine, DownsampleOutput output, bool releases_fine)
{
  extern __shared__ __align__(128) uint8_t memory[];
  const float *const gauss = reinterpret_cast<const float *>(memory + Fine::kGaussOffset);
  const int x = blockIdx.x * kTileX, y = blockIdx.y * kTileY, warp = (int)threadIdx.x / 32;

  if (releases_fine) {
    pdl_wait_then_trigger();
  } else {
    pdl_relay_then_trigger();
    pdl_wait();
  }
  Fine::load(memory, fine, 2 * x - 2, 2 * y - 2, kThreads / 32);
  if (warp < kWarps) {
    reduce_components(memory, output.coarse, x, y, warp);
    return;
  }
  for (int i = (int)threadIdx.x - 32 * kWarps; i < kTileX * kTileY; i += kGaussThreads) {
    const int column = i % kTileX, row = i / kTileX;

    output.store_gauss(
        x + column, y + row,
        reduced_5x5(gauss + 2 * row * Fine::kGaussPitch + 2 * column, Fine::kGaussPitch));
  }
}

} // namespace

bool mma_downsample(Queue *queue, const Pyramid &pyramid, int fine, float top_gain)
{
  const DownsampleOutput output = output_of_level(pyramid, fine + 1, top_gain);

  return launch(queue, "llf reduce", downsample_kernel,
                dim3(blocks(output.coarse.width, kTileX), blocks(output.coarse.height, kTileY)),
                dim3(kThreads), Fine::kBytes, pyramid.level[fine], output, fine == 2);
}

} // namespace cf::llf
