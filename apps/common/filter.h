/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The chain of elements that a user gives with --filter.
 */
#pragma once

#include <gst/gst.h>

/* A bin (floating) of what `description` says, in the words of gst-launch-1.0, such as
 * "cudallf alpha=0.4 ! cudablockavg", with a ghost pad "sink" and one "src". NULL with an error:
 *   APP_ERROR_USAGE    no property of that name, a value that it does not take (with what it does),
 *                      a syntax error, no free pad to go in or out by
 *   APP_ERROR_MISSING  no such element (with the package that has it)
 * An empty `description` gives a bin that hands frames on. */
GstElement *app_filter_new(const gchar *description, GError **error);

/* Calls `each` for every element in `filter`, those of bins in it too, first to last as they stand
 * in the chain; ends early, with TRUE, where it returns TRUE. */
gboolean app_filter_foreach(GstElement *filter,
                            gboolean (*each)(GstElement *element, gpointer data), gpointer data);

/* Sets a property of the running filter. `name` is "alpha" for the first element that has one, or
 * "cudallf.alpha", with the name or the factory of the element. Errors: as app_property_set(). */
gboolean app_filter_set(GstElement *filter, const gchar *name, const gchar *text, GError **error);

/* The value of such a property now, as text. Caller frees. NULL with APP_ERROR_USAGE. */
gchar *app_filter_get(GstElement *filter, const gchar *name, GError **error);
