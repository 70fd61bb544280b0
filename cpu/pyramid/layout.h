/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the pyramid of one plane keeps in memory: tables and images, and scratch for each thread.
 */
#pragma once

#include "cpu/common/memory.h"
#include "cpu/fir/line_ops.h"
#include "cpu/pyramid/engine.h"
#include "cpu/pyramid/rows.h"

/* Samples of a tile in the column prefilter. The source rows of narrow ones stay in the first
 * cache, but rows read in short pieces wait for memory. */
#define CF_PYRAMID_TILE_SAMPLES 1024
/* Fine rows that a tile makes: the more, the fewer source rows are read twice. */
#define CF_PYRAMID_FINE_ROWS 16
/* Rows of the result that share their interpolated coarse rows. */
#define CF_PYRAMID_RESULT_ROWS CF_PYRAMID_TILE_HEIGHT

#define CF_PYRAMID_LARGEST_STEP 64 /* D, pixels a coarse pixel */

/* One arithmetic for what runs over all samples. */
typedef struct {
  const CfLines *lines; /* NULL: not needed */
  CfLineFormat format;
  CfLineTaps down, *up_x, *up_y;
} CfPyramidWay;

struct CfCpuPyramid {
  const CfCpuPyramid *owner; /* of the fine samples and the scratch; NULL: itself */
  CfVideo video;
  int p, threads;
  int width, height, channels, bytes;
  CfBorder border;
  CfFirPlane plan; /* without taps: rows and columns only by their sum */
  CfPyramidAxis x, y;
  uint8_t border_pixel[8];
  CfPyramidWay straight, weighted; /* as in CfFirWork */

  /* Laid out in the block `tables`. */
  CfLineTaps x_prefilter, x_prefilter_fixed; /* float, and of 8 bits in fixed point too */
  CfLineTaps x_low, *x_spline, y_low, *y_spline;
  CfLineTaps *y_folded; /* of each coarse row, for all made rows; NULL: y_low */
  CfRowMargins source_margins, fine_margins;
  int read_first, read_count; /* of the owner's made fine samples along x, those read */

  /* Rows of single-precision pixels, in the block `images`. */
  float *fine, *coarse;
  size_t fine_stride, coarse_stride; /* floats */

  bool may_fold;
  size_t scratch_stride; /* bytes a thread */
  CfBuffer tables, images, scratch;
};

/* A range of rows, first to last. */
typedef struct {
  int first, last;
} CfPyramidRows;

/* The coarse rows, by index from coarse_first, that rows y0..y1-1 of the picture lie between. */
static inline CfPyramidRows cf_coarse_rows(const CfPyramidAxis *axis, int y0, int y1)
{
  const int last = y1 - 1;

  return (CfPyramidRows){y0 / axis->factor + axis->spline_first[y0 % axis->factor] -
                             axis->coarse_first,
                         last / axis->factor + axis->spline_first[last % axis->factor] +
                             axis->spline_count - 1 - axis->coarse_first};
}

/* Whose fine samples these are. */
static inline const CfCpuPyramid *cf_cpu_pyramid_owner(const CfCpuPyramid *pyramid)
{
  return pyramid->owner ? pyramid->owner : pyramid;
}

/* Samples of a row of so many pixels. Sums run over whole granules: there is room for one more. */
size_t cf_cpu_pyramid_row_samples(const CfCpuPyramid *pyramid, int pixels);

/* Lays everything out for the axes and the channels set; blocks grow where they must. */
bool cf_cpu_pyramid_prepare(CfCpuPyramid *pyramid, CfStatus *status);

/* Scratch of a thread. Rows are of working samples or single precision. */
typedef struct {
  size_t samples;     /* that rows have room for */
  uint8_t *tile;      /* source rows of CF_PYRAMID_TILE_SAMPLES */
  const void **lines; /* its rows, or the fine ones that two coarse rows read */
  uint8_t *rows;      /* filtered along columns, or interpolated along x */
  float *line, *below;
  void *extended, *work; /* what filters along rows */
} CfPyramidScratch;
CfPyramidScratch cf_cpu_pyramid_take_scratch(const CfCpuPyramid *pyramid, CfArena *arena);

/* The calling thread's. */
CfPyramidScratch cf_cpu_pyramid_thread_scratch(const CfCpuPyramid *pyramid);

/* Whether coarse rows have taps of their own, instead of reading the picture over and over. */
bool cf_cpu_pyramid_folds(const CfCpuPyramid *pyramid);

/* Makes them, and the fine rows that they read the made ones. */
void cf_cpu_pyramid_fold(CfCpuPyramid *pyramid, CfArena *arena);

/* Blurs a row of the plane's width along itself alone: working samples of `lines`, to single
 * precision or, of cf_lines_fixed, to fixed.h's fixed point. The border's pixel is a working one.
 */
void cf_cpu_pyramid_blur_row(const CfCpuPyramid *pyramid, const CfLines *lines,
                             const CfPyramidScratch *scratch, const void *line,
                             const void *border_pixel, void *to);
