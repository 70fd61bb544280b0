/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The memory of CUDA engines in tests and the benchmark: the primary context of the first GPU and
 * one stream of it.
 */
#include "memory.h"

#include <cuda_runtime_api.h>
#include <semaphore.h>
#include <time.h>

#include "device.h"

/* One process has one device for all its tests; the operations of CfMemory carry no state. */
static CfDevice *device;
static void *stream;
static void *marks[CF_MARKS];
static sem_t gate; /* counts what the stream's holds may pass */

static bool open_device(CfStatus *status)
{
  if (device)
    return true;
  if (!cf_device_use_primary(0, status))
    return false;
  if (sem_init(&gate, 0, 0) != 0)
    return cf_fail(status, CF_ERROR_FAILED, "no semaphore for the stream");
  stream = cf_stream_create(status);
  device = stream ? cf_device_open(status) : NULL;
  return device;
}

static CfDevice *get_device(void)
{
  return device;
}

static void *get_stream(void)
{
  return stream;
}

static uint8_t *alloc_memory(size_t bytes)
{
  return cf_device_alloc(bytes, NULL);
}

static void free_memory(uint8_t *memory)
{
  cf_device_free(memory);
}

static bool synchronize(void)
{
  return cf_stream_synchronize(stream, NULL);
}

static bool upload(uint8_t *to, const uint8_t *from, size_t bytes)
{
  return cf_copy_rows(CF_COPY_TO_DEVICE, to, (ptrdiff_t)bytes, from, (ptrdiff_t)bytes, bytes, 1,
                      stream, NULL) &&
         synchronize();
}

static bool download(uint8_t *to, const uint8_t *from, size_t bytes)
{
  return cf_copy_rows(CF_COPY_TO_HOST, to, (ptrdiff_t)bytes, from, (ptrdiff_t)bytes, bytes, 1,
                      stream, NULL) &&
         synchronize();
}

static bool copy(uint8_t *to, ptrdiff_t to_stride, const uint8_t *from, ptrdiff_t from_stride,
                 size_t row_bytes, int rows)
{
  return cf_copy_rows(CF_COPY_ON_DEVICE, to, to_stride, from, from_stride, row_bytes, (size_t)rows,
                      stream, NULL);
}

/* On a thread of the CUDA runtime; no call into CUDA is allowed here. */
static void wait_at_gate(void *unused)
{
  struct timespec until;

  (void)unused;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec++;
  sem_timedwait(&gate, &until);
}

static bool hold(void)
{
  return cudaLaunchHostFunc((cudaStream_t)stream, wait_at_gate, NULL) == cudaSuccess;
}

static void release(void)
{
  sem_post(&gate);
}

static bool mark(int index)
{
  if (!marks[index])
    marks[index] = cf_event_create(true, NULL);
  return marks[index] && cf_event_record(marks[index], stream, NULL);
}

static double elapsed_ms(int from, int to)
{
  float milliseconds = 0.0f;

  cf_event_elapsed_ms(marks[from], marks[to], &milliseconds, NULL);
  return milliseconds;
}

const CfMemory cf_cuda_memory = {
    .open = open_device,
    .device = get_device,
    .stream = get_stream,
    .alloc = alloc_memory,
    .free = free_memory,
    .upload = upload,
    .download = download,
    .copy = copy,
    .synchronize = synchronize,
    .hold = hold,
    .release = release,
    .mark = mark,
    .elapsed_ms = elapsed_ms,
};
