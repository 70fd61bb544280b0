/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "baseframes.h"

#include "baseengine.h"
#include "baseoutput.h"
#include "basereport.h"
#include "basestaged.h"
#include "frames.h"

#define DEFAULT_FRAME_SECONDS 0.04 /* where neither time nor caps tell */
#define LONGEST_GAP_SECONDS   1.0  /* a longer gap between frames starts a new scene */

static GstBaseTransformClass *parent_class;

/* Frames of upstream lie in another CUDA context than ours: changes over to that one, and
 * negotiates the pool again. */
static void adopt_context(GstCudaFiltersBase *self, GstBuffer *buffer)
{
  CfStatus status = {CF_OK, ""};
  gint device_id;

  gst_cuda_filters_base_wanted_backend(self, &device_id);
  gst_cuda_filters_base_close_worker(self);
  if (gst_cuda_filters_gpu_adopt(self->gpu, buffer, device_id, &status) &&
      gst_cuda_filters_base_open_worker(self, &GST_VIDEO_FILTER(self)->in_info,
                                        &GST_VIDEO_FILTER(self)->out_info, &status))
    gst_base_transform_reconfigure_src(GST_BASE_TRANSFORM(self));
  else
    gst_cuda_filters_base_post_error(self, &status);
}

static void update_regions(GstCudaFiltersBase *self, GstBuffer *buffer)
{
  const GstVideoInfo *info = &GST_VIDEO_FILTER(self)->in_info;

  if (!self->roi)
    return;
  GST_OBJECT_LOCK(self);
  if (!self->presets_loading)
    gst_cuda_filters_regions_sync(self->roi);
  GST_OBJECT_UNLOCK(self);
  self->cover = gst_cuda_filters_regions_update(
      self->roi, GST_BASE_TRANSFORM(self), buffer, info,
      self->worker && gst_cuda_filters_worker_splits(self->worker, info, buffer), &self->regions);
  if (self->cover != GST_CUDA_FILTERS_COVER_ALL)
    gst_cuda_filters_base_check_mask(self);
}

static void gst_cuda_filters_base_before_transform(GstBaseTransform *trans, GstBuffer *buffer)
{
  GstCudaFiltersBase *self = GST_CUDA_FILTERS_BASE(trans);
  GstClockTime time;

  /* A frame that is shown for its end only, as the first after a seek may be, lies before the
   * segment. */
  if (trans->segment.format == GST_FORMAT_TIME &&
      gst_segment_to_stream_time_full(&trans->segment, GST_FORMAT_TIME,
                                      GST_BUFFER_TIMESTAMP(buffer), &time) > 0)
    gst_object_sync_values(GST_OBJECT(self), time);
  if (self->cuda_memory && self->worker && gst_cuda_filters_gpu_is_foreign(self->gpu, buffer))
    adopt_context(self, buffer);
  update_regions(self, buffer);
}

static GstFlowReturn fail(GstCudaFiltersBase *self, const CfStatus *status)
{
  gst_cuda_filters_base_post_error(self, status);
  return GST_FLOW_ERROR;
}

/* Filtering */

static gboolean run_on_cpu(GstCudaFiltersBase *self, GstBuffer *input, GstBuffer *output,
                           CfStatus *status)
{
  const GstVideoFilter *filter = GST_VIDEO_FILTER(self);
  GstCudaFiltersFrames frames;
  gboolean good;

  if (!gst_cuda_filters_frames_map(&frames, &filter->in_info, &filter->out_info, input, output, 0,
                                   status))
    return FALSE;
  good = gst_cuda_filters_worker_run(self->worker, &frames, NULL, status);
  gst_cuda_filters_frames_unmap(&frames);
  return good;
}

static GstFlowReturn gst_cuda_filters_base_transform(GstBaseTransform *trans, GstBuffer *input,
                                                     GstBuffer *output)
{
  GstCudaFiltersBase *self = GST_CUDA_FILTERS_BASE(trans);
  const GstVideoFilter *filter = GST_VIDEO_FILTER(self);
  const GstClockTime start = gst_util_get_timestamp();
  CfStatus status = {CF_OK, ""};

  if (!(self->cuda_memory ? gst_cuda_filters_gpu_run(self->gpu, self->worker, &filter->in_info,
                                                     &filter->out_info, input, output, &status)
                          : run_on_cpu(self, input, output, &status)))
    return fail(self, &status);
  gst_cuda_filters_base_count_frame(self, gst_util_get_timestamp() - start,
                                    gst_cuda_filters_worker_algorithm(self->worker));
  GST_TRACE_OBJECT(self, "filtered %" GST_PTR_FORMAT, output);
  return GST_FLOW_OK;
}

