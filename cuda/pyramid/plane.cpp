/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cuda/pyramid/plane.h"
#include "cuda/common/int_math.cuh"

#include <math.h>

namespace cf::pyramid
{

void plane_sigmas(const CfVideo *video, int p, const CfGaussblurParams *params, double sigma[2])
{
  const CfPlaneFormat *plane = &cf_format_info(video->format)->plane[p];
  const double vertical = params->sigma_vertical < 0.0 ? params->sigma : params->sigma_vertical;

  sigma[0] = ldexp(params->sigma, -plane->subsampling_x);
  sigma[1] = ldexp(vertical, -plane->subsampling_y);
}

void describe_axis(Axis *to, const CfPyramidAxis *axis, CfBorder border)
{
  to->factor = axis->factor;
  to->decimation2 = axis->factors.decimation2;
  to->size = axis->size;
  to->border = border;
  to->prefilter_first = axis->prefilter_first;
  to->coarse_taps_first = axis->coarse_taps_first;
  to->coarse_taps_count = axis->coarse_taps_count;
  to->stored_first = axis->stored_first;
  to->stored_end = axis->stored_first + axis->stored_count;
  to->coarse_first = axis->coarse_first;
  to->coarse_end = axis->coarse_first + axis->coarse_count;
  to->halo = cf_pyramid_halo(axis, border);
}

void describe_plane(Plane *plane, const CfVideo *video, int p, const CfFirPlane *filter)
{
  const CfFormatInfo *format = cf_format_info(video->format);

  plane->width = cf_plane_width(video, p);
  plane->height = cf_plane_height(video, p);
  plane->channels = format->plane[p].channels;
  plane->alpha = filter->premultiplied ? cf_alpha_channel(&format->plane[p]) : -1;
  plane->shift = format->shift;
}

void place_picture(Plane *plane, int p, const CfJob *job)
{
  plane->source = job->source.data[p];
  plane->source_stride = job->source.stride[p];
  plane->destination = job->destination.data[p];
  plane->destination_stride = job->destination.stride[p];
}

void place_rows(Plane *plane, const Axis *y, CfPlaneRows rows, CfPlaneRows readable)
{
  const int reach = y->factor > 1 ? 2 : 0;

  plane->first = rows.first;
  plane->end = rows.end;
  plane->readable_first = readable.first;
  plane->readable_end = readable.end;
  plane->coarse_first = clamp(rows.first / y->factor - reach, y->coarse_first, y->coarse_end - 1);
  plane->coarse_end =
      clamp((rows.end - 1) / y->factor + reach + 1, plane->coarse_first + 1, y->coarse_end);
  plane->fine_first = clamp(y->decimation2 * plane->coarse_first + y->coarse_taps_first,
                            y->stored_first, y->stored_end - 1);
  plane->fine_end =
      clamp(y->decimation2 * (plane->coarse_end - 1) + y->coarse_taps_first + y->coarse_taps_count,
            plane->fine_first + 1, y->stored_end);
}

} // namespace cf::pyramid
