/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "presets.h"

#include <string.h>

static gboolean makes_a_look(const GParamSpec *spec)
{
  const GParamFlags both = G_PARAM_READABLE | G_PARAM_WRITABLE;

  return (spec->flags & both) == both && spec->owner_type != GST_TYPE_CUDA_FILTERS_BASE &&
         g_type_is_a(spec->owner_type, GST_TYPE_CUDA_FILTERS_BASE) &&
         !g_str_equal(spec->name, "max-device-memory");
}

static gchar **get_property_names(GstPreset *preset)
{
  GPtrArray *names = g_ptr_array_new();
  guint count;
  GParamSpec **specs = g_object_class_list_properties(G_OBJECT_GET_CLASS(preset), &count);

  for (guint i = 0; i < count; i++) {
    if (makes_a_look(specs[i]))
      g_ptr_array_add(names, g_strdup(specs[i]->name));
  }
  g_free(specs);
  g_ptr_array_add(names, NULL);
  return (gchar **)g_ptr_array_free(names, FALSE);
}

/* Frames do not use the properties while this is above 0: with half of a preset its first values
 * might be refused. */
static void count_loading(GstPreset *preset, gint change)
{
  GST_OBJECT_LOCK(preset);
  GST_CUDA_FILTERS_BASE(preset)->presets_loading += (guint)change;
  GST_OBJECT_UNLOCK(preset);
}

static gboolean (*load_settings)(GstPreset *preset, const gchar *name);

static gboolean load_preset(GstPreset *preset, const gchar *name)
{
  gboolean good;

  count_loading(preset, 1);
  good = load_settings(preset, name);
  count_loading(preset, -1);
  return good;
}

static gboolean is_loading(GstCudaFiltersBase *self)
{
  gboolean presets_loading;

  GST_OBJECT_LOCK(self);
  presets_loading = self->presets_loading > 0;
  GST_OBJECT_UNLOCK(self);
  return presets_loading;
}

void gst_cuda_filters_presets_copy_value(GstCudaFiltersBase *self, const GValue *value,
                                         GValue *copy)
{
  const gchar *text = G_VALUE_HOLDS_STRING(value) ? g_value_get_string(value) : NULL;
  gchar *quoted = text && strchr(text, '\\') ? g_strdup_printf("\"%s\"", text) : NULL;

  g_value_init(copy, G_VALUE_TYPE(value));
  if (!quoted || !is_loading(self) || !gst_value_deserialize(copy, quoted))
    g_value_copy(value, copy);
  g_free(quoted);
}

void gst_cuda_filters_presets_init(gpointer interface, gpointer unused)
{
  GstPresetInterface *presets = interface;

  load_settings = presets->load_preset;
  presets->load_preset = load_preset;
  presets->get_property_names = get_property_names;
}
