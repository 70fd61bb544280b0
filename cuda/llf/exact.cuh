/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the tables of engine=exact and the kernels that read them agree on.
 */
#pragma once

#include "cuda/llf/pyramid_ops.cuh"

namespace cf::llf
{

/* Below this level a thread gathers coefficients, from it on warps do. */
constexpr int FAR_LEVEL = 3;
constexpr int FAR_WARPS = 8;

/* A block of near levels makes NEAR_X x NEAR_Y coefficients, a warp half a row of them. */
constexpr int NEAR_X = 64, NEAR_Y = 8, NEAR_WARPS = 2 * NEAR_Y;

} // namespace cf::llf
