/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Checks the socket of shmsink and shmsrc.
 */
#pragma once

#include <glib.h>

/* TRUE if a program listens at the socket `path`; that program does not notice the check. */
gboolean relay_socket_is_alive(const gchar *path);

/* Removes a stale socket. Fails with APP_ERROR_FAILED if a program listens there, or `path` is not
 * a socket. */
gboolean relay_socket_clear(const gchar *path, GError **error);
