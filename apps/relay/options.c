/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "options.h"

#include <glib/gstdio.h>

#include "apps/common/error.h"

#define HELP                                                                                       \
  "Usage: cudafilters-relay --from URI --to URI [--filter CHAIN] [OPTION...]\n"                    \
  "Receives live video, filters the newest frame, and sends it on. For example:\n"                 \
  "  cudafilters-relay --from v4l2:/dev/video0 --to window: --filter cudallf\n"                    \
  "\n"                                                                                             \
  "  --from URI      v4l2:/dev/video0  srt://:7001?mode=listener  rtsp://HOST/PATH\n"              \
  "                  rtp://0.0.0.0:5004?encoding=H264  ndi:NAME  ndi://HOST:PORT\n"                \
  "                  shm:PATH?format=NV12&width=W&height=H  test:  file:PATH\n"                    \
  "  --to URI        the same, and window:  (test: counts frames and forgets them)\n"              \
  "  --filter CHAIN  elements as for gst-launch-1.0\n"                                             \
  "  --drop WHAT     newest: the newest frame wins, others are dropped (default);\n"               \
  "                  none: all are filtered, and the delay grows with a slow filter\n"             \
  "  --repeat        send the last frame again while the filter is at the next one\n"              \
  "  --once          end when the source ends or fails, instead of waiting for it\n"               \
  "  --timeout S     reconnect to a source that has sent nothing for S seconds (3)\n"              \
  "  --latency MS    how late packets from the network may be (40)\n"                              \
  "  --bitrate KBIT  of H.264 outputs, in kbit/s (6000)\n"                                         \
  "  --gpu WHICH     auto: decode and encode on the GPU where that works; or off\n"                \
  "  --stats S       print statistics every S seconds (1); 0 for none\n"                           \
  "  --json          events and statistics as JSON objects, one a line, on stdout\n"               \
  "  --help, --version\n"                                                                          \
  "\n"                                                                                             \
  "Lines on standard input set properties of the filter: \"alpha 0.5\". Ctrl-C ends.\n"            \
  "Exit codes: 0 done or stopped, 1 failed, 2 wrong arguments, 3 not installed.\n"

/* The options as GOption parses them. */
typedef struct {
  gchar *from, *to, *filter, *drop, *gpu;
  gboolean repeat, once, json, help, version;
  gint latency, bitrate;
  gdouble timeout, interval;
} Raw;

static gboolean parse_words(Raw *raw, int argc, char **argv, GError **error)
{
  const GOptionEntry entries[] = {{"from", 0, 0, G_OPTION_ARG_STRING, &raw->from, NULL, NULL},
                                  {"to", 0, 0, G_OPTION_ARG_STRING, &raw->to, NULL, NULL},
                                  {"filter", 0, 0, G_OPTION_ARG_STRING, &raw->filter, NULL, NULL},
                                  {"drop", 0, 0, G_OPTION_ARG_STRING, &raw->drop, NULL, NULL},
                                  {"gpu", 0, 0, G_OPTION_ARG_STRING, &raw->gpu, NULL, NULL},
                                  {"repeat", 0, 0, G_OPTION_ARG_NONE, &raw->repeat, NULL, NULL},
                                  {"once", 0, 0, G_OPTION_ARG_NONE, &raw->once, NULL, NULL},
                                  {"json", 0, 0, G_OPTION_ARG_NONE, &raw->json, NULL, NULL},
                                  {"latency", 0, 0, G_OPTION_ARG_INT, &raw->latency, NULL, NULL},
                                  {"bitrate", 0, 0, G_OPTION_ARG_INT, &raw->bitrate, NULL, NULL},
                                  {"timeout", 0, 0, G_OPTION_ARG_DOUBLE, &raw->timeout, NULL, NULL},
                                  {"stats", 0, 0, G_OPTION_ARG_DOUBLE, &raw->interval, NULL, NULL},
                                  {"help", 'h', 0, G_OPTION_ARG_NONE, &raw->help, NULL, NULL},
                                  {"version", 0, 0, G_OPTION_ARG_NONE, &raw->version, NULL, NULL},
                                  {NULL}};
  g_autoptr(GOptionContext) context = g_option_context_new(NULL);
  g_autoptr(GError) problem = NULL;
  g_auto(GStrv) words = g_strdupv(argv);

  g_option_context_set_help_enabled(context, FALSE);
  g_option_context_add_main_entries(context, entries, NULL);
  if (!g_option_context_parse_strv(context, &words, &problem)) {
    g_set_error(error, APP_ERROR, APP_ERROR_USAGE, "%s. --help lists the options.",
                problem->message);
    return FALSE;
  }
  if (words[0] && words[1]) {
    g_set_error(error, APP_ERROR, APP_ERROR_USAGE,
                "\"%s\" is not an option. Addresses follow --from and --to, and a filter "
                "of several words needs quotes.",
                words[1]);
    return FALSE;
  }
  return TRUE;
}

