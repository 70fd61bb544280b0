/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The oracle for block averages of regions: the values that each sample may have. It computes
 * distances as real numbers, shares no code with the engines, and looks at each sample by itself.
 */
#pragma once

#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "blockavg.h"
#include "harness.h"
#include "naive_fill.h"

/* ---- The oracle: coverage ---- */

/* The range that rounding allows for a coverage, in 256ths. */
typedef struct {
  int least, most;
} Range;

/* `doubt` is the error of a distance in single precision, in pixels. */
static inline Range fade(const CfRegions *regions, double distance, double doubt)
{
  const double least = regions->shape == CF_REGION_ELLIPSE ? 1.0 : 0.0;
  const double feather = fmax(regions->feather, least);
  const double least_part = feather > 0.0 ? fmax(0.0, 1.0 - (distance + doubt) / feather) : 0.0;
  const double most_part =
      feather > 0.0 ? fmin(fmax(0.0, 1.0 - (distance - doubt) / feather), 1.0) : 0.0;

  return (Range){(int)floor(256.0 * least_part + 0.4995), (int)floor(256.0 * most_part + 0.5005)};
}

/* The distance of a point from the rectangle, negative inside. */
static inline double rectangle_distance(const CfRegion *region, double x, double y)
{
  const double left = region->x - x, right = x - ((double)region->x + region->width);
  const double top = region->y - y, bottom = y - ((double)region->y + region->height);
  const double across = fmax(left, right), down = fmax(top, bottom);

  if (across > 0.0 && down > 0.0)
    return hypot(across, down);
  return fmax(across, down);
}

/* The distance from the ellipse along the line through its centre, negative inside. */
static inline double ellipse_distance(const CfRegion *region, double x, double y)
{
  const double a = 0.5 * region->width, b = 0.5 * region->height;
  const double across = x - region->x - a, down = y - region->y - b;
  const double angle = atan2(down / b, across / a);

  if (across == 0.0 && down == 0.0)
    return -fmin(a, b);
  return hypot(across, down) - hypot(a * cos(angle), b * sin(angle));
}

/* Beyond this an ellipse may cover more than it should, but never less. */
static inline bool is_far(const CfRegion *region)
{
  const int64_t most = 1 << 29, right = (int64_t)region->x + region->width;
  const int64_t bottom = (int64_t)region->y + region->height;

  return region->x < -most || region->y < -most || right > most || bottom > most;
}

static inline Range region_coverage(const CfRegions *regions, const CfRegion *region, int x, int y)
{
  const bool ellipse = regions->shape == CF_REGION_ELLIPSE;
  const double distance =
      (ellipse ? ellipse_distance : rectangle_distance)(region, x + 0.5, y + 0.5);
  const double inwards = regions->outside ? -distance : distance;
  const double doubt = ellipse ? 1e-4 * ((double)region->width + region->height) : 0.0;

  if (region->width <= 0 || region->height <= 0)
    return regions->outside ? (Range){256, 256} : (Range){0, 0};
  if (ellipse && is_far(region))
    return (Range){inwards <= 0.0 || regions->outside ? 256 : 0, 256};
  if (fabs(inwards) <= doubt)
    return (Range){inwards <= 0.0 ? 256 : fade(regions, inwards, 0.0).least, 256};
  return inwards < 0.0 ? (Range){256, 256} : fade(regions, inwards, 4e-3 * doubt);
}

/* The coverage of a sample by one region: that of its most covered luma pixel. */
static inline Range sample_coverage(const CfVideo *video, const CfRegions *regions, int first,
                                    int count, int plane, int x, int y)
{
  const CfPlaneFormat *info = &cf_format_info(video->format)->plane[plane];
  Range sample = {0, 0};

  for (int j = y << info->subsampling_y; j < (y + 1) << info->subsampling_y && j < video->height;
       j++) {
    for (int i = x << info->subsampling_x; i < (x + 1) << info->subsampling_x && i < video->width;
         i++) {
      Range pixel = {regions->outside ? 256 : 0, regions->outside ? 256 : 0};

      for (int k = first; k < first + count; k++) {
        const Range one = region_coverage(regions, &regions->region[k], i, j);
        const bool takes = regions->outside;
        pixel.least =
            (takes ? one.least < pixel.least : one.least > pixel.least) ? one.least : pixel.least;
        pixel.most =
            (takes ? one.most < pixel.most : one.most > pixel.most) ? one.most : pixel.most;
      }
      sample.least = pixel.least > sample.least ? pixel.least : sample.least;
      sample.most = pixel.most > sample.most ? pixel.most : sample.most;
    }
  }
  return sample;
}

/* ---- The oracle: blocks ---- */

typedef struct {
  const CfTestPicture *source;
  const CfRegions *regions;
  const CfBlockavgParams *params;
  int plane;
} Oracle;

