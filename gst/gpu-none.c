/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gpu.h for builds without CUDA: no GPU is there.
 */
#include "gpu.h"

void gst_cuda_filters_gpu_init(GstPlugin *plugin)
{
}

GstCaps *gst_cuda_filters_gpu_caps(void)
{
  return NULL;
}

gboolean gst_cuda_filters_gpu_caps_are_cuda(const GstCaps *caps)
{
  return FALSE;
}

GstCudaFiltersGpu *gst_cuda_filters_gpu_new(GstElement *element)
{
  return NULL;
}

void gst_cuda_filters_gpu_free(GstCudaFiltersGpu *gpu)
{
}

void gst_cuda_filters_gpu_set_context(GstCudaFiltersGpu *gpu, GstContext *context, gint device_id)
{
}

gboolean gst_cuda_filters_gpu_answer_query(GstCudaFiltersGpu *gpu, GstQuery *query)
{
  return FALSE;
}

void gst_cuda_filters_gpu_share_context(GstCudaFiltersGpu *gpu)
{
}

gboolean gst_cuda_filters_gpu_open(GstCudaFiltersGpu *gpu, gint device_id, CfStatus *status)
{
  return cf_fail(status, CF_ERROR_NO_DEVICE, "this plugin was built without CUDA");
}

void gst_cuda_filters_gpu_close(GstCudaFiltersGpu *gpu)
{
}

void gst_cuda_filters_gpu_wait(GstCudaFiltersGpu *gpu)
{
}

gboolean gst_cuda_filters_gpu_is_foreign(GstCudaFiltersGpu *gpu, GstBuffer *buffer)
{
  return FALSE;
}

/* The functions below are called only after a successful open. */

gboolean gst_cuda_filters_gpu_adopt(GstCudaFiltersGpu *gpu, GstBuffer *buffer, gint device_id,
                                    CfStatus *status)
{
  g_return_val_if_reached(FALSE);
}

gboolean gst_cuda_filters_gpu_enter(GstCudaFiltersGpu *gpu, CfStatus *status)
{
  g_return_val_if_reached(FALSE);
}

void gst_cuda_filters_gpu_leave(GstCudaFiltersGpu *gpu)
{
}

CfDevice *gst_cuda_filters_gpu_device(GstCudaFiltersGpu *gpu)
{
  return NULL;
}

gboolean gst_cuda_filters_gpu_check_info(const GstVideoInfo *info, CfStatus *status)
{
  g_return_val_if_reached(FALSE);
}

gboolean gst_cuda_filters_gpu_propose_allocation(GstCudaFiltersGpu *gpu, GstQuery *query)
{
  g_return_val_if_reached(FALSE);
}

gboolean gst_cuda_filters_gpu_decide_allocation(GstCudaFiltersGpu *gpu, GstQuery *query)
{
  g_return_val_if_reached(FALSE);
}

gboolean gst_cuda_filters_gpu_propose_system_allocation(GstCudaFiltersGpu *gpu, GstQuery *query)
{
  g_return_val_if_reached(FALSE);
}

gboolean gst_cuda_filters_gpu_decide_system_allocation(GstCudaFiltersGpu *gpu, GstQuery *query)
{
  g_return_val_if_reached(FALSE);
}

gboolean gst_cuda_filters_gpu_run(GstCudaFiltersGpu *gpu, GstCudaFiltersWorker *worker,
                                  const GstVideoInfo *in_info, const GstVideoInfo *out_info,
                                  GstBuffer *input, GstBuffer *output, CfStatus *status)
{
  g_return_val_if_reached(FALSE);
}

gboolean gst_cuda_filters_gpu_prepare_pass_through(GstCudaFiltersGpu *gpu, GstBuffer *buffer,
                                                   CfStatus *status)
{
  g_return_val_if_reached(FALSE);
}

gboolean gst_cuda_filters_gpu_submit_system(GstCudaFiltersGpu *gpu, GstCudaFiltersWorker *worker,
                                            const GstVideoInfo *in_info,
                                            const GstVideoInfo *out_info, guint64 limit,
                                            GstBuffer *input, GstBuffer *output, CfStatus *status)
{
  g_return_val_if_reached(FALSE);
}

GstBuffer *gst_cuda_filters_gpu_finish_system(GstCudaFiltersGpu *gpu, GstClockTime *time,
                                              CfStatus *status)
{
  g_return_val_if_reached(NULL);
}

void gst_cuda_filters_gpu_check_critical(GstCudaFiltersGpu *gpu)
{
}
