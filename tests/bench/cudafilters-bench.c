/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The benchmark's command line: what to measure, and how the result is printed.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure.h"

#define MAX_SIZE 32768

/* What the command line asks for. */
typedef struct {
  const CfEffect *effect;
  const char *element, *backend;
  void *params;
  CfVideo video, destination; /* destination: of effects that make other pictures */
  CfAlphaFill alpha;
  int threads, runs;
  bool json;
} Request;

static const char *const elements[] = {"cudallf", "cudagaussblur", "cudablockavg", "cudasepconv",
                                       "cudatonemap"};
#define ELEMENT_COUNT ((int)(sizeof elements / sizeof elements[0]))

/* An element is called as its effect, with "cuda" before. */
static const CfEffect *effect_of(const char *element)
{
  for (int i = 0; i < ELEMENT_COUNT; i++) {
    if (strcmp(element, elements[i]) == 0)
      return cf_effect(element + strlen("cuda"));
  }
  return NULL;
}

/* ---- Help ---- */

static void print_choices(const CfParam *param)
{
  for (const CfChoice *choice = param->choices; choice->nick; choice++)
    printf("%s%s", choice == param->choices ? " " : "|", choice->nick);
}

static void print_param(const CfParam *param)
{
  printf("    %-17s", param->name);
  switch (param->type) {
  case CF_PARAM_DOUBLE:
  case CF_PARAM_INT:
    printf(" %g..%g", param->minimum, param->maximum);
    break;
  case CF_PARAM_BOOL:
    printf(" true|false");
    break;
  case CF_PARAM_ENUM:
    print_choices(param);
    break;
  case CF_PARAM_FLAGS:
    print_choices(param);
    printf(" joined by +");
    break;
  case CF_PARAM_COLOR:
    printf(" 0xAARRGGBB");
    break;
  case CF_PARAM_KERNEL:
    printf(" numbers such as <1,4,6,4,1>");
    break;
  }
  printf("\n");
}

static void print_help(void)
{
  printf("Times one filter of gst-cuda-filters beside a copy of the same frames.\n\n"
         "  cudafilters-bench --element NAME --backend B --format F --size WxH [OPTION]...\n\n"
         "  --element NAME        one of those below\n"
         "  --backend B           reference, cpu or cuda\n"
         "  --format F            a video format as in caps, such as NV12 or RGBA\n"
         "  --output-format F     what cudatonemap makes of it (default NV12)\n"
         "  --size WxH            frame size in pixels, such as 1920x1080\n"
         "  --property NAME=VALUE a property of the element; may be given again\n"
         "  --threads N           CPU threads, 0 = all (default 0)\n"
         "  --runs N              measured runs, 0 = as many as 2 seconds take (default 0)\n"
         "  --alpha A             of the frames: opaque, random, transparent (default opaque)\n"
         "  --json                print one JSON object instead of a sentence\n"
         "  --help                print this\n\n"
         "Formats:");
  for (int i = 0; i < CF_FORMAT_COUNT; i++)
    printf(" %s", cf_format_info((CfFormat)i)->name);
  printf("\n\nElements and their properties:\n");
  for (int i = 0; i < ELEMENT_COUNT; i++) {
    printf("  %s\n", elements[i]);
    for (const CfParam *param = effect_of(elements[i])->params; param->name; param++)
      print_param(param);
  }
}

/* ---- Command line ---- */

static bool parse_whole(const char *text, int maximum, int *number)
{
  char *end;
  long value;

  errno = 0;
  value = strtol(text, &end, 10);
  if (errno || end == text || *end || value < 0 || value > maximum)
    return false;
  *number = (int)value;
  return true;
}

static bool parse_size(const char *text, int *width, int *height, CfStatus *status)
{
  char copy[32], *cross;

  snprintf(copy, sizeof copy, "%s", text);
  cross = strchr(copy, 'x');
  if (cross) {
    *cross = '\0';
    if (parse_whole(copy, MAX_SIZE, width) && parse_whole(cross + 1, MAX_SIZE, height) &&
        *width > 0 && *height > 0)
      return true;
  }
  return cf_fail(status, CF_ERROR_INVALID,
                 "--size is \"%s\"; it must be like 1920x1080, each from 1 to %d", text, MAX_SIZE);
}

static bool parse_element(Request *request, const char *name, CfStatus *status)
{
  request->effect = effect_of(name);
  request->element = name;
  if (!request->effect)
    return cf_fail(status, CF_ERROR_INVALID,
                   "there is no element \"%s\"; there are cudallf, cudagaussblur, cudablockavg, "
                   "cudasepconv and cudatonemap",
                   name);
  request->params = calloc(1, request->effect->params_size);
  if (!request->params)
    return cf_fail(status, CF_ERROR_NO_MEMORY, "no memory for the properties");
  cf_params_init(request->effect->params, request->params);
  return true;
}

