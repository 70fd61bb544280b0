/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What all engines build on: formats, colours, borders.
 */
#include "harness.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "border.h"

/* ---- Formats ---- */

/* Planes in order; one letter per channel in memory order, then log2 of both subsamplings. */
static const struct {
  const char *name, *planes;
  int bits, shift;
} expected_formats[] = {
    {"GRAY8", "Y00", 8, 0},
    {"GRAY16_LE", "Y00", 16, 0},
    {"I420", "Y00 U11 V11", 8, 0},
    {"YV12", "Y00 V11 U11", 8, 0},
    {"NV12", "Y00 UV11", 8, 0},
    {"NV21", "Y00 VU11", 8, 0},
    {"Y42B", "Y00 U10 V10", 8, 0},
    {"Y444", "Y00 U00 V00", 8, 0},
    {"I420_10LE", "Y00 U11 V11", 10, 0},
    {"I422_10LE", "Y00 U10 V10", 10, 0},
    {"Y444_10LE", "Y00 U00 V00", 10, 0},
    {"P010_10LE", "Y00 UV11", 10, 6},
    {"P012_LE", "Y00 UV11", 12, 4},
    {"P016_LE", "Y00 UV11", 16, 0},
    {"Y444_16LE", "Y00 U00 V00", 16, 0},
    {"UYVY", "UYVY10", 8, 0},
    {"YUY2", "YUYV10", 8, 0},
    {"RGB", "RGB00", 8, 0},
    {"BGR", "BGR00", 8, 0},
    {"RGBx", "RGBx00", 8, 0},
    {"BGRx", "BGRx00", 8, 0},
    {"xRGB", "xRGB00", 8, 0},
    {"xBGR", "xBGR00", 8, 0},
    {"RGBA", "RGBA00", 8, 0},
    {"BGRA", "BGRA00", 8, 0},
    {"ARGB", "ARGB00", 8, 0},
    {"ABGR", "ABGR00", 8, 0},
    {"AYUV", "AYUV00", 8, 0},
    {"GBR", "G00 B00 R00", 8, 0},
};

static void describe_planes(const CfFormatInfo *format, char *text, size_t size)
{
  static const char letters[CF_ROLE_COUNT + 1] = "YUVRGBAx";
  size_t used = 0;

  for (int p = 0; p < format->planes; p++) {
    const CfPlaneFormat *plane = &format->plane[p];

    used += (size_t)snprintf(text + used, size - used, "%s", p ? " " : "");
    for (int channel = 0; channel < plane->channels; channel++)
      used += (size_t)snprintf(text + used, size - used, "%c", letters[plane->role[channel]]);
    used += (size_t)snprintf(text + used, size - used, "%d%d", plane->subsampling_x,
                             plane->subsampling_y);
  }
}

static void formats_are_as_gstreamer_defines_them(CfTest *test)
{
  const int count = (int)(sizeof expected_formats / sizeof expected_formats[0]);

  CF_EXPECT(test, count == CF_FORMAT_COUNT, "%d formats", CF_FORMAT_COUNT);
  for (int i = 0; i < count; i++) {
    const char *name = expected_formats[i].name, *planes = expected_formats[i].planes;
    char described[64];
    CfFormat format;

    cf_test_context(test, "%s", name);
    if (!CF_EXPECT(test, cf_format_from_name(name, &format), "it is unknown"))
      continue;
    const CfFormatInfo *info = cf_format_info(format);
    describe_planes(info, described, sizeof described);
    CF_EXPECT(test, strcmp(info->name, name) == 0, "it is called %s", info->name);
    CF_EXPECT(test, strcmp(described, planes) == 0, "planes %s, want %s", described, planes);
    CF_EXPECT(test, info->bits == expected_formats[i].bits, "%d bits", info->bits);
    CF_EXPECT(test, info->shift == expected_formats[i].shift, "shift %d", info->shift);
    CF_EXPECT(test, info->rgb == (strchr(planes, 'R') != NULL), "rgb %d", info->rgb);
    CF_EXPECT(test, info->alpha == (strchr(planes, 'A') != NULL), "alpha %d", info->alpha);
    CF_EXPECT(test, info->packed == (strchr(planes, 'Y') != strrchr(planes, 'Y')), "packed %d",
              info->packed);
    CF_EXPECT(test, cf_sample_bytes(info) == (info->bits > 8 ? 2 : 1), "bytes of a sample");
    CF_EXPECT(test, cf_max_code(info) == (1 << info->bits) - 1, "largest code");
  }
}

