/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Running times, by which frames are compared.
 */
#pragma once

#include <gst/gst.h>

/* The running time of `pipeline` now; 0 before it plays. */
GstClockTime relay_now(GstElement *pipeline);

/* The running time of `buffer` on `pad`; its PTS if the pad has no time segment. */
GstClockTime relay_running_time(GstPad *pad, const GstBuffer *buffer);
