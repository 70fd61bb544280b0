/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpu/common/memory.h"

#include <stdlib.h>
#include <string.h>

void *cf_aligned_alloc(size_t bytes)
{
  const size_t rounded = (bytes + CF_ALIGNMENT - 1) / CF_ALIGNMENT * CF_ALIGNMENT;

  return aligned_alloc(CF_ALIGNMENT, rounded ? rounded : CF_ALIGNMENT);
}

bool cf_buffer_reserve(CfBuffer *buffer, size_t bytes, const char *what, CfStatus *status)
{
  void *memory;

  if (bytes <= buffer->bytes)
    return true;
  memory = cf_aligned_alloc(bytes);
  if (!memory)
    return cf_fail(status, CF_ERROR_NO_MEMORY, "no memory for %s: %zu bytes", what, bytes);
  memset(memory, 0, bytes);
  free(buffer->base);
  *buffer = (CfBuffer){memory, bytes};
  return true;
}

void *cf_laid_out(CfLayOut lay_out, void *self)
{
  CfArena arena = {NULL, 0};

  lay_out(&arena, self);
  arena.base = cf_aligned_alloc(arena.used);
  if (!arena.base)
    return NULL;
  memset(arena.base, 0, arena.used);
  arena.used = 0;
  lay_out(&arena, self);
  return arena.base;
}
