/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the tests of tone mapping share: formats, pictures before and after, defaults.
 */
#pragma once

#include "harness.h"
#include "tonemap.h"
#include "tonemap_video.h"

static const CfFormat sources[] = {CF_FORMAT_P010_10LE, CF_FORMAT_I420_10LE, CF_FORMAT_I422_10LE,
                                   CF_FORMAT_P012_LE,   CF_FORMAT_P016_LE,   CF_FORMAT_Y444_10LE,
                                   CF_FORMAT_Y444_16LE};
static const CfFormat destinations[] = {CF_FORMAT_NV12, CF_FORMAT_I420, CF_FORMAT_RGBA,
                                        CF_FORMAT_BGRA, CF_FORMAT_P010_10LE};
enum { SOURCES = 7, DESTINATIONS = 5 };

static inline CfTonemapParams defaults(void)
{
  CfTonemapParams params = {0};

  cf_params_init(cf_tonemap.params, &params);
  return params;
}

/* The result of `engine` for `source`, in a new picture; NULL on failure. */
static inline CfTestPicture *result_of(CfTest *test, const CfEngine *engine,
                                       const CfTonemapParams *params, const CfTestPicture *source,
                                       const CfVideo *destination, CfLayout layout)
{
  CfTestPicture *result = cf_picture_new(destination, layout);

  if (cf_test_filter(test, engine, params, 2, source, result))
    return result;
  cf_picture_free(result);
  return NULL;
}

/* Settings number `i` of a walk through what users may set. */
static inline CfTonemapParams varied(int i)
{
  CfTonemapParams params = defaults();
  const double details[] = {1.0, 0.0, 1.6, 0.5, 2.0}, contrasts[] = {1.0, 0.7, 1.3};
  const double sigmas[] = {2.0, 0.25, 8.0, 1.0}, floors[] = {0.1, 0.0, 1.0};
  const double peaks[] = {0.0, 100.0, 4000.0}, targets[] = {100.0, 203.0};
  const double saturations[] = {1.0, 0.0, 2.0, 0.8};

  params.detail = details[i % 5];
  params.contrast = contrasts[i % 3];
  params.sigma = sigmas[i % 4];
  params.noise_floor = floors[i / 2 % 3];
  params.peak = peaks[i / 3 % 3];
  params.target_nits = targets[i / 4 % 2];
  params.saturation = saturations[i / 5 % 4];
  params.dither = i % 2 == 0;
  return params;
}
