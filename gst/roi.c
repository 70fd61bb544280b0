/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "roi.h"

#include <math.h>
#include <string.h>

#include "config.h"

#ifdef HAVE_GST_ANALYTICS
#include <gst/analytics/analytics.h>
#endif

#include "coverage.h"
#include "properties.h"

#define FRAMES_BEFORE_WARNING 100

typedef enum { MODE_NONE, MODE_INSIDE, MODE_OUTSIDE } Mode;
typedef enum { MISSING_PASS, MISSING_COVER } Missing;

/* The properties that a table describes. */
typedef struct {
  gint mode, shape, missing;
  gdouble expand, feather;
} Settings;

/* Those that no table describes come after the others. */
enum { PROP_TYPES = 5, PROP_REGIONS, PROP_HOLD };

typedef struct {
  Settings settings;
  gchar **types;     /* accepted names; NULL accepts all */
  gchar *types_text; /* as it was set */
  gchar *text;       /* of the fixed regions */
  GArray *fixed;     /* CfRegion */
  GstClockTime hold;
} Wishes;

struct _GstCudaFiltersRegions {
  Wishes wanted, running; /* the user's; the streaming thread's */
  gboolean changed;

  GArray *seen; /* CfRegion, of the last frame that had any */
  GstClockTime seen_at;
  GArray *frame; /* CfRegion, expanded */
  guint frames_without;
  gboolean any_seen, warned;
};

static const CfChoice modes[] = {
    {MODE_NONE, "none", "The whole frame"},
    {MODE_INSIDE, "inside", "What lies in a region"},
    {MODE_OUTSIDE, "outside", "What lies in no region"},
    {0, NULL, NULL},
};

static const CfChoice shapes[] = {
    {CF_REGION_RECTANGLE, "rectangle", "All of a region"},
    {CF_REGION_ELLIPSE, "ellipse", "The ellipse in a region"},
    {0, NULL, NULL},
};

static const CfChoice missing_choices[] = {
    {MISSING_PASS, "pass", "Pass the frame on, as it has no region"},
    {MISSING_COVER, "cover", "Cover the whole frame"},
    {0, NULL, NULL},
};

