/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * device.h on CUDA: contexts, scratch, memory, streams, events, and the classes of CUDA errors.
 *
 * Scratch is a cudaMemPool with an unlimited release threshold, not an arena per stream. Allocation
 * is stream-ordered: memory that one engine frees on a stream is reused by the next one on that
 * stream without a wait. The driver handles several streams, threads that share a stream, and
 * streams that are destroyed; an arena would need a lock for the whole of run() and would keep the
 * memory of destroyed streams.
 */
#include "cuda/common/context.cuh"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace
{

CfCode classify(cudaError_t error)
{
  switch (error) {
  case cudaErrorMemoryAllocation:
    return CF_ERROR_NO_MEMORY;

  case cudaErrorInsufficientDriver:
  case cudaErrorStubLibrary:
  case cudaErrorNoDevice:
  case cudaErrorInvalidDevice:
  case cudaErrorDevicesUnavailable:
  case cudaErrorInitializationError:
  case cudaErrorInvalidDeviceFunction:
  case cudaErrorNoKernelImageForDevice:
  case cudaErrorInvalidKernelImage:
  case cudaErrorInvalidPtx:
  case cudaErrorJitCompilerNotFound:
  case cudaErrorJitCompilationDisabled:
  case cudaErrorUnsupportedPtxVersion:
  case cudaErrorSystemNotReady:
  case cudaErrorSystemDriverMismatch:
  case cudaErrorCompatNotSupportedOnDevice:
  case cudaErrorMpsConnectionFailed:
  case cudaErrorMpsServerNotReady:
  case cudaErrorMpsMaxClientsReached:
  case cudaErrorMpsMaxConnectionsReached:
    return CF_ERROR_NO_DEVICE;

  case cudaErrorECCUncorrectable:
  case cudaErrorNvlinkUncorrectable:
  case cudaErrorIllegalAddress:
  case cudaErrorLaunchTimeout:
  case cudaErrorAssert:
  case cudaErrorHardwareStackError:
  case cudaErrorIllegalInstruction:
  case cudaErrorMisalignedAddress:
  case cudaErrorInvalidAddressSpace:
  case cudaErrorInvalidPc:
  case cudaErrorLaunchFailure:
  case cudaErrorContextIsDestroyed:
  case cudaErrorCudartUnloading:
  case cudaErrorMpsRpcFailure:
    return CF_ERROR_DEVICE_LOST;

  default:
    return CF_ERROR_FAILED;
  }
}

const char *advice(cudaError_t error, CfCode code)
{
  switch (error) {
  case cudaErrorInsufficientDriver:
  case cudaErrorUnsupportedPtxVersion:
    return "; the NVIDIA driver is missing or older than the CUDA toolkit of this build: update it";
  case cudaErrorNoDevice:
    return "; no NVIDIA GPU is visible, see nvidia-smi and CUDA_VISIBLE_DEVICES";
  case cudaErrorInvalidDeviceFunction:
  case cudaErrorNoKernelImageForDevice:
    return "; this build has no code for this GPU: rebuild with its generation in cuda-archs";
  default:
    break;
  }
  switch (code) {
  case CF_ERROR_NO_MEMORY:
    return "; free GPU memory or use smaller frames";
  case CF_ERROR_DEVICE_LOST:
    return "; no CUDA works in this process any more: restart the application";
  default:
    return "";
  }
}

/* An empty kernel. cudaFuncGetAttributes() on it tells whether this build has code for the device,
 * and for which compute capability. */
__global__ void probe()
{
}

bool read_info(CfDevice *device, int index, CfStatus *status)
{
  cudaDeviceProp properties;
  cudaFuncAttributes attributes;
  int pools = 0, cooperates = 0;

  if (!cf_cuda_ok(cudaGetDeviceProperties(&properties, index), "reading the GPU's properties",
                  status) ||
      !cf_cuda_ok(cudaFuncGetAttributes(&attributes, probe), "loading the kernels", status) ||
      !cf_cuda_ok(cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, index),
                  "reading the GPU's properties", status) ||
      !cf_cuda_ok(cudaDeviceGetAttribute(&cooperates, cudaDevAttrCooperativeLaunch, index),
                  "reading the GPU's properties", status))
    return false;
  if (!pools)
    return cf_fail(status, CF_ERROR_NO_DEVICE, "%s has no stream-ordered memory; update its driver",
                   properties.name);

  CfDeviceInfo *info = &device->info;
  snprintf(info->name, sizeof info->name, "%.60s", properties.name);
  info->major = properties.major;
  info->minor = properties.minor;
  info->multiprocessors = properties.multiProcessorCount;
  info->shared_per_block = (int)properties.sharedMemPerBlockOptin;
  info->shared_per_sm = (int)properties.sharedMemPerMultiprocessor;
  info->memory = properties.totalGlobalMem;
  device->code = attributes.ptxVersion;
  device->cooperates = cooperates;
  return true;
}

