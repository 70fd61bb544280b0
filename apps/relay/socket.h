/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Whether somebody is behind the socket of a shared memory.
 */
#pragma once

#include <glib.h>

/* TRUE if a program listens at the socket `path`. That program does not notice the question. */
gboolean relay_socket_is_alive(const gchar *path);

/* Removes a socket that a program has left behind. Fails with APP_ERROR_FAILED where one is alive
 * there, or `path` is something else. */
gboolean relay_socket_clear(const gchar *path, GError **error);
