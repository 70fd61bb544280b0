/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The elements that --from stands for.
 */
#pragma once

#include <gst/gst.h>

#include "arrivals.h"
#include "uri.h"

/* Puts into `pipeline` what receives and decodes `uri`, and links its video, now or when it turns
 * out to have one, to the pad `video`. Streams that are not video stay undecoded. What fails while
 * it runs is an error on the pipeline's bus. `latency` (ms) is how late packets may be. `arrivals`
 * gets to know encoded frames of sources that have relay_source_tells_no_time(). */
gboolean relay_source_build(GstBin *pipeline, GstPad *video, const RelayUri *uri, guint latency,
                            RelayArrivals *arrivals, GError **error);

/* TRUE if frames have times that say nothing of when they were captured, or came: those of a
 * transport stream are ahead by as much as its multiplexer pleased. */
gboolean relay_source_tells_no_time(const RelayUri *uri);

/* TRUE if the source gives frames as fast as they are taken, so that somebody has to pace it. */
gboolean relay_source_is_file(const RelayUri *uri);
