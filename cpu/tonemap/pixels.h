/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The arithmetic of tone mapping on pixels (plan/tonemap_plan.h), a piece of a row at a time, with
 * one array per component. Pure functions, callable from any thread.
 */
#pragma once

#include "plan/tonemap_plan.h"

/* The most pixels of a piece: even, and a multiple of the dither's period of 8. */
#define CF_TONEMAP_PIECE 256

typedef float CfTonemapRow[CF_TONEMAP_PIECE];

/* Constants and tables from codes to light. */
typedef struct {
  CfTransfer transfer;
  CfTonemapCodes codes;
  const CfTonemapPrimaries *primaries;
  float luma_gain, chroma_gain; /* 1 / luma_scale, 1 / chroma_scale */
  float light[CF_TONEMAP_LIGHT_ENTRIES];
} CfTonemapSource;

/* Constants and tables from light to R'G'B'. */
typedef struct {
  double detail, noise_floor;          /* as in CfTonemapParams */
  double most;                         /* as in CfTonemapCurve */
  const CfTonemapPrimaries *primaries; /* of the source */
  CfTonemapTone tone[CF_TONEMAP_TONE_ENTRIES];
} CfTonemapTones;

/* Codes to linear light in nits, of `count` pixels, each with its own chroma. */
void cf_tonemap_light(const CfTonemapSource *source, const float *luma, const float *blue,
                      const float *red, int count, CfTonemapRow light[3]);

/* Linear light to codes of the plane. */
void cf_tonemap_analyse(const CfTonemapSource *source, CfTonemapRow light[3], int count,
                        uint16_t *plane);

/* Linear light to R'G'B', 0..1, with the plane and the filtered plane. */
void cf_tonemap_finish(const CfTonemapTones *tones, CfTonemapRow light[3], const uint16_t *plane,
                       const uint16_t *base, int count, CfTonemapRow signal[3]);

/* Repeats each of `count` samples. */
void cf_tonemap_double(const float *samples, int count, float *doubled);

/* Luma of R'G'B', by the weights of `codes`. */
void cf_tonemap_luma(const CfTonemapCodes *codes, CfTonemapRow signal[3], int count, float *luma);

/* Chroma, relative to its centre, of one colour: `gain` times the mean of colour - luma over both
 * rows and pairs of the `columns` columns. Both rows are the same where there is only one. */
void cf_tonemap_chroma(const float *const colour[2], const float *const luma[2], double gain,
                       int columns, float *chroma);