bool create_pool(CfDevice *device, int index, CfStatus *status)
{
  cudaMemPoolProps properties;
  uint64_t keep = UINT64_MAX;

  memset(&properties, 0, sizeof properties);
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = index;
  return cf_cuda_ok(cudaMemPoolCreate(&device->pool, &properties), "creating the scratch pool",
                    status) &&
         cf_cuda_ok(cudaMemPoolSetAttribute(device->pool, cudaMemPoolAttrReleaseThreshold, &keep),
                    "creating the scratch pool", status);
}

bool create_copy_streams(CfDevice *device, CfStatus *status)
{
  for (void *&stream : device->copy_stream) {
    stream = cf_stream_create(status);
    if (!stream)
      return false;
  }
  return true;
}

cudaMemcpyKind copy_kind(CfCopy direction)
{
  switch (direction) {
  case CF_COPY_TO_DEVICE:
    return cudaMemcpyHostToDevice;
  case CF_COPY_TO_HOST:
    return cudaMemcpyDeviceToHost;
  default:
    return cudaMemcpyDeviceToDevice;
  }
}

} // namespace

bool cf_cuda_ok(cudaError_t result, const char *doing, CfStatus *status)
{
  if (result == cudaSuccess)
    return true;

  const CfCode code = classify(result);
  cudaGetLastError();
  return cf_fail(status, code, "%s: %s (CUDA error %d)%s", doing, cudaGetErrorString(result),
                 (int)result, advice(result, code));
}

bool cf_refuse_capture(void *stream, CfStatus *status)
{
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;

  if (!cf_cuda_ok(cudaStreamIsCapturing((cudaStream_t)stream, &capture),
                  "asking whether the stream is being captured", status))
    return false;
  if (capture == cudaStreamCaptureStatusNone)
    return true;
  return cf_fail(status, CF_ERROR_FAILED,
                 "the filters cannot be captured into a CUDA graph: run them outside the capture");
}

bool cf_device_count(int *count, CfStatus *status)
{
  *count = 0;
  return cf_cuda_ok(cudaGetDeviceCount(count), "looking for GPUs", status);
}

/* Asks the driver library itself: every runtime call that could answer would make the primary
 * context current as a side effect. */
bool cf_context_is_current(CfStatus *status)
{
  typedef int (*GetCurrent)(void **context);
  void *const driver = dlopen("libcuda.so.1", RTLD_NOW);
  void *context = nullptr;

  if (!driver)
    return cf_fail(status, CF_ERROR_NO_DEVICE,
                   "the NVIDIA driver is not installed: libcuda.so.1 cannot be loaded");

  const GetCurrent get_current = (GetCurrent)dlsym(driver, "cuCtxGetCurrent");
  const bool current = get_current && get_current(&context) == 0 && context;
  dlclose(driver);
  if (!current)
    return cf_fail(status, CF_ERROR_NO_DEVICE, "no CUDA context is current on this thread");
  return true;
}

bool cf_device_use_primary(int index, CfStatus *status)
{
  return cf_cuda_ok(cudaSetDevice(index), "selecting the GPU", status) &&
         cf_cuda_ok(cudaFree(nullptr), "creating the GPU's primary context", status);
}

CfDevice *cf_device_open(CfStatus *status)
{
  int index;

  if (!cf_context_is_current(status) ||
      !cf_cuda_ok(cudaGetDevice(&index), "asking for the current GPU", status))
    return nullptr;

  CfDevice *device = (CfDevice *)cf_zeroed(sizeof *device, status);
  if (!device)
    return nullptr;
  if (!create_copy_streams(device, status) || !read_info(device, index, status) ||
      !create_pool(device, index, status)) {
    cf_device_close(device);
    return nullptr;
  }
  return device;
}

void cf_device_close(CfDevice *device)
{
  if (!device)
    return;
  if (device->pool)
    cudaMemPoolDestroy(device->pool);
  for (void *stream : device->copy_stream)
    cf_stream_destroy(stream);
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
  void *memory = nullptr;
  const cudaError_t result =
      cudaMallocFromPoolAsync(&memory, bytes ? bytes : 1, device->pool, (cudaStream_t)stream);

  return cf_cuda_ok(result, "taking scratch memory", status) ? memory : nullptr;
}

bool cf_scratch_give(CfDevice *, void *memory, void *stream, CfStatus *status)
{
  return cf_cuda_ok(cudaFreeAsync(memory, (cudaStream_t)stream), "giving scratch memory back",
                    status);
}

void *cf_device_alloc(size_t bytes, CfStatus *status)
{
  void *memory = nullptr;

  if (!cf_context_is_current(status) ||
      !cf_cuda_ok(cudaMalloc(&memory, bytes ? bytes : 1), "allocating device memory", status))
    return nullptr;
  return memory;
}

void cf_device_free(void *memory)
{
  if (memory && cf_context_is_current(nullptr))
    cudaFree(memory);
}

void *cf_pinned_alloc(size_t bytes, CfStatus *status)
{
  void *memory = nullptr;

  if (!cf_context_is_current(status) ||
      !cf_cuda_ok(cudaHostAlloc(&memory, bytes ? bytes : 1, cudaHostAllocPortable),
                  "allocating page-locked memory", status))
    return nullptr;
  return memory;
}

