/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "recipe.h"

#include "subtitles.h"

#include "apps/common/error.h"
#include "apps/common/filter.h"

#include <gst/video/video.h>

/* For queues of the other streams, which wait for the encoder: it looks ahead by seconds. The short
 * queue of the decoder keeps the file from being read faster than it is encoded. */
#define UNLIMITED "max-size-buffers=0", "max-size-bytes=0", "max-size-time=0"

/* For queues of frames between two threads. */
#define FEW_FRAMES "max-size-buffers=4", "max-size-bytes=0", "max-size-time=0"

#define CUDA_CAPS "video/x-raw(memory:CUDAMemory)"

#define TONEMAP "cudatonemap"

/* After this time the peak that dynamic=true follows depends on its start by 1/20000. */
#define DYNAMIC_MEMORY (15 * GST_SECOND)

/* The formats that cudatonemap takes; HDR in others is converted before. */
#define TONEMAP_CAPS                                                                               \
  "video/x-raw,format={P010_10LE,I420_10LE,I422_10LE,P012_LE,P016_LE,Y444_10LE,Y444_16LE}"

/* What is 4:2:0, as nearly all players want it, stays so behind a filter for RGB or alpha. */
#define COARSE_CAPS                                                                                \
  "video/x-raw,format={I420,YV12,NV12,NV21,I420_10LE,P010_10LE,I420_12LE,P012_LE,P016_LE,GRAY8}"

static void add(GPtrArray *words, const gchar *first, ...) G_GNUC_NULL_TERMINATED;
static void add(GPtrArray *words, const gchar *first, ...)
{
  va_list more;

  va_start(more, first);
  for (const gchar *word = first; word; word = va_arg(more, const gchar *))
    g_ptr_array_add(words, g_strdup(word));
  va_end(more);
}

static void add_words(GPtrArray *words, gchar *const *more)
{
  for (; *more; more++)
    g_ptr_array_add(words, g_strdup(*more));
}

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
  g_autoptr(GstCaps) cuda = gst_caps_from_string(CUDA_CAPS);

  return asks_for_cpu(element) ||
         !gst_element_factory_can_sink_any_caps(gst_element_get_factory(element), cuda);
}

