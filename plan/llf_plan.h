/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What every engine of the local Laplacian filter prepares on the host before it sees a pixel: the
 * shape of the pyramid, the remapping curve and its sine series, the sampled intensities, and how
 * code values and colours enter. All functions are pure and safe from any thread.
 *
 * The filter, for one component I (0..1), with G_l its Gaussian pyramid (l = 0..images-1):
 *   L_l(p)  = coefficient at p of the Laplacian pyramid of r_g(I), g = G_l(p)
 *   r_g(i)  = g + cf_llf_remap (i - g)
 *   O_top   = G_top;  O_l = expand (O_l+1) + L_l
 *   result  = I + cf_llf_protected (O_0 - I), or O_0
 * Colours follow, and of all that the result differs in from the input, the picture gets
 * `strength`. The last level before the residual, of which `reach` may want a share only, has share
 * L_l + (1 - share) (G_l - expand (G_l+1)) instead of L_l. Borders are half-sample symmetric (-1
 * reads 0) in reduce and, on the coarse image, in expand.
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

/* How far what the filter adds may go (protect): so much of the way to black or white. Less than
 * half, so that no code next to the last becomes the last by rounding. */
#define CF_LLF_MOST_OF_ROOM 0.49

/* How colour follows luma (color_mode = luminance). With Y the luma intensity clamped to 0..1, and
 * Y' what the filter makes of it, before rounding:
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
 * with chroma an intensity like Y. Near black, where chroma is mostly noise, it is raised less than
 * luma. No colour that red, green and blue of 0..1 can make is farther than `most` from grey
 * (BT.2020's blue at Y = 0.0593: 0.5, most 0.506). What is, as in noise, keeps the rest as it is:
 * else chroma at black would show 128 times what luma is off by.
 *
 * With `protect` chroma has its own end to keep from: of both chroma samples c the larger distance
 * from the centre, clamped and not, limits a `follow` above 0 to
 *
 *   cf_llf_shoulder (follow, |clamp (c)|, MOST_OF_ROOM (1/2 - |c|))
 *
 * A subsampled chroma sample takes the mean Y and the mean Y' of its luma pixels inside the
 * picture. The luma code written is that of Y' plus what clamping Y had cut off, so foot and
 * headroom survive. Shadows below one 8-bit step rise by a shift rather than a scale: noise cannot
 * explode. Falling colours are scaled, so that with `protect` none of them loses more than that. */
#define CF_LLF_GAIN_EPSILON (1.0 / 255.0)
#define CF_LLF_MAX_GAIN     16.0
#define CF_LLF_EASED_BELOW  0.25
#define CF_LLF_MAX_CHROMA   8.0

/* value * room / (room^4 + (value * unit)^4)^(1/4): as `value` where value * unit is well below
 * `room` >= 0, and so bounded that value * unit never exceeds `room`. */
double cf_llf_shoulder(double value, double unit, double room);

/* What of `added` a pixel of this intensity (0..1) gets with `protect`. `ceiling` is the largest of
 * red, green and blue where their luma is filtered, which all grow with it, else the intensity:
 *
 *   added > 0: cf_llf_shoulder (added, ceiling + EPSILON,
 *                               MOST_OF_ROOM (1 - ceiling) (intensity + EPSILON))
 *
 *   else:      cf_llf_shoulder (added, 1, MOST_OF_ROOM intensity) */
double cf_llf_protected(double intensity, double ceiling, double added);

/* `follow` from luma before and after the filter. */
double cf_llf_follow(double luma, double filtered);

typedef struct {
  int images; /* Gaussian images, >= 1: one more than Laplacian levels, the last is the residual */
  int width[CF_LLF_MAX_IMAGES], height[CF_LLF_MAX_IMAGES]; /* [0] is the picture */
  double last_share; /* of the last Laplacian level: 1, less where `reach` ends in it */
} CfLlfPyramid;

/* The pyramid of a width x height picture: floor (log2 (min)) + 1 images, each ceil (n / 2) of the
 * one before; params->levels > 0 keeps at most that many Laplacian levels, and params->reach > 0
 * log2 (reach min) of them, of the last of which a share: none at 0 or less. One image means: no
 * change. */
CfLlfPyramid cf_llf_pyramid(int width, int height, const CfLlfParams *params);

/* The same at full depth. */
CfLlfPyramid cf_llf_full_pyramid(int width, int height);

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

/* Neither series nor samples can draw the curve's bend at the noise floor: around 0 their slope is
 * that of the curve beyond it. So what they add to a coefficient of the finest levels is weighted
 * by what there is in the input, the local variance of its Gaussian pyramid. With I_l the input's
 * own coefficient G_l - expand (G_l+1):
 *
 *   L_l      = I_l + spread (weight_l) (S_l + linear I_l)
 *
 *   weight_l = share smoothstep (slope sqrt (mean (G_l^2) - mean (G_l)^2 + DARK^2) + offset)
 *
 * of each block of 4 x 4 samples. mean is that of the block's samples, smoothed both ways by the
 * taps 1/16, 7/8, 1/16 of blocks: a coefficient reaches that far, of a step. spread is linear
 * between the blocks' middles, and one for a cell of 2 x 2 samples: that at its middle. All borders
 * repeat: samples where a last cell lacks some, cells, blocks.
 * smoothstep (t) = t^2 (3 - 2 t) with t clamped to 0..1. A level opens where the deviation is 0.33
 * to 0.66 of the noise floor. DARK is so small that it only makes weights go to 1, everywhere,
 * where the noise floor goes to 0.
 *
 * Where alpha nears 1 the floor fades, since the curve has none from there on. The share is that of
 * the pyramid's last level. Collapsed are, from the first level without weights, W, on:
 *
 *   E_W = D_W + linear G_W;  E_l = expand (E_l+1) + spread (weight_l) (S_l + linear I_l)
 *
 *   output = I + E_0
 *
 * Without weights W = 0. A last level that is not weighted has share D_l - (1 - share) linear G_l
 * for D_l. */
#define CF_LLF_WEIGHTED_LEVELS 3
#define CF_LLF_WEIGHT_DARK     1e-4
#define CF_LLF_WEIGHT_BLOCK    4

typedef struct {
  int levels; /* that have weights: 0 .. levels - 1; 0: none, all are 1 */
  double slope, offset, share[CF_LLF_WEIGHTED_LEVELS];
} CfLlfWeights;

/* Blocks of so many samples. */
static inline int cf_llf_weight_blocks(int samples)
{
  return (samples + CF_LLF_WEIGHT_BLOCK - 1) / CF_LLF_WEIGHT_BLOCK;
}

/* The weights of engines fast and sampled. */
CfLlfWeights cf_llf_weights(const CfLlfParams *params, const CfLlfPyramid *pyramid);

/* Sampled intensities of engine=sampled: params->intensity_levels, or where it is 0 MATLAB's rule,
 * and below a noise floor of 0.02 more, up to twice as many at 0.01 and less. Sample k is the
 * intensity k / (count - 1); a coefficient is interpolated linearly between those of the two
 * samples around g, on every level, the first included: with the exact first term there, I itself,
 * flat areas would shift by what the interpolated curve is off at d = 0. */
int cf_llf_intensity_levels(const CfLlfParams *params);

/* Where a component of this role enters the filter: intensity = (code - offset) / scale. Luma, red,
 * green and blue as cf_code_range(); chroma so that its neutral value is 0.5. */
void cf_llf_component_range(const CfVideo *video, CfRole role, double *offset, double *scale);

/* A component of a format: where it lies, and how code values become intensities. Sizes are in its
 * own samples. */
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
