/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * GstHarness around elements in CUDA memory: whose memory they read and write, when they let go of
 * it, and what they take over between frames. Skipped where no CUDA context can be created.
 */
#include "elements.h"

#include <string.h>

#include "blockavg.h"
#include "device-frames.h"
#include "device.h"
#include "gaussblur.h"
#include "llf.h"

/* That come and go in a second or two. */
#ifdef FAKE_GPU
#define CONTEXTS 2000
#else
#define CONTEXTS 10
#endif

static GstCudaContext *shared_context;

static const CfVideo *small_video(void)
{
  static CfVideo video;

  video = cf_video(CF_FORMAT_NV12, 320, 240);
  return &video;
}

/* --- elements --- */

static GstHarness *device_harness(const char *elements, const CfVideo *video)
{
  GstHarness *harness = gst_harness_new_parse(elements);
  GstContext *context = gst_context_new_cuda_context(shared_context);

  gst_element_set_context(harness->element, context);
  gst_context_unref(context);
  gst_harness_set_src_caps(harness, device_caps(video));
  return harness;
}

/* Takes `buffer`. The promise of the project: one code value, and for cudallf on few samples. */
static void assert_close(GstBuffer *buffer, const ElementCase *element, const char *settings,
                         const CfTestPicture *source)
{
  CfTestPicture *want = engine_output(element, settings, source);
  CfTestPicture *got = picture_from_buffer(&source->video, buffer);
  const CfDifference difference = cf_picture_compare(got, want, 1.0);

  fail_unless(
      difference.first.plane == -1 &&
          (element->effect != &cf_llf || difference.differing * 100 <= difference.samples * 3),
      "%s %s %dx%d: worst %g, %ld of %ld differ", element->name, settings, source->video.width,
      source->video.height, difference.worst, difference.differing, difference.samples);
  cf_picture_free(got);
  cf_picture_free(want);
  gst_buffer_unref(buffer);
}

GST_START_TEST(pixels_and_metas)
{
  const ElementCase *element = &element_cases[__i__];
  const CfVideo *video = small_video();
  GstHarness *harness = device_harness(element->name, video);
  GstBufferPool *pool = device_pool(shared_context, video, NULL);
  CfTestPicture *source = new_picture(video, CF_LAYOUT_ALIGNED, CF_PATTERN_PHOTO, 1);
  GstBuffer *buffer = device_buffer(pool, source);
  GstElement *inner = gst_harness_find_element(harness, element->name);
  GstVideoRegionOfInterestMeta *region;

  set_text(inner, element->working);
  gst_object_unref(inner);
  gst_buffer_add_video_region_of_interest_meta(buffer, "face", 3, 5, 70, 90);
  gst_buffer_add_video_time_code_meta_full(buffer, 25, 1, NULL, 0, 1, 2, 3, 4, 0);
  GST_BUFFER_PTS(buffer) = 7 * GST_SECOND;
  GST_BUFFER_OFFSET(buffer) = 175;

  buffer = filter_buffer(harness, buffer);
  fail_unless(context_of(buffer) == shared_context, "the frame is in another context");
  fail_unless(GST_BUFFER_PTS(buffer) == 7 * GST_SECOND && GST_BUFFER_OFFSET(buffer) == 175);
  region = gst_buffer_get_video_region_of_interest_meta_id(buffer, 0);
  fail_unless(region && region->x == 3 && region->y == 5 && region->w == 70 && region->h == 90);
  fail_unless(gst_buffer_get_video_time_code_meta(buffer) != NULL);
  assert_close(buffer, element, element->working, source);

  cf_picture_free(source);
  gst_harness_teardown(harness);
  free_device_pool(pool);
}
GST_END_TEST

/* --- regions --- */

static const struct {
  const CfEffect *effect;
  const char *element, *settings;
} masks[] = {
    {&cf_blockavg, "cudablockavg", "block-width=16 block-height=16"},
    {&cf_blockavg, "cudablockavg", "anchor=region blocks-across=5"},
    {&cf_gaussblur, "cudagaussblur", "sigma=5"},
};

static const CfRegion face = {17, 9, 101, 80}, plate = {90, 60, 64, 40};

/* A frame at 40 ms times `number` with both regions, or none. */
static GstBuffer *masked_frame(GstBufferPool *pool, const CfTestPicture *source, guint number,
                               gboolean detected)
{
  GstBuffer *buffer = device_buffer(pool, source);
  const CfRegion *const found[] = {&face, &plate};

  GST_BUFFER_PTS(buffer) = number * 40 * GST_MSECOND;
  for (guint i = 0; detected && i < G_N_ELEMENTS(found); i++)
    gst_buffer_add_video_region_of_interest_meta(buffer, "face", (guint)found[i]->x,
                                                 (guint)found[i]->y, (guint)found[i]->width,
                                                 (guint)found[i]->height);
  return buffer;
}

