/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The GPU as the rest of the project sees it: plain C, no CUDA types. Built only together with the
 * CUDA engines (CF_HAVE_CUDA).
 *
 * Contexts. Every call but cf_device_count, cf_device_use_primary, cf_context_is_current and
 * cf_device_info needs the CUDA context to be current that its device, memory, stream or event
 * belongs to. Calls that open, allocate or create fail with CF_ERROR_NO_DEVICE where no context is
 * current: the CUDA runtime would otherwise create the device's primary context, which takes half a
 * gigabyte of its memory. An element pushes its GstCudaContext around each call; a program without
 * one calls cf_device_use_primary once per thread.
 *
 * Streams and events are passed as `void *` (CUstream, CUevent); a NULL stream is the default
 * stream. All calls may be made from any thread, and return false or NULL on failure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The number of GPUs. Creates no context. Fails with CF_ERROR_NO_DEVICE without a usable driver. */
bool cf_device_count(int *count, CfStatus *status);

/* Whether a CUDA context is current on the calling thread; if not, `status` says why. */
bool cf_context_is_current(CfStatus *status);

/* Makes the primary context of GPU `index` current on the calling thread, creating it if need be.
 * Tests and benchmarks only. */
bool cf_device_use_primary(int index, CfStatus *status);

/* --- resources of one context, shared by all engines on it --- */

typedef struct {
  char name[64];        /* as the driver names it, cut off where it is longer */
  int major, minor;     /* compute capability */
  int multiprocessors;  /* number of SMs */
  int shared_per_block; /* bytes of shared memory that one CTA may ask for */
  int shared_per_sm;    /* bytes of shared memory of one SM */
  size_t memory;        /* bytes of device memory */
} CfDeviceInfo;

/* Opens the current context: reads the device's limits and creates a scratch pool. The caller
 * closes the device. */
CfDevice *cf_device_open(CfStatus *status);

/* Frees the scratch pool. The context that was current in cf_device_open is current again, all work
 * that used the device has finished, and all engine states on it are closed. `device` may be NULL.
 */
void cf_device_close(CfDevice *device);

/* The limits of an open device; valid until cf_device_close. */
const CfDeviceInfo *cf_device_info(const CfDevice *device);

/* Scratch memory of `bytes`, 256-byte aligned, for work enqueued on `stream` between
 * cf_scratch_take and cf_scratch_give on the same stream. Both only enqueue and never wait. The
 * pool keeps its memory until cf_device_close, so after the first frames nothing is allocated. An
 * engine takes and gives within one run(), so all engines of the context share the memory. */
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

/* The stream on which all host pictures of the context are copied in this direction
 * (CF_COPY_TO_DEVICE or CF_COPY_TO_HOST). One stream for all: a copy engine that serves several
 * streams takes longer to switch between them than to copy a small picture. */
void *cf_device_copy_stream(const CfDevice *device, CfCopy direction);

/* Enqueues a copy of `rows` rows of `row_bytes` bytes between pitched memories (strides in bytes,
 * positive and at least row_bytes). Asynchronous only if the host side is page-locked; with
 * pageable memory the call may block until the copy is done, but never waits for other streams. */
bool cf_copy_rows(CfCopy direction, void *destination, ptrdiff_t destination_stride,
                  const void *source, ptrdiff_t source_stride, size_t row_bytes, size_t rows,
                  void *stream, CfStatus *status);

/* The same for all planes of a picture; `video` is the format and size of both. */
bool cf_copy_picture(CfCopy direction, const CfVideo *video, const CfPicture *destination,
                     const CfPicture *source, void *stream, CfStatus *status);

/* Enqueues setting `bytes` bytes of device memory to `value`. */
bool cf_device_fill(void *memory, int value, size_t bytes, void *stream, CfStatus *status);

/* --- streams and events --- */

/* A stream that synchronises with the default stream (a blocking stream, as GStreamer's are: copies
 * of upstream elements on the default stream must not be overtaken). Destroy accepts NULL and lets
 * pending work finish. */
void *cf_stream_create(CfStatus *status);
void cf_stream_destroy(void *stream);

/* The host waits until all work on the stream has finished. */
bool cf_stream_synchronize(void *stream, CfStatus *status);

/* Events. Only those created with `timing` can be given to cf_event_elapsed_ms; they cost a little
 * more. Destroy accepts NULL. */
void *cf_event_create(bool timing, CfStatus *status);
void cf_event_destroy(void *event);
bool cf_event_record(void *event, void *stream, CfStatus *status);

/* Work enqueued on `stream` from now on waits, on the device, until the event's last record has
 * passed. */
bool cf_stream_wait_event(void *stream, void *event, CfStatus *status);

/* The host waits until the event's last record has passed. */
bool cf_event_synchronize(void *event, CfStatus *status);

/* Sets `passed` to whether the event's last record has passed, without waiting. */
bool cf_event_passed(void *event, bool *passed, CfStatus *status);

/* Milliseconds between two recorded events; waits for the later one. */
bool cf_event_elapsed_ms(void *start, void *end, float *milliseconds, CfStatus *status);

#ifdef __cplusplus
}
#endif
