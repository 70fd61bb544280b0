/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The block average is exact: every engine returns the same bytes as the oracle below.
 */
#include "blockavg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "naive_fill.h"

/* ---- The oracle: one value per block, from summed-area tables ---- */

typedef struct {
  const CfTestPicture *source;
  const CfFormatInfo *format;
  int plane, width, height, channels, alpha;
  const CfBlockavgParams *params;
  uint64_t *sums;     /* per channel, (width + 1) x (height + 1) sums */
  uint64_t *weighted; /* per channel, the sums of channel times alpha */
} Oracle;

static uint64_t *table_entry(const Oracle *oracle, uint64_t *table, int x, int y, int channel)
{
  return table + ((size_t)y * (size_t)(oracle->width + 1) + (size_t)x) * (size_t)oracle->channels +
         channel;
}

static uint64_t box(const Oracle *oracle, uint64_t *table, const int x[2], const int y[2],
                    int channel)
{
  return *table_entry(oracle, table, x[1], y[1], channel) -
         *table_entry(oracle, table, x[0], y[1], channel) -
         *table_entry(oracle, table, x[1], y[0], channel) +
         *table_entry(oracle, table, x[0], y[0], channel);
}

static void build_tables(Oracle *oracle)
{
  const size_t entries =
      (size_t)(oracle->width + 1) * (size_t)(oracle->height + 1) * (size_t)oracle->channels;

  oracle->sums = calloc(entries, sizeof *oracle->sums);
  oracle->weighted = calloc(entries, sizeof *oracle->weighted);
  if (!oracle->sums || !oracle->weighted)
    exit(EXIT_FAILURE);
  for (int y = 0; y < oracle->height; y++) {
    for (int channel = 0; channel < oracle->channels; channel++) {
      uint64_t sum = 0, weighted = 0;

      for (int x = 0; x < oracle->width; x++) {
        const int code = cf_picture_get(oracle->source, oracle->plane, x, y, channel);
        sum += (uint64_t)code;
        if (oracle->alpha >= 0)
          weighted += (uint64_t)code *
                      (uint64_t)cf_picture_get(oracle->source, oracle->plane, x, y, oracle->alpha);
        *table_entry(oracle, oracle->sums, x + 1, y + 1, channel) =
            sum + *table_entry(oracle, oracle->sums, x + 1, y, channel);
        *table_entry(oracle, oracle->weighted, x + 1, y + 1, channel) =
            weighted + *table_entry(oracle, oracle->weighted, x + 1, y, channel);
      }
    }
  }
}

/* a / b rounded half up: the largest r with 2 r - 1 <= 2 a / b. Computed differently from the
 * engines. */
static int divide_half_up(uint64_t a, uint64_t b)
{
  const uint64_t quotient = a / b, rest = a % b;

  return (int)(quotient + (rest >= b - rest));
}

static int mean(const Oracle *oracle, const int x[2], const int y[2], int channel)
{
  const CfRole role = oracle->format->plane[oracle->plane].role[channel];
  const uint64_t count = (uint64_t)(x[1] - x[0]) * (uint64_t)(y[1] - y[0]);

  if (oracle->alpha < 0 || channel == oracle->alpha)
    return divide_half_up(box(oracle, oracle->sums, x, y, channel), count);

  const uint64_t weight = box(oracle, oracle->sums, x, y, oracle->alpha);
  if (weight == 0)
    return role == CF_ROLE_CHROMA_BLUE || role == CF_ROLE_CHROMA_RED ? 128 : 0;
  return divide_half_up(box(oracle, oracle->weighted, x, y, channel), weight);
}

static int extreme(const Oracle *oracle, const int x[2], const int y[2], int channel)
{
  int least = cf_max_code(oracle->format), most = 0;

  for (int j = y[0]; j < y[1]; j++) {
    for (int i = x[0]; i < x[1]; i++) {
      const int code = cf_picture_get(oracle->source, oracle->plane, i, j, channel);
      least = code < least ? code : least;
      most = code > most ? code : most;
    }
  }
  return oracle->params->mode == CF_BLOCKAVG_MIN ? least : most;
}

/* The first sample of the block that sample `at` belongs to, and the first one after the block. */
static void find_block(int at, int size, int subsampling, int block_size, int edges[2])
{
  const int block = (at << subsampling) / block_size;

  for (edges[0] = at; edges[0] > 0 && ((edges[0] - 1) << subsampling) / block_size == block;)
    edges[0]--;
  for (edges[1] = at + 1; edges[1] < size && (edges[1] << subsampling) / block_size == block;)
    edges[1]++;
}

