/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "progress.h"

#include "apps/common/filter.h"
#include "apps/common/json.h"
#include "apps/common/terminal.h"

#include <gst/video/video.h>
#include <math.h>

#define BAR_WIDTH       24
#define TERMINAL_PERIOD (G_USEC_PER_SEC / 5)
#define JSON_PERIOD     G_USEC_PER_SEC
#define PIPE_PERIOD     (10 * G_USEC_PER_SEC)

gchar *progress_time(GstClockTime time)
{
  const guint64 tenths = GST_CLOCK_TIME_IS_VALID(time) ? time / (GST_SECOND / 10) : 0;
  const guint hours = tenths / 36000, minutes = tenths / 600 % 60, seconds = tenths / 10 % 60;

  return hours > 0
             ? g_strdup_printf("%u:%02u:%02u.%u", hours, minutes, seconds, (guint)(tenths % 10))
             : g_strdup_printf("%u:%02u.%u", minutes, seconds, (guint)(tenths % 10));
}

static gchar *describe_memory(const Recipe *recipe)
{
  if (recipe->stays_on_gpu)
    return g_strdup(recipe->encoder.gpu ? "frames stay on the GPU"
                                        : "frames leave the GPU for the encoder");
  return g_strdup("frames in system memory");
}

void progress_begin(Progress *progress, const Recipe *recipe, const Options *options)
{
  g_autofree gchar *encoder = g_strjoinv(" ", recipe->encoder.words);
  g_autofree gchar *memory = describe_memory(recipe);
  const GPtrArray *warnings = recipe->warnings;

  progress->json = options->json;
  progress->begun = progress->shown = g_get_monotonic_time();
  if (progress->json) {
    AppJson *json = app_json_new();

    app_json_string(json, "event", "start");
    app_json_string(json, "input", options->input);
    app_json_string(json, "output", options->output);
    app_json_string(json, "decoder", recipe->decoder.factory);
    app_json_string(json, "filter", recipe->description);
    app_json_string(json, "encoder", encoder);
    app_json_boolean(json, "gpu", recipe->stays_on_gpu);
    app_json_open_array(json, "warnings");
    for (guint i = 0; i < warnings->len; i++)
      app_json_string(json, NULL, g_ptr_array_index(warnings, i));
    app_json_close(json);
    app_json_print(json, stdout);
    return;
  }
  app_say("%s -> %s (%s)", options->input, options->output, recipe->container->name);
  app_say("decoder %s, encoder %s, %s", recipe->decoder.factory, encoder, memory);
  for (guint i = 0; i < warnings->len; i++)
    app_say("Warning: %s", (const gchar *)g_ptr_array_index(warnings, i));
}

void progress_warn(const Progress *progress, const gchar *format, ...)
{
  g_autofree gchar *message = NULL;
  va_list arguments;

  va_start(arguments, format);
  message = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  if (progress->json) {
    AppJson *json = app_json_new();

    app_json_string(json, "event", "warning");
    app_json_string(json, "message", message);
    app_json_print(json, stdout);
  } else {
    app_say("Warning: %s", message);
  }
}

static gboolean append_backend(GstElement *element, gpointer data)
{
  GString *text = data;
  g_autofree gchar *backend = NULL;

  if (!g_object_class_find_property(G_OBJECT_GET_CLASS(element), "active-backend"))
    return FALSE;
  g_object_get(element, "active-backend", &backend, NULL);
  if (backend && !g_str_equal(backend, "none"))
    g_string_append_printf(text, "%s%s on %s", text->len ? ", " : "",
                           GST_OBJECT_NAME(gst_element_get_factory(element)), backend);
  return FALSE;
}

/* Filters for 8 bits, RGB say, are common, and nothing else tells that they have been at work. */
static void warn_of_depth(const Progress *progress, const Recipe *recipe, GstElement *pipeline)
{
  g_autoptr(GstElement) frames = gst_bin_get_by_name(GST_BIN(pipeline), RECIPE_FRAMES);
  g_autoptr(GstPad) pad = gst_element_get_static_pad(frames, "sink");
  g_autoptr(GstCaps) caps = gst_pad_get_current_caps(pad);
  GstVideoInfo info;

  if (caps && gst_video_info_from_caps(&info, caps) &&
      GST_VIDEO_INFO_COMP_DEPTH(&info, 0) < recipe->encoder.depth)
    progress_warn(progress, "%u bits become %u: the filter works with no more.",
                  recipe->encoder.depth, GST_VIDEO_INFO_COMP_DEPTH(&info, 0));
}