static void unknown_formats_are_refused(CfTest *test)
{
  CfFormat format;

  CF_EXPECT(test, !cf_format_from_name("NV16", &format), "NV16");
  CF_EXPECT(test, !cf_format_from_name("nv12", &format), "lower case");
  CF_EXPECT(test, !cf_format_from_name("RGBA ", &format), "a trailing space");
  CF_EXPECT(test, !cf_format_from_name("", &format), "an empty name");
}

static void alpha_channel_is_found(CfTest *test)
{
  static const struct {
    CfFormat format;
    int channel;
  } expected[] = {{CF_FORMAT_RGBA, 3},
                  {CF_FORMAT_ARGB, 0},
                  {CF_FORMAT_AYUV, 0},
                  {CF_FORMAT_RGBx, -1},
                  {CF_FORMAT_GRAY8, -1}};

  for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
    const CfFormatInfo *info = cf_format_info(expected[i].format);
    CF_EXPECT(test, cf_alpha_channel(&info->plane[0]) == expected[i].channel, "%s", info->name);
  }
}

static void planes_round_odd_sizes_up(CfTest *test)
{
  static const struct {
    CfFormat format;
    int width, height, plane, plane_width, plane_height;
    size_t row_bytes;
  } expected[] = {
      {CF_FORMAT_I420, 5, 3, 0, 5, 3, 5},       {CF_FORMAT_I420, 5, 3, 2, 3, 2, 3},
      {CF_FORMAT_I420, 1, 1, 1, 1, 1, 1},       {CF_FORMAT_NV12, 1919, 1081, 1, 960, 541, 1920},
      {CF_FORMAT_Y42B, 5, 3, 1, 3, 3, 3},       {CF_FORMAT_P010_10LE, 6, 4, 1, 3, 2, 12},
      {CF_FORMAT_I420_10LE, 7, 7, 1, 4, 4, 8},  {CF_FORMAT_RGB, 7, 2, 0, 7, 2, 21},
      {CF_FORMAT_UYVY, 5, 3, 0, 3, 3, 12},      {CF_FORMAT_YUY2, 1, 1, 0, 1, 1, 4},
      {CF_FORMAT_Y444_16LE, 7, 2, 2, 7, 2, 14}, {CF_FORMAT_AYUV, 7, 2, 0, 7, 2, 28},
  };

  for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
    const CfVideo video = cf_video(expected[i].format, expected[i].width, expected[i].height);
    const int plane = expected[i].plane;

    cf_test_context(test, "%s %dx%d plane %d", cf_format_info(video.format)->name, video.width,
                    video.height, plane);
    CF_EXPECT(test, cf_plane_width(&video, plane) == expected[i].plane_width, "width %d",
              cf_plane_width(&video, plane));
    CF_EXPECT(test, cf_plane_height(&video, plane) == expected[i].plane_height, "height %d",
              cf_plane_height(&video, plane));
    CF_EXPECT(test, cf_row_bytes(&video, plane) == expected[i].row_bytes, "row of %zu bytes",
              cf_row_bytes(&video, plane));
  }
}

/* ---- Colours ---- */

static void expect_video(CfTest *test, const CfVideo *video, bool good)
{
  CfStatus status = {CF_OK, ""};

  CF_EXPECT(test, cf_video_check(video, &status) == good, "%dx%d of format %d: %s", video->width,
            video->height, (int)video->format, status.message);
  CF_EXPECT(test, good || (status.code == CF_ERROR_INVALID && strstr(status.message, "allowed")),
            "code %d: %s", (int)status.code, status.message);
}

