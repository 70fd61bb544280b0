/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Between the rooms of the driver that is none: cuda-objects.c (what there is, and what fails),
 * cuda-work.c (streams) and cuda.c (what libcuda.so.1 offers).
 */
#pragma once

#include "fake-cuda.h"

typedef enum { FREE, DEVICE_MEMORY, HOST_MEMORY, STREAM, EVENT, POOL, MODULE } Kind;

typedef struct {
  Kind kind;
  char *address; /* of memory, or what a handle is */
  size_t bytes;
  CUcontext context; /* that it ends with */
} Object;

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

/* Says why, and aborts. */
void fake_stop(const char *why, const char *call);

/* --- failures --- */

/* Counts the call; what it is to return. */
CUresult fake_result_of_call(const char *name);

/* Whether the context has been lost; asked by calls that do not count. */
bool fake_is_lost(FakeFailure least);

/* What calls return in a context that is lost. */
CUresult fake_result_when_lost(void);

/* Whether only calls of the context's own fail. */
bool fake_context_counts(void);

/* --- objects, which belong to the current context --- */

#define MAX_DEPTH 16

extern __thread CUcontext fake_stack[MAX_DEPTH];
extern __thread int fake_depth;

/* The object that `inside` lies in; aborts where there is none. */
Object *fake_find(Kind kind, const void *inside, const char *call);

CUresult fake_new_handle(Kind kind, void *handle, const char *call);
CUresult fake_new_memory(Kind kind, void *pointer, size_t bytes, const char *call);
void fake_end_object(Object *object);
CUresult fake_remove(Kind kind, const void *address, const char *call);
void fake_end_objects_of(CUcontext context);

/* Object `index` of fake_objects_used(), if it is a stream, else NULL. */
CUstream fake_stream_at(unsigned index);
int fake_objects_used(void);

/* --- streams --- */

/* The default stream is NULL: it waits for all others, and they for it. */
void fake_enqueue(CUstream stream, Operation operation);

/* Between them no thread does any work, so that objects may end. */
void fake_stop_work(void);
void fake_go_on_with_work(void);

/* Aborts where there is no such stream. */
void fake_check_stream(CUstream stream, const char *call);

/* Does work until the stream (NULL: all) is empty. False where it waits for what nobody records. */
bool fake_finish_stream(CUstream stream);

/* Does work until the event's record of that number is reached, or nothing can go on. */
void fake_finish_event(CUevent event, unsigned long number);
