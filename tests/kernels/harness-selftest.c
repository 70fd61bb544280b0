/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The harness detects what it is there to detect. The failures that it prints here are expected.
 */
#include "harness.h"

#include <math.h>
#include <string.h>

static const CfVideo *small_video(CfTest *test)
{
  static CfVideo video;

  video = cf_video(test->format, 13, 7);
  return &video;
}

/* ---- Pictures ---- */

static bool guards_hold(const CfTestPicture *picture)
{
  long row, byte;
  int plane;

  return cf_picture_guards(picture, &plane, &row, &byte);
}

static void guards_notice_any_byte(CfTest *test)
{
  for (int layout = CF_LAYOUT_ALIGNED; layout < CF_LAYOUT_COUNT; layout++) {
    CfTestPicture *picture = cf_picture_new(small_video(test), (CfLayout)layout);
    const int planes = cf_format_info(test->format)->planes;

    cf_test_context(test, "layout %d", layout);
    for (int p = 0; p < planes; p++) {
      const size_t row_bytes = cf_row_bytes(&picture->video, p);
      const size_t before = (size_t)(picture->planes.data[p] - picture->allocation[p]);
      const size_t stride = (size_t)picture->planes.stride[p];
      const size_t rows = (size_t)cf_plane_height(&picture->video, p);

      for (size_t i = 0; i < picture->bytes[p]; i++) {
        const bool sample =
            i >= before && i < before + rows * stride && (i - before) % stride < row_bytes;
        picture->allocation[p][i] ^= 0x10;
        CF_EXPECT(test, guards_hold(picture) == sample, "plane %d byte %zu", p, i);
        picture->allocation[p][i] ^= 0x10;
      }
    }
    CF_EXPECT(test, guards_hold(picture), "guards changed by nobody");
    cf_picture_free(picture);
  }
}

static void fills_do_not_depend_on_layout(CfTest *test)
{
  for (int pattern = 0; pattern < CF_PATTERN_COUNT; pattern++) {
    CfTestPicture *tight = cf_picture_new(small_video(test), CF_LAYOUT_TIGHT);
    CfTestPicture *other = cf_picture_new(small_video(test), CF_LAYOUT_UNALIGNED);

    cf_test_context(test, "%s", cf_pattern_name((CfPattern)pattern));
    cf_picture_fill(tight, (CfPattern)pattern, CF_ALPHA_RANDOM, test->seed);
    cf_picture_fill(other, (CfPattern)pattern, CF_ALPHA_RANDOM, test->seed);
    cf_test_compare_exact(test, other, tight);
    CF_EXPECT(test, guards_hold(other), "a fill wrote outside the samples");
    cf_picture_free(tight);
    cf_picture_free(other);
  }
}

static void alpha_is_filled_as_asked(CfTest *test)
{
  static const int want[CF_ALPHA_COUNT] = {
      [CF_ALPHA_RANDOM] = -1, [CF_ALPHA_OPAQUE] = 255, [CF_ALPHA_TRANSPARENT] = 0};
  const CfVideo video = cf_video(CF_FORMAT_ARGB, 40, 40);

  for (int alpha = 0; alpha < CF_ALPHA_COUNT; alpha++) {
    CfTestPicture *picture = cf_picture_new(&video, CF_LAYOUT_PADDED);
    int lowest = 255, highest = 0;

    cf_picture_fill(picture, CF_PATTERN_NOISE, (CfAlphaFill)alpha, test->seed);
    for (int i = 0; i < 1600; i++) {
      const int value = cf_picture_get(picture, 0, i % 40, i / 40, 0);
      lowest = value < lowest ? value : lowest;
      highest = value > highest ? value : highest;
    }
    CF_EXPECT(test, lowest == (want[alpha] < 0 ? 0 : want[alpha]), "%s: lowest %d",
              cf_alpha_fill_name((CfAlphaFill)alpha), lowest);
    CF_EXPECT(test, highest == (want[alpha] < 0 ? 255 : want[alpha]), "%s: highest %d",
              cf_alpha_fill_name((CfAlphaFill)alpha), highest);
    cf_picture_free(picture);
  }
}

/* ---- Comparison ---- */

