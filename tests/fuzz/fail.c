/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <stdlib.h>

#include "driver.h"

void fuzz_fail(const char *file, int line, const char *condition)
{
  fprintf(stderr, "%s:%d: %s does not hold\n", file, line, condition);
  abort();
}
