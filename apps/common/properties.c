/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "properties.h"

#include "elements.h"
#include "error.h"
#include "spelling.h"

static gchar *list_enum(GParamSpec *spec)
{
  const GEnumClass *values = G_PARAM_SPEC_ENUM(spec)->enum_class;
  GString *text = g_string_new("one of:");

  for (guint i = 0; i < values->n_values; i++)
    g_string_append_printf(text, "%s %s", i ? "," : "", values->values[i].value_nick);
  return g_string_free(text, FALSE);
}

static gchar *list_flags(GParamSpec *spec)
{
  const GFlagsClass *values = G_PARAM_SPEC_FLAGS(spec)->flags_class;
  GString *text = g_string_new("any of these, joined by +:");

  for (guint i = 0; i < values->n_values; i++)
    g_string_append_printf(text, "%s %s", i ? "," : "", values->values[i].value_nick);
  return g_string_free(text, FALSE);
}

gchar *app_property_allowed(GParamSpec *spec)
{
  if (G_IS_PARAM_SPEC_INT(spec))
    return g_strdup_printf("a whole number from %d to %d", G_PARAM_SPEC_INT(spec)->minimum,
                           G_PARAM_SPEC_INT(spec)->maximum);
  if (G_IS_PARAM_SPEC_UINT(spec))
    return g_strdup_printf("a whole number from %u to %u", G_PARAM_SPEC_UINT(spec)->minimum,
                           G_PARAM_SPEC_UINT(spec)->maximum);
  if (G_IS_PARAM_SPEC_INT64(spec))
    return g_strdup_printf("a whole number from %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT,
                           G_PARAM_SPEC_INT64(spec)->minimum, G_PARAM_SPEC_INT64(spec)->maximum);
  if (G_IS_PARAM_SPEC_UINT64(spec))
    return g_strdup_printf("a whole number from %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT,
                           G_PARAM_SPEC_UINT64(spec)->minimum, G_PARAM_SPEC_UINT64(spec)->maximum);
  if (G_IS_PARAM_SPEC_DOUBLE(spec))
    return g_strdup_printf("a number from %g to %g", G_PARAM_SPEC_DOUBLE(spec)->minimum,
                           G_PARAM_SPEC_DOUBLE(spec)->maximum);
  if (G_IS_PARAM_SPEC_FLOAT(spec))
    return g_strdup_printf("a number from %g to %g", G_PARAM_SPEC_FLOAT(spec)->minimum,
                           G_PARAM_SPEC_FLOAT(spec)->maximum);
  if (G_IS_PARAM_SPEC_BOOLEAN(spec))
    return g_strdup("true or false");
  if (G_IS_PARAM_SPEC_ENUM(spec))
    return list_enum(spec);
  if (G_IS_PARAM_SPEC_FLAGS(spec))
    return list_flags(spec);
  if (spec->value_type == GST_TYPE_ARRAY)
    return g_strdup("a list such as \"<1,2,1>\"");
  return g_strdup_printf("a %s", g_type_name(spec->value_type));
}

/* Parses `text` as a value of `spec`; FALSE if it is not one, or out of range. */
static gboolean read_value(GParamSpec *spec, const gchar *text, GValue *value)
{
  g_value_init(value, spec->value_type);
  /* Strings as they are: deserializing would need quotes, and fail for an empty text. */
  if (spec->value_type == G_TYPE_STRING) {
    g_value_set_string(value, text);
    return TRUE;
  }
  /* GStreamer would parse -1 as the largest number of the unsigned type. */
  if ((G_IS_PARAM_SPEC_UINT(spec) || G_IS_PARAM_SPEC_UINT64(spec)) && strchr(text, '-'))
    return FALSE;
  if (!gst_value_deserialize_with_pspec(value, text, spec))
    return FALSE;
  return !g_param_value_validate(spec, value) || (spec->flags & G_PARAM_LAX_VALIDATION);
}

