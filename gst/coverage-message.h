/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The element message `cudafilters-coverage`: how much of a frame the regions cover, posted
 * whenever that changes. Streaming thread.
 */
#pragma once

#include <gst/base/gstbasetransform.h>
#include <gst/video/video.h>

#include "regions.h"

typedef struct {
  guint regions;    /* number of objects and fixed regions that reach into the frame */
  guint held;       /* how many of them are objects of an earlier frame (roi-hold) */
  gboolean missing; /* there is no object, detected or held */
  gdouble covered;  /* share 0..1 of the frame's pixels */
} GstCudaFiltersCoverage;

typedef struct _GstCudaFiltersCoverageMessage GstCudaFiltersCoverageMessage;

GstCudaFiltersCoverageMessage *gst_cuda_filters_coverage_message_new(void);
void gst_cuda_filters_coverage_message_free(GstCudaFiltersCoverageMessage *self);

/* Makes the next frame post a message, changed or not. */
void gst_cuda_filters_coverage_message_reset(GstCudaFiltersCoverageMessage *self);

/* Computes `coverage.covered` from `regions`, and posts the message from `element` if anything
 * differs from the last one. With `fields` the frame is filtered field by field. */
void gst_cuda_filters_coverage_message_post(GstCudaFiltersCoverageMessage *self,
                                            GstBaseTransform *element, GstBuffer *buffer,
                                            const GstVideoInfo *info, gboolean fields,
                                            const CfRegions *regions,
                                            GstCudaFiltersCoverage coverage);
