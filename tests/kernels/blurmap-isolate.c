/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Blur maps with map_isolate: the reference against the definition, a sum over all neighbours
 * weighted by their own map values; the other engines against the reference.
 */
#include <string.h>

#include "naive_map.h"

/* ---- The definition ---- */

/* One plane of the picture under test. */
typedef struct {
  const CfGaussblurParams *params;
  const CfTestPicture *source;
  int p, width, height, alpha;
  const CfPlaneFormat *info;
  double *m;
} Plane;

/* Channel `c` of a sample, or NaN where the sample stays; `visible` gets the share of its alpha. */
static double isolated(const Plane *plane, int x, int y, int c, double *visible)
{
  const CfGaussblurParams *params = plane->params;
  const double down = params->sigma_vertical < 0.0 ? params->sigma : params->sigma_vertical;
  const double m = plane->m[y * plane->width + x];
  const bool weighted = plane->alpha >= 0 && c != plane->alpha;
  static NaiveTaps row, column;
  double sum = 0.0, weights = 0.0, all = 0.0;

  *visible = 1.0;
  if (m == 0.0)
    return NAN;
  naive_gaussian(&row, m * params->sigma / (1 << plane->info->subsampling_x));
  naive_gaussian(&column, m * down / (1 << plane->info->subsampling_y));
  for (int j = 0; j < column.count; j++) {
    for (int i = 0; i < row.count; i++) {
      const int u = naive_fold((CfBorder)params->border, x + i - row.anchor, plane->width);
      const int v = naive_fold((CfBorder)params->border, y + j - column.anchor, plane->height);

      if (u < 0 || v < 0)
        continue;
      const double share = row.tap[i] * column.tap[j] * plane->m[v * plane->width + u];
      const double seen =
          weighted ? share * cf_picture_get(plane->source, plane->p, u, v, plane->alpha) : share;

      all += share;
      weights += seen;
      sum += seen * cf_picture_get(plane->source, plane->p, u, v, c);
    }
  }
  *visible = weighted ? weights / all / 255.0 : 1.0;
  return all > 0.0 && weights > 0.0 ? sum / weights : NAN;
}

/* The largest distance of `got` from the definition. */
static double distance(const CfGaussblurParams *params, const CfTestPicture *source,
                       const CfTestPicture *got)
{
  const CfFormatInfo *info = cf_format_info(source->video.format);
  double largest = 0.0;

  for (int p = 0; p < info->planes; p++) {
    Plane plane = {.params = params,
                   .source = source,
                   .p = p,
                   .width = cf_plane_width(&source->video, p),
                   .height = cf_plane_height(&source->video, p),
                   .alpha = cf_alpha_channel(&info->plane[p]),
                   .info = &info->plane[p]};

    plane.m = malloc((size_t)plane.width * (size_t)plane.height * sizeof *plane.m);
    for (int i = 0; i < plane.width * plane.height; i++)
      plane.m[i] = naive_m(params, source, p, i % plane.width, i / plane.width);
    for (int i = 0; i < plane.width * plane.height * plane.info->channels; i++) {
      const int c = i % plane.info->channels, pixel = i / plane.info->channels;
      const int x = pixel % plane.width, y = pixel / plane.width;
      double visible;

      if (plane.info->role[c] == CF_ROLE_PADDING)
        continue;
      const double want = isolated(&plane, x, y, c, &visible);
      const double code = cf_picture_get(got, p, x, y, c);

      if (!isnan(want))
        largest = fmax(largest, visible * fabs(code - want));
    }
    free(plane.m);
  }
  return largest;
}

static void reference_is_the_definition(CfTest *test)
{
  const CfSize sizes[] = {{1, 1}, {9, 4}, {5, 11}, {13, 7}};
  CfMap *map = draw(MAP_NOISE, 4, 3, test->seed);

  for (int i = 0; i < 20; i++) {
    CfGaussblurParams params = mapped((CfMapMode)(1 + i % 5), 0.3 + 0.15 * i, 0.0);
    CfTestPicture *source =
        picture(test->format, sizes[i % 4].width, sizes[i % 4].height,
                (CfPattern)(i % CF_PATTERN_COUNT), (CfAlphaFill)(i % 2), test->seed + i);
    CfTestPicture *got;

    params.map_isolate = true;
    params.border = i % 5;
    /* Alpha is opaque: an ordinary blur, which reads the border. */
    if (params.map_mode == CF_MAP_ALPHA && !cf_format_info(test->format)->alpha)
      params.border = CF_BORDER_REFLECT;
    params.map = map;
    params.map_invert = i % 4 == 1;
    params.map_x = 0.1 * (i % 9);
    params.map_inner = 0.02 * (i % 5);
    params.sigma_vertical = i % 6 == 5 ? 1.9 : -1.0;
    say(test, &params, source);
    got = cf_test_reference(test, &params, source);
    if (got) {
      const double top = cf_max_code(cf_format_info(test->format));
      const double off = distance(&params, source, got);

      CF_EXPECT(test, off <= 0.5 + 2e-5 * top, "%g from the definition", off);
    }
    cf_picture_free(got);
    cf_picture_free(source);
  }
  cf_map_unref(map);
}

