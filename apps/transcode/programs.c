/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "programs.h"

#define GST_USE_UNSTABLE_API
#include <gst/mpegts/mpegts.h>

void programs_init(Programs *programs)
{
  gst_mpegts_initialize();
  programs->listed = g_array_new(FALSE, FALSE, sizeof(guint));
  programs->found = g_array_new(FALSE, FALSE, sizeof(guint));
}

void programs_clear(Programs *programs)
{
  g_array_unref(programs->listed);
  g_array_unref(programs->found);
}

static gboolean has(const GArray *numbers, guint number)
{
  for (guint i = 0; i < numbers->len; i++) {
    if (g_array_index(numbers, guint, i) == number)
      return TRUE;
  }
  return FALSE;
}

/* 0 is no program, but a table of the network. */
static void add(GArray *numbers, guint number)
{
  if (number > 0 && !has(numbers, number))
    g_array_append_val(numbers, number);
}

static void take_section(Programs *programs, GstMpegtsSection *section)
{
  g_autoptr(GPtrArray) table = NULL;
  const GstMpegtsPMT *map;

  switch (section->section_type) {
  case GST_MPEGTS_SECTION_PAT:
    table = gst_mpegts_section_get_pat(section);
    for (guint i = 0; table && i < table->len; i++)
      add(programs->listed, ((GstMpegtsPatProgram *)g_ptr_array_index(table, i))->program_number);
    break;
  case GST_MPEGTS_SECTION_PMT:
    map = gst_mpegts_section_get_pmt(section);
    if (map)
      add(programs->found, map->program_number);
    break;
  default:
    break;
  }
}

void programs_take(Programs *programs, GstMessage *message)
{
  GstMpegtsSection *section = GST_MESSAGE_TYPE(message) == GST_MESSAGE_ELEMENT
                                  ? gst_message_parse_mpegts_section(message)
                                  : NULL;

  if (section) {
    take_section(programs, section);
    gst_mpegts_section_unref(section);
  }
}

gboolean programs_complete(const Programs *programs)
{
  return programs->found->len >= programs->listed->len;
}

gboolean programs_have(const Programs *programs, guint number)
{
  return has(programs->found, number);
}

gchar *programs_describe(const Programs *programs)
{
  GString *text = g_string_new(NULL);

  for (guint i = 0; i < programs->found->len; i++) {
    const gchar *separator = i == 0 ? "" : i + 1 < programs->found->len ? ", " : " and ";

    g_string_append_printf(text, "%s%u", separator, g_array_index(programs->found, guint, i));
  }
  return g_string_free(text, FALSE);
}

static void choose(GstBin *parsebin, GstBin *owner, GstElement *element, gpointer number)
{
  const GstElementFactory *factory = gst_element_get_factory(element);

  if (factory && g_str_equal(GST_OBJECT_NAME(factory), "tsdemux"))
    g_object_set(element, "program-number", GPOINTER_TO_INT(number), NULL);
}

void programs_choose(GstElement *parsebin, guint number)
{
  if (number > 0)
    g_signal_connect(parsebin, "deep-element-added", G_CALLBACK(choose), GUINT_TO_POINTER(number));
}
