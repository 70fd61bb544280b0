/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Regions, by means of the block average: what they cover, what a sample becomes there, and that
 * nothing else changes. The oracle below knows distances as real numbers, not the engines' code.
 */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blockavg.h"
#include "coverage.h"
#include "harness.h"

/* ---- The oracle: coverage ---- */

/* What rounding may make of a coverage, in 256ths. */
typedef struct {
  int least, most;
} Range;

static Range fade(const CfRegions *regions, double distance)
{
  const double coverage =
      regions->feather > 0.0 ? fmax(0.0, 1.0 - distance / regions->feather) : 0.0;

  return (Range){(int)floor(256.0 * coverage + 0.4995), (int)floor(256.0 * coverage + 0.5005)};
}

/* Distance from a point to the rectangle, negative inside. */
static double rectangle_distance(const CfRegion *region, double x, double y)
{
  const double left = region->x - x, right = x - ((double)region->x + region->width);
  const double top = region->y - y, bottom = y - ((double)region->y + region->height);
  const double across = fmax(left, right), down = fmax(top, bottom);

  if (across > 0.0 && down > 0.0)
    return hypot(across, down);
  return fmax(across, down);
}

/* Distance along the line from the centre to the ellipse, negative inside. */
static double ellipse_distance(const CfRegion *region, double x, double y)
{
  const double a = 0.5 * region->width, b = 0.5 * region->height;
  const double across = x - region->x - a, down = y - region->y - b;
  const double angle = atan2(down / b, across / a);

  if (across == 0.0 && down == 0.0)
    return -fmin(a, b);
  return hypot(across, down) - hypot(a * cos(angle), b * sin(angle));
}

static Range region_coverage(const CfRegions *regions, const CfRegion *region, int x, int y)
{
  const bool ellipse = regions->shape == CF_REGION_ELLIPSE;
  const double distance =
      (ellipse ? ellipse_distance : rectangle_distance)(region, x + 0.5, y + 0.5);
  const double inwards = regions->outside ? -distance : distance;
  const double doubt = ellipse ? 1e-4 * (region->width + region->height) : 0.0;

  if (region->width <= 0 || region->height <= 0)
    return regions->outside ? (Range){256, 256} : (Range){0, 0};
  if (fabs(inwards) <= doubt)
    return (Range){fade(regions, fabs(inwards)).least, 256};
  return inwards < 0.0 ? (Range){256, 256} : fade(regions, inwards);
}

/* Coverage of a sample by one region: that of its most covered luma pixel. */
static Range sample_coverage(const CfVideo *video, const CfRegions *regions, int first, int count,
                             int plane, int x, int y)
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

