/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How frames in system memory flow through a device: none waits for a later one, none is lost or
 * overtaken, marks stand on the right ones, and nothing hangs where pools are small. On fake-gpu.
 */
#include "elements.h"

#include <gst/base/gstbasetransform.h>

#include "device-frames.h"
#include "fake-cuda.h"

#define CASE       (&element_cases[__i__])
#define FRAME_TIME (40 * GST_MSECOND)
/* A serialized query of an application's own. */
#define QUERY_OWN                                                                                  \
  ((GstQueryType)GST_QUERY_MAKE_TYPE(900, GST_QUERY_TYPE_DOWNSTREAM | GST_QUERY_TYPE_SERIALIZED))

typedef struct {
  const ElementCase *element;
  CfVideo video;
  GstHarness *harness;
  GstBus *bus;
} Flow;

static GstCaps *flow_caps(const CfVideo *video)
{
  GstCaps *caps = device_caps(video);

  gst_caps_set_features_simple(caps, NULL);
  return caps;
}

/* A stream of a source that is not live, whose caps are not yet sent. */
static void flow_open(Flow *flow, const ElementCase *element, const char *backend)
{
  flow->element = element;
  flow->video = cf_video(CF_FORMAT_NV12, 40, 20);
  flow->harness = gst_harness_new(element->name);
  flow->bus = gst_bus_new();
  gst_element_set_bus(flow->harness->element, flow->bus);
  gst_harness_set_live(flow->harness, FALSE);
  gst_util_set_object_arg(G_OBJECT(flow->harness->element), "backend", backend);
  set_text(flow->harness->element, element->working);
}

static void flow_start(Flow *flow)
{
  gst_harness_set_src_caps(flow->harness, flow_caps(&flow->video));
}

static void flow_close(Flow *flow)
{
  assert_posted(flow->bus, GST_MESSAGE_ERROR, 0, NULL);
  gst_element_set_bus(flow->harness->element, NULL);
  gst_harness_teardown(flow->harness);
  gst_object_unref(flow->bus);
  fail_unless_equals_int(fake_cuda_objects(), 0);
}

static CfTestPicture *flow_picture(const Flow *flow, guint frame)
{
  return new_picture(&flow->video, CF_LAYOUT_ALIGNED, CF_PATTERN_NOISE, frame + 1);
}

static GstBuffer *flow_frame(const Flow *flow, guint frame)
{
  CfTestPicture *picture = flow_picture(flow, frame);
  GstBuffer *buffer = plain_buffer(picture, frame * FRAME_TIME);

  cf_picture_free(picture);
  return buffer;
}

static void flow_push(const Flow *flow, guint frame)
{
  fail_unless_equals_int(gst_harness_push(flow->harness, flow_frame(flow, frame)), GST_FLOW_OK);
}

static void flow_push_all(const Flow *flow, guint first, guint count)
{
  for (guint frame = first; frame < first + count; frame++)
    flow_push(flow, frame);
}

/* The next frame that comes out is that one, filtered with `settings`. */
static void flow_expect(const Flow *flow, guint frame, const char *settings, gboolean discont)
{
  GstBuffer *buffer = gst_harness_pull(flow->harness);
  CfTestPicture *source = flow_picture(flow, frame);
  CfTestPicture *want = engine_output(flow->element, settings, source);

  fail_unless(buffer != NULL, "frame %u does not come out", frame);
  fail_unless_equals_uint64(GST_BUFFER_PTS(buffer), frame * FRAME_TIME);
  fail_unless(GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_DISCONT) == discont,
              "frame %u %s DISCONT", frame, discont ? "lacks" : "has");
  assert_shows(buffer, want, settings);
  cf_picture_free(source);
  cf_picture_free(want);
}

static void flow_expect_all(const Flow *flow, guint first, guint count)
{
  for (guint frame = first; frame < first + count; frame++)
    flow_expect(flow, frame, flow->element->working, FALSE);
}

GST_START_TEST(push_one_wait_for_one)
{
  Flow flow;

  flow_open(&flow, CASE, "cuda");
  flow_start(&flow);
  for (guint frame = 0; frame < 10; frame++) {
    flow_push(&flow, frame);
    flow_expect(&flow, frame, CASE->working, FALSE);
  }
  flow_close(&flow);
}
GST_END_TEST;

