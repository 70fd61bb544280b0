/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpu/tonemap/pixels.h"

#include <math.h>
#include <string.h>

#include "cpu/common/cpu.h"

/* ---- Functions of one number ---- */

INLINE float clamp(float value, float least, float most)
{
  const float above = value > least ? value : least;

  return above < most ? above : most;
}

INLINE float largest(float a, float b)
{
  return a > b ? a : b;
}

INLINE float smallest(float a, float b)
{
  return a < b ? a : b;
}

INLINE float power_4(float value)
{
  return value * value * (value * value);
}

/* log2 of a number above 0, to 1e-7; about -127 for 0. */
INLINE float log_2(float value)
{
  int32_t bits, exponent;
  float mantissa;

  memcpy(&bits, &value, sizeof bits);
  exponent = (bits - 0x3f3504f3) >> 23; /* mantissas lie between sqrt (1/2) and sqrt (2) */
  bits -= exponent * (1 << 23);
  memcpy(&mantissa, &bits, sizeof mantissa);

  /* The series of the inverse hyperbolic tangent. */
  const float s = (mantissa - 1.0f) / (mantissa + 1.0f), square = s * s;
  const float series =
      2.8853900f + square * (0.9617967f + square * (0.5770780f + square * 0.4121986f));

  return (float)exponent + s * series;
}

/* 2^power, to 2e-7. */
INLINE float exp_2(float power)
{
  const float inside = clamp(power, -126.0f, 126.0f);
  const float whole = inside + 12582912.0f; /* adding 1.5 * 2^23 rounds to the nearest integer */
  const float f = inside - (whole - 12582912.0f);
  const float series =
      1.0f +
      f * (0.69314718f +
           f * (0.24022651f +
                f * (0.05550411f + f * (0.00961813f + f * (0.00133336f + f * 0.00015404f)))));
  uint32_t bits;
  float scale;

  memcpy(&bits, &whole, sizeof bits);
  bits = (bits << 23) + 0x3f800000; /* bits above the exponent are shifted out */
  memcpy(&scale, &bits, sizeof scale);
  return scale * series;
}

/* ---- From codes to light ---- */

INLINE float luminance_of(const double weight[3], float red, float green, float blue)
{
  return (float)weight[0] * red + (float)weight[1] * green + (float)weight[2] * blue;
}

INLINE void show_hlg(const double weight[3], int count, float *restrict red, float *restrict green,
                     float *restrict blue)
{
  for (int i = 0; i < count; i++) {
    const float luminance = luminance_of(weight, red[i], green[i], blue[i]);
    const float gain =
        (float)CF_TONEMAP_HLG_PEAK * exp_2((float)(CF_TONEMAP_HLG_GAMMA - 1.0) * log_2(luminance));

    red[i] *= gain;
    green[i] *= gain;
    blue[i] *= gain;
  }
}

/* R'G'B' as positions in the table of light. */
INLINE void decode(const CfTonemapSource *source, const float *restrict luma,
                   const float *restrict blue, const float *restrict red, int count,
                   float *restrict r, float *restrict g, float *restrict b)
{
  const CfTonemapCodes *codes = &source->codes;
  const float luma_offset = (float)codes->luma_offset, centre = (float)codes->chroma_centre;
  const float luma_gain = source->luma_gain, chroma_gain = source->chroma_gain;
  const float red_from = (float)codes->red_from, blue_from = (float)codes->blue_from;
  const float green_from_blue = (float)codes->green_from_blue;
  const float green_from_red = (float)codes->green_from_red;
  const float last = (float)CF_TONEMAP_LIGHT_STEPS;

  for (int i = 0; i < count; i++) {
    const float y = (luma[i] - luma_offset) * luma_gain;
    const float cb = (blue[i] - centre) * chroma_gain, cr = (red[i] - centre) * chroma_gain;

    r[i] = last * clamp(y + red_from * cr, 0.0f, 1.0f);
    g[i] = last * clamp(y - green_from_blue * cb - green_from_red * cr, 0.0f, 1.0f);
    b[i] = last * clamp(y + blue_from * cb, 0.0f, 1.0f);
  }
}

/* Interpolates between entries. Separate from decode(), since compilers turn a clamped index into a
 * branch. */
INLINE void look_up_light(const float *restrict table, const float *restrict place, int count,
                          float *restrict light)
{
  for (int i = 0; i < count; i++) {
    const int entry = (int)place[i];
    const float fraction = place[i] - (float)entry;

    light[i] = table[entry] + fraction * (table[entry + 1] - table[entry]);
  }
}

CF_MULTIVERSION
void cf_tonemap_light(const CfTonemapSource *source, const float *luma, const float *blue,
                      const float *red, int count, CfTonemapRow light[3])
{
  CfTonemapRow place[3];

  decode(source, luma, blue, red, count, place[0], place[1], place[2]);
  for (int c = 0; c < 3; c++)
    look_up_light(source->light, place[c], count, light[c]);
  if (source->transfer == CF_TRANSFER_HLG)
    show_hlg(source->primaries->luminance, count, light[0], light[1], light[2]);
}

