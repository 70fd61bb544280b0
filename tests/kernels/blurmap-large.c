/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Blur maps up to the largest sigmas, equal and different along both axes, with every border, in
 * pictures that are small compared with the Gaussian: every engine against the definition.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gaussblur.h"
#include "harness.h"
#include "plan/map.h"
#include "naive_fir.h"

#define LONGEST_SIDE 70

/* As naive_fold, for positions far away. */
static int fold(CfBorder border, int i, int size)
{
  const int period = border == CF_BORDER_REFLECT       ? 2 * size
                     : border == CF_BORDER_REFLECT_101 ? size > 1 ? 2 * size - 2 : 1
                                                       : size;

  if (border == CF_BORDER_REPLICATE)
    return i < 0 ? 0 : i < size ? i : size - 1;
  return border == CF_BORDER_CONSTANT ? naive_fold(border, i, size)
                                      : naive_fold(border, i % period, size);
}

/* The weights of a sample: of each row or column of the picture, and of all positions outside of
 * it. */
typedef struct {
  double inside[LONGEST_SIDE], outside;
} Weights;

static void weigh(Weights *weights, double sigma, int at, int size, CfBorder border)
{
  const int radius = sigma < 0.02 ? 0 : (int)ceil(4.0 * sigma);
  double sum = 0.0;

  memset(weights, 0, sizeof *weights);
  for (int i = 0; i <= radius; i++) {
    const double weight = i ? exp(-i * i / (2.0 * sigma * sigma)) : 1.0;

    for (int side = i ? -1 : 1; side <= 1; side += 2) {
      const int from = fold(border, at + side * i, size);

      *(from < 0 ? &weights->outside : &weights->inside[from]) += weight;
      sum += weight;
    }
  }
  for (int i = 0; i < size; i++)
    weights->inside[i] /= sum;
  weights->outside /= sum;
}

/* The value of the map `linear` at a sample of a plane. */
static double linear_m(const CfGaussblurParams *params, const CfVideo *video, int p, int x, int y)
{
  const CfPlaneFormat *plane = &cf_format_info(video->format)->plane[p];
  const double dx = (x + 0.5) * (1 << plane->subsampling_x) - params->map_x * video->width;
  const double dy = (y + 0.5) * (1 << plane->subsampling_y) - params->map_y * video->height;
  const double turn = params->map_angle * acos(-1.0) / 180.0;
  const double distance = fabs(cos(turn) * dy - sin(turn) * dx) / video->width;

  return fmin(distance / params->map_outer, 1.0);
}

/* The exact value of a sample, not rounded. */
static double wanted(const Naive *naive, const Weights *row, const Weights *column, int channel)
{
  const double border = naive->border[naive->format->role[channel]];
  double sum = column->outside * border;

  for (int y = 0; y < naive->height; y++) {
    double line = row->outside * border;

    if (column->inside[y] == 0.0)
      continue;
    for (int x = 0; x < naive->width; x++)
      line += row->inside[x] * cf_picture_get(naive->source, naive->plane, x, y, channel);
    sum += column->inside[y] * line;
  }
  return sum;
}

typedef struct {
  double worst, squares;
  int samples;
} Distance;

static void add_plane(Distance *distance, const CfGaussblurParams *params, const Naive *naive,
                      const CfTestPicture *got)
{
  const CfMapSigmas sigmas = cf_map_sigmas(&naive->source->video, params, naive->plane);
  Weights row, column;

  for (int y = 0; y < naive->height; y++) {
    for (int x = 0; x < naive->width; x++) {
      const double m = linear_m(params, &naive->source->video, naive->plane, x, y);
      const double *ends = sigmas.horizontal;

      weigh(&row, ends[0] + m * (ends[1] - ends[0]), x, naive->width, naive->filter->border);
      ends = sigmas.vertical;
      weigh(&column, ends[0] + m * (ends[1] - ends[0]), y, naive->height, naive->filter->border);
      for (int c = 0; c < naive->format->channels; c++) {
        if (naive->format->role[c] == CF_ROLE_PADDING)
          continue;
        const double off =
            cf_picture_get(got, naive->plane, x, y, c) - wanted(naive, &row, &column, c);

        distance->worst = fmax(distance->worst, fabs(off));
        distance->squares += off * off;
        distance->samples++;
      }
    }
  }
}

