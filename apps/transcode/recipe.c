/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "recipe.h"

#include "subtitles.h"

#include "apps/common/error.h"
#include "apps/common/filter.h"

#include <gst/video/video.h>

/* After this time the peak that dynamic=true follows depends on its start by 1/20000. */
#define DYNAMIC_MEMORY (15 * GST_SECOND)
static gboolean asks_for_cpu(GstElement *element)
{
  GParamSpec *spec = g_object_class_find_property(G_OBJECT_GET_CLASS(element), "backend");
  gint backend;

  if (!spec || !G_IS_PARAM_SPEC_ENUM(spec))
    return FALSE;
  g_object_get(element, "backend", &backend, NULL);
  return g_strv_contains(
      (const gchar *const[]){"cpu", "reference", NULL},
      g_enum_get_value(G_PARAM_SPEC_ENUM(spec)->enum_class, backend)->value_nick);
}

static gboolean needs_system_memory(GstElement *element, gpointer data)
{
  g_autoptr(GstCaps) cuda = gst_caps_from_string(RECIPE_CUDA_CAPS);

  return asks_for_cpu(element) ||
         !gst_element_factory_can_sink_any_caps(gst_element_get_factory(element), cuda);
}

static gboolean is_tonemap(GstElement *element, gpointer data)
{
  const GstElementFactory *factory = gst_element_get_factory(element);

  return factory && g_str_equal(GST_OBJECT_NAME(factory), RECIPE_TONEMAP);
}

static gboolean turns_by_tag(GstElement *element, gpointer data)
{
  gint direction = GST_VIDEO_ORIENTATION_IDENTITY;

  if (GST_IS_VIDEO_DIRECTION(element))
    g_object_get(element, "video-direction", &direction, NULL);
  return direction == GST_VIDEO_ORIENTATION_AUTO;
}

static gboolean find_memory(GstElement *element, gpointer data)
{
  GstClockTime *longest = data;
  guint64 hold = 0;
  gboolean dynamic = FALSE;

  if (g_object_class_find_property(G_OBJECT_GET_CLASS(element), "roi-hold"))
    g_object_get(element, "roi-hold", &hold, NULL);
  if (is_tonemap(element, NULL))
    g_object_get(element, "dynamic", &dynamic, NULL);
  *longest = MAX(*longest, dynamic ? DYNAMIC_MEMORY : hold);
  return FALSE;
}

static gboolean is_hdr(const GstCaps *caps)
{
  const gchar *name = gst_structure_get_string(gst_caps_get_structure(caps, 0), "colorimetry");
  GstVideoColorimetry colorimetry;

  return name && gst_video_colorimetry_from_string(&colorimetry, name) &&
         (colorimetry.transfer == GST_VIDEO_TRANSFER_SMPTE2084 ||
          colorimetry.transfer == GST_VIDEO_TRANSFER_ARIB_STD_B67);
}

/* Writes the filter. With --to-sdr and HDR, cudatonemap comes first, unless --filter has it
 * elsewhere. */
static gboolean describe_filter(Recipe *recipe, const Options *options, GError **error)
{
  const gboolean hdr = is_hdr(recipe->media->video->caps);
  GstElement *filter = options->filter ? app_filter_new(options->filter, error) : NULL;
  gboolean has_tonemap;

  if (options->filter && !filter)
    return FALSE;
  has_tonemap = filter && app_filter_foreach(filter, is_tonemap, NULL);
  if (filter)
    gst_object_unref(gst_object_ref_sink(filter));
  recipe->to_sdr = hdr && (has_tonemap || options->to_sdr);
  if (options->to_sdr && !hdr)
    g_ptr_array_add(recipe->warnings,
                    g_strdup_printf("\"%s\" is not marked as HDR (PQ or HLG): its colours stay as "
                                    "they are.",
                                    recipe->media->path));
  if (recipe->to_sdr && !has_tonemap)
    recipe->description = options->filter ? g_strdup_printf(RECIPE_TONEMAP " ! %s", options->filter)
                                          : g_strdup(RECIPE_TONEMAP);
  else
    recipe->description = g_strdup(options->filter ? options->filter : "identity");
  return TRUE;
}

/* Refuses names that the program uses for its own elements. */
static gboolean check_names(GstElement *filter, GError **error)
{
  static const gchar *const taken[] = {RECIPE_FILE,    RECIPE_IN,    RECIPE_DECODER, RECIPE_FRAMES,
                                       RECIPE_ENCODER, RECIPE_CODED, RECIPE_MUX,     RECIPE_SINK};

  for (gsize i = 0; i < G_N_ELEMENTS(taken); i++) {
    g_autoptr(GstElement) found =
        GST_IS_BIN(filter) ? gst_bin_get_by_name(GST_BIN(filter), taken[i]) : NULL;

    if (found) {
      g_set_error(error, APP_ERROR, APP_ERROR_USAGE,
                  "name=%s in the filter is the name of an element of this program: choose "
                  "another one.",
                  taken[i]);
      return FALSE;
    }
  }
  return TRUE;
}

