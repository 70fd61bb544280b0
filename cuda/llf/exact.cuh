/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Constants that the tables of engine=exact (exact_weights.cpp) share with the kernels that read
 * them (exact_gather.cu).
 */
#pragma once

#include "cuda/llf/types.cuh"

namespace cf::llf
{

/* Levels finer than this one are gathered in tiles, from shared memory, with one thread per
 * coefficient; this level and the coarser ones with one or more warps per coefficient. */
constexpr int kWarpGatherLevel = 3;
constexpr int kWarpGatherWarps = 8;

/* A CTA computes a tile of kTileX x kTileY coefficients, a warp the even or the odd ones of a row.
 */
constexpr int kTileX = 64, kTileY = 8, kTileWarps = 2 * kTileY;

} // namespace cf::llf
