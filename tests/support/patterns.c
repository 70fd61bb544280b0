/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "patterns.h"

#include <math.h>
#include <stdlib.h>

#include "random.h"

/* One channel of one plane that is being filled. */
typedef struct {
  CfTestPicture *picture;
  int plane, channel;
  int width, height;
  int maximum; /* largest code value */
  CfRandom random;
} Target;

static void set(Target *target, int x, int y, int code)
{
  cf_picture_set(target->picture, target->plane, x, y, target->channel, code);
}

static void fill_constant(Target *target, int code)
{
  for (int y = 0; y < target->height; y++) {
    for (int x = 0; x < target->width; x++)
      set(target, x, y, code);
  }
}

static void fill_noise(Target *target)
{
  for (int y = 0; y < target->height; y++) {
    for (int x = 0; x < target->width; x++)
      set(target, x, y, cf_random_below(&target->random, target->maximum + 1));
  }
}

/* White with a probability of 1 / `rarity`, else black. */
static void fill_dots(Target *target, int rarity)
{
  for (int y = 0; y < target->height; y++) {
    for (int x = 0; x < target->width; x++)
      set(target, x, y, cf_random_below(&target->random, rarity) ? 0 : target->maximum);
  }
}

static void fill_impulses(Target *target)
{
  const int right = target->width - 1, bottom = target->height - 1;

  fill_constant(target, 0);
  set(target, 0, 0, target->maximum);
  set(target, right, 0, target->maximum);
  set(target, 0, bottom, target->maximum);
  set(target, right, bottom, target->maximum);
  set(target, right / 2, bottom / 2, target->maximum);
  for (int i = 0; i < 3; i++)
    set(target, cf_random_below(&target->random, target->width),
        cf_random_below(&target->random, target->height), target->maximum);
}

/* White where (x * across + y * down) is odd. */
static void fill_parity(Target *target, int across, int down)
{
  for (int y = 0; y < target->height; y++) {
    for (int x = 0; x < target->width; x++)
      set(target, x, y, (x * across + y * down) & 1 ? target->maximum : 0);
  }
}

static void fill_ramps(Target *target)
{
  const int direction = (target->plane + target->channel) % 3;
  const int dx = direction != 1, dy = direction != 0;
  const long length = (long)dx * (target->width - 1) + (long)dy * (target->height - 1);

  for (int y = 0; y < target->height; y++) {
    for (int x = 0; x < target->width; x++)
      set(target, x, y, length ? (int)((dx * x + dy * y) * (long)target->maximum / length) : 0);
  }
}

/* Alternates between black and white; bars are 1 to size / 4 + 1 samples wide. */
static void draw_bars(CfRandom *random, int size, uint8_t *bar)
{
  uint8_t white = 0;

  for (int i = 0; i < size; white ^= 1) {
    for (int end = i + 1 + cf_random_below(random, size / 4 + 1); i < end && i < size; i++)
      bar[i] = white;
  }
}

static void *allocate(size_t bytes)
{
  void *memory = malloc(bytes);

  if (!memory)
    exit(EXIT_FAILURE);
  return memory;
}

static void fill_bars(Target *target)
{
  uint8_t *across = allocate((size_t)target->width), *down = allocate((size_t)target->height);

  draw_bars(&target->random, target->width, across);
  draw_bars(&target->random, target->height, down);
  for (int y = 0; y < target->height; y++) {
    for (int x = 0; x < target->width; x++)
      set(target, x, y, across[x] ^ down[y] ? target->maximum : 0);
  }
  free(across);
  free(down);
}

/* A sine wave along one axis, with `low` to `high` periods over the picture. */
static double *draw_wave(CfRandom *random, int size, double low, double high)
{
  const double turns = low + (high - low) * cf_random_unit(random);
  const double phase = cf_random_unit(random);
  double *wave = allocate((size_t)size * sizeof *wave);

  for (int i = 0; i < size; i++)
    wave[i] = sin(2.0 * M_PI * (turns * (i + 0.5) / size + phase));
  return wave;
}

static void fill_photo(Target *target)
{
  CfRandom *random = &target->random;
  const int width = target->width, height = target->height;
  double *smooth_x = draw_wave(random, width, 0.3, 1.5);
  double *smooth_y = draw_wave(random, height, 0.3, 1.5);
  double *texture_x = draw_wave(random, width, width / 9.0, width / 5.0);
  double *texture_y = draw_wave(random, height, height / 9.0, height / 5.0);
  const double centre_x = width * cf_random_unit(random),
               centre_y = height * cf_random_unit(random);
  const double radius = 0.3 * (width < height ? width : height);

  for (int y = 0; y < height; y++) {
    for (int x = 0; x < width; x++) {
      const double dx = x - centre_x, dy = y - centre_y;
      const bool object = dx * dx + dy * dy < radius * radius;
      const double noise = cf_random_unit(random) - 0.5;
      double value = 0.5 + 0.35 * smooth_x[x] * smooth_y[y] + 0.03 * noise;

      if (object)
        value += 0.25;
      if (smooth_x[x] > smooth_y[y])
        value += 0.08 * texture_x[x] * texture_y[y];
      value = value < 0.0 ? 0.0 : value > 1.0 ? 1.0 : value;
      set(target, x, y, (int)(value * target->maximum + 0.5));
    }
  }
  free(smooth_x);
  free(smooth_y);
  free(texture_x);
  free(texture_y);
}

