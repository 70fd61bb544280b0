/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Every packet of the streams that are copied reaches the muxer, at its own time.
 *
 * Files may say that a stream's first samples are not to be heard (the encoder's delay of AAC, say)
 * and GStreamer would leave packets before that point out. Here the streams' segments begin with
 * their first packet, and everything is moved by the largest such delay.
 */
#pragma once

#include "media.h"

/* Attaches to the pads that `parsebin` will have; `media` stays while it runs. */
void timeline_attach(const Media *media, GstElement *parsebin);
