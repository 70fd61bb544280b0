/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The strips of plan/strips.h, and the host transfer on a fake device. Prints TAP.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

#include "cuda/common/host_transfer.h"
#include "fake_device.h"

#define N(array) (sizeof(array) / sizeof(array)[0])

static int failures;

static bool expect(bool good, const char *format, ...)
{
  va_list arguments;

  if (good || failures++ > 5)
    return good;
  printf("# ");
  va_start(arguments, format);
  vprintf(format, arguments);
  va_end(arguments);
  printf("\n");
  return false;
}

/* Formats that are subsampled along both axes, along rows only, and not at all. */
static const CfFormat formats[] = {CF_FORMAT_GRAY8, CF_FORMAT_RGBA, CF_FORMAT_NV12, CF_FORMAT_Y42B,
                                   CF_FORMAT_I420_10LE};
static const int heights[] = {1, 2, 3, 8, 17, 64, 101, 360, 2161};
static const int halos[] = {-1, 0, 1, 2, 7, 40, 127, 3000};

/* ---- The plan ---- */

static void check_strips(const CfStrips *strips, int halo)
{
  const int height = strips->video.height;
  int made = 0, arrived = 0;
  CfStrip before = {.held = {0, 0}};

  for (int i = 0; i < strips->count; i++) {
    const CfStrip strip = cf_strips_strip(strips, i);
    const int first = strip.made.first - halo < 0 ? 0 : strip.made.first - halo;
    const int end = strip.made.first + strip.made.rows;
    const int needed = end + halo > height ? height : end + halo;

    expect(strip.made.first == made && strip.made.rows > 0, "strip %d starts at %d, not %d", i,
           strip.made.first, made);
    expect(strip.arriving.first == arrived, "strip %d: row %d arrives, not %d", i,
           strip.arriving.first, arrived);
    expect(strip.made.first % 2 == 0 && strip.held.first % 2 == 0 && strip.arriving.rows >= 0,
           "strip %d starts at an odd row", i);
    expect(strip.held.first <= first && strip.held.first + strip.held.rows >= needed,
           "strip %d lacks rows of its halo %d", i, halo);
    expect(strip.held.rows <= strips->source_rows && strip.made.rows <= strips->rows,
           "strip %d does not fit its slot", i);
    expect(strip.carried.first == strip.held.first &&
               strip.carried.rows + strip.arriving.rows == strip.held.rows,
           "strip %d: rows are neither carried nor arriving", i);
    expect(i == 0 ? strip.carried.rows == 0
                  : strip.carried.first >= before.held.first &&
                        strip.arriving.first <= before.held.first + before.held.rows,
           "strip %d carries rows that the one before has not", i);
    made = end;
    arrived = strip.arriving.first + strip.arriving.rows;
    before = strip;
  }
  expect(made == height && arrived == height, "%d of %d rows are made, %d arrive", made, height,
         arrived);
}

/* Plans keep to the limit, whatever the results are, and pictures are cut where they may be. */
static void plan_keeps_to_limit(CfFormat result)
{
  for (size_t f = 0; f < N(formats); f++) {
    for (size_t i = 0; i < N(heights) * N(halos); i++) {
      const CfVideo video = cf_video(formats[f], 333, heights[i / N(halos)]);
      const CfVideo made = cf_video(result, video.width, video.height);
      const int halo = halos[i % N(halos)];
      const size_t frame = cf_strips_lay_out(&video, video.height, NULL, NULL);

      for (size_t part = 0; part <= 64; part = part ? 2 * part : 1) {
        const size_t limit = part ? 6 * frame / part : 0;
        CfStatus status = {CF_OK, ""};
        CfStrips strips;

        if (cf_strips_plan(&strips, &video, &made, halo, limit, &status)) {
          expect(!limit || cf_strips_bytes(&strips) <= limit, "%zu of %zu bytes",
                 cf_strips_bytes(&strips), limit);
          expect(halo >= 0 || strips.count == 1, "whole pictures are cut");
          check_strips(&strips, halo < 0 ? 0 : halo);
        } else {
          expect(limit > 0 && status.code == CF_ERROR_NO_MEMORY && strstr(status.message, "max-"),
                 "no plan: %s", status.message);
        }
      }
    }
  }
}

