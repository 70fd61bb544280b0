/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "jobs.h"

#include "index.h"
#include "mkv-result.h"
#include "mp4-result.h"
#include "output.h"
#include "pipeline.h"
#include "progress.h"
#include "run.h"
#include "timeline.h"

#include "apps/common/error.h"
#include "apps/common/terminal.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>

/* Length of parts with --resume: an interruption loses up to one part. The number is limited
 * because each part reads the file from its beginning to its own end. */
#define RESUME_PART_SECONDS 120
#define RESUME_MAX_PARTS    24

/* Parts on disk. Their names include `identity`, so that a part made from another file or with
 * another filter or encoder is not used. */
typedef struct {
  gchar *directory;
  gchar *identity;
  guint count;
} Parts;

/* Writes into the file what the muxer does not write, or writes wrongly. */
static gboolean complete(const Recipe *recipe, const gchar *unfinished, GstClockTime end,
                         GError **error)
{
  g_autoptr(GArray) leads = g_array_new(FALSE, FALSE, sizeof(guint64));
  g_autoptr(GArray) flags = g_array_new(FALSE, FALSE, sizeof(TrackFlags));
  const Media *media = recipe->media;
  GstVideoMasteringDisplayInfo mastering;
  GstVideoContentLightLevel light;
  Mp4Additions additions = {.leads = leads, .flags = flags, .toc = media->toc};
  g_autofree gchar *orientation = recipe_orientation(recipe);
  GstClockTime lead = 0;

  /* SDR gets no HDR metadata. */
  if (!recipe->to_sdr && gst_video_mastering_display_info_from_caps(&mastering, media->video->caps))
    additions.mastering = &mastering;
  g_array_append_val(leads, lead);
  g_array_append_val(flags, media->video->flags);
  for (guint i = 0; i < media->streams->len; i++) {
    const MediaStream *stream = g_ptr_array_index(media->streams, i);

    if (stream != media->video && recipe_keeps(recipe, stream)) {
      lead = timeline_lead(media, stream);
      g_array_append_val(leads, lead);
      g_array_append_val(flags, stream->flags);
    }
  }
  if (!recipe->container->is_quicktime)
    return mkv_result_correct(unfinished, additions.mastering, flags, end, error);
  additions.origin = media->mp4 ? &media->mp4->origin : NULL;
  additions.orientation = orientation;
  if (!recipe->to_sdr && gst_video_content_light_level_from_caps(&light, media->video->caps))
    additions.light = &light;
  return mp4_result_complete(unfinished, &additions, error);
}

/* Writes options->output: filtered or, if `packets` is not 0, joined from parts with so many
 * packets. */
static gboolean write_file(const Recipe *recipe, const Options *options, GPtrArray *words,
                           guint packets, Progress *progress, GError **error)
{
  const RunPlan plan = {recipe, options, words, options->output, NULL, packets};
  g_autofree gchar *unfinished = output_unfinished(options->output);
  RunResult result;

  if (!run_pipeline(&plan, progress, &result, error))
    return FALSE;
  if (!complete(recipe, unfinished, result.end, error) || !output_commit(options->output, error)) {
    output_discard(options->output);
    return FALSE;
  }
  progress_end(progress, options->output, result.frames, output_size(options->output),
               result.broken, result.first_broken);
  return TRUE;
}

static gboolean filter_whole(const Recipe *recipe, const Options *options, GError **error)
{
  g_autofree gchar *unfinished = output_unfinished(options->output);
  g_autoptr(GPtrArray) words = pipeline_whole(recipe, unfinished);
  Progress progress;

  progress_begin(&progress, recipe, options);
  return write_file(recipe, options, words, 0, &progress, error);
}

