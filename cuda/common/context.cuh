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
  bool cooperates;    /* the GPU supports cooperative launches */
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

/* Enqueues a copy to the device, which has read `from` when the call returns. */
bool cf_upload(void *to, const void *from, size_t bytes, void *stream, CfStatus *status);

/* Enqueues what `use` (memory) enqueues, with scratch memory that is given back afterwards; NULL
 * where `bytes` is 0. `use` returns false if it fails, with `status` filled. */
template <typename Use>
bool cf_with_scratch(CfDevice *device, size_t bytes, void *stream, CfStatus *status, Use use)
{
  uint8_t *memory = nullptr;

  if (bytes > 0 && !(memory = (uint8_t *)cf_scratch_take(device, bytes, stream, status)))
    return false;
  const bool good = use(memory);
  return (!memory || cf_scratch_give(device, memory, stream, good ? status : nullptr)) && good;
}
