/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Block average of regions: what is written of a unit where the regions are rectangles.
 */
#pragma once

#include "cuda/blockavg/work_item.cuh"

namespace cf::blockavg
{

/* The rectangles of samples that other footprints with blocks in the unit add to what is to be
 * written, from the first on, and take from it, from the last on. */
struct Neighbours {
  int added, removed;
  bool overlaps; /* any of them */
  Box rect[kMostRegions];

  __device__ void reset()
  {
    added = removed = 0;
    overlaps = false;
  }
};

/* The samples of a footprint's blocks. */
__device__ inline Box samples_of_blocks(const Plane &plane, const Footprint &footprint)
{
  const int sx = plane.shift_x, sy = plane.shift_y;

  return {(short)block_start(0, footprint.width, footprint.x, sx, plane.width),
          (short)block_start(0, footprint.height, footprint.y, sy, plane.height),
          (short)block_start(footprint.columns, footprint.width, footprint.x, sx, plane.width),
          (short)block_start(footprint.rows, footprint.height, footprint.y, sy, plane.height)};
}

/* Of footprints in one grid, blocks belong to the first that has them, which fills them for all. Of
 * others, samples belong to the footprint with the larger side, of these to the first. */
__device__ inline void find_others(const FusedFrame &frame, const Box *boxes, int own,
                                   const Unit &unit, const Plane &plane, Neighbours *found)
{
  const int side = box_side(&frame.rule, &boxes[own]);

#pragma unroll 1
  for (int i = (int)threadIdx.x; i < frame.boxes; i += (int)blockDim.x) {
    const Box other = boxes[i];
    Footprint footprint;

    if (i == own || !shares(frame.rule, other, unit, &footprint))
      continue;
    found->overlaps = true;
    if (frame.rule.single && i > own) {
      found->rect[atomicAdd(&found->added, 1)] = covered_samples(plane, other);
    } else if (frame.rule.single) {
      found->rect[kMostRegions - 1 - atomicAdd(&found->removed, 1)] =
          samples_of_blocks(plane, footprint);
    } else {
      const int other_side = box_side(&frame.rule, &other);
      if (other_side > side || (other_side == side && i < own))
        found->rect[kMostRegions - 1 - atomicAdd(&found->removed, 1)] =
            covered_samples(plane, other);
    }
  }
}

/* What of an item is to be written: what the region covers, unless neighbours know better. */
template <int PixelBytes, int kRows>
__device__ inline ItemMask<kRows> own_bytes(const FusedFrame &, const Box *boxes, int own,
                                            const Unit &unit, const Plane &plane, const Item &item,
                                            const Neighbours *found)
{
  ItemMask<kRows> mask =
      bytes_of<kRows>(extent_in_item<PixelBytes>(unit, item, covered_samples(plane, boxes[own])));

#pragma unroll 1
  for (int i = 0; i < found->added + found->removed; i++) {
    const bool adds = i < found->added;
    const int at = adds ? i : kMostRegions + found->added - 1 - i;
    const Extent other = extent_in_item<PixelBytes>(unit, item, found->rect[at]);

    if (other.is_empty())
      continue;
    const ItemMask<kRows> bytes = bytes_of<kRows>(other);
#pragma unroll
    for (int k = 0; k < kRows / 4; k++)
      mask.word[k] = adds ? mask.word[k] | bytes.word[k] : mask.word[k] & ~bytes.word[k];
  }
  return mask;
}

} // namespace cf::blockavg
