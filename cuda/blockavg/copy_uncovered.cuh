/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Block average of regions that are rectangles, into another picture: what none of them covers is
 * copied by CTAs of the same launch.
 */
#pragma once

#include "cuda/blockavg/mask_hard.cuh"

namespace cf::blockavg
{

/* A tile of 32 columns of 16 bytes, in which each warp has some rows. */
__device__ inline int around_rows()
{
  return (int)blockDim.x / 32 * kAroundRows;
}

/* The bytes of a column that no rectangle of samples covers, of those that it has. */
__device__ inline ItemMask<kAroundRows> bytes_around(const Neighbours &regions, int pixel_bytes,
                                                     int offset, int bytes, int y, int rows)
{
  ItemMask<kAroundRows> mask = bytes_of<kAroundRows>({0, bytes, 0, rows});

#pragma unroll 1
  for (int i = 0; i < regions.added; i++) {
    const Box box = regions.rect[i];
    const Extent extent = {max(box.x0 * pixel_bytes - offset, 0),
                           min(box.x1 * pixel_bytes - offset, kColumnBytes), max(box.y0 - y, 0),
                           min(box.y1 - y, rows)};

    if (extent.first < extent.last && extent.begin < extent.end) {
      const ItemMask<kAroundRows> covered = bytes_of<kAroundRows>(extent);
#pragma unroll
      for (int k = 0; k < kAroundRows / 4; k++)
        mask.word[k] &= ~covered.word[k];
    }
  }
  return mask;
}

__device__ inline void copy_tile(const FusedFrame &frame, const Box *boxes, const Plane &plane,
                                 int pixel_bytes, int column0, int y0, Neighbours *regions)
{
  const int y = y0 + (int)threadIdx.x / 32 * kAroundRows;
  const int offset = (column0 + (int)threadIdx.x % 32) * kColumnBytes;
  const int bytes = min(plane.width * pixel_bytes - offset, kColumnBytes);
  const int rows = bytes > 0 ? min(plane.height - y, kAroundRows) : 0;
  const int source_stride = (int)plane.source_stride, stride = (int)plane.destination_stride;
  uint4 v[kAroundRows];

  if (threadIdx.x == 0)
    regions->added = 0;
  load_rows<kAroundRows>(plane.source + (ptrdiff_t)y * source_stride + offset, source_stride, rows,
                         bytes, v);
  __syncthreads();
#pragma unroll 1
  for (int i = (int)threadIdx.x; i < frame.boxes; i += (int)blockDim.x) {
    const Box box = covered_samples(plane, boxes[i]);

    if (box.x1 * pixel_bytes > column0 * kColumnBytes &&
        box.x0 * pixel_bytes < (column0 + 32) * kColumnBytes && box.y1 > y0 &&
        box.y0 < y0 + around_rows())
      regions->rect[atomicAdd(&regions->added, 1)] = box;
  }
  __syncthreads();
  if (rows > 0)
    write_bytes<kAroundRows>(
        plane.destination + (ptrdiff_t)y * stride + offset, stride, rows,
        [&](int i) -> const uint4 & { return v[i]; },
        bytes_around(*regions, pixel_bytes, offset, bytes, y, rows));
}

template <int SampleBytes>
__device__ inline void copy_around(const FusedFrame &frame, const Box *boxes, int index,
                                   Neighbours *regions)
{
#pragma unroll 1
  for (int p = 0; p < frame.job.planes; p++) {
    const Plane &plane = frame.job.plane[p];
    const int pixel_bytes = plane.channels * SampleBytes;
    const int across = (plane.width * pixel_bytes + 32 * kColumnBytes - 1) / (32 * kColumnBytes);
    const int down = (plane.height + around_rows() - 1) / around_rows();

    if (index < across * down) {
      copy_tile(frame, boxes, plane, pixel_bytes, index % across * 32,
                index / across * around_rows(), regions);
      return;
    }
    index -= across * down;
  }
}

} // namespace cf::blockavg