static void videos_are_checked(CfTest *test)
{
  const struct {
    int width, height;
    bool good;
  } rows[] = {{1, 1, true},
              {CF_LARGEST_SIDE, 1, true},
              {1, CF_LARGEST_SIDE, true},
              {16384, 32768, true},
              {16385, 32768, false},
              {CF_LARGEST_SIDE + 1, 1, false},
              {1, CF_LARGEST_SIDE + 1, false},
              {0, 5, false},
              {5, -1, false}};
  CfVideo video;

  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    video = cf_video(CF_FORMAT_NV12, rows[i].width, rows[i].height);
    expect_video(test, &video, rows[i].good);
  }
  video = cf_video(CF_FORMAT_NV12, 5, 5);
  video.format = CF_FORMAT_COUNT;
  expect_video(test, &video, false);
  video = cf_video(CF_FORMAT_NV12, 5, 5);
  video.luma_red = 0.0;
  expect_video(test, &video, false);
  video.luma_red = 1.0 - video.luma_blue;
  expect_video(test, &video, false);
}

/* A valid job, and the members that a test changes. */
typedef struct {
  CfEngine engine;
  CfJob job;
} JobCase;

static void expect_job(CfTest *test, const JobCase *changed, const char *what, bool good)
{
  const CfVideo video = cf_video(CF_FORMAT_P010_10LE, 9, 7);
  CfStatus status = {CF_OK, ""};

  CF_EXPECT(test, cf_job_check(&changed->engine, &video, NULL, &changed->job, &status) == good,
            "%s is %s: %s", what, good ? "refused" : "taken", status.message);
  CF_EXPECT(test, good || status.code == CF_ERROR_INVALID, "%s: code %d", what, (int)status.code);
}

static int no_halo(const void *state)
{
  (void)state;
  return 0;
}

static void jobs_are_checked(CfTest *test)
{
  static uint8_t memory[4][400];
  static const CfRegions regions = {0};
  const JobCase good = {.job = {.source = {{memory[0], memory[1]}, {18, 20}},
                                .destination = {{memory[2], memory[3]}, {20, 22}}}};
  JobCase changed = good;

  expect_job(test, &changed, "a whole picture", true);
  changed.job.source.data[1] = NULL;
  expect_job(test, &changed, "a missing plane", false);
  changed = good;
  changed.job.source.stride[0] = 17;
  expect_job(test, &changed, "a short stride", false);
  changed.job.source.stride[0] = 19;
  changed.job.source.data[1]++;
  expect_job(test, &changed, "odd bytes in host memory", true);
  changed.engine.device_memory = true;
  expect_job(test, &changed, "odd bytes in device memory", false);
  changed = good;
  changed.job.destination.stride[1] = -20;
  expect_job(test, &changed, "a picture bottom up", true);
  changed.job.destination.stride[1] = -19;
  expect_job(test, &changed, "a short one", false);
  changed.job.destination.stride[1] = -20;
  changed.engine.device_memory = true;
  expect_job(test, &changed, "one on the device", false);

  changed = good;
  changed.job.destination = changed.job.source;
  expect_job(test, &changed, "the same picture", false);
  changed.engine.in_place = true;
  expect_job(test, &changed, "the same picture in place", true);
  changed.job.destination.stride[0] = 20;
  expect_job(test, &changed, "other strides in place", false);
  changed.job.destination = (CfPicture){{memory[0], memory[3]}, {18, 20}};
  expect_job(test, &changed, "one plane in place", false);

  changed = good;
  changed.job.regions = &regions;
  expect_job(test, &changed, "regions that nobody knows", false);
  changed.engine.regions = true;
  expect_job(test, &changed, "regions", true);
  changed.engine.halo = no_halo;
  changed.job.rows = 4;
  expect_job(test, &changed, "a band of regions", false);

  changed = good;
  changed.job.rows = 4;
  expect_job(test, &changed, "a band that nobody knows", false);
  changed.engine.halo = no_halo;
  expect_job(test, &changed, "a band", true);
  changed.job.first_row = 4;
  expect_job(test, &changed, "a band beyond the end", false);
  changed.job.rows = 3;
  expect_job(test, &changed, "the last rows", true);
  changed.job.first_row = 2;
  expect_job(test, &changed, "an odd number of rows", false);
  changed.job.first_row = 3;
  changed.job.rows = 4;
  expect_job(test, &changed, "an odd row", false);
}

