/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What tone mapping does with pixels (plan/tonemap_plan.h), a piece of a row at a time, each value
 * in an array of its own. Pure functions, callable from any thread.
 */
#pragma once

#include "plan/tonemap_plan.h"

/* Pixels of a piece at most: even, and a multiple of the dither's 8. */
#define CF_TONEMAP_PIECE 256

typedef float CfTonemapRow[CF_TONEMAP_PIECE];

/* From codes to light. */
typedef struct {
  CfTransfer transfer;
  CfTonemapCodes codes;
  const CfTonemapPrimaries *primaries;
  float luma_gain, chroma_gain; /* one over the scales */
  float light[CF_TONEMAP_LIGHT_ENTRIES];
} CfTonemapSource;

/* From light to R'G'B'. */
typedef struct {
  double detail, noise_floor;          /* as in CfTonemapParams */
  double most;                         /* as in CfTonemapCurve */
  const CfTonemapPrimaries *primaries; /* of the source */
  CfTonemapTone tone[CF_TONEMAP_TONE_ENTRIES];
} CfTonemapTones;

/* Linear light in nits of `count` pixels, each with its chroma. */
void cf_tonemap_light(const CfTonemapSource *source, const float *luma, const float *blue,
                      const float *red, int count, CfTonemapRow light[3]);

/* Codes of the plane. */
void cf_tonemap_analyse(const CfTonemapSource *source, CfTonemapRow light[3], int count,
                        uint16_t *plane);

/* R'G'B', 0..1. */
void cf_tonemap_finish(const CfTonemapTones *tones, CfTonemapRow light[3], const uint16_t *plane,
                       const uint16_t *base, int count, CfTonemapRow signal[3]);

/* Two of each of `count` samples. */
void cf_tonemap_double(const float *samples, int count, float *doubled);

/* Luma of R'G'B' by the matrix of `codes`. */
void cf_tonemap_luma(const CfTonemapCodes *codes, CfTonemapRow signal[3], int count, float *luma);

/* The chroma around 0 of one colour, of which luma has a share: `gain` times the mean of what it
 * is above luma in both rows and in two columns, of which only `columns` exist. Let rows be the
 * same where there is one. */
void cf_tonemap_chroma(const float *const colour[2], const float *const luma[2], double gain,
                       int columns, float *chroma);
