/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * CUDA engines refuse a stream that is being captured into a graph, say so in the error, and filter
 * as before once the capture has ended. Skipped without a GPU.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "harness.h"

/* From the driver's API, which is loaded only where there is a GPU. */
#define CAPTURE_MODE_RELAXED 2

typedef int (*BeginCapture)(void *stream, int mode);
typedef int (*EndCapture)(void *stream, void **graph);
typedef int (*DestroyGraph)(void *graph);

typedef struct {
  BeginCapture begin;
  EndCapture end;
  DestroyGraph destroy;
} Driver;

static bool load_driver(Driver *driver)
{
  void *const library = dlopen("libcuda.so.1", RTLD_NOW);

  if (!library)
    return false;
  driver->begin = (BeginCapture)dlsym(library, "cuStreamBeginCapture_v2");
  driver->end = (EndCapture)dlsym(library, "cuStreamEndCapture");
  driver->destroy = (DestroyGraph)dlsym(library, "cuGraphDestroy");
  return driver->begin && driver->end && driver->destroy;
}

static void run_captured(CfTest *test, const Driver *driver, const CfEngine *engine, void *state,
                         const CfJob *job)
{
  CfStatus status = {CF_OK, ""};
  void *graph = NULL;

  if (!CF_EXPECT(test, driver->begin(job->stream, CAPTURE_MODE_RELAXED) == 0, "no capture begins"))
    return;
  CF_EXPECT(test, !engine->run(state, job, &status), "captured");
  CF_EXPECT(test, strstr(status.message, "captured"), "the error is: %s", status.message);
  CF_EXPECT(test, driver->end(job->stream, &graph) == 0, "the refusal broke the capture");
  if (graph)
    driver->destroy(graph);

  status = (CfStatus){CF_OK, ""};
  CF_EXPECT(test, engine->run(state, job, &status), "afterwards: %s", status.message);
  CF_EXPECT(test, cf_stream_synchronize(job->stream, &status), "afterwards: %s", status.message);
}

static void refuse(CfTest *test, const char *name)
{
  const CfEffect *const effect = cf_effect(name);
  const CfEngine *const engine = cf_effect_engine(effect, "cuda");
  const CfVideo video = {.width = 64, .height = 48, .format = CF_FORMAT_RGBA};
  CfStatus status = {CF_OK, ""};
  const CfMemory *const memory = cf_device_memory(&status);
  CfOpenOptions options = {0};
  CfMirror source, result;
  CfTestPicture *picture;
  Driver driver;

  if (!engine || !memory || !load_driver(&driver)) {
    cf_test_skip(test, "%s", memory ? "no CUDA engine or driver" : status.message);
    return;
  }
  options.device = memory->device();
  picture = cf_picture_new(&video, CF_LAYOUT_ALIGNED);
  cf_picture_fill(picture, CF_PATTERN_NOISE, CF_ALPHA_RANDOM, test->seed);
  const bool mirrored =
      cf_mirror_init(&source, memory, picture) & cf_mirror_init(&result, memory, picture);
  void *const params = malloc(effect->params_size);
  cf_params_init(effect->params, params);
  void *const stream = cf_stream_create(&status);
  void *const state = engine->open(&video, params, &options, &status);
  if (CF_EXPECT(test, mirrored && stream && state, "%s", status.message) &&
      CF_EXPECT(test, cf_mirror_upload(&source, picture), "no upload")) {
    const CfJob job = {.source = source.planes, .destination = result.planes, .stream = stream};

    run_captured(test, &driver, engine, state, &job);
  }
  if (state)
    engine->close(state);
  cf_stream_destroy(stream);
  free(params);
  cf_mirror_free(&source);
  cf_mirror_free(&result);
  cf_picture_free(picture);
}

static void llf(CfTest *test)
{
  refuse(test, "llf");
}

static void gaussblur(CfTest *test)
{
  refuse(test, "gaussblur");
}

static void sepconv(CfTest *test)
{
  refuse(test, "sepconv");
}

static void blockavg(CfTest *test)
{
  refuse(test, "blockavg");
}

static const CfTestCase cases[] = {
    {"llf", llf, CF_ONCE},
    {"gaussblur", gaussblur, CF_ONCE},
    {"sepconv", sepconv, CF_ONCE},
    {"blockavg", blockavg, CF_ONCE},
    {0},
};

static const CfTestSuite suite = {NULL, cases};

int main(int argc, char **argv)
{
  return cf_test_main(&suite, argc, argv);
}
