/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Conversion between packed 4:2:2 and planar 4:2:2 on the device. Both functions only enqueue.
 */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

#include "plan/plane_rows.h"

/* Converts `rows` of `packed`, a picture of `video`, to `planes`: Y, U and V. Rows of the planes
 * are aligned to 16 bytes and may be written up to the next multiple of 16 bytes. */
bool cf_cuda_unpack(const CfVideo *video, const CfPicture *packed, const CfPicture *planes,
                    CfPlaneRows rows, void *stream, CfStatus *status);

/* Converts `rows` of such `planes` to `destination`. With an odd width, the last macropixel's
 * second luma, which belongs to no pixel, is copied from `source`. Where source and destination are
 * the same, aligned groups of 16 bytes that do not change are not written. */
bool cf_cuda_pack(const CfVideo *video, const CfPicture *planes, const CfPicture *source,
                  const CfPicture *destination, CfPlaneRows rows, void *stream, CfStatus *status);

#ifdef __cplusplus
}
#endif
