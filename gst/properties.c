/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "properties.h"

#include <math.h>

static GEnumValue *enum_values(const CfChoice *choices)
{
  GArray *values = g_array_new(TRUE, TRUE, sizeof(GEnumValue));

  for (const CfChoice *choice = choices; choice->nick; choice++) {
    const GEnumValue value = {choice->value, choice->name, choice->nick};
    g_array_append_val(values, value);
  }
  return (GEnumValue *)g_array_free(values, FALSE);
}

static GFlagsValue *flags_values(const CfChoice *choices)
{
  GArray *values = g_array_new(TRUE, TRUE, sizeof(GFlagsValue));

  for (const CfChoice *choice = choices; choice->nick; choice++) {
    const GFlagsValue value = {(guint)choice->value, choice->name, choice->nick};
    g_array_append_val(values, value);
  }
  return (GFlagsValue *)g_array_free(values, FALSE);
}

GType gst_cuda_filters_choices_type(const char *type_name, const CfChoice *choices, gboolean flags)
{
  GType type = g_type_from_name(type_name);

  if (!type) {
    /* GObject keeps the value tables for the life of the process. */
    type = flags ? g_flags_register_static(type_name, flags_values(choices))
                 : g_enum_register_static(type_name, enum_values(choices));
    gst_type_mark_as_plugin_api(type, 0);
  }
  return type;
}

static GParamSpec *make_spec(const CfParam *param)
{
  const char *name = param->name, *nick = param->nick, *blurb = param->blurb;
  const GParamFlags flags = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_PLAYING;
  const GParamFlags controllable = flags | GST_PARAM_CONTROLLABLE;

  switch (param->type) {
  case CF_PARAM_DOUBLE:
    return g_param_spec_double(name, nick, blurb, param->minimum, param->maximum, param->initial,
                               controllable);
  case CF_PARAM_INT:
    return g_param_spec_int(name, nick, blurb, (gint)param->minimum, (gint)param->maximum,
                            (gint)param->initial, controllable);
  case CF_PARAM_BOOL:
    return g_param_spec_boolean(name, nick, blurb, param->initial != 0.0, controllable);
  case CF_PARAM_ENUM:
    return g_param_spec_enum(name, nick, blurb,
                             gst_cuda_filters_choices_type(param->type_name, param->choices, FALSE),
                             (gint)param->initial, controllable);
  case CF_PARAM_FLAGS:
    /* Not controllable: GStreamer's control bindings do not take flags, and log a critical. */
    return g_param_spec_flags(name, nick, blurb,
                              gst_cuda_filters_choices_type(param->type_name, param->choices, TRUE),
                              (guint)param->initial, flags);
  case CF_PARAM_COLOR:
    return g_param_spec_uint(name, nick, blurb, 0, G_MAXUINT32, (guint)param->initial,
                             controllable);
  case CF_PARAM_KERNEL:
    /* Without an element spec, which would turn the integers that gst-launch-1.0 parses from
     * "<1,4,6,4,1>" into zeros. */
    return gst_param_spec_array(name, nick, blurb, NULL, flags);
  }
  g_return_val_if_reached(NULL);
}

void gst_cuda_filters_install_params(GObjectClass *klass, const CfParam *table, guint first_id)
{
  for (const CfParam *param = table; param->name; param++)
    g_object_class_install_property(klass, first_id + (guint)(param - table), make_spec(param));
}

static void get_kernel(const CfKernel *kernel, GValue *value)
{
  for (int i = 0; i < kernel->taps; i++) {
    GValue tap = G_VALUE_INIT;

    g_value_init(&tap, G_TYPE_DOUBLE);
    g_value_set_double(&tap, kernel->tap[i]);
    gst_value_array_append_and_take_value(value, &tap);
  }
}

void gst_cuda_filters_get_param(const CfParam *param, const void *params, GValue *value)
{
  const void *field = (const char *)params + param->offset;

  switch (param->type) {
  case CF_PARAM_DOUBLE:
    g_value_set_double(value, *(const double *)field);
    break;
  case CF_PARAM_INT:
    g_value_set_int(value, *(const int *)field);
    break;
  case CF_PARAM_BOOL:
    g_value_set_boolean(value, *(const bool *)field);
    break;
  case CF_PARAM_ENUM:
    g_value_set_enum(value, *(const int *)field);
    break;
  case CF_PARAM_FLAGS:
    g_value_set_flags(value, (guint) * (const int *)field);
    break;
  case CF_PARAM_COLOR:
    g_value_set_uint(value, *(const uint32_t *)field);
    break;
  case CF_PARAM_KERNEL:
    get_kernel(field, value);
    break;
  }
}

static gboolean number_from_value(const GValue *value, double *number)
{
  GValue converted = G_VALUE_INIT;
  gboolean good;

  g_value_init(&converted, G_TYPE_DOUBLE);
  good = g_value_transform(value, &converted);
  if (good)
    *number = g_value_get_double(&converted);
  g_value_unset(&converted);
  return good && isfinite(*number);
}

static gboolean set_kernel(const CfParam *param, CfKernel *kernel, const GValue *value,
                           CfStatus *status)
{
  const guint taps = gst_value_array_get_size(value);
  CfKernel parsed = {.taps = (int)taps};

  if (taps < 1 || taps > CF_MAX_TAPS)
    return cf_fail(status, CF_ERROR_INVALID,
                   "%s has %u taps; allowed are 1 to %d numbers, such as \"<1,4,6,4,1>\"",
                   param->name, taps, CF_MAX_TAPS);
  for (guint i = 0; i < taps; i++) {
    if (!number_from_value(gst_value_array_get_value(value, i), &parsed.tap[i]))
      return cf_fail(status, CF_ERROR_INVALID,
                     "%s: element %u is not a finite number; allowed are 1 to %d numbers, such as "
                     "\"<1,4,6,4,1>\"",
                     param->name, i, CF_MAX_TAPS);
  }
  *kernel = parsed;
  return TRUE;
}

gboolean gst_cuda_filters_set_param(const CfParam *param, void *params, const GValue *value,
                                    CfStatus *status)
{
  void *field = (char *)params + param->offset;

  switch (param->type) {
  case CF_PARAM_DOUBLE:
    *(double *)field = g_value_get_double(value);
    break;
  case CF_PARAM_INT:
    *(int *)field = g_value_get_int(value);
    break;
  case CF_PARAM_BOOL:
    *(bool *)field = g_value_get_boolean(value);
    break;
  case CF_PARAM_ENUM:
    *(int *)field = g_value_get_enum(value);
    break;
  case CF_PARAM_FLAGS:
    *(int *)field = (int)g_value_get_flags(value);
    break;
  case CF_PARAM_COLOR:
    *(uint32_t *)field = g_value_get_uint(value);
    break;
  case CF_PARAM_KERNEL:
    return set_kernel(param, field, value, status);
  }
  return TRUE;
}
