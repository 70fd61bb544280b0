/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Block average of regions in one launch: the kernel. A CTA takes a unit (regions_plan.h).
 */
#pragma once

#include <cooperative_groups.h>
#include <type_traits>

#include "cuda/blockavg/mask_hard.cuh"
#include "cuda/blockavg/mask_soft.cuh"

namespace cf::blockavg
{

template <template <int, bool> class Kind, int C, bool Soft>
__device__ inline void average_unit(const FusedFrame &frame, const Box *boxes, int own,
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

  /* Single pixels of formats with alpha are what they were; others may lose unused bits. */
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
  const bool has = (int)threadIdx.x < unit.columns * unit.groups * unit.rows;
  uint4 v[kRows];

  if (has)
    load_item<kPixelBytes, kRows>(plane, item, v);
  __syncthreads();
  if (frame.overlaps)
    find_others(frame, boxes, own, unit, plane, shared);
  if (has) {
#pragma unroll
    for (int k = 0; k < kRows; k++)
      v[k] = Sums::prepare(v[k], frame.job);
    add_item<Sums, C, kPixelBytes, kRows>(frame.job, unit, plane, item, v, sums);
  }
  __syncthreads();
  const cooperative_groups::grid_group grid = cooperative_groups::this_grid();
  cooperative_groups::grid_group::arrival_token all_have_read = {};

  if (frame.needs_grid_barrier)
    all_have_read = grid.barrier_arrive();
  finish_blocks<Sums, C>(frame.job, unit, plane, sums);
  Extent extent = {};
  if (has)
    extent = own_extent<kPixelBytes>(frame, boxes, own, unit, plane, item, shared);
  if (frame.needs_grid_barrier && shared->overlaps)
    grid.barrier_wait(static_cast<decltype(all_have_read) &&>(all_have_read));
  __syncthreads();
  if (has)
    write_item<kPixelBytes, kRows>(unit, plane, item,
                                   colours_of_item<C, kPixelBytes>(unit, plane, item, sums), extent,
                                   *shared);
  if constexpr (Soft)
    write_queued<C, kRows, Sample>(frame, boxes, own, unit, plane, sums, *shared);
}

/* The region, plane and number of a unit. */
struct Place {
  int region, plane, unit;
};

/* Where every region has the same number of CTAs. */
__device__ inline Place place_of_cta(const FusedFrame &frame)
{
  Place place = {(int)blockIdx.y, 0, (int)blockIdx.x};

  if (place.unit >= frame.units[0]) {
    place.unit -= frame.units[0];
    for (place.plane = 1; place.unit >= frame.units[1]; place.plane++)
      place.unit -= frame.units[1];
  }
  return place;
}

/* Where they have as many as they have units. Channels = 1 as in average_blocks. */
template <int Channels, int SampleBytes>
__device__ inline Place place_of_unit(const FusedFrame &frame, const Box *boxes,
                                      const uint16_t *starts)
{
  Place place = {0, 0, (int)blockIdx.x};

#pragma unroll 1
  for (int step = kMostRegions / 2; step > 0; step /= 2) {
    if (place.region + step < frame.boxes && starts[place.region + step] <= (int)blockIdx.x)
      place.region += step;
  }
  place.unit -= starts[place.region];
  if (Channels == 1 && frame.job.planes > 1) {
    const Footprint footprint = footprint_of(&frame.rule, &boxes[place.region]);
    const UnitShape first = cut_in_plane<1, SampleBytes>(frame, footprint, frame.job.plane[0], 0);
    int units = units_of(&footprint, &first);

    if (place.unit >= units) {
      place.unit -= units;
      const UnitShape second =
          frame.job.plane[1].channels == 2
              ? cut_in_plane<2, 2 * SampleBytes>(frame, footprint, frame.job.plane[1], 1)
              : cut_in_plane<1, SampleBytes>(frame, footprint, frame.job.plane[1], 1);
      units = units_of(&footprint, &second);
      for (place.plane = 1; place.unit >= units; place.plane++)
        place.unit -= units;
    }
  }
  return place;
}

/* Units, regions. Channels = 1 as in average_blocks. */
template <template <int, bool> class Kind, int Channels, bool Soft>
__global__ void __launch_bounds__(Soft            ? kMostItems
                                  : Channels == 4 ? 896
                                                  : 1024)
    average_units(const __grid_constant__ FusedFrame frame, const __grid_constant__ BoxList list)
{
  __shared__ uint32_t sums[kUnitItems * (Channels > 1 ? Channels : 2)];
  __shared__ std::conditional_t<Soft, SoftUnit, Neighbours> shared;
  const Place place =
      frame.exact_offsets
          ? place_of_unit<Channels, Kind<1, true>::kSampleBytes>(frame, list.box, list.start)
          : place_of_cta(frame);
  const Plane &plane = frame.job.plane[place.plane];

  if constexpr (Channels > 1) {
    average_unit<Kind, Channels, Soft>(frame, list.box, place.region, plane, place.plane > 0,
                                       place.unit, sums, &shared);
  } else {
    if (plane.channels == 2)
      average_unit<Kind, 2, Soft>(frame, list.box, place.region, plane, place.plane > 0, place.unit,
                                  sums, &shared);
    else
      average_unit<Kind, 1, Soft>(frame, list.box, place.region, plane, place.plane > 0, place.unit,
                                  sums, &shared);
  }
}

} // namespace cf::blockavg
