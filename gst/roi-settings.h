/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The values of the region properties. roi.h tells which thread owns which copy.
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

/* The properties in gst_cuda_filters_roi_table. */
typedef struct {
  gint mode, shape, missing;
  gdouble expand, feather, steady;
} GstCudaFiltersRoiParams;

typedef struct {
  GstCudaFiltersRoiParams params;
  gchar **types;     /* accepted names; NULL accepts all */
  gchar *types_text; /* roi-types as it was set */
  gchar *text;       /* regions as it was set */
  GArray *fixed;     /* CfRegion: the parsed regions; never changed, only replaced */
  GstClockTime hold;
} GstCudaFiltersRoiSettings;

/* Describes the first properties, in their order; roi-types, regions and roi-hold follow them. */
extern const CfParam *const gst_cuda_filters_roi_table;

/* Settings at their defaults; freed by clear. */
void gst_cuda_filters_roi_settings_init(GstCudaFiltersRoiSettings *settings);
void gst_cuda_filters_roi_settings_clear(GstCudaFiltersRoiSettings *settings);

/* Initialises `copy`; freed by clear. */
void gst_cuda_filters_roi_settings_copy(GstCudaFiltersRoiSettings *copy,
                                        const GstCudaFiltersRoiSettings *settings);

/* `index` is the number of the property, from 0. On failure the old value stays, and `status` says
 * what is allowed. */
gboolean gst_cuda_filters_roi_settings_set(GstCudaFiltersRoiSettings *settings, guint index,
                                           const GValue *value, CfStatus *status);
void gst_cuda_filters_roi_settings_get(const GstCudaFiltersRoiSettings *settings, guint index,
                                       GValue *value);

/* The name of a property other than roi-mode that is not at its default; NULL if there is none. */
const gchar *gst_cuda_filters_roi_settings_first_set(const GstCudaFiltersRoiSettings *settings);