GST_START_TEST(several_under_way)
{
  Flow flow;

  flow_open(&flow, CASE, "cuda");
  flow_start(&flow);
  flow_push_all(&flow, 0, 20);
  flow_expect_all(&flow, 0, 20);
  fail_unless(gst_harness_push_event(flow.harness, gst_event_new_eos()));
  flow_close(&flow);
}
GST_END_TEST;

/* Settings that come to identity and leave it: what is handed on does not overtake. */
GST_START_TEST(identity_in_between)
{
  Flow flow;

  flow_open(&flow, CASE, "cuda");
  flow_start(&flow);
  for (guint frame = 0; frame < 12; frame++) {
    set_text(flow.harness->element, frame % 3 == 2 ? CASE->identity : CASE->working);
    flow_push(&flow, frame);
  }
  for (guint frame = 0; frame < 12; frame++)
    flow_expect(&flow, frame, frame % 3 == 2 ? CASE->identity : CASE->working, FALSE);
  flow_close(&flow);
}
GST_END_TEST;

/* As an application bypasses the element. */
GST_START_TEST(passthrough_in_between)
{
  gint64 position;
  Flow flow;

  flow_open(&flow, CASE, "cuda");
  flow_start(&flow);
  for (guint frame = 0; frame < 12; frame++) {
    gst_base_transform_set_passthrough(GST_BASE_TRANSFORM(flow.harness->element), frame % 4 == 3);
    flow_push(&flow, frame);
  }
  for (guint frame = 0; frame < 12; frame++)
    flow_expect(&flow, frame, frame % 4 == 3 ? CASE->identity : CASE->working, FALSE);
  fail_unless(gst_element_query_position(flow.harness->element, GST_FORMAT_TIME, &position));
  fail_unless_equals_int64(position, 12 * (gint64)FRAME_TIME);
  flow_close(&flow);
}
GST_END_TEST;

/* ---- order ---- */

/* What comes out, in order: the frame's number, -1 for the test's event, or -2 for its query. */
typedef struct {
  GMutex lock;
  GArray *items;
} Log;

static GstPadProbeReturn note_item(GstPad *pad, GstPadProbeInfo *info, gpointer log)
{
  Log *self = log;
  gint item;

  if (info->type & GST_PAD_PROBE_TYPE_BUFFER)
    item = (gint)(GST_BUFFER_PTS(GST_PAD_PROBE_INFO_BUFFER(info)) / FRAME_TIME);
  else if (GST_IS_QUERY(info->data) && GST_QUERY_TYPE(info->data) == QUERY_OWN)
    item = -2;
  else if (GST_IS_EVENT(info->data) && GST_EVENT_TYPE(info->data) == GST_EVENT_CUSTOM_DOWNSTREAM)
    item = -1;
  else
    return GST_PAD_PROBE_OK;
  g_mutex_lock(&self->lock);
  g_array_append_val(self->items, item);
  g_mutex_unlock(&self->lock);
  return GST_PAD_PROBE_OK;
}

static void push_query(const Flow *flow)
{
  GstQuery *query = gst_query_new_custom(QUERY_OWN, gst_structure_new_empty("mark"));

  gst_pad_peer_query(flow->harness->srcpad, query);
  gst_query_unref(query);
}

GST_START_TEST(events_and_queries_stay_between_their_frames)
{
  static const gint want[] = {0, 1, 2, -1, 3, 4, 5, -2, 6, 7, 8, -1};
  Log log = {.items = g_array_new(FALSE, FALSE, sizeof(gint))};
  Flow flow;

  g_mutex_init(&log.lock);
  flow_open(&flow, CASE, "cuda");
  gst_pad_add_probe(flow.harness->sinkpad,
                    GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM |
                        GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM | GST_PAD_PROBE_TYPE_PUSH,
                    note_item, &log, NULL);
  flow_start(&flow);
  for (guint frame = 0; frame < 9; frame++) {
    flow_push(&flow, frame);
    if (frame == 5)
      push_query(&flow);
    else if (frame % 3 == 2)
      gst_harness_push_event(flow.harness, gst_event_new_custom(GST_EVENT_CUSTOM_DOWNSTREAM,
                                                                gst_structure_new_empty("mark")));
  }
  for (guint i = 0; i < G_N_ELEMENTS(want); i++)
    fail_unless_equals_int(g_array_index(log.items, gint, i), want[i]);
  flow_close(&flow);
  g_array_unref(log.items);
  g_mutex_clear(&log.lock);
}
GST_END_TEST;

