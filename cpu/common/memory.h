/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Memory of the CPU engines. All of it is aligned to CF_ALIGNMENT.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "status.h"

#define CF_ALIGNMENT 64 /* bytes: a cache line, and the widest vector */

/* Bytes rounded up to a multiple of CF_ALIGNMENT; NULL without memory. Freed by free(). */
void *cf_aligned_alloc(size_t bytes);

/* Memory that grows and never shrinks. Zero-initialised it is empty; the owner frees `base`. */
typedef struct {
  void *base;
  size_t bytes;
} CfBuffer;

/* Makes sure of at least `bytes` bytes. Where the buffer grows its contents are 0: sums run over
 * whole vectors, and stale bytes might be slow denormal numbers. On failure the buffer stays as it
 * is, and the status names `what` it is for. */
bool cf_buffer_reserve(CfBuffer *buffer, size_t bytes, const char *what, CfStatus *status);

/* Several arrays in one allocation: the code that lays them out runs once to count their bytes and
 * once to place them. */
typedef struct {
  uint8_t *base; /* aligned to CF_ALIGNMENT; NULL only counts */
  size_t used;   /* bytes */
} CfArena;

/* The next `bytes` bytes, aligned to CF_ALIGNMENT; NULL while counting. */
static inline void *cf_arena_take(CfArena *arena, size_t bytes)
{
  void *memory = arena->base ? arena->base + arena->used : NULL;

  arena->used += (bytes + CF_ALIGNMENT - 1) / CF_ALIGNMENT * CF_ALIGNMENT;
  return memory;
}

/* Gives the arrays of `self` their place in an arena. */
typedef void (*CfLayOut)(CfArena *arena, void *self);

/* Memory for all that `lay_out` takes, in its place when this returns and 0; NULL without memory.
 * Freed by free(). */
void *cf_laid_out(CfLayOut lay_out, void *self);
