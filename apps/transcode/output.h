/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Files that appear under their names only once they are whole: until then they are called
 * NAME.part.
 */
#pragma once

#include <glib.h>

/* The name until then. Caller frees. */
gchar *output_unfinished(const gchar *path);

/* Makes the unfinished file, empty, and keeps others from writing it until it is committed or
 * discarded; one at a time. FALSE with an error. */
gboolean output_begin(const gchar *path, GError **error);

/* Bytes so far, of the unfinished or the finished file; 0 if there is none. */
guint64 output_size(const gchar *path);

/* The file is whole and on the disk: it gets its name. FALSE with an error. */
gboolean output_commit(const gchar *path, GError **error);

/* Deletes what is unfinished, if it was begun here. */
void output_discard(const gchar *path);