/* The next element is exchanged, or has other wishes. */
GST_START_TEST(reconfiguration_loses_nothing)
{
  Flow flow;

  flow_open(&flow, CASE, "cuda");
  flow_start(&flow);
  flow_push_all(&flow, 0, 3);
  gst_harness_push_upstream_event(flow.harness, gst_event_new_reconfigure());
  flow_push_all(&flow, 3, 3);
  flow_expect_all(&flow, 0, 6);
  flow_close(&flow);
}
GST_END_TEST;

GST_START_TEST(new_caps_lose_nothing)
{
  Flow flow;

  flow_open(&flow, CASE, "cuda");
  flow_start(&flow);
  for (guint size = 0; size < 4; size++) {
    GstCaps *caps;

    flow_push_all(&flow, 3 * size, 3);
    flow.video = cf_video(CF_FORMAT_NV12, 24 + 8 * (int)size, 20);
    caps = flow_caps(&flow.video);
    fail_unless(gst_harness_push_event(flow.harness, gst_event_new_caps(caps)));
    gst_caps_unref(caps);
    fail_unless_equals_int(gst_harness_buffers_received(flow.harness), 3 * size + 3);
  }
  flow_close(&flow);
}
GST_END_TEST;

GST_START_TEST(a_flush_drops_what_is_under_way)
{
  GstSegment segment;
  Flow flow;
  guint before;

  flow_open(&flow, CASE, "cuda");
  flow_start(&flow);
  flow_push_all(&flow, 0, 3);
  fail_unless(gst_harness_push_event(flow.harness, gst_event_new_flush_start()));
  fail_unless(gst_harness_push_event(flow.harness, gst_event_new_flush_stop(TRUE)));
  before = gst_harness_buffers_received(flow.harness);
  gst_segment_init(&segment, GST_FORMAT_TIME);
  fail_unless(gst_harness_push_event(flow.harness, gst_event_new_segment(&segment)));
  flow_push_all(&flow, 7, 3);
  for (guint i = 0; i < before; i++)
    gst_buffer_unref(gst_harness_pull(flow.harness));
  flow_expect_all(&flow, 7, 3);
  flow_close(&flow);
}
GST_END_TEST;

/* ---- marks ---- */

static void expect_qos(GstBus *bus, guint64 processed, guint64 dropped)
{
  GstMessage *message = gst_bus_timed_pop_filtered(bus, 0, GST_MESSAGE_QOS);
  guint64 counted, lost;
  GstFormat format;

  fail_unless(message != NULL, "no QoS message");
  gst_message_parse_qos_stats(message, &format, &counted, &lost);
  fail_unless_equals_uint64(counted, processed);
  fail_unless_equals_uint64(lost, dropped);
  gst_message_unref(message);
}

/* Downstream is late for frames up to 1 s: frame 20 is dropped, and 30 is the first behind it. */
GST_START_TEST(discont_stands_behind_dropped_frames)
{
  GstBuffer *marked;
  Flow flow;

  flow_open(&flow, CASE, "cuda");
  flow_start(&flow);
  marked = flow_frame(&flow, 0);
  GST_BUFFER_FLAG_SET(marked, GST_BUFFER_FLAG_DISCONT);
  fail_unless_equals_int(gst_harness_push(flow.harness, marked), GST_FLOW_OK);
  flow_push_all(&flow, 1, 2);
  flow_expect(&flow, 0, CASE->working, TRUE);
  flow_expect_all(&flow, 1, 2);
  gst_harness_push_upstream_event(
      flow.harness,
      gst_event_new_qos(GST_QOS_TYPE_UNDERFLOW, 1.5, 500 * GST_MSECOND, 500 * GST_MSECOND));
  flow_push(&flow, 20);
  expect_qos(flow.bus, 3, 1);
  flow_push(&flow, 30);
  flow_push(&flow, 31);
  flow_expect(&flow, 30, CASE->working, TRUE);
  flow_expect(&flow, 31, CASE->working, FALSE);
  flow_close(&flow);
}
GST_END_TEST;