static bool parse_property(Request *request, const char *text, CfStatus *status)
{
  const char *equals = strchr(text, '=');
  char name[64];

  if (!equals || equals == text || (size_t)(equals - text) >= sizeof name)
    return cf_fail(status, CF_ERROR_INVALID, "--property is \"%s\"; it must be like sigma=2.5",
                   text);
  snprintf(name, sizeof name, "%.*s", (int)(equals - text), text);
  if (!cf_params_find(request->effect->params, name))
    return cf_fail(status, CF_ERROR_INVALID, "%s has no property \"%s\"; --help lists them",
                   request->element, name);
  return cf_params_parse(request->effect->params, request->params, name, equals + 1, status);
}

static bool parse_alpha(const char *text, CfAlphaFill *alpha, CfStatus *status)
{
  for (int i = 0; i < CF_ALPHA_COUNT; i++) {
    if (strcmp(text, cf_alpha_fill_name((CfAlphaFill)i)) == 0) {
      *alpha = (CfAlphaFill)i;
      return true;
    }
  }
  return cf_fail(status, CF_ERROR_INVALID,
                 "--alpha is \"%s\"; it must be opaque, random or transparent", text);
}

/* The options as text, before anything depends on anything else. */
typedef struct {
  const char *element, *backend, *format, *output_format, *size, *alpha, *threads, *runs;
  const char **properties; /* of argc entries */
  int property_count;
  bool json, help;
} Options;

static bool read_options(Options *options, int argc, char **argv, CfStatus *status)
{
  enum {
    ELEMENT = 1,
    BACKEND,
    FORMAT,
    OUTPUT_FORMAT,
    SIZE,
    PROPERTY,
    THREADS,
    RUNS,
    ALPHA,
    JSON,
    HELP
  };
  static const struct option table[] = {{"element", required_argument, NULL, ELEMENT},
                                        {"backend", required_argument, NULL, BACKEND},
                                        {"format", required_argument, NULL, FORMAT},
                                        {"output-format", required_argument, NULL, OUTPUT_FORMAT},
                                        {"size", required_argument, NULL, SIZE},
                                        {"property", required_argument, NULL, PROPERTY},
                                        {"threads", required_argument, NULL, THREADS},
                                        {"runs", required_argument, NULL, RUNS},
                                        {"alpha", required_argument, NULL, ALPHA},
                                        {"json", no_argument, NULL, JSON},
                                        {"help", no_argument, NULL, HELP},
                                        {NULL, 0, NULL, 0}};
  const char **const texts[] = {
      [ELEMENT] = &options->element, [BACKEND] = &options->backend,
      [FORMAT] = &options->format,   [SIZE] = &options->size,
      [THREADS] = &options->threads, [RUNS] = &options->runs,
      [ALPHA] = &options->alpha,     [OUTPUT_FORMAT] = &options->output_format};
  int option;

  opterr = 0;
  while ((option = getopt_long(argc, argv, "", table, NULL)) != -1) {
    if (option == '?')
      return cf_fail(status, CF_ERROR_INVALID, "%s is no option or lacks its value; see --help",
                     argv[optind - 1]);
    if (option == JSON)
      options->json = true;
    else if (option == HELP)
      options->help = true;
    else if (option == PROPERTY)
      options->properties[options->property_count++] = optarg;
    else
      *texts[option] = optarg;
  }
  if (optind < argc)
    return cf_fail(status, CF_ERROR_INVALID, "\"%s\" is not an option; see --help", argv[optind]);
  if (!options->help &&
      (!options->element || !options->backend || !options->format || !options->size))
    return cf_fail(status, CF_ERROR_INVALID,
                   "--element, --backend, --format and --size are needed; see --help");
  return true;
}

/* Of effects that make other pictures, which take HDR: PQ here. */
static bool parse_output(const Options *options, Request *request, CfStatus *status)
{
  CfFormat format = CF_FORMAT_NV12;

  if (!request->effect->check_destination)
    return !options->output_format ||
           cf_fail(status, CF_ERROR_INVALID, "--output-format is for cudatonemap only");
  if (options->output_format && !cf_format_from_name(options->output_format, &format))
    return cf_fail(status, CF_ERROR_INVALID, "there is no format \"%s\"; --help lists them",
                   options->output_format);
  request->destination = cf_video(format, request->video.width, request->video.height);
  request->video.transfer = CF_TRANSFER_PQ;
  return request->effect->check_destination(&request->video, &request->destination, status);
}

