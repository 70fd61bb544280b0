/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pipeline.h"

/* For queues of the other streams, which wait for the encoder: it looks ahead by seconds. The short
 * queue of the decoder keeps the file from being read faster than it is encoded. */
#define UNLIMITED "max-size-buffers=0", "max-size-bytes=0", "max-size-time=0"

/* For queues of frames between two threads. */
#define FEW_FRAMES "max-size-buffers=4", "max-size-bytes=0", "max-size-time=0"

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
    add(words, RECIPE_CUDA_CAPS, "!", NULL);
  else
    add(words, "videoconvert", "!", NULL);
  /* Players do not show a frame without a duration. */
  if (is_photograph(recipe->media->video->caps))
    add(words, "imagefreeze", "num-buffers=1", "!", "video/x-raw,framerate=25/1", "!", NULL);
  if (!recipe->stays_on_gpu && g_str_equal(recipe->filter[0], RECIPE_TONEMAP) && recipe->to_sdr)
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

    if (stream == media->video || !recipe_keeps(recipe, stream))
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

GPtrArray *pipeline_whole(const Recipe *recipe, const gchar *output)
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

GPtrArray *pipeline_part(const Recipe *recipe, const gchar *output)
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

GPtrArray *pipeline_join(const Recipe *recipe, const gchar *directory, const gchar *pattern,
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

gchar *pipeline_command_line(const GPtrArray *words)
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
