/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Regions, tested with the block average: what they cover, what covered samples become, and that
 * nothing else changes.
 */
#include <limits.h>
#include <time.h>

#include "blockavg.h"
#include "plan/coverage_frame.h"
#include "harness.h"
#include "naive_regions.h"

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

/* Sets bits below the codes, which must stay where nothing is covered. */
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

/* Filters into another picture and in place. */
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
    const CfBlockavgParams params = {between(test, 1, 20),
                                     between(test, 1, 20),
                                     between(test, 0, 3),
                                     between(test, 0, 1),
                                     between(test, 0, 1) ? between(test, 1, 9) : 0,
                                     (uint32_t)cf_random(&test->random)};
    CfTestPicture *source = new_source(test, test->format, size.width, size.height);

    set_low_bits(source);
    random_regions(test, list, 6, &source->video);
    if (trial % 5 == 0)
      list[1] = list[0];
    check(test, source, &regions, &params, 1 + trial % 3);
    cf_picture_free(source);
  }
}

/* Wider than the pieces that engines look at. */
static void wide_pictures(CfTest *test)
{
  CfRegion list[3] = {{-50, 1, 1090, 2}, {1000, -2, 60, 30}, {2030, 0, 17, 9}};
  CfRegions regions = {.region = list, .count = 3, .feather = 2.5};
  CfTestPicture *source = new_source(test, test->format, 2111, 6);

  for (int outside = 0; outside < 2; outside++) {
    regions.outside = outside;
    check(test, source, &regions, &(CfBlockavgParams){7, 3, CF_BLOCKAVG_AVERAGE, 0, 0, 0}, 2);
    check(test, source, &regions, &(CfBlockavgParams){7, 3, CF_BLOCKAVG_AVERAGE, 1, 0, 0}, 1);
  }
  cf_picture_free(source);
}

/* Tall enough that lists of rows to fill end at the end of their memory. */
static void tall_fills(CfTest *test)
{
  static const CfRegion all = {0, 0, 8, 2048};
  const CfRegions regions = {.region = &all, .count = 1, .feather = 1.0};

  for (int height = 1024; height <= 2048; height *= 2) {
    CfTestPicture *source = new_source(test, test->format, 8, height);

    check(test, source, &regions, &(CfBlockavgParams){1, 1, CF_BLOCKAVG_FILL, 0, 0, 0x8040c020}, 2);
    cf_picture_free(source);
  }
}

/* Rows at multiples of 16 bytes, for which engines may have kernels of their own, and other rows
 * where a list of regions is used again. */
static void lists_for_aligned_pictures(CfTest *test)
{
  static const CfSize sizes[] = {{96, 60}, {80, 46}, {99, 31}};
  static const CfSize blocks[] = {{16, 16}, {32, 8}, {7, 5}, {1, 3}, {61, 40}, {150, 150}};
  CfRegion list[60];

  for (int trial = 0; trial < 14; trial++) {
    const CfSize size = sizes[trial % 3], block = blocks[trial % 6];
    const CfBlockavgParams params = {block.width,         block.height,
                                     between(test, 0, 3), trial / 6 % 2,
                                     trial == 11 ? 3 : 0, (uint32_t)cf_random(&test->random)};
    const CfRegions regions = {.region = list,
                               .count = trial > 11       ? 2
                                        : trial % 6 == 0 ? 60
                                                         : 14,
                               .shape = trial > 11,
                               .feather = trial == 13 ? 2.5 : 0.0};
    CfTestPicture *source = new_source(test, test->format, size.width, size.height);
    CfRig *rig = cf_rig_open(test, test->engine, &source->video, &params, 2);

    for (int i = 0; i < regions.count; i++) {
      const int most = regions.count > 14 ? 12 : 40;
      list[i] = (CfRegion){between(test, -9, size.width), between(test, -9, size.height),
                           between(test, 1, most), between(test, 1, most)};
    }
    if (trial > 11) { /* far from each other */
      list[0] = (CfRegion){-3, 7, 37, 29};
      list[1] = (CfRegion){size.width - 40, 5, 31, 30};
    }
    for (int frame = 0; rig && frame < 2; frame++) {
      CfTestPicture *got = cf_picture_copy(source, CF_LAYOUT_ALIGNED);

      cf_test_context(test, "trial %d, frame %d", trial, frame);
      cf_rig_set_regions(rig, &regions);
      if (cf_rig_run(rig, NULL, got))
        judge(test, source, got, &regions, &params);
      cf_picture_free(got);
    }
    cf_rig_close(rig);
    cf_picture_free(source);
  }
}

