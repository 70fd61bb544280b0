/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "options.h"

#include "apps/common/error.h"

#include <gst/gst.h>
#include <stdio.h>
#include <stdlib.h>

#define HELP                                                                                       \
  "usage: cudafilters-transcode IN OUT --filter \"ELEMENT PROPERTY=VALUE ! ...\" [OPTION...]\n"    \
  "       cudafilters-transcode IN OUT --to-sdr [OPTION...]\n"                                     \
  "\n"                                                                                             \
  "Filters the video of a file and leaves everything else as it was: audio, subtitles,\n"          \
  "chapters, tags, rotation, timestamps and HDR metadata. What the new file cannot hold\n"         \
  "is named in a warning. OUT is .mp4, .m4v, .mov, .mkv or .webm.\n"                               \
  "\n"                                                                                             \
  "  --filter TEXT     elements as for gst-launch-1.0\n"                                           \
  "  --to-sdr          convert HDR (PQ, HLG) to SDR of 8 bits with cudatonemap; for other\n"       \
  "                    settings, add --filter \"cudatonemap detail=1.3\"\n"                        \
  "  --encoder NAME    h264, h265, av1 or vp9 (default: the codec of IN), or an\n"                 \
  "                    element with its properties: \"x264enc speed-preset=slow quantizer=18\"\n"  \
  "  --quality N       of encoders that the program chooses; smaller is better\n"                  \
  "  --program N       of a recording of several programs (default: the first)\n"                  \
  "  --overwrite       replace OUT if it exists\n"                                                 \
  "  --keep-going      filter what can be decoded of a broken file\n"                              \
  "  --dry-run         print the gst-launch-1.0 line that does it, and end\n"                      \
  "  --json            say everything as JSON objects on stdout, one a line\n"                     \
  "  --help, --version print this help or the version, and end\n"                                  \
  "\n"                                                                                             \
  "In parts, on one machine or many:\n"                                                            \
  "  --part K/N        filter only part K of N, into DIR; a part that exists is kept\n"            \
  "  --join N          join N parts with the rest of IN\n"                                         \
  "  --resume          make all parts and join them; if interrupted, run it again to go on\n"      \
  "  --parts DIR       folder of the parts (OUT.parts)\n"                                          \
  "  --chunk SECONDS   least length of a chunk (10): each is encoded by itself, and parts\n"       \
  "                    are whole chunks; give all parts and the join the same number\n"            \
  "\n"                                                                                             \
  "Exit status: 0 done; 1 failed; 2 wrong arguments; 3 something is not installed;\n"              \
  "4 IN is broken; 130 interrupted.\n"                                                             \
  "Example: cudafilters-transcode in.mp4 out.mp4 --filter \"cudallf alpha=0.5\"\n"

static gboolean print_help(const gchar *name, const gchar *value, gpointer data, GError **error)
{
  g_print(HELP);
  exit(APP_EXIT_OK);
}

static gboolean print_version(const gchar *name, const gchar *value, gpointer data, GError **error)
{
  g_autofree gchar *gstreamer = gst_version_string();

  g_print("cudafilters-transcode %s, %s\n", APP_VERSION, gstreamer);
  exit(APP_EXIT_OK);
}

static gboolean read_files(Options *options, gchar **files, GError **error)
{
  if (files && g_strv_length(files) == 2) {
    options->input = g_strdup(files[0]);
    options->output = g_strdup(files[1]);
    return TRUE;
  }
  g_set_error_literal(error, APP_ERROR, APP_ERROR_USAGE,
                      "Two files are needed, IN and OUT. --help shows an example.");
  return FALSE;
}

static gboolean read_part(Options *options, const gchar *text, GError **error)
{
  gchar rest;

  if (!text)
    return TRUE;
  if (sscanf(text, "%u/%u%c", &options->part, &options->parts, &rest) == 2 && options->part >= 1 &&
      options->part <= options->parts)
    return TRUE;
  g_set_error(error, APP_ERROR, APP_ERROR_USAGE,
              "--part takes K/N, the K-th of N parts from 1/N to N/N, not \"%s\".", text);
  return FALSE;
}

static gboolean read_program(Options *options, const gchar *text, GError **error)
{
  gchar rest;

  if (!text || (sscanf(text, "%u%c", &options->program, &rest) == 1 && options->program >= 1 &&
                options->program <= G_MAXUINT16))
    return TRUE;
  g_set_error(error, APP_ERROR, APP_ERROR_USAGE,
              "--program takes the number of a program, 1 to %d, not \"%s\".", G_MAXUINT16, text);
  return FALSE;
}

