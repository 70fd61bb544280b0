/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Pictures in host memory through a device, in the strips of plan/strips.h: copies in, the filter
 * and copies out on a stream each. Pictures may follow each other without a wait. Host memory
 * should be page-locked (device.h); other memory works, but its copies wait.
 *
 * A host transfer belongs to one thread at a time, but another one may wait for pictures meanwhile;
 * its CUDA context is current in every call.
 */
#pragma once

#include "device.h"
#include "engine.h"
#include "plan/strips.h"

/* Pictures that may be under way at once. */
#define CF_HOST_TRANSFER_PICTURES 4

typedef struct CfHostTransfer CfHostTransfer;

/* Enqueues the filter of the rows of `job` on its stream. */
typedef bool (*CfHostTransferFilter)(void *context, const CfJob *job, CfStatus *status);

CfHostTransfer *cf_host_transfer_open(CfStatus *status);

/* Waits for all that is under way. Without a current context, which then is gone with all that is
 * in it, only host memory is freed. NULL is allowed. */
void cf_host_transfer_close(CfHostTransfer *transfer);

/* Takes up the cut of the pictures to come, which costs a wait and perhaps an allocation where it
 * differs from the one before; CF_ERROR_NO_MEMORY where the device has no room for it. */
bool cf_host_transfer_set(CfHostTransfer *transfer, const CfStrips *strips, CfStatus *status);

/* Sends a picture on its way, filtered on `stream`. `ticket` is for cf_host_transfer_wait, which
 * must be called before CF_HOST_TRANSFER_PICTURES more are sent; until it returns, both pictures
 * stay alive. They may be the same. After a failure nothing of the picture is under way. */
bool cf_host_transfer_send(CfHostTransfer *transfer, const CfPicture *source,
                           const CfPicture *destination, CfHostTransferFilter filter, void *context,
                           void *stream, unsigned *ticket, CfStatus *status);

/* The host waits until that picture is done. */
bool cf_host_transfer_wait(CfHostTransfer *transfer, unsigned ticket, CfStatus *status);
