/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cuda-internal.h"

#include <stdio.h>
#include <stdlib.h>

#define PITCH 512

struct CUctx_st {
  CUdevice device;
};

static int devices = 1;

void fake_cuda_set_devices(int count)
{
  devices = count;
}

#define CALL                                                                                       \
  do {                                                                                             \
    const CUresult call_result = fake_result_of_call(__func__);                                    \
    if (call_result != CUDA_SUCCESS)                                                               \
      return call_result;                                                                          \
  } while (0)

#define CALL_IN_CONTEXT                                                                            \
  do {                                                                                             \
    if (fake_depth == 0)                                                                           \
      fake_stop("no context is current", __func__);                                                \
    CALL;                                                                                          \
  } while (0)

/* --- devices and contexts --- */

CUresult CUDAAPI cuInit(unsigned flags)
{
  CALL;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDriverGetVersion(int *version)
{
  CALL;
  *version = 12000;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetCount(int *count)
{
  CALL;
  *count = devices;
  return devices ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

CUresult CUDAAPI cuDeviceGet(CUdevice *device, int ordinal)
{
  CALL;
  *device = ordinal;
  return ordinal < devices ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult CUDAAPI cuDeviceGetName(char *name, int length, CUdevice device)
{
  CALL;
  snprintf(name, (size_t)length, "fake device %d", device);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
  CALL;
  *value = attribute == CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT ? PITCH : 1;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
  CALL;
  *can = 0;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device);
CUresult CUDAAPI cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device)
{
  CALL;
  *context = calloc(1, sizeof **context);
  (*context)->device = device;
  fake_stack[fake_depth++] = *context;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxDestroy(CUcontext context)
{
  fake_finish_stream(NULL);
  fake_end_objects_of(context);
  free(context);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxPushCurrent(CUcontext context)
{
  if (fake_is_lost(FAKE_GONE))
    return CUDA_ERROR_INVALID_CONTEXT;
  /* Nothing else keeps a context from being entered. */
  if (fake_context_counts())
    CALL;
  if (fake_depth == MAX_DEPTH)
    fake_stop("too many contexts on one another", __func__);
  fake_stack[fake_depth++] = context;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxPopCurrent(CUcontext *context)
{
  /* GStreamer leaves contexts without a look at whether it has entered them. */
  if (fake_depth == 0 && fake_is_lost(FAKE_GONE))
    return CUDA_ERROR_INVALID_CONTEXT;
  if (fake_depth == 0)
    fake_stop("no context is current", __func__);
  fake_depth--;
  if (context)
    *context = fake_stack[fake_depth];
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetCurrent(CUcontext *context)
{
  *context = fake_depth ? fake_stack[fake_depth - 1] : NULL;
  return CUDA_SUCCESS;
}

/* A call of another thread may have failed meanwhile: what was waited for is lost, too. */
static CUresult result_of_waiting(void)
{
  return fake_is_lost(FAKE_STICKY) ? fake_result_when_lost() : CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxSynchronize(void)
{
  CALL_IN_CONTEXT;
  fake_finish_stream(NULL);
  return result_of_waiting();
}

CUresult CUDAAPI cuCtxEnablePeerAccess(CUcontext peer, unsigned flags)
{
  CALL_IN_CONTEXT;
  return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
}

CUresult CUDAAPI cuCtxDisablePeerAccess(CUcontext peer)
{
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGetErrorName(CUresult error, const char **name)
{
  *name = error == CUDA_SUCCESS ? "CUDA_SUCCESS" : "CUDA_ERROR";
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGetErrorString(CUresult error, const char **text)
{
  *text = error == CUDA_SUCCESS ? "no error" : "an error of the fake device";
  return CUDA_SUCCESS;
}

/* --- memory --- */

CUresult CUDAAPI cuMemAlloc(CUdeviceptr *pointer, size_t bytes)
{
  CALL_IN_CONTEXT;
  return fake_new_memory(DEVICE_MEMORY, pointer, bytes, __func__);
}

CUresult CUDAAPI cuMemAllocPitch(CUdeviceptr *pointer, size_t *pitch, size_t width, size_t height,
                                 unsigned element_size)
{
  CALL_IN_CONTEXT;
  *pitch = (width + PITCH - 1) / PITCH * PITCH;
  return fake_new_memory(DEVICE_MEMORY, pointer, *pitch * height, __func__);
}

CUresult CUDAAPI cuMemFree(CUdeviceptr pointer)
{
  fake_finish_stream(NULL);
  return fake_remove(DEVICE_MEMORY, (void *)pointer, __func__);
}

CUresult CUDAAPI cuMemAllocHost(void **pointer, size_t bytes)
{
  CALL_IN_CONTEXT;
  return fake_new_memory(HOST_MEMORY, pointer, bytes, __func__);
}

CUresult CUDAAPI cuMemFreeHost(void *pointer)
{
  fake_finish_stream(NULL);
  return fake_remove(HOST_MEMORY, pointer, __func__);
}

CUresult CUDAAPI cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *properties)
{
  CALL_IN_CONTEXT;
  return fake_new_handle(POOL, pool, __func__);
}

CUresult CUDAAPI cuMemPoolDestroy(CUmemoryPool pool)
{
  fake_finish_stream(NULL);
  return fake_remove(POOL, pool, __func__);
}

CUresult CUDAAPI cuMemAllocFromPoolAsync(CUdeviceptr *pointer, size_t bytes, CUmemoryPool pool,
                                         CUstream stream)
{
  fake_find(POOL, pool, __func__);
  fake_check_stream(stream, __func__);
  CALL_IN_CONTEXT;
  return fake_new_memory(DEVICE_MEMORY, pointer, bytes, __func__);
}

CUresult CUDAAPI cuMemFreeAsync(CUdeviceptr pointer, CUstream stream)
{
  fake_check_stream(stream, __func__);
  fake_find(DEVICE_MEMORY, (void *)pointer, __func__);
  fake_enqueue(stream, (Operation){.kind = GIVE, .memory = pointer});
  return fake_is_lost(FAKE_STICKY) ? fake_result_when_lost() : CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemsetD8Async(CUdeviceptr pointer, unsigned char value, size_t bytes,
                                 CUstream stream)
{
  fake_check_stream(stream, __func__);
  CALL_IN_CONTEXT;
  fake_enqueue(stream,
               (Operation){.kind = FILL, .memory = pointer, .value = value, .bytes = bytes});
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemcpy2D(const CUDA_MEMCPY2D *copy)
{
  CALL_IN_CONTEXT;
  fake_enqueue(NULL, (Operation){.kind = COPY, .copy = *copy});
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemcpy2DAsync(const CUDA_MEMCPY2D *copy, CUstream stream)
{
  fake_check_stream(stream, __func__);
  CALL_IN_CONTEXT;
  fake_enqueue(stream, (Operation){.kind = COPY, .copy = *copy});
  return CUDA_SUCCESS;
}

/* --- streams, events and kernels --- */

CUresult CUDAAPI cuStreamCreate(CUstream *stream, unsigned flags)
{
  CALL_IN_CONTEXT;
  return fake_new_handle(STREAM, stream, __func__);
}

CUresult CUDAAPI cuStreamDestroy(CUstream stream)
{
  fake_finish_stream(NULL);
  return fake_remove(STREAM, stream, __func__);
}

/* GStreamer's library asks for the older name. */
#undef cuStreamDestroy
CUresult CUDAAPI cuStreamDestroy(CUstream stream);
CUresult CUDAAPI cuStreamDestroy(CUstream stream)
{
  return cuStreamDestroy_v2(stream);
}

CUresult CUDAAPI cuStreamSynchronize(CUstream stream)
{
  fake_check_stream(stream, __func__);
  /* GStreamer frees memory without a look at whether it has entered the context. */
  if (fake_depth == 0 && fake_is_lost(FAKE_GONE))
    return CUDA_ERROR_INVALID_CONTEXT;
  CALL_IN_CONTEXT;
  if (!fake_finish_stream(stream))
    fake_stop("waits for an event that nobody records", __func__);
  return result_of_waiting();
}

CUresult CUDAAPI cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
  fake_check_stream(stream, __func__);
  fake_find(EVENT, event, __func__);
  CALL_IN_CONTEXT;
  fake_enqueue(stream, (Operation){.kind = WAIT, .event = event, .number = event->recorded});
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuEventCreate(CUevent *event, unsigned flags)
{
  CALL_IN_CONTEXT;
  return fake_new_handle(EVENT, event, __func__);
}

CUresult CUDAAPI cuEventDestroy(CUevent event)
{
  fake_finish_stream(NULL);
  return fake_remove(EVENT, event, __func__);
}

CUresult CUDAAPI cuEventRecord(CUevent event, CUstream stream)
{
  fake_check_stream(stream, __func__);
  fake_find(EVENT, event, __func__);
  CALL_IN_CONTEXT;
  fake_enqueue(stream, (Operation){.kind = RECORD, .event = event, .number = ++event->recorded});
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuEventSynchronize(CUevent event)
{
  const unsigned long number = event->recorded;

  fake_find(EVENT, event, __func__);
  CALL_IN_CONTEXT;
  fake_finish_event(event, number);
  return result_of_waiting();
}

CUresult CUDAAPI cuModuleLoadData(CUmodule *module, const void *image)
{
  CALL_IN_CONTEXT;
  return fake_new_handle(MODULE, module, __func__);
}

CUresult CUDAAPI cuModuleUnload(CUmodule module)
{
  return fake_remove(MODULE, module, __func__);
}

CUresult CUDAAPI cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
  CALL_IN_CONTEXT;
  *function = NULL;
  return CUDA_ERROR_NOT_FOUND;
}

CUresult CUDAAPI cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                                unsigned grid_z, unsigned block_x, unsigned block_y,
                                unsigned block_z, unsigned shared_bytes, CUstream stream,
                                void **arguments, void **extra)
{
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult fake_cuda_launch(void (*run)(void *work), void *work, CUstream stream)
{
  fake_check_stream(stream, __func__);
  CALL_IN_CONTEXT;
  fake_enqueue(stream, (Operation){.kind = RUN, .run = run, .work = work});
  return CUDA_SUCCESS;
}

void fake_cuda_check_memory(const void *memory)
{
  fake_find(DEVICE_MEMORY, memory, "a kernel");
}

void fake_cuda_finish(void)
{
  fake_finish_stream(NULL);
}
