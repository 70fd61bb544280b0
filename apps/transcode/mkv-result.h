/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What GStreamer 1.22 writes wrongly into Matroska and WebM files, put right in place: text of tags
 * (it is escaped), names of tracks that have none ("Video"), luminance of mastering displays; and
 * what it does not write: which tracks players do not choose by themselves.
 */
#pragma once

#include "track-flags.h"

#include <gst/video/video.h>

/* `mastering` is NULL if there is none; `flags`, of TrackFlags, are those of each track in the
 * order of the file. FALSE with an error. */
gboolean mkv_result_correct(const gchar *path, const GstVideoMasteringDisplayInfo *mastering,
                            const GArray *flags, GError **error);
