/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A literal local Laplacian filter, to test the reference with. Algorithm 1 of Paris, Hasinoff and
 * Kautz 2011 remaps the whole image and builds a whole pyramid for every coefficient; the sampled
 * filter does so for every sampled intensity. Shares no code with the engines, and is slow beyond a
 * few hundred pixels.
 */
#pragma once

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "llf.h"

/* 1 or 3 interleaved channels. */
typedef struct {
  int width, height, channels;
  double *value;
} NaiveImage;

static inline NaiveImage naive_image(int width, int height, int channels)
{
  const NaiveImage image = {width, height, channels,
                            calloc((size_t)(width * height * channels), sizeof(double))};

  if (!image.value)
    exit(EXIT_FAILURE);
  return image;
}

static inline double *naive_at(const NaiveImage *image, int x, int y)
{
  return image->value + (y * image->width + x) * image->channels;
}

static inline int naive_mirror(int i, int size)
{
  while (i < 0 || i >= size)
    i = i < 0 ? -1 - i : 2 * size - 1 - i;
  return i;
}

static const double naive_kernel[5] = {0.05, 0.25, 0.4, 0.25, 0.05};

static inline NaiveImage naive_reduce(const NaiveImage *fine)
{
  const NaiveImage coarse =
      naive_image((fine->width + 1) / 2, (fine->height + 1) / 2, fine->channels);

  for (int y = 0; y < coarse.height; y++)
    for (int x = 0; x < coarse.width; x++)
      for (int i = -2; i <= 2; i++)
        for (int j = -2; j <= 2; j++)
          for (int c = 0; c < coarse.channels; c++)
            naive_at(&coarse, x, y)[c] += naive_kernel[i + 2] * naive_kernel[j + 2] *
                                          naive_at(fine, naive_mirror(2 * x + i, fine->width),
                                                   naive_mirror(2 * y + j, fine->height))[c];
  return coarse;
}

static inline NaiveImage naive_expand(const NaiveImage *coarse, int width, int height)
{
  const NaiveImage fine = naive_image(width, height, coarse->channels);

  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++)
      for (int i = -2; i <= 2; i++)
        for (int j = -2; j <= 2; j++)
          /* Only every other sample of the upsampled image is not 0. */
          if ((x + i) % 2 == 0 && (y + j) % 2 == 0)
            for (int c = 0; c < fine.channels; c++)
              naive_at(&fine, x, y)[c] += 4.0 * naive_kernel[i + 2] * naive_kernel[j + 2] *
                                          naive_at(coarse, naive_mirror((x + i) / 2, coarse->width),
                                                   naive_mirror((y + j) / 2, coarse->height))[c];
  return fine;
}

typedef struct {
  int images;
  NaiveImage image[32];
} NaivePyramid;

/* At most `limit` reduced images, as long as the shorter side has at least two samples. */
static inline NaivePyramid naive_pyramid(const NaiveImage *image, int limit)
{
  NaivePyramid pyramid = {.images = 1,
                          .image = {naive_image(image->width, image->height, image->channels)}};
  int shorter = image->width < image->height ? image->width : image->height;

  memcpy(pyramid.image[0].value, image->value,
         (size_t)(image->width * image->height * image->channels) * sizeof(double));
  for (; shorter >= 2 && pyramid.images <= limit; shorter /= 2, pyramid.images++)
    pyramid.image[pyramid.images] = naive_reduce(&pyramid.image[pyramid.images - 1]);
  return pyramid;
}

static inline void naive_free(NaivePyramid *pyramid)
{
  for (int l = 0; l < pyramid->images; l++)
    free(pyramid->image[l].value);
}

/* Laplacian levels that are filtered, and the share of the last one. */
typedef struct {
  int levels;
  double last;
} NaiveDepth;

static inline NaiveDepth naive_depth(const NaiveImage *image, const CfLlfParams *params)
{
  const int shorter = image->width < image->height ? image->width : image->height;
  NaiveDepth depth = {0, 1.0};

  for (int size = shorter; size >= 2 && (params->levels == 0 || depth.levels < params->levels);
       size /= 2) {
    /* Details of level l are up to 2^(l + 1) pixels large. */
    const double part = log2(params->reach * shorter / exp2(depth.levels));

    if (params->reach > 0.0 && part <= 0.0)
      break;
    depth.levels++;
    depth.last = params->reach > 0.0 && part < 1.0 ? part : 1.0;
  }
  return depth;
}