static Grid grid_of(const Oracle *oracle, int owner)
{
  const CfVideo *video = &oracle->source->video;
  const CfBlockavgParams *params = oracle->params;
  Grid grid = {0, 0, params->block_width, params->block_height};
  int side = video->width < video->height ? video->width : video->height;

  if (owner >= 0) {
    const CfRegion *region = &oracle->regions->region[owner];

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

/* Samples that share the block of sample `at`. */
static void find_edges(int at, int size, int subsampling, int origin, int block_size, int edges[2])
{
  const double block = floor((double)((at << subsampling) - origin) / block_size);

  for (edges[0] = at; edges[0] > 0 && floor((double)(((edges[0] - 1) << subsampling) - origin) /
                                            block_size) == block;)
    edges[0]--;
  for (edges[1] = at + 1; edges[1] < size && floor((double)((edges[1] << subsampling) - origin) /
                                                   block_size) == block;)
    edges[1]++;
}

static int block_code(const Oracle *oracle, const int x[2], const int y[2], int channel,
                      bool single)
{
  const CfTestPicture *source = oracle->source;
  const CfFormatInfo *format = cf_format_info(source->video.format);
  const CfPlaneFormat *info = &format->plane[oracle->plane];
  const int alpha = cf_alpha_channel(info);
  int least = INT_MAX, most = 0;
  uint64_t sum = 0, weight = 0;

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

/* The colour of the block of a sample, found once for neighbours. */
typedef struct {
  bool known;
  int x[2], y[2], codes[CF_MAX_CHANNELS];
} Block;

static void find_block(const Oracle *oracle, Block *block, const Grid *grid, int x, int y)
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

static int mixed_code(const Oracle *oracle, const Block *block, int x, int y, int channel,
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

/* Whether a pixel is what this owner and this coverage make of it. */
static bool is_mixed(const Oracle *oracle, const CfTestPicture *got, const Block *block, int x,
                     int y, int coverage)
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

/* Whether owner `b` would go before `a` if they covered alike. */
static bool goes_before(const CfRegions *regions, int b, int a)
{
  const CfRegion *one = &regions->region[a], *other = &regions->region[b];
  const int side = one->width < one->height ? one->width : one->height;
  const int other_side = other->width < other->height ? other->width : other->height;

  return other_side > side || (other_side == side && b < a);
}

/* What each region alone would cover, and what they cover together. */
static Range cover_all(const Oracle *oracle, Range *each, int x, int y)
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

/* Whether a sample may belong to a region: none that goes before it covers it as much. */
static bool may_own(const CfRegions *regions, const Range *each, Range all, int owner)
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

static bool is_right(const Oracle *oracle, const CfTestPicture *got, Block *blocks, Range *each,
                     bool single, int x, int y)
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
    if ((all.least > 0 && is_mixed(oracle, got, &blocks[owner], x, y, all.least)) ||
        is_mixed(oracle, got, &blocks[owner], x, y, all.most))
      return true;
  }
  return false;
}

static bool judge(CfTest *test, const CfTestPicture *source, const CfTestPicture *got,
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

/* ---- Helpers ---- */

static int between(CfTest *test, int least, int most)
{
  return least + cf_random_below(&test->random, most - least + 1);
}

static CfTestPicture *new_source(CfTest *test, CfFormat format, int width, int height)
{
  const CfVideo video = cf_video(format, width, height);
  CfTestPicture *source = cf_picture_new(&video, (CfLayout)between(test, 0, CF_LAYOUT_COUNT - 1));

  cf_picture_fill(source, CF_PATTERN_NOISE, CF_ALPHA_RANDOM, cf_random(&test->random));
  return source;
}

/* Bits below code values, which must stay where nothing is covered. */
static void set_low_bits(CfTestPicture *picture)
{
  const CfFormatInfo *format = cf_format_info(picture->video.format);

  for (int p = 0; format->shift && p < format->planes; p++) {
    for (int y = 0; y < cf_plane_height(&picture->video, p); y++)
      picture->planes.data[p][y * picture->planes.stride[p]] |= 0x15;
  }
}

static void random_regions(CfTest *test, CfRegion *regions, int count, const CfVideo *video)
{
  for (int i = 0; i < count; i++) {
    const int width = between(test, 1, video->width), height = between(test, 1, video->height);

    regions[i] = (CfRegion){between(test, -width, video->width + 4),
                            between(test, -height, video->height + 4), width, height};
  }
}

/* Runs into another picture and in place. */
static bool check(CfTest *test, const CfTestPicture *source, const CfRegions *regions,
                  const CfBlockavgParams *params, int threads)
{
  const CfLayout layout = (CfLayout)between(test, 0, CF_LAYOUT_COUNT - 1);
  CfRig *rig = cf_rig_open(test, test->engine, &source->video, params, threads);
  CfTestPicture *got = cf_picture_new(&source->video, layout);
  bool good = rig;

  cf_test_context(test,
                  "%s %dx%d, %d regions (the first %d,%d %dx%d), shape %d, feather %g, outside %d, "
                  "blocks %dx%d, mode %d, anchor %d, across %d",
                  cf_format_info(source->video.format)->name, source->video.width,
                  source->video.height, regions->count, regions->count ? regions->region[0].x : 0,
                  regions->count ? regions->region[0].y : 0,
                  regions->count ? regions->region[0].width : 0,
                  regions->count ? regions->region[0].height : 0, regions->shape, regions->feather,
                  regions->outside, params->block_width, params->block_height, params->mode,
                  params->anchor, params->blocks_across);
  if (good) {
    cf_rig_set_regions(rig, regions);
    good = cf_rig_run(rig, source, got) && judge(test, source, got, regions, params);
  }
  cf_picture_free(got);
  got = cf_picture_copy(source, layout);
  good = good && cf_rig_run(rig, NULL, got) && judge(test, source, got, regions, params);
  cf_picture_free(got);
  cf_rig_close(rig);
  return good;
}

/* ---- Cases ---- */

static void covers_what_it_should(CfTest *test)
{
  static const CfSize sizes[] = {{1, 1}, {3, 2}, {17, 33}, {67, 45}, {66, 31}, {131, 9}};
  static const double feathers[] = {0.0, 0.0, 0.7, 1.0, 3.0, 9.5};

  for (int trial = 0; trial < 36; trial++) {
    const CfSize size = sizes[trial % 6];
    CfRegion list[6];
    CfRegions regions = {.region = list,
                         .count = between(test, 0, 6),
                         .shape = between(test, 0, 1),
                         .feather = feathers[between(test, 0, 5)],
                         .outside = between(test, 0, 2) == 0};
    const CfBlockavgParams params = {between(test, 1, 20), between(test, 1, 20),
                                     between(test, 0, 2), between(test, 0, 1),
                                     between(test, 0, 1) ? between(test, 1, 9) : 0};
    CfTestPicture *source = new_source(test, test->format, size.width, size.height);

    set_low_bits(source);
    random_regions(test, list, 6, &source->video);
    if (trial % 5 == 0)
      list[1] = list[0];
    check(test, source, &regions, &params, 1 + trial % 3);
    cf_picture_free(source);
  }
}

/* Wider than what engines look at in one go. */
static void wide_pictures(CfTest *test)
{
  CfRegion list[3] = {{-50, 1, 1090, 2}, {1000, -2, 60, 30}, {2030, 0, 17, 9}};
  CfRegions regions = {.region = list, .count = 3, .feather = 2.5};
  CfTestPicture *source = new_source(test, test->format, 2111, 6);

  for (int outside = 0; outside < 2; outside++) {
    regions.outside = outside;
    check(test, source, &regions, &(CfBlockavgParams){7, 3, CF_BLOCKAVG_AVERAGE, 0, 0}, 2);
    check(test, source, &regions, &(CfBlockavgParams){7, 3, CF_BLOCKAVG_AVERAGE, 1, 0}, 1);
  }
  cf_picture_free(source);
}

static void hundreds_of_regions(CfTest *test)
{
  CfRegion list[300];
  CfRegions regions = {.region = list, .count = 300};
  CfTestPicture *source = new_source(test, CF_FORMAT_NV12, 160, 90);

  for (int i = 0; i < 300; i++)
    list[i] = (CfRegion){between(test, -10, 170), between(test, -10, 100), between(test, 1, 12),
                         between(test, 1, 12)};
  for (int anchor = 0; anchor < 2; anchor++) {
    regions.shape = anchor;
    check(test, source, &regions, &(CfBlockavgParams){4, 4, CF_BLOCKAVG_AVERAGE, anchor, 0}, 2);
    check(test, source, &regions, &(CfBlockavgParams){4, 4, CF_BLOCKAVG_AVERAGE, anchor, 3}, 2);
  }
  cf_picture_free(source);
}

/* One state, frame after frame: nothing of an earlier list or of earlier parameters is left. */
static void lists_change(CfTest *test)
{
  CfRegion list[150];
  CfRegions regions = {.region = list};
  CfBlockavgParams params = {5, 4, CF_BLOCKAVG_AVERAGE, 0, 0};
  CfTestPicture *source = new_source(test, CF_FORMAT_I420, 90, 70);
  CfTestPicture *got = cf_picture_new(&source->video, CF_LAYOUT_TIGHT);
  CfRig *rig = cf_rig_open(test, test->engine, &source->video, &params, 2);

  random_regions(test, list, 150, &source->video);
  for (int frame = 0; rig && frame < 24; frame++) {
    static const int counts[] = {1, 1, 3, 0, 150, 150, 2, 30};

    regions.count = counts[frame % 8];
    regions.outside = frame % 7 == 6;
    regions.shape = frame / 8 == 1;
    regions.feather = frame / 8 == 2 && frame % 3 == 0 ? 2.0 : 0.0;
    if (frame % 2)
      list[0].x += 3;
    if (frame % 5 == 4) {
      params.anchor = !params.anchor;
      params.block_width += 2;
      cf_rig_update(rig, &params);
    }
    cf_test_context(test, "frame %d", frame);
    cf_rig_set_regions(rig, &regions);
    if (!cf_rig_run(rig, source, got) || !judge(test, source, got, &regions, &params))
      break;
  }
  cf_rig_close(rig);
  cf_picture_free(source);
  cf_picture_free(got);
}

/* As a broken detector may send them. */
static void absurd_regions(CfTest *test)
{
  static const CfRegion list[] = {{INT_MAX, INT_MAX, INT_MAX, INT_MAX},
                                  {INT_MIN, INT_MIN, 5, 5},
                                  {INT_MIN, 4, INT_MAX, 3},
                                  {3, 3, 0, 9},
                                  {3, 3, 9, -4},
                                  {8, 7, 4, 3},
                                  {-2000000, 20, 4000000, 2}};
  CfTestPicture *source = new_source(test, CF_FORMAT_RGBA, 40, 30);

  for (int outside = 0; outside < 2; outside++) {
    const CfRegions regions = {
        .region = list, .count = 7, .feather = 256.0 * outside, .outside = outside};
    check(test, source, &regions, &(CfBlockavgParams){4, 4, CF_BLOCKAVG_AVERAGE, 0, 0}, 1);
  }
  check(test, source, &(CfRegions){.region = list, .count = 7},
        &(CfBlockavgParams){4, 4, CF_BLOCKAVG_AVERAGE, 1, 4}, 1);
  cf_picture_free(source);
}

/* Every byte that no region covers, said without the oracle. */
static void bytes_outside_stay(CfTest *test)
{
  const CfRegion list[] = {{10, 7, 13, 9}, {40, 20, 12, 12}};
  const CfRegions regions = {.region = list, .count = 2};
  const CfFormatInfo *format = cf_format_info(test->format);
  CfTestPicture *source = new_source(test, test->format, 64, 48), *got;
  const CfBlockavgParams params = {16, 16, CF_BLOCKAVG_AVERAGE, 0, 0};
  CfRig *rig = cf_rig_open(test, test->engine, &source->video, &params, 1);
  long changed = 0;

  set_low_bits(source);
  got = cf_picture_copy(source, CF_LAYOUT_PADDED);
  if (rig) {
    cf_rig_set_regions(rig, &regions);
    cf_rig_run(rig, NULL, got);
  }
  for (int p = 0; rig && p < format->planes; p++) {
    const int sx = format->plane[p].subsampling_x, sy = format->plane[p].subsampling_y;

    for (int y = 0; y < cf_plane_height(&got->video, p); y++) {
      for (int x = 0; x < cf_plane_width(&got->video, p); x++) {
        bool inside = false, same = true;

        for (int i = 0; i < 2; i++)
          inside |= x >= list[i].x >> sx && x <= (list[i].x + list[i].width - 1) >> sx &&
                    y >= list[i].y >> sy && y <= (list[i].y + list[i].height - 1) >> sy;
        for (int k = 0; k < format->plane[p].channels; k++)
          same &= cf_picture_raw(got, p, x, y, k) == cf_picture_raw(source, p, x, y, k);
        CF_EXPECT(test, inside || same, "plane %d x %d y %d changed", p, x, y);
        changed += !same;
      }
    }
  }
  CF_EXPECT(test, changed > 200, "only %ld samples changed", changed);
  cf_picture_free(source);
  cf_picture_free(got);
  cf_rig_close(rig);
}

/* Without regions blocks-across counts across the frame. */
static void blocks_across_the_frame(CfTest *test)
{
  static const CfRegion frame = {0, 0, 50, 37};
  const CfRegions regions = {.region = &frame, .count = 1};
  CfTestPicture *source = new_source(test, CF_FORMAT_I420, 50, 37);
  CfTestPicture *got = cf_picture_new(&source->video, CF_LAYOUT_TIGHT);

  for (int across = 1; across < 45; across += 7) {
    const CfBlockavgParams params = {1, 1, CF_BLOCKAVG_AVERAGE, 0, across};
    if (cf_test_filter(test, test->engine, &params, 1, source, got))
      judge(test, source, got, &regions, &params);
  }
  cf_picture_free(source);
  cf_picture_free(got);
}

static void texts_are_parsed(CfTest *test)
{
  static const struct {
    const char *text;
    int count;
  } rows[] = {{"", 0},
              {"  ", 0},
              {"1,2,3,4", 1},
              {"1,2,3,4;", 1},
              {"1,2,3,4; 5,6,7,8", 2},
              {" -1 , -2 , 3 , 4 ", 1},
              {"1,2,3", -1},
              {"1,2,3,4,5", -1},
              {"1,2,0,4", -1},
              {"1,2,3,-4", -1},
              {"a,b,c,d", -1},
              {"1.5,2,3,4", -1},
              {";", -1},
              {"1,2,3,4;;", -1},
              {"1,2,99999999999,4", -1},
              {"1,2,3,4 5,6,7,8", -1},
              {"1,1,1,1;2,2,2,2;3,3,3,3;4,4,4,4", -1}};
  CfRegion regions[3];

  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    CfStatus status = {CF_OK, ""};
    const int count = cf_regions_parse(rows[i].text, regions, 3, &status);

    CF_EXPECT(test, count == rows[i].count, "\"%s\" gives %d", rows[i].text, count);
    CF_EXPECT(test, (count < 0) == (status.code == CF_ERROR_INVALID), "\"%s\": status %d",
              rows[i].text, status.code);
  }
  cf_regions_parse("7,-8,9,10", regions, 3, NULL);
  CF_EXPECT(test,
            regions[0].x == 7 && regions[0].y == -8 && regions[0].width == 9 &&
                regions[0].height == 10,
            "wrong numbers");
}

/* A field has half the rows of its frame: sides are compared as they are seen. */
static void fields_count_rows_twice(CfTest *test)
{
  const CfRegion region = {0, 0, 40, 30};

  CF_EXPECT(test, cf_region_side(&(CfRegions){.field = false}, &region) == 30, "frame");
  CF_EXPECT(test, cf_region_side(&(CfRegions){.field = true}, &region) == 40, "field");
}

static const CfTestCase cases[] = {
    {"covers-what-it-should", covers_what_it_should, CF_EACH_ENGINE | CF_EACH_FORMAT},
    {"bytes-outside-stay", bytes_outside_stay, CF_EACH_ENGINE | CF_EACH_FORMAT},
    {"wide-pictures", wide_pictures, CF_EACH_ENGINE | CF_EACH_FORMAT},
    {"hundreds-of-regions", hundreds_of_regions, CF_EACH_ENGINE},
    {"lists-change", lists_change, CF_EACH_ENGINE},
    {"absurd-regions", absurd_regions, CF_EACH_ENGINE},
    {"blocks-across-the-frame", blocks_across_the_frame, CF_EACH_ENGINE},
    {"texts-are-parsed", texts_are_parsed, CF_ONCE},
    {"fields-count-rows-twice", fields_count_rows_twice, CF_ONCE},
    {0},
};
static const CfTestSuite suite = {&cf_blockavg, cases};

int main(int argc, char **argv)
{
  return cf_test_main(&suite, argc, argv);
}
