/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Elements made by name, with errors that say which Debian package has a missing one.
 */
#pragma once

#include <gst/gst.h>

/* The Debian package with the element `factory`; NULL if unknown. Static. */
const gchar *app_element_package(const gchar *factory);

/* The factory of the element `object`, such as "cudallf"; for other objects their name. Static. */
const gchar *app_element_name(GstObject *object);

/* TRUE if there is a factory of that name. */
gboolean app_element_exists(const gchar *factory);

/* TRUE if an element of that factory can be created and reaches READY, for which GPU elements need
 * a driver and a device. May take as long as opening the device. */
gboolean app_element_works(const gchar *factory);

/* The first of the NULL-terminated `factories` that app_element_works(), or NULL. */
const gchar *app_element_first_working(const gchar *const *factories);

/* Sets APP_ERROR_MISSING: "there is no element x264enc (for H.264): apt-get install ...". `purpose`
 * may be NULL. */
void app_element_set_missing(GError **error, const gchar *factory, const gchar *purpose);

/* A new element (floating), or NULL with app_element_set_missing(). `name` may be NULL. */
GstElement *app_element_make(const gchar *factory, const gchar *name, const gchar *purpose,
                             GError **error);
