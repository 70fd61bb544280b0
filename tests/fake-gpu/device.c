/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * device.h on the driver of cuda.c, in the place of cuda/common/context.cu. As there, nothing
 * happens without a current context; what would make the real one create a context aborts in the
 * driver.
 */
#include "device.h"

#include <stdio.h>
#include <stdlib.h>

#include "fake-cuda.h"

CUresult CUDAAPI cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device);

struct CfDevice {
  CfDeviceInfo info;
  CUmemoryPool pool;
  void *copy_stream[2]; /* by CfCopy */
};

static CfCode classify(CUresult result)
{
  switch (result) {
  case CUDA_ERROR_OUT_OF_MEMORY:
    return CF_ERROR_NO_MEMORY;
  case CUDA_ERROR_NO_DEVICE:
  case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
  case CUDA_ERROR_NO_BINARY_FOR_GPU:
    return CF_ERROR_NO_DEVICE;
  case CUDA_ERROR_ILLEGAL_ADDRESS:
  case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    return CF_ERROR_DEVICE_LOST;
  default:
    return CF_ERROR_FAILED;
  }
}

static bool ok(CUresult result, const char *doing, CfStatus *status)
{
  return result == CUDA_SUCCESS ||
         cf_fail(status, classify(result), "%s: CUDA error %d", doing, (int)result);
}

bool cf_context_is_current(CfStatus *status)
{
  CUcontext context = NULL;

  cuCtxGetCurrent(&context);
  return context || cf_fail(status, CF_ERROR_NO_DEVICE, "no CUDA context is current");
}

bool cf_device_count(int *count, CfStatus *status)
{
  *count = 0;
  return ok(cuInit(0), "loading the driver", status) &&
         ok(cuDeviceGetCount(count), "looking for GPUs", status);
}

bool cf_device_use_primary(int index, CfStatus *status)
{
  CUcontext context;

  return ok(cuCtxCreate_v2(&context, 0, index), "creating the GPU's primary context", status);
}

/* Stands for all kernels of a build. */
static bool load_kernels(CfStatus *status)
{
  CUmodule module;

  return ok(cuModuleLoadData(&module, ""), "loading the kernels", status) &&
         ok(cuModuleUnload(module), "loading the kernels", status);
}

CfDevice *cf_device_open(CfStatus *status)
{
  const CUmemPoolProps properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED};
  CfDevice *device;

  if (!cf_context_is_current(status) || !load_kernels(status))
    return NULL;
  device = calloc(1, sizeof *device);
  device->info = (CfDeviceInfo){.name = "fake", .major = 9, .multiprocessors = 1};
  if (!ok(cuMemPoolCreate(&device->pool, &properties), "creating the scratch pool", status)) {
    free(device);
    return NULL;
  }
  for (int i = 0; i < 2; i++)
    device->copy_stream[i] = cf_stream_create(status);
  if (!device->copy_stream[0] || !device->copy_stream[1]) {
    cf_device_close(device);
    return NULL;
  }
  return device;
}

void cf_device_close(CfDevice *device)
{
  if (!device)
    return;
  cuMemPoolDestroy(device->pool);
  for (int i = 0; i < 2; i++)
    cf_stream_destroy(device->copy_stream[i]);
  free(device);
}

const CfDeviceInfo *cf_device_info(const CfDevice *device)
{
  return &device->info;
}

void *cf_device_copy_stream(const CfDevice *device, CfCopy direction)
{
  return device->copy_stream[direction];
}

void *cf_scratch_take(CfDevice *device, size_t bytes, void *stream, CfStatus *status)
{
  CUdeviceptr memory;

  if (!ok(cuMemAllocFromPoolAsync(&memory, bytes ? bytes : 1, device->pool, stream),
          "taking scratch memory", status))
    return NULL;
  return (void *)memory;
}

bool cf_scratch_give(CfDevice *device, void *memory, void *stream, CfStatus *status)
{
  return ok(cuMemFreeAsync((CUdeviceptr)memory, stream), "giving scratch memory back", status);
}

