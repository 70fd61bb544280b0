/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * In place, regions write only what they cover, nothing else, not even the value that is already
 * there. Every row of a picture is cut into two granules of memory, and granules without a covered
 * sample are read-only. Regions begin and end exactly where granules meet.
 *
 * A forbidden write kills the process: each line of TAP is a process of its own, forked before any
 * device is opened.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "blockavg.h"
#include "filter.h"
#include "plan/coverage_frame.h"
#include "granules.h"
#include "memory.h"
#include "random.h"

#define HEIGHT  22
#define SKIPPED 77

/* The message of a child, in memory shared with its parent. */
static char *message;

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...)
{
  va_list arguments;

  va_start(arguments, format);
  vsnprintf(message, 300, format, arguments);
  va_end(arguments);
}

/* ---- Cases ---- */

typedef struct {
  int border; /* luma column where the granules of a row meet; even */
  int block_width, block_height, anchor, across;
  int shape;
  double feather;
  bool outside;
} Case;

/* A width of 608 keeps rows at multiples of 16 bytes in every format. */
static const Case cases[] = {
    {608, 32, 8, CF_BLOCKAVG_FRAME, 0, CF_REGION_RECTANGLE, 0.0, false},
    {608, 37, 5, CF_BLOCKAVG_FRAME, 0, CF_REGION_RECTANGLE, 0.0, false},
    {602, 37, 5, CF_BLOCKAVG_FRAME, 0, CF_REGION_RECTANGLE, 0.0, false},
    {608, 7, 9, CF_BLOCKAVG_REGION, 0, CF_REGION_RECTANGLE, 0.0, false},
    {602, 7, 9, CF_BLOCKAVG_REGION, 3, CF_REGION_RECTANGLE, 0.0, false},
    {602, 400, 30, CF_BLOCKAVG_FRAME, 0, CF_REGION_RECTANGLE, 0.0, false},
    {602, 9, 4, CF_BLOCKAVG_FRAME, 0, CF_REGION_ELLIPSE, 0.0, false},
    {608, 9, 4, CF_BLOCKAVG_REGION, 0, CF_REGION_ELLIPSE, 1.5, false},
    {602, 16, 16, CF_BLOCKAVG_FRAME, 0, CF_REGION_RECTANGLE, 1.5, false},
    {602, 16, 16, CF_BLOCKAVG_FRAME, 0, CF_REGION_RECTANGLE, 0.0, true},
};

#define N(array) (sizeof(array) / sizeof(array)[0])

/* Regions on both sides of the border, two of which overlap; the last one covers one granule of its
 * rows, for tests of the outside. */
static int regions_of(const Case *one, CfRegion list[4])
{
  list[0] = (CfRegion){one->border - 150, 3, 150, 4};
  list[1] = (CfRegion){one->border - 80, 5, 80, 4};
  list[2] = (CfRegion){one->border, 13, 77, 4};
  list[3] = (CfRegion){-5, 12, one->border + 5, 6};
  return one->outside ? 4 : 3;
}

/* ---- Pictures of granules ---- */

typedef struct {
  CfVideo video;
  CfPicture planes;
  uint8_t *memory[CF_MAX_PLANES];
  const CfGranules *granules;
  size_t granule;
} Granular;

static size_t row_before_border(const Granular *picture, const Case *one, int plane)
{
  const CfVideo left = cf_video(picture->video.format, one->border, HEIGHT);

  return cf_row_bytes(&left, plane);
}

static bool map_picture(Granular *picture)
{
  picture->video = cf_video(picture->video.format, 2, HEIGHT);
  for (int p = 0; p < cf_format_info(picture->video.format)->planes; p++) {
    const size_t stride = 2 * picture->granule;

    picture->planes.stride[p] = (ptrdiff_t)stride;
    picture->memory[p] =
        picture->granules->map(stride * (size_t)cf_plane_height(&picture->video, p));
    if (!picture->memory[p])
      return false;
  }
  return true;
}

