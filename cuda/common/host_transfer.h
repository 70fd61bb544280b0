/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Filters pictures of host memory on a GPU: uploads, filter and downloads overlap on three streams,
 * in the strips of plan/strips.h. A picture may be sent while earlier ones are under way. Host
 * memory should be page-locked (device.h): copies from and to other memory do not overlap, unless
 * sources are staged.
 *
 * A transfer belongs to one thread at a time; another thread may be in cf_host_transfer_wait()
 * meanwhile. The CUDA context that was current in open is current in every call.
 */
#pragma once

#include "device.h"
#include "engine.h"
#include "plan/strips.h"

/* Pictures that may be under way at once. */
#define CF_HOST_TRANSFER_PICTURES 4

typedef struct CfHostTransfer CfHostTransfer;

/* Enqueues the filter of the job's rows on the job's stream. job->rows is 0 where a picture is one
 * strip. */
typedef bool (*CfHostTransferFilter)(void *context, const CfJob *job, CfStatus *status);

/* Runs items 0 .. count - 1 of a loop, about `grain` at a time, by up to `threads` threads, and
 * returns when all have been run. */
typedef void (*CfHostLoop)(int threads, int count, int grain,
                           void (*body)(void *context, int first, int end), void *context);

/* `device` is borrowed, and outlives the transfer. */
CfHostTransfer *cf_host_transfer_open(const CfDevice *device, CfStatus *status);

/* Waits for all pictures under way and frees everything. Where no context is current, the
 * transfer's is taken to be destroyed, and only host memory is freed. NULL is allowed. */
void cf_host_transfer_close(CfHostTransfer *transfer);

/* Sets how the next pictures are cut into strips. Where that differs from before, waits for all
 * pictures under way and may allocate; CF_ERROR_NO_MEMORY where the device has no room. */
bool cf_host_transfer_set(CfHostTransfer *transfer, const CfStrips *strips, CfStatus *status);

/* Where the sources of the next pictures are: in page-locked memory, or, with a loop, in any: then
 * its threads copy them into page-locked memory of the transfer, while earlier strips are under
 * way. The filter is called in the sending thread, also within the loop. */
void cf_host_transfer_stage(CfHostTransfer *transfer, CfHostLoop loop, int threads);

/* Enqueues a picture, whose filter runs on `stream`. `ticket` is for cf_host_transfer_wait(), which
 * must be called before CF_HOST_TRANSFER_PICTURES more are sent; until that call returns, both
 * pictures stay alive. They may be the same picture. After a failure no work of the transfer is
 * under way. */
bool cf_host_transfer_send(CfHostTransfer *transfer, const CfPicture *source,
                           const CfPicture *destination, CfHostTransferFilter filter, void *context,
                           void *stream, unsigned *ticket, CfStatus *status);

/* Waits until the result of that picture is in host memory. */
bool cf_host_transfer_wait(CfHostTransfer *transfer, unsigned ticket, CfStatus *status);