/* In half of the trials most of them meet everywhere. */
static void hundreds_of_regions(CfTest *test)
{
  static const CfFormat formats[] = {CF_FORMAT_NV12, CF_FORMAT_RGBA};
  static const int modes[] = {CF_BLOCKAVG_MIN, CF_BLOCKAVG_MAX, CF_BLOCKAVG_FILL,
                              CF_BLOCKAVG_AVERAGE};
  CfRegion list[600];

  for (int trial = 0; trial < 24; trial++) {
    const CfRegions regions = {
        .region = list, .count = 600, .shape = trial % 2, .outside = trial >= 22};
    const CfBlockavgParams params = {
        4, 4, trial < 16 ? CF_BLOCKAVG_AVERAGE : modes[trial / 2 % 4], trial / 2 % 2, trial % 3, 0};
    const int most = trial / 4 % 2 ? 50 : 8;
    CfTestPicture *source = new_source(test, formats[trial / 8 % 2], 96, 60);
    CfTestPicture *got = cf_picture_copy(source, CF_LAYOUT_ALIGNED);
    CfRig *rig = cf_rig_open(test, test->engine, &source->video, &params, 2);

    for (int i = 0; i < regions.count; i++)
      list[i] = (CfRegion){between(test, -10, 106 - most), between(test, -10, 70 - most),
                           between(test, 1, most), between(test, 1, most)};
    cf_test_context(test, "trial %d", trial);
    cf_rig_set_regions(rig, &regions);
    if (rig && cf_rig_run(rig, NULL, got))
      judge(test, source, got, &regions, &params);
    cf_rig_close(rig);
    cf_picture_free(got);
    cf_picture_free(source);
  }
}

/* One state, frame after frame: nothing is left of earlier lists or parameters. */
static void lists_change(CfTest *test)
{
  CfRegion list[150];
  CfRegions regions = {.region = list};
  CfBlockavgParams params = {5, 4, CF_BLOCKAVG_AVERAGE, 0, 0, 0};
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

/* Regions as a broken detector may send them. */
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
    check(test, source, &regions, &(CfBlockavgParams){4, 4, CF_BLOCKAVG_AVERAGE, 0, 0, 0}, 1);
  }
  check(test, source, &(CfRegions){.region = list, .count = 7},
        &(CfBlockavgParams){4, 4, CF_BLOCKAVG_AVERAGE, 1, 4, 0}, 1);
  cf_picture_free(source);
}

static const int extremes[] = {INT_MIN,
                               INT_MIN + 1,
                               -(1 << 30),
                               -(1 << 29) - 1,
                               -(1 << 29),
                               -(1 << 22),
                               -(1 << 21) - 1,
                               -70000,
                               -9,
                               0,
                               7,
                               30,
                               70000,
                               (1 << 21) + 1,
                               1 << 28,
                               (1 << 29) - 1,
                               1 << 29,
                               (1 << 29) + 1,
                               1 << 30,
                               INT_MAX};

#define ANY(list) ((list)[cf_random_below(&test->random, sizeof(list) / sizeof((list)[0]))])

/* An edge at a random position, and one beyond it at a distance of any magnitude. */
static void random_extent(CfTest *test, bool near, int *start, int *length)
{
  do {
    int64_t from = (int64_t)ANY(extremes) + between(test, 0, 20) * (between(test, 0, 1) ? 1 : 0);

    *length = between(test, 0, 3) ? ANY(extremes) : between(test, 1, 40);
    if (near && between(test, 0, 1)) /* the far edge crosses the picture */
      from = between(test, 1, 40) - (int64_t)*length;
    *start = (int)(from < INT_MAX ? from : INT_MAX);
  } while (*length <= 0 || (near && (*start < -(1 << 29) || (int64_t)*start + *length > 1 << 29)));
}

