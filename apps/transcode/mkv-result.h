/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Corrects in place what GStreamer 1.22 writes wrongly into Matroska and WebM files: text of tags,
 * which it escapes; the name "Video" of tracks without a name; the luminance of mastering displays.
 */
#pragma once

#include <gst/video/video.h>

/* `mastering` may be NULL. FALSE with an error. */
gboolean mkv_result_correct(const gchar *path, const GstVideoMasteringDisplayInfo *mastering,
                            GError **error);

/* The number of bytes missing at the end of the Matroska or WebM file at `path`. */
guint64 mkv_missing_bytes(const gchar *path);
