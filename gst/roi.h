/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The regions of each frame: detected ones from its metas, held ones from an earlier frame, and
 * fixed ones from the property `regions`.
 *
 * Properties are set and read under the element's object lock; all else belongs to its streaming
 * thread, except where noted.
 */
#pragma once

#include <gst/base/gstbasetransform.h>
#include <gst/video/video.h>

#include "regions.h"
#include "status.h"

typedef struct _GstCudaFiltersRegions GstCudaFiltersRegions;

#define GST_CUDA_FILTERS_REGIONS_N_PROPERTIES 9

typedef enum {
  GST_CUDA_FILTERS_COVER_ALL,  /* filter the whole frame: roi-mode=none */
  GST_CUDA_FILTERS_COVER_SOME, /* filter by the regions */
  GST_CUDA_FILTERS_COVER_NONE, /* filter nothing: there are no regions */
} GstCudaFiltersCover;

GstCudaFiltersRegions *gst_cuda_filters_regions_new(void);
void gst_cuda_filters_regions_free(GstCudaFiltersRegions *self); /* NULL is allowed */

/* Installs the properties with ids from `first_id` on. An `index` below is the id minus that. */
void gst_cuda_filters_regions_install(GObjectClass *klass, guint first_id);

/* On failure the old value stays, and `status` says what is allowed. */
gboolean gst_cuda_filters_regions_set(GstCudaFiltersRegions *self, guint index, const GValue *value,
                                      CfStatus *status);
void gst_cuda_filters_regions_get(const GstCudaFiltersRegions *self, guint index, GValue *value);

/* Copies the properties for the frames to come; streaming thread, under the object lock. */
void gst_cuda_filters_regions_sync(GstCudaFiltersRegions *self);

/* Whether the frames to come have roi-mode=inside. */
gboolean gst_cuda_filters_regions_mask(const GstCudaFiltersRegions *self);

/* At the start of the element: forgets all detections, and which warnings were posted. */
void gst_cuda_filters_regions_start(GstCudaFiltersRegions *self);

/* After a flush: forgets held regions. */
void gst_cuda_filters_regions_reset(GstCudaFiltersRegions *self);

/* With a new stream or segment, or another engine: objects of the next frame do not keep their
 * places (roi-steady). */
void gst_cuda_filters_regions_forget_places(GstCudaFiltersRegions *self);

/* Finds the regions of a frame, and posts messages of `element`: `cudafilters-coverage`, and
 * warnings of types that are not accepted, of 100 frames without any detection, and of settings
 * without roi-mode. With `fields` the frame is filtered field by field. `regions` is valid until
 * the next call. */
GstCudaFiltersCover gst_cuda_filters_regions_update(GstCudaFiltersRegions *self,
                                                    GstBaseTransform *element, GstBuffer *buffer,
                                                    const GstVideoInfo *info, gboolean fields,
                                                    CfRegions *regions);

/* Whether to warn that the mask of a frame hides too little (`hides` is false): once, and again
 * when a mask in between was good after the settings had `changed`. */
gboolean gst_cuda_filters_regions_must_warn_of_weak_mask(GstCudaFiltersRegions *self,
                                                         gboolean hides, gboolean changed);
