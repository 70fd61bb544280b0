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

gboolean gst_cuda_filters_detections_accept(GstCudaFiltersSearch *search, GQuark type)
{
  const gchar *name = g_quark_to_string(type);

  if (!search->types || (name && g_strv_contains((const gchar *const *)search->types, name)))
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

static void add_box(GstCudaFiltersSearch *search, GstCudaFiltersBox box)
{
  const GstCudaFiltersDetection detection = {
      .box = box, .whole = box, .object = search->found->len};

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
      add_box(search, (GstCudaFiltersBox){coordinate(roi->x), coordinate(roi->y), roi->w, roi->h});
  }
}

#ifdef HAVE_GST_ANALYTICS
static void find_objects(GstCudaFiltersSearch *search, GstAnalyticsRelationMeta *relations)
{
  GstAnalyticsODMtd detection;
  gpointer state = NULL;

  while (gst_analytics_relation_meta_iterate(relations, &state, gst_analytics_od_mtd_get_mtd_type(),
                                             &detection)) {
    gint x, y, width, height;
    gfloat confidence;

    if (gst_cuda_filters_detections_accept(search, gst_analytics_od_mtd_get_obj_type(&detection)) &&
        gst_analytics_od_mtd_get_location(&detection, &x, &y, &width, &height, &confidence))
      add_box(search, (GstCudaFiltersBox){x, y, width, height});
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

gboolean gst_cuda_filters_detections_are_analytics(const GstMeta *meta)
{
#ifdef HAVE_GST_ANALYTICS
  return meta->info->api == GST_ANALYTICS_RELATION_META_API_TYPE;
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
