/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Sends frames in CUDA memory through the four elements while caps, settings and regions change,
 * and checks that all come out in order and that no memory is lost.
 *
 *   soak-changes [--frames N] [--seed S] [--processes P] [--caps-every N]
 *
 * Each of P processes sends N frames, S + 1 being the second one's seed. The first frames have
 * every format with every setting, so that all kernels are loaded; after them sizes, formats,
 * fields, settings and regions are random. Five times, with the same caps and settings, the
 * processes wait for each other, and each prints in a line of JSON what memory is in use. Fails if
 * a frame is lost, or if from the first time to the last the device's memory (of all processes
 * together) or a process's own grew by a MiB.
 */
#include <gst/check/gstharness.h>
#include <gst/video/video.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu-compat.h"
#include "random.h"
#include "usage.h"
#ifdef FAKE_GPU
#include "fake-cuda.h"
#endif

#define CHAIN                                                                                      \
  "cudallf name=llf ! cudagaussblur name=blur regions=2,2,8,8;-3,5,9,30 ! cudablockavg "           \
  "name=mosaic regions=5,9,20,20 ! cudasepconv name=sepconv"

#define SAMPLES        5
#define STILL_FRAMES   20  /* before memory is looked at */
#define LARGEST_GROWTH 1.0 /* MiB */
#define SETTING_EVERY  5
#define READ_EVERY     16 /* frames between two that are read on the host */
#define MOST_PROCESSES 64

/* The engines of the GPU that is none are the CPU's. */
#ifdef FAKE_GPU
#define LARGEST_SIDE 48
#else
#define LARGEST_SIDE 160
#endif

/* Settings of one element are all allowed together; in this order they end with a filter of the
 * whole frame that is not identity. */
static const struct {
  const char *element, *property, *value;
} settings[] = {
    {"llf", "sigma", "0.4"},
    {"llf", "color-mode", "separate"},
    {"llf", "engine", "exact"},
    {"llf", "levels", "3"},
    {"llf", "engine", "sampled"},
    {"llf", "intensity-levels", "6"},
    {"llf", "color-mode", "luminance"},
    {"llf", "levels", "0"},
    {"llf", "engine", "fast"},
    {"llf", "alpha", "1"},
    {"llf", "harmonics", "5"},
    {"llf", "beta", "0.7"},
    {"llf", "harmonics", "8"},
    {"llf", "alpha", "0.3"},
    {"blur", "sigma", "0.8"},
    {"blur", "border", "constant"},
    {"blur", "sigma", "-1.5"},
    {"blur", "sigma", "3"},
    {"blur", "roi-mode", "inside"},
    {"blur", "sigma-relative", "0.2"},
    {"blur", "roi-feather", "4"},
    {"blur", "sigma-relative", "0"},
    {"blur", "roi-mode", "none"},
    {"blur", "map-mode", "radial"},
    {"blur", "border", "reflect"},
    {"blur", "sigma", "70"},
    {"blur", "map-mode", "luma"},
    {"blur", "sigma-min", "2"},
    {"blur", "map-mode", "none"},
    {"blur", "border", "wrap"},
    {"blur", "sigma", "0"},
    {"blur", "sigma", "9"},
    {"mosaic", "block-width", "3"},
    {"mosaic", "roi-mode", "inside"},
    {"mosaic", "anchor", "region"},
    {"mosaic", "blocks-across", "5"},
    {"mosaic", "roi-shape", "ellipse"},
    {"mosaic", "mode", "max"},
    {"mosaic", "roi-mode", "outside"},
    {"mosaic", "mode", "average"},
    {"mosaic", "roi-feather", "6"},
    {"mosaic", "blocks-across", "0"},
    {"mosaic", "anchor", "frame"},
    {"mosaic", "roi-mode", "none"},
    {"sepconv", "row-kernel", "<1,2,1>"},
    {"sepconv", "normalize", "true"},
    {"sepconv", "preset-size", "21"},
    {"sepconv", "preset", "box"},
    {"sepconv", "planes", "luma"},
    {"sepconv", "border", "reflect-101"},
    {"sepconv", "preset", "sobel-x"},
    {"sepconv", "bias", "0.5"},
    {"sepconv", "planes", "luma+chroma+alpha"},
    {"sepconv", "preset", "custom"},
};

