/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Between packed 4:2:2 and the same samples in planes, on the device. Both only enqueue.
 */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

#include "plan/plane_rows.h"

/* Copies these rows of `packed`, of `video`, to `planes`, whose rows are aligned to 16 bytes and
 * may be written up to the next multiple of them. */
bool cf_cuda_unpack(const CfVideo *video, const CfPicture *packed, const CfPicture *planes,
                    CfPlaneRows rows, void *stream, CfStatus *status);

/* Copies these rows of such `planes` to `destination`; the luma that is no pixel's comes from
 * `source`. Where source and destination are the same, aligned 16 bytes in which nothing changes
 * are not written. */
bool cf_cuda_pack(const CfVideo *video, const CfPicture *planes, const CfPicture *source,
                  const CfPicture *destination, CfPlaneRows rows, void *stream, CfStatus *status);

#ifdef __cplusplus
}
#endif
