/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilters-transcode: filters the video of a file, and leaves everything else as it was.
 */
#include "jobs.h"
#include "pipeline.h"
#include "run.h"

#include "apps/common/error.h"
#include "apps/common/json.h"
#include "apps/common/terminal.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <locale.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <signal.h>

#define EXIT_BROKEN      4
#define EXIT_INTERRUPTED 130

/* Checks OUT before anything is read. */
static gboolean check_output(const Options *options, GError **error)
{
  GStatBuf in, out;

  if (options->part > 0 || g_stat(options->output, &out) != 0)
    return TRUE;
  if (g_stat(options->input, &in) == 0 && in.st_ino == out.st_ino && in.st_dev == out.st_dev)
    g_set_error(error, APP_ERROR, APP_ERROR_USAGE,
                "OUT \"%s\" is the same file as IN: choose another.", options->output);
  else if (!S_ISREG(out.st_mode))
    g_set_error(error, APP_ERROR, APP_ERROR_USAGE, "\"%s\" is not a file.", options->output);
  else if (!options->overwrite && !options->dry_run)
    g_set_error(error, APP_ERROR, APP_ERROR_USAGE, "\"%s\" exists: --overwrite replaces it.",
                options->output);
  else
    return TRUE;
  return FALSE;
}

static void print_line(const Recipe *recipe, const Options *options)
{
  g_autoptr(GPtrArray) words = pipeline_whole(recipe, options->output);
  g_autofree gchar *line = pipeline_command_line(words);

  for (guint i = 0; i < recipe->warnings->len; i++)
    app_say("Warning: %s", (const gchar *)g_ptr_array_index(recipe->warnings, i));
  g_print("%s\n", line);
}

static gboolean transcode(const Options *options, GError **error)
{
  const Container *container = container_for(options->output, error);
  g_autoptr(Media) media = NULL;
  Recipe recipe;
  gboolean good = TRUE;

  if (!container || !check_output(options, error))
    return FALSE;
  /* The line for gst-launch-1.0 cannot keep the styles of subtitles. */
  media = media_open(options->input, container_keeps_ssa(container) && !options->dry_run,
                     options->program, error);
  if (!media || !recipe_make(&recipe, media, container, options, error))
    return FALSE;
  if (options->dry_run)
    print_line(&recipe, options);
  else
    good = job_run(&recipe, options, error);
  recipe_clear(&recipe);
  return good;
}

/* x264 164 reads uninitialised memory when it decides on B frames with mb-tree. A new process has
 * zeros there; makes malloc return zeros always, so that parts and whole files get the same
 * decisions. */
static void clear_new_memory(void)
{
#ifdef __GLIBC__
  mallopt(M_PERTURB, 0xff);
#endif
}

static void complain(const gchar *message, gboolean json)
{
  app_complain(message);
  if (json) {
    AppJson *object = app_json_new();

    app_json_string(object, "event", "error");
    app_json_string(object, "message", message);
    app_json_print(object, stdout);
  }
}

static gint exit_code(const GError *error)
{
  if (g_error_matches(error, TRANSCODE_ERROR, TRANSCODE_ERROR_BROKEN))
    return EXIT_BROKEN;
  if (g_error_matches(error, TRANSCODE_ERROR, TRANSCODE_ERROR_INTERRUPTED))
    return EXIT_INTERRUPTED;
  return app_exit_code(error);
}

int main(int argc, char **argv)
{
  Options options = {0};
  g_autoptr(GError) error = NULL;

  setlocale(LC_ALL, "");
  g_set_prgname("cudafilters-transcode");
  /* The limit on file sizes becomes an error of write(), like a full disk. */
  signal(SIGXFSZ, SIG_IGN);
  /* The file is still wanted if the reader of the output goes away. */
  signal(SIGPIPE, SIG_IGN);
  clear_new_memory();
  gst_init(NULL, NULL);
  if (options_parse(&options, &argc, &argv, &error))
    transcode(&options, &error);
  if (error)
    complain(error->message, options.json);
  options_clear(&options);
  return exit_code(error);
}
