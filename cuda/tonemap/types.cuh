/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the host and the kernels of tone mapping share: frames, tables in device memory, launches.
 */
#pragma once

#include "cuda/common/context.cuh"
#include "cuda/common/int_math.cuh"
#include "cuda/common/launch.cuh"

extern "C" {
#include "plan/tonemap_plan.h"
}

namespace cf::tonemap
{

/* --- device memory of a state --- */

/* An entry of a table: the function up to the next entry is offset + slope * x. */
struct alignas(8) Line {
  float offset, slope;
};

constexpr int kLightLines = CF_TONEMAP_LIGHT_STEPS / 2, kToneLines = CF_TONEMAP_TONE_STEPS / 2;

/* Kernels copy these to shared memory, 16 bytes at a time. */
struct alignas(16) Tables {
  Line light[kLightLines]; /* linear light of a signal 0 .. 1 */

  /* CfTonemapTone of a code of the plane (analyse()). */
  Line gain[kToneLines];
  struct alignas(16) Rest {
    Line room, saturation;
  } rest[kToneLines];
};

static_assert(sizeof(Tables) <= 48 * 1024, "static shared memory of a CTA");

/* The peak of the content, measured or set. */
struct Peak {
  CfTonemapMemory memory;
  double nits; /* if measured */
  float most;  /* CfTonemapCurve.most less the knee, over 1 less the knee; also of a set peak */
  uint32_t
      histogram[CF_TONEMAP_BINS]; /* of the current frame, between analyse() and follow_peak() */
};

/* --- frames --- */

/* HDR: Y'CbCr in samples of 16 bits. */
struct Source {
  int width, height;
  const uint8_t *luma, *blue, *red; /* the first sample of each */
  ptrdiff_t luma_stride, blue_stride, red_stride;
  bool pairs;           /* Cb and Cr are interleaved; else in planes of their own */
  bool halved;          /* chroma has half the columns */
  bool halved_rows;     /* chroma has half the rows */
  bool words;           /* rows are aligned to 16 bytes */
  bool hlg;             /* the transfer function is HLG, not PQ */
  uint32_t significant; /* mask of the code's bits in two samples */
  uint32_t whole_bits;  /* kWholeBits */

  /* From samples (codes with their shift) to R'G'B'; kWhole is added to offset and centre. The
   * gains are those of Cr and Cb in each component. */
  float luma_offset, luma_gain, chroma_centre;
  float red_from, blue_from, green_from_blue, green_from_red;
};

enum class Kind { kYuv8, kYuv16, kRgb };

/* SDR. */
struct Destination {
  uint8_t *plane[3];
  ptrdiff_t stride[3];
  Kind kind;
  bool pairs;    /* Cb and Cr are interleaved */
  bool reversed; /* of kRgb: blue comes first */
  bool words;    /* rows are aligned to 16 bytes */
  int shift;

  /* code = floor(min(scale * value + offset, most)). Offsets include dither, by row and column of
   * the plane modulo 8. */
  float luma_scale, chroma_scale, most;
  float luma_offset[8][8], chroma_offset[8][8];
  float weight_red, weight_blue; /* of R' and B' in luma */
  float blue_gain, red_gain;     /* of B' - Y' in Cb, of R' - Y' in Cr */
};

/* Constants of the tone mapping itself. */
struct Tones {
  /* With r = red - green and b = blue - green of the source's light: luminance of BT.709 is green +
   * luminance_709[0] r + luminance_709[1] b, and its component c is luminance + to_709[c][0] r +
   * to_709[c][1] b. */
  float luminance_709[2], to_709[3][2];
  float red_luminance, blue_luminance; /* weights of red and blue in the source's luminance */
  float detail;                        /* CfTonemapParams.detail - 1 */
  float per_noise_floor;               /* 1 / noise_floor; 0: all detail is raised */
};

/* A plane of 16-bit samples. Strides are multiples of 256 bytes, so that vectors may be read and
 * written beyond the last pixel of a row. */
struct Plane {
  uint8_t *data;
  ptrdiff_t stride;
};

/* --- launches, in this order on one stream; false with `status` set if a launch fails --- */

struct Queue {
  cudaStream_t stream;
  int multiprocessors;
  bool overlaps; /* the GPU has programmatic dependent launch */
  CfStatus *status;
};

/* Makes `plane`: the logarithm of the source's luminance as codes. Adds these to peak->histogram,
 * unless `peak` is NULL. */
bool analyse(const Queue &queue, const Source &source, const Tones &tones, const Tables *tables,
             Plane plane, Peak *peak);

/* Updates peak->nits from the histogram, and clears it. With `fresh`, earlier frames do not count.
 */
bool follow_peak(const Queue &queue, const CfTonemapParams &params, uint32_t samples,
                 double seconds, bool fresh, Peak *peak);

/* Makes the tables of tones, and peak->most, for a peak of `nits`; 0 stands for peak->nits. */
bool make_tones(const Queue &queue, const CfTonemapParams &params, double nits, Peak *peak,
                Tables *tables);

/* Makes the destination from the source, its plane, and the base (the filtered plane). Its kernel
 * reads the tables before pdl_wait(): the launch before must itself have waited for make_tones().
 */
bool finish(const Queue &queue, const Source &source, const Tones &tones, const Tables *tables,
            const Peak *peak, Plane plane, Plane base, const Destination &destination);

} // namespace cf::tonemap
