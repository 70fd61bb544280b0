/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Puts a filtered picture into its source where regions cover it, for engines that filter whole
 * areas rather than single samples.
 */
#pragma once

#include "plan/coverage_frame.h"

/* Makes `destination` the source where nothing is covered, `filtered` where all is, and a mix in
 * between (coverage_rule.h). All three are pictures of coverage->video; `filtered` is read within
 * coverage->bounds only, so only that part of it needs to be in memory. `source` and `destination`
 * may be the same, and then only covered samples are written. `threads` is 1 or more. */
void cf_compose(const CfCoverage *coverage, const CfPicture *source, const CfPicture *filtered,
                const CfPicture *destination, int threads);

/* Mixes one pixel of a plane, `coverage` of 256 parts of it `filtered`; `destination` may be one of
 * the others. */
void cf_compose_pixel(const CfFormatInfo *format, const CfPlaneFormat *info, uint8_t *destination,
                      const uint8_t *source, const uint8_t *filtered, uint32_t coverage);
