/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rounds taps to fp16 for the tensor cores, and bounds the error that fp16 causes in any picture:
 * from the taps alone, before a frame is seen.
 */
#pragma once

#include "cuda/fir/mma_job.h"

namespace cf::fir
{

/* Chooses Picture.row and .column; false if errors could be visible in some picture. */
bool round_taps_to_fp16(Picture *picture);

/* Sets the taps of plane `p` and the transforms of its sums, for a kernel of `tap_tiles`. */
void describe_mma_plane(MmaJob *job, const Picture *picture, int p, int tap_tiles);

} // namespace cf::fir
