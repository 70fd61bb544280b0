/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Keeps subtitles of Matroska files as they are in the file. GStreamer's demuxer turns text into
 * markup: it escapes &, < and > until it sees a tag such as <i>, and nothing after that.
 */
#pragma once

#include "media.h"

/* Makes `parsebin` output SubStation Alpha subtitles unparsed, and not as text. */
void subtitles_keep_ssa(GstElement *parsebin);

/* Undoes the escaping on the text pads that `parsebin` will have. `without_tags`: also removes tags
 * such as <i>, for containers in which players would show them. */
void subtitles_attach(const Media *media, GstElement *parsebin, gboolean without_tags);

/* TRUE if the text may have styles that GStreamer loses, from MP4 or into it. */
gboolean subtitles_lose_styles(const MediaStream *stream, gboolean without_tags);

/* `text` of `size` bytes, with the five XML entities and numeric ones replaced. Caller frees. */
gchar *subtitles_unescape(const gchar *text, gsize size);
