/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * For the kernel of lods: what a block knows of a map, and what it finds of a tile, sample by
 * sample.
 */
#pragma once

#include "cuda/blurmap/mma_device.cuh"
#include "cuda/blurmap/fp32_sigma_lookup.cuh"

namespace cf::blurmap
{

constexpr unsigned kNoLod = 65535; /* lod of what is copied, or not made */

constexpr unsigned kSteps = (unsigned)(1 / kLodStep); /* from one level to the next */

/* Words of a row of lods, so that those of eight rows lie in different banks. */
constexpr int kLodPitch = kTileColumns / 2 + 4;

struct Shared {
  CfTileShapes shapes;
  uint4 of_strips[kThreads / 32]; /* bits of the levels of each warp's strip */
  float lod[CF_BLUR_TABLE + 2];   /* of a plane's table */
  /* Of each warp: whether it has samples of a level, and lods, in pairs. */
  alignas(16) uint8_t used[kThreads / 32][CF_BLUR_LEVELS + 16];
  alignas(16) uint32_t pair[kThreads / 32][kStripRows][kLodPitch];
};

/* Among the levels; kNoLod if that is the level that copies. */
__device__ inline unsigned rounded_lod(const MapPlane &plane, const float *table, float m)
{
  const float scaled = m * CF_BLUR_TABLE;
  const int entry = (int)scaled;
  const float left = table[entry];
  const float among = left + (scaled - (float)entry) * (table[entry + 1] - left);
  const unsigned lod = (unsigned)fmaf(among, 1 / kLodStep, 0.5f);

  return plane.copy >= 0 && lod == (unsigned)plane.copy * kSteps ? kNoLod : lod;
}

/* Notes the one or two levels of a lod. The last is no level, but stands for copies. */
__device__ inline void note(uint8_t *used, unsigned lod)
{
  static_assert(kNoLod / kSteps == (unsigned)kCopiedBit, "the level that stands for copies");
  used[lod / kSteps] = 1;
  used[(lod + kSteps - 1) / kSteps] = 1;
}

} // namespace cf::blurmap
