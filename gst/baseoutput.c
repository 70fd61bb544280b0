/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "baseoutput.h"

#include "baseengine.h"
#include "basereport.h"
#include "frames.h"

static GstBaseTransformClass *parent_class(void)
{
  return GST_BASE_TRANSFORM_CLASS(g_type_class_peek(GST_TYPE_VIDEO_FILTER));
}

/* Layouts */

/* Whether downstream can read the layout of `buffer`, by what it offered in the allocation query.
 * All elements on CUDA memory read the video meta, which has its pitch. */
static gboolean suits_receiver(const GstCudaFiltersBase *self, GstBuffer *buffer)
{
  if (self->cuda_memory)
    return TRUE;
  if (self->receiver_reads_video_meta)
    return self->receiver_reads_crop_meta || !gst_buffer_get_video_crop_meta(buffer);
  return gst_cuda_filters_frame_is_plain(buffer, &GST_VIDEO_FILTER(self)->out_info);
}

static gboolean may_write_in_place(const GstCudaFiltersBase *self, GstBuffer *buffer)
{
  return gst_buffer_is_writable(buffer) && gst_buffer_is_all_memory_writable(buffer) &&
         !gst_buffer_get_video_crop_meta(buffer) && suits_receiver(self, buffer);
}

/* Buffers */

/* Replaces `output`, which has padding, by a buffer without. */
static GstFlowReturn replace_by_plain_output(GstCudaFiltersBase *self, GstBuffer *input,
                                             GstBuffer **output)
{
  GstBaseTransform *trans = GST_BASE_TRANSFORM(self);

  gst_buffer_unref(*output);
  *output =
      gst_buffer_new_allocate(NULL, GST_VIDEO_INFO_SIZE(&GST_VIDEO_FILTER(self)->out_info), NULL);
  if (!*output)
    return GST_FLOW_ERROR;
  if (!GST_BASE_TRANSFORM_GET_CLASS(trans)->copy_metadata(trans, input, *output))
    GST_WARNING_OBJECT(self, "metadata of %" GST_PTR_FORMAT " is lost", input);
  return GST_FLOW_OK;
}

/* The parent activates the pool too, but posts no cause where that fails, and nothing where the
 * pool has no buffer. */
static GstFlowReturn take_output_from_pool(GstCudaFiltersBase *self, GstBuffer *input,
                                           GstBuffer **output)
{
  GstBaseTransform *trans = GST_BASE_TRANSFORM(self);
  GstBufferPool *pool = gst_base_transform_get_buffer_pool(trans);
  GstFlowReturn flow = GST_FLOW_ERROR;

  if (!pool || gst_buffer_pool_set_active(pool, TRUE))
    flow = parent_class()->prepare_output_buffer(trans, input, output);
  gst_clear_object(&pool);
  if (flow == GST_FLOW_OK && !suits_receiver(self, *output))
    flow = replace_by_plain_output(self, input, output);
  if (flow == GST_FLOW_ERROR)
    gst_cuda_filters_base_post_no_frames(self);
  return flow;
}

GstFlowReturn gst_cuda_filters_base_prepare_output(GstBaseTransform *trans, GstBuffer *input,
                                                   GstBuffer **output)
{
  GstCudaFiltersBase *self = GST_CUDA_FILTERS_BASE(trans);

  /* Staged frames need a page-locked output from the pool. */
  if (self->worker && gst_cuda_filters_worker_works_in_place(self->worker) &&
      !gst_cuda_filters_base_is_staged(self) && may_write_in_place(self, input)) {
    *output = input;
    return GST_FLOW_OK;
  }
  return take_output_from_pool(self, input, output);
}

GstFlowReturn gst_cuda_filters_base_pass_through(GstCudaFiltersBase *self, GstBuffer *input,
                                                 GstBuffer **output)
{
  CfStatus status = {CF_OK, ""};
  GstFlowReturn flow;

  if (suits_receiver(self, input)) {
    *output = input;
    if (!self->cuda_memory || gst_cuda_filters_gpu_prepare_pass_through(self->gpu, input, &status))
      return GST_FLOW_OK;
    gst_clear_buffer(output);
    gst_cuda_filters_base_post_error(self, &status);
    return GST_FLOW_ERROR;
  }
  flow = take_output_from_pool(self, input, output);
  if (flow == GST_FLOW_OK &&
      !gst_cuda_filters_frame_copy(*output, input, &GST_VIDEO_FILTER(self)->in_info, &status)) {
    gst_clear_buffer(output);
    gst_cuda_filters_base_post_error(self, &status);
    flow = GST_FLOW_ERROR;
  }
  gst_buffer_unref(input);
  return flow;
}