CF_MULTIVERSION
void cf_tonemap_double(const float *restrict samples, int count, float *restrict doubled)
{
  for (int i = 0; i < count; i++)
    doubled[2 * i] = doubled[2 * i + 1] = samples[i];
}

CF_MULTIVERSION
void cf_tonemap_analyse(const CfTonemapSource *source, CfTonemapRow light[3], int count,
                        uint16_t *restrict plane)
{
  const double *const weight = source->primaries->luminance;
  const float *restrict r = light[0], *restrict g = light[1], *restrict b = light[2];
  const float to_code = 65535.0f / (float)CF_TONEMAP_STOPS;

  for (int i = 0; i < count; i++) {
    const float v =
        log_2(1.0f + luminance_of(weight, r[i], g[i], b[i]) * (float)(1.0 / CF_TONEMAP_BLACK));

    plane[i] = (uint16_t)(int)clamp(v * to_code + 0.5f, 0.0f, 65535.0f);
  }
}

/* ---- From light to R'G'B' ---- */

static const float to_place = (float)CF_TONEMAP_TONE_STEPS / 65535.0f;

/* The tone at the plane's codes, interpolated between entries. */
INLINE void look_up_own(const CfTonemapTone *restrict table, const uint16_t *restrict plane,
                        int count, float *restrict gain, float *restrict room,
                        float *restrict saturation)
{
  for (int i = 0; i < count; i++) {
    const float place = (float)plane[i] * to_place;
    const int entry = (int)place;
    const float fraction = place - (float)entry;
    const CfTonemapTone before = table[entry], after = table[entry + 1];

    gain[i] = before.gain + fraction * (after.gain - before.gain);
    room[i] = before.room + fraction * (after.room - before.room);
    saturation[i] = before.saturation + fraction * (after.saturation - before.saturation);
  }
}

/* The same, but the gain only. */
INLINE void look_up_gain(const CfTonemapTone *restrict table, const uint16_t *restrict base,
                         int count, float *restrict gain)
{
  for (int i = 0; i < count; i++) {
    const float place = (float)base[i] * to_place;
    const int entry = (int)place;
    const float fraction = place - (float)entry;
    const float before = table[entry].gain, after = table[entry + 1].gain;

    gain[i] = before + fraction * (after - before);
  }
}

/* Replaces each pixel's own gain by the gain with local contrast, from the plane, its base and the
 * base's gain. */
INLINE void add_local(const CfTonemapTones *tones, const uint16_t *restrict plane,
                      const uint16_t *restrict base, const float *restrict base_gain,
                      const float *restrict room, int count, float *restrict gain)
{
  const float to_stops = (float)CF_TONEMAP_STOPS / 65535.0f, detail = (float)(tones->detail - 1.0);
  const bool floored = detail > 0.0f && tones->noise_floor > 0.0;
  const float per_floor = floored ? (float)(1.0 / tones->noise_floor) : 0.0f;
  const float always = floored ? 0.0f : 1.0f;

  for (int i = 0; i < count; i++) {
    const float difference = (float)((int)plane[i] - (int)base[i]) * to_stops;
    const float size = difference < 0.0f ? -difference : difference;
    const float t = clamp(size * per_floor - 1.0f, always, 1.0f);
    const float added = base_gain[i] - gain[i] + detail * difference * t * t * (3.0f - 2.0f * t);
    const float raised = largest(added, 0.0f), square = raised * raised + room[i] * room[i];
    const float kept = raised * room[i] / sqrtf(largest(square, 1e-18f));

    gain[i] = exp_2(gain[i] + smallest(added, 0.0f) + kept);
  }
}

