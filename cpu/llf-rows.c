/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "llf-rows.h"

#include "cpu.h"

#define INLINE static inline __attribute__((always_inline))

CfLlfSamples cf_llf_samples(const CfVideo *video, const CfLlfComponent *component)
{
  const CfFormatInfo *format = cf_format_info(video->format);

  return (CfLlfSamples){.bytes = cf_sample_bytes(format),
                        .shift = format->shift,
                        .step = format->plane[component->plane].channels,
                        .max_code = (float)cf_max_code(format)};
}

uint8_t *cf_llf_row(const CfVideo *video, const CfPicture *picture, const CfLlfComponent *component,
                    int y)
{
  return picture->data[component->plane] + y * picture->stride[component->plane] +
         (ptrdiff_t)component->channel * cf_sample_bytes(cf_format_info(video->format));
}

/* The loops are compiled for each step, so that they vectorise. */

INLINE void load_bytes(const uint8_t *restrict from, int step, int count, float *restrict code)
{
  for (int i = 0; i < count; i++)
    code[i] = (float)from[i * step];
}

INLINE void load_words(const uint16_t *restrict from, int step, int shift, int count,
                       float *restrict code)
{
  for (int i = 0; i < count; i++)
    code[i] = (float)(from[i * step] >> shift);
}

CF_MULTIVERSION
void cf_llf_load(const CfLlfSamples *samples, const uint8_t *row, int x, int count, float *code)
{
  if (samples->bytes == 2) {
    const uint16_t *from = (const uint16_t *)row + (ptrdiff_t)x * samples->step;

    if (samples->step == 1)
      load_words(from, 1, samples->shift, count, code);
    else
      load_words(from, 2, samples->shift, count, code);
    return;
  }
  row += (ptrdiff_t)x * samples->step;
  switch (samples->step) {
  case 1:
    load_bytes(row, 1, count, code);
    break;
  case 2:
    load_bytes(row, 2, count, code);
    break;
  case 3:
    load_bytes(row, 3, count, code);
    break;
  default:
    load_bytes(row, 4, count, code);
    break;
  }
}

INLINE int rounded(float code, float max_code)
{
  const float inside = code < 0.0f ? 0.0f : code > max_code ? max_code : code;

  return (int)(inside + 0.5f);
}

INLINE void store_bytes(uint8_t *restrict to, int step, float max_code, int count,
                        const float *restrict code)
{
  for (int i = 0; i < count; i++)
    to[i * step] = (uint8_t)rounded(code[i], max_code);
}

INLINE void store_words(uint16_t *restrict to, int step, int shift, float max_code, int count,
                        const float *restrict code)
{
  for (int i = 0; i < count; i++)
    to[i * step] = (uint16_t)(rounded(code[i], max_code) << shift);
}

CF_MULTIVERSION
void cf_llf_store(const CfLlfSamples *samples, uint8_t *row, int x, int count, const float *code)
{
  const float max_code = samples->max_code;

  if (samples->bytes == 2) {
    uint16_t *to = (uint16_t *)row + (ptrdiff_t)x * samples->step;

    if (samples->step == 1)
      store_words(to, 1, samples->shift, max_code, count, code);
    else
      store_words(to, 2, samples->shift, max_code, count, code);
    return;
  }
  row += (ptrdiff_t)x * samples->step;
  switch (samples->step) {
  case 1:
    store_bytes(row, 1, max_code, count, code);
    break;
  case 2:
    store_bytes(row, 2, max_code, count, code);
    break;
  case 3:
    store_bytes(row, 3, max_code, count, code);
    break;
  default:
    store_bytes(row, 4, max_code, count, code);
    break;
  }
}

INLINE float gain_of(float before, float after)
{
  const float epsilon = (float)CF_LLF_GAIN_EPSILON, most = (float)CF_LLF_MAX_GAIN;
  const float gain = (after + epsilon) / (before + epsilon);

  return gain < 0.0f ? 0.0f : gain > most ? most : gain;
}

CF_MULTIVERSION
void cf_llf_gains(const CfLlfLuma *luma, bool halved, int columns, int count, float *restrict gain)
{
  const float *restrict before0 = luma->before[0], *restrict before1 = luma->before[1];
  const float *restrict after0 = luma->after[0], *restrict after1 = luma->after[1];
  const int whole = halved ? (columns / 2 < count ? columns / 2 : count) : 0;

  if (!halved) {
    for (int i = 0; i < count; i++)
      gain[i] = gain_of(0.5f * (before0[i] + before1[i]), 0.5f * (after0[i] + after1[i]));
    return;
  }
  for (int i = 0; i < whole; i++) {
    const float before = before0[2 * i] + before0[2 * i + 1] + before1[2 * i] + before1[2 * i + 1];
    const float after = after0[2 * i] + after0[2 * i + 1] + after1[2 * i] + after1[2 * i + 1];
    gain[i] = gain_of(0.25f * before, 0.25f * after);
  }
  if (whole < count)
    gain[whole] = gain_of(0.5f * (before0[2 * whole] + before1[2 * whole]),
                          0.5f * (after0[2 * whole] + after1[2 * whole]));
}

CF_MULTIVERSION
void cf_llf_scale_chroma(const float *restrict gain, float centre, int count, float *restrict code)
{
  for (int i = 0; i < count; i++)
    code[i] = (code[i] - centre) * gain[i] + centre;
}

CF_MULTIVERSION
void cf_llf_scale_color(const float *restrict gain, const float *restrict before,
                        const float *restrict after, float code_scale, int count,
                        float *restrict code)
{
  const float to_intensity = 1.0f / code_scale;

  for (int i = 0; i < count; i++)
    code[i] = code_scale * (after[i] + gain[i] * (code[i] * to_intensity - before[i]));
}
