/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lock.h"

#include <cuda_runtime_api.h>

static int lock(CfLocked *locked, const void *rows, size_t bytes)
{
  for (int i = 0; i < locked->count; i++) {
    if (locked->rows[i] == rows)
      return cudaSuccess;
  }
  if (locked->count == CF_MOST_LOCKED)
    return cudaErrorMemoryAllocation;
  const int error = cudaHostRegister((void *)rows, bytes, cudaHostRegisterDefault);
  if (error == cudaSuccess)
    locked->rows[locked->count++] = (void *)rows;
  return error;
}

int cf_lock_frame(CfLocked *locked, const CfLadderFrame *frame)
{
  const size_t height = (size_t)frame->height;
  const int error = lock(locked, frame->source, (size_t)frame->source_stride * height);

  return error == cudaSuccess
             ? lock(locked, frame->destination, (size_t)frame->destination_stride * height)
             : error;
}

void cf_locked_clear(CfLocked *locked)
{
  for (int i = 0; i < locked->count; i++)
    cudaHostUnregister(locked->rows[i]);
  locked->count = 0;
}
