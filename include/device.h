/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The GPU as the rest of the project sees it: plain C, no CUDA types. Exists only where the CUDA
 * engines are built (CF_HAVE_CUDA).
 *
 * Contexts. Every call but cf_device_count, cf_device_use_primary and cf_context_is_current needs a
 * current CUDA context, and refuses with CF_ERROR_NO_DEVICE without one: the CUDA runtime would
 * otherwise create the device's primary context, half a gigabyte that nobody asked for. An element
 * pushes its GstCudaContext around each call; programs without one call cf_device_use_primary once
 * a thread.
 *
 * Streams and events travel as `void *` (CUstream, CUevent); NULL is the default stream. All calls
 * may be made from any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The number of GPUs; creates no context. False without a usable driver (CF_ERROR_NO_DEVICE). */
bool cf_device_count(int *count, CfStatus *status);

/* Whether a CUDA context is current on the calling thread; if not, `status` says why. */
bool cf_context_is_current(CfStatus *status);

/* Makes the primary context of GPU `index` current on the calling thread, creating it if need be.
 * Tests and benchmarks only. */
bool cf_device_use_primary(int index, CfStatus *status);

/* --- the resources of one context, shared by all engines on it --- */

typedef struct {
  char name[64];
  int major, minor;     /* compute capability */
  int multiprocessors;  /* number of SMs */
  int shared_per_block; /* bytes of shared memory that one block may ask for */
  int shared_per_sm;    /* bytes of shared memory of one SM */
  size_t memory;        /* bytes of device memory */
} CfDeviceInfo;

/* Opens the current context: its device's limits and a scratch pool. NULL on failure. */
CfDevice *cf_device_open(CfStatus *status);

/* Frees the scratch pool. The context of open is current, all work that used the device has
 * finished, and all engine states on it are closed. `device` may be NULL. */
void cf_device_close(CfDevice *device);

const CfDeviceInfo *cf_device_info(const CfDevice *device);

/* Scratch memory of `bytes`, 256-byte aligned, usable by work enqueued on `stream` from now until
 * cf_scratch_give on the same stream. Both only enqueue: nothing waits, and after the first frames
 * nothing is allocated, since the pool keeps what it once got until cf_device_close. An engine
 * takes in run() and gives in the same run(), so that all engines of the context share the memory.
 */
void *cf_scratch_take(CfDevice *device, size_t bytes, void *stream, CfStatus *status);
bool cf_scratch_give(CfDevice *device, void *memory, void *stream, CfStatus *status);

/* --- memory --- */

/* Device memory, 256-byte aligned; may wait for the device. Free accepts NULL. */
void *cf_device_alloc(size_t bytes, CfStatus *status);
void cf_device_free(void *memory);

/* Page-locked host memory, which copies at full bus speed and asynchronously. Free accepts NULL. */
void *cf_pinned_alloc(size_t bytes, CfStatus *status);
void cf_pinned_free(void *memory);

typedef enum { CF_COPY_TO_DEVICE, CF_COPY_TO_HOST, CF_COPY_ON_DEVICE } CfCopy;

/* The stream that all pictures of the host take in that direction, to the device or to the host: a
 * copy engine with several streams to serve takes longer to change between them than small pictures
 * take. */
void *cf_device_copy_stream(const CfDevice *device, CfCopy direction);

/* Enqueues a copy of `rows` rows of `row_bytes` bytes between pitched memories (strides in bytes,
 * positive and at least row_bytes). Truly asynchronous only if the host side is page-locked;
 * otherwise the call may return late but never waits for other streams. */
bool cf_copy_rows(CfCopy direction, void *destination, ptrdiff_t destination_stride,
                  const void *source, ptrdiff_t source_stride, size_t row_bytes, size_t rows,
                  void *stream, CfStatus *status);

/* The same for all planes of a picture of `video`. */
bool cf_copy_picture(CfCopy direction, const CfVideo *video, const CfPicture *destination,
                     const CfPicture *source, void *stream, CfStatus *status);

/* Enqueues setting `bytes` bytes of device memory to `value`. */
bool cf_device_fill(void *memory, int value, size_t bytes, void *stream, CfStatus *status);

/* --- streams and events --- */

/* A stream that orders itself with the default stream (blocking, as GStreamer's are: upstream's
 * copies on the default stream must not overtake it). NULL on failure. Destroy accepts NULL and
 * lets pending work finish. */
void *cf_stream_create(CfStatus *status);
void cf_stream_destroy(void *stream);
bool cf_stream_synchronize(void *stream, CfStatus *status);

/* Events; `timing` ones can be given to cf_event_elapsed_ms and cost a little more. Destroy accepts
 * NULL. */
void *cf_event_create(bool timing, CfStatus *status);
void cf_event_destroy(void *event);
bool cf_event_record(void *event, void *stream, CfStatus *status);

/* Work enqueued on `stream` from now on waits, on the device, for what was recorded. */
bool cf_stream_wait_event(void *stream, void *event, CfStatus *status);

/* The host waits for what was recorded. */
bool cf_event_synchronize(void *event, CfStatus *status);

/* Whether what was recorded has passed, without waiting for it. */
bool cf_event_passed(void *event, bool *passed, CfStatus *status);

/* Milliseconds between two recorded events; waits for the later one. */
bool cf_event_elapsed_ms(void *start, void *end, float *milliseconds, CfStatus *status);

#ifdef __cplusplus
}
#endif
