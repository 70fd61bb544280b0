/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "detections.h"

#ifdef HAVE_GST_ANALYTICS
#include <gst/analytics/analytics.h>
#endif

#include <math.h>

#include "segments.h"

GstCudaFiltersBox gst_cuda_filters_box_grow(const GstCudaFiltersBox *box,
                                            const GstCudaFiltersBox *whole, gdouble fraction)
{
  const gint64 across = (gint64)ceil(fraction * (gdouble)whole->width);
  const gint64 down = (gint64)ceil(fraction * (gdouble)whole->height);

  return (GstCudaFiltersBox){box->x - across, box->y - down, box->width + 2 * across,
                             box->height + 2 * down};
}

gboolean gst_cuda_filters_detections_has_type(gchar **types, GQuark type)
{
  const gchar *name = g_quark_to_string(type);

  return !types || (name && g_strv_contains((const gchar *const *)types, name));
}

gboolean gst_cuda_filters_detections_accept(GstCudaFiltersSearch *search, GQuark type)
{
  if (gst_cuda_filters_detections_has_type(search->types, type))
    return TRUE;
  if (search->rejected->len == GST_CUDA_FILTERS_MAX_REJECTED)
    return FALSE;
  for (guint i = 0; i < search->rejected->len; i++) {
    if (g_array_index(search->rejected, GQuark, i) == type)
      return FALSE;
  }
  g_array_append_val(search->rejected, type);
  return FALSE;
}

static void add_box(GstCudaFiltersSearch *search, GQuark type, GstCudaFiltersBox box)
{
  const GstCudaFiltersDetection detection = {
      .box = box, .whole = box, .type = type, .object = search->found->len};

  if (box.width > 0 && box.height > 0)
    g_array_append_val(search->found, detection);
}

/* The meta's coordinates are unsigned, but detectors write negative ones, which wrap around. */
static gint64 coordinate(guint value)
{
  return value > G_MAXINT ? (gint64)value - G_MAXUINT - 1 : value;
}

static void find_rois(GstCudaFiltersSearch *search, GstBuffer *buffer)
{
  gpointer state = NULL;
  GstMeta *meta;

  while ((meta = gst_buffer_iterate_meta_filtered(buffer, &state,
                                                  GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE))) {
    const GstVideoRegionOfInterestMeta *roi = (GstVideoRegionOfInterestMeta *)meta;

    if (gst_cuda_filters_detections_accept(search, roi->roi_type))
      add_box(search, roi->roi_type,
              (GstCudaFiltersBox){coordinate(roi->x), coordinate(roi->y), roi->w, roi->h});
  }
}

#ifdef HAVE_GST_ANALYTICS
/* The bounds of a box that is turned about its centre, in radians. GStreamer's own lose up to two
 * pixels by rounding. */
static GstCudaFiltersBox turned(GstCudaFiltersBox box, gdouble angle)
{
  const gdouble unknown = isfinite(angle) ? 0.0 : 1.0; /* then wide enough for any angle */
  const gdouble cosine = MAX(fabs(cos(angle)), unknown), sine = MAX(fabs(sin(angle)), unknown);
  const gdouble width = (gdouble)box.width, height = (gdouble)box.height, error = 1e-3;
  const gdouble x = (gdouble)box.x + 0.5 * width, across = 0.5 * (width * cosine + height * sine);
  const gdouble y = (gdouble)box.y + 0.5 * height, down = 0.5 * (width * sine + height * cosine);

  if (angle == 0.0)
    return box;
  box.x = (gint64)floor(x - across + error);
  box.y = (gint64)floor(y - down + error);
  box.width = (gint64)ceil(x + across - error) - box.x;
  box.height = (gint64)ceil(y + down - error) - box.y;
  return box;
}

static gboolean get_box(GstAnalyticsODMtd *detection, GstCudaFiltersBox *box)
{
  gfloat angle = 0.0f, confidence;
  gint x, y, width, height;
  gboolean good;

#ifdef HAVE_GST_SEGMENTATION
  good = gst_analytics_od_mtd_get_oriented_location(detection, &x, &y, &width, &height, &angle,
                                                    &confidence);
#else
  good = gst_analytics_od_mtd_get_location(detection, &x, &y, &width, &height, &confidence);
#endif
  if (good && width > 0 && height > 0)
    *box = turned((GstCudaFiltersBox){x, y, width, height}, (gdouble)angle);
  return good && width > 0 && height > 0;
}

static void find_objects(GstCudaFiltersSearch *search, GstAnalyticsRelationMeta *relations)
{
  GstAnalyticsODMtd detection;
  gpointer state = NULL;

  while (gst_analytics_relation_meta_iterate(relations, &state, gst_analytics_od_mtd_get_mtd_type(),
                                             &detection)) {
    const GQuark type = gst_analytics_od_mtd_get_obj_type(&detection);
    GstCudaFiltersBox box;

    if (gst_cuda_filters_detections_accept(search, type) && get_box(&detection, &box))
      add_box(search, type, box);
  }
}
#endif

void gst_cuda_filters_detections_move(GArray *detections, gint64 x, gint64 y)
{
  for (guint i = 0; i < detections->len; i++) {
    GstCudaFiltersDetection *detection = &g_array_index(detections, GstCudaFiltersDetection, i);

    detection->box.x += x;
    detection->box.y += y;
    detection->whole.x += x;
    detection->whole.y += y;
  }
}

gboolean gst_cuda_filters_detections_become_regions(GstBuffer *output, GstMeta *meta,
                                                    const GstVideoCropMeta *crop)
{
#ifdef HAVE_GST_ANALYTICS
  GstCudaFiltersSearch search = {.types = NULL};

  if (meta->info->api != GST_ANALYTICS_RELATION_META_API_TYPE)
    return FALSE;
  search.found = g_array_new(FALSE, FALSE, sizeof(GstCudaFiltersDetection));
  find_objects(&search, (GstAnalyticsRelationMeta *)meta);
  for (guint i = 0; i < search.found->len; i++) {
    const GstCudaFiltersDetection *detection =
        &g_array_index(search.found, GstCudaFiltersDetection, i);
    const GstCudaFiltersBox *box = &detection->box;

    gst_buffer_add_video_region_of_interest_meta_id(
        output, detection->type, (guint)box->x - crop->x, (guint)box->y - crop->y,
        (guint)box->width, (guint)box->height);
  }
  g_array_unref(search.found);
  return TRUE;
#else
  return FALSE;
#endif
}

void gst_cuda_filters_detections_find(GstCudaFiltersSearch *search, GstBuffer *buffer)
{
  const GstVideoCropMeta *crop = gst_buffer_get_video_crop_meta(buffer);

  find_rois(search, buffer);
#ifdef HAVE_GST_ANALYTICS
  GstAnalyticsRelationMeta *relations = gst_buffer_get_analytics_relation_meta(buffer);

  if (relations) {
    find_objects(search, relations);
#ifdef HAVE_GST_SEGMENTATION
    gst_cuda_filters_segments_find(search, relations);
#endif
  }
#endif
  if (crop)
    gst_cuda_filters_detections_move(search->found, -(gint64)crop->x, -(gint64)crop->y);
}
