/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Errors, the log category and statistics of an element.
 */
#pragma once

#include "basefilter.h"

/* The base class logs to the category of the element, `self`. */
#define GST_CAT_DEFAULT (GST_CUDA_FILTERS_BASE_GET_CLASS(self)->category)

/* Posts `status` as an element error, unless the same failure was posted already. Any thread. */
void gst_cuda_filters_base_post_error(GstCudaFiltersBase *self, const CfStatus *status);

/* Likewise posts that there is no memory for an output frame. */
void gst_cuda_filters_base_post_no_frames(GstCudaFiltersBase *self);

/* After success: the next failure is posted again. */
void gst_cuda_filters_base_clear_failure(GstCudaFiltersBase *self);

/* Sets the property active-backend to `name`, a static string or NULL, and notifies. */
void gst_cuda_filters_base_set_active_backend(GstCudaFiltersBase *self, const gchar *name);

/* Adds a filtered frame to the statistics. Any thread. `algorithm` is an interned string. */
void gst_cuda_filters_base_count_frame(GstCudaFiltersBase *self, GstClockTime time,
                                       const gchar *algorithm);
