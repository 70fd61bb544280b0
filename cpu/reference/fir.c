/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpu/reference/fir.h"

#include <math.h>
#include <stdlib.h>

#include "cpu/common/samples.h"

/* One plane of a job. */
typedef struct {
  const CfFirPlane *plan;
  CfBorder border;
  int alpha; /* channel of alpha, or -1 */
  CfSamples source, destination;
} Plane;

static Plane describe_plane(const CfReferenceFir *fir, const CfJob *job, int p)
{
  return (Plane){
      .plan = &fir->plan.plane[p],
      .border = fir->plan.border,
      .alpha = cf_alpha_channel(&cf_format_info(fir->video.format)->plane[p]),
      .source = cf_samples_of(&fir->video, &job->source, p),
      .destination = cf_samples_of(&fir->video, &job->destination, p),
  };
}

/* What the sums run over: codes relative to the channel's centre, in premultiplied planes times
 * alpha. */
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

static double source_value(const Plane *plane, int x, int y, int channel)
{
  const int alpha = plane->alpha < 0 ? 1 : cf_sample_load(&plane->source, x, y, plane->alpha);

  return weighted(plane, channel, cf_sample_load(&plane->source, x, y, channel), alpha);
}

static void load_plane(const Plane *plane, double *samples)
{
  for (int y = 0; y < plane->source.height; y++)
    for (int x = 0; x < plane->source.width; x++)
      for (int c = 0; c < plane->source.channels; c++)
        *samples++ = source_value(plane, x, y, c);
}

static size_t position(const Plane *plane, int x, int y, int channel)
{
  return ((size_t)y * (size_t)plane->source.width + (size_t)x) * (size_t)plane->source.channels +
         (size_t)channel;
}

/* The sum over a line at sample `at`; neighbouring samples of the line are `step` values apart. */
static double line_sum(const CfTaps *taps, CfBorder border, int at, const double *line, int size,
                       size_t step, double outside)
{
  double sum = 0.0;

  for (int i = 0; i < taps->count; i++) {
    const int from = cf_border_index(border, (long)at + i - taps->anchor, size);

    sum += taps->tap[i] * (from < 0 ? outside : line[(size_t)from * step]);
  }
  return sum;
}

static double row_sum(const Plane *plane, const double *samples, int x, int y, int channel)
{
  return line_sum(&plane->plan->row, plane->border, x, samples + position(plane, 0, y, channel),
                  plane->source.width, position(plane, 1, 0, 0), border_value(plane, channel));
}

static double column_sum(const Plane *plane, const double *rows, int x, int y, int channel)
{
  return line_sum(&plane->plan->column, plane->border, y, rows + position(plane, x, 0, channel),
                  plane->source.height, position(plane, 0, 1, 0),
                  border_value(plane, channel) * plane->plan->row.sum);
}

static double map_sum(const CfFirChannel *channel, double sum)
{
  const double value = channel->scale * sum;

  return channel->centre + channel->bias + (channel->absolute ? fabs(value) : value);
}

/* Replaces the means around a pixel by what unsharp makes of them. */
static void unsharp(const Plane *plane, double sum[CF_MAX_CHANNELS], int x, int y)
{
  for (int c = 0; c < plane->source.channels; c++) {
    const double value = source_value(plane, x, y, c), more = value - sum[c];
    const double unit = plane->plan->premultiplied && c != plane->alpha ? 255.0 : 1.0;

    sum[c] =
        fabs(more) > plane->plan->threshold * unit ? value + plane->plan->amount * more : value;
  }
}

/* Stores a pixel. `sum` has the filtered value of each channel, in the units of weighted(). */
static void finish_pixel(const Plane *plane, const double sum[CF_MAX_CHANNELS], int x, int y)
{
  const CfFirChannel *channels = plane->plan->channel;
  double alpha = 1.0;

  if (plane->plan->premultiplied) {
    alpha = channels[plane->alpha].filtered ? map_sum(&channels[plane->alpha], sum[plane->alpha])
                                            : cf_sample_load(&plane->source, x, y, plane->alpha);
  }
  for (int c = 0; c < plane->source.channels; c++) {
    double value;

    if (!channels[c].filtered)
      value = cf_sample_load(&plane->source, x, y, c);
    else if (plane->plan->premultiplied && c == plane->alpha)
      value = alpha;
    else if (alpha <= 0.0)
      value = channels[c].centre;
    else
      value = map_sum(&channels[c], sum[c] / alpha);
    cf_sample_store(&plane->destination, x, y, c, value + 0.5);
  }
}