/* Order */

static gboolean gst_cuda_filters_base_sink_event(GstBaseTransform *trans, GstEvent *event)
{
  GstCudaFiltersBase *self = GST_CUDA_FILTERS_BASE(trans);
  const GstEventType type = GST_EVENT_TYPE(event);

  if (self->roi && (type == GST_EVENT_STREAM_START || type == GST_EVENT_SEGMENT))
    gst_cuda_filters_regions_forget_places(self->roi);
  if (type == GST_EVENT_FLUSH_START) {
    gst_cuda_filters_output_task_set_flushing(self->output_task, TRUE);
  } else if (type == GST_EVENT_FLUSH_STOP) {
    gst_cuda_filters_output_task_set_flushing(self->output_task, FALSE);
    self->has_last_frame = FALSE;
    gst_cuda_filters_base_reset_staged(self);
    if (self->roi)
      gst_cuda_filters_regions_reset(self->roi);
  } else if (GST_EVENT_IS_SERIALIZED(event)) {
    gst_cuda_filters_output_task_drain(self->output_task);
  }
  return parent_class->sink_event(trans, event);
}

/* A new latency may mean that a live source was added: basestaged.c asks again. */
static gboolean gst_cuda_filters_base_src_event(GstBaseTransform *trans, GstEvent *event)
{
  if (GST_EVENT_TYPE(event) == GST_EVENT_LATENCY)
    gst_cuda_filters_base_ask_for_latency(GST_CUDA_FILTERS_BASE(trans));
  return parent_class->src_event(trans, event);
}

/* Serialized queries stay between their frames, as events do. The latency is upstream's: no frame
 * waits in the element for a later one. */
static gboolean gst_cuda_filters_base_query(GstBaseTransform *trans, GstPadDirection direction,
                                            GstQuery *query)
{
  GstCudaFiltersBase *self = GST_CUDA_FILTERS_BASE(trans);
  gboolean good;

  if (direction == GST_PAD_SINK && GST_QUERY_IS_SERIALIZED(query))
    gst_cuda_filters_output_task_drain(self->output_task);
  switch (GST_QUERY_TYPE(query)) {
  case GST_QUERY_CONTEXT:
    if (gst_cuda_filters_gpu_answer_query(self->gpu, query))
      return TRUE;
    break;
  case GST_QUERY_POSITION:
    if (direction == GST_PAD_SRC && gst_cuda_filters_base_answer_position(self, query))
      return TRUE;
    break;
  case GST_QUERY_LATENCY:
    good = parent_class->query(trans, direction, query);
    if (direction == GST_PAD_SRC)
      gst_cuda_filters_base_note_latency(self, query, good);
    return good;
  default:
    break;
  }
  return parent_class->query(trans, direction, query);
}

/* Notes the frames that GstBaseTransform drops for being late. */
static GstFlowReturn gst_cuda_filters_base_submit_input_buffer(GstBaseTransform *trans,
                                                               gboolean is_discont,
                                                               GstBuffer *input)
{
  const GstFlowReturn flow = parent_class->submit_input_buffer(trans, is_discont, input);

  if (flow == GST_BASE_TRANSFORM_FLOW_DROPPED)
    GST_CUDA_FILTERS_BASE(trans)->staged.dropped = TRUE;
  return flow;
}

/* GST_FLOW_OK if `input` can be filtered, else `status` says why not. */
static GstFlowReturn check_input(GstCudaFiltersBase *self, GstBuffer *input, CfStatus *status)
{
  /* Caps came in passthrough, which the application has ended since. */
  if (!self->worker && !self->active_backend &&
      !gst_cuda_filters_base_open_worker(self, &GST_VIDEO_FILTER(self)->in_info,
                                         &GST_VIDEO_FILTER(self)->out_info, status))
    return GST_FLOW_NOT_NEGOTIATED;
  if (!self->worker) {
    cf_fail(status, CF_ERROR_FAILED, "a frame came before its caps were negotiated");
    return GST_FLOW_NOT_NEGOTIATED;
  }
  if (self->cuda_memory && gst_buffer_get_video_crop_meta(input)) {
    cf_fail(
        status, CF_ERROR_FAILED,
        "a frame in CUDA memory has a crop meta, which is supported in system memory only: crop "
        "before this element, or put cudadownload in front");
    return GST_FLOW_ERROR;
  }
  return gst_cuda_filters_base_update_params(self, status) ? GST_FLOW_OK : GST_FLOW_ERROR;
}

