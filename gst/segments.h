/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Objects of segmentation masks (GstAnalyticsSegmentationMtd), cut into rectangles.
 */
#pragma once

#ifdef HAVE_GST_SEGMENTATION

#include <gst/analytics/analytics.h>

#include "detections.h"

/* Appends the objects of all masks. The type of an object is that of its classification, else that
 * of the detection that its mask is related to. Pixels of type "background", and without
 * classification those of value 0, are no object. A mask that cannot be read counts as full. */
void gst_cuda_filters_segments_find(GstCudaFiltersSearch *search,
                                    GstAnalyticsRelationMeta *relations);

#endif
