/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What every engine of the local Laplacian filter prepares on the host before it sees a pixel: the
 * shape of the pyramid, the remapping curve and its sine series, the sampled intensities, and how
 * code values and colours enter. All functions are pure and may be called from any thread.
 *
 * The filter, for one component I (0..1), with G_l its Gaussian pyramid (l = 0..images-1):
 *   L_l(p)  = coefficient at p of the Laplacian pyramid of r_g(I), g = G_l(p)
 *   r_g(i)  = g + cf_llf_remap (i - g)
 *   O_top   = G_top;  O_l = expand (O_l+1) + L_l
 *   result  = I + cf_llf_protected (O_0 - I) with `protect`, else O_0
 * Chroma follows luma (below), and the picture moves from the input to the result by `strength`.
 * Where `reach` ends within the last Laplacian level, that level is filtered by a share only: it
 * has share L_l + (1 - share) (G_l - expand (G_l+1)) instead of L_l. Borders are half-sample
 * symmetric (-1 reads 0) in reduce and, on the coarse image, in expand.
 */
#pragma once

#include "llf.h"

#define CF_LLF_MAX_IMAGES           32
#define CF_LLF_MAX_HARMONICS        16
#define CF_LLF_MAX_INTENSITY_LEVELS 256

/* Burt and Adelson's kernel with a = 0.4, {EDGE, SIDE, CENTRE, SIDE, EDGE}. reduce applies it and
 * keeps the even samples; expand inserts zeros and applies it with gain 2 on each axis, so even
 * samples have the weights {2 EDGE, 2 CENTRE, 2 EDGE} and odd ones {2 SIDE, 2 SIDE}. */
#define CF_LLF_TAP_CENTRE 0.40
#define CF_LLF_TAP_SIDE   0.25
#define CF_LLF_TAP_EDGE   0.05

/* With `protect`, the share of the distance to black or white that the filter may change a value
 * by. Below half, so that no code next to the last is rounded to the last. */
#define CF_LLF_MOST_OF_ROOM 0.49

/* How colour follows luma (color_mode = luminance). With Y the luma intensity clamped to 0..1, and
 * Y' the filter's result for it, before rounding:
 *
 *   follow = ease clamp ((Y' - Y) / (Y + EPSILON), 0, MAX_GAIN - 1),      where luma rises,
 *            ease = smoothstep (Y / EASED_BELOW)
 *
 *   follow = max ((Y' - Y) / max (Y, EPSILON), -1),                       where it falls
 *
 *   red' = red + Y' - Y + follow (red - Y), green and blue alike
 *
 *   chroma' = chroma + follow clamp (chroma - centre, -most, most)
 *
 *   most = MAX_CHROMA (Y + EPSILON)
 *
 * with chroma an intensity like Y. Near black chroma is mostly noise, so it is raised less than
 * luma. No colour of red, green and blue in 0..1 is farther than `most` from grey (BT.2020's blue
 * at Y = 0.0593: 0.5, most 0.506). Chroma beyond `most` is noise, and the excess stays as it is: an
 * error of luma would else show 128 times as large in chroma at black.
 *
 * With `protect` chroma also keeps away from its own limits. Let c be the distance of a chroma
 * sample from the centre; of both chroma samples the larger |c|, clamped and not, limits a `follow`
 * above 0 to
 *
 *   cf_llf_shoulder (follow, |clamp (c)|, MOST_OF_ROOM (1/2 - |c|))
 *
 * A subsampled chroma sample takes the mean Y and the mean Y' of its luma pixels inside the
 * picture. The luma code written is that of Y' plus what clamping Y had cut off, so foot and
 * headroom survive. Luma below one 8-bit step rises by an offset rather than a gain, so that noise
 * is not amplified without bound. Falling colours are scaled: with `protect` none loses more than
 * MOST_OF_ROOM of itself. */
#define CF_LLF_GAIN_EPSILON (1.0 / 255.0)
#define CF_LLF_MAX_GAIN     16.0
#define CF_LLF_EASED_BELOW  0.25
#define CF_LLF_MAX_CHROMA   8.0

