/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What gaussblur and sepconv have in common: every plane is correlated with a row and a column of
 * taps. A plan says with which, and what happens to each channel, for all engines alike.
 *
 * With v(x, y) folded by `border` outside the picture (cf_border_index, or the channel's border
 * code where that is -1) and
 *
 *   sum(v)(x, y) = sum over j, i of column.tap[j] * row.tap[i]
 *                  * v(x + i - row.anchor, y + j - column.anchor)
 *
 * a filtered channel c becomes
 *
 *   centre + bias + m(scale * sum(c - centre)),            m(t) = absolute ? |t| : t
 *
 * In a premultiplied plane the alpha channel a is treated like that too and gives alpha' before
 * rounding and clamping (alpha' = a at that pixel if the channel is not filtered), and a filtered
 * colour becomes
 *
 *   centre + bias + m(scale * sum((c - centre) * a) / alpha'),     centre where alpha' <= 0
 *
 * where a border sample's alpha multiplies its colour as any sample's does. Everything is in code
 * values; results are rounded half up and clamped to 0..max code. Channels not filtered are copied.
 *
 * In an `unsharp` plane, with v the value at the pixel that sum() runs over (c - centre, of colours
 * in a premultiplied plane times a, and a itself of alpha), what takes the place of each sum is
 *
 *   v + amount (v - sum)   where |v - sum| > threshold, else v
 *
 * with a threshold that is multiplied by the largest alpha for colours in a premultiplied plane.
 */
#pragma once

#include "gaussblur.h"
#include "sepconv.h"

/* The filter of one direction. */
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
  double centre; /* of chroma: its neutral code; else 0 */
  double scale;  /* of alpha: 1 / (row.sum * column.sum), so that opaque stays opaque */
  double bias;   /* code values */
  int border;    /* code value outside the picture where the border is constant */
} CfFirChannel;

typedef struct {
  CfTaps row, column;
  bool filtered;            /* at least one channel is */
  bool premultiplied;       /* colours are weighted by alpha; some colour is filtered */
  bool unsharp;             /* sums are means, which samples are compared with */
  double amount, threshold; /* of unsharp planes; the threshold in code values */
  bool float_suffices; /* single precision keeps every channel's error below a quarter of a code:
                          gain * max code * 2^-24 * sqrt(row.count + column.count) <= 1/4 */
  CfFirChannel channel[CF_MAX_CHANNELS];
} CfFirPlane;

/* All zero is an empty plan, ready for the functions below. */
typedef struct {
  CfBorder border;
  int planes;
  CfFirPlane plane[CF_MAX_PLANES];
  double *storage; /* all taps of all planes */
  size_t capacity; /* doubles in `storage` */
} CfFirPlan;

/* Below this share of the product of both magnitudes, the product of both sums counts as 0: the
 * kernel is a derivative and cannot be normalised, and alpha is kept as it is. */
#define CF_FIR_ZERO_SUM 1e-6

/* Largest |scale| * row.magnitude * column.magnitude that is accepted: far beyond it rounding
 * errors of double precision would show. */
#define CF_FIR_MAX_GAIN 1e9

/* What the table of ranges cannot refuse: an even preset-size, an anchor outside its kernel,
 * normalize where the taps sum to 0, a gain beyond CF_FIR_MAX_GAIN. */
bool cf_sepconv_check(const CfSepconvParams *params, CfStatus *status);

/* Whether the output equals the input for every picture and format. */
bool cf_sepconv_is_identity(const CfSepconvParams *params);

/* Replaces `plan` by the plan of these params, which have passed their effect's checks. Memory
 * is reused, and grows only for longer kernels. On failure (CF_ERROR_INVALID for what
 * cf_sepconv_check refuses, CF_ERROR_NO_MEMORY) the plan stays as it was. */
bool cf_fir_plan_gaussblur(CfFirPlan *plan, const CfVideo *video, const CfGaussblurParams *params,
                           CfStatus *status);
bool cf_fir_plan_sepconv(CfFirPlan *plan, const CfVideo *video, const CfSepconvParams *params,
                         CfStatus *status);

/* The same for blurs by other means than taps, which ask what happens to the channels: these are
 * planned as for any Gaussian, of which the plan has the taps. */
bool cf_fir_plan_channels(CfFirPlan *plan, const CfVideo *video, CfBorder border, CfStatus *status);

/* Frees the plan's memory and leaves it empty. */
void cf_fir_plan_free(CfFirPlan *plan);

/* These taps, and what they add up to. */
CfTaps cf_taps(const double *tap, int count, int anchor);

/* Whether these taps only hand on the sample at the anchor. */
bool cf_taps_are_identity(const CfTaps *taps);
