/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What several ladders need: borders, rounding, and the taps of a Gaussian.
 */
#pragma once

#include <math.h>
#include <stdlib.h>

#include <cuda_runtime.h>

#include "ladder.h"

#define N(array) ((int)(sizeof(array) / sizeof(array)[0]))

/* Leaves a function with the error of a call to the CUDA runtime. */
#define TRY(call)                                                                                  \
  do {                                                                                             \
    const cudaError_t error_ = (call);                                                             \
    if (error_ != cudaSuccess)                                                                     \
      return error_;                                                                               \
  } while (0)

/* How many pieces of `piece` cover `size`. */
static inline __host__ __device__ int pieces(int size, int piece)
{
  return (size + piece - 1) / piece;
}

/* The index that a position outside reads: the nearest one inside. */
static inline __device__ int inside(int position, int size)
{
  return min(max(position, 0), size - 1);
}

/* Rounded half up, and cut to what a byte holds. */
static inline __device__ uint8_t to_code(float value)
{
  return (uint8_t)fminf(fmaxf(floorf(value + 0.5f), 0.0f), 255.0f);
}

/* The `count` taps of cudasepconv's preset gaussian: exp(-i^2 / (2 sigma^2)) over their sum, sigma
 * = 0.3 ((count - 1) / 2 - 1) + 0.8. */
static inline void gaussian_taps(int count, double *tap)
{
  const int radius = count / 2;
  const double sigma = 0.3 * (radius - 1) + 0.8;
  double sum = 0.0;

  for (int i = 0; i < count; i++)
    sum += tap[i] = exp(-0.5 * (i - radius) * (i - radius) / (sigma * sigma));
  for (int i = 0; i < count; i++)
    tap[i] /= sum;
}
