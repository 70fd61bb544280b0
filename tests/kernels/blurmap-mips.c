/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The plan of a blur map's mip images: what each is halved from, what it covers, where it lies in
 * memory, and which pictures are too large for kernels to index.
 */
#include <limits.h>
#include <string.h>

#include "gaussblur.h"
#include "harness.h"
#include "plan/blurmap_mips.h"

static CfBlurLevels levels_of(double x0, double x1, double y0, double y1)
{
  const CfMapSigmas sigmas = {{x0, x1}, {y0, y1}};
  CfBlurLevels levels;

  cf_blur_levels(&levels, &sigmas);
  return levels;
}

static CfMipArea whole(int width, int height, int channels, CfBorder border)
{
  return (CfMipArea){width, height, channels, 0, height, border};
}

/* Sigma is 1.5 to 3 texels, except for axes that are not halved, or halved as often as possible. */
static void texels_suit_sigma(CfTest *test)
{
  for (double sigma = 0.0; sigma <= 250.0; sigma += 0.25) {
    const int log = cf_mip_log(sigma);
    const double texels = sigma / (1 << log);

    CF_EXPECT(test,
              log >= 0 && log < CF_MIP_LOGS && (log == 0 || texels >= 1.5) &&
                  (log == CF_MIP_LOGS - 1 || texels < 3.0),
              "sigma %g: halved %d times", sigma, log);
  }
}

static void expect_image(CfTest *test, const CfMipPlane *plane, const CfMipArea *area, int i)
{
  const CfMipImage *image = &plane->image[i];
  const int right = (area->width - 1) >> image->log_x, bottom = (area->end - 1) >> image->log_y;

  cf_test_context(test, "%dx%d, border %d, image %d: halved %d, %d times", area->width,
                  area->height, area->border, i, image->log_x, image->log_y);
  CF_EXPECT(test, image->parent < i && image->log_x + image->log_y > 0, "parent %d", image->parent);
  const int from_x = image->parent < 0 ? 0 : plane->image[image->parent].log_x;
  const int from_y = image->parent < 0 ? 0 : plane->image[image->parent].log_y;
  CF_EXPECT(test, image->log_x - from_x <= 1 && image->log_y - from_y <= 1, "parent %d",
            image->parent);
  /* The first halving of an axis uses other taps, and only the frame is halved by these. */
  CF_EXPECT(test,
            image->parent < 0 ||
                ((from_x > 0 || image->log_x == 0) && (from_y > 0 || image->log_y == 0)),
            "an axis halved first in parent %d", image->parent);
  CF_EXPECT(test, image->first_x % CF_MIP_ALIGNMENT == 0 && image->width % CF_MIP_ALIGNMENT == 0,
            "columns from %d on, %d", image->first_x, image->width);
  CF_EXPECT(test, image->pitch >= image->width && image->pitch % 8 == 0 && image->at % 8 == 4,
            "pitch %d", image->pitch);
  if (image->used)
    CF_EXPECT(
        test,
        image->first_x <= -CF_MIP_REACH && image->first_x + image->width > right + CF_MIP_REACH &&
            image->first_y <= (area->first >> image->log_y) - CF_MIP_REACH &&
            image->first_y + image->height > bottom + CF_MIP_REACH,
        "%d, %d and %dx%d texels", image->first_x, image->first_y, image->width, image->height);
}

/* Images lie one behind the other, and the count covers all of them. */
static void expect_memory(CfTest *test, const CfMipPlane *plane, const CfMipArea *area,
                          uint64_t before, uint64_t texels)
{
  uint64_t end = before;

  for (int i = plane->images - 1; i >= 0; i--) {
    const CfMipImage *image = &plane->image[i];

    CF_EXPECT(test, image->at >= end, "image %d overlaps the one before", i);
    CF_EXPECT(test, image->channel >= (uint64_t)image->pitch * (uint64_t)image->height,
              "channels of image %d overlap", i);
    end += (uint64_t)area->channels * image->channel;
  }
  CF_EXPECT(test, end == texels, "images end elsewhere than their count");
}

static void images_cover_and_do_not_overlap(CfTest *test)
{
  const CfBlurLevels cases[] = {levels_of(0.0, 8.0, 0.0, 8.0), levels_of(0.0, 250.0, 0.0, 250.0),
                                levels_of(0.0, 60.0, 30.0, 0.0), levels_of(0.0, 40.0, 0.0, 0.0)};
  const CfBorder borders[] = {CF_BORDER_REPLICATE, CF_BORDER_WRAP};

  for (int i = 0; i < 8; i++) {
    CfMipArea area = whole(1921, 1080, 1 + i % 4, borders[i % 2]);
    CfMipPlane plane;
    CfStatus status = {CF_OK, ""};
    uint64_t texels = 7 * 8;

    area.first = i % 3 * 100;
    cf_mips_choose(&plane, &cases[i / 2]);
    CF_EXPECT(test, cf_mips_place(&plane, &area, &texels, &status), "%s", status.message);
    for (int k = 0; k < plane.images; k++)
      expect_image(test, &plane, &area, k);
    expect_memory(test, &plane, &area, 7 * 8, texels);
  }
}

/* Images halved along one axis only have nearly as many texels as the frame has samples. */
static void what_cannot_be_indexed_is_refused(CfTest *test)
{
  const CfBlurLevels across = levels_of(0.0, 250.0, 0.0, 0.0);
  const CfBlurLevels both = levels_of(0.0, 250.0, 0.0, 250.0);
  const struct {
    const CfBlurLevels *levels;
    int width, height, channels;
    bool good;
  } cases[] = {{&across, 16384, 16384, 4, true},  {&both, 32768, 32768, 4, true},
               {&across, 32768, 32768, 4, false}, {&across, 32768, 32768, 1, true},
               {&across, 65536, 65536, 1, false}, {&across, INT_MAX / 2, 64, 1, false}};

  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const CfMipArea area =
        whole(cases[i].width, cases[i].height, cases[i].channels, CF_BORDER_REPLICATE);
    CfMipPlane plane;
    CfStatus status = {CF_OK, ""};
    uint64_t texels = 0;

    cf_test_context(test, "%dx%d of %d channels", area.width, area.height, area.channels);
    cf_mips_choose(&plane, cases[i].levels);
    CF_EXPECT(test, cf_mips_place(&plane, &area, &texels, &status) == cases[i].good,
              "%llu texels: %s", (unsigned long long)texels, status.message);
    CF_EXPECT(test,
              cases[i].good ||
                  (status.code == CF_ERROR_INVALID && strstr(status.message, "texels")),
              "the message is \"%s\"", status.message);
  }
}

static const CfTestCase cases[] = {
    {"texels-suit-sigma", texels_suit_sigma, CF_ONCE},
    {"images-cover-and-do-not-overlap", images_cover_and_do_not_overlap, CF_ONCE},
    {"what-cannot-be-indexed-is-refused", what_cannot_be_indexed_is_refused, CF_ONCE},
    {NULL, NULL, 0},
};

int main(int argc, char **argv)
{
  const CfTestSuite suite = {&cf_gaussblur, cases};

  return cf_test_main(&suite, argc, argv);
}
