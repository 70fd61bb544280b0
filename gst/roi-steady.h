/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Steadies detections, which jitter from frame to frame: an object that barely moved keeps its
 * place of the last frame, as long as the region there still covers it.
 */
#pragma once

#include "detections.h"

typedef struct {
  gdouble tolerance; /* every edge of a detection must be nearer than this fraction of its width or
                        height to that edge of the place */
  gdouble expand;    /* roi-expand */
  gboolean ellipse;  /* regions are ellipses in their rectangles */
} GstCudaFiltersSteady;

/* Where a detection of the last frame was; `taken` by one of this frame. */
typedef struct {
  GstCudaFiltersBox box;
  guint index; /* of the detection */
  gboolean taken;
} GstCudaFiltersPlace;

/* Moves each of `detections` to the place of the nearest one in `before`, the steadied detections
 * of the last frame, if that is within the tolerance and its region still covers the detection.
 * Parts of segmented objects do not move. `places` is scratch memory, of GstCudaFiltersPlace. */
void gst_cuda_filters_steady(const GstCudaFiltersSteady *how, GArray *detections,
                             const GArray *before, GArray *places);
