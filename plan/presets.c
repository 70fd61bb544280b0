/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/presets.h"

#include <math.h>

#include "plan/gaussian.h"

const CfChoice cf_sepconv_preset_choices[] = {
    {CF_SEPCONV_CUSTOM, "custom", "row-kernel and column-kernel"},
    {CF_SEPCONV_BOX, "box", "the mean: every tap 1/n"},
    {CF_SEPCONV_BINOMIAL, "binomial", "row n-1 of Pascal's triangle over 2^(n-1)"},
    {CF_SEPCONV_GAUSSIAN, "gaussian", "Gaussian of sigma 0.3 ((n-1)/2 - 1) + 0.8"},
    {CF_SEPCONV_SOBEL_X, "sobel-x",
     "derivative along rows: above mid grey where the picture gets brighter to the right"},
    {CF_SEPCONV_SOBEL_Y, "sobel-y",
     "derivative along columns: above mid grey where the picture gets brighter downwards"},
    {CF_SEPCONV_SHARPEN, "sharpen",
     "twice the sample minus the binomial mean, along rows and columns"},
    {CF_SEPCONV_UNSHARP, "unsharp",
     "the sample plus amount times its difference from the Gaussian mean"},
    {0, NULL, NULL},
};

/* Convolves the kernel with the taps {left, 1}. */
static void append_pair(CfKernel *kernel, double left)
{
  kernel->tap[kernel->taps] = 0.0;
  for (int i = kernel->taps; i >= 0; i--)
    kernel->tap[i] = left * kernel->tap[i] + (i > 0 ? kernel->tap[i - 1] : 0.0);
  kernel->taps++;
}

static void box(CfKernel *kernel, int size)
{
  kernel->taps = size;
  for (int i = 0; i < size; i++)
    kernel->tap[i] = 1.0 / size;
}

/* Row size - 1 of Pascal's triangle. */
static void pascal(CfKernel *kernel, int size)
{
  kernel->taps = 1;
  kernel->tap[0] = 1.0;
  while (kernel->taps < size)
    append_pair(kernel, 1.0);
}

static void binomial(CfKernel *kernel, int size)
{
  pascal(kernel, size);
  for (int i = 0; i < size; i++) {
    for (int half = 1; half < size; half++)
      kernel->tap[i] *= 0.5;
  }
}

/* Sobel's kernel: the difference of neighbours, smoothed by Pascal's triangle, over the sum of
 * magnitudes. */
static void derivative(CfKernel *kernel, int size)
{
  double magnitude = 0.0;

  pascal(kernel, size - 1);
  append_pair(kernel, -1.0);
  for (int i = 0; i < size; i++)
    magnitude += fabs(kernel->tap[i]);
  for (int i = 0; i < size; i++)
    kernel->tap[i] /= magnitude;
}

static void gaussian(CfKernel *kernel, int size)
{
  kernel->taps = size;
  cf_gaussian_taps(0.3 * ((size - 1) * 0.5 - 1.0) + 0.8, size / 2, kernel->tap);
}

static void sharpen(CfKernel *kernel, int size)
{
  binomial(kernel, size);
  cf_sharpening_taps(size / 2, kernel->tap);
}

double cf_sepconv_preset_bias(CfSepconvPreset preset)
{
  return preset == CF_SEPCONV_SOBEL_X || preset == CF_SEPCONV_SOBEL_Y ? 0.5 : 0.0;
}

void cf_sepconv_preset_kernels(CfSepconvPreset preset, int size, CfKernel *row, CfKernel *column)
{
  switch (preset) {
  case CF_SEPCONV_BOX:
    box(row, size);
    break;
  case CF_SEPCONV_BINOMIAL:
    binomial(row, size);
    break;
  case CF_SEPCONV_GAUSSIAN:
  case CF_SEPCONV_UNSHARP:
    gaussian(row, size);
    break;
  case CF_SEPCONV_SHARPEN:
    sharpen(row, size);
    break;
  case CF_SEPCONV_SOBEL_X:
    derivative(row, size);
    binomial(column, size);
    return;
  case CF_SEPCONV_SOBEL_Y:
    binomial(row, size);
    derivative(column, size);
    return;
  case CF_SEPCONV_CUSTOM:
    return;
  }
  *column = *row;
}
