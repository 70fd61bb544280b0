/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Tone mapping: the engines against the reference, and what every engine has to keep.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/tonemap_plan.h"
#include "tonemap_cases.h"

/* What `engine` makes of `source`, in a new picture; NULL on failure. */
static CfTestPicture *result_of(CfTest *test, const CfEngine *engine, const CfTonemapParams *params,
                                const CfTestPicture *source, const CfVideo *destination,
                                CfLayout layout)
{
  CfTestPicture *result = cf_picture_new(destination, layout);

  if (cf_test_filter(test, engine, params, 2, source, result))
    return result;
  cf_picture_free(result);
  return NULL;
}

/* ---- Engines against the reference ---- */

/* Number `i` of a walk through what users may set. */
static CfTonemapParams varied(int i)
{
  CfTonemapParams params = defaults();
  const double details[] = {1.0, 0.0, 1.6, 0.5, 2.0}, contrasts[] = {1.0, 0.7, 1.3};
  const double sigmas[] = {2.0, 0.25, 8.0, 1.0}, floors[] = {0.1, 0.0, 1.0};
  const double peaks[] = {0.0, 100.0, 4000.0}, targets[] = {100.0, 203.0};
  const double saturations[] = {1.0, 0.0, 2.0, 0.8};

  params.detail = details[i % 5];
  params.contrast = contrasts[i % 3];
  params.sigma = sigmas[i % 4];
  params.noise_floor = floors[i / 2 % 3];
  params.peak = peaks[i / 3 % 3];
  params.target_nits = targets[i / 4 % 2];
  params.saturation = saturations[i / 5 % 4];
  params.dither = i % 2 == 0;
  return params;
}

/* Samples of luma that are more than a code apart. */
static long far_apart(const CfTestPicture *got, const CfTestPicture *want)
{
  long count = 0;

  for (int y = 0; y < got->video.height; y++)
    for (int x = 0; x < got->video.width; x++)
      count += abs(cf_picture_get(got, 0, x, y, 0) - cf_picture_get(want, 0, x, y, 0)) > 1;
  return count;
}

/* Within a code. Of 10 bits it is two 8-bit codes at most where a colour lies at an end of what
 * BT.709 can show: there the power 1 / 2.4 is infinitely steep, and shows a rounding of the plane.
 */
static void judge(CfTest *test, const CfTestPicture *got, const CfTestPicture *want)
{
  const bool fine = cf_format_info(got->video.format)->bits > 8;
  const long pixels = (long)got->video.width * got->video.height;

  cf_test_compare(test, got, want, fine ? 8.0 : 1.0);
  if (fine)
    CF_EXPECT(test, far_apart(got, want) <= pixels / 1000, "%ld of %ld pixels are apart",
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
    judge(test, got, want);
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

/* Anything that may be set, in any format and size. */
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
    compare(test, &params, &video, destinations[cf_random_below(&test->random, DESTINATIONS)],
            (CfLayout)cf_random_below(&test->random, CF_LAYOUT_COUNT),
            (CfPattern)cf_random_below(&test->random, CF_PATTERN_COUNT));
  }
}

/* ---- Bytes and bits ---- */

/* Samples of 10 bits whose upper bits are not 0, as broken decoders have them: what becomes of such
 * a frame is not defined, but the next one is as ever. */
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

/* The planes of a picture at odd addresses, an odd number of bytes between rows, bottom up. */
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

/* ---- Identities ---- */

static void set_chroma(CfTestPicture *picture, int code)
{
  cf_picture_set_role(picture, CF_ROLE_CHROMA_BLUE, code);
  cf_picture_set_role(picture, CF_ROLE_CHROMA_RED, code);
}

