/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The engine for the negotiated caps, and the parameters that it runs with. Streaming thread,
 * except where noted.
 */
#pragma once

#include "basefilter.h"

/* The properties backend and cuda-device-id. Any thread. */
GstCudaFiltersBackend gst_cuda_filters_base_wanted_backend(GstCudaFiltersBase *self,
                                                           gint *device_id);

/* For start(), before caps are known: fails where backend=cuda is set but no device can be used. */
gboolean gst_cuda_filters_base_check_backend(GstCudaFiltersBase *self, CfStatus *status);

/* Whether the worker may go on with frames of these caps in the same memory: no error was posted,
 * and the properties that choose an engine were not set since it was opened. */
gboolean gst_cuda_filters_base_worker_suits(GstCudaFiltersBase *self, const GstVideoInfo *input,
                                            const GstVideoInfo *output);

/* Opens an engine for frames of `input` that become frames of `output`, in the negotiated memory;
 * closes the worker first that is open. */
gboolean gst_cuda_filters_base_open_worker(GstCudaFiltersBase *self, const GstVideoInfo *input,
                                           const GstVideoInfo *output, CfStatus *status);
void gst_cuda_filters_base_close_worker(GstCudaFiltersBase *self);

/* Gives the worker the parameters that the user set since the last frame. Values that are not
 * allowed are refused with a warning and keep their old value. Fails where the engine cannot take
 * the parameters; the next frame then tries again, and no frame passes before that succeeds. */
gboolean gst_cuda_filters_base_update_params(GstCudaFiltersBase *self, CfStatus *status);

/* Warns where the settings do not hide the regions of the current frame. */
void gst_cuda_filters_base_check_mask(GstCudaFiltersBase *self);

/* Whether the worker's engine works in device memory. */
gboolean gst_cuda_filters_base_runs_on_device(GstCudaFiltersBase *self);

/* Whether frames in system memory go through the device. */
gboolean gst_cuda_filters_base_is_staged(GstCudaFiltersBase *self);
