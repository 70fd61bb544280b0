/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The addresses that --from and --to take, checked before anything starts.
 */
#pragma once

#include <glib.h>

typedef enum {
  RELAY_FILE,
  RELAY_NDI,
  RELAY_RTP,
  RELAY_RTSP,
  RELAY_SHM,
  RELAY_SRT,
  RELAY_TEST,
  RELAY_V4L2,
  RELAY_WINDOW,
} RelayScheme;

typedef enum {
  RELAY_FROM = 1,
  RELAY_TO = 2,
} RelayDirection;

typedef struct {
  RelayScheme scheme;
  gchar *text;  /* as the user wrote it */
  gchar *shown; /* the same without secrets, for messages */
  gchar
      *place; /* the decoded part from "SCHEME:" or "SCHEME://" to "?": a path, a name; may be "" */
  gchar *host;         /* of rtp://HOST:PORT and ndi://HOST:PORT, without brackets; else NULL */
  guint port;          /* with `host` */
  GHashTable *options; /* name -> value (decoded) behind "?" */
} RelayUri;

/* Parses `text`. NULL with APP_ERROR_USAGE, which says what is allowed, for an unknown scheme or
 * one that is not for this direction, an incomplete address, and unknown options or values. */
RelayUri *relay_uri_parse(const gchar *text, RelayDirection direction, GError **error);
void relay_uri_free(RelayUri *uri);

/* The value of an option, or NULL. */
const gchar *relay_uri_get(const RelayUri *uri, const gchar *option);
/* The value of a whole-numbered option, or `fallback`. */
gint relay_uri_get_integer(const RelayUri *uri, const gchar *option, gint fallback);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(RelayUri, relay_uri_free)
