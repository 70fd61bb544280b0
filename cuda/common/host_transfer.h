/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Filters pictures in host memory on a GPU. A picture is divided into strips of rows
 * (plan/strips.h), whose upload, filter and download overlap on three streams; several pictures may
 * be in flight. Host memory should be page-locked (device.h): copies of pageable memory do not
 * overlap, unless sources are staged.
 *
 * One thread at a time uses a transfer; another may be in cf_host_transfer_wait() meanwhile. The
 * CUDA context that was current in cf_host_transfer_open() must be current in every call.
 */
#pragma once

#include "device.h"
#include "engine.h"
#include "plan/strips.h"

/* Pictures that may be in flight at once. */
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

/* Waits for all pictures in flight and frees everything. Where no context is current, the
 * transfer's is assumed to be destroyed, and only host memory is freed. NULL is allowed. */
void cf_host_transfer_close(CfHostTransfer *transfer);

/* Sets the strips of the next pictures. If they differ from the current ones, waits for all
 * pictures in flight and may allocate; CF_ERROR_NO_MEMORY if the device has too little memory. */
bool cf_host_transfer_set(CfHostTransfer *transfer, const CfStrips *strips, CfStatus *status);

/* With a `loop`, the sources of the next pictures may be in any host memory: up to `threads`
 * threads copy them to page-locked memory of the transfer while earlier strips are in flight. With
 * NULL they must be page-locked. The filter is called in the sending thread, also inside the loop.
 */
void cf_host_transfer_stage(CfHostTransfer *transfer, CfHostLoop loop, int threads);

/* Enqueues a picture, whose filter runs on `stream`. cf_host_transfer_wait() must be called with
 * `*ticket` before CF_HOST_TRANSFER_PICTURES more are sent; until it returns, source and
 * destination must stay alive. They may be the same picture. After a failure no work of the
 * transfer is in flight. */
bool cf_host_transfer_send(CfHostTransfer *transfer, const CfPicture *source,
                           const CfPicture *destination, CfHostTransferFilter filter, void *context,
                           void *stream, unsigned *ticket, CfStatus *status);

/* Waits until that picture's result is in host memory. */
bool cf_host_transfer_wait(CfHostTransfer *transfer, unsigned ticket, CfStatus *status);
