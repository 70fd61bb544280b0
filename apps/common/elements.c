/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elements.h"

#include "error.h"
#include "spelling.h"

typedef struct {
  const gchar *package;
  const gchar *factories; /* separated by blanks, with one at each end */
} Package;

static const Package packages[] = {
    {"libgstreamer1.0-0", " queue queue2 tee identity fakesink fakesrc filesrc filesink typefind "
                          "concat capsfilter multiqueue valve input-selector funnel "},
    {"gstreamer1.0-plugins-base",
     " appsrc appsink videoconvert videoscale videoconvertscale videorate videotestsrc "
     "audiotestsrc audioconvert audioresample decodebin decodebin3 uridecodebin parsebin playbin "
     "compositor oggdemux oggmux ssaparse subparse vorbisenc opusenc "
     "rawvideoparse "},
    {"gstreamer1.0-plugins-good",
     " rtspsrc rtpbin rtpjitterbuffer rtph264pay rtph264depay rtph265pay rtph265depay rtpjpegpay "
     "rtpjpegdepay rtpvp8pay rtpvp8depay rtpvp9pay rtpvp9depay rtpvrawpay rtpvrawdepay rtpmp2tpay "
     "rtpmp2tdepay udpsrc udpsink v4l2src v4l2sink jpegdec jpegenc pngdec pngenc vp8enc vp8dec "
     "vp9enc vp9dec matroskamux matroskademux webmmux mp4mux qtmux qtdemux flvmux flvdemux "
     "avidemux avimux splitmuxsrc splitmuxsink splitfilesrc multifilesrc multifilesink "
     "imagefreeze capssetter taginject "
     "autovideosink autoaudiosink aacparse mpegaudioparse ac3parse flacparse videocrop videoflip "
     "progressreport alpha wavparse "},
    {"gstreamer1.0-plugins-bad",
     " srtsrc srtsink tsdemux mpegtsmux tsparse h264parse h265parse av1parse vp9parse opusparse "
     "mpegvideoparse mpeg4videoparse shmsrc shmsink webrtcbin x265enc openh264enc openh264dec "
     "av1enc av1dec watchdog fakevideosink nvh264dec nvh265dec nvh264enc nvh265enc "
     "nvautogpuh264enc nvautogpuh265enc nvcudah264enc nvcudah265enc nvav1dec cudaupload "
     "cudadownload cudaconvert cudascale cudaconvertscale waylandsink assrender errorignore "
     "gdppay gdpdepay h264timestamper h265timestamper "},
    {"gstreamer1.0-plugins-ugly", " x264enc dvdsubdec asfdemux "},
    {"gstreamer1.0-libav",
     " avdec_h264 avdec_h265 avdec_mpeg2video avdec_mpeg4 avdec_aac avdec_ac3 avdec_mjpeg "
     "avdec_vp8 avdec_vp9 avenc_aac avenc_ac3 avenc_mpeg4 avenc_prores_ks avenc_mjpeg "},
    {"gstreamer1.0-x", " ximagesink xvimagesink ximagesrc "},
    {"gstreamer1.0-gl", " glimagesink glupload gldownload "},
    {"gstreamer1.0-gtk3", " gtksink gtkglsink "},
    {"gstreamer1.0-rtsp", " rtspclientsink "},
    {"gstreamer1.0-nice", " nicesrc nicesink "},
    {"gstreamer1.0-opencv", " facedetect faceblur "},
    {"gstreamer1.0-tools", " gst-launch-1.0 gst-inspect-1.0 "},
    {"gstreamer1.0-cudafilters", " cudallf cudagaussblur cudablockavg cudasepconv cudatonemap "},
};

const gchar *app_element_package(const gchar *factory)
{
  g_autofree gchar *word = g_strdup_printf(" %s ", factory);

  for (gsize i = 0; i < G_N_ELEMENTS(packages); i++) {
    if (strstr(packages[i].factories, word))
      return packages[i].package;
  }
  return NULL;
}

const gchar *app_element_name(GstObject *object)
{
  GstElementFactory *factory =
      GST_IS_ELEMENT(object) ? gst_element_get_factory(GST_ELEMENT(object)) : NULL;

  return factory ? GST_OBJECT_NAME(factory) : GST_OBJECT_NAME(object);
}

gboolean app_element_exists(const gchar *factory)
{
  GstElementFactory *found = gst_element_factory_find(factory);

  if (!found)
    return FALSE;
  gst_object_unref(found);
  return TRUE;
}

gboolean app_element_works(const gchar *factory)
{
  GstElement *element =
      app_element_exists(factory) ? gst_element_factory_make(factory, NULL) : NULL;
  gboolean works;

  if (!element)
    return FALSE;
  gst_object_ref_sink(element);
  works = gst_element_set_state(element, GST_STATE_READY) == GST_STATE_CHANGE_SUCCESS;
  gst_element_set_state(element, GST_STATE_NULL);
  gst_object_unref(element);
  return works;
}

const gchar *app_element_first_working(const gchar *const *factories)
{
  for (; *factories; factories++) {
    if (app_element_works(*factories))
      return *factories;
  }
  return NULL;
}

/* A question that names the element that was meant, or "". Caller frees. */
static gchar *guess_element(const gchar *factory)
{
  AppSpelling spelling = {.word = factory};
  GList *all = gst_registry_get_feature_list(gst_registry_get(), GST_TYPE_ELEMENT_FACTORY);

  for (const GList *at = all; at; at = at->next)
    app_spelling_try(&spelling, GST_OBJECT_NAME(at->data));
  gst_plugin_feature_list_free(all);
  return app_spelling_end(&spelling);
}

void app_element_set_missing(GError **error, const gchar *factory, const gchar *purpose)
{
  const gchar *package = app_element_package(factory);
  g_autofree gchar *reason = purpose ? g_strdup_printf(" (%s)", purpose) : g_strdup("");
  g_autofree gchar *guess = guess_element(factory);

  if (package && g_str_equal(package, "gstreamer1.0-cudafilters"))
    g_set_error(error, APP_ERROR, APP_ERROR_MISSING,
                "There is no element \"%s\"%s: install this project's plugin, package %s, or set "
                "GST_PLUGIN_PATH to the folder of libgstcudafilters.so.",
                factory, reason, package);
  else if (package)
    g_set_error(error, APP_ERROR, APP_ERROR_MISSING,
                "There is no element \"%s\"%s. It is in Debian's package %s: "
                "apt-get install %s",
                factory, reason, package, package);
  else
    g_set_error(error, APP_ERROR, APP_ERROR_MISSING,
                "There is no element \"%s\"%s.%s \"gst-inspect-1.0\" lists those that are "
                "installed.",
                factory, reason, guess);
}

GstElement *app_element_make(const gchar *factory, const gchar *name, const gchar *purpose,
                             GError **error)
{
  GstElement *element =
      app_element_exists(factory) ? gst_element_factory_make(factory, name) : NULL;

  if (!element)
    app_element_set_missing(error, factory, purpose);
  return element;
}
