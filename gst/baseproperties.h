/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The properties of all elements: the common ones, the effect's parameters and the regions', which
 * are numbered in this order. Knows basereport.h.
 */
#pragma once

#include "basefilter.h"

/* Installs the common properties; called once, from the base class's init. */
void gst_cuda_filters_base_install_common_properties(GObjectClass *klass);

/* Installs those of `effect` and of its regions, for an element's class. */
void gst_cuda_filters_base_install_effect_properties(GObjectClass *klass, const CfEffect *effect);

/* What the user sets, at its defaults; freed by clear. */
void gst_cuda_filters_base_init_properties(GstCudaFiltersBase *self);
void gst_cuda_filters_base_clear_properties(GstCudaFiltersBase *self);

/* Why a property kept its old value, CF_OK if none did; under the object lock. */
CfStatus gst_cuda_filters_base_first_refusal(GstCudaFiltersBase *self);
