/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * All that differs between GStreamer 1.22, whose CUDA memory knows nothing of streams, and 1.24 and
 * later, whose memory and pools carry a GstCudaStream.
 *
 * A stream owner is a GstCudaStream from 1.24 on, and a plain stream of ours before.
 */
#pragma once

#include <gst/gst.h>

#ifndef GST_USE_UNSTABLE_API
#define GST_USE_UNSTABLE_API
#endif
#if GST_CHECK_VERSION(1, 24, 0)
#include <gst/cuda/gstcuda.h>
#else
#include <gst/cuda/gstcudabufferpool.h>
#include <gst/cuda/gstcudamemory.h>
#include <gst/cuda/gstcudautils.h>
#endif

#include "status.h"

/* Formats that CUDA memory can hold since 1.24, as part of a list of caps. */
#if GST_CHECK_VERSION(1, 24, 0)
#define GST_CUDA_FILTERS_COMPAT_FORMATS ", Y444_10LE, P012_LE"
#else
#define GST_CUDA_FILTERS_COMPAT_FORMATS ""
#endif

/* Whether the library found at run time is of the side of 1.24 that this was built for: the ABI of
 * the CUDA library changed there under one soname. */
gboolean gst_cuda_filters_compat_library_matches(void);

/* Says that it is not: in the plugin's status, which gst-inspect-1.0 shows from 1.24 on, and in the
 * log. Not as a warning of GLib's, which would come in every process. */
void gst_cuda_filters_compat_say_mismatch(GstPlugin *plugin);

/* Ends the process if GST_CUDA_CRITICAL_ERRORS names what work on the stream fails with, as
 * GStreamer's own elements do from 1.24 on; waits for the stream. The context is current. */
void gst_cuda_filters_compat_check_critical(gpointer owner);

/* A stream of `context`, which is current; NULL on failure. */
gpointer gst_cuda_filters_compat_stream_new(GstCudaContext *context, CfStatus *status);
void gst_cuda_filters_compat_stream_free(gpointer owner);
gpointer gst_cuda_filters_compat_stream_handle(gpointer owner);

/* Keeps the stream until unref, whoever else lets go of it. Plain streams are not counted: there
 * are none but ours, and whoever uses one has what is shared open. */
gpointer gst_cuda_filters_compat_stream_ref(gpointer owner);
void gst_cuda_filters_compat_stream_unref(gpointer owner);

/* The owner, borrowed, of the stream that orders what is done to `memory`, or NULL: its writer has
 * waited for the device. */
gpointer gst_cuda_filters_compat_memory_stream(GstMemory *memory);

/* Tells readers of `memory` that they need not wait: the device has finished with it. */
void gst_cuda_filters_compat_memory_is_complete(GstMemory *memory);

/* Makes pools work on the stream of `owner`, unless their configuration names one already. */
void gst_cuda_filters_compat_config_stream(GstStructure *config, gpointer owner);

/* Whether frames of this size and format have planes that do not overlap. */
gboolean gst_cuda_filters_compat_check_planes(const GstVideoInfo *info, CfStatus *status);
