/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpu/common/cpu.h"

#include <stdlib.h>

void *cf_aligned_alloc(size_t bytes)
{
  const size_t rounded = (bytes + CF_ALIGNMENT - 1) / CF_ALIGNMENT * CF_ALIGNMENT;

  return aligned_alloc(CF_ALIGNMENT, rounded ? rounded : CF_ALIGNMENT);
}
