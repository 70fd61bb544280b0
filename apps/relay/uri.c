/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "uri.h"

#include <string.h>

#include "apps/common/error.h"

#define LARGEST_SIZE 32768

typedef struct {
  const gchar *name;
  RelayDirection directions;
  gint least, most;     /* range of a whole number; both 0 for text */
  const gchar *choices; /* for text: the values allowed, separated by blanks; NULL: any */
} Option;

typedef enum {
  PLACE_ANY,       /* the element that takes the address checks it */
  PLACE_PATH,      /* needed */
  PLACE_HOST_PORT, /* needed */
  PLACE_PORT,      /* needed; the host may be empty */
  PLACE_NAME,      /* a name, or //HOST:PORT of a source */
  PLACE_NONE,
} Place;

typedef struct {
  const gchar *name;
  RelayScheme scheme;
  RelayDirection directions;
  Place place;
  const gchar *example;
  const Option *options;
} Scheme;

#define BOTH (RELAY_FROM | RELAY_TO)

/* An option's value is a number within limits, one of the choices, or any text. */
#define PICTURE_SIZE(directions)                                                                   \
  {"width", directions, 1, LARGEST_SIZE, NULL},                                                    \
  {                                                                                                \
    "height", directions, 1, LARGEST_SIZE, NULL                                                    \
  }
#define PICTURE(directions)                                                                        \
  PICTURE_SIZE(directions), {"fps", directions, 1, 1000, NULL},                                    \
  {                                                                                                \
    "format", directions, 0, 0, NULL                                                               \
  }

static const Option file_options[] = {{"loop", RELAY_FROM, 0, 1, NULL}, {NULL}};
static const Option ndi_options[] = {{"color", RELAY_FROM, 0, 0, "uyvy rgb"}, {NULL}};
static const Option rtp_options[] = {{"encoding", RELAY_FROM, 0, 0, "H264 H265 VP8 VP9 JPEG MP2T"},
                                     {"payload", BOTH, 0, 127, NULL},
                                     {NULL}};
static const Option shm_options[] = {PICTURE(BOTH), {NULL}};
static const Option srt_options[] = {{"mode", BOTH, 0, 0, "caller listener rendezvous"},
                                     {"latency", BOTH, 0, 60000, NULL},
                                     {"passphrase", BOTH, 0, 0, NULL},
                                     {"pbkeylen", BOTH, 0, 0, "0 16 24 32"},
                                     {"streamid", BOTH, 0, 0, NULL},
                                     {"localaddress", BOTH, 0, 0, NULL},
                                     {"localport", BOTH, 1, 65535, NULL},
                                     {NULL}};
static const Option test_options[] = {PICTURE(RELAY_FROM),
                                      {"pattern", RELAY_FROM, 0, 0, NULL},
                                      {"frames", RELAY_FROM, 1, G_MAXINT, NULL},
                                      {"sizes", RELAY_FROM, 0, 0, NULL},
                                      {"every", RELAY_FROM, 1, 1000000, NULL},
                                      {NULL}};
static const Option v4l2_options[] = {PICTURE(BOTH), {NULL}};
static const Option no_options[] = {{NULL}};

static const Scheme schemes[] = {
    {"file", RELAY_FILE, BOTH, PLACE_PATH, "file:talk.mp4", file_options},
    {"ndi", RELAY_NDI, BOTH, PLACE_NAME, "ndi:NAME or, to receive, ndi://192.0.2.1:5961",
     ndi_options},
    {"rtp", RELAY_RTP, BOTH, PLACE_HOST_PORT, "rtp://0.0.0.0:5004", rtp_options},
    {"rtsp", RELAY_RTSP, BOTH, PLACE_ANY, "rtsp://192.0.2.1:554/stream", NULL},
    {"rtsps", RELAY_RTSP, BOTH, PLACE_ANY, "rtsps://192.0.2.1:322/stream", NULL},
    {"shm", RELAY_SHM, BOTH, PLACE_PATH, "shm:/tmp/camera?format=NV12&width=640&height=480",
     shm_options},
    {"srt", RELAY_SRT, BOTH, PLACE_PORT, "srt://:7001?mode=listener", srt_options},
    {"test", RELAY_TEST, BOTH, PLACE_NONE, "test:", test_options},
    {"v4l2", RELAY_V4L2, BOTH, PLACE_PATH, "v4l2:/dev/video0", v4l2_options},
    {"window", RELAY_WINDOW, RELAY_TO, PLACE_NONE, "window:", no_options},
};

