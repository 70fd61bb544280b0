/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "blockavg.h"

#include "plan/coverage.h"
#include "plan/mosaic.h"

#define FIELD(name) offsetof(CfBlockavgParams, name)

/* Blocks across the region of a face: the default, at which the face is not recognised even after
 * the attacker blurs the blocks, and the most at which it is not recognised without that. */
#define SAFE_BLOCKS_ACROSS 5
#define MOST_BLOCKS_ACROSS 6

static const CfChoice modes[] = {
    {CF_BLOCKAVG_AVERAGE, "average", "The mean of its pixels, rounded half up"},
    {CF_BLOCKAVG_MIN, "min", "The smallest value of each channel"},
    {CF_BLOCKAVG_MAX, "max", "The largest value of each channel"},
    {CF_BLOCKAVG_FILL, "fill", "fill-color, and nothing of the picture"},
    {0, NULL, NULL},
};

static const CfChoice anchors[] = {
    {CF_BLOCKAVG_FRAME, "frame", "At the top left of the frame"},
    {CF_BLOCKAVG_REGION, "region", "At the top left of each region, with a grid of its own"},
    {0, NULL, NULL},
};

static const CfParam params[] = {
    {"block-width", "Block width", "Width of a block in luma pixels", CF_PARAM_INT,
     FIELD(block_width), 1.0, 4096.0, 32.0, NULL, NULL, .group = "Blocks", .soft_minimum = 1.0,
     .soft_maximum = 128.0, .scale = CF_SCALE_LOG},
    {"block-height", "Block height", "Height of a block in luma pixels", CF_PARAM_INT,
     FIELD(block_height), 1.0, 4096.0, 32.0, NULL, NULL, .soft_minimum = 1.0, .soft_maximum = 128.0,
     .scale = CF_SCALE_LOG},
    {"mode", "Mode", "What a block shows", CF_PARAM_ENUM, FIELD(mode), 0.0, 0.0,
     CF_BLOCKAVG_AVERAGE, "GstCudaBlockAvgMode", modes},
    {"anchor", "Anchor", "Where the grid of blocks starts", CF_PARAM_ENUM, FIELD(anchor), 0.0, 0.0,
     CF_BLOCKAVG_FRAME, "GstCudaBlockAvgAnchor", anchors},
    {"blocks-across", "Blocks across",
     "Square blocks, at most this many across the shorter side of a region or of the frame (0 = "
     "block-width and block-height instead; -1 = 5 with roi-mode=inside where no block size was "
     "set, else 0)",
     CF_PARAM_INT, FIELD(blocks_across), -1.0, 256.0, -1.0, NULL, NULL, .soft_minimum = -1.0,
     .soft_maximum = 32.0},
    {"fill-color", "Fill colour", "Colour of mode=fill, as 0xAARRGGBB", CF_PARAM_COLOR,
     FIELD(fill_color), 0.0, UINT32_MAX, 0xff000000, NULL, NULL},
    {0},
};

static uint64_t bit_of(const char *name)
{
  return UINT64_C(1) << (cf_params_find(params, name) - params);
}

static void settle(void *values, uint64_t set, bool masks)
{
  CfBlockavgParams *blockavg = values;
  const bool sized = set & (bit_of("block-width") | bit_of("block-height"));

  if (blockavg->blocks_across < 0)
    blockavg->blocks_across = masks && !sized ? SAFE_BLOCKS_ACROSS : 0;
}

static bool is_identity(const void *values)
{
  const CfBlockavgParams *blockavg = values;

  return blockavg->mode != CF_BLOCKAVG_FILL && blockavg->block_width == 1 &&
         blockavg->block_height == 1 && blockavg->blocks_across <= 0;
}

static bool fits_blocks_across(const void *values)
{
  return ((const CfBlockavgParams *)values)->blocks_across > 0;
}

static bool fills(const void *values)
{
  return ((const CfBlockavgParams *)values)->mode == CF_BLOCKAVG_FILL;
}

static bool has_blocks(const void *values)
{
  return !fills(values);
}

#define NO_BLOCKS " has no effect: mode=fill has no blocks"

static const CfRemark remarks[] = {
    {"block-width", fits_blocks_across, "block-width has no effect: it is for blocks-across=0"},
    {"block-width", fills, "block-width" NO_BLOCKS},
    {"block-height", fits_blocks_across, "block-height has no effect: it is for blocks-across=0"},
    {"block-height", fills, "block-height" NO_BLOCKS},
    {"anchor", fills, "anchor" NO_BLOCKS},
    {"blocks-across", fills, "blocks-across" NO_BLOCKS},
    {"fill-color", has_blocks, "fill-color has no effect: it is for mode=fill"},
    {0},
};

/* Whether blocks hide a face in a covered region whose shorter side is `side` pixels. */
static bool hides_face(const CfBlockavgParams *blockavg, int side, CfStatus *why)
{
  const int across = blockavg->blocks_across;
  const int smaller = blockavg->block_width < blockavg->block_height ? blockavg->block_width
                                                                     : blockavg->block_height;
  const int size = across > 0 ? cf_mosaic_block_size(side, across) : smaller;

  if (MOST_BLOCKS_ACROSS * size >= side)
    return true;
  if (across > 0)
    return cf_fail(
        why, CF_ERROR_INVALID,
        "blocks-across is %d, and with more than %d blocks a face can be recognised: set "
        "blocks-across=%d",
        across, MOST_BLOCKS_ACROSS, SAFE_BLOCKS_ACROSS);
  return cf_fail(why, CF_ERROR_INVALID,
                 "blocks of %dx%d pixels are less than a sixth of the shorter side of a region (%d "
                 "pixels), so a face can be recognised: set blocks-across=%d",
                 blockavg->block_width, blockavg->block_height, side, SAFE_BLOCKS_ACROSS);
}

static bool hides(const CfVideo *video, const void *values, const CfRegions *regions, CfStatus *why)
{
  const CfBlockavgParams *blockavg = values;
  const bool single = cf_mosaic_is_single(blockavg, regions);
  const int own = single ? 0 : regions->count;

  if (fills(values))
    return true;
  if (is_identity(values))
    return cf_fail(why, CF_ERROR_INVALID,
                   "block-width and block-height are 1, and blocks of one pixel hide nothing: set "
                   "larger ones, or blocks-across=%d",
                   SAFE_BLOCKS_ACROSS);
  for (int i = single ? -1 : 0; blockavg->blocks_across > 0 && i < own; i++) {
    const int side =
        i < 0 ? cf_picture_side(video) : cf_region_side(video, regions, &regions->region[i]);

    if (cf_mosaic_block_size(side, blockavg->blocks_across) == 1)
      return cf_fail(why, CF_ERROR_INVALID,
                     "blocks-across is %d, which cuts a region of %d pixels into blocks of one "
                     "pixel, and these hide nothing: set blocks-across=%d",
                     blockavg->blocks_across, side, SAFE_BLOCKS_ACROSS);
  }
  for (int i = 0; regions && !regions->outside && i < regions->count; i++) {
    if (!cf_region_is_picture(video, regions, &regions->region[i]) &&
        !hides_face(blockavg, cf_region_side(video, regions, &regions->region[i]), why))
      return false;
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
    .settle = settle,
    .automatic = "blocks-across",
    .hides = hides,
    .is_identity = is_identity,
    .remarks = remarks,
    .engines = engines,
};
