/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The sine series of engine=fast, literally and in double precision. Only its coefficients come
 * from the plan, which tests/kernels/llf-plan.c tests.
 */
#pragma once

#include "plan/llf_plan.h"
#include "naive_llf.h"

static inline NaivePyramid naive_series(const NaiveImage *image, const CfLlfParams *params)
{
  const CfLlfSeries series = cf_llf_series(params);
  const NaiveDepth depth = naive_depth(image, params);
  const int limit = depth.levels, size = image->width * image->height;
  const NaiveImage sines = naive_image(image->width, image->height, 2);
  NaivePyramid result = naive_pyramid(image, limit), gaussian = naive_pyramid(image, limit);
  const int top = result.images - 1;

  for (int l = 0; l < top; l++) {
    const NaiveImage own = naive_laplacian(&gaussian, l);

    for (int i = 0; i < own.width * own.height; i++)
      result.image[l].value[i] = (1.0 + series.linear) * own.value[i];
    free(own.value);
  }
  for (int n = 0; n < series.harmonics; n++) {
    const double turn = (n + 1) * series.base;
    NaivePyramid planes;

    for (int i = 0; i < size; i++) {
      sines.value[2 * i] = sin(turn * image->value[i]);
      sines.value[2 * i + 1] = cos(turn * image->value[i]);
    }
    planes = naive_pyramid(&sines, limit);
    for (int l = 0; l < top; l++) {
      const NaiveImage own = planes.image[l];
      const NaiveImage expanded = naive_expand(&planes.image[l + 1], own.width, own.height);

      for (int i = 0; i < own.width * own.height; i++) {
        const double phase = turn * gaussian.image[l].value[i];

        result.image[l].value[i] +=
            series.b[n] * (cos(phase) * (own.value[2 * i] - expanded.value[2 * i]) -
                           sin(phase) * (own.value[2 * i + 1] - expanded.value[2 * i + 1]));
      }
      free(expanded.value);
    }
    naive_free(&planes);
  }
  naive_floor(&result, &gaussian, params);
  naive_share(&result, &gaussian, depth.last);
  naive_collapse(&result);
  free(sines.value);
  naive_free(&gaussian);
  return result;
}