static void predict_plane(Oracle *oracle, CfTestPicture *want)
{
  const CfPlaneFormat *info = &oracle->format->plane[oracle->plane];
  const CfBlockavgParams *params = oracle->params;
  int x[2], y[2] = {0, 0};

  for (int j = 0; j < oracle->height; j++) {
    if (j > 0 && j < y[1]) { /* as the row above */
      memcpy(want->planes.data[oracle->plane] + j * want->planes.stride[oracle->plane],
             want->planes.data[oracle->plane] + y[0] * want->planes.stride[oracle->plane],
             cf_row_bytes(&want->video, oracle->plane));
      continue;
    }
    find_block(j, oracle->height, info->subsampling_y, params->block_height, y);
    for (int i = 0; i < oracle->width; i++) {
      if (i == 0 || i >= x[1])
        find_block(i, oracle->width, info->subsampling_x, params->block_width, x);
      for (int channel = 0; channel < oracle->channels; channel++) {
        const int code =
            i > x[0] ? cf_picture_get(want, oracle->plane, i - 1, j, channel)
            : params->mode == CF_BLOCKAVG_FILL
                ? naive_fill_code(&want->video, params->fill_color, info->role[channel])
            : params->mode == CF_BLOCKAVG_AVERAGE ? mean(oracle, x, y, channel)
                                                  : extreme(oracle, x, y, channel);
        cf_picture_set(want, oracle->plane, i, j, channel, code);
      }
    }
  }
}

/* The result that every engine must return, bit for bit. */
static CfTestPicture *predict(const CfTestPicture *source, const CfBlockavgParams *params)
{
  CfTestPicture *want = cf_picture_copy(source, CF_LAYOUT_TIGHT);
  const CfFormatInfo *format = cf_format_info(source->video.format);

  if (params->block_width == 1 && params->block_height == 1 && params->mode != CF_BLOCKAVG_FILL)
    return want;
  for (int plane = 0; plane < format->planes; plane++) {
    Oracle oracle = {.source = source,
                     .format = format,
                     .plane = plane,
                     .width = cf_plane_width(&source->video, plane),
                     .height = cf_plane_height(&source->video, plane),
                     .channels = format->plane[plane].channels,
                     .alpha = cf_alpha_channel(&format->plane[plane]),
                     .params = params};
    build_tables(&oracle);
    predict_plane(&oracle, want);
    free(oracle.sums);
    free(oracle.weighted);
  }
  return want;
}

/* ---- Helpers ---- */

static CfTestPicture *new_source(CfTest *test, CfFormat format, int width, int height,
                                 CfPattern pattern, CfAlphaFill alpha)
{
  const CfVideo video = cf_video(format, width, height);
  const CfLayout layout = (CfLayout)cf_random_below(&test->random, CF_LAYOUT_COUNT);
  CfTestPicture *source = cf_picture_new(&video, layout);

  cf_picture_fill(source, pattern, alpha, cf_random(&test->random));
  return source;
}

/* Runs the engine into another picture and in place, and compares both results. */
static void expect_exact(CfTest *test, CfRig *rig, const CfTestPicture *source,
                         const CfBlockavgParams *params)
{
  const CfLayout layout = (CfLayout)cf_random_below(&test->random, CF_LAYOUT_COUNT);
  CfTestPicture *want = predict(source, params), *got = cf_picture_new(&source->video, layout);

  cf_test_context(test, "%s %dx%d, blocks %dx%d, mode %d, layouts %d and %d",
                  cf_format_info(source->video.format)->name, source->video.width,
                  source->video.height, params->block_width, params->block_height, params->mode,
                  source->layout, layout);
  if (cf_rig_run(rig, source, got))
    cf_test_compare_exact(test, got, want);
  cf_picture_free(got);

  got = cf_picture_copy(source, layout);
  if (cf_rig_run(rig, NULL, got))
    cf_test_compare_exact(test, got, want);
  cf_picture_free(got);
  cf_picture_free(want);
}

static void check(CfTest *test, const CfTestPicture *source, CfBlockavgParams params, int threads)
{
  CfRig *rig = cf_rig_open(test, test->engine, &source->video, &params, threads);

  if (rig)
    expect_exact(test, rig, source, &params);
  cf_rig_close(rig);
}

