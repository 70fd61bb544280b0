/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What both blur pyramids work out alike on the host.
 */
#pragma once

#include <math.h>

#include "cuda/common/context.cuh"
#include "cuda/common/int_math.cuh"

extern "C" {
#include "engine.h"
#include "gaussblur.h"
}

inline double cf_vertical_sigma(const CfGaussblurParams *params)
{
  return params->sigma_vertical < 0.0 ? params->sigma : params->sigma_vertical;
}

/* Along rows and columns of plane `p`, in its samples. */
inline void cf_plane_sigmas(const CfFormatInfo *format, int p, const CfGaussblurParams *params,
                            double sigma[2])
{
  sigma[0] = ldexp(params->sigma, -format->plane[p].subsampling_x);
  sigma[1] = ldexp(cf_vertical_sigma(params), -format->plane[p].subsampling_y);
}

/* Rows of plane `p` that a job wants; those of a band may read only what the band comes with. */
struct CfWantedRows {
  int first, end;
  bool band;
};

inline CfWantedRows cf_wanted_rows(const CfVideo *video, int p, const CfJob *job)
{
  const int shift = cf_format_info(video->format)->plane[p].subsampling_y;
  const int height = cf_plane_height(video, p);
  const int end = (job->first_row + job->rows + (1 << shift) - 1) >> shift;

  if (job->rows == 0)
    return {0, height, false};
  return {job->first_row >> shift, end < height ? end : height, true};
}
