/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Puts a filtered picture into its source where regions cover it, for engines that filter whole
 * areas rather than single samples.
 */
#pragma once

#include "coverage.h"

/* Makes `destination` the source where nothing is covered, `filtered` where all is, and a mix in
 * between (coverage-rule.h). All three are pictures of `video`; `filtered` is read in
 * cf_coverage_bounds() only, so only that part of it needs to be in memory. `source` and
 * `destination` may be the same, and then only covered samples are written. `threads` is 1 or more.
 */
void cf_compose(const CfVideo *video, const CfRegions *regions, const CfPicture *source,
                const CfPicture *filtered, const CfPicture *destination, int threads);
