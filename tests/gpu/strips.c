/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Strips on the device give the bytes that whole pictures give: every engine that knows bands, in
 * every format, with little memory. Prints TAP.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/common/host_transfer.h"
#include "harness.h"

typedef struct {
  const char *effect, *settings; /* NAME=VALUE, space-separated */
} Work;

static const Work works[] = {
    {"sepconv", "preset=gaussian preset-size=9"},
    {"sepconv", "preset=box preset-size=255"},
    {"sepconv", "row-kernel=<1,-2,3> column-kernel=<1,2,3,4,-3,2> anchor-y=0 bias=0.25"},
    {"sepconv", "preset=binomial preset-size=33 border=reflect"},
    {"sepconv", "preset=box preset-size=7 border=wrap"},
    {"gaussblur", "sigma=2"},
    {"gaussblur", "sigma=9.7 sigma-vertical=3"},
    {"gaussblur", "sigma=40"},
    {"gaussblur", "sigma=-2"},
};

/* Every format meets every so many of them. */
#define TURN 3

#define N(array) (sizeof(array) / sizeof(array)[0])

static bool set_params(const CfEffect *effect, const char *settings, void *params, CfStatus *status)
{
  char text[256];

  cf_params_init(effect->params, params);
  snprintf(text, sizeof text, "%s", settings);
  for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
    char *value = strchr(word, '=');

    *value++ = '\0';
    if (!cf_params_parse(effect->params, params, word, value, status))
      return false;
  }
  return true;
}

typedef struct {
  const CfEngine *engine;
  void *state;
} Filter;

static bool run_filter(void *context, const CfJob *job, CfStatus *status)
{
  const Filter *filter = context;

  return filter->engine->run(filter->state, job, status);
}

/* The strip's height that the plan chose, or 0 on failure. Sends the picture twice, so that the
 * second finds the slots used. */
static int convey(Filter *filter, const CfTestPicture *source, CfTestPicture *result, int halo,
                  size_t limit, CfStatus *status)
{
  const CfMemory *memory = cf_device_memory(status);
  CfHostTransfer *transfer = cf_host_transfer_open(memory->device(), status);
  CfStrips strips = {.rows = 0};
  bool good = transfer && cf_strips_plan(&strips, &source->video, NULL, halo, limit, status) &&
              cf_host_transfer_set(transfer, &strips, status);

  for (int i = 0; good && i < 2; i++) {
    unsigned ticket;

    good = cf_host_transfer_send(transfer, &source->planes, &result->planes, run_filter, filter,
                                 memory->stream(), &ticket, status) &&
           cf_host_transfer_wait(transfer, ticket, status);
  }
  cf_host_transfer_close(transfer);
  return good ? strips.rows : 0;
}

static void check(CfTest *test, const CfVideo *video, const Work *work)
{
  const CfEffect *effect = cf_effect(work->effect);
  const CfEngine *engine = cf_effect_engine(effect, "cuda");
  CfStatus status = {CF_OK, ""};
  const CfMemory *memory = cf_device_memory(&status);
  CfTestPicture *source = cf_picture_new(video, CF_LAYOUT_ALIGNED);
  CfTestPicture *whole = cf_picture_new(video, CF_LAYOUT_ALIGNED);
  CfTestPicture *strips = cf_picture_new(video, CF_LAYOUT_ALIGNED);
  void *params = malloc(effect->params_size);
  const CfOpenOptions options = {.device = memory->device()};
  Filter filter = {.engine = engine};

  cf_picture_fill(source, CF_PATTERN_NOISE, CF_ALPHA_RANDOM, 7);
  if (CF_EXPECT(test, set_params(effect, work->settings, params, &status), "%s", status.message))
    filter.state = engine->open(video, params, &options, &status);
  if (CF_EXPECT(test, filter.state, "%s", status.message)) {
    const int halo = engine->halo(filter.state);
    CfStrips least;
    size_t limit = 0;

    CF_EXPECT(test, convey(&filter, source, whole, -1, 0, &status), "%s", status.message);
    for (int rows = 16; halo >= 0 && rows <= 64; rows *= 4) {
      int made;

      /* What strips of about so many rows take. */
      cf_strips_plan(&least, video, NULL, -1, 0, &status);
      limit = 4 * (least.result_bytes / (size_t)video->height) * (size_t)(rows + 2 * halo + 4);
      made = convey(&filter, source, strips, halo, limit, &status);
      CF_EXPECT(test, made, "limit %zu: %s", limit, status.message);
      cf_test_context(test, "%s %s, halo %d, strips of %d rows", work->effect, work->settings, halo,
                      made);
      cf_test_compare_exact(test, strips, whole);
    }
    engine->close(filter.state);
  }
  free(params);
  cf_picture_free(source);
  cf_picture_free(whole);
  cf_picture_free(strips);
}

static void strips_equal_whole_pictures(CfTest *test)
{
  const CfVideo video = cf_video(test->format, 333, 401 + 2 * (int)test->format);
  CfStatus status = {CF_OK, ""};

  if (!cf_device_memory(&status)) {
    cf_test_skip(test, "%s", status.message);
    return;
  }
  for (size_t w = (size_t)test->format % TURN; w < N(works); w += TURN)
    check(test, &video, &works[w]);
}

int main(int argc, char **argv)
{
  static const CfTestCase cases[] = {
      {"strips-equal-whole-pictures", strips_equal_whole_pictures, CF_EACH_FORMAT},
      {NULL, NULL, 0}};
  static const CfTestSuite suite = {NULL, cases};

  return cf_test_main(&suite, argc, argv);
}
