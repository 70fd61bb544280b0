/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "border.h"

const CfChoice cf_border_choices[] = {
    {CF_BORDER_REPLICATE, "replicate", "the edge sample repeated: aaa|abcd|ddd"},
    {CF_BORDER_REFLECT, "reflect", "mirrored with the edge sample: cba|abcd|dcb"},
    {CF_BORDER_REFLECT_101, "reflect-101", "mirrored about the edge sample: dcb|abcd|cba"},
    {CF_BORDER_WRAP, "wrap", "the opposite side: bcd|abcd|abc"},
    {CF_BORDER_CONSTANT, "constant", "a constant colour"},
    {0, NULL, NULL},
};

static long positive_modulo(long i, long period)
{
  /* Spares the division where one addition suffices. */
  const long remainder = i >= -period && i < period ? i : i % period;

  return remainder < 0 ? remainder + period : remainder;
}

int cf_border_index(CfBorder border, long i, int size)
{
  if (i >= 0 && i < size)
    return (int)i;

  switch (border) {
  case CF_BORDER_REFLECT: {
    const long folded = positive_modulo(i, 2L * size);
    return (int)(folded < size ? folded : 2L * size - 1 - folded);
  }
  case CF_BORDER_REFLECT_101: {
    if (size == 1)
      return 0;
    const long folded = positive_modulo(i, 2L * size - 2);
    return (int)(folded < size ? folded : 2L * size - 2 - folded);
  }
  case CF_BORDER_WRAP:
    return (int)positive_modulo(i, size);
  case CF_BORDER_CONSTANT:
    return -1;
  case CF_BORDER_REPLICATE:
  default:
    return i < 0 ? 0 : size - 1;
  }
}
