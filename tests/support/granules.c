/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "granules.h"

#include <sys/mman.h>
#include <unistd.h>

static size_t page_size(void)
{
  const long bytes = sysconf(_SC_PAGESIZE);

  return bytes > 0 ? (size_t)bytes : 0;
}

static uint8_t *map_pages(size_t bytes)
{
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  return memory == MAP_FAILED ? NULL : memory;
}

static bool protect_pages(uint8_t *memory, size_t bytes, bool read_only)
{
  return mprotect(memory, bytes, read_only ? PROT_READ : PROT_READ | PROT_WRITE) == 0;
}

const CfGranules cf_host_granules = {page_size, map_pages, protect_pages};
