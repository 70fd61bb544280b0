/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What tone mapping is, for every engine; its curve is in plan/tonemap_curve.h. All functions are
 * pure and safe from any thread.
 *
 * A frame goes through three steps:
 *
 * 1. Analyse. Codes become R'G'B' of 0..1, with the chroma sample of the block that a pixel belongs
 *    to, and linear light in nits. The plane, GRAY16, is round (65535 v / STOPS) of
 *    v = log2 (1 + Y / BLACK), Y being luminance: so noise at black stays small.
 * 2. Filter. cudallf with alpha = SMOOTHING and reach = REACH takes what is local, below `sigma`
 *    stops, out of the plane; what remains is the base, b in stops.
 * 3. Finish. The curve (CfTonemapCurve) has a gain for a pixel's own v; what is local is brought
 *    back by adding cf_tonemap_local(): the pixel then has the gain of its base, as far as there is
 *    room. In linear light of BT.709, with the display's white at 1:
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

#define CF_TONEMAP_HLG_PEAK     1000.0 /* nits of the display that HLG is shown on */
#define CF_TONEMAP_HLG_GAMMA    1.2    /* of the system with that display: ITU-R BT.2100 */
#define CF_TONEMAP_DEFAULT_PEAK 1000.0 /* nits, where the stream tells of none */
#define CF_TONEMAP_KNEE         0.6    /* of white: where rolling off begins */
#define CF_TONEMAP_BRIGHTEST    0.5    /* share of the largest colour in the norm */
#define CF_TONEMAP_PALING       4.0    /* how soon colours beyond white turn pale */
#define CF_TONEMAP_RED_HUE      0.4    /* how much less blue a red takes as it turns pale */
#define CF_TONEMAP_BLUE_HUE     0.8    /* how much less red a blue takes */
#define CF_TONEMAP_SMOOTHING    2.0    /* alpha of the filter */
#define CF_TONEMAP_REACH        0.02   /* of the filter */
#define CF_TONEMAP_GAMMA        2.4    /* of the display: ITU-R BT.1886 */

/* ---- Transfer functions ---- */

/* SMPTE ST 2084: nits of a signal, clamped to 0..1. */
double cf_pq_eotf(double signal);

/* ARIB STD-B67: scene light, 0..1, of a signal, clamped to 0..1. */
double cf_hlg_inverse_oetf(double signal);

/* ---- Codes ---- */

/* R'G'B' of a frame's codes, and codes of R'G'B':
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

CfTonemapCodes cf_tonemap_codes(const CfVideo *video);

/* Of a source's linear light; its white becomes that of BT.709. */
typedef struct {
  double luminance[3]; /* weights */
  double to_709[3][3]; /* rows are red, green and blue of BT.709 */
} CfTonemapPrimaries;

/* By CfPrimaries. */
extern const CfTonemapPrimaries cf_tonemap_primaries[];

/* What is added to the ideal code of sample (x, y) of a plane before its fraction is cut off: 1/2,
 * or with dither something in 0..1, a pattern that repeats every 8 samples. */
double cf_tonemap_rounding(const CfTonemapParams *params, int x, int y);

/* ---- Tones ---- */

/* Nits that the source is taken to reach. */
double cf_tonemap_peak(const CfTonemapParams *params, CfTransfer transfer);

/* What is added to the gain at v of a pixel that is `difference` stops from its base: `gains`, that
 * of the base less its own, and (detail - 1) difference. Where detail raises, only as far as
 * noise_floor lets it: by smoothstep (|difference| / noise_floor - 1). A sum e above 0 becomes
 * e room / sqrt (e^2 + room^2), so that nothing clips that the curve alone would not. */
double cf_tonemap_local(const CfTonemapParams *params, double difference, double gains,
                        double room);

/* Linear light, white at 1: as it is to KNEE, `most` becomes 1. */
double cf_tonemap_roll_off(const CfTonemapCurve *curve, double light);

/* How far a colour goes to white whose largest component, `most`, is at least that; `least` is its
 * smallest. With b = most - 1:
 *
 *   PALING b^2 luminance / (luminance (1 - least)^16 + PALING b (most - luminance)), at most 1
 *
 * That keeps luminance, as b luminance / (most - luminance) would, but where a component is next to
 * 0: there it begins as b^2, since the display's power shows the least light that joins, and a
 * yellow would be white as soon as it is brighter than yellow can be. */
double cf_tonemap_paling(double most, double least, double luminance);

/* The shares of red, green and blue of a colour, 0..1, that turns pale. White of which all took the
 * same would turn reds to crimson and blues to violet (Abney 1909). With r, g and b the colour:
 *
 *   blue's share = paling (1 - RED_HUE (1 - paling) max (r - max (g / 2, b), 0)^4)
 *
 *   red's = paling (1 - BLUE_HUE (1 - paling) max (b - max (g / 2, r), 0)^4), green's = paling */
void cf_tonemap_shares(const double colour[3], double paling, double share[3]);

/* The filter's parameters, and the picture that it filters: the plane, GRAY16. */
CfLlfParams cf_tonemap_filter(const CfTonemapParams *params);
CfVideo cf_tonemap_plane(const CfVideo *video);

/* ---- The measured peak (plan/tonemap_peak.h) ---- */

/* Whether each frame's peak is measured: `dynamic`, where no peak is set, but not of fields. */
bool cf_tonemap_is_dynamic(const CfTonemapParams *params);

/* For a frame `seconds` after the one before. */
CfTonemapPace cf_tonemap_pace(double seconds);

/* Takes the histogram of a frame's plane over; returns the peak to use for it, in nits. */
double cf_tonemap_next_peak(CfTonemapMemory *memory, const CfTonemapParams *params,
                            const uint32_t histogram[CF_TONEMAP_BINS], uint32_t samples,
                            double seconds);

/* ---- Tables, for engines that interpolate linearly between their entries ---- */

#define CF_TONEMAP_LIGHT_STEPS 4096
#define CF_TONEMAP_TONE_STEPS  2048

/* One entry more, the last once again, spares a look-up at the end to be another. */
#define CF_TONEMAP_LIGHT_ENTRIES (CF_TONEMAP_LIGHT_STEPS + 2)
#define CF_TONEMAP_TONE_ENTRIES  (CF_TONEMAP_TONE_STEPS + 2)

/* Entry i: of the signal i / LIGHT_STEPS, cf_pq_eotf() or cf_hlg_inverse_oetf(). */
void cf_tonemap_light_table(CfTransfer transfer, float light[CF_TONEMAP_LIGHT_ENTRIES]);

/* What the curve says of v. */
typedef struct {
  float gain, room, saturation; /* stops, stops, and with the user's saturation */
} CfTonemapTone;

/* Entry i: of the plane's code 65535 i / TONE_STEPS. */
void cf_tonemap_tone_table(const CfTonemapCurve *curve, double saturation,
                           CfTonemapTone tone[CF_TONEMAP_TONE_ENTRIES]);
