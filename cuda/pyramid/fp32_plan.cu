/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cuda/pyramid/fp32.cuh"
#include "cuda/common/plane_rows.cuh"

extern "C" {
#include "plan/pyramid_factors.h"
}

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Lines of memory that are written by whole groups of threads. */
#define PITCH_ELEMENTS 32

/* Shared memory of a block of `rows` that leaves room for several on an SM. */
#define LARGEST_ROWS_BYTES (44 * 1024)

#define SMALLEST_STRIP 4

struct CfCudaPyramid {
  CfVideo video;
  CfDevice *device;
  bool wide;        /* samples of 16 bits */
  CfPyramidJob job; /* but for pointers, strides and what depends on the band */
};

namespace
{

/* ---- factors ---- */

/* Prefilters as long as the kernels' cells allow. */
CfPyramidFactors choose_factors(const CfFormatInfo *format, double sigma)
{
  CfPyramidFactors factors = {1, 1, 0.72, 4.1, false};

  if (format->bits > 8) {
    factors.prefilter_sigma = format->bits > 10 ? 1.0 : 0.8;
    factors.prefilter_reach = format->bits > 10 ? 5.0 : 4.0;
  }
  factors.decimation = cf_pyramid_factor(sigma, format->bits, false, kPyramidFactor);
  return factors;
}

/* ---- describing the planes ---- */

void describe_line(CfPyramidLine *line, const CfPyramidAxis *axis, CfBorder border)
{
  memset(line, 0, sizeof *line);
  line->factor = axis->factor;
  line->size = axis->size;
  line->border = border;
  line->prefilter_first = axis->prefilter_first;
  line->low_first = axis->low_first;
  line->low_count = axis->low_count;
  line->low_groups = (axis->low_count + 3 + 3) / 4;
  line->made_first = axis->made_first;
  line->made_end = axis->made_first + axis->made_count;
  line->coarse_first = axis->coarse_first;
  line->coarse_end = axis->coarse_first + axis->coarse_count;
  for (int i = 0; i < axis->low_count; i++)
    line->low[i] = (float)axis->low[i];
}

double prefilter_variance(const CfPyramidAxis *axis)
{
  const double centre = axis->prefilter_first + 0.5 * (axis->prefilter_count - 1);
  double sum = 0.0;

  for (int i = 0; i < axis->prefilter_count; i++)
    sum += axis->prefilter[i] * pow(axis->prefilter_first + i - centre, 2.0);
  return sum;
}

/* What is left to a Gaussian after 1 3 3 1, whose variance is 3/4, and again two samples apart. */
void place_halved_taps(float *tap, const CfPyramidAxis *axis)
{
  const double halved = axis->factor == 8 ? 3.75 : axis->factor == 4 ? 0.75 : 0.0;
  const double scale = axis->factor == 8 ? 64.0 : axis->factor == 4 ? 8.0 : 1.0;
  const double step = axis->factor / 2.0;
  const double variance = (prefilter_variance(axis) - halved) / (step * step);
  double exact[kPyramidHalvedTaps], sum = 0.0;

  for (int i = 0; i < kPyramidHalvedTaps; i++) {
    const double distance = i - 0.5 * (kPyramidHalvedTaps - 1);

    exact[i] = exp(-0.5 * distance * distance / variance);
    sum += exact[i];
  }
  for (int i = 0; i < kPyramidHalvedTaps; i++)
    tap[i] = (float)(exact[i] / (sum * scale));
}

void place_tables(CfPyramidJob *job, const CfPyramidAxis *axis)
{
  float *prefilter = job->prefilter[cf_log2(axis->factor)];
  float *spline = job->spline[cf_log2(axis->factor)];

  for (int i = 0; i < axis->prefilter_count; i++)
    prefilter[i] = (float)axis->prefilter[i];
  for (int i = 0; i < 4 * axis->factor; i++)
    spline[i] = (float)axis->spline[i];
  if (axis->factor > 1)
    place_halved_taps(job->halved[cf_log2(axis->factor)], axis);
}

bool line_fits(const CfPyramidAxis *axis, bool wide)
{
  const int cells = wide ? kPyramidCellsWide : kPyramidCells;

  return axis->factor <= kPyramidFactor && axis->prefilter_count <= cells * axis->factor &&
         axis->low_count + 10 <= kPyramidLowTaps;
}

void describe_plane(CfPyramidPlane *plane, const CfVideo *video, int p, const CfFirPlan *plan)
{
  const CfFormatInfo *format = cf_format_info(video->format);
  const CfFirPlane *filter = &plan->plane[p];

  memset(plane, 0, sizeof *plane);
  plane->width = cf_plane_width(video, p);
  plane->height = cf_plane_height(video, p);
  plane->channels = format->plane[p].channels;
  plane->samples = plane->width * plane->channels;
  plane->alpha = filter->premultiplied ? cf_alpha_channel(&format->plane[p]) : -1;
  plane->shift = format->shift;
  plane->max_code = cf_max_code(format);
  for (int i = 0; i < 12; i++) {
    const int channel = i % plane->channels;

    plane->border[i] = (uint16_t)(filter->channel[channel].border << format->shift);
    if (i < 4) {
      plane->centre[i] = cf_pyramid_centre(format, channel == plane->alpha);
      plane->blank[i] = (float)filter->channel[channel].centre;
    }
  }
}

/* The longest segment whose block has enough shared memory. Half and a quarter of it, with more
 * blocks, took 4 and 11 % longer in all. */
int choose_segment(const CfPyramidLine *line, bool wide)
{
  const int coarse = line->coarse_end - line->coarse_first;
  int segments = 1, segment;

  do {
    segment = ((coarse + segments - 1) / segments + 3) / 4 * 4;
    segments++;
  } while (segment > 4 && cf_pyramid_rows_shared(line, wide, segment + line->low_count, segment) >
                              LARGEST_ROWS_BYTES);
  return segment;
}

/* ---- a job's geometry ---- */

/* Rows above and below its own that a row reads, or -1 for any. */
int plane_halo(const CfPyramidLine *line)
{
  const int low = -line->low_first > line->low_count ? -line->low_first : line->low_count;

  if (line->border == CF_BORDER_WRAP)
    return -1;
  return line->factor * (low / 2 + 5) - line->prefilter_first;
}

void place_band(CfCudaPyramid *pyramid, int p, const CfJob *job)
{
  const CfWantedRows rows = cf_wanted_rows(&pyramid->video, p, job);

  cf_pyramid_place_rows(&pyramid->job.plane[p], rows.first, rows.end, rows.band);
}

int words(const CfPyramidPlane *plane)
{
  return cf::div_up(plane->samples, 4);
}

/* Where the intermediate samples lie; with a NULL base only counts their bytes. */
size_t place_memory(CfCudaPyramid *pyramid, uint8_t *base)
{
  size_t used = 0;

  for (int p = 0; p < pyramid->job.planes; p++) {
    CfPyramidPlane *plane = &pyramid->job.plane[p];

    plane->columns = base + used;
    used += cf_pyramid_columns_bytes(plane, pyramid->wide);
    plane->rows = (float *)(base + used);
    used += cf_pyramid_rows_bytes(plane);
    plane->coarse = (float *)(base + used);
    used += cf_pyramid_coarse_bytes(plane);
  }
  return used;
}

void place_picture(CfCudaPyramid *pyramid, const CfJob *job)
{
  for (int p = 0; p < pyramid->job.planes; p++) {
    cf_pyramid_place_picture(&pyramid->job.plane[p], p, job, pyramid->wide);
    place_band(pyramid, p, job);
  }
}

} // namespace

