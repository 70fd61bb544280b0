/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Adds what GStreamer's muxer does not write into MP4 and QuickTime files: edit lists, chapters,
 * rotation, HDR metadata, and when and where the film was taken.
 */
#pragma once

#include "mp4-source.h"

#include <gst/video/video.h>

/* The data to add. */
typedef struct {
  GArray *leads; /* guint64: for each track the time in ns at its beginning that is not played */
  const GArray *flags;                           /* TrackFlags, for each track */
  const GstToc *toc;                             /* NULL: no chapters */
  const GstVideoMasteringDisplayInfo *mastering; /* NULL: none; of the first track */
  const GstVideoContentLightLevel *light;
  const Mp4Origin *origin;  /* NULL: unknown */
  const gchar *orientation; /* as GST_TAG_IMAGE_ORIENTATION has it; NULL: upright */
} Mp4Additions;

/* Adds them to the file, which must have its box "moov" behind the media data. FALSE with an error.
 */
gboolean mp4_result_complete(const gchar *path, const Mp4Additions *additions, GError **error);
