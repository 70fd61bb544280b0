/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What users see of the elements before a frame flows: every property with its type, range, default
 * and flags, the classification and the pad templates. The tables here are written from the
 * documentation, not from the tables of the effects.
 */
#include "elements.h"

#include <gst/controller/controller.h>
#include <math.h>
#include <string.h>

typedef enum {
  NUMBER_DOUBLE,
  NUMBER_INT,
  NUMBER_UINT,
  NUMBER_UINT64,
  SWITCH,
  CHOICE,
  UNION,
  LIST,
  TEXT,
  RECORD
} Kind;

typedef enum {
  READY,    /* may change in READY */
  PLAYING,  /* may change while playing */
  ANIMATED, /* and be bound to a controller */
  READ_ONLY,
} Access;

typedef struct {
  const char *name;
  Kind kind;
  Access access;
  double minimum, maximum; /* NAN: not promised */
  double initial;
  const char *choices; /* nicks, in order of value */
} Property;

#define BORDERS "replicate reflect reflect-101 wrap constant"

#define REGION_PROPERTIES                                                                          \
  {"roi-mode", CHOICE, PLAYING, 0, 0, 0, "none inside outside"},                                   \
      {"roi-types", TEXT, PLAYING, 0, 0, 0, NULL}, {"regions", TEXT, PLAYING, 0, 0, 0, NULL},      \
      {"roi-shape", CHOICE, PLAYING, 0, 0, 0, "rectangle ellipse"},                                \
      {"roi-expand", NUMBER_DOUBLE, ANIMATED, 0, 2, 0, NULL},                                      \
      {"roi-feather", NUMBER_DOUBLE, ANIMATED, 0, 256, 0, NULL},                                   \
      {"roi-steady", NUMBER_DOUBLE, ANIMATED, 0, 1, 0.1, NULL},                                    \
      {"roi-hold", NUMBER_UINT64, ANIMATED, 0, NAN, 0, NULL},                                      \
  {                                                                                                \
    "roi-missing", CHOICE, PLAYING, 0, 0, 0, "pass cover"                                          \
  }

static const Property common_properties[] = {
    {"backend", CHOICE, READY, 0, 0, 0, "auto cuda cpu reference"},
    {"cuda-device-id", NUMBER_INT, READY, -1, G_MAXINT, -1, NULL},
    {"n-threads", NUMBER_UINT, READY, 0, NAN, 0, NULL},
    {"active-backend", TEXT, READ_ONLY, 0, 0, 0, NULL},
    {"stats", RECORD, READ_ONLY, 0, 0, 0, NULL},
    {0},
};

static const Property llf_properties[] = {
    {"sigma", NUMBER_DOUBLE, ANIMATED, 0.01, 1, 0.2, NULL},
    {"alpha", NUMBER_DOUBLE, ANIMATED, 0.05, 10, 0.5, NULL},
    {"beta", NUMBER_DOUBLE, ANIMATED, 0, 5, 1, NULL},
    {"levels", NUMBER_INT, ANIMATED, 0, 16, 0, NULL},
    {"engine", CHOICE, PLAYING, 0, 0, 0, "fast sampled exact"},
    {"harmonics", NUMBER_INT, ANIMATED, 2, 16, 8, NULL},
    {"intensity-levels", NUMBER_INT, ANIMATED, 0, 256, 0, NULL},
    {"color-mode", CHOICE, PLAYING, 0, 0, 0, "luminance separate rgb"},
    {"noise-floor", NUMBER_DOUBLE, ANIMATED, 0, 0.1, 0.02, NULL},
    {"reach", NUMBER_DOUBLE, ANIMATED, 0, 1, 0, NULL},
    {"protect", SWITCH, PLAYING, 0, 0, 1, NULL},
    {"strength", NUMBER_DOUBLE, ANIMATED, 0, 1, 1, NULL},
    {0},
};

