/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Integer arithmetic. Functions, so that arguments are evaluated once.
 */
#pragma once

static inline int cf_min(int a, int b)
{
  return a < b ? a : b;
}

static inline int cf_max(int a, int b)
{
  return a > b ? a : b;
}

/* Needs least <= most. */
static inline int cf_clamp(int value, int least, int most)
{
  return cf_max(least, cf_min(value, most));
}

/* The quotient rounded up; a >= 0, b > 0. */
static inline int cf_divide_up(int a, int b)
{
  return (a + b - 1) / b;
}