/* Checks the filter, and whether all its elements take CUDA memory. */
static gboolean read_filter(Recipe *recipe, const Options *options, gboolean *on_gpu,
                            GError **error)
{
  g_autoptr(GError) cause = NULL;
  GstElement *filter;

  if (!describe_filter(recipe, options, error))
    return FALSE;
  filter = app_filter_new(recipe->description, error);
  if (!filter)
    return FALSE;
  gst_object_ref_sink(filter);
  if (!check_names(filter, error)) {
    gst_object_unref(filter);
    return FALSE;
  }
  *on_gpu = !app_filter_foreach(filter, needs_system_memory, NULL);
  app_filter_foreach(filter, find_memory, &recipe->overlap);
  recipe->is_turned = app_filter_foreach(filter, turns_by_tag, NULL);
  gst_object_unref(filter);
  if (g_shell_parse_argv(recipe->description, NULL, &recipe->filter, &cause))
    return TRUE;
  g_set_error(error, APP_ERROR, APP_ERROR_USAGE, "--filter \"%s\" cannot be read: %s",
              recipe->description, cause->message);
  return FALSE;
}

static gboolean is_chapters(const MediaStream *stream)
{
  return stream->track && stream->track->is_chapters;
}

gboolean recipe_keeps(const Recipe *recipe, const MediaStream *stream)
{
  const gchar *pad;

  return !is_chapters(stream) && container_parser(recipe->container, stream->caps, &pad);
}

gchar *recipe_orientation(const Recipe *recipe)
{
  gchar *orientation = NULL;

  if (recipe->media->video->tags && !recipe->is_turned)
    gst_tag_list_get_string(recipe->media->video->tags, GST_TAG_IMAGE_ORIENTATION, &orientation);
  if (g_strcmp0(orientation, "rotate-0") == 0)
    g_clear_pointer(&orientation, g_free);
  return orientation;
}

/* Warns of losses that do not concern a stream. */
static void warn_of_other_losses(Recipe *recipe)
{
  const Media *media = recipe->media;
  g_autofree gchar *orientation = recipe_orientation(recipe);
  g_autofree gchar *damage = media_describe_damage(media);
  const gchar *name = recipe->container->name;

  if (orientation && !recipe->container->is_quicktime)
    g_ptr_array_add(
        recipe->warnings,
        g_strdup_printf(
            "the video is rotated for display (%s), which %s cannot store "
            "here: write an MP4, or put \"videoflip video-direction=auto\" into the filter.",
            orientation, name));
  if (is_hdr(media->video->caps) && !recipe->to_sdr &&
      g_str_equal(recipe->encoder.words[0], "av1enc"))
    g_ptr_array_add(recipe->warnings,
                    g_strdup("the file will be marked as HDR, but not the video in it, since "
                             "av1enc cannot do that: some players will show it pale. H.265 keeps "
                             "the mark."));
  if (damage)
    g_ptr_array_add(recipe->warnings, g_steal_pointer(&damage));
  if (media->attachments > 0)
    g_ptr_array_add(
        recipe->warnings,
        g_strdup_printf("attachments, such as fonts, are left out: %u.", media->attachments));
  if (media->has_cover && !recipe->container->is_quicktime)
    g_ptr_array_add(
        recipe->warnings,
        g_strdup_printf("the cover is left out: %s cannot hold one here, MP4 can.", name));
  for (guint i = 0; i < media->streams->len; i++) {
    const MediaStream *stream = g_ptr_array_index(media->streams, i);
    g_autofree gchar *what = media_describe(media, i);

    if (stream->name && recipe->container->is_quicktime && recipe_keeps(recipe, stream))
      g_ptr_array_add(recipe->warnings,
                      g_strdup_printf("%s loses its name, \"%s\".", what, stream->name));
    if (is_chapters(stream) && !media->toc)
      g_ptr_array_add(recipe->warnings, g_strdup("chapters are left out."));
    else if (!is_chapters(stream) && recipe_keeps(recipe, stream) &&
             subtitles_lose_styles(stream, recipe->container->is_quicktime))
      g_ptr_array_add(recipe->warnings,
                      g_strdup_printf("%s loses its styles, such as italics.", what));
  }
}