static void filter_pixel(const Plane *plane, const double *rows, int x, int y)
{
  double sum[CF_MAX_CHANNELS] = {0};

  for (int c = 0; c < plane->source.channels; c++) {
    if (plane->plan->channel[c].filtered)
      sum[c] = column_sum(plane, rows, x, y, c);
  }
  if (plane->plan->unsharp)
    unsharp(plane, sum, x, y);
  finish_pixel(plane, sum, x, y);
}

static void filter_plane(const Plane *plane, CfReferenceFir *scratch)
{
  double *row = scratch->rows;

  load_plane(plane, scratch->samples);
  for (int y = 0; y < plane->source.height; y++)
    for (int x = 0; x < plane->source.width; x++)
      for (int c = 0; c < plane->source.channels; c++)
        *row++ = plane->plan->channel[c].filtered ? row_sum(plane, scratch->samples, x, y, c) : 0.0;
  for (int y = 0; y < plane->source.height; y++)
    for (int x = 0; x < plane->source.width; x++)
      filter_pixel(plane, scratch->rows, x, y);
}

/* ---- Gathering ---- */

static double value_at(const Plane *plane, const double *samples, int x, int y, int channel)
{
  return x < 0 || y < 0 ? border_value(plane, channel) : samples[position(plane, x, y, channel)];
}

/* False where all weights are 0. */
static bool gather_pixel(const Plane *plane, const double *samples, const float *weights, int x,
                         int y, const CfTaps *row, const CfTaps *column,
                         double sum[CF_MAX_CHANNELS])
{
  const int width = plane->source.width, channels = plane->source.channels;
  double total = 0.0;

  for (int j = 0; j < column->count; j++) {
    const int from_y =
        cf_border_index(plane->border, (long)y + j - column->anchor, plane->source.height);

    for (int i = 0; i < row->count; i++) {
      const int from_x = cf_border_index(plane->border, (long)x + i - row->anchor, width);
      const double share = !weights                   ? 1.0
                           : from_x < 0 || from_y < 0 ? 0.0
                                                      : weights[from_y * width + from_x];
      const double weight = column->tap[j] * row->tap[i] * share;

      total += weight;
      for (int c = 0; c < channels; c++)
        sum[c] += weight * value_at(plane, samples, from_x, from_y, c);
    }
  }
  for (int c = 0; weights && c < channels; c++)
    sum[c] /= total;
  return !weights || total > 0.0;
}

void cf_reference_fir_gather(CfReferenceFir *fir, const CfJob *job, const CfReferenceTaps *taps)
{
  for (int p = 0; p < fir->plan.planes; p++) {
    const Plane plane = describe_plane(fir, job, p);
    const float *weights = taps->weights ? taps->weights(taps->context, p) : NULL;

    load_plane(&plane, fir->samples);
    cf_samples_copy(&plane.source, &plane.destination);
    for (int y = 0; y < plane.source.height; y++) {
      for (int x = 0; x < plane.source.width; x++) {
        double sum[CF_MAX_CHANNELS] = {0};
        CfTaps row, column;

        taps->at(taps->context, p, x, y, &row, &column);
        if ((!cf_taps_are_identity(&row) || !cf_taps_are_identity(&column)) &&
            gather_pixel(&plane, fir->samples, weights, x, y, &row, &column, sum))
          finish_pixel(&plane, sum, x, y);
      }
    }
  }
}

/* ---- State ---- */

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

  for (int p = 0; p < fir->plan.planes; p++) {
    const Plane plane = describe_plane(fir, job, p);

    if (plane.plan->filtered)
      filter_plane(&plane, fir);
    else
      cf_samples_copy(&plane.source, &plane.destination);
  }
  return true;
}

const char *cf_reference_fir_algorithm(const void *state)
{
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