static void expect_range(CfTest *test, CfFormat format, CfRange range, CfRole role, double offset,
                         double scale)
{
  CfVideo video = cf_video(format, 16, 16);
  double got_offset, got_scale;

  video.range = range;
  cf_code_range(&video, role, &got_offset, &got_scale);
  cf_test_context(test, "%s %s %s", cf_format_info(format)->name,
                  range == CF_RANGE_FULL ? "full" : "limited", cf_role_name(role));
  CF_EXPECT(test, got_offset == offset && got_scale == scale, "got {%g, %g}, want {%g, %g}",
            got_offset, got_scale, offset, scale);
}

static void code_ranges_follow_the_standards(CfTest *test)
{
  expect_range(test, CF_FORMAT_NV12, CF_RANGE_LIMITED, CF_ROLE_LUMA, 16.0, 219.0);
  expect_range(test, CF_FORMAT_NV12, CF_RANGE_LIMITED, CF_ROLE_CHROMA_BLUE, 16.0, 224.0);
  expect_range(test, CF_FORMAT_NV12, CF_RANGE_FULL, CF_ROLE_LUMA, 0.0, 255.0);
  expect_range(test, CF_FORMAT_NV12, CF_RANGE_FULL, CF_ROLE_CHROMA_RED, 0.0, 255.0);
  expect_range(test, CF_FORMAT_P010_10LE, CF_RANGE_LIMITED, CF_ROLE_LUMA, 64.0, 876.0);
  expect_range(test, CF_FORMAT_P010_10LE, CF_RANGE_LIMITED, CF_ROLE_CHROMA_RED, 64.0, 896.0);
  expect_range(test, CF_FORMAT_P012_LE, CF_RANGE_LIMITED, CF_ROLE_LUMA, 256.0, 3504.0);
  expect_range(test, CF_FORMAT_Y444_16LE, CF_RANGE_LIMITED, CF_ROLE_LUMA, 4096.0, 56064.0);
  expect_range(test, CF_FORMAT_GRAY16_LE, CF_RANGE_FULL, CF_ROLE_LUMA, 0.0, 65535.0);
  expect_range(test, CF_FORMAT_RGBA, CF_RANGE_FULL, CF_ROLE_GREEN, 0.0, 255.0);
  expect_range(test, CF_FORMAT_AYUV, CF_RANGE_LIMITED, CF_ROLE_ALPHA, 0.0, 255.0);

  const CfVideo eight = cf_video(CF_FORMAT_I420, 2, 2), ten = cf_video(CF_FORMAT_I420_10LE, 2, 2);
  CF_EXPECT(test, cf_chroma_centre(&eight) == 128.0, "centre of 8 bits");
  CF_EXPECT(test, cf_chroma_centre(&ten) == 512.0, "centre of 10 bits");
}

