/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Whole pictures through naive_llf.h: components, ranges, colours, rounding.
 */
#pragma once

#include "naive_llf_series.h"
#include "picture.h"

/* The normalised samples of a role; luma of RGB formats is computed from the colours. */
static inline NaiveImage naive_component(const CfTestPicture *picture, CfRole role)
{
  const CfFormatInfo *format = cf_format_info(picture->video.format);
  const bool rgb = format->rgb, chroma = role == CF_ROLE_CHROMA_BLUE || role == CF_ROLE_CHROMA_RED;
  const double red = picture->video.luma_red, blue = picture->video.luma_blue;
  NaiveImage image = {0};

  for (int plane = 0; plane < format->planes; plane++)
    for (int channel = 0; channel < format->plane[plane].channels; channel++) {
      const CfRole here = format->plane[plane].role[channel];
      double weight = here == role, offset, scale;

      if (rgb && role == CF_ROLE_LUMA)
        weight = here == CF_ROLE_RED     ? red
                 : here == CF_ROLE_GREEN ? 1.0 - red - blue
                 : here == CF_ROLE_BLUE  ? blue
                                         : 0.0;
      if (weight == 0.0)
        continue;
      cf_code_range(&picture->video, here, &offset, &scale);
      if (chroma)
        offset = cf_chroma_centre(&picture->video) - scale / 2.0;
      if (!image.value)
        image = naive_image(cf_plane_width(&picture->video, plane),
                            cf_plane_height(&picture->video, plane), 1);
      for (int y = 0; y < image.height; y++)
        for (int x = 0; x < image.width; x++)
          *naive_at(&image, x, y) +=
              weight * (cf_picture_get(picture, plane, x, y, channel) - offset) / scale;
    }
  return image;
}

/* Mixes the source's samples of a role with `image` by `strength`. */
static inline void naive_mix(const CfTestPicture *source, CfRole role, double strength,
                             NaiveImage *image)
{
  NaiveImage own = naive_component(source, role);

  for (int i = 0; i < image->width * image->height; i++)
    image->value[i] = (1.0 - strength) * own.value[i] + strength * image->value[i];
  free(own.value);
}

static inline void naive_store(CfTestPicture *picture, CfRole role, const NaiveImage *image)
{
  const CfFormatInfo *format = cf_format_info(picture->video.format);
  const bool chroma = role == CF_ROLE_CHROMA_BLUE || role == CF_ROLE_CHROMA_RED;
  double offset, scale;

  cf_code_range(&picture->video, role, &offset, &scale);
  if (chroma)
    offset = cf_chroma_centre(&picture->video) - scale / 2.0;
  for (int plane = 0; plane < format->planes; plane++)
    for (int channel = 0; channel < format->plane[plane].channels; channel++)
      for (int y = 0; y < image->height && format->plane[plane].role[channel] == role; y++)
        for (int x = 0; x < image->width; x++) {
          const double code = floor(*naive_at(image, x, y) * scale + offset + 0.5);
          cf_picture_set(picture, plane, x, y, channel,
                         (int)fmin(fmax(code, 0.0), cf_max_code(format)));
        }
}

/* Limits a change, so that `unit` times it stays below `room`. */
static inline double naive_bent(double change, double unit, double room)
{
  return room > 0.0 ? change / pow(1.0 + pow(fabs(change) * unit / room, 4.0), 0.25) : 0.0;
}

/* `protect`: limits the change of an intensity; `ceiling` is the largest colour. */
static inline double naive_eased(const CfLlfParams *params, double before, double ceiling,
                                 double after)
{
  double change = after - before;

  if (params->protect && change > 0.0)
    /* All colours rise by the factor 1 + change / (before + e). */
    change = naive_bent(change, (ceiling + 1.0 / 255.0) / (before + 1.0 / 255.0),
                        0.49 * fmax(1.0 - ceiling, 0.0));
  else if (params->protect && change < 0.0)
    change = naive_bent(change, 1.0, 0.49 * before);
  return before + change;
}

/* Filters values clamped to 0..1, and adds back what was cut off; `before` and `after` get the
 * clamped values. `ceiling` may be NULL. */