static const CfParam params[] = {
    {"roi-mode", "Region mode", "Which part of a frame is filtered", CF_PARAM_ENUM,
     offsetof(Settings, mode), 0.0, 0.0, MODE_NONE, "GstCudaFiltersRoiMode", modes},
    {"roi-shape", "Region shape", "The shape of regions", CF_PARAM_ENUM, offsetof(Settings, shape),
     0.0, 0.0, CF_REGION_RECTANGLE, "GstCudaFiltersRoiShape", shapes},
    {"roi-expand", "Region expansion",
     "Fraction of a region's width and height that is added on each side", CF_PARAM_DOUBLE,
     offsetof(Settings, expand), 0.0, 2.0, 0.0, NULL, NULL},
    {"roi-feather", "Region feather",
     "Pixels over which the effect fades, outwards from what is covered", CF_PARAM_DOUBLE,
     offsetof(Settings, feather), 0.0, 256.0, 0.0, NULL, NULL},
    {"roi-missing", "Missing regions", "What to do with a frame of which no region is known",
     CF_PARAM_ENUM, offsetof(Settings, missing), 0.0, 0.0, MISSING_PASS, "GstCudaFiltersRoiMissing",
     missing_choices},
    {0},
};

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
                          "Comma-separated types of regions to accept (empty = all)", "", flags));
  g_object_class_install_property(
      klass, first_id + PROP_REGIONS,
      g_param_spec_string("regions", "Regions",
                          "Fixed regions x,y,w,h;x,y,w,h in pixels, besides those of metas", "",
                          flags));
  g_object_class_install_property(
      klass, first_id + PROP_HOLD,
      g_param_spec_uint64("roi-hold", "Region hold",
                          "Nanoseconds to keep covering after the last frame with regions", 0,
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

static gboolean set_regions(Wishes *wishes, const gchar *text, CfStatus *status)
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
  g_array_unref(wishes->fixed);
  wishes->fixed = fixed;
  g_free(wishes->text);
  wishes->text = g_strdup(text);
  return TRUE;
}

gboolean gst_cuda_filters_regions_set(GstCudaFiltersRegions *self, guint index, const GValue *value,
                                      CfStatus *status)
{
  Wishes *wishes = &self->wanted;
  const gchar *text = G_VALUE_HOLDS_STRING(value) ? g_value_get_string(value) : NULL;

  self->changed = TRUE;
  switch (index) {
  case PROP_TYPES:
    g_free(wishes->types_text);
    g_strfreev(wishes->types);
    wishes->types_text = g_strdup(text ? text : "");
    wishes->types = split_types(wishes->types_text);
    return TRUE;
  case PROP_REGIONS:
    return set_regions(wishes, text ? text : "", status);
  case PROP_HOLD:
    wishes->hold = g_value_get_uint64(value);
    return TRUE;
  default:
    return gst_cuda_filters_set_param(&params[index], &wishes->settings, value, status);
  }
}

void gst_cuda_filters_regions_get(const GstCudaFiltersRegions *self, guint index, GValue *value)
{
  const Wishes *wishes = &self->wanted;

  switch (index) {
  case PROP_TYPES:
    g_value_set_string(value, wishes->types_text);
    break;
  case PROP_REGIONS:
    g_value_set_string(value, wishes->text);
    break;
  case PROP_HOLD:
    g_value_set_uint64(value, wishes->hold);
    break;
  default:
    gst_cuda_filters_get_param(&params[index], &wishes->settings, value);
    break;
  }
}

static void clear_wishes(Wishes *wishes)
{
  g_strfreev(wishes->types);
  g_free(wishes->types_text);
  g_free(wishes->text);
  g_array_unref(wishes->fixed);
}

static void copy_wishes(Wishes *copy, const Wishes *wishes)
{
  *copy = *wishes;
  copy->types = g_strdupv(wishes->types);
  copy->types_text = g_strdup(wishes->types_text);
  copy->text = g_strdup(wishes->text);
  copy->fixed = g_array_ref(wishes->fixed); /* never changed, only replaced */
}

void gst_cuda_filters_regions_sync(GstCudaFiltersRegions *self)
{
  if (!self->changed)
    return;
  self->changed = FALSE;
  clear_wishes(&self->running);
  copy_wishes(&self->running, &self->wanted);
}

/* ---- Life ---- */

GstCudaFiltersRegions *gst_cuda_filters_regions_new(void)
{
  GstCudaFiltersRegions *self = g_new0(GstCudaFiltersRegions, 1);

  cf_params_init(params, &self->wanted.settings);
  self->wanted.types_text = g_strdup("");
  self->wanted.text = g_strdup("");
  self->wanted.fixed = g_array_new(FALSE, FALSE, sizeof(CfRegion));
  copy_wishes(&self->running, &self->wanted);
  self->seen = g_array_new(FALSE, FALSE, sizeof(CfRegion));
  self->frame = g_array_new(FALSE, FALSE, sizeof(CfRegion));
  self->seen_at = GST_CLOCK_TIME_NONE;
  return self;
}

void gst_cuda_filters_regions_free(GstCudaFiltersRegions *self)
{
  if (!self)
    return;
  clear_wishes(&self->wanted);
  clear_wishes(&self->running);
  g_array_unref(self->seen);
  g_array_unref(self->frame);
  g_free(self);
}

void gst_cuda_filters_regions_reset(GstCudaFiltersRegions *self)
{
  g_array_set_size(self->seen, 0);
  self->seen_at = GST_CLOCK_TIME_NONE;
  self->frames_without = 0;
  self->any_seen = self->warned = FALSE;
}

/* ---- Frames ---- */

static gboolean is_accepted(const Wishes *wishes, GQuark type)
{
  const gchar *name = g_quark_to_string(type);

  return !wishes->types || (name && g_strv_contains((const gchar *const *)wishes->types, name));
}

static void add_rectangle(GArray *regions, gint64 x, gint64 y, gint64 width, gint64 height)
{
  const CfRegion region = {(int)CLAMP(x, G_MININT / 4, G_MAXINT / 4),
                           (int)CLAMP(y, G_MININT / 4, G_MAXINT / 4), (int)MIN(width, G_MAXINT / 4),
                           (int)MIN(height, G_MAXINT / 4)};

  if (width > 0 && height > 0)
    g_array_append_val(regions, region);
}

static void take_roi_metas(const Wishes *wishes, GstBuffer *buffer, GArray *regions)
{
  gpointer state = NULL;
  GstMeta *meta;

  while ((meta = gst_buffer_iterate_meta_filtered(buffer, &state,
                                                  GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE))) {
    const GstVideoRegionOfInterestMeta *roi = (GstVideoRegionOfInterestMeta *)meta;

    if (is_accepted(wishes, roi->roi_type))
      add_rectangle(regions, roi->x, roi->y, roi->w, roi->h);
  }
}

#ifdef HAVE_GST_ANALYTICS
static void take_detections(const Wishes *wishes, GstBuffer *buffer, GArray *regions)
{
  GstAnalyticsRelationMeta *relations = gst_buffer_get_analytics_relation_meta(buffer);
  GstAnalyticsODMtd detection;
  gpointer state = NULL;

  while (relations && gst_analytics_relation_meta_iterate(
                          relations, &state, gst_analytics_od_mtd_get_mtd_type(), &detection)) {
    gint x, y, width, height;
    gfloat confidence;

    if (is_accepted(wishes, gst_analytics_od_mtd_get_obj_type(&detection)) &&
        gst_analytics_od_mtd_get_location(&detection, &x, &y, &width, &height, &confidence))
      add_rectangle(regions, x, y, width, height);
  }
}
#else
static void take_detections(const Wishes *wishes, GstBuffer *buffer, GArray *regions)
{
}
#endif

/* Without timestamps nobody knows how long ago it was: the regions stay. */
static gboolean is_held(const GstCudaFiltersRegions *self, GstClockTime now)
{
  if (self->running.hold == 0)
    return FALSE;
  if (!GST_CLOCK_TIME_IS_VALID(now) || !GST_CLOCK_TIME_IS_VALID(self->seen_at))
    return TRUE;
  return (now > self->seen_at ? now - self->seen_at : self->seen_at - now) <= self->running.hold;
}

/* The regions that metas of this frame, or of one that is held, ask for. */
static void see_metas(GstCudaFiltersRegions *self, GstBuffer *buffer)
{
  const GstClockTime now = GST_BUFFER_PTS(buffer);
  GArray *fresh = self->frame;

  g_array_set_size(fresh, 0);
  take_roi_metas(&self->running, buffer, fresh);
  take_detections(&self->running, buffer, fresh);
  if (fresh->len > 0) {
    g_array_set_size(self->seen, 0);
    g_array_append_vals(self->seen, fresh->data, fresh->len);
    self->seen_at = now;
    self->any_seen = TRUE;
  } else if (self->seen->len > 0 && is_held(self, now)) {
    g_array_append_vals(fresh, self->seen->data, self->seen->len);
  }
  if (!self->any_seen && self->running.fixed->len == 0)
    self->frames_without++;
}

/* Rounded outwards. */
static void expand(CfRegion *region, gdouble fraction)
{
  const gdouble across = ceil(fraction * region->width), down = ceil(fraction * region->height);
  const gdouble most = G_MAXINT / 2;

  region->x = (int)MAX(region->x - across, -most);
  region->y = (int)MAX(region->y - down, -most);
  region->width = (int)MIN(region->width + 2.0 * across, most);
  region->height = (int)MIN(region->height + 2.0 * down, most);
}

GstCudaFiltersCover gst_cuda_filters_regions_look(GstCudaFiltersRegions *self, GstBuffer *buffer,
                                                  const GstVideoInfo *info, CfRegions *regions)
{
  const Settings *settings = &self->running.settings;
  GArray *frame = self->frame;

  if (settings->mode == MODE_NONE)
    return GST_CUDA_FILTERS_COVER_ALL;

  see_metas(self, buffer);
  if (self->running.fixed->len > 0)
    g_array_append_vals(frame, self->running.fixed->data, self->running.fixed->len);
  for (guint i = 0; i < frame->len; i++)
    expand(&g_array_index(frame, CfRegion, i), settings->expand);

  *regions = (CfRegions){.shape = settings->shape,
                         .feather = settings->feather,
                         .outside = settings->mode == MODE_OUTSIDE};
  if (frame->len == 0 && !regions->outside) {
    if (settings->missing == MISSING_PASS)
      return GST_CUDA_FILTERS_COVER_NONE;
    /* A region, so that what is relative to regions has something to go by. */
    add_rectangle(frame, 0, 0, GST_VIDEO_INFO_WIDTH(info), GST_VIDEO_INFO_HEIGHT(info));
    regions->shape = CF_REGION_RECTANGLE;
    regions->feather = 0.0;
  }
  regions->region = (const CfRegion *)(void *)frame->data;
  regions->count = (int)frame->len;
  return GST_CUDA_FILTERS_COVER_SOME;
}

gboolean gst_cuda_filters_regions_seem_lost(GstCudaFiltersRegions *self)
{
  if (self->warned || self->frames_without < FRAMES_BEFORE_WARNING)
    return FALSE;
  self->warned = TRUE;
  return TRUE;
}
