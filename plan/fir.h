/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What gaussblur and sepconv have in common: every plane is correlated with a row and a column of
 * taps. A plan has the taps, and what happens to each channel, for all engines alike.
 *
 * With v(x, y) continued outside the picture by `border` (cf_border_index, or the channel's border
 * code where that is -1) and
 *
 *   sum(v)(x, y) = sum over j, i of column.tap[j] * row.tap[i]
 *                  * v(x + i - row.anchor, y + j - column.anchor)
 *
 * a filtered channel c becomes
 *
 *   centre + bias + m(scale * sum(c - centre)),            m(t) = absolute ? |t| : t
 *
 * In a premultiplied plane the alpha channel a is filtered by the same formula, which gives alpha'
 * before rounding and clamping (alpha' = a at that pixel where alpha is not filtered), and a
 * filtered colour becomes
 *
 *   centre + bias + m(scale * sum((c - centre) * a) / alpha'),     centre where alpha' <= 0
 *
 * A border sample's alpha multiplies its colour as any sample's does. Everything is in code values;
 * results are rounded half up and clamped to 0..max code. Channels that are not filtered are
 * copied.
 *
 * In an `unsharp` plane each sum above is replaced. With v the value at the pixel of what the sum
 * runs over (c - centre; of colours in a premultiplied plane times a; a itself for alpha) the sum
 * becomes
 *
 *   v + amount (v - sum)   where |v - sum| > threshold, else v
 *
 * For colours in a premultiplied plane the threshold is multiplied by the largest alpha code.
 */
#pragma once

#include "gaussblur.h"
#include "sepconv.h"

/* The taps of one direction. */
typedef struct {
  int count;         /* >= 1 */
  int anchor;        /* 0..count-1: the tap on the output sample */
  const double *tap; /* tap[0] multiplies the leftmost (topmost) sample; owned by the plan */
  double sum;        /* of tap[i] */
  double magnitude;  /* sum of |tap[i]| */
} CfTaps;

typedef struct {
  bool filtered; /* else copied; padding is never filtered */
  bool absolute;
  double centre; /* the neutral code of chroma, else 0 */
  double scale;  /* of alpha 1 / (row.sum * column.sum), so that opaque stays opaque */
  double bias;   /* code values; 0 for chroma and alpha */
  int border;    /* code value outside the picture, for CF_BORDER_CONSTANT */
} CfFirChannel;

typedef struct {
  CfTaps row, column;
  bool filtered;            /* at least one channel is */
  bool premultiplied;       /* colours are weighted by alpha; at least one colour is filtered */
  bool unsharp;             /* the taps make a mean, which samples are compared with */
  double amount, threshold; /* of unsharp planes; the threshold in code values */
  bool float_suffices; /* single precision keeps the error of all channels within a quarter of a
                          code: gain * max code * 2^-24 * sqrt(row.count + column.count) <= 1/4,
                          with the gain of CF_FIR_MAX_GAIN */
  CfFirChannel channel[CF_MAX_CHANNELS];
} CfFirPlane;

/* All zero: an empty plan, ready for the functions below. cf_fir_plan_free() at the end. */
typedef struct {
  CfBorder border;
  int planes; /* of the format */
  CfFirPlane plane[CF_MAX_PLANES];
  double *storage; /* all taps of all planes */
  size_t capacity; /* in doubles, of `storage` */
} CfFirPlan;

/* Where |product of both sums| is below this share of the product of both magnitudes, the kernel is
 * a derivative: it cannot be normalised, and alpha is not filtered. */
#define CF_FIR_ZERO_SUM 1e-6

/* The largest gain that is accepted: far beyond, rounding errors of double precision would show.
 * The gain is |scale| * M, M = row.magnitude * column.magnitude, or unsharp |scale| * (1 + amount
 * (1 + M)). */
#define CF_FIR_MAX_GAIN 1e9

/* Refuses (CF_ERROR_INVALID) what ranges cannot: an even preset-size, an anchor outside its kernel,
 * normalize where taps sum to 0, a gain beyond CF_FIR_MAX_GAIN. */
bool cf_sepconv_check(const CfSepconvParams *params, CfStatus *status);

/* Whether the output equals the input for every picture and format. */
bool cf_sepconv_is_identity(const CfSepconvParams *params);

/* Replaces `plan` by the plan of these params, which have passed the effect's check. Memory is
 * reused, and grows only for longer kernels. On failure (CF_ERROR_INVALID for what cf_sepconv_check
 * refuses, CF_ERROR_NO_MEMORY) the plan stays as it was. */
bool cf_fir_plan_gaussblur(CfFirPlan *plan, const CfVideo *video, const CfGaussblurParams *params,
                           CfStatus *status);
bool cf_fir_plan_sepconv(CfFirPlan *plan, const CfVideo *video, const CfSepconvParams *params,
                         CfStatus *status);

/* A plan for blurs that are not made by taps, such as pyramids: its channels are those of any
 * Gaussian blur, its taps those of sigma 1. */
bool cf_fir_plan_channels(CfFirPlan *plan, const CfVideo *video, CfBorder border, CfStatus *status);

/* Frees the plan's memory and leaves it empty. */
void cf_fir_plan_free(CfFirPlan *plan);

/* A view of `count` taps, with their sums; `tap` is borrowed. */
CfTaps cf_taps(const double *tap, int count, int anchor);

/* Whether the taps only pass on the sample at the anchor. */
bool cf_taps_are_identity(const CfTaps *taps);
