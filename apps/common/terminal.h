/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Lines for people, on stderr: a status line that stays in place on a terminal, and messages that
 * do not tear it. To be used from one thread.
 */
#pragma once

#include <glib.h>
#include <stdio.h>

/* TRUE if `file` is a terminal that understands the codes for rewriting a line. */
gboolean app_is_terminal(FILE *file);

/* Shows `text`: on a terminal over the last status, cut to its width; else as a line of its own. */
void app_status(const gchar *text);

/* Leaves the last status where it is; what follows starts on a new line. */
void app_status_end(void);

/* Prints a line on stderr, before the status if there is one. No newline at the end of `format`. */
void app_say(const gchar *format, ...) G_GNUC_PRINTF(1, 2);

/* Prints "PROGRAM: MESSAGE" with the name from g_get_prgname(), as app_say(). */
void app_complain(const gchar *message);
