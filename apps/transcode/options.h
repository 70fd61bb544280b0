/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The options of the command line.
 */
#pragma once

#include <glib.h>

typedef struct {
  gchar *input, *output;
  gchar *filter;   /* as for gst-launch-1.0; NULL with to_sdr alone */
  gchar *encoder;  /* NULL: chosen by the program */
  gboolean to_sdr; /* HDR becomes SDR */
  gdouble quality; /* negative: the encoder's default */
  guint program;   /* of a transport stream; 0: the first */
  gdouble chunk;   /* least length of a chunk in seconds */
  gboolean overwrite, keep_going, dry_run, json;
  guint part, parts; /* --part K/N; 0: none */
  guint join;        /* --join N; 0: none */
  gboolean resume;
  gchar *parts_dir; /* folder of the parts */
} Options;

/* FALSE with an error for wrong arguments. --help and --version print and exit. */
gboolean options_parse(Options *options, int *argc, char ***argv, GError **error);
void options_clear(Options *options);