/* ---- parts ---- */

float cf_pyramid_centre(const CfFormatInfo *format, bool alpha)
{
  return (float)(alpha ? cf_max_code(format) : (cf_max_code(format) + 1) / 2);
}

bool cf_pyramid_channels(CfFirPlan *plan, const CfVideo *video, int border, CfStatus *status)
{
  /* Any blur tells what happens to the channels. */
  CfGaussblurParams some = {};

  some.sigma = 1.0;
  some.sigma_vertical = -1.0;
  some.border = border;
  return cf_fir_plan_gaussblur(plan, video, &some, status);
}

void cf_pyramid_place_rows(CfPyramidPlane *plane, int first, int end, bool band)
{
  const CfPyramidLine *y = &plane->y;
  const int halo = plane_halo(y), reach = y->factor > 1 ? 2 : 0;

  plane->first = first;
  plane->end = end;
  plane->readable_first = band && halo >= 0 ? cf::clamp(first - halo, 0, plane->height) : 0;
  plane->readable_end = band && halo >= 0 ? cf::clamp(end + halo, 0, plane->height) : plane->height;

  plane->coarse_first = first / y->factor - reach;
  plane->coarse_end = (end - 1) / y->factor + reach + 1;
  plane->coarse_first = cf::clamp(plane->coarse_first, y->coarse_first, y->coarse_end - 1);
  plane->coarse_end = cf::clamp(plane->coarse_end, y->coarse_first + 1, y->coarse_end);
  plane->fine_first = cf::clamp(plane->coarse_first + y->low_first, y->made_first, y->made_end - 1);
  plane->fine_end = cf::clamp(plane->coarse_end - 1 + y->low_first + y->low_count,
                              plane->fine_first + 1, y->made_end);
  plane->columns_rows = plane->fine_end - plane->fine_first;
}

