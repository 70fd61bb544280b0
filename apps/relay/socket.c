/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "socket.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "apps/common/error.h"

/* Connects with a datagram socket: with a stream socket listening there that fails with EPROTOTYPE,
 * and makes no connection, which shmsink would take for a reader that left. */
gboolean relay_socket_is_alive(const gchar *path)
{
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  const gint file = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  gboolean alive;

  if (file < 0)
    return FALSE;
  g_strlcpy(address.sun_path, path, sizeof address.sun_path);
  alive = connect(file, (struct sockaddr *)&address, sizeof address) != 0 && errno == EPROTOTYPE;
  close(file);
  return alive;
}

gboolean relay_socket_clear(const gchar *path, GError **error)
{
  struct stat status;

  if (lstat(path, &status) != 0)
    return TRUE;
  if (!S_ISSOCK(status.st_mode))
    g_set_error(error, APP_ERROR, APP_ERROR_FAILED,
                "\"%s\" exists, and is not a socket of shmsink: choose another path.", path);
  else if (relay_socket_is_alive(path))
    g_set_error(error, APP_ERROR, APP_ERROR_FAILED, "Another program writes to \"%s\" already.",
                path);
  else if (unlink(path) != 0)
    g_set_error(error, APP_ERROR, APP_ERROR_FAILED, "The old socket \"%s\" cannot be removed (%s).",
                path, g_strerror(errno));
  else
    return TRUE;
  return FALSE;
}