static void grey_stays_grey(CfTest *test)
{
  for (int i = 0; i < 2 * SOURCES; i++) {
    const CfTransfer transfer = i % 2 ? CF_TRANSFER_PQ : CF_TRANSFER_HLG;
    const CfVideo video = hdr_video(sources[i / 2], 61, 47, transfer);
    const CfVideo rgba = sdr_video(CF_FORMAT_RGBA, 61, 47),
                  nv12 = sdr_video(CF_FORMAT_NV12, 61, 47);
    CfTestPicture *source = cf_picture_new(&video, CF_LAYOUT_PADDED), *rgb, *yuv;
    const CfTonemapParams params = varied(i);

    cf_picture_fill(source, CF_PATTERN_NOISE, CF_ALPHA_OPAQUE, test->seed);
    set_chroma(source, (int)cf_chroma_centre(&video));
    rgb = result_of(test, test->engine, &params, source, &rgba, CF_LAYOUT_ALIGNED);
    yuv = result_of(test, test->engine, &params, source, &nv12, CF_LAYOUT_ALIGNED);
    for (int y = 0; rgb && y < 47; y++)
      for (int x = 0; x < 61; x++)
        for (int c = 1; c < 3; c++)
          CF_EXPECT(test, cf_picture_get(rgb, 0, x, y, c) == cf_picture_get(rgb, 0, x, y, 0),
                    "%d,%d has colour", x, y);
    for (int y = 0; yuv && y < 24; y++)
      for (int x = 0; x < 31; x++)
        for (int c = 0; c < 2; c++)
          CF_EXPECT(test, cf_picture_get(yuv, 1, x, y, c) == 128, "%d,%d has colour", x, y);
    cf_picture_free(source);
    cf_picture_free(rgb);
    cf_picture_free(yuv);
  }
}

static void flat_frames_are_monotone(CfTest *test)
{
  const CfVideo video = hdr_video(CF_FORMAT_P010_10LE, 16, 16, CF_TRANSFER_PQ);
  const CfVideo destination = sdr_video(CF_FORMAT_P010_10LE, 16, 16);
  CfTestPicture *source = cf_picture_new(&video, CF_LAYOUT_ALIGNED);
  CfTestPicture *got = cf_picture_new(&destination, CF_LAYOUT_ALIGNED);

  for (int i = 0; i < 4; i++) {
    CfTonemapParams params = varied(i);
    CfRig *rig;
    int last = 0;

    params.dither = false;
    rig = cf_rig_open_to(test, test->engine, &video, &destination, &params, 1);
    set_chroma(source, 512);
    for (int code = 0; rig && code < 1024; code += 3) {
      cf_picture_set_role(source, CF_ROLE_LUMA, code);
      if (!cf_rig_run(rig, source, got))
        break;
      CF_EXPECT(test, cf_picture_get(got, 0, 7, 5, 0) >= last, "%d: %d after %d", code,
                cf_picture_get(got, 0, 7, 5, 0), last);
      last = cf_picture_get(got, 0, 7, 5, 0);
    }
    cf_rig_close(rig);
  }
  cf_picture_free(source);
  cf_picture_free(got);
}

/* The signal of PQ for light in nits: ITU-R BT.2100. */
static double pq_of(double nits)
{
  const double power = pow(fmax(nits, 0.0) / 10000.0, 2610.0 / 16384.0);

  return pow((3424.0 / 4096.0 + 2413.0 / 128.0 * power) / (1.0 + 2392.0 / 128.0 * power),
             2523.0 / 32.0);
}

/* Sets a pixel of Y444_16LE, limited range, to linear light of BT.2020 in nits. */
static void set_light(CfTestPicture *picture, int x, int y, const double light[3])
{
  const double red = pq_of(light[0]), green = pq_of(light[1]), blue = pq_of(light[2]);
  const double luma = 0.2627 * red + 0.6780 * green + 0.0593 * blue;

  cf_picture_set(picture, 0, x, y, 0, (int)floor(256.0 * (16.0 + 219.0 * luma) + 0.5));
  cf_picture_set(picture, 1, x, y, 0,
                 (int)floor(256.0 * (128.0 + 224.0 * (blue - luma) / 1.8814) + 0.5));
  cf_picture_set(picture, 2, x, y, 0,
                 (int)floor(256.0 * (128.0 + 224.0 * (red - luma) / 1.4746) + 0.5));
}

