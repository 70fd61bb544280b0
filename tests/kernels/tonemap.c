/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Tone mapping: the engines against the reference, and what must not affect their results.
 */
#include <stdlib.h>
#include <string.h>

#include "plan/tonemap_plan.h"
#include "tonemap_cases.h"
#ifdef CF_HAVE_CUDA
#include "cuda/llf/frame_plan.h"
#endif

/* ---- Engines against the reference ---- */

/* Samples in the first channel of the first plane that are more than a code apart. */
static long far_apart(const CfTestPicture *got, const CfTestPicture *want)
{
  long count = 0;

  for (int y = 0; y < got->video.height; y++)
    for (int x = 0; x < got->video.width; x++)
      count += abs(cf_picture_get(got, 0, x, y, 0) - cf_picture_get(want, 0, x, y, 0)) > 1;
  return count;
}

/* Within a code, and mostly equal: another dither would change the codes of many samples. Where a
 * component of a colour is nearly 0, the power 1 / 2.4 amplifies the rounding of the plane to a
 * second code in single samples. With 10 bits the sums of a GPU's filter do so in a few more. */
static void judge(CfTest *test, const CfTestPicture *got, const CfTestPicture *want, bool dither)
{
  const bool device = test->engine->device_memory;
  const long pixels = (long)got->video.width * got->video.height;
  const long rare = device && cf_format_info(got->video.format)->bits > 8 ? 2000 : 10000;
  const CfDifference difference = cf_picture_compare(got, want, 1.0);

  cf_test_compare(test, got, want, 2.0);
  CF_EXPECT(test, !dither || difference.differing <= 8 + difference.samples / 10,
            "%ld of %ld samples differ", difference.differing, difference.samples);
  CF_EXPECT(test, far_apart(got, want) <= 1 + pixels / rare, "%ld of %ld pixels are apart",
            far_apart(got, want), pixels);
}

static void compare(CfTest *test, const CfTonemapParams *params, const CfVideo *video,
                    CfFormat format, CfLayout layout, CfPattern pattern)
{
  CfTestPicture *source = cf_picture_new(video, layout), *want, *got;
  CfVideo destination = sdr_video(format, video->width, video->height);

  if (video->range == CF_RANGE_FULL && !cf_format_info(format)->rgb)
    destination.range = CF_RANGE_FULL;
  cf_test_context(test,
                  "detail %g contrast %g sigma %g noise-floor %g peak %g target-nits %g saturation "
                  "%g dither %d; %s %s %dx%d %s to %s",
                  params->detail, params->contrast, params->sigma, params->noise_floor,
                  params->peak, params->target_nits, params->saturation, params->dither,
                  video->transfer == CF_TRANSFER_PQ ? "PQ" : "HLG",
                  cf_format_info(video->format)->name, video->width, video->height,
                  cf_pattern_name(pattern), cf_format_info(format)->name);
  cf_picture_fill(source, pattern, CF_ALPHA_OPAQUE, cf_random(&test->random));
  want = result_of(test, test->effect->engines[0], params, source, &destination, layout);
  got = result_of(test, test->engine, params, source, &destination, layout);
  if (want && got)
    judge(test, got, want, params->dither);
  cf_picture_free(source);
  cf_picture_free(want);
  cf_picture_free(got);
}

static void agrees_in_every_format(CfTest *test)
{
  const CfPattern patterns[] = {CF_PATTERN_PHOTO, CF_PATTERN_NOISE, CF_PATTERN_EXTREMES,
                                CF_PATTERN_RAMPS, CF_PATTERN_BARS};
  int number = 0;

  for (int from = 0; from < SOURCES; from++) {
    for (int to = 0; to < DESTINATIONS; to++) {
      for (CfTransfer transfer = CF_TRANSFER_PQ; transfer <= CF_TRANSFER_HLG; transfer++) {
        const CfTonemapParams params = varied(number);
        CfVideo video = hdr_video(sources[from], 83, 45, transfer);

        if (number % 3 == 2)
          video.range = CF_RANGE_FULL;
        video.primaries = (CfPrimaries)(number % (CF_PRIMARIES_709 + 1));
        compare(test, &params, &video, destinations[to], (CfLayout)(number % CF_LAYOUT_COUNT),
                patterns[number % 5]);
        number++;
      }
    }
  }
}

