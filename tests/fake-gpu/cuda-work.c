/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Work is done when somebody waits, of any stream that events let go on.
 */
#include "cuda-internal.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t work_lock = PTHREAD_MUTEX_INITIALIZER;

static char *side(CUmemorytype type, const void *host, CUdeviceptr device, size_t x, size_t y,
                  size_t pitch, const CUDA_MEMCPY2D *copy)
{
  char *start = type == CU_MEMORYTYPE_HOST ? (char *)host : (char *)device;

  if (type == CU_MEMORYTYPE_DEVICE && copy->Height > 0) {
    const Object *object = fake_find(DEVICE_MEMORY, start, "a copy");

    if (start + (y + copy->Height - 1) * pitch + x + copy->WidthInBytes >
        object->address + object->bytes)
      fake_stop("beyond the end of the memory", "a copy");
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
  const Object *object = fake_find(DEVICE_MEMORY, (void *)memory, "a fill");

  if ((char *)memory + bytes > object->address + object->bytes)
    fake_stop("beyond the end of the memory", "a fill");
  memset((void *)memory, value, bytes);
}

/* What is left in a context that has failed is not done, but it ends. */
static void do_operation(const Operation *operation)
{
  const bool lost = fake_is_lost(FAKE_STICKY);

  if (operation->kind == COPY && !lost)
    copy_now(&operation->copy);
  else if (operation->kind == FILL && !lost)
    fill_now(operation->memory, operation->value, operation->bytes);
  else if (operation->kind == RUN && !lost)
    operation->run(operation->work);
  else if (operation->kind == RECORD)
    operation->event->passed = operation->number;
  else if (operation->kind == GIVE)
    fake_end_object(fake_find(DEVICE_MEMORY, (void *)operation->memory, "giving memory back"));
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
  /* Others may make objects meanwhile, in places behind these. */
  const unsigned used = (unsigned)fake_objects_used();

  order = order * 6364136223846793005ul + 1442695040888963407ul;
  if (order >> 59 == 0)
    ahead = (unsigned)(order >> 33);
  for (unsigned i = 0; i < used; i++) {
    CUstream stream = fake_stream_at((ahead + i) % used);

    if (stream && step(stream))
      return true;
  }
  return false;
}

bool fake_finish_stream(CUstream stream)
{
  bool empty;

  pthread_mutex_lock(&work_lock);
  while ((!stream || stream->first < stream->end) && step_any())
    ;
  empty = !stream || stream->first == stream->end;
  pthread_mutex_unlock(&work_lock);
  return empty;
}

void fake_finish_event(CUevent event, unsigned long number)
{
  pthread_mutex_lock(&work_lock);
  while (event->passed < number && step_any())
    ;
  pthread_mutex_unlock(&work_lock);
}

bool fake_cuda_is_idle(void)
{
  const unsigned used = (unsigned)fake_objects_used();
  bool idle = true;

  pthread_mutex_lock(&work_lock);
  for (unsigned i = 0; i < used; i++) {
    CUstream stream = fake_stream_at(i);

    idle = idle && (!stream || stream->first == stream->end);
  }
  pthread_mutex_unlock(&work_lock);
  return idle;
}

void fake_enqueue(CUstream stream, Operation operation)
{
  if (!stream) {
    fake_finish_stream(NULL);
    do_operation(&operation);
    return;
  }
  pthread_mutex_lock(&work_lock);
  if (stream->first == stream->end)
    stream->first = stream->end = 0;
  if (stream->end == stream->room) {
    stream->room = stream->room ? 2 * stream->room : 64;
    stream->queue = realloc(stream->queue, stream->room * sizeof *stream->queue);
    if (!stream->queue)
      abort();
  }
  stream->queue[stream->end++] = operation;
  pthread_mutex_unlock(&work_lock);
}

void fake_stop_work(void)
{
  pthread_mutex_lock(&work_lock);
}

void fake_go_on_with_work(void)
{
  pthread_mutex_unlock(&work_lock);
}

void fake_check_stream(CUstream stream, const char *call)
{
  if (stream)
    fake_find(STREAM, stream, call);
}
