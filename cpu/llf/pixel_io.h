/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How pictures of any format become rows of code values, and back. Intensities are 0..1, code
 * values 0..max_code. Pure functions, callable from any thread.
 */
#pragma once

#include "plan/llf_plan.h"

/* Colours are worked on in pieces of so many samples, which fit on the stack. */
#define CF_LLF_PIECE 512

/* Where the samples of one component lie in the pixels of its plane, of which there may be several
 * side by side. A pixel of 1, 2 or 4 bytes is one little endian word, so that rows are read and
 * written in whole vectors. */
typedef struct {
  int pixel_bytes;    /* 1..4 */
  int byte;           /* of the sample in a pixel of 3 bytes */
  int shift;          /* of the code value in the word */
  uint32_t code_mask; /* code = word >> shift & code_mask */
  uint32_t others;    /* bits of the word that belong to other components */
  float max_code;
} CfLlfSamples;

CfLlfSamples cf_llf_samples(const CfVideo *video, const CfLlfComponent *component);

/* Codes of `count` pixels from pixel `x` of a row. */
void cf_llf_load(const CfLlfSamples *samples, const uint8_t *row, int x, int count, float *code);

/* Rounds half up, clamps to 0..max_code and leaves other components alone. */
void cf_llf_store(const CfLlfSamples *samples, uint8_t *row, int x, int count, const float *code);

/* code[i] + scale * difference[i] */
void cf_llf_filtered(const float *code, const float *difference, float scale, int count,
                     float *filtered);

/* before[i] = code[i] * gain + bias, clamped to 0..1; after[i] = before[i] + difference[i] */
void cf_llf_luma(const float *code, const float *difference, float gain, float bias, int count,
                 float *before, float *after);

/* Luma intensities before and after the filter of `rows` (1 or 2) rows of pixels. */
typedef struct {
  const float *before[2], *after[2];
} CfLlfLuma;

/* gain[i] is that of colour where luma is as given; with `halved` the mean of columns 2 i and 2 i +
 * 1, of which only `columns` exist, counts. The mean of both rows counts always: let them be the
 * same where there is one. mean[i] is that luma before the filter. */
void cf_llf_gains(const CfLlfLuma *luma, bool halved, int columns, int count, float *gain,
                  float *mean);

/* Where chroma is, and codes of chroma for an intensity of 1. */
typedef struct {
  float centre, scale;
} CfLlfChroma;

/* Chroma follows the gain of luma that was mean[i], as plan/llf_plan.h defines it. */
void cf_llf_scale_chroma(const CfLlfChroma *chroma, const float *gain, const float *mean, int count,
                         float *code);

/* code[i] = code_scale * (after[i] + gain[i] * (code[i] / code_scale - before[i])) */
void cf_llf_scale_color(const float *gain, const float *before, const float *after,
                        float code_scale, int count, float *code);
