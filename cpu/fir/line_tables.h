/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The tables that the arithmetic of line_ops.h reads, made from a plan. With an arena that only
 * counts, all pointers stay NULL.
 */
#pragma once

#include "cpu/common/memory.h"
#include "cpu/fir/line_ops.h"

bool cf_taps_are_symmetric(const CfTaps *taps);

CfLineTaps cf_line_taps(const CfLines *lines, const CfTaps *taps, CfArena *arena);

/* The format of plane `p` and its tables for lines of up to `samples` samples. `plan` outlives it;
 * of its taps only the sums count. */
CfLineFormat cf_line_format(const CfVideo *video, int p, const CfFirPlane *plan, bool premultiplied,
                            const CfLines *lines, size_t samples, CfArena *arena);

/* The pixel that a constant border of a plane is made of, as stored. */
void cf_border_pixel(const CfVideo *video, const CfFirPlane *plan, uint8_t pixel[8]);
