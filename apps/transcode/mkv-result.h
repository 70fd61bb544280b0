/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What GStreamer 1.22 writes wrongly into Matroska and WebM files, put right in place: text of tags
 * (it is escaped), names of tracks that have none ("Video"), luminance of mastering displays.
 */
#pragma once

#include <gst/video/video.h>

/* `mastering` is NULL if there is none. FALSE with an error. */
gboolean mkv_result_correct(const gchar *path, const GstVideoMasteringDisplayInfo *mastering,
                            GError **error);

/* Looks at the file `path`, a Matroska or WebM file: how many bytes it lacks at its end and, of one
 * that lacks none, the place where its structure is broken; each 0 if all is well. */
void mkv_look(const gchar *path, guint64 *missing, guint64 *damage);
