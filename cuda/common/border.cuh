/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Border modes (border.h) on the device.
 */
#pragma once

#include <cuda_runtime.h>

extern "C" {
#include "border.h"
}

namespace cf
{

/* The index in 0 .. size - 1 whose sample stands for the one at `i`, or -1 for the constant border:
 * cf_border_index() on the device, for 32-bit indices. `border` is a CfBorder. */
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
