/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * JSON objects on one line each, for --json.
 */
#pragma once

#include <glib.h>
#include <stdio.h>

/* An object that is being written. Keys are not escaped. */
typedef struct _AppJson AppJson;

/* Begins an object. */
AppJson *app_json_new(void);
/* Adds a member. `value` is UTF-8 (invalid bytes are replaced), or NULL for null. */
void app_json_string(AppJson *json, const gchar *key, const gchar *value);
void app_json_integer(AppJson *json, const gchar *key, gint64 value);
void app_json_boolean(AppJson *json, const gchar *key, gboolean value);
/* With `decimals` digits after the point, whatever the locale; null if it is not finite. */
void app_json_number(AppJson *json, const gchar *key, gdouble value, guint decimals);
/* Opens a nested object or array, which takes all members up to app_json_close(). `key` is NULL for
 * members of arrays. */
void app_json_open_object(AppJson *json, const gchar *key);
void app_json_open_array(AppJson *json, const gchar *key);
void app_json_close(AppJson *json);
/* Ends the object, writes it to `file` as one line at once, and frees it. FALSE: it could not be
 * written. */
gboolean app_json_print(AppJson *json, FILE *file);
