/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 *   endurance [--frames N] [--caps-every N] [--element NAME] [--backend NAME]
 *
 * Pushes N frames through each element, or one, while caps, settings and regions change, and prints
 * a line of JSON for each: frames, caps changes, and by how much memory in use and resident memory
 * grew from a tenth of the way to the end. Fails if a frame is lost or either grew by a MiB.
 */
#include <gst/check/gstharness.h>
#include <gst/gst.h>
#include <gst/video/video.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "image.h"
#include "random.h"

#define MOST_GROWTH  (1 << 20)
#define LARGEST_SIDE 24
#define N_SETTINGS   6
#define STILL_FRAMES 5
#define STILL_CAPS   "video/x-raw, format=NV12, width=16, height=16, framerate=25/1"
#define REGIONS      "regions=2,2,8,8;-3,5,9,30"

/* Settings that follow each other; those of an element are all allowed together. */
static const struct {
  const char *element;
  const char *settings[N_SETTINGS];
} cases[] = {
    {"cudallf",
     {"alpha=0.3", "beta=0.7", "engine=sampled", "levels=2", "engine=fast", "alpha=1.5"}},
    {"cudagaussblur",
     {"sigma=0.8", "roi-mode=inside", "sigma=9", "border=reflect", "sigma=0", "roi-mode=none"}},
    {"cudablockavg",
     {"block-width=3", "roi-mode=inside", "anchor=region", "roi-shape=ellipse", "roi-mode=outside",
      "roi-mode=none"}},
    {"cudasepconv",
     {"row-kernel=<1,2,1>", "normalize=true", "preset=box", "preset-size=21", "border=wrap",
      "preset=custom"}},
    {"cudatonemap",
     {"detail=1.5", "dynamic=true", "contrast=0.7", "sigma=3", "dither=false", "dynamic=false"}},
};

/* Half of all caps are HDR in one of these, which is what cudatonemap filters. */
static const CfFormat hdr_formats[] = {
    CF_FORMAT_P010_10LE, CF_FORMAT_I420_10LE, CF_FORMAT_I422_10LE, CF_FORMAT_P012_LE,
    CF_FORMAT_P016_LE,   CF_FORMAT_Y444_10LE, CF_FORMAT_Y444_16LE};

typedef struct {
  gint64 frames, caps_every;
  const char *backend;
  CfRandom random;
} Endurance;

typedef struct {
  gsize used, resident;
} Memory;

static void push_caps(GstHarness *harness, const char *text, GstVideoInfo *info)
{
  GstCaps *caps = gst_caps_from_string(text);

  gst_video_info_from_caps(info, caps);
  gst_harness_push_event(harness, gst_event_new_caps(caps));
  gst_caps_unref(caps);
}

/* Bytes that malloc has given out, and that the process has in memory. */
static Memory memory_now(void)
{
  FILE *file = fopen("/proc/self/statm", "r");
  struct mallinfo2 info;
  long pages = 0;

  malloc_trim(0);
  if (file) {
    if (fscanf(file, "%*d %ld", &pages) != 1)
      pages = 0;
    fclose(file);
  }
  info = mallinfo2();
  return (Memory){info.uordblks + info.hblkhd, (gsize)pages * (gsize)sysconf(_SC_PAGESIZE)};
}

static void set(GstElement *element, const char *setting)
{
  gchar **pair = g_strsplit(setting, "=", 2);

  gst_util_set_object_arg(G_OBJECT(element), pair[0], pair[1]);
  g_strfreev(pair);
}

static GstBuffer *new_frame(const GstVideoInfo *info, gint64 number)
{
  GstBuffer *buffer = gst_buffer_new_allocate(NULL, info->size, NULL);

  gst_buffer_memset(buffer, 0, (guint8)number, info->size);
  GST_BUFFER_PTS(buffer) = (GstClockTime)number * 40 * GST_MSECOND;
  if (number % 3 == 0)
    gst_buffer_add_video_region_of_interest_meta(buffer, "face", 1, 2, 7, 5);
  return buffer;
}

static void change_caps(Endurance *self, GstHarness *harness, GstVideoInfo *info)
{
  const gboolean hdr = cf_random_below(&self->random, 2);
  const CfFormat format =
      hdr ? hdr_formats[cf_random_below(&self->random, G_N_ELEMENTS(hdr_formats))]
          : (CfFormat)cf_random_below(&self->random, CF_FORMAT_COUNT);
  gchar *text = g_strdup_printf(
      "video/x-raw, format=%s, width=%d, height=%d, framerate=25/1%s%s",
      cf_format_info(format)->name, 1 + cf_random_below(&self->random, LARGEST_SIDE),
      1 + cf_random_below(&self->random, LARGEST_SIDE),
      cf_random_below(&self->random, 4) ? "" : ", interlace-mode=interleaved",
      hdr ? ", colorimetry=bt2100-pq" : "");

  push_caps(harness, text, info);
  g_free(text);
}

