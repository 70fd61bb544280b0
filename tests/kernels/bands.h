/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Bands of rows, for engines with `halo`: a picture filtered band by band equals the picture
 * filtered at once; a band reads no row beyond its halo, and writes only its own rows.
 */
#pragma once

#include <string.h>

#include "harness.h"

typedef struct {
  int first, rows; /* luma */
} Band;

typedef struct {
  int first, end; /* of a plane */
} PlaneRows;

static inline PlaneRows band_plane_rows(const CfVideo *video, int plane, int first, int end)
{
  const int shift = cf_format_info(video->format)->plane[plane].subsampling_y;

  return (PlaneRows){first <= 0 ? 0 : (first + (1 << shift) - 1) >> shift,
                     end >= video->height ? cf_plane_height(video, plane) : end >> shift};
}

/* Copies luma rows first..end - 1, and the rows of other planes that belong to them. */
static inline void band_copy_rows(const CfTestPicture *to, const CfTestPicture *from, int first,
                                  int end)
{
  for (int p = 0; p < cf_format_info(to->video.format)->planes; p++) {
    const PlaneRows rows = band_plane_rows(&to->video, p, first, end);

    for (int y = rows.first; y < rows.end; y++)
      memcpy(to->planes.data[p] + y * to->planes.stride[p],
             from->planes.data[p] + y * from->planes.stride[p], cf_row_bytes(&to->video, p));
  }
}

/* Filters one band of `source` into a poisoned `destination`; rows of `source` beyond the halo are
 * poisoned too. */
static inline bool band_run(CfTest *test, CfFilter *filter, const CfMemory *memory, Band band,
                            const CfTestPicture *source, CfTestPicture *destination)
{
  const int halo = cf_filter_halo(filter), height = source->video.height;
  CfTestPicture *window = cf_picture_new(&source->video, source->layout);
  CfMirror from = {.memory = memory}, to = {.memory = memory};
  CfJob job = {.first_row = band.first, .rows = band.rows};
  CfStatus status = {CF_OK, "a transfer failed"};
  bool good = true;

  cf_picture_poison(window);
  cf_picture_poison(destination);
  band_copy_rows(window, source, halo < 0 ? 0 : band.first - halo,
                 halo < 0 ? height : band.first + band.rows + halo);
  if (memory)
    good = cf_mirror_init(&from, memory, window) && cf_mirror_upload(&from, window) &&
           cf_mirror_init(&to, memory, destination) && cf_mirror_upload(&to, destination);
  job.source = memory ? from.planes : window->planes;
  job.destination = memory ? to.planes : destination->planes;
  job.stream = memory ? memory->stream() : NULL;
  good = good && cf_filter_run(filter, &job, &status);
  if (memory) {
    good = memory->synchronize() && good && cf_mirror_download(&to, destination);
    cf_mirror_free(&from);
    cf_mirror_free(&to);
  }
  cf_picture_free(window);
  return CF_EXPECT(test, good, "a band does not run: %s", status.message);
}

static inline void expect_these_bands_equal_whole(CfTest *test, const void *params,
                                                  const CfTestPicture *source)
{
  const int height = source->video.height;
  CfStatus status = {CF_OK, ""};
  const CfMemory *memory = test->engine->device_memory ? cf_device_memory(&status) : NULL;
  const CfOpenOptions options = {.threads = 2, .device = memory ? memory->device() : NULL};
  CfTestPicture *whole = cf_picture_new(&source->video, source->layout);
  CfTestPicture *joined = cf_picture_new(&source->video, source->layout);
  CfTestPicture *part = cf_picture_new(&source->video, source->layout);
  CfTestPicture *poison = cf_picture_new(&source->video, source->layout);
  CfFilter *filter = cf_filter_open(test->engine, &source->video, params, &options, &status);
  bool good = CF_EXPECT(test, filter, "%s does not open: %s", test->engine->name, status.message) &&
              cf_test_filter(test, test->engine, params, 2, source, whole);

  cf_picture_poison(poison);
  for (int first = 0; good && first < height;) {
    const int wanted = 2 + 2 * cf_random_below(&test->random, height / 3 + 1);
    const Band band = {first, wanted < height - first ? wanted : height - first};

    good = band_run(test, filter, memory, band, source, part);
    band_copy_rows(joined, part, band.first, band.first + band.rows);
    band_copy_rows(part, poison, band.first, band.first + band.rows);
    good = good &&
           CF_EXPECT(test, cf_picture_hash(part) == cf_picture_hash(poison),
                     "rows %d..%d: others were written", band.first, band.first + band.rows - 1);
    first += band.rows;
  }
  if (good)
    cf_test_compare_exact(test, joined, whole);
  cf_filter_close(filter);
  cf_picture_free(whole);
  cf_picture_free(joined);
  cf_picture_free(part);
  cf_picture_free(poison);
}

/* Splits the picture into random bands, filters each alone and compares. The params have passed
 * their effect's check. */
static inline void expect_bands_equal_whole(CfTest *test, const void *params,
                                            const CfTestPicture *source)
{
  CfTestPicture *packed;

  if (test->handed == test->format) {
    expect_these_bands_equal_whole(test, params, source);
    return;
  }
  packed = cf_picture_packed(source, test->handed, source->layout);
  expect_these_bands_equal_whole(test, params, packed);
  cf_picture_free(packed);
}