static const Property gaussblur_properties[] = {
    {"sigma", NUMBER_DOUBLE, ANIMATED, -250, 250, 2, NULL},
    {"sigma-vertical", NUMBER_DOUBLE, ANIMATED, -1, 250, -1, NULL},
    {"border", CHOICE, PLAYING, 0, 0, 0, BORDERS},
    {"map-mode", CHOICE, PLAYING, 0, 0, 0, "none file radial linear luma alpha"},
    {"map-location", TEXT, PLAYING, 0, 0, 0, NULL},
    {"sigma-min", NUMBER_DOUBLE, ANIMATED, 0, 250, 0, NULL},
    {"map-x", NUMBER_DOUBLE, ANIMATED, 0, 1, 0.5, NULL},
    {"map-y", NUMBER_DOUBLE, ANIMATED, 0, 1, 0.5, NULL},
    {"map-inner", NUMBER_DOUBLE, ANIMATED, 0, 1, 0, NULL},
    {"map-outer", NUMBER_DOUBLE, ANIMATED, 0, 1, 0.333, NULL},
    {"map-angle", NUMBER_DOUBLE, ANIMATED, NAN, NAN, 0, NULL},
    {"map-invert", SWITCH, PLAYING, 0, 0, 0, NULL},
    {"map-isolate", SWITCH, PLAYING, 0, 0, 0, NULL},
    {"sigma-relative", NUMBER_DOUBLE, ANIMATED, -1, 1, -1, NULL},
    {"max-device-memory", NUMBER_UINT64, ANIMATED, 0, NAN, 0, NULL},
    REGION_PROPERTIES,
    {0},
};

static const Property blockavg_properties[] = {
    {"block-width", NUMBER_INT, ANIMATED, 1, 4096, 32, NULL},
    {"block-height", NUMBER_INT, ANIMATED, 1, 4096, 32, NULL},
    {"mode", CHOICE, PLAYING, 0, 0, 0, "average min max fill"},
    {"anchor", CHOICE, PLAYING, 0, 0, 0, "frame region"},
    {"blocks-across", NUMBER_INT, ANIMATED, -1, 256, -1, NULL},
    {"fill-color", NUMBER_UINT, ANIMATED, 0, 0xffffffff, 0xff000000, NULL},
    REGION_PROPERTIES,
    {0},
};

static const Property sepconv_properties[] = {
    {"row-kernel", LIST, PLAYING, 0, 0, 1, NULL},
    {"column-kernel", LIST, PLAYING, 0, 0, 1, NULL},
    {"preset", CHOICE, PLAYING, 0, 0, 0,
     "custom box binomial gaussian sobel-x sobel-y sharpen unsharp"},
    {"preset-size", NUMBER_INT, ANIMATED, 3, 255, 5, NULL},
    {"amount", NUMBER_DOUBLE, ANIMATED, 0, 10, 1, NULL},
    {"threshold", NUMBER_DOUBLE, ANIMATED, 0, 1, 0, NULL},
    {"anchor-x", NUMBER_INT, ANIMATED, -1, NAN, -1, NULL},
    {"anchor-y", NUMBER_INT, ANIMATED, -1, NAN, -1, NULL},
    {"normalize", SWITCH, PLAYING, 0, 0, 0, NULL},
    {"scale", NUMBER_DOUBLE, ANIMATED, NAN, NAN, 1, NULL},
    {"bias", NUMBER_DOUBLE, ANIMATED, NAN, NAN, 0, NULL},
    {"absolute", SWITCH, PLAYING, 0, 0, 0, NULL},
    {"border", CHOICE, PLAYING, 0, 0, 0, BORDERS},
    {"border-color", NUMBER_UINT, ANIMATED, 0, 0xffffffff, 0xff000000, NULL},
    {"planes", UNION, PLAYING, 0, 0, 7, "luma chroma alpha"},
    {"max-device-memory", NUMBER_UINT64, ANIMATED, 0, NAN, 0, NULL},
    {0},
};

