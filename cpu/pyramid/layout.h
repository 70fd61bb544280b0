/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the pyramid of one plane keeps in memory: tables, images and the scratch of each thread.
 */
#pragma once

#include "cpu/common/memory.h"
#include "cpu/fir/line_ops.h"
#include "cpu/pyramid/engine.h"
#include "cpu/pyramid/rows.h"

/* Samples in a row of a tile of the column prefilter. The source rows of narrow tiles stay in the
 * first-level cache, but short pieces of rows wait for memory. */
#define CF_PYRAMID_TILE_SAMPLES 1024
/* Fine rows per tile: the more, the fewer source rows are read twice. */
#define CF_PYRAMID_FINE_ROWS 16
/* Rows of the result that share interpolated coarse rows. */
#define CF_PYRAMID_RESULT_ROWS CF_PYRAMID_TILE_HEIGHT

#define CF_PYRAMID_LARGEST_STEP 64 /* D: pixels per coarse pixel */

/* One arithmetic for the steps that touch every sample. */
typedef struct {
  const CfLines *lines; /* NULL: not needed */
  CfLineFormat format;
  CfLineTaps down, *up_x, *up_y;
} CfPyramidPath;

struct CfCpuPyramid {
  const CfCpuPyramid *owner; /* of the fine samples and the scratch that this pyramid uses; NULL:
                                itself */
  CfVideo video;
  int p, threads;
  int width, height, channels, bytes;
  CfBorder border;
  CfFirPlane plan; /* without taps, but with their sums */
  CfPyramidAxis x, y;
  uint8_t border_pixel[8];
  CfPyramidPath straight, weighted; /* as in CfFirWork */

  /* Laid out in `tables`. */
  CfLineTaps x_prefilter, x_prefilter_fixed; /* single precision, and fixed point for 8 bits */
  CfLineTaps x_low, *x_spline, y_low, *y_spline;
  CfLineTaps *y_folded; /* per coarse row: taps for all computed fine rows; NULL: y_low serves all
                           coarse rows */
  CfRowMargins source_margins, fine_margins;
  int read_first, read_count; /* the range of the owner's fine samples along x that this pyramid
                                 reads */

  /* Rows of single-precision pixels, in `images`. */
  float *fine, *coarse;
  size_t fine_stride, coarse_stride; /* in floats */

  bool may_fold;
  size_t scratch_stride; /* bytes per thread */
  CfBuffer tables, images, scratch;
};

/* Rows first..last. */
typedef struct {
  int first, last;
} CfPyramidRows;

/* The coarse rows, as indices from coarse_first on, that rows y0..y1-1 of a picture lie between. */
static inline CfPyramidRows cf_coarse_rows(const CfPyramidAxis *axis, int y0, int y1)
{
  const int last = y1 - 1;

  return (CfPyramidRows){y0 / axis->factor + axis->spline_first[y0 % axis->factor] -
                             axis->coarse_first,
                         last / axis->factor + axis->spline_first[last % axis->factor] +
                             axis->spline_count - 1 - axis->coarse_first};
}

/* The pyramid whose fine samples this one uses. */
static inline const CfCpuPyramid *cf_cpu_pyramid_owner(const CfCpuPyramid *pyramid)
{
  return pyramid->owner ? pyramid->owner : pyramid;
}

/* Samples to allocate for a row of `pixels` pixels: whole granules and one more, which sums may
 * overwrite. */
size_t cf_cpu_pyramid_row_samples(const CfCpuPyramid *pyramid, int pixels);

/* Lays everything out for the current axes and channels; buffers grow where needed. */
bool cf_cpu_pyramid_prepare(CfCpuPyramid *pyramid, CfStatus *status);

/* Scratch of one thread. Rows are working samples or single precision. */
typedef struct {
  size_t samples;     /* in each row */
  uint8_t *tile;      /* source rows, up to CF_PYRAMID_TILE_SAMPLES each */
  const void **lines; /* rows of the tile, or the fine rows that two coarse rows read */
  uint8_t *rows;      /* rows filtered along columns, or coarse rows interpolated along x */
  float *line, *below;
  void *extended, *work; /* for filters along rows */
} CfPyramidScratch;
CfPyramidScratch cf_cpu_pyramid_take_scratch(const CfCpuPyramid *pyramid, CfArena *arena);

/* The scratch of the calling thread. */
CfPyramidScratch cf_cpu_pyramid_thread_scratch(const CfCpuPyramid *pyramid);

/* Whether coarse rows get taps of their own, instead of reading copies of the picture (fold.c). */
bool cf_cpu_pyramid_folds(const CfCpuPyramid *pyramid);

/* Computes these taps, and sets the fine rows that they read. */
void cf_cpu_pyramid_fold(CfCpuPyramid *pyramid, CfArena *arena);

/* Blurs a single row of the plane's width along itself. `line` and `border_pixel` are working
 * samples of `lines`; the result is single precision, or for cf_lines_fixed the fixed point of
 * fixed.h. */
void cf_cpu_pyramid_blur_row(const CfCpuPyramid *pyramid, const CfLines *lines,
                             const CfPyramidScratch *scratch, const void *line,
                             const void *border_pixel, void *to);
