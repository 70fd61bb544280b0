/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "segments.h"

#ifdef HAVE_GST_SEGMENTATION

/* One mask, mapped. */
typedef struct {
  GstVideoFrame frame;
  gint width, height;
  gboolean wide;           /* 16 bits a pixel, else 8 */
  GstCudaFiltersBox place; /* in the frame */
} Mask;

/* Pixels of a mask with x0 <= x < x1 and y0 <= y < y1. */
typedef struct {
  gint x0, y0, x1, y1;
} Rect;

/* An object of a mask, which is being cut into rectangles. */
typedef struct {
  GstCudaFiltersSearch *search;
  const Mask *mask;
  GQuark type;
  guint value; /* of its pixels */
  Rect bounds; /* of its pixels */
  guint first; /* index of its first rectangle in search->found */
} Object;

static guint pixel(const Mask *mask, gint x, gint y)
{
  const guint8 *row = (const guint8 *)GST_VIDEO_FRAME_PLANE_DATA(&mask->frame, 0) +
                      (gssize)y * GST_VIDEO_FRAME_PLANE_STRIDE(&mask->frame, 0);

  if (!mask->wide)
    return row[x];
  return GST_VIDEO_FRAME_FORMAT(&mask->frame) == GST_VIDEO_FORMAT_GRAY16_LE
             ? GST_READ_UINT16_LE(row + 2 * x)
             : GST_READ_UINT16_BE(row + 2 * x);
}

/* ---- From the mask to the frame ---- */

static gint64 scale_up(gint64 value, gint64 to, gint64 from)
{
  return (value * to + from - 1) / from;
}

/* From pixels of the mask to pixels of the frame: a pixel of the frame has the value of the mask's
 * pixel in which its top left corner lies. Pixels left of the object or above it that overlap it in
 * part are filtered, too, also with `outside`. */
static GstCudaFiltersBox place(const Object *object, Rect rect)
{
  const Mask *mask = object->mask;
  const GstCudaFiltersBox *to = &mask->place;
  const gboolean outside = object->search->outside;
  const gint64 x0 =
      outside ? scale_up(rect.x0, to->width, mask->width) : rect.x0 * to->width / mask->width;
  const gint64 y0 =
      outside ? scale_up(rect.y0, to->height, mask->height) : rect.y0 * to->height / mask->height;

  return (GstCudaFiltersBox){to->x + x0, to->y + y0, scale_up(rect.x1, to->width, mask->width) - x0,
                             scale_up(rect.y1, to->height, mask->height) - y0};
}

static void add_rect(const Object *object, Rect rect)
{
  const GstCudaFiltersDetection part = {.box = place(object, rect),
                                        .whole = place(object, object->bounds),
                                        .type = object->type,
                                        .object = object->first,
                                        .part = TRUE};

  if (part.box.width > 0 && part.box.height > 0)
    g_array_append_val(object->search->found, part);
}

/* ---- Cutting ---- */

/* Whether column `x` has the object in any row y0 <= y < y1 (with `outside`: in every row). */
static gboolean is_shown(const Object *object, gint x, gint y0, gint y1)
{
  const gboolean all = object->search->outside;

  for (gint y = y0; y < y1; y++) {
    if ((pixel(object->mask, x, y) == object->value) != all)
      return !all;
  }
  return all;
}

/* Finds the runs of the object in the band of rows y0 <= y < y1. A run with the same columns as one
 * of `open`, the runs of the band above, continues that one; runs of `open` that end are added as
 * rectangles. False if there are too many rectangles. */
static gboolean add_band(const Object *object, GArray *open, GArray *runs, gint y0, gint y1,
                         guint *count)
{
  const Rect *bounds = &object->bounds;

  g_array_set_size(runs, 0);
  for (gint x = bounds->x0; x < bounds->x1;) {
    Rect run = {x, y0, x, y1};

    while (run.x1 < bounds->x1 && is_shown(object, run.x1, y0, y1))
      run.x1++;
    x = run.x1 + 1;
    if (run.x0 == run.x1)
      continue;
    for (guint i = 0; i < open->len; i++) {
      Rect *above = &g_array_index(open, Rect, i);

      if (above->x0 == run.x0 && above->x1 == run.x1) {
        run.y0 = above->y0;
        above->x1 = above->x0; /* continued: not to be added */
      }
    }
    g_array_append_val(runs, run);
  }
  for (guint i = 0; i < open->len; i++) {
    const Rect *ended = &g_array_index(open, Rect, i);

    if (ended->x0 < ended->x1) {
      add_rect(object, *ended);
      ++*count;
    }
  }
  return *count + runs->len <= GST_CUDA_FILTERS_MAX_PARTS;
}