static gchar *list_schemes(RelayDirection direction)
{
  GString *text = g_string_new(NULL);

  for (gsize i = 0; i < G_N_ELEMENTS(schemes); i++) {
    if (schemes[i].directions & direction)
      g_string_append_printf(text, "%s%s:", text->len > 0 ? ", " : "", schemes[i].name);
  }
  return g_string_free(text, FALSE);
}

static const Scheme *find_scheme(const gchar *text, RelayDirection direction, GError **error)
{
  const gchar *colon = strchr(text, ':');
  g_autofree gchar *all = list_schemes(direction);

  for (gsize i = 0; colon && i < G_N_ELEMENTS(schemes); i++) {
    const Scheme *scheme = &schemes[i];

    if (strlen(scheme->name) != (gsize)(colon - text) ||
        g_ascii_strncasecmp(text, scheme->name, colon - text) != 0)
      continue;
    if (scheme->directions & direction)
      return scheme;
    g_set_error(error, APP_ERROR, APP_ERROR_USAGE, "\"%s\": %s: is for --to alone.", text,
                scheme->name);
    return NULL;
  }
  g_set_error(error, APP_ERROR, APP_ERROR_USAGE,
              "\"%s\" is not an address for --%s. Allowed are those that begin with: %s", text,
              direction == RELAY_FROM ? "from" : "to", all);
  return NULL;
}

static const Option *find_option(const Scheme *scheme, const gchar *name, RelayDirection direction)
{
  for (const Option *option = scheme->options; option->name; option++) {
    if ((option->directions & direction) && g_str_equal(option->name, name))
      return option;
  }
  return NULL;
}

static gchar *list_options(const Scheme *scheme, RelayDirection direction)
{
  GString *text = g_string_new(NULL);

  for (const Option *option = scheme->options; option->name; option++) {
    if (option->directions & direction)
      g_string_append_printf(text, "%s%s", text->len > 0 ? ", " : "", option->name);
  }
  return g_string_free(text, FALSE);
}

static gboolean is_choice(const gchar *choices, const gchar *value)
{
  g_auto(GStrv) words = g_strsplit(choices, " ", -1);

  return g_strv_contains((const gchar *const *)words, value);
}

static gboolean check_option(const Scheme *scheme, const gchar *name, const gchar *value,
                             RelayDirection direction, GError **error)
{
  const Option *option = find_option(scheme, name, direction);
  gint64 number;

  if (!option) {
    g_autofree gchar *all = list_options(scheme, direction);

    g_set_error(error, APP_ERROR, APP_ERROR_USAGE, "%s: does not take the option \"%s\" here%s%s.",
                scheme->name, name, *all ? "; allowed are: " : "", all);
    return FALSE;
  }
  if (option->choices && !is_choice(option->choices, value)) {
    g_set_error(error, APP_ERROR, APP_ERROR_USAGE,
                "%s: does not take %s=%s. Allowed is one of: %s.", scheme->name, name, value,
                option->choices);
    return FALSE;
  }
  if (option->most > 0 &&
      !g_ascii_string_to_signed(value, 10, option->least, option->most, &number, NULL)) {
    g_set_error(error, APP_ERROR, APP_ERROR_USAGE,
                "%s: does not take %s=%s. Allowed is a whole number from %d to %d.", scheme->name,
                name, value, option->least, option->most);
    return FALSE;
  }
  return TRUE;
}

static gboolean read_options(RelayUri *uri, const Scheme *scheme, const gchar *query,
                             RelayDirection direction, GError **error)
{
  g_auto(GStrv) pairs = g_strsplit(query, "&", -1);

  for (gchar **pair = pairs; *pair; pair++) {
    gchar *equals = strchr(*pair, '=');
    g_autofree gchar *value = NULL;

    if (**pair == 0)
      continue;
    if (!equals || !(value = g_uri_unescape_string(equals + 1, NULL))) {
      g_set_error(error, APP_ERROR, APP_ERROR_USAGE,
                  "\"%s\" in \"%s\" is not an option: write ?NAME=VALUE&NAME=VALUE.", *pair,
                  uri->text);
      return FALSE;
    }
    *equals = 0;
    if (!check_option(scheme, *pair, value, direction, error))
      return FALSE;
    g_hash_table_insert(uri->options, g_strdup(*pair), g_steal_pointer(&value));
  }
  return TRUE;
}

