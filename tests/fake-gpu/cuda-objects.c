/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cuda-internal.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMORY_ALIGNMENT 512
#define MAX_OBJECTS      4096

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Object objects[MAX_OBJECTS];
static int used;      /* objects from there on have always been free */
static int abandoned; /* objects that ended with their context */

static int calls, failing;
static CUresult failing_result;
static FakeFailure failing_how;
static const char *failed;

static const char *failing_function;
static CUresult function_result;

__thread CUcontext fake_stack[MAX_DEPTH];
__thread int fake_depth;

void fake_stop(const char *why, const char *call)
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

static bool fails(const char *name)
{
  if (!failing || calls < failing)
    return false;
  if (failing_how == FAKE_FULL)
    return strncmp(name, "cuMemAlloc", strlen("cuMemAlloc")) == 0;
  return calls == failing || failing_how != FAKE_ONCE;
}

CUresult fake_result_of_call(const char *name)
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

bool fake_is_lost(FakeFailure least)
{
  return failed && failing_how >= least;
}

CUresult fake_result_when_lost(void)
{
  return failing_result;
}

bool fake_context_counts(void)
{
  return failing_how == FAKE_GONE;
}

/* --- objects --- */

static Object *fake_add(Kind kind, void *address, size_t bytes, const char *call)
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
    fake_stop("too many objects", call);
  *object = (Object){kind, address, bytes, fake_stack[fake_depth - 1]};
  pthread_mutex_unlock(&lock);
  return object;
}

Object *fake_find(Kind kind, const void *inside, const char *call)
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
    fake_stop("there is no such object (any more)", call);
  return object;
}

void fake_end_object(Object *object)
{
  char *address = object->address;

  if (object->kind == STREAM)
    free(((CUstream)address)->queue);
  pthread_mutex_lock(&lock);
  object->kind = FREE;
  pthread_mutex_unlock(&lock);
  free(address);
}

CUresult fake_remove(Kind kind, const void *address, const char *call)
{
  Object *object = fake_find(kind, address, call);

  fake_stop_work();
  fake_end_object(object);
  fake_go_on_with_work();
  return fake_is_lost(FAKE_STICKY) ? failing_result : CUDA_SUCCESS;
}

int fake_cuda_objects(void)
{
  int count = abandoned;

  for (int i = 0; i < used; i++)
    count += objects[i].kind != FREE;
  return count;
}

CUresult fake_new_handle(Kind kind, void *handle, const char *call)
{
  const size_t bytes = kind == STREAM  ? sizeof(struct CUstream_st)
                       : kind == EVENT ? sizeof(struct CUevent_st)
                                       : 1;

  *(void **)handle = fake_add(kind, calloc(1, bytes), bytes, call)->address;
  return CUDA_SUCCESS;
}

CUresult fake_new_memory(Kind kind, void *pointer, size_t bytes, const char *call)
{
  char *memory = aligned_alloc(MEMORY_ALIGNMENT,
                               (bytes + MEMORY_ALIGNMENT) / MEMORY_ALIGNMENT * MEMORY_ALIGNMENT);

  if (!memory)
    return CUDA_ERROR_OUT_OF_MEMORY;
  memset(memory, 0xdd, bytes);
  *(void **)pointer = fake_add(kind, memory, bytes, call)->address;
  return CUDA_SUCCESS;
}

void fake_end_objects_of(CUcontext context)
{
  fake_stop_work();
  for (int i = 0; i < used; i++) {
    if (objects[i].kind != FREE && objects[i].context == context) {
      fake_end_object(&objects[i]);
      abandoned++;
    }
  }
  fake_go_on_with_work();
}

int fake_objects_used(void)
{
  int count;

  pthread_mutex_lock(&lock);
  count = used;
  pthread_mutex_unlock(&lock);
  return count;
}

CUstream fake_stream_at(unsigned index)
{
  const Object *object = &objects[index];
  CUstream stream;

  pthread_mutex_lock(&lock);
  stream = object->kind == STREAM ? (CUstream)object->address : NULL;
  pthread_mutex_unlock(&lock);
  return stream;
}
