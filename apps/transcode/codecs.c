/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "codecs.h"

#include "apps/common/elements.h"
#include "apps/common/error.h"
#include "apps/common/properties.h"

#include <gst/pbutils/pbutils.h>
#include <gst/video/video.h>

typedef struct {
  const gchar *name; /* what users write */
  const gchar *title;
  const gchar *caps;
  const gchar *parser;
  const gchar *gpu_decoders; /* separated by blanks, the best first */
} Codec;

static const Codec codecs[] = {
    {"h264", "H.264", "video/x-h264", "h264parse", "nvh264dec nvh264sldec"},
    {"h265", "H.265", "video/x-h265", "h265parse", "nvh265dec nvh265sldec"},
    {"av1", "AV1", "video/x-av1", "av1parse", "nvav1dec"},
    {"vp9", "VP9", "video/x-vp9", "vp9parse", "nvvp9dec nvvp9sldec"},
    {"vp8", "VP8", "video/x-vp8", "", "nvvp8dec nvvp8sldec"},
    {"mpeg2", "MPEG-2", "video/mpeg", "mpegvideoparse", "nvmpeg2videodec nvmpegvideodec"},
};

/* Encoders, the best of each codec first. Q in `properties` stands for the quality; properties that
 * the installed version of the element does not have are left out. */
typedef struct {
  const gchar *factory;
  const gchar *codec;
  gdouble quality, best, worst; /* default, and the range */
  gboolean gpu;
  const gchar *properties;
} EncoderRow;

static const EncoderRow encoders[] = {
    {"nvh264enc", "h264", 23, 1, 51, TRUE,
     "rc-mode=vbr rate-control=vbr const-quality=Q bitrate=0 gop-size=250"},
    {"nvcudah264enc", "h264", 23, 1, 51, TRUE, "rate-control=vbr const-quality=Q gop-size=250"},
    {"x264enc", "h264", 20, 0, 50, FALSE,
     "pass=qual quantizer=Q vbv-buf-capacity=0 speed-preset=medium"},
    {"openh264enc", "h264", 22, 1, 51, FALSE,
     "rate-control=off qp-min=Q qp-max=Q gop-size=250 complexity=high"},
    {"nvh265enc", "h265", 25, 1, 51, TRUE,
     "rc-mode=vbr rate-control=vbr const-quality=Q bitrate=0 gop-size=250"},
    {"nvcudah265enc", "h265", 25, 1, 51, TRUE, "rate-control=vbr const-quality=Q gop-size=250"},
    {"x265enc", "h265", 22, 0, 51, FALSE, "option-string=crf=Q:open-gop=0 speed-preset=medium"},
    {"nvav1enc", "av1", 28, 1, 51, TRUE, "rate-control=vbr const-quality=Q gop-size=250"},
    {"svtav1enc", "av1", 30, 1, 63, FALSE, "crf=Q preset=6"},
    {"av1enc", "av1", 30, 0, 63, FALSE,
     "end-usage=q min-quantizer=Q max-quantizer=Q cpu-used=6 row-mt=true lag-in-frames=25 "
     "keyframe-max-dist=250"},
    {"vp9enc", "vp9", 30, 0, 63, FALSE,
     "end-usage=cq cq-level=Q target-bitrate=0 cpu-used=2 row-mt=true deadline=1000000 "
     "keyframe-max-dist=250 min-quantizer=0 max-quantizer=63"},
};

static const Codec *codec_by_name(const gchar *name)
{
  for (gsize i = 0; i < G_N_ELEMENTS(codecs); i++) {
    if (g_strcmp0(codecs[i].name, name) == 0)
      return &codecs[i];
  }
  return NULL;
}

static const Codec *codec_of(const GstCaps *caps)
{
  for (gsize i = 0; i < G_N_ELEMENTS(codecs); i++) {
    if (gst_structure_has_name(gst_caps_get_structure(caps, 0), codecs[i].caps))
      return &codecs[i];
  }
  return NULL;
}

gboolean codec_tells_pictures(const GstCaps *caps)
{
  return codec_of(caps) != NULL;
}

static gboolean factory_takes(const gchar *name, const GstCaps *caps)
{
  GstElementFactory *factory = gst_element_factory_find(name);
  const gboolean takes = factory && gst_element_factory_can_sink_any_caps(factory, caps);

  if (factory)
    gst_object_unref(factory);
  return takes;
}

