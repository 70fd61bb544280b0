/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Subtitles of Matroska files as they stand there. GStreamer's demuxer hands text on as markup: it
 * escapes &, < and the like until it has seen a tag such as <i>, and from then on nothing.
 */
#pragma once

#include "media.h"

/* Subtitles of SubStation Alpha leave `parsebin` as they stand in the file, and not as text. */
void subtitles_keep_ssa(GstElement *parsebin);

/* Undoes the escaping on the text pads that `parsebin` will have. `without_tags`: takes tags such
 * as <i> out too, for files in which they would be shown. */
void subtitles_attach(const Media *media, GstElement *parsebin, gboolean without_tags);

/* TRUE if text of this stream may have styles that do not come through GStreamer: into MP4, or out
 * of it. */
gboolean subtitles_lose_styles(const MediaStream *stream, gboolean without_tags);

/* `text` of `size` bytes with its five entities and numeric ones replaced. Caller frees. */
gchar *subtitles_unescape(const gchar *text, gsize size);
