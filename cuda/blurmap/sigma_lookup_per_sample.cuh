/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * For the kernel of positions: what a block knows of a map, and what it finds of a tile, sample by
 * sample.
 */
#pragma once

#include "cuda/blurmap/mip_types.cuh"
#include "cuda/blurmap/fp32_sigma_lookup.cuh"

namespace
{

constexpr unsigned kNowhere = 65535; /* position of what is copied, or not made */

constexpr unsigned kSteps = (unsigned)(1 / kCellPosition); /* from one level to the next */

/* Words of a row of positions, so that those of eight rows lie in different banks. */
constexpr int kPositionPitch = kCellColumns / 2 + 4;

struct Shared {
  CfTileShapes shapes;
  uint4 of_strips[kCellThreads / 32]; /* bits of the levels of each warp's strip */
  float position[CF_BLUR_TABLE + 2];  /* of a plane's table */
  /* Of each warp: whether it has samples of a level, and positions, in pairs. */
  alignas(16) uint8_t used[kCellThreads / 32][CF_BLUR_LEVELS + 16];
  alignas(16) uint32_t pair[kCellThreads / 32][kCellStrip][kPositionPitch];
};

/* Among the levels; kNowhere if that is the level that copies. */
__device__ inline unsigned rounded_position(const CfMapPlane &plane, const float *table, float m)
{
  const float scaled = m * CF_BLUR_TABLE;
  const int entry = (int)scaled;
  const float left = table[entry];
  const float among = left + (scaled - (float)entry) * (table[entry + 1] - left);
  const unsigned position = (unsigned)fmaf(among, 1 / kCellPosition, 0.5f);

  return plane.copy >= 0 && position == (unsigned)plane.copy * kSteps ? kNowhere : position;
}

/* Notes the one or two levels of a position. The last is no level, but stands for copies. */
__device__ inline void note(uint8_t *used, unsigned position)
{
  static_assert(kNowhere / kSteps == (unsigned)kCellCopied, "the level that stands for copies");
  used[position / kSteps] = 1;
  used[(position + kSteps - 1) / kSteps] = 1;
}

} // namespace
