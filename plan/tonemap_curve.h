/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The curve of tone mapping (plan/tonemap_plan.h): what becomes of stops above black. Compiled into
 * the CPU's engines and the CUDA kernels alike.
 */
#pragma once

#include <math.h>

#include "plan/shared.h"
#include "tonemap.h"

#define CF_TONEMAP_BLACK           0.1   /* nits that are added before the logarithm */
#define CF_TONEMAP_REFERENCE_WHITE 203.0 /* nits of what SDR calls white: ITU-R BT.2408 */
#define CF_TONEMAP_PIVOT           40.0  /* nits: below, tones are kept */
#define CF_TONEMAP_BEYOND          0.5   /* stops above white, which rolling off takes back */

#define CF_TONEMAP_PLANE_PEAK 10000.0            /* nits at the plane's last code */
#define CF_TONEMAP_STOPS      16.609654901315086 /* there: log2 (1 + PLANE_PEAK / BLACK) */

typedef struct {
  double white;    /* nits that become 1 */
  double pivot;    /* stops: below, tones are kept */
  double span;     /* stops from there to the peak; beyond it the curve is its tangent */
  double contrast; /* of tones at the pivot */
  double bend;     /* how fast contrast falls above it */
  double most;     /* of white, >= 1: what the peak becomes before it rolls off to 1 */
} CfTonemapCurve;

/* v, stops above black, of luminance in nits; and back. */
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

/* That of a source that reaches `peak` nits. */
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

/* Stops after the curve, and the slope there. */
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

/* From nits to linear light with white at 1, at v stops: the logarithm to base 2 of the gain. */
CF_SHARED double cf_tonemap_gain(const CfTonemapCurve *curve, double v)
{
  double slope;
  const double mapped = cf_tonemap_apply_curve(curve, v, &slope);

  if (v < 1e-6)
    return log2(slope / curve->white);
  return log2((exp2(mapped) - 1.0) / (exp2(v) - 1.0) / curve->white);
}

/* Stops between what v becomes and `most`, 0 where it is beyond. */
CF_SHARED double cf_tonemap_room(const CfTonemapCurve *curve, double v)
{
  const double light = cf_tonemap_nits(v) * exp2(cf_tonemap_gain(curve, v));

  return fmax(log2(curve->most / fmax(light, 1.0 / 65536.0)), 0.0);
}

/* Saturation that goes with the curve's slope there, half of which is local contrast that stays:
 * Mantiuk, Tomaszewska and Heidrich 2009. */
CF_SHARED double cf_tonemap_saturation(const CfTonemapCurve *curve, double v)
{
  const double k1 = 2.3892, k2 = 0.8552;
  double slope, power;

  cf_tonemap_apply_curve(curve, v, &slope);
  power = pow(sqrt(slope), k2);
  return (1.0 + k1) * power / (1.0 + k1 * power);
}