static void plan_is_complete(void)
{
  plan_keeps_to_limit(CF_FORMAT_GRAY8);
  plan_keeps_to_limit(CF_FORMAT_RGBA);
}

static void plan_is_sensible(void)
{
  const CfVideo uhd = cf_video(CF_FORMAT_RGBA, 3840, 2160);
  const CfVideo huge = cf_video(CF_FORMAT_RGBA, 32768, 32768);
  const CfVideo small = cf_video(CF_FORMAT_NV12, 1280, 720);
  const size_t limit = (size_t)256 << 20;
  CfStrips strips;

  cf_strips_plan(&strips, &uhd, NULL, 4, 0, NULL);
  expect(strips.count == 4 && strips.slots == 3, "4K RGBA: %d strips", strips.count);
  cf_strips_plan(&strips, &small, NULL, 4, 0, NULL);
  expect(strips.count == 1, "720p NV12: %d strips", strips.count);
  cf_strips_plan(&strips, &uhd, NULL, 2000, 0, NULL);
  expect(strips.count == 1, "a halo of the picture's size: %d strips", strips.count);
  for (int halo = 0; halo < 128; halo++) {
    expect(cf_strips_plan(&strips, &huge, NULL, halo, limit, NULL) &&
               cf_strips_bytes(&strips) <= limit && strips.rows >= halo,
           "32768x32768 with halo %d: strips of %d rows", halo, strips.rows);
  }
  expect(!cf_strips_plan(&strips, &huge, NULL, -1, limit, NULL), "8 GiB fit into 256 MiB");
}

/* ---- The host transfer ---- */

/* A filter for the tests: the mean of the rows within the halo, in each plane. */
typedef struct {
  const CfVideo *video;
  int halo;
  CfJob job;
} Work;

static void filter_now(void *opaque)
{
  Work *work = opaque;
  const CfVideo *video = work->video;
  const CfRows all = {0, video->height};
  const CfRows made = work->job.rows ? (CfRows){work->job.first_row, work->job.rows} : all;

  for (int plane = 0; plane < cf_format_info(video->format)->planes; plane++) {
    const CfRows rows = cf_strips_plane_rows(video, plane, made);
    const int height = cf_plane_height(video, plane);
    const int halo = work->halo >> cf_format_info(video->format)->plane[plane].subsampling_y;

    for (int y = rows.first; y < rows.first + rows.rows; y++) {
      for (size_t x = 0; x < cf_row_bytes(video, plane); x++) {
        unsigned sum = 0;

        for (int dy = -halo; dy <= halo; dy++) {
          const int row = y + dy < 0 ? 0 : y + dy >= height ? height - 1 : y + dy;

          sum += work->job.source.data[plane][row * work->job.source.stride[plane] + (ptrdiff_t)x];
        }
        work->job.destination.data[plane][y * work->job.destination.stride[plane] + (ptrdiff_t)x] =
            (uint8_t)(sum / (unsigned)(2 * halo + 1));
      }
    }
  }
  free(work);
}

static pthread_t sender;

static bool enqueue_filter(void *context, const CfJob *job, CfStatus *status)
{
  const Work *model = context;
  Work *work;

  expect(pthread_equal(pthread_self(), sender), "the filter is called in another thread");
  if (!fake_call(status))
    return false;
  work = malloc(sizeof *work);
  if (!work)
    return cf_fail(status, CF_ERROR_NO_MEMORY, "no memory");
  *work = *model;
  work->job = *job;
  fake_enqueue_run(job->stream, filter_now, work);
  return true;
}

#define PICTURES 5

typedef struct {
  CfVideo video;
  size_t bytes;
  uint8_t *source[PICTURES], *result[PICTURES], *want;
} Stream;