static guint count_regions(GstBuffer *buffer)
{
  gpointer state = NULL;
  guint count = 0;

  while (
      gst_buffer_iterate_meta_filtered(buffer, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE))
    count++;
  return count;
}

static void assert_near(GstBuffer *buffer, const CfTestPicture *want, const char *what)
{
  CfTestPicture *got = picture_from_buffer(&want->video, buffer);
  const CfDifference difference = cf_picture_compare(got, want, 1.0);

  fail_unless(difference.first.plane == -1, "%s: worst %g, %ld of %ld differ", what,
              difference.worst, difference.differing, difference.samples);
  cf_picture_free(got);
}

/* In place where the frame is writable, into another where a tee has it too; held, and let go. */
GST_START_TEST(regions_follow_metas)
{
  const CfVideo *video = small_video();
  gchar *launch = g_strdup_printf("%s %s roi-mode=inside roi-hold=40000000", masks[__i__].element,
                                  masks[__i__].settings);
  GstHarness *harness = device_harness(launch, video);
  GstBufferPool *pool = device_pool(shared_context, video, NULL);
  CfTestPicture *source = new_picture(video, CF_LAYOUT_ALIGNED, CF_PATTERN_PHOTO, 3);
  CfTestPicture *want =
      engine_output_in_regions(masks[__i__].effect, masks[__i__].settings, source,
                               &(CfRegions){.region = (const CfRegion[]){face, plate}, .count = 2});
  GstBuffer *buffer = masked_frame(pool, source, 0, TRUE), *output;

  fail_if(same_samples(source, want));
  output = filter_buffer(harness, buffer);
  fail_unless(output == buffer, "not in place");
  assert_near(output, want, "with metas");
  fail_unless_equals_int(count_regions(output), 2);
  gst_buffer_unref(output);

  output = filter_buffer(harness, masked_frame(pool, source, 1, FALSE));
  assert_near(output, want, "held");
  gst_buffer_unref(output);

  buffer = masked_frame(pool, source, 3, FALSE);
  output = filter_buffer(harness, buffer);
  fail_unless(output == buffer, "copied");
  assert_shows(output, source, "no longer held");

  buffer = masked_frame(pool, source, 4, TRUE);
  output = filter_buffer(harness, gst_buffer_ref(buffer));
  fail_if(output == buffer);
  assert_near(output, want, "behind a tee");
  fail_unless_equals_int(count_regions(output), 2);
  assert_shows(buffer, source, "the other branch of a tee");
  gst_buffer_unref(output);

  cf_picture_free(source);
  cf_picture_free(want);
  gst_harness_teardown(harness);
  free_device_pool(pool);
  g_free(launch);
}
GST_END_TEST

/* --- contexts, caps --- */

/* A decoder may have made a context of its own before ours was chosen. */
GST_START_TEST(context_of_the_frames_is_adopted)
{
  const ElementCase *element = &element_cases[__i__];
  const CfVideo *video = small_video();
  GstCudaContext *other = gst_cuda_context_new(0);
  GstHarness *harness = device_harness(element->name, video);
  GstBufferPool *pools[] = {device_pool(shared_context, video, NULL),
                            device_pool(other, video, NULL)};
  CfTestPicture *source = new_picture(video, CF_LAYOUT_ALIGNED, CF_PATTERN_PHOTO, 2);
  GstElement *inner = gst_harness_find_element(harness, element->name);

  set_text(inner, element->working);
  gst_object_unref(inner);
  for (int i = 0; i < 5; i++) {
    GstBuffer *buffer = filter_buffer(harness, device_buffer(pools[i % 2], source));

    fail_unless(context_of(buffer) == (i % 2 ? other : shared_context),
                "frame %d: the output is in another context than the input", i);
    assert_close(buffer, element, element->working, source);
  }
  cf_picture_free(source);
  gst_harness_teardown(harness);
  free_device_pool(pools[0]);
  free_device_pool(pools[1]);
  gst_object_unref(other);
}
GST_END_TEST

typedef struct {
  GstPad *pad;
  gint stop; /* atomic */
  guint answers;
} Asker;

static gpointer ask_for_context(gpointer data)
{
  Asker *asker = data;

  while (!g_atomic_int_get(&asker->stop)) {
    GstQuery *query = gst_query_new_context(GST_CUDA_CONTEXT_TYPE);

    asker->answers += gst_pad_query(asker->pad, query);
    gst_query_unref(query);
  }
  return NULL;
}

/* A neighbour that changes its state asks from another thread, while one context ends and the next
 * is adopted. */