void cf_pyramid_place_picture(CfPyramidPlane *plane, int p, const CfJob *job, bool wide)
{
  plane->source = job->source.data[p];
  plane->source_stride = job->source.stride[p];
  plane->destination = job->destination.data[p];
  plane->destination_stride = job->destination.stride[p];
  plane->vector = ((uintptr_t)plane->source | (uintptr_t)plane->source_stride |
                   (uintptr_t)plane->destination | (uintptr_t)plane->destination_stride) %
                      (wide ? 8 : 4) ==
                  0;
}

bool cf_pyramid_describe(CfPyramidJob *job, const CfVideo *video, int p, const CfFirPlan *plan,
                         const double sigma[2], const CfPyramidFactors factors[2], CfStatus *status)
{
  const CfFormatInfo *format = cf_format_info(video->format);
  const bool wide = cf_sample_bytes(format) == 2;
  CfPyramidPlane *plane = &job->plane[job->planes];
  CfPyramidAxis x = {}, y = {};

  describe_plane(plane, video, p, plan);
  bool good = cf_pyramid_axis(&x, sigma[0], plane->width, plan->border, &factors[0], status) &&
              cf_pyramid_axis(&y, sigma[1], plane->height, plan->border, &factors[1], status);
  if (good && !(line_fits(&x, wide) && line_fits(&y, wide)))
    good = cf_fail(status, CF_ERROR_INVALID, "no blur pyramid on the GPU for sigmas of %g and %g",
                   sigma[0], sigma[1]);
  if (good) {
    describe_line(&plane->x, &x, plan->border);
    describe_line(&plane->y, &y, plan->border);
    plane->segment = choose_segment(&plane->x, wide);
    plane->rows_at_once = plane->low_at_once = 1;
    plane->columns_pitch = cf::div_up(plane->width, PITCH_ELEMENTS) * PITCH_ELEMENTS;
    plane->rows_pitch = cf::div_up(x.coarse_count + 4, PITCH_ELEMENTS) * PITCH_ELEMENTS;
    cf_pyramid_place_rows(plane, 0, plane->height, false);
    place_tables(job, &x);
    place_tables(job, &y);
    job->planes++;
  }
  cf_pyramid_axis_free(&x);
  cf_pyramid_axis_free(&y);
  return good;
}

