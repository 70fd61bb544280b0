/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "status.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

bool cf_fail(CfStatus *status, CfCode code, const char *format, ...)
{
  if (status) {
    va_list arguments;

    status->code = code;
    va_start(arguments, format);
    vsnprintf(status->message, sizeof status->message, format, arguments);
    va_end(arguments);
  }
  return false;
}

void *cf_zeroed(size_t bytes, CfStatus *status)
{
  void *memory = calloc(1, bytes);

  if (!memory)
    cf_fail(status, CF_ERROR_NO_MEMORY, "out of host memory");
  return memory;
}
