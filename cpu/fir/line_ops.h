/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The arithmetic of the FIR engine: what happens to one line of interleaved samples, in "working
 * samples" (fixed point, float or double) of the arithmetic's own. Pure functions, callable from
 * any thread; lines do not overlap, and start at any multiple of a working sample. Both
 * directions are the same weighted sum of lines: the column filter sums lines of different rows,
 * the row filter sums one line with itself shifted by whole pixels.
 */
#pragma once

#include "cpu/common/cpu.h"
#include "plan/fir.h"

/* Sums run over multiples of this many samples: whole vectors of any size, no remainder. */
#define CF_LINE_GRANULE 64

static inline int cf_round_to_granule(int samples)
{
  return (samples + CF_LINE_GRANULE - 1) / CF_LINE_GRANULE * CF_LINE_GRANULE;
}

/* Pixels of a premultiplied plane that are loaded and stored at a time. */
#define CF_WEIGHT_CHUNK 64

/* How the samples of a plane are read and written. */
typedef struct {
  int channels;
  int alpha; /* channel, or -1 */
  int bytes; /* of a sample, in memory */
  int shift;
  int max_code;
  bool premultiplied; /* only in planes of 4 channels of 8 bits, alpha the first or the last */
  int dropped; /* the first or the last of 4 channels, left out of lines and 255 in the result; or
                  -1. Bytes only */
  const CfFirPlane *plan;

  /* The tone of sample i of a line: max(t, t * sign[i]) + offset[i] with t = sum * scale[i]; in the
   * type of the working samples. `offset` also holds the half that rounds. */
  void *scale, *sign, *offset;
  void *centre; /* of sample i of CF_WEIGHT_CHUNK pixels; premultiplied planes only */
} CfLineFormat;

typedef struct {
  int count;
  int anchor;
  bool symmetric;  /* tap[i] = tap[count - 1 - i] */
  const void *tap; /* in the type of the working samples; NULL: one tap of 1, nothing to do. Bytes:
                      symmetric ones up to the middle, which is halved; always there */
} CfLineTaps;

typedef struct {
  /* Writes element `i` of the tables below; NULL where there are none but taps. */
  void (*set)(void *table, size_t i, double value);

  size_t size;      /* bytes of a working sample */
  size_t line_size; /* of one before it is filtered along the row: the same, or a byte */
  int rows;         /* that sum_rows makes */

  /* Reads whole pixels, multiplied by alpha where the format is premultiplied. */
  void (*load)(const CfLineFormat *format, const uint8_t *from, int samples, void *to);

  /* to[i] = sum over t of taps[t] * lines[t][i]; `to` is none of the lines. `samples` is a multiple
   * of CF_LINE_GRANULE. */
  void (*sum)(const CfLineTaps *taps, const void *const *lines, int samples, void *to);

  /* The same for `rows` rows, of lines[i..] to to[i], as the plane's samples where lines are bytes;
   * reads what they share once. */
  void (*sum_rows)(const CfLineTaps *taps, const void *const *lines, int samples, void *const *to);

  /* Writes whole pixels, also of channels that are not filtered. `source` is the input at the
   * same place. */
  void (*store)(const CfLineFormat *format, const void *line, int samples, const uint8_t *source,
                uint8_t *to);
} CfLines;

/* Fractional bits of 8-bit samples in 16 bits: two of them added just fit. */
#define CF_FIXED_BITS 6

/* Rounded; taps have 15 fractional bits. Written as compilers recognise it: one instruction since
 * SSSE3. */
INLINE int16_t cf_fixed_product(int16_t sample, int16_t tap)
{
  return (int16_t)(((((int)sample * tap) >> 14) + 1) >> 1);
}

/* Sums of such samples by taps >= 0 that add up to 1, without tone or weights. Loads lines and sums
 * symmetric ones, no more: a step of cpu/pyramid. */
extern const CfLines cf_lines_fixed;

/* The same means from bytes to bytes, with 7 fractional bits between the directions. Rows are made
 * by `sum` of a line and itself shifted only. NULL on processors that lack what it needs, or where
 * cf_cpu_level says so. */
const CfLines *cf_lines_bytes(void);

/* Everything else, in single and in double precision. */
extern const CfLines cf_lines_float, cf_lines_double;

static inline bool cf_lines_are_bytes(const CfLines *lines)
{
  return lines->line_size < lines->size;
}

/* How far one direction of cf_lines_bytes may lead from the definition, in code values. */
typedef struct {
  double bound; /* never more */
  double rms;   /* about; products with equal taps are taken to round alike */
} CfFixedError;

/* Rounds taps / sum to `one`ths that add up to 1 exactly, and are as symmetric as the taps. False
 * where a tap is negative or larger than `largest`, or there are more than CF_MAX_TAPS. */
bool cf_quantise_taps(const CfTaps *taps, int one, int largest, int *tap);

/* The same for cf_lines_fixed; half the middle one of symmetric taps is a whole number too. */
bool cf_lines_fixed_taps(const CfTaps *taps, int16_t *tap, CfFixedError *error);
