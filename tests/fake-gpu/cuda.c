/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fake-cuda.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PITCH       512
#define MAX_OBJECTS 4096
#define MAX_DEPTH   16

typedef enum { FREE, DEVICE_MEMORY, HOST_MEMORY, STREAM, EVENT, POOL, MODULE } Kind;

typedef struct {
  Kind kind;
  char *address; /* of memory, or what a handle is */
  size_t bytes;
  CUcontext context; /* that it ends with */
} Object;

struct CUctx_st {
  CUdevice device;
};

struct CUevent_st {
  unsigned long recorded, passed; /* numbers of records: enqueued, reached */
};

typedef struct {
  enum { COPY, FILL, RUN, RECORD, WAIT, GIVE } kind;
  CUDA_MEMCPY2D copy;
  CUdeviceptr memory;
  unsigned char value;
  size_t bytes;
  void (*run)(void *work);
  void *work;
  CUevent event;
  unsigned long number; /* of the record that a wait waits for */
} Operation;

struct CUstream_st {
  Operation *queue;
  size_t first, end, room;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t work_lock = PTHREAD_MUTEX_INITIALIZER;
static Object objects[MAX_OBJECTS];
static int used; /* objects from there on have always been free */
static int devices = 1;
static int abandoned; /* objects that ended with their context */

static int calls, failing;
static CUresult failing_result;
static FakeFailure failing_how;
static const char *failed;

static const char *failing_function;
static CUresult function_result;

static __thread CUcontext stack[MAX_DEPTH];
static __thread int depth;

static void stop(const char *why, const char *call)
{
  fprintf(stderr, "fake libcuda: %s: %s\n", call, why);
  abort();
}

/* --- failures --- */

void fake_cuda_fail(int call, CUresult result, FakeFailure failure)
{
  pthread_mutex_lock(&lock);
  calls = 0;
  failing = call;
  failing_result = result;
  failing_how = failure;
  failed = NULL;
  pthread_mutex_unlock(&lock);
}

void fake_cuda_fail_function(const char *name, CUresult result)
{
  failing_function = name;
  function_result = result;
}

int fake_cuda_calls(void)
{
  return calls;
}

const char *fake_cuda_failed(void)
{
  return failed;
}

void fake_cuda_set_devices(int count)
{
  devices = count;
}

static bool fails(const char *name)
{
  if (!failing || calls < failing)
    return false;
  if (failing_how == FAKE_FULL)
    return strncmp(name, "cuMemAlloc", strlen("cuMemAlloc")) == 0;
  return calls == failing || failing_how != FAKE_ONCE;
}

static CUresult result_of_call(const char *name)
{
  CUresult result = CUDA_SUCCESS;

  if (failing_function && strcmp(name, failing_function) == 0)
    return function_result;
  pthread_mutex_lock(&lock);
  calls++;
  if (fails(name)) {
    result = failing_result;
    if (!failed)
      failed = name;
  }
  pthread_mutex_unlock(&lock);
  return result;
}

/* Whether the context has been lost; asked by calls that do not count. */
static bool is_lost(FakeFailure least)
{
  return failed && failing_how >= least;
}

#define CALL                                                                                       \
  do {                                                                                             \
    const CUresult call_result = result_of_call(__func__);                                         \
    if (call_result != CUDA_SUCCESS)                                                               \
      return call_result;                                                                          \
  } while (0)

#define CALL_IN_CONTEXT                                                                            \
  do {                                                                                             \
    if (depth == 0)                                                                                \
      stop("no context is current", __func__);                                                     \
    CALL;                                                                                          \
  } while (0)

/* --- objects --- */

static Object *add(Kind kind, void *address, size_t bytes, const char *call)
{
  Object *object = NULL;

  pthread_mutex_lock(&lock);
  for (int i = 0; !object && i < MAX_OBJECTS; i++) {
    if (objects[i].kind == FREE)
      object = &objects[i];
  }
  if (object == &objects[used])
    used++;
  if (!object)
    stop("too many objects", call);
  *object = (Object){kind, address, bytes, stack[depth - 1]};
  pthread_mutex_unlock(&lock);
  return object;
}

static Object *find(Kind kind, const void *inside, const char *call)
{
  Object *object = NULL;

  pthread_mutex_lock(&lock);
  for (int i = 0; !object && i < used; i++) {
    if (objects[i].kind == kind && (const char *)inside >= objects[i].address &&
        (const char *)inside < objects[i].address + objects[i].bytes)
      object = &objects[i];
  }
  pthread_mutex_unlock(&lock);
  if (!object)
    stop("there is no such object (any more)", call);
  return object;
}

static void end_object(Object *object)
{
  if (object->kind == STREAM)
    free(((CUstream)object->address)->queue);
  free(object->address);
  object->kind = FREE;
}

static CUresult remove_object(Kind kind, const void *address, const char *call)
{
  end_object(find(kind, address, call));
  return is_lost(FAKE_STICKY) ? failing_result : CUDA_SUCCESS;
}

int fake_cuda_objects(void)
{
  int count = abandoned;

  for (int i = 0; i < used; i++)
    count += objects[i].kind != FREE;
  return count;
}

static CUresult new_handle(Kind kind, void *handle, const char *call)
{
  const size_t bytes = kind == STREAM  ? sizeof(struct CUstream_st)
                       : kind == EVENT ? sizeof(struct CUevent_st)
                                       : 1;

  *(void **)handle = add(kind, calloc(1, bytes), bytes, call)->address;
  return CUDA_SUCCESS;
}

static CUresult new_memory(Kind kind, void *pointer, size_t bytes, const char *call)
{
  char *memory = aligned_alloc(PITCH, (bytes + PITCH) / PITCH * PITCH);

  if (!memory)
    return CUDA_ERROR_OUT_OF_MEMORY;
  memset(memory, 0xdd, bytes);
  *(void **)pointer = add(kind, memory, bytes, call)->address;
  return CUDA_SUCCESS;
}

/* --- streams: work is done when somebody waits, of any stream that events let go on --- */

static char *side(CUmemorytype type, const void *host, CUdeviceptr device, size_t x, size_t y,
                  size_t pitch, const CUDA_MEMCPY2D *copy)
{
  char *start = type == CU_MEMORYTYPE_HOST ? (char *)host : (char *)device;

  if (type == CU_MEMORYTYPE_DEVICE && copy->Height > 0) {
    const Object *object = find(DEVICE_MEMORY, start, "a copy");

    if (start + (y + copy->Height - 1) * pitch + x + copy->WidthInBytes >
        object->address + object->bytes)
      stop("beyond the end of the memory", "a copy");
  }
  return start + y * pitch + x;
}

static void copy_now(const CUDA_MEMCPY2D *copy)
{
  const char *from = side(copy->srcMemoryType, copy->srcHost, copy->srcDevice, copy->srcXInBytes,
                          copy->srcY, copy->srcPitch, copy);
  char *to = side(copy->dstMemoryType, copy->dstHost, copy->dstDevice, copy->dstXInBytes,
                  copy->dstY, copy->dstPitch, copy);

  for (size_t row = 0; row < copy->Height; row++)
    memmove(to + row * copy->dstPitch, from + row * copy->srcPitch, copy->WidthInBytes);
}

static void fill_now(CUdeviceptr memory, unsigned char value, size_t bytes)
{
  const Object *object = find(DEVICE_MEMORY, (void *)memory, "a fill");

  if ((char *)memory + bytes > object->address + object->bytes)
    stop("beyond the end of the memory", "a fill");
  memset((void *)memory, value, bytes);
}

/* What is left in a context that has failed is not done, but it ends. */
static void do_operation(const Operation *operation)
{
  const bool lost = is_lost(FAKE_STICKY);

  if (operation->kind == COPY && !lost)
    copy_now(&operation->copy);
  else if (operation->kind == FILL && !lost)
    fill_now(operation->memory, operation->value, operation->bytes);
  else if (operation->kind == RUN && !lost)
    operation->run(operation->work);
  else if (operation->kind == RECORD)
    operation->event->passed = operation->number;
  else if (operation->kind == GIVE)
    end_object(find(DEVICE_MEMORY, (void *)operation->memory, "giving memory back"));
  if (operation->kind == RUN)
    free(operation->work);
}

static bool step(CUstream stream)
{
  Operation operation;

  if (stream->first == stream->end)
    return false;
  operation = stream->queue[stream->first];
  if (operation.kind == WAIT && operation.event->passed < operation.number)
    return false;
  stream->first++;
  do_operation(&operation);
  return true;
}

/* One stream goes ahead as far as it may, which finds more than fair turns do, then another. */
static bool step_any(void)
{
  static unsigned long order = 1;
  static unsigned ahead;

  order = order * 6364136223846793005ul + 1442695040888963407ul;
  if (order >> 59 == 0)
    ahead = (unsigned)(order >> 33);
  for (int i = 0; i < used; i++) {
    const Object *object = &objects[(ahead + (unsigned)i) % (unsigned)used];

    if (object->kind == STREAM && step((CUstream)object->address))
      return true;
  }
  return false;
}

static void finish_everything(void)
{
  pthread_mutex_lock(&work_lock);
  while (step_any())
    ;
  pthread_mutex_unlock(&work_lock);
}

/* The default stream, which is NULL, waits for all others, and they for it. */
static void enqueue(CUstream stream, Operation operation)
{
  if (!stream) {
    finish_everything();
    do_operation(&operation);
    return;
  }
  pthread_mutex_lock(&work_lock);
  if (stream->end == stream->room) {
    stream->room = stream->room ? 2 * stream->room : 64;
    stream->queue = realloc(stream->queue, stream->room * sizeof *stream->queue);
    if (!stream->queue)
      abort();
  }
  stream->queue[stream->end++] = operation;
  pthread_mutex_unlock(&work_lock);
}

static void check_stream(CUstream stream, const char *call)
{
  if (stream)
    find(STREAM, stream, call);
}

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
  stack[depth++] = *context;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxDestroy(CUcontext context)
{
  finish_everything();
  for (int i = 0; i < used; i++) {
    if (objects[i].kind != FREE && objects[i].context == context) {
      end_object(&objects[i]);
      abandoned++;
    }
  }
  free(context);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxPushCurrent(CUcontext context)
{
  if (is_lost(FAKE_GONE))
    return CUDA_ERROR_INVALID_CONTEXT;
  /* Nothing else keeps a context from being entered. */
  if (failing_how == FAKE_GONE)
    CALL;
  if (depth == MAX_DEPTH)
    stop("too many contexts on one another", __func__);
  stack[depth++] = context;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxPopCurrent(CUcontext *context)
{
  /* GStreamer leaves contexts without a look at whether it has entered them. */
  if (depth == 0 && is_lost(FAKE_GONE))
    return CUDA_ERROR_INVALID_CONTEXT;
  if (depth == 0)
    stop("no context is current", __func__);
  depth--;
  if (context)
    *context = stack[depth];
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetCurrent(CUcontext *context)
{
  *context = depth ? stack[depth - 1] : NULL;
  return CUDA_SUCCESS;
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
  return new_memory(DEVICE_MEMORY, pointer, bytes, __func__);
}

CUresult CUDAAPI cuMemAllocPitch(CUdeviceptr *pointer, size_t *pitch, size_t width, size_t height,
                                 unsigned element_size)
{
  CALL_IN_CONTEXT;
  *pitch = (width + PITCH - 1) / PITCH * PITCH;
  return new_memory(DEVICE_MEMORY, pointer, *pitch * height, __func__);
}

CUresult CUDAAPI cuMemFree(CUdeviceptr pointer)
{
  finish_everything();
  return remove_object(DEVICE_MEMORY, (void *)pointer, __func__);
}

CUresult CUDAAPI cuMemAllocHost(void **pointer, size_t bytes)
{
  CALL_IN_CONTEXT;
  return new_memory(HOST_MEMORY, pointer, bytes, __func__);
}

CUresult CUDAAPI cuMemFreeHost(void *pointer)
{
  finish_everything();
  return remove_object(HOST_MEMORY, pointer, __func__);
}

CUresult CUDAAPI cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *properties)
{
  CALL_IN_CONTEXT;
  return new_handle(POOL, pool, __func__);
}

CUresult CUDAAPI cuMemPoolDestroy(CUmemoryPool pool)
{
  finish_everything();
  return remove_object(POOL, pool, __func__);
}

CUresult CUDAAPI cuMemAllocFromPoolAsync(CUdeviceptr *pointer, size_t bytes, CUmemoryPool pool,
                                         CUstream stream)
{
  find(POOL, pool, __func__);
  check_stream(stream, __func__);
  CALL_IN_CONTEXT;
  return new_memory(DEVICE_MEMORY, pointer, bytes, __func__);
}

CUresult CUDAAPI cuMemFreeAsync(CUdeviceptr pointer, CUstream stream)
{
  check_stream(stream, __func__);
  find(DEVICE_MEMORY, (void *)pointer, __func__);
  enqueue(stream, (Operation){.kind = GIVE, .memory = pointer});
  return is_lost(FAKE_STICKY) ? failing_result : CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemsetD8Async(CUdeviceptr pointer, unsigned char value, size_t bytes,
                                 CUstream stream)
{
  check_stream(stream, __func__);
  CALL_IN_CONTEXT;
  enqueue(stream, (Operation){.kind = FILL, .memory = pointer, .value = value, .bytes = bytes});
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemcpy2D(const CUDA_MEMCPY2D *copy)
{
  CALL_IN_CONTEXT;
  enqueue(NULL, (Operation){.kind = COPY, .copy = *copy});
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemcpy2DAsync(const CUDA_MEMCPY2D *copy, CUstream stream)
{
  check_stream(stream, __func__);
  CALL_IN_CONTEXT;
  enqueue(stream, (Operation){.kind = COPY, .copy = *copy});
  return CUDA_SUCCESS;
}

/* --- streams, events and kernels --- */

CUresult CUDAAPI cuStreamCreate(CUstream *stream, unsigned flags)
{
  CALL_IN_CONTEXT;
  return new_handle(STREAM, stream, __func__);
}

CUresult CUDAAPI cuStreamDestroy(CUstream stream)
{
  finish_everything();
  return remove_object(STREAM, stream, __func__);
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
  check_stream(stream, __func__);
  CALL_IN_CONTEXT;
  pthread_mutex_lock(&work_lock);
  while ((!stream || stream->first < stream->end) && step_any())
    ;
  if (stream && stream->first < stream->end)
    stop("waits for an event that nobody records", __func__);
  pthread_mutex_unlock(&work_lock);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
  check_stream(stream, __func__);
  find(EVENT, event, __func__);
  CALL_IN_CONTEXT;
  enqueue(stream, (Operation){.kind = WAIT, .event = event, .number = event->recorded});
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuEventCreate(CUevent *event, unsigned flags)
{
  CALL_IN_CONTEXT;
  return new_handle(EVENT, event, __func__);
}

CUresult CUDAAPI cuEventDestroy(CUevent event)
{
  finish_everything();
  return remove_object(EVENT, event, __func__);
}

CUresult CUDAAPI cuEventRecord(CUevent event, CUstream stream)
{
  check_stream(stream, __func__);
  find(EVENT, event, __func__);
  CALL_IN_CONTEXT;
  enqueue(stream, (Operation){.kind = RECORD, .event = event, .number = ++event->recorded});
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuEventSynchronize(CUevent event)
{
  const unsigned long number = event->recorded;

  find(EVENT, event, __func__);
  CALL_IN_CONTEXT;
  pthread_mutex_lock(&work_lock);
  while (event->passed < number && step_any())
    ;
  pthread_mutex_unlock(&work_lock);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuModuleLoadData(CUmodule *module, const void *image)
{
  CALL_IN_CONTEXT;
  return new_handle(MODULE, module, __func__);
}

CUresult CUDAAPI cuModuleUnload(CUmodule module)
{
  return remove_object(MODULE, module, __func__);
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
  check_stream(stream, __func__);
  CALL_IN_CONTEXT;
  enqueue(stream, (Operation){.kind = RUN, .run = run, .work = work});
  return CUDA_SUCCESS;
}

void fake_cuda_check_memory(const void *memory)
{
  find(DEVICE_MEMORY, memory, "a kernel");
}

void fake_cuda_finish(void)
{
  finish_everything();
}
