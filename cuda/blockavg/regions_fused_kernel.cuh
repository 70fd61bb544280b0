/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Block average of regions in one launch: the kernel. A CUDA block takes a unit.
 */
#pragma once

#include "cuda/blockavg/copy_uncovered.cuh"
#include "cuda/blockavg/mask_hard.cuh"
#include "cuda/blockavg/mask_feathered.cuh"

namespace
{

/* Tells the others that this unit has read. All CUDA blocks of the launch are on the GPU at once.
 */
__device__ inline void arrive(const RectangleFrame &frame)
{
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(frame.arrived, 1);
  }
}

__device__ inline void wait_for_others(const RectangleFrame &frame)
{
  if (threadIdx.x == 0) {
    volatile unsigned *arrived = frame.arrived;

    while ((int)(*arrived - frame.awaited) < 0)
      ;
    __threadfence();
  }
}

template <bool Soft> struct SharedOf {
  typedef Neighbours Type;
};
template <> struct SharedOf<true> {
  typedef SoftUnit Type;
};

template <template <int, bool> class Kind, int C, bool Soft>
__device__ inline void average_unit(const RectangleFrame &frame, const CfBox *boxes, int own,
                                    const Plane &plane, int level, int index, uint32_t *sums,
                                    typename SharedOf<Soft>::Type *shared)
{
  typedef Kind<C, true> Sums;
  typedef typename Samples<Sums::kSampleBytes>::Type Sample;
  constexpr int kPixelBytes = C * Sums::kSampleBytes, kRows = kItemRows<C>;
  const CfBox box = boxes[own];
  const CfPatch patch = cf_patch_of(&frame.patches, &box);
  const CfCut cut = cut_in_plane<C, kPixelBytes>(frame, patch, plane, level);
  const Unit unit = locate_unit<C, kPixelBytes>(patch, cut, plane, index);

  /* Single pixels of formats with alpha are what they were; others may lose unused bits. */
  if (unit.rows <= 0 || (frame.alpha >= 0 && patch.width == 1 && patch.height == 1)) {
    if (frame.waits)
      arrive(frame);
    return;
  }
  if (threadIdx.x == 0) {
    if constexpr (Soft)
      shared->claims = 0;
    else
      shared->added = shared->removed = 0;
    shared->meets = false;
  }
#pragma unroll 1
  for (int i = (int)threadIdx.x; i < unit.blocks * unit.rows * C; i += (int)blockDim.x)
    sums[i] = Sums::kNeutral;

  const Item item = locate_item<kPixelBytes, kRows>(unit, plane, (int)threadIdx.x);
  const bool has = (int)threadIdx.x < unit.columns * unit.groups * unit.rows;
  uint4 v[kRows];

  if (has)
    load_item<kPixelBytes, kRows>(plane, item, v);
  const int top = unit_top(unit, plane, 0), rows = unit_top(unit, plane, unit.rows) - top;
  if constexpr (Soft)
    find_spans(frame, shape_of(frame, box), plane, unit, top, rows, shared);
  __syncthreads();
  if constexpr (Soft) {
    if (threadIdx.x < 32)
      find_chunks(rows, shared);
  }
  if (frame.meets) {
    if constexpr (Soft)
      find_claims(frame, boxes, own, unit, plane, shared);
    else
      find_neighbours(frame, boxes, own, unit, plane, shared);
  }
  if (has) {
#pragma unroll
    for (int k = 0; k < kRows; k++)
      v[k] = Sums::prepare(v[k], frame.job);
    add_item<Sums, C, kPixelBytes, kRows>(frame.job, unit, plane, item, v, sums);
  }
  __syncthreads();
  if (frame.waits)
    arrive(frame);
  finish_blocks<Sums, C>(frame.job, unit, plane, sums);
  if (frame.waits && shared->meets)
    wait_for_others(frame);
  __syncthreads();
  if constexpr (Soft) {
    const SoftShape shape = shape_of(frame, box);

    if (has)
      write_bytes<kRows>(
          plane, item, SameRows{colours_of_item<C, kPixelBytes>(unit, plane, item, sums)},
          full_bytes<kPixelBytes, kRows>(frame, boxes, shape, plane, unit, top, item, *shared));
    write_samples<C, Sample>(frame, boxes, own, shape, unit, plane, top, rows, sums, *shared);
  } else if (has) {
    const uint4 line = colours_of_item<C, kPixelBytes>(unit, plane, item, sums);

    write_item<kPixelBytes, kRows>(unit, plane, item, line, covered_samples(plane, box), *shared);
  }
}

/* The region, plane and number of a unit. */
struct Place {
  int region, plane, unit;
};

/* Where every region has the same number of CUDA blocks. */
__device__ inline Place place_of_block(const RectangleFrame &frame)
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
__device__ inline Place place_of_unit(const RectangleFrame &frame, const CfBox *boxes,
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
    const CfPatch patch = cf_patch_of(&frame.patches, &boxes[place.region]);
    const CfCut first = cut_in_plane<1, SampleBytes>(frame, patch, frame.job.plane[0], 0);
    int units = cf_units_of(&patch, &first);

    if (place.unit >= units) {
      place.unit -= units;
      const CfCut second =
          frame.job.plane[1].channels == 2
              ? cut_in_plane<2, 2 * SampleBytes>(frame, patch, frame.job.plane[1], 1)
              : cut_in_plane<1, SampleBytes>(frame, patch, frame.job.plane[1], 1);
      units = cf_units_of(&patch, &second);
      for (place.plane = 1; place.unit >= units; place.plane++)
        place.unit -= units;
    }
  }
  return place;
}

/* Units, regions. Channels = 1 as in average_blocks. */
template <template <int, bool> class Kind, int Channels, bool Soft, int Boxes>
__global__ void __launch_bounds__(Soft            ? kMostItems
                                  : Channels == 4 ? 896
                                                  : 1024)
    average_units(const __grid_constant__ RectangleFrame frame,
                  const __grid_constant__ CarriedBoxes<Boxes> carried)
{
  __shared__ uint32_t sums[kUnitItems * (Channels > 1 ? Channels : 2)];
  __shared__ typename SharedOf<Soft>::Type shared;
  if constexpr (!Soft) {
    const int block = (int)(blockIdx.y * gridDim.x + blockIdx.x) - frame.blocks;

    if (block >= 0) {
      copy_around<Kind<1, true>::kSampleBytes>(frame, carried.box, block, &shared);
      return;
    }
  }
  const Place place =
      frame.counted
          ? place_of_unit<Channels, Kind<1, true>::kSampleBytes>(frame, carried.box, carried.start)
          : place_of_block(frame);
  const Plane &plane = frame.job.plane[place.plane];

  if constexpr (Channels > 1) {
    average_unit<Kind, Channels, Soft>(frame, carried.box, place.region, plane, place.plane > 0,
                                       place.unit, sums, &shared);
  } else {
    if (plane.channels == 2)
      average_unit<Kind, 2, Soft>(frame, carried.box, place.region, plane, place.plane > 0,
                                  place.unit, sums, &shared);
    else
      average_unit<Kind, 1, Soft>(frame, carried.box, place.region, plane, place.plane > 0,
                                  place.unit, sums, &shared);
  }
}

} // namespace
