/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Between packed 4:2:2 and the same samples in planes.
 */
#pragma once

#include "plan/plane_rows.h"

/* Copies these rows of `packed`, of `video`, to `planes`. */
void cf_cpu_unpack(const CfVideo *video, const CfPicture *packed, const CfPicture *planes,
                   CfPlaneRows rows, int threads);

/* Copies these rows of `planes` to `destination`; the luma that is no pixel's comes from `source`.
 * Where source and destination are the same, only macropixels that change are written. */
void cf_cpu_pack(const CfVideo *video, const CfPicture *planes, const CfPicture *source,
                 const CfPicture *destination, CfPlaneRows rows, int threads);