static const Property tonemap_properties[] = {
    {"detail", NUMBER_DOUBLE, ANIMATED, 0, 2, 1, NULL},
    {"contrast", NUMBER_DOUBLE, ANIMATED, 0.5, 1.5, 1, NULL},
    {"sigma", NUMBER_DOUBLE, ANIMATED, 0.25, 8, 1, NULL},
    {"noise-floor", NUMBER_DOUBLE, ANIMATED, 0, 2, 0.1, NULL},
    {"saturation", NUMBER_DOUBLE, ANIMATED, 0, 2, 1, NULL},
    {"peak", NUMBER_DOUBLE, ANIMATED, 0, 10000, 0, NULL},
    {"dynamic", SWITCH, PLAYING, 0, 0, 0, NULL},
    {"target-nits", NUMBER_DOUBLE, ANIMATED, 50, 1000, 100, NULL},
    {"dither", SWITCH, PLAYING, 0, 0, 1, NULL},
    {0},
};

static const struct {
  const char *element;
  const Property *properties;
} expected[] = {
    {"cudallf", llf_properties},           {"cudagaussblur", gaussblur_properties},
    {"cudablockavg", blockavg_properties}, {"cudasepconv", sepconv_properties},
    {"cudatonemap", tonemap_properties},
};

static const char formats[] =
    "GRAY8 GRAY16_LE I420 YV12 NV12 NV21 Y42B Y444 I420_10LE I422_10LE Y444_10LE P010_10LE P012_LE "
    "P016_LE Y444_16LE UYVY YUY2 RGB BGR RGBx BGRx xRGB xBGR RGBA BGRA ARGB ABGR AYUV GBR";

/* One property */

static void check_number(const Property *want, double minimum, double maximum, double initial)
{
  if (!isnan(want->minimum))
    fail_unless(minimum == want->minimum, "%s: minimum %g", want->name, minimum);
  if (!isnan(want->maximum))
    fail_unless(maximum == want->maximum, "%s: maximum %g", want->name, maximum);
  fail_unless(initial == want->initial, "%s: default %g", want->name, initial);
}

static void check_nick(const Property *want, gchar **nicks, guint index, const char *nick)
{
  fail_unless(index < g_strv_length(nicks), "%s: too many choices", want->name);
  fail_unless(g_strcmp0(nicks[index], nick) == 0, "%s: choice %u is %s, not %s", want->name, index,
              nick, nicks[index]);
}

static void check_choices(const Property *want, GParamSpec *spec)
{
  gchar **nicks = g_strsplit(want->choices, " ", -1);

  if (want->kind == CHOICE) {
    const GEnumClass *choices;

    fail_unless(G_IS_PARAM_SPEC_ENUM(spec), "%s is no enum", want->name);
    choices = G_PARAM_SPEC_ENUM(spec)->enum_class;
    fail_unless_equals_int(choices->n_values, g_strv_length(nicks));
    for (guint i = 0; i < choices->n_values; i++) {
      check_nick(want, nicks, i, choices->values[i].value_nick);
      fail_unless_equals_int(choices->values[i].value, i);
    }
    fail_unless_equals_int(G_PARAM_SPEC_ENUM(spec)->default_value, (int)want->initial);
  } else {
    const GFlagsClass *choices;

    fail_unless(G_IS_PARAM_SPEC_FLAGS(spec), "%s is no flags", want->name);
    choices = G_PARAM_SPEC_FLAGS(spec)->flags_class;
    fail_unless_equals_int(choices->n_values, g_strv_length(nicks));
    for (guint i = 0; i < choices->n_values; i++)
      check_nick(want, nicks, i, choices->values[i].value_nick);
    fail_unless_equals_int(G_PARAM_SPEC_FLAGS(spec)->default_value, (int)want->initial);
  }
  g_strfreev(nicks);
}

