/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudatonemap on a GPU: frames in CUDA memory and in system memory become other frames there.
 * Skipped where no CUDA context can be created.
 */
#include "elements.h"

#include "device-frames.h"
#include "device.h"
#include "filter.h"
#include "tonemap_video.h"
#include "tonemap.h"

static GstCudaContext *shared_context;

static const CfFormat hdr_formats[] = {CF_FORMAT_P010_10LE, CF_FORMAT_I420_10LE,
                                       CF_FORMAT_I422_10LE, CF_FORMAT_P016_LE, CF_FORMAT_Y444_16LE};
static const CfFormat sdr_formats[] = {CF_FORMAT_NV12, CF_FORMAT_I420, CF_FORMAT_P010_10LE,
                                       CF_FORMAT_RGBA, CF_FORMAT_BGRA};

/* In CUDA memory, or in that of the system. */
static GstCaps *caps_of(const CfVideo *video, gboolean device)
{
  GstCaps *caps = device_caps(video);

  if (!device)
    gst_caps_set_features_simple(caps, NULL);
  gst_caps_set_simple(caps, "colorimetry", G_TYPE_STRING,
                      video->transfer == CF_TRANSFER_PQ    ? "bt2100-pq"
                      : cf_format_info(video->format)->rgb ? "sRGB"
                                                           : "bt709",
                      NULL);
  return caps;
}

static GstHarness *open_harness(const CfVideo *video, const CfVideo *destination, gboolean device)
{
  GstHarness *harness = gst_harness_new("cudatonemap");
  GstContext *context = gst_context_new_cuda_context(shared_context);

  gst_element_set_context(harness->element, context);
  gst_context_unref(context);
  set_text(harness->element, "backend=cuda");
  gst_harness_add_propose_allocation_meta(harness, GST_VIDEO_META_API_TYPE, NULL);
  gst_harness_set_live(harness, FALSE);
  gst_harness_set_sink_caps(harness, caps_of(destination, device));
  gst_harness_set_src_caps(harness, caps_of(video, device));
  return harness;
}

static CfFilter *open_engine(const CfVideo *video, const CfVideo *destination,
                             const CfTonemapParams *params)
{
  const CfOpenOptions options = {.threads = 1, .destination = destination};
  CfFilter *filter = cf_filter_open(&cf_tonemap_cpu, video, params, &options, NULL);

  fail_unless(filter != NULL);
  return filter;
}

static CfTonemapParams defaults(void)
{
  CfTonemapParams params = {0};

  cf_params_init(cf_tonemap.params, &params);
  return params;
}

/* Takes `buffer`. A few samples may be farther apart than a code: docs/reference/accuracy.md. */
static void assert_close(GstBuffer *buffer, CfFilter *engine, const CfTestPicture *source,
                         const CfVideo *destination)
{
  CfTestPicture *want = cf_picture_new(destination, CF_LAYOUT_ALIGNED);
  const CfJob job = {.source = source->planes, .destination = want->planes, .seconds = 0.04};
  CfTestPicture *got;
  CfDifference difference;

  fail_unless(cf_filter_run(engine, &job, NULL));
  got = picture_from_buffer(destination, buffer);
  difference = cf_picture_compare(got, want, 2.0);
  fail_unless(difference.first.plane == -1 && difference.differing <= difference.samples / 10 + 8,
              "%s to %s: worst %g", cf_format_info(source->video.format)->name,
              cf_format_info(destination->format)->name, difference.worst);
  cf_picture_free(got);
  cf_picture_free(want);
  gst_buffer_unref(buffer);
}

/* Frames of all formats, several of each, go through the device. */
static void frames_become_others(gboolean device)
{
  for (guint i = 0; i < G_N_ELEMENTS(hdr_formats) * G_N_ELEMENTS(sdr_formats); i++) {
    const CfVideo video =
        hdr_video(hdr_formats[i % G_N_ELEMENTS(hdr_formats)], 322, 180, CF_TRANSFER_PQ);
    const CfVideo destination = sdr_video(sdr_formats[i / G_N_ELEMENTS(hdr_formats)], 322, 180);
    const CfTonemapParams params = defaults();
    GstHarness *harness = open_harness(&video, &destination, device);
    GstBufferPool *pool = device_pool(shared_context, &video, NULL);
    CfFilter *engine = open_engine(&video, &destination, &params);
    CfTestPicture *source[3];

    for (guint frame = 0; frame < 3; frame++) {
      source[frame] = new_picture(&video, CF_LAYOUT_ALIGNED, CF_PATTERN_PHOTO, frame + 1);
      fail_unless_equals_int(gst_harness_push(harness, device ? device_buffer(pool, source[frame])
                                                              : plain_buffer(source[frame], 0)),
                             GST_FLOW_OK);
    }
    for (guint frame = 0; frame < 3; frame++) {
      GstBuffer *buffer = gst_harness_pull(harness);

      fail_unless(!device || context_of(buffer) == shared_context);
      assert_close(buffer, engine, source[frame], &destination);
      cf_picture_free(source[frame]);
    }
    cf_filter_close(engine);
    gst_harness_teardown(harness);
    free_device_pool(pool);
  }
}

