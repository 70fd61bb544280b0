/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a frame in system memory costs on its way through the device, beside the time that its bytes
 * alone take over the bus, in and out at once, from page-locked memory. One JSON object a line.
 *
 *   bus element FORMAT WIDTHxHEIGHT FRAMES ELEMENT [COUNT]   frames of the pool that the element
 *                                                    proposes; by COUNT elements at once
 *   bus live ...                                     the same from a live source
 *   bus pageable ...                                 the same from ordinary memory
 *   bus engine FORMAT WIDTHxHEIGHT FRAMES LIMIT      cudasepconv's engine with LIMIT bytes, for
 *                                                    frames larger than GStreamer's can be (2 GiB)
 */
#include <gst/check/gstharness.h>
#include <gst/video/video.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/common/host_transfer.h"
#include "gpu-compat.h"
#include "sepconv.h"

#define WARM_UP 40 /* until the pool has all the frames that are ever under way */
#define INPUTS  4

static GstCudaContext *context;

static void stop(const char *why)
{
  fprintf(stderr, "bus: %s\n", why);
  exit(1);
}

static double now_ms(void)
{
  return (double)g_get_monotonic_time() / 1000.0;
}

/* Milliseconds that `bytes` take; each way with a stream of its own. Memory is given. */
static double time_copies(bool in, bool out, void *device[2], void *host[2], size_t bytes,
                          int frames)
{
  void *streams[] = {cf_stream_create(NULL), cf_stream_create(NULL)};
  const ptrdiff_t stride = (ptrdiff_t)bytes;
  double start = 0.0;

  for (int i = -1; i < frames; i++) {
    if (i == 0) {
      cf_stream_synchronize(streams[0], NULL);
      cf_stream_synchronize(streams[1], NULL);
      start = now_ms();
    }
    if ((in && !cf_copy_rows(CF_COPY_TO_DEVICE, device[0], stride, host[0], stride, bytes, 1,
                             streams[0], NULL)) ||
        (out && !cf_copy_rows(CF_COPY_TO_HOST, host[1], stride, device[1], stride, bytes, 1,
                              streams[1], NULL)))
      stop("a plain copy fails");
  }
  cf_stream_synchronize(streams[0], NULL);
  cf_stream_synchronize(streams[1], NULL);
  start = (now_ms() - start) / frames;
  cf_stream_destroy(streams[0]);
  cf_stream_destroy(streams[1]);
  return start;
}

typedef struct {
  double in, out, both;
} Bus;

/* Large frames are measured by a part of them. */
static Bus measure_bus(size_t bytes)
{
  const size_t part = MIN(bytes, (size_t)256 << 20);
  const double scale = (double)bytes / (double)part;
  const int frames = (int)MAX(8.0, 64.0 * (1 << 25) / (double)part);
  void *device[] = {cf_device_alloc(part, NULL), cf_device_alloc(part, NULL)};
  void *host[] = {cf_pinned_alloc(part, NULL), cf_pinned_alloc(part, NULL)};
  Bus bus;

  if (!device[0] || !device[1] || !host[0] || !host[1])
    stop("no memory for plain copies");
  memset(host[0], 1, part);
  memset(host[1], 1, part);
  bus.in = scale * time_copies(true, false, device, host, part, frames);
  bus.out = scale * time_copies(false, true, device, host, part, frames);
  bus.both = scale * time_copies(true, true, device, host, part, frames);
  for (int i = 0; i < 2; i++) {
    cf_device_free(device[i]);
    cf_pinned_free(host[i]);
  }
  return bus;
}

static void print(const char *what, const CfVideo *video, double frame_ms, const Bus *bus)
{
  printf(
      "{\"what\": \"%s\", \"format\": \"%s\", \"width\": %d, \"height\": %d, \"frame_ms\": %.3f, "
      "\"in_ms\": %.3f, \"out_ms\": %.3f, \"both_ms\": %.3f, \"ratio\": %.3f}\n",
      what, cf_format_info(video->format)->name, video->width, video->height, frame_ms, bus->in,
      bus->out, bus->both, frame_ms / bus->both);
  fflush(stdout);
}

