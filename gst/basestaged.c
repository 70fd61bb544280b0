/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basestaged.h"

#include "baseoutput.h"
#include "basereport.h"

/* Counting */

static void note_submitted(GstCudaFiltersBase *self)
{
  const gchar *algorithm = gst_cuda_filters_worker_algorithm(self->worker);

  GST_OBJECT_LOCK(self);
  self->staged.algorithm = algorithm;
  self->staged.in_flight++;
  GST_OBJECT_UNLOCK(self);
}

/* Returns what the frame was filtered with. */
static const gchar *note_finished(GstCudaFiltersBase *self)
{
  const gchar *algorithm;

  GST_OBJECT_LOCK(self);
  self->staged.in_flight--;
  algorithm = self->staged.algorithm;
  GST_OBJECT_UNLOCK(self);
  return algorithm;
}

static void note_pushed(GstCudaFiltersBase *self, GstBuffer *buffer)
{
  const GstSegment *segment = &GST_BASE_TRANSFORM(self)->segment;
  GstClockTime position = GST_BUFFER_TIMESTAMP(buffer);

  if (GST_CLOCK_TIME_IS_VALID(position) && GST_BUFFER_DURATION_IS_VALID(buffer))
    position += GST_BUFFER_DURATION(buffer);
  GST_OBJECT_LOCK(self);
  self->staged.pushed++;
  if (GST_CLOCK_TIME_IS_VALID(position) && segment->format == GST_FORMAT_TIME)
    self->staged.position = position;
  GST_OBJECT_UNLOCK(self);
}

void gst_cuda_filters_base_reset_staged(GstCudaFiltersBase *self)
{
  GST_OBJECT_LOCK(self);
  self->staged.pushed = 0;
  self->staged.position = GST_CLOCK_TIME_NONE;
  GST_OBJECT_UNLOCK(self);
  self->staged.dropped = FALSE;
}

gboolean gst_cuda_filters_base_answer_position(GstCudaFiltersBase *self, GstQuery *query)
{
  const GstSegment *segment = &GST_BASE_TRANSFORM(self)->segment;
  GstClockTime position;
  GstFormat format;

  gst_query_parse_position(query, &format, NULL);
  GST_OBJECT_LOCK(self);
  position = self->staged.position;
  GST_OBJECT_UNLOCK(self);
  if (format != GST_FORMAT_TIME || segment->format != GST_FORMAT_TIME ||
      !GST_CLOCK_TIME_IS_VALID(position))
    return FALSE;
  gst_query_set_position(query, format,
                         (gint64)gst_segment_to_stream_time(segment, GST_FORMAT_TIME, position));
  return TRUE;
}

void gst_cuda_filters_base_count_in_message(GstCudaFiltersBase *self, GstMessage *message)
{
  guint64 processed, dropped;
  GstFormat format;

  gst_message_parse_qos_stats(message, &format, &processed, &dropped);
  GST_OBJECT_LOCK(self);
  processed += self->staged.pushed;
  GST_OBJECT_UNLOCK(self);
  gst_message_set_qos_stats(message, format, processed, dropped);
}

/* Live sources */

void gst_cuda_filters_base_note_latency(GstCudaFiltersBase *self, GstQuery *query, gboolean good)
{
  gboolean live = TRUE; /* without an answer, to be safe */

  if (good)
    gst_query_parse_latency(query, &live, NULL, NULL);
  g_atomic_int_set(&self->staged.upstream_is_live, live);
}

static gboolean upstream_is_live(GstCudaFiltersBase *self)
{
  if (g_atomic_int_compare_and_exchange(&self->staged.ask_for_latency, TRUE, FALSE)) {
    GstQuery *query = gst_query_new_latency();

    gst_cuda_filters_base_note_latency(
        self, query, gst_pad_peer_query(GST_BASE_TRANSFORM_SINK_PAD(self), query));
    gst_query_unref(query);
  }
  return g_atomic_int_get(&self->staged.upstream_is_live);
}

void gst_cuda_filters_base_ask_for_latency(GstCudaFiltersBase *self)
{
  g_atomic_int_set(&self->staged.ask_for_latency, TRUE);
}

/* Frames */

static GstFlowReturn push(GstCudaFiltersBase *self, GstBuffer *output)
{
  note_pushed(self, output);
  return gst_pad_push(GST_BASE_TRANSFORM_SRC_PAD(self), output);
}

