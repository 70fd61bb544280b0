/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The tables that the arithmetic of line_ops.h reads, computed from a plan. With an arena that
 * counts, all pointers stay NULL.
 */
#pragma once

#include "cpu/common/memory.h"
#include "cpu/fir/line_ops.h"

/* Whether tap[i] = tap[count - 1 - i] for all i. */
bool cf_taps_are_symmetric(const CfTaps *taps);

/* The taps in the type of the working samples of `lines`. */
CfLineTaps cf_line_taps(const CfLines *lines, const CfTaps *taps, CfArena *arena);

/* The format of plane `p`, with tables for lines of up to `samples` samples. `plan` outlives it; of
 * its taps only the sums are used. */
CfLineFormat cf_line_format(const CfVideo *video, int p, const CfFirPlane *plan, bool premultiplied,
                            const CfLines *lines, size_t samples, CfArena *arena);

/* A pixel of the constant border of a plane, as in memory. */
void cf_border_pixel(const CfVideo *video, const CfFirPlane *plan, uint8_t pixel[8]);
