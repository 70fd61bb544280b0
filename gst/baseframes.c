/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the base class does with frames: three ways through an engine (the CPU, CUDA memory, and
 * system memory by way of the device), identity, and what must stay in order with them.
 */
#include "basefilter-private.h"
#include "frames.h"

static GstBaseTransformClass *parent_class;

/* Upstream's frames lie in another context than the one we found: theirs is taken over, and the
 * pool negotiated anew. */
static void change_context(GstCudaFiltersBase *self, GstBuffer *buffer)
{
  CfStatus status = {CF_OK, ""};
  gint device_id;

  gst_cuda_filters_base_wanted_backend(self, &device_id);
  gst_cuda_filters_base_close_worker(self);
  if (gst_cuda_filters_gpu_adopt(self->gpu, buffer, device_id, &status) &&
      gst_cuda_filters_base_open_worker(self, &GST_VIDEO_FILTER(self)->in_info, &status))
    gst_base_transform_reconfigure_src(GST_BASE_TRANSFORM(self));
  else
    gst_cuda_filters_base_post_error(self, &status);
}

static void look_for_regions(GstCudaFiltersBase *self, GstBuffer *buffer)
{
  if (!self->roi)
    return;
  GST_OBJECT_LOCK(self);
  gst_cuda_filters_regions_sync(self->roi);
  GST_OBJECT_UNLOCK(self);
  self->cover = gst_cuda_filters_regions_look(self->roi, buffer, &GST_VIDEO_FILTER(self)->in_info,
                                              &self->regions);
  if (gst_cuda_filters_regions_seem_lost(self->roi))
    GST_ELEMENT_WARNING(
        self, STREAM, FAILED, ("no region of interest has come with the frames so far"),
        ("roi-mode is set, but no frame has a region that roi-types accepts. Converters, scalers "
         "and cudaupload drop regions: put the detector right before this element, or behind "
         "cudaupload. roi-missing=cover covers such frames."));
}

static void gst_cuda_filters_base_before_transform(GstBaseTransform *trans, GstBuffer *buffer)
{
  GstCudaFiltersBase *self = GST_CUDA_FILTERS_BASE(trans);
  const GstClockTime time =
      gst_segment_to_stream_time(&trans->segment, GST_FORMAT_TIME, GST_BUFFER_TIMESTAMP(buffer));

  if (GST_CLOCK_TIME_IS_VALID(time))
    gst_object_sync_values(GST_OBJECT(self), time);
  if (self->cuda_memory && self->worker && gst_cuda_filters_gpu_is_foreign(self->gpu, buffer))
    change_context(self, buffer);
  look_for_regions(self, buffer);
}

static gboolean all_memory_is_writable(GstBuffer *buffer)
{
  return gst_buffer_is_writable(buffer) && gst_buffer_is_all_memory_writable(buffer);
}

static GstFlowReturn fail(GstCudaFiltersBase *self, const CfStatus *status)
{
  gst_cuda_filters_base_post_error(self, status);
  return GST_FLOW_ERROR;
}

/* The parent activates the pool too, but says no more than that it failed, and nothing at all where
 * the pool has no frame to give. */
static GstFlowReturn take_output_from_pool(GstCudaFiltersBase *self, GstBuffer *input,
                                           GstBuffer **output)
{
  GstBaseTransform *trans = GST_BASE_TRANSFORM(self);
  GstBufferPool *pool = gst_base_transform_get_buffer_pool(trans);
  GstFlowReturn flow = GST_FLOW_ERROR;

  if (!pool || gst_buffer_pool_set_active(pool, TRUE))
    flow = parent_class->prepare_output_buffer(trans, input, output);
  gst_clear_object(&pool);
  if (flow == GST_FLOW_ERROR)
    gst_cuda_filters_base_post_no_frames(self);
  return flow;
}

static GstFlowReturn gst_cuda_filters_base_prepare_output_buffer(GstBaseTransform *trans,
                                                                 GstBuffer *input,
                                                                 GstBuffer **output)
{
  GstCudaFiltersBase *self = GST_CUDA_FILTERS_BASE(trans);

  /* Frames that cross the bus return into page-locked ones. */
  const gboolean staged = gst_cuda_filters_base_runs_on_device(self) && !self->cuda_memory;

  if (self->worker && gst_cuda_filters_worker_engine(self->worker)->in_place && !staged &&
      all_memory_is_writable(input)) {
    *output = input;
    return GST_FLOW_OK;
  }
  return take_output_from_pool(self, input, output);
}

