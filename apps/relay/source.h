/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The elements that --from stands for.
 */
#pragma once

#include <gst/gst.h>

#include "arrivals.h"
#include "uri.h"

/* Adds the elements to `pipeline` that receive and decode `uri`, and links its video to the pad
 * `video`, now or when its pad appears. Other streams are not decoded. Later failures are errors on
 * the bus. `latency` is how late packets may be, in ms. `arrivals` watches encoded frames of
 * sources that have relay_source_tells_no_time(). */
gboolean relay_source_build(GstBin *pipeline, GstPad *video, const RelayUri *uri, guint latency,
                            RelayArrivals *arrivals, GError **error);

/* TRUE if timestamps do not tell when a frame was captured or arrived: those of an MPEG transport
 * stream are ahead by an offset that its multiplexer chose. */
gboolean relay_source_tells_no_time(const RelayUri *uri);

/* TRUE if the source gives frames as fast as they are taken, and so has to be paced. */
gboolean relay_source_is_file(const RelayUri *uri);
