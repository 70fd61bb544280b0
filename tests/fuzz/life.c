/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pipeline.h"

#include <string.h>

#define PATIENCE (20 * G_USEC_PER_SEC) /* for a frame that must come */

/* The pads of ours */

/* What leaves the element, as it was then: the receiver's pool may want the buffer back. */
static GstFlowReturn take_buffer(GstPad *pad, GstObject *parent, GstBuffer *buffer)
{
  FuzzCase *self = gst_pad_get_element_private(pad);

  if (self->pool_max > 0) {
    GstBuffer *copy = gst_buffer_copy_deep(buffer);

    gst_buffer_unref(buffer);
    buffer = copy;
  }
  g_async_queue_push(self->arrived, buffer);
  return GST_FLOW_OK;
}

static void answer_allocation(FuzzCase *self, GstQuery *query)
{
  GstCaps *caps;
  GstVideoInfo info;

  gst_query_parse_allocation(query, &caps, NULL);
  if (g_atomic_int_get(&self->takes_meta))
    gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, NULL);
  if (self->pool_max > 0 && caps && gst_video_info_from_caps(&info, caps))
    gst_query_add_allocation_pool(query, NULL, (guint)info.size, self->pool_max, self->pool_max);
}

/* Anything may flow, whatever flows at present. */
static gboolean answer_caps(GstQuery *query)
{
  GstCaps *filter, *any;

  if (GST_QUERY_TYPE(query) == GST_QUERY_ACCEPT_CAPS) {
    gst_query_set_accept_caps_result(query, TRUE);
    return TRUE;
  }
  if (GST_QUERY_TYPE(query) != GST_QUERY_CAPS)
    return FALSE;
  gst_query_parse_caps(query, &filter);
  any = filter ? gst_caps_ref(filter) : gst_caps_new_any();
  gst_query_set_caps_result(query, any);
  gst_caps_unref(any);
  return TRUE;
}

static gboolean answer_sink_query(GstPad *pad, GstObject *parent, GstQuery *query)
{
  FuzzCase *self = gst_pad_get_element_private(pad);

  if (GST_QUERY_TYPE(query) == GST_QUERY_ALLOCATION) {
    answer_allocation(self, query);
    return TRUE;
  }
  return answer_caps(query) || gst_pad_query_default(pad, parent, query);
}

static gboolean answer_source_query(GstPad *pad, GstObject *parent, GstQuery *query)
{
  FuzzCase *self = gst_pad_get_element_private(pad);

  if (GST_QUERY_TYPE(query) == GST_QUERY_LATENCY) {
    gst_query_set_latency(query, g_atomic_int_get(&self->live), 0, GST_CLOCK_TIME_NONE);
    return TRUE;
  }
  return answer_caps(query) || gst_pad_query_default(pad, parent, query);
}

static gboolean take_event(GstPad *pad, GstObject *parent, GstEvent *event)
{
  gst_event_unref(event);
  return TRUE;
}

static GstPad *new_pad(FuzzCase *self, const char *name, GstPadDirection direction)
{
  GstPad *pad = gst_pad_new(name, direction);

  gst_object_ref_sink(pad);
  gst_pad_set_element_private(pad, self);
  gst_pad_set_event_function(pad, take_event);
  gst_pad_set_query_function(pad,
                             direction == GST_PAD_SINK ? answer_sink_query : answer_source_query);
  if (direction == GST_PAD_SINK)
    gst_pad_set_chain_function(pad, take_buffer);
  gst_pad_set_active(pad, TRUE);
  return pad;
}

/* The element */

static void link_element(FuzzCase *self)
{
  GstPad *in, *out;

  self->element = gst_element_factory_make(self->kind->name, NULL);
  if (!self->element)
    fuzz_case_fail(self, "no element %s", self->kind->name);
  gst_object_ref_sink(self->element);
  gst_element_set_bus(self->element, self->bus);
  g_object_set(self->element, "n-threads", 1 + fuzz_below(self, 3), NULL);
  gst_util_set_object_arg(G_OBJECT(self->element), "backend",
                          (const char *[]){"cpu", "reference", "cuda", "cuda"}[self->way]);
  in = gst_element_get_static_pad(self->element, "sink");
  out = gst_element_get_static_pad(self->element, "src");
  if (gst_pad_link(self->source, in) != GST_PAD_LINK_OK ||
      gst_pad_link(out, self->sink) != GST_PAD_LINK_OK)
    fuzz_case_fail(self, "the pads cannot be linked");
  gst_object_unref(in);
  gst_object_unref(out);
  fuzz_device_enter(self);
  fuzz_settings_new(self);
}

static void unlink_element(FuzzCase *self)
{
  GstPad *in = gst_element_get_static_pad(self->element, "sink");
  GstPad *out = gst_element_get_static_pad(self->element, "src");

  fuzz_life_set_state(self, GST_STATE_NULL);
  gst_pad_unlink(self->source, in);
  gst_pad_unlink(out, self->sink);
  gst_object_unref(in);
  gst_object_unref(out);
  gst_element_set_bus(self->element, NULL);
  fuzz_life_take_messages(self); /* which hold the element */
  if (GST_OBJECT_REFCOUNT_VALUE(self->element) != 1)
    fuzz_case_fail(self, "%d references to the element are left over",
                   GST_OBJECT_REFCOUNT_VALUE(self->element) - 1);
  gst_clear_object(&self->element);
}

void fuzz_life_new(FuzzCase *self)
{
  self->bus = gst_bus_new();
  self->arrived = g_async_queue_new_full((GDestroyNotify)gst_buffer_unref);
  self->expected = g_queue_new();
  self->source = new_pad(self, "source", GST_PAD_SRC);
  self->sink = new_pad(self, "sink", GST_PAD_SINK);
  link_element(self);
}

