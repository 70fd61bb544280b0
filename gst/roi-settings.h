/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the region properties say; see roi.h for who owns which copy of it.
 */
#pragma once

#include <gst/gst.h>

#include "params.h"
#include "regions.h"
#include "status.h"

typedef enum {
  GST_CUDA_FILTERS_ROI_NONE,
  GST_CUDA_FILTERS_ROI_INSIDE,
  GST_CUDA_FILTERS_ROI_OUTSIDE,
} GstCudaFiltersRoiMode;

typedef enum { GST_CUDA_FILTERS_ROI_PASS, GST_CUDA_FILTERS_ROI_COVER } GstCudaFiltersRoiMissing;

/* The properties that a table describes. */
typedef struct {
  gint mode, shape, missing;
  gdouble expand, feather, steady;
} GstCudaFiltersRoiParams;

typedef struct {
  GstCudaFiltersRoiParams params;
  gchar **types;     /* accepted names; NULL accepts all */
  gchar *types_text; /* as it was set */
  gchar *text;       /* of the fixed regions */
  GArray *fixed;     /* CfRegion */
  GstClockTime hold;
} GstCudaFiltersRoiSettings;

/* What describes them, in the order of the properties; the others have no table. */
extern const CfParam *const gst_cuda_filters_roi_table;

/* Settings at their defaults; freed by clear. */
void gst_cuda_filters_roi_settings_init(GstCudaFiltersRoiSettings *settings);
void gst_cuda_filters_roi_settings_clear(GstCudaFiltersRoiSettings *settings);

/* `copy` holds nothing before. */
void gst_cuda_filters_roi_settings_copy(GstCudaFiltersRoiSettings *copy,
                                        const GstCudaFiltersRoiSettings *settings);

/* `index` counts the properties from the first. On failure the old value stays, and `status` says
 * what is allowed. */
gboolean gst_cuda_filters_roi_settings_set(GstCudaFiltersRoiSettings *settings, guint index,
                                           const GValue *value, CfStatus *status);
void gst_cuda_filters_roi_settings_get(const GstCudaFiltersRoiSettings *settings, guint index,
                                       GValue *value);

/* A property that is not at its default; NULL if there is none but the mode. */
const gchar *gst_cuda_filters_roi_settings_name_one(const GstCudaFiltersRoiSettings *settings);
