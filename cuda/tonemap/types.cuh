/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the kernels of tone mapping share: frames, tables in device memory, and their launchers.
 */
#pragma once

#include "cuda/common/context.cuh"
#include "cuda/common/launch.cuh"

extern "C" {
#include "plan/tonemap_plan.h"
}

namespace cf::tonemap
{

/* Integers below 2^22 go to floats and back as the low bits of 2^23 and more. */
constexpr uint32_t kWholeBits = 0x4b000000;
constexpr float kWhole = 8388608.0f;

/* --- device memory of a state --- */

/* A function between two entries of its table is this line. */
struct alignas(8) Line {
  float offset, slope;
};

constexpr int kLightLines = CF_TONEMAP_LIGHT_STEPS / 2, kToneLines = CF_TONEMAP_TONE_STEPS / 2;

/* What kernels look up. They copy it to shared memory, in words of 16 bytes. */
struct alignas(16) Tables {
  Line light[kLightLines]; /* of signals of 0..1 */

  /* CfTonemapTone, by codes of the plane. */
  Line gain[kToneLines];
  struct alignas(16) Rest {
    Line room, saturation;
  } rest[kToneLines];
};

static_assert(sizeof(Tables) <= 48 * 1024, "all GPUs have room");

/* The peak, measured or not. */
struct Peak {
  CfTonemapMemory memory;
  double nits;
  float most; /* CfTonemapCurve.most, in units of what is above the knee, of any peak */
  uint32_t histogram[CF_TONEMAP_BINS]; /* of the frame under way, else 0 */
};

/* --- frames --- */

/* HDR, samples of 16 bits. */
struct Source {
  int width, height;
  const uint8_t *luma, *blue, *red; /* the first sample of each */
  ptrdiff_t luma_stride, blue_stride, red_stride;
  bool pairs;  /* blue and red side by side; else planes of their own */
  bool halved; /* columns of chroma */
  bool halved_rows;
  bool words;           /* aligned to 16 bytes */
  bool hlg;             /* else PQ */
  uint32_t significant; /* the bits of two samples that count */
  uint32_t whole_bits;  /* kWholeBits */

  /* Of samples with their shift; offset and centre with kWhole. Gains of what chroma adds to luma,
   * in R'G'B'. */
  float luma_offset, luma_gain, chroma_centre;
  float red_from, blue_from, green_from_blue, green_from_red;
};

enum class Kind { kYuv8, kYuv16, kRgb };

/* SDR. */
struct Destination {
  uint8_t *plane[3];
  ptrdiff_t stride[3];
  Kind kind;
  bool pairs;    /* of chroma, side by side */
  bool reversed; /* blue first */
  bool words;    /* aligned to 16 bytes */
  int shift;

  /* code = floor (scale value + offset), cut off at `most`; offsets with dither, by rows and
   * columns of a plane. */
  float luma_scale, chroma_scale, most;
  float luma_offset[8][8], chroma_offset[8][8];
  float weight_red, weight_blue; /* in luma */
  float blue_gain, red_gain;     /* of their differences to luma */
};

/* What is made of light. */
struct Tones {
  /* Of red less green and of blue less green, both of the source: what they add to green's share in
   * luminance, which is 1, and to the components of BT.709 less luminance. */
  float luminance_709[2], to_709[3][2];
  float red_luminance, blue_luminance;
  float detail;          /* less 1; 0: noise is not raised */
  float per_noise_floor; /* 0: everything is raised */
};

/* A plane of 16-bit samples; rows are multiples of 256 bytes, so that words of it may be read and
 * written beyond the last pixel. */
struct Plane {
  uint8_t *data;
  ptrdiff_t stride;
};

/* --- kernels, in stream order; false with `status` filled where a launch fails --- */

struct Queue {
  cudaStream_t stream;
  int multiprocessors;
  bool overlaps; /* has programmatic dependent launch */
  CfStatus *status;
};

/* The plane of the source's luminance. Counts its codes into peak->histogram, unless NULL. */
bool analyse(const Queue &queue, const Source &source, const Tones &tones, const Tables *tables,
             Plane plane, Peak *peak);

/* Takes the histogram over, and makes it 0 again; with `fresh`, forgets the frames before. */
bool follow_peak(const Queue &queue, const CfTonemapParams &params, uint32_t samples,
                 double seconds, bool fresh, Peak *peak);

/* The lines of the tones, and peak->most, for the peak of `nits`; 0: that is peak->nits. */
bool make_tones(const Queue &queue, const CfTonemapParams &params, double nits, Peak *peak,
                Tables *tables);

/* The destination, from the source, its plane and the base. Before it waits for the kernel in front
 * of it, which must have waited for make_tones(), it reads the tables. */
bool finish(const Queue &queue, const Source &source, const Tones &tones, const Tables *tables,
            const Peak *peak, Plane plane, Plane base, const Destination &destination);

} // namespace cf::tonemap
