/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What every engine of the local Laplacian filter prepares on the host before it sees a pixel: the
 * shape of the pyramid, the remapping curve and its sine series, the sampled intensities, and how
 * code values and colours enter. All functions are pure and safe from any thread.
 *
 * The filter, for one component I (0..1), with G_l its Gaussian pyramid (l = 0..images-1):
 *   L_l(p)  = coefficient at p of the Laplacian pyramid of r_g(I), g = G_l(p)
 *   r_g(i)  = g + cf_llf_remap (i - g)
 *   O_top   = G_top;  O_l = expand (O_l+1) + L_l;  output = O_0
 * Borders are half-sample symmetric (-1 reads 0) in reduce and, on the coarse image, in expand.
 */
#pragma once

#include "llf.h"

#define CF_LLF_MAX_IMAGES           32
#define CF_LLF_MAX_HARMONICS        16
#define CF_LLF_MAX_INTENSITY_LEVELS 256

/* Burt and Adelson's kernel with a = 0.4 is {EDGE, SIDE, CENTRE, SIDE, EDGE}: reduce applies it
 * and keeps the even samples; expand inserts zeros and applies it with gain 2 on each axis, so even
 * samples read {2 EDGE, 2 CENTRE, 2 EDGE} and odd ones {2 SIDE, 2 SIDE}. */
#define CF_LLF_TAP_CENTRE 0.40
#define CF_LLF_TAP_SIDE   0.25
#define CF_LLF_TAP_EDGE   0.05

/* How colour follows luma (color_mode = luminance). With Y the luma intensity clamped to 0..1, and
 * Y' what the filter makes of it, before rounding:
 *
 *   gain = clamp ((Y' + EPSILON) / (Y + EPSILON), 0, MAX_GAIN)
 *
 *   red' = Y' + gain (red - Y), green and blue alike
 *
 *   chroma' = chroma + (gain - 1) clamp (chroma - centre, -most, most)
 *
 *   most = MAX_CHROMA (Y + EPSILON)
 *
 * with chroma an intensity like Y. No colour that red, green and blue of 0..1 can make is farther
 * than `most` from grey (BT.2020's blue at Y = 0.0593: 0.5, most 0.506). What is, as in noise,
 * keeps the rest as it is: else chroma at black would show 128 times what luma is off by.
 *
 * A subsampled chroma sample takes the mean Y and the mean Y' of its luma pixels inside the
 * picture. The luma code written is that of Y' plus what clamping Y had cut off, so foot and
 * headroom survive. Shadows below one 8-bit step shift rather than scale: noise cannot explode. */
#define CF_LLF_GAIN_EPSILON (1.0 / 255.0)
#define CF_LLF_MAX_GAIN     16.0
#define CF_LLF_MAX_CHROMA   8.0

typedef struct {
  int images; /* Gaussian images, >= 1: one more than Laplacian levels, the last is the residual */
  int width[CF_LLF_MAX_IMAGES], height[CF_LLF_MAX_IMAGES]; /* [0] is the picture */
} CfLlfPyramid;

/* The pyramid of a width x height picture: floor (log2 (min)) + 1 images, each ceil (n / 2) of the
 * one before; `levels` > 0 keeps at most that many Laplacian levels. One image means: no change. */
CfLlfPyramid cf_llf_pyramid(int width, int height, int levels);

/* r(d): what a difference d = i - g to the local intensity becomes. Odd, r(0) = 0, never
 * decreasing. For colour vectors apply it to the length of the difference. */
double cf_llf_remap(const CfLlfParams *params, double d);

/* The curve as a series, for |d| <= 1:
 *   r(d) = (1 + linear) d + sum over n = 1..harmonics of b[n-1] sin (w_n d),  w_n = n base
 *
 * which makes each Laplacian coefficient a sum of those of 2 harmonics planes sin (w_n I) and
 * cos (w_n I), taken at p:
 *   L_l(p) = (1 + linear) L_l[I] + S_l
 *
 *   S_l = sum b_n (cos (w_n g) L_l[sin w_n I] - sin (w_n g) L_l[cos w_n I])
 *
 * With D_l = O_l - (1 + linear) G_l only differences are collapsed:
 *
 *   D_top = -linear G_top;  D_l = expand (D_l+1) + S_l;  output = (1 + linear) I + D_0
 *
 * At l = 0 a pixel's own terms cancel in S_l, so its planes are needed from level 1 only. All b and
 * `linear` are exactly 0 where alpha = beta = 1. */
typedef struct {
  int harmonics; /* params->harmonics */
  double linear;
  double base; /* angular frequency of the first harmonic, radians per full scale */
  double b[CF_LLF_MAX_HARMONICS];
} CfLlfSeries;

/* Fits the series to the curve on [0, 1], by weighted least squares under the condition that it
 * never decreases, in well under a millisecond. Continuous in sigma, alpha, beta, noise_floor. */
CfLlfSeries cf_llf_series(const CfLlfParams *params);

/* The value of the series at d. */
double cf_llf_series_value(const CfLlfSeries *series, double d);

/* Sampled intensities of engine=sampled: params->intensity_levels, or MATLAB's rule where it is 0.
 * Sample k is the intensity k / (count - 1); a coefficient is interpolated linearly between those
 * of the two samples around g, on every level, the first included: replacing only the first term of
 * level 0 by its exact value (I itself) gains 2 to 5 dB on texture, but shifts flat areas by what
 * the interpolated curve is off at d = 0, up to 11 8-bit codes, in bands between the samples. */
int cf_llf_intensity_levels(const CfLlfParams *params);

/* Where a component of this role enters the filter: intensity = (code - offset) / scale. Luma, red,
 * green and blue as cf_code_range(); chroma so that its neutral value is 0.5. */
void cf_llf_component_range(const CfVideo *video, CfRole role, double *offset, double *scale);

/* A component of a format: where it lies, and how code values become intensities. */
typedef struct {
  int plane, channel; /* channel counts interleaved samples */
  int width, height;
  double offset, scale; /* of cf_llf_component_range() */
} CfLlfComponent;

/* The components of a format but alpha and padding, 1..3 of them: luma; luma, blue and red chroma;
 * or red, green and blue. */
int cf_llf_components(const CfVideo *video, CfLlfComponent components[3]);

/* Luma's weights of red, green and blue, in the order of cf_llf_components(). */
void cf_llf_luma_weights(const CfVideo *video, double weight[3]);
