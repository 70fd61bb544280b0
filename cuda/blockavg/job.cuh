/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Block average: the description of a job that all kernels share.
 */
#pragma once

#include "cuda/blockavg/tuning.h"
#include "cuda/common/context.cuh"

extern "C" {
#include "blockavg.h"
#include "plan/coverage_rule.h"
}

namespace cf::blockavg
{

constexpr int kColumnBytes = 16; /* a column is 16 aligned bytes of a row, in some rows */

struct Plane {
  const uint8_t *source;
  uint8_t *destination;
  ptrdiff_t source_stride, destination_stride;
  int width, height, channels;
  int shift_x, shift_y;
  uint32_t fill; /* a pixel of the colour of mode=fill */

  /* For frame_kernel.cuh. */
  int block_width, block_height; /* luma pixels */
  int blocks_x;
  int tile_blocks; /* blocks of a tile, side by side */
  int tiles_x, first_tile;
  int columns;  /* columns that the CTA's threads process side by side; a power of two */
  bool aligned; /* every block starts on a column */
};

struct Job {
  Plane plane[CF_MAX_PLANES];
  int planes;
  bool fills;        /* mode=fill: blocks get Plane.fill */
  int shift;         /* a code is a 16-bit sample >> shift */
  uint32_t mask;     /* largest code, in both halves of a word */
  int alpha;         /* alpha's channel: 0 or 3, -1 without alpha */
  uint32_t empty;    /* colour of blocks whose alpha is 0 everywhere */
  uint32_t inverted; /* bits that Largest inverts */
  uint32_t lumas; /* of packed 4:2:2: a bit for each of the two luma channels, which get one mean */
};

/* A job without blocks, tiles and pictures. */
inline Job plan_codes(const CfVideo *video)
{
  const CfFormatInfo *format = cf_format_info(video->format);
  Job job = {};

  job.planes = format->planes;
  job.shift = format->shift;
  job.mask = format->bits > 8 ? (uint32_t)cf_max_code(format) * 0x00010001u : ~0u;
  job.alpha = cf_alpha_channel(&format->plane[0]);
  for (int k = 0; k < format->plane[0].channels; k++) {
    const CfRole role = format->plane[0].role[k];
    job.empty |= (uint32_t)cf_neutral_code(video, role) << 8 * k;
    if (format->packed && role == CF_ROLE_LUMA)
      job.lumas |= 1u << k;
  }
  for (int p = 0; p < format->planes; p++) {
    const CfPlaneFormat *layout = &format->plane[p];
    job.plane[p].width = cf_plane_width(video, p);
    job.plane[p].height = cf_plane_height(video, p);
    job.plane[p].channels = layout->channels;
    job.plane[p].shift_x = layout->subsampling_x;
    job.plane[p].shift_y = layout->subsampling_y;
  }
  return job;
}

inline void set_pictures(Job *job, const CfJob *work)
{
  for (int p = 0; p < job->planes; p++) {
    Plane *plane = &job->plane[p];

    plane->source = work->source.data[p];
    plane->source_stride = work->source.stride[p];
    plane->destination = work->destination.data[p];
    plane->destination_stride = work->destination.stride[p];
  }
}

#ifdef __CUDACC__

/* sum / count, rounded half up. */
template <typename T> __device__ inline T rounded_mean(T sum, T count)
{
  return (sum + count / 2) / count;
}

/* Writes `colour` to a pixel, mixed with the pixel at `source` if coverage is below CF_COVERED. */
template <typename Sample>
__device__ inline void write_pixel(const Job &job, int channels, const Sample *source,
                                   Sample *pixel, uint32_t colour, int coverage)
{
  constexpr int kBits = 8 * (int)sizeof(Sample);

  if (sizeof(Sample) == 1 && job.alpha >= 0 && coverage < CF_COVERED) {
    cf_mix_weighted((uint8_t *)pixel, (const uint8_t *)source, (const uint8_t *)&colour, job.alpha,
                    (uint32_t)coverage);
    return;
  }
#pragma unroll
  for (int k = 0; k < 32 / kBits; k++) {
    const Sample filtered = (Sample)(colour >> kBits * k);

    if (k < channels)
      pixel[k] = coverage == CF_COVERED
                     ? filtered
                     : (Sample)(cf_mix((uint32_t)source[k] >> job.shift,
                                       (uint32_t)filtered >> job.shift, (uint32_t)coverage)
                                << job.shift);
  }
}

#endif

} // namespace cf::blockavg