static void make_stream(Stream *stream, const CfVideo *video, CfRandom *random)
{
  stream->video = *video;
  stream->bytes = cf_strips_lay_out(video, video->height, NULL, NULL);
  stream->want = calloc(1, stream->bytes);
  for (int i = 0; i < PICTURES; i++) {
    stream->source[i] = malloc(stream->bytes);
    stream->result[i] = calloc(1, stream->bytes);
    for (size_t b = 0; b < stream->bytes; b++)
      stream->source[i][b] = (uint8_t)cf_random_below(random, 256);
  }
}

static void free_stream(Stream *stream)
{
  free(stream->want);
  for (int i = 0; i < PICTURES; i++) {
    free(stream->source[i]);
    free(stream->result[i]);
  }
}

static void compare(const Stream *stream, int index, int halo, const CfStrips *strips)
{
  Work *work = malloc(sizeof *work);
  int different = 0;

  *work = (Work){.video = &stream->video, .halo = halo};
  cf_strips_lay_out(&stream->video, stream->video.height, stream->source[index], &work->job.source);
  cf_strips_lay_out(&stream->video, stream->video.height, stream->want, &work->job.destination);
  filter_now(work);
  for (size_t b = 0; b < stream->bytes; b++)
    different += stream->result[index][b] != stream->want[b];
  expect(different == 0, "%s %dx%d halo %d, %d strips of %d: %d of %zu bytes of picture %d differ",
         cf_format_info(stream->video.format)->name, stream->video.width, stream->video.height,
         halo, strips->count, strips->rows, different, stream->bytes, index);
}

typedef struct {
  void (*body)(void *context, int first, int end);
  void *context;
  int first, end;
} Part;

static void *run_part(void *opaque)
{
  const Part *part = opaque;

  part->body(part->context, part->first, part->end);
  return NULL;
}

static int staged_items;

/* Runs the items from both ends, by the caller and by other threads, while the device continues
 * with its queue. */
static void run_loop(int threads, int count, int grain, void (*body)(void *, int, int),
                     void *context)
{
  const int start = cf_random_below(&fake_order, 2) * (count - 1);

  staged_items += count;
  for (int i = 0; i < count; i++) {
    const int item = abs(start - i);
    Part part = {body, context, item, item + 1};
    pthread_t thread;

    if (cf_random_below(&fake_order, 2) && pthread_create(&thread, NULL, run_part, &part) == 0)
      pthread_join(thread, NULL);
    else
      run_part(&part);
    while (cf_random_below(&fake_order, 4) && fake_step_any())
      ;
  }
}

/* Sends all pictures, as many in flight as possible; false at the first failure. The cut changes
 * with `halos`, one per picture; every second picture is staged. */
static bool convey(Stream *stream, const int *picture_halos, size_t limit, bool check)
{
  CfStatus status = {CF_OK, ""};
  const CfDevice device = {{cf_stream_create(&status), cf_stream_create(&status)}};
  void *const compute = cf_stream_create(&status);
  CfHostTransfer *transfer = NULL;
  unsigned tickets[PICTURES];
  int sent = 0, done = 0;
  bool good = device.copy_stream[0] && device.copy_stream[1] && compute;
  CfStrips strips[PICTURES];

  sender = pthread_self();
  staged_items = 0;
  if (good)
    good = (transfer = cf_host_transfer_open(&device, &status)) != NULL;
  while (good && done < PICTURES) {
    if (sent < PICTURES && sent - done < CF_HOST_TRANSFER_PICTURES) {
      Work model = {.video = &stream->video, .halo = picture_halos[sent]};
      CfPicture from, to;

      cf_strips_lay_out(&stream->video, stream->video.height, stream->source[sent], &from);
      cf_strips_lay_out(&stream->video, stream->video.height, stream->result[sent], &to);
      cf_host_transfer_stage(transfer, sent % 2 ? run_loop : NULL, 1);
      good = cf_strips_plan(&strips[sent], &stream->video, NULL, picture_halos[sent], limit,
                            &status) &&
             cf_host_transfer_set(transfer, &strips[sent], &status) &&
             cf_host_transfer_send(transfer, &from, &to, enqueue_filter, &model, compute,
                                   &tickets[sent], &status);
      sent++;
    } else {
      good = cf_host_transfer_wait(transfer, tickets[done], &status);
      if (good && check)
        compare(stream, done, picture_halos[done], &strips[done]);
      done++;
    }
  }
  cf_host_transfer_close(transfer);
  cf_stream_destroy(compute);
  for (int i = 0; i < 2; i++)
    cf_stream_destroy(device.copy_stream[i]);
  expect(good || status.message[0], "a failure without a message");
  expect(!good || staged_items >= PICTURES / 2, "%d chunks are staged", staged_items);
  expect(fake_objects == 0, "%d objects of the device are left over", fake_objects);
  return good;
}