/* r(i) of section 4 of the paper: details within sigma by the power alpha, edges by beta. */
static inline void naive_remap_pixel(const CfLlfParams *params, int channels, const double *i,
                                     const double *g0, double *remapped)
{
  double distance = 0.0, detail, edge, smooth;

  for (int c = 0; c < channels; c++)
    distance += (i[c] - g0[c]) * (i[c] - g0[c]);
  distance = sqrt(distance);
  detail = params->sigma * pow(distance / params->sigma, params->alpha);
  if (params->alpha < 1.0 && params->noise_floor > 0.0) {
    double t = distance / params->noise_floor - 1.0;
    t = t < 0.0 ? 0.0 : t > 1.0 ? 1.0 : t;
    smooth = t * t * (t - 2.0) * (t - 2.0);
    detail = smooth * detail + (1.0 - smooth) * distance;
  }
  edge = params->beta * (distance - params->sigma) + params->sigma;
  for (int c = 0; c < channels; c++)
    remapped[c] = distance == 0.0 ? g0[c]
                                  : g0[c] + (i[c] - g0[c]) / distance *
                                                (distance <= params->sigma ? detail : edge);
}

static inline NaiveImage naive_remap(const NaiveImage *image, const CfLlfParams *params,
                                     const double *g0)
{
  const NaiveImage remapped = naive_image(image->width, image->height, image->channels);

  for (int y = 0; y < image->height; y++)
    for (int x = 0; x < image->width; x++)
      naive_remap_pixel(params, image->channels, naive_at(image, x, y), g0,
                        naive_at(&remapped, x, y));
  return remapped;
}

/* Collapses a Laplacian pyramid in place; image[0] is then the picture. */
static inline void naive_collapse(NaivePyramid *laplacian)
{
  for (int l = laplacian->images - 2; l >= 0; l--) {
    const NaiveImage *level = &laplacian->image[l];
    const NaiveImage expanded = naive_expand(&laplacian->image[l + 1], level->width, level->height);

    for (int i = 0; i < level->width * level->height * level->channels; i++)
      level->value[i] += expanded.value[i];
    free(expanded.value);
  }
}

/* A Laplacian level of the input itself. */
static inline NaiveImage naive_laplacian(const NaivePyramid *gaussian, int level)
{
  const NaiveImage *own = &gaussian->image[level];
  const NaiveImage laplacian = naive_expand(&gaussian->image[level + 1], own->width, own->height);

  for (int i = 0; i < own->width * own->height * own->channels; i++)
    laplacian.value[i] = own->value[i] - laplacian.value[i];
  return laplacian;
}

static inline double naive_smooth(double from, double to, double value)
{
  const double t = value <= from ? 0.0 : value >= to ? 1.0 : (value - from) / (to - from);

  return 3.0 * t * t - 2.0 * t * t * t;
}

/* Applies the last level by a share. */
static inline void naive_share(NaivePyramid *result, const NaivePyramid *gaussian, double share)
{
  const int last = result->images - 2;
  NaiveImage own;

  if (last < 0)
    return;
  own = naive_laplacian(gaussian, last);
  for (int i = 0; i < own.width * own.height * own.channels; i++)
    result->image[last].value[i] =
        share * result->image[last].value[i] + (1.0 - share) * own.value[i];
  free(own.value);
}

static inline double naive_clamped(const NaiveImage *image, int x, int y)
{
  const int last_x = image->width - 1, last_y = image->height - 1;

  return *naive_at(image, x < 0 ? 0 : x > last_x ? last_x : x, y < 0 ? 0 : y > last_y ? last_y : y);
}

/* Means of 2 x 2 samples; the border is replicated. */
static inline NaiveImage naive_halved(const NaiveImage *image)
{
  const NaiveImage half = naive_image((image->width + 1) / 2, (image->height + 1) / 2, 1);

  for (int y = 0; y < 2 * half.height; y++)
    for (int x = 0; x < 2 * half.width; x++)
      *naive_at(&half, x / 2, y / 2) += 0.25 * naive_clamped(image, x, y);
  return half;
}

/* Means of blocks of 4 x 4 samples, with a sixteenth of either neighbour along both axes. */
static inline NaiveImage naive_block_means(const NaiveImage *image)
{
  const NaiveImage cells = naive_halved(image), blocks = naive_halved(&cells);
  const NaiveImage means = naive_image(blocks.width, blocks.height, 1);

  for (int y = 0; y < means.height; y++)
    for (int x = 0; x < means.width; x++)
      for (int i = -1; i <= 1; i++)
        for (int j = -1; j <= 1; j++)
          *naive_at(&means, x, y) +=
              (i ? 0.0625 : 0.875) * (j ? 0.0625 : 0.875) * naive_clamped(&blocks, x + i, y + j);
  free(cells.value);
  free(blocks.value);
  return means;
}

/* Interpolates between the middles of blocks, at the middle of the 2 x 2 samples that contain (x,
 * y). */
static inline double naive_between(const NaiveImage *blocks, int x, int y)
{
  const double at_x = (x / 2 + 0.5) / 2.0 - 0.5, at_y = (y / 2 + 0.5) / 2.0 - 0.5;
  const int left = (int)floor(at_x), top = (int)floor(at_y);
  const double right = at_x - left, bottom = at_y - top;

  return (1.0 - bottom) * ((1.0 - right) * naive_clamped(blocks, left, top) +
                           right * naive_clamped(blocks, left + 1, top)) +
         bottom * ((1.0 - right) * naive_clamped(blocks, left, top + 1) +
                   right * naive_clamped(blocks, left + 1, top + 1));
}