/* Edges of any magnitude: nothing is covered less than it should be. Where blocks start with their
 * region, its coordinates stay within the documented limits. */
static void extreme_regions(CfTest *test)
{
  for (int trial = 0; trial < 120; trial++) {
    const CfSize size = trial % 3 ? (CfSize){37, 29} : (CfSize){64, 48};
    const bool anchored = trial % 4 == 3;
    CfRegion list[2];
    const CfRegions regions = {.region = list,
                               .count = 1 + trial % 2,
                               .shape = between(test, 0, 1),
                               .feather = between(test, 0, 2) ? 0.0 : 5.5,
                               .outside = between(test, 0, 2) == 0};
    CfTestPicture *source =
        new_source(test, trial % 5 ? CF_FORMAT_GRAY8 : CF_FORMAT_I420, size.width, size.height);
    bool good;

    for (int i = 0; i < 2; i++) {
      random_extent(test, anchored, &list[i].x, &list[i].width);
      random_extent(test, anchored, &list[i].y, &list[i].height);
    }
    good = check(test, source, &regions,
                 &(CfBlockavgParams){4, 4, CF_BLOCKAVG_AVERAGE, anchored, anchored ? 5 : 0, 0}, 1);
    cf_picture_free(source);
    if (!good)
      break;
  }
}

/* Rows of an object: blocks follow the object, and rows only say what is covered. */
static void parts_of_objects(CfTest *test)
{
  for (int trial = 0; trial < 4; trial++) {
    CfRegion list[24], whole[24];
    const CfRegions regions = {.region = list,
                               .whole = whole,
                               .count = 24,
                               .feather = trial % 3 == 2 ? 2.5 : 0.0,
                               .outside = trial % 4 == 3};
    CfTestPicture *source = new_source(test, test->format, 96, 60);

    for (int i = 0; i < 24; i++) {
      whole[i] = i < 20 ? (CfRegion){11, -3, 50, 45} : (CfRegion){45, 20, 40, 38};
      list[i] = i < 20 ? (CfRegion){between(test, 11, 30), i - 3, between(test, 1, 30), 1}
                       : (CfRegion){45, 20 + i, 30, between(test, 1, 3)};
    }
    for (int anchor = 0; anchor < 2; anchor++) {
      check(test, source, &regions, &(CfBlockavgParams){7, 5, CF_BLOCKAVG_AVERAGE, anchor, 0, 0},
            2);
      check(test, source, &regions, &(CfBlockavgParams){7, 5, CF_BLOCKAVG_MAX, anchor, 4, 0}, 1);
    }
    cf_picture_free(source);
  }
}

/* One state, with lists that differ only in CfRegions.whole. */
static void objects_change(CfTest *test)
{
  const CfRegion part = {10, 10, 30, 2};
  CfRegion whole = part;
  CfRegions regions = {.region = &part, .count = 1};
  const CfBlockavgParams params = {1, 1, CF_BLOCKAVG_AVERAGE, CF_BLOCKAVG_REGION, 3, 0};
  CfTestPicture *source = new_source(test, CF_FORMAT_GRAY8, 64, 48);
  CfTestPicture *got = cf_picture_new(&source->video, CF_LAYOUT_ALIGNED);
  CfRig *rig = cf_rig_open(test, test->engine, &source->video, &params, 1);

  for (int frame = 0; rig && frame < 6; frame++) {
    cf_test_context(test, "frame %d", frame);
    whole.height = 10 + 5 * frame;
    regions.whole = frame % 3 == 2 ? NULL : &whole;
    cf_rig_set_regions(rig, &regions);
    if (!cf_rig_run(rig, source, got) || !judge(test, source, got, &regions, &params))
      break;
  }
  cf_rig_close(rig);
  cf_picture_free(source);
  cf_picture_free(got);
}

