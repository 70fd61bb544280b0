/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Elements between neighbours with CUDA streams of their own: nobody reads what is not yet written,
 * nor writes again what is still being read, and streams may go when neighbours do. Skipped where
 * no CUDA context can be created.
 */
#include "elements.h"

#include "device-frames.h"
#include "device.h"

/* Fills that keep a stream busy for some milliseconds, in which a missing wait would show, and
 * frames that take kernels as long. What is launched on fake-gpu is late by itself. */
#define BUSY_FILLS 6
#ifdef FAKE_GPU
#define BUSY_BYTES ((size_t)4096)
static const int slow_width = 64, slow_height = 36;
#else
#define BUSY_BYTES ((size_t)1 << 30)
static const int slow_width = 1280, slow_height = 720;
#endif

#define RECYCLED_FRAMES 24

static GstCudaContext *shared_context;

/* --- neighbours --- */

/* How the neighbour above fills its buffers. */
typedef struct {
  gpointer owner;   /* of the stream that its memory names, as in gpu-compat.h, or NULL */
  void *stream;     /* that it writes on */
  void *busy;       /* device memory to keep that stream busy with before it writes, or NULL */
  gboolean by_host; /* it does not write on a stream: GStreamer uploads when its buffer is read, and
                       it does not write again, since nothing tells it when that is done */
} Producer;

/* What the neighbour below offers to write into. */
typedef struct {
  gpointer owner; /* of the stream of its pool, or NULL: it has no pool */
} Consumer;

#if GST_CHECK_VERSION(1, 24, 0)
static gpointer new_stream(void)
{
  gpointer owner;

  fail_unless(gst_cuda_context_push(shared_context));
  owner = gst_cuda_filters_compat_stream_new(shared_context, NULL);
  gst_cuda_context_pop(NULL);
  fail_unless(owner != NULL);
  return owner;
}

static void free_stream(gpointer owner)
{
  fail_unless(gst_cuda_context_push(shared_context));
  gst_cuda_filters_compat_stream_free(owner);
  gst_cuda_context_pop(NULL);
}
#endif

static GstPadProbeReturn offer_pool(GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY(info);
  const Consumer *consumer = user_data;
  GstBufferPool *pool;
  GstStructure *config;
  GstCaps *caps;
  GstVideoInfo video;

  if (GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION || !consumer->owner)
    return GST_PAD_PROBE_OK;
  gst_query_parse_allocation(query, &caps, NULL);
  fail_unless(gst_video_info_from_caps(&video, caps));
  pool = gst_cuda_buffer_pool_new(shared_context);
  config = gst_buffer_pool_get_config(pool);
  gst_buffer_pool_config_set_params(config, caps, (guint)video.size, 0, 0);
  gst_cuda_filters_compat_config_stream(config, consumer->owner);
  fail_unless(gst_buffer_pool_set_config(pool, config));
  gst_query_add_allocation_pool(query, pool, (guint)video.size, 0, 0);
  gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, NULL);
  gst_object_unref(pool);
  return GST_PAD_PROBE_HANDLED;
}

static GstHarness *open_harness(const char *elements, const CfVideo *video, Consumer *consumer)
{
  GstHarness *harness = gst_harness_new_parse(elements);
  GstContext *context = gst_context_new_cuda_context(shared_context);

  gst_element_set_context(harness->element, context);
  gst_context_unref(context);
  gst_pad_add_probe(harness->sinkpad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, offer_pool, consumer,
                    NULL);
  gst_harness_set_src_caps(harness, device_caps(video));
  return harness;
}

/* --- buffers that are written again as soon as they are back in their pool --- */

static CfPicture planes_of(const GstVideoFrame *frame)
{
  CfPicture picture = {{NULL}, {0}};

  for (guint plane = 0; plane < GST_VIDEO_FRAME_N_PLANES(frame); plane++) {
    picture.data[plane] = GST_VIDEO_FRAME_PLANE_DATA(frame, plane);
    picture.stride[plane] = GST_VIDEO_FRAME_PLANE_STRIDE(frame, plane);
  }
  return picture;
}

/* Enqueued on the producer's stream, or by the host. */
static void copy_frame(const Producer *producer, const CfVideo *video, GstBuffer *to,
                       GstBuffer *from)
{
  const int on_device = producer->by_host ? 0 : GST_MAP_CUDA;
  GstVideoFrame target, source;

  map_device_buffer(&target, video, to, (GstMapFlags)(GST_MAP_WRITE | on_device));
  map_device_buffer(&source, video, from, (GstMapFlags)(GST_MAP_READ | on_device));
  if (producer->by_host) {
    fail_unless(gst_video_frame_copy(&target, &source));
  } else {
    const CfPicture destination = planes_of(&target), origin = planes_of(&source);

    fail_unless(
        cf_copy_picture(CF_COPY_ON_DEVICE, video, &destination, &origin, producer->stream, NULL));
  }
  gst_video_frame_unmap(&source);
  gst_video_frame_unmap(&target);
}

