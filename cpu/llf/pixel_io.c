/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpu/llf/pixel_io.h"

#include "cpu/common/cpu.h"
#include "plan/int_math.h"

CfLlfSamples cf_llf_samples(const CfVideo *video, const CfLlfComponent *component)
{
  const CfFormatInfo *format = cf_format_info(video->format);
  const int bytes = cf_sample_bytes(format), first_bit = 8 * bytes * component->channel;
  const uint32_t sample = bytes == 2 ? 0xffff : 0xff;
  const int pixel_bytes = bytes * format->plane[component->plane].channels;

  return (CfLlfSamples){.pixel_bytes = pixel_bytes,
                        .byte = component->channel * bytes,
                        .shift = first_bit + format->shift,
                        .code_mask = (uint32_t)cf_max_code(format),
                        .others = pixel_bytes > bytes ? ~(sample << first_bit) : 0,
                        .max_code = (float)cf_max_code(format)};
}

/* Rows need no alignment beyond that of a byte. */
typedef uint16_t Word2 __attribute__((aligned(1), may_alias));
typedef uint32_t Word4 __attribute__((aligned(1), may_alias));

#define LOAD(name, Word)                                                                           \
  INLINE void name(const Word *from, int shift, uint32_t mask, int count, float *restrict code)    \
  {                                                                                                \
    for (int i = 0; i < count; i++)                                                                \
      code[i] = (float)(int)((uint32_t)from[i] >> shift & mask);                                   \
  }
LOAD(load_1, uint8_t)
LOAD(load_2, Word2)
LOAD(load_4, Word4)

CF_MULTIVERSION
void cf_llf_load(const CfLlfSamples *samples, const uint8_t *row, int x, int count, float *code)
{
  const int shift = samples->shift;
  const uint32_t mask = samples->code_mask;

  row += (ptrdiff_t)x * samples->pixel_bytes;
  switch (samples->pixel_bytes) {
  case 1:
    load_1(row, 0, 255, count, code);
    break;
  case 2:
    load_2((const Word2 *)row, shift, mask, count, code);
    break;
  case 4:
    load_4((const Word4 *)row, shift, mask, count, code);
    break;
  default:
    row += samples->byte;
    for (int i = 0; i < count; i++)
      code[i] = (float)row[3 * i];
    break;
  }
}

INLINE uint32_t rounded(float code, float max_code)
{
  const float inside = code < 0.0f ? 0.0f : code > max_code ? max_code : code;

  return (uint32_t)(int)(inside + 0.5f);
}

/* `from` and `to` may be the same, for which compilers would add a run-time check. */
#ifdef __clang__
#define SAME_OR_APART _Pragma("clang loop vectorize(assume_safety)")
#else
#define SAME_OR_APART _Pragma("GCC ivdep")
#endif
#define STORE(name, Word)                                                                          \
  INLINE void name(const Word *from, Word *to, int shift, uint32_t others, float max_code,         \
                   int count, const float *restrict code, float scale,                             \
                   const float *restrict difference)                                               \
  {                                                                                                \
    SAME_OR_APART for (int i = 0; i < count; i++)                                                  \
    {                                                                                              \
      const float value = code[i] + scale * difference[i];                                         \
      to[i] = (Word)((from[i] & others) | rounded(value, max_code) << shift);                      \
    }                                                                                              \
  }
STORE(store_1, uint8_t)
STORE(store_2, Word2)
STORE(store_4, Word4)

CF_MULTIVERSION
void cf_llf_store(const CfLlfSamples *samples, const uint8_t *from, uint8_t *to, int x, int count,
                  const float *code, float scale, const float *difference)
{
  const ptrdiff_t start = (ptrdiff_t)x * samples->pixel_bytes;
  const int shift = samples->shift;
  const float max_code = samples->max_code;

  from += start;
  to += start;
  switch (samples->pixel_bytes) {
  case 1:
    store_1(from, to, 0, 0, max_code, count, code, scale, difference);
    break;
  case 2:
    store_2((const Word2 *)from, (Word2 *)to, shift, samples->others, max_code, count, code, scale,
            difference);
    break;
  case 4:
    store_4((const Word4 *)from, (Word4 *)to, shift, samples->others, max_code, count, code, scale,
            difference);
    break;
  default:
    to += samples->byte;
    for (int i = 0; i < count; i++)
      to[3 * i] = (uint8_t)rounded(code[i] + scale * difference[i], max_code);
    break;
  }
}

CF_MULTIVERSION
void cf_llf_intensities(const float *restrict code, float gain, float bias, int count,
                        float *restrict intensity)
{
  for (int i = 0; i < count; i++) {
    const float scaled = code[i] * gain + bias;

    intensity[i] = scaled < 0.0f ? 0.0f : scaled > 1.0f ? 1.0f : scaled;
  }
}

INLINE float follow_of(float luma, float added)
{
  const float most = (float)CF_LLF_MAX_GAIN - 1.0f, epsilon = (float)CF_LLF_GAIN_EPSILON;
  const float least_luma = luma > epsilon ? luma : epsilon;
  const float follow = added / (added > 0.0f ? luma + epsilon : least_luma);
  const float limited = follow < -1.0f ? -1.0f : follow > most ? most : follow;
  const float place = luma * (float)(1.0 / CF_LLF_EASED_BELOW), t = place < 1.0f ? place : 1.0f;
  const float eased = t * t * (3.0f - 2.0f * t) * limited;

  return eased < limited ? eased : limited;
}

