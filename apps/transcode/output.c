/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "output.h"

#include "apps/common/error.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <sys/file.h>
#include <unistd.h>

gchar *output_unfinished(const gchar *path)
{
  return g_strconcat(path, ".part", NULL);
}

static gint begun = -1; /* the unfinished file, locked */

static void release(void)
{
  if (begun >= 0)
    close(begun);
  begun = -1;
}

/* Goes on without a lock on file systems that have none. */
gboolean output_begin(const gchar *path, GError **error)
{
  g_autofree gchar *unfinished = output_unfinished(path);

  begun = g_open(unfinished, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (begun < 0)
    g_set_error(error, APP_ERROR, APP_ERROR_FAILED, "Cannot write \"%s\": %s.", unfinished,
                g_strerror(errno));
  else if (flock(begun, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    g_set_error(error, APP_ERROR, APP_ERROR_FAILED,
                "\"%s\" is being written by another cudafilters-transcode.", path);
  else
    return TRUE;
  release();
  return FALSE;
}

guint64 output_size(const gchar *path)
{
  g_autofree gchar *unfinished = output_unfinished(path);
  GStatBuf status;

  if (g_stat(unfinished, &status) == 0 || g_stat(path, &status) == 0)
    return (guint64)status.st_size;
  return 0;
}

/* Errors of delayed writes, such as a full disk, may appear only here. */
static gboolean synchronise(const gchar *path)
{
  const gint file = g_open(path, O_RDONLY, 0);
  const gboolean good = file >= 0 && fsync(file) == 0;
  const gint saved = errno;

  if (file >= 0)
    close(file);
  errno = saved;
  return good;
}

gboolean output_commit(const gchar *path, GError **error)
{
  g_autofree gchar *unfinished = output_unfinished(path);

  if (synchronise(unfinished) && g_rename(unfinished, path) == 0) {
    release();
    return TRUE;
  }
  g_set_error(error, APP_ERROR, APP_ERROR_FAILED, "Cannot write \"%s\": %s.", path,
              g_strerror(errno));
  return FALSE;
}

void output_discard(const gchar *path)
{
  g_autofree gchar *unfinished = output_unfinished(path);

  if (begun >= 0)
    g_unlink(unfinished);
  release();
}