static void parts_init(Parts *parts, const Recipe *recipe, const Options *options,
                       const Index *index, guint count)
{
  g_autofree gchar *encoder = g_strjoinv(" ", recipe->encoder.words);
  g_autofree gchar *settings = g_strdup_printf("%s\n%s\n%s\n%u\n%g", recipe->container->name,
                                               recipe->description, encoder, count, options->chunk);
  GChecksum *checksum = g_checksum_copy(index->checksum);

  g_checksum_update(checksum, (const guchar *)settings, -1);
  parts->identity = g_strndup(g_checksum_get_string(checksum), 12);
  parts->directory = options->parts_dir ? g_strdup(options->parts_dir)
                                        : g_strconcat(options->output, ".parts", NULL);
  parts->count = count;
  g_checksum_free(checksum);
}

static void parts_clear(Parts *parts)
{
  g_free(parts->directory);
  g_free(parts->identity);
}

static gchar *part_path(const Parts *parts, guint part)
{
  return g_strdup_printf("%s/part-%05u-of-%05u-%s.gdp", parts->directory, part, parts->count,
                         parts->identity);
}

/* Marks a part without frames. */
static gchar *part_empty_path(const Parts *parts, guint part)
{
  g_autofree gchar *path = part_path(parts, part);

  return g_strconcat(path, ".empty", NULL);
}

/* The file that holds the size of the part in bytes. */
static gchar *part_size_path(const Parts *parts, guint part)
{
  g_autofree gchar *path = part_path(parts, part);

  return g_strconcat(path, ".size", NULL);
}

/* Whether the part exists and has its full size: copies from other machines may be cut off. */
static gboolean part_exists(const Parts *parts, guint part)
{
  g_autofree gchar *path = part_path(parts, part), *empty = part_empty_path(parts, part);
  g_autofree gchar *size = part_size_path(parts, part), *bytes = NULL;
  GStatBuf status;

  if (g_stat(path, &status) != 0)
    return g_file_test(empty, G_FILE_TEST_EXISTS);
  return !g_file_get_contents(size, &bytes, NULL, NULL) ||
         g_ascii_strtoull(bytes, NULL, 10) == (guint64)status.st_size;
}

static gboolean make_directory(const Parts *parts, GError **error)
{
  if (g_mkdir_with_parents(parts->directory, 0777) == 0)
    return TRUE;
  g_set_error(error, APP_ERROR, APP_ERROR_FAILED, "Cannot make the folder \"%s\": %s.",
              parts->directory, g_strerror(errno));
  return FALSE;
}

static gboolean write_text(const gchar *path, const gchar *text, GError **error)
{
  g_autoptr(GError) cause = NULL;

  if (g_file_set_contents(path, text, -1, &cause))
    return TRUE;
  g_set_error(error, APP_ERROR, APP_ERROR_FAILED, "Cannot write \"%s\": %s.", path, cause->message);
  return FALSE;
}

static gboolean make_part(const Recipe *recipe, const Options *options, const Index *index,
                          const Parts *parts, guint part, Progress *progress, GError **error)
{
  const PartRange range = index_part(index, part, parts->count, recipe->overlap);
  g_autofree gchar *path = part_path(parts, part), *empty = part_empty_path(parts, part);
  g_autofree gchar *size = part_size_path(parts, part), *bytes = NULL;
  g_autofree gchar *unfinished = output_unfinished(path);
  g_autoptr(GPtrArray) words = pipeline_part(recipe, unfinished);
  const RunPlan plan = {recipe, options, words, path, &range, 0};
  RunResult result;

  if (part_exists(parts, part)) {
    if (!options->json)
      app_say("Part %u of %u is there already.", part, parts->count);
    return TRUE;
  }
  if (range.empty) {
    if (!options->json)
      app_say("Part %u of %u has no frames: there are only %u chunks.", part, parts->count,
              index->starts->len);
    return write_text(empty, "", error);
  }
  if (!run_pipeline(&plan, progress, &result, error))
    return FALSE;
  bytes = g_strdup_printf("%" G_GUINT64_FORMAT "\n", output_size(path));
  if (!write_text(size, bytes, error) || !output_commit(path, error)) {
    output_discard(path);
    return FALSE;
  }
  progress_end(progress, path, result.frames, output_size(path), result.broken,
               result.first_broken);
  return TRUE;
}