static void video_defaults_follow_the_format(CfTest *test)
{
  for (int i = 0; i < CF_FORMAT_COUNT; i++) {
    const CfVideo video = cf_video((CfFormat)i, 640, 360);
    const CfFormatInfo *info = cf_format_info((CfFormat)i);
    const bool gray = strncmp(info->name, "GRAY", 4) == 0;

    cf_test_context(test, "%s", info->name);
    CF_EXPECT(test, (int)video.format == i && video.width == 640 && video.height == 360, "size");
    CF_EXPECT(test, (video.range == CF_RANGE_FULL) == (gray || info->rgb), "range %d", video.range);
    CF_EXPECT(test, fabs(video.luma_red - 0.299) < 1e-3 && fabs(video.luma_blue - 0.114) < 1e-3,
              "weights %g, %g", video.luma_red, video.luma_blue);
  }
}

/* Expects codes in the order of roles: luma, chroma blue, red; or red, green, blue; then alpha. */
static void expect_color(CfTest *test, const CfVideo *video, uint32_t argb, const double want[4])
{
  const bool rgb = cf_format_info(video->format)->rgb;
  const CfRole first = rgb ? CF_ROLE_RED : CF_ROLE_LUMA;
  double codes[CF_ROLE_COUNT];

  cf_color_codes(video, argb, codes);
  cf_test_context(test, "%s, colour 0x%08x", cf_format_info(video->format)->name, argb);
  for (int i = 0; i < 4; i++) {
    const CfRole role = i == 3 ? CF_ROLE_ALPHA : (CfRole)(first + i);
    CF_EXPECT(test,
              fabs(codes[role] - want[i]) < 0.006 * cf_max_code(cf_format_info(video->format)),
              "%s is %g, want %g", cf_role_name(role), codes[role], want[i]);
  }
}

static void colours_have_the_published_codes(CfTest *test)
{
  CfVideo video = cf_video(CF_FORMAT_AYUV, 2, 2);

  expect_color(test, &video, 0xff000000, (const double[]){16.0, 128.0, 128.0, 255.0});
  expect_color(test, &video, 0x80ffffff, (const double[]){235.0, 128.0, 128.0, 128.0});
  expect_color(test, &video, 0x00ff0000, (const double[]){81.5, 90.2, 240.0, 0.0});
  expect_color(test, &video, 0xff00ff00, (const double[]){144.6, 53.8, 34.2, 255.0});
  expect_color(test, &video, 0xff0000ff, (const double[]){41.0, 240.0, 109.8, 255.0});
  video.luma_red = 0.2126; /* BT.709 */
  video.luma_blue = 0.0722;
  expect_color(test, &video, 0xffff0000, (const double[]){62.6, 102.3, 240.0, 255.0});
  expect_color(test, &video, 0xff0000ff, (const double[]){31.8, 240.0, 117.7, 255.0});

  video = cf_video(CF_FORMAT_P010_10LE, 2, 2);
  expect_color(test, &video, 0xffffffff, (const double[]){940.0, 512.0, 512.0, 1023.0});
  video = cf_video(CF_FORMAT_BGRA, 2, 2);
  expect_color(test, &video, 0x01020384, (const double[]){2.0, 3.0, 132.0, 1.0});
}

/* ---- Borders ---- */

/* The sample that a walk from sample 0 to position `i` ends at, turning as the border says. */
static int walk(CfBorder border, long i, int size)
{
  const int step = i < 0 ? -1 : 1;
  int at = 0, direction = step;

  for (long walked = 0; walked != i; walked += step) {
    const int next = at + direction;
    const bool outside = next < 0 || next >= size;

    switch (border) {
    case CF_BORDER_REPLICATE:
      at = outside ? at : next;
      break;
    case CF_BORDER_REFLECT: /* the edge sample counts twice: stay, and turn */
      direction = outside ? -direction : direction;
      at = outside ? at : next;
      break;
    case CF_BORDER_REFLECT_101: /* the edge sample counts once: turn, and go on */
      direction = outside ? -direction : direction;
      at = size == 1 ? 0 : outside ? at + direction : next;
      break;
    case CF_BORDER_WRAP:
      at = next < 0 ? size - 1 : next >= size ? 0 : next;
      break;
    case CF_BORDER_CONSTANT:
      break;
    }
  }
  return border == CF_BORDER_CONSTANT ? (i < 0 || i >= size ? -1 : (int)i) : at;
}

