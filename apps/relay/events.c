/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "events.h"

#include <string.h>

#include "apps/common/json.h"
#include "apps/common/terminal.h"

/* GStreamer puts "FILE(LINE): FUNCTION (): PATH:" before the detail. */
static const gchar *find_detail(const gchar *debug)
{
  const gchar *newline = debug ? strchr(debug, '\n') : NULL;

  return newline && newline[1] ? newline + 1 : NULL;
}

gchar *relay_event_describe(GstMessage *message)
{
  g_autoptr(GError) error = NULL;
  g_autofree gchar *debug = NULL, *text = NULL;
  const gchar *detail;

  if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR)
    gst_message_parse_error(message, &error, &debug);
  else
    gst_message_parse_warning(message, &error, &debug);
  detail = find_detail(debug);
  text = detail && !strstr(error->message, detail)
             ? g_strdup_printf("%s (%s)", error->message, detail)
             : g_strdup(error->message);
  g_strstrip(g_strdelimit(text, "\r\n", ' '));
  if (g_str_has_suffix(text, "."))
    text[strlen(text) - 1] = 0;
  return g_steal_pointer(&text);
}

static void print_text(const RelayOptions *options, const gchar *event, const gchar *text)
{
  AppJson *json;

  app_complain(text);
  if (!options->json)
    return;
  json = app_json_new();
  app_json_string(json, "event", event);
  app_json_string(json, "message", text);
  app_json_print(json, stdout);
}

void relay_event_started(const RelayOptions *options, const RelayHardware *hardware)
{
  const gchar *decoder = hardware->decodes ? "gpu" : "cpu";
  const gchar *encoder = hardware->encoder ? hardware->encoder : "none";
  AppJson *json;

  if (!options->json) {
    app_say("%s -> %s -> %s", options->from->shown,
            *options->filter ? options->filter : "no filter", options->to->shown);
    app_say("H.264 is decoded on the %s, and encoded by %s on the %s",
            hardware->decodes ? "GPU" : "CPU", encoder, hardware->gpu_encoder ? "GPU" : "CPU");
    return;
  }
  json = app_json_new();
  app_json_string(json, "event", "start");
  app_json_string(json, "from", options->from->shown);
  app_json_string(json, "to", options->to->shown);
  app_json_string(json, "filter", options->filter);
  app_json_string(json, "decodes_on", decoder);
  app_json_string(json, "encodes_on", hardware->gpu_encoder ? "gpu" : "cpu");
  app_json_string(json, "encoder", hardware->encoder);
  app_json_print(json, stdout);
}

static gboolean is_video_decoder(GstElement *element)
{
  GstElementFactory *factory = gst_element_get_factory(element);

  return factory && gst_element_factory_list_is_type(factory, GST_ELEMENT_FACTORY_TYPE_DECODER) &&
         strstr(gst_element_factory_get_metadata(factory, GST_ELEMENT_METADATA_KLASS), "Video");
}

/* The factory that decodes video in `source`, or NULL. Interned. */
static const gchar *find_decoder(GstElement *source)
{
  GstIterator *elements = gst_bin_iterate_recurse(GST_BIN(source));
  GValue item = G_VALUE_INIT;
  const gchar *name = NULL;

  while (!name && gst_iterator_next(elements, &item) == GST_ITERATOR_OK) {
    GstElement *element = g_value_get_object(&item);

    if (is_video_decoder(element))
      name = g_intern_string(GST_OBJECT_NAME(gst_element_get_factory(element)));
    g_value_reset(&item);
  }
  if (G_IS_VALUE(&item))
    g_value_unset(&item);
  gst_iterator_free(elements);
  return name;
}

void relay_event_connected(const RelayOptions *options, GstElement *source)
{
  const gchar *decoder = find_decoder(source);
  AppJson *json;

  if (!options->json) {
    app_say("Frames come from %s%s%s", options->from->shown, decoder ? ", decoded by " : "",
            decoder ? decoder : "");
    return;
  }
  json = app_json_new();
  app_json_string(json, "event", "connected");
  app_json_string(json, "decoder", decoder);
  app_json_print(json, stdout);
}

void relay_event_lost(const RelayOptions *options, const gchar *reason, guint wait)
{
  AppJson *json;

  if (!options->json) {
    app_say("%s: %s. Trying again.", options->from->shown, reason);
    return;
  }
  json = app_json_new();
  app_json_string(json, "event", "lost");
  app_json_string(json, "reason", reason);
  app_json_integer(json, "wait_ms", wait);
  app_json_print(json, stdout);
}

void relay_event_property(const RelayOptions *options, const gchar *name, const gchar *value)
{
  AppJson *json;

  if (!options->json) {
    app_say("%s is %s", name, value);
    return;
  }
  json = app_json_new();
  app_json_string(json, "event", "property");
  app_json_string(json, "name", name);
  app_json_string(json, "value", value);
  app_json_print(json, stdout);
}

void relay_event_warning(const RelayOptions *options, const gchar *text)
{
  print_text(options, "warning", text);
}

void relay_event_error(const RelayOptions *options, const gchar *text)
{
  print_text(options, "error", text);
}