static void comparison_finds_any_sample(CfTest *test)
{
  const CfFormatInfo *format = cf_format_info(test->format);
  CfTestPicture *want = cf_picture_new(small_video(test), CF_LAYOUT_PADDED);
  CfTestPicture *got;

  cf_picture_fill(want, CF_PATTERN_NOISE, CF_ALPHA_OPAQUE, test->seed);
  got = cf_picture_copy(want, CF_LAYOUT_ALIGNED);
  for (int p = 0; p < format->planes; p++) {
    const int last_x = cf_plane_width(&want->video, p) - 1;
    const int last_y = cf_plane_height(&want->video, p) - 1;

    for (int channel = 0; channel < format->plane[p].channels; channel++) {
      const bool padding = format->plane[p].role[channel] == CF_ROLE_PADDING;
      const int code = cf_picture_get(want, p, last_x, last_y, channel);
      const int changed = code > 9 ? code - 3 : code + 3;

      cf_picture_set(got, p, last_x, last_y, channel, changed);
      const CfDifference strict = cf_picture_compare(got, want, 2.5);
      const CfDifference exact = cf_picture_compare_exact(got, want);
      const CfDifference loose = cf_picture_compare(got, want, 300.0);
      CF_EXPECT(test, padding ? strict.first.plane < 0 : strict.first.plane == p,
                "plane %d channel %d is found in plane %d", p, channel, strict.first.plane);
      CF_EXPECT(test, loose.first.plane < 0, "plane %d channel %d: tolerance ignored", p, channel);
      if (!padding) {
        CF_EXPECT(test,
                  exact.first.x == last_x && exact.first.y == last_y &&
                      exact.first.channel == channel && exact.first.got == changed &&
                      exact.first.want == code,
                  "plane %d channel %d: another sample is blamed", p, channel);
        CF_EXPECT(test, isfinite(exact.psnr) && exact.differing == 1, "no difference counted");
      }
      cf_picture_set(got, p, last_x, last_y, channel, code);
    }
  }
  cf_test_compare_exact(test, got, want);
  cf_picture_free(got);
  cf_picture_free(want);
}

static void invisible_colour_counts_only_exactly(CfTest *test)
{
  const CfVideo video = cf_video(CF_FORMAT_RGBA, 4, 4);
  CfTestPicture *want = cf_picture_new(&video, CF_LAYOUT_TIGHT), *got;

  cf_picture_fill(want, CF_PATTERN_NOISE, CF_ALPHA_TRANSPARENT, test->seed);
  got = cf_picture_copy(want, CF_LAYOUT_TIGHT);
  cf_picture_set(got, 0, 1, 1, 0, cf_picture_get(got, 0, 1, 1, 0) ^ 128);
  CF_EXPECT(test, cf_picture_compare(got, want, 0.0).first.plane < 0, "premultiplied");
  CF_EXPECT(test, cf_picture_compare_exact(got, want).first.plane == 0, "exact");
  cf_picture_free(got);
  cf_picture_free(want);
}

static void low_bits_are_noticed(CfTest *test)
{
  const CfVideo video = cf_video(CF_FORMAT_P010_10LE, 4, 4);
  CfTestPicture *want = cf_picture_new(&video, CF_LAYOUT_TIGHT), *got;

  cf_picture_fill(want, CF_PATTERN_NOISE, CF_ALPHA_OPAQUE, test->seed);
  got = cf_picture_copy(want, CF_LAYOUT_TIGHT);
  CF_EXPECT(test, !cf_picture_compare(got, want, 0.0).low_bits, "they are not set");
  got->planes.data[1][0] |= 1;
  CF_EXPECT(test, cf_picture_compare(got, want, 0.0).low_bits, "one is set");
  cf_picture_free(got);
  cf_picture_free(want);
}

/* ---- Engines that misbehave ---- */

typedef struct {
  int fault;
} Params;

enum { FAULT_NONE, FAULT_GUARD, FAULT_SOURCE, FAULT_UNWRITTEN, FAULT_FAILS, FAULT_COUNT };

static const CfParam fault_table[] = {
    {"fault", "", "", CF_PARAM_INT, offsetof(Params, fault), 0.0, FAULT_COUNT, 0.0, NULL, NULL},
    {0},
};

static void *fault_open(const CfVideo *video, const void *params, const CfOpenOptions *options,
                        CfStatus *status)
{
  static Params state;

  (void)video, (void)options, (void)status;
  state = *(const Params *)params;
  return &state;
}

