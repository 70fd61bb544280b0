/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How much regions cover one luma pixel, and how a partly covered sample is mixed: the definition,
 * compiled into the CPU engines and the CUDA kernels alike.
 *
 * All engines must round alike, so no expression here may be contracted to a fused multiply-add:
 * products are of integers, and floats are only added to quotients or roots.
 *
 * Distances are in half pixels from the pixel's centre, (2 x + 1, 2 y + 1): those of rectangles are
 * integers. Coverage is an integer, in 256ths.
 */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "plan/shared.h"

#define CF_COVERED 256

/* One region that is not empty, in the form that coverage is computed from. */
typedef struct {
  int x0, y0, x1, y1;       /* edges in luma pixels, clamped near the picture */
  int centre_x, centre_y;   /* half pixels */
  float square_x, square_y; /* squared semi-axes of an ellipse, half pixels */
  int smaller_axis;         /* the smaller semi-axis, half pixels */
  int x, y;                 /* top left corner of the region or of its CfRegions.whole, luma
                               pixels */
  int side;                 /* cf_region_side, luma pixels */
} CfShape;

/* Constants of all regions of a frame. */
typedef struct {
  bool ellipse, outside;
  float step; /* half pixels per 1/256 of coverage in the feather; 0 without feather, never for
                 ellipses */
  int reach;  /* luma pixels around its rectangle that a shape may cover */
} CfCoverageRule;

/* Coverage in the feather, a linear ramp, rounded half up. `distance` is in half pixels, >= 0. */
CF_SHARED int cf_faded(const CfCoverageRule *rule, float distance)
{
  if (rule->step == 0.0f)
    return 0;

  const float left = 256.5f - distance / rule->step;
  return left < 1.0f ? 0 : left >= 256.0f ? CF_COVERED : (int)left;
}

/* length^2, rounded once. Small lengths avoid 64-bit products, which GPUs emulate. */
CF_SHARED float cf_square(int length)
{
  return length > -32768 && length < 32768 ? (float)(length * length)
                                           : (float)((int64_t)length * length);
}

/* a^2 + b^2, rounded once. */
CF_SHARED float cf_sum_of_squares(int a, int b)
{
  if (a > -32768 && a < 32768 && b > -32768 && b < 32768)
    return (float)((uint32_t)(a * a) + (uint32_t)(b * b));
  return (float)((int64_t)a * a + (int64_t)b * b);
}

/* Coverage by a rectangle: CfCoverageRule's ramp of the Euclidean distance, of the depth with
 * `outside`. */
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

/* Distances to an ellipse are measured along the line through its centre. Pixels within rounding
 * errors of the edge count as covered. */
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

/* Coverage of one luma pixel by one region, or with `outside` by the complement of that region. */
CF_SHARED int cf_shape_coverage(const CfCoverageRule *rule, const CfShape *shape, int x, int y)
{
  return rule->ellipse ? cf_ellipse_coverage(rule, shape, x, y)
                       : cf_rectangle_coverage(rule, shape, x, y);
}

/* Whether, of two regions that cover a sample equally, the first owns it: that with the longer
 * CfShape.side or, of equals, that with the lower index in the list. */
CF_SHARED bool cf_owns_before(int side, int index, int other_side, int other_index)
{
  return side > other_side || (side == other_side && index < other_index);
}

/* The code value of a sample of which `coverage` 256ths are filtered, rounded half up. */
CF_SHARED uint32_t cf_mix(uint32_t source, uint32_t filtered, uint32_t coverage)
{
  return (source * (CF_COVERED - coverage) + filtered * coverage + CF_COVERED / 2) / CF_COVERED;
}

/* The same for a pixel of four 8-bit channels, channel `alpha` among them: colours are weighted by
 * their alpha, so that invisible colours do not show. Where both are transparent the filtered
 * colour stays. */
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
