/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Properties of elements set from text, with errors that say what is allowed.
 */
#pragma once

#include <gst/gst.h>

/* The values that `spec` allows, for a message: "a number from 0.05 to 10", "one of: auto, cuda,
 * cpu". Caller frees. */
gchar *app_property_allowed(GParamSpec *spec);

/* Fails with APP_ERROR_USAGE if objects of `type` have no writable property `name`, or `text` is
 * not a value of it. `owner` names them in the message, such as "cudallf". */
gboolean app_property_check(GObjectClass *type, const gchar *owner, const gchar *name,
                            const gchar *text, GError **error);

/* Sets property `name` of `element` from `text`, as gst-launch-1.0 does. The element may still
 * refuse the value, with a warning on the bus. Errors: as app_property_check(). */
gboolean app_property_set(GstElement *element, const gchar *name, const gchar *text,
                          GError **error);

/* The current value of a property, as text; NULL if it cannot be read. Caller frees. */
gchar *app_property_get(GstElement *element, const gchar *name);