CfPyramidGrids cf_pyramid_place_blocks(CfPyramidJob *job, bool wide, const CfDevice *device)
{
  CfPyramidGrids grids = {};
  double work = 0.0;

  job->overlaps = device->code >= 90;

  /* The blocks of one wave of `columns`, shared between the planes. */
  for (int p = 0; p < job->planes; p++)
    work += (double)cf::div_up(words(&job->plane[p]), kPyramidThreads) *
            (job->plane[p].end - job->plane[p].first);
  for (int p = 0; p < job->planes; p++) {
    CfPyramidPlane *plane = &job->plane[p];
    const int across = cf::div_up(words(plane), kPyramidThreads);
    const int fine = plane->fine_end - plane->fine_first;
    const int coarse_columns = plane->x.coarse_end - plane->x.coarse_first;
    const int coarse_rows = plane->coarse_end - cf_first_eight(*plane);
    const double share = (plane->end - plane->first) / work;
    /* Where some blocks have nothing to do, shorter strips keep the others from being the last. */
    const int waves = plane->need ? 4 : 1;
    const int strips = cf::clamp(
        (int)(device->info.multiprocessors * kPyramidColumnsBlocks * waves * share), 1, fine);
    const int bytes = cf_pyramid_rows_shared(&plane->x, wide, plane->segment + plane->x.low_count,
                                             plane->segment);

    plane->strip = cf::clamp(cf::div_up(fine, strips), SMALLEST_STRIP,
                             fine > SMALLEST_STRIP ? fine : SMALLEST_STRIP);
    plane->columns_blocks = grids.columns;
    plane->rows_blocks = grids.rows;
    plane->low_blocks = grids.low;
    plane->up_blocks = grids.up;
    grids.columns += across * cf::div_up(fine, plane->strip);
    grids.rows += cf::div_up(coarse_columns, plane->segment) *
                  cf::div_up(fine, plane->rows_at_once) * plane->channels;
    grids.low += cf::div_up(coarse_columns, kPyramidLowColumns) *
                 cf::div_up(coarse_rows, kPyramidLowRows * plane->low_at_once) * plane->channels;
    grids.up += across * (cf::div_up(plane->end, kPyramidUpRows) - plane->first / kPyramidUpRows);
    grids.rows_bytes = bytes > grids.rows_bytes ? bytes : grids.rows_bytes;
  }
  return grids;
}

size_t cf_pyramid_columns_bytes(const CfPyramidPlane *plane, bool wide)
{
  return cf::scratch_bytes((size_t)plane->columns_rows * plane->channels * plane->columns_pitch *
                           (wide ? sizeof(float) : sizeof(uint16_t)));
}

size_t cf_pyramid_rows_bytes(const CfPyramidPlane *plane)
{
  return cf::scratch_bytes((size_t)(plane->fine_end - plane->fine_first) * plane->channels *
                           plane->rows_pitch * sizeof(float));
}

size_t cf_pyramid_coarse_bytes(const CfPyramidPlane *plane)
{
  return cf::scratch_bytes((size_t)(plane->coarse_end - plane->coarse_first) *
                           (plane->x.coarse_end - plane->x.coarse_first) * plane->channels *
                           sizeof(float));
}

/* ---- the calls ---- */

/* Of 8 bits: where the taps take as long on an H200, or longer, since a smaller D costs more than
 * they do. At 3840x2160 and sigma 15.9 taps took 135 us of RGBA, 62 of NV12 and 38 of GRAY8, the
 * pyramid at 16 took 79, 62 and 50; that of the taps grows with sigma. They take far longer for
 * more bits. */
#define SMALLEST_SIGMA      16.0
#define SMALLEST_GRAY_SIGMA 20.0