static void fill(GstBuffer *buffer, int seed)
{
  GstMapInfo map;

  if (!gst_buffer_map(buffer, &map, GST_MAP_WRITE))
    stop("a frame cannot be mapped");
  for (gsize i = 0; i < map.size; i++)
    map.data[i] = (guint8)((i >> 6) * 7 + (gsize)seed * 31 + i);
  gst_buffer_unmap(buffer, &map);
}

/* Whose frames an element gets. */
typedef struct {
  const char *mode, *elements;
  CfVideo video;
  int frames;
  GstHarness *harness;
  GstBuffer *inputs[INPUTS];
  gsize bytes;     /* of a frame */
  int outputs;     /* some of which were under way at the start */
  double start_ms; /* of the frames that count */
} Stream;

static void open_stream(Stream *stream)
{
  GstContext *shared = gst_context_new_cuda_context(context);
  gchar *text = g_strdup_printf("video/x-raw, format=%s, width=%d, height=%d, framerate=25/1",
                                cf_format_info(stream->video.format)->name, stream->video.width,
                                stream->video.height);
  GstCaps *caps = gst_caps_from_string(text);
  GstElement *element; /* which looks for a context when it starts */
  GstVideoInfo info;

  element = gst_parse_launch(stream->elements, NULL);
  if (!element)
    stop("there is no such element");
  gst_element_set_context(element, shared);
  gst_context_unref(shared);
  stream->harness = gst_harness_new_with_element(element, "sink", "src");
  gst_object_unref(element);
  if (!gst_video_info_from_caps(&info, caps))
    stop("these caps are not allowed");
  gst_harness_set_live(stream->harness, strcmp(stream->mode, "live") == 0);
  gst_harness_set_src_caps(stream->harness, caps);
  g_free(text);
  stream->bytes = info.size;
  for (int i = 0; i < INPUTS; i++) {
    stream->inputs[i] = strcmp(stream->mode, "pageable") == 0
                            ? gst_buffer_new_allocate(NULL, info.size, NULL)
                            : gst_harness_create_buffer(stream->harness, info.size);
    if (!stream->inputs[i])
      stop("no memory for frames");
    fill(stream->inputs[i], i);
  }
}

static void push_frames(Stream *stream, int frames)
{
  for (int i = 0; i < frames; i++) {
    GstBuffer *output;

    if (gst_harness_push(stream->harness, gst_buffer_ref(stream->inputs[i % INPUTS])) !=
        GST_FLOW_OK)
      stop("the element fails");
    while ((output = gst_harness_try_pull(stream->harness))) {
      stream->outputs++;
      gst_buffer_unref(output);
    }
  }
}

static gpointer run_stream(gpointer opaque)
{
  Stream *stream = opaque;

  push_frames(stream, WARM_UP);
  stream->outputs = 0;
  stream->start_ms = now_ms();
  push_frames(stream, stream->frames);
  gst_harness_push_event(stream->harness, gst_event_new_eos());
  stream->outputs += (int)gst_harness_buffers_in_queue(stream->harness);
  return NULL;
}

static void close_stream(Stream *stream)
{
  for (int i = 0; i < INPUTS; i++)
    gst_buffer_unref(stream->inputs[i]);
  gst_harness_teardown(stream->harness);
}

/* The time a frame takes while `count` elements work at once, each with frames of its own. */
static void run_element(const Stream *model, int count)
{
  Stream *streams = g_new(Stream, count);
  GThread **threads = g_new(GThread *, count);
  double start = 0.0;
  int outputs = 0;
  Bus bus;

  for (int i = 0; i < count; i++) {
    streams[i] = *model;
    open_stream(&streams[i]);
  }
  for (int i = 0; i < count; i++)
    threads[i] = g_thread_new("stream", run_stream, &streams[i]);
  for (int i = 0; i < count; i++) {
    g_thread_join(threads[i]);
    start = i == 0 ? streams[i].start_ms : MIN(start, streams[i].start_ms);
    outputs += streams[i].outputs;
  }
  start = (now_ms() - start) / outputs;
  for (int i = 0; i < count; i++)
    close_stream(&streams[i]);
  bus = measure_bus(streams[0].bytes);
  print(model->elements, &model->video, start, &bus);
  g_free(threads);
  g_free(streams);
}

