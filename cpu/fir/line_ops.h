/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The arithmetic of the FIR engine: operations on one line of interleaved samples, stored as
 * "working samples" (fixed point, float or double). Both directions are the same weighted sum of
 * lines: the column filter sums lines of different rows, the row filter sums one line with itself,
 * shifted by whole pixels. Pure functions, callable from any thread. Lines do not overlap, and
 * start at any multiple of a working sample.
 */
#pragma once

#include "cpu/common/cpu.h"
#include "plan/fir.h"

/* Sums run over multiples of this many samples: whole vectors of any instruction set, without a
 * remainder. */
#define CF_LINE_GRANULE 64

/* `samples` rounded up to whole granules. */
static inline int cf_round_to_granule(int samples)
{
  return (samples + CF_LINE_GRANULE - 1) / CF_LINE_GRANULE * CF_LINE_GRANULE;
}

/* Pixels of a premultiplied plane that are loaded and stored at once. */
#define CF_WEIGHT_CHUNK 64

/* How the samples of a plane are read and written. */
typedef struct {
  int channels;
  int alpha; /* channel of alpha, or -1 */
  int bytes; /* per sample, in memory */
  int shift;
  int max_code;
  bool premultiplied; /* only planes of 4 channels of 8 bits, whose first or last is alpha */
  int dropped; /* lines of bytes only: the first or the last of 4 channels, which is left out of
                  lines and 255 in the result; or -1 */
  const CfFirPlane *plan;

  /* From sums to codes: sample i becomes max(t, t * sign[i]) + offset[i] with t = sum * scale[i].
   * In the type of the working samples; `offset` includes the half that rounds. */
  void *scale, *sign, *offset;
  void *centre; /* per sample of CF_WEIGHT_CHUNK pixels; premultiplied planes only */
} CfLineFormat;

typedef struct {
  int count;
  int anchor;
  bool symmetric;  /* tap[i] = tap[count - 1 - i] */
  const void *tap; /* in the type of the working samples; NULL: a single tap of 1, nothing to
                      filter. Lines of bytes: never NULL; of symmetric taps those up to the middle,
                      which is halved */
} CfLineTaps;

typedef struct {
  /* Stores `value` as element `i` of a table; NULL for arithmetics whose only table is taps. */
  void (*set)(void *table, size_t i, double value);

  size_t size;      /* bytes of a working sample */
  size_t line_size; /* bytes of a working sample before the row filter: the same, or 1 */
  int rows;         /* rows that sum_rows computes */

  /* Loads whole pixels; multiplied by alpha where the format is premultiplied. */
  void (*load)(const CfLineFormat *format, const uint8_t *from, int samples, void *to);

  /* to[i] = sum over t of taps[t] * lines[t][i]; `to` is none of the lines. `samples` is a multiple
   * of CF_LINE_GRANULE. */
  void (*sum)(const CfLineTaps *taps, const void *const *lines, int samples, void *to);

  /* The same for `rows` rows at once: row i sums lines[i..] into to[i]. Where lines are bytes, the
   * results are codes. Lines that rows share are read once. */
  void (*sum_rows)(const CfLineTaps *taps, const void *const *lines, int samples, void *const *to);

  /* Stores whole pixels, channels that are not filtered included. `source` is the input at the same
   * place. */
  void (*store)(const CfLineFormat *format, const void *line, int samples, const uint8_t *source,
                uint8_t *to);
} CfLines;

/* Fractional bits of 8-bit samples in 16 bits: the sum of two such samples just fits. */
#define CF_FIXED_BITS 6

/* The rounded product; taps have 15 fractional bits. Compilers turn this form into one instruction
 * (pmulhrsw). */
INLINE int16_t cf_fixed_product(int16_t sample, int16_t tap)
{
  return (int16_t)(((((int)sample * tap) >> 14) + 1) >> 1);
}

/* Sums with taps >= 0 that add up to 1, without scale, offset or weights. Only loads lines and sums
 * symmetric taps: a step of cpu/pyramid. */
extern const CfLines cf_lines_fixed;

/* The same means from bytes to bytes, with 7 fractional bits between the directions. `sum` expects
 * a line and shifted copies of it only. NULL on processors without the instructions, or where
 * cf_cpu_level() is too low. */
const CfLines *cf_lines_bytes(void);

/* All other filters, in single and in double precision. */
extern const CfLines cf_lines_float, cf_lines_double;

/* Whether lines are bytes before the row filter (cf_lines_bytes). */
static inline bool cf_lines_are_bytes(const CfLines *lines)
{
  return lines->line_size < lines->size;
}

/* The error of one direction of cf_lines_bytes, in code values. */
typedef struct {
  double bound; /* largest possible error */
  double rms;   /* estimate; products with equal taps are assumed to round alike */
} CfFixedError;

/* Rounds taps / sum to multiples of 1 / `one` that add up to 1 exactly and stay symmetric. False
 * where a tap is negative or rounds to more than `largest`, or there are more than CF_MAX_TAPS. */
bool cf_quantise_taps(const CfTaps *taps, int one, int largest, int *tap);

/* The same for cf_lines_fixed; half the middle one of symmetric taps is an integer too. */
bool cf_lines_fixed_taps(const CfTaps *taps, int16_t *tap, CfFixedError *error);
