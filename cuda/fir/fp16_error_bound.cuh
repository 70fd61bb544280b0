/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Whether the tensor filter's half precision is enough, and what becomes of the taps there.
 */
#pragma once

#include "cuda/fir/mma_types.cuh"

/* Decides how the taps of each plane are rounded for a variant of `tiles`; false where that may
 * show in some picture. */
bool cf_fir_round_taps(CfFirPicture *picture, int tiles);

/* The taps of plane `p` and what follows their sums, for a variant of `tiles`. */
void cf_fir_place_plane(CfTensorJob *job, const CfFirPicture *picture, int p, int tiles);