GST_START_TEST(position_is_what_came_out)
{
  gint64 position;
  Flow flow;

  flow_open(&flow, CASE, "cuda");
  flow_start(&flow);
  flow_push_all(&flow, 0, 5);
  flow_expect_all(&flow, 0, 5);
  fail_unless(gst_element_query_position(flow.harness->element, GST_FORMAT_TIME, &position));
  fail_unless_equals_int64(position, 5 * (gint64)FRAME_TIME);
  flow_close(&flow);
}
GST_END_TEST;

/* ---- live sources ---- */

/* Behind a live source a frame has come out when its push returns. */
static void expect_at_once(const Flow *flow, guint frame)
{
  const guint before = gst_harness_buffers_received(flow->harness);

  flow_push(flow, frame);
  fail_unless(gst_harness_buffers_received(flow->harness) > before, "frame %u is kept", frame);
}

GST_START_TEST(live_sources_come_and_go)
{
  Flow flow;

  flow_open(&flow, CASE, "cuda");
  flow_start(&flow);
  flow_push_all(&flow, 0, 4);
  gst_harness_set_live(flow.harness, TRUE);
  gst_harness_push_upstream_event(flow.harness, gst_event_new_latency(FRAME_TIME));
  for (guint frame = 4; frame < 8; frame++)
    expect_at_once(&flow, frame);
  gst_harness_set_live(flow.harness, FALSE);
  fail_unless_equals_uint64(gst_harness_query_latency(flow.harness), 0);
  flow_push_all(&flow, 8, 4);
  flow_expect_all(&flow, 0, 12);
  flow_close(&flow);
}
GST_END_TEST;

static GstPadProbeReturn drop_latency(GstPad *pad, GstPadProbeInfo *info, gpointer unused)
{
  return GST_QUERY_TYPE(GST_PAD_PROBE_INFO_QUERY(info)) == GST_QUERY_LATENCY ? GST_PAD_PROBE_DROP
                                                                             : GST_PAD_PROBE_OK;
}

GST_START_TEST(who_does_not_answer_may_be_live)
{
  Flow flow;

  flow_open(&flow, CASE, "cuda");
  gst_pad_add_probe(flow.harness->srcpad, GST_PAD_PROBE_TYPE_QUERY_UPSTREAM, drop_latency, NULL,
                    NULL);
  flow_start(&flow);
  for (guint frame = 0; frame < 4; frame++)
    expect_at_once(&flow, frame);
  flow_close(&flow);
}
GST_END_TEST;

/* ---- small pools ---- */

/* Downstream answers that its pool, which we are to make, has at most so many frames. */
static GstPadProbeReturn limit_pool(GstPad *pad, GstPadProbeInfo *info, gpointer most)
{
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY(info);
  GstVideoInfo video;
  GstCaps *caps;

  if (GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION)
    return GST_PAD_PROBE_OK;
  gst_query_parse_allocation(query, &caps, NULL);
  fail_unless(gst_video_info_from_caps(&video, caps));
  gst_query_add_allocation_pool(query, NULL, (guint)video.size, GPOINTER_TO_UINT(most),
                                GPOINTER_TO_UINT(most));
  return GST_PAD_PROBE_HANDLED;
}

static void limit_frames(Flow *flow, guint most)
{
  gst_pad_add_probe(flow->harness->sinkpad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, limit_pool,
                    GUINT_TO_POINTER(most), NULL);
}

GST_START_TEST(small_pools_do_not_stop_the_flow)
{
  for (guint most = 1; most <= 4; most++) {
    Flow flow;

    flow_open(&flow, CASE, "cuda");
    gst_harness_set_drop_buffers(flow.harness, TRUE);
    limit_frames(&flow, most);
    flow_start(&flow);
    flow_push_all(&flow, 0, 20);
    fail_unless(gst_harness_push_event(flow.harness, gst_event_new_eos()));
    fail_unless_equals_int(gst_harness_buffers_received(flow.harness), 20);
    flow_close(&flow);
  }
}
GST_END_TEST;

static gpointer push_until_stopped(gpointer data)
{
  const Flow *flow = data;
  GstFlowReturn result = GST_FLOW_OK;

  for (guint frame = 0; result == GST_FLOW_OK; frame++)
    result = gst_harness_push(flow->harness, flow_frame(flow, frame));
  return GINT_TO_POINTER(result);
}

