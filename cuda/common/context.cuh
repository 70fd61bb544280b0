/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the CUDA sources share: the project's C headers, the device behind CfDevice, error checks.
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
  int code;             /* generation that the kernels in use were compiled for, such as 90 */
  cudaMemPool_t pool;   /* scratch */
  void *copy_stream[2]; /* by CfCopy */
};

/* True if `result` is success. Otherwise `status` says what `doing` ("copying rows to the device")
 * ran into, classified, and the runtime's last error is cleared. */
bool cf_cuda_ok(cudaError_t result, const char *doing, CfStatus *status);

/* False, with an error that says so, where `stream` is being captured into a CUDA graph: what
 * engines decide on the host for one frame must not be replayed for others. Every engine's run()
 * asks first. */
bool cf_refuse_capture(void *stream, CfStatus *status);

/* Whether memory can be accessed 16 bytes at a time from `data` on, and `stride` bytes further. */
inline bool cf_is_vector_aligned(const void *data, ptrdiff_t stride)
{
  return ((uintptr_t)data | (uintptr_t)stride) % 16 == 0;
}