void *cf_device_alloc(size_t bytes, CfStatus *status)
{
  CUdeviceptr memory;

  if (!cf_context_is_current(status) ||
      !ok(cuMemAlloc(&memory, bytes ? bytes : 1), "allocating device memory", status))
    return NULL;
  return (void *)memory;
}

void cf_device_free(void *memory)
{
  if (memory && cf_context_is_current(NULL))
    cuMemFree((CUdeviceptr)memory);
}

void *cf_pinned_alloc(size_t bytes, CfStatus *status)
{
  void *memory;

  if (!cf_context_is_current(status) ||
      !ok(cuMemAllocHost(&memory, bytes ? bytes : 1), "allocating page-locked memory", status))
    return NULL;
  return memory;
}

void cf_pinned_free(void *memory)
{
  if (memory && cf_context_is_current(NULL))
    cuMemFreeHost(memory);
}

bool cf_copy_rows(CfCopy direction, void *destination, ptrdiff_t destination_stride,
                  const void *source, ptrdiff_t source_stride, size_t row_bytes, size_t rows,
                  void *stream, CfStatus *status)
{
  const CUDA_MEMCPY2D copy = {
      .srcMemoryType = direction == CF_COPY_TO_DEVICE ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
      .srcHost = source,
      .srcDevice = (CUdeviceptr)source,
      .srcPitch = (size_t)source_stride,
      .dstMemoryType = direction == CF_COPY_TO_HOST ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
      .dstHost = destination,
      .dstDevice = (CUdeviceptr)destination,
      .dstPitch = (size_t)destination_stride,
      .WidthInBytes = row_bytes,
      .Height = rows,
  };

  return ok(cuMemcpy2DAsync(&copy, stream), "copying rows", status);
}

bool cf_copy_picture(CfCopy direction, const CfVideo *video, const CfPicture *destination,
                     const CfPicture *source, void *stream, CfStatus *status)
{
  for (int plane = 0; plane < cf_format_info(video->format)->planes; plane++) {
    if (!cf_copy_rows(direction, destination->data[plane], destination->stride[plane],
                      source->data[plane], source->stride[plane], cf_row_bytes(video, plane),
                      (size_t)cf_plane_height(video, plane), stream, status))
      return false;
  }
  return true;
}

bool cf_device_fill(void *memory, int value, size_t bytes, void *stream, CfStatus *status)
{
  return ok(cuMemsetD8Async((CUdeviceptr)memory, (unsigned char)value, bytes, stream),
            "filling device memory", status);
}

void *cf_stream_create(CfStatus *status)
{
  CUstream stream;

  if (!cf_context_is_current(status) ||
      !ok(cuStreamCreate(&stream, 0), "creating a stream", status))
    return NULL;
  return stream;
}

void cf_stream_destroy(void *stream)
{
  if (stream)
    cuStreamDestroy(stream);
}

bool cf_stream_synchronize(void *stream, CfStatus *status)
{
  return cf_context_is_current(status) &&
         ok(cuStreamSynchronize(stream), "waiting for the GPU", status);
}

void *cf_event_create(bool timing, CfStatus *status)
{
  CUevent event;

  if (!cf_context_is_current(status) || !ok(cuEventCreate(&event, 0), "creating an event", status))
    return NULL;
  return event;
}

void cf_event_destroy(void *event)
{
  if (event)
    cuEventDestroy(event);
}

bool cf_event_record(void *event, void *stream, CfStatus *status)
{
  return ok(cuEventRecord(event, stream), "recording an event", status);
}

bool cf_stream_wait_event(void *stream, void *event, CfStatus *status)
{
  return ok(cuStreamWaitEvent(stream, event, 0), "waiting for an event", status);
}

bool cf_event_synchronize(void *event, CfStatus *status)
{
  return ok(cuEventSynchronize(event), "waiting for the GPU", status);
}

bool cf_event_passed(void *event, bool *passed, CfStatus *status)
{
  *passed = cf_event_synchronize(event, status);
  return *passed;
}

bool cf_event_elapsed_ms(void *start, void *end, float *milliseconds, CfStatus *status)
{
  *milliseconds = 0.0f;
  return cf_event_synchronize(start, status) && cf_event_synchronize(end, status);
}
