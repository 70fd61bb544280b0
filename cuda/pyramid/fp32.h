/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The blur pyramid of plan/pyramid.h in single precision, for all formats and GPUs, without a
 * second decimation (D2 = 1). README.md has the four launches.
 */
#pragma once

#include "cuda/pyramid/plane.h"

namespace cf::pyramid
{

constexpr int kFp32MaxFactor = 8;    /* largest D, a power of two */
constexpr int kFp32MaxTaps = 288;    /* of the coarse filter, zeros included; a multiple of 4 */
constexpr int kPrefilterSpan8 = 6;   /* the prefilter's length in units of D, for 8-bit samples */
constexpr int kPrefilterSpan16 = 11; /* for 16-bit samples */
constexpr int kCoarseFilterColumns = 32; /* of a CTA of the coarse filter */
constexpr int kCoarseFilterRows = 8;     /* that it makes at once */

/* What the kernels can do along an axis, and the prefilter of 8 bits: as long as the span allows.
 */
constexpr CfPyramidLimits kFp32Limits = {1, kFp32MaxFactor, kFp32MaxFactor, false, 0.72, 4.1};

struct Fp32Axis : Axis {
  int taps_groups; /* of 4 taps, with the 3 that only shifted outputs need */
  float taps[kFp32MaxTaps];
};

/* One plane of a job. All pointers are to device memory that the job's owner has. */
struct Fp32Plane : Plane {
  int samples; /* of a row */
  int max_code;
  bool vector;     /* rows start where four samples can be accessed at once */
  float centre[4]; /* of the samples in a word of four: sums are of what differs from it */
  float transparent_code[4]; /* of colours where nothing shows */
  uint16_t border[12];       /* raw samples of three words, for the constant border */

  /* Scratch: [channel][fine row][column] of Fp32Types::Store, [channel][fine row][coarse column],
   * [coarse row][coarse column][channel]. */
  void *decimated_y;
  float *coarse_x, *coarse;
  int decimated_y_pitch, coarse_x_pitch; /* elements */
  int decimated_y_rows;                  /* of a channel */

  /* Of each grid: its first CTA, and how much a CTA makes. */
  int vertical_first_cta, horizontal_first_cta, coarse_filter_first_cta, upsample_first_cta;
  int strip;   /* fine rows of a CTA that decimates along columns */
  int segment; /* coarse columns of one that decimates along rows, a multiple of 4 */
  Fp32Axis x, y;
};

/* The kernels' parameter. */
struct Fp32Job {
  int planes;
  bool overlaps; /* launches may be dependent (pdl.cuh) */

  /* By log2 D, at places that are known when the kernels are compiled: then they are operands of
   * the multiply-adds, and need no loads. */
  float prefilter[4][kPrefilterSpan16 * kFp32MaxFactor]; /* zeros at the end */
  float spline[4][4 * kFp32MaxFactor];

  Fp32Plane plane[CF_MAX_PLANES];
};

/* The launches of a frame. */
struct Fp32LaunchPlan {
  bool wide; /* samples of 16 bits */
  int vertical_ctas, horizontal_ctas, coarse_filter_ctas, upsample_ctas;
  int horizontal_shared_bytes;
};

/* --- the launches, in this order on one stream --- */

bool fp32_decimate_vertical(const Fp32Job *job, const Fp32LaunchPlan &plan, void *stream,
                            CfStatus *status);
bool fp32_decimate_horizontal(const Fp32Job *job, const Fp32LaunchPlan &plan, void *stream,
                              CfStatus *status);
bool fp32_coarse_filter(const Fp32Job *job, const Fp32LaunchPlan &plan, void *stream,
                        CfStatus *status);
bool fp32_upsample(const Fp32Job *job, const Fp32LaunchPlan &plan, void *stream, CfStatus *status);

/* Dynamic shared memory of a CTA of fp32_decimate_horizontal that makes `segment` coarse samples.
 */
int fp32_horizontal_shared_bytes(const Fp32Axis *axis, bool wide, int segment);

/* --- blurs of one sigma (fp32_plan.cpp) --- */

/* Whether these params, which have no map, can be done by this pyramid, and whether it is faster
 * than taps. */
bool fp32_serves(const CfVideo *video, const CfGaussblurParams *params);
bool fp32_pays(const CfVideo *video, const CfDevice *device, const CfGaussblurParams *params);

/* Describes a job of sigmas and border that it serves, but for pointers, strides and what depends
 * on the band. On failure the job stays as it was. */
bool fp32_update(Fp32Job *job, const CfVideo *video, const CfGaussblurParams *params,
                 CfStatus *status);

/* Enqueues it on its stream, for these pictures and rows. */
bool fp32_run(Fp32Job *job, const CfVideo *video, CfDevice *device, const CfJob *pictures,
              CfStatus *status);

/* What sums of a channel are centred on. fp16 is the more accurate the smaller the numbers, so that
 * is the middle of all codes; of alpha that weights it is opaque, whose weight is then exact. */
float code_centre(const CfFormatInfo *format, bool alpha);

/* --- for host and device --- */

/* The first of the rows that the coarse filter makes: bands of a picture then add up in the same
 * order as the whole. */
__host__ __device__ constexpr int first_eight(const Fp32Plane &plane)
{
  return plane.coarse_first & ~(kCoarseFilterRows - 1);
}

__host__ __device__ constexpr int factor_log2(int factor)
{
  return factor >= 8 ? 3 : factor >= 4 ? 2 : factor >= 2 ? 1 : 0;
}

} // namespace cf::pyramid