/* Lays the picture out in writable granules, with the border where the case has it. */
static bool lay_out(Granular *picture, const Case *one)
{
  picture->video.width = one->border + 100;
  for (int p = 0; p < cf_format_info(picture->video.format)->planes; p++) {
    picture->planes.data[p] =
        picture->memory[p] + picture->granule - row_before_border(picture, one, p);
    if (!picture->granules->protect(
            picture->memory[p],
            (size_t)picture->planes.stride[p] * (size_t)cf_plane_height(&picture->video, p), false))
      return false;
  }
  return true;
}

typedef bool (*CopyRow)(uint8_t *to, const uint8_t *from, size_t bytes);

static bool copy_in_host(uint8_t *to, const uint8_t *from, size_t bytes)
{
  memcpy(to, from, bytes);
  return true;
}

static bool fill_with_noise(const Granular *picture, CopyRow upload)
{
  const CfFormatInfo *format = cf_format_info(picture->video.format);
  CfRandom random = {7};
  uint8_t row[8192];

  for (int p = 0; p < format->planes; p++) {
    for (int y = 0; y < cf_plane_height(&picture->video, p); y++) {
      for (size_t i = 0; i < sizeof row; i++)
        row[i] = (uint8_t)cf_random(&random);
      if (!upload(picture->planes.data[p] + y * picture->planes.stride[p], row,
                  cf_row_bytes(&picture->video, p)))
        return false;
    }
  }
  return true;
}

static bool covers(const CfCoverage *frame, int plane, int y, int x0, int x1)
{
  uint16_t coverage[CF_COVERAGE_SAMPLES];

  if (!cf_coverage_row(frame, plane, y, x0, x1 - x0, coverage, NULL))
    return false;
  for (int i = 0; i < x1 - x0; i++) {
    if (coverage[i] > 0)
      return true;
  }
  return false;
}

/* Returns the number of read-only granules, -1 on failure. */
static int protect(const Granular *picture, const Case *one, const CfCoverage *frame)
{
  const CfFormatInfo *format = cf_format_info(picture->video.format);
  int count = 0;

  for (int p = 0; p < format->planes; p++) {
    const int width = cf_plane_width(&picture->video, p);
    const int edges[] = {0, one->border >> format->plane[p].subsampling_x, width};

    for (int y = 0; y < cf_plane_height(&picture->video, p); y++) {
      uint8_t *granule = picture->memory[p] + y * picture->planes.stride[p];

      for (int side = 0; side < 2; side++) {
        if (covers(frame, p, y, edges[side], edges[side + 1]))
          continue;
        if (!picture->granules->protect(granule + (size_t)side * picture->granule, picture->granule,
                                        true))
          return -1;
        count++;
      }
    }
  }
  return count;
}

/* ---- In the child ---- */

static bool run_case(const CfEngine *engine, const CfMemory *memory, Granular *picture,
                     const Case *one)
{
  const CfBlockavgParams params = {one->block_width, one->block_height, CF_BLOCKAVG_AVERAGE,
                                   one->anchor,      one->across,       0};
  const CfOpenOptions options = {.threads = 2, .device = memory ? memory->device() : NULL};
  CfRegion list[4];
  const CfRegions regions = {.region = list,
                             .count = regions_of(one, list),
                             .shape = one->shape,
                             .feather = one->feather,
                             .outside = one->outside};
  CfStatus status = {CF_OK, "a transfer failed"};

  say("case %zd: memory", one - cases);
  if (!lay_out(picture, one) || !fill_with_noise(picture, memory ? memory->upload : copy_in_host))
    return false;

  CfCoverage frame = {0};
  const int protected = cf_coverage_set(&frame, &picture->video, &regions, &status)
                            ? protect(picture, one, &frame)
                            : -1;
  cf_coverage_clear(&frame);
  if (protected <= 0)
    return false;

  const CfJob job = {.source = picture->planes,
                     .destination = picture->planes,
                     .stream = memory ? memory->stream() : NULL,
                     .regions = &regions};
  CfFilter *filter = cf_filter_open(engine, &picture->video, &params, &options, &status);
  say("case %zd: wrote to one of %d granules that no region covers", one - cases, protected);
  bool good = filter && cf_filter_run(filter, &job, &status);
  good = (!memory || memory->synchronize()) && good;
  cf_filter_close(filter);
  return good;
}

