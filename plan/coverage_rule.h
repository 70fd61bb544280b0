/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How much regions cover one luma pixel, and how a partly covered sample is mixed: the definition,
 * compiled into the CPU engines and the CUDA kernels alike.
 *
 * All engines must round alike, so nothing here can be contracted into fused operations: products
 * are integers, and what floats are added to are quotients or roots.
 *
 * Distances are in half pixels, from the pixel's centre (2 x + 1, 2 y + 1), which keeps those of
 * rectangles whole. Coverage is a number of 256ths.
 */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "plan/shared.h"

#define CF_COVERED 256

/* One region, not empty, ready to be asked. */
typedef struct {
  int x0, y0, x1, y1;       /* its edges, moved nearer where they are far from the picture */
  int centre_x, centre_y;   /* half pixels */
  float square_x, square_y; /* squares of an ellipse's semi-axes, half pixels */
  int smaller_axis;         /* the smaller semi-axis, half pixels */
  int x, y;                 /* its top left, wherever that is, or of what it is a part of */
  int side;                 /* the shorter side, pixels, likewise */
} CfShape;

/* What is the same for all regions of a frame. */
typedef struct {
  bool ellipse, outside;
  float step; /* half pixels in which the coverage falls by 1/256; 0 without feather, never for
                 ellipses */
  int reach;  /* luma pixels around its rectangle that a shape may cover */
} CfCoverageRule;

/* The linear ramp, rounded half up. */
CF_SHARED int cf_faded(const CfCoverageRule *rule, float distance)
{
  if (rule->step == 0.0f)
    return 0;

  const float left = 256.5f - distance / rule->step;
  return left < 1.0f ? 0 : left >= 256.0f ? CF_COVERED : (int)left;
}

/* A square, rounded once; GPUs have no multiplication of 64 bits. */
CF_SHARED float cf_square(int length)
{
  return length > -32768 && length < 32768 ? (float)(length * length)
                                           : (float)((int64_t)length * length);
}

CF_SHARED float cf_sum_of_squares(int a, int b)
{
  if (a > -32768 && a < 32768 && b > -32768 && b < 32768)
    return (float)((uint32_t)(a * a) + (uint32_t)(b * b));
  return (float)((int64_t)a * a + (int64_t)b * b);
}

CF_SHARED int cf_rectangle_coverage(const CfCoverageRule *rule, const CfShape *shape, int x, int y)
{
  const int left = 2 * (x - shape->x0) + 1, right = 2 * (shape->x1 - x) - 1;
  const int top = 2 * (y - shape->y0) + 1, bottom = 2 * (shape->y1 - y) - 1;
  const int across = left < right ? left : right, down = top < bottom ? top : bottom;

  if (rule->outside) {
    const int depth = across < down ? across : down;
    return depth < 0 ? CF_COVERED : cf_faded(rule, (float)depth);
  }
  if (across > 0 && down > 0)
    return CF_COVERED;
  if (across > 0 || down > 0)
    return cf_faded(rule, -(float)(across < down ? across : down));
  return cf_faded(rule, sqrtf(cf_sum_of_squares(across, down)));
}

/* Distances to an ellipse are along the line to its centre. Pixels within rounding errors of the
 * edge are covered. */
CF_SHARED int cf_ellipse_coverage(const CfCoverageRule *rule, const CfShape *shape, int x, int y)
{
  const int across = 2 * x + 1 - shape->centre_x, down = 2 * y + 1 - shape->centre_y;
  const float square = cf_square(across) / shape->square_x + cf_square(down) / shape->square_y;

  if (rule->outside ? square > 0.99999f : square < 1.00001f)
    return CF_COVERED;
  if (square == 0.0f)
    return cf_faded(rule, (float)shape->smaller_axis);

  const float length = sqrtf(cf_sum_of_squares(across, down));
  return cf_faded(rule, fabsf(length / sqrtf(square) - length));
}

/* Coverage of one luma pixel by one region, or with `outside` by all but that region. */
CF_SHARED int cf_shape_coverage(const CfCoverageRule *rule, const CfShape *shape, int x, int y)
{
  return rule->ellipse ? cf_ellipse_coverage(rule, shape, x, y)
                       : cf_rectangle_coverage(rule, shape, x, y);
}

/* The code value of a sample that is covered by `coverage` 256ths. */
CF_SHARED uint32_t cf_mix(uint32_t source, uint32_t filtered, uint32_t coverage)
{
  return (source * (CF_COVERED - coverage) + filtered * coverage + CF_COVERED / 2) / CF_COVERED;
}

/* The same for four 8-bit channels, `alpha` among them: colours count as much as they are visible,
 * so that invisible ones show nowhere. Where both are transparent the filtered colour stays. */
CF_SHARED void cf_mix_weighted(uint8_t *pixel, const uint8_t *source, const uint8_t *filtered,
                               int alpha, uint32_t coverage)
{
  const uint32_t source_weight = source[alpha] * (CF_COVERED - coverage);
  const uint32_t filtered_weight = filtered[alpha] * coverage;
  const uint32_t weight = source_weight + filtered_weight;
  uint8_t mixed[4];

  for (int k = 0; k < 4; k++) {
    const uint32_t sum = source[k] * source_weight + filtered[k] * filtered_weight;

    if (k == alpha)
      mixed[k] = (uint8_t)((weight + CF_COVERED / 2) / CF_COVERED);
    else
      mixed[k] = weight ? (uint8_t)((2 * sum + weight) / (2 * weight)) : filtered[k];
  }
  for (int k = 0; k < 4; k++)
    pixel[k] = mixed[k];
}
