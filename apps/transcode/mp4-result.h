/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What GStreamer's muxer does not write into MP4 and QuickTime files: what of a track is not to be
 * played, chapters, rotation, and the metadata of
 * HDR.
 */
#pragma once

#include "track-flags.h"

#include <gst/video/video.h>

/* What is to be added. */
typedef struct {
  GArray *leads; /* guint64, ns, of each track in the order of the file: so much is not played */
  const GArray *flags;                           /* TrackFlags, of each */
  const GstToc *toc;                             /* NULL: no chapters */
  const GstVideoMasteringDisplayInfo *mastering; /* NULL: none; of the first track */
  const GstVideoContentLightLevel *light;
  const gchar *orientation; /* as GST_TAG_IMAGE_ORIENTATION has it; NULL: upright */
} Mp4Additions;

/* Adds to the file, which has its box "moov" behind the media. FALSE with an error. */
gboolean mp4_result_complete(const gchar *path, const Mp4Additions *additions, GError **error);