static void agrees_in_every_size(CfTest *test)
{
  const CfSize more[] = {{255, 3}, {256, 2}, {257, 5}, {513, 7}, {600, 4}, {0, 0}};
  const CfSize *const lists[] = {cf_test_sizes, more};
  int number = 0;

  for (int list = 0; list < 2; list++) {
    for (const CfSize *size = lists[list]; size->width; size++) {
      for (int to = 0; to < DESTINATIONS; to++, number++) {
        const CfTonemapParams params = varied(number);
        const CfVideo video = hdr_video(sources[number % SOURCES], size->width, size->height,
                                        number % 2 ? CF_TRANSFER_PQ : CF_TRANSFER_HLG);

        compare(test, &params, &video, destinations[to], (CfLayout)(number % CF_LAYOUT_COUNT),
                CF_PATTERN_NOISE);
      }
    }
  }
}

/* Larger pictures have a pyramid of more than a few levels, which tensor cores filter on GPUs, or,
 * with the variants here, do not. */
static void agrees_on_large_pictures(CfTest *test)
{
  const CfFormat formats[] = {CF_FORMAT_NV12, CF_FORMAT_P010_10LE, CF_FORMAT_I420};
  const CfPattern patterns[] = {CF_PATTERN_PHOTO, CF_PATTERN_RAMPS, CF_PATTERN_PHOTO,
                                CF_PATTERN_NOISE};

  for (int number = 0; number < 6; number++) {
    const CfTonemapParams params = number < 2 ? defaults() : varied(number);
    const CfVideo video =
        hdr_video(CF_FORMAT_P010_10LE, 900, 508, number % 2 ? CF_TRANSFER_HLG : CF_TRANSFER_PQ);

#ifdef CF_HAVE_CUDA
    cf_llf_plan_override.tensor_cores = number % 3 == 2 ? 0 : -1;
#endif
    compare(test, &params, &video, formats[number % 3], CF_LAYOUT_ALIGNED, patterns[number % 4]);
  }
#ifdef CF_HAVE_CUDA
  cf_llf_plan_override.tensor_cores = -1;
#endif
}

static void agrees_with_any_settings(CfTest *test)
{
  for (int number = 0; number < 60; number++) {
    const CfTonemapParams params = varied(number);
    const CfVideo video =
        hdr_video(CF_FORMAT_P010_10LE, 150, 97, number % 4 ? CF_TRANSFER_PQ : CF_TRANSFER_HLG);

    compare(test, &params, &video, number % 2 ? CF_FORMAT_NV12 : CF_FORMAT_P010_10LE,
            CF_LAYOUT_ALIGNED, CF_PATTERN_PHOTO);
  }
}

/* Any settings, formats and sizes. */
static void agrees_at_random(CfTest *test)
{
  for (int number = 0; number < 150; number++) {
    CfTonemapParams params = defaults();
    const CfTransfer transfer =
        cf_random_below(&test->random, 2) ? CF_TRANSFER_PQ : CF_TRANSFER_HLG;
    CfVideo video = hdr_video(sources[cf_random_below(&test->random, SOURCES)],
                              1 + cf_random_below(&test->random, 80),
                              1 + cf_random_below(&test->random, 60), transfer);

    for (const CfParam *param = cf_tonemap.params; param->name; param++) {
      const double share = cf_random_unit(&test->random);

      if (param->type == CF_PARAM_DOUBLE && cf_random_below(&test->random, 2))
        *(double *)((char *)&params + param->offset) =
            param->minimum + share * (param->maximum - param->minimum);
    }
    params.dither = cf_random_below(&test->random, 2);
    params.dynamic = cf_random_below(&test->random, 3) == 0;
    params.stream_peak =
        cf_random_below(&test->random, 2) ? 12000.0 * cf_random_unit(&test->random) : 0.0;
    video.range = cf_random_below(&test->random, 4) ? CF_RANGE_LIMITED : CF_RANGE_FULL;
    video.primaries = (CfPrimaries)cf_random_below(&test->random, CF_PRIMARIES_709 + 1);
    compare(test, &params, &video, destinations[cf_random_below(&test->random, DESTINATIONS)],
            (CfLayout)cf_random_below(&test->random, CF_LAYOUT_COUNT),
            (CfPattern)cf_random_below(&test->random, CF_PATTERN_COUNT));
  }
}