/* ---- Cases ---- */

static void every_size_to_130(CfTest *test)
{
  static const CfSize pictures[] = {{137, 23}, {23, 137}};

  for (int p = 0; p < 2; p++) {
    CfTestPicture *source = new_source(test, test->format, pictures[p].width, pictures[p].height,
                                       CF_PATTERN_NOISE, CF_ALPHA_RANDOM);
    CfBlockavgParams params = {1, 1, CF_BLOCKAVG_AVERAGE, 0, 0, 0};
    CfRig *rig = cf_rig_open(test, test->engine, &source->video, &params, 1);

    for (int size = 1; rig && size <= 130; size++) {
      params.block_width = p ? size * 37 % 24 + 1 : size;
      params.block_height = p ? size : size * 37 % 24 + 1;
      if (!cf_rig_update(rig, &params))
        break;
      expect_exact(test, rig, source, &params);
    }
    cf_rig_close(rig);
    cf_picture_free(source);
  }
}

static void every_picture_and_mode(CfTest *test)
{
  static const CfSize blocks[] = {{1, 1}, {1, 2}, {2, 1}, {3, 3}, {8, 5}, {16, 16}, {200, 300}};

  for (const CfSize *size = cf_test_sizes; size->width; size++) {
    for (int pattern = 0; pattern < CF_PATTERN_COUNT; pattern++) {
      CfTestPicture *source =
          new_source(test, test->format, size->width, size->height, (CfPattern)pattern,
                     (CfAlphaFill)(pattern % CF_ALPHA_COUNT));
      for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++)
        check(
            test, source,
            (CfBlockavgParams){blocks[i].width, blocks[i].height, (int)(i + pattern) % 3, 0, 0, 0},
            1);
      cf_picture_free(source);
    }
  }
}

/* Opaque, transparent and mixed blocks side by side: engines may treat runs of blocks that are all
 * opaque or all transparent specially. */
static void weigh_colours(CfTest *test, CfFormat format)
{
  CfTestPicture *source = new_source(test, format, 150, 90, CF_PATTERN_NOISE, CF_ALPHA_RANDOM);
  const int alpha = cf_alpha_channel(&cf_format_info(format)->plane[0]);

  for (int y = 0; y < 90; y++) {
    for (int x = 0; x < 150; x++) {
      if (x / 30 != 2)
        cf_picture_set(source, 0, x, y, alpha, (x / 30 + y / 20) % 2 ? 255 : 0);
    }
  }
  for (int size = 2; size <= 64; size += size < 12 ? 1 : 9) {
    check(test, source, (CfBlockavgParams){size, size, CF_BLOCKAVG_AVERAGE, 0, 0, 0}, 1);
    check(test, source, (CfBlockavgParams){size, 100, CF_BLOCKAVG_AVERAGE, 0, 0, 0}, 3);
  }
  for (int weight = 1; weight < 4; weight++) { /* so small that rounding it would be visible */
    cf_picture_set_role(source, CF_ROLE_ALPHA, weight);
    check(test, source, (CfBlockavgParams){5, 7, CF_BLOCKAVG_AVERAGE, 0, 0, 0}, 1);
  }
  cf_picture_free(source);
}

static void alpha_weighs_colours(CfTest *test)
{
  for (int format = 0; format < CF_FORMAT_COUNT; format++) {
    if (cf_format_info((CfFormat)format)->alpha)
      weigh_colours(test, (CfFormat)format);
  }
}

/* Sums of many rows of white must not overflow. */
static void tall_and_wide_blocks(CfTest *test)
{
  static const int sizes[] = {255, 256, 257, 258, 300, 512, 513, 1000, 4096};
  static const CfSize pictures[] = {{3, 1100}, {1100, 3}, {40, 270}};

  for (size_t p = 0; p < sizeof pictures / sizeof pictures[0]; p++) {
    CfTestPicture *source = new_source(test, test->format, pictures[p].width, pictures[p].height,
                                       CF_PATTERN_EXTREMES, CF_ALPHA_OPAQUE);
    for (int white = 0; white < 2; white++) {
      for (int role = 0; white && role < CF_ROLE_COUNT; role++)
        cf_picture_set_role(source, (CfRole)role, cf_max_code(cf_format_info(test->format)));
      for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        check(test, source, (CfBlockavgParams){sizes[i], sizes[i], (int)i % 3, 0, 0, 0}, 2);
        check(test, source, (CfBlockavgParams){sizes[i], sizes[i], CF_BLOCKAVG_AVERAGE, 0, 0, 0},
              1);
      }
    }
    cf_picture_free(source);
  }
}

