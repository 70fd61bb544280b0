/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Memory of the CPU engines, all of it aligned to CF_ALIGNMENT.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "status.h"

#define CF_ALIGNMENT 64 /* bytes: a cache line and the widest vector */

/* `bytes` rounded up to a multiple of CF_ALIGNMENT; NULL when out of memory. The caller frees it
 * with free(). */
void *cf_aligned_alloc(size_t bytes);

/* Memory that grows and never shrinks. Empty when zero-initialised; its owner frees `base`. */
typedef struct {
  void *base;
  size_t bytes;
} CfBuffer;

/* Ensures at least `bytes` bytes. Growing loses the contents, and the new memory is 0: sums run
 * over whole vectors, where stale bytes could be slow denormal numbers. On failure the buffer stays
 * as it was, and the message names `what` the memory is for. */
bool cf_buffer_reserve(CfBuffer *buffer, size_t bytes, const char *what, CfStatus *status);

/* Several arrays in one allocation. The function that lays them out runs twice: first without
 * memory, to count bytes, then to place the arrays. */
typedef struct {
  uint8_t *base; /* aligned to CF_ALIGNMENT; NULL while counting */
  size_t used;   /* bytes taken so far */
} CfArena;

/* The next `bytes` bytes, aligned to CF_ALIGNMENT; NULL while counting. */
static inline void *cf_arena_take(CfArena *arena, size_t bytes)
{
  void *memory = arena->base ? arena->base + arena->used : NULL;

  arena->used += (bytes + CF_ALIGNMENT - 1) / CF_ALIGNMENT * CF_ALIGNMENT;
  return memory;
}

/* Places the arrays of `self` in an arena. */
typedef void (*CfLayOut)(CfArena *arena, void *self);

/* Runs `lay_out` twice, and returns the zeroed memory that its arrays lie in; NULL when out of
 * memory. The caller frees it with free(). */
void *cf_laid_out(CfLayOut lay_out, void *self);
