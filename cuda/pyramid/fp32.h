/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The blur pyramid of plan/pyramid.h in single precision, for all formats and GPUs, with D2 = 1.
 * README.md has the four launches.
 */
#pragma once

#include "cuda/common/int_math.cuh"
#include "cuda/pyramid/plane.h"

namespace cf::pyramid
{

constexpr int kFp32MaxFactor = 8;        /* largest D, a power of two */
constexpr int kFp32MaxTaps = 288;        /* of the coarse filter, zeros included; a multiple of 4 */
constexpr int kPrefilterSpan8 = 6;       /* prefilter taps / D of 8-bit samples, zeros included */
constexpr int kPrefilterSpan16 = 11;     /* the same of 16-bit samples */
constexpr int kCoarseFilterColumns = 32; /* coarse samples that a CTA of the coarse filter makes */
constexpr int kCoarseFilterRows = 8;

/* The factors that the kernels support, and the prefilter of 8 bits, as long as its span allows. */
constexpr CfPyramidLimits kFp32Limits = {1, kFp32MaxFactor, kFp32MaxFactor, false, 0.72, 4.1};

struct Fp32Axis : Axis {
  int taps_groups; /* groups of 4 taps that 4 neighbouring outputs read */
  float taps[kFp32MaxTaps];
};

/* One plane of a job. Kernels work on words of four consecutive samples of a row, whatever the
 * number of channels. */
struct Fp32Plane : Plane {
  int samples; /* of a row: width * channels */
  int max_code;
  bool vector;               /* words are aligned in all rows of source and destination */
  float centre[4];           /* subtracted from the four codes of a word before filtering */
  float transparent_code[4]; /* of colours where alpha is 0 */
  uint16_t border[12];       /* the constant border as raw samples: the pattern of three words */

  /* Scratch memory: [channel][fine row][column] of Fp32Types::Store, [channel][fine row][coarse
   * column], [coarse row][coarse column][channel]. */
  void *decimated_y;
  float *coarse_x, *coarse;
  int decimated_y_pitch, coarse_x_pitch; /* elements */
  int decimated_y_rows;                  /* of a channel */

  /* The plane's first CTA in each grid, and how much a CTA makes. */
  int vertical_first_cta, horizontal_first_cta, coarse_filter_first_cta, upsample_first_cta;
  int strip;   /* fine rows of a CTA of the vertical decimation */
  int segment; /* coarse columns of a CTA of the horizontal decimation, a multiple of 4 */
  Fp32Axis x, y;
};

/* The kernels' parameter. */
struct Fp32Job {
  int planes;
  bool overlaps; /* launches may be dependent (pdl.cuh) */

  /* Index log2 D. In the parameters at offsets known at compile time, they are constant bank
   * operands of the multiply-adds, and need no loads. */
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

/* Dynamic shared memory of a CTA of fp32_decimate_horizontal() with this `segment`. */
int fp32_horizontal_shared_bytes(const Fp32Axis *axis, bool wide, int segment);

/* --- blurs of one sigma (fp32_plan.cpp) --- */

/* Whether this pyramid supports these params, which have no map, and whether it is also faster than
 * taps. */
bool fp32_supports(const CfVideo *video, const CfGaussblurParams *params);
bool fp32_pays(const CfVideo *video, const CfDevice *device, const CfGaussblurParams *params);

/* Sets up `job` for supported sigmas and border; fp32_run() adds pointers and rows. On failure the
 * job stays as it was. */
bool fp32_update(Fp32Job *job, const CfVideo *video, const CfGaussblurParams *params,
                 CfStatus *status);

/* Enqueues the blur of the pictures and rows of `pictures` on its stream. */
bool fp32_run(Fp32Job *job, const CfVideo *video, CfDevice *device, const CfJob *pictures,
              CfStatus *status);

/* The code that is subtracted from a channel before filtering: the middle of all codes, since fp16
 * is the more accurate the smaller the numbers; of `alpha` that premultiplies it is opaque, so that
 * sums of opaque pixels are exactly 0. */
float code_centre(const CfFormatInfo *format, bool alpha);

/* --- for host and device --- */

__host__ __device__ constexpr int words_of(const Fp32Plane &plane)
{
  return div_up(plane.samples, 4);
}

/* The first row that the coarse filter computes: a multiple of kCoarseFilterRows, so that a band of
 * a picture is summed in the same order as the whole. */
__host__ __device__ constexpr int first_coarse_filter_row(const Fp32Plane &plane)
{
  return plane.coarse_first & ~(kCoarseFilterRows - 1);
}

__host__ __device__ constexpr int factor_log2(int factor)
{
  return factor >= 8 ? 3 : factor >= 4 ? 2 : factor >= 2 ? 1 : 0;
}

} // namespace cf::pyramid
