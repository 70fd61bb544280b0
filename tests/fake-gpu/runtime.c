/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtime.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

static int calls, failing, carveouts, objects, code = 90;
static const char *failed;
static cudaError_t last_error;

void fake_runtime_fail(int call)
{
  calls = 0;
  failing = call;
  failed = NULL;
  last_error = cudaSuccess;
}

int fake_runtime_calls(void)
{
  return calls;
}

const char *fake_runtime_failed(void)
{
  return failed;
}

int fake_runtime_carveouts(void)
{
  return carveouts;
}

int fake_runtime_objects(void)
{
  return objects;
}

bool fake_runtime_has_error(void)
{
  return last_error != cudaSuccess;
}

void fake_runtime_set_code(int new_code)
{
  code = new_code;
}

static cudaError_t result_of(const char *name)
{
  if (++calls != failing)
    return cudaSuccess;
  failed = name;
  return last_error = cudaErrorMemoryAllocation;
}

#define CALL                                                                                       \
  do {                                                                                             \
    if (result_of(__func__) != cudaSuccess)                                                        \
      return cudaErrorMemoryAllocation;                                                            \
  } while (0)

static cudaError_t make(void *handle, size_t bytes)
{
  *(void **)handle = calloc(1, bytes ? bytes : 1);
  objects++;
  return cudaSuccess;
}

static cudaError_t end(void *object)
{
  objects -= object != NULL;
  free(object);
  return cudaSuccess;
}

/* A function of the runtime that counts, and `body`. */
#define FUNCTION(name, arguments, body)                                                            \
  cudaError_t CUDARTAPI name arguments                                                             \
  {                                                                                                \
    CALL;                                                                                          \
    body;                                                                                          \
    return cudaSuccess;                                                                            \
  }
#define END(name, type)                                                                            \
  cudaError_t CUDARTAPI name(type object)                                                          \
  {                                                                                                \
    return end(object);                                                                            \
  }

/* --- what nvcc's code calls; not declared for C --- */

typedef struct {
  dim3 grid, block;
  size_t shared;
  void *stream;
} Configuration;
static Configuration configuration;
static void *fat_binary;

void **__cudaRegisterFatBinary(void *binary);
void **__cudaRegisterFatBinary(void *binary)
{
  return &fat_binary;
}

void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaRegisterFatBinaryEnd(void **handle)
{
}

void __cudaUnregisterFatBinary(void **handle);
void __cudaUnregisterFatBinary(void **handle)
{
}

void __cudaRegisterFunction(void);
void __cudaRegisterFunction(void)
{
}

void __cudaRegisterVar(void);
void __cudaRegisterVar(void)
{
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *stream);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *stream)
{
  configuration = (Configuration){grid, block, shared, stream};
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
  *grid = configuration.grid;
  *block = configuration.block;
  *shared = configuration.shared;
  *(void **)stream = configuration.stream;
  return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *function);
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *function)
{
  *kernel = (cudaKernel_t)(void *)function;
  return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments,
                               size_t shared, cudaStream_t stream);
FUNCTION(__cudaLaunchKernel,
         (cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
          cudaStream_t stream), )
FUNCTION(cudaLaunchKernel,
         (const void *function, dim3 grid, dim3 block, void **arguments, size_t shared,
          cudaStream_t stream), )
FUNCTION(cudaLaunchKernelExC,
         (const cudaLaunchConfig_t *config, const void *function, void **arguments), )

/* --- devices --- */

cudaError_t CUDARTAPI cudaGetLastError(void)
{
  const cudaError_t error = last_error;

  last_error = cudaSuccess;
  return error;
}

const char *CUDARTAPI cudaGetErrorString(cudaError_t error)
{
  return "an error of the fake runtime";
}

FUNCTION(cudaGetDeviceCount, (int *count), *count = 1)
FUNCTION(cudaGetDevice, (int *device), *device = 0)
FUNCTION(cudaSetDevice, (int device), )
FUNCTION(cudaDeviceGetAttribute, (int *value, enum cudaDeviceAttr attribute, int device),
         *value = 1)
FUNCTION(cudaDeviceGetStreamPriorityRange, (int *least, int *greatest), *least = 0; *greatest = -5)

