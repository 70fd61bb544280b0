/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the metas of a frame say is in it: regions of interest, object detections, and the objects
 * of segmentation masks.
 */
#pragma once

#include <gst/video/video.h>

/* Pixels of the frame; may lie beyond it, and be larger than any frame. */
typedef struct {
  gint64 x, y, width, height; /* width and height are above 0 */
} GstCudaFiltersBox;

/* A rectangle that is, or is a part of, one object. */
typedef struct {
  GstCudaFiltersBox box;
  GstCudaFiltersBox whole; /* around all parts of the object; `box` of one without parts */
  guint object;            /* parts of one object follow each other and have the same number */
  gboolean part;           /* of a segmented object */
} GstCudaFiltersDetection;

typedef struct {
  gchar **types;    /* accepted names; NULL accepts all. Borrowed */
  gboolean outside; /* where mask and frame do not meet pixel for pixel, rather less is taken */
  GArray *found;    /* GstCudaFiltersDetection, appended to */
  GArray *rejected; /* GQuark, each once: types that were not accepted, appended to */
} GstCudaFiltersSearch;

/* The most rectangles of one object. */
#define GST_CUDA_FILTERS_MOST_PARTS 256

/* A box grown by a fraction of the sides of `whole` on each side, rounded outwards. */
GstCudaFiltersBox gst_cuda_filters_box_grow(const GstCudaFiltersBox *box,
                                            const GstCudaFiltersBox *whole, gdouble fraction);

/* Appends all that `buffer` has metas of, which count from its corner, crop meta or not. */
void gst_cuda_filters_detections_find(GstCudaFiltersSearch *search, GstBuffer *buffer);

/* Whether a type is accepted; one that is not is noted. 0: the object has none. */
gboolean gst_cuda_filters_detections_accept(GstCudaFiltersSearch *search, GQuark type);