static void check_kind(const Property *want, GParamSpec *spec)
{
  switch (want->kind) {
  case NUMBER_DOUBLE: {
    const GParamSpecDouble *number = (GParamSpecDouble *)spec;
    fail_unless(G_IS_PARAM_SPEC_DOUBLE(spec), "%s is no double", want->name);
    check_number(want, number->minimum, number->maximum, number->default_value);
    break;
  }
  case NUMBER_INT: {
    const GParamSpecInt *number = (GParamSpecInt *)spec;
    fail_unless(G_IS_PARAM_SPEC_INT(spec), "%s is no int", want->name);
    check_number(want, number->minimum, number->maximum, number->default_value);
    break;
  }
  case NUMBER_UINT: {
    const GParamSpecUInt *number = (GParamSpecUInt *)spec;
    fail_unless(G_IS_PARAM_SPEC_UINT(spec), "%s is no uint", want->name);
    check_number(want, number->minimum, number->maximum, number->default_value);
    break;
  }
  case NUMBER_UINT64: {
    const GParamSpecUInt64 *number = (GParamSpecUInt64 *)spec;
    fail_unless(G_IS_PARAM_SPEC_UINT64(spec), "%s is no uint64", want->name);
    check_number(want, (double)number->minimum, (double)number->maximum,
                 (double)number->default_value);
    break;
  }
  case SWITCH:
    fail_unless(G_IS_PARAM_SPEC_BOOLEAN(spec), "%s is no boolean", want->name);
    fail_unless_equals_int(((GParamSpecBoolean *)spec)->default_value, (int)want->initial);
    break;
  case CHOICE:
  case UNION:
    check_choices(want, spec);
    break;
  case LIST:
    fail_unless(GST_IS_PARAM_SPEC_ARRAY_LIST(spec), "%s is no array", want->name);
    break;
  case TEXT:
    fail_unless(G_IS_PARAM_SPEC_STRING(spec), "%s is no string", want->name);
    break;
  case RECORD:
    fail_unless(G_IS_PARAM_SPEC_BOXED(spec) && spec->value_type == GST_TYPE_STRUCTURE,
                "%s is no structure", want->name);
    break;
  }
}

static void check_access(const Property *want, const GParamSpec *spec)
{
  const guint flags = spec->flags;

  fail_unless(flags & G_PARAM_READABLE, "%s cannot be read", want->name);
  fail_unless(!(flags & G_PARAM_WRITABLE) == (want->access == READ_ONLY), "%s: writable",
              want->name);
  fail_unless(!(flags & GST_PARAM_MUTABLE_READY) == (want->access != READY), "%s: mutable-ready",
              want->name);
  fail_unless(!(flags & GST_PARAM_MUTABLE_PLAYING) ==
                  (want->access != PLAYING && want->access != ANIMATED),
              "%s: mutable-playing", want->name);
  if (want->access != PLAYING)
    fail_unless(!(flags & GST_PARAM_CONTROLLABLE) == (want->access != ANIMATED), "%s: controllable",
                want->name);
}

static void check_value(const Property *want, GstElement *element)
{
  GValue value = G_VALUE_INIT;
  GParamSpec *spec = g_object_class_find_property(G_OBJECT_GET_CLASS(element), want->name);

  g_value_init(&value, spec->value_type);
  g_object_get_property(G_OBJECT(element), want->name, &value);
  switch (want->kind) {
  case LIST:
    fail_unless_equals_int(gst_value_array_get_size(&value), 1);
    fail_unless(g_value_get_double(gst_value_array_get_value(&value, 0)) == want->initial);
    break;
  case RECORD:
    fail_unless(gst_structure_has_field_typed(g_value_get_boxed(&value), "frames", G_TYPE_UINT64));
    break;
  default:
    fail_unless(g_param_value_defaults(spec, &value), "%s is not its default at first", want->name);
    break;
  }
  g_value_unset(&value);
}

static void check_property(const Property *want, GstElement *element)
{
  GParamSpec *spec = g_object_class_find_property(G_OBJECT_GET_CLASS(element), want->name);

  fail_unless(spec != NULL, "there is no property %s", want->name);
  check_kind(want, spec);
  check_access(want, spec);
  check_value(want, element);
  fail_unless(strlen(g_param_spec_get_nick(spec)) > 0, "%s has no nick", want->name);
  fail_unless(strlen(g_param_spec_get_blurb(spec)) > 0, "%s has no blurb", want->name);
}

static const Property *find_property(const Property *table, const char *name)
{
  for (; table->name; table++) {
    if (strcmp(table->name, name) == 0)
      return table;
  }
  return NULL;
}

