/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What an element tells of itself: errors, the log, statistics. Knows only the instance
 * (basefilter.h).
 */
#pragma once

#include "basefilter.h"

/* The log of the base class is the element's; `self` is the element. */
#define GST_CAT_DEFAULT (GST_CUDA_FILTERS_BASE_GET_CLASS(self)->category)

/* Posts `status` as an element error, once for every failure. Any thread. */
void gst_cuda_filters_base_post_error(GstCudaFiltersBase *self, const CfStatus *status);

/* Posts that there is no memory for frames to filter into; likewise. */
void gst_cuda_filters_base_post_no_frames(GstCudaFiltersBase *self);

/* Something works: the next failure is told of again. */
void gst_cuda_filters_base_forget_failure(GstCudaFiltersBase *self);

/* What active-backend says, a static string or NULL; notifies. */
void gst_cuda_filters_base_set_active_backend(GstCudaFiltersBase *self, const gchar *name);

/* Counts a frame that was filtered. Any thread. `algorithm` is an interned string. */
void gst_cuda_filters_base_count_frame(GstCudaFiltersBase *self, GstClockTime time,
                                       const gchar *algorithm);