static bool fault_update(void *state, const void *params, CfStatus *status)
{
  *(Params *)state = *(const Params *)params;
  return ((const Params *)params)->fault != FAULT_FAILS ||
         cf_fail(status, CF_ERROR_FAILED, "as asked");
}

/* Copies the 8x8 GRAY8 picture of the test below, with a fault. */
static bool fault_run(void *state, const CfJob *job, CfStatus *status)
{
  const int fault = ((const Params *)state)->fault;

  for (int y = 0; y < 8; y++)
    memcpy(job->destination.data[0] + y * job->destination.stride[0],
           job->source.data[0] + y * job->source.stride[0], fault == FAULT_UNWRITTEN ? 7 : 8);
  if (fault == FAULT_GUARD)
    job->destination.data[0][8] ^= 1;
  if (fault == FAULT_SOURCE)
    job->source.data[0][3] ^= 1;
  return fault != FAULT_FAILS || cf_fail(status, CF_ERROR_FAILED, "as asked");
}

static const char *fault_algorithm(const void *state)
{
  (void)state;
  return "fault";
}

static void fault_close(void *state)
{
  (void)state;
}

static const CfEngine fault_engine = {
    .name = "reference",
    .in_place = true,
    .open = fault_open,
    .update = fault_update,
    .run = fault_run,
    .algorithm = fault_algorithm,
    .close = fault_close,
};
static const CfEngine *const fault_engines[] = {&fault_engine, NULL};
static const CfEffect fault_effect = {.name = "fault",
                                      .params_size = sizeof(Params),
                                      .params = fault_table,
                                      .engines = fault_engines};

/* The number of failures of one filter call with `fault`, and of the comparison of its result. */
static int failures_with(const CfTest *test, int fault)
{
  const CfVideo video = cf_video(CF_FORMAT_GRAY8, 8, 8);
  const Params params = {fault};
  CfTest inner = *test;
  CfTestPicture *source = cf_picture_new(&video, CF_LAYOUT_PADDED);
  CfTestPicture *result = cf_picture_new(&video, CF_LAYOUT_UNALIGNED), *want;

  inner.effect = &fault_effect;
  inner.failures = 0;
  cf_picture_fill(source, CF_PATTERN_NOISE, CF_ALPHA_OPAQUE, test->seed);
  want = cf_picture_copy(source, CF_LAYOUT_TIGHT);
  if (cf_test_filter(&inner, &fault_engine, &params, 1, source, result))
    cf_test_compare(&inner, result, want, 0.0);
  cf_picture_free(source);
  cf_picture_free(result);
  cf_picture_free(want);
  return inner.failures;
}

static void faults_are_noticed(CfTest *test)
{
  CF_EXPECT(test, failures_with(test, FAULT_NONE) == 0, "a good engine fails");
  CF_EXPECT(test, failures_with(test, FAULT_GUARD) == 1, "a guard was overwritten");
  CF_EXPECT(test, failures_with(test, FAULT_SOURCE) == 1, "the source was changed");
  CF_EXPECT(test, failures_with(test, FAULT_UNWRITTEN) == 1, "a column was left out");
  CF_EXPECT(test, failures_with(test, FAULT_FAILS) == 1, "the run failed");
  CF_EXPECT(test, failures_with(test, FAULT_COUNT + 1) == 1, "the params are out of range");
}

static const CfTestCase cases[] = {
    {"guards-notice-any-byte", guards_notice_any_byte, CF_EACH_FORMAT},
    {"fills-do-not-depend-on-layout", fills_do_not_depend_on_layout, CF_EACH_FORMAT},
    {"alpha-is-filled-as-asked", alpha_is_filled_as_asked, CF_ONCE},
    {"comparison-finds-any-sample", comparison_finds_any_sample, CF_EACH_FORMAT},
    {"invisible-colour-counts-only-exactly", invisible_colour_counts_only_exactly, CF_ONCE},
    {"low-bits-are-noticed", low_bits_are_noticed, CF_ONCE},
    {"faults-are-noticed", faults_are_noticed, CF_ONCE},
    {0},
};
static const CfTestSuite suite = {NULL, cases};

int main(int argc, char **argv)
{
  return cf_test_main(&suite, argc, argv);
}
