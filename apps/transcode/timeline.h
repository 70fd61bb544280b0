/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Every packet of the streams that are copied reaches the muxer, at its own time.
 *
 * Files may say that a stream's first samples are not to be heard (an AAC encoder's delay, say),
 * and GStreamer would leave packets before that point out. Here all go through. Such a stream would
 * begin before 0, which muxers do not know: it comes later by that lead, which then has to be noted
 * in the file; or everything comes later by the longest lead.
 */
#pragma once

#include "media.h"

/* How much of a stream lies before what is to be heard of it, in ns. */
GstClockTime timeline_lead(const Media *media, const MediaStream *stream);

/* Attaches to the pads that `parsebin` will have; `media` stays while it runs. `with_leads`: leads
 * are noted, and a file that starts late begins at 0; else it starts as late as before. */
void timeline_attach(const Media *media, GstElement *parsebin, gboolean with_leads);
