/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Block average of regions: what is written of a unit where the regions are rectangles.
 */
#pragma once

#include "cuda/blockavg/work_item.cuh"

namespace
{

/* The rectangles of samples that other patches with blocks in the unit add to what is to be
 * written, from the first on, and take from it, from the last on. */
struct Neighbours {
  int added, removed;
  bool meets; /* any of them */
  CfBox rect[kMostRegions];
};

/* The samples of a patch's blocks. */
__device__ inline CfBox samples_of_blocks(const Plane &plane, const CfPatch &patch)
{
  const int sx = plane.shift_x, sy = plane.shift_y;

  return {(short)block_start(0, patch.width, patch.x, sx, plane.width),
          (short)block_start(0, patch.height, patch.y, sy, plane.height),
          (short)block_start(patch.columns, patch.width, patch.x, sx, plane.width),
          (short)block_start(patch.rows, patch.height, patch.y, sy, plane.height)};
}

/* Of patches in one grid, blocks belong to the first that has them, which fills them for all. Of
 * others, samples belong to the patch with the larger side, of these to the first. */
__device__ inline void find_neighbours(const RectangleFrame &frame, const CfBox *boxes, int own,
                                       const Unit &unit, const Plane &plane, Neighbours *found)
{
  const int side = cf_box_side(&frame.patches, &boxes[own]);

#pragma unroll 1
  for (int i = (int)threadIdx.x; i < frame.boxes; i += (int)blockDim.x) {
    const CfBox other = boxes[i];
    CfPatch patch;

    if (i == own || !shares(frame.patches, other, unit, &patch))
      continue;
    found->meets = true;
    if (frame.patches.single && i > own) {
      found->rect[atomicAdd(&found->added, 1)] = covered_samples(plane, other);
    } else if (frame.patches.single) {
      found->rect[kMostRegions - 1 - atomicAdd(&found->removed, 1)] =
          samples_of_blocks(plane, patch);
    } else {
      const int other_side = cf_box_side(&frame.patches, &other);
      if (other_side > side || (other_side == side && i < own))
        found->rect[kMostRegions - 1 - atomicAdd(&found->removed, 1)] =
            covered_samples(plane, other);
    }
  }
}

/* What of an item is to be written: its patch's samples `own` unless neighbours know better. */
template <int PixelBytes, int kRows>
__device__ inline void write_item(const Unit &unit, const Plane &plane, const Item &item,
                                  const uint4 &line, const CfBox &own, const Neighbours &neighbours)
{
  const Extent extent = extent_in_item<PixelBytes>(unit, item, own);
  ItemMask<kRows> added = no_bytes<kRows>(), removed = no_bytes<kRows>();
  bool alone = true;

#pragma unroll 1
  for (int i = 0; i < neighbours.added + neighbours.removed; i++) {
    const bool adds = i < neighbours.added;
    const int at = adds ? i : kMostRegions + neighbours.added - 1 - i;
    const Extent other = extent_in_item<PixelBytes>(unit, item, neighbours.rect[at]);

    if (other.first >= other.last || other.begin >= other.end)
      continue;
    const ItemMask<kRows> bytes = bytes_of<kRows>(other);
    alone = false;
#pragma unroll
    for (int k = 0; k < kRows / 4; k++) {
      added.word[k] |= adds ? bytes.word[k] : 0;
      removed.word[k] |= adds ? 0 : bytes.word[k];
    }
  }
  if (alone) {
    write_rectangle<PixelBytes, kRows>(plane, item, line, extent);
    return;
  }
  if (extent.first < extent.last && extent.begin < extent.end) {
    const ItemMask<kRows> bytes = bytes_of<kRows>(extent);
#pragma unroll
    for (int k = 0; k < kRows / 4; k++)
      added.word[k] |= bytes.word[k];
  }
#pragma unroll
  for (int k = 0; k < kRows / 4; k++)
    added.word[k] &= ~removed.word[k];
  write_bytes<kRows>(plane, item, SameRows{line}, added);
}

} // namespace
