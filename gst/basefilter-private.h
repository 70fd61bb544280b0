/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Between the rooms of the base class: basefilter.c (life, negotiation), baseproperties.c and
 * baseframes.c (frames).
 */
#pragma once

#include "basefilter.h"

GST_DEBUG_CATEGORY_EXTERN(gst_cuda_filters_debug);
#define GST_CAT_DEFAULT gst_cuda_filters_debug

/* The effect of the element's class. */
const CfEffect *gst_cuda_filters_base_effect(GstCudaFiltersBase *self);

/* Installs the common properties; called once, from the base class's init. */
void gst_cuda_filters_base_install_common_properties(GObjectClass *klass);

/* Installs those of `effect` and of its regions, for an element's class. */
void gst_cuda_filters_base_install_effect_properties(GObjectClass *klass, const CfEffect *effect);

/* What the user sets, at its defaults; freed by clear. */
void gst_cuda_filters_base_init_properties(GstCudaFiltersBase *self);
void gst_cuda_filters_base_clear_properties(GstCudaFiltersBase *self);

/* Why a property kept its old value, CF_OK if none did; under the object lock. */
CfStatus gst_cuda_filters_base_first_refusal(GstCudaFiltersBase *self);

/* Posts `status` as an element error, once for every failure. */
void gst_cuda_filters_base_post_error(GstCudaFiltersBase *self, const CfStatus *status);

/* Posts that there is no memory for frames to filter into. */
void gst_cuda_filters_base_post_no_frames(GstCudaFiltersBase *self);

/* What the user asked for. */
GstCudaFiltersBackend gst_cuda_filters_base_wanted_backend(GstCudaFiltersBase *self,
                                                           gint *device_id);

/* Opens the engine for `info` and the memory negotiated; a worker that is open is closed first. */
gboolean gst_cuda_filters_base_open_worker(GstCudaFiltersBase *self, const GstVideoInfo *info,
                                           CfStatus *status);
void gst_cuda_filters_base_close_worker(GstCudaFiltersBase *self);

/* Takes over what the user set since the last frame. Refused settings are tried again with every
 * frame: none passes until they are mended. */
gboolean gst_cuda_filters_base_update_params(GstCudaFiltersBase *self, CfStatus *status);

/* Whether the worker's engine works in device memory. */
gboolean gst_cuda_filters_base_runs_on_device(GstCudaFiltersBase *self);

/* Sets the functions of baseframes.c; called once, from the class's init. */
void gst_cuda_filters_base_install_frames(GstBaseTransformClass *klass);
