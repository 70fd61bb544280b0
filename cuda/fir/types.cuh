/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the kernels of the separable filter share: one plane's work as plan/fir.h defines it, in the
 * precision of the device, and the three ways to do it.
 */
#pragma once

#include "cuda/common/border.cuh"
#include "cuda/common/context.cuh"

extern "C" {
#include "plan/fir.h"
}

enum CfFirChannelUse {
  CF_FIR_FILTER,
  CF_FIR_COPY,
  CF_FIR_IGNORE, /* padding */
};

/* Members named as in CfFirChannel, but that the alpha which weighs others is centred on opaque:
 * then its sums are 0 where all is opaque, and the weights there exactly 1. */
struct CfFirTone {
  int use;
  int absolute;
  float centre, scale, bias;
  float border; /* weighted as the samples are */
};

struct CfFirWork {
  const uint8_t *source;
  uint8_t *destination;
  ptrdiff_t source_stride, destination_stride;
  int width, height, channels;
  int first, end;                   /* rows to make */
  int readable_first, readable_end; /* rows of the source that may be read */
  int border;                       /* CfBorder */
  int alpha;                        /* channel that weights the others, or -1 */
  int shift, max_code;
  int row_anchor, column_anchor;
  int set;     /* of taps: luma and RGB, or subsampled planes */
  bool vector; /* source and destination rows start on 16 bytes */
  CfFirTone tone[CF_MAX_CHANNELS];
};

/* How taps become halves: half(scale * tap), and correction * half stands for the tap. */
struct CfFirRounding {
  double scale, correction;
};

/* All filtered planes of a job. `plan` gives the taps. */
struct CfFirPicture {
  int planes;
  CfFirWork plane[CF_MAX_PLANES];
  const CfFirPlane *plan[CF_MAX_PLANES];

  /* For the tensor kernels. Bounds of their errors are in code values; colours are of the last
   * plane, which is the only one where there is alpha, before they are divided by it. */
  CfFirRounding row[CF_MAX_PLANES], column[CF_MAX_PLANES];
  double alpha_error, colour_error;

  int sample_bytes;
  bool has_alpha;   /* plane 0 has four channels, and one is alpha */
  int first_colour; /* of four channels, of which the other is alpha or padding: 0 or 1 */
};

/* Lets a kernel's blocks have `bytes` of shared memory. All kernels here prefer as much of it as an
 * SM has: they follow each other, and an SM changes its split with the L1 cache only when empty. */
bool cf_fir_prepare_kernel(const void *kernel, int bytes, CfStatus *status);

/* --- cuda/fir/fused_fp32.cu: rows and columns in one launch, single precision --- */

/* Lets the kernels use all shared memory of the current context's device. */
bool cf_fir_plain_prepare(const CfDevice *device, CfStatus *status);

/* Whether these kernels fit the device's shared memory. */
bool cf_fir_plain_fits(const CfFirPicture *picture, const CfDevice *device);

/* Enqueues the filter. */
bool cf_fir_plain_run(const CfFirPicture *picture, const CfDevice *device, void *stream,
                      CfStatus *status);

/* --- cuda/fir/two_pass.cu: two launches a plane, any number of taps, single or double precision
 * --- */

bool cf_fir_long_run(const CfFirPicture *picture, CfDevice *device, bool single, void *stream,
                     CfStatus *status);

/* --- cuda/fir/mma_dispatch.cu: rows and columns in one launch on tensor cores, 8 bits --- */

bool cf_fir_tensor_prepare(const CfDevice *device, CfStatus *status);

/* Whether the coefficients survive half precision, and device, border and sizes are served; decides
 * on their rounding. */
bool cf_fir_tensor_serves(CfFirPicture *picture, const CfDevice *device);

/* Whether pictures of four channels were opaque, for which there are faster kernels that are slower
 * otherwise. All make the same bytes. */
struct CfFirSightings {
  uint32_t *words; /* that the device writes: the last picture begun, and the last with alpha */
  uint32_t number; /* of the last picture; the first is 1 */
};

/* Enqueues the filter; pointers must be `vector`. */
bool cf_fir_tensor_run(const CfFirPicture *picture, const CfDevice *device,
                       CfFirSightings *sightings, void *stream, CfStatus *status);

/* --- for the kernels --- */

/* The row of the source that row `y` reads, -1 for the border's colour. What lies beyond the band's
 * halo is only multiplied by zeros that fill up groups of taps, so any readable row will do. */
__device__ inline int cf_source_row(const CfFirWork &work, int y)
{
  const int folded = cf::fold_index(work.border, y, work.height);

  return folded < 0 ? -1 : min(max(folded, work.readable_first), work.readable_end - 1);
}

/* Written as one fma, so that all kernels round alike. */
template <typename Real> __device__ inline Real cf_apply_tone(const CfFirTone &tone, Real sum)
{
  const Real scale = (Real)tone.scale, offset = (Real)tone.centre + (Real)tone.bias;

  return tone.absolute ? fma(fabs(scale), fabs(sum), offset) : fma(scale, sum, offset);
}

/* Weights are fractions of opaque, which is 255 in all formats with alpha; 255 * (1 / 255) is 1 in
 * either precision. */
template <typename Real> __device__ inline Real cf_weight(Real alpha)
{
  return alpha * ((Real)1 / (Real)255);
}

/* A filtered colour of alpha' `alpha`. Where that is well below what rounds to 1 there is none:
 * with alpha centred on opaque, transparent areas come out as 0 only within rounding errors. */
template <typename Real>
__device__ inline Real cf_unweigh(const CfFirTone &tone, Real sum, Real alpha)
{
  return alpha < (Real)0.25 ? (Real)tone.centre
                            : cf_apply_tone(tone, sum * ((Real)1 / cf_weight(alpha)));
}

/* Rounds half up, clamps, and shifts to the sample's bits. */
template <typename Real> __device__ inline uint32_t cf_to_sample(const CfFirWork &work, Real value)
{
  const Real rounded = floor(value + (Real)0.5);
  const Real clamped = rounded > 0 ? (rounded < work.max_code ? rounded : (Real)work.max_code) : 0;

  return (uint32_t)clamped << work.shift;
}
