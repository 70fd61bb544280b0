/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * property-tables ELEMENT GROUP: the properties of an element as tables for its page, which
 * tools/property-tables puts there. GROUP is `effect`, `regions` or `common`.
 */
#include <gst/gst.h>
#include <stdio.h>
#include <string.h>

static const gchar *group_of(const GParamSpec *spec)
{
  if (g_str_equal(g_type_name(spec->owner_type), "GstCudaFiltersBase"))
    return "common";
  if (g_str_has_prefix(spec->name, "roi-") || g_str_equal(spec->name, "regions"))
    return "regions";
  return g_str_has_prefix(g_type_name(spec->owner_type), "GstCuda") ? "effect" : "none";
}

/* Values */

static gboolean is_color(const GParamSpec *spec)
{
  return G_IS_PARAM_SPEC_UINT(spec) && ((const GParamSpecUInt *)spec)->maximum == G_MAXUINT32;
}

static void append_number(GString *text, gdouble number)
{
  g_string_append_printf(text, "%g", number);
}

/* Ends of a type say nothing about what makes sense. */
static void append_range(GString *text, gdouble minimum, gdouble maximum, gboolean open)
{
  append_number(text, minimum);
  if (open)
    g_string_append(text, " and up");
  else
    g_string_append_printf(text, "..%g", maximum);
}

static void append_nicks(GString *text, const GParamSpec *spec)
{
  if (G_IS_PARAM_SPEC_ENUM(spec)) {
    const GEnumClass *klass = ((const GParamSpecEnum *)spec)->enum_class;

    for (guint i = 0; i < klass->n_values; i++)
      g_string_append_printf(text, "%s`%s`", i ? ", " : "", klass->values[i].value_nick);
  } else {
    const GFlagsClass *klass = ((const GParamSpecFlags *)spec)->flags_class;

    for (guint i = 0; i < klass->n_values; i++)
      g_string_append_printf(text, "%s`%s`", i ? ", " : "", klass->values[i].value_nick);
    g_string_append(text, ", joined by `+`");
  }
}

static void append_allowed(GString *text, const GParamSpec *spec)
{
  if (is_color(spec)) {
    g_string_append(text, "0xAARRGGBB");
  } else if (G_IS_PARAM_SPEC_DOUBLE(spec)) {
    const GParamSpecDouble *number = (const GParamSpecDouble *)spec;
    append_range(text, number->minimum, number->maximum, FALSE);
  } else if (G_IS_PARAM_SPEC_INT(spec)) {
    const GParamSpecInt *number = (const GParamSpecInt *)spec;
    append_range(text, number->minimum, number->maximum, number->maximum == G_MAXINT);
  } else if (G_IS_PARAM_SPEC_UINT(spec)) {
    const GParamSpecUInt *number = (const GParamSpecUInt *)spec;
    append_range(text, number->minimum, number->maximum, number->maximum == G_MAXINT);
  } else if (G_IS_PARAM_SPEC_UINT64(spec)) {
    append_range(text, (gdouble)((const GParamSpecUInt64 *)spec)->minimum, 0.0, TRUE);
  } else if (G_IS_PARAM_SPEC_BOOLEAN(spec)) {
    g_string_append(text, "`false`, `true`");
  } else if (G_IS_PARAM_SPEC_ENUM(spec) || G_IS_PARAM_SPEC_FLAGS(spec)) {
    append_nicks(text, spec);
  } else if (G_IS_PARAM_SPEC_STRING(spec)) {
    g_string_append(text, "text");
  } else {
    g_string_append(text, GST_IS_PARAM_SPEC_ARRAY_LIST(spec) ? "`<a,b,...>`" : "a structure");
  }
}

static void append_flags(GString *text, const GParamSpec *spec, guint set)
{
  const GFlagsClass *klass = ((const GParamSpecFlags *)spec)->flags_class;
  const gchar *joint = "";

  for (guint i = 0; i < klass->n_values; i++) {
    if (set & klass->values[i].value) {
      g_string_append_printf(text, "%s%s", joint, klass->values[i].value_nick);
      joint = "+";
    }
  }
}

static void append_array(GString *text, const GValue *value)
{
  for (guint i = 0; i < gst_value_array_get_size(value); i++) {
    g_string_append(text, i ? "," : "<");
    append_number(text, g_value_get_double(gst_value_array_get_value(value, i)));
  }
  g_string_append(text, ">");
}

/* What a new element has. */
static void append_initial(GString *text, const GParamSpec *spec, GstElement *element)
{
  GValue value = G_VALUE_INIT;

  g_value_init(&value, spec->value_type);
  g_object_get_property(G_OBJECT(element), spec->name, &value);
  if (is_color(spec))
    g_string_append_printf(text, "`0x%08x`", g_value_get_uint(&value));
  else if (G_IS_PARAM_SPEC_DOUBLE(spec))
    append_number(text, g_value_get_double(&value));
  else if (G_IS_PARAM_SPEC_INT(spec))
    append_number(text, g_value_get_int(&value));
  else if (G_IS_PARAM_SPEC_UINT(spec))
    append_number(text, g_value_get_uint(&value));
  else if (G_IS_PARAM_SPEC_UINT64(spec))
    append_number(text, (gdouble)g_value_get_uint64(&value));
  else if (G_IS_PARAM_SPEC_BOOLEAN(spec))
    g_string_append(text, g_value_get_boolean(&value) ? "`true`" : "`false`");
  else if (G_IS_PARAM_SPEC_ENUM(spec))
    g_string_append_printf(
        text, "`%s`",
        g_enum_get_value(((const GParamSpecEnum *)spec)->enum_class, g_value_get_enum(&value))
            ->value_nick);
  else if (G_IS_PARAM_SPEC_STRING(spec))
    g_string_append(text, g_value_get_string(&value) && *g_value_get_string(&value)
                              ? g_value_get_string(&value)
                              : "");
  else if (G_IS_PARAM_SPEC_FLAGS(spec) || GST_IS_PARAM_SPEC_ARRAY_LIST(spec)) {
    g_string_append(text, "`");
    if (G_IS_PARAM_SPEC_FLAGS(spec))
      append_flags(text, spec, g_value_get_flags(&value));
    else
      append_array(text, &value);
    g_string_append(text, "`");
  }
  g_value_unset(&value);
}