/* Cuts the object into rectangles, in bands of `rows` rows. False if there are too many. */
static gboolean cut_into_bands(const Object *object, gint rows)
{
  GArray *open = g_array_new(FALSE, FALSE, sizeof(Rect));
  GArray *runs = g_array_new(FALSE, FALSE, sizeof(Rect));
  gboolean good = TRUE;
  guint count = 0;

  g_array_set_size(object->search->found, object->first);
  for (gint y = object->bounds.y0; good && y < object->bounds.y1; y += rows) {
    GArray *swapped = open;

    good = add_band(object, open, runs, y, MIN(y + rows, object->bounds.y1), &count);
    open = runs;
    runs = swapped;
  }
  for (guint i = 0; good && i < open->len; i++)
    add_rect(object, g_array_index(open, Rect, i));
  g_array_unref(open);
  g_array_unref(runs);
  return good;
}

/* Cuts the object with the thinnest bands that keep the number of rectangles within the limit.
 * Thicker bands filter more of the frame. If none do, its bounds are the only rectangle (with
 * `outside`, there is none). */
static void cut(const Object *object)
{
  const gint height = object->bounds.y1 - object->bounds.y0;
  gint rows = 1;

  while (rows < 2 * height && !cut_into_bands(object, rows))
    rows *= 2;
  if (rows < 2 * height)
    return;
  g_array_set_size(object->search->found, object->first);
  if (!object->search->outside)
    add_rect(object, object->bounds);
}

/* ---- Masks ---- */

/* The bounds of the pixels of each region of the mask, of which there are `count`. */
static void find_bounds(const Mask *mask, GstAnalyticsSegmentationMtd *mtd, gsize count,
                        Rect *bounds)
{
  gsize index = 0;

  for (gsize i = 0; i < count; i++)
    bounds[i] = (Rect){mask->width, mask->height, 0, 0};
  for (gint y = 0; y < mask->height; y++) {
    guint last = G_MAXUINT;

    for (gint x = 0; x < mask->width; x++) {
      const guint value = pixel(mask, x, y);

      if (value != last && !gst_analytics_segmentation_mtd_get_region_index(mtd, &index, value))
        index = count;
      last = value;
      if (index >= count)
        continue;
      bounds[index].x0 = MIN(bounds[index].x0, x);
      bounds[index].y0 = MIN(bounds[index].y0, y);
      bounds[index].x1 = MAX(bounds[index].x1, x + 1);
      bounds[index].y1 = MAX(bounds[index].y1, y + 1);
    }
  }
}

/* The type of region `index`, from a classification with an entry for each region; false if there
 * is none. */
static gboolean get_class(GstAnalyticsRelationMeta *relations,
                          const GstAnalyticsSegmentationMtd *mtd, gsize index, gsize count,
                          GQuark *type)
{
  GstAnalyticsClsMtd classes;
  gpointer state = NULL;

  while (gst_analytics_relation_meta_get_direct_related(
      relations, mtd->id, GST_ANALYTICS_REL_TYPE_ANY, gst_analytics_cls_mtd_get_mtd_type(), &state,
      &classes)) {
    if (gst_analytics_cls_mtd_get_length(&classes) == count) {
      *type = gst_analytics_cls_mtd_get_quark(&classes, index);
      return TRUE;
    }
  }
  return FALSE;
}

/* The type of the object detection that the mask is related to; 0 if there is none. */
static GQuark detected_type(GstAnalyticsRelationMeta *relations,
                            const GstAnalyticsSegmentationMtd *mtd)
{
  GstAnalyticsODMtd detection;
  gpointer state = NULL;

  while (gst_analytics_relation_meta_iterate(relations, &state, gst_analytics_od_mtd_get_mtd_type(),
                                             &detection)) {
    if (gst_analytics_relation_meta_get_relation(relations, detection.id, mtd->id) !=
            GST_ANALYTICS_REL_TYPE_NONE ||
        gst_analytics_relation_meta_get_relation(relations, mtd->id, detection.id) !=
            GST_ANALYTICS_REL_TYPE_NONE)
      return gst_analytics_od_mtd_get_obj_type(&detection);
  }
  return 0;
}

