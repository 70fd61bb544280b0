/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A plane and its axes, as both pyramids have them. Compiles for host and device code.
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

/* One axis of one plane. Indices are absolute, as in plan/pyramid.h, whose names these are but that
 * `taps` is `low` there, `decimation2` is `thinning` and `stored` is `made`. */
struct Axis {
  int factor, decimation2; /* D, D2 */
  int size, border;
  int prefilter_first, taps_first, taps_count;
  int stored_first, stored_end;
  int coarse_first, coarse_end;
  int halo; /* cf_pyramid_halo */
};

/* One plane of a job. Pointers are to device memory of the job's caller. */
struct Plane {
  const uint8_t *source;
  uint8_t *destination;
  ptrdiff_t source_stride, destination_stride;
  int width, height, channels;
  int alpha; /* channel that weights the others, or -1 */
  int shift; /* of samples of two bytes, the bits below the code */

  int first, end;                   /* rows of the result to make */
  int readable_first, readable_end; /* rows of the source that may be read */
  int fine_first, fine_end;         /* stored rows that they need */
  int coarse_first, coarse_end;     /* coarse rows that they need */
};

/* --- on the host --- */

/* Along rows and columns of plane `p`, in its samples. */
void plane_sigmas(const CfVideo *video, int p, const CfGaussblurParams *params, double sigma[2]);

void describe_axis(Axis *to, const CfPyramidAxis *axis, CfBorder border);

/* Plane `p` of the picture, but for pointers and rows. */
void describe_plane(Plane *plane, const CfVideo *video, int p, const CfFirPlane *filter);

/* Where plane `p` of a job's pictures lies. */
void place_picture(Plane *plane, int p, const CfJob *job);

/* Chooses the rows of the result, and those of the source that may be read; `y` is the plane's. */
void place_rows(Plane *plane, const Axis *y, CfPlaneRows made, CfPlaneRows readable);

} // namespace cf::pyramid
