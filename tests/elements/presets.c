/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What is saved as a preset comes back from its file as it was: every property of a look, with
 * values at both ends, in between and awkward to write.
 */
#include "elements.h"

#include <string.h>

#define N_ALL (N_ELEMENTS + 1)
#define CASE  (__i__ % N_ALL < N_ELEMENTS ? &element_cases[__i__ % N_ALL] : &tonemap_case)
#define ROUND (__i__ / N_ALL)

enum { LEAST, MOST, BETWEEN, N_ROUNDS };

static const struct {
  const char *name;
  const char *text[N_ROUNDS];
} texts[] = {
    {"regions", {"", "1,2,3,4", "-1,2,3,4; 5,6,7,8"}},
    {"roi-types", {"", "face,licence plate", "b\303\244r,a\\b"}},
    {"map-location", {NULL, "/some where/a,b.png", "/ma;p=1/\303\274.pgm"}},
};

static void choose_text(const GParamSpec *spec, guint round, GValue *value)
{
  for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
    if (g_str_equal(texts[i].name, spec->name)) {
      g_value_set_string(value, texts[i].text[round]);
      return;
    }
  }
  fail("%s is not in the list of texts", spec->name);
}

static void choose_numbers(guint round, GValue *value)
{
  static const gdouble numbers[] = {-0.0, 1.0 / 3.0, 1e300, 5e-324, -7.0};

  for (guint i = 0; i < (round == MOST ? 255 : round + 1); i++) {
    GValue one = G_VALUE_INIT;

    g_value_init(&one, G_TYPE_DOUBLE);
    g_value_set_double(&one, numbers[(i + round) % G_N_ELEMENTS(numbers)]);
    gst_value_array_append_and_take_value(value, &one);
  }
}

static gdouble choose_double(const GParamSpecDouble *spec, guint round)
{
  return round == LEAST  ? (spec->minimum == 0.0 ? -0.0 : spec->minimum)
         : round == MOST ? spec->maximum
                         : spec->minimum + (spec->maximum - spec->minimum) / 3.0;
}

static void choose(GParamSpec *spec, guint round, GValue *value)
{
  g_value_init(value, spec->value_type);
  if (G_IS_PARAM_SPEC_DOUBLE(spec)) {
    g_value_set_double(value, choose_double(G_PARAM_SPEC_DOUBLE(spec), round));
  } else if (G_IS_PARAM_SPEC_INT(spec)) {
    const GParamSpecInt *range = G_PARAM_SPEC_INT(spec);

    g_value_set_int(value, round == LEAST ? range->minimum : range->maximum - (round == BETWEEN));
  } else if (G_IS_PARAM_SPEC_UINT(spec)) {
    g_value_set_uint(value, round == LEAST ? 0 : G_PARAM_SPEC_UINT(spec)->maximum - round);
  } else if (G_IS_PARAM_SPEC_UINT64(spec)) {
    g_value_set_uint64(value, round == LEAST ? 0 : G_MAXUINT64 - round);
  } else if (G_IS_PARAM_SPEC_BOOLEAN(spec)) {
    g_value_set_boolean(value, round == MOST);
  } else if (G_IS_PARAM_SPEC_ENUM(spec)) {
    const GEnumClass *choices = G_PARAM_SPEC_ENUM(spec)->enum_class;

    g_value_set_enum(value, choices->values[round % choices->n_values].value);
  } else if (G_IS_PARAM_SPEC_FLAGS(spec)) {
    g_value_set_flags(value, round);
  } else if (G_IS_PARAM_SPEC_STRING(spec)) {
    choose_text(spec, round, value);
  } else {
    fail_unless(GST_IS_PARAM_SPEC_ARRAY_LIST(spec), "%s is of an unknown type", spec->name);
    choose_numbers(round, value);
  }
}

static gchar *text_of(GstElement *element, const GParamSpec *spec)
{
  GValue value = G_VALUE_INIT;
  gchar *text;

  g_value_init(&value, spec->value_type);
  g_object_get_property(G_OBJECT(element), spec->name, &value);
  text = gst_value_serialize(&value);
  g_value_unset(&value);
  return text;
}

GST_START_TEST(what_is_saved_comes_back)
{
  GstElement *saved = gst_element_factory_make(CASE->name, NULL);
  GstElement *loaded = gst_element_factory_make(CASE->name, NULL);
  gchar **names = gst_preset_get_property_names(GST_PRESET(saved));

  for (guint i = 0; names[i]; i++) {
    GParamSpec *spec = g_object_class_find_property(G_OBJECT_GET_CLASS(saved), names[i]);
    GValue value = G_VALUE_INIT;
    gchar *set, *got;

    choose(spec, ROUND, &value);
    g_object_set_property(G_OBJECT(saved), names[i], &value);
    set = gst_value_serialize(&value);
    got = text_of(saved, spec);
    fail_unless(g_strcmp0(set, got) == 0, "%s %s: %s became %s", CASE->name, names[i], set, got);
    g_free(set);
    g_free(got);
    g_value_unset(&value);
  }
  fail_if(g_strv_contains((const gchar *const *)names, "max-device-memory"));
  fail_unless(gst_preset_save_preset(GST_PRESET(saved), "test"));
  fail_unless(gst_preset_load_preset(GST_PRESET(loaded), "test"));
  for (guint i = 0; names[i]; i++) {
    GParamSpec *spec = g_object_class_find_property(G_OBJECT_GET_CLASS(saved), names[i]);
    gchar *one = text_of(saved, spec), *other = text_of(loaded, spec);

    fail_unless(g_strcmp0(one, other) == 0, "%s %s: %s came back as %s", CASE->name, names[i], one,
                other);
    g_free(one);
    g_free(other);
  }
  gst_preset_delete_preset(GST_PRESET(saved), "test");
  g_strfreev(names);
  gst_object_unref(saved);
  gst_object_unref(loaded);
}
GST_END_TEST;

static void add_tests(TCase *tests)
{
  tcase_add_loop_test(tests, what_is_saved_comes_back, 0, N_ALL * N_ROUNDS);
}

/* Presets lie where a user's data are. */
int main(int argc, char **argv)
{
  gchar *directory = g_dir_make_tmp("cudafilters-presets-XXXXXX", NULL);
  gchar *text = g_strdup_printf("rm -r '%s'", directory);
  int result;

  g_setenv("XDG_DATA_HOME", directory, TRUE);
  result = run_tests(argc, argv, "presets", add_tests);
  if (!g_spawn_command_line_sync(text, NULL, NULL, NULL, NULL))
    result = 1;
  g_free(text);
  g_free(directory);
  return result;
}