GST_START_TEST(every_property_is_as_documented)
{
  GstElement *element = gst_check_setup_element(expected[__i__].element);

  for (const Property *want = common_properties; want->name; want++)
    check_property(want, element);
  for (const Property *want = expected[__i__].properties; want->name; want++)
    check_property(want, element);
  gst_check_teardown_element(element);
}
GST_END_TEST;

GST_START_TEST(there_are_no_other_properties)
{
  GstElement *element = gst_check_setup_element(expected[__i__].element);
  guint count;
  GParamSpec **specs = g_object_class_list_properties(G_OBJECT_GET_CLASS(element), &count);

  for (guint i = 0; i < count; i++) {
    fail_unless(g_type_is_a(GST_TYPE_VIDEO_FILTER, specs[i]->owner_type) ||
                    find_property(common_properties, specs[i]->name) ||
                    find_property(expected[__i__].properties, specs[i]->name),
                "%s is not documented", specs[i]->name);
  }
  g_free(specs);
  gst_check_teardown_element(element);
}
GST_END_TEST;

/* What says that it can be bound to a controller can be, whichever way its values are meant; the
 * rest does not say so. GstCheck takes GLib's criticals for failures. */
GST_START_TEST(what_is_controllable_can_be_bound)
{
  GstElement *element = gst_check_setup_element(expected[__i__].element);
  GstControlSource *source = gst_interpolation_control_source_new();
  guint count;
  GParamSpec **specs = g_object_class_list_properties(G_OBJECT_GET_CLASS(element), &count);

  gst_timed_value_control_source_set(GST_TIMED_VALUE_CONTROL_SOURCE(source), 0, 1.0);
  for (guint i = 0; i < count; i++) {
    const gchar *name = specs[i]->name;
    GstObject *object = GST_OBJECT(element);

    if (G_IS_PARAM_SPEC_FLAGS(specs[i]) || GST_IS_PARAM_SPEC_ARRAY_LIST(specs[i]) ||
        G_IS_PARAM_SPEC_STRING(specs[i]))
      fail_unless(!(specs[i]->flags & GST_PARAM_CONTROLLABLE), "%s says it can be bound", name);
    if (!(specs[i]->flags & GST_PARAM_CONTROLLABLE) ||
        g_type_is_a(GST_TYPE_VIDEO_FILTER, specs[i]->owner_type))
      continue;
    fail_unless(gst_object_add_control_binding(
                    object, gst_direct_control_binding_new_absolute(object, name, source)),
                "%s cannot be bound", name);
    fail_unless(gst_object_add_control_binding(
                    object, gst_direct_control_binding_new(object, name, source)),
                "%s cannot be bound", name);
    gst_object_sync_values(object, 0);
  }
  g_free(specs);
  gst_object_unref(source);
  gst_check_teardown_element(element);
}
GST_END_TEST;

/* Classification and formats */

GST_START_TEST(metadata_and_rank)
{
  GstElement *element = gst_check_setup_element(expected[__i__].element);
  GstElementFactory *factory = gst_element_get_factory(element);

  fail_unless(GST_IS_VIDEO_FILTER(element));
  fail_unless_equals_string(gst_element_factory_get_metadata(factory, GST_ELEMENT_METADATA_KLASS),
                            "Filter/Effect/Video/Hardware");
  fail_unless_equals_int(gst_plugin_feature_get_rank(GST_PLUGIN_FEATURE(factory)), GST_RANK_NONE);
  fail_unless(gst_element_factory_get_metadata(factory, GST_ELEMENT_METADATA_LONGNAME) != NULL);
  fail_unless(gst_element_factory_get_metadata(factory, GST_ELEMENT_METADATA_DESCRIPTION) != NULL);
  fail_unless(gst_element_factory_get_metadata(factory, GST_ELEMENT_METADATA_AUTHOR) != NULL);
  gst_check_teardown_element(element);
}
GST_END_TEST;

static const GstStructure *system_memory_structure(const GstCaps *caps)
{
  for (guint i = 0; i < gst_caps_get_size(caps); i++) {
    if (gst_caps_features_is_equal(gst_caps_get_features(caps, i),
                                   GST_CAPS_FEATURES_MEMORY_SYSTEM_MEMORY))
      return gst_caps_get_structure(caps, i);
  }
  return NULL;
}