/* Sends copies of `sources` through `elements`; `outputs` are transfer full. */
static void produce(const char *elements, const CfVideo *video, const Producer *producer,
                    Consumer *consumer, GstBuffer **sources, GstBuffer **outputs)
{
  GstHarness *harness = open_harness(elements, video, consumer);
  GstBufferPool *pool = device_pool(shared_context, video, producer->owner);
  GstBuffer *kept[RECYCLED_FRAMES] = {NULL};

  for (int i = 0; i < RECYCLED_FRAMES; i++) {
    GstBuffer *buffer = acquire_device_buffer(pool);

    fail_unless(gst_cuda_context_push(shared_context));
    for (int fill = 0; producer->busy && fill < BUSY_FILLS; fill++)
      fail_unless(cf_device_fill(producer->busy, fill, BUSY_BYTES, producer->stream, NULL));
    copy_frame(producer, video, buffer, sources[i]);
    if (!producer->owner)
      fail_unless(cf_stream_synchronize(producer->stream, NULL));
    gst_cuda_context_pop(NULL);
    GST_BUFFER_PTS(buffer) = (GstClockTime)i * 40 * GST_MSECOND;
    if (producer->by_host)
      kept[i] = gst_buffer_ref(buffer);
    fail_unless_equals_int(gst_harness_push(harness, buffer), GST_FLOW_OK);
  }
  for (int i = 0; i < RECYCLED_FRAMES; i++)
    outputs[i] = gst_harness_pull(harness);
  for (int i = 0; producer->by_host && i < RECYCLED_FRAMES; i++)
    gst_buffer_unref(kept[i]);
  gst_harness_teardown(harness);
  free_device_pool(pool);
}

/* `slow` takes milliseconds a frame. What it shows must not depend on when its inputs are written
 * again: neither in pools (`producer`), nor never, which is the truth that it is compared with. */
static void check_recycling(const char *slow, const Producer *producer, Consumer *consumer)
{
  const CfVideo video = cf_video(CF_FORMAT_NV12, slow_width, slow_height);
  GstBuffer *sources[RECYCLED_FRAMES], *outputs[RECYCLED_FRAMES];
  GstBufferPool *pool = device_pool(shared_context, &video, NULL);
  Consumer nobody = {NULL};
  GstHarness *harness = open_harness(slow, &video, &nobody);
  CfTestPicture *truths[RECYCLED_FRAMES];

  for (int i = 0; i < RECYCLED_FRAMES; i++) {
    CfTestPicture *picture = new_picture(&video, CF_LAYOUT_ALIGNED, CF_PATTERN_PHOTO, (guint64)i);
    GstBuffer *output;

    sources[i] = device_buffer(pool, picture);
    fail_unless_equals_int(gst_harness_push(harness, gst_buffer_ref(sources[i])), GST_FLOW_OK);
    output = gst_harness_pull(harness);
    truths[i] = picture_from_buffer(&video, output);
    gst_buffer_unref(output);
    cf_picture_free(picture);
  }
  gst_harness_teardown(harness);

  produce(slow, &video, producer, consumer, sources, outputs);
  for (int i = 0; i < RECYCLED_FRAMES; i++) {
    assert_shows(outputs[i], truths[i], slow);
    cf_picture_free(truths[i]);
    gst_buffer_unref(sources[i]);
  }
  free_device_pool(pool);
}

/* The first waits for nothing where the second is its neighbour; the last leaves to others. Regions
 * are filtered in place, in memory of the producer's. */
static const char *const slow_chains[] = {
    "cudallf engine=exact levels=3",
    "cudallf engine=exact levels=3 ! cudasepconv preset=sharpen",
    "cudallf engine=exact levels=3 ! queue ! cudasepconv preset=sharpen",
    "cudasepconv preset=sharpen ! cudallf engine=exact levels=3 ! cudagaussblur sigma=3",
    "cudablockavg roi-mode=inside regions=8,8,24,16 ! cudallf engine=exact levels=3 ! queue ! "
    "cudasepconv preset=sharpen",
};

GST_START_TEST(inputs_are_kept_until_read)
{
  Producer producer = {.owner = NULL};
  Consumer consumer = {NULL};

  fail_unless(gst_cuda_context_push(shared_context));
  producer.stream = cf_stream_create(NULL);
  gst_cuda_context_pop(NULL);
  check_recycling(slow_chains[__i__], &producer, &consumer);
  fail_unless(gst_cuda_context_push(shared_context));
  cf_stream_destroy(producer.stream);
  gst_cuda_context_pop(NULL);
}
GST_END_TEST

