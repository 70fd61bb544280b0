/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What tone mapping is, for every engine; plan/tonemap_curve.h has its curve. All functions are
 * pure and may be called from any thread.
 *
 * A frame goes through three steps:
 *
 * 1. Analyse. Codes become R'G'B' in 0..1, each pixel with the chroma sample of its block, and then
 *    linear light in nits. The plane (GRAY16) is round (65535 v / STOPS) with v = log2 (1 + Y /
 *    BLACK), Y being luminance; BLACK keeps noise at black small.
 * 2. Filter. cudallf with alpha = SMOOTHING and reach = REACH removes local contrast, differences
 *    below `sigma` stops, from the plane; the result is the base, b in stops.
 * 3. Finish. The curve (CfTonemapCurve) has a gain for a pixel's own v. Adding cf_tonemap_local()
 *    brings local contrast back: the pixel gets the gain of its base, as far as there is room. In
 *    linear light of BT.709, with the display's white at 1:
 *
 *      norm = Y + BRIGHTEST (max (r, g, b) - Y);  all are scaled by roll_off (norm) / norm
 *
 *      away = saturation (c - Y), shortened for all three alike until no Y + away is below 0
 *
 *      most = max (Y + away, 1);  c = (Y + away) / most;  paled = c + cf_tonemap_shares () (1 - c)
 *
 *    paled is encoded by the power 1 / GAMMA.
 */
#pragma once

#include "llf.h"
#include "plan/tonemap_peak.h"

#define CF_TONEMAP_HLG_PEAK     1000.0 /* nits of the reference display of HLG */
#define CF_TONEMAP_HLG_GAMMA    1.2    /* system gamma of that display: ITU-R BT.2100 */
#define CF_TONEMAP_DEFAULT_PEAK 1000.0 /* nits, where the stream does not signal a peak */
#define CF_TONEMAP_KNEE         0.6    /* in units of white: where rolling off begins */
#define CF_TONEMAP_BRIGHTEST    0.5    /* share of the largest component in the norm */
#define CF_TONEMAP_PALING       4.0    /* how fast colours beyond white turn pale */
#define CF_TONEMAP_RED_HUE      0.4    /* how much less blue a red gets as it turns pale */
#define CF_TONEMAP_BLUE_HUE     0.8    /* how much less red a blue gets */
#define CF_TONEMAP_SMOOTHING    2.0    /* alpha of the filter */
#define CF_TONEMAP_REACH        0.02   /* reach of the filter */
#define CF_TONEMAP_GAMMA        2.4    /* of the display: ITU-R BT.1886 */

/* ---- Transfer functions ---- */

/* SMPTE ST 2084: nits of a signal, which is clamped to 0..1. */
double cf_pq_eotf(double signal);

/* ARIB STD-B67: scene light, 0..1, of a signal, which is clamped to 0..1. */
double cf_hlg_inverse_oetf(double signal);

/* ---- Codes ---- */

/* Between the codes of a frame and R'G'B':
 *
 *   luma = (code - luma_offset) / luma_scale, chroma = (code - chroma_centre) / chroma_scale
 *
 *   red = luma + red_from red chroma, blue = luma + blue_from blue chroma
 *
 *   green = luma - green_from_blue blue chroma - green_from_red red chroma */
typedef struct {
  double luma_offset, luma_scale, chroma_centre, chroma_scale;
  double red_from, blue_from, green_from_blue, green_from_red;
  double weight[3]; /* of red, green and blue in luma */
} CfTonemapCodes;

/* The constants for a format, range and luma weights. */
CfTonemapCodes cf_tonemap_codes(const CfVideo *video);

/* Primaries of a source's linear light; the source's white maps to that of BT.709. */
typedef struct {
  double luminance[3]; /* weights of red, green and blue in Y */
  double to_709[3][3]; /* rows: red, green and blue of BT.709 */
} CfTonemapPrimaries;

/* Indexed by CfPrimaries. */
extern const CfTonemapPrimaries cf_tonemap_primaries[];

/* The offset that is added to the ideal code of sample (x, y) of a plane before truncation: 1/2, or
 * with `dither` a value in 0..1 from a pattern that repeats every 8 samples. */
