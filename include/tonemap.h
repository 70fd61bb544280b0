/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * HDR to SDR, by the local Laplacian filter. The filter splits the logarithm of luminance into base
 * and local contrast; a curve compresses the base to the range of the display; the local contrast
 * is added back. plan/tonemap_plan.h has the definition.
 *
 * Sources are PQ or HLG with any CfPrimaries; destinations are BT.709.
 */
#pragma once

#include "engine.h"

typedef struct {
  double detail;   /* 0..2: factor of the local contrast, 1 as in the source */
  double contrast; /* 0.5..1.5: contrast of the base below the curve's pivot, 1 as in the source */
  double sigma;    /* 0.25..8 stops: smaller differences are local contrast */
  double noise_floor; /* 0..2 stops: smaller local differences are not amplified (detail above 1) */
  double peak;        /* 0..10000 nits: luminance that becomes the display's white; 0 = the stream's
                         peak */
  double target_nits; /* 50..1000: the display's white; 100 shows reference white (203 nits) at full
                         scale */
  double saturation;  /* 0..2: 0 is grey, 1 follows the curve */
  bool dither;
  bool dynamic; /* where `peak` is 0: measure the peak of each frame, and smooth it over time */

  /* Set by the element, not by a user: peak of a PQ stream in nits (0: unknown); and whether
   * pictures are fields, of which no peak is measured, since those of two fields would differ. */
  double stream_peak;
  bool fields;
} CfTonemapParams;

/* Engines that are not built are absent from cf_tonemap.engines. */
extern const CfEngine cf_tonemap_reference, cf_tonemap_cpu, cf_tonemap_cuda;
extern const CfEffect cf_tonemap;
