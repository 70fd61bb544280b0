/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The tables that the arithmetic of fir_lines.h reads, made from a plan. With an arena that only
 * counts, all pointers stay NULL.
 */
#pragma once

#include "cpu/common/arena.h"
#include "cpu/fir/line_ops.h"

bool cf_taps_are_symmetric(const CfTaps *taps);

CfLineTaps cf_line_taps(const CfLines *lines, const CfTaps *taps, CfArena *arena);

/* Fills in the tables of `format`, whose plan and other fields are set: the tone of `samples`
 * samples of a line, and the centre where it is premultiplied. */
void cf_line_format_tables(CfLineFormat *format, const CfLines *lines, size_t samples,
                           CfArena *arena);