/* Shared by the processes. */
typedef struct {
  pthread_barrier_t barrier;
  int device; /* in use, as the first process found it */
} Meeting;

typedef struct {
  int device;            /* MiB, or objects of the driver that is none; of all processes */
  double resident, used; /* MiB of this process: in memory, and given out by malloc */
} Usage;

typedef struct {
  gint64 frames, caps_every, caps_changes;
  int index; /* of the process */
  CfRandom random;
  Meeting *meeting;

  GstHarness *harness;
  GPtrArray *formats; /* names, static */
  GstCudaContext *context;
  GstBufferPool *pool;
  GstVideoInfo info;
  gint64 arrived; /* -1 once a frame was lost */
} Soak;

/* Memory */

static int device_use(void)
{
#ifdef FAKE_GPU
  return fake_cuda_objects();
#else
  return device_mib();
#endif
}

static void meet(Soak *self)
{
  pthread_barrier_wait(&self->meeting->barrier);
}

static Usage look_at_memory(Soak *self)
{
  struct mallinfo2 info;
  Usage usage;

  malloc_trim(0);
  info = mallinfo2();
  usage.used = (double)(info.uordblks + info.hblkhd) / (1 << 20);
  usage.resident = host_mib();
  meet(self);
  if (self->index == 0)
    self->meeting->device = device_use();
  meet(self);
  usage.device = self->meeting->device;
  return usage;
}

static void print_usage(const Soak *self, const Usage *usage, gint64 frames, gint64 since)
{
  const double seconds = (double)(g_get_monotonic_time() - since) / G_USEC_PER_SEC;

  printf("{\"process\": %d, \"frames\": %" G_GINT64_FORMAT ", \"came_out\": %" G_GINT64_FORMAT
         ", \"caps_changes\": %" G_GINT64_FORMAT ", \"device%s\": %d, \"host_mib\": %.2f, "
         "\"malloc_mib\": %.3f, \"fps\": %.1f}\n",
         self->index, frames, self->arrived, self->caps_changes,
#ifdef FAKE_GPU
         "_objects",
#else
         "_mib",
#endif
         usage->device, usage->resident, usage->used, (double)frames / seconds);
  fflush(stdout);
}

static gboolean has_grown(const Usage *early, const Usage *late)
{
  return late->device - early->device >= LARGEST_GROWTH ||
         late->resident - early->resident >= LARGEST_GROWTH ||
         late->used - early->used >= LARGEST_GROWTH;
}

/* Changes */

static void set(Soak *self, guint setting)
{
  GstElement *element =
      gst_bin_get_by_name(GST_BIN(self->harness->element), settings[setting].element);

  gst_util_set_object_arg(G_OBJECT(element), settings[setting].property, settings[setting].value);
  gst_object_unref(element);
}

static void set_all(Soak *self)
{
  for (guint i = 0; i < G_N_ELEMENTS(settings); i++)
    set(self, i);
}

static void free_pool(Soak *self)
{
  if (self->pool)
    gst_buffer_pool_set_active(self->pool, FALSE);
  gst_clear_object(&self->pool);
}

static gboolean change_caps(Soak *self, const char *format, int width, int height,
                            gboolean interlaced)
{
  GstCaps *caps = gst_caps_new_simple("video/x-raw", "format", G_TYPE_STRING, format, "width",
                                      G_TYPE_INT, width, "height", G_TYPE_INT, height, "framerate",
                                      GST_TYPE_FRACTION, 25, 1, NULL);
  GstStructure *config;
  gboolean good;

  if (interlaced)
    gst_caps_set_simple(caps, "interlace-mode", G_TYPE_STRING, "interleaved", NULL);
  gst_caps_set_features_simple(caps,
                               gst_caps_features_new(GST_CAPS_FEATURE_MEMORY_CUDA_MEMORY, NULL));
  gst_video_info_from_caps(&self->info, caps);
  if (!gst_cuda_filters_compat_check_planes(&self->info, NULL)) {
    gst_caps_unref(caps);
    return change_caps(self, format, width, height + 1, interlaced);
  }
  free_pool(self);
  self->pool = gst_cuda_buffer_pool_new(self->context);
  config = gst_buffer_pool_get_config(self->pool);
  gst_buffer_pool_config_set_params(config, caps, (guint)self->info.size, 0, 0);
  gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  good = gst_buffer_pool_set_config(self->pool, config) &&
         gst_buffer_pool_set_active(self->pool, TRUE);
  /* The first ones with a stream-start and a segment. */
  if (self->caps_changes++ == 0)
    gst_harness_set_src_caps(self->harness, gst_caps_ref(caps));
  else
    good = good && gst_harness_push_event(self->harness, gst_event_new_caps(caps));
  gst_caps_unref(caps);
  return good;
}