/* Every byte outside the regions stays, checked without the oracle. */
static void bytes_outside_stay(CfTest *test)
{
  const CfRegion list[] = {{10, 7, 13, 9}, {40, 20, 12, 12}};
  const CfRegions regions = {.region = list, .count = 2};
  const CfFormatInfo *format = cf_format_info(test->format);
  CfTestPicture *source = new_source(test, test->format, 64, 48), *got;
  const CfBlockavgParams params = {16, 16, CF_BLOCKAVG_AVERAGE, 0, 0, 0};
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

/* Without regions, blocks-across applies to the frame. */
static void blocks_across_the_frame(CfTest *test)
{
  static const CfRegion frame = {0, 0, 50, 37};
  const CfRegions regions = {.region = &frame, .count = 1};
  CfTestPicture *source = new_source(test, CF_FORMAT_I420, 50, 37);
  CfTestPicture *got = cf_picture_new(&source->video, CF_LAYOUT_TIGHT);

  for (int across = 1; across < 45; across += 7) {
    const CfBlockavgParams params = {1, 1, CF_BLOCKAVG_AVERAGE, 0, across, 0};
    if (cf_test_filter(test, test->engine, &params, 1, source, got))
      judge(test, source, got, &regions, &params);
  }
  cf_picture_free(source);
  cf_picture_free(got);
}

/* The coverage of one row of a picture with one plane. */
static void cover_row(const CfVideo *video, const CfRegions *regions, int y, uint16_t *coverage,
                      int *owner)
{
  CfCoverage frame = {0};

  cf_coverage_set(&frame, video, regions, NULL);
  cf_coverage_row(&frame, 0, y, 0, video->width, coverage, owner);
  cf_coverage_clear(&frame);
}

/* Regions of any size, processed together, cover what each covers alone, and the most covering one
 * owns. */
static void many_cover_as_each_alone(CfTest *test)
{
  static const double feathers[] = {0.0, 0.4, 2.0, 17.0, 90.0, 256.0};
  static const int spans[] = {900, 60, 60, 40000, 100000000};
  enum { WIDTH = 333, MOST = 300 };
  const CfVideo video = cf_video(CF_FORMAT_GRAY8, WIDTH, 200);

  for (int trial = 0; trial < 90; trial++) {
    const bool crowded = trial % 7 == 3; /* at the top left */
    CfRegion list[MOST];
    CfRegions regions = {.region = list,
                         .count = crowded ? MOST : between(test, 2, trial % 3 ? 12 : 150),
                         .shape = trial / 6 % 2,
                         .feather = feathers[trial % 6]};
    uint16_t coverage[WIDTH], alone[WIDTH], most[WIDTH] = {0}, unowned[WIDTH];
    int owner[WIDTH] = {0}, wanted[WIDTH] = {0}, nobody[WIDTH];
    const int y = between(test, 0, crowded ? 15 : 199), span = spans[trial / 6 % 5];

    for (int i = 0; i < regions.count; i++)
      list[i] = (CfRegion){between(test, -span, crowded ? 64 : WIDTH + span),
                           between(test, -span, crowded ? 16 : 200 + span), between(test, 1, span),
                           between(test, 1, span)};
    list[1] = list[0];
    cover_row(&video, &regions, y, coverage, owner);
    cover_row(&video, &regions, y, unowned, NULL);
    for (int i = 0; i < regions.count; i++) {
      CfRegions one = regions;

      one.region = &list[i];
      one.count = 1;
      cover_row(&video, &one, y, alone, nobody);
      for (int x = 0; x < WIDTH; x++) {
        const Range right = region_coverage(&one, &list[i], x, y);
        const bool longer = cf_region_side(&video, &regions, &list[i]) >
                            cf_region_side(&video, &regions, &list[wanted[x]]);

        CF_EXPECT(test, alone[x] >= right.least && alone[x] <= right.most,
                  "trial %d: region %d, %d,%d %dx%d, covers %d at %d,%d, not %d to %d", trial, i,
                  list[i].x, list[i].y, list[i].width, list[i].height, alone[x], x, y, right.least,
                  right.most);
        if (alone[x] > most[x] || (alone[x] > 0 && alone[x] == most[x] && longer))
          wanted[x] = i;
        most[x] = alone[x] > most[x] ? alone[x] : most[x];
      }
    }
    cf_test_context(test, "trial %d: %d regions, feather %g, row %d", trial, regions.count,
                    regions.feather, y);
    for (int x = 0; x < WIDTH; x++) {
      CF_EXPECT(test, coverage[x] == most[x] && unowned[x] == most[x], "%d and %d at %d, alone %d",
                coverage[x], unowned[x], x, most[x]);
      CF_EXPECT(test, !most[x] || owner[x] == wanted[x], "region %d owns %d, not %d", owner[x], x,
                wanted[x]);
    }
  }
}

/* Milliseconds of processor time for the coverage of a picture by `count` ellipses. */
static double coverage_cost(const CfVideo *video, const CfRegion *list, int count)
{
  const CfRegions regions = {
      .region = list, .count = count, .shape = CF_REGION_ELLIPSE, .feather = 256.0};
  uint16_t coverage[CF_COVERAGE_SAMPLES];
  int owner[CF_COVERAGE_SAMPLES];
  CfCoverage frame = {0};
  struct timespec from, to;

  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
  cf_coverage_set(&frame, video, &regions, NULL);
  for (int y = 0; y < video->height; y++)
    cf_coverage_row(&frame, 0, y, 0, video->width, coverage, owner);
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
  cf_coverage_clear(&frame);
  return (double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) * 1e-6;
}

/* With wide feathers not every pixel may test every region: forty times as many cost much less. */
static void many_wide_feathers_are_cheap(CfTest *test)
{
  enum { FEW = 5, MANY = 200 };
  const CfVideo video = cf_video(CF_FORMAT_GRAY8, 640, 360);
  CfRegion list[MANY];
  double few = INFINITY, many = INFINITY;

  for (int i = 0; i < MANY; i++)
    list[i] = (CfRegion){between(test, 0, 600), between(test, 0, 330), between(test, 20, 80),
                         between(test, 20, 80)};
  for (int i = 0; i < 7; i++) {
    few = fmin(few, coverage_cost(&video, list, FEW));
    many = fmin(many, coverage_cost(&video, list, MANY));
  }
  cf_test_context(test, "%d ellipses %.2f ms, %d %.2f ms", FEW, few, MANY, many);
  CF_EXPECT(test, many <= 20.0 * few, "%.1f times as long", many / few);
}

static const CfTestCase cases[] = {
    {"covers-what-it-should", covers_what_it_should, CF_EACH_ENGINE | CF_EACH_FORMAT},
    {"bytes-outside-stay", bytes_outside_stay, CF_EACH_ENGINE | CF_EACH_FORMAT},
    {"wide-pictures", wide_pictures, CF_EACH_ENGINE | CF_EACH_FORMAT},
    {"tall-fills", tall_fills, CF_EACH_ENGINE | CF_EACH_FORMAT},
    {"lists-for-aligned-pictures", lists_for_aligned_pictures, CF_EACH_ENGINE | CF_EACH_FORMAT},
    {"hundreds-of-regions", hundreds_of_regions, CF_EACH_ENGINE},
    {"lists-change", lists_change, CF_EACH_ENGINE},
    {"absurd-regions", absurd_regions, CF_EACH_ENGINE},
    {"extreme-regions", extreme_regions, CF_EACH_ENGINE},
    {"parts-of-objects", parts_of_objects, CF_EACH_ENGINE | CF_EACH_FORMAT},
    {"objects-change", objects_change, CF_EACH_ENGINE},
    {"blocks-across-the-frame", blocks_across_the_frame, CF_EACH_ENGINE},
    {"many-cover-as-each-alone", many_cover_as_each_alone, CF_ONCE},
    {"many-wide-feathers-are-cheap", many_wide_feathers_are_cheap, CF_ONCE},
    {0},
};
static const CfTestSuite suite = {&cf_blockavg, cases};

int main(int argc, char **argv)
{
  return cf_test_main(&suite, argc, argv);
}
