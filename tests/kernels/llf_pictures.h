/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Pictures for the tests of the local Laplacian filter, and descriptions of their cases.
 */
#pragma once

#include <string.h>

#include "harness.h"
#include "llf.h"

static inline void say(CfTest *test, const CfLlfParams *params, const CfVideo *video,
                       const char *content)
{
  static const char *const methods[] = {"fast", "sampled", "exact"};
  static const char *const modes[] = {"luminance", "separate", "rgb"};

  cf_test_context(test,
                  "sigma %g alpha %g beta %g levels %d %s harmonics %d intensity-levels %d %s "
                  "noise-floor %g reach %g protect %d strength %g; %s %dx%d %s",
                  params->sigma, params->alpha, params->beta, params->levels,
                  methods[params->method], params->harmonics, params->intensity_levels,
                  modes[params->color_mode], params->noise_floor, params->reach, params->protect,
                  params->strength, cf_format_info(video->format)->name, video->width,
                  video->height, content);
}

static inline CfTestPicture *picture(CfFormat format, int width, int height, CfLayout layout,
                                     CfPattern pattern, uint64_t seed)
{
  const CfVideo video = cf_video(format, width, height);
  CfTestPicture *result = cf_picture_new(&video, layout);

  cf_picture_fill(result, pattern, CF_ALPHA_RANDOM, seed);
  return result;
}

/* The reference is always the exact filter, so it is tested with one method only. */
static inline bool has_method(const CfTest *test, CfLlfMethod method)
{
  return strcmp(test->engine->name, "reference") != 0 || method == CF_LLF_EXACT;
}

static inline bool has_mode(CfFormat format, CfLlfMethod method, CfLlfColorMode mode)
{
  return mode != CF_LLF_RGB || (cf_format_info(format)->rgb && method == CF_LLF_EXACT);
}
