/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where the blocks of a block average lie: grids of equal blocks, one for the picture or one per
 * region. A sample belongs to the block that contains its top left luma pixel. A grid extends
 * beyond the region that it starts at, up to the edges of the picture.
 */
#pragma once

#include "blockavg.h"
#include "plan/coverage_rule.h"

/* Luma pixels; the sums of larger blocks could overflow. */
#define CF_LARGEST_BLOCK 16384

typedef struct {
  int x, y;          /* luma pixel at which some block starts */
  int width, height; /* of a block in luma pixels, >= 1 */
} CfGrid;

/* Whether one grid, that of the picture, serves all regions. `regions` may be NULL. */
bool cf_mosaic_is_single(const CfBlockavgParams *params, const CfRegions *regions);

/* The grid of the picture. */
CfGrid cf_mosaic_frame_grid(const CfBlockavgParams *params, const CfVideo *video);

/* The grid of a region. */
CfGrid cf_mosaic_region_grid(const CfBlockavgParams *params, const CfShape *shape);

/* The side of square blocks of which at most `blocks_across` fit across `side` pixels: rounded up,
 * 1..CF_LARGEST_BLOCK. */
CF_SHARED int cf_mosaic_block_size(int side, int blocks_across)
{
  const int size = (side + blocks_across - 1) / blocks_across;

  return size < 1 ? 1 : size > CF_LARGEST_BLOCK ? CF_LARGEST_BLOCK : size;
}

/* The index of the block that a sample belongs to, along one axis; may be negative. `origin` and
 * `size` are in luma pixels, `subsampling` is log2. */
CF_SHARED int cf_grid_block(int origin, int size, int subsampling, int sample)
{
  const int luma = (sample << subsampling) - origin;

  return luma >= 0 ? luma / size : -1 - (-1 - luma) / size;
}

/* The first sample of a block along one axis, clamped to 0..limit. A block ends where the next
 * starts. */
CF_SHARED int cf_grid_start(int origin, int size, int subsampling, int block, int limit)
{
  const int64_t luma = (int64_t)block * size + origin;
  const int64_t start = (luma + (1 << subsampling) - 1) >> subsampling;

  return start < 0 ? 0 : start > limit ? limit : (int)start;
}
