/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "track.h"

#include <string.h>

const Track *track_of_stream(const GArray *tracks, const gchar *stream_id, gchar separator)
{
  const gchar *number = stream_id ? strrchr(stream_id, separator) : NULL;
  const guint64 id = number ? g_ascii_strtoull(number + 1, NULL, 10) : 0;
  const guint size = g_array_get_element_size((GArray *)tracks);

  for (guint i = 0; id > 0 && i < tracks->len; i++) {
    const Track *track = (const Track *)(const void *)(tracks->data + (gsize)i * size);

    if (track->id == id)
      return track;
  }
  return NULL;
}
