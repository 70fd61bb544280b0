/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * plan/coverage.h and coverage_frame.h, except for the coverage of samples: texts, sizes, shares of
 * a picture, cells.
 */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "blockavg.h"
#include "plan/coverage_frame.h"
#include "harness.h"

static int between(CfTest *test, int least, int most)
{
  return least + cf_random_below(&test->random, most - least + 1);
}

static double counted_share(const CfVideo *video, const CfRegions *regions)
{
  uint16_t coverage[CF_COVERAGE_SAMPLES];
  CfCoverage frame = {0};
  double sum = 0.0;

  cf_coverage_set(&frame, video, regions, NULL);

  for (int y = 0; y < video->height; y++) {
    if (!cf_coverage_row(&frame, 0, y, 0, video->width, coverage, NULL))
      continue;
    for (int x = 0; x < video->width; x++)
      sum += coverage[x];
  }
  cf_coverage_clear(&frame);
  return sum / CF_COVERED / ((double)video->width * video->height);
}

/* The share computed from outlines equals the share counted over pixels. */
static void shares_are_counted(CfTest *test)
{
  const CfVideo video = cf_video(CF_FORMAT_GRAY8, 320, 200);
  CfRegion list[300];
  CfOutline scratch[300];

  for (int trial = 0; trial < 300; trial++) {
    const CfRegions regions = {.region = list,
                               .count = trial == 0    ? 0
                                        : trial == 99 ? 300
                                                      : between(test, 1, 12),
                               .shape = trial / 2 % 2,
                               .feather =
                                   trial % 5 == 4 && trial != 99 ? between(test, 1, 100) : 0.0,
                               .outside = trial % 2};
    const bool ellipses = regions.shape == CF_REGION_ELLIPSE;
    const double bound = ellipses ? 0.03 : regions.feather > 0.0 ? 0.01 : 1e-12;
    /* Ellipses that are narrow beside a wide feather come less close. */
    const int least = ellipses && regions.feather > 20.0 ? 30 : 1;

    for (int i = 0; i < regions.count; i++)
      list[i] =
          (CfRegion){between(test, -60, 320), between(test, -60, 200),
                     between(test, least, regions.count > 20 ? 20 : 90), between(test, least, 90)};
    if (trial % 7 == 6)
      list[0] = (CfRegion){INT_MIN, 20, INT_MAX, 30};
    if (trial % 7 == 5)
      list[0] = (CfRegion){-100, -100, INT_MAX, INT_MAX};

    const double want = counted_share(&video, &regions);
    const double got = cf_coverage_share(&video, &regions, scratch);
    CF_EXPECT(test, fabs(got - want) <= bound,
              "trial %d: %d regions, shape %d, feather %g, outside %d: %.4f, counted %.4f", trial,
              regions.count, regions.shape, regions.feather, regions.outside, got, want);
  }
}

/* A frame leaves nothing behind for the next, of whatever size, and memory is bounded by the
 * largest. */
static void frames_follow_each_other(CfTest *test)
{
  enum { MOST = 200, WIDTH = 300 };
  CfCoverage kept = {0};
  CfRegion list[MOST];
  size_t most_bytes = 0;

  for (int trial = 0; trial < 200; trial++) {
    const CfFormat format = trial % 2 ? CF_FORMAT_NV12 : CF_FORMAT_GRAY8;
    const CfVideo video = cf_video(format, between(test, 1, WIDTH), between(test, 1, 200));
    const CfRegions regions = {.region = list,
                               .count = trial % 9 == 8 ? 0 : between(test, 1, MOST),
                               .shape = trial / 2 % 2,
                               .feather = trial % 5 == 4 ? between(test, 1, 20) : 0.0,
                               .outside = trial % 7 == 6};
    CfCoverage fresh = {0};

    for (int i = 0; i < regions.count; i++)
      list[i] = (CfRegion){between(test, -60, 320), between(test, -60, 200), between(test, 1, 90),
                           between(test, 1, 90)};
    CF_EXPECT(test,
              cf_coverage_set(&kept, &video, &regions, NULL) &&
                  cf_coverage_set(&fresh, &video, &regions, NULL),
              "no memory");
    most_bytes = fresh.bytes > most_bytes ? fresh.bytes : most_bytes;
    CF_EXPECT(test, kept.bytes == most_bytes, "trial %d: %zu bytes, needed are %zu", trial,
              kept.bytes, most_bytes);
    for (int y = 0; y < cf_plane_height(&video, trial % 2); y++) {
      uint16_t one[WIDTH] = {0}, other[WIDTH] = {0};
      int owner[WIDTH] = {0}, other_owner[WIDTH] = {0};
      const int width = cf_plane_width(&video, trial % 2);
      const bool any = cf_coverage_row(&kept, trial % 2, y, 0, width, one, owner);

      CF_EXPECT(test,
                any == cf_coverage_row(&fresh, trial % 2, y, 0, width, other, other_owner) &&
                    memcmp(one, other, sizeof one) == 0,
                "trial %d: row %d is covered otherwise", trial, y);
      for (int x = 0; any && !regions.outside && x < width; x++)
        CF_EXPECT(test, !one[x] || owner[x] == other_owner[x], "trial %d: owners", trial);
    }
    cf_coverage_clear(&fresh);
  }
  cf_coverage_clear(&kept);
}

