/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpu/pyramid/rows.h"

#include <string.h>

#include "cpu/common/cpu.h"

#define INLINE static inline __attribute__((always_inline))

#define MOST_TAPS 2001

/* Margins */

static const void *margin_pixel(const uint8_t *from, size_t pixel, int index,
                                const void *border_pixel)
{
  return index < 0 ? border_pixel : from + (size_t)index * pixel;
}

void cf_row_extend(const void *from, int count, size_t pixel, const CfRowMargins *margins,
                   const void *border_pixel, void *to)
{
  uint8_t *next = to;

  for (int i = 0; i < margins->before; i++, next += pixel)
    memcpy(next, margin_pixel(from, pixel, margins->index[i], border_pixel), pixel);
  memcpy(next, from, (size_t)count * pixel);
  next += (size_t)count * pixel;
  for (int i = margins->before; i < margins->before + margins->after; i++, next += pixel)
    memcpy(next, margin_pixel(from, pixel, margins->index[i], border_pixel), pixel);
}

/* Phases */

/* Pixel k * phases + p of a line is pixel k of phase p. */
INLINE void split_pixels(const int channels, const float *line, int phases, int count,
                         ptrdiff_t stride, float *restrict to)
{
  for (int p = 0; p < phases; p++) {
    for (int k = 0; k < count; k++) {
      for (int c = 0; c < channels; c++)
        to[p * stride + k * channels + c] = line[(k * phases + p) * channels + c];
    }
  }
}

/* The same in 16 bits; `phases` is a constant. */
INLINE void split_fixed_pixels(const int channels, const int16_t *line, const int phases, int count,
                               ptrdiff_t stride, int16_t *restrict to)
{
  for (int k = 0; k < count; k++) {
    for (int p = 0; p < phases; p++) {
      for (int c = 0; c < channels; c++)
        to[p * stride + k * channels + c] = line[(k * phases + p) * channels + c];
    }
  }
}

INLINE void merge_pixels(const int channels, const float *from, int phases, int count,
                         ptrdiff_t stride, float *restrict line)
{
  for (int k = 0; k < count; k++) {
    for (int p = 0; p < phases; p++) {
      for (int c = 0; c < channels; c++)
        line[(k * phases + p) * channels + c] = from[p * stride + k * channels + c];
    }
  }
}

CF_MULTIVERSION
static void split(const float *line, int phases, int channels, int count, ptrdiff_t stride,
                  float *to)
{
  CF_FOR_CHANNELS(channels, split_pixels, line, phases, count, stride, to);
}

CF_MULTIVERSION
static void split_fixed(const int16_t *line, int phases, int channels, int count, ptrdiff_t stride,
                        int16_t *to)
{
  if (phases == 2)
    CF_FOR_CHANNELS(channels, split_fixed_pixels, line, 2, count, stride, to);
  if (phases == 4)
    CF_FOR_CHANNELS(channels, split_fixed_pixels, line, 4, count, stride, to);
  if (phases == 8)
    CF_FOR_CHANNELS(channels, split_fixed_pixels, line, 8, count, stride, to);
}

CF_MULTIVERSION
static void merge(const float *from, int phases, int channels, int count, ptrdiff_t stride,
                  float *line)
{
  CF_FOR_CHANNELS(channels, merge_pixels, from, phases, count, stride, line);
}

static int phase_stride(int pixels, int channels, int phases)
{
  return cf_round_to_granule((pixels / phases + 1) * channels) + CF_LINE_GRANULE;
}

size_t cf_row_work(int pixels, int channels, int phases)
{
  return (size_t)phase_stride(pixels, channels, phases) * (size_t)phases + CF_LINE_GRANULE;
}

/* Filters */

void cf_row_filter(const CfRowFilter *filter, const void *line, int count, void *work, void *to)
{
  const int step = filter->step, channels = filter->channels, taps = filter->taps.count;
  const int pixels = (count - 1) * step + taps;
  const ptrdiff_t stride = step == 1 ? 0 : phase_stride(pixels, channels, step);
  const uint8_t *phases = step == 1 ? line : work;
  const void *shifts[MOST_TAPS];

  if (step > 1 && filter->lines == &cf_lines_fixed)
    split_fixed(line, step, channels, (pixels + step - 1) / step, stride, work);
  else if (step > 1)
    split(line, step, channels, (pixels + step - 1) / step, stride, work);
  for (int t = 0; t < taps; t++)
    shifts[t] = phases + (t % step * stride + (ptrdiff_t)(t / step) * channels) *
                             (ptrdiff_t)filter->lines->size;
  if (filter->taps.tap)
    filter->lines->sum(&filter->taps, shifts, cf_round_to_granule(count * channels), to);
  else
    memcpy(to, shifts[0], (size_t)count * (size_t)channels * filter->lines->size);
}

void cf_row_expand(const CfPyramidAxis *axis, const CfLineTaps *spline, int channels,
                   const float *coarse, int first, int count, float *work, float *to)
{
  const int factor = axis->factor, blocks = (count + factor - 1) / factor;
  const ptrdiff_t stride = phase_stride(count, channels, factor);
  const float *block = coarse + (ptrdiff_t)(first / factor - axis->coarse_first) * channels;

  if (factor == 1) {
    memcpy(to, block, (size_t)count * (size_t)channels * sizeof *to);
    return;
  }
  for (int p = 0; p < factor; p++) {
    const float *from = block + (ptrdiff_t)axis->spline_first[p] * channels;
    const void *shifts[] = {from, from + channels, from + 2 * channels, from + 3 * channels};

    cf_lines_float.sum(&spline[p], shifts, cf_round_to_granule(blocks * channels),
                       work + p * stride);
  }
  merge(work, factor, channels, blocks, stride, to);
}

/* Working samples */

#define FIXED_ONE 64.0f /* of cf_lines_fixed */

CF_MULTIVERSION
static void widen(const int16_t *from, int samples, float *restrict to)
{
  for (int i = 0; i < samples; i++)
    to[i] = (float)from[i] * (1.0f / FIXED_ONE);
}

void cf_row_to_float(const CfLines *lines, const void *from, int samples, float *to)
{
  if (lines == &cf_lines_fixed)
    widen(from, samples, to);
  else
    memcpy(to, from, (size_t)samples * sizeof *to);
}