/* Tables */

/* A cell of a table, which a bar would end. */
static void append_cell(GString *text, const gchar *cell)
{
  for (; *cell; cell++)
    g_string_append_printf(text, *cell == '|' ? "\\%c" : "%c", *cell);
}

static void append_properties(GString *text, GstElement *element, GPtrArray *specs)
{
  g_string_append(text, "| property | allowed | default | what it is |\n|---|---|---|---|\n");
  for (guint i = 0; i < specs->len; i++) {
    const GParamSpec *spec = specs->pdata[i];

    g_string_append_printf(text, "| `%s` | ", spec->name);
    append_allowed(text, spec);
    g_string_append(text, " | ");
    if (spec->flags & G_PARAM_WRITABLE)
      append_initial(text, spec, element);
    g_string_append(text, " | ");
    append_cell(text, g_param_spec_get_blurb((GParamSpec *)spec));
    g_string_append(text, " |\n");
  }
}

static void append_choice(GString *text, const gchar *property, const gchar *nick,
                          const gchar *meaning)
{
  g_string_append_printf(text, "| `%s=%s` | ", property, nick);
  append_cell(text, meaning);
  g_string_append(text, " |\n");
}

/* What choices mean. */
static void append_choices(GString *text, GPtrArray *specs)
{
  const gchar *head = "\n| value | what it means |\n|---|---|\n";

  for (guint i = 0; i < specs->len; i++) {
    const GParamSpec *spec = specs->pdata[i];
    const gboolean flags = G_IS_PARAM_SPEC_FLAGS(spec);
    const guint count = flags ? ((const GParamSpecFlags *)spec)->flags_class->n_values
                        : G_IS_PARAM_SPEC_ENUM(spec)
                            ? ((const GParamSpecEnum *)spec)->enum_class->n_values
                            : 0;

    for (guint j = 0; j < count; j++) {
      g_string_append(text, head);
      head = "";
      if (flags) {
        const GFlagsValue *value = &((const GParamSpecFlags *)spec)->flags_class->values[j];
        append_choice(text, spec->name, value->value_nick, value->value_name);
      } else {
        const GEnumValue *value = &((const GParamSpecEnum *)spec)->enum_class->values[j];
        append_choice(text, spec->name, value->value_nick, value->value_name);
      }
    }
  }
}

/* One line of the properties whose flags under `mask` are `set`. */
static void append_list(GString *text, GPtrArray *specs, const gchar *title, guint mask, guint set)
{
  const gchar *joint = title;

  for (guint i = 0; i < specs->len; i++) {
    const GParamSpec *spec = specs->pdata[i];

    if ((spec->flags & mask) == set) {
      g_string_append_printf(text, "%s`%s`", joint, spec->name);
      joint = ", ";
    }
  }
  if (joint != title)
    g_string_append(text, ".\n");
}

static GPtrArray *specs_of(GstElement *element, const gchar *group)
{
  guint count;
  GParamSpec **all = g_object_class_list_properties(G_OBJECT_GET_CLASS(element), &count);
  GPtrArray *specs = g_ptr_array_new();

  for (guint i = 0; i < count; i++) {
    if (g_str_equal(group_of(all[i]), group))
      g_ptr_array_add(specs, all[i]);
  }
  g_free(all);
  return specs;
}

int main(int argc, char **argv)
{
  const guint moves = G_PARAM_WRITABLE | GST_PARAM_MUTABLE_PLAYING | GST_PARAM_CONTROLLABLE;
  GString *text = g_string_new("");
  GstElement *element;
  GPtrArray *specs;

  if (argc != 3) {
    fprintf(stderr, "usage: property-tables ELEMENT effect|regions|common\n");
    return 2;
  }
  gst_init(NULL, NULL);
  element = gst_element_factory_make(argv[1], NULL);
  if (!element) {
    fprintf(stderr, "there is no element %s in GST_PLUGIN_PATH\n", argv[1]);
    return 1;
  }
  specs = specs_of(element, argv[2]);
  append_properties(text, element, specs);
  append_choices(text, specs);
  g_string_append(text, "\n");
  append_list(text, specs, "- At any time, and by a controller: ", moves, moves);
  append_list(text, specs, "- At any time, but not by a controller: ", moves,
              G_PARAM_WRITABLE | GST_PARAM_MUTABLE_PLAYING);
  append_list(text, specs, "- Before the start: ", moves, G_PARAM_WRITABLE);
  append_list(text, specs, "- To read only: ", G_PARAM_WRITABLE, 0);
  fputs(text->str, stdout);
  g_string_free(text, TRUE);
  g_ptr_array_unref(specs);
  gst_object_unref(element);
  return 0;
}
