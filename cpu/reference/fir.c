/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpu/reference/fir.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/reference/samples.h"

/* One plane of one picture. */
typedef struct {
  const CfFirPlane *plan;
  CfBorder border;
  int width, height, channels;
  int alpha; /* its channel, or -1 */
  const CfFormatInfo *format;
} Plane;

static Plane describe_plane(const CfReferenceFir *fir, int p)
{
  const CfFormatInfo *format = cf_format_info(fir->video.format);

  return (Plane){
      .plan = &fir->plan.plane[p],
      .border = fir->plan.border,
      .width = cf_plane_width(&fir->video, p),
      .height = cf_plane_height(&fir->video, p),
      .channels = format->plane[p].channels,
      .alpha = cf_alpha_channel(&format->plane[p]),
      .format = format,
  };
}

static void store_code(const Plane *plane, uint8_t *row, int index, double value)
{
  cf_reference_store(plane->format, row, index,
                     (int)fmin(fmax(floor(value + 0.5), 0.0), cf_max_code(plane->format)));
}

/* What the sums run over: codes around the channel's centre, weighted by alpha where premultiplied.
 */
static double weighted(const Plane *plane, int channel, double code, double alpha)
{
  const double value = code - plane->plan->channel[channel].centre;

  return plane->plan->premultiplied && channel != plane->alpha ? value * alpha : value;
}

static double border_value(const Plane *plane, int channel)
{
  const CfFirChannel *channels = plane->plan->channel;
  const double alpha = plane->alpha < 0 ? 1.0 : channels[plane->alpha].border;

  return weighted(plane, channel, channels[channel].border, alpha);
}

static void load_plane(const Plane *plane, const uint8_t *data, ptrdiff_t stride, double *samples)
{
  for (int y = 0; y < plane->height; y++) {
    const uint8_t *row = data + y * stride;

    for (int x = 0; x < plane->width; x++) {
      const int pixel = x * plane->channels;
      const int alpha =
          plane->alpha < 0 ? 1 : cf_reference_load(plane->format, row, pixel + plane->alpha);

      for (int c = 0; c < plane->channels; c++)
        *samples++ = weighted(plane, c, cf_reference_load(plane->format, row, pixel + c), alpha);
    }
  }
}

static size_t position(const Plane *plane, int x, int y, int channel)
{
  return ((size_t)y * (size_t)plane->width + (size_t)x) * (size_t)plane->channels + (size_t)channel;
}

static double row_sum(const Plane *plane, const double *samples, int x, int y, int channel)
{
  const CfTaps *taps = &plane->plan->row;
  double sum = 0.0;

  for (int i = 0; i < taps->count; i++) {
    const int from = cf_border_index(plane->border, (long)x + i - taps->anchor, plane->width);

    sum += taps->tap[i] *
           (from < 0 ? border_value(plane, channel) : samples[position(plane, from, y, channel)]);
  }
  return sum;
}

static double column_sum(const Plane *plane, const double *rows, int x, int y, int channel)
{
  const CfTaps *taps = &plane->plan->column;
  double sum = 0.0;

  for (int j = 0; j < taps->count; j++) {
    const int from = cf_border_index(plane->border, (long)y + j - taps->anchor, plane->height);

    sum += taps->tap[j] * (from < 0 ? border_value(plane, channel) * plane->plan->row.sum
                                    : rows[position(plane, x, from, channel)]);
  }
  return sum;
}

static double tone(const CfFirChannel *channel, double sum)
{
  const double value = channel->scale * sum;

  return channel->centre + channel->bias + (channel->absolute ? fabs(value) : value);
}

/* Turns the mean around a pixel, in a channel's sum, into what is to be written. */
static void unsharp(const Plane *plane, double sum[CF_MAX_CHANNELS], int x, const uint8_t *source)
{
  const int pixel = x * plane->channels;
  const int alpha =
      plane->alpha < 0 ? 1 : cf_reference_load(plane->format, source, pixel + plane->alpha);

  for (int c = 0; c < plane->channels; c++) {
    const double value =
        weighted(plane, c, cf_reference_load(plane->format, source, pixel + c), alpha);
    const double more = value - sum[c];
    const double unit = plane->plan->premultiplied && c != plane->alpha ? 255.0 : 1.0;

    sum[c] =
        fabs(more) > plane->plan->threshold * unit ? value + plane->plan->amount * more : value;
  }
}

/* Writes pixel x of a row; `sum` are the channels' filtered values, as `weighted` makes them. */
static void finish_pixel(const Plane *plane, const double sum[CF_MAX_CHANNELS], int x,
                         const uint8_t *source, uint8_t *destination)
{
  const CfFirChannel *channels = plane->plan->channel;
  const int pixel = x * plane->channels;
  double alpha = 1.0;

  if (plane->plan->premultiplied) {
    alpha = channels[plane->alpha].filtered
                ? tone(&channels[plane->alpha], sum[plane->alpha])
                : cf_reference_load(plane->format, source, pixel + plane->alpha);
  }

  for (int c = 0; c < plane->channels; c++) {
    double value;

    if (!channels[c].filtered)
      value = cf_reference_load(plane->format, source, pixel + c);
    else if (plane->plan->premultiplied && c == plane->alpha)
      value = alpha;
    else if (alpha <= 0.0)
      value = channels[c].centre;
    else
      value = tone(&channels[c], sum[c] / alpha);
    store_code(plane, destination, pixel + c, value);
  }
}

static void filter_pixel(const Plane *plane, const double *rows, int x, int y,
                         const uint8_t *source, uint8_t *destination)
{
  double sum[CF_MAX_CHANNELS] = {0};

  for (int c = 0; c < plane->channels; c++) {
    if (plane->plan->channel[c].filtered)
      sum[c] = column_sum(plane, rows, x, y, c);
  }
  if (plane->plan->unsharp)
    unsharp(plane, sum, x, source);
  finish_pixel(plane, sum, x, source, destination);
}