/* Whether region `index` of a mask is an object of an accepted type. */
static gboolean is_object(GstCudaFiltersSearch *search, GstAnalyticsRelationMeta *relations,
                          const GstAnalyticsSegmentationMtd *mtd, gsize index, gsize count,
                          GQuark *type)
{
  if (get_class(relations, mtd, index, count, type)) {
    if (*type == g_quark_from_static_string("background"))
      return FALSE;
  } else {
    if (gst_analytics_segmentation_mtd_get_region_id(mtd, index) == 0)
      return FALSE;
    *type = detected_type(relations, mtd);
  }
  return gst_cuda_filters_detections_accept(search, *type);
}

static void add_objects_of_mask(GstCudaFiltersSearch *search, GstAnalyticsRelationMeta *relations,
                                GstAnalyticsSegmentationMtd *mtd, const Mask *mask,
                                gboolean readable)
{
  const gsize count = gst_analytics_segmentation_mtd_get_region_count(mtd);
  Rect *bounds = g_new(Rect, count);

  if (readable)
    find_bounds(mask, mtd, count, bounds);
  for (gsize i = 0; i < count; i++) {
    Object object = {.search = search,
                     .mask = mask,
                     .value = gst_analytics_segmentation_mtd_get_region_id(mtd, i),
                     .bounds = {0, 0, 1, 1},
                     .first = search->found->len};

    if (readable)
      object.bounds = bounds[i];
    if (object.bounds.x0 >= object.bounds.x1 ||
        !is_object(search, relations, mtd, i, count, &object.type))
      continue;
    if (readable)
      cut(&object);
    else if (!search->outside)
      add_rect(&object, object.bounds);
  }
  g_free(bounds);
}

/* Whether the mapped memory holds all rows: GStreamer maps the memory in which the plane begins,
 * and does not check where it ends. */
static gboolean all_is_mapped(const GstVideoFrame *frame, gsize row_bytes)
{
  const GstMapInfo *map = &frame->map[0];
  const gssize first = (const guint8 *)GST_VIDEO_FRAME_PLANE_DATA(frame, 0) - map->data;
  const gssize last =
      first + (gssize)GST_VIDEO_FRAME_PLANE_STRIDE(frame, 0) * (GST_VIDEO_FRAME_HEIGHT(frame) - 1);

  return MIN(first, last) >= 0 && (gsize)MAX(first, last) + row_bytes <= map->size;
}

static gboolean map_mask(GstBuffer *buffer, Mask *mask)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta(buffer);
  GstVideoInfo info;

  if (!meta || meta->width == 0 || meta->height == 0 ||
      (meta->format != GST_VIDEO_FORMAT_GRAY8 && meta->format != GST_VIDEO_FORMAT_GRAY16_LE &&
       meta->format != GST_VIDEO_FORMAT_GRAY16_BE))
    return FALSE;
  mask->wide = meta->format != GST_VIDEO_FORMAT_GRAY8;
  if (!gst_video_info_set_format(&info, meta->format, meta->width, meta->height) ||
      !gst_video_frame_map(&mask->frame, &info, buffer, GST_MAP_READ))
    return FALSE;
  if (!all_is_mapped(&mask->frame, (gsize)meta->width * (mask->wide ? 2 : 1))) {
    gst_video_frame_unmap(&mask->frame);
    return FALSE;
  }
  mask->width = (gint)meta->width;
  mask->height = (gint)meta->height;
  return TRUE;
}

void gst_cuda_filters_segments_find(GstCudaFiltersSearch *search,
                                    GstAnalyticsRelationMeta *relations)
{
  GstAnalyticsSegmentationMtd mtd;
  gpointer state = NULL;

  while (gst_analytics_relation_meta_iterate(relations, &state,
                                             gst_analytics_segmentation_mtd_get_mtd_type(), &mtd)) {
    Mask mask = {.width = 1, .height = 1};
    gint x, y;
    guint width, height;
    GstBuffer *buffer = gst_analytics_segmentation_mtd_get_mask(&mtd, &x, &y, &width, &height);
    const gboolean readable = buffer && map_mask(buffer, &mask);

    mask.place = (GstCudaFiltersBox){x, y, width, height};
    add_objects_of_mask(search, relations, &mtd, &mask, readable);
    if (readable)
      gst_video_frame_unmap(&mask.frame);
    gst_clear_buffer(&buffer);
  }
}

#endif
