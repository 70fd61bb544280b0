/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tonemap-caps.h"

static const gchar *const hdr_formats[] = {"P010_10LE", "I420_10LE", "I422_10LE", "P012_LE",
                                           "P016_LE",   "Y444_10LE", "Y444_16LE", NULL};

/* Output formats with their colorimetry, the preferred first. */
typedef struct {
  const gchar *const *formats;
  const gchar *colorimetry;
} SdrOutput;

static const gchar *const yuv_formats[] = {"NV12", "I420", "P010_10LE", NULL};
static const gchar *const rgb_formats[] = {"RGBA", "BGRA", NULL};
static const SdrOutput sdr_outputs[] = {
    {yuv_formats, GST_VIDEO_COLORIMETRY_BT709},
    {rgb_formats, GST_VIDEO_COLORIMETRY_SRGB},
};

static const gchar *const hdr_fields[] = {"mastering-display-info", "content-light-level", NULL};

/* Colorimetry */

typedef enum {
  SDR = 1,
  HDR = 2,
  ANY = SDR | HDR, /* may be either */
} DynamicRange;

static DynamicRange range_of_colorimetry(const gchar *name)
{
  GstVideoColorimetry colorimetry;

  return gst_video_colorimetry_from_string(&colorimetry, name) &&
                 (colorimetry.transfer == GST_VIDEO_TRANSFER_SMPTE2084 ||
                  colorimetry.transfer == GST_VIDEO_TRANSFER_ARIB_STD_B67)
             ? HDR
             : SDR;
}

/* The strings in `value`, a string or a list of them, that name colorimetry of range `light`; unset
 * if there are none. */
static void filter_colorimetry(const GValue *value, DynamicRange light, GValue *filtered)
{
  const guint count = GST_VALUE_HOLDS_LIST(value) ? gst_value_list_get_size(value) : 1;

  g_value_init(filtered, GST_TYPE_LIST);
  for (guint i = 0; i < count; i++) {
    const GValue *one = GST_VALUE_HOLDS_LIST(value) ? gst_value_list_get_value(value, i) : value;

    if (G_VALUE_HOLDS_STRING(one) && range_of_colorimetry(g_value_get_string(one)) == light)
      gst_value_list_append_value(filtered, one);
  }
  if (gst_value_list_get_size(filtered) == 1) {
    GValue only = G_VALUE_INIT;

    gst_value_init_and_copy(&only, gst_value_list_get_value(filtered, 0));
    g_value_unset(filtered);
    *filtered = only;
  } else if (gst_value_list_get_size(filtered) == 0) {
    g_value_unset(filtered);
  }
}

static gboolean has_range(const GstStructure *structure, DynamicRange light)
{
  const GValue *value = gst_structure_get_value(structure, "colorimetry");
  GValue filtered = G_VALUE_INIT;
  gboolean found;

  filter_colorimetry(value, light, &filtered);
  found = G_IS_VALUE(&filtered);
  if (found)
    g_value_unset(&filtered);
  return found;
}

/* The ranges that frames with these caps may have. Fixed caps without colorimetry are SDR, as for
 * all of GStreamer; others without it may still get any. */
static guint ranges_of(const GstStructure *structure, gboolean fixed)
{
  if (!gst_structure_has_field(structure, "colorimetry"))
    return fixed ? SDR : ANY;
  return (has_range(structure, SDR) ? SDR : 0u) | (has_range(structure, HDR) ? HDR : 0u);
}

/* Structures */

static void init_string_list(GValue *list, const gchar *const *strings)
{
  g_value_init(list, GST_TYPE_LIST);
  for (; *strings; strings++) {
    GValue value = G_VALUE_INIT;

    g_value_init(&value, G_TYPE_STRING);
    g_value_set_static_string(&value, *strings);
    gst_value_list_append_and_take_value(list, &value);
  }
}

/* Whether `field` is missing, or can have one of `strings`. */
static gboolean allows(const GstStructure *structure, const gchar *field,
                       const gchar *const *strings)
{
  const GValue *value = gst_structure_get_value(structure, field);
  GValue wanted = G_VALUE_INIT;
  gboolean good = TRUE;

  init_string_list(&wanted, strings);
  if (value)
    good = gst_value_intersect(NULL, value, &wanted);
  g_value_unset(&wanted);
  return good;
}

static void set_strings(GstStructure *structure, const gchar *field, const gchar *const *strings)
{
  GValue list = G_VALUE_INIT;

  init_string_list(&list, strings);
  gst_structure_take_value(structure, field, &list);
}

static void remove_hdr_fields(GstStructure *structure)
{
  for (const gchar *const *field = hdr_fields; *field; field++)
    gst_structure_remove_field(structure, *field);
}

static void append(GstCaps *caps, GstStructure *structure, const GstCapsFeatures *features)
{
  gst_caps_append_structure_full(caps, structure,
                                 features ? gst_caps_features_copy(features) : NULL);
}

/* Appends `structure` with SDR colorimetry only: SDR passes unchanged. */
static void append_sdr_unchanged(GstCaps *caps, const GstStructure *structure,
                                 const GstCapsFeatures *features)
{
  const GValue *value = gst_structure_get_value(structure, "colorimetry");
  GstStructure *same = gst_structure_copy(structure);

  if (value) {
    GValue filtered = G_VALUE_INIT;

    filter_colorimetry(value, SDR, &filtered);
    gst_structure_take_value(same, "colorimetry", &filtered);
  }
  append(caps, same, features);
}

/* Appends the SDR outputs for HDR input. Fixed caps of a format that is not supported get them,
 * too: negotiation then succeeds, and the format is refused with an error that names it. */
