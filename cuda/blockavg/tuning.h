/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Block average: numbers tuned on an NVIDIA H200 (sm_90, 132 SMs), for all GPUs. docs/engineering/
 * has the experiments.
 */
#pragma once

namespace cf::blockavg
{

/* --- whole frames (frame_kernel.cuh) --- */

constexpr int kThreads = 256;     /* of a CTA */
constexpr int kResident = 4;      /* CTAs on an SM */
constexpr int kTileBlocks = 2048; /* most blocks side by side in a tile */

/* Loads in flight per thread. More would spill registers, fewer would not saturate memory. */
template <bool Aligned> constexpr int kInFlight = Aligned ? 8 : 5;

/* --- regions in one launch (regions_fused_kernel.cuh) --- */

/* Rows of a thread's item (item_rows_of() has them too). With more rows, fewer threads and so fewer
 * registers are needed in all; with fewer rows, a CTA ends sooner. */
template <int Channels> constexpr int kItemRows = Channels == 4 ? 8 : 4;

constexpr int kUnitItems = 256;     /* most items of a unit of several blocks, and most blocks */
constexpr int kMostItems = 768;     /* most items of a unit that is a single block */
constexpr int kWholePixels = 22500; /* luma pixels of a block; larger ones are for general.h */
constexpr int kFillWidth = 64, kFillHeight = 32; /* blocks of mode=fill, which have no other use */
constexpr int kFewShapes = 16;                   /* up to this many soft shapes, a unit has only */
constexpr int kFewItems = 64;                    /* this many items, for kUnitItems threads */
constexpr int kMostCtas = 8192; /* of a launch with CTAs that end at once; else units are counted */

/* --- any regions and blocks (general.h) --- */

constexpr int kSlicePixels = 4096; /* luma pixels of a slice, unless one row of a block has more */
constexpr int kLanePixels = 32;    /* luma pixels of a block for each lane that sums it */

} // namespace cf::blockavg