static gchar *find_gpu_decoder(const Codec *codec, const GstCaps *caps)
{
  g_auto(GStrv) names = g_strsplit(codec->gpu_decoders, " ", -1);

  for (gchar **name = names; *name; name++) {
    if (factory_takes(*name, caps) && app_element_works(*name))
      return g_strdup(*name);
  }
  return NULL;
}

/* A software decoder for `media`, or NULL. Other hardware decoders may output memory that no filter
 * can read. */
static gchar *find_cpu_decoder(const GstCaps *caps, GstElementFactoryListType media)
{
  GList *all = gst_element_factory_list_get_elements(GST_ELEMENT_FACTORY_TYPE_DECODER | media,
                                                     GST_RANK_MARGINAL);
  GList *fitting = gst_element_factory_list_filter(all, caps, GST_PAD_SINK, TRUE);
  gchar *found = NULL;

  fitting = g_list_sort(fitting, gst_plugin_feature_rank_compare_func);
  for (const GList *at = fitting; at && !found; at = at->next) {
    const gchar *klass = gst_element_factory_get_metadata(at->data, GST_ELEMENT_METADATA_KLASS);

    if (!strstr(klass, "Hardware") && app_element_works(GST_OBJECT_NAME(at->data)))
      found = g_strdup(GST_OBJECT_NAME(at->data));
  }
  gst_plugin_feature_list_free(fitting);
  gst_plugin_feature_list_free(all);
  return found;
}

/* The name of the codec or, if GStreamer has none, its caps. */
static gchar *describe_codec(const GstCaps *caps)
{
  gchar *name = gst_pb_utils_get_codec_description(caps);
  g_autoptr(GstCaps) rest = NULL;

  if (!gst_structure_has_name(gst_caps_get_structure(caps, 0), name))
    return name;
  g_free(name);
  rest = gst_caps_copy(caps);
  gst_structure_remove_fields(gst_caps_get_structure(rest, 0), "width", "height", "framerate",
                              "pixel-aspect-ratio", NULL);
  return gst_caps_to_string(rest);
}

gboolean decoder_choose(Decoder *decoder, const GstCaps *caps, GError **error)
{
  const Codec *codec = codec_of(caps);
  g_autofree gchar *description = describe_codec(caps);

  if (gst_structure_has_name(gst_caps_get_structure(caps, 0), "video/x-raw"))
    decoder->factory = g_strdup("identity");
  else if (codec)
    decoder->factory = find_gpu_decoder(codec, caps);
  decoder->gpu = decoder->factory && codec;
  if (!decoder->factory)
    decoder->factory = find_cpu_decoder(caps, GST_ELEMENT_FACTORY_TYPE_MEDIA_VIDEO);
  if (!decoder->factory)
    decoder->factory = find_cpu_decoder(caps, GST_ELEMENT_FACTORY_TYPE_MEDIA_IMAGE);
  if (decoder->factory)
    return TRUE;
  g_set_error(error, APP_ERROR, APP_ERROR_MISSING,
              "Nothing installed decodes %s. Most decoders are in Debian's package "
              "gstreamer1.0-libav.",
              description);
  return FALSE;
}

/* The number of bits, at most `depth`, that the element keeps of pictures in system memory, with
 * chroma finer than 4:2:0 if `chroma`; 0: it does not take such pictures. */
static guint kept_depth(const gchar *name, guint depth, gboolean chroma)
{
  GstElementFactory *factory = gst_element_factory_find(name);
  guint count, most = 0;
  const GstVideoFormat *formats = gst_video_formats_raw(&count);

  for (guint i = 0; factory && i < count; i++) {
    const GstVideoFormatInfo *info = gst_video_format_get_info(formats[i]);
    g_autoptr(GstCaps) caps = NULL;

    if (!GST_VIDEO_FORMAT_INFO_IS_YUV(info) ||
        (chroma && GST_VIDEO_FORMAT_INFO_W_SUB(info, 1) && GST_VIDEO_FORMAT_INFO_H_SUB(info, 1)))
      continue;
    caps = gst_caps_new_simple("video/x-raw", "format", G_TYPE_STRING,
                               GST_VIDEO_FORMAT_INFO_NAME(info), NULL);
    if (gst_element_factory_can_sink_any_caps(factory, caps))
      most = MAX(most, MIN(depth, GST_VIDEO_FORMAT_INFO_DEPTH(info, 0)));
  }
  if (factory)
    gst_object_unref(factory);
  return most;
}

/* TRUE if the element keeps chroma finer than 4:2:0 without losing bits. */
static gboolean keeps_chroma(const gchar *name, const Pictures *pictures)
{
  return !pictures->chroma ||
         kept_depth(name, pictures->depth, TRUE) == kept_depth(name, pictures->depth, FALSE);
}