static gboolean is_tonemap(GstElement *element, gpointer data)
{
  const GstElementFactory *factory = gst_element_get_factory(element);

  return factory && g_str_equal(GST_OBJECT_NAME(factory), TONEMAP);
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
    recipe->description =
        options->filter ? g_strdup_printf(TONEMAP " ! %s", options->filter) : g_strdup(TONEMAP);
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

static void add_file(GPtrArray *words, const gchar *element, const gchar *path, const gchar *name)
{
  g_ptr_array_add(words, g_strdup(element));
  g_ptr_array_add(words, g_strdup_printf("location=%s", path));
  g_ptr_array_add(words, g_strdup_printf("name=%s", name));
}

static void add_source(GPtrArray *words, const Recipe *recipe)
{
  add_file(words, "filesrc", recipe->media->path, RECIPE_FILE);
  add(words, "!", "parsebin", "name=" RECIPE_IN, NULL);
}

static void add_pad(GPtrArray *words, const MediaStream *stream)
{
  g_ptr_array_add(words, g_strdup_printf(RECIPE_IN ".%s", stream->pad));
}

static gboolean is_photograph(const GstCaps *caps)
{
  const GstStructure *structure = gst_caps_get_structure(caps, 0);
  gint rate = 0, per = 1;

  gst_structure_get_fraction(structure, "framerate", &rate, &per);
  return g_str_has_prefix(gst_structure_get_name(structure), "image/") && rate == 0;
}

/* Appends the words from the file's video stream to the encoder. */
static void add_frames(GPtrArray *words, const Recipe *recipe)
{
  add_pad(words, recipe->media->video);
  add(words, "!", "queue", "!", recipe->decoder.factory, "name=" RECIPE_DECODER, "!", NULL);
  if (recipe->stays_on_gpu)
    add(words, CUDA_CAPS, "!", NULL);
  else
    add(words, "videoconvert", "!", NULL);
  /* Players do not show a frame without a duration. */
  if (is_photograph(recipe->media->video->caps))
    add(words, "imagefreeze", "num-buffers=1", "!", "video/x-raw,framerate=25/1", "!", NULL);
  if (!recipe->stays_on_gpu && g_str_equal(recipe->filter[0], TONEMAP) && recipe->to_sdr)
    add(words, TONEMAP_CAPS, "!", NULL);
  add(words, "queue", FEW_FRAMES, "!", NULL);
  add_words(words, recipe->filter);
  if (recipe->stays_on_gpu && !recipe->encoder.gpu)
    add(words, "!", "cudadownload", NULL);
  if (!recipe->stays_on_gpu || !recipe->encoder.gpu) {
    add(words, "!", "videoconvert", NULL);
    if (recipe->coarse_colours)
      add(words, "!", COARSE_CAPS, NULL);
  }
  add(words, "!", "queue", "name=" RECIPE_FRAMES, FEW_FRAMES, "!", NULL);
}

static void add_encoder(GPtrArray *words, const Recipe *recipe)
{
  const gchar *format = NULL;

  if (g_str_equal(recipe->encoder.codec, "h264"))
    format = "video/x-h264,stream-format=avc";
  else if (g_str_equal(recipe->encoder.codec, "h265"))
    format = "video/x-h265,stream-format=hvc1";

  add_words(words, recipe->encoder.words);
  add(words, "name=" RECIPE_ENCODER, "!", recipe->encoder.parser, "!", NULL);
  if (format)
    add(words, format, "!", NULL);
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

static void add_muxer(GPtrArray *words, const Recipe *recipe, const gchar *output)
{
  add(words, recipe->container->muxer, "name=" RECIPE_MUX, NULL);
  if (recipe->container->is_quicktime)
    add(words, "movie-timescale=90000", NULL);
  add(words, "!", NULL);
  add_file(words, "filesink", output, RECIPE_SINK);
}

/* Appends what tells the muxer what the file does not. */
static void add_facts(GPtrArray *words, const Recipe *recipe, const MediaStream *stream)
{
  const gchar *name = gst_structure_get_name(gst_caps_get_structure(stream->caps, 0));

  if (recipe->container->is_quicktime) {
    /* Matroska has no DTS, by which MP4 orders packets. */
    if (recipe->media->mkv && g_str_equal(name, "video/x-h264"))
      add(words, "h264timestamper", "!", NULL);
    else if (recipe->media->mkv && g_str_equal(name, "video/x-h265"))
      add(words, "h265timestamper", "!", NULL);
  } else if (!stream->tags || gst_tag_list_get_tag_size(stream->tags, GST_TAG_LANGUAGE_CODE) == 0) {
    /* A track of Matroska that names no language is English. */
    add(words, "taginject", "tags=language-code=und", "!", NULL);
  }
}

/* Appends the words for all other streams, which go to the muxer unchanged. */
static void add_others(GPtrArray *words, const Recipe *recipe)
{
  const Media *media = recipe->media;
  guint counts[128] = {0}; /* numbers of pads by the first letter of their name */

  counts['v'] = 1;
  for (guint i = 0; i < media->streams->len; i++) {
    const MediaStream *stream = g_ptr_array_index(media->streams, i);
    const gchar *pad, *parser = container_parser(recipe->container, stream->caps, &pad);

    if (stream == media->video || is_chapters(stream) || !parser)
      continue;
    add_pad(words, stream);
    add(words, "!", "queue", UNLIMITED, "!", NULL);
    if (*parser)
      add(words, parser, NULL);
    if (g_str_equal(parser, "capssetter"))
      add(words, "replace=true", "caps=text/x-raw,format=utf8", NULL);
    if (*parser)
      add(words, "!", NULL);
    add_facts(words, recipe, stream);
    g_ptr_array_add(words, g_strdup_printf(RECIPE_MUX ".%s_%u", pad, counts[(guchar)pad[0]]++));
  }
}

GPtrArray *recipe_whole(const Recipe *recipe, const gchar *output)
{
  GPtrArray *words = g_ptr_array_new_with_free_func(g_free);

  add_source(words, recipe);
  add_muxer(words, recipe, output);
  add_frames(words, recipe);
  add_encoder(words, recipe);
  add(words, "queue", "name=" RECIPE_CODED, UNLIMITED, "!", RECIPE_MUX ".video_0", NULL);
  add_others(words, recipe);
  return words;
}

GPtrArray *recipe_part(const Recipe *recipe, const gchar *output)
{
  GPtrArray *words = g_ptr_array_new_with_free_func(g_free);

  add_source(words, recipe);
  add_frames(words, recipe);
  add_encoder(words, recipe);
  add(words, "queue", "name=" RECIPE_CODED, UNLIMITED, "!", "gdppay", "crc-payload=true", "!",
      NULL);
  add_file(words, "filesink", output, RECIPE_SINK);
  return words;
}

GPtrArray *recipe_join(const Recipe *recipe, const gchar *directory, const gchar *pattern,
                       const gchar *output)
{
  GPtrArray *words = g_ptr_array_new_with_free_func(g_free);
  gboolean others = FALSE;

  for (guint i = 0; i < recipe->media->streams->len; i++) {
    const MediaStream *stream = g_ptr_array_index(recipe->media->streams, i);

    others |= stream != recipe->media->video && recipe_keeps(recipe, stream);
  }
  if (others)
    add_source(words, recipe);
  add_muxer(words, recipe, output);
  add(words, "splitfilesrc", NULL);
  g_ptr_array_add(words, g_strdup_printf("location=%s/%s", directory, pattern));
  add(words, "!", "gdpdepay", "!", "queue", "name=" RECIPE_CODED, UNLIMITED, "!",
      RECIPE_MUX ".video_0", NULL);
  add_others(words, recipe);
  return words;
}

gchar *recipe_command_line(const GPtrArray *words)
{
  GString *line = g_string_new("gst-launch-1.0");

  for (guint i = 0; i < words->len; i++) {
    const gchar *word = g_ptr_array_index(words, i);
    const gboolean plain =
        strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                     "_@%+=:,./-!") == strlen(word);
    g_autofree gchar *quoted = plain ? g_strdup(word) : g_shell_quote(word);

    g_string_append_printf(line, " %s", quoted);
  }
  return g_string_free(line, FALSE);
}
