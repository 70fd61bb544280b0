/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The differences between GStreamer 1.22, whose CUDA memory has no stream, and 1.24 and later,
 * whose memory and pools have a GstCudaStream.
 *
 * A stream owner (gpointer) is a GstCudaStream from 1.24 on, and our own CUDA stream before.
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

/* Formats that CUDA memory supports since 1.24, to be appended to the formats in caps. */
#if GST_CHECK_VERSION(1, 24, 0)
#define GST_CUDA_FILTERS_COMPAT_FORMATS ", Y444_10LE, P012_LE"
#else
#define GST_CUDA_FILTERS_COMPAT_FORMATS ""
#endif

/* Whether the GStreamer at run time and the one at build time are both before 1.24 or both not: the
 * ABI of the CUDA library changed in 1.24 without a new soname. */
gboolean gst_cuda_filters_compat_library_matches(void);

/* Reports that it does not match: in the plugin's status, which gst-inspect-1.0 shows from 1.24 on,
 * and in the log. A GLib warning would be printed by every process that loads the plugin. */
void gst_cuda_filters_compat_say_mismatch(GstPlugin *plugin);

/* Waits for the stream, and ends the process if that fails with an error that
 * GST_CUDA_CRITICAL_ERRORS lists, as GStreamer's own elements do from 1.24 on. The context is
 * current. */
void gst_cuda_filters_compat_check_critical(gpointer owner);

/* A new stream of `context`, which is current; NULL on failure. */
gpointer gst_cuda_filters_compat_stream_new(GstCudaContext *context, CfStatus *status);
void gst_cuda_filters_compat_stream_free(gpointer owner);
gpointer gst_cuda_filters_compat_stream_handle(gpointer owner);

/* Reference counting of GstCudaStream. Our own streams before 1.24 need none: they live as long as
 * GstCudaFiltersShared, which every user holds. */
gpointer gst_cuda_filters_compat_stream_ref(gpointer owner);
void gst_cuda_filters_compat_stream_unref(gpointer owner);

/* The owner, borrowed, of the stream that work on `memory` is ordered by. NULL: it has none, and
 * its writer has waited for the device. */
gpointer gst_cuda_filters_compat_memory_stream(GstMemory *memory);

/* The device has finished writing `memory`: readers need not synchronize. */
void gst_cuda_filters_compat_memory_is_complete(GstMemory *memory);

/* Sets the stream of `owner` in a pool's configuration, unless it has one already. */
void gst_cuda_filters_compat_config_stream(GstStructure *config, gpointer owner);

/* Fails for sizes and formats whose planes overlap in CUDA memory. */
gboolean gst_cuda_filters_compat_check_planes(const GstVideoInfo *info, CfStatus *status);
