/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cuda/pyramid/u8mma.cuh"
#include "cuda/common/plane_rows.cuh"

extern "C" {
#include "plan/pyramid_factors.h"
}

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct CfCudaBytePyramid {
  CfVideo video;
  CfDevice *device;
  CfBytesJob job; /* but for pointers, strides and what depends on the band */
};

namespace
{

/* ---- factors ---- */

constexpr int kLeastFactor = 4;

CfPyramidFactors choose_factors(bool weighted, double sigma)
{
  const int most = kBytesDecimation * kBytesThinning;
  const int factor = cf_pyramid_factor(sigma, 8, weighted, most);
  const int decimation = cf::clamp(factor, kLeastFactor, kBytesDecimation);

  return {decimation, factor > decimation ? factor / decimation : 1, 0.6, 0.0, true};
}

/* ---- describing the planes ---- */

int round_up(int value, int multiple)
{
  return cf::div_up(value, multiple) * multiple;
}

void describe_line(CfBytesLine *line, const CfPyramidAxis *axis, CfBorder border)
{
  const int thinning = axis->factors.thinning;

  line->size = axis->size;
  line->border = border;
  line->decimation = axis->factors.decimation;
  line->thinning = thinning;
  line->factor = axis->factor;
  line->factor_log2 = ilogb(axis->factor);
  line->cell = 1.0f / (float)axis->factor;
  line->prefilter_first = axis->prefilter_first;
  line->prefilter_count = axis->prefilter_count;
  line->low_first = axis->low_first;
  line->low_count = axis->low_count;
  line->made_first = axis->made_first;
  line->made_end = axis->made_first + axis->made_count;
  line->coarse_first = axis->coarse_first;
  line->coarse_end = axis->coarse_first + axis->coarse_count;
}

void place_low(CfBytesLow *low, const CfPyramidAxis *axis)
{
  for (int i = 0; i < (axis->low_count + 1) / 2; i++) {
    const uint16_t half = cf::half_bits(axis->low[i]);

    low->tap[i] = half | (uint32_t)cf::half_bits(axis->low[i] - cf::half_value(half)) << 16;
  }
}

/* Where D1 divides a size, `reflect` and `wrap` mean for fine samples what they mean for the
 * source: so only those inside are made. */
void mirror_line(CfBytesLine *line, int multiple)
{
  const int inside = line->size / line->decimation;

  if ((line->border == CF_BORDER_REFLECT || line->border == CF_BORDER_WRAP) &&
      line->size % (line->decimation * multiple) == 0 && line->made_first >= -inside &&
      line->made_end <= 2 * inside)
    line->mirrored = inside;
}

/* 16 outputs of the low taps read 16 D2 samples and the other taps; along columns, where they may
 * start with an odd sample, it is no more outputs than a stack of `up` needs. */
void describe_products(CfBytesPlane *plane)
{
  CfBytesLine *x = &plane->x, *y = &plane->y;
  const int needed = 16 * cf_bytes_stack(y->factor) / y->factor + 4;

  x->spare = (x->thinning * x->coarse_first + x->low_first - plane->left) & 3;
  x->chunks = cf::div_up(x->spare + 15 * x->thinning + x->low_count, 16);
  y->chunks = cf::div_up(1 + (needed - 1) * y->thinning + y->low_count, 16);
}

/* What its taps add up to as bytes. */
float prefilter_one(const CfPyramidAxis *axis)
{
  return 2.0f * powf((float)axis->factors.decimation, 3.0f);
}

void place_prefilter(CfBytesJob *job, const CfPyramidAxis *axis)
{
  const int decimation = axis->factors.decimation;

  for (int i = 0; i < axis->prefilter_count; i++)
    job->prefilter[decimation == 8][i] = (uint8_t)lrint(axis->prefilter[i] * prefilter_one(axis));
}

void describe_channels(CfBytesPlane *plane, const CfFormatInfo *format, int p,
                       const CfFirPlane *filter)
{
  uint8_t border[4];

  plane->channels = format->plane[p].channels;
  plane->alpha = filter->premultiplied ? cf_alpha_channel(&format->plane[p]) : -1;
  for (int i = 0; i < 4; i++) {
    const CfFirChannel *channel = &filter->channel[i % plane->channels];

    border[i] = (uint8_t)channel->border;
    if (i < plane->channels)
      plane->blank[i] = (float)channel->centre;
  }
  memcpy(&plane->border, border, sizeof border);
}

bool describe_plane(CfBytesJob *job, const CfVideo *video, int p, const CfFirPlan *plan,
                    const double sigma[2], CfStatus *status)
{
  const CfFormatInfo *format = cf_format_info(video->format);
  const bool weighted = plan->plane[p].premultiplied;
  const CfPyramidFactors factors[2] = {choose_factors(weighted, sigma[0]),
                                       choose_factors(weighted, sigma[1])};
  CfBytesPlane *plane = &job->plane[p];
  CfPyramidAxis x = {}, y = {};

  plane->width = cf_plane_width(video, p);
  plane->height = cf_plane_height(video, p);
  describe_channels(plane, format, p, &plan->plane[p]);
  const bool good =
      cf_pyramid_axis(&x, sigma[0], plane->width, plan->border, &factors[0], status) &&
      cf_pyramid_axis(&y, sigma[1], plane->height, plan->border, &factors[1], status);
  if (good) {
    describe_line(&plane->x, &x, plan->border);
    describe_line(&plane->y, &y, plan->border);
    place_prefilter(job, &x);
    place_prefilter(job, &y);
    place_low(&job->low[p][0], &x);
    place_low(&job->low[p][1], &y);
    /* Fine columns start where 16 bytes of the source do; coarse ones end with the last tile of
     * `up`, which reads 8 at a time. */
    mirror_line(&plane->x, 4);
    mirror_line(&plane->y, 1);
    if (plane->x.mirrored) {
      plane->x.made_first = 0;
      plane->x.made_end = plane->x.mirrored;
    }
    plane->left = plane->x.made_first & ~3;
    plane->fine_pitch = round_up(plane->x.made_end - plane->left, 4);
    plane->columns = round_up(round_up(plane->width, kBytesTile) / plane->x.factor + 8, 8);
    plane->fine_scale = 256.0f / (prefilter_one(&x) * prefilter_one(&y));
    describe_products(plane);
  }
  cf_pyramid_axis_free(&x);
  cf_pyramid_axis_free(&y);
  return good;
}

/* ---- a job's geometry ---- */

int line_halo(const CfBytesLine *line)
{
  return line->border == CF_BORDER_WRAP ? -1
                                        : line->decimation * (line->low_count / 2 + 1) +
                                              5 * line->factor + line->prefilter_count;
}

void place_fine(CfBytesPlane *plane)
{
  const int inside = plane->y.mirrored, first = plane->wanted_first, end = plane->wanted_end;

  plane->fine_first = first;
  plane->fine_end = end;
  if (inside == 0 || (first >= 0 && end <= inside))
    return;
  plane->fine_first = first < 0 ? 0 : first;
  plane->fine_end = end > inside ? inside : end;
  if (plane->y.border == CF_BORDER_WRAP) {
    plane->fine_first = 0;
    plane->fine_end = inside;
  } else if (first < 0 && -first > plane->fine_end) {
    plane->fine_end = -first;
  } else if (end > inside && 2 * inside - end < plane->fine_first) {
    plane->fine_first = 2 * inside - end;
  }
}

void place_rows(CfBytesPlane *plane, int first, int end, bool band)
{
  const CfBytesLine *y = &plane->y;
  const int halo = line_halo(y);

  plane->first = first;
  plane->end = end;
  plane->readable_first = band && halo >= 0 ? cf::clamp(first - halo, 0, plane->height) : 0;
  plane->readable_end = band && halo >= 0 ? cf::clamp(end + halo, 0, plane->height) : plane->height;

  plane->coarse_first = cf::clamp(first / y->factor - 2, y->coarse_first, y->coarse_end - 1);
  plane->coarse_end = cf::clamp((end - 1) / y->factor + 3, plane->coarse_first + 1, y->coarse_end);
  plane->wanted_first =
      cf::clamp(y->thinning * plane->coarse_first + y->low_first, y->made_first, y->made_end - 1);
  plane->wanted_end = cf::clamp(y->thinning * (plane->coarse_end - 1) + y->low_first + y->low_count,
                                plane->wanted_first + 1, y->made_end);
  plane->rows_first = (plane->wanted_first & ~1) - 2;
  plane->row_pairs = round_up(plane->wanted_end + 3 - plane->rows_first, 8) / 2;
  place_fine(plane);
}

void place_picture(CfCudaBytePyramid *pyramid, const CfJob *job)
{
  for (int p = 0; p < pyramid->job.planes; p++) {
    CfBytesPlane *plane = &pyramid->job.plane[p];

    plane->source = job->source.data[p];
    plane->source_stride = job->source.stride[p];
    plane->destination = job->destination.data[p];
    plane->destination_stride = job->destination.stride[p];
    plane->source_vector = cf_is_vector_aligned(plane->source, plane->source_stride);
    plane->destination_vector = cf_is_vector_aligned(plane->destination, plane->destination_stride);
    const CfWantedRows rows = cf_wanted_rows(&pyramid->video, p, job);
    place_rows(plane, rows.first, rows.end, rows.band);
  }
}

/* Where the intermediate samples lie; with a NULL base only counts their bytes. Behind `rows` there
 * is `fine`, since `up` reads a few columns more. */
size_t place_memory(CfBytesJob *job, uint8_t *base)
{
  size_t used = 0;

  for (int p = 0; p < job->planes; p++) {
    CfBytesPlane *plane = &job->plane[p];
    const size_t fine = (size_t)(plane->fine_end - plane->fine_first) * plane->channels;

    plane->rows = (uint2 *)(base + used);
    used += cf::scratch_bytes((size_t)plane->row_pairs * plane->channels * plane->columns *
                              sizeof(uint2));
    plane->fine = (float *)(base + used);
    used += cf::scratch_bytes(fine * plane->fine_pitch * sizeof(float));
  }
  return used;
}

/* ---- grids ---- */

struct Grids {
  int down, rows, up;
};

int down_across(const CfBytesPlane *plane)
{
  const int columns = kBytesTiles * 16 / plane->channels;

  return cf::div_up(cf::div_up(plane->x.made_end - plane->left, columns), kBytesWarps);
}

int up_across(const CfBytesPlane *plane)
{
  return cf::div_up(plane->width,
                    kBytesTile * kBytesWarps * cf_bytes_groups(plane->channels, plane->x.factor));
}

/* Blocks of a plane along rows by what a block makes, shared so that all together are about
 * `blocks`. */
int share(double blocks, double own, double all, int across, int rows)
{
  return cf::clamp((int)(blocks * own / all / across), 1, rows);
}

Grids place_blocks(CfBytesJob *job, const CfDevice *device)
{
  const int multiprocessors = device->info.multiprocessors;
  Grids grids = {};
  double work = 0.0;

  job->overlaps = device->code >= 90;
  for (int p = 0; p < job->planes; p++)
    work += (double)job->plane[p].width * job->plane[p].channels *
            (job->plane[p].end - job->plane[p].first);
  for (int p = 0; p < job->planes; p++) {
    CfBytesPlane *plane = &job->plane[p];
    const double own = (double)plane->width * plane->channels * (plane->end - plane->first);
    const int fine = plane->fine_end - (plane->fine_first & ~3);
    const int stack = 16 * cf_bytes_stack(plane->y.factor);
    const int stacks = cf::div_up(plane->end, stack) - plane->first / stack;
    const int strips =
        share(multiprocessors * kBytesDownBlocks, own, work, down_across(plane), fine);

    plane->strip = round_up(cf::div_up(fine, strips), 16 / plane->y.decimation);
    plane->down_blocks = grids.down;
    plane->rows_blocks = grids.rows;
    plane->up_blocks = grids.up;
    grids.down += down_across(plane) * cf::div_up(fine, plane->strip);
    grids.rows += cf_bytes_segments(*plane) * plane->row_pairs / 4 * plane->channels;
    grids.up += up_across(plane) * stacks;
  }
  return grids;
}

} // namespace