/* Parses `given`, one of two words; NULL means the first. */
static gboolean choose(const gchar *option, const gchar *given, const gchar *first,
                       const gchar *second, gboolean *is_first, GError **error)
{
  *is_first = !given || g_str_equal(given, first);
  if (*is_first || g_str_equal(given, second))
    return TRUE;
  g_set_error(error, APP_ERROR, APP_ERROR_USAGE, "--%s takes %s or %s, not \"%s\".", option, first,
              second, given);
  return FALSE;
}

static gboolean check_number(const gchar *option, gdouble value, gdouble least, gdouble most,
                             GError **error)
{
  if (value >= least && value <= most)
    return TRUE;
  g_set_error(error, APP_ERROR, APP_ERROR_USAGE, "--%s takes a number from %g to %g, not %g.",
              option, least, most, value);
  return FALSE;
}

/* Refuses to write the file that is read: it would be truncated first. */
static gboolean check_files(const RelayUri *from, const RelayUri *to, GError **error)
{
  GStatBuf in, out;

  if (from->scheme != RELAY_FILE || to->scheme != RELAY_FILE || g_stat(from->place, &in) != 0 ||
      g_stat(to->place, &out) != 0 || in.st_ino != out.st_ino || in.st_dev != out.st_dev)
    return TRUE;
  g_set_error(error, APP_ERROR, APP_ERROR_USAGE,
              "--to \"%s\" is the file that --from reads: choose another.", to->place);
  return FALSE;
}

static gboolean take_over(RelayOptions *options, Raw *raw, GError **error)
{
  if (!raw->from || !raw->to) {
    g_set_error(error, APP_ERROR, APP_ERROR_USAGE,
                "--%s is missing, which says where the video %s. --help shows an example.",
                raw->from ? "to" : "from", raw->from ? "goes" : "comes from");
    return FALSE;
  }
  if (!choose("drop", raw->drop, "newest", "none", &options->newest, error) ||
      !choose("gpu", raw->gpu, "auto", "off", &options->gpu, error) ||
      !check_number("latency", raw->latency, 0, 60000, error) ||
      !check_number("bitrate", raw->bitrate, 16, 1000000, error) ||
      !check_number("timeout", raw->timeout, 0.1, 86400, error) ||
      !check_number("stats", raw->interval, 0, 86400, error))
    return FALSE;
  options->from = relay_uri_parse(raw->from, RELAY_FROM, error);
  options->to = options->from ? relay_uri_parse(raw->to, RELAY_TO, error) : NULL;
  if (!options->to || !check_files(options->from, options->to, error))
    return FALSE;
  options->filter = g_strdup(raw->filter ? raw->filter : "");
  options->repeat = raw->repeat;
  options->once = raw->once;
  options->json = raw->json;
  options->latency = raw->latency;
  options->bitrate = raw->bitrate;
  options->timeout = raw->timeout * GST_SECOND;
  options->interval = raw->interval * GST_SECOND;
  return TRUE;
}

RelayOptionsResult relay_options_read(RelayOptions *options, int argc, char **argv, GError **error)
{
  Raw raw = {.latency = 40, .bitrate = 6000, .timeout = 3, .interval = 1};
  RelayOptionsResult result = RELAY_OPTIONS_WRONG;

  *options = (RelayOptions){0};
  if (parse_words(&raw, argc, argv, error)) {
    if (raw.help || raw.version) {
      g_print("%s", raw.help ? HELP : "cudafilters-relay " APP_VERSION "\n");
      result = RELAY_OPTIONS_ANSWERED;
    } else if (take_over(options, &raw, error)) {
      result = RELAY_OPTIONS_GO_ON;
    }
  }
  g_free(raw.from);
  g_free(raw.to);
  g_free(raw.filter);
  g_free(raw.drop);
  g_free(raw.gpu);
  return result;
}

void relay_options_clear(RelayOptions *options)
{
  g_clear_pointer(&options->from, relay_uri_free);
  g_clear_pointer(&options->to, relay_uri_free);
  g_clear_pointer(&options->filter, g_free);
}
