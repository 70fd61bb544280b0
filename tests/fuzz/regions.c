/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Fuzzes the text of the property `regions`, and coverage of what it says. An input's first bytes
 * are a picture's size, shape and feather; the text follows.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/coverage_frame.h"
#include "driver.h"

#define HEAD         5
#define MOST_REGIONS 16

const char *const fuzz_words[] = {",",          ";",          " ",
                                  "-",          "0",          "1",
                                  "8",          "2147483647", "-2147483648",
                                  "2147483648", "4294967295", "99999999999999999999",
                                  "1e3",        "0x10",       "10,20,30,40;",
                                  NULL};

/* What is written as text is read as it was. */
static void check_text(const CfRegion *regions, int count)
{
  char text[64 * MOST_REGIONS] = "";
  CfRegion again[MOST_REGIONS];
  CfStatus status = {CF_OK, ""};
  size_t used = 0;

  for (int i = 0; i < count; i++)
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%d,%d,%d,%d", i ? ";" : "",
                             regions[i].x, regions[i].y, regions[i].width, regions[i].height);
  FUZZ_REQUIRE(cf_regions_parse(text, again, MOST_REGIONS, &status) == count);
  FUZZ_REQUIRE(memcmp(again, regions, (size_t)count * sizeof *regions) == 0);
}

static void check_plane(const CfVideo *video, const CfRegions *regions, const CfCoverage *frame,
                        int plane)
{
  const CfRect bounds = cf_plane_rect(video, plane, cf_coverage_bounds(video, regions));
  const int width = cf_plane_width(video, plane);
  uint16_t coverage[CF_COVERAGE_SAMPLES];
  int owner[CF_COVERAGE_SAMPLES];

  for (int y = 0; y < cf_plane_height(video, plane); y++) {
    const bool said =
        cf_coverage_row(frame, plane, y, 0, width, coverage, regions->outside ? NULL : owner);

    for (int x = 0; said && x < width; x++) {
      const bool inside = x >= bounds.x0 && x < bounds.x1 && y >= bounds.y0 && y < bounds.y1;

      FUZZ_REQUIRE(coverage[x] <= CF_COVERED);
      FUZZ_REQUIRE(coverage[x] == 0 || inside);
      FUZZ_REQUIRE(coverage[x] == 0 || regions->outside ||
                   (owner[x] >= 0 && owner[x] < regions->count));
    }
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  CfRegion region[MOST_REGIONS];
  CfStatus status = {CF_OK, ""};
  char *text;
  int count;

  if (size < HEAD || !(text = malloc(size - HEAD + 1)))
    return 0;
  memcpy(text, data + HEAD, size - HEAD);
  text[size - HEAD] = '\0';
  count = cf_regions_parse(text, region, MOST_REGIONS, &status);
  FUZZ_REQUIRE(count <= MOST_REGIONS);
  FUZZ_REQUIRE(count >= 0 || (status.code == CF_ERROR_INVALID && status.message[0]));
  for (int i = 0; i < count; i++)
    FUZZ_REQUIRE(region[i].width >= 1 && region[i].height >= 1);
  if (count >= 0) {
    CfVideo video =
        cf_video((CfFormat)(data[0] % CF_FORMAT_COUNT), 1 + data[1] % 64, 1 + data[2] % 64);
    const CfRegions regions = {.region = region,
                               .count = count,
                               .shape = data[3] & 1,
                               .outside = data[3] & 2,
                               .feather = data[4]};

    video.field = data[3] & 4;
    check_text(region, count);
    CfCoverage frame = {0};
    FUZZ_REQUIRE(cf_coverage_set(&frame, &video, &regions, &status));
    for (int plane = 0; plane < cf_format_info(video.format)->planes; plane++)
      check_plane(&video, &regions, &frame, plane);
    cf_coverage_clear(&frame);
  }
  free(text);
  return 0;
}

static const char *const texts[] = {
    "",
    "10,20,30,40",
    "0,0,1,1;8,8,16,16",
    "-5,-5,10,10",
    " 1 , 2 , 3 , 4 ; 5,6,7,8 ;",
    "2147483647,2147483647,2147483647,2147483647",
    "-2147483648,-2147483648,2147483647,2147483647",
    "1,2,3",
    "1,2,3,0",
    "1,2,3,4;x",
};

size_t fuzz_example(int index, uint8_t *data)
{
  const int count = sizeof texts / sizeof texts[0];
  const uint8_t head[HEAD] = {(uint8_t)(index * 7), 31, 18, (uint8_t)index,
                              (uint8_t)(index % 3 * 9)};

  if (index >= 4 * count)
    return 0;
  memcpy(data, head, HEAD);
  memcpy(data + HEAD, texts[index % count], strlen(texts[index % count]));
  return HEAD + strlen(texts[index % count]);
}
