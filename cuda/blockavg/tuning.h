/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Block average: numbers chosen by measurement, on one H200 (sm_90, 132 SMs); other GPUs take the
 * same. docs/engineering/ has the experiments.
 */
#pragma once

namespace cf::blockavg
{

/* --- whole frames (frame_kernel.cuh) --- */

constexpr int kThreads = 256;     /* of a CTA */
constexpr int kResident = 4;      /* CTAs on an SM */
constexpr int kTileBlocks = 2048; /* most blocks side by side in a tile */
constexpr int kWholeRows = 128;   /* luma rows; taller blocks give too few tiles to fill a GPU */

/* Loads in flight of a thread. More spill registers, fewer leave too little memory traffic. */
template <bool Aligned> constexpr int kInFlight = Aligned ? 8 : 5;

/* --- regions in one launch (regions_fused_kernel.cuh) --- */

/* Rows of a thread's item. More rows need fewer registers for all, fewer are sooner done. */
template <int Channels> constexpr int kItemRows = Channels == 4 ? 8 : 4; /* item_rows_of */

constexpr int kUnitItems = 256;    /* most items of a unit, and most blocks of one, */
constexpr int kMostItems = 768;    /* but where a single block has more items */
constexpr int kWholePixels = 8192; /* luma pixels; larger blocks are for general.h */
constexpr int kFewShapes = 16;     /* up to so many, units of such samples are smaller: */
constexpr int kFewItems = 64;      /* of so many items, for as many threads */
constexpr int kMostCtas = 8192;    /* those that end at once cost little, but not nothing */

/* --- anything (general.h) --- */

constexpr int kSlicePixels = 4096; /* luma pixels that a warp sums up, or one row of a wide block */
constexpr int kLanePixels = 32;    /* of smaller blocks, that a lane may have to itself */

} // namespace cf::blockavg
