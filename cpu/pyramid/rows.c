/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpu/pyramid/rows.h"

#include <string.h>

#include "cpu/common/cpu.h"
#include "plan/gaussian.h"
#include "plan/int_math.h"

/* ---- Margins ---- */

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
  memset(next, 0, CF_LINE_GRANULE * sizeof(float));
}

/* ---- Phases ---- */

/* Deinterleaves a line into phases, or merges phases into a line: pixel k * phases + p of the line
 * is pixel k of phase p, and phases are `stride` samples apart. Inlined, so that `channels`,
 * `size` and `deinterleave`, and usual numbers of phases, are constants. */
INLINE void move_pixels(const int channels, const size_t size, const bool deinterleave,
                        const uint8_t *from, const int phases, int count, ptrdiff_t stride,
                        uint8_t *restrict to)
{
  const size_t pixel = (size_t)channels * size;

  for (int k = 0; k < count; k++) {
    for (int p = 0; p < phases; p++) {
      const size_t in_line = (size_t)(k * phases + p) * pixel;
      const size_t in_phase = (size_t)(p * stride) * size + (size_t)k * pixel;

      memcpy(to + (deinterleave ? in_phase : in_line), from + (deinterleave ? in_line : in_phase),
             pixel);
    }
  }
}

INLINE void move_samples(const size_t size, int channels, const bool deinterleave,
                         const uint8_t *from, int phases, int count, ptrdiff_t stride, uint8_t *to)
{
  if (phases == 2)
    CF_FOR_CHANNELS(channels, move_pixels, size, deinterleave, from, 2, count, stride, to);
  else if (phases == 4)
    CF_FOR_CHANNELS(channels, move_pixels, size, deinterleave, from, 4, count, stride, to);
  else if (phases == 8)
    CF_FOR_CHANNELS(channels, move_pixels, size, deinterleave, from, 8, count, stride, to);
  else
    CF_FOR_CHANNELS(channels, move_pixels, size, deinterleave, from, phases, count, stride, to);
}

CF_MULTIVERSION
static void split(size_t size, const void *from, int phases, int channels, int count,
                  ptrdiff_t stride, void *to)
{
  if (size == sizeof(float))
    move_samples(sizeof(float), channels, true, from, phases, count, stride, to);
  else
    move_samples(sizeof(int16_t), channels, true, from, phases, count, stride, to);
}

CF_MULTIVERSION
static void merge(size_t size, const void *from, int phases, int channels, int count,
                  ptrdiff_t stride, void *to)
{
  if (size == sizeof(float))
    move_samples(sizeof(float), channels, false, from, phases, count, stride, to);
  else
    move_samples(sizeof(int16_t), channels, false, from, phases, count, stride, to);
}

static int phase_stride(int pixels, int channels, int phases)
{
  return cf_round_to_granule((pixels / phases + 1) * channels) + CF_LINE_GRANULE;
}

/* Clears what sums read behind the last pixel of each phase. */
static void clear_ends(size_t size, int pixels, int channels, int phases, ptrdiff_t stride,
                       uint8_t *work)
{
  for (int p = 0; p < phases; p++) {
    const ptrdiff_t end = p * stride + (ptrdiff_t)cf_divide_up(pixels - p, phases) * channels;

    memset(work + end * (ptrdiff_t)size, 0, CF_LINE_GRANULE * size);
  }
}

size_t cf_row_work(int pixels, int channels, int phases)
{
  return (size_t)phase_stride(pixels, channels, phases) * (size_t)phases + CF_LINE_GRANULE;
}

/* ---- Filters ---- */

void cf_row_filter(const CfRowFilter *filter, const void *line, int count, void *work, void *to)
{
  const int step = filter->step, channels = filter->channels, taps = filter->taps.count;
  const int pixels = (count - 1) * step + taps;
  const ptrdiff_t stride = step == 1 ? 0 : phase_stride(pixels, channels, step);
  const uint8_t *phases = step == 1 ? line : work;
  const void *shifts[CF_GAUSSIAN_MOST_TAPS];

  if (step > 1) {
    split(filter->lines->size, line, step, channels, (pixels + step - 1) / step, stride, work);
    clear_ends(filter->lines->size, pixels, channels, step, stride, work);
  }
  for (int t = 0; t < taps; t++)
    shifts[t] = phases + (t % step * stride + (ptrdiff_t)(t / step) * channels) *
                             (ptrdiff_t)filter->lines->size;
  if (filter->taps.tap)
    filter->lines->sum(&filter->taps, shifts, cf_round_to_granule(count * channels), to);
  else
    memcpy(to, shifts[0], (size_t)count * (size_t)channels * filter->lines->size);
}

void cf_row_expand(const CfLines *lines, const CfPyramidAxis *axis, const CfLineTaps *spline,
                   int channels, const void *coarse, int first, int count, void *work, void *to)
{
  const int factor = axis->factor, blocks = (count + factor - 1) / factor;
  const ptrdiff_t pixel = channels * (ptrdiff_t)lines->size;
  const ptrdiff_t stride = phase_stride(count, channels, factor);
  const uint8_t *block = (const uint8_t *)coarse + (first / factor - axis->coarse_first) * pixel;

  if (factor == 1) {
    memcpy(to, block, (size_t)(count * pixel));
    return;
  }
  for (int p = 0; p < factor; p++) {
    const uint8_t *from = block + axis->spline_first[p] * pixel;
    const void *shifts[] = {from, from + pixel, from + 2 * pixel, from + 3 * pixel};

    lines->sum(&spline[p], shifts, cf_round_to_granule(blocks * channels),
               (uint8_t *)work + p * stride * (ptrdiff_t)lines->size);
  }
  merge(lines->size, work, factor, channels, blocks, stride, to);
}

/* ---- Working samples ---- */

CF_MULTIVERSION
static void widen(const int16_t *from, int samples, float *restrict to)
{
  for (int i = 0; i < samples; i++)
    to[i] = (float)from[i] * (1.0f / (1 << CF_FIXED_BITS));
}

void cf_row_to_float(const CfLines *lines, const void *from, int samples, float *to)
{
  if (lines == &cf_lines_fixed)
    widen(from, samples, to);
  else
    memcpy(to, from, (size_t)samples * sizeof *to);
}