/* HOST:PORT with a host that may be empty, or an IPv6 address in brackets. */
static gboolean read_host_port(RelayUri *uri)
{
  const gchar *colon = strrchr(uri->place, ':');
  gsize length = colon ? (gsize)(colon - uri->place) : 0;
  const gchar *host = uri->place;
  guint64 port;

  if (!colon || !g_ascii_string_to_unsigned(colon + 1, 10, 1, 65535, &port, NULL))
    return FALSE;
  if (length >= 2 && host[0] == '[' && host[length - 1] == ']')
    host++, length -= 2;
  uri->host = g_strndup(host, length);
  uri->port = port;
  return TRUE;
}

static gboolean read_place(RelayUri *uri, const Scheme *scheme, gboolean slashes,
                           RelayDirection direction)
{
  switch (scheme->place) {
  case PLACE_ANY:
    return slashes && *uri->place;
  case PLACE_PATH:
    return *uri->place != 0;
  case PLACE_HOST_PORT:
    return slashes && read_host_port(uri) && (direction == RELAY_FROM || *uri->host);
  case PLACE_PORT:
    return slashes && read_host_port(uri);
  case PLACE_NAME:
    return slashes ? direction == RELAY_FROM && read_host_port(uri) && *uri->host
                   : *uri->place != 0;
  case PLACE_NONE:
    return *uri->place == 0;
  }
  return FALSE;
}

/* `text` without passwords, in USER:PASSWORD@HOST and in options. */
static gchar *hide_secrets(const gchar *text)
{
  g_autoptr(GRegex) regex =
      g_regex_new("(//[^/?@:]*:)[^/?@]*(?=@)|([?&](?:passphrase|streamid)=)[^&]*", 0, 0, NULL);

  return g_regex_replace(regex, text, -1, 0, "\\1\\2***", 0, NULL);
}

RelayUri *relay_uri_parse(const gchar *text, RelayDirection direction, GError **error)
{
  const Scheme *scheme = find_scheme(text, direction, error);
  g_autoptr(RelayUri) uri = NULL;
  const gchar *rest, *question;
  g_autofree gchar *place = NULL;
  gboolean slashes;

  if (!scheme)
    return NULL;
  uri = g_new0(RelayUri, 1);
  uri->scheme = scheme->scheme;
  uri->text = g_strdup(text);
  uri->shown = hide_secrets(text);
  uri->options = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
  rest = strchr(text, ':') + 1;
  slashes = g_str_has_prefix(rest, "//");
  rest += slashes ? 2 : 0;
  question = scheme->options ? strchr(rest, '?') : NULL;
  place = question ? g_strndup(rest, question - rest) : g_strdup(rest);
  uri->place = g_uri_unescape_string(place, NULL);
  /* Names of files may have a bare percent sign: "100 % sharp.mp4". */
  if (!uri->place && scheme->place == PLACE_PATH)
    uri->place = g_strdup(place);
  if (!uri->place || !read_place(uri, scheme, slashes, direction)) {
    g_set_error(error, APP_ERROR, APP_ERROR_USAGE, "\"%s\" is not a complete address, such as %s",
                text, scheme->example);
    return NULL;
  }
  if (question && !read_options(uri, scheme, question + 1, direction, error))
    return NULL;
  return g_steal_pointer(&uri);
}

void relay_uri_free(RelayUri *uri)
{
  if (!uri)
    return;
  g_free(uri->text);
  g_free(uri->shown);
  g_free(uri->place);
  g_free(uri->host);
  g_hash_table_unref(uri->options);
  g_free(uri);
}

const gchar *relay_uri_get(const RelayUri *uri, const gchar *option)
{
  return g_hash_table_lookup(uri->options, option);
}

gint relay_uri_get_integer(const RelayUri *uri, const gchar *option, gint fallback)
{
  const gchar *value = relay_uri_get(uri, option);

  return value ? (gint)g_ascii_strtoll(value, NULL, 10) : fallback;
}