/* Sets the samples of the largest block, in `rows` rows, to `code`. */
static void set_block(CfTestPicture *picture, int code, int rows)
{
  for (int y = 0; y < rows; y++) {
    for (int x = 0; x < 4096; x++)
      cf_picture_set(picture, 0, x, y, 0, code);
  }
}

/* 2^24 samples: the largest sums, and means exactly at and next to white - 1/2. */
static void largest_block(CfTest *test)
{
  static const CfFormat formats[] = {CF_FORMAT_GRAY8, CF_FORMAT_GRAY16_LE};
  static const CfBlockavgParams params = {4096, 4096, CF_BLOCKAVG_AVERAGE, 0, 0, 0};

  for (size_t f = 0; f < sizeof formats / sizeof formats[0]; f++) {
    const CfVideo video = cf_video(formats[f], 4097, 4098);
    const int white = cf_max_code(cf_format_info(formats[f]));
    CfTestPicture *source = cf_picture_new(&video, CF_LAYOUT_TIGHT);
    CfTestPicture *want = cf_picture_new(&video, CF_LAYOUT_TIGHT);
    CfTestPicture *got = cf_picture_new(&video, CF_LAYOUT_PADDED);

    cf_test_context(test, "%s", cf_format_info(formats[f])->name);
    cf_picture_set_role(source, CF_ROLE_LUMA, white);
    cf_picture_set_role(want, CF_ROLE_LUMA, white);
    if (cf_test_filter(test, test->engine, &params, 1, source, got))
      cf_test_compare_exact(test, got, want);
    set_block(source, white - 1, 2048);
    if (cf_test_filter(test, test->engine, &params, 2, source, got))
      cf_test_compare_exact(test, got, want);
    cf_picture_set(source, 0, 4000, 4000, 0, white - 1);
    set_block(want, white - 1, 4096);
    if (cf_test_filter(test, test->engine, &params, 1, source, got))
      cf_test_compare_exact(test, got, want);
    cf_picture_free(source);
    cf_picture_free(want);
    cf_picture_free(got);
  }
}

static void any_number_of_threads(CfTest *test)
{
  static const int threads[] = {0, 2, 3, 150};
  static const CfSize blocks[] = {{7, 2}, {7, 40}, {150, 150}};

  for (size_t i = 0; i < sizeof threads / sizeof threads[0]; i++) {
    CfTestPicture *source =
        new_source(test, test->format, 101, 99, CF_PATTERN_NOISE, CF_ALPHA_RANDOM);
    for (int mode = 0; mode < 3; mode++) {
      for (size_t b = 0; b < sizeof blocks / sizeof blocks[0]; b++)
        check(test, source, (CfBlockavgParams){blocks[b].width, blocks[b].height, mode, 0, 0, 0},
              threads[i]);
    }
    cf_picture_free(source);
  }
}

/* Large pictures, where rows of blocks are shared out. */
static void threads_share_rows_of_blocks(CfTest *test)
{
  CfTestPicture *source =
      new_source(test, test->format, 500, 400, CF_PATTERN_NOISE, CF_ALPHA_RANDOM);

  for (int mode = 0; mode < 3; mode++) {
    check(test, source, (CfBlockavgParams){37, 150, mode, 0, 0, 0}, 2);
    check(test, source, (CfBlockavgParams){37, 400, mode, 0, 0, 0}, 3);
  }
  cf_picture_free(source);
}

/* Means of two or three samples, computed by hand. */
static void halves_round_up(CfTest *test)
{
  static const struct {
    int count, samples[3], mean;
  } rows[] = {{2, {0, 1}, 1},    {2, {1, 2}, 2},    {2, {254, 255}, 255},      {2, {0, 255}, 128},
              {3, {0, 0, 1}, 0}, {3, {0, 1, 1}, 1}, {3, {255, 255, 254}, 255}, {3, {1, 0, 3}, 1}};

  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const CfVideo video = cf_video(CF_FORMAT_GRAY8, rows[i].count, 1);
    const CfBlockavgParams params = {3, 1, CF_BLOCKAVG_AVERAGE, 0, 0, 0};
    CfTestPicture *picture = cf_picture_new(&video, CF_LAYOUT_PADDED);

    cf_test_context(test, "row %zu", i);
    for (int x = 0; x < rows[i].count; x++)
      cf_picture_set(picture, 0, x, 0, 0, rows[i].samples[x]);
    cf_test_filter(test, test->engine, &params, 1, NULL, picture);
    for (int x = 0; x < rows[i].count; x++)
      CF_EXPECT(test, cf_picture_get(picture, 0, x, 0, 0) == rows[i].mean,
                "sample %d is %d, want %d", x, cf_picture_get(picture, 0, x, 0, 0), rows[i].mean);
    cf_picture_free(picture);
  }
}

