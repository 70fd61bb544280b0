/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Params of sepconv, for its tests.
 */
#pragma once

#include <stdarg.h>
#include <string.h>

#include "sepconv.h"

#define LUMA   CF_SEPCONV_PLANE_LUMA
#define CHROMA CF_SEPCONV_PLANE_CHROMA
#define ALPHA  CF_SEPCONV_PLANE_ALPHA

static inline CfSepconvParams defaults(void)
{
  CfSepconvParams params;

  memset(&params, 0, sizeof params);
  cf_params_init(cf_sepconv.params, &params);
  return params;
}

static inline CfKernel kernel(int taps, ...)
{
  CfKernel result = {.taps = taps};
  va_list arguments;

  va_start(arguments, taps);
  for (int i = 0; i < taps; i++)
    result.tap[i] = va_arg(arguments, double);
  va_end(arguments);
  return result;
}
