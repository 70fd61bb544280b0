/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * GObject properties: the common ones, the effect's parameters and those of regions, with ids in
 * this order.
 */
#pragma once

#include "basefilter.h"

/* Installs the common properties; called once, from the base class's class_init. */
void gst_cuda_filters_base_install_common_properties(GObjectClass *klass);

/* Installs the properties of `effect` and, if it has regions, of regions. */
void gst_cuda_filters_base_install_effect_properties(GObjectClass *klass, const CfEffect *effect);

/* Allocates the settings of an instance, at their defaults; clear frees them. */
void gst_cuda_filters_base_init_properties(GstCudaFiltersBase *self);
void gst_cuda_filters_base_clear_properties(GstCudaFiltersBase *self);

/* The first refusal before the start, CF_OK if there is none; under the object lock. */
CfStatus gst_cuda_filters_base_first_refusal(GstCudaFiltersBase *self);
