/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * GObject properties made of an effect's params table, so that names, ranges and defaults are
 * written once.
 */
#pragma once

#include <gst/gst.h>

#include "params.h"

/* Installs one property for each row of `table`, with ids from `first_id` on. */
void gst_cuda_filters_install_params(GObjectClass *klass, const CfParam *table, guint first_id);

/* Reads the field of `param` out of `params` into `value`, which has the property's type. */
void gst_cuda_filters_get_param(const CfParam *param, const void *params, GValue *value);

/* Writes `value` into `params`; on failure `params` is untouched and `status` says what is allowed.
 */
gboolean gst_cuda_filters_set_param(const CfParam *param, void *params, const GValue *value,
                                    CfStatus *status);

/* The registered enum or flags type of `choices`, registering it the first time. */
GType gst_cuda_filters_choices_type(const char *type_name, const CfChoice *choices, gboolean flags);
