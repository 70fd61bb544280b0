/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What was asked for on the command line.
 */
#pragma once

#include <glib.h>

typedef struct {
  gchar *input, *output;
  gchar *filter;   /* in the words of gst-launch-1.0; NULL: none, with to_sdr only */
  gchar *encoder;  /* NULL: chosen here */
  gboolean to_sdr; /* HDR becomes SDR */
  gdouble quality; /* negative: the encoder's default */
  gdouble chunk;   /* seconds after which the encoder starts afresh at the next keyframe */
  gboolean overwrite, keep_going, dry_run, json;
  guint part, parts; /* --part K/N; 0: none */
  guint join;        /* --join N; 0: none */
  gboolean resume;
  gchar *parts_dir; /* where parts lie */
} Options;

/* FALSE with an error for wrong arguments. --help and --version print and exit. */
gboolean options_parse(Options *options, int *argc, char ***argv, GError **error);
void options_clear(Options *options);