/* In codes of 8 bits. */
static Distance distance_of(const CfGaussblurParams *params, const CfTestPicture *source,
                            const CfTestPicture *got)
{
  const CfFormatInfo *info = cf_format_info(source->video.format);
  const NaiveFilter filter = {.border = (CfBorder)params->border, .border_color = 0xff000000};
  const double unit = cf_max_code(info) / 255.0;
  Distance distance = {0};

  for (int p = 0; p < info->planes; p++) {
    const Naive naive = naive_plane(&filter, source, p);

    add_plane(&distance, params, &naive, got);
  }
  distance.worst /= unit;
  distance.squares /= unit * unit;
  return distance;
}

static void try(CfTest *test, const CfGaussblurParams *params, const CfTestPicture *source,
                int threads)
{
  CfTestPicture *got = cf_picture_new(&source->video, source->layout);

  cf_test_context(test, "%s %dx%d, sigma %g to %g, vertical %g, border %s, %d threads",
                  cf_format_info(source->video.format)->name, source->video.width,
                  source->video.height, params->sigma_min, params->sigma, params->sigma_vertical,
                  cf_border_choices[params->border].nick, threads);
  if (cf_test_filter(test, test->engine, params, threads, source, got)) {
    const Distance distance = distance_of(params, source, got);
    const double rms = sqrt(distance.squares / distance.samples);

    /* Includes half a code of rounding. */
    CF_EXPECT(test, distance.worst <= 2.5, "off by %g", distance.worst);
    /* The mean over few samples is left to chance. */
    CF_EXPECT(test, distance.samples < 1000 || rms < 0.5, "rms %g", rms);
  }
  cf_picture_free(got);
}

static const struct {
  double least, sigma, vertical;
} sigmas[] = {{0.0, 250.0, 4.0}, {0.0, 250.0, -1.0}, {0.0, 120.0, 0.0},  {30.0, 250.0, 5.0},
              {0.0, 4.0, 250.0}, {60.0, 3.0, 200.0}, {0.0, 180.0, 60.0}, {7.0, 90.0, -1.0}};

#define SIGMAS ((int)(sizeof sigmas / sizeof sigmas[0]))

static void every_border(CfTest *test)
{
  const CfFormat formats[] = {CF_FORMAT_GRAY8, CF_FORMAT_RGBx, CF_FORMAT_GRAY16_LE, CF_FORMAT_NV12};
  const CfSize sizes[] = {{40, 24}, {12, 9}, {1, 1}, {LONGEST_SIDE, 5}, {7, LONGEST_SIDE}};
  const int threads[] = {1, 2, 5};
  int round = 0;

  for (int border = 0; border <= CF_BORDER_CONSTANT; border++) {
    for (int i = 0; i < SIGMAS; i++) {
      for (int s = 0; s < 5; s++, round++) {
        /* In the course of the rounds, formats and numbers of threads meet every border, sigma and
         * size. */
        const CfFormat format = formats[(round + border) % 4];
        const CfVideo video = cf_video(format, sizes[s].width, sizes[s].height);
        const CfGaussblurParams params = {.sigma = sigmas[i].sigma,
                                          .sigma_vertical = sigmas[i].vertical,
                                          .sigma_min = sigmas[i].least,
                                          .border = border,
                                          .map_mode = CF_MAP_LINEAR,
                                          .map_x = 0.3,
                                          .map_y = 0.4,
                                          .map_outer = 0.5,
                                          .map_angle = 30.0};
        CfTestPicture *source = cf_picture_new(&video, (CfLayout)(round % CF_LAYOUT_COUNT));

        cf_picture_fill(source, i % 2 ? CF_PATTERN_RAMPS : CF_PATTERN_NOISE, CF_ALPHA_OPAQUE,
                        test->seed + (uint64_t)round);
        try(test, &params, source, threads[round % 3]);
        cf_picture_free(source);
      }
    }
  }
}

static const CfTestCase cases[] = {
    {"every-border", every_border, CF_EACH_OTHER_ENGINE},
    {0},
};

int main(int argc, char **argv)
{
  const CfTestSuite suite = {&cf_gaussblur, cases};

  return cf_test_main(&suite, argc, argv);
}
