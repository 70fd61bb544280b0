/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "hardware.h"

#include <gst/video/video.h>

#include "apps/common/elements.h"
#include "apps/common/properties.h"

static const gchar *const gpu_decoders[] = {"nvh264dec", "nvh264sldec", NULL};
static const gchar *const gpu_encoders[] = {"nvcudah264enc", "nvh264enc", NULL};
static const gchar *const cpu_encoders[] = {"x264enc", "openh264enc", NULL};

/* GPU decoders of all codecs that a source may have. */
static const gchar *const all_gpu_decoders[] = {"nvh264dec",   "nvh264sldec", "nvh265dec",
                                                "nvh265sldec", "nvav1dec",    "nvvp8dec",
                                                "nvvp9dec",    "nvjpegdec",   NULL};

static void rank(const gchar *factory, guint value)
{
  GstElementFactory *found = gst_element_factory_find(factory);

  if (found) {
    gst_plugin_feature_set_rank(GST_PLUGIN_FEATURE(found), value);
    gst_object_unref(found);
  }
}

RelayHardware relay_hardware_probe(gboolean gpu)
{
  RelayHardware hardware = {0};
  const gchar *decoder = gpu ? app_element_first_working(gpu_decoders) : NULL;
  const gchar *encoder = gpu ? app_element_first_working(gpu_encoders) : NULL;

  for (guint i = 0; all_gpu_decoders[i]; i++)
    rank(all_gpu_decoders[i], decoder ? GST_RANK_PRIMARY + 1 : GST_RANK_NONE);
  if (decoder)
    rank(decoder, GST_RANK_PRIMARY + 2);
  hardware.decodes = decoder != NULL;
  hardware.gpu_encoder = encoder != NULL;
  hardware.encoder = encoder ? encoder : app_element_first_working(cpu_encoders);
  return hardware;
}

/* Sets a property if the encoder has it and takes the value: encoders have different names for the
 * same property. */
static void set_if_there(GstElement *encoder, const gchar *name, const gchar *value)
{
  if (g_object_class_find_property(G_OBJECT_GET_CLASS(encoder), name))
    app_property_set(encoder, name, value, NULL);
}

GstElement *relay_hardware_make_encoder(const RelayHardware *hardware, guint kbit_per_second,
                                        GError **error)
{
  static const gchar *const settings[][2] = {
      /* No lookahead and no B frames: no frame waits for a later one. */
      {"tune", "zerolatency"},
      {"tune", "ultra-low-latency"},
      {"zerolatency", "true"},
      {"zero-reorder-delay", "true"},
      {"bframes", "0"},
      {"b-frames", "0"},
      {"rc-lookahead", "0"},
      {"speed-preset", "veryfast"},
      {"complexity", "low"},
      {"preset", "low-latency-hq"},
      /* A receiver that connects later gets a keyframe within a second. */
      {"key-int-max", "30"},
      {"gop-size", "30"},
  };
  const gchar *factory = hardware->encoder ? hardware->encoder : cpu_encoders[0];
  GstElement *encoder = app_element_make(factory, "encoder", "which makes H.264", error);
  const gboolean in_bits = g_str_equal(factory, "openh264enc");
  g_autofree gchar *bitrate = g_strdup_printf("%u", kbit_per_second * (in_bits ? 1000 : 1));

  if (!encoder)
    return NULL;
  for (gsize i = 0; i < G_N_ELEMENTS(settings); i++)
    set_if_there(encoder, settings[i][0], settings[i][1]);
  set_if_there(encoder, "bitrate", bitrate);
  return encoder;
}

gboolean relay_hardware_pad_has_cuda(GstPad *pad)
{
  g_autoptr(GstCaps) cuda = gst_caps_from_string("video/x-raw(memory:CUDAMemory)");
  g_autoptr(GstCaps) caps = gst_pad_query_caps(pad, NULL);

  return gst_caps_can_intersect(caps, cuda);
}