/* Tells the worker the time since the last frame, and whether this one starts a new scene. DISCONT
 * alone does not, since live queues and decoders set it after each frame that they lose: timestamps
 * no more than LONGEST_GAP_SECONDS apart continue a scene. */
static void note_pace(GstCudaFiltersBase *self, GstBuffer *input)
{
  const GstVideoInfo *info = &GST_VIDEO_FILTER(self)->in_info;
  const GstClockTime pts = GST_BUFFER_PTS(input), last = self->last_pts;
  const gboolean timed = self->has_last_frame && GST_CLOCK_TIME_IS_VALID(pts) &&
                         GST_CLOCK_TIME_IS_VALID(last) && pts > last;
  const gboolean discont = GST_BUFFER_FLAG_IS_SET(input, GST_BUFFER_FLAG_DISCONT);
  gdouble seconds = DEFAULT_FRAME_SECONDS;

  if (timed)
    seconds = (gdouble)(pts - last) / GST_SECOND;
  else if (GST_VIDEO_INFO_FPS_N(info) > 0)
    seconds = (gdouble)GST_VIDEO_INFO_FPS_D(info) / GST_VIDEO_INFO_FPS_N(info);
  gst_cuda_filters_worker_set_pace(self->worker, seconds,
                                   !self->has_last_frame ||
                                       (discont && !(timed && seconds <= LONGEST_GAP_SECONDS)));
  self->last_pts = pts;
  self->has_last_frame = TRUE;
}

/* With identity settings, or without regions to filter, the input passes through. Passthrough mode
 * of the base class is not used, as it would renegotiate whenever an animated parameter reaches or
 * leaves identity. */
static GstFlowReturn gst_cuda_filters_base_generate_output(GstBaseTransform *trans,
                                                           GstBuffer **output)
{
  GstCudaFiltersBase *self = GST_CUDA_FILTERS_BASE(trans);
  CfStatus status = {CF_OK, ""};
  GstFlowReturn flow;
  gboolean pass_through;

  if (!trans->queued_buf)
    return GST_FLOW_OK;
  if (gst_base_transform_is_passthrough(trans)) {
    *output = g_steal_pointer(&trans->queued_buf);
    flow = gst_cuda_filters_base_finish_staged(self);
    if (flow != GST_FLOW_OK)
      gst_clear_buffer(output);
    return flow;
  }
  flow = check_input(self, trans->queued_buf, &status);
  if (flow != GST_FLOW_OK) {
    gst_clear_buffer(&trans->queued_buf);
    gst_cuda_filters_base_post_error(self, &status);
    return flow;
  }
  pass_through = self->identity || self->cover == GST_CUDA_FILTERS_COVER_NONE;
  gst_cuda_filters_worker_set_regions(
      self->worker, self->cover == GST_CUDA_FILTERS_COVER_SOME ? &self->regions : NULL);
  note_pace(self, trans->queued_buf);
  if (gst_cuda_filters_base_is_staged(self))
    return gst_cuda_filters_base_generate_staged(self, pass_through, output);
  if (pass_through)
    return gst_cuda_filters_base_pass_through(self, g_steal_pointer(&trans->queued_buf), output);
  return parent_class->generate_output(trans, output);
}

void gst_cuda_filters_base_install_frames(GstBaseTransformClass *klass)
{
  parent_class = g_type_class_peek_parent(klass);
  klass->query = GST_DEBUG_FUNCPTR(gst_cuda_filters_base_query);
  klass->sink_event = GST_DEBUG_FUNCPTR(gst_cuda_filters_base_sink_event);
  klass->src_event = GST_DEBUG_FUNCPTR(gst_cuda_filters_base_src_event);
  klass->before_transform = GST_DEBUG_FUNCPTR(gst_cuda_filters_base_before_transform);
  klass->submit_input_buffer = GST_DEBUG_FUNCPTR(gst_cuda_filters_base_submit_input_buffer);
  klass->generate_output = GST_DEBUG_FUNCPTR(gst_cuda_filters_base_generate_output);
  klass->prepare_output_buffer = GST_DEBUG_FUNCPTR(gst_cuda_filters_base_prepare_output);
  klass->transform = GST_DEBUG_FUNCPTR(gst_cuda_filters_base_transform);
}
