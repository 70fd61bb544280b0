/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * HDR to SDR by the local Laplacian filter: of the logarithm of luminance the filter takes what is
 * local away, a curve brings what remains to the range of the display, and what is local comes
 * back. plan/tonemap_plan.h has the definition.
 *
 * Sources are PQ or HLG of any CfPrimaries; destinations BT.709.
 */
#pragma once

#include "engine.h"

typedef struct {
  double detail;      /* 0..2: of what is local, 1 as it is in the source */
  double contrast;    /* 0.5..1.5: of what is not local, in the tones that are kept; 1 as it is */
  double sigma;       /* 0.25..8 stops: differences below are local */
  double noise_floor; /* 0..2 stops: local differences below are not raised (detail above 1) */
  double peak;        /* 0 = the stream's, else 100..10000 nits: what becomes the display's white */
  double target_nits; /* 50..1000: white of the display, in the scale that has reference white at
                         100 */
  double saturation;  /* 0..2 */
  bool dither;
  bool dynamic; /* where no peak is set: measured in each frame, and smoothed in time */

  /* Not in the table: what the stream tells of its peak, in nits, 0 where it does not; and that its
   * pictures are fields, whose measured peaks would differ from line to line: none is measured. */
  double stream_peak;
  bool fields;
} CfTonemapParams;

/* Engines that are not built are absent from cf_tonemap.engines. */
extern const CfEngine cf_tonemap_reference, cf_tonemap_cpu, cf_tonemap_cuda;
extern const CfEffect cf_tonemap;
