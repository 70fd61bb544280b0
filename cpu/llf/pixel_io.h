/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Converts pictures of any format to rows of code values and back, and computes how chroma and
 * colours follow luma. Intensities are 0..1, code values 0..max_code. Pure functions, callable from
 * any thread.
 */
#pragma once

#include "plan/llf_plan.h"

/* Colours are processed in pieces of at most this many samples, which fit on the stack. */
#define CF_LLF_PIECE 512

/* Where the samples of one component lie in the pixels of its plane, which may have several
 * components. A pixel of 1, 2 or 4 bytes is one little-endian word, so that rows are loaded and
 * stored in whole vectors. */
typedef struct {
  int pixel_bytes;    /* 1..4 */
  int byte;           /* of the sample in a pixel of 3 bytes */
  int shift;          /* of the code value in the word */
  uint32_t code_mask; /* code = word >> shift & code_mask */
  uint32_t others;    /* bits of the word that belong to other components */
  float max_code;
} CfLlfSamples;

/* Where the samples of a component lie in pictures of `video`. */
CfLlfSamples cf_llf_samples(const CfVideo *video, const CfLlfComponent *component);

/* Loads the codes of `count` pixels from pixel `x` of a row on. */
void cf_llf_load(const CfLlfSamples *samples, const uint8_t *row, int x, int count, float *code);

/* Stores code[i] + scale * difference[i], rounded half up and clamped to 0..max_code, to pixels of
 * row `to`. Other components of these pixels are copied from row `from`, which may be the same. */
void cf_llf_store(const CfLlfSamples *samples, const uint8_t *from, uint8_t *to, int x, int count,
                  const float *code, float scale, const float *difference);

/* intensity[i] = code[i] * gain + bias, clamped to 0..1 */
void cf_llf_intensities(const float *code, float gain, float bias, int count, float *intensity);

/* Luma intensities of two rows before the filter, and the filter's change; both rows are the same
 * where there is only one. */
typedef struct {
  const float *before[2], *added[2];
} CfLlfLuma;

/* follow[i] is how much colour follows luma (`follow` of plan/llf_plan.h), and mean[i] the luma
 * before the filter, both for the mean of the two rows; with `halved` for the mean of columns 2 i
 * and 2 i + 1 too, as far as these are less than `columns`. */
void cf_llf_follow_luma(const CfLlfLuma *luma, bool halved, int columns, int count, float *follow,
                        float *mean);

/* The centre of chroma, and the codes per intensity of 1. */
typedef struct {
  float centre, scale;
} CfLlfChroma;

/* For pairs of chroma samples, the arguments of cf_llf_shoulder() with `protect`: the distance from
 * the centre of the farther sample, as far as it follows luma, and the room that it has, in
 * intensities. mean[i] is the luma before the filter. */
void cf_llf_chroma_room(const CfLlfChroma *chroma, const float *mean, const float *blue,
                        const float *red, int count, float *unit, float *room);

/* The change of chroma codes that follow luma, by plan/llf_plan.h. */
void cf_llf_follow_chroma(const CfLlfChroma *chroma, const float *follow, const float *mean,
                          const float *code, int count, float *difference);

/* cf_llf_colour_above() of chroma samples. */
void cf_llf_chroma_above(CfLlfColours colours, const CfLlfChroma *chroma, const float *blue,
                         const float *red, int count, float *above);

/* The largest colour of pixels: ceiling[i] is intensity[i] plus `above` of its chroma sample, which
 * two pixels share with `halved`. */
void cf_llf_chroma_ceiling(const float *above, bool halved, const float *intensity, int count,
                           float *ceiling);

/* The largest of three colours, as an intensity. */
void cf_llf_ceiling(const float *const color[3], float code_scale, int count, float *ceiling);

/* difference[i] = added[i] + follow[i] * (code[i] / code_scale - before[i]) */
void cf_llf_follow_color(const float *follow, const float *before, const float *added,
                         const float *code, float code_scale, int count, float *difference);
