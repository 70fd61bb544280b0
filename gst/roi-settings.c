/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "roi-settings.h"

#include "plan/coverage.h"
#include "properties.h"
#include "roi.h"

/* Indices of the properties after those of the table. */
enum { PROP_TYPES = 6, PROP_REGIONS, PROP_HOLD };

static const CfChoice modes[] = {
    {GST_CUDA_FILTERS_ROI_NONE, "none", "The whole frame"},
    {GST_CUDA_FILTERS_ROI_INSIDE, "inside", "What lies inside the regions"},
    {GST_CUDA_FILTERS_ROI_OUTSIDE, "outside", "What lies outside the regions"},
    {0, NULL, NULL},
};

static const CfChoice shapes[] = {
    {CF_REGION_RECTANGLE, "rectangle", "The whole rectangle"},
    {CF_REGION_ELLIPSE, "ellipse", "The ellipse inside the rectangle"},
    {0, NULL, NULL},
};

static const CfChoice missing_choices[] = {
    {GST_CUDA_FILTERS_ROI_PASS, "pass", "No special treatment: only fixed regions count"},
    {GST_CUDA_FILTERS_ROI_COVER, "cover", "Filter the whole frame"},
    {0, NULL, NULL},
};

static const CfParam params[] = {
    {"roi-mode", "Region mode", "Which part of a frame is filtered", CF_PARAM_ENUM,
     offsetof(GstCudaFiltersRoiParams, mode), 0.0, 0.0, GST_CUDA_FILTERS_ROI_NONE,
     "GstCudaFiltersRoiMode", modes, .group = "Regions"},
    {"roi-shape", "Region shape", "Shape of the regions", CF_PARAM_ENUM,
     offsetof(GstCudaFiltersRoiParams, shape), 0.0, 0.0, CF_REGION_RECTANGLE,
     "GstCudaFiltersRoiShape", shapes},
    {"roi-expand", "Region expansion",
     "Margin added on each side of a region, as a fraction of its width and height",
     CF_PARAM_DOUBLE, offsetof(GstCudaFiltersRoiParams, expand), 0.0, 2.0, 0.0, NULL, NULL,
     .soft_minimum = 0.0, .soft_maximum = 1.0},
    {"roi-feather", "Region feather",
     "Width in pixels of the soft edge around each region (ellipses have at least 1)",
     CF_PARAM_DOUBLE, offsetof(GstCudaFiltersRoiParams, feather), 0.0, 256.0, 0.0, NULL, NULL,
     .soft_minimum = 0.0, .soft_maximum = 64.0, .scale = CF_SCALE_SQUARE},
    {"roi-steady", "Region steadiness",
     "A region stays where it was while its object has moved or grown by less than this fraction "
     "of its size and is still covered (roi-mode=inside)",
     CF_PARAM_DOUBLE, offsetof(GstCudaFiltersRoiParams, steady), 0.0, 1.0, 0.1, NULL, NULL},
    {"roi-missing", "Missing regions",
     "What to do with a frame that has no detected region; fixed regions do not count",
     CF_PARAM_ENUM, offsetof(GstCudaFiltersRoiParams, missing), 0.0, 0.0, GST_CUDA_FILTERS_ROI_PASS,
     "GstCudaFiltersRoiMissing", missing_choices},
    {0},
};

const CfParam *const gst_cuda_filters_roi_table = params;

G_STATIC_ASSERT(G_N_ELEMENTS(params) - 1 == PROP_TYPES);
G_STATIC_ASSERT(PROP_HOLD + 1 == GST_CUDA_FILTERS_REGIONS_N_PROPERTIES);

/* ---- Properties ---- */

void gst_cuda_filters_regions_install(GObjectClass *klass, guint first_id)
{
  const GParamFlags flags = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_PLAYING;

  gst_cuda_filters_install_params(klass, params, first_id);
  g_object_class_install_property(
      klass, first_id + PROP_TYPES,
      g_param_spec_string("roi-types", "Region types",
                          "Types of detected regions to use, separated by commas (empty = all)", "",
                          flags));
  g_object_class_install_property(
      klass, first_id + PROP_REGIONS,
      g_param_spec_string(
          "regions", "Regions",
          "Fixed regions in pixels, as x,y,w,h;x,y,w,h, in addition to detected ones", "", flags));
  g_object_class_install_property(
      klass, first_id + PROP_HOLD,
      g_param_spec_uint64(
          "roi-hold", "Region hold",
          "How long the last detected regions stay when no new ones come, in nanoseconds", 0,
          G_MAXUINT64, 0, flags | GST_PARAM_CONTROLLABLE));
}

