/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The element message `cudafilters-coverage`: what regions cover of a frame, whenever that changes.
 * All of it belongs to the streaming thread.
 */
#pragma once

#include <gst/base/gstbasetransform.h>
#include <gst/video/video.h>

#include "regions.h"

typedef struct {
  guint regions;    /* objects and fixed regions that reach into the frame */
  guint held;       /* of these, objects of an earlier frame */
  gboolean missing; /* no object is known */
  gdouble covered;  /* share 0..1 of the frame's pixels */
} GstCudaFiltersCoverage;

typedef struct _GstCudaFiltersCoverageMessage GstCudaFiltersCoverageMessage;

GstCudaFiltersCoverageMessage *gst_cuda_filters_coverage_message_new(void);
void gst_cuda_filters_coverage_message_free(GstCudaFiltersCoverageMessage *self);

/* The next frame counts as changed. */
void gst_cuda_filters_coverage_message_reset(GstCudaFiltersCoverageMessage *self);

/* Works out `coverage->covered` of what `regions` cover of a frame, and posts all as a message of
 * `element` if it is not as it was for the frame before. */
void gst_cuda_filters_coverage_message_post(GstCudaFiltersCoverageMessage *self,
                                            GstBaseTransform *element, GstBuffer *buffer,
                                            const GstVideoInfo *info, const CfRegions *regions,
                                            GstCudaFiltersCoverage coverage);