static GstFlowReturn finish_oldest_frame(GstCudaFiltersBase *self, GstBuffer **output)
{
  CfStatus status = {CF_OK, ""};
  const gchar *algorithm;
  GstClockTime time;

  *output = gst_cuda_filters_gpu_finish_system(self->gpu, &time, &status);
  algorithm = note_finished(self);
  if (!*output) {
    gst_cuda_filters_base_post_error(self, &status);
    return GST_FLOW_ERROR;
  }
  gst_cuda_filters_base_count_frame(self, time, algorithm);
  return GST_FLOW_OK;
}

GstFlowReturn gst_cuda_filters_base_deliver(gpointer base, gboolean discard)
{
  GstCudaFiltersBase *self = base;
  GstBuffer *output;
  const GstFlowReturn flow = finish_oldest_frame(self, &output);

  if (flow == GST_FLOW_OK && discard) {
    gst_buffer_unref(output);
    return GST_FLOW_FLUSHING;
  }
  return flow == GST_FLOW_OK ? push(self, output) : flow;
}

GstFlowReturn gst_cuda_filters_base_finish_staged(GstCudaFiltersBase *self)
{
  const GstFlowReturn flow = gst_cuda_filters_output_task_wait_for_room(self->output_task, 1);

  GST_OBJECT_LOCK(self);
  self->staged.position = GST_CLOCK_TIME_NONE;
  GST_OBJECT_UNLOCK(self);
  return flow;
}

/* Sets DISCONT on the first frame after a dropped one; `buffer` is transfer full. */
static GstBuffer *mark_discont(GstCudaFiltersBase *self, GstBuffer *buffer)
{
  if (self->staged.dropped && !GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_DISCONT)) {
    buffer = gst_buffer_make_writable(buffer);
    GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_DISCONT);
  }
  self->staged.dropped = FALSE;
  return buffer;
}

/* `input` is transfer full. */
static GstFlowReturn submit(GstCudaFiltersBase *self, GstBuffer *input)
{
  GstBaseTransform *trans = GST_BASE_TRANSFORM(self);
  const GstVideoFilter *filter = GST_VIDEO_FILTER(self);
  CfStatus status = {CF_OK, ""};
  GstBuffer *output = NULL;
  GstFlowReturn flow;
  guint64 limit;

  flow = GST_BASE_TRANSFORM_GET_CLASS(trans)->prepare_output_buffer(trans, input, &output);
  if (flow != GST_FLOW_OK) {
    gst_buffer_unref(input);
    return flow;
  }
  output = mark_discont(self, output);
  GST_OBJECT_LOCK(self);
  limit = self->max_device_memory;
  GST_OBJECT_UNLOCK(self);
  if (!gst_cuda_filters_gpu_submit_system(self->gpu, self->worker, &filter->in_info,
                                          &filter->out_info, limit, input, output, &status)) {
    gst_cuda_filters_base_post_error(self, &status);
    return GST_FLOW_ERROR;
  }
  note_submitted(self);
  return GST_FLOW_OK;
}

GstFlowReturn gst_cuda_filters_base_generate_staged(GstCudaFiltersBase *self, gboolean pass_through,
                                                    GstBuffer **output)
{
  GstBaseTransform *trans = GST_BASE_TRANSFORM(self);
  GstBuffer *input = g_steal_pointer(&trans->queued_buf);
  const gboolean pulled = GST_PAD_MODE(GST_BASE_TRANSFORM_SRC_PAD(self)) == GST_PAD_MODE_PULL;
  const gboolean overlap = !pass_through && !pulled && !upstream_is_live(self);
  GstFlowReturn flow;

  if (!input)
    return GST_FLOW_OK;
  flow = pulled ? GST_FLOW_OK
                : gst_cuda_filters_output_task_wait_for_room(
                      self->output_task, overlap ? GST_CUDA_FILTERS_GPU_MAX_IN_FLIGHT : 1);
  if (flow != GST_FLOW_OK) {
    gst_buffer_unref(input);
    return flow;
  }
  if (!pass_through)
    flow = submit(self, input);
  else
    flow = gst_cuda_filters_base_pass_through(self, mark_discont(self, input), output);
  if (flow == GST_FLOW_OK && overlap) {
    gst_cuda_filters_output_task_submitted(self->output_task);
    return GST_FLOW_OK;
  }
  if (flow == GST_FLOW_OK && !pass_through)
    flow = finish_oldest_frame(self, output);
  if (flow != GST_FLOW_OK || pulled)
    return flow;
  return push(self, g_steal_pointer(output));
}