/* ---- the calls ---- */

bool cf_cuda_byte_pyramid_can(const CfVideo *video, const CfDevice *device,
                              const CfGaussblurParams *params)
{
  const CfFormatInfo *format = cf_format_info(video->format);

  if (device->code < 80 || format->bits != 8)
    return false;
  for (int p = 0; p < format->planes; p++) {
    const int channels = format->plane[p].channels;
    double sigma[2];

    cf_plane_sigmas(format, p, params, sigma);
    if ((channels != 1 && channels != 2 && channels != 4) ||
        cf_pyramid_factor(fmin(sigma[0], sigma[1]), 8, false, kLeastFactor) < kLeastFactor)
      return false;
  }
  return true;
}

CfCudaBytePyramid *cf_cuda_byte_pyramid_open(const CfVideo *video, CfDevice *device,
                                             CfStatus *status)
{
  CfCudaBytePyramid *pyramid = (CfCudaBytePyramid *)calloc(1, sizeof *pyramid);

  if (!pyramid) {
    cf_fail(status, CF_ERROR_NO_MEMORY, "no memory for a blur pyramid");
    return nullptr;
  }
  pyramid->video = *video;
  pyramid->device = device;
  return pyramid;
}

bool cf_cuda_byte_pyramid_update(CfCudaBytePyramid *pyramid, const CfGaussblurParams *params,
                                 CfStatus *status)
{
  const CfFormatInfo *format = cf_format_info(pyramid->video.format);
  CfBytesJob *next = (CfBytesJob *)calloc(1, sizeof *next);
  CfFirPlan plan = {};

  if (!next)
    return cf_fail(status, CF_ERROR_NO_MEMORY, "no memory for a blur pyramid");
  /* Of the plan only what happens to the channels is used, so any blur will do. */
  CfGaussblurParams some = *params;
  some.sigma = 1.0;
  some.sigma_vertical = -1.0;
  bool good = cf_fir_plan_gaussblur(&plan, &pyramid->video, &some, status);
  next->planes = format->planes;
  for (int p = 0; good && p < format->planes; p++) {
    double sigma[2];

    cf_plane_sigmas(format, p, params, sigma);
    good = describe_plane(next, &pyramid->video, p, &plan, sigma, status);
  }
  if (good)
    pyramid->job = *next;
  cf_fir_plan_free(&plan);
  free(next);
  return good;
}