static void check_template(GstElement *element, const char *name, GstPadDirection direction)
{
  GstPadTemplate *template = gst_element_get_pad_template(element, name);
  GstCaps *caps;
  const GstStructure *structure;
  const GValue *list;
  gchar **names = g_strsplit(formats, " ", -1);

  fail_unless(template != NULL, "no pad %s", name);
  fail_unless_equals_int(GST_PAD_TEMPLATE_DIRECTION(template), direction);
  fail_unless_equals_int(GST_PAD_TEMPLATE_PRESENCE(template), GST_PAD_ALWAYS);
  caps = gst_pad_template_get_caps(template);
  structure = system_memory_structure(caps);
  fail_unless(structure != NULL, "no system memory caps");
  fail_unless_equals_string(gst_structure_get_name(structure), "video/x-raw");
  if (gst_caps_get_size(caps) > 1)
    fail_unless(gst_caps_features_contains(gst_caps_get_features(caps, 0), "memory:CUDAMemory"),
                "CUDA memory is not the first choice");

  list = gst_structure_get_value(structure, "format");
  fail_unless_equals_int(gst_value_list_get_size(list), g_strv_length(names));
  for (guint i = 0; i < gst_value_list_get_size(list); i++) {
    const gchar *format = g_value_get_string(gst_value_list_get_value(list, i));
    fail_unless(g_strv_contains((const gchar *const *)names, format), "%s", format);
  }
  fail_unless_equals_int(gst_value_get_int_range_min(gst_structure_get_value(structure, "width")),
                         1);
  fail_unless_equals_int(gst_value_get_int_range_min(gst_structure_get_value(structure, "height")),
                         1);
  gst_caps_unref(caps);
  g_strfreev(names);
}

static gboolean said;

static void note_line(GstDebugCategory *category, GstDebugLevel level, const gchar *file,
                      const gchar *function, gint line, GObject *object, GstDebugMessage *message,
                      gpointer name)
{
  said |= GST_IS_VIDEO_FILTER(object) && strcmp(gst_debug_category_get_name(category), name) == 0;
}

/* What an element does is told under its name: here, which engine caps have opened. */
GST_START_TEST(log_has_the_name_of_the_element)
{
  const CfVideo video = cf_video(CF_FORMAT_GRAY8, 16, 16);
  const gchar *name = element_cases[__i__].name;
  GstHarness *harness;
  GstBus *bus;

  said = FALSE;
  gst_debug_set_threshold_for_name(name, GST_LEVEL_INFO);
  gst_debug_add_log_function(note_line, (gpointer)name, NULL);
  harness = harness_new(name, element_cases[__i__].working, &video, NULL, &bus);
  gst_debug_remove_log_function(note_line);
  gst_debug_unset_threshold_for_name(name);
  fail_unless(said, "%s says nothing under its name", name);
  harness_free(harness, bus);
}
GST_END_TEST;

GST_START_TEST(pad_templates)
{
  GstElement *element = gst_check_setup_element(expected[__i__].element);

  check_template(element, "sink", GST_PAD_SINK);
  check_template(element, "src", GST_PAD_SRC);
  gst_check_teardown_element(element);
}
GST_END_TEST;

static void add_tests(TCase *tests)
{
  const int count = G_N_ELEMENTS(expected);

  tcase_add_loop_test(tests, every_property_is_as_documented, 0, count);
  tcase_add_loop_test(tests, there_are_no_other_properties, 0, count);
  tcase_add_loop_test(tests, what_is_controllable_can_be_bound, 0, count);
  tcase_add_loop_test(tests, metadata_and_rank, 0, count);
  tcase_add_loop_test(tests, log_has_the_name_of_the_element, 0, N_ELEMENTS);
  tcase_add_loop_test(tests, pad_templates, 0, count);
}

int main(int argc, char **argv)
{
  return run_tests(argc, argv, "properties", add_tests);
}
