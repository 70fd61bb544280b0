/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The sine series of engine=fast word by word, in double precision. Only its coefficients are the
 * engines' own, which tests/kernels/llf-plan.c looks after.
 */
#pragma once

#include "plan/llf_plan.h"
#include "naive_llf.h"

static inline NaivePyramid naive_series(const NaiveImage *image, const CfLlfParams *params)
{
  const CfLlfSeries series = cf_llf_series(params);
  const int limit = params->levels > 0 ? params->levels : 31, size = image->width * image->height;
  const NaiveImage sines = naive_image(image->width, image->height, 2);
  NaivePyramid result = naive_pyramid(image, limit), gaussian = naive_pyramid(image, limit);
  const int top = result.images - 1;

  for (int l = 0; l <= top; l++)
    for (int i = 0; i < result.image[l].width * result.image[l].height; i++)
      result.image[l].value[i] = l == top ? -series.linear * gaussian.image[l].value[i] : 0.0;
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
  naive_collapse(&result);
  for (int i = 0; i < size; i++)
    result.image[0].value[i] += (1.0 + series.linear) * image->value[i];
  free(sines.value);
  naive_free(&gaussian);
  return result;
}