static gboolean read_join(Options *options, const gchar *text, GError **error)
{
  gchar rest;

  if (!text || (sscanf(text, "%u%c", &options->join, &rest) == 1 && (gint)options->join >= 1))
    return TRUE;
  g_set_error(error, APP_ERROR, APP_ERROR_USAGE,
              "--join takes N, the number of parts from 1 on, not \"%s\".", text);
  return FALSE;
}

static gboolean check(Options *options, GError **error)
{
  const gchar *problem = NULL;

  if (!options->filter && !options->to_sdr)
    problem = "There is nothing to do without --filter, such as --filter \"cudallf alpha=0.5\", or "
              "--to-sdr.";
  else if (!(options->chunk > 0) || options->chunk > 1e6)
    problem = "--chunk takes a number of seconds above 0.";
  else if ((options->part > 0) + (options->join > 0) + options->resume > 1)
    problem = "Only one of --part, --join and --resume can be given.";
  if (problem)
    g_set_error_literal(error, APP_ERROR, APP_ERROR_USAGE, problem);
  return !problem;
}

/* That begins with a dash, so that it is taken for an option; NULL: none. */
static const gchar *file_with_dash(gint argc, gchar **argv)
{
  for (gint i = 1; i < argc; i++) {
    if (argv[i][0] == '-' && g_file_test(argv[i], G_FILE_TEST_EXISTS))
      return argv[i];
  }
  return NULL;
}

gboolean options_parse(Options *options, int *argc, char ***argv, GError **error)
{
  g_autofree gchar *part = NULL, *join = NULL, *program = NULL;
  g_auto(GStrv) files = NULL;
  gdouble quality = -1;
  gboolean good;
  g_autoptr(GError) cause = NULL;
  GOptionContext *context = g_option_context_new(NULL);
  const GOptionEntry entries[] = {
      {"help", 'h', G_OPTION_FLAG_NO_ARG, G_OPTION_ARG_CALLBACK, print_help, NULL, NULL},
      {"version", 0, G_OPTION_FLAG_NO_ARG, G_OPTION_ARG_CALLBACK, print_version, NULL, NULL},
      {"filter", 0, 0, G_OPTION_ARG_STRING, &options->filter, NULL, NULL},
      {"to-sdr", 0, 0, G_OPTION_ARG_NONE, &options->to_sdr, NULL, NULL},
      {"encoder", 0, 0, G_OPTION_ARG_STRING, &options->encoder, NULL, NULL},
      {"quality", 0, 0, G_OPTION_ARG_DOUBLE, &quality, NULL, NULL},
      {"program", 0, 0, G_OPTION_ARG_STRING, &program, NULL, NULL},
      {"overwrite", 0, 0, G_OPTION_ARG_NONE, &options->overwrite, NULL, NULL},
      {"keep-going", 0, 0, G_OPTION_ARG_NONE, &options->keep_going, NULL, NULL},
      {"dry-run", 0, 0, G_OPTION_ARG_NONE, &options->dry_run, NULL, NULL},
      {"json", 0, 0, G_OPTION_ARG_NONE, &options->json, NULL, NULL},
      {"part", 0, 0, G_OPTION_ARG_STRING, &part, NULL, NULL},
      {"join", 0, 0, G_OPTION_ARG_STRING, &join, NULL, NULL},
      {"resume", 0, 0, G_OPTION_ARG_NONE, &options->resume, NULL, NULL},
      {"parts", 0, 0, G_OPTION_ARG_FILENAME, &options->parts_dir, NULL, NULL},
      {"chunk", 0, 0, G_OPTION_ARG_DOUBLE, &options->chunk, NULL, NULL},
      {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &files, NULL, NULL},
      {NULL}};

  options->chunk = 10;
  g_option_context_set_help_enabled(context, FALSE);
  g_option_context_add_main_entries(context, entries, NULL);
  good = g_option_context_parse(context, argc, argv, &cause);
  g_option_context_free(context);
  options->quality = quality;
  if (!good && file_with_dash(*argc, *argv))
    g_set_error(error, APP_ERROR, APP_ERROR_USAGE, "%s. The file of that name is \"./%s\".",
                cause->message, file_with_dash(*argc, *argv));
  else if (!good)
    g_set_error(error, APP_ERROR, APP_ERROR_USAGE, "%s. --help lists the options.", cause->message);
  good = good && read_files(options, files, error) && read_part(options, part, error) &&
         read_join(options, join, error) && read_program(options, program, error) &&
         check(options, error);
  return good;
}

void options_clear(Options *options)
{
  g_free(options->input);
  g_free(options->output);
  g_free(options->filter);
  g_free(options->encoder);
  g_free(options->parts_dir);
}