/* An SDR picture that was graded as HDR, with white at 203 nits. BT.2020 of BT.709: BT.2087. */
static void sdr_comes_back(CfTest *test)
{
  static const double matrix[3][3] = {{0.627403896, 0.329283038, 0.043313066},
                                      {0.069097289, 0.919540395, 0.011362316},
                                      {0.016391439, 0.088013308, 0.895595253}};
  const CfVideo video = hdr_video(CF_FORMAT_Y444_16LE, 96, 64, CF_TRANSFER_PQ);
  const CfVideo destination = sdr_video(CF_FORMAT_RGBA, 96, 64);
  CfTestPicture *source = cf_picture_new(&video, CF_LAYOUT_ALIGNED), *got;
  CfTestPicture *want = cf_picture_new(&destination, CF_LAYOUT_ALIGNED);
  CfTonemapParams params = defaults();

  params.peak = 203.0;
  params.dither = false;
  cf_picture_fill(want, CF_PATTERN_PHOTO, CF_ALPHA_OPAQUE, test->seed);
  for (int y = 0; y < 64; y++) {
    for (int x = 0; x < 96; x++) {
      double light[3] = {0.0, 0.0, 0.0};

      for (int from = 0; from < 3; from++)
        for (int to = 0; to < 3; to++)
          light[to] +=
              203.0 * matrix[to][from] * pow(cf_picture_get(want, 0, x, y, from) / 255.0, 2.4);
      set_light(source, x, y, light);
    }
  }
  got = result_of(test, test->engine, &params, source, &destination, CF_LAYOUT_ALIGNED);
  if (got)
    cf_test_compare(test, got, want, 1.0);
  cf_picture_free(source);
  cf_picture_free(want);
  cf_picture_free(got);
}

/* 10 nits and 1000 side by side: no code next to the edge is beyond those far from it. */
static void edges_have_no_halo(CfTest *test)
{
  const double peaks[] = {1000.0, 4000.0};
  const int width = 256, height = 128;
  const CfVideo video = hdr_video(CF_FORMAT_Y444_16LE, width, height, CF_TRANSFER_PQ);
  const CfVideo destination = sdr_video(CF_FORMAT_RGBA, width, height);
  CfTestPicture *source = cf_picture_new(&video, CF_LAYOUT_ALIGNED), *got;

  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) {
      const double nits = x < width / 2 ? 10.0 : 1000.0;

      set_light(source, x, y, (const double[3]){nits, nits, nits});
    }
  for (int i = 0; i < 2; i++) {
    CfTonemapParams params = defaults();
    int darkest = 255, brightest = 0;

    params.stream_peak = peaks[i];
    params.dither = false;
    got = result_of(test, test->engine, &params, source, &destination, CF_LAYOUT_ALIGNED);
    for (int x = 0; got && x < width; x++) {
      const int code = cf_picture_get(got, 0, x, height / 2, 0);

      darkest = code < darkest ? code : darkest;
      brightest = code > brightest ? code : brightest;
    }
    if (got) {
      CF_EXPECT(test,
                cf_picture_get(got, 0, 0, height / 2, 0) - darkest < 2 &&
                    brightest - cf_picture_get(got, 0, width - 1, height / 2, 0) < 2,
                "peak %g: %d to %d, far from the edge %d and %d", peaks[i], darkest, brightest,
                cf_picture_get(got, 0, 0, height / 2, 0),
                cf_picture_get(got, 0, width - 1, height / 2, 0));
    }
    cf_picture_free(got);
  }
  cf_picture_free(source);
}

/* ---- The measured peak ---- */

/* Grey from black to `brightest`, a code of luma, more of it dark where `bend` is large. */
static void fill_greys(CfTestPicture *picture, int brightest, double bend)
{
  const int width = picture->video.width, height = picture->video.height;

  set_chroma(picture, (int)cf_chroma_centre(&picture->video));
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++)
      cf_picture_set(
          picture, 0, x, y, 0,
          64 + (int)((brightest - 64) * pow((x + width * y + 1.0) / (width * height), bend)));
}

/* Stops, in steps of 1/1024 of the plane, that one pixel in 10000 is brighter than; and how many
 * of them are in each 32nd. */
static double measure(const CfTestPicture *picture, double share[32])
{
  const int width = picture->video.width, height = picture->video.height;
  int bins[1024] = {0}, brighter = 0, bin = 1023;

  for (int i = 0; i < 32; i++)
    share[i] = 0.0;
  for (int y = 0; y < height; y++) {
    for (int x = 0; x < width; x++) {
      const double nits = cf_pq_eotf((cf_picture_get(picture, 0, x, y, 0) - 64) / 876.0);
      const int code = (int)(65535.0 * log2(1.0 + nits / 0.1) / log2(1.0 + 1e5) + 0.5);

      bins[code / 64]++;
      share[code / 2048] += 1.0 / (width * height);
    }
  }
  while (bin > 0 && (brighter += bins[bin]) <= width * height / 10000)
    bin--;
  return fmax((bin + 1) * log2(1.0 + 1e5) / 1024.0, log2(1.0 + 2030.0));
}