/* value * room / (room^4 + (value * unit)^4)^(1/4): close to `value` where |value| * unit is well
 * below `room`, and bounded so that |result| * unit never exceeds `room`. unit, room >= 0. */
double cf_llf_shoulder(double value, double unit, double room);

/* How much of `added` a pixel of this intensity (0..1) gets with `protect`. `ceiling` is the
 * largest of its red, green and blue where luma is filtered and they grow with it, for luma and
 * chroma the intensity plus cf_llf_colour_above(); else the intensity itself:
 *
 *   added > 0: cf_llf_shoulder (added, ceiling + EPSILON,
 *                               MOST_OF_ROOM max (1 - ceiling, 0) (intensity + EPSILON))
 *
 *   else:      cf_llf_shoulder (added, 1, MOST_OF_ROOM intensity) */
double cf_llf_protected(double intensity, double ceiling, double added);

/* Red, green and blue less luma, per intensity of chroma from its centre. */
typedef struct {
  double red_of_red, blue_of_blue, green_of_blue, green_of_red;
} CfLlfColours;

CfLlfColours cf_llf_colours(const CfVideo *video);

/* By how much the largest of red, green and blue exceeds luma, from chroma less its centre. A luma
 * sample has the chroma sample that is subsampled with it. */
double cf_llf_colour_above(const CfLlfColours *colours, double blue_chroma, double red_chroma);

/* `follow`, as above, from luma before and after the filter. */
double cf_llf_follow(double luma, double filtered);

typedef struct {
  int images; /* Gaussian images, >= 1: one more than Laplacian levels; the last is the residual */
  int width[CF_LLF_MAX_IMAGES], height[CF_LLF_MAX_IMAGES]; /* in samples; [0] is the picture */
  double last_share; /* of the last Laplacian level: 1, or less where `reach` ends in it */
} CfLlfPyramid;

/* The pyramid of a width x height picture: floor (log2 (shorter side)) + 1 images, each side ceil
 * (n / 2) of the one before. params->levels > 0 keeps at most that many Laplacian levels, and
 * params->reach > 0 keeps log2 (reach * shorter side) of them, the last by a share; none where that
 * is 0 or less. The shorter side is there that of the frame, for a `field` as for CfVideo.field.
 * With one image the filter changes nothing. */
CfLlfPyramid cf_llf_pyramid(int width, int height, bool field, const CfLlfParams *params);

/* The same at full depth. */
CfLlfPyramid cf_llf_full_pyramid(int width, int height);

/* r(d): what a difference d = i - g from the local intensity becomes. Odd, r(0) = 0, never
 * decreasing. For colour vectors it is applied to the length of the difference. */
double cf_llf_remap(const CfLlfParams *params, double d);

/* The curve as a sine series, for |d| <= 1:
 *   r(d) = (1 + linear) d + sum over n = 1..harmonics of b[n-1] sin (w_n d),  w_n = n base
 *
 * It makes each Laplacian coefficient a sum of coefficients of the 2 harmonics planes sin (w_n I)
 * and cos (w_n I), all at p:
 *   L_l(p) = (1 + linear) L_l[I] + S_l
 *
 *   S_l = sum b_n (cos (w_n g) L_l[sin w_n I] - sin (w_n g) L_l[cos w_n I])
 *
 * With D_l = O_l - (1 + linear) G_l only differences need to be collapsed:
 *
 *   D_top = -linear G_top;  D_l = expand (D_l+1) + S_l;  output = (1 + linear) I + D_0
 *
 * At l = 0 a pixel's own terms cancel in S_l, so the planes are needed from level 1 on only. All b
 * and `linear` are exactly 0 where alpha = beta = 1. */
typedef struct {
  int harmonics; /* params->harmonics, terms of the series */
  double linear;
  double base; /* angular frequency of the first harmonic, radians per full scale */
  double b[CF_LLF_MAX_HARMONICS];
} CfLlfSeries;

/* Fits the series to the curve on [0, 1] by weighted least squares, under the condition that it
 * never decreases. Continuous in sigma, alpha, beta and noise_floor. */
CfLlfSeries cf_llf_series(const CfLlfParams *params);

/* The value of the series at d. */
double cf_llf_series_value(const CfLlfSeries *series, double d);