/* Stretches follow each other and miss no covered sample, and those of a small region are short:
 * areas far from regions cost no time. */
static void stretches_are_near_regions(CfTest *test)
{
  enum { WIDTH = 3000, HEIGHT = 70, NEAR = 64 };

  for (int trial = 0; trial < 60; trial++) {
    const int plane = trial % 2;
    const CfVideo video = cf_video(CF_FORMAT_NV12, WIDTH, HEIGHT);
    const CfRegion region = {between(test, -30, WIDTH), between(test, -9, HEIGHT - 1), 20, 20};
    const CfRegions regions = {.region = &region,
                               .count = 1,
                               .shape = trial / 2 % 2,
                               .feather = trial % 3 ? 0.0 : 5.0,
                               .outside = trial % 5 == 4};
    const int first = plane ? 7 : 11, end = cf_plane_width(&video, plane) - 1;
    CfCoverage frame = {0};

    CF_EXPECT(test, cf_coverage_set(&frame, &video, &regions, NULL), "no memory");
    for (int y = 0; y < cf_plane_height(&video, plane); y++) {
      int near = 0;

      for (int x = first, next; x < end; x = next) {
        uint16_t coverage[CF_COVERAGE_SAMPLES];
        bool close;

        next = cf_coverage_stretch(&frame, plane, y, x, end, &close);
        CF_EXPECT(test, next > x && next <= end && next - x <= CF_COVERAGE_SAMPLES,
                  "trial %d: %d to %d", trial, x, next);
        CF_EXPECT(test, close || !cf_coverage_row(&frame, plane, y, x, next - x, coverage, NULL),
                  "trial %d: row %d is covered from %d to %d", trial, y, x, next);
        near += close ? next - x : 0;
      }
      CF_EXPECT(test, regions.outside ? near == end - first : near <= 2 * NEAR,
                "trial %d: row %d has %d samples near", trial, y, near);
    }
    cf_coverage_clear(&frame);
  }
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
              {"1,2,3,4; ", 1},
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

/* An ellipse that is cut covers more than the true one, and so must not leave out what that would.
 */
static void cut_ellipses_cover_more(CfTest *test)
{
  const CfVideo video = cf_video(CF_FORMAT_GRAY8, 64, 48);
  const CfRegion region = {INT_MIN, -10, INT_MAX, 100};
  CfRegions regions = {.region = &region, .count = 1, .shape = CF_REGION_ELLIPSE};
  CfShape shape;

  CF_EXPECT(test, cf_shape_make(&shape, &video, &regions, &region), "inside");
  regions.outside = true;
  CF_EXPECT(test, !cf_shape_make(&shape, &video, &regions, &region), "outside");
  regions.shape = CF_REGION_RECTANGLE;
  CF_EXPECT(test, cf_shape_make(&shape, &video, &regions, &region), "a rectangle outside");
}

/* A field has half the rows of its frame: sides are compared as they are displayed. */
static void fields_count_rows_twice(CfTest *test)
{
  const CfRegion region = {0, 0, 40, 30};
  const CfRegions regions = {.region = &region, .count = 1};
  CfVideo video = cf_video(CF_FORMAT_GRAY8, 64, 48);

  CF_EXPECT(test, cf_region_side(&video, &regions, &region) == 30, "region of a frame");
  CF_EXPECT(test, cf_picture_side(&video) == 48, "frame");
  video.field = true;
  CF_EXPECT(test, cf_region_side(&video, &regions, &region) == 40, "region of a field");
  CF_EXPECT(test, cf_picture_side(&video) == 64, "field");
}

static const CfTestCase cases[] = {
    {"shares-are-counted", shares_are_counted, CF_ONCE},
    {"frames-follow-each-other", frames_follow_each_other, CF_ONCE},
    {"stretches-are-near-regions", stretches_are_near_regions, CF_ONCE},
    {"texts-are-parsed", texts_are_parsed, CF_ONCE},
    {"cut-ellipses-cover-more", cut_ellipses_cover_more, CF_ONCE},
    {"fields-count-rows-twice", fields_count_rows_twice, CF_ONCE},
    {0},
};
static const CfTestSuite suite = {&cf_blockavg, cases};

int main(int argc, char **argv)
{
  return cf_test_main(&suite, argc, argv);
}