/* Fails by the name of the attribute where engines do without it. */
cudaError_t CUDARTAPI cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute attribute,
                                           int value)
{
  carveouts += attribute == cudaFuncAttributePreferredSharedMemoryCarveout;
  return result_of(attribute == cudaFuncAttributeNonPortableClusterSizeAllowed
                       ? "cudaFuncAttributeNonPortableClusterSizeAllowed"
                       : __func__);
}

cudaError_t CUDARTAPI cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
  CALL;
  memset(properties, 0, sizeof *properties);
  strcpy(properties->name, "fake");
  properties->major = code / 10;
  properties->minor = code % 10;
  properties->multiProcessorCount = 132;
  properties->sharedMemPerBlockOptin = 227 << 10;
  properties->sharedMemPerMultiprocessor = 228 << 10;
  properties->totalGlobalMem = (size_t)80 << 30;
  return cudaSuccess;
}

cudaError_t CUDARTAPI cudaFuncGetAttributes(struct cudaFuncAttributes *attributes,
                                            const void *function)
{
  CALL;
  memset(attributes, 0, sizeof *attributes);
  attributes->ptxVersion = attributes->binaryVersion = code;
  attributes->maxThreadsPerBlock = 1024;
  return cudaSuccess;
}

FUNCTION(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
         (int *blocks, const void *function, int threads, size_t shared, unsigned flags),
         *blocks = 2)
FUNCTION(cudaOccupancyMaxActiveClusters,
         (int *clusters, const void *function, const cudaLaunchConfig_t *config), *clusters = 8)

/* --- memory --- */

FUNCTION(cudaMalloc, (void **memory, size_t bytes), make(memory, bytes))
FUNCTION(cudaHostAlloc, (void **memory, size_t bytes, unsigned flags), make(memory, bytes))
FUNCTION(cudaMemPoolCreate, (cudaMemPool_t * pool, const struct cudaMemPoolProps *properties),
         make(pool, 1))
FUNCTION(cudaMemPoolSetAttribute,
         (cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value), )
FUNCTION(cudaMallocFromPoolAsync,
         (void **memory, size_t bytes, cudaMemPool_t pool, cudaStream_t stream),
         make(memory, bytes))
FUNCTION(cudaMemcpy, (void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind),
         memmove(to, from, bytes))
FUNCTION(cudaMemcpyAsync,
         (void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream),
         memmove(to, from, bytes))
FUNCTION(cudaMemcpy2DAsync,
         (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
          size_t height, enum cudaMemcpyKind kind, cudaStream_t stream), )
FUNCTION(cudaMemsetAsync, (void *memory, int value, size_t bytes, cudaStream_t stream),
         memset(memory, value, bytes))
END(cudaFree, void *)
END(cudaFreeHost, void *)
END(cudaMemPoolDestroy, cudaMemPool_t)

cudaError_t CUDARTAPI cudaFreeAsync(void *memory, cudaStream_t stream)
{
  return end(memory);
}

/* --- streams and events --- */

FUNCTION(cudaStreamCreate, (cudaStream_t * stream), make(stream, 1))
FUNCTION(cudaStreamCreateWithPriority, (cudaStream_t * stream, unsigned flags, int priority),
         make(stream, 1))
FUNCTION(cudaStreamSynchronize, (cudaStream_t stream), )
FUNCTION(cudaStreamIsCapturing, (cudaStream_t stream, enum cudaStreamCaptureStatus *status),
         *status = cudaStreamCaptureStatusNone)
FUNCTION(cudaStreamWaitEvent, (cudaStream_t stream, cudaEvent_t event, unsigned flags), )
FUNCTION(cudaLaunchHostFunc, (cudaStream_t stream, cudaHostFn_t function, void *data),
         function(data))
FUNCTION(cudaEventCreateWithFlags, (cudaEvent_t * event, unsigned flags), make(event, 1))
FUNCTION(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream), )
FUNCTION(cudaEventSynchronize, (cudaEvent_t event), )
FUNCTION(cudaEventQuery, (cudaEvent_t event), )
FUNCTION(cudaEventElapsedTime, (float *milliseconds, cudaEvent_t start, cudaEvent_t stop),
         *milliseconds = 0.0f)
END(cudaStreamDestroy, cudaStream_t)
END(cudaEventDestroy, cudaEvent_t)
