/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Properties of elements set from text, with errors that say what is allowed.
 */
#pragma once

#include <gst/gst.h>

/* What `spec` takes, for a message: "a number from 0.05 to 10", "one of: auto, cuda, cpu". Caller
 * frees. */
gchar *app_property_allowed(GParamSpec *spec);

/* Fails with APP_ERROR_USAGE where objects of `type` have no property `name` that can be written,
 * or it does not take `text`. `owner` is what the message calls them, such as "cudallf". */
gboolean app_property_check(GObjectClass *type, const gchar *owner, const gchar *name,
                            const gchar *text, GError **error);

/* Sets property `name` of `element` to what `text` says, as gst-launch-1.0 reads it. An element may
 * still keep its old value, with a warning on the bus. Errors: as app_property_check(). */
gboolean app_property_set(GstElement *element, const gchar *name, const gchar *text,
                          GError **error);

/* The value that a property has now, as text; NULL if there is none. Caller frees. */
gchar *app_property_get(GstElement *element, const gchar *name);
