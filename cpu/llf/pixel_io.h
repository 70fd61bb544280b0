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

/* Stores code[i] + scale * difference[i], rounded half up and clamped to 0..max_code, in row `to`.
 * The other components of its pixels become those of row `from`, which may be the same. */
void cf_llf_store(const CfLlfSamples *samples, const uint8_t *from, uint8_t *to, int x, int count,
                  const float *code, float scale, const float *difference);

/* intensity[i] = code[i] * gain + bias, clamped to 0..1 */
void cf_llf_intensities(const float *code, float gain, float bias, int count, float *intensity);

/* Luma intensities of `rows` (1 or 2) rows of pixels before the filter, and what it adds to them.
 */
typedef struct {
  const float *before[2], *added[2];
} CfLlfLuma;

/* follow[i] is that of colour (plan/llf_plan.h) where luma is as given; with `halved` the mean of
 * columns 2 i and 2 i + 1, of which only `columns` exist, counts. The mean of both rows counts
 * always: let them be the same where there is one. mean[i] is that luma before the filter. */
void cf_llf_follow_luma(const CfLlfLuma *luma, bool halved, int columns, int count, float *follow,
                        float *mean);

/* Where chroma is, and codes of chroma for an intensity of 1. */
typedef struct {
  float centre, scale;
} CfLlfChroma;

/* Of a pair of chroma samples where luma was mean[i]: how far the farther one is from the centre as
 * far as it follows, in intensities, and how far it may go with `protect`. */
void cf_llf_chroma_room(const CfLlfChroma *chroma, const float *mean, const float *blue,
                        const float *red, int count, float *unit, float *room);

/* What chroma gains, in codes, that follows luma that was mean[i], as plan/llf_plan.h defines it.
 */
void cf_llf_follow_chroma(const CfLlfChroma *chroma, const float *follow, const float *mean,
                          const float *code, int count, float *difference);

/* The largest of three colours, as intensities. */
void cf_llf_ceiling(const float *const color[3], float code_scale, int count, float *ceiling);

/* difference[i] = added[i] + follow[i] * (code[i] / code_scale - before[i]) */
void cf_llf_follow_color(const float *follow, const float *before, const float *added,
                         const float *code, float code_scale, int count, float *difference);
