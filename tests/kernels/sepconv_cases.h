/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the tests of sepconv share: kernels of all kinds, pictures, and the comparison with the
 * reference.
 */
#pragma once

#include <math.h>

#include "harness.h"
#include "plan/presets.h"
#include "sepconv_params.h"

#define BORDERS 5

typedef enum { MEAN, SIGNED, INTEGERS, DERIVATIVE, KINDS } Kind;

static inline CfKernel random_kernel(CfRandom *random, Kind kind, int taps)
{
  CfKernel result = {.taps = taps};
  double sum = 0.0;

  for (int i = 0; i < taps; i++) {
    const double unit = cf_random_unit(random);

    result.tap[i] = kind == MEAN       ? 0.05 + unit
                    : kind == INTEGERS ? floor(9.0 * unit) - 3.0
                                       : 2.0 * unit - 1.0;
    sum += result.tap[i];
  }
  for (int i = 0; i < taps; i++) {
    if (kind == MEAN)
      result.tap[i] /= sum;
    else if (kind == DERIVATIVE)
      result.tap[i] -= sum / taps;
    else if (kind == SIGNED)
      result.tap[i] *= 2.0 / taps;
  }
  if (taps > 1 && cf_random_below(random, 3) == 0) {
    for (int i = 0; i < taps / 2; i++)
      result.tap[taps - 1 - i] = result.tap[i];
  }
  return result;
}

static inline int random_length(CfRandom *random)
{
  const int lengths[] = {1, 2, 3, 4, 5, 7, 8, 9, 12, 17, 18, 33, 64, 129, 255};

  return lengths[cf_random_below(random, cf_random_below(random, 4) ? 10 : 15)];
}

static inline CfSepconvParams random_params(CfRandom *random)
{
  CfSepconvParams params = defaults();
  const Kind kind = (Kind)cf_random_below(random, KINDS);

  params.row_kernel = random_kernel(random, kind, random_length(random));
  params.column_kernel =
      random_kernel(random, kind == DERIVATIVE ? SIGNED : kind, random_length(random));
  if (cf_random_below(random, 3) == 0) {
    params.preset = cf_random_below(random, CF_SEPCONV_SHARPEN + 1);
    params.preset_size = 3 + 2 * cf_random_below(random, 6);
  } else if (cf_random_below(random, 2)) {
    params.anchor_x = cf_random_below(random, params.row_kernel.taps);
    params.anchor_y = cf_random_below(random, params.column_kernel.taps);
  }
  if (cf_random_below(random, 2)) {
    params.scale = 4.0 * cf_random_unit(random) - 2.0;
    params.bias = 2.0 * cf_random_unit(random) - 1.0;
  }
  params.absolute = cf_random_below(random, 3) == 0;
  params.border = cf_random_below(random, BORDERS);
  params.border_color = (uint32_t)cf_random(random);
  params.planes = cf_random_below(random, 2) ? LUMA | CHROMA | ALPHA : cf_random_below(random, 8);
  return params;
}

static inline void say(CfTest *test, const CfSepconvParams *params, const CfTestPicture *source)
{
  cf_test_context(
      test,
      "preset %s %d, taps %d %d <%g ..> <%g ..>, anchor %d %d, scale %g, bias %g%s%s, border %s "
      "%08x, planes %d, %s %dx%d",
      cf_sepconv_preset_choices[params->preset].nick, params->preset_size, params->row_kernel.taps,
      params->column_kernel.taps, params->row_kernel.tap[0], params->column_kernel.tap[0],
      params->anchor_x, params->anchor_y, params->scale, params->bias,
      params->absolute ? ", absolute" : "", params->normalize ? ", normalize" : "",
      cf_border_choices[params->border].nick, params->border_color, params->planes,
      cf_format_info(source->video.format)->name, source->video.width, source->video.height);
}

static inline CfTestPicture *picture(CfFormat format, int width, int height, CfLayout layout,
                                     CfPattern pattern, CfAlphaFill alpha, uint64_t seed)
{
  const CfVideo video = cf_video(format, width, height);
  CfTestPicture *result = cf_picture_new(&video, layout);

  cf_picture_fill(result, pattern, alpha, seed);
  return result;
}

static inline void run_and_compare(CfTest *test, const CfSepconvParams *params,
                                   const CfTestPicture *source)
{
  CfTestPicture *want = cf_test_reference(test, params, source);
  CfTestPicture *got = cf_picture_new(&source->video, source->layout);

  say(test, params, source);
  if (want && cf_test_filter(test, test->engine, params, 2, source, got))
    cf_test_compare(test, got, want, 1.0);
  cf_picture_free(got);
  cf_picture_free(want);
}

/* Makes a few pixels of an opaque picture transparent. */
static inline void add_islands(CfTest *test, CfTestPicture *source)
{
  const int channel = cf_alpha_channel(&cf_format_info(source->video.format)->plane[0]);
  const int width = source->video.width, height = source->video.height;

  for (int i = 0; channel >= 0 && i < 1 + height / 30; i++)
    cf_picture_set(source, 0, cf_random_below(&test->random, width),
                   cf_random_below(&test->random, height), channel,
                   cf_random_below(&test->random, 255));
}