GST_START_TEST(frames_in_cuda_memory)
{
  frames_become_others(TRUE);
}
GST_END_TEST;

GST_START_TEST(frames_in_system_memory)
{
  frames_become_others(FALSE);
}
GST_END_TEST;

/* Each frame is measured on the device, and no host waits: the element does as the engine. */
GST_START_TEST(peaks_are_followed)
{
  const CfVideo video = hdr_video(CF_FORMAT_P010_10LE, 320, 180, CF_TRANSFER_PQ);
  const CfVideo destination = sdr_video(CF_FORMAT_NV12, 320, 180);
  CfTonemapParams params = defaults();
  GstHarness *harness = open_harness(&video, &destination, TRUE);
  GstBufferPool *pool = device_pool(shared_context, &video, NULL);
  CfFilter *engine;

  params.dynamic = true;
  set_text(harness->element, "dynamic=true");
  engine = open_engine(&video, &destination, &params);
  for (guint frame = 0; frame < 6; frame++) {
    CfTestPicture *source = new_picture(&video, CF_LAYOUT_ALIGNED, CF_PATTERN_PHOTO, 1);
    GstBuffer *buffer;

    for (int x = 0; x < 64; x++)
      cf_picture_set(source, 0, x, 20, 0, frame % 2 ? 900 : 500);
    buffer = device_buffer(pool, source);
    GST_BUFFER_PTS(buffer) = frame * 40 * GST_MSECOND;
    assert_close(filter_buffer(harness, buffer), engine, source, &destination);
    cf_picture_free(source);
  }
  cf_filter_close(engine);
  gst_harness_teardown(harness);
  free_device_pool(pool);
}
GST_END_TEST;

/* SDR in CUDA memory is handed on, and HDR behind it filtered. */
GST_START_TEST(sdr_passes_in_cuda_memory)
{
  const CfVideo sdr = sdr_video(CF_FORMAT_NV12, 320, 180);
  const CfVideo hdr = hdr_video(CF_FORMAT_P010_10LE, 320, 180, CF_TRANSFER_PQ);
  const CfTonemapParams params = defaults();
  CfTestPicture *dark = new_picture(&sdr, CF_LAYOUT_ALIGNED, CF_PATTERN_PHOTO, 1);
  CfTestPicture *bright = new_picture(&hdr, CF_LAYOUT_ALIGNED, CF_PATTERN_PHOTO, 1);
  GstBufferPool *pools[] = {device_pool(shared_context, &sdr, NULL),
                            device_pool(shared_context, &hdr, NULL)};
  GstHarness *harness = open_harness(&sdr, &sdr, TRUE);
  CfFilter *engine = open_engine(&hdr, &sdr, &params);

  for (guint i = 0; i < 3; i++) {
    GstBuffer *buffer = device_buffer(pools[0], dark), *result;

    gst_harness_set_src_caps(harness, caps_of(&sdr, TRUE));
    result = filter_buffer(harness, gst_buffer_ref(buffer));
    fail_unless(result == buffer, "copied");
    gst_buffer_unref(buffer);
    gst_buffer_unref(result);
    gst_harness_set_src_caps(harness, caps_of(&hdr, TRUE));
    assert_close(filter_buffer(harness, device_buffer(pools[1], bright)), engine, bright, &sdr);
  }
  cf_filter_close(engine);
  gst_harness_teardown(harness);
  for (guint i = 0; i < 2; i++)
    free_device_pool(pools[i]);
  cf_picture_free(dark);
  cf_picture_free(bright);
}
GST_END_TEST;

static void add_tests(TCase *tests)
{
  tcase_set_timeout(tests, 120);
  tcase_add_test(tests, frames_in_cuda_memory);
  tcase_add_test(tests, frames_in_system_memory);
  tcase_add_test(tests, peaks_are_followed);
  tcase_add_test(tests, sdr_passes_in_cuda_memory);
}

int main(int argc, char **argv)
{
  return run_device_tests(argc, argv, "gpu-tonemap", add_tests, &shared_context);
}