static gboolean has_element(const EncoderRow *row)
{
  return row->gpu ? app_element_works(row->factory) : app_element_exists(row->factory);
}

/* The first encoder of those that keep most bits, preferring those that keep the chroma. */
static const EncoderRow *find_encoder(const gchar *codec, const Pictures *pictures)
{
  const EncoderRow *best = NULL;
  guint best_score = 0;

  for (gsize i = 0; i < G_N_ELEMENTS(encoders); i++) {
    const EncoderRow *row = &encoders[i];
    guint score;

    if (!g_str_equal(row->codec, codec) || !has_element(row))
      continue;
    score = 2 * kept_depth(row->factory, pictures->depth, FALSE) +
            (keeps_chroma(row->factory, pictures) ? 1 : 0);
    if (score > best_score) {
      best = row;
      best_score = score;
    }
  }
  return best;
}

static gboolean has_property(GObjectClass *type, const gchar *word)
{
  const gchar *equals = strchr(word, '=');
  g_autofree gchar *name = g_strndup(word, equals - word);

  return g_object_class_find_property(type, name) != NULL;
}

static gchar **words_of(const EncoderRow *row, gdouble quality, const Pictures *pictures)
{
  g_autofree gchar *number = g_strdup_printf("=%.0f", quality < 0 ? row->quality : quality);
  g_auto(GStrv) split = g_strsplit(row->properties, "=Q", -1);
  g_autofree gchar *properties = g_strjoinv(number, split);
  g_auto(GStrv) words = g_strsplit(properties, " ", -1);
  g_autoptr(GStrvBuilder) builder = g_strv_builder_new();
  GstElement *element = gst_element_factory_make(row->factory, NULL);
  GObjectClass *type = G_OBJECT_GET_CLASS(gst_object_ref_sink(element));

  g_strv_builder_add(builder, row->factory);
  for (gchar **word = words; *word; word++) {
    if (has_property(type, *word))
      g_strv_builder_add(builder, *word);
  }
  if (pictures->interlaced && has_property(type, "interlaced=true"))
    g_strv_builder_add(builder, "interlaced=true");
  gst_object_unref(element);
  return g_strv_builder_end(builder);
}

static gboolean names_codec(const gchar *list, const gchar *name)
{
  g_auto(GStrv) names = g_strsplit(list, " ", -1);

  return g_strv_contains((const gchar *const *)names, name);
}

static gboolean set_from_row(Encoder *encoder, const EncoderRow *row, gdouble quality,
                             const Pictures *pictures, GError **error)
{
  if (quality >= 0 && (quality < row->best || quality > row->worst)) {
    g_set_error(error, APP_ERROR, APP_ERROR_USAGE,
                "--quality %g is not allowed for %s: allowed is %g (best) to %g (smallest file), "
                "default %g.",
                quality, row->factory, row->best, row->worst, row->quality);
    return FALSE;
  }
  encoder->codec = row->codec;
  encoder->gpu = row->gpu;
  encoder->words = words_of(row, quality, pictures);
  return TRUE;
}

/* An encoder that the user named, with its properties. */
static gboolean set_from_words(Encoder *encoder, const gchar *wish, gdouble quality, GError **error)
{
  g_autoptr(GError) cause = NULL;
  GstElement *element;
  GstElementFactory *factory;

  if (quality >= 0) {
    g_set_error(
        error, APP_ERROR, APP_ERROR_USAGE,
        "--quality is for encoders that the program chooses; set the quality of \"%s\" by its "
        "own properties.",
        wish);
    return FALSE;
  }
  if (!g_shell_parse_argv(wish, NULL, &encoder->words, &cause)) {
    g_set_error(error, APP_ERROR, APP_ERROR_USAGE, "--encoder \"%s\" cannot be read: %s", wish,
                cause->message);
    return FALSE;
  }
  element = app_element_make(encoder->words[0], NULL, "--encoder", error);
  if (!element)
    return FALSE;
  gst_object_ref_sink(element);
  for (gchar **word = encoder->words + 1; *word; word++) {
    g_auto(GStrv) parts = g_strsplit(*word, "=", 2);

    if (!parts[0] || !parts[1]) {
      g_set_error(error, APP_ERROR, APP_ERROR_USAGE,
                  "--encoder takes a codec (h264, h265, av1, vp9) or one element and its "
                  "properties, and \"%s\" is not a property=value.",
                  *word);
    } else if (app_property_check(G_OBJECT_GET_CLASS(element), encoder->words[0], parts[0],
                                  parts[1], error)) {
      continue;
    }
    gst_object_unref(element);
    return FALSE;
  }
  factory = gst_element_get_factory(element);
  for (gsize i = 0; i < G_N_ELEMENTS(codecs); i++) {
    g_autoptr(GstCaps) caps = gst_caps_new_empty_simple(codecs[i].caps);

    if (gst_element_factory_can_src_any_caps(factory, caps) && *codecs[i].parser)
      encoder->codec = codecs[i].name;
  }
  for (gsize i = 0; i < G_N_ELEMENTS(encoders); i++)
    encoder->gpu |= encoders[i].gpu && g_str_equal(encoders[i].factory, encoder->words[0]);
  gst_object_unref(element);
  if (encoder->codec)
    return TRUE;
  g_set_error(error, APP_ERROR, APP_ERROR_USAGE,
              "--encoder %s does not make H.264, H.265, AV1 or VP9, which are the codecs allowed.",
              encoder->words[0]);
  return FALSE;
}

