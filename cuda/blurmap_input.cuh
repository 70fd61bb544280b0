/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * For the kernel of blur maps on tensor cores: the cells around a tile in shared memory.
 */
#pragma once

#include "blurmap_cells.cuh"
#include "tensor_ops.cuh"

#include <string.h>

namespace
{

/* Rows of cells that a strip is made from. */
__host__ __device__ constexpr int window_of(int log_y)
{
  return log_y == 0 ? 48 : 32;
}

/* Rows of cells start in different banks. */
__host__ __device__ constexpr int pitch_of(int log_x)
{
  return log_x == 0 ? 56 : 40;
}

__host__ __device__ constexpr int columns_of(int log_x)
{
  return log_x == 0 ? 56 : log_x == 1 ? 40 : 32;
}

struct Cells {
  __half *shared; /* [channel][row][column] */
  int pitch, rows;
};

/* The two lowest bytes, less 128, as halves: 0x6400 + v is the half 1024 + v. */
__device__ inline uint32_t centred_halves(uint32_t bytes)
{
  const uint32_t biased = __byte_perm(bytes, 0x64646464u, 0x4140);
  __half2 pair;
  uint32_t result;

  memcpy(&pair, &biased, sizeof pair);
  pair = __hsub2(pair, __floats2half2_rn(1152.0f, 1152.0f));
  memcpy(&result, &pair, sizeof result);
  return result;
}

/* Two pixels beside each other as pairs of one channel each. */
template <int C>
__device__ inline void store_two(const CfMapPlane &plane, uint32_t left, uint32_t right, __half *to,
                                 int step)
{
  if (C == 4 && plane.alpha >= 0) {
    const uint32_t both = left & right;

    if ((plane.alpha == 0 ? both & 255 : both >> 24) != 255) {
      float value[2][C];

      cf_cell_values<C>(plane, left, value[0]);
      cf_cell_values<C>(plane, right, value[1]);
#pragma unroll
      for (int c = 0; c < C; c++)
        *(uint32_t *)(to + c * step) = cf_pack_halves(value[0][c], value[1][c]);
      return;
    }
  }
#pragma unroll
  for (int c = 0; c < C; c++) {
    const uint32_t pair = __byte_perm(left, right, (unsigned)((4 + c) << 4 | c));
    *(uint32_t *)(to + c * step) = C == 4 && c == plane.alpha ? 0 : centred_halves(pair);
  }
}

template <int C>
__device__ inline void load_frame(const CfMapJob &job, const CfMapPlane &plane, int x0, int y0,
                                  const Cells &cells)
{
  const int pair = (int)threadIdx.x % 32, x = x0 + 2 * pair, step = cells.rows * cells.pitch;
  const bool whole = plane.vector && C != 3 && x0 >= 0 && x0 + columns_of(0) <= plane.width &&
                     y0 >= 0 && y0 + cells.rows <= plane.height;
  __half *to = cells.shared + 2 * pair;

  if (pair >= columns_of(0) / 2)
    return;
  if (!whole) {
#pragma unroll 1
    for (int row = (int)threadIdx.x / 32; row < cells.rows; row += kCellThreads / 32) {
      uint32_t pixel[2];

#pragma unroll 1
      for (int k = 0; k < 2; k++) {
        pixel[1] = cf_cell_pixel<C>(job, plane, x + k, y0 + row);
        pixel[0] = k == 0 ? pixel[1] : pixel[0];
      }
      store_two<C>(plane, pixel[0], pixel[1], to + row * cells.pitch, step);
    }
    return;
  }
  const uint8_t *from = plane.source + (ptrdiff_t)y0 * plane.source_stride + (ptrdiff_t)x * C;
#pragma unroll 4
  for (int row = (int)threadIdx.x / 32; row < cells.rows; row += kCellThreads / 32) {
    const uint8_t *line = from + (ptrdiff_t)row * plane.source_stride;
    uint32_t left, right;

    if (C == 4) {
      const uint2 two = __ldg((const uint2 *)line);
      left = two.x;
      right = two.y;
    } else {
      left = C == 2 ? __ldg((const uint32_t *)line) : __ldg((const uint16_t *)line);
      right = left >> 8 * (C % 4);
    }
    store_two<C>(plane, left, right, to + row * cells.pitch, step);
  }
}

__device__ inline int inside(int i, int first, int count)
{
  return min(max(i - first, 0), count - 1);
}

/* Rows of `Chunks` chunks of 8 cells. */
template <int C, int Chunks>
__device__ inline void copy_rows(const CfCellImage &image, const __half *from, int left, int y0,
                                 unsigned skipped, const Cells &cells)
{
  constexpr int kAcross = Chunks > 4 ? 8 : 4; /* threads of a row */
  const int chunk = (int)threadIdx.x % kAcross;

  if (chunk >= Chunks)
    return;
#pragma unroll
  for (int c = 0; c < C; c++) {
    const __half *channel = from + image.at + c * image.channel + left + 8 * chunk;
    __half *to = cells.shared + c * cells.rows * cells.pitch + 8 * chunk;

    if (skipped >> c & 1)
      continue;
#pragma unroll 4
    for (int row = (int)threadIdx.x / kAcross; row < cells.rows; row += kCellThreads / kAcross)
      cf_copy_async(cf_shared_address(to + row * cells.pitch),
                    channel + (size_t)inside(y0 + row, image.first_y, image.height) *
                                  (size_t)image.pitch);
  }
}

/* Four cells at a time, at borders and where they are not aligned to 16 bytes. */
template <int C>
__device__ inline void copy_quads(const CfCellImage &image, const __half *from, int x0, int y0,
                                  int quads, unsigned skipped, const Cells &cells)
{
  const int left = x0 - image.first_x;
  const bool whole = left >= 0 && left + 4 * quads <= image.width && left % 4 == 0;

#pragma unroll 1
  for (int c = 0; c < C; c++) {
    const uint16_t *channel = (const uint16_t *)(from + image.at + c * image.channel);
    __half *to = cells.shared + c * cells.rows * cells.pitch;

    if (skipped >> c & 1)
      continue;
#pragma unroll 1
    for (int quad = (int)threadIdx.x % 8; quad < quads; quad += 8) {
#pragma unroll 2
      for (int row = (int)threadIdx.x / 8; row < cells.rows; row += kCellThreads / 8) {
        const uint16_t *line =
            channel + (size_t)inside(y0 + row, image.first_y, image.height) * (size_t)image.pitch;
        uint2 four;

        if (whole) {
          four = __ldg((const uint2 *)(line + left + 4 * quad));
        } else {
          uint32_t cell[4];
#pragma unroll
          for (int k = 0; k < 4; k++)
            cell[k] = __ldg(line + inside(x0 + 4 * quad + k, image.first_x, image.width));
          four = make_uint2(cell[0] | cell[1] << 16, cell[2] | cell[3] << 16);
        }
        *(uint2 *)(to + row * cells.pitch + 4 * quad) = four;
      }
    }
  }
}

template <int C>
__device__ inline void load_image(const CfCellImage &image, const __half *from, int x0, int y0,
                                  unsigned skipped, const Cells &cells)
{
  const int columns = columns_of(image.log_x), left = x0 - image.first_x;

  if (left >= 0 && left + columns <= image.width && (left + 4) % 8 == 0) {
    if (image.log_x == 0)
      copy_rows<C, columns_of(0) / 8>(image, from, left, y0, skipped, cells);
    else if (image.log_x == 1)
      copy_rows<C, columns_of(1) / 8>(image, from, left, y0, skipped, cells);
    else
      copy_rows<C, columns_of(2) / 8>(image, from, left, y0, skipped, cells);
    cf_copy_commit();
    cf_copy_wait<0>();
    return;
  }
  copy_quads<C>(image, from, x0, y0, columns / 4, skipped, cells);
}

/* The cells around a tile. Products also read 16 bytes beyond the last one, times 0. */
template <int C>
__device__ inline Cells load_cells(const CfCellJob &job, const CfMapPlane &plane,
                                   const CfCellImage &image, int x0, int y0, unsigned skipped,
                                   __half *shared)
{
  const int top = y0 >> image.log_y;
  const int last = (y0 + kCellRows - kCellStrip) >> image.log_y;
  const Cells cells = {shared, pitch_of(image.log_x), last - top + window_of(image.log_y)};
  const int left = (x0 >> image.log_x) - kCellReach;

  if (image.height == 0)
    load_frame<C>(job.map, plane, left, top - kCellReach, cells);
  else
    load_image<C>(image, job.cells, left, top - kCellReach, skipped, cells);
  if (threadIdx.x < 4)
    ((uint32_t *)(shared + C * cells.rows * cells.pitch))[threadIdx.x] = 0;
  __syncthreads();
  return cells;
}

} // namespace