/* ---- Bytes and bits ---- */

/* Samples of 10 bits whose upper bits are not 0, as broken decoders have them: the result for such
 * a frame is undefined, but the next one is correct. */
static void excess_bits_do_no_harm(CfTest *test)
{
  const CfFormat formats[] = {CF_FORMAT_I420_10LE, CF_FORMAT_Y444_10LE};

  for (int i = 0; i < 2; i++) {
    const CfVideo video = hdr_video(formats[i], 150, 61, CF_TRANSFER_PQ);
    const CfVideo destination = sdr_video(CF_FORMAT_NV12, 150, 61);
    CfTestPicture *plain = cf_picture_new(&video, CF_LAYOUT_TIGHT);
    CfTestPicture *excess = cf_picture_new(&video, CF_LAYOUT_TIGHT);
    CfTestPicture *got = cf_picture_new(&destination, CF_LAYOUT_TIGHT);
    CfTestPicture *want = cf_picture_new(&destination, CF_LAYOUT_TIGHT);
    CfTonemapParams params = defaults();

    params.detail = 1.5;
    params.dynamic = true;
    cf_picture_fill(plain, CF_PATTERN_PHOTO, CF_ALPHA_OPAQUE, test->seed);
    for (int p = 0; p < 3; p++)
      for (size_t k = 0; k < excess->bytes[p]; k++)
        excess->allocation[p][k] = (uint8_t)(k % 7 ? cf_random_below(&test->random, 256) : 255);
    CfRig *rig = cf_rig_open_to(test, test->engine, &video, &destination, &params, 2);
    if (rig)
      cf_rig_set_pace(rig, 0.04, true);
    if (rig && cf_rig_run(rig, plain, want) && cf_rig_run(rig, excess, got) &&
        cf_rig_run(rig, plain, got))
      cf_test_compare_exact(test, got, want);
    cf_rig_close(rig);
    cf_picture_free(plain);
    cf_picture_free(excess);
    cf_picture_free(got);
    cf_picture_free(want);
  }
}

/* Planes at odd addresses, with an odd number of bytes between rows, stored bottom up. */
static CfPicture odd_planes(const CfVideo *video, uint8_t *memory[CF_MAX_PLANES])
{
  CfPicture picture = {{NULL}, {0}};

  for (int p = 0; p < cf_format_info(video->format)->planes; p++) {
    const size_t row = (cf_row_bytes(video, p) + 2) | 1;
    const size_t rows = (size_t)cf_plane_height(video, p);

    memory[p] = calloc(rows * row + 1, 1);
    picture.stride[p] = -(ptrdiff_t)row;
    picture.data[p] = memory[p] + 1 + (rows - 1) * row;
  }
  return picture;
}

static void copy_rows(const CfVideo *video, const CfPicture *to, const CfPicture *from)
{
  for (int p = 0; p < cf_format_info(video->format)->planes; p++)
    for (int y = 0; y < cf_plane_height(video, p); y++)
      memcpy(to->data[p] + y * to->stride[p], from->data[p] + y * from->stride[p],
             cf_row_bytes(video, p));
}

static void odd_bytes_are_no_matter(CfTest *test)
{
  const CfTonemapParams params = varied(2);

  if (test->engine->device_memory) {
    cf_test_skip(test, "pictures in device memory start at even bytes, from the top");
    return;
  }
  for (int i = 0; i < SOURCES; i++) {
    const CfVideo video = hdr_video(sources[i], 71, 43, CF_TRANSFER_HLG);
    const CfVideo destination = sdr_video(destinations[i % DESTINATIONS], 71, 43);
    const CfOpenOptions options = {.threads = 2, .destination = &destination};
    uint8_t *memory[2][CF_MAX_PLANES] = {{NULL}};
    const CfPicture from = odd_planes(&video, memory[0]), to = odd_planes(&destination, memory[1]);
    CfTestPicture *source = cf_picture_new(&video, CF_LAYOUT_ALIGNED);
    CfTestPicture *got = cf_picture_new(&destination, CF_LAYOUT_ALIGNED), *want;
    CfFilter *filter;

    cf_picture_fill(source, CF_PATTERN_PHOTO, CF_ALPHA_OPAQUE, test->seed);
    want = result_of(test, test->engine, &params, source, &destination, CF_LAYOUT_ALIGNED);
    copy_rows(&video, &from, &source->planes);
    filter = cf_filter_open(test->engine, &video, &params, &options, NULL);
    if (CF_EXPECT(test,
                  filter &&
                      cf_filter_run(filter, &(CfJob){.source = from, .destination = to}, NULL),
                  "does not run") &&
        want) {
      copy_rows(&destination, &got->planes, &to);
      cf_test_compare_exact(test, got, want);
    }
    cf_filter_close(filter);
    cf_picture_free(source);
    cf_picture_free(got);
    cf_picture_free(want);
    for (int k = 0; k < CF_MAX_PLANES; k++) {
      free(memory[0][k]);
      free(memory[1][k]);
    }
  }
}