static void count_frame(GstCudaFiltersBase *self, GstClockTime time)
{
  self->failed = self->starved = FALSE;
  GST_OBJECT_LOCK(self);
  self->frames++;
  self->total_time += time;
  self->last_time = time;
  self->algorithm = gst_cuda_filters_worker_algorithm(self->worker);
  GST_OBJECT_UNLOCK(self);
}

static gboolean run_on_cpu(GstCudaFiltersBase *self, GstBuffer *input, GstBuffer *output,
                           CfStatus *status)
{
  const GstVideoInfo *info = &GST_VIDEO_FILTER(self)->in_info;
  const gboolean in_place = input == output;
  GstVideoFrame source, destination;
  gboolean good;

  if (!gst_cuda_filters_frame_map(&source, info, input, in_place ? GST_MAP_READWRITE : GST_MAP_READ,
                                  status))
    return FALSE;
  if (!in_place && !gst_cuda_filters_frame_map(&destination, info, output, GST_MAP_WRITE, status)) {
    gst_video_frame_unmap(&source);
    return FALSE;
  }
  good = gst_cuda_filters_worker_run(self->worker, &source, in_place ? &source : &destination, NULL,
                                     status);
  if (!in_place)
    gst_video_frame_unmap(&destination);
  gst_video_frame_unmap(&source);
  return good;
}

static GstFlowReturn gst_cuda_filters_base_transform(GstBaseTransform *trans, GstBuffer *input,
                                                     GstBuffer *output)
{
  GstCudaFiltersBase *self = GST_CUDA_FILTERS_BASE(trans);
  const GstClockTime start = gst_util_get_timestamp();
  CfStatus status = {CF_OK, ""};

  if (!(self->cuda_memory
            ? gst_cuda_filters_gpu_run(self->gpu, self->worker, &GST_VIDEO_FILTER(self)->in_info,
                                       input, output, &status)
            : run_on_cpu(self, input, output, &status)))
    return fail(self, &status);
  count_frame(self, gst_util_get_timestamp() - start);
  GST_TRACE_OBJECT(self, "filtered %" GST_PTR_FORMAT, output);
  return GST_FLOW_OK;
}

/* Frames in system memory through the device */

static GstFlowReturn finish_oldest(GstCudaFiltersBase *self, GstBuffer **output)
{
  CfStatus status = {CF_OK, ""};
  GstClockTime time;

  *output = gst_cuda_filters_gpu_finish_system(self->gpu, &time, &status);
  if (!*output)
    return fail(self, &status);
  count_frame(self, time);
  return GST_FLOW_OK;
}

static GstFlowReturn generate_staged(GstCudaFiltersBase *self, GstBuffer **output)
{
  GstBaseTransform *trans = GST_BASE_TRANSFORM(self);
  GstBuffer *input = g_steal_pointer(&trans->queued_buf), *filtered = NULL;
  CfStatus status = {CF_OK, ""};
  GstFlowReturn flow;
  guint64 limit;

  if (!input)
    return GST_FLOW_OK;
  flow = GST_BASE_TRANSFORM_GET_CLASS(trans)->prepare_output_buffer(trans, input, &filtered);
  if (flow != GST_FLOW_OK) {
    gst_buffer_unref(input);
    return flow;
  }
  GST_OBJECT_LOCK(self);
  limit = self->max_device_memory;
  GST_OBJECT_UNLOCK(self);
  if (!gst_cuda_filters_gpu_submit_system(self->gpu, self->worker, &GST_VIDEO_FILTER(self)->in_info,
                                          limit, input, filtered, &status))
    return fail(self, &status);
  if (self->overlaps &&
      gst_cuda_filters_gpu_under_way(self->gpu) < GST_CUDA_FILTERS_GPU_MAX_UNDER_WAY)
    return GST_FLOW_OK;
  return finish_oldest(self, output);
}

