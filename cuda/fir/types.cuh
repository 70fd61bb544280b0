/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the methods of the separable filter share: the description of planes and of a frame, in the
 * terms of plan/fir.h, and each method's host functions. For host and device code; device functions
 * are in pixel.cuh.
 */
#pragma once

#include "cuda/common/border.cuh"
#include "cuda/common/context.cuh"

extern "C" {
#include "plan/fir.h"
}

namespace cf::fir
{

enum ChannelAction {
  kFilter,
  kCopy,
  kIgnore, /* padding: any value may be stored */
};

/* CfFirChannel for the device: result = centre + bias + m(scale * sum), where m is the identity or
 * the magnitude, and sums are of codes less `centre`. The centre of alpha that premultiplies
 * colours is opaque, so that its sums are exactly 0, and its weights exactly 1, where all pixels
 * are opaque. */
struct ChannelTransform {
  int action;   /* ChannelAction */
  int absolute; /* m(t) = |t| */
  float centre, scale, bias;
  float border; /* of the constant border: centred and premultiplied, as samples are */
};

/* One plane of one frame. Strides are in bytes, all other numbers in pixels of the plane. */
struct PlaneWork {
  const uint8_t *source; /* device memory that the caller owns */
  uint8_t *destination;
  ptrdiff_t source_stride, destination_stride;
  int width, height, channels;
  int first, end;                   /* result rows to make: first .. end - 1 */
  int readable_first, readable_end; /* source rows that may be read */
  int border;                       /* CfBorder */
  int alpha;                        /* channel by which the others are premultiplied, or -1 */
  int shift, max_code;              /* a code is sample >> shift */
  int row_anchor, column_anchor;
  bool unsharp;             /* unsharp masking: samples are compared with the filtered ones */
  double amount, threshold; /* of unsharp; threshold in code values */
  int tap_set;              /* index of the plane's taps: 0 for plane 0, 1 for the others */
  int luma;                 /* of packed 4:2:2: the first luma's byte in a macropixel */
  bool vector_aligned;      /* source and destination rows are aligned to 16 bytes */
  ChannelTransform transform[CF_MAX_CHANNELS];
};

/* Taps on tensor cores are fp16(scale * tap); a tap's value is correction times that. */
struct TapRounding {
  double scale, correction;
};

/* All filtered planes of a frame. */
struct Picture {
  int planes;
  PlaneWork plane[CF_MAX_PLANES];
  const CfFirPlane *plan[CF_MAX_PLANES]; /* the taps; the engine owns them */

  TapRounding row[CF_MAX_PLANES], column[CF_MAX_PLANES]; /* for the tensor-core kernels */

  int sample_bytes;
  bool packed;      /* packed 4:2:2: planes 0 to 2 describe Y, U and V, plane 0 has the pointers */
  bool has_alpha;   /* plane 0 has four channels, one of them alpha */
  int first_colour; /* of four channels: 1 if alpha or padding comes first, else 0 */
};

/* How a frame is filtered. */
enum class Method {
  kNone,        /* no plane is filtered */
  kMma,         /* mma_dispatch.cu: one launch on tensor cores, fp16 products, fp32 sums */
  kFusedFp32,   /* fused_fp32.cu: one launch, single precision */
  kTwoPassFp32, /* two_pass.cu: two launches a plane, any number of taps */
  kTwoPassFp64,
};

/* Allows a kernel `bytes` of dynamic shared memory per CTA, and sets the carveout to the maximum.
 * It is the same for all kernels here, since an SM can change its carveout only while idle. */
bool prepare_kernel(const void *kernel, int bytes, CfStatus *status);

/* --- fused_fp32.cu --- */

/* Lets the kernels use all shared memory of the current context's device. */
bool fused_fp32_prepare(const CfDevice *device, CfStatus *status);

/* Whether the taps fit the kernels, and their rows the device's shared memory. */
bool fused_fp32_fits(const Picture *picture, const CfDevice *device);

/* Enqueues the filter. */
bool fused_fp32_run(const Picture *picture, const CfDevice *device, void *stream, CfStatus *status);

/* --- two_pass.cu --- */

/* Enqueues the filter, in single or in double precision; takes scratch memory for the row sums. */
bool two_pass_run(const Picture *picture, CfDevice *device, bool single, void *stream,
                  CfStatus *status);

/* --- mma_dispatch.cu --- */

bool mma_prepare(const CfDevice *device, CfStatus *status);

/* Whether the kernels support device, format, taps and border, and fp16 is accurate enough; if so
 * sets the picture's TapRoundings. */
bool mma_supports(Picture *picture, const CfDevice *device);

/* Words that kernels write and the host reads, to choose the kernel for frames of four channels:
 * those for opaque pixels are fast for opaque frames only. Results do not depend on the choice, so
 * the host reads without waiting, and may see the words of an older frame. */
struct AlphaFeedback {
  uint32_t *words; /* page-locked: number of the last frame begun, of the last with alpha < 255 */
  uint32_t number; /* of the last frame; the first is 1 */
};

/* Whether the kernels also support packed 4:2:2, for a picture that mma_supports(). */
bool mma_supports_packed(const Picture *picture, const CfDevice *device);

/* Enqueues the filter; all planes must be `vector_aligned`. CF_FIR_MMA_OPAQUE and CF_FIR_MMA_ALPHA
 * as `force` choose the kernel; with other values the feedback does. */
bool mma_run(const Picture *picture, const CfDevice *device, AlphaFeedback *feedback, int force,
             void *stream, CfStatus *status);

} // namespace cf::fir