GST_START_TEST(context_is_asked_for_while_it_changes)
{
  const CfVideo video = cf_video(CF_FORMAT_NV12, 16, 16);
  GstHarness *harness = device_harness("cudasepconv", &video);
  CfTestPicture *source = new_picture(&video, CF_LAYOUT_ALIGNED, CF_PATTERN_PHOTO, 2);
  Asker asker = {.pad = gst_pad_get_peer(harness->srcpad)};
  GThread *thread = g_thread_new("asker", ask_for_context, &asker);

  for (int i = 0; i < CONTEXTS; i++) {
    GstCudaContext *context = gst_cuda_context_new(0);
    GstBufferPool *pool = device_pool(context, &video, NULL);

    gst_buffer_unref(filter_buffer(harness, device_buffer(pool, source)));
    free_device_pool(pool);
    gst_object_unref(context);
  }
  g_atomic_int_set(&asker.stop, TRUE);
  g_thread_join(thread);
  fail_unless(asker.answers > 0);
  gst_object_unref(asker.pad);
  cf_picture_free(source);
  gst_harness_teardown(harness);
}
GST_END_TEST

GST_START_TEST(caps_and_properties_change)
{
  static const struct {
    CfFormat format;
    int width, height;
    gboolean by_host; /* in system memory */
  } steps[] = {{CF_FORMAT_NV12, 320, 240, FALSE}, {CF_FORMAT_NV12, 320, 240, TRUE},
               {CF_FORMAT_NV12, 320, 240, FALSE}, {CF_FORMAT_RGBA, 320, 240, FALSE},
               {CF_FORMAT_RGBA, 641, 363, FALSE}, {CF_FORMAT_P010_10LE, 64, 48, FALSE},
               {CF_FORMAT_UYVY, 320, 240, FALSE}, {CF_FORMAT_NV12, 320, 240, FALSE}};
  const ElementCase *element = &element_cases[__i__];
  GstHarness *harness = device_harness(element->name, small_video());
  GstElement *inner = gst_harness_find_element(harness, element->name);
  const char *const settings[] = {element->working, element->other, element->identity};

  for (guint step = 0; step < G_N_ELEMENTS(steps); step++) {
    const CfVideo video = cf_video(steps[step].format, steps[step].width, steps[step].height);
    GstCaps *caps = device_caps(&video);
    GstBufferPool *pool = device_pool(shared_context, &video, NULL);
    CfTestPicture *source = new_picture(&video, CF_LAYOUT_ALIGNED, CF_PATTERN_PHOTO, step);

    if (steps[step].by_host)
      gst_caps_set_features_simple(caps, NULL);
    gst_harness_push_event(harness, gst_event_new_caps(caps));
    gst_caps_unref(caps);
    for (guint i = 0; i < G_N_ELEMENTS(settings); i++) {
      GstBuffer *buffer;

      set_text(inner, settings[i]);
      buffer = filter_buffer(harness, steps[step].by_host ? plain_buffer(source, 0)
                                                          : device_buffer(pool, source));
      if (settings[i] == element->identity)
        assert_shows(buffer, source, "identity");
      else if (video.format != CF_FORMAT_P010_10LE || element->effect != &cf_llf)
        assert_close(buffer, element, settings[i], source);
      else
        gst_buffer_unref(buffer);
    }
    cf_picture_free(source);
    free_device_pool(pool);
  }
  gst_object_unref(inner);
  gst_harness_teardown(harness);
}
GST_END_TEST

GST_START_TEST(pipelines_share_a_context)
{
  GstElement *elements[2];
  GstCudaContext *contexts[2];

  for (int i = 0; i < 2; i++) {
    elements[i] = gst_element_factory_make(element_cases[__i__].name, NULL);
    gst_object_ref_sink(elements[i]);
    gst_util_set_object_arg(G_OBJECT(elements[i]), "backend", "cuda");
    fail_unless(gst_element_set_state(elements[i], GST_STATE_PAUSED) == GST_STATE_CHANGE_SUCCESS);
    contexts[i] = context_of_element(elements[i]);
  }
  fail_unless(contexts[0] == contexts[1]);
  for (int i = 0; i < 2; i++) {
    gst_object_unref(contexts[i]);
    gst_element_set_state(elements[i], GST_STATE_NULL);
    gst_object_unref(elements[i]);
  }
}
GST_END_TEST

static void add_tests(TCase *tests)
{
  tcase_set_timeout(tests, 120);
  tcase_add_loop_test(tests, pixels_and_metas, 0, N_ELEMENTS);
  tcase_add_loop_test(tests, regions_follow_metas, 0, G_N_ELEMENTS(masks));
  tcase_add_loop_test(tests, context_of_the_frames_is_adopted, 0, N_ELEMENTS);
  tcase_add_loop_test(tests, pipelines_share_a_context, 0, N_ELEMENTS);
  tcase_add_test(tests, context_is_asked_for_while_it_changes);
  tcase_add_loop_test(tests, caps_and_properties_change, 0, N_ELEMENTS);
}

int main(int argc, char **argv)
{
  return run_device_tests(argc, argv, "gpu", add_tests, &shared_context);
}