typedef struct {
  int x, y, width, height;
} Grid;

static inline Grid grid_of(const Oracle *oracle, int owner)
{
  const CfVideo *video = &oracle->source->video;
  const CfBlockavgParams *params = oracle->params;
  const CfRegions *regions = oracle->regions;
  Grid grid = {0, 0, params->block_width, params->block_height};
  int side = video->width < video->height ? video->width : video->height;

  if (owner >= 0) {
    const CfRegion *region = &(regions->whole ? regions->whole : regions->region)[owner];

    side = region->width < region->height ? region->width : region->height;
    if (params->anchor == CF_BLOCKAVG_REGION) {
      grid.x = region->x;
      grid.y = region->y;
    }
  }
  if (params->blocks_across) {
    const double size = ceil((double)side / params->blocks_across);
    grid.width = grid.height = (int)fmax(1.0, fmin(size, 16384.0));
  }
  return grid;
}

/* The samples that share a block with sample `at`. */
static inline void find_edges(int at, int size, int subsampling, int origin, int block_size,
                              int edges[2])
{
  const double start = origin, scale = 1 << subsampling;
  const double block = floor((at * scale - start) / block_size);

  for (edges[0] = at;
       edges[0] > 0 && floor(((edges[0] - 1) * scale - start) / block_size) == block;)
    edges[0]--;
  for (edges[1] = at + 1;
       edges[1] < size && floor((edges[1] * scale - start) / block_size) == block;)
    edges[1]++;
}

static inline int block_code(const Oracle *oracle, const int x[2], const int y[2], int channel,
                             bool single)
{
  const CfTestPicture *source = oracle->source;
  const CfFormatInfo *format = cf_format_info(source->video.format);
  const CfPlaneFormat *info = &format->plane[oracle->plane];
  const int alpha = cf_alpha_channel(info);
  int least = INT_MAX, most = 0;
  uint64_t sum = 0, weight = 0;

  if (oracle->params->mode == CF_BLOCKAVG_FILL)
    return naive_fill_code(&source->video, oracle->params->fill_color, info->role[channel]);
  for (int j = y[0]; j < y[1]; j++) {
    for (int i = x[0]; i < x[1]; i++) {
      const int code = cf_picture_get(source, oracle->plane, i, j, channel);
      const int share =
          alpha < 0 || channel == alpha ? 1 : cf_picture_get(source, oracle->plane, i, j, alpha);
      least = code < least ? code : least;
      most = code > most ? code : most;
      sum += (uint64_t)share * (uint64_t)code;
      weight += (uint64_t)share;
    }
  }
  if (oracle->params->mode == CF_BLOCKAVG_MIN || single)
    return least;
  if (oracle->params->mode == CF_BLOCKAVG_MAX)
    return most;
  if (weight == 0)
    return info->role[channel] == CF_ROLE_CHROMA_BLUE || info->role[channel] == CF_ROLE_CHROMA_RED
               ? 128
               : 0;
  return (int)floor((double)sum / (double)weight + 0.5);
}

/* The colour of the block of a sample, kept for neighbours. */
typedef struct {
  bool known;
  int x[2], y[2], codes[CF_MAX_CHANNELS];
} Block;

static inline void find_block(const Oracle *oracle, Block *block, const Grid *grid, int x, int y)
{
  const CfVideo *video = &oracle->source->video;
  const CfPlaneFormat *info = &cf_format_info(video->format)->plane[oracle->plane];

  if (block->known && x >= block->x[0] && x < block->x[1] && y >= block->y[0] && y < block->y[1])
    return;
  find_edges(x, cf_plane_width(video, oracle->plane), info->subsampling_x, grid->x, grid->width,
             block->x);
  find_edges(y, cf_plane_height(video, oracle->plane), info->subsampling_y, grid->y, grid->height,
             block->y);
  for (int channel = 0; channel < info->channels; channel++)
    block->codes[channel] =
        block_code(oracle, block->x, block->y, channel, grid->width == 1 && grid->height == 1);
  block->known = true;
}

static inline int mixed_code(const Oracle *oracle, const Block *block, int x, int y, int channel,
                             int coverage)
{
  const CfPlaneFormat *info = &cf_format_info(oracle->source->video.format)->plane[oracle->plane];
  const int alpha = cf_alpha_channel(info);
  const double part = coverage / 256.0;
  const double source = cf_picture_get(oracle->source, oracle->plane, x, y, channel);
  double weight = 1.0 - part, filtered_weight = part;

  if (alpha >= 0 && channel != alpha) {
    weight *= cf_picture_get(oracle->source, oracle->plane, x, y, alpha);
    filtered_weight *= block->codes[alpha];
  }
  if (weight + filtered_weight == 0.0)
    return block->codes[channel];
  return (int)floor((source * weight + block->codes[channel] * filtered_weight) /
                        (weight + filtered_weight) +
                    0.5 + 1e-9);
}