static const char *format_at(const Soak *self, gint64 index)
{
  return g_ptr_array_index(self->formats, (guint)index);
}

static gboolean change_caps_at_random(Soak *self)
{
  const char *format = format_at(self, cf_random_below(&self->random, (int)self->formats->len));
  const int width = 1 + cf_random_below(&self->random, LARGEST_SIDE);
  const int height = 1 + cf_random_below(&self->random, LARGEST_SIDE);

  return change_caps(self, format, width, height, cf_random_below(&self->random, 4) == 0);
}

/* What comes before frame `number`. */
static gboolean change(Soak *self, gint64 number)
{
  const gint64 part = self->frames / SAMPLES, still = part - STILL_FRAMES;
  const gint64 format = number / (gint64)G_N_ELEMENTS(settings);
  const gint64 setting = number % (gint64)G_N_ELEMENTS(settings);
  gboolean good = TRUE;

  if (format < self->formats->len) {
    if (setting == 0)
      good =
          change_caps(self, format_at(self, format), LARGEST_SIDE, LARGEST_SIDE, format % 4 == 3);
    set(self, (guint)setting);
  } else if (number % part == still) {
    /* Engines are opened with them: what other settings took is given back. */
    set_all(self);
    good = change_caps(self, "NV12", LARGEST_SIDE, LARGEST_SIDE, FALSE);
  } else if (number % part < still) {
    if (number % self->caps_every == 0)
      good = change_caps_at_random(self);
    if (number % SETTING_EVERY == 0)
      set(self, (guint)cf_random_below(&self->random, G_N_ELEMENTS(settings)));
  }
  return good;
}

/* Frames */

static int between(Soak *self, int least, int most)
{
  return least + cf_random_below(&self->random, most - least + 1);
}

/* Up to four regions, which may lie beyond the frame. */
static void add_regions(Soak *self, GstBuffer *buffer)
{
  const int count = between(self, -2, 4);

  for (int i = 0; i < count; i++)
    gst_buffer_add_video_region_of_interest_meta(
        buffer, i % 2 ? "face" : "plate", (guint)between(self, -30, LARGEST_SIDE),
        (guint)between(self, -30, LARGEST_SIDE), (guint)between(self, 1, 60),
        (guint)between(self, 1, 60));
}

static GstBuffer *new_frame(Soak *self, gint64 number)
{
  GstBuffer *buffer = NULL;
  GstVideoFrame frame;

  if (gst_buffer_pool_acquire_buffer(self->pool, &buffer, NULL) != GST_FLOW_OK)
    return NULL;
  if (!gst_video_frame_map(&frame, &self->info, buffer, GST_MAP_WRITE)) {
    gst_buffer_unref(buffer);
    return NULL;
  }
  for (guint p = 0; p < GST_VIDEO_FRAME_N_PLANES(&frame); p++) {
    guint8 *data = GST_VIDEO_FRAME_PLANE_DATA(&frame, p);

    for (gint y = 0; y < GST_VIDEO_FRAME_COMP_HEIGHT(&frame, p); y++)
      memset(data + y * GST_VIDEO_FRAME_PLANE_STRIDE(&frame, p), (int)(number + 7 * y) & 0xff,
             (gsize)GST_VIDEO_FRAME_COMP_WIDTH(&frame, p) *
                 (gsize)GST_VIDEO_FRAME_COMP_PSTRIDE(&frame, p));
  }
  gst_video_frame_unmap(&frame);
  add_regions(self, buffer);
  GST_BUFFER_PTS(buffer) = (GstClockTime)number * 40 * GST_MSECOND;
  GST_BUFFER_DURATION(buffer) = 40 * GST_MSECOND;
  return buffer;
}

