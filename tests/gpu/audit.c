/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Counts what a process asks of the device, for the part "audit" of the GPU tests. Loaded by the
 * CUDA driver into any program by CUDA_INJECTION64_PATH; prints one line on stderr at exit:
 *
 *   audit: htod=100 dtoh=100 dtod=0 kernels=900 syncs=200 allocations=4
 */
#include <cupti.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define RECORDS_BYTES   (4u << 20)
#define RECORDS_ALIGNED 8

enum { HTOD, DTOH, DTOD, KERNELS, SYNCS, ALLOCATIONS, COUNTERS };

static const char *const names[COUNTERS] = {"htod",    "dtoh",  "dtod",
                                            "kernels", "syncs", "allocations"};
static atomic_long counters[COUNTERS]; /* CUPTI delivers records on threads of its own */

static int counter_of_copy(uint8_t kind)
{
  switch (kind) {
  case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
  case CUPTI_ACTIVITY_MEMCPY_KIND_HTOA:
    return HTOD;
  case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
  case CUPTI_ACTIVITY_MEMCPY_KIND_ATOH:
    return DTOH;
  case CUPTI_ACTIVITY_MEMCPY_KIND_HTOH:
    return COUNTERS;
  default:
    return DTOD;
  }
}

/* Waits of one stream for another stay on the device. */
static int counter_of_wait(CUpti_ActivitySynchronizationType type)
{
  return type == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT ? COUNTERS : SYNCS;
}

/* Stream-ordered memory comes from a pool that already has it. */
static int counter_of_memory(const CUpti_ActivityMemory4 *record)
{
  return record->memoryOperationType == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION &&
                 !record->isAsync
             ? ALLOCATIONS
             : COUNTERS;
}

static int counter_of(const CUpti_Activity *record)
{
  switch (record->kind) {
  case CUPTI_ACTIVITY_KIND_MEMCPY:
    return counter_of_copy(((const CUpti_ActivityMemcpy *)record)->copyKind);
  case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
    return KERNELS;
  case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
    return counter_of_wait(((const CUpti_ActivitySynchronization *)record)->type);
  case CUPTI_ACTIVITY_KIND_MEMORY2:
    return counter_of_memory((const CUpti_ActivityMemory4 *)record);
  default:
    return COUNTERS;
  }
}

static void CUPTIAPI give_space(uint8_t **space, size_t *size, size_t *records)
{
  *space = aligned_alloc(RECORDS_ALIGNED, RECORDS_BYTES);
  *size = *space ? RECORDS_BYTES : 0;
  *records = 0; /* as many as fit */
}

static void CUPTIAPI take_records(CUcontext context, uint32_t stream, uint8_t *space, size_t size,
                                  size_t used)
{
  CUpti_Activity *record = NULL;

  (void)context, (void)stream, (void)size;
  while (cuptiActivityGetNextRecord(space, used, &record) == CUPTI_SUCCESS) {
    const int counter = counter_of(record);

    if (counter < COUNTERS)
      atomic_fetch_add(&counters[counter], 1);
  }
  free(space);
}

static void print_counters(void)
{
  cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  fprintf(stderr, "audit:");
  for (int i = 0; i < COUNTERS; i++)
    fprintf(stderr, " %s=%ld", names[i], atomic_load(&counters[i]));
  fprintf(stderr, "\n");
}

int InitializeInjection(void);

/* The driver calls this by its name when the process first uses CUDA. */
int InitializeInjection(void)
{
  static const CUpti_ActivityKind kinds[] = {
      CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
      CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, CUPTI_ACTIVITY_KIND_MEMORY2};

  if (cuptiActivityRegisterCallbacks(give_space, take_records) != CUPTI_SUCCESS)
    return 0;
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    if (cuptiActivityEnable(kinds[i]) != CUPTI_SUCCESS)
      return 0;
  }
  return atexit(print_counters) == 0;
}