/* From the source's linear light to that of BT.709, with white at 1. */
INLINE void make_sdr(const CfTonemapTones *tones, const float *restrict gain,
                     const float *restrict saturation, const float *restrict red,
                     const float *restrict green, const float *restrict blue, int count,
                     float *restrict to_red, float *restrict to_green, float *restrict to_blue)
{
  const float knee = (float)CF_TONEMAP_KNEE, room = (float)(1.0 - CF_TONEMAP_KNEE);
  const float most = (float)((tones->most - CF_TONEMAP_KNEE) / (1.0 - CF_TONEMAP_KNEE));
  const float per_room = 1.0f / room;
  const float red_hue = (float)CF_TONEMAP_RED_HUE, blue_hue = (float)CF_TONEMAP_BLUE_HUE;
  float matrix[3][3], weight[3];

  for (int c = 0; c < 3; c++) {
    weight[c] = (float)cf_tonemap_primaries[CF_PRIMARIES_709].luminance[c];
    for (int k = 0; k < 3; k++)
      matrix[c][k] = (float)tones->primaries->to_709[c][k];
  }
  for (int i = 0; i < count; i++) {
    const float r0 = gain[i] * red[i], g0 = gain[i] * green[i], b0 = gain[i] * blue[i];
    const float r = matrix[0][0] * r0 + matrix[0][1] * g0 + matrix[0][2] * b0;
    const float g = matrix[1][0] * r0 + matrix[1][1] * g0 + matrix[1][2] * b0;
    const float b = matrix[2][0] * r0 + matrix[2][1] * g0 + matrix[2][2] * b0;
    const float luminance = weight[0] * r + weight[1] * g + weight[2] * b;
    const float norm =
        luminance + (float)CF_TONEMAP_BRIGHTEST * (largest(largest(r, g), b) - luminance);

    const float beyond = largest(norm - knee, 0.0f) * per_room;
    const float rolled =
        smallest(norm, knee) + room * beyond * most / (most + beyond * (most - 1.0f));
    const float scale = rolled / largest(norm, 1e-9f);

    const float grey = scale * luminance, colour = scale * saturation[i];
    const float ar = colour * (r - luminance), ag = colour * (g - luminance);
    const float ab = colour * (b - luminance);
    const float above = largest(largest(ar, ag), ab), below = -smallest(smallest(ar, ag), ab);
    const float inside =
        smallest(grey / largest(below, 1e-9f) + 1e-6f, 1.0f); /* against rounding to below 0 */

    const float top = largest(grey + inside * above, 1.0f), excess = top - 1.0f;
    const float rate = (float)CF_TONEMAP_PALING * excess;
    const float dark = power_4(power_4(largest(1.0f - grey + inside * below, 0.25f)));
    const float pale = smallest(
        rate * excess * grey / (grey * dark + rate * largest(top - grey, 0.0f) + 1e-9f), 1.0f);
    const float kept = 1.0f / top, base = grey * kept, reach = inside * kept;
    const float r1 = base + ar * reach, g1 = base + ag * reach, b1 = base + ab * reach;
    const float bent = pale * (1.0f - pale), least_lead = 0.5f * g1;
    const float red_leads = power_4(largest(r1 - largest(least_lead, b1), 0.0f));
    const float blue_leads = power_4(largest(b1 - largest(least_lead, r1), 0.0f));

    to_red[i] = r1 + (pale - blue_hue * bent * blue_leads) * (1.0f - r1);
    to_green[i] = g1 + pale * (1.0f - g1);
    to_blue[i] = b1 + (pale - red_hue * bent * red_leads) * (1.0f - b1);
  }
}

/* In place. */
INLINE void encode(int count, float *restrict light)
{
  for (int i = 0; i < count; i++)
    light[i] = exp_2((float)(1.0 / CF_TONEMAP_GAMMA) * log_2(clamp(light[i], 0.0f, 1.0f)));
}

CF_MULTIVERSION
void cf_tonemap_finish(const CfTonemapTones *tones, CfTonemapRow light[3], const uint16_t *plane,
                       const uint16_t *base, int count, CfTonemapRow signal[3])
{
  CfTonemapRow gain, room, saturation, base_gain;

  look_up_own(tones->tone, plane, count, gain, room, saturation);
  look_up_gain(tones->tone, base, count, base_gain);
  add_local(tones, plane, base, base_gain, room, count, gain);
  make_sdr(tones, gain, saturation, light[0], light[1], light[2], count, signal[0], signal[1],
           signal[2]);
  for (int c = 0; c < 3; c++)
    encode(count, signal[c]);
}

/* ---- From R'G'B' to planes ---- */

CF_MULTIVERSION
void cf_tonemap_luma(const CfTonemapCodes *codes, CfTonemapRow signal[3], int count,
                     float *restrict luma)
{
  const float *restrict red = signal[0], *restrict green = signal[1], *restrict blue = signal[2];
  const float kr = (float)codes->weight[0], kg = (float)codes->weight[1];
  const float kb = (float)codes->weight[2];

  for (int i = 0; i < count; i++)
    luma[i] = kr * red[i] + kg * green[i] + kb * blue[i];
}

/* The sum over both rows of colour - luma. */
INLINE float block_column(const float *const colour[2], const float *const luma[2], int x)
{
  return colour[0][x] - luma[0][x] + (colour[1][x] - luma[1][x]);
}

CF_MULTIVERSION
void cf_tonemap_chroma(const float *const colour[2], const float *const luma[2], double gain,
                       int columns, float *restrict chroma)
{
  const float quarter = (float)(0.25 * gain), half = (float)(0.5 * gain);

  for (int i = 0; i < columns / 2; i++)
    chroma[i] =
        quarter * (block_column(colour, luma, 2 * i) + block_column(colour, luma, 2 * i + 1));
  if (columns % 2)
    chroma[columns / 2] = half * block_column(colour, luma, columns - 1);
}