/* Weights at the noise floor. Neither the series nor samples can follow the bend of the curve at
 * the noise floor: around d = 0 their slope is that of the curve beyond it. So the change that they
 * make to a coefficient of the finest levels is weighted by the local contrast of the input, the
 * standard deviation of its Gaussian pyramid. With I_l = G_l - expand (G_l+1) the input's own
 * coefficient:
 *
 *   L_l      = I_l + spread (weight_l) (S_l + linear I_l)
 *
 *   weight_l = share smoothstep (slope sqrt (mean (G_l^2) - mean (G_l)^2 + DARK^2) + offset)
 *
 * for each block of 4 x 4 samples. `mean` is the mean over the block's samples, smoothed along both
 * axes by the taps 1/16, 7/8, 1/16 of neighbouring blocks, since the coefficients of a step reach
 * that far. `spread` interpolates linearly between the middles of blocks, and has one value for
 * each cell of 2 x 2 samples, that of the cell's middle. Borders of samples (where a last cell
 * lacks some), of cells and of blocks are replicated. smoothstep (t) = t^2 (3 - 2 t), t clamped to
 * 0..1. Weights rise from 0 to 1 between deviations of 0.33 and 0.66 of the noise floor. DARK only
 * makes weights go to 1 everywhere as the noise floor goes to 0.
 *
 * The noise floor of the weights fades to 0 as alpha nears 1, above which the curve has none. share
 * is 1 but for the pyramid's last level, which has CfLlfPyramid.last_share. With W the first level
 * without weights, the collapse continues from there as
 *
 *   E_W = D_W + linear G_W;  E_l = expand (E_l+1) + spread (weight_l) (S_l + linear I_l)
 *
 *   output = I + E_0
 *
 * Without weights W = 0. A last level beyond the weighted ones has share D_l - (1 - share) linear
 * G_l instead of D_l. */
#define CF_LLF_WEIGHTED_LEVELS 3
#define CF_LLF_WEIGHT_DARK     1e-4
#define CF_LLF_WEIGHT_BLOCK    4

typedef struct {
  int levels; /* levels 0 .. levels - 1 are weighted; 0: none is, all weights are 1 */
  double slope, offset, share[CF_LLF_WEIGHTED_LEVELS];
} CfLlfWeights;

/* The number of blocks along an axis of `samples` samples. */
static inline int cf_llf_weight_blocks(int samples)
{
  return (samples + CF_LLF_WEIGHT_BLOCK - 1) / CF_LLF_WEIGHT_BLOCK;
}

/* The weights of the engines CF_LLF_FAST and CF_LLF_SAMPLED. */
CfLlfWeights cf_llf_weights(const CfLlfParams *params, const CfLlfPyramid *pyramid);

/* Number of sampled intensities of CF_LLF_SAMPLED: params->intensity_levels, or where that is 0
 * MATLAB's rule, times up to 2 for noise floors from 0.02 down to 0.01 and less. Sample k is the
 * intensity k / (count - 1). A coefficient is interpolated linearly between those of the two
 * samples around g, on every level. The finest level too: with its exact first term, I itself, flat
 * areas would shift by the error of the interpolated curve at d = 0. */
int cf_llf_intensity_levels(const CfLlfParams *params);

/* Where a component of this role enters the filter: intensity = (code - offset) / scale. As
 * cf_code_range() for luma, red, green and blue; for chroma so that its neutral code is 0.5. */
void cf_llf_component_range(const CfVideo *video, CfRole role, double *offset, double *scale);

/* A component of a format: where it lies, and how code values become intensities. Sizes are in
 * samples of its plane. */
typedef struct {
  int plane, channel; /* plane, and channel among its interleaved ones */
  int width, height;
  double offset, scale; /* cf_llf_component_range() */
} CfLlfComponent;

/* The components of a format, without alpha and padding: luma; luma, blue and red chroma; or red,
 * green and blue. Returns their number, 1..3. */
int cf_llf_components(const CfVideo *video, CfLlfComponent components[3]);

/* The weights of red, green and blue in luma, in the order of cf_llf_components(). */
void cf_llf_luma_weights(const CfVideo *video, double weight[3]);