static void borders_fold_any_distance(CfTest *test)
{
  for (const CfChoice *border = cf_border_choices; border->nick; border++) {
    for (int size = 1; size <= 9; size++) {
      for (long i = -60; i <= 60; i++) {
        const int got = cf_border_index((CfBorder)border->value, i, size);
        const int want = walk((CfBorder)border->value, i, size);
        CF_EXPECT(test, got == want, "%s of %d samples: position %ld reads %d, want %d",
                  border->nick, size, i, got, want);
      }
    }
  }
}

static void borders_fold_far_positions(CfTest *test)
{
  static const struct {
    CfBorder border;
    long i;
    int size, want;
  } far[] = {
      {CF_BORDER_REFLECT, -4000000001L, 1000, 0},
      {CF_BORDER_REFLECT, 4000000999L, 1000, 999},
      {CF_BORDER_REFLECT_101, -3996000001L, 1000, 1},
      {CF_BORDER_WRAP, -4000000001L, 1000, 999},
      {CF_BORDER_REPLICATE, -4000000001L, 1000, 0},
      {CF_BORDER_REPLICATE, 4000000001L, 1000, 999},
      {CF_BORDER_REFLECT, 2147483647L, 2147483647, 2147483646},
      {CF_BORDER_CONSTANT, -4000000001L, 1000, -1},
  };

  for (size_t i = 0; i < sizeof far / sizeof far[0]; i++) {
    const int got = cf_border_index(far[i].border, far[i].i, far[i].size);
    CF_EXPECT(test, got == far[i].want, "border %d, position %ld: reads %d, want %d", far[i].border,
              far[i].i, got, far[i].want);
  }
}

/* ---- Status ---- */

static void failures_say_why(CfTest *test)
{
  CfStatus status = {CF_OK, ""};
  char tedious[1000];

  memset(tedious, 'x', sizeof tedious - 1);
  tedious[sizeof tedious - 1] = '\0';
  CF_EXPECT(test, !cf_fail(&status, CF_ERROR_NO_MEMORY, "%d bytes", 12), "it returns true");
  CF_EXPECT(test, status.code == CF_ERROR_NO_MEMORY && strcmp(status.message, "12 bytes") == 0,
            "code %d, message %s", status.code, status.message);
  CF_EXPECT(test, !cf_fail(NULL, CF_ERROR_FAILED, "nobody listens"), "it returns true");
  cf_fail(&status, CF_ERROR_FAILED, "%s", tedious);
  CF_EXPECT(test, strlen(status.message) == sizeof status.message - 1, "%zu characters",
            strlen(status.message));
}

static const CfTestCase cases[] = {
    {"formats-are-as-gstreamer-defines-them", formats_are_as_gstreamer_defines_them, CF_ONCE},
    {"unknown-formats-are-refused", unknown_formats_are_refused, CF_ONCE},
    {"alpha-channel-is-found", alpha_channel_is_found, CF_ONCE},
    {"planes-round-odd-sizes-up", planes_round_odd_sizes_up, CF_ONCE},
    {"videos-are-checked", videos_are_checked, CF_ONCE},
    {"jobs-are-checked", jobs_are_checked, CF_ONCE},
    {"code-ranges-follow-the-standards", code_ranges_follow_the_standards, CF_ONCE},
    {"video-defaults-follow-the-format", video_defaults_follow_the_format, CF_ONCE},
    {"colours-have-the-published-codes", colours_have_the_published_codes, CF_ONCE},
    {"borders-fold-any-distance", borders_fold_any_distance, CF_ONCE},
    {"borders-fold-far-positions", borders_fold_far_positions, CF_ONCE},
    {"failures-say-why", failures_say_why, CF_ONCE},
    {0},
};
static const CfTestSuite suite = {NULL, cases};

int main(int argc, char **argv)
{
  return cf_test_main(&suite, argc, argv);
}
