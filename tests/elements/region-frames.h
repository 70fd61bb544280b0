/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Frames with regions, and what a mosaic of blocks of 8x8 makes of them, for the tests of regions.
 */
#pragma once

#include "elements.h"

#include <string.h>

#include "blockavg.h"

#define WIDTH  64
#define HEIGHT 48
#define FRAME  (40 * GST_MSECOND)

/* Of the frames of a test. */
static CfVideo video;

/* One rectangle that a meta asks for. */
typedef struct {
  const char *type;
  guint x, y, width, height;
} Roi;

static inline GstBuffer *new_frame(CfTestPicture **picture, guint number, const Roi *roi)
{
  GstBuffer *buffer;

  *picture = new_picture(&video, CF_LAYOUT_ALIGNED, CF_PATTERN_NOISE, number);
  buffer = plain_buffer(*picture, number * FRAME);
  if (roi)
    gst_buffer_add_video_region_of_interest_meta(buffer, roi->type, roi->x, roi->y, roi->width,
                                                 roi->height);
  return buffer;
}

static const CfBlockavgParams blocks_of_8 = {8, 8, CF_BLOCKAVG_AVERAGE, CF_BLOCKAVG_FRAME, 0, 0};

/* What the engine itself makes of these regions. */
static inline CfTestPicture *covered(const CfTestPicture *source, const CfBlockavgParams *params,
                                     const CfRegions *regions)
{
  const CfOpenOptions options = {.threads = 1};
  CfTestPicture *result = cf_picture_new(&video, CF_LAYOUT_TIGHT);
  const CfJob job = {.source = source->planes, .destination = result->planes, .regions = regions};
  void *state = cf_blockavg_reference.open(&video, params, &options, NULL);

  fail_unless(state && cf_blockavg_reference.run(state, &job, NULL));
  cf_blockavg_reference.close(state);
  return result;
}

/* Pushes `frame`, which shows `source`, and checks that exactly `regions` are covered (NULL:
 * nothing is). Takes both. */
static inline void push_frame_in_blocks(GstHarness *harness, GstBuffer *frame,
                                        CfTestPicture *source, const CfBlockavgParams *params,
                                        const CfRegions *regions)
{
  gchar *what = g_strdup_printf("the frame at %" GST_TIME_FORMAT, GST_TIME_ARGS(frame->pts));
  CfTestPicture *want =
      regions ? covered(source, params, regions) : cf_picture_copy(source, CF_LAYOUT_TIGHT);

  assert_shows(filter_buffer(harness, frame), want, what);
  g_free(what);
  cf_picture_free(source);
  cf_picture_free(want);
}

static inline void push_frame(GstHarness *harness, GstBuffer *frame, CfTestPicture *source,
                              const CfRegions *regions)
{
  push_frame_in_blocks(harness, frame, source, &blocks_of_8, regions);
}

static inline void push(GstHarness *harness, guint number, const Roi *roi, const CfRegions *regions)
{
  CfTestPicture *source;
  GstBuffer *frame = new_frame(&source, number, roi);

  push_frame(harness, frame, source, regions);
}

static inline GstHarness *new_mosaic(const char *settings, GstBus **bus)
{
  gchar *all = g_strdup_printf("block-width=8 block-height=8 %s", settings);
  GstHarness *harness;

  video = cf_video(CF_FORMAT_NV12, WIDTH, HEIGHT);
  harness = harness_new("cudablockavg", all, &video, NULL, bus);
  g_free(all);
  return harness;
}

static inline void flush(GstHarness *harness)
{
  GstSegment segment;

  gst_harness_push_event(harness, gst_event_new_flush_start());
  gst_harness_push_event(harness, gst_event_new_flush_stop(TRUE));
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_harness_push_event(harness, gst_event_new_segment(&segment));
}

#define ONE(x, y, w, h) (&(CfRegions){.region = &(CfRegion){x, y, w, h}, .count = 1})
#define FRAME_COVERED   ONE(0, 0, WIDTH, HEIGHT)

static const Roi face = {"face", 10, 8, 20, 16};
static const Roi car = {"car", 30, 20, 12, 12};
