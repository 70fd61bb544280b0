/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A libcuda.so.1 of host memory, for tests of what elements do with a GPU on machines that have
 * none, and of what they do when it fails. It has what GStreamer's CUDA library asks for and what
 * device.c needs. Work on streams is queued, and done only when somebody waits, stream against
 * stream in any order that the events allow: a missing wait shows as wrong pixels. Copies that
 * leave the memory they are given, and objects that are used after their end, abort.
 */
#pragma once

#include <cuda.h>
#include <stdbool.h>

typedef enum {
  FAKE_ONCE,   /* one call fails, the next ones work */
  FAKE_FULL,   /* from that call on, none that asks for memory works */
  FAKE_STICKY, /* from that call on, all fail that work in the context */
  FAKE_GONE,   /* the same, and the context cannot be entered any more */
} FakeFailure;

/* Fails the call of that number, counted from now on, with `result`. Calls that only free or leave
 * do not count, and those that enter a context only for FAKE_GONE. 0: none fails any more. */
void fake_cuda_fail(int call, CUresult result, FakeFailure failure);

/* Fails every call of the driver's function `name`, as the linker knows it; NULL: none. */
void fake_cuda_fail_function(const char *name, CUresult result);

/* Calls that counted since fake_cuda_fail, and the name of the one that failed, or NULL. */
int fake_cuda_calls(void);
const char *fake_cuda_failed(void);

/* The number of devices, 1 at first. */
void fake_cuda_set_devices(int count);

/* Memory, streams, events and pools that were made and not freed, also those that have ended with
 * their context. */
int fake_cuda_objects(void);

/* Enqueues run(work), and then free(work); `work` is taken unless the call fails. */
CUresult fake_cuda_launch(void (*run)(void *work), void *work, CUstream stream);

/* Aborts unless `memory` lies in device memory; for what is launched. */
void fake_cuda_check_memory(const void *memory);

/* Does all that is queued. */
void fake_cuda_finish(void);

/* Whether nothing is queued. */
bool fake_cuda_is_idle(void);