/* ---- Every engine ---- */

/* A subject that stays sharp, m = 0: a disc with strands; `soft` gives it a soft edge. */
static CfMap *subject(int width, int height, bool soft)
{
  uint16_t *values = malloc((size_t)width * (size_t)height * sizeof *values);
  CfMap *map;

  for (int y = 0; y < height; y++) {
    for (int x = 0; x < width; x++) {
      const double across = x + 0.5 - 0.5 * width, down = y + 0.5 - 0.6 * height;
      const double beyond = hypot(across, down) - 0.25 * height;
      const bool strand = y < 0.6 * height && y > 0.15 * height && fabs(across) < 0.2 * width &&
                          (x + y / 7) % 9 < 2;
      const double m =
          soft ? fmin(fmax(0.5 + beyond / 12.0, 0.0), 1.0) : (beyond < 0.0 || strand ? 0.0 : 1.0);

      values[y * width + x] = (uint16_t)lrint(65535.0 * m);
    }
  }
  map = cf_map_new(width, height, values, NULL);
  free(values);
  return map;
}

static void masks_agree(CfTest *test)
{
  const double sigmas[] = {1.5, 4.0, 9.0, 16.0};
  const CfPattern patterns[] = {CF_PATTERN_NOISE, CF_PATTERN_PHOTO, CF_PATTERN_BARS};

  for (int i = 0; i < 8; i++) {
    const int width = 64 + i, height = 48;
    CfGaussblurParams params = mapped(CF_MAP_FILE, sigmas[i % 4], 0.0);
    CfTestPicture *source = picture(test->format, width, height, patterns[i % 3],
                                    i % 3 ? CF_ALPHA_RANDOM : CF_ALPHA_OPAQUE, test->seed + i);
    CfMap *map = subject(width, height, i % 2);

    params.map_isolate = true;
    params.map = map;
    params.border = i % 5;
    compare_with_reference(test, &params, source);
    cf_picture_free(source);
    cf_map_unref(map);
  }
}

static void drawn_maps_agree(CfTest *test)
{
  const CfMapMode modes[] = {CF_MAP_RADIAL, CF_MAP_LINEAR, CF_MAP_LUMA, CF_MAP_ALPHA};

  for (int i = 0; i < 8; i++) {
    CfGaussblurParams params = mapped(modes[i % 4], i < 4 ? 3.0 : 11.0, 0.0);
    CfTestPicture *source =
        picture(test->format, 101, 64, i % 2 ? CF_PATTERN_RAMPS : CF_PATTERN_PHOTO,
                i % 3 ? CF_ALPHA_RANDOM : CF_ALPHA_OPAQUE, test->seed + i);

    params.map_isolate = true;
    params.map_invert = i % 2;
    params.map_inner = 0.1;
    params.border = i % 5;
    params.sigma_vertical = i % 4 == 1 ? 1.0 : -1.0;
    compare_with_reference(test, &params, source);
    cf_picture_free(source);
  }
}

/* Many tiles of every engine, aligned and not. */
static void larger_pictures_agree(CfTest *test)
{
  for (int i = 0; i < 2; i++) {
    const int width = i ? 151 : 192, height = 100;
    CfGaussblurParams params = mapped(CF_MAP_FILE, 4.0, 0.0);
    CfTestPicture *source = picture(test->format, width, height, CF_PATTERN_PHOTO,
                                    i ? CF_ALPHA_RANDOM : CF_ALPHA_OPAQUE, test->seed + i);
    CfMap *map = subject(width, height, !i);

    params.map_isolate = true;
    params.map = map;
    params.border = i ? CF_BORDER_REFLECT : CF_BORDER_REPLICATE;
    compare_with_reference(test, &params, source);
    cf_picture_free(source);
    cf_map_unref(map);
  }
}

