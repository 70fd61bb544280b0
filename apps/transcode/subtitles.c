/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "subtitles.h"

static const struct {
  const gchar *name;
  gchar character;
} entities[] = {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};

/* Appends the character of the entity `name`; FALSE if it is unknown. */
static gboolean append_entity(GString *text, const gchar *name)
{
  if (name[0] == '#' && name[1] == 'x') {
    g_string_append_unichar(text, (gunichar)g_ascii_strtoull(name + 2, NULL, 16));
    return TRUE;
  }
  for (gsize i = 0; i < G_N_ELEMENTS(entities); i++) {
    if (g_str_equal(entities[i].name, name)) {
      g_string_append_c(text, entities[i].character);
      return TRUE;
    }
  }
  return FALSE;
}

gchar *subtitles_unescape(const gchar *text, gsize size)
{
  GString *plain = g_string_sized_new(size);
  const gchar *const end = text + size;

  while (text < end) {
    const gchar *close = *text == '&' ? memchr(text, ';', end - text) : NULL;
    g_autofree gchar *name = close ? g_strndup(text + 1, close - text - 1) : NULL;

    if (name && append_entity(plain, name))
      text = close + 1;
    else
      g_string_append_c(plain, *text++);
  }
  return g_string_free(plain, FALSE);
}

/* State of a text stream. */
typedef struct {
  gboolean escaped; /* the demuxer still escapes text, which then has no "<" */
  gboolean without_tags;
} Text;

/* The text without tags such as <b>, </i> and <font ...>; other "<" stay. Frees `text`. */
static gchar *remove_tags(gchar *text)
{
  static GRegex *tags = NULL;
  gchar *plain;

  if (g_once_init_enter(&tags))
    g_once_init_leave(&tags,
                      g_regex_new("</?(b|i|u|s|font|span)( [^<>]*)?>", G_REGEX_CASELESS, 0, NULL));
  plain = g_regex_replace_literal(tags, text, -1, 0, "", 0, NULL);
  if (!plain)
    return text;
  g_free(text);
  return plain;
}

static GstPadProbeReturn restore_text(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Text *state = data;
  GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER(info), *restored;
  GstMapInfo map;
  gchar *text;

  if (!gst_buffer_map(buffer, &map, GST_MAP_READ))
    return GST_PAD_PROBE_OK;
  state->escaped = state->escaped && !memchr(map.data, '<', map.size);
  text = state->escaped ? subtitles_unescape((const gchar *)map.data, map.size)
                        : g_strndup((const gchar *)map.data, map.size);
  gst_buffer_unmap(buffer, &map);
  if (state->without_tags)
    text = remove_tags(text);
  restored = gst_buffer_new_wrapped(text, strlen(text));
  gst_buffer_copy_into(restored, buffer, GST_BUFFER_COPY_METADATA, 0, -1);
  GST_PAD_PROBE_INFO_DATA(info) = restored;
  gst_buffer_unref(buffer);
  return GST_PAD_PROBE_OK;
}

static gboolean is_markup(const MediaStream *stream)
{
  const GstStructure *caps = gst_caps_get_structure(stream->caps, 0);

  return g_strcmp0(gst_structure_get_string(caps, "format"), "pango-markup") == 0;
}

/* Data for new pads. */
typedef struct {
  const Media *media;
  gboolean without_tags;
} Attachment;

static void attach_to(GstElement *parsebin, GstPad *pad, gpointer data)
{
  const Attachment *attachment = data;
  const GPtrArray *streams = attachment->media->streams;

  for (guint i = 0; i < streams->len; i++) {
    const MediaStream *stream = g_ptr_array_index(streams, i);
    Text *text;

    if (!g_str_equal(stream->pad, GST_OBJECT_NAME(pad)) || !is_markup(stream))
      continue;
    text = g_new(Text, 1);
    *text = (Text){TRUE, attachment->without_tags};
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, restore_text, text, g_free);
  }
}

static void free_attachment(gpointer data, GClosure *closure)
{
  g_free(data);
}

static gboolean parse_on(GstElement *parsebin, GstPad *pad, GstCaps *caps, gpointer data)
{
  const GstStructure *structure = gst_caps_get_structure(caps, 0);

  return !gst_structure_has_name(structure, "application/x-ass") &&
         !gst_structure_has_name(structure, "application/x-ssa");
}

void subtitles_keep_ssa(GstElement *parsebin)
{
  g_signal_connect(parsebin, "autoplug-continue", G_CALLBACK(parse_on), NULL);
}

void subtitles_attach(const Media *media, GstElement *parsebin, gboolean without_tags)
{
  Attachment *attachment = g_new(Attachment, 1);

  *attachment = (Attachment){media, without_tags};
  if (media->mkv)
    g_signal_connect_data(parsebin, "pad-added", G_CALLBACK(attach_to), attachment, free_attachment,
                          0);
  else
    g_free(attachment);
}

gboolean subtitles_lose_styles(const MediaStream *stream, gboolean without_tags)
{
  return gst_structure_has_name(gst_caps_get_structure(stream->caps, 0), "text/x-raw") &&
         (is_markup(stream) ? without_tags : stream->track != NULL);
}
