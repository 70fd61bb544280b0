/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Text for people, on stderr: a status line that is rewritten in place on a terminal, and messages
 * printed above it. Not thread-safe.
 */
#pragma once

#include <glib.h>
#include <stdio.h>

/* TRUE if `file` is a terminal that can rewrite a line. */
gboolean app_is_terminal(FILE *file);

/* Shows a status: on a terminal in place of the last one, cut to its width; else as a line. */
void app_status(const gchar *text);

/* Keeps the last status on the screen; further output starts on a new line. */
void app_status_end(void);

/* Prints a line on stderr, above the status. `format` has no newline at its end. */
void app_say(const gchar *format, ...) G_GNUC_PRINTF(1, 2);

/* Prints "PROGRAM: MESSAGE" with the name from g_get_prgname(), as app_say(). */
void app_complain(const gchar *message);