static const int equal_halos[][PICTURES] = {
    {0, 0, 0, 0, 0}, {2, 2, 2, 2, 2}, {16, 16, 16, 16, 16}, {2, 12, 2, 2, 0}};

static void check_stream(const CfVideo *video, const int *picture_halos, CfRandom *random)
{
  Stream stream;

  make_stream(&stream, video, random);
  for (int part = 1; part <= 8; part *= 2) {
    const size_t limit = 6 * stream.bytes / (size_t)part;

    fake_copied_in = fake_copied_out = 0;
    for (int i = 0; i < PICTURES; i++)
      memset(stream.result[i], 0, stream.bytes);
    if (!convey(&stream, picture_halos, limit, true))
      continue; /* not enough memory for this halo */
    expect(fake_copied_in == fake_copied_out, "%zu bytes go in, %zu come out", fake_copied_in,
           fake_copied_out);
    expect(fake_bytes <= limit, "%zu bytes of %zu", fake_bytes, limit);
  }
  free_stream(&stream);
}

/* Wide rows are staged in many chunks. */
static void strips_equal_whole_pictures(void)
{
  const CfVideo wide = cf_video(CF_FORMAT_NV12, 24000, 64);
  CfRandom random;

  random.state = 5;
  fake_order.state = 6;
  for (size_t h = 0; h < N(equal_halos); h++) {
    for (size_t f = 0; f < N(formats); f++) {
      for (int height = 31; height <= 97; height += 33) {
        const CfVideo video = cf_video(formats[f], 19, height);

        check_stream(&video, equal_halos[h], &random);
      }
    }
  }
  check_stream(&wide, equal_halos[3], &random);
}

/* Each call fails once: nothing hangs, nothing leaks, and the failure is reported. */
static void every_failure_is_told(void)
{
  const CfVideo video = cf_video(CF_FORMAT_NV12, 20, 64);
  CfRandom random;
  Stream stream;
  int calls;

  random.state = 7;
  make_stream(&stream, &video, &random);
  fake_calls = 0;
  fake_order.state = 8;
  expect(convey(&stream, equal_halos[3], stream.bytes * 2, false), "it fails without a reason");
  calls = fake_calls;
  /* The last calls are the waits of closing, which cannot report failures. */
  for (int i = 1; i <= calls - 3; i++) {
    fake_calls = 0;
    fake_failing = i;
    fake_order.state = 8;
    expect(!convey(&stream, equal_halos[3], stream.bytes * 2, false), "call %d of %d fails unseen",
           i, calls);
  }
  fake_failing = 0;
  free_stream(&stream);
}

int main(void)
{
  static const struct {
    const char *name;
    void (*run)(void);
  } cases[] = {{"plan-is-complete", plan_is_complete},
               {"plan-is-sensible", plan_is_sensible},
               {"strips-equal-whole-pictures", strips_equal_whole_pictures},
               {"every-failure-is-told", every_failure_is_told}};
  int failed = 0;

  for (size_t i = 0; i < N(cases); i++) {
    failures = 0;
    cases[i].run();
    printf("%sok %zu - %s\n", failures ? "not " : "", i + 1, cases[i].name);
    failed += failures > 0;
  }
  printf("1..%zu\n", N(cases));
  return failed > 0;
}
