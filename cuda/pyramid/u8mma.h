/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The blur pyramid of plan/pyramid.h on tensor cores (sm_80 and newer), for planes of 1, 2 or 4
 * channels of 8 bits, or 1 or 2 of 10 bits. README.md has the three launches. The prefilter is
 * CfPyramidFactors.boxes, whose taps are exact as bytes and as fp16: u8 matrix products of the
 * source's bytes, of which a 10-bit sample has two, give exact sums. All later products are of fp16
 * numbers and their residuals: the fp16 number nearest to what the first one leaves of a value.
 */
#pragma once

#include "cuda/pyramid/plane.h"

namespace cf::pyramid
{

constexpr int kU8LeastDecimation = 4; /* D1 */
constexpr int kU8MaxDecimation = 8;   /* D1 */
constexpr int kU8MaxDecimation2 = 8;  /* D2 */
constexpr int kU8MaxTaps = 272;       /* of the coarse filter */
constexpr int kPrefilterTaps = 32;    /* zeros included */
constexpr int kUpsampleColumns = 32;  /* result columns that a warp makes at a time */
constexpr int kTilesPerWarp = 2;      /* DecimateTiles side by side */

/* The smallest sigma of a plane, in its samples: with D = 4, 10-bit samples are then within 0.31
 * codes along an axis. */
constexpr double kU8LeastSigma = 8.0;

/* The factors that the kernels support along an axis. */
constexpr CfPyramidLimits kU8Limits = {
    kU8LeastDecimation, kU8MaxDecimation, kU8MaxDecimation *kU8MaxDecimation2, true, 0.6, 0.0};

/* `halo` includes the rows that the last step of a decimation strip reads beyond its need. */
struct U8Axis : Axis {
  int decimation; /* D1 */
  int factor_log2;
  float inverse_factor; /* 1 / D */
  int prefilter_count;
  int chunks;  /* chunks of 16 fine samples that 16 coarse outputs read */
  int skipped; /* samples of the first chunk before the first tap */
};

/* The coarse filter's taps of an axis: fp16 in the lower half of a word, the residual in the upper.
 * Taps are symmetric; these are the first half. */
struct U8Taps {
  uint32_t tap[kU8MaxTaps / 2];
};

/* One plane of a job. */
struct U8Plane : Plane {
  int sample_bytes;
  uint32_t luma_bytes; /* of packed 4:2:2: bit i is set if byte i of a macropixel is luma; else 0 */
  bool source_vector;  /* rows are aligned to 16 bytes */
  bool destination_vector;
  uint32_t border;      /* the constant border: as many pixels as fit into a word */
  uint32_t transparent; /* the pixel to store where alpha is 0 */

  int left;    /* first column of `fine` */
  int columns; /* of `coarse_x` */

  /* Scratch memory: fine[channel][fine row][fine column]; coarse_x[channel][pair of fine
   * rows][coarse column], where x is a pair of fp16 numbers, y of their residuals. */
  float *fine;
  float fine_scale; /* factor from prefilter sums to `fine` */
  uint2 *coarse_x;
  int fine_pitch;                /* floats */
  int coarse_x_first, row_pairs; /* fine rows of `coarse_x`; its outer pairs repeat the edge rows */

  int decimate_first_cta, coarse_filter_first_cta, upsample_first_cta; /* in each grid */
  int strip; /* fine rows of a warp of the decimation */
  U8Axis x, y;
};

/* The kernels' parameter. With packed 4:2:2, plane 2 is the picture as pixels of four bytes (a
 * macropixel each), which the first and last launch work on. Planes 0 and 1 are luma and both
 * chromas, for the coarse filter along rows only; their `fine` and `coarse_x` are parts of those of
 * plane 2. */
struct U8Job {
  int planes;
  bool packed;
  int stack_split_log2;                 /* packed 4:2:2: 2^this CTAs divide a stack of tiles */
  bool overlaps;                        /* launches may be dependent (pdl.cuh) */
  uint8_t prefilter[2][kPrefilterTaps]; /* of D1 = 4 and 8, times 2 D1^3 */
  U8Plane plane[CF_MAX_PLANES];