/* Pushes what is under way, so that what comes next stays behind it. */
static GstFlowReturn drain(GstCudaFiltersBase *self)
{
  GstFlowReturn flow = GST_FLOW_OK;

  while (flow == GST_FLOW_OK && gst_cuda_filters_gpu_under_way(self->gpu) > 0) {
    GstBuffer *output;

    flow = finish_oldest(self, &output);
    if (flow == GST_FLOW_OK)
      flow = gst_pad_push(GST_BASE_TRANSFORM_SRC_PAD(self), output);
  }
  return flow;
}

static gboolean gst_cuda_filters_base_sink_event(GstBaseTransform *trans, GstEvent *event)
{
  GstCudaFiltersBase *self = GST_CUDA_FILTERS_BASE(trans);

  if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP) {
    if (gst_cuda_filters_gpu_under_way(self->gpu) > 0)
      gst_cuda_filters_gpu_wait(self->gpu);
    if (self->roi)
      gst_cuda_filters_regions_reset(self->roi);
  } else if (GST_EVENT_IS_SERIALIZED(event)) {
    drain(self);
  }
  return parent_class->sink_event(trans, event);
}

static gboolean gst_cuda_filters_base_query(GstBaseTransform *trans, GstPadDirection direction,
                                            GstQuery *query)
{
  GstCudaFiltersBase *self = GST_CUDA_FILTERS_BASE(trans);

  if (GST_QUERY_TYPE(query) == GST_QUERY_CONTEXT &&
      gst_cuda_filters_gpu_answer_query(self->gpu, query))
    return TRUE;
  if (GST_QUERY_TYPE(query) == GST_QUERY_DRAIN)
    drain(self);
  return parent_class->query(trans, direction, query);
}

static gboolean passes_on(const GstCudaFiltersBase *self)
{
  return self->identity || self->cover == GST_CUDA_FILTERS_COVER_NONE;
}

/* Identity settings, and regions that are nowhere, hand the input on. Passthrough mode of the base
 * class would renegotiate whenever an animated parameter comes to or leaves identity. */
static GstFlowReturn gst_cuda_filters_base_generate_output(GstBaseTransform *trans,
                                                           GstBuffer **output)
{
  GstCudaFiltersBase *self = GST_CUDA_FILTERS_BASE(trans);
  CfStatus status = {CF_OK, ""};

  if (trans->queued_buf && !self->worker) {
    gst_clear_buffer(&trans->queued_buf);
    cf_fail(&status, CF_ERROR_FAILED, "a frame came before caps that could be negotiated");
    gst_cuda_filters_base_post_error(self, &status);
    return GST_FLOW_NOT_NEGOTIATED;
  }
  if (trans->queued_buf && !gst_cuda_filters_base_update_params(self, &status)) {
    gst_clear_buffer(&trans->queued_buf);
    return fail(self, &status);
  }
  if (passes_on(self) && gst_cuda_filters_gpu_under_way(self->gpu) > 0)
    return finish_oldest(self, output);
  if (passes_on(self)) {
    *output = g_steal_pointer(&trans->queued_buf);
    if (*output && self->cuda_memory &&
        !gst_cuda_filters_gpu_hand_on(self->gpu, *output, &status)) {
      gst_clear_buffer(output);
      return fail(self, &status);
    }
    return GST_FLOW_OK;
  }
  gst_cuda_filters_worker_set_regions(
      self->worker, self->cover == GST_CUDA_FILTERS_COVER_SOME ? &self->regions : NULL);
  if (gst_cuda_filters_base_runs_on_device(self) && !self->cuda_memory)
    return generate_staged(self, output);
  return parent_class->generate_output(trans, output);
}

void gst_cuda_filters_base_install_frames(GstBaseTransformClass *klass)
{
  parent_class = g_type_class_peek_parent(klass);
  klass->query = GST_DEBUG_FUNCPTR(gst_cuda_filters_base_query);
  klass->sink_event = GST_DEBUG_FUNCPTR(gst_cuda_filters_base_sink_event);
  klass->before_transform = GST_DEBUG_FUNCPTR(gst_cuda_filters_base_before_transform);
  klass->generate_output = GST_DEBUG_FUNCPTR(gst_cuda_filters_base_generate_output);
  klass->prepare_output_buffer = GST_DEBUG_FUNCPTR(gst_cuda_filters_base_prepare_output_buffer);
  klass->transform = GST_DEBUG_FUNCPTR(gst_cuda_filters_base_transform);
}
