/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * From level to level of the pyramid, down, on tensor cores: rows as matrix products, columns as
 * fp16 sums in registers. A CTA has a tile of the fine level in shared memory. A warp makes a strip
 * of 32 pixels of the coarse level and kRows rows, walking down the fine rows below it: each is
 * filtered across once and enters the three coarse rows that reach it. Other warps make the
 * Gaussian.
 */
#include "cuda/llf/mma_downsample.cuh"

namespace cf::llf
{
namespace
{

constexpr int kRows = 2, kWarps = 4, kGaussThreads = 64, kThreads = 32 * kWarps + kGaussThreads;
constexpr int kTileX = 32, kTileY = kRows * kWarps;
using Fine = FineTile<2 * kTileX + 3, 2 * kTileY + 3>;

/* --- components --- */

__device__ __forceinline__ void add_row(Row *total, float tap, const Row &row, bool begins)
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

/* `filter_row (r, &row)` filters fine row r of the strip across; `store (row)` takes the coarse
 * rows in order. Fine row 0 is two above the first coarse row. */
template <typename FilterRow, typename Store>
__device__ __forceinline__ void reduce_strip(FilterRow filter_row, Store store)
{
  Row row, ending, current, starting;

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

/* Stores the rows of a strip, one after the other. Lane 4 p + t holds pair t of pixels p and p + 8
 * of each fragment. */
struct StripWriter {
  static constexpr int kPixelBytes = kGroups * kGroupBytes;

  uint8_t *next;
  int width;
  int left, below; /* pixels of the level from the lane's first one on */

  __device__ __forceinline__ StripWriter(const Level &level, int x, int y, int lane)
      : width(level.width), left(level.width - x - lane / 4), below(level.height - y)
  {
    next = reinterpret_cast<uint8_t *>(level.groups) +
           ((size_t)y * level.width + x + lane / 4) * kPixelBytes + lane % 4 * 4;
  }

  __device__ __forceinline__ void write(const Row &row)
  {
    if (below-- <= 0)
      return;
#pragma unroll
    for (int i = 0; i < 4; i++) {
      uint8_t *const to = next + 8 * i * kPixelBytes;

      if (8 * i >= left)
        continue;
#pragma unroll
      for (int c = 0; c < kGroups; c++)
        *reinterpret_cast<uint32_t *>(to + c * kGroupBytes) = row.word[i / 2][2 * c + i % 2];
    }
    next += (ptrdiff_t)width * kPixelBytes;
  }
};

/* A warp's rows of the tile at (x, y). The five fragments of a fine row end within the row's pitch
 * or repeat its last pixel, where the taps are 0. */
__device__ __forceinline__ void reduce_components(const uint8_t *memory, const Level &coarse, int x,
                                                  int y, int warp)
{
  const int lane = threadIdx.x % 32, first_row = warp * kRows;
  const Band band(lane);

  if (y + first_row >= coarse.height)
    return;
  StripWriter writer(coarse, x, y + first_row, lane);

  reduce_strip(
      [&](int row, Row *filtered) {
        const uint32_t line = smem_address(memory + (2 * first_row + row) * Fine::kPitch);
        uint32_t fine[5][2 * kGroups];

#pragma unroll
        for (int j = 0; j < 5; j++)
          ldmatrix_x4_trans(
              fine[j], line + Fine::place(min(16 * j + lane % 16, Fine::kWidth - 1), lane / 16));
        band.filter(fine, filtered);
      },
      [&](const Row &filtered) { writer.write(filtered); });
}

/* --- the kernel --- */

/* With `gate` the terms that are launched later find the level `fine` made. */
__global__ void __launch_bounds__(kThreads, 4)
    downsample_kernel(Level fine, DownsampleOutput target, bool gate)
{
  extern __shared__ __align__(128) uint8_t memory[];
  const float *const gauss = reinterpret_cast<const float *>(memory + Fine::kGauss);
  const int x = blockIdx.x * kTileX, y = blockIdx.y * kTileY, warp = (int)threadIdx.x / 32;

  if (gate) {
    pdl_wait_then_trigger();
  } else {
    pdl_relay_then_trigger();
    pdl_wait();
  }
  Fine::load(memory, fine, 2 * x - 2, 2 * y - 2, kThreads / 32);
  if (warp < kWarps) {
    reduce_components(memory, target.coarse, x, y, warp);
    return;
  }
  for (int i = (int)threadIdx.x - 32 * kWarps; i < kTileX * kTileY; i += kGaussThreads) {
    const int column = i % kTileX, row = i / kTileX;

    target.store_gauss(
        x + column, y + row,
        reduced_square(gauss + 2 * row * Fine::kGaussPitch + 2 * column, Fine::kGaussPitch));
  }
}

} // namespace

bool mma_downsample(Queue *queue, const Pyramid &pyramid, int fine, float top_gain)
{
  const DownsampleOutput target = output_of_level(pyramid, fine + 1, top_gain);

  return launch(queue, "llf reduce", downsample_kernel,
                dim3(blocks(target.coarse.width, kTileX), blocks(target.coarse.height, kTileY)),
                dim3(kThreads), Fine::kBytes, pyramid.level[fine], target, fine == 2);
}

} // namespace cf::llf