void progress_backends(const Progress *progress, const Recipe *recipe, GstElement *pipeline)
{
  GString *text = g_string_new(NULL);

  warn_of_depth(progress, recipe, pipeline);
  app_filter_foreach(pipeline, append_backend, text);
  if (text->len > 0 && progress->json) {
    AppJson *json = app_json_new();

    app_json_string(json, "event", "backends");
    app_json_string(json, "backends", text->str);
    app_json_print(json, stdout);
  } else if (text->len > 0) {
    app_say("%s", text->str);
  }
  g_string_free(text, TRUE);
}

static void show_json(gdouble share, guint frames, gdouble rate, gdouble left, guint64 bytes)
{
  AppJson *json = app_json_new();

  app_json_string(json, "event", "progress");
  app_json_number(json, "percent", share < 0 ? NAN : 100 * share, 1);
  app_json_integer(json, "frames", frames);
  app_json_number(json, "fps", rate, 1);
  app_json_number(json, "eta_s", left < 0 ? NAN : left, 1);
  app_json_integer(json, "bytes", (gint64)bytes);
  app_json_print(json, stdout);
}

static void append_bar(GString *line, gdouble share)
{
  const gint filled = (gint)(share * BAR_WIDTH + 0.5);

  g_string_append_c(line, '[');
  for (gint i = 0; i < BAR_WIDTH; i++)
    g_string_append_c(line, i < filled ? '#' : '-');
  g_string_append(line, "] ");
}

static void show_line(gdouble share, guint frames, gdouble rate, gdouble left, guint64 bytes)
{
  g_autofree gchar *size = g_format_size(bytes);
  g_autofree gchar *eta = left < 0 ? NULL : progress_time((GstClockTime)(left * GST_SECOND));
  GString *line = g_string_new(NULL);

  if (share >= 0 && app_is_terminal(stderr))
    append_bar(line, share);
  if (share >= 0)
    g_string_append_printf(line, "%.1f %%, ", 100 * share);
  g_string_append_printf(line, "frame %u, %.1f fps, %s", frames, rate, size);
  if (eta)
    g_string_append_printf(line, ", %.*s left", (gint)strlen(eta) - 2, eta);
  app_status(line->str);
  g_string_free(line, TRUE);
}

void progress_show(Progress *progress, gdouble share, guint frames, guint64 bytes)
{
  const gint64 now = g_get_monotonic_time();
  const gint64 period = progress->json            ? JSON_PERIOD
                        : app_is_terminal(stderr) ? TERMINAL_PERIOD
                                                  : PIPE_PERIOD;
  const gdouble elapsed = (gdouble)(now - progress->begun) / G_USEC_PER_SEC;
  const gdouble left = share > 0 ? elapsed * (1 - share) / share : -1;

  if (now < progress->shown + period || frames == 0)
    return;
  progress->shown = now;
  (progress->json ? show_json : show_line)(MIN(share, 1), frames, frames / elapsed, left, bytes);
}

static void end_json(const gchar *output, guint frames, gdouble seconds, guint64 bytes,
                     guint broken, GstClockTime first_broken)
{
  AppJson *json = app_json_new();

  app_json_string(json, "event", "end");
  app_json_string(json, "output", output);
  app_json_integer(json, "frames", frames);
  app_json_number(json, "seconds", seconds, 2);
  app_json_integer(json, "bytes", (gint64)bytes);
  app_json_integer(json, "broken_frames", broken);
  app_json_number(json, "first_broken_s", broken ? (gdouble)first_broken / GST_SECOND : NAN, 3);
  app_json_print(json, stdout);
}

void progress_end(const Progress *progress, const gchar *output, guint frames, guint64 bytes,
                  guint broken, GstClockTime first_broken)
{
  const gdouble seconds = (gdouble)(g_get_monotonic_time() - progress->begun) / G_USEC_PER_SEC;
  g_autofree gchar *size = g_format_size(bytes);
  g_autofree gchar *time = progress_time(first_broken);

  if (progress->json) {
    end_json(output, frames, seconds, bytes, broken, first_broken);
    return;
  }
  app_status_end();
  if (broken > 0)
    app_say("Warning: %u frames of the source are broken or missing, the first at %s.", broken,
            time);
  app_say("%s: %u %s in %.1f s (%.1f fps), %s", output, frames, frames == 1 ? "frame" : "frames",
          seconds, seconds > 0 ? frames / seconds : 0.0, size);
}
