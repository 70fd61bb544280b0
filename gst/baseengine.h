/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The engine of the negotiated caps and the parameters it runs with. Streaming thread, unless it
 * says otherwise. Knows baserefusals.h and basereport.h.
 */
#pragma once

#include "basefilter.h"

/* What the user asked for. Any thread. */
GstCudaFiltersBackend gst_cuda_filters_base_wanted_backend(GstCudaFiltersBase *self,
                                                           gint *device_id);

/* Before there are caps: fails where backend=cuda cannot be. */
gboolean gst_cuda_filters_base_check_backend(GstCudaFiltersBase *self, CfStatus *status);

/* Opens the engine for what comes in and goes out and the memory negotiated; a worker that is open
 * is closed first. */
gboolean gst_cuda_filters_base_open_worker(GstCudaFiltersBase *self, const GstVideoInfo *input,
                                           const GstVideoInfo *output, CfStatus *status);
void gst_cuda_filters_base_close_worker(GstCudaFiltersBase *self);

/* Takes over what the user set since the last frame, but for what cannot be: that is refused with a
 * warning, and its old value stays. Fails only where the engine does; then the settings are tried
 * again with every frame, and none passes until they work. */
gboolean gst_cuda_filters_base_update_params(GstCudaFiltersBase *self, CfStatus *status);

/* Warns where what the settings make of the regions of the frame at hand hides nothing. */
void gst_cuda_filters_base_check_mask(GstCudaFiltersBase *self);

/* Whether the worker's engine works in device memory. */
gboolean gst_cuda_filters_base_runs_on_device(GstCudaFiltersBase *self);

/* Whether frames in system memory go through the device. */
gboolean gst_cuda_filters_base_is_staged(GstCudaFiltersBase *self);