/* ---- Judging ---- */

/* Whether a pixel is what this owner and this coverage give. */
static inline bool is_mixed(const Oracle *oracle, const CfTestPicture *got, const Block *block,
                            int x, int y, int coverage)
{
  const CfPlaneFormat *info = &cf_format_info(got->video.format)->plane[oracle->plane];

  for (int channel = 0; channel < info->channels; channel++) {
    if (coverage == 0 ? cf_picture_raw(got, oracle->plane, x, y, channel) !=
                            cf_picture_raw(oracle->source, oracle->plane, x, y, channel)
                      : info->role[channel] != CF_ROLE_PADDING &&
                            cf_picture_raw(got, oracle->plane, x, y, channel) !=
                                mixed_code(oracle, block, x, y, channel, coverage)
                                    << cf_format_info(got->video.format)->shift)
      return false;
  }
  return true;
}

/* Whether owner `b` is preferred to `a` where they cover equally. */
static inline bool goes_before(const CfRegions *regions, int b, int a)
{
  const CfRegion *list = regions->whole ? regions->whole : regions->region;
  const CfRegion *one = &list[a], *other = &list[b];
  const int side = one->width < one->height ? one->width : one->height;
  const int other_side = other->width < other->height ? other->width : other->height;

  return other_side > side || (other_side == side && b < a);
}

/* The coverage by each region alone, and by all together. */
static inline Range cover_all(const Oracle *oracle, Range *each, int x, int y)
{
  const CfVideo *video = &oracle->source->video;
  const CfRegions *regions = oracle->regions;
  Range all = {0, 0};

  if (regions->outside)
    return sample_coverage(video, regions, 0, regions->count, oracle->plane, x, y);
  for (int i = 0; i < regions->count; i++) {
    each[i] = sample_coverage(video, regions, i, 1, oracle->plane, x, y);
    all.least = each[i].least > all.least ? each[i].least : all.least;
    all.most = each[i].most > all.most ? each[i].most : all.most;
  }
  return all;
}

/* Whether a sample may belong to a region: no preferred region covers it as much. */
static inline bool may_own(const CfRegions *regions, const Range *each, Range all, int owner)
{
  if (each[owner].most < all.least || each[owner].most == 0)
    return false;
  for (int other = 0; other < regions->count; other++) {
    if (each[other].least >= each[owner].most && other != owner &&
        goes_before(regions, other, owner))
      return false;
  }
  return true;
}

static inline bool is_right(const Oracle *oracle, const CfTestPicture *got, Block *blocks,
                            Range *each, bool single, int x, int y)
{
  const CfRegions *regions = oracle->regions;
  const Range all = cover_all(oracle, each, x, y);

  if (all.least == 0 && is_mixed(oracle, got, NULL, x, y, 0))
    return true;
  for (int owner = 0; owner < (single ? 1 : regions->count); owner++) {
    const Grid grid = grid_of(oracle, single ? -1 : owner);

    if (all.most == 0 || (!single && !may_own(regions, each, all, owner)))
      continue;
    find_block(oracle, &blocks[owner], &grid, x, y);
    for (int coverage = all.least > 0 ? all.least : 1; coverage <= all.most; coverage++) {
      if (is_mixed(oracle, got, &blocks[owner], x, y, coverage))
        return true;
    }
  }
  return false;
}

/* Whether `got` is a valid result for `source` and the regions. */
static inline bool judge(CfTest *test, const CfTestPicture *source, const CfTestPicture *got,
                         const CfRegions *regions, const CfBlockavgParams *params)
{
  const CfFormatInfo *format = cf_format_info(got->video.format);
  const bool single =
      regions->outside || (params->anchor == CF_BLOCKAVG_FRAME && params->blocks_across == 0);
  bool good = true;

  for (int plane = 0; good && plane < format->planes; plane++) {
    const Oracle oracle = {source, regions, params, plane};
    Block *blocks = calloc((size_t)regions->count + 1, sizeof *blocks);
    Range *each = calloc((size_t)regions->count + 1, sizeof *each);

    for (int y = 0; good && blocks && each && y < cf_plane_height(&got->video, plane); y++) {
      for (int x = 0; good && x < cf_plane_width(&got->video, plane); x++)
        good =
            CF_EXPECT(test, is_right(&oracle, got, blocks, each, single, x, y),
                      "plane %d x %d y %d: got %d of %d", plane, x, y,
                      cf_picture_raw(got, plane, x, y, 0), cf_picture_raw(source, plane, x, y, 0));
    }
    good = CF_EXPECT(test, blocks && each, "no memory") && good;
    free(blocks);
    free(each);
  }
  return good;
}