static void append_sdr_outputs(GstCaps *caps, const GstStructure *structure,
                               const GstCapsFeatures *features, gboolean fixed)
{
  if (!fixed && !allows(structure, "format", hdr_formats))
    return;
  for (gsize i = 0; i < G_N_ELEMENTS(sdr_outputs); i++) {
    GstStructure *result = gst_structure_copy(structure);

    remove_hdr_fields(result);
    /* Chroma siting is kept: an output chroma sample comes from the input's at the same place. */
    if (sdr_outputs[i].formats == rgb_formats)
      gst_structure_remove_field(result, "chroma-site");
    set_strings(result, "format", sdr_outputs[i].formats);
    gst_structure_set(result, "colorimetry", G_TYPE_STRING, sdr_outputs[i].colorimetry, NULL);
    append(caps, result, features);
  }
}

static gboolean can_be_sdr_output(const GstStructure *structure)
{
  for (gsize i = 0; i < G_N_ELEMENTS(sdr_outputs); i++) {
    const gchar *const colorimetry[] = {sdr_outputs[i].colorimetry, NULL};

    if (allows(structure, "format", sdr_outputs[i].formats) &&
        allows(structure, "colorimetry", colorimetry))
      return TRUE;
  }
  return FALSE;
}

/* Appends the HDR inputs that can become `structure`, without colorimetry: caps may name it in many
 * ways, and it is checked when caps are fixed. */
static void append_hdr_inputs(GstCaps *caps, const GstStructure *structure,
                              const GstCapsFeatures *features)
{
  GstStructure *hdr = gst_structure_copy(structure);

  remove_hdr_fields(hdr);
  gst_structure_remove_fields(hdr, "colorimetry", "chroma-site", NULL);
  set_strings(hdr, "format", hdr_formats);
  append(caps, hdr, features);
}

GstCaps *gst_cuda_filters_tonemap_other_caps(GstPadDirection direction, const GstCaps *caps)
{
  const gboolean fixed = gst_caps_is_fixed(caps);
  GstCaps *other = gst_caps_new_empty();

  if (gst_caps_is_any(caps))
    return gst_caps_merge(other, gst_caps_new_any());
  for (guint i = 0; i < gst_caps_get_size(caps); i++) {
    const GstStructure *structure = gst_caps_get_structure(caps, i);
    const GstCapsFeatures *features = gst_caps_get_features(caps, i);
    const guint ranges = ranges_of(structure, fixed);

    if (ranges & SDR)
      append_sdr_unchanged(other, structure, features);
    if (direction == GST_PAD_SINK && ranges & HDR)
      append_sdr_outputs(other, structure, features, fixed);
    if (direction == GST_PAD_SRC && can_be_sdr_output(structure))
      append_hdr_inputs(other, structure, features);
  }
  return other;
}

static const gchar *nick_of(GType type, gint value)
{
  GEnumClass *values = g_type_class_ref(type);
  const GEnumValue *found = g_enum_get_value(values, value);
  const gchar *nick = found ? g_intern_string(found->value_nick) : "unknown";

  g_type_class_unref(values);
  return nick;
}

gboolean gst_cuda_filters_tonemap_complete_info(const GstCaps *caps, GstVideoInfo *info,
                                                CfStatus *status)
{
  const gchar *name = gst_structure_get_string(gst_caps_get_structure(caps, 0), "colorimetry");
  GstVideoColorimetry *colorimetry = &info->colorimetry;
  gdouble red, blue;

  if (!name || range_of_colorimetry(name) != HDR)
    return TRUE;
  gst_video_colorimetry_from_string(colorimetry, name);
  if (colorimetry->matrix == GST_VIDEO_COLOR_MATRIX_UNKNOWN)
    colorimetry->matrix = GST_VIDEO_COLOR_MATRIX_BT2020;
  if (colorimetry->primaries == GST_VIDEO_COLOR_PRIMARIES_UNKNOWN)
    colorimetry->primaries = GST_VIDEO_COLOR_PRIMARIES_BT2020;
  if (!GST_VIDEO_INFO_IS_RGB(info) &&
      !gst_video_color_matrix_get_Kr_Kb(colorimetry->matrix, &red, &blue))
    return cf_fail(
        status, CF_ERROR_INVALID,
        "HDR with the colour matrix %s is not supported, allowed are bt2020, bt709, bt601, "
        "smpte240m and fcc",
        nick_of(GST_TYPE_VIDEO_COLOR_MATRIX, (gint)colorimetry->matrix));
  switch (colorimetry->primaries) {
  case GST_VIDEO_COLOR_PRIMARIES_BT2020:
  case GST_VIDEO_COLOR_PRIMARIES_SMPTEEG432:
  case GST_VIDEO_COLOR_PRIMARIES_SMPTERP431:
  case GST_VIDEO_COLOR_PRIMARIES_BT709:
    return TRUE;
  default:
    return cf_fail(
        status, CF_ERROR_INVALID,
        "HDR with the primaries %s is not supported, allowed are bt2020, smpteeg432 (P3), "
        "smpterp431 (DCI-P3) and bt709",
        nick_of(GST_TYPE_VIDEO_COLOR_PRIMARIES, (gint)colorimetry->primaries));
  }
}

gdouble gst_cuda_filters_tonemap_peak(const GstCaps *caps)
{
  GstVideoContentLightLevel light;
  GstVideoMasteringDisplayInfo display;

  if (gst_video_content_light_level_from_caps(&light, caps) && light.max_content_light_level > 0)
    return light.max_content_light_level;
  /* In units of 0.0001 nits. */
  if (gst_video_mastering_display_info_from_caps(&display, caps))
    return display.max_display_mastering_luminance / 10000.0;
  return 0.0;
}
