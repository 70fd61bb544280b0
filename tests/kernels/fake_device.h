/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The part of device.h that the host transfer uses, on the CPU. Work on streams is queued, and runs
 * only when the host waits, in any order across streams that events allow, so that a missing event
 * shows as wrong bytes. Any call can be made to fail.
 */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "random.h"

#define FAKE_STREAMS 4

typedef struct {
  enum { FAKE_COPY, FAKE_RUN, FAKE_RECORD, FAKE_WAIT } kind;
  void *to;
  const void *from;
  ptrdiff_t to_stride, from_stride;
  size_t row_bytes, rows;
  void (*run)(void *work); /* called with `to` */
  struct FakeEvent *event;
  unsigned long number; /* the record that a wait is for */
} FakeOperation;

typedef struct FakeEvent {
  unsigned long recorded, passed; /* records enqueued, records passed */
} FakeEvent;

typedef struct {
  FakeOperation *queue;
  size_t first, end, room;
  bool used;
} FakeStream;

static FakeStream fake_streams[FAKE_STREAMS];
static CfRandom fake_order;
static int fake_calls, fake_failing; /* calls so far; the call with this number fails, 0: none */
static int fake_objects;             /* streams, events and memory that have not been released */
static size_t fake_bytes, fake_copied_in, fake_copied_out;

static bool fake_call(CfStatus *status)
{
  if (++fake_calls != fake_failing)
    return true;
  return cf_fail(status, CF_ERROR_FAILED, "call %d fails", fake_calls);
}

static void fake_push(void *stream, FakeOperation operation)
{
  FakeStream *queue = stream;

  if (queue->end == queue->room) {
    queue->room = queue->room ? 2 * queue->room : 64;
    queue->queue = realloc(queue->queue, queue->room * sizeof *queue->queue);
    if (!queue->queue)
      abort();
  }
  queue->queue[queue->end++] = operation;
}

/* Runs the next operation of a stream; false where there is none, or it has to wait. */
static bool fake_step(FakeStream *stream)
{
  const FakeOperation *next = stream->queue + stream->first;

  if (stream->first == stream->end ||
      (next->kind == FAKE_WAIT && next->event->passed < next->number))
    return false;
  if (next->kind == FAKE_COPY) {
    for (size_t row = 0; row < next->rows; row++)
      memcpy((char *)next->to + (ptrdiff_t)row * next->to_stride,
             (const char *)next->from + (ptrdiff_t)row * next->from_stride, next->row_bytes);
  } else if (next->kind == FAKE_RUN) {
    next->run(next->to);
  } else if (next->kind == FAKE_RECORD) {
    next->event->passed = next->number;
  }
  stream->first++;
  return true;
}

/* Runs one operation of any stream; false when none can proceed. One stream runs ahead as far as
 * events allow, then another: that finds more than fair turns would. */
static bool fake_step_any(void)
{
  static unsigned ahead;

  if (cf_random_below(&fake_order, 32) == 0)
    ahead = (unsigned)cf_random_below(&fake_order, FAKE_STREAMS);
  for (unsigned i = 0; i < FAKE_STREAMS; i++) {
    if (fake_step(&fake_streams[(ahead + i) % FAKE_STREAMS]))
      return true;
  }
  return false;
}

static void fake_enqueue_run(void *stream, void (*run)(void *), void *work)
{
  fake_push(stream, (FakeOperation){.kind = FAKE_RUN, .to = work, .run = run});
}

bool cf_context_is_current(CfStatus *status)
{
  return true;
}

struct CfDevice {
  void *copy_stream[2]; /* indexed by CfCopy */
};

void *cf_device_copy_stream(const CfDevice *device, CfCopy direction)
{
  return device->copy_stream[direction];
}

void *cf_stream_create(CfStatus *status)
{
  for (int i = 0; fake_call(status) && i < FAKE_STREAMS; i++) {
    if (!fake_streams[i].used) {
      fake_streams[i].used = true;
      fake_objects++;
      return &fake_streams[i];
    }
  }
  return NULL;
}

void cf_stream_destroy(void *stream)
{
  FakeStream *queue = stream;

  if (!queue)
    return;
  free(queue->queue);
  memset(queue, 0, sizeof *queue);
  fake_objects--;
}

bool cf_stream_synchronize(void *stream, CfStatus *status)
{
  const FakeStream *queue = stream;

  while (queue->first < queue->end && fake_step_any())
    ;
  if (queue->first < queue->end)
    abort(); /* a wait for an event that nobody will record */
  return fake_call(status);
}

void *cf_event_create(bool timing, CfStatus *status)
{
  FakeEvent *event = fake_call(status) ? calloc(1, sizeof *event) : NULL;

  (void)timing;
  fake_objects += event != NULL;
  return event;
}

void cf_event_destroy(void *event)
{
  fake_objects -= event != NULL;
  free(event);
}

bool cf_event_record(void *opaque, void *stream, CfStatus *status)
{
  FakeEvent *event = opaque;

  if (!fake_call(status))
    return false;
  fake_push(stream,
            (FakeOperation){.kind = FAKE_RECORD, .event = event, .number = ++event->recorded});
  return true;
}

bool cf_stream_wait_event(void *stream, void *opaque, CfStatus *status)
{
  FakeEvent *event = opaque;

  if (!fake_call(status))
    return false;
  fake_push(stream, (FakeOperation){.kind = FAKE_WAIT, .event = event, .number = event->recorded});
  return true;
}

bool cf_event_synchronize(void *opaque, CfStatus *status)
{
  const FakeEvent *event = opaque;
  const unsigned long number = event->recorded;

  while (event->passed < number && fake_step_any())
    ;
  if (event->passed < number)
    abort();
  return fake_call(status);
}

bool cf_event_passed(void *opaque, bool *passed, CfStatus *status)
{
  const FakeEvent *event = opaque;

  *passed = event->passed == event->recorded;
  if (!*passed && !fake_step_any())
    abort();
  return fake_call(status);
}

void *cf_device_alloc(size_t bytes, CfStatus *status)
{
  void *memory = fake_call(status) ? malloc(bytes) : NULL;

  if (memory)
    memset(memory, 0xdd, bytes);
  fake_objects += memory != NULL;
  fake_bytes = bytes;
  return memory;
}

void cf_device_free(void *memory)
{
  fake_objects -= memory != NULL;
  free(memory);
}

void *cf_pinned_alloc(size_t bytes, CfStatus *status)
{
  void *memory = fake_call(status) ? malloc(bytes) : NULL;

  fake_objects += memory != NULL;
  return memory;
}

void cf_pinned_free(void *memory)
{
  fake_objects -= memory != NULL;
  free(memory);
}

bool cf_copy_rows(CfCopy direction, void *to, ptrdiff_t to_stride, const void *from,
                  ptrdiff_t from_stride, size_t row_bytes, size_t rows, void *stream,
                  CfStatus *status)
{
  if (!fake_call(status))
    return false;
  fake_copied_in += direction == CF_COPY_TO_DEVICE ? rows * row_bytes : 0;
  fake_copied_out += direction == CF_COPY_TO_HOST ? rows * row_bytes : 0;
  fake_push(stream, (FakeOperation){.kind = FAKE_COPY,
                                    .to = to,
                                    .from = from,
                                    .to_stride = to_stride,
                                    .from_stride = from_stride,
                                    .row_bytes = row_bytes,
                                    .rows = rows});
  return true;
}