/* As a sink does that has no GPU. */
static gboolean read_frame(const Soak *self, GstBuffer *buffer)
{
  GstVideoFrame frame;

  if (!gst_video_frame_map(&frame, &self->info, buffer, GST_MAP_READ))
    return FALSE;
  gst_video_frame_unmap(&frame);
  return TRUE;
}

static gboolean take_frames(Soak *self)
{
  GstBuffer *buffer;

  while (self->arrived >= 0 && (buffer = gst_harness_try_pull(self->harness))) {
    const gboolean good =
        GST_BUFFER_PTS(buffer) == (GstClockTime)self->arrived * 40 * GST_MSECOND &&
        (self->arrived % READ_EVERY || read_frame(self, buffer));

    gst_buffer_unref(buffer);
    self->arrived = good ? self->arrived + 1 : -1;
  }
  return self->arrived >= 0;
}

static void forget_events(GstHarness *harness)
{
  GstEvent *event;

  while ((event = gst_harness_try_pull_event(harness)))
    gst_event_unref(event);
  while ((event = gst_harness_try_pull_upstream_event(harness)))
    gst_event_unref(event);
}

static gboolean send_frame(Soak *self, gint64 number)
{
  GstBuffer *buffer;

  if (!change(self, number) || !(buffer = new_frame(self, number)) ||
      gst_harness_push(self->harness, buffer) != GST_FLOW_OK || !take_frames(self))
    return FALSE;
  if (number % 100 == 0)
    forget_events(self->harness);
  return TRUE;
}

/* Life */

/* Drops what elements say, but for errors, which it prints. */
static GstBusSyncReply drop_message(GstBus *bus, GstMessage *message, gpointer data)
{
  (void)bus, (void)data;
  if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) {
    GError *error = NULL;

    gst_message_parse_error(message, &error, NULL);
    fprintf(stderr, "soak-changes: %s: %s\n", GST_MESSAGE_SRC_NAME(message), error->message);
    g_error_free(error);
  }
  gst_message_unref(message);
  return GST_BUS_DROP;
}

/* All that the elements take in CUDA memory. */
static GPtrArray *find_formats(GstElement *chain)
{
  GstElement *element = gst_bin_get_by_name(GST_BIN(chain), "llf");
  GstCaps *caps = gst_pad_template_get_caps(gst_element_get_pad_template(element, "sink"));
  const GValue *list = gst_structure_get_value(gst_caps_get_structure(caps, 0), "format");
  GPtrArray *formats = g_ptr_array_new();

  if (gst_caps_features_contains(gst_caps_get_features(caps, 0),
                                 GST_CAPS_FEATURE_MEMORY_CUDA_MEMORY)) {
    for (guint i = 0; i < gst_value_list_get_size(list); i++) {
      const char *name = g_value_get_string(gst_value_list_get_value(list, i));

      g_ptr_array_add(formats, (gpointer)g_intern_string(name));
    }
  }
  gst_caps_unref(caps);
  gst_object_unref(element);
  return formats;
}

static gboolean open_soak(Soak *self)
{
  GstContext *context;
  GstBus *bus;

  self->context = gst_cuda_load_library() ? gst_cuda_context_new(0) : NULL;
  if (!self->context) {
    fprintf(stderr, "soak-changes: there is no CUDA context\n");
    return FALSE;
  }
  gst_cuda_memory_init_once();
  self->harness = gst_harness_new_parse(CHAIN);
  bus = gst_bus_new();
  gst_bus_set_sync_handler(bus, drop_message, NULL, NULL);
  gst_element_set_bus(self->harness->element, bus);
  gst_object_unref(bus);
  context = gst_context_new_cuda_context(self->context);
  gst_element_set_context(self->harness->element, context);
  gst_context_unref(context);
  self->formats = find_formats(self->harness->element);
  gst_harness_play(self->harness);
  return self->formats->len > 0;
}

static void close_soak(Soak *self)
{
  if (self->harness)
    gst_harness_teardown(self->harness);
  if (self->formats)
    g_ptr_array_unref(self->formats);
  free_pool(self);
  gst_clear_object(&self->context);
}