void cf_pinned_free(void *memory)
{
  if (memory && cf_context_is_current(nullptr))
    cudaFreeHost(memory);
}

bool cf_copy_rows(CfCopy direction, void *destination, ptrdiff_t destination_stride,
                  const void *source, ptrdiff_t source_stride, size_t row_bytes, size_t rows,
                  void *stream, CfStatus *status)
{
  const size_t strides[] = {(size_t)destination_stride, (size_t)source_stride};
  const bool contiguous = rows == 1 || (strides[0] == row_bytes && strides[1] == row_bytes);

  /* Contiguous rows go as one block: the pitch of 2D copies is limited, and they are slower. */
  return cf_cuda_ok(contiguous
                        ? cudaMemcpyAsync(destination, source, row_bytes * rows,
                                          copy_kind(direction), (cudaStream_t)stream)
                        : cudaMemcpy2DAsync(destination, strides[0], source, strides[1], row_bytes,
                                            rows, copy_kind(direction), (cudaStream_t)stream),
                    "copying rows", status);
}

bool cf_copy_picture(CfCopy direction, const CfVideo *video, const CfPicture *destination,
                     const CfPicture *source, void *stream, CfStatus *status)
{
  const int planes = cf_format_info(video->format)->planes;

  for (int plane = 0; plane < planes; plane++) {
    if (!cf_copy_rows(direction, destination->data[plane], destination->stride[plane],
                      source->data[plane], source->stride[plane], cf_row_bytes(video, plane),
                      (size_t)cf_plane_height(video, plane), stream, status))
      return false;
  }
  return true;
}

bool cf_upload(void *to, const void *from, size_t bytes, void *stream, CfStatus *status)
{
  /* cudaMemcpyAsync() of up to this much pageable memory has read it when it returns. */
  constexpr size_t kChunk = 64 * 1024;

  for (size_t at = 0; at < bytes; at += kChunk) {
    if (!cf_cuda_ok(cudaMemcpyAsync((uint8_t *)to + at, (const uint8_t *)from + at,
                                    bytes - at < kChunk ? bytes - at : kChunk,
                                    cudaMemcpyHostToDevice, (cudaStream_t)stream),
                    "copying to the device", status))
      return false;
  }
  return true;
}

bool cf_device_fill(void *memory, int value, size_t bytes, void *stream, CfStatus *status)
{
  return cf_cuda_ok(cudaMemsetAsync(memory, value, bytes, (cudaStream_t)stream),
                    "filling device memory", status);
}

void *cf_stream_create(CfStatus *status)
{
  cudaStream_t stream = nullptr;

  if (!cf_context_is_current(status) ||
      !cf_cuda_ok(cudaStreamCreate(&stream), "creating a stream", status))
    return nullptr;
  return stream;
}

void cf_stream_destroy(void *stream)
{
  if (stream)
    cudaStreamDestroy((cudaStream_t)stream);
}

bool cf_stream_synchronize(void *stream, CfStatus *status)
{
  return cf_cuda_ok(cudaStreamSynchronize((cudaStream_t)stream), "waiting for the GPU", status);
}

void *cf_event_create(bool timing, CfStatus *status)
{
  cudaEvent_t event = nullptr;

  if (!cf_context_is_current(status) ||
      !cf_cuda_ok(
          cudaEventCreateWithFlags(&event, timing ? cudaEventDefault : cudaEventDisableTiming),
          "creating an event", status))
    return nullptr;
  return event;
}

void cf_event_destroy(void *event)
{
  if (event)
    cudaEventDestroy((cudaEvent_t)event);
}

bool cf_event_record(void *event, void *stream, CfStatus *status)
{
  return cf_cuda_ok(cudaEventRecord((cudaEvent_t)event, (cudaStream_t)stream), "recording an event",
                    status);
}

bool cf_stream_wait_event(void *stream, void *event, CfStatus *status)
{
  return cf_cuda_ok(cudaStreamWaitEvent((cudaStream_t)stream, (cudaEvent_t)event, 0),
                    "waiting for an event", status);
}

bool cf_event_synchronize(void *event, CfStatus *status)
{
  return cf_cuda_ok(cudaEventSynchronize((cudaEvent_t)event), "waiting for the GPU", status);
}

bool cf_event_passed(void *event, bool *passed, CfStatus *status)
{
  const cudaError_t result = cudaEventQuery((cudaEvent_t)event);

  *passed = result == cudaSuccess;
  if (result != cudaErrorNotReady)
    return cf_cuda_ok(result, "asking the GPU", status);
  cudaGetLastError();
  return true;
}

bool cf_event_elapsed_ms(void *start, void *end, float *milliseconds, CfStatus *status)
{
  return cf_event_synchronize(end, status) &&
         cf_cuda_ok(cudaEventElapsedTime(milliseconds, (cudaEvent_t)start, (cudaEvent_t)end),
                    "reading elapsed time", status);
}
