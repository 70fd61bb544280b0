/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The chain of elements that a user gives with --filter.
 */
#pragma once

#include <gst/gst.h>

/* A bin (floating) with the ghost pads "sink" and "src" from a `description` in the syntax of
 * gst-launch-1.0, such as "cudallf alpha=0.4 ! cudablockavg". An empty `description` gives a bin
 * that passes frames unchanged. NULL with an error: APP_ERROR_USAGE for an unknown property, a
 * value that is not allowed, a syntax error, or a chain that does not take or give raw video;
 * APP_ERROR_MISSING for an unknown element, with the package that has it. */
GstElement *app_filter_new(const gchar *description, GError **error);

/* Calls `each` for every element in `filter` and in its bins, in the order of the chain, until it
 * returns TRUE. Returns whether it did. */
gboolean app_filter_foreach(GstElement *filter,
                            gboolean (*each)(GstElement *element, gpointer data), gpointer data);

/* Sets a property of the running filter. `name` is "alpha" for the first element that has one, or
 * "cudallf.alpha", with the name or the factory of the element. Errors: as app_property_set(). */
gboolean app_filter_set(GstElement *filter, const gchar *name, const gchar *text, GError **error);

/* The value of such a property now, as text. Caller frees. NULL with APP_ERROR_USAGE. */
gchar *app_filter_get(GstElement *filter, const gchar *name, GError **error);
