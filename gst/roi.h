/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the region properties ask for, and the regions of each frame: from its metas, from the
 * `regions` property, or held from an earlier frame.
 *
 * Properties are set and read under the lock of the element; frames belong to its streaming thread.
 */
#pragma once

#include <gst/base/gstbasetransform.h>
#include <gst/video/video.h>

#include "regions.h"
#include "status.h"

typedef struct _GstCudaFiltersRegions GstCudaFiltersRegions;

#define GST_CUDA_FILTERS_REGIONS_N_PROPERTIES 9

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

/* Whether the frames to come are covered in their regions. Streaming thread. */
gboolean gst_cuda_filters_regions_mask(const GstCudaFiltersRegions *self);

/* The element starts: forgets what came before, and what the user was told. */
void gst_cuda_filters_regions_start(GstCudaFiltersRegions *self);

/* Forgets held regions: the stream starts anew after a flush. */
void gst_cuda_filters_regions_reset(GstCudaFiltersRegions *self);

/* Objects of the next frame do not keep the places of the last one's: another stream begins, or
 * frames with other caps. */
void gst_cuda_filters_regions_forget_places(GstCudaFiltersRegions *self);

/* Looks at the metas of a frame, and posts `cudafilters-coverage` and warnings as messages of
 * `element`: of types that are not accepted, of a hundred frames of a stream without any region, of
 * settings without a mode. `regions` is valid until the next call. */
GstCudaFiltersCover gst_cuda_filters_regions_look(GstCudaFiltersRegions *self,
                                                  GstBaseTransform *element, GstBuffer *buffer,
                                                  const GstVideoInfo *info, CfRegions *regions);

/* Whether the user has to be told that a frame's mask hides too little (`hides` is false): once,
 * and again after settings have `changed` and another mask was good. */
gboolean gst_cuda_filters_regions_must_tell_of_weakness(GstCudaFiltersRegions *self, gboolean hides,
                                                        gboolean changed);
