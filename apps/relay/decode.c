/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decode.h"

#include "apps/common/colours.h"
#include "apps/common/elements.h"
#include "apps/common/error.h"
#include "apps/common/properties.h"

/* Decoders that are linked here and not by decodebin, the best first: a GPU decoder chooses its
 * memory by its downstream peer, which decodebin does not have yet. Those of rank NONE are not
 * used. */
typedef struct {
  const gchar *media;
  const gchar *factories[5];
} Codec;

static const Codec codecs[] = {
    {"video/x-h264", {"nvh264dec", "nvh264sldec", "avdec_h264", "openh264dec", NULL}},
    {"video/x-h265", {"nvh265dec", "nvh265sldec", "avdec_h265", NULL}},
};

static gboolean is_wanted(const gchar *name)
{
  GstElementFactory *factory = gst_element_factory_find(name);
  gboolean wanted;

  if (!factory)
    return FALSE;
  wanted = gst_plugin_feature_get_rank(GST_PLUGIN_FEATURE(factory)) > GST_RANK_NONE;
  gst_object_unref(factory);
  return wanted;
}

static gboolean is_there(const Codec *codec)
{
  for (guint i = 0; codec->factories[i]; i++) {
    if (is_wanted(codec->factories[i]))
      return TRUE;
  }
  return FALSE;
}

static const Codec *find_codec(const gchar *media)
{
  for (gsize i = 0; i < G_N_ELEMENTS(codecs); i++) {
    if (g_str_equal(codecs[i].media, media))
      return &codecs[i];
  }
  return NULL;
}

gboolean relay_decode_pad_is(GstPad *pad, const gchar *media)
{
  g_autoptr(GstCaps) caps = gst_pad_get_current_caps(pad);

  if (!caps)
    caps = gst_pad_query_caps(pad, NULL);
  return !gst_caps_is_any(caps) && !gst_caps_is_empty(caps) &&
         g_str_has_prefix(gst_structure_get_name(gst_caps_get_structure(caps, 0)), media);
}

/* decodebin's signal autoplug-continue: TRUE lets it decode, FALSE makes it expose the pad. */
static gboolean autoplug_continue(GstElement *decodebin, GstPad *pad, GstCaps *caps,
                                  gpointer unused)
{
  const GstStructure *structure = gst_caps_get_structure(caps, 0);
  const gchar *name = gst_structure_get_name(structure);
  const Codec *codec = find_codec(name);
  gboolean parsed = FALSE;

  if (codec && gst_structure_get_boolean(structure, "parsed", &parsed) && parsed)
    return !is_there(codec);
  return !g_str_has_prefix(name, "audio/") && !g_str_has_prefix(name, "text/") &&
         !g_str_has_prefix(name, "subpicture/");
}

/* Frame threads of libav's decoders delay each frame by the number of threads. */
static void disable_frame_threads(GstElement *decoder)
{
  if (g_object_class_find_property(G_OBJECT_GET_CLASS(decoder), "thread-type"))
    app_property_set(decoder, "thread-type", "slice", NULL);
}

static void prepare_element(GstBin *decodebin, GstBin *owner, GstElement *element, gpointer unused)
{
  disable_frame_threads(element);
}

/* Links `pad` ! decoder ! `video`; FALSE if the decoder does not take the stream. */
static gboolean link_decoder(GstBin *pipeline, const gchar *factory, GstPad *pad, GstPad *video)
{
  GstElement *decoder = gst_element_factory_make(factory, NULL);
  g_autoptr(GstPad) sink = NULL;
  g_autoptr(GstPad) source = NULL;

  if (!decoder)
    return FALSE;
  disable_frame_threads(decoder);
  gst_bin_add(pipeline, decoder);
  sink = gst_element_get_static_pad(decoder, "sink");
  source = gst_element_get_static_pad(decoder, "src");
  if (gst_pad_link(source, video) == GST_PAD_LINK_OK &&
      gst_pad_link(pad, sink) == GST_PAD_LINK_OK && gst_element_sync_state_with_parent(decoder))
    return TRUE;
  gst_pad_unlink(pad, sink);
  gst_pad_unlink(source, video);
  gst_element_set_state(decoder, GST_STATE_NULL);
  gst_bin_remove(pipeline, decoder);
  return FALSE;
}

static void plug_best(GstElement *decodebin, const Codec *codec, GstPad *pad, GstPad *video)
{
  GstObject *pipeline = gst_object_get_parent(GST_OBJECT(decodebin));
  gboolean good = FALSE;

  for (guint i = 0; !good && codec->factories[i]; i++)
    good = is_wanted(codec->factories[i]) &&
           link_decoder(GST_BIN(pipeline), codec->factories[i], pad, video);
  if (!good)
    GST_ELEMENT_ERROR(decodebin, STREAM, CODEC_NOT_FOUND,
                      ("No decoder that is installed takes this kind of %s.", codec->media),
                      (NULL));
  gst_object_unref(pipeline);
}

static void take_pad(GstElement *decodebin, GstPad *pad, GstPad *video)
{
  if (gst_pad_is_linked(video))
    return;
  if (relay_decode_pad_is(pad, "video/x-raw")) {
    gst_pad_link(pad, video);
    return;
  }
  for (gsize i = 0; i < G_N_ELEMENTS(codecs); i++) {
    if (relay_decode_pad_is(pad, codecs[i].media)) {
      plug_best(decodebin, &codecs[i], pad, video);
      return;
    }
  }
}

static void complain_without_video(GstElement *decodebin, GstPad *video)
{
  if (!gst_pad_is_linked(video))
    GST_ELEMENT_ERROR(decodebin, STREAM, WRONG_TYPE,
                      ("The source has no video that can be decoded here."), (NULL));
}

static void watch_arrivals(GstBin *decodebin, GstBin *owner, GstElement *element, gpointer arrivals)
{
  GstElementFactory *factory = gst_element_get_factory(element);
  const GstElementFactoryListType parsers =
      GST_ELEMENT_FACTORY_TYPE_PARSER | GST_ELEMENT_FACTORY_TYPE_MEDIA_VIDEO;
  GstPad *pad = gst_element_get_static_pad(element, "sink");

  if (pad && factory && gst_element_factory_list_is_type(factory, parsers))
    relay_arrivals_watch(arrivals, pad);
  g_clear_pointer(&pad, gst_object_unref);
}

GstElement *relay_decode_add(GstBin *pipeline, GstElement *previous, GstPad *video,
                             RelayArrivals *arrivals, GError **error)
{
  GstElement *decodebin = app_element_make("decodebin", NULL, NULL, error);

  if (!decodebin)
    return NULL;
  gst_bin_add(pipeline, decodebin);
  app_complete_colours(video);
  g_signal_connect(decodebin, "autoplug-continue", G_CALLBACK(autoplug_continue), NULL);
  g_signal_connect(decodebin, "deep-element-added", G_CALLBACK(prepare_element), NULL);
  if (arrivals)
    g_signal_connect(decodebin, "deep-element-added", G_CALLBACK(watch_arrivals), arrivals);
  g_signal_connect_object(decodebin, "pad-added", G_CALLBACK(take_pad), video, 0);
  g_signal_connect_object(decodebin, "no-more-pads", G_CALLBACK(complain_without_video), video, 0);
  if (previous && !gst_element_link(previous, decodebin)) {
    g_set_error(error, APP_ERROR, APP_ERROR_FAILED, "%s cannot be linked to a decoder.",
                GST_OBJECT_NAME(previous));
    return NULL;
  }
  return decodebin;
}