static int run_child(const CfEngine *engine, CfFormat format)
{
  Granular picture = {.video = {.format = format}, .granules = &cf_host_granules};
  const CfMemory *memory = NULL;
  CfStatus status = {CF_OK, ""};

  if (engine->device_memory) {
    memory = cf_device_memory(&status);
    if (!memory) {
      say("%s", status.message);
      return SKIPPED;
    }
    picture.granules = &cf_cuda_granules;
  }
  picture.granule = picture.granules->size();
  if (picture.granule == 0) {
    say("no memory can be made read-only");
    return SKIPPED;
  }
  say("no memory");
  if (!map_picture(&picture))
    return EXIT_FAILURE;
  for (size_t i = 0; i < N(cases); i++) {
    if (!run_case(engine, memory, &picture, &cases[i]))
      return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}

/* Writes to a read-only granule, which must kill the process: otherwise the other lines mean
 * nothing. */
static int run_trespasser(const CfEngine *engine, CfFormat format)
{
  const CfMemory *memory = engine->device_memory ? cf_device_memory(NULL) : NULL;
  const CfGranules *granules = memory ? &cf_cuda_granules : &cf_host_granules;
  static const uint8_t bytes[16];
  uint8_t *granule;

  (void)format;
  if ((engine->device_memory && !memory) || granules->size() == 0)
    return SKIPPED;
  granule = granules->map(granules->size());
  if (!granule || !(memory ? memory->upload : copy_in_host)(granule, bytes, sizeof bytes) ||
      !granules->protect(granule, granules->size(), true)) {
    say("no read-only memory");
    return EXIT_SUCCESS;
  }
  say("a write to read-only memory went unnoticed");
  if (memory ? memory->copy(granule + 8, 8, granule, 8, 8, 1) && memory->synchronize()
             : copy_in_host(granule + 8, granule, 8))
    return EXIT_SUCCESS;
  return EXIT_FAILURE;
}

/* ---- In the parent ---- */

static int number, failed;

/* Runs `work` for an engine and a format in a process of its own; returns its wait status. */
static int run_apart(int (*work)(const CfEngine *engine, CfFormat format), const CfEngine *engine,
                     CfFormat format)
{
  int status = -1;

  message[0] = '\0';
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0)
    _exit(work(engine, format));
  if (child < 0 || waitpid(child, &status, 0) != child) {
    say("no process");
    return -1;
  }
  return status;
}

static void report(const char *name, bool good, bool skipped)
{
  number++;
  failed += !good && !skipped;
  if (!good && !skipped)
    printf("# %s\n", message);
  printf("%sok %d - %s", good || skipped ? "" : "not ", number, name);
  if (skipped)
    printf(" # SKIP %s", message[0] ? message : "no device");
  puts("");
}

static bool is_exit(int status, int code)
{
  return WIFEXITED(status) && WEXITSTATUS(status) == code;
}

static bool is_wanted(char **filters, const char *name)
{
  for (char **filter = filters; *filter; filter++) {
    if (strstr(name, *filter))
      return true;
  }
  return !*filters;
}

static void run_engine(const CfEngine *engine, char **filters)
{
  char name[100];

  snprintf(name, sizeof name, "%s/writes-are-noticed", engine->name);
  if (is_wanted(filters, name)) {
    const int status = run_apart(run_trespasser, engine, CF_FORMAT_GRAY8);
    report(name, !is_exit(status, EXIT_SUCCESS), is_exit(status, SKIPPED));
  }
  for (CfFormat format = 0; format < CF_FORMAT_COUNT; format++) {
    snprintf(name, sizeof name, "%s/writes-only-what-it-covers/%s", engine->name,
             cf_format_info(format)->name);
    if (is_wanted(filters, name)) {
      const int status = run_apart(run_child, engine, format);
      report(name, is_exit(status, EXIT_SUCCESS), is_exit(status, SKIPPED));
    }
  }
}

/* Arguments: parts of names; any one suffices. */
int main(int argc, char **argv)
{
  (void)argc;
  message = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (message == MAP_FAILED)
    return EXIT_FAILURE;
  for (const CfEngine *const *row = cf_blockavg.engines; *row; row++) {
    if ((*row)->in_place)
      run_engine(*row, argv + 1);
  }
  printf("1..%d\n", number);
  return failed > 0;
}