/* One map for several frames of different pictures, then another map. */
static void later_frames_agree(CfTest *test)
{
  const CfFormat formats[] = {CF_FORMAT_NV12, CF_FORMAT_RGBA};

  for (int f = 0; f < 2; f++) {
    const CfVideo video = cf_video(formats[f], 131, 100);
    CfRig *rig = NULL;

    for (int i = 0; i < 8; i++) {
      CfGaussblurParams params =
          mapped(i == 4 ? CF_MAP_LUMA : CF_MAP_RADIAL, i < 6 ? 9.0 : 4.0, 0.0);
      CfTestPicture *source = picture(formats[f], 131, 100, CF_PATTERN_PHOTO,
                                      i % 2 ? CF_ALPHA_RANDOM : CF_ALPHA_OPAQUE, test->seed + i);
      CfTestPicture *got = cf_picture_new(&source->video, source->layout);
      CfTestPicture *want;

      params.map_isolate = true;
      if (!rig)
        rig = cf_rig_open(test, test->engine, &video, &params, 2);
      else if (i > 3)
        cf_rig_update(rig, &params);
      want = cf_test_reference(test, &params, source);
      say(test, &params, source);
      if (rig && want && cf_rig_run(rig, source, got))
        cf_test_compare(test, got, want, codes(formats[f], 2.0));
      cf_picture_free(got);
      cf_picture_free(want);
      cf_picture_free(source);
    }
    cf_rig_close(rig);
  }
}

/* A white subject on black with a hard mask leaves no trace around it. */
static void leaves_no_aura(CfTest *test)
{
  const CfFormatInfo *info = cf_format_info(test->format);
  CfTestPicture *source =
      picture(test->format, 96, 70, CF_PATTERN_CONSTANT, CF_ALPHA_OPAQUE, test->seed);
  CfTestPicture *got = cf_picture_new(&source->video, source->layout);
  CfGaussblurParams params = mapped(CF_MAP_FILE, 12.0, 0.0);
  CfMap *map = subject(96, 70, false);
  const uint16_t *values = cf_map_values(map);

  for (int p = 0; p < info->planes; p++) {
    const int shift_x = info->plane[p].subsampling_x, shift_y = info->plane[p].subsampling_y;

    for (int y = 0; y < cf_plane_height(&source->video, p); y++) {
      for (int x = 0; x < cf_plane_width(&source->video, p); x++) {
        bool mixed = false;

        for (int k = 0; k < 4; k++)
          mixed |= values[((y << shift_y) + (k / 2) * shift_y) * 96 + (x << shift_x) +
                          (k % 2) * shift_x] == 0;
        for (int c = 0; mixed && c < info->plane[p].channels; c++)
          cf_picture_set(source, p, x, y, c,
                         info->plane[p].role[c] == CF_ROLE_ALPHA ? 255 : cf_max_code(info) / 3);
      }
    }
  }
  params.map_isolate = true;
  params.map = map;
  say(test, &params, source);
  if (cf_test_filter(test, test->engine, &params, 2, source, got) && info->plane[0].channels < 4) {
    for (int i = 0; i < 96 * 70; i++)
      CF_EXPECT(test,
                abs(cf_picture_get(got, 0, i % 96, i / 96, 0) -
                    cf_picture_get(source, 0, i % 96, i / 96, 0)) <= codes(test->format, 0.3) + 0.5,
                "%d %d: %d of %d", i % 96, i / 96, cf_picture_get(got, 0, i % 96, i / 96, 0),
                cf_picture_get(source, 0, i % 96, i / 96, 0));
  }
  cf_picture_free(got);
  cf_picture_free(source);
  cf_map_unref(map);
}

static void needs_something_sharp(CfTest *test)
{
  const CfVideo video = cf_video(CF_FORMAT_GRAY8, 16, 16);
  CfGaussblurParams params = mapped(CF_MAP_RADIAL, 3.0, 1.0);
  CfStatus status = {CF_OK, ""};

  CF_EXPECT(test, cf_effect_check(&cf_gaussblur, &video, &params, &status), "%s", status.message);
  params.map_isolate = true;
  CF_EXPECT(test, !cf_effect_check(&cf_gaussblur, &video, &params, &status), "sigma-min 1");
  CF_EXPECT(test, strstr(status.message, "map-isolate"), "%s", status.message);
}

static const CfTestCase cases[] = {
    {"reference-is-the-definition", reference_is_the_definition, CF_EACH_FORMAT},
    {"masks-agree", masks_agree, CF_EACH_OTHER_ENGINE | CF_EACH_FORMAT},
    {"drawn-maps-agree", drawn_maps_agree, CF_EACH_OTHER_ENGINE | CF_EACH_FORMAT},
    {"larger-pictures-agree", larger_pictures_agree, CF_EACH_OTHER_ENGINE | CF_EACH_FORMAT},
    {"later-frames-agree", later_frames_agree, CF_EACH_OTHER_ENGINE},
    {"leaves-no-aura", leaves_no_aura, CF_EACH_ENGINE | CF_EACH_FORMAT},
    {"needs-something-sharp", needs_something_sharp, CF_ONCE},
    {0},
};

int main(int argc, char **argv)
{
  const CfTestSuite suite = {&cf_gaussblur, cases};

  return cf_test_main(&suite, argc, argv);
}
