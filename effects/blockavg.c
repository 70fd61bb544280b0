/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "blockavg.h"

#include "plan/coverage.h"
#include "plan/mosaic.h"

#define FIELD(name) offsetof(CfBlockavgParams, name)

static const CfChoice modes[] = {
    {CF_BLOCKAVG_AVERAGE, "average", "The mean, rounded half up"},
    {CF_BLOCKAVG_MIN, "min", "The smallest value of each channel"},
    {CF_BLOCKAVG_MAX, "max", "The largest value of each channel"},
    {0, NULL, NULL},
};

static const CfChoice anchors[] = {
    {CF_BLOCKAVG_FRAME, "frame", "The grid of blocks starts at the frame's top left"},
    {CF_BLOCKAVG_REGION, "region", "Every region has a grid that starts at its top left"},
    {0, NULL, NULL},
};

static const CfParam params[] = {
    {"block-width", "Block width", "Width of a block in luma pixels", CF_PARAM_INT,
     FIELD(block_width), 1.0, 4096.0, 32.0, NULL, NULL, .group = "Blocks", .soft_minimum = 1.0,
     .soft_maximum = 128.0, .scale = CF_SCALE_LOG},
    {"block-height", "Block height", "Height of a block in luma pixels", CF_PARAM_INT,
     FIELD(block_height), 1.0, 4096.0, 32.0, NULL, NULL, .soft_minimum = 1.0, .soft_maximum = 128.0,
     .scale = CF_SCALE_LOG},
    {"mode", "Mode", "What a block shows of the pixels it covers", CF_PARAM_ENUM, FIELD(mode), 0.0,
     0.0, CF_BLOCKAVG_AVERAGE, "GstCudaBlockAvgMode", modes},
    {"anchor", "Anchor", "Where the grid of blocks starts", CF_PARAM_ENUM, FIELD(anchor), 0.0, 0.0,
     CF_BLOCKAVG_FRAME, "GstCudaBlockAvgAnchor", anchors},
    {"blocks-across", "Blocks across",
     "Square blocks of such a size that at most so many fit across the shorter side of a region, "
     "or "
     "of the frame (0 = block-width and block-height)",
     CF_PARAM_INT, FIELD(blocks_across), 0.0, 256.0, 0.0, NULL, NULL, .soft_minimum = 0.0,
     .soft_maximum = 32.0},
    {0},
};

static bool is_identity(const void *values)
{
  const CfBlockavgParams *blockavg = values;

  return blockavg->block_width == 1 && blockavg->block_height == 1 && blockavg->blocks_across == 0;
}

static bool fits_blocks_across(const void *values)
{
  return ((const CfBlockavgParams *)values)->blocks_across != 0;
}

static const CfRemark remarks[] = {
    {"block-width", fits_blocks_across, "block-width has no effect: it is for blocks-across=0"},
    {"block-height", fits_blocks_across, "block-height has no effect: it is for blocks-across=0"},
    {0},
};

static bool hides(const CfVideo *video, const void *values, const CfRegions *regions, CfStatus *why)
{
  const CfBlockavgParams *blockavg = values;
  const bool single = cf_mosaic_is_single(blockavg, regions);
  const int frame_side = video->width < video->height ? video->width : video->height;

  if (is_identity(values))
    return cf_fail(why, CF_ERROR_INVALID,
                   "block-width and block-height are 1, and blocks of one pixel hide nothing: set "
                   "larger ones, or blocks-across=5");
  if (blockavg->blocks_across == 0)
    return true;
  for (int i = 0; single ? i < 1 : i < regions->count; i++) {
    const int side = single ? frame_side : cf_region_side(regions, &regions->region[i]);

    if (cf_mosaic_block_size(side, blockavg->blocks_across) == 1)
      return cf_fail(why, CF_ERROR_INVALID,
                     "blocks-across is %d, which cuts a region of %d pixels into blocks of one "
                     "pixel, and these hide nothing: set blocks-across=5",
                     blockavg->blocks_across, side);
  }
  return true;
}

static const CfEngine *const engines[] = {
    &cf_blockavg_reference,
    &cf_blockavg_cpu,
#ifdef CF_HAVE_CUDA
    &cf_blockavg_cuda,
#endif
    NULL,
};

const CfEffect cf_blockavg = {
    .name = "blockavg",
    .params_size = sizeof(CfBlockavgParams),
    .params = params,
    .hides = hides,
    .is_identity = is_identity,
    .remarks = remarks,
    .engines = engines,
};