/* A question that names the property that was meant, or "". Caller frees. */
static gchar *guess_property(GObjectClass *type, const gchar *name)
{
  AppSpelling spelling = {.word = name};
  guint count;
  GParamSpec **all = g_object_class_list_properties(type, &count);

  for (guint i = 0; i < count; i++)
    app_spelling_try(&spelling, all[i]->name);
  g_free(all);
  return app_spelling_end(&spelling);
}

static gboolean read_property(GObjectClass *type, const gchar *owner, const gchar *name,
                              const gchar *text, GValue *value, GError **error)
{
  GParamSpec *spec = g_object_class_find_property(type, name);
  g_autofree gchar *allowed = NULL, *guess = NULL;

  if (!spec) {
    guess = guess_property(type, name);
    g_set_error(error, APP_ERROR, APP_ERROR_USAGE,
                "%s has no property \"%s\".%s \"gst-inspect-1.0 %s\" lists its properties.", owner,
                name, guess, owner);
    return FALSE;
  }
  if (!(spec->flags & G_PARAM_WRITABLE)) {
    g_set_error(error, APP_ERROR, APP_ERROR_USAGE, "Property \"%s\" of %s can only be read.", name,
                owner);
    return FALSE;
  }
  if (read_value(spec, text, value))
    return TRUE;
  g_value_unset(value);
  allowed = app_property_allowed(spec);
  g_set_error(error, APP_ERROR, APP_ERROR_USAGE, "%s does not take %s=%s. Allowed is %s.", owner,
              name, text, allowed);
  return FALSE;
}

gboolean app_property_check(GObjectClass *type, const gchar *owner, const gchar *name,
                            const gchar *text, GError **error)
{
  GValue value = G_VALUE_INIT;

  if (!read_property(type, owner, name, text, &value, error))
    return FALSE;
  g_value_unset(&value);
  return TRUE;
}

gboolean app_property_set(GstElement *element, const gchar *name, const gchar *text, GError **error)
{
  GValue value = G_VALUE_INIT;

  if (!read_property(G_OBJECT_GET_CLASS(element), app_element_name(GST_OBJECT(element)), name, text,
                     &value, error))
    return FALSE;
  g_object_set_property(G_OBJECT(element), name, &value);
  g_value_unset(&value);
  return TRUE;
}

/* gst_value_serialize() would give the name of the enum's value, not its nick. */
static gchar *enum_nick(const GValue *value)
{
  GEnumClass *values = g_type_class_ref(G_VALUE_TYPE(value));
  const GEnumValue *found = g_enum_get_value(values, g_value_get_enum(value));
  gchar *nick = g_strdup(found ? found->value_nick : NULL);

  g_type_class_unref(values);
  return nick;
}

/* The shortest text that is read as this number again, such as 0.3, for which gst_value_serialize()
 * writes 0.29999999999999999. */
static gchar *write_double(gdouble number)
{
  gchar text[G_ASCII_DTOSTR_BUF_SIZE];

  g_ascii_formatd(text, sizeof(text), "%.15g", number);
  if (g_ascii_strtod(text, NULL) != number)
    g_ascii_dtostr(text, sizeof(text), number);
  return g_strdup(text);
}

gchar *app_property_get(GstElement *element, const gchar *name)
{
  GParamSpec *spec = g_object_class_find_property(G_OBJECT_GET_CLASS(element), name);
  GValue value = G_VALUE_INIT;
  gchar *text;

  if (!spec || !(spec->flags & G_PARAM_READABLE))
    return NULL;
  g_value_init(&value, spec->value_type);
  g_object_get_property(G_OBJECT(element), name, &value);
  if (G_VALUE_HOLDS_ENUM(&value))
    text = enum_nick(&value);
  else if (G_VALUE_HOLDS_DOUBLE(&value))
    text = write_double(g_value_get_double(&value));
  else if (G_VALUE_HOLDS_STRING(&value)) /* which gst_value_serialize() would quote */
    text = g_strdup(g_value_get_string(&value) ? g_value_get_string(&value) : "");
  else
    text = gst_value_serialize(&value);
  g_value_unset(&value);
  return text;
}