void fuzz_life_free(FuzzCase *self)
{
  unlink_element(self);
  gst_pad_set_active(self->source, FALSE);
  gst_pad_set_active(self->sink, FALSE);
  gst_clear_object(&self->source);
  gst_clear_object(&self->sink);
  g_async_queue_unref(self->arrived);
  g_queue_free_full(self->expected, (GDestroyNotify)fuzz_frame_free);
  gst_bus_set_flushing(self->bus, TRUE);
  gst_clear_object(&self->bus);
  g_clear_pointer(&self->said, g_free);
}

GstStateChangeReturn fuzz_life_set_state(FuzzCase *self, GstState state)
{
  GstStateChangeReturn result;

  fuzz_note(self, "state %s", gst_element_state_get_name(state));
  result = gst_element_set_state(self->element, state);
  if (state <= GST_STATE_READY) {
    if (result != GST_STATE_CHANGE_SUCCESS)
      fuzz_case_fail(self, "the element cannot be stopped");
    fuzz_masks_forget(self);
    g_clear_pointer(&self->old, g_free);
    self->discont = true;
  }
  return result;
}

/* The next element takes over in the middle of the stream. */
void fuzz_life_swap(FuzzCase *self)
{
  fuzz_note(self, "another element in its place");
  unlink_element(self);
  link_element(self);
}

/* What else flows */

void fuzz_life_segment(FuzzCase *self)
{
  GstSegment segment;

  gst_segment_init(&segment, GST_FORMAT_TIME);
  if (fuzz_one_in(self, 4))
    segment.rate = -1.0;
  segment.stop = segment.rate < 0.0 ? 100 * GST_SECOND : GST_CLOCK_TIME_NONE;
  segment.time = (guint64)fuzz_below(self, 3) * 200 * GST_MSECOND;
  fuzz_note(self, "segment at rate %g, time %" GST_TIME_FORMAT, segment.rate,
            GST_TIME_ARGS(segment.time));
  gst_pad_push_event(self->source, gst_event_new_segment(&segment));
  self->masks.backwards = segment.rate < 0.0;
  self->discont = true;
}

void fuzz_life_flush(FuzzCase *self)
{
  FuzzFrame *frame;

  fuzz_note(self, "flush");
  gst_pad_push_event(self->source, gst_event_new_flush_start());
  gst_pad_push_event(self->source, gst_event_new_flush_stop(TRUE));
  fuzz_life_collect(self, false);
  while ((frame = g_queue_pop_head(self->expected)))
    fuzz_frame_free(frame);
  fuzz_masks_forget(self);
  fuzz_life_segment(self);
}

/* Any of the events and queries behind which no frame may be held. */
void fuzz_life_drain(FuzzCase *self)
{
  GstQuery *query;

  switch (fuzz_below(self, 4)) {
  case 0:
    query = gst_query_new_drain();
    fuzz_note(self, "drain query");
    gst_pad_peer_query(self->source, query);
    gst_query_unref(query);
    break;
  case 1:
    fuzz_note(self, "gap event");
    gst_pad_push_event(self->source, gst_event_new_gap(self->clock, 40 * GST_MSECOND));
    self->clock += 40 * GST_MSECOND;
    break;
  case 2:
    fuzz_note(self, "tag event");
    gst_pad_push_event(self->source, gst_event_new_tag(gst_tag_list_new(GST_TAG_TITLE, "t", NULL)));
    break;
  default:
    fuzz_note(self, "custom event");
    gst_pad_push_event(self->source, gst_event_new_custom(GST_EVENT_CUSTOM_DOWNSTREAM,
                                                          gst_structure_new_empty("fuzz")));
    break;
  }
  fuzz_life_collect(self, true);
}

void fuzz_life_collect(FuzzCase *self, bool all)
{
  while (!g_queue_is_empty(self->expected) || !all) {
    GstBuffer *buffer = all ? g_async_queue_timeout_pop(self->arrived, PATIENCE)
                            : g_async_queue_try_pop(self->arrived);
    FuzzFrame *frame;

    if (!buffer && all)
      fuzz_case_fail(self, "%u frames do not come out, the first of them %u",
                     g_queue_get_length(self->expected),
                     ((FuzzFrame *)g_queue_peek_head(self->expected))->number);
    if (!buffer)
      return;
    frame = g_queue_pop_head(self->expected);
    if (!frame)
      fuzz_case_fail(self, "a frame comes out that was not pushed, or comes twice");
    fuzz_judge(self, frame, buffer);
    self->compared++;
    fuzz_frame_free(frame);
    gst_buffer_unref(buffer);
  }
  if (g_async_queue_length(self->arrived) > 0)
    fuzz_case_fail(self, "more frames come out than were pushed");
}

void fuzz_life_take_messages(FuzzCase *self)
{
  GstMessage *message;

  self->errors = self->warnings = 0;
  g_clear_pointer(&self->said, g_free);
  while ((message = gst_bus_pop(self->bus))) {
    GError *error = NULL;

    if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) {
      gst_message_parse_error(message, &error, NULL);
      self->errors++;
    } else if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_WARNING) {
      gst_message_parse_warning(message, &error, NULL);
      self->warnings++;
    }
    if (error) {
      fuzz_note(self, "  it says: %s", error->message);
      if (!self->said || (self->errors == 1 && GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR)) {
        g_free(self->said);
        self->said = g_strdup(error->message);
      }
    }
    g_clear_error(&error);
    gst_message_unref(message);
  }
}
