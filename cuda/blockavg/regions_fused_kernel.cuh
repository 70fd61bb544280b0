/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Block average of regions in one launch: the kernel. Each CTA averages a unit (regions_plan.h).
 */
#pragma once

#include <cooperative_groups.h>
#include <type_traits>

#include "cuda/blockavg/mask_hard.cuh"
#include "cuda/blockavg/mask_soft.cuh"

namespace cf::blockavg
{

/* Averages unit `index` of region `own` in a plane. `level` is 0 for plane 0, else 1. */
template <template <int, bool> class Kind, int C, bool Soft>
__device__ inline void average_unit(const FusedFrame &frame, const Boxes &boxes, int own,
                                    const Plane &plane, int level, int index, uint32_t *sums,
                                    std::conditional_t<Soft, SoftUnit, Neighbours> *shared)
{
  typedef Kind<C, true> Sums;
  typedef std::conditional_t<Sums::kSampleBytes == 1, uint8_t, uint16_t> Sample;
  constexpr int kPixelBytes = C * Sums::kSampleBytes, kRows = kItemRows<C>;
  const Box box = boxes[own];
  const Footprint footprint = footprint_of(&frame.rule, &box);
  const UnitShape cut = cut_in_plane<C, kPixelBytes>(frame, footprint, plane, level);
  const Unit unit = locate_unit<C, kPixelBytes>(footprint, cut, plane, index);

  /* Blocks of one pixel with alpha are not changed; without alpha, 16-bit samples may lose bits
   * that are no part of the code. */
  if (unit.rows <= 0 || (frame.job.alpha >= 0 && footprint.width == 1 && footprint.height == 1)) {
    if (frame.needs_grid_barrier)
      cooperative_groups::this_grid().barrier_arrive();
    return;
  }
  if (threadIdx.x == 0)
    shared->reset();
#pragma unroll 1
  for (int i = (int)threadIdx.x; i < unit.blocks * unit.rows * C; i += (int)blockDim.x)
    sums[i] = 0;

  const Item item = locate_item<kPixelBytes, kRows>(unit, plane, (int)threadIdx.x);
  const bool has_item = (int)threadIdx.x < unit.columns * unit.groups * unit.rows;
  uint4 v[kRows];

  if (has_item)
    load_item<kPixelBytes, kRows>(plane, item, v);
  __syncthreads(); /* sums are 0, `shared` is reset */
  if (frame.overlaps)
    find_others(frame, boxes, own, unit, plane, shared);
  if (has_item) {
#pragma unroll
    for (int k = 0; k < kRows; k++)
      v[k] = Sums::prepare(v[k], frame.job);
    add_item<Sums, C, kPixelBytes, kRows>(frame.job, unit, plane, item, v, sums);
  }
  __syncthreads(); /* sums and neighbours are complete */
  const cooperative_groups::grid_group grid = cooperative_groups::this_grid();
  cooperative_groups::grid_group::arrival_token all_have_read = {};

  if (frame.needs_grid_barrier)
    all_have_read = grid.barrier_arrive();
  finish_blocks<Sums, C>(frame.job, unit, plane, sums);
  Extent extent = {};
  if (has_item)
    extent = own_extent<kPixelBytes>(frame, boxes, own, unit, plane, item, shared);
  if (frame.needs_grid_barrier && shared->overlaps)
    grid.barrier_wait(static_cast<decltype(all_have_read) &&>(all_have_read));
  __syncthreads(); /* colours and the queue are complete */
  if (has_item)
    write_item<kPixelBytes, kRows>(unit, plane, item,
                                   colours_of_item<C, kPixelBytes>(unit, plane, item, sums), extent,
                                   *shared);
  if constexpr (Soft)
    write_queued<C, kRows, Sample>(frame, boxes, own, unit, plane, sums, *shared);
}

/* The unit of a CTA: its region, plane, and number among the units of these. */
struct UnitIndex {
  int region, plane, unit;
};

/* Without exact_offsets: blockIdx.y is the region, and every region has the same number of CTAs. */
__device__ inline UnitIndex unit_of_grid(const FusedFrame &frame)
{
  UnitIndex at = {(int)blockIdx.y, 0, (int)blockIdx.x};

  if (at.unit >= frame.units[0]) {
    at.unit -= frame.units[0];
    for (at.plane = 1; at.unit >= frame.units[1]; at.plane++)
      at.unit -= frame.units[1];
  }
  return at;
}

/* With exact_offsets: a region has as many CTAs as units. Channels = 1 as in average_blocks(). */
template <int Channels, int SampleBytes>
__device__ inline UnitIndex unit_of_offsets(const FusedFrame &frame, const Boxes &boxes)
{
  UnitIndex at = {0, 0, (int)blockIdx.x};

#pragma unroll 1
  for (int end = frame.boxes; end - at.region > 1;) {
    const int middle = (at.region + end) / 2;

    if (boxes.start(middle) <= (int)blockIdx.x)
      at.region = middle;
    else
      end = middle;
  }
  at.unit -= boxes.start(at.region);
  if (Channels == 1 && frame.job.planes > 1) {
    const Box box = boxes[at.region];
    const Footprint footprint = footprint_of(&frame.rule, &box);
    const UnitShape first = cut_in_plane<1, SampleBytes>(frame, footprint, frame.job.plane[0], 0);
    int units = units_of(&footprint, &first);

    if (at.unit >= units) {
      at.unit -= units;
      const UnitShape second =
          frame.job.plane[1].channels == 2
              ? cut_in_plane<2, 2 * SampleBytes>(frame, footprint, frame.job.plane[1], 1)
              : cut_in_plane<1, SampleBytes>(frame, footprint, frame.job.plane[1], 1);
      units = units_of(&footprint, &second);
      for (at.plane = 1; at.unit >= units; at.plane++)
        at.unit -= units;
    }
  }
  return at;
}

/* Channels = 1 as in average_blocks(). */
template <template <int, bool> class Kind, int Channels, bool Soft>
__global__ void __launch_bounds__(Soft            ? kMostItems
                                  : Channels == 4 ? 896
                                                  : 1024)
    average_units(const __grid_constant__ FusedFrame frame,
                  const __grid_constant__ BoxList<kInlineRegions> list)
{
  __shared__ uint32_t sums[kUnitItems * (Channels > 1 ? Channels : 2)];
  __shared__ std::conditional_t<Soft, SoftUnit, Neighbours> shared;
  const Boxes boxes = {list, frame.list};
  const UnitIndex at = frame.exact_offsets
                           ? unit_of_offsets<Channels, Kind<1, true>::kSampleBytes>(frame, boxes)
                           : unit_of_grid(frame);
  const Plane &plane = frame.job.plane[at.plane];

  if constexpr (Channels > 1) {
    average_unit<Kind, Channels, Soft>(frame, boxes, at.region, plane, at.plane > 0, at.unit, sums,
                                       &shared);
  } else {
    if (plane.channels == 2)
      average_unit<Kind, 2, Soft>(frame, boxes, at.region, plane, at.plane > 0, at.unit, sums,
                                  &shared);
    else
      average_unit<Kind, 1, Soft>(frame, boxes, at.region, plane, at.plane > 0, at.unit, sums,
                                  &shared);
  }
}

} // namespace cf::blockavg
