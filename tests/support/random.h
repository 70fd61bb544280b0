/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Reproducible random numbers: splitmix64 (Steele, Lea, Flood 2014), the same on every machine.
 */
#pragma once

#include <stdint.h>

typedef struct {
  uint64_t state; /* any seed */
} CfRandom;

static inline uint64_t cf_random(CfRandom *random)
{
  uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);

  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

/* 0..count - 1 */
static inline int cf_random_below(CfRandom *random, int count)
{
  return (int)((cf_random(random) >> 32) * (uint64_t)count >> 32);
}

/* 0 <= value < 1 */
static inline double cf_random_unit(CfRandom *random)
{
  return (double)(cf_random(random) >> 11) * 0x1p-53;
}