static void copy_plane(const Plane *plane, const uint8_t *source, ptrdiff_t source_stride,
                       uint8_t *destination, ptrdiff_t destination_stride)
{
  const size_t bytes =
      (size_t)plane->width * (size_t)plane->channels * (size_t)cf_sample_bytes(plane->format);

  for (int y = 0; y < plane->height; y++)
    memcpy(destination + y * destination_stride, source + y * source_stride, bytes);
}

static void filter_plane(const Plane *plane, const uint8_t *source, ptrdiff_t source_stride,
                         uint8_t *destination, ptrdiff_t destination_stride,
                         CfReferenceFir *scratch)
{
  double *row = scratch->rows;

  load_plane(plane, source, source_stride, scratch->samples);
  for (int y = 0; y < plane->height; y++) {
    for (int x = 0; x < plane->width; x++) {
      for (int c = 0; c < plane->channels; c++)
        *row++ = plane->plan->channel[c].filtered ? row_sum(plane, scratch->samples, x, y, c) : 0.0;
    }
  }
  for (int y = 0; y < plane->height; y++) {
    for (int x = 0; x < plane->width; x++)
      filter_pixel(plane, scratch->rows, x, y, source + y * source_stride,
                   destination + y * destination_stride);
  }
}

/* Gathering */

static double value_at(const Plane *plane, const double *samples, int x, int y, int channel)
{
  return x < 0 || y < 0 ? border_value(plane, channel) : samples[position(plane, x, y, channel)];
}

static void gather_pixel(const Plane *plane, const double *samples, int x, int y, const CfTaps *row,
                         const CfTaps *column, double sum[CF_MAX_CHANNELS])
{
  for (int j = 0; j < column->count; j++) {
    const int from_y = cf_border_index(plane->border, (long)y + j - column->anchor, plane->height);

    for (int i = 0; i < row->count; i++) {
      const int from_x = cf_border_index(plane->border, (long)x + i - row->anchor, plane->width);
      const double weight = column->tap[j] * row->tap[i];

      for (int c = 0; c < plane->channels; c++)
        sum[c] += weight * value_at(plane, samples, from_x, from_y, c);
    }
  }
}

static void gather_row(const Plane *plane, const CfReferenceTaps *taps, int p, int y,
                       const double *samples, const uint8_t *source, uint8_t *destination)
{
  const size_t pixel = (size_t)plane->channels * (size_t)cf_sample_bytes(plane->format);

  for (int x = 0; x < plane->width; x++) {
    double sum[CF_MAX_CHANNELS] = {0};
    CfTaps row, column;

    taps->at(taps->context, p, x, y, &row, &column);
    if (cf_taps_are_identity(&row) && cf_taps_are_identity(&column)) {
      memcpy(destination + (size_t)x * pixel, source + (size_t)x * pixel, pixel);
    } else {
      gather_pixel(plane, samples, x, y, &row, &column, sum);
      finish_pixel(plane, sum, x, source, destination);
    }
  }
}

void cf_reference_fir_gather(CfReferenceFir *fir, const CfJob *job, const CfReferenceTaps *taps)
{
  for (int p = 0; p < fir->plan.planes; p++) {
    const Plane plane = describe_plane(fir, p);

    load_plane(&plane, job->source.data[p], job->source.stride[p], fir->samples);
    for (int y = 0; y < plane.height; y++)
      gather_row(&plane, taps, p, y, fir->samples, job->source.data[p] + y * job->source.stride[p],
                 job->destination.data[p] + y * job->destination.stride[p]);
  }
}

/* State */

CfReferenceFir *cf_reference_fir_open(const CfVideo *video, CfStatus *status)
{
  const CfFormatInfo *format = cf_format_info(video->format);
  CfReferenceFir *fir = calloc(1, sizeof *fir);
  size_t largest = 0;

  for (int p = 0; p < format->planes; p++) {
    const size_t samples = (size_t)cf_plane_width(video, p) * (size_t)cf_plane_height(video, p) *
                           (size_t)format->plane[p].channels;
    largest = samples > largest ? samples : largest;
  }
  if (fir) {
    fir->video = *video;
    fir->samples = calloc(largest, sizeof *fir->samples);
    fir->rows = calloc(largest, sizeof *fir->rows);
  }
  if (!fir || !fir->samples || !fir->rows) {
    cf_reference_fir_close(fir);
    cf_fail(status, CF_ERROR_NO_MEMORY, "no memory for a plane of %zu samples in double precision",
            largest);
    return NULL;
  }
  return fir;
}

bool cf_reference_fir_run(void *state, const CfJob *job, CfStatus *status)
{
  CfReferenceFir *fir = state;

  (void)status;
  for (int p = 0; p < fir->plan.planes; p++) {
    const Plane plane = describe_plane(fir, p);
    const uint8_t *source = job->source.data[p];
    uint8_t *destination = job->destination.data[p];

    if (plane.plan->filtered)
      filter_plane(&plane, source, job->source.stride[p], destination, job->destination.stride[p],
                   fir);
    else
      copy_plane(&plane, source, job->source.stride[p], destination, job->destination.stride[p]);
  }
  return true;
}

const char *cf_reference_fir_algorithm(const void *state)
{
  (void)state;
  return "fir-double";
}

void cf_reference_fir_close(void *state)
{
  CfReferenceFir *fir = state;

  if (!fir)
    return;
  cf_fir_plan_free(&fir->plan);
  free(fir->samples);
  free(fir->rows);
  free(fir);
}