#if GST_CHECK_VERSION(1, 24, 0)
/* The producer neither waits for its writes nor before it writes again: streams are ordered. */
static void check_streams(const char *slow, gboolean by_host, Consumer *consumer)
{
  Producer producer = {.owner = new_stream(), .by_host = by_host};

  producer.stream = gst_cuda_filters_compat_stream_handle(producer.owner);
  fail_unless(gst_cuda_context_push(shared_context));
  producer.busy = cf_device_alloc(BUSY_BYTES, NULL);
  gst_cuda_context_pop(NULL);
  fail_unless(producer.busy != NULL);
  check_recycling(slow, &producer, consumer);
  fail_unless(gst_cuda_context_push(shared_context));
  cf_device_free(producer.busy);
  gst_cuda_context_pop(NULL);
  free_stream(producer.owner);
}

GST_START_TEST(streams_are_ordered_both_ways)
{
  Consumer consumer = {NULL};

  check_streams(slow_chains[__i__], FALSE, &consumer);
}
GST_END_TEST

GST_START_TEST(another_stream_below)
{
  Consumer consumer = {new_stream()};

  check_streams(slow_chains[__i__], FALSE, &consumer);
  free_stream(consumer.owner);
}
GST_END_TEST

/* As of cudaipcsrc, which imports memory that has no stream. */
GST_START_TEST(no_stream_above_and_another_below)
{
  gpointer writer = new_stream();
  Producer producer = {.owner = NULL};
  Consumer consumer = {new_stream()};

  producer.stream = gst_cuda_filters_compat_stream_handle(writer);
  check_recycling(slow_chains[__i__], &producer, &consumer);
  free_stream(writer);
  free_stream(consumer.owner);
}
GST_END_TEST

GST_START_TEST(the_host_writes_above_and_another_stream_is_below)
{
  Consumer consumer = {new_stream()};

  check_streams(slow_chains[__i__], TRUE, &consumer);
  free_stream(consumer.owner);
}
GST_END_TEST

/* --- streams that go with their owners --- */

/* As when an application replaces the encoder: same caps, another pool, and what the old one had is
 * gone before the next frame comes. */
GST_START_TEST(the_next_element_is_replaced)
{
  const ElementCase *element = &element_cases[__i__];
  const CfVideo video = cf_video(CF_FORMAT_NV12, slow_width, slow_height);
  Consumer consumer = {new_stream()};
  GstHarness *harness = open_harness(element->name, &video, &consumer);
  GstElement *filter = gst_harness_find_element(harness, element->name);
  GstBufferPool *pool = device_pool(shared_context, &video, NULL);
  CfTestPicture *source = new_picture(&video, CF_LAYOUT_ALIGNED, CF_PATTERN_PHOTO, 1);
  GstBuffer *first = NULL;

  set_text(filter, element->working);
  gst_object_unref(filter);
  for (int i = 0; i < 8; i++) {
    /* Not in place. */
    GstBuffer *input = device_buffer(pool, source);
    GstBuffer *output = filter_buffer(harness, gst_buffer_ref(input));
    gpointer old = consumer.owner;

    fail_unless(
        gst_cuda_memory_get_stream(GST_CUDA_MEMORY_CAST(gst_buffer_peek_memory(output, 0))) == old,
        "frame %d is not of the pool that was offered", i);
    if (!first) {
      first = gst_buffer_copy_deep(output);
    } else {
      CfTestPicture *want = picture_from_buffer(&video, first);

      assert_shows(gst_buffer_ref(output), want, element->name);
      cf_picture_free(want);
    }
    gst_buffer_unref(output);
    gst_buffer_unref(input);
    consumer.owner = new_stream();
    free_stream(old);
    gst_harness_push_upstream_event(harness, gst_event_new_reconfigure());
  }
  gst_buffer_unref(first);
  cf_picture_free(source);
  gst_harness_teardown(harness);
  free_stream(consumer.owner);
  free_device_pool(pool);
}
GST_END_TEST
#endif

static void add_tests(TCase *tests)
{
  tcase_set_timeout(tests, 120);
  tcase_add_loop_test(tests, inputs_are_kept_until_read, 0, G_N_ELEMENTS(slow_chains));
#if GST_CHECK_VERSION(1, 24, 0)
  tcase_add_loop_test(tests, streams_are_ordered_both_ways, 0, G_N_ELEMENTS(slow_chains));
  tcase_add_loop_test(tests, another_stream_below, 0, G_N_ELEMENTS(slow_chains));
  tcase_add_loop_test(tests, no_stream_above_and_another_below, 0, G_N_ELEMENTS(slow_chains));
  tcase_add_loop_test(tests, the_host_writes_above_and_another_stream_is_below, 0,
                      G_N_ELEMENTS(slow_chains));
  tcase_add_loop_test(tests, the_next_element_is_replaced, 0, N_ELEMENTS);
#endif
}

int main(int argc, char **argv)
{
  return run_device_tests(argc, argv, "gpu-streams", add_tests, &shared_context);
}