static inline NaiveImage naive_filter(const NaiveImage *image, const NaiveImage *ceiling,
                                      const CfLlfParams *params, NaiveImage *before,
                                      NaiveImage *after)
{
  const int count = image->width * image->height;
  const NaiveImage result = naive_image(image->width, image->height, 1);
  NaivePyramid filtered;

  *before = naive_image(image->width, image->height, 1);
  *after = naive_image(image->width, image->height, 1);
  for (int i = 0; i < count; i++)
    before->value[i] = fmin(fmax(image->value[i], 0.0), 1.0);
  filtered = params->method == CF_LLF_FAST ? naive_series(before, params)
             : params->method == CF_LLF_SAMPLED
                 ? naive_llf_sampled(before, params, cf_llf_intensity_levels(params))
                 : naive_llf(before, params);
  for (int i = 0; i < count; i++) {
    after->value[i] =
        naive_eased(params, before->value[i], ceiling ? ceiling->value[i] : before->value[i],
                    filtered.image[0].value[i]);
    result.value[i] = after->value[i] + image->value[i] - before->value[i];
  }
  naive_free(&filtered);
  return result;
}

static inline void naive_separate(const CfTestPicture *source, CfTestPicture *result,
                                  const CfLlfParams *params)
{
  for (int role = 0; role < CF_ROLE_ALPHA; role++) {
    const bool luma_of_rgb = cf_format_info(source->video.format)->rgb && role == CF_ROLE_LUMA;
    NaiveImage image = {0}, before, after, filtered;

    if (!luma_of_rgb)
      image = naive_component(source, (CfRole)role);
    if (!image.value)
      continue;
    filtered = naive_filter(&image, NULL, params, &before, &after);
    naive_mix(source, (CfRole)role, params->strength, &filtered);
    naive_store(result, (CfRole)role, &filtered);
    free(image.value);
    free(before.value);
    free(after.value);
    free(filtered.value);
  }
}

/* The growth of colours: less than luma's where dark luma rises; the same where luma falls. */
static inline double naive_growth(double before, double after)
{
  const double step = 1.0 / 255.0;
  const double gain = (after + step) / (before + step);

  if (after < before)
    return fmax((after - before) / (before > step ? before : step), -1.0);
  return ((gain > 16.0 ? 16.0 : gain) - 1.0) * naive_smooth(0.0, 0.25, before);
}

/* Chroma beyond what red, green and blue in 0..1 can have follows only as far as theirs would. */
static inline void naive_chroma(const CfLlfParams *params, double *blue, double *red, double before,
                                double after)
{
  const double most = 8.0 * (before + 1.0 / 255.0);
  const double farther = fmax(fabs(*blue - 0.5), fabs(*red - 0.5));
  double growth = naive_growth(before, after);

  if (params->protect && growth > 0.0)
    growth = naive_bent(growth, fmin(farther, most), 0.49 * (0.5 - farther));
  *blue += growth * fmin(fmax(*blue - 0.5, -most), most);
  *red += growth * fmin(fmax(*red - 0.5, -most), most);
}

/* The mean over the pixels that a sample of a `width` x `height` plane covers. */
static inline double naive_cell(const NaiveImage *luma, int x, int y, int width, int height)
{
  const int across = (luma->width + width - 1) / width, down = (luma->height + height - 1) / height;
  double sum = 0.0;
  int count = 0;

  for (int i = y * down; i < (y + 1) * down && i < luma->height; i++)
    for (int j = x * across; j < (x + 1) * across && j < luma->width; j++, count++)
      sum += *naive_at(luma, j, i);
  return sum / count;
}

/* The largest of red, green and blue. */
static inline NaiveImage naive_ceiling(const NaiveImage colors[3])
{
  const NaiveImage ceiling = naive_image(colors[0].width, colors[0].height, 1);

  for (int i = 0; i < ceiling.width * ceiling.height; i++)
    ceiling.value[i] = fmax(colors[0].value[i], fmax(colors[1].value[i], colors[2].value[i]));
  return ceiling;
}

static inline void naive_rgb_luminance(const CfTestPicture *source, CfTestPicture *result,
                                       const CfLlfParams *params)
{
  NaiveImage luma = naive_component(source, CF_ROLE_LUMA), before, after, filtered, ceiling;
  NaiveImage colors[3];

  for (int c = 0; c < 3; c++)
    colors[c] = naive_component(source, (CfRole)(CF_ROLE_RED + c));
  ceiling = naive_ceiling(colors);
  filtered = naive_filter(&luma, &ceiling, params, &before, &after);
  for (int c = 0; c < 3; c++) {
    for (int i = 0; i < luma.width * luma.height; i++)
      colors[c].value[i] +=
          after.value[i] - before.value[i] +
          naive_growth(before.value[i], after.value[i]) * (colors[c].value[i] - before.value[i]);
    naive_mix(source, (CfRole)(CF_ROLE_RED + c), params->strength, &colors[c]);
    naive_store(result, (CfRole)(CF_ROLE_RED + c), &colors[c]);
    free(colors[c].value);
  }
  free(luma.value);
  free(before.value);
  free(after.value);
  free(filtered.value);
  free(ceiling.value);
}