/* Bits below the code are ignored in the source, and 0 in the result. */
static void low_bits_are_ignored(CfTest *test)
{
  CfTestPicture *source =
      new_source(test, CF_FORMAT_P010_10LE, 37, 21, CF_PATTERN_NOISE, CF_ALPHA_OPAQUE);
  CfTestPicture *got = cf_picture_new(&source->video, CF_LAYOUT_PADDED);

  for (int mode = 0; mode < 3; mode++) {
    const CfBlockavgParams params = {5, 4, mode, 0, 0, 0};
    CfTestPicture *want = predict(source, &params);

    for (int y = 0; y < 21; y++)
      source->planes.data[0][y * source->planes.stride[0] + 2 * y] ^= 0x2b;
    cf_test_context(test, "mode %d", mode);
    if (cf_test_filter(test, test->engine, &params, 1, source, got))
      cf_test_compare_exact(test, got, want);
    cf_picture_free(want);
  }
  cf_picture_free(got);
  cf_picture_free(source);
}

static void algorithm_is_named(CfTest *test)
{
  const CfVideo video = cf_video(CF_FORMAT_NV12, 64, 48);
  CfBlockavgParams params = {8, 8, CF_BLOCKAVG_MAX, 0, 0, 0};
  CfRig *rig = cf_rig_open(test, test->engine, &video, &params, 1);

  if (rig) {
    CF_EXPECT(test, cf_rig_algorithm(rig) && cf_rig_algorithm(rig)[0], "it has no name");
    params.mode = CF_BLOCKAVG_AVERAGE;
    cf_rig_update(rig, &params);
    CF_EXPECT(test, cf_rig_algorithm(rig) && cf_rig_algorithm(rig)[0], "it has no name");
  }
  cf_rig_close(rig);
}

static void params_are_as_documented(CfTest *test)
{
  static const struct {
    const char *name, *text;
    bool allowed;
  } texts[] = {{"block-width", "1", true},      {"block-width", "4096", true},
               {"block-width", "0", false},     {"block-width", "4097", false},
               {"block-height", "4096", true},  {"block-height", "-1", false},
               {"mode", "average", true},       {"mode", "min", true},
               {"mode", "max", true},           {"mode", "median", false},
               {"anchor", "region", true},      {"anchor", "face", false},
               {"blocks-across", "0", true},    {"blocks-across", "256", true},
               {"blocks-across", "257", false}, {"blocks", "3", false},
               {"blocks-across", "-1", true},   {"blocks-across", "-2", false},
               {"mode", "fill", true},          {"fill-color", "4294967295", true}};
  CfBlockavgParams params;
  CfStatus status;

  cf_params_init(cf_blockavg.params, &params);
  CF_EXPECT(test,
            params.block_width == 32 && params.block_height == 32 &&
                params.mode == CF_BLOCKAVG_AVERAGE && params.anchor == CF_BLOCKAVG_FRAME &&
                params.blocks_across == -1 && params.fill_color == 0xff000000,
            "defaults %d, %d, %d", params.block_width, params.block_height, params.mode);
  CF_EXPECT(test, sizeof params == cf_blockavg.params_size, "size");
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
    CF_EXPECT(test,
              cf_params_parse(cf_blockavg.params, &params, texts[i].name, texts[i].text, &status) ==
                  texts[i].allowed,
              "%s=%s", texts[i].name, texts[i].text);
}