bool cf_cuda_pyramid_pays(const CfVideo *video, const CfGaussblurParams *params)
{
  const CfFormatInfo *format = cf_format_info(video->format);
  const double larger = fmax(params->sigma, cf_vertical_sigma(params));
  const bool gray = format->planes == 1 && format->plane[0].channels == 1;

  if (params->sigma < 0.0)
    return false;
  return format->bits > 8 ? choose_factors(format, larger).decimation > 1
                          : larger >= (gray ? SMALLEST_GRAY_SIGMA : SMALLEST_SIGMA);
}

CfCudaPyramid *cf_cuda_pyramid_open(const CfVideo *video, CfDevice *device, CfStatus *status)
{
  CfCudaPyramid *pyramid = (CfCudaPyramid *)calloc(1, sizeof *pyramid);

  if (!pyramid) {
    cf_fail(status, CF_ERROR_NO_MEMORY, "no memory for a blur pyramid");
    return nullptr;
  }
  pyramid->video = *video;
  pyramid->device = device;
  pyramid->wide = cf_sample_bytes(cf_format_info(video->format)) == 2;
  return pyramid;
}

bool cf_cuda_pyramid_update(CfCudaPyramid *pyramid, const CfGaussblurParams *params,
                            CfStatus *status)
{
  const CfFormatInfo *format = cf_format_info(pyramid->video.format);
  CfPyramidJob *next = (CfPyramidJob *)calloc(1, sizeof *next);
  CfFirPlan plan = {};

  if (!next)
    return cf_fail(status, CF_ERROR_NO_MEMORY, "no memory for a blur pyramid");
  bool good = cf_pyramid_channels(&plan, &pyramid->video, params->border, status);
  for (int p = 0; good && p < format->planes; p++) {
    double sigma[2];

    cf_plane_sigmas(format, p, params, sigma);
    const CfPyramidFactors factors[2] = {choose_factors(format, sigma[0]),
                                         choose_factors(format, sigma[1])};

    good = cf_pyramid_describe(next, &pyramid->video, p, &plan, sigma, factors, status);
  }
  if (good)
    pyramid->job = *next;
  cf_fir_plan_free(&plan);
  free(next);
  return good;
}

bool cf_cuda_pyramid_run(CfCudaPyramid *pyramid, const CfJob *job, CfStatus *status)
{
  const CfPyramidJob *work = &pyramid->job;
  const bool wide = pyramid->wide;

  place_picture(pyramid, job);
  const CfPyramidGrids grids = cf_pyramid_place_blocks(&pyramid->job, wide, pyramid->device);
  void *scratch =
      cf_scratch_take(pyramid->device, place_memory(pyramid, nullptr), job->stream, status);
  if (!scratch)
    return false;
  place_memory(pyramid, (uint8_t *)scratch);

  const bool good =
      cf_pyramid_columns(work, wide, grids.columns, job->stream, status) &&
      cf_pyramid_rows(work, wide, grids.rows, grids.rows_bytes, job->stream, status) &&
      cf_pyramid_low(work, grids.low, job->stream, status) &&
      cf_pyramid_up(work, wide, grids.up, job->stream, status);
  return cf_scratch_give(pyramid->device, scratch, job->stream, good ? status : nullptr) && good;
}

int cf_cuda_pyramid_halo(const CfCudaPyramid *pyramid)
{
  const CfFormatInfo *format = cf_format_info(pyramid->video.format);
  int halo = 0;

  for (int p = 0; p < pyramid->job.planes; p++) {
    const int rows = plane_halo(&pyramid->job.plane[p].y);

    if (rows < 0)
      return -1;
    if (rows << format->plane[p].subsampling_y > halo)
      halo = rows << format->plane[p].subsampling_y;
  }
  return halo;
}

void cf_cuda_pyramid_close(CfCudaPyramid *pyramid)
{
  free(pyramid);
}
