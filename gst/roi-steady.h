/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Detectors tremble: an object that barely moved keeps the place that its region had, as long as
 * what was detected is still covered there.
 */
#pragma once

#include "detections.h"

typedef struct {
  gdouble tolerance; /* of the sides of a detection: its edges may be less than so far from those of
                        its place */
  gdouble expand;    /* by which regions are grown */
  gboolean ellipse;  /* regions are ellipses in their rectangles */
} GstCudaFiltersSteady;

/* Moves detections to the places that those of `before`, already moved themselves, had, where the
 * regions there still cover them. Parts of segmented objects stay where they are. */
void gst_cuda_filters_steady(const GstCudaFiltersSteady *how, GArray *detections,
                             const GArray *before);