CF_MULTIVERSION
void cf_llf_follow_luma(const CfLlfLuma *luma, bool halved, int columns, int count,
                        float *restrict follow, float *restrict mean)
{
  const float *restrict before0 = luma->before[0], *restrict before1 = luma->before[1];
  const float *restrict added0 = luma->added[0], *restrict added1 = luma->added[1];
  const int whole = halved ? cf_min(columns / 2, count) : 0;

  if (!halved) {
    for (int i = 0; i < count; i++) {
      mean[i] = 0.5f * (before0[i] + before1[i]);
      follow[i] = follow_of(mean[i], 0.5f * (added0[i] + added1[i]));
    }
    return;
  }
  for (int i = 0; i < whole; i++) {
    const float before = before0[2 * i] + before0[2 * i + 1] + before1[2 * i] + before1[2 * i + 1];
    const float added = added0[2 * i] + added0[2 * i + 1] + added1[2 * i] + added1[2 * i + 1];
    mean[i] = 0.25f * before;
    follow[i] = follow_of(0.25f * before, 0.25f * added);
  }
  if (whole < count) {
    mean[whole] = 0.5f * (before0[2 * whole] + before1[2 * whole]);
    follow[whole] = follow_of(mean[whole], 0.5f * (added0[2 * whole] + added1[2 * whole]));
  }
}

INLINE float magnitude(float value)
{
  return value < 0.0f ? -value : value;
}

/* The distance from the centre, in codes, up to which chroma follows luma. */
INLINE float most_chroma(const CfLlfChroma *chroma, float mean)
{
  return (float)CF_LLF_MAX_CHROMA * chroma->scale * (mean + (float)CF_LLF_GAIN_EPSILON);
}

CF_MULTIVERSION
void cf_llf_chroma_room(const CfLlfChroma *chroma, const float *restrict mean,
                        const float *restrict blue, const float *restrict red, int count,
                        float *restrict unit, float *restrict room)
{
  const float centre = chroma->centre, to_intensity = 1.0f / chroma->scale;

  for (int i = 0; i < count; i++) {
    const float most = most_chroma(chroma, mean[i]);
    const float first = magnitude(blue[i] - centre), second = magnitude(red[i] - centre);
    const float farther = first > second ? first : second;
    const float left = 0.5f - farther * to_intensity;

    unit[i] = (farther < most ? farther : most) * to_intensity;
    room[i] = (float)CF_LLF_MOST_OF_ROOM * (left > 0.0f ? left : 0.0f);
  }
}

CF_MULTIVERSION
void cf_llf_follow_chroma(const CfLlfChroma *chroma, const float *restrict follow,
                          const float *restrict mean, const float *restrict code, int count,
                          float *restrict difference)
{
  const float centre = chroma->centre;

  for (int i = 0; i < count; i++) {
    const float most = most_chroma(chroma, mean[i]), from_grey = code[i] - centre;
    const float below = from_grey < most ? from_grey : most;

    difference[i] = follow[i] * (below > -most ? below : -most);
  }
}

CF_MULTIVERSION
void cf_llf_chroma_above(CfLlfColours colours, const CfLlfChroma *chroma,
                         const float *restrict blue, const float *restrict red, int count,
                         float *restrict above)
{
  const float unit = 1.0f / chroma->scale, centre = chroma->centre;
  const float red_of_red = (float)colours.red_of_red * unit;
  const float blue_of_blue = (float)colours.blue_of_blue * unit;
  const float green_of_blue = (float)colours.green_of_blue * unit;
  const float green_of_red = (float)colours.green_of_red * unit;

  for (int i = 0; i < count; i++) {
    const float from_blue = blue[i] - centre, from_red = red[i] - centre;
    const float first = blue_of_blue * from_blue, second = red_of_red * from_red;
    const float third = green_of_blue * from_blue + green_of_red * from_red;
    const float larger = first > second ? first : second;

    above[i] = larger > third ? larger : third;
  }
}

CF_MULTIVERSION
void cf_llf_chroma_ceiling(const float *restrict above, bool halved,
                           const float *restrict intensity, int count, float *restrict ceiling)
{
  if (!halved) {
    for (int i = 0; i < count; i++)
      ceiling[i] = intensity[i] + above[i];
    return;
  }
  for (int i = 0; i < count / 2; i++) {
    ceiling[2 * i] = intensity[2 * i] + above[i];
    ceiling[2 * i + 1] = intensity[2 * i + 1] + above[i];
  }
  if (count % 2)
    ceiling[count - 1] = intensity[count - 1] + above[count / 2];
}

CF_MULTIVERSION
void cf_llf_ceiling(const float *const color[3], float code_scale, int count,
                    float *restrict ceiling)
{
  const float *restrict red = color[0], *restrict green = color[1], *restrict blue = color[2];
  const float to_intensity = 1.0f / code_scale;

  for (int i = 0; i < count; i++) {
    const float most = red[i] > green[i] ? red[i] : green[i];
    ceiling[i] = to_intensity * (most > blue[i] ? most : blue[i]);
  }
}

CF_MULTIVERSION
void cf_llf_follow_color(const float *restrict follow, const float *restrict before,
                         const float *restrict added, const float *restrict code, float code_scale,
                         int count, float *restrict difference)
{
  const float to_intensity = 1.0f / code_scale;

  for (int i = 0; i < count; i++)
    difference[i] = added[i] + follow[i] * (code[i] * to_intensity - before[i]);
}