/* The numbers of missing parts, such as "2, 5, 6"; NULL if none are. */
static gchar *list_missing(const Parts *parts)
{
  GString *list = g_string_new(NULL);

  for (guint part = 1; part <= parts->count; part++) {
    if (!part_exists(parts, part))
      g_string_append_printf(list, "%s%u", list->len ? ", " : "", part);
  }
  return g_string_free(list, list->len == 0);
}

static gboolean join(const Recipe *recipe, const Options *options, const Index *index,
                     const Parts *parts, Progress *progress, GError **error)
{
  g_autofree gchar *unfinished = output_unfinished(options->output);
  g_autofree gchar *missing = list_missing(parts);
  g_autofree gchar *pattern =
      g_strdup_printf("part-*-of-%05u-%s.gdp", parts->count, parts->identity);
  g_autoptr(GPtrArray) words = pipeline_join(recipe, parts->directory, pattern, unfinished);

  if (!missing)
    return write_file(recipe, options, words, index->packets, progress, error);
  g_set_error(error, APP_ERROR, APP_ERROR_FAILED,
              "In \"%s\" these of %u parts are missing or not whole: %s. Make them with --part and "
              "the same --program, --filter, --to-sdr, --encoder, --quality and --chunk.",
              parts->directory, parts->count, missing);
  return FALSE;
}

static guint parts_for_resume(const Recipe *recipe, const Index *index)
{
  const GstClockTime duration = recipe->media->duration;
  const guint64 wanted = GST_CLOCK_TIME_IS_VALID(duration)
                             ? duration / (RESUME_PART_SECONDS * GST_SECOND)
                             : RESUME_MAX_PARTS;

  return (guint)CLAMP(wanted, 1, MIN(RESUME_MAX_PARTS, index->starts->len));
}

static void remove_parts(const Parts *parts)
{
  for (guint part = 1; part <= parts->count; part++) {
    g_autofree gchar *path = part_path(parts, part), *empty = part_empty_path(parts, part);
    g_autofree gchar *size = part_size_path(parts, part);

    g_unlink(path);
    g_unlink(empty);
    g_unlink(size);
  }
  g_rmdir(parts->directory);
}

static gboolean resume(const Recipe *recipe, const Options *options, const Index *index,
                       const Parts *parts, Progress *progress, GError **error)
{
  for (guint part = 1; part <= parts->count; part++) {
    if (!make_part(recipe, options, index, parts, part, progress, error))
      return FALSE;
  }
  if (!join(recipe, options, index, parts, progress, error))
    return FALSE;
  remove_parts(parts);
  return TRUE;
}

gboolean job_run(const Recipe *recipe, const Options *options, GError **error)
{
  g_autoptr(Index) index = NULL;
  g_autofree gchar *damage = media_describe_damage(recipe->media);
  Progress progress;
  Parts parts;
  gboolean good;

  if (damage && !options->keep_going) {
    g_set_error(error, TRANSCODE_ERROR, TRANSCODE_ERROR_BROKEN,
                "%s --keep-going filters what is there.", damage);
    return FALSE;
  }
  if (options->part == 0 && options->join == 0 && !options->resume)
    return filter_whole(recipe, options, error);
  index = index_read(recipe->media, (GstClockTime)(options->chunk * GST_SECOND), error);
  if (!index)
    return FALSE;
  parts_init(&parts, recipe, options, index,
             options->resume ? parts_for_resume(recipe, index)
                             : MAX(options->parts, options->join));
  progress_begin(&progress, recipe, options);
  if (options->join > 0)
    good = join(recipe, options, index, &parts, &progress, error);
  else if (!make_directory(&parts, error))
    good = FALSE;
  else if (options->resume)
    good = resume(recipe, options, index, &parts, &progress, error);
  else
    good = make_part(recipe, options, index, &parts, options->part, &progress, error);
  parts_clear(&parts);
  return good;
}