/* A measured peak gives what the same peak gives where it is set. */
static void peak_is_followed(CfTest *test)
{
  static const struct {
    int brightest;
    double bend, seconds;
    bool fresh, cut;
  } frames[] = {
      {700, 1.0, 0.04, false, true}, {800, 1.1, 0.04, false, false}, {800, 1.1, 0.5, false, false},
      {700, 1.0, 1.0, false, false}, {700, 1.0, 0.0, false, false},  {120, 1.0, 0.04, false, true},
      {600, 0.5, 9.0, false, true},  {940, 1.0, 0.04, true, true},
  };
  const CfVideo video = hdr_video(CF_FORMAT_Y444_10LE, 160, 90, CF_TRANSFER_PQ);
  const CfVideo destination = sdr_video(CF_FORMAT_RGBA, 160, 90);
  CfTestPicture *source = cf_picture_new(&video, CF_LAYOUT_ALIGNED);
  CfTestPicture *got = cf_picture_new(&destination, CF_LAYOUT_ALIGNED), *want;
  CfTonemapParams params = defaults(), set = defaults();
  CfRig *rig;
  double peak = 0.0, before[32] = {0.0}, share[32];

  params.dynamic = true;
  rig = cf_rig_open_to(test, test->engine, &video, &destination, &params, 2);
  for (size_t i = 0; rig && i < sizeof frames / sizeof frames[0]; i++) {
    double measured, changed = 0.0;

    fill_greys(source, frames[i].brightest, frames[i].bend);
    measured = measure(source, share);
    for (int k = 0; k < 32; k++) {
      changed += 0.5 * fabs(share[k] - before[k]);
      before[k] = share[k];
    }
    CF_EXPECT(test, i == 0 || frames[i].fresh || (changed > 0.4) == frames[i].cut,
              "frame %zu changes by %g", i, changed);
    if (frames[i].cut)
      peak = measured;
    else
      peak += (1.0 - exp(-frames[i].seconds / (measured > peak ? 0.25 : 1.5))) * (measured - peak);
    set.peak = fmin(0.1 * (exp2(peak) - 1.0), 10000.0);
    cf_test_context(test, "frame %zu: %g of %g stops, %g nits", i, peak, measured, set.peak);
    cf_rig_set_pace(rig, frames[i].seconds, frames[i].fresh);
    want = result_of(test, test->engine, &set, source, &destination, CF_LAYOUT_ALIGNED);
    if (want && cf_rig_run(rig, source, got))
      cf_test_compare(test, got, want, 1.0);
    cf_picture_free(want);
  }
  cf_rig_close(rig);
  cf_picture_free(source);
  cf_picture_free(got);
}

static const CfTestCase cases[] = {
    {"agrees-in-every-format", agrees_in_every_format, CF_EACH_OTHER_ENGINE},
    {"agrees-in-every-size", agrees_in_every_size, CF_EACH_OTHER_ENGINE},
    {"agrees-with-any-settings", agrees_with_any_settings, CF_EACH_OTHER_ENGINE},
    {"agrees-at-random", agrees_at_random, CF_EACH_OTHER_ENGINE},
    {"excess-bits-do-no-harm", excess_bits_do_no_harm, CF_EACH_ENGINE},
    {"odd-bytes-are-no-matter", odd_bytes_are_no_matter, CF_EACH_ENGINE},
    {"update-is-as-open", update_is_as_open, CF_EACH_ENGINE},
    {"threads-do-not-matter", threads_do_not_matter, CF_EACH_OTHER_ENGINE},
    {"grey-stays-grey", grey_stays_grey, CF_EACH_ENGINE},
    {"flat-frames-are-monotone", flat_frames_are_monotone, CF_EACH_ENGINE},
    {"sdr-comes-back", sdr_comes_back, CF_EACH_ENGINE},
    {"peak-is-followed", peak_is_followed, CF_EACH_ENGINE},
    {"edges-have-no-halo", edges_have_no_halo, CF_EACH_ENGINE},
    {0},
};

int main(int argc, char **argv)
{
  static const CfTestSuite suite = {&cf_tonemap, cases};

  return cf_test_main(&suite, argc, argv);
}
