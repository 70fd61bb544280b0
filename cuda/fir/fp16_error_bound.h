/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Whether fp16 suffices for a picture's taps on tensor cores, and what becomes of the taps. Derived
 * for any picture, before a frame is seen.
 */
#pragma once

#include "cuda/fir/mma_job.h"

namespace cf::fir
{

/* Decides how the taps of each plane are rounded; false where errors may show in some picture. */
bool round_taps_to_fp16(Picture *picture);

/* The taps of plane `p` and what follows their sums, for kernels of `tap_tiles`. */
void describe_mma_plane(MmaJob *job, const Picture *picture, int p, int tap_tiles);

} // namespace cf::fir