static void fill_pattern(Target *target, CfPattern pattern)
{
  switch (pattern) {
  case CF_PATTERN_IMPULSES:
    fill_impulses(target);
    break;
  case CF_PATTERN_CHECKER:
    fill_parity(target, 1, 1);
    break;
  case CF_PATTERN_VERTICAL_STRIPES:
    fill_parity(target, 1, 0);
    break;
  case CF_PATTERN_HORIZONTAL_STRIPES:
    fill_parity(target, 0, 1);
    break;
  case CF_PATTERN_RAMPS:
    fill_ramps(target);
    break;
  case CF_PATTERN_EXTREMES:
    fill_dots(target, 2);
    break;
  case CF_PATTERN_DOTS:
    fill_dots(target, 64);
    break;
  case CF_PATTERN_BARS:
    fill_bars(target);
    break;
  case CF_PATTERN_CONSTANT:
    fill_constant(target, cf_random_below(&target->random, target->maximum + 1));
    break;
  case CF_PATTERN_PHOTO:
    fill_photo(target);
    break;
  case CF_PATTERN_NOISE:
  case CF_PATTERN_COUNT:
    fill_noise(target);
    break;
  }
}

static void fill_alpha(Target *target, CfAlphaFill alpha)
{
  if (alpha != CF_ALPHA_RANDOM) {
    fill_constant(target, alpha == CF_ALPHA_OPAQUE ? target->maximum : 0);
    return;
  }
  for (int y = 0; y < target->height; y++) {
    for (int x = 0; x < target->width; x++) {
      const int kind = cf_random_below(&target->random, 8);
      const int any = cf_random_below(&target->random, target->maximum + 1);
      set(target, x, y, kind == 0 ? 0 : kind == 1 ? target->maximum : any);
    }
  }
}

void cf_picture_fill(CfTestPicture *picture, CfPattern pattern, CfAlphaFill alpha, uint64_t seed)
{
  const CfFormatInfo *format = cf_format_info(picture->video.format);
  CfRandom seeds = {seed};

  for (int plane = 0; plane < format->planes; plane++) {
    for (int channel = 0; channel < format->plane[plane].channels; channel++) {
      const CfRole role = format->plane[plane].role[channel];
      Target target = {.picture = picture,
                       .plane = plane,
                       .channel = channel,
                       .width = cf_plane_width(&picture->video, plane),
                       .height = cf_plane_height(&picture->video, plane),
                       .maximum = cf_max_code(format),
                       .random = {cf_random(&seeds)}};

      if (role == CF_ROLE_ALPHA)
        fill_alpha(&target, alpha);
      else
        fill_pattern(&target, role == CF_ROLE_PADDING ? CF_PATTERN_NOISE : pattern);
    }
  }
}

void cf_picture_set_role(CfTestPicture *picture, CfRole role, int code)
{
  const CfFormatInfo *format = cf_format_info(picture->video.format);

  for (int plane = 0; plane < format->planes; plane++) {
    for (int channel = 0; channel < format->plane[plane].channels; channel++) {
      Target target = {.picture = picture,
                       .plane = plane,
                       .channel = channel,
                       .width = cf_plane_width(&picture->video, plane),
                       .height = cf_plane_height(&picture->video, plane)};
      if (format->plane[plane].role[channel] == role)
        fill_constant(&target, code);
    }
  }
}

const char *cf_pattern_name(CfPattern pattern)
{
  static const char *const names[CF_PATTERN_COUNT] = {
      [CF_PATTERN_NOISE] = "noise",
      [CF_PATTERN_IMPULSES] = "impulses",
      [CF_PATTERN_CHECKER] = "checker",
      [CF_PATTERN_VERTICAL_STRIPES] = "vertical-stripes",
      [CF_PATTERN_HORIZONTAL_STRIPES] = "horizontal-stripes",
      [CF_PATTERN_RAMPS] = "ramps",
      [CF_PATTERN_EXTREMES] = "extremes",
      [CF_PATTERN_DOTS] = "dots",
      [CF_PATTERN_BARS] = "bars",
      [CF_PATTERN_CONSTANT] = "constant",
      [CF_PATTERN_PHOTO] = "photo",
  };

  return names[pattern];
}

const char *cf_alpha_fill_name(CfAlphaFill alpha)
{
  static const char *const names[CF_ALPHA_COUNT] = {"random", "opaque", "transparent"};

  return names[alpha];
}