/* The same colour in every engine, whatever the source, in both ranges. */
static void fill_is_one_colour(CfTest *test)
{
  static const uint32_t colours[] = {0xff000000, 0xffffffff, 0xff00ff00, 0x80c01020, 0x00ff7f01};

  for (const CfSize *size = cf_test_sizes; size->width; size++) {
    CfTestPicture *source = new_source(test, test->format, size->width, size->height,
                                       CF_PATTERN_NOISE, CF_ALPHA_RANDOM);

    if (size->width % 2 && !cf_format_info(test->format)->rgb) {
      source->video.range = CF_RANGE_FULL;
      source->video.luma_red = 0.2126;
      source->video.luma_blue = 0.0722;
    }
    for (size_t i = 0; i < sizeof colours / sizeof colours[0]; i++)
      check(test, source, (CfBlockavgParams){1 + (int)i, 1, CF_BLOCKAVG_FILL, 0, 0, colours[i]}, 2);
    cf_picture_free(source);
  }
}

/* The values that replace automatic ones, and when they do. */
static void automatic_is_safe(CfTest *test)
{
  const CfParam *table = cf_blockavg.params;
  const uint64_t width = UINT64_C(1) << (cf_params_find(table, "block-width") - table);
  const uint64_t height = UINT64_C(1) << (cf_params_find(table, "block-height") - table);
  const struct {
    int across;
    uint64_t set;
    bool masks;
    int want;
  } rows[] = {{-1, 0, true, 5},
              {-1, 0, false, 0},
              {-1, width, true, 0},
              {-1, height, true, 0},
              {-1, ~(width | height), true, 5},
              {0, 0, true, 0},
              {9, 0, true, 9},
              {9, width, false, 9}};

  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    CfBlockavgParams params;

    cf_params_init(table, &params);
    params.blocks_across = rows[i].across;
    cf_blockavg.settle(&params, rows[i].set, rows[i].masks);
    CF_EXPECT(test, params.blocks_across == rows[i].want, "row %zu: %d", i, params.blocks_across);
  }
}

static void identity_is_known(CfTest *test)
{
  CF_EXPECT(test, cf_blockavg.is_identity(&(CfBlockavgParams){1, 1, CF_BLOCKAVG_AVERAGE, 0, 0, 0}),
            "1x1");
  CF_EXPECT(test, !cf_blockavg.is_identity(&(CfBlockavgParams){1, 2, CF_BLOCKAVG_AVERAGE, 0, 0, 0}),
            "1x2");
  CF_EXPECT(test, !cf_blockavg.is_identity(&(CfBlockavgParams){2, 1, CF_BLOCKAVG_MAX, 0, 0, 0}),
            "2x1");
  CF_EXPECT(test, !cf_blockavg.is_identity(&(CfBlockavgParams){1, 1, CF_BLOCKAVG_MAX, 0, 9, 0}),
            "9");
  CF_EXPECT(test, !cf_blockavg.is_identity(&(CfBlockavgParams){1, 1, CF_BLOCKAVG_FILL, 0, 0, 0}),
            "fill");
}

static const CfTestCase cases[] = {
    {"every-size-to-130", every_size_to_130, CF_EACH_ENGINE | CF_EACH_FORMAT},
    {"every-picture-and-mode", every_picture_and_mode, CF_EACH_ENGINE | CF_EACH_FORMAT},
    {"alpha-weighs-colours", alpha_weighs_colours, CF_EACH_ENGINE},
    {"tall-and-wide-blocks", tall_and_wide_blocks, CF_EACH_ENGINE | CF_EACH_FORMAT},
    {"any-number-of-threads", any_number_of_threads, CF_EACH_OTHER_ENGINE | CF_EACH_FORMAT},
    {"threads-share-rows-of-blocks", threads_share_rows_of_blocks,
     CF_EACH_OTHER_ENGINE | CF_EACH_FORMAT},
    {"largest-block", largest_block, CF_EACH_ENGINE},
    {"halves-round-up", halves_round_up, CF_EACH_ENGINE},
    {"low-bits-are-ignored", low_bits_are_ignored, CF_EACH_ENGINE},
    {"algorithm-is-named", algorithm_is_named, CF_EACH_ENGINE},
    {"params-are-as-documented", params_are_as_documented, CF_ONCE},
    {"fill-is-one-colour", fill_is_one_colour, CF_EACH_ENGINE | CF_EACH_FORMAT},
    {"automatic-is-safe", automatic_is_safe, CF_ONCE},
    {"identity-is-known", identity_is_known, CF_ONCE},
    {0},
};
static const CfTestSuite suite = {&cf_blockavg, cases};

int main(int argc, char **argv)
{
  return cf_test_main(&suite, argc, argv);
}