static bool understand(const Options *options, Request *request, CfStatus *status)
{
  CfFormat format;
  int width, height;

  if (!parse_element(request, options->element, status))
    return false;
  for (int i = 0; i < options->property_count; i++) {
    if (!parse_property(request, options->properties[i], status))
      return false;
  }
  if (!cf_format_from_name(options->format, &format))
    return cf_fail(status, CF_ERROR_INVALID, "there is no format \"%s\"; --help lists them",
                   options->format);
  if (!parse_size(options->size, &width, &height, status))
    return false;
  if (options->alpha && !parse_alpha(options->alpha, &request->alpha, status))
    return false;
  if (options->threads && !parse_whole(options->threads, 1024, &request->threads))
    return cf_fail(status, CF_ERROR_INVALID, "--threads is \"%s\"; it must be 0 to 1024",
                   options->threads);
  if (options->runs && !parse_whole(options->runs, 1000000, &request->runs))
    return cf_fail(status, CF_ERROR_INVALID, "--runs is \"%s\"; it must be 0 to 1000000",
                   options->runs);
  request->backend = options->backend;
  request->video = cf_video(format, width, height);
  request->json = options->json;
  return parse_output(options, request, status) &&
         cf_effect_check(request->effect, &request->video, request->params, status);
}

static const CfEngine *find_engine(const Request *request, CfStatus *status)
{
  const CfEngine *engine = cf_effect_engine(request->effect, request->backend);
  char built[64] = "";

  if (!engine) {
    for (const CfEngine *const *row = request->effect->engines; *row; row++)
      snprintf(built + strlen(built), sizeof built - strlen(built), " %s", (*row)->name);
    cf_fail(status, CF_ERROR_INVALID, "backend \"%s\" is not in this build, which has:%s",
            request->backend, built);
    return NULL;
  }
  if (engine->device_memory && request->runs > CF_BENCH_MAX_DEVICE_RUNS) {
    cf_fail(status, CF_ERROR_INVALID, "--runs is %d; backend %s allows up to %d", request->runs,
            engine->name, CF_BENCH_MAX_DEVICE_RUNS);
    return NULL;
  }
  return engine;
}

/* ---- Result ---- */

static void print_times(const Request *request, int threads, const CfTimes *times)
{
  const char *format = cf_format_info(request->video.format)->name;
  const double ratio = times->median_ms / times->copy_ms;

  if (request->json)
    printf("{\"element\": \"%s\", \"backend\": \"%s\", \"algorithm\": \"%s\", \"format\": \"%s\", "
           "\"width\": %d, \"height\": %d, \"threads\": %d, \"runs\": %d, \"median_ms\": %.6g, "
           "\"min_ms\": %.6g, \"copy_ms\": %.6g, \"ratio\": %.4g}\n",
           request->element, request->backend, times->algorithm, format, request->video.width,
           request->video.height, threads, times->runs, times->median_ms, times->min_ms,
           times->copy_ms, ratio);
  else
    printf("%s %s (%s) %s %dx%d, %d thread%s: median %.4g ms, min %.4g ms; copy %.4g ms, ratio "
           "%.3g; %d runs\n",
           request->element, request->backend, times->algorithm, format, request->video.width,
           request->video.height, threads, threads == 1 ? "" : "s", times->median_ms, times->min_ms,
           times->copy_ms, ratio, times->runs);
}

/* Threads that the engine works on; 1 feeds a device, and the reference. */
static int threads_used(const Request *request)
{
  if (strcmp(request->backend, "cpu") != 0)
    return 1;
  return request->threads ? request->threads : (int)sysconf(_SC_NPROCESSORS_ONLN);
}

static bool measure(const Request *request, CfStatus *status)
{
  const CfEngine *engine = find_engine(request, status);
  const CfWork work = {.engine = engine,
                       .video = &request->video,
                       .destination =
                           request->effect->check_destination ? &request->destination : NULL,
                       .params = request->params,
                       .alpha = request->alpha,
                       .threads = request->threads,
                       .runs = request->runs};
  CfTimes times;

  if (!engine || !cf_measure(&work, &times, status))
    return false;
  print_times(request, threads_used(request), &times);
  return true;
}

int main(int argc, char **argv)
{
  const char **properties = calloc((size_t)argc, sizeof *properties);
  Options options = {.properties = properties};
  Request request = {.alpha = CF_ALPHA_OPAQUE};
  CfStatus status = {CF_OK, ""};
  bool good = properties && read_options(&options, argc, argv, &status);

  if (good && options.help)
    print_help();
  else
    good = good && understand(&options, &request, &status) && measure(&request, &status);
  if (!good)
    fprintf(stderr, "cudafilters-bench: %s\n", status.message);
  free(request.params);
  free(properties);
  return good ? EXIT_SUCCESS : status.code == CF_ERROR_INVALID ? 2 : EXIT_FAILURE;
}
