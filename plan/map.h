/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Blur maps: the map value m in 0..1 of each sample of each plane, and the sigma that m stands for.
 * The same for all engines: inline functions also compile as device code.
 *
 * Positions are luma pixels; pixel (x, y) covers x..x+1, y..y+1, its centre is (x + 1/2, y + 1/2).
 * A sample of a subsampled plane covers 1x2, 2x1 or 2x2 pixels. Modes that depend on a position
 * take the middle of these pixels; modes that depend on the picture take the mean code of those
 * inside the picture. Pixels of a field are twice as high as wide: y, below, then counts double.
 * With W, H the picture's width and height:
 *
 *   file    the image stretched over W x H, bilinear between the centres of its pixels, the
 *           outermost ones continued
 *   radial  d = |position - (map_x W, map_y H)| / W
 *   linear  d = the distance / W from the line through (map_x W, map_y H) that points map_angle
 *           degrees from the horizontal, positive downwards on the right
 *   luma    code values, 0 at black, 1 at white, clamped; of RGB kr R + (1 - kr - kb) G + kb B
 *   alpha   code value / largest; 1 in formats without alpha
 *
 * radial and linear: m = 0 up to d = map_inner, 1 from map_outer on, linear between; where
 * map_outer <= map_inner m jumps just after map_inner. map_invert makes 1 - m of every mode.
 */
#pragma once

#include <math.h>

#include "gaussblur.h"

#ifdef __CUDACC__
#define CF_MAP_INLINE static __host__ __device__ __forceinline__
#else
#define CF_MAP_INLINE static inline
#endif

#define CF_MAP_ONE 65535 /* the value of a CfMap pixel that stands for m = 1 */

/* ---- The image of CF_MAP_FILE ---- */

#define CF_MAP_LARGEST_SIZE 32768     /* of width and height */
#define CF_MAP_MOST_PIXELS  (1 << 27) /* 256 MiB of values; as many pixels as 16384x8192 */

/* Reads a PGM or PPM (P2, P3, P5, P6, any maxval) or a PNG of any kind, recognised by content.
 * Colours count by their BT.709 luma; alpha is ignored. Needs no more memory than the values and
 * one row. Refuses anything but a regular file without opening it, so it never waits for a pipe.
 * NULL with CF_ERROR_INVALID or CF_ERROR_NO_MEMORY; the message names the file. The caller gets the
 * only reference. From any thread. */
CfMap *cf_map_load(const char *path, CfStatus *status);

/* A map with a copy of `values`, row by row, 0..CF_MAP_ONE. NULL with CF_ERROR_NO_MEMORY. */
CfMap *cf_map_new(int width, int height, const uint16_t *values, CfStatus *status);

/* The same, but takes ownership of `values`, from malloc; on failure they are freed. */
CfMap *cf_map_take(int width, int height, uint16_t *values, CfStatus *status);

/* Takes, and drops, a reference; the last one frees the map. From any thread; NULL is allowed. */
CfMap *cf_map_ref(const CfMap *map);
void cf_map_unref(const CfMap *map);

/* In pixels; values are valid as long as the map. */
int cf_map_width(const CfMap *map);
int cf_map_height(const CfMap *map);
const uint16_t *cf_map_values(const CfMap *map); /* width * height, without padding */

/* ---- Modes that depend on a position ---- */

/* How the samples of one plane read the map; plain numbers, passed to kernels by value. */
typedef struct {
  int mode;     /* CfMapMode */
  float invert; /* 1 or 0 */

  /* radial, linear: the position of sample (x, y), relative to the centre, in units of W: (x step_x
   * + start_x, y step_y + start_y). */
  float step_x, start_x, step_y, start_y;
  float normal_x, normal_y; /* linear: distance = |normal . position|; radial: unused */
  float inner, slope;       /* m = clamp((d - inner) slope, 0, 1); a jump has a slope of 1e30 */

  /* file: the position of sample (x, y) in pixels of the image, whose centres are at integers, is
   * (x scale_x + offset_x, y scale_y + offset_y), clamped to 0..map_width-1, 0..map_height-1. */
  float scale_x, offset_x, scale_y, offset_y;
  int map_width, map_height;
} CfMapShape;

/* The shape for plane `p`. The params have passed their checks. */
CfMapShape cf_map_shape(const CfVideo *video, const CfGaussblurParams *params, int p);

/* m of sample (x, y) of the plane for radial and linear, after inversion. */
CF_MAP_INLINE float cf_map_analytic(const CfMapShape *shape, int x, int y)
{
  const float dx = (float)x * shape->step_x + shape->start_x;
  const float dy = (float)y * shape->step_y + shape->start_y;
  const float distance = shape->mode == CF_MAP_RADIAL
                             ? sqrtf(dx * dx + dy * dy)
                             : fabsf(dx * shape->normal_x + dy * shape->normal_y);
  const float m = fminf(fmaxf((distance - shape->inner) * shape->slope, 0.0f), 1.0f);

  return shape->invert != 0.0f ? 1.0f - m : m;
}

/* m of sample (x, y) for file, after inversion; `values` as cf_map_values. */
CF_MAP_INLINE float cf_map_bilinear(const CfMapShape *shape, const uint16_t *values, int x, int y)
{
  const float u = fminf(fmaxf((float)x * shape->scale_x + shape->offset_x, 0.0f),
                        (float)(shape->map_width - 1));
  const float v = fminf(fmaxf((float)y * shape->scale_y + shape->offset_y, 0.0f),
                        (float)(shape->map_height - 1));
  const int left = (int)u, top = (int)v;
  const int right = left + 1 < shape->map_width ? left + 1 : left;
  const int bottom = top + 1 < shape->map_height ? top + 1 : top;
  const float fu = u - (float)left, fv = v - (float)top;
  const uint16_t *upper = values + (size_t)top * (size_t)shape->map_width;
  const uint16_t *lower = values + (size_t)bottom * (size_t)shape->map_width;
  const float above = (float)upper[left] + fu * ((float)upper[right] - (float)upper[left]);
  const float below = (float)lower[left] + fu * ((float)lower[right] - (float)lower[left]);
  const float m = (above + fv * (below - above)) * (1.0f / CF_MAP_ONE);

  return shape->invert != 0.0f ? 1.0f - m : m;
}

/* ---- From m to sigma ---- */

/* In samples of one plane: along each axis, m stands for s0 + m (s1 - s0). s0 is sigma_min along
 * both axes, s1 is sigma along rows and sigma_vertical along columns. */
typedef struct {
  double horizontal[2]; /* at m = 0 and m = 1 */
  double vertical[2];
} CfMapSigmas;

/* Of plane `p`. Without a map both ends of an axis are equal. */
CfMapSigmas cf_map_sigmas(const CfVideo *video, const CfGaussblurParams *params, int p);

/* How luma and alpha read the picture: m = clamp(offset + sum over the terms of weight * code, 0,
 * 1), after inversion. The planes of the terms are not subsampled. */
typedef struct {
  int terms;
  struct {
    int plane, channel;
    float weight;
  } term[3];
  float offset;
} CfMapMixer;

/* The terms for luma or alpha in this format; none for alpha where the format has none. */
CfMapMixer cf_map_mixer(const CfVideo *video, const CfGaussblurParams *params);

/* Whether m is the same for all samples of every picture, and then its value: without a map, for
 * alpha in formats without alpha, for a file whose pixels are all equal. */
bool cf_map_is_constant(const CfVideo *video, const CfGaussblurParams *params, double *m);