/* An application that keeps all frames of a pool, and then stops the pipeline. */
GST_START_TEST(null_returns_while_no_frame_is_left)
{
  static const char *const backends[] = {"cuda", "cpu"};
  const guint most = 2;

  for (guint i = 0; i < G_N_ELEMENTS(backends); i++) {
    GThread *thread;
    Flow flow;

    flow_open(&flow, CASE, backends[i]);
    limit_frames(&flow, most);
    flow_start(&flow);
    thread = g_thread_new("pushing", push_until_stopped, &flow);
    while (gst_harness_buffers_received(flow.harness) < most)
      g_usleep(1000);
    g_usleep(20000); /* time to wait for a third */
    fail_unless_equals_int(gst_element_set_state(flow.harness->element, GST_STATE_NULL),
                           GST_STATE_CHANGE_SUCCESS);
    fail_unless_equals_int(GPOINTER_TO_INT(g_thread_join(thread)), GST_FLOW_FLUSHING);
    flow_close(&flow);
  }
}
GST_END_TEST;

/* ---- ends ---- */

GST_START_TEST(starts_again_after_any_end)
{
  Flow flow;

  flow_open(&flow, CASE, "cuda");
  for (guint round = 0; round < 5; round++) {
    guint before = gst_harness_buffers_received(flow.harness);

    gst_element_set_state(flow.harness->element, GST_STATE_PLAYING);
    gst_harness_push_event(flow.harness, gst_event_new_stream_start("again"));
    flow_start(&flow);
    flow_push_all(&flow, 0, 3 + round);
    while (gst_harness_buffers_received(flow.harness) < before + round)
      g_usleep(1000);
    fail_unless_equals_int(gst_element_set_state(flow.harness->element, GST_STATE_NULL),
                           GST_STATE_CHANGE_SUCCESS);
  }
  flow_close(&flow);
}
GST_END_TEST;

/* What downstream answers reaches who pushes. */
GST_START_TEST(flow_returns_go_upstream)
{
  GstFlowReturn result = GST_FLOW_OK;
  Flow flow;

  flow_open(&flow, CASE, "cuda");
  flow_start(&flow);
  flow_push(&flow, 0);
  flow_expect(&flow, 0, CASE->working, FALSE);
  GST_PAD_SET_FLUSHING(flow.harness->sinkpad);
  for (guint frame = 1; frame < 10 && result == GST_FLOW_OK; frame++)
    result = gst_harness_push(flow.harness, flow_frame(&flow, frame));
  fail_unless_equals_int(result, GST_FLOW_FLUSHING);
  flow_close(&flow);
}
GST_END_TEST;

static void add_tests(TCase *tests)
{
  tcase_add_loop_test(tests, push_one_wait_for_one, 0, N_ELEMENTS);
  tcase_add_loop_test(tests, several_under_way, 0, N_ELEMENTS);
  tcase_add_loop_test(tests, identity_in_between, 0, N_ELEMENTS);
  tcase_add_loop_test(tests, passthrough_in_between, 0, N_ELEMENTS);
  tcase_add_loop_test(tests, events_and_queries_stay_between_their_frames, 0, N_ELEMENTS);
  tcase_add_loop_test(tests, reconfiguration_loses_nothing, 0, N_ELEMENTS);
  tcase_add_loop_test(tests, new_caps_lose_nothing, 0, N_ELEMENTS);
  tcase_add_loop_test(tests, a_flush_drops_what_is_under_way, 0, N_ELEMENTS);
  tcase_add_loop_test(tests, discont_stands_behind_dropped_frames, 0, N_ELEMENTS);
  tcase_add_loop_test(tests, position_is_what_came_out, 0, N_ELEMENTS);
  tcase_add_loop_test(tests, live_sources_come_and_go, 0, N_ELEMENTS);
  tcase_add_loop_test(tests, who_does_not_answer_may_be_live, 0, N_ELEMENTS);
  tcase_add_loop_test(tests, small_pools_do_not_stop_the_flow, 0, N_ELEMENTS);
  tcase_add_loop_test(tests, null_returns_while_no_frame_is_left, 0, N_ELEMENTS);
  tcase_add_loop_test(tests, starts_again_after_any_end, 0, N_ELEMENTS);
  tcase_add_loop_test(tests, flow_returns_go_upstream, 0, N_ELEMENTS);
}

int main(int argc, char **argv)
{
  return run_fake_device_tests(argc, argv, "device-flow", add_tests);
}