bool cf_cuda_byte_pyramid_run(CfCudaBytePyramid *pyramid, const CfJob *job, CfStatus *status)
{
  CfBytesJob *work = &pyramid->job;

  place_picture(pyramid, job);
  const Grids grids = place_blocks(work, pyramid->device);
  uint8_t *scratch =
      (uint8_t *)cf_scratch_take(pyramid->device, place_memory(work, nullptr), job->stream, status);
  if (!scratch)
    return false;
  place_memory(work, scratch);

  const bool good = cf_bytes_down(work, grids.down, job->stream, status) &&
                    cf_bytes_low(work, grids.rows, job->stream, status) &&
                    cf_bytes_up(work, grids.up, job->stream, status);
  return cf_scratch_give(pyramid->device, scratch, job->stream, good ? status : nullptr) && good;
}

int cf_cuda_byte_pyramid_halo(const CfCudaBytePyramid *pyramid)
{
  const CfFormatInfo *format = cf_format_info(pyramid->video.format);
  int halo = 0;

  for (int p = 0; p < pyramid->job.planes; p++) {
    const int rows = line_halo(&pyramid->job.plane[p].y);

    if (rows < 0)
      return -1;
    if (rows << format->plane[p].subsampling_y > halo)
      halo = rows << format->plane[p].subsampling_y;
  }
  return halo;
}

void cf_cuda_byte_pyramid_close(CfCudaBytePyramid *pyramid)
{
  free(pyramid);
}
