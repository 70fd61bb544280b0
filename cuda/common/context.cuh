/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What all CUDA sources include: the C headers of the engines, struct CfDevice, error checks.
 */
#pragma once

#include <cuda_runtime.h>

extern "C" {
#include "device.h"
#include "engine.h"
#include "image.h"
#include "status.h"
}

struct CfDevice {
  CfDeviceInfo info;
  int code;           /* compute capability that the kernels in use were compiled for: 90 is 9.0 */
  cudaMemPool_t pool; /* of cf_scratch_take() */
  void *copy_stream[2]; /* index: CF_COPY_TO_DEVICE, CF_COPY_TO_HOST */
};

/* True if `result` is success. Otherwise sets `status` to the class of the error and a message that
 * starts with `doing` ("copying rows to the device"), and clears the runtime's last error. */
bool cf_cuda_ok(cudaError_t result, const char *doing, CfStatus *status);

/* Fails if `stream` is being captured into a CUDA graph: what an engine decides on the host for one
 * frame must not be replayed for others. Every engine's run() calls this first. */
bool cf_refuse_capture(void *stream, CfStatus *status);

/* Whether every row that starts at `data` plus a multiple of `stride` is aligned to 16 bytes. */
inline bool cf_is_vector_aligned(const void *data, ptrdiff_t stride)
{
  return ((uintptr_t)data | (uintptr_t)stride) % 16 == 0;
}
