/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Block average of regions: a sample that is written by itself, perhaps mixed with what was there.
 */
#pragma once

#include "cuda/blockavg/reduce.cuh"

extern "C" {
#include "plan/coverage_rule.h"
}

namespace cf::blockavg
{

template <int Bytes> struct Samples {
  typedef uint8_t Type;
};
template <> struct Samples<2> {
  typedef uint16_t Type;
};

/* A pixel's samples. */
template <typename Sample, int Channels> struct SamplePixel {
  Sample sample[Channels];

  __device__ void load(const Plane &plane, int x, int y)
  {
    const Sample *source = (const Sample *)(plane.source + y * plane.source_stride) + x * Channels;

#pragma unroll
    for (int k = 0; k < Channels; k++)
      sample[k] = source[k];
  }
};

/* `alpha` is its channel, -1 without. */
template <typename Sample, int Channels>
__device__ inline void write_mixed(const Job &job, int alpha, const Plane &plane, int x, int y,
                                   const SamplePixel<Sample, Channels> &source,
                                   const Sample *colour, int coverage)
{
  Sample *pixel = (Sample *)(plane.destination + y * plane.destination_stride) + x * Channels;

  if (sizeof(Sample) == 1 && Channels == 4 && alpha >= 0) {
    cf_mix_weighted((uint8_t *)pixel, (const uint8_t *)source.sample, (const uint8_t *)colour,
                    alpha, (uint32_t)coverage);
  } else {
#pragma unroll
    for (int k = 0; k < Channels; k++)
      pixel[k] = (Sample)(cf_mix((uint32_t)source.sample[k] >> job.shift,
                                 (uint32_t)colour[k] >> job.shift, (uint32_t)coverage)
                          << job.shift);
  }
}

template <typename Sample, int Channels>
__device__ inline void write_sample(const Job &job, int alpha, const Plane &plane, int x, int y,
                                    const Sample *colour, int coverage)
{
  Sample *pixel = (Sample *)(plane.destination + y * plane.destination_stride) + x * Channels;

  if (coverage < CF_COVERED) {
    SamplePixel<Sample, Channels> source;

    source.load(plane, x, y);
    write_mixed<Sample, Channels>(job, alpha, plane, x, y, source, colour, coverage);
  } else if (sizeof(Sample) * Channels == 4 && (uintptr_t)pixel % 4 == 0) {
    *(uint32_t *)pixel = *(const uint32_t *)colour;
  } else {
#pragma unroll
    for (int k = 0; k < Channels; k++)
      pixel[k] = colour[k];
  }
}

} // namespace cf::blockavg
