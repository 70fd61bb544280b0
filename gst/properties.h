/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * GObject properties from an effect's table of parameters, which has all names, ranges and
 * defaults.
 */
#pragma once

#include <gst/gst.h>

#include "params.h"

/* Installs one property for each row of `table`, with ids from `first_id` on. */
void gst_cuda_filters_install_params(GObjectClass *klass, const CfParam *table, guint first_id);

/* Gets the field of `param` in `params` as `value`, which has the property's type. */
void gst_cuda_filters_get_param(const CfParam *param, const void *params, GValue *value);

/* Sets the field of `param` in `params`; on failure `params` stays as it is, and `status` says what
 * is allowed. */
gboolean gst_cuda_filters_set_param(const CfParam *param, void *params, const GValue *value,
                                    CfStatus *status);

/* The enum or flags type of `choices`, which the first call registers. */
GType gst_cuda_filters_choices_type(const char *type_name, const CfChoice *choices, gboolean flags);
