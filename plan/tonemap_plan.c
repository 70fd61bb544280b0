/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/tonemap_plan.h"

#include <math.h>

/* ---- Transfer functions ---- */

static double clamp_signal(double signal)
{
  return fmin(fmax(signal, 0.0), 1.0);
}

double cf_pq_eotf(double signal)
{
  const double m1 = 2610.0 / 16384.0, m2 = 2523.0 / 4096.0 * 128.0;
  const double c1 = 3424.0 / 4096.0, c2 = 2413.0 / 4096.0 * 32.0, c3 = 2392.0 / 4096.0 * 32.0;
  const double power = pow(clamp_signal(signal), 1.0 / m2);

  return 10000.0 * pow(fmax(power - c1, 0.0) / (c2 - c3 * power), 1.0 / m1);
}

double cf_hlg_inverse_oetf(double signal)
{
  const double a = 0.17883277, b = 0.28466892, c = 0.55991073;
  const double e = clamp_signal(signal);

  return e <= 0.5 ? e * e / 3.0 : (exp((e - c) / a) + b) / 12.0;
}

/* ---- Codes ---- */

double cf_tonemap_rounding(const CfTonemapParams *params, int x, int y)
{
  /* Row y: the matrix of Bayer 1973, of order 8. */
  static const uint8_t dither[8][8] = {
      {0, 32, 8, 40, 2, 34, 10, 42},  {48, 16, 56, 24, 50, 18, 58, 26},
      {12, 44, 4, 36, 14, 46, 6, 38}, {60, 28, 52, 20, 62, 30, 54, 22},
      {3, 35, 11, 43, 1, 33, 9, 41},  {51, 19, 59, 27, 49, 17, 57, 25},
      {15, 47, 7, 39, 13, 45, 5, 37}, {63, 31, 55, 23, 61, 29, 53, 21},
  };

  return params->dither ? (dither[y & 7][x & 7] + 0.5) / 64.0 : 0.5;
}

/* ITU-R BT.2087, and P3 computed from chromaticities, its cinema white adapted with the Bradford
 * matrix. */
const CfTonemapPrimaries cf_tonemap_primaries[] = {
    [CF_PRIMARIES_2020] = {{0.2627, 0.6780, 0.0593},
                           {{1.660491002, -0.587641139, -0.072849863},
                            {-0.124550475, 1.132899897, -0.008349422},
                            {-0.018150763, -0.100578898, 1.118729661}}},
    [CF_PRIMARIES_P3] = {{0.228974564, 0.691738522, 0.079286914},
                         {{1.224940176, -0.224940176, 0.0},
                          {-0.042056955, 1.042056955, 0.0},
                          {-0.019637555, -0.078636046, 1.098273600}}},
    [CF_PRIMARIES_P3_DCI] = {{0.215150513, 0.709133637, 0.075715851},
                             {{1.157516406, -0.154962378, -0.002554028},
                              {-0.041500072, 1.045567923, -0.004067851},
                              {-0.018050039, -0.078578273, 1.096628312}}},
    [CF_PRIMARIES_709] = {{0.2126, 0.7152, 0.0722},
                          {{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}}},
};

CfTonemapCodes cf_tonemap_codes(const CfVideo *video)
{
  const double red = video->luma_red, blue = video->luma_blue, green = 1.0 - red - blue;
  CfTonemapCodes codes = {.chroma_centre = cf_chroma_centre(video),
                          .red_from = 2.0 * (1.0 - red),
                          .blue_from = 2.0 * (1.0 - blue),
                          .green_from_blue = 2.0 * (1.0 - blue) * blue / green,
                          .green_from_red = 2.0 * (1.0 - red) * red / green,
                          .weight = {red, green, blue}};
  double offset;

  cf_code_range(video, CF_ROLE_LUMA, &codes.luma_offset, &codes.luma_scale);
  cf_code_range(video, CF_ROLE_CHROMA_BLUE, &offset, &codes.chroma_scale);
  return codes;
}

/* ---- Tones ---- */

double cf_tonemap_peak(const CfTonemapParams *params, CfTransfer transfer)
{
  if (params->peak > 0.0)
    return params->peak;
  if (transfer == CF_TRANSFER_HLG)
    return CF_TONEMAP_HLG_PEAK;
  return params->stream_peak > 0.0 ? params->stream_peak : CF_TONEMAP_DEFAULT_PEAK;
}

double cf_tonemap_local(const CfTonemapParams *params, double difference, double gains, double room)
{
  double t = 1.0, added;

  if (params->detail > 1.0 && params->noise_floor > 0.0)
    t = fmin(fmax(fabs(difference) / params->noise_floor - 1.0, 0.0), 1.0);
  added = gains + (params->detail - 1.0) * difference * t * t * (3.0 - 2.0 * t);
  return added > 0.0 ? added * room / hypot(added, room) : added;
}