/* Warns of tracks of an MP4 file that the demuxer ignores, such as timecode and camera data. */
static void warn_of_unread_tracks(Recipe *recipe)
{
  const Media *media = recipe->media;

  for (guint i = 0; media->mp4 && i < media->mp4->tracks->len; i++) {
    const Mp4Track *track = &g_array_index(media->mp4->tracks, Mp4Track, i);
    gboolean is_read = track->is_chapters || track->length == 0;

    for (guint j = 0; j < media->streams->len; j++)
      is_read |= ((const MediaStream *)g_ptr_array_index(media->streams, j))->track == track;
    if (!is_read)
      g_ptr_array_add(
          recipe->warnings,
          g_strdup_printf("track %u (%s) is left out: GStreamer does not read it.",
                          (guint)track->track.id,
                          g_str_equal(track->handler, "tmcd") ? "timecode" : track->handler));
  }
}

static void warn_of_other_programs(Recipe *recipe)
{
  const Media *media = recipe->media;
  g_autofree gchar *all = programs_describe(&media->programs);

  if (media->program > 0)
    g_ptr_array_add(recipe->warnings,
                    g_strdup_printf("only program %u is read, of %s: --program N takes another.",
                                    media->program, all));
}

static void warn_of_lost_streams(Recipe *recipe)
{
  const Media *media = recipe->media;
  const gchar *name = recipe->container->name;

  for (guint i = 0; i < media->streams->len; i++) {
    const MediaStream *stream = g_ptr_array_index(media->streams, i);
    const gchar *other = container_that_holds(stream->caps);
    g_autofree gchar *what = NULL;

    if (stream == media->video || is_chapters(stream) || recipe_keeps(recipe, stream))
      continue;
    what = media_describe(media, i);
    if (other)
      g_ptr_array_add(
          recipe->warnings,
          g_strdup_printf("%s is left out: %s cannot hold it, %s can.", what, name, other));
    else
      g_ptr_array_add(
          recipe->warnings,
          g_strdup_printf("%s is left out: no kind of file that can be written holds it.", what));
  }
}

static Pictures become_sdr(Recipe *recipe, const Pictures *hdr)
{
  if (hdr->chroma)
    g_ptr_array_add(recipe->warnings,
                    g_strdup("chroma becomes 4:2:0: --to-sdr makes no finer one."));
  return (Pictures){.depth = 8, .alpha = hdr->alpha, .interlaced = hdr->interlaced};
}

gboolean recipe_make(Recipe *recipe, const Media *media, const Container *container,
                     const Options *options, GError **error)
{
  Pictures pictures;
  gboolean filter_on_gpu;

  *recipe = (Recipe){
      .media = media, .container = container, .warnings = g_ptr_array_new_with_free_func(g_free)};
  if (!read_filter(recipe, options, &filter_on_gpu, error) ||
      !decoder_choose(&recipe->decoder, media->video->caps, error)) {
    recipe_clear(recipe);
    return FALSE;
  }
  pictures = pictures_look(media, recipe->decoder.factory);
  if (recipe->to_sdr)
    pictures = become_sdr(recipe, &pictures);
  recipe->coarse_colours = !pictures.chroma;
  if (!encoder_choose(&recipe->encoder, recipe->container, media->video->caps, &pictures,
                      options->encoder, options->quality, recipe->warnings, error)) {
    recipe_clear(recipe);
    return FALSE;
  }
  recipe->stays_on_gpu = recipe->decoder.gpu && filter_on_gpu;
  if (options->program == 0)
    warn_of_other_programs(recipe);
  warn_of_lost_streams(recipe);
  warn_of_unread_tracks(recipe);
  warn_of_other_losses(recipe);
  return TRUE;
}

void recipe_clear(Recipe *recipe)
{
  g_clear_pointer(&recipe->decoder.factory, g_free);
  encoder_clear(&recipe->encoder);
  g_clear_pointer(&recipe->description, g_free);
  g_clear_pointer(&recipe->filter, g_strfreev);
  g_clear_pointer(&recipe->warnings, g_ptr_array_unref);
}

static guint64 least_common_multiple(guint64 a, guint64 b)
{
  return a / gst_util_greatest_common_divisor_int64(a, b) * b;
}

guint recipe_time_scale(const Recipe *recipe)
{
  const GstCaps *caps = recipe->media->video->caps;
  gint rate = 0, per = 1;
  guint64 scale = 90000;

  if (gst_structure_get_fraction(gst_caps_get_structure(caps, 0), "framerate", &rate, &per) &&
      rate > 0)
    scale = least_common_multiple(scale, rate);
  return scale <= G_MAXINT32 ? (guint)scale : (guint)rate;
}
