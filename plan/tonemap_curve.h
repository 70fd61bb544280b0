/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The curve of tone mapping (plan/tonemap_plan.h), a function of stops above black. Compiled into
 * the CPU engines and the CUDA kernels alike.
 */
#pragma once

#include <math.h>

#include "plan/shared.h"
#include "tonemap.h"

#define CF_TONEMAP_BLACK           0.1   /* nits, added before the logarithm: "black" */
#define CF_TONEMAP_REFERENCE_WHITE 203.0 /* nits that SDR content calls white: ITU-R BT.2408 */
#define CF_TONEMAP_PIVOT           40.0  /* nits: darker tones are kept */
#define CF_TONEMAP_BEYOND                                                                          \
  0.5 /* stops above the display's white that the curve may                                        \
         reach, rolled off later */

#define CF_TONEMAP_PLANE_PEAK 10000.0 /* nits at the largest code of the plane */
#define CF_TONEMAP_STOPS                                                                           \
  16.609654901315086 /* the same in stops: log2 (1 + PLANE_PEAK /                                  \
                        BLACK) */

typedef struct {
  double white;    /* nits that become 1, the display's white */
  double pivot;    /* stops: darker tones are kept */
  double span;     /* stops from the pivot to the peak; beyond, the curve continues as its
                      tangent */
  double contrast; /* slope at the pivot */
  double bend;     /* how fast the slope falls above the pivot */
  double most;     /* >= 1, in units of white: what the peak becomes before it is rolled off to 1 */
} CfTonemapCurve;

/* From luminance in nits to v, stops above black; and back. */
CF_SHARED double cf_tonemap_log(double nits)
{
  return log2(1.0 + nits / CF_TONEMAP_BLACK);
}

CF_SHARED double cf_tonemap_nits(double v)
{
  return CF_TONEMAP_BLACK * (exp2(v) - 1.0);
}

/* Nits of the display's white. */
CF_SHARED double cf_tonemap_white(const CfTonemapParams *params)
{
  return CF_TONEMAP_REFERENCE_WHITE * params->target_nits / 100.0;
}

/* The curve for a source whose peak is `peak` nits. */
CF_SHARED CfTonemapCurve cf_tonemap_curve(const CfTonemapParams *params, double peak)
{
  const double white = cf_tonemap_white(params), brightest = fmax(peak, white);
  const double kept = fmin(brightest, white * exp2(CF_TONEMAP_BEYOND));
  const double pivot = cf_tonemap_log(CF_TONEMAP_PIVOT);
  const double span = cf_tonemap_log(brightest) - pivot, room = cf_tonemap_log(kept) - pivot;
  CfTonemapCurve curve;

  curve.white = white;
  curve.pivot = pivot;
  curve.span = span;
  curve.contrast = params->contrast;
  curve.bend = (params->contrast * span / room - 1.0) / span;
  curve.most = kept / white;
  return curve;
}

/* Stops after the curve, and the slope of the curve at v. */
CF_SHARED double cf_tonemap_apply_curve(const CfTonemapCurve *curve, double v, double *slope)
{
  const double c = curve->contrast;

  if (v < curve->pivot) {
    const double divisor = c + (1.0 - c) * v / curve->pivot;

    *slope = c / (divisor * divisor);
    return v / divisor;
  }
  const double above = v - curve->pivot, u = fmin(above, curve->span);
  const double divisor = 1.0 + curve->bend * u;

  *slope = c / (divisor * divisor);
  return curve->pivot + c * u / divisor + (above - u) * *slope;
}

/* log2 of the gain at v, from nits to linear light with white at 1. */
CF_SHARED double cf_tonemap_gain(const CfTonemapCurve *curve, double v)
{
  double slope;
  const double mapped = cf_tonemap_apply_curve(curve, v, &slope);

  if (v < 1e-6)
    return log2(slope / curve->white);
  return log2((exp2(mapped) - 1.0) / (exp2(v) - 1.0) / curve->white);
}

/* Stops between the result for v and `most`; 0 where the result is above. */
CF_SHARED double cf_tonemap_room(const CfTonemapCurve *curve, double v)
{
  const double light = cf_tonemap_nits(v) * exp2(cf_tonemap_gain(curve, v));

  return fmax(log2(curve->most / fmax(light, 1.0 / 65536.0)), 0.0);
}

/* The saturation that fits the curve's slope at v, of which half counts, since local contrast
 * stays: Mantiuk, Tomaszewska and Heidrich 2009. */
CF_SHARED double cf_tonemap_saturation(const CfTonemapCurve *curve, double v)
{
  const double k1 = 2.3892, k2 = 0.8552;
  double slope, power;

  cf_tonemap_apply_curve(curve, v, &slope);
  power = pow(sqrt(slope), k2);
  return (1.0 + k1) * power / (1.0 + k1 * power);
}