typedef struct {
  const CfEngine *engine;
  void *state;
} Filter;

static bool run_filter(void *data, const CfJob *job, CfStatus *status)
{
  const Filter *filter = data;

  return filter->engine->run(filter->state, job, status);
}

static void run_engine(const CfVideo *video, int frames, size_t limit)
{
  CfStatus status = {CF_OK, ""};
  CfDevice *device = cf_device_open(&status);
  CfHostTransfer *transfer = device ? cf_host_transfer_open(device, &status) : NULL;
  void *stream = transfer ? cf_stream_create(&status) : NULL;
  const CfOpenOptions options = {.device = device};
  const size_t bytes = cf_strips_lay_out(video, video->height, NULL, NULL);
  uint8_t *host[] = {cf_pinned_alloc(bytes, &status), cf_pinned_alloc(bytes, &status)};
  CfPicture pictures[2];
  CfSepconvParams params;
  Filter filter = {.engine = cf_effect_engine(&cf_sepconv, "cuda")};
  CfStrips strips;
  unsigned ticket = 0;
  double start = 0.0;
  Bus bus;

  if (!stream || !host[0] || !host[1])
    stop(status.message);
  for (int i = 0; i < 2; i++) {
    memset(host[i], 100, bytes);
    cf_strips_lay_out(video, video->height, host[i], &pictures[i]);
  }
  cf_params_init(cf_sepconv.params, &params);
  params.preset = CF_SEPCONV_BINOMIAL;
  params.preset_size = 33;
  filter.state = filter.engine->open(video, &params, &options, &status);
  if (!filter.state ||
      !cf_strips_plan(&strips, video, NULL, filter.engine->halo(filter.state), limit, &status) ||
      !cf_host_transfer_set(transfer, &strips, &status))
    stop(status.message);
  /* As the elements do, one leaves while the next arrives. */
  for (int i = -1; i < frames; i++) {
    const unsigned before = ticket;

    if (i == 0)
      start = now_ms();
    if (!cf_host_transfer_send(transfer, &pictures[0], &pictures[1], run_filter, &filter, stream,
                               &ticket, &status) ||
        (i != 0 && !cf_host_transfer_wait(transfer, i < 0 ? ticket : before, &status)))
      stop(status.message);
  }
  if (!cf_host_transfer_wait(transfer, ticket, &status))
    stop(status.message);
  start = (now_ms() - start) / frames;
  fprintf(stderr, "%d strips of %d rows, %d slots, %zu bytes; %s\n", strips.count, strips.rows,
          strips.slots, cf_strips_bytes(&strips), filter.engine->algorithm(filter.state));
  if (memcmp(host[0], host[1], bytes) != 0)
    stop("a constant picture does not stay constant");
  filter.engine->close(filter.state);
  cf_host_transfer_close(transfer);
  cf_pinned_free(host[0]);
  cf_pinned_free(host[1]);
  bus = measure_bus(bytes);
  print("engine", video, start, &bus);
  cf_stream_destroy(stream);
  cf_device_close(device);
}

int main(int argc, char **argv)
{
  CfFormat format = CF_FORMAT_GRAY8;
  CfVideo video;
  int width = 0, height = 0;

  gst_init(&argc, &argv);
  if (argc < 6 || argc > 7 || !cf_format_from_name(argv[2], &format) ||
      sscanf(argv[3], "%dx%d", &width, &height) != 2 || atoi(argv[4]) < 1)
    stop("usage: element|live|pageable FORMAT WxH FRAMES ELEMENT [COUNT], or engine FORMAT WxH "
         "FRAMES LIMIT");
  if (gst_cuda_load_library())
    context = gst_cuda_context_new(0);
  if (!context || !gst_cuda_context_push(context))
    stop("no CUDA context can be created here");
  video = cf_video(format, width, height);
  if (strcmp(argv[1], "engine") == 0)
    run_engine(&video, atoi(argv[4]), (size_t)strtoull(argv[5], NULL, 10));
  else
    run_element(&(Stream){argv[1], argv[5], video, atoi(argv[4])}, argc > 6 ? atoi(argv[6]) : 1);
  gst_cuda_context_pop(NULL);
  gst_object_unref(context);
  return 0;
}
