/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Files that get their names only when they are complete: until then they are called NAME.part.
 */
#pragma once

#include <glib.h>

/* The name of the unfinished file. Caller frees. */
gchar *output_unfinished(const gchar *path);

/* Creates the unfinished file, and locks it until it is committed or discarded; one at a time.
 * FALSE with an error. */
gboolean output_begin(const gchar *path, GError **error);

/* Size in bytes of the unfinished or the finished file; 0 if there is none. */
guint64 output_size(const gchar *path);

/* Syncs the file to disk and renames it. FALSE with an error. */
gboolean output_commit(const gchar *path, GError **error);

/* Deletes the unfinished file, if it was begun here. */
void output_discard(const gchar *path);
