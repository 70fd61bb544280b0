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

/* How many bytes the file at `path`, a Matroska or WebM file, lacks at its end. */
guint64 mkv_missing_bytes(const gchar *path);
