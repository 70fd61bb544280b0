/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the region properties ask for, and the regions of each frame: from its metas, from the
 * `regions` property, or held from an earlier frame.
 *
 * Properties are set and read under the lock of the element; frames belong to its streaming thread.
 */
#pragma once

#include <gst/video/video.h>

#include "regions.h"
#include "status.h"

typedef struct _GstCudaFiltersRegions GstCudaFiltersRegions;

#define GST_CUDA_FILTERS_REGIONS_N_PROPERTIES 8

typedef enum {
  GST_CUDA_FILTERS_COVER_ALL,  /* the frame, as without regions */
  GST_CUDA_FILTERS_COVER_SOME, /* what the regions say */
  GST_CUDA_FILTERS_COVER_NONE, /* nothing to do */
} GstCudaFiltersCover;

GstCudaFiltersRegions *gst_cuda_filters_regions_new(void);
void gst_cuda_filters_regions_free(GstCudaFiltersRegions *self); /* NULL is allowed */

/* Installs the properties with ids from `first_id` on. `index` below counts from it. */
void gst_cuda_filters_regions_install(GObjectClass *klass, guint first_id);

/* On failure the old value stays, and `status` says what is allowed. */
gboolean gst_cuda_filters_regions_set(GstCudaFiltersRegions *self, guint index, const GValue *value,
                                      CfStatus *status);
void gst_cuda_filters_regions_get(const GstCudaFiltersRegions *self, guint index, GValue *value);

/* Takes over what the properties say, for the frames to come; under the element's lock. */
void gst_cuda_filters_regions_sync(GstCudaFiltersRegions *self);

/* Forgets held regions: the stream starts, or starts anew after a flush. */
void gst_cuda_filters_regions_reset(GstCudaFiltersRegions *self);

/* Looks at the metas of a frame. `regions` is valid until the next call. */
GstCudaFiltersCover gst_cuda_filters_regions_look(GstCudaFiltersRegions *self, GstBuffer *buffer,
                                                  const GstVideoInfo *info, CfRegions *regions);

/* True once, after the hundredth frame of a stream in which regions were wanted and none was seen.
 */
gboolean gst_cuda_filters_regions_seem_lost(GstCudaFiltersRegions *self);
