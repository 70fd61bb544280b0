/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the tables of engine=exact (exact_weights.cpp) and the kernels that read them
 * (exact_gather.cu) agree on.
 */
#pragma once

#include "cuda/llf/types.cuh"

namespace cf::llf
{

/* Levels below this one are gathered in tiles from shared memory, a coefficient by a thread; this
 * one and the coarser ones by warps, a coefficient by one or several. */
constexpr int kWarpGatherLevel = 3;
constexpr int kWarpGatherWarps = 8;

/* A CTA makes a tile of kTileX x kTileY coefficients; a warp the even or the odd ones of a row. */
constexpr int kTileX = 64, kTileY = 8, kTileWarps = 2 * kTileY;

} // namespace cf::llf