static gchar **split_types(const gchar *text)
{
  gchar **types = g_strsplit(text, ",", -1);
  guint kept = 0;

  for (guint i = 0; types[i]; i++) {
    if (*g_strstrip(types[i]))
      types[kept++] = types[i];
    else
      g_free(types[i]);
  }
  types[kept] = NULL;
  if (kept == 0)
    g_clear_pointer(&types, g_strfreev);
  return types;
}

static guint count_regions(const gchar *text)
{
  guint count = 1;

  for (; *text; text++)
    count += *text == ';';
  return count;
}

static gboolean set_regions(GstCudaFiltersRoiSettings *settings, const gchar *text,
                            CfStatus *status)
{
  const guint capacity = count_regions(text);
  GArray *fixed = g_array_sized_new(FALSE, FALSE, sizeof(CfRegion), capacity);
  gint count;

  g_array_set_size(fixed, capacity);
  count = cf_regions_parse(text, (CfRegion *)(void *)fixed->data, (int)capacity, status);
  if (count < 0) {
    g_array_unref(fixed);
    return FALSE;
  }
  g_array_set_size(fixed, (guint)count);
  g_array_unref(settings->fixed);
  settings->fixed = fixed;
  g_free(settings->text);
  settings->text = g_strdup(text);
  return TRUE;
}

gboolean gst_cuda_filters_roi_settings_set(GstCudaFiltersRoiSettings *settings, guint index,
                                           const GValue *value, CfStatus *status)
{
  const gchar *text = G_VALUE_HOLDS_STRING(value) ? g_value_get_string(value) : NULL;

  switch (index) {
  case PROP_TYPES:
    g_free(settings->types_text);
    g_strfreev(settings->types);
    settings->types_text = g_strdup(text ? text : "");
    settings->types = split_types(settings->types_text);
    return TRUE;
  case PROP_REGIONS:
    return set_regions(settings, text ? text : "", status);
  case PROP_HOLD:
    settings->hold = g_value_get_uint64(value);
    return TRUE;
  default:
    return gst_cuda_filters_set_param(&params[index], &settings->params, value, status);
  }
}

void gst_cuda_filters_roi_settings_get(const GstCudaFiltersRoiSettings *settings, guint index,
                                       GValue *value)
{
  switch (index) {
  case PROP_TYPES:
    g_value_set_string(value, settings->types_text);
    break;
  case PROP_REGIONS:
    g_value_set_string(value, settings->text);
    break;
  case PROP_HOLD:
    g_value_set_uint64(value, settings->hold);
    break;
  default:
    gst_cuda_filters_get_param(&params[index], &settings->params, value);
    break;
  }
}

void gst_cuda_filters_roi_settings_init(GstCudaFiltersRoiSettings *settings)
{
  *settings = (GstCudaFiltersRoiSettings){.types_text = g_strdup(""), .text = g_strdup("")};
  cf_params_init(params, &settings->params);
  settings->fixed = g_array_new(FALSE, FALSE, sizeof(CfRegion));
}

void gst_cuda_filters_roi_settings_clear(GstCudaFiltersRoiSettings *settings)
{
  g_strfreev(settings->types);
  g_free(settings->types_text);
  g_free(settings->text);
  g_array_unref(settings->fixed);
}

void gst_cuda_filters_roi_settings_copy(GstCudaFiltersRoiSettings *copy,
                                        const GstCudaFiltersRoiSettings *settings)
{
  *copy = *settings;
  copy->types = g_strdupv(settings->types);
  copy->types_text = g_strdup(settings->types_text);
  copy->text = g_strdup(settings->text);
  copy->fixed = g_array_ref(settings->fixed);
}

const gchar *gst_cuda_filters_roi_settings_first_set(const GstCudaFiltersRoiSettings *settings)
{
  GstCudaFiltersRoiParams initial;

  cf_params_init(params, &initial);
  return settings->fixed->len > 0                      ? "regions"
         : settings->types                             ? "roi-types"
         : settings->hold > 0                          ? "roi-hold"
         : settings->params.missing != initial.missing ? "roi-missing"
         : settings->params.shape != initial.shape     ? "roi-shape"
         : settings->params.expand != initial.expand   ? "roi-expand"
         : settings->params.feather != initial.feather ? "roi-feather"
         : settings->params.steady != initial.steady   ? "roi-steady"
                                                       : NULL;
}
