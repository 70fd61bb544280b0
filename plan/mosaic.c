/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/mosaic.h"

#include "plan/coverage.h"

bool cf_mosaic_is_single(const CfBlockavgParams *params, const CfRegions *regions)
{
  return !regions || regions->outside ||
         (params->anchor == CF_BLOCKAVG_FRAME && params->blocks_across <= 0);
}

static CfGrid grid(const CfBlockavgParams *params, int x, int y, int side)
{
  CfGrid grid = {x, y, params->block_width, params->block_height};

  if (params->blocks_across > 0)
    grid.width = grid.height = cf_mosaic_block_size(side, params->blocks_across);
  return grid;
}

CfGrid cf_mosaic_frame_grid(const CfBlockavgParams *params, const CfVideo *video)
{
  return grid(params, 0, 0, cf_picture_side(video));
}

CfGrid cf_mosaic_region_grid(const CfBlockavgParams *params, const CfShape *shape)
{
  const bool anchored = params->anchor == CF_BLOCKAVG_REGION;

  return grid(params, anchored ? shape->x : 0, anchored ? shape->y : 0, shape->side);
}
