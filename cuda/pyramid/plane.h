/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A plane and its axes, as both pyramids describe them to their kernels. For host and device code.
 */
#pragma once

#include "cuda/common/context.cuh"

extern "C" {
#include "gaussblur.h"
#include "plan/fir.h"
#include "plan/plane_rows.h"
#include "plan/pyramid.h"
#include "plan/pyramid_factors.h"
}

namespace cf::pyramid
{

/* One axis of one plane: the part of CfPyramidAxis that kernels need. */
struct Axis {
  int factor, decimation2; /* D, D2 */
  int size, border;
  int prefilter_first, coarse_taps_first, coarse_taps_count;
  int stored_first, stored_end;
  int coarse_first, coarse_end;
  int halo; /* cf_pyramid_halo */
};

/* One plane of a job. Pointers are to device memory that the caller owns. */
struct Plane {
  const uint8_t *source;
  uint8_t *destination;
  ptrdiff_t source_stride, destination_stride;
  int width, height, channels;
  int alpha; /* channel by which the others are premultiplied, or -1 */
  int shift; /* a code is a 16-bit sample >> shift */

  /* Row ranges, first <= row < end: results of the job, source rows that may be read, and the fine
   * and coarse rows that the results need. */
  int first, end;
  int readable_first, readable_end;
  int fine_first, fine_end;
  int coarse_first, coarse_end;
};

/* --- on the host --- */

/* The sigmas along rows (0) and columns (1) of plane `p`, in samples of the plane. */
void plane_sigmas(const CfVideo *video, int p, const CfGaussblurParams *params, double sigma[2]);

void describe_axis(Axis *to, const CfPyramidAxis *axis, CfBorder border);

/* Sets size, channels, alpha and shift of plane `p`. */
void describe_plane(Plane *plane, const CfVideo *video, int p, const CfFirPlane *filter);

/* Sets pointers and strides to plane `p` of a job's pictures. */
void place_picture(Plane *plane, int p, const CfJob *job);

/* Sets all row ranges, for the results `rows` and the source rows `readable`; `y` is the plane's
 * vertical axis. */
void place_rows(Plane *plane, const Axis *y, CfPlaneRows rows, CfPlaneRows readable);

} // namespace cf::pyramid