/* ---- What stays the same ---- */

static void update_is_as_open(CfTest *test)
{
  const CfVideo video = hdr_video(CF_FORMAT_P010_10LE, 70, 41, CF_TRANSFER_PQ);
  const CfVideo destination = sdr_video(CF_FORMAT_NV12, 70, 41);
  CfTestPicture *source = cf_picture_new(&video, CF_LAYOUT_ALIGNED), *want;
  CfTestPicture *got = cf_picture_new(&destination, CF_LAYOUT_ALIGNED);
  CfTonemapParams params = defaults();
  CfRig *rig = cf_rig_open_to(test, test->engine, &video, &destination, &params, 1);

  cf_picture_fill(source, CF_PATTERN_PHOTO, CF_ALPHA_OPAQUE, test->seed);
  for (int i = 0; rig && i < 12; i++) {
    params = varied(i);
    params.stream_peak = 500.0 * i;
    want = result_of(test, test->engine, &params, source, &destination, CF_LAYOUT_ALIGNED);
    if (want && cf_rig_update(rig, &params) && cf_rig_run(rig, source, got))
      cf_test_compare_exact(test, got, want);
    cf_picture_free(want);
  }
  cf_rig_close(rig);
  cf_picture_free(source);
  cf_picture_free(got);
}

static void threads_do_not_matter(CfTest *test)
{
  const CfVideo video = hdr_video(CF_FORMAT_I420_10LE, 301, 203, CF_TRANSFER_HLG);
  const CfVideo destination = sdr_video(CF_FORMAT_I420, 301, 203);
  CfTestPicture *source = cf_picture_new(&video, CF_LAYOUT_PADDED);
  CfTestPicture *want = cf_picture_new(&destination, CF_LAYOUT_TIGHT);
  CfTestPicture *got = cf_picture_new(&destination, CF_LAYOUT_UNALIGNED);
  const CfTonemapParams params = varied(2);

  cf_picture_fill(source, CF_PATTERN_PHOTO, CF_ALPHA_OPAQUE, test->seed);
  if (cf_test_filter(test, test->engine, &params, 1, source, want)) {
    for (int threads = 2; threads <= 7; threads += 5) {
      if (cf_test_filter(test, test->engine, &params, threads, source, got))
        cf_test_compare_exact(test, got, want);
    }
  }
  cf_picture_free(source);
  cf_picture_free(want);
  cf_picture_free(got);
}

static const CfTestCase cases[] = {
    {"agrees-in-every-format", agrees_in_every_format, CF_EACH_OTHER_ENGINE},
    {"agrees-in-every-size", agrees_in_every_size, CF_EACH_OTHER_ENGINE},
    {"agrees-on-large-pictures", agrees_on_large_pictures, CF_EACH_OTHER_ENGINE},
    {"agrees-with-any-settings", agrees_with_any_settings, CF_EACH_OTHER_ENGINE},
    {"agrees-at-random", agrees_at_random, CF_EACH_OTHER_ENGINE},
    {"excess-bits-do-no-harm", excess_bits_do_no_harm, CF_EACH_ENGINE},
    {"odd-bytes-are-no-matter", odd_bytes_are_no_matter, CF_EACH_ENGINE},
    {"update-is-as-open", update_is_as_open, CF_EACH_ENGINE},
    {"threads-do-not-matter", threads_do_not_matter, CF_EACH_OTHER_ENGINE},
    {0},
};

int main(int argc, char **argv)
{
  static const CfTestSuite suite = {&cf_tonemap, cases};

  return cf_test_main(&suite, argc, argv);
}