double cf_tonemap_roll_off(const CfTonemapCurve *curve, double light)
{
  const double room = 1.0 - CF_TONEMAP_KNEE, most = (curve->most - CF_TONEMAP_KNEE) / room;
  const double beyond = (light - CF_TONEMAP_KNEE) / room;

  if (beyond <= 0.0)
    return light;
  return CF_TONEMAP_KNEE + room * beyond * most / (most + beyond * (most - 1.0));
}

double cf_tonemap_paling(double most, double least, double luminance)
{
  const double beyond = most - 1.0, rate = CF_TONEMAP_PALING * beyond;
  const double dark = pow(fmax(1.0 - least, 0.0), 16.0);

  if (beyond <= 0.0)
    return 0.0;
  return fmin(rate * beyond * luminance / fmax(luminance * dark + rate * (most - luminance), 1e-12),
              1.0);
}

/* How far one component exceeds both others (green halved), to the fourth power. */
static double lead(double component, double green, double other)
{
  return pow(fmax(component - fmax(0.5 * green, other), 0.0), 4.0);
}

void cf_tonemap_shares(const double colour[3], double paling, double share[3])
{
  const double bent = paling * (1.0 - paling);

  share[0] = paling - CF_TONEMAP_BLUE_HUE * bent * lead(colour[2], colour[1], colour[0]);
  share[1] = paling;
  share[2] = paling - CF_TONEMAP_RED_HUE * bent * lead(colour[0], colour[1], colour[2]);
}

CfLlfParams cf_tonemap_filter(const CfTonemapParams *params)
{
  return (CfLlfParams){.sigma = params->sigma / CF_TONEMAP_STOPS,
                       .alpha = CF_TONEMAP_SMOOTHING,
                       .beta = 1.0,
                       .method = CF_LLF_FAST,
                       .harmonics = 8,
                       .reach = CF_TONEMAP_REACH,
                       .color_mode = CF_LLF_LUMINANCE,
                       .strength = 1.0};
}

CfVideo cf_tonemap_plane(const CfVideo *video)
{
  CfVideo plane = cf_video(CF_FORMAT_GRAY16_LE, video->width, video->height);

  plane.field = video->field;
  return plane;
}

/* ---- Tables ---- */

void cf_tonemap_light_table(CfTransfer transfer, float light[CF_TONEMAP_LIGHT_ENTRIES])
{
  for (int i = 0; i <= CF_TONEMAP_LIGHT_STEPS; i++) {
    const double signal = (double)i / CF_TONEMAP_LIGHT_STEPS;

    light[i] =
        (float)(transfer == CF_TRANSFER_PQ ? cf_pq_eotf(signal) : cf_hlg_inverse_oetf(signal));
  }
  light[CF_TONEMAP_LIGHT_STEPS + 1] = light[CF_TONEMAP_LIGHT_STEPS];
}

void cf_tonemap_tone_table(const CfTonemapCurve *curve, double saturation,
                           CfTonemapTone tone[CF_TONEMAP_TONE_ENTRIES])
{
  const double step = CF_TONEMAP_STOPS / CF_TONEMAP_TONE_STEPS;

  for (int i = 0; i <= CF_TONEMAP_TONE_STEPS; i++) {
    tone[i].gain = (float)cf_tonemap_gain(curve, i * step);
    tone[i].room = (float)cf_tonemap_room(curve, i * step);
    tone[i].saturation = (float)(saturation * cf_tonemap_saturation(curve, i * step));
  }
  tone[CF_TONEMAP_TONE_STEPS + 1] = tone[CF_TONEMAP_TONE_STEPS];
}

/* ---- The measured peak ---- */

bool cf_tonemap_is_dynamic(const CfTonemapParams *params)
{
  return params->dynamic && params->peak == 0.0 && !params->fields;
}

CfTonemapPace cf_tonemap_pace(double seconds)
{
  return (CfTonemapPace){(float)(1.0 - exp(-seconds / CF_TONEMAP_RISE)),
                         (float)(1.0 - exp(-seconds / CF_TONEMAP_FALL))};
}

double cf_tonemap_next_peak(CfTonemapMemory *memory, const CfTonemapParams *params,
                            const uint32_t histogram[CF_TONEMAP_BINS], uint32_t samples,
                            double seconds)
{
  uint32_t coarse[CF_TONEMAP_CUT_BINS] = {0};

  for (int i = 0; i < CF_TONEMAP_BINS; i++)
    coarse[i / (CF_TONEMAP_BINS / CF_TONEMAP_CUT_BINS)] += histogram[i];
  cf_tonemap_follow(memory, params, histogram, coarse, samples, cf_tonemap_pace(seconds));
  return cf_tonemap_nits(memory->peak);
}