/* Frames that have come out, in order; -1 if one is out of it. */
static gint64 take_frames(GstHarness *harness, gint64 arrived)
{
  GstBuffer *buffer;

  while (arrived >= 0 && (buffer = gst_harness_try_pull(harness))) {
    const gboolean in_order = GST_BUFFER_PTS(buffer) == (GstClockTime)arrived * 40 * GST_MSECOND;

    gst_buffer_unref(buffer);
    arrived = in_order ? arrived + 1 : -1;
  }
  return arrived;
}

static void forget_events(GstHarness *harness)
{
  GstEvent *event;

  while ((event = gst_harness_try_pull_event(harness)))
    gst_event_unref(event);
  while ((event = gst_harness_try_pull_upstream_event(harness)))
    gst_event_unref(event);
}

static gboolean endure(Endurance *self, const char *element, const char *const *settings)
{
  GstHarness *harness = gst_harness_new(element);
  gint64 caps_changes = 0, arrived = 0;
  Memory early = {0, 0}, late = {0, 0};
  const gint64 tenth = self->frames / 10;
  GstVideoInfo info;
  gboolean good = TRUE;

  set(harness->element, "n-threads=1");
  gst_util_set_object_arg(G_OBJECT(harness->element), "backend", self->backend);
  if (g_object_class_find_property(G_OBJECT_GET_CLASS(harness->element), "regions"))
    set(harness->element, REGIONS);
  gst_harness_set_src_caps_str(harness, STILL_CAPS);
  gst_video_info_init(&info);
  for (gint64 i = 0; good && i < self->frames; i++) {
    /* Before memory is looked at: the same caps and settings each time. */
    const gboolean still = i % tenth >= tenth - STILL_FRAMES;

    if (i % tenth == tenth - STILL_FRAMES) {
      push_caps(harness, STILL_CAPS, &info);
      for (guint k = 0; k < N_SETTINGS; k++)
        set(harness->element, settings[k]);
    } else if (i % self->caps_every == 0 && !still) {
      change_caps(self, harness, &info);
      caps_changes++;
    }
    if (i % 7 == 0 && !still)
      set(harness->element, settings[cf_random_below(&self->random, N_SETTINGS)]);
    good = gst_harness_push(harness, new_frame(&info, i)) == GST_FLOW_OK;
    arrived = take_frames(harness, arrived);
    good = good && arrived >= 0;
    if (i % 100 == 0)
      forget_events(harness);
    if (i % tenth == tenth - 1) {
      forget_events(harness);
      late = memory_now();
      early = i < tenth ? late : early;
    }
  }
  gst_harness_push_event(harness, gst_event_new_eos());
  if (good)
    arrived = take_frames(harness, arrived);
  gst_harness_teardown(harness);
  printf("{\"element\": \"%s\", \"backend\": \"%s\", \"frames\": %" G_GINT64_FORMAT
         ", \"came_out\": %" G_GINT64_FORMAT ", \"caps_changes\": %" G_GINT64_FORMAT
         ", \"used_grew\": %" G_GSSIZE_FORMAT ", \"resident_grew\": %" G_GSSIZE_FORMAT "}\n",
         element, self->backend, self->frames, arrived, caps_changes,
         (gssize)(late.used - early.used), (gssize)(late.resident - early.resident));
  fflush(stdout);
  return good && arrived == self->frames && late.used < early.used + MOST_GROWTH &&
         late.resident < early.resident + MOST_GROWTH;
}

int main(int argc, char **argv)
{
  gint64 frames = 5000, caps_every = 10;
  gchar *only = NULL, *backend = NULL;
  const GOptionEntry entries[] = {
      {"frames", 0, 0, G_OPTION_ARG_INT64, &frames, "through each element", "N"},
      {"caps-every", 0, 0, G_OPTION_ARG_INT64, &caps_every, "frames between caps", "N"},
      {"element", 0, 0, G_OPTION_ARG_STRING, &only, "only this one", "NAME"},
      {"backend", 0, 0, G_OPTION_ARG_STRING, &backend, "cpu unless said otherwise", "NAME"},
      {NULL},
  };
  GOptionContext *context = g_option_context_new(NULL);
  gboolean good = TRUE;

  g_option_context_add_main_entries(context, entries, NULL);
  if (!g_option_context_parse(context, &argc, &argv, NULL) || frames < 100 || caps_every < 1) {
    fprintf(stderr, "endurance: not understood, or fewer than 100 frames\n");
    return 2;
  }
  g_option_context_free(context);
  gst_init(NULL, NULL);
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    Endurance self = {frames, caps_every, backend ? backend : "cpu", {i + 1}};

    if (!only || strcmp(only, cases[i].element) == 0)
      good = endure(&self, cases[i].element, cases[i].settings) && good;
  }
  g_free(only);
  g_free(backend);
  return good ? 0 : 1;
}