/* The weights at the noise floor, for series and samples: they scale the change to the three finest
 * levels by how much the input deviates from its local mean. */
static inline void naive_floor(NaivePyramid *result, const NaivePyramid *gaussian,
                               const CfLlfParams *params)
{
  const double fading = params->alpha >= 1.0   ? 0.0
                        : params->alpha > 0.95 ? 20.0 * (1.0 - params->alpha)
                                               : 1.0;
  const double noise_floor = params->noise_floor * fading;

  for (int l = 0; l + 1 < result->images && l < 3 && noise_floor > 0.0; l++) {
    const NaiveImage own = naive_laplacian(gaussian, l);
    const NaiveImage mean = naive_block_means(&gaussian->image[l]);
    const double opens = 0.33 * noise_floor;
    NaiveImage squares = naive_image(own.width, own.height, 1), weight;

    for (int i = 0; i < own.width * own.height; i++)
      squares.value[i] = gaussian->image[l].value[i] * gaussian->image[l].value[i];
    weight = naive_block_means(&squares);
    for (int i = 0; i < weight.width * weight.height; i++) {
      const double variance = fmax(weight.value[i] - mean.value[i] * mean.value[i], 0.0);

      weight.value[i] = naive_smooth(opens, 2.0 * opens, sqrt(variance + 1e-8));
    }
    for (int i = 0; i < own.width * own.height; i++)
      result->image[l].value[i] =
          own.value[i] + naive_between(&weight, i % own.width, i / own.width) *
                             (result->image[l].value[i] - own.value[i]);
    free(own.value);
    free(mean.value);
    free(squares.value);
    free(weight.value);
  }
}

/* Algorithm 1; image[0] of the result is the picture. */
static inline NaivePyramid naive_llf(const NaiveImage *image, const CfLlfParams *params)
{
  const NaiveDepth depth = naive_depth(image, params);
  const int limit = depth.levels;
  NaivePyramid result = naive_pyramid(image, limit), gaussian = naive_pyramid(image, limit);

  for (int l = 0; l + 1 < result.images; l++)
    for (int y = 0; y < result.image[l].height; y++)
      for (int x = 0; x < result.image[l].width; x++) {
        const NaiveImage remapped = naive_remap(image, params, naive_at(&gaussian.image[l], x, y));
        NaivePyramid pyramid = naive_pyramid(&remapped, l + 1);
        const NaiveImage expanded =
            naive_expand(&pyramid.image[l + 1], pyramid.image[l].width, pyramid.image[l].height);

        for (int c = 0; c < image->channels; c++)
          naive_at(&result.image[l], x, y)[c] =
              naive_at(&pyramid.image[l], x, y)[c] - naive_at(&expanded, x, y)[c];
        free(remapped.value);
        free(expanded.value);
        naive_free(&pyramid);
      }
  naive_share(&result, &gaussian, depth.last);
  naive_free(&gaussian);
  naive_collapse(&result);
  return result;
}

/* The algorithm of MATLAB's locallapfilt with samples at k / (count - 1), and with weights at the
 * noise floor. One channel. */
static inline NaivePyramid naive_llf_sampled(const NaiveImage *image, const CfLlfParams *params,
                                             int count)
{
  const NaiveDepth depth = naive_depth(image, params);
  const int limit = depth.levels;
  NaivePyramid result = naive_pyramid(image, limit), gaussian = naive_pyramid(image, limit);

  for (int l = 0; l + 1 < result.images; l++)
    memset(result.image[l].value, 0,
           (size_t)(result.image[l].width * result.image[l].height) * sizeof(double));
  for (int k = 0; k < count; k++) {
    const double reference = (double)k / (count - 1);
    const NaiveImage remapped = naive_remap(image, params, &reference);
    NaivePyramid pyramid = naive_pyramid(&remapped, limit);

    for (int l = 0; l + 1 < result.images; l++) {
      const NaiveImage expanded =
          naive_expand(&pyramid.image[l + 1], pyramid.image[l].width, pyramid.image[l].height);

      for (int i = 0; i < expanded.width * expanded.height; i++) {
        const double away = fabs(gaussian.image[l].value[i] - reference) * (count - 1);

        if (away < 1.0)
          result.image[l].value[i] +=
              (1.0 - away) * (pyramid.image[l].value[i] - expanded.value[i]);
      }
      free(expanded.value);
    }
    free(remapped.value);
    naive_free(&pyramid);
  }
  naive_floor(&result, &gaussian, params);
  naive_share(&result, &gaussian, depth.last);
  naive_free(&gaussian);
  naive_collapse(&result);
  return result;
}
