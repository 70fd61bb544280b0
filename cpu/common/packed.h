/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Packed 4:2:2 to planes and back. `video` is the packed format, `rows` are those to convert.
 */
#pragma once

#include "plan/plane_rows.h"

/* Copies rows of `packed` to `planes`. */
void cf_cpu_unpack(const CfVideo *video, const CfPicture *packed, const CfPicture *planes,
                   CfPlaneRows rows, int threads);

/* Copies rows of `planes` to `destination`. Where the width is odd, the last luma sample of a row
 * belongs to no pixel and is taken from `source`. Where source and destination are the same, only
 * macropixels that change are written. */
void cf_cpu_pack(const CfVideo *video, const CfPicture *planes, const CfPicture *source,
                 const CfPicture *destination, CfPlaneRows rows, int threads);
