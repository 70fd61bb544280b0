/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Lets an appsink take frames with padding.
 */
#pragma once

#include <gst/gst.h>

/* Makes the sink `pad` (borrowed) answer allocation queries with GstVideoMeta, without which
 * decoders copy their padded frames. */
void relay_take_padded_frames(GstPad *pad);
