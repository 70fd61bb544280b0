/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Block average of regions that are rectangles without a feather: which bytes of a unit are
 * written.
 */
#pragma once

#include "cuda/blockavg/work_item.cuh"

namespace cf::blockavg
{

/* Rectangles of samples, of other regions with blocks in the unit, that are also written by this
 * unit (rect[0 .. added - 1]), or not (the last `removed` ones). */
struct Neighbours {
  int added, removed;
  bool overlaps; /* another region has blocks in the unit */
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

/* Finds the neighbours. With a common grid, a block belongs to the first region that has it in its
 * footprint, which writes it for all of them. With grids of their own, a sample belongs to the
 * region with the longest shorter side, then to the first. */
__device__ inline void find_others(const FusedFrame &frame, const Boxes &boxes, int own,
                                   const Unit &unit, const Plane &plane, Neighbours *found)
{
  const Box box = boxes[own];
  const int side = box_side(&frame.rule, &box);

#pragma unroll 1
  for (int i = (int)threadIdx.x; i < frame.boxes; i += (int)blockDim.x) {
    const Box other = boxes[i];
    Footprint footprint;

    if (i == own || !overlaps_unit(frame.rule, other, unit, &footprint))
      continue;
    found->overlaps = true;
    if (frame.rule.single && i > own) {
      found->rect[atomicAdd(&found->added, 1)] = covered_samples(plane, other);
    } else if (frame.rule.single) {
      found->rect[kMostRegions - 1 - atomicAdd(&found->removed, 1)] =
          samples_of_blocks(plane, footprint);
    } else {
      const int other_side = box_side(&frame.rule, &other);
      if (cf_owns_before(other_side, i, side, own))
        found->rect[kMostRegions - 1 - atomicAdd(&found->removed, 1)] =
            covered_samples(plane, other);
    }
  }
}

template <int PixelBytes>
__device__ inline Extent own_extent(const FusedFrame &, const Boxes &boxes, int own,
                                    const Unit &unit, const Plane &plane, const Item &item,
                                    const Neighbours *)
{
  return extent_in_item<PixelBytes>(unit, item, covered_samples(plane, boxes[own]));
}

/* A bit for each byte of an item, 16 for each row. */
template <int kRows> struct ItemMask {
  uint64_t word[kRows / 4];

  __device__ unsigned row(int i) const
  {
    return (unsigned)((i < 4 ? word[0] : word[kRows / 4 - 1]) >> 16 * (i & 3)) & 0xffff;
  }

  /* Sets or clears the bits of an extent, which must not be empty. */
  __device__ void set(const Extent &extent, bool value)
  {
    const uint64_t line = extent.bits() * 0x0001000100010001ull;

#pragma unroll
    for (int k = 0; k < kRows / 4; k++) {
      const uint64_t bytes =
          line & bits_from(16 * (extent.begin - 4 * k)) & ~bits_from(16 * (extent.end - 4 * k));
      word[k] = value ? word[k] | bytes : word[k] & ~bytes;
    }
  }

  /* Ones from bit `first` on. */
  __device__ static uint64_t bits_from(int first)
  {
    return first <= 0 ? ~0ull : first >= 64 ? 0 : ~0ull << first;
  }
};

/* Writes the bytes of an item that belong to the region. Consecutive rows with the same mask are
 * written together. */
template <int PixelBytes, int kRows>
__device__ inline void write_item(const Unit &unit, const Plane &plane, const Item &item,
                                  const uint4 &line, const Extent &own, const Neighbours &found)
{
  ItemMask<kRows> mask = {};
  bool alone = true;

#pragma unroll 1
  for (int i = 0; i < found.added + found.removed; i++) {
    const bool adds = i < found.added;
    const int at = adds ? i : kMostRegions + found.added - 1 - i;
    const Extent other = extent_in_item<PixelBytes>(unit, item, found.rect[at]);

    if (other.is_empty())
      continue;
    if (alone && !own.is_empty())
      mask.set(own, true);
    alone = false;
    mask.set(other, adds);
  }
  if (alone) {
    write_extent<kRows>(plane, item, line, own);
    return;
  }
#pragma unroll 1
  for (int begin = 0, end; begin < item.rows; begin = end) {
    const unsigned bits = mask.row(begin);

    for (end = begin + 1; end < item.rows && mask.row(end) == bits; end++)
      ;
    write_pieces<kRows>(destination_of(plane, item), plane.destination_stride, begin, end, line,
                        bits);
  }
}

} // namespace cf::blockavg
