/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpu/pyramid/engine.h"

#include <math.h>
#include <stdlib.h>

#include "cpu/fir/line_tables.h"
#include "cpu/pyramid/layout.h"
#include "plan/pyramid_factors.h"

/* ---- Choosing factors ---- */

static const CfPyramidLimits limits = {.least_decimation = 1,
                                       .most_decimation = 8,
                                       .most = CF_PYRAMID_LARGEST_STEP,
                                       .boxes = true,
                                       .prefilter_sigma = 0.8,
                                       .prefilter_reach = 4.0};

/* Just above this sigma taps in fixed point would still be faster, but are no longer accurate, and
 * taps in single precision are slower than the pyramid. */
#define SMALLEST_SIGMA 4.0
/* From this sigma on D is 4; with D = 2, matrix products and filters of bytes are faster. */
#define SMALLEST_SIGMA_BESIDE_FAST_TAPS 8.0

bool cf_cpu_pyramid_pays(int bits, bool weighted, bool fast_taps, double horizontal,
                         double vertical, CfPyramidFactors *x, CfPyramidFactors *y)
{
  const double smallest = fast_taps ? SMALLEST_SIGMA_BESIDE_FAST_TAPS : SMALLEST_SIGMA;

  *x = cf_pyramid_factors(horizontal, bits, weighted, &limits);
  *y = cf_pyramid_factors(vertical, bits, weighted, &limits);
  return fmax(horizontal, vertical) >= smallest && (x->decimation > 1 || y->decimation > 1);
}

/* ---- State ---- */

CfCpuPyramid *cf_cpu_pyramid_open(const CfVideo *video, int plane, int threads, CfStatus *status)
{
  const CfFormatInfo *info = cf_format_info(video->format);
  CfCpuPyramid *pyramid = cf_zeroed(sizeof *pyramid, status);

  if (!pyramid)
    return NULL;
  pyramid->video = *video;
  pyramid->p = plane;
  pyramid->threads = threads;
  pyramid->width = cf_plane_width(video, plane);
  pyramid->height = cf_plane_height(video, plane);
  pyramid->channels = info->plane[plane].channels;
  pyramid->bytes = cf_sample_bytes(info);
  return pyramid;
}

void cf_cpu_pyramid_allow_folding(CfCpuPyramid *pyramid)
{
  pyramid->may_fold = true;
}

bool cf_cpu_pyramid_update(CfCpuPyramid *pyramid, const CfFirPlan *plan, double horizontal,
                           double vertical, const CfPyramidFactors *x, const CfPyramidFactors *y,
                           const CfCpuPyramid *owner, CfStatus *status)
{
  CfCpuPyramid before = *pyramid;

  pyramid->x = pyramid->y = (CfPyramidAxis){0};
  pyramid->owner = owner;
  pyramid->border = plan->border;
  pyramid->plan = plan->plane[pyramid->p];
  pyramid->plan.row.tap = pyramid->plan.column.tap = NULL;
  cf_border_pixel(&pyramid->video, &pyramid->plan, pyramid->border_pixel);
  if (cf_pyramid_axis(&pyramid->x, horizontal, pyramid->width, plan->border, x, status) &&
      cf_pyramid_axis(&pyramid->y, vertical, pyramid->height, plan->border, y, status) &&
      cf_cpu_pyramid_prepare(pyramid, status)) {
    cf_pyramid_axis_free(&before.x);
    cf_pyramid_axis_free(&before.y);
    return true;
  }
  cf_pyramid_axis_free(&pyramid->x);
  cf_pyramid_axis_free(&pyramid->y);
  /* Buffers that grew serve the previous plan as well. */
  before.tables = pyramid->tables;
  before.images = pyramid->images;
  before.scratch = pyramid->scratch;
  *pyramid = before;
  if (pyramid->x.storage)
    cf_cpu_pyramid_prepare(pyramid, NULL);
  return false;
}

void cf_cpu_pyramid_close(CfCpuPyramid *pyramid)
{
  if (!pyramid)
    return;
  cf_pyramid_axis_free(&pyramid->x);
  cf_pyramid_axis_free(&pyramid->y);
  free(pyramid->tables.base);
  free(pyramid->images.base);
  free(pyramid->scratch.base);
  free(pyramid);
}
