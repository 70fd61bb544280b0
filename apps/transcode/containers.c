/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "codecs.h"

#include "apps/common/elements.h"
#include "apps/common/error.h"

static const Container containers[] = {
    {"Matroska", " mkv ", "matroskamux", "h264 h265 av1 vp9", FALSE},
    {"MP4", " mp4 m4v ", "mp4mux", "h264 h265 av1", TRUE},
    {"QuickTime", " mov ", "qtmux", "h264 h265", TRUE},
    {"WebM", " webm ", "webmmux", "vp9 av1", FALSE},
};

/* Parsers that convert streams to the form that muxers take. */
static const struct {
  const gchar *caps;
  const gchar *parser;
} parsers[] = {
    {"audio/mpeg, mpegversion=(int){2, 4}", "aacparse"},
    {"audio/mpeg, mpegversion=(int)1", "mpegaudioparse"},
    {"audio/x-ac3", "ac3parse"},
    {"audio/x-eac3", "ac3parse"},
    {"audio/x-opus", "opusparse"},
    {"audio/x-flac", "flacparse"},
    {"video/x-h264", "h264parse"},
    {"video/x-h265", "h265parse"},
    {"video/mpeg, mpegversion=(int){1, 2}", "mpegvideoparse"},
    {"text/x-raw, format=(string)pango-markup", "capssetter"},
};

const Container *container_for(const gchar *path, GError **error)
{
  const gchar *dot = strrchr(path, '.');
  g_autofree gchar *suffix = g_ascii_strdown(dot && !strchr(dot, '/') ? dot + 1 : "", -1);
  g_autofree gchar *word = g_strdup_printf(" %s ", suffix);

  for (gsize i = 0; i < G_N_ELEMENTS(containers); i++) {
    if (suffix[0] && strstr(containers[i].suffixes, word)) {
      if (!app_element_exists(containers[i].muxer)) {
        app_element_set_missing(error, containers[i].muxer, "to write such files");
        return NULL;
      }
      return &containers[i];
    }
  }
  g_set_error(error, APP_ERROR, APP_ERROR_USAGE,
              "The name of OUT, \"%s\", must end in .mkv, .mp4, .m4v, .mov or .webm.", path);
  return NULL;
}

/* The name of the muxer's pad template for `caps`, without "_%u"; NULL if there is none. */
static const gchar *find_pad(const Container *container, const GstCaps *caps)
{
  GstElementFactory *factory = gst_element_factory_find(container->muxer);
  const gchar *found = NULL;

  /* Muxers have pads for subtitles of unknown kinds, such as WebVTT, and refuse these then. */
  if (!factory ||
      gst_structure_has_name(gst_caps_get_structure(caps, 0), "application/x-subtitle-unknown"))
    return NULL;
  for (const GList *at = gst_element_factory_get_static_pad_templates(factory); at && !found;
       at = at->next) {
    GstStaticPadTemplate *template = at->data;
    g_autoptr(GstCaps) takes = gst_static_pad_template_get_caps(template);

    if (template->direction == GST_PAD_SINK && gst_caps_can_intersect(takes, caps))
      found = template->name_template;
  }
  gst_object_unref(factory);
  if (!found)
    return NULL;
  return g_str_has_prefix(found, "audio")   ? "audio"
         : g_str_has_prefix(found, "video") ? "video"
         : g_str_has_prefix(found, "sub")   ? "subtitle"
                                            : "caption";
}

static const gchar *find_parser(const GstCaps *caps)
{
  for (gsize i = 0; i < G_N_ELEMENTS(parsers); i++) {
    g_autoptr(GstCaps) takes = gst_caps_from_string(parsers[i].caps);

    if (gst_caps_can_intersect(takes, caps) && app_element_exists(parsers[i].parser))
      return parsers[i].parser;
  }
  return NULL;
}

/* The caps behind the parser: the same media type, in any stream format. */
static GstCaps *without_format(const GstCaps *caps)
{
  GstCaps *free_caps = gst_caps_copy(caps);
  GstStructure *structure = gst_caps_get_structure(free_caps, 0);

  gst_structure_remove_fields(structure, "stream-format", "alignment", "format", "framed", "parsed",
                              "codec_data", NULL);
  return free_caps;
}

const gchar *container_parser(const Container *container, const GstCaps *caps, const gchar **pad)
{
  const gchar *parser;
  g_autoptr(GstCaps) parsed = NULL;

  *pad = find_pad(container, caps);
  if (*pad)
    return "";
  parser = find_parser(caps);
  if (!parser)
    return NULL;
  parsed = without_format(caps);
  *pad = find_pad(container, parsed);
  return *pad ? parser : NULL;
}

gboolean container_keeps_ssa(const Container *container)
{
  g_autoptr(GstCaps) ssa = gst_caps_from_string("application/x-ass; application/x-ssa");

  return find_pad(container, ssa) != NULL;
}

const gchar *container_that_holds(const GstCaps *caps)
{
  const gchar *pad;

  for (gsize i = 0; i < G_N_ELEMENTS(containers); i++) {
    if (container_parser(&containers[i], caps, &pad))
      return containers[i].name;
  }
  return NULL;
}
