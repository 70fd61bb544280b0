/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Several arrays in one allocation: the code that lays them out runs once to count their bytes and
 * once to place them.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "cpu/common/cpu.h"

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
