/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What tone mapping does with pixels (plan/tonemap_plan.h), a piece of a row at a time, each value
 * in an array of its own. Pure functions, callable from any thread.
 */
#pragma once

#include "plan/tonemap_plan.h"

/* Pixels of a piece at most: even, and a multiple of the dither's 8. */
#define CF_TONEMAP_PIECE 256

/* From codes to light. */
typedef struct {
  CfTransfer transfer;
  float luma_offset, luma_gain, chroma_centre, chroma_gain; /* gains: one over the scales */
  float red_from, blue_from, green_from_blue, green_from_red;
  float light[CF_TONEMAP_LIGHT_ENTRIES];
} CfTonemapSource;

/* From light to R'G'B'. */
typedef struct {
  float detail; /* less 1 */
  float noise_floor;
  bool raises;            /* detail above 1 */
  float knee, room, most; /* of rolling off: where it begins, 1 - knee, and `most` in that room */
  CfTonemapTone tone[CF_TONEMAP_TONE_ENTRIES];
} CfTonemapTones;

/* Linear light of BT.2020 in nits of `count` pixels, each with its chroma. */
void cf_tonemap_light(const CfTonemapSource *source, const float *luma, const float *blue,
                      const float *red, int count, float *const light[3]);

/* Codes of the plane. */
void cf_tonemap_analyse(float *const light[3], int count, uint16_t *plane);

/* R'G'B', 0..1. */
void cf_tonemap_finish(const CfTonemapTones *tones, float *const light[3], const uint16_t *plane,
                       const uint16_t *base, int count, float *const signal[3]);

/* Two of each of `count` samples. */
void cf_tonemap_double(const float *samples, int count, float *doubled);

/* From R'G'B' to luma, and to blue and red chroma around 0, by BT.709's matrix or another. */
typedef struct {
  float weight[3], blue_gain, red_gain;
} CfTonemapMatrix;

void cf_tonemap_luma(const CfTonemapMatrix *matrix, float *const signal[3], int count, float *luma);

/* The mean of both rows and of two columns, of which only `columns` exist. `signal` and `luma` are
 * of the rows of a block; let them be the same where there is one. */
void cf_tonemap_chroma(const CfTonemapMatrix *matrix, float *const signal[2][3],
                       float *const luma[2], int columns, float *blue, float *red);

/* Samples as codes: floor (scale * value + offset + dither[i]), clamped to 0..max code. */
typedef struct {
  float scale, offset, most; /* most: the largest code */
  int shift;                 /* of the code in 16 bits */
} CfTonemapCode;

void cf_tonemap_store_8(const CfTonemapCode *code, const float *value, const float *dither,
                        int count, uint8_t *to);
void cf_tonemap_store_16(const CfTonemapCode *code, const float *value, const float *dither,
                         int count, uint8_t *to);

/* Two samples side by side. */
void cf_tonemap_store_pair_8(const CfTonemapCode *code, const float *first, const float *second,
                             const float *dither, int count, uint8_t *to);
void cf_tonemap_store_pair_16(const CfTonemapCode *code, const float *first, const float *second,
                              const float *dither, int count, uint8_t *to);

/* Three samples and one of 255. */
void cf_tonemap_store_opaque(const CfTonemapCode *code, const float *first, const float *second,
                             const float *third, const float *dither, int count, uint8_t *to);