static gboolean send_frames(Soak *self)
{
  const gint64 part = self->frames / SAMPLES, started = g_get_monotonic_time();
  Usage early = {0}, late = {0};

  if (part <= (gint64)(self->formats->len * G_N_ELEMENTS(settings)) + STILL_FRAMES) {
    fprintf(stderr, "soak-changes: it takes at least %d frames\n",
            (int)(self->formats->len * G_N_ELEMENTS(settings) + STILL_FRAMES + 1) * SAMPLES);
    return FALSE;
  }
  for (gint64 i = 0; i < self->frames; i++) {
    if (!send_frame(self, i)) {
      fprintf(stderr, "soak-changes: process %d loses frame %" G_GINT64_FORMAT "\n", self->index,
              i);
      return FALSE;
    }
    if (i % part == part - 1) {
      forget_events(self->harness);
      late = look_at_memory(self);
      early = i < part ? late : early;
      print_usage(self, &late, i + 1, started);
    }
  }
  if (self->arrived != self->frames)
    fprintf(stderr, "soak-changes: process %d: %" G_GINT64_FORMAT " frames came out\n", self->index,
            self->arrived);
  if (late.device < 0 || late.resident < 0.0)
    fprintf(stderr, "soak-changes: nvidia-smi or /proc/self/statm cannot be read\n");
  else if (has_grown(&early, &late))
    fprintf(stderr, "soak-changes: process %d: memory in use has grown\n", self->index);
  else
    return self->arrived == self->frames;
  return FALSE;
}

static gboolean run(Soak *self)
{
  gboolean good;

  gst_init(NULL, NULL);
  good = open_soak(self) && send_frames(self);
  close_soak(self);
  return good;
}

/* Processes */

static Meeting *new_meeting(guint processes)
{
  Meeting *meeting =
      mmap(NULL, sizeof *meeting, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pthread_barrierattr_t attributes;

  if (meeting == MAP_FAILED)
    return NULL;
  pthread_barrierattr_init(&attributes);
  pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_barrier_init(&meeting->barrier, &attributes, processes);
  pthread_barrierattr_destroy(&attributes);
  return meeting;
}

/* Whether all end well. The others would wait for one that does not, and are ended. */
static gboolean wait_for(const pid_t *process, int count)
{
  gboolean good = TRUE;

  for (int ended = 0; ended < count; ended++) {
    int status = 0;

    if (wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
      continue;
    for (int i = 0; good && i < count; i++)
      kill(process[i], SIGTERM);
    good = FALSE;
  }
  return good;
}

/* Forked before anything is opened. */
static gboolean run_processes(Soak *soak, int count)
{
  pid_t process[MOST_PROCESSES];

  for (int i = 0; i < count; i++) {
    process[i] = fork();
    if (process[i] == 0) {
      soak->index = i;
      soak->random.state += (guint64)i;
      exit(run(soak) ? 0 : 1);
    }
    if (process[i] < 0)
      return wait_for(process, i) && FALSE;
  }
  return wait_for(process, count);
}

int main(int argc, char **argv)
{
  gint64 frames = 250000, caps_every = 300, seed = 1;
  gint processes = 1;
  const GOptionEntry entries[] = {
      {"frames", 0, 0, G_OPTION_ARG_INT64, &frames, "of each process", "N"},
      {"seed", 0, 0, G_OPTION_ARG_INT64, &seed, "of the first process", "S"},
      {"processes", 0, 0, G_OPTION_ARG_INT, &processes, "at once", "P"},
      {"caps-every", 0, 0, G_OPTION_ARG_INT64, &caps_every, "frames between caps", "N"},
      {NULL},
  };
  GOptionContext *options = g_option_context_new(NULL);
  Soak soak = {0};

  g_option_context_add_main_entries(options, entries, NULL);
  if (!g_option_context_parse(options, &argc, &argv, NULL) || frames < SAMPLES || caps_every < 1 ||
      processes < 1 || processes > MOST_PROCESSES) {
    fprintf(stderr, "soak-changes: not understood\n");
    return 2;
  }
  g_option_context_free(options);
  /* Kernels that are loaded when they are needed take memory then. */
  g_setenv("CUDA_MODULE_LOADING", "EAGER", FALSE);
  soak.frames = frames;
  soak.caps_every = caps_every;
  soak.random.state = (guint64)seed;
  soak.meeting = new_meeting((guint)processes);
  return soak.meeting && run_processes(&soak, processes) ? 0 : 1;
}
