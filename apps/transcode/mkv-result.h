/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Corrects in place what GStreamer 1.22 writes wrongly into Matroska and WebM files: text of tags,
 * which it escapes; the name "Video" of tracks without a name; the luminance of mastering displays;
 * the duration, which it takes from one stream, without the time before it starts; and adds the
 * flags of tracks, which it does not write.
 */
#pragma once

#include "track.h"

#include <gst/video/video.h>

/* `mastering` may be NULL; `flags` are TrackFlags, for each track in the order of the file; `end`
 * is when the last packet ends. FALSE with an error. */
gboolean mkv_result_correct(const gchar *path, const GstVideoMasteringDisplayInfo *mastering,
                            const GArray *flags, GstClockTime end, GError **error);
