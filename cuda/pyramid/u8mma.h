/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The blur pyramid of plan/pyramid.h on tensor cores, for planes of 1, 2 or 4 channels of 8 bits,
 * or 1 or 2 of 10, and sm_80 or newer. README.md has the three launches. The prefilter is the one
 * called boxes: its taps are bytes and fp16 numbers without rounding, so products of matrices give
 * exact sums straight from the source's bytes, of which a sample of 10 bits has two. All else are
 * products of fp16 matrices, and of their residuals.
 */
#pragma once

#include "cuda/pyramid/plane.h"

namespace cf::pyramid
{

constexpr int kU8LeastDecimation = 4; /* D1; the largest follows */
constexpr int kU8MaxDecimation = 8;
constexpr int kU8MaxDecimation2 = 8; /* D2 */
constexpr int kU8MaxTaps = 272;      /* of the coarse filter */
constexpr int kPrefilterTaps = 32;   /* zeros included */
constexpr int kUpsampleColumns = 32; /* of results that a warp makes at once */
constexpr int kTilesPerWarp = 2;     /* of 16 fine samples side by side, that a warp decimates to */

/* Of a plane. With D = 4 samples of 10 bits are then within 0.31 codes along an axis. */
constexpr double kU8LeastSigma = 8.0;

/* What the kernels can do along an axis. */
constexpr CfPyramidLimits kU8Limits = {
    kU8LeastDecimation, kU8MaxDecimation, kU8MaxDecimation *kU8MaxDecimation2, true, 0.6, 0.0};

/* Its halo also has the rows that a step of decimation may read beyond. */
struct U8Axis : Axis {
  int decimation; /* D1 */
  int factor_log2;
  float cell; /* 1 / D */
  int prefilter_count;
  int chunks;  /* of 16 samples that 16 outputs read */
  int skipped; /* of these before the first that outputs read */
};

/* The coarse filter's taps of an axis: an fp16 number in the lower half, above it the residual; the
 * first half of the taps, since they are symmetric. */
struct U8Taps {
  uint32_t tap[kU8MaxTaps / 2];
};

/* One plane of a job. All pointers are to device memory that the job's owner has. */
struct U8Plane : Plane {
  int sample_bytes;
  uint32_t lumas;     /* of packed 4:2:2 which of a pixel's bytes are luma, a bit each; else 0 */
  bool source_vector; /* rows start on 16 bytes */
  bool destination_vector; /* the same */
  uint32_t border;         /* pixels for the constant border, as many as fit */
  uint32_t transparent;    /* the pixel where nothing shows */

  int left;    /* first column of fine samples */
  int columns; /* coarse ones */

  float *fine;                   /* scratch: [channel][fine row][fine column] */
  float fine_scale;              /* of their numbers to codes */
  uint2 *coarse_x;               /* scratch: [channel][pair of fine rows][coarse column], fp16
                                  * numbers and their residuals */
  int fine_pitch;                /* floats */
  int coarse_x_first, row_pairs; /* its rows; the first and last pair repeat the edge */

  int decimate_first_cta, coarse_filter_first_cta, upsample_first_cta; /* of each grid */
  int strip; /* fine rows of a warp that decimates */
  U8Axis x, y;
};

/* The kernels' parameter. Of packed 4:2:2 plane 2 is the picture, of pixels of four bytes, which
 * are decimated and upsampled; planes 0 and 1, which only the coarse filter along rows has, are
 * luma and both chromas, as fine and coarse samples lie: in the same memory. */
struct U8Job {
  int planes;
  bool packed;
  int upsample_shares;                  /* of packed 4:2:2: 2^this CTAs share a stack of tiles */
  bool overlaps;                        /* launches may be dependent (pdl.cuh) */
  uint8_t prefilter[2][kPrefilterTaps]; /* D1 = 4, 8, times 2 D1^3 */
  U8Plane plane[CF_MAX_PLANES];

  /* Of x and y of each plane. Apart, so that what all warps read first lies close together. */
  U8Taps taps[CF_MAX_PLANES][2];
};

/* The launches of a frame. */
struct U8LaunchPlan {
  bool pixels; /* one plane of four channels; else planes of one or two */
  bool wide;   /* these have samples of two bytes */
  bool folds;  /* what lies outside is elsewhere in the picture */
  int decimate_ctas, coarse_filter_ctas, upsample_ctas;
};

/* --- the launches, in this order on one stream --- */

bool u8_decimate(const U8Job *job, const U8LaunchPlan &plan, void *stream, CfStatus *status);
bool u8_coarse_filter_rows(const U8Job *job, const U8LaunchPlan &plan, void *stream,
                           CfStatus *status);
bool u8_upsample(const U8Job *job, const U8LaunchPlan &plan, void *stream, CfStatus *status);

/* --- blurs of one sigma (u8mma_plan.cpp) --- */

/* The jobs of a blur but for pointers, strides and what depends on the band. */
struct U8Blur {
  U8Job planes;
  bool packs; /* can do packed 4:2:2, by the other, but for the border */
  U8Job packed;
};

/* Whether these params, which have no map, can be done by this pyramid on this device, and whether
 * it is faster than taps: wherever it serves it is faster than the fp32 pyramid. */
bool u8_serves(const CfVideo *video, const CfDevice *device, const CfGaussblurParams *params);
bool u8_pays(const CfVideo *video, const CfDevice *device, const CfGaussblurParams *params);

/* Takes over sigmas and border that it serves. On failure the old ones stay. */
bool u8_update(U8Blur *blur, const CfVideo *video, const CfGaussblurParams *params,
               CfStatus *status);

/* Enqueues a job on its stream. */
bool u8_run(U8Blur *blur, const CfVideo *video, CfDevice *device, const CfJob *job,
            CfStatus *status);

/* CfEngine.run_packed, of pictures of format `packed`. */
bool u8_run_packed(U8Blur *blur, const CfVideo *video, CfFormat packed, CfDevice *device,
                   const CfJob *job, bool *done, CfStatus *status);

/* Where the samples of a channel lie among those of the others; -1 for the second luma of packed
 * 4:2:2, of which both make one sample. */
__host__ __device__ inline int stored_channel(uint32_t lumas, int channel)
{
  const int chroma = 1 + channel / 2, luma = channel < 2 ? 0 : -1;

  return !lumas ? channel : lumas >> channel & 1 ? luma : chroma;
}

/* --- how CTAs and warps divide a plane, for host and device --- */

/* Outputs of a CTA of the coarse filter along rows. */
__host__ __device__ inline int segment_columns(const U8Axis &axis)
{
  return 1024 >> axis.factor_log2;
}

__host__ __device__ inline int segments_of_rows(const U8Plane &plane)
{
  return (plane.columns + segment_columns(plane.x) - 1) >> (10 - plane.x.factor_log2);
}

/* Groups of columns that a warp upsamples one after the other: where coarse rows are enough for few
 * rows, so many that all CTAs are on the GPU at once. */
__host__ __device__ inline int column_groups(int channels, int factor)
{
  return channels < 4 && factor <= 8 ? 2 : 1;
}

/* Tiles of 16 rows that a warp upsamples one below the other, from 16 coarse rows. */
__host__ __device__ inline int stack_tiles(int factor)
{
  return factor == 4 ? 3 : factor == 8 ? 6 : 8;
}

} // namespace cf::pyramid
