/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Indices beyond an image's edge (border.h) on the device.
 */
#pragma once

#include <cuda_runtime.h>

extern "C" {
#include "border.h"
}

namespace cf
{

/* cf_border_index() on the device, of indices of 32 bits. `border` is a CfBorder. */
__device__ inline int fold_index(int border, int i, int size)
{
  if ((unsigned)i < (unsigned)size)
    return i;

  int folded;
  switch (border) {
  case CF_BORDER_REFLECT:
    folded = i % (2 * size);
    folded += folded < 0 ? 2 * size : 0;
    return folded < size ? folded : 2 * size - 1 - folded;
  case CF_BORDER_REFLECT_101:
    if (size == 1)
      return 0;
    folded = i % (2 * size - 2);
    folded += folded < 0 ? 2 * size - 2 : 0;
    return folded < size ? folded : 2 * size - 2 - folded;
  case CF_BORDER_WRAP:
    folded = i % size;
    return folded < 0 ? folded + size : folded;
  case CF_BORDER_CONSTANT:
    return -1;
  default:
    return i < 0 ? 0 : size - 1;
  }
}

} // namespace cf
