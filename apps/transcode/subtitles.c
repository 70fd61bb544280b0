/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "subtitles.h"

static const struct {
  const gchar *name;
  gchar character;
} entities[] = {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};

/* Appends what the entity `name` stands for; FALSE if it is none. */
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

/* `seen` is whether text has come as it stands; escaped text has no "<". */
static GstPadProbeReturn restore_text(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  gboolean *seen = data;
  GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER(info), *restored;
  GstMapInfo map;
  gchar *text;

  if (*seen || !gst_buffer_map(buffer, &map, GST_MAP_READ))
    return GST_PAD_PROBE_OK;
  *seen = map.size > 0 && memchr(map.data, '<', map.size) != NULL;
  text = *seen ? NULL : subtitles_unescape((const gchar *)map.data, map.size);
  gst_buffer_unmap(buffer, &map);
  if (!text)
    return GST_PAD_PROBE_OK;
  restored = gst_buffer_new_wrapped(text, strlen(text));
  gst_buffer_copy_into(restored, buffer, GST_BUFFER_COPY_METADATA, 0, -1);
  GST_PAD_PROBE_INFO_DATA(info) = restored;
  gst_buffer_unref(buffer);
  return GST_PAD_PROBE_OK;
}

static void attach_to(GstElement *parsebin, GstPad *pad, gpointer data)
{
  const Media *media = data;

  for (guint i = 0; i < media->streams->len; i++) {
    const MediaStream *stream = g_ptr_array_index(media->streams, i);
    const GstStructure *caps = gst_caps_get_structure(stream->caps, 0);

    if (g_str_equal(stream->pad, GST_OBJECT_NAME(pad)) &&
        g_strcmp0(gst_structure_get_string(caps, "format"), "pango-markup") == 0)
      gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, restore_text, g_new0(gboolean, 1), g_free);
  }
}

void subtitles_attach(const Media *media, GstElement *parsebin)
{
  if (media->is_matroska)
    g_signal_connect(parsebin, "pad-added", G_CALLBACK(attach_to), (gpointer)media);
}
