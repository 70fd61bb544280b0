/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Objects in a frame, from its metas: regions of interest, object detections and segmentation
 * masks.
 */
#pragma once

#include <gst/video/video.h>

/* In pixels of the frame; may reach beyond it by any distance. */
typedef struct {
  gint64 x, y, width, height; /* width and height are above 0 */
} GstCudaFiltersBox;

/* A rectangle that bounds an object, or one of the rectangles that a segmented object is cut into.
 */
typedef struct {
  GstCudaFiltersBox box;
  GstCudaFiltersBox whole; /* bounds of the object */
  GQuark type;             /* name of the object's type; 0: none */
  guint object;            /* number of the object; its parts follow each other */
  gboolean part;           /* `box` is a part of a segmented object */
} GstCudaFiltersDetection;

typedef struct {
  gchar **types;    /* accepted names; NULL accepts all. Borrowed */
  gboolean outside; /* roi-mode=outside: parts of masks are rounded inwards, not outwards */
  GArray *found;    /* GstCudaFiltersDetection; empty before */
  GArray *rejected; /* GQuark: types not accepted, the first ones, each once; appended to */
} GstCudaFiltersSearch;

/* Limit on `rejected`: some detectors invent a type for each object. */
#define GST_CUDA_FILTERS_MAX_REJECTED 16

/* Limit on the parts of an object. */
#define GST_CUDA_FILTERS_MAX_PARTS 256

/* `box` with a margin on each side: `fraction` of the sides of `whole`, rounded up. */
GstCudaFiltersBox gst_cuda_filters_box_grow(const GstCudaFiltersBox *box,
                                            const GstCudaFiltersBox *whole, gdouble fraction);

/* Finds the objects of all metas of `buffer`. Metas count from the corner of the whole buffer;
 * with a crop meta the boxes found count from the corner of the cropped picture. */
void gst_cuda_filters_detections_find(GstCudaFiltersSearch *search, GstBuffer *buffer);

void gst_cuda_filters_detections_move(GArray *detections, gint64 x, gint64 y);

/* If `meta` is the one that all detections of GstAnalytics are in, adds its object detections to
 * `output`, which holds what `crop` shows, as regions of interest. False if it is another meta. */
gboolean gst_cuda_filters_detections_become_regions(GstBuffer *output, GstMeta *meta,
                                                    const GstVideoCropMeta *crop);

/* Whether `type` (0: none) is one of `types`; NULL has all. */
gboolean gst_cuda_filters_detections_has_type(gchar **types, GQuark type);

/* Whether `type` (0: none) is accepted; appends it to `rejected` if not. */
gboolean gst_cuda_filters_detections_accept(GstCudaFiltersSearch *search, GQuark type);