/* The largest of red, green and blue that clamped luma makes with the chroma of its cell. */
static inline NaiveImage naive_chroma_ceiling(const CfVideo *video, const NaiveImage *luma,
                                              const NaiveImage *blue_chroma,
                                              const NaiveImage *red_chroma)
{
  const NaiveImage ceiling = naive_image(luma->width, luma->height, 1);
  const double kr = video->luma_red, kb = video->luma_blue;

  for (int y = 0; y < luma->height; y++)
    for (int x = 0; x < luma->width; x++) {
      const double value = fmin(fmax(*naive_at(luma, x, y), 0.0), 1.0);
      double red = value, green = value, blue = value;

      if (blue_chroma->value) {
        const int across = (luma->width + blue_chroma->width - 1) / blue_chroma->width;
        const int down = (luma->height + blue_chroma->height - 1) / blue_chroma->height;

        blue += 2.0 * (1.0 - kb) * (*naive_at(blue_chroma, x / across, y / down) - 0.5);
        red += 2.0 * (1.0 - kr) * (*naive_at(red_chroma, x / across, y / down) - 0.5);
        green = (value - kr * red - kb * blue) / (1.0 - kr - kb);
      }
      *naive_at(&ceiling, x, y) = fmax(red, fmax(green, blue));
    }
  return ceiling;
}

static inline void naive_luminance(const CfTestPicture *source, CfTestPicture *result,
                                   const CfLlfParams *params)
{
  NaiveImage luma = naive_component(source, CF_ROLE_LUMA), before, after;
  NaiveImage blue = naive_component(source, CF_ROLE_CHROMA_BLUE);
  NaiveImage red = naive_component(source, CF_ROLE_CHROMA_RED);
  NaiveImage ceiling = naive_chroma_ceiling(&source->video, &luma, &blue, &red);
  NaiveImage filtered = naive_filter(&luma, &ceiling, params, &before, &after);

  naive_mix(source, CF_ROLE_LUMA, params->strength, &filtered);
  naive_store(result, CF_ROLE_LUMA, &filtered);
  for (int y = 0; blue.value && y < blue.height; y++)
    for (int x = 0; x < blue.width; x++)
      naive_chroma(params, naive_at(&blue, x, y), naive_at(&red, x, y),
                   naive_cell(&before, x, y, blue.width, blue.height),
                   naive_cell(&after, x, y, blue.width, blue.height));
  if (blue.value) {
    naive_mix(source, CF_ROLE_CHROMA_BLUE, params->strength, &blue);
    naive_mix(source, CF_ROLE_CHROMA_RED, params->strength, &red);
    naive_store(result, CF_ROLE_CHROMA_BLUE, &blue);
    naive_store(result, CF_ROLE_CHROMA_RED, &red);
  }
  free(luma.value);
  free(before.value);
  free(after.value);
  free(filtered.value);
  free(ceiling.value);
  free(blue.value);
  free(red.value);
}

static inline void naive_vectors(const CfTestPicture *source, CfTestPicture *result,
                                 const CfLlfParams *params)
{
  const CfRole roles[3] = {CF_ROLE_RED, CF_ROLE_GREEN, CF_ROLE_BLUE};
  const int width = source->video.width, height = source->video.height;
  NaiveImage vectors = naive_image(width, height, 3), one;
  NaivePyramid filtered;

  for (int c = 0; c < 3; c++) {
    one = naive_component(source, roles[c]);
    for (int i = 0; i < width * height; i++)
      vectors.value[3 * i + c] = one.value[i];
    free(one.value);
  }
  filtered = naive_llf(&vectors, params);
  one = naive_image(width, height, 1);
  for (int c = 0; c < 3; c++) {
    for (int i = 0; i < width * height; i++)
      one.value[i] = naive_eased(params, vectors.value[3 * i + c], vectors.value[3 * i + c],
                                 filtered.image[0].value[3 * i + c]);
    naive_mix(source, roles[c], params->strength, &one);
    naive_store(result, roles[c], &one);
  }
  free(one.value);
  free(vectors.value);
  naive_free(&filtered);
}

static inline void naive_picture(const CfTestPicture *source, CfTestPicture *result,
                                 const CfLlfParams *params)
{
  if (params->color_mode == CF_LLF_RGB)
    naive_vectors(source, result, params);
  else if (params->color_mode == CF_LLF_SEPARATE)
    naive_separate(source, result, params);
  else if (cf_format_info(source->video.format)->rgb)
    naive_rgb_luminance(source, result, params);
  else
    naive_luminance(source, result, params);
}