double cf_tonemap_rounding(const CfTonemapParams *params, int x, int y);

/* ---- Tones ---- */

/* The peak of the source in nits: params->peak, or else the stream's or the default for its
 * transfer function. */
double cf_tonemap_peak(const CfTonemapParams *params, CfTransfer transfer);

/* What is added to the gain at v of a pixel that is `difference` stops above its base. The sum e of
 * `gains`, the gain of the base less the pixel's own, and of (detail - 1) difference; where detail
 * amplifies, the latter is weighted by smoothstep (|difference| / noise_floor - 1). An e above 0
 * becomes e room / sqrt (e^2 + room^2), so that nothing clips that the curve alone would not clip.
 */
double cf_tonemap_local(const CfTonemapParams *params, double difference, double gains,
                        double room);

/* Linear light, white at 1: unchanged up to KNEE; curve->most becomes 1. */
double cf_tonemap_roll_off(const CfTonemapCurve *curve, double light);

/* How far a colour moves towards white. `most`, its largest component, is at least white's 1,
 * `least` is its smallest. With b = most - 1:
 *
 *   PALING b^2 luminance / (luminance (1 - least)^16 + PALING b (most - luminance)), at most 1
 *
 * b luminance / (most - luminance) would keep luminance, and the formula comes close to it except
 * where a component is next to 0. There it begins as b^2: the display's gamma shows the least light
 * that is added to such a component, and a yellow would turn white as soon as it is brighter than
 * yellow can be. */
double cf_tonemap_paling(double most, double least, double luminance);

/* The shares, 0..1, of red, green and blue that a colour gets as it turns pale. Equal shares of
 * white would turn reds to crimson and blues to violet (Abney 1909). With r, g and b the colour:
 *
 *   blue's share = paling (1 - RED_HUE (1 - paling) max (r - max (g / 2, b), 0)^4)
 *
 *   red's = paling (1 - BLUE_HUE (1 - paling) max (b - max (g / 2, r), 0)^4), green's = paling */
void cf_tonemap_shares(const double colour[3], double paling, double share[3]);

/* The filter's parameters, and the format of the plane that it filters (GRAY16). */
CfLlfParams cf_tonemap_filter(const CfTonemapParams *params);
CfVideo cf_tonemap_plane(const CfVideo *video);

/* ---- The measured peak (plan/tonemap_peak.h) ---- */

/* Whether the peak of each frame is measured: with `dynamic`, where no peak is set, and not for
 * fields. */
bool cf_tonemap_is_dynamic(const CfTonemapParams *params);

/* The pace for a frame `seconds` after the one before. */
CfTonemapPace cf_tonemap_pace(double seconds);

/* Updates `memory` with the histogram of a frame's plane; returns that frame's peak in nits. */
double cf_tonemap_next_peak(CfTonemapMemory *memory, const CfTonemapParams *params,
                            const uint32_t histogram[CF_TONEMAP_BINS], uint32_t samples,
                            double seconds);

/* ---- Tables, between whose entries engines interpolate linearly ---- */

#define CF_TONEMAP_LIGHT_STEPS 4096
#define CF_TONEMAP_TONE_STEPS  2048

/* The last entry is repeated, so that a look-up at the end may read its neighbour. */
#define CF_TONEMAP_LIGHT_ENTRIES (CF_TONEMAP_LIGHT_STEPS + 2)
#define CF_TONEMAP_TONE_ENTRIES  (CF_TONEMAP_TONE_STEPS + 2)

/* Entry i is cf_pq_eotf() or cf_hlg_inverse_oetf() of the signal i / LIGHT_STEPS. */
void cf_tonemap_light_table(CfTransfer transfer, float light[CF_TONEMAP_LIGHT_ENTRIES]);

/* The curve at one v. */
typedef struct {
  float gain, room, saturation; /* cf_tonemap_gain, cf_tonemap_room, and cf_tonemap_saturation times
                                   the user's */
} CfTonemapTone;

/* Entry i is the tone of the plane's code 65535 i / TONE_STEPS. */
void cf_tonemap_tone_table(const CfTonemapCurve *curve, double saturation,
                           CfTonemapTone tone[CF_TONEMAP_TONE_ENTRIES]);
