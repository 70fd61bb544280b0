/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the methods of the separable filter share: one plane's work as plan/fir.h defines it, in the
 * precision of the device, the plan of a frame, and each method's host functions. Compiles for host
 * code too; device functions are in pixel.cuh.
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
  kIgnore, /* padding */
};

/* One channel's part of CfFirChannel: result = centre + bias + m(scale * sum). Sums run over codes
 * less `centre`; alpha that weights colours is centred on opaque, so that its sums are 0 where all
 * is opaque, and the weights there exactly 1. */
struct ChannelTransform {
  int action;   /* ChannelAction */
  int absolute; /* m(t) = |t| */
  float centre, scale, bias;
  float border; /* outside the picture: centred, and premultiplied, as the samples are */
};

/* One plane of one frame. Strides in bytes, all else in samples of the plane. */
struct PlaneWork {
  const uint8_t *source; /* device memory, of the caller */
  uint8_t *destination;
  ptrdiff_t source_stride, destination_stride;
  int width, height, channels;
  int first, end;                   /* rows to make */
  int readable_first, readable_end; /* rows of the source that may be read */
  int border;                       /* CfBorder */
  int alpha;                        /* channel that weights the others, or -1 */
  int shift, max_code;
  int row_anchor, column_anchor;
  bool unsharp;             /* sums are means, which samples are compared with */
  double amount, threshold; /* code values; of premultiplied colours, too */
  int tap_set;              /* of the job's taps: 0 luma and RGB, 1 the planes behind the first */
  int luma;                 /* packed 4:2:2, whose pixels here are two: the byte of the first's */
  bool vector_aligned;      /* source and destination rows start on 16 bytes */
  ChannelTransform transform[CF_MAX_CHANNELS];
};

/* How taps become fp16: fp16(scale * tap), and correction * fp16 stands for the tap. */
struct TapRounding {
  double scale, correction;
};

/* All filtered planes of a frame. `plan` gives the taps and is the engine's. */
struct Picture {
  int planes;
  PlaneWork plane[CF_MAX_PLANES];
  const CfFirPlane *plan[CF_MAX_PLANES];

  TapRounding row[CF_MAX_PLANES], column[CF_MAX_PLANES]; /* for the tensor-core kernels */

  int sample_bytes;
  bool packed;      /* 4:2:2: plane 0 has all pointers, what planes 0 to 2 say is of Y, U and V */
  bool has_alpha;   /* plane 0 has four channels, and one is alpha */
  int first_colour; /* of four channels, of which the other is alpha or padding: 0 or 1 */
};

/* How a frame is filtered. */
enum class Method {
  kNone,        /* no plane is filtered */
  kMma,         /* mma_dispatch.cu: one launch on tensor cores, fp16 products, fp32 sums */
  kFusedFp32,   /* fused_fp32.cu: one launch, single precision */
  kTwoPassFp32, /* two_pass.cu: two launches a plane, any number of taps */
  kTwoPassFp64,
};

/* Lets a kernel's CTAs have `bytes` of shared memory. All kernels here prefer as much of it as an
 * SM has: they follow each other, and an SM changes its split with the L1 cache only when empty. */
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

/* Whether device, format, taps and border are served and fp16 suffices; if so sets the picture's
 * TapRoundings. */
bool mma_serves(Picture *picture, const CfDevice *device);

/* GPU to host: whether frames of four channels were opaque, since the kernels for opaque pixels are
 * slower where alpha is met. Only the choice of kernel depends on it, never a byte: the host reads
 * without waiting, and may see an older frame's word. */
struct AlphaFeedback {
  uint32_t *words; /* page-locked; kernels write the last frame begun, and the last with alpha */
  uint32_t number; /* of the last frame; the first is 1 */
};

/* The same of a packed picture whose planes it serves. */
bool mma_serves_packed(const Picture *picture, const CfDevice *device);

/* Enqueues the filter; planes must be `vector_aligned`. `force` is CF_FIR_MMA_OPAQUE,
 * CF_FIR_MMA_ALPHA, or neither. */
bool mma_run(const Picture *picture, const CfDevice *device, AlphaFeedback *feedback, int force,
             void *stream, CfStatus *status);

} // namespace cf::fir