/* The best encoder for a codec: the named one, else the source's if the container can hold it. */
static gboolean set_from_codec(Encoder *encoder, const Container *container, const GstCaps *source,
                               const gchar *wish, gdouble quality, const Pictures *pictures,
                               GError **error)
{
  const Codec *own = codec_of(source);
  g_auto(GStrv) names = g_strsplit(container->codecs, " ", -1);
  const EncoderRow *row = NULL;

  if (wish) {
    row = find_encoder(wish, pictures);
  } else {
    if (own && names_codec(container->codecs, own->name))
      row = find_encoder(own->name, pictures);
    for (gchar **name = names; *name && !row; name++)
      row = find_encoder(*name, pictures);
  }
  if (row)
    return set_from_row(encoder, row, quality, pictures, error);
  for (gsize i = 0; i < G_N_ELEMENTS(encoders); i++) {
    if (!encoders[i].gpu && g_str_equal(encoders[i].codec, wish ? wish : names[0])) {
      app_element_set_missing(error, encoders[i].factory, codec_by_name(encoders[i].codec)->title);
      return FALSE;
    }
  }
  g_return_val_if_reached(FALSE);
}

static void warn_of_losses(const Encoder *encoder, const Pictures *pictures, GPtrArray *warnings)
{
  const gchar *factory = encoder->words[0];

  /* No encoder keeps alpha: H.265 and VP9 would need two streams for it. */
  if (pictures->alpha)
    g_ptr_array_add(warnings,
                    g_strdup_printf("transparency is left out: %s does not keep it.", factory));
  if (encoder->depth < pictures->depth)
    g_ptr_array_add(warnings, g_strdup_printf("%u bits become %u: %s takes no more.",
                                              pictures->depth, encoder->depth, factory));
  if (!keeps_chroma(factory, pictures))
    g_ptr_array_add(warnings,
                    g_strdup_printf("chroma becomes 4:2:0: %s takes no finer one.", factory));
  if (pictures->interlaced &&
      !g_strv_contains((const gchar *const *)encoder->words, "interlaced=true"))
    g_ptr_array_add(warnings,
                    g_strdup_printf("the video is interlaced, but %s does not mark it so: players "
                                    "will not deinterlace it.",
                                    factory));
}

gboolean encoder_choose(Encoder *encoder, const Container *container, const GstCaps *source,
                        const Pictures *pictures, const gchar *wish, gdouble quality,
                        GPtrArray *warnings, GError **error)
{
  const gboolean by_name = !wish || (codec_by_name(wish) && *codec_by_name(wish)->parser);

  *encoder = (Encoder){0};
  if (by_name ? !set_from_codec(encoder, container, source, wish, quality, pictures, error)
              : !set_from_words(encoder, wish, quality, error)) {
    encoder_clear(encoder);
    return FALSE;
  }
  if (!names_codec(container->codecs, encoder->codec)) {
    g_set_error(error, APP_ERROR, APP_ERROR_USAGE,
                "%s files cannot hold %s here; they can hold: %s. Choose another --encoder or "
                "another kind of file.",
                container->name, codec_by_name(encoder->codec)->title, container->codecs);
    encoder_clear(encoder);
    return FALSE;
  }
  encoder->parser = codec_by_name(encoder->codec)->parser;
  encoder->depth = kept_depth(encoder->words[0], pictures->depth, FALSE);
  warn_of_losses(encoder, pictures, warnings);
  return TRUE;
}

void encoder_clear(Encoder *encoder)
{
  g_clear_pointer(&encoder->words, g_strfreev);
}