  /* [plane][x, y]. Not in U8Plane, so that what all warps read first is in few cache lines. */
  U8Taps taps[CF_MAX_PLANES][2];
};

/* The launches of a frame. */
struct U8LaunchPlan {
  bool pixels; /* one plane of four channels; else planes of one or two */
  bool wide;   /* samples of two bytes */
  bool folds;  /* a border mode that repeats samples from inside the picture, not its edge */
  bool sets_carveouts; /* see cf::prefer_carveout() */
  int decimate_ctas, coarse_filter_ctas, upsample_ctas;
};

/* --- the launches, in this order on one stream --- */

bool u8_decimate(const U8Job *job, const U8LaunchPlan &plan, void *stream, CfStatus *status);
bool u8_coarse_filter_rows(const U8Job *job, const U8LaunchPlan &plan, void *stream,
                           CfStatus *status);
bool u8_upsample(const U8Job *job, const U8LaunchPlan &plan, void *stream, CfStatus *status);

/* --- blurs of one sigma (u8mma_plan.cpp) --- */

/* The jobs of a blur, without pointers and rows. */
struct U8Blur {
  U8Job planes;
  bool packs;            /* whether `packed` is valid */
  U8Job packed;          /* the same blur of packed 4:2:2; `border` is set by u8_run_packed() */
  bool has_carveouts[2]; /* a frame has set those of the kernels for `planes`, for `packed` */
};

/* Whether this pyramid supports these params, which have no map, on this device, and whether it is
 * also faster than taps. Wherever it is supported it is faster than the fp32 pyramid. */
bool u8_supports(const CfVideo *video, const CfDevice *device, const CfGaussblurParams *params);
bool u8_pays(const CfVideo *video, const CfDevice *device, const CfGaussblurParams *params);

/* Sets sigmas and border, which must be supported. On failure the old ones stay in force. */
bool u8_update(U8Blur *blur, const CfVideo *video, const CfGaussblurParams *params,
               CfStatus *status);

/* Enqueues a job on its stream. */
bool u8_run(U8Blur *blur, const CfVideo *video, CfDevice *device, const CfJob *job,
            CfStatus *status);

/* CfEngine.run_packed for pictures of format `packed`. */
bool u8_run_packed(U8Blur *blur, const CfVideo *video, CfFormat packed, CfDevice *device,
                   const CfJob *job, bool *done, CfStatus *status);

/* The channel of `fine` for byte `channel` of a pixel. Of packed 4:2:2 both lumas make one sample:
 * channel 0 for the first of them, -1 (none) for the second. */
__host__ __device__ inline int stored_channel(uint32_t luma_bytes, int channel)
{
  const int chroma = 1 + channel / 2, luma = channel < 2 ? 0 : -1;

  return !luma_bytes ? channel : luma_bytes >> channel & 1 ? luma : chroma;
}

/* --- how CTAs and warps divide a plane, for host and device --- */

/* Coarse columns of a CTA of the coarse filter along rows. */
__host__ __device__ inline int segment_columns(const U8Axis &axis)
{
  return 1024 >> axis.factor_log2;
}

__host__ __device__ inline int segments_of_rows(const U8Plane &plane)
{
  return (plane.columns + segment_columns(plane.x) - 1) >> (10 - plane.x.factor_log2);
}

/* Groups of kUpsampleColumns that a warp upsamples one after the other: two where stacks are low,
 * so that all CTAs are resident at once. */
__host__ __device__ inline int column_groups(int channels, int factor)
{
  return channels < 4 && factor <= 8 ? 2 : 1;
}

/* The tiles of a stack: 16 result rows each, one below the other, which 16 coarse rows suffice for.
 */
__host__ __device__ inline int stack_tiles(int factor)
{
  return factor == 4 ? 3 : factor == 8 ? 6 : 8;
}

} // namespace cf::pyramid
