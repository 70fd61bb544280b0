/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "roi.h"

#include <math.h>

#include "coverage-message.h"
#include "detections.h"
#include "roi-settings.h"
#include "roi-steady.h"

#define FRAMES_BEFORE_WARNING 100

/* Edges of regions are clamped to this, far beyond any frame, so that each side fits into an int.
 */
#define FARTHEST_EDGE (G_MAXINT / 2)

/* A frame in its buffer, of which a crop meta shows a part. */
typedef struct {
  gint64 x, y; /* where it begins */
  gint width, height, buffer_width, buffer_height;
} View;

struct _GstCudaFiltersRegions {
  GstCudaFiltersRoiSettings wanted, running; /* object lock; streaming thread */
  gboolean changed;                          /* `wanted` was set since the last sync; object lock */

  GArray *last_detections; /* GstCudaFiltersDetection: steadied, of the last frame that had any */
  GstClockTime last_detections_pts;
  View view;                /* of the last frame, whose pixels they count */
  gboolean covered;         /* objects were in the last frame, detected or held */
  GArray *places;           /* GstCudaFiltersPlace, scratch */
  gboolean may_keep_places; /* detections of the next frame may (roi-steady) */
  gboolean fields;          /* this frame is filtered field by field */
  GArray *detections;       /* GstCudaFiltersDetection: of this frame */
  GArray *frame, *whole; /* CfRegion: expanded regions of this frame, and the bounds of the object
                            that each is a part of */
  GstCudaFiltersCoverageMessage *message;

  /* State of the warnings. */
  GArray *rejected; /* GQuark: types that came and are not accepted */
  guint rejected_reported;
  guint frames_without;
  gboolean any_detected, loss_reported;
  gboolean mode_was_set, idle_reported;
  gboolean weakness_reported, changed_since;
};

/* ---- Properties ---- */

gboolean gst_cuda_filters_regions_set(GstCudaFiltersRegions *self, guint index, const GValue *value,
                                      CfStatus *status)
{
  self->changed = TRUE;
  return gst_cuda_filters_roi_settings_set(&self->wanted, index, value, status);
}

void gst_cuda_filters_regions_get(const GstCudaFiltersRegions *self, guint index, GValue *value)
{
  gst_cuda_filters_roi_settings_get(&self->wanted, index, value);
}

gboolean gst_cuda_filters_regions_mask(const GstCudaFiltersRegions *self)
{
  return self->running.params.mode == GST_CUDA_FILTERS_ROI_INSIDE;
}

/* What roi-types does not name any more is not held. */
static void release_types(GstCudaFiltersRegions *self)
{
  for (guint i = self->last_detections->len; i > 0; i--) {
    const GQuark type = g_array_index(self->last_detections, GstCudaFiltersDetection, i - 1).type;

    if (!gst_cuda_filters_detections_has_type(self->running.types, type))
      g_array_remove_index(self->last_detections, i - 1);
  }
}

void gst_cuda_filters_regions_sync(GstCudaFiltersRegions *self)
{
  gboolean other_types;

  if (!self->changed)
    return;
  self->changed = FALSE;
  self->changed_since = TRUE;
  other_types = g_strcmp0(self->wanted.types_text, self->running.types_text) != 0;
  gst_cuda_filters_roi_settings_clear(&self->running);
  gst_cuda_filters_roi_settings_copy(&self->running, &self->wanted);
  if (other_types) {
    g_array_set_size(self->rejected, 0);
    self->rejected_reported = 0;
    release_types(self);
  }
}

/* ---- Life cycle ---- */

GstCudaFiltersRegions *gst_cuda_filters_regions_new(void)
{
  GstCudaFiltersRegions *self = g_new0(GstCudaFiltersRegions, 1);

  gst_cuda_filters_roi_settings_init(&self->wanted);
  gst_cuda_filters_roi_settings_copy(&self->running, &self->wanted);
  self->last_detections = g_array_new(FALSE, FALSE, sizeof(GstCudaFiltersDetection));
  self->places = g_array_new(FALSE, FALSE, sizeof(GstCudaFiltersPlace));
  self->detections = g_array_new(FALSE, FALSE, sizeof(GstCudaFiltersDetection));
  self->frame = g_array_new(FALSE, FALSE, sizeof(CfRegion));
  self->whole = g_array_new(FALSE, FALSE, sizeof(CfRegion));
  self->rejected = g_array_new(FALSE, FALSE, sizeof(GQuark));
  self->message = gst_cuda_filters_coverage_message_new();
  self->last_detections_pts = GST_CLOCK_TIME_NONE;
  return self;
}

void gst_cuda_filters_regions_free(GstCudaFiltersRegions *self)
{
  if (!self)
    return;
  gst_cuda_filters_roi_settings_clear(&self->wanted);
  gst_cuda_filters_roi_settings_clear(&self->running);
  g_array_unref(self->last_detections);
  g_array_unref(self->places);
  g_array_unref(self->detections);
  g_array_unref(self->frame);
  g_array_unref(self->whole);
  g_array_unref(self->rejected);
  gst_cuda_filters_coverage_message_free(self->message);
  g_free(self);
}

void gst_cuda_filters_regions_reset(GstCudaFiltersRegions *self)
{
  g_array_set_size(self->last_detections, 0);
  self->last_detections_pts = GST_CLOCK_TIME_NONE;
  self->covered = FALSE;
  self->frames_without = 0;
  self->any_detected = self->loss_reported = FALSE;
  gst_cuda_filters_coverage_message_reset(self->message);
}

void gst_cuda_filters_regions_forget_places(GstCudaFiltersRegions *self)
{
  self->may_keep_places = FALSE;
}

void gst_cuda_filters_regions_start(GstCudaFiltersRegions *self)
{
  gst_cuda_filters_regions_reset(self);
  g_array_set_size(self->rejected, 0);
  self->rejected_reported = 0;
  self->mode_was_set = self->idle_reported = self->weakness_reported = FALSE;
}

/* ---- Regions ---- */

/* Whether the last detections still count (roi-hold). Where their age is not known, without
 * timestamps or since these began anew, they do, and count as of now. */
static gboolean is_held(GstCudaFiltersRegions *self, GstClockTime now, gdouble rate)
{
  const GstClockTime last = self->last_detections_pts;

  if (self->running.hold == 0)
    return FALSE;
  if (GST_CLOCK_TIME_IS_VALID(now) && GST_CLOCK_TIME_IS_VALID(last)) {
    const GstClockTime age = now > last ? now - last : last - now;
    const gboolean began_anew = self->covered && rate > 0.0 && now < last;

    if (age <= self->running.hold || !began_anew)
      return age <= self->running.hold;
  }
  if (GST_CLOCK_TIME_IS_VALID(now))
    self->last_detections_pts = now;
  return TRUE;
}

static gint64 scale(gint64 value, gint to, gint from, gboolean up)
{
  const gint64 product = CLAMP(value, -FARTHEST_EDGE, FARTHEST_EDGE) * to, rest = product % from;

  return product / from - (rest < 0) + (up && rest != 0);
}

/* Scales `box` from one size of frame to another, rounded outwards or, with `inwards`, inwards to
 * at least one pixel. */
static void scale_box(GstCudaFiltersBox *box, const View *from, const View *to, gboolean inwards)
{
  const gint64 x = scale(box->x, to->width, from->width, inwards);
  const gint64 y = scale(box->y, to->height, from->height, inwards);

  box->width = MAX(scale(box->x + box->width, to->width, from->width, !inwards) - x, 1);
  box->height = MAX(scale(box->y + box->height, to->height, from->height, !inwards) - y, 1);
  box->x = x;
  box->y = y;
}

static View view_of(GstBuffer *buffer, const GstVideoInfo *info)
{
  const GstVideoCropMeta *crop = gst_buffer_get_video_crop_meta(buffer);
  const GstVideoMeta *meta = gst_buffer_get_video_meta(buffer);
  const gint width = GST_VIDEO_INFO_WIDTH(info), height = GST_VIDEO_INFO_HEIGHT(info);

  return (View){.x = crop ? crop->x : 0,
                .y = crop ? crop->y : 0,
                .width = width,
                .height = height,
                .buffer_width = meta ? (gint)meta->width : width,
                .buffer_height = meta ? (gint)meta->height : height};
}

/* The last detections, in pixels of this frame. A crop that moves or grows over the buffers shows
 * the same objects elsewhere; a live stream may change its size and still show the same. */
static void follow_view(GstCudaFiltersRegions *self, const View *view)
{
  const View *last = &self->view;
  const gboolean inwards = self->running.params.mode == GST_CUDA_FILTERS_ROI_OUTSIDE;
  const gboolean scaled =
      (view->width != last->width || view->height != last->height) &&
      (view->buffer_width != last->buffer_width || view->buffer_height != last->buffer_height);

  if (!scaled)
    gst_cuda_filters_detections_move(self->last_detections, last->x - view->x, last->y - view->y);
  for (guint i = 0; scaled && i < self->last_detections->len; i++) {
    GstCudaFiltersDetection *detection =
        &g_array_index(self->last_detections, GstCudaFiltersDetection, i);

    scale_box(&detection->box, last, view, inwards);
    scale_box(&detection->whole, last, view, inwards);
  }
  self->view = *view;
}

static CfRegion region_of(const GstCudaFiltersBox *box)
{
  const gint64 x0 = CLAMP(box->x, -FARTHEST_EDGE, FARTHEST_EDGE);
  const gint64 y0 = CLAMP(box->y, -FARTHEST_EDGE, FARTHEST_EDGE);
  const gint64 x1 = CLAMP(box->x + box->width, -FARTHEST_EDGE, FARTHEST_EDGE);
  const gint64 y1 = CLAMP(box->y + box->height, -FARTHEST_EDGE, FARTHEST_EDGE);

  return (CfRegion){(int)x0, (int)y0, (int)(x1 - x0), (int)(y1 - y0)};
}

/* The region of a detection. An object in parts is covered by its rectangles or, where regions are
 * ellipses, by one ellipse: around its bounds, or within them for roi-mode=outside, which leaves
 * the ellipse unfiltered. */
static GstCudaFiltersBox box_of(const GstCudaFiltersRoiParams *params,
                                const GstCudaFiltersDetection *detection)
{
  const GstCudaFiltersBox *whole = &detection->whole;
  GstCudaFiltersBox box;

  if (!detection->part || params->shape != CF_REGION_ELLIPSE)
    return gst_cuda_filters_box_grow(&detection->box, whole, params->expand);
  box = gst_cuda_filters_box_grow(whole, whole, params->expand);
  return params->mode == GST_CUDA_FILTERS_ROI_OUTSIDE
             ? box
             : gst_cuda_filters_box_grow(&box, &box, 0.5 * (G_SQRT2 - 1.0));
}

/* Appends a region, unless all of it and of its feather, which counts lines of a field where there
 * are fields, lies beyond the frame. */
static gboolean add_region(GstCudaFiltersRegions *self, const GstVideoInfo *info,
                           const GstCudaFiltersBox *box, const GstCudaFiltersBox *whole)
{
  const GstCudaFiltersRoiParams *params = &self->running.params;
  const gint reach = params->mode == GST_CUDA_FILTERS_ROI_OUTSIDE ? 0 : (gint)ceil(params->feather);
  const gint down = self->fields ? 2 * reach : reach;
  const CfRegion region = region_of(box), around = region_of(whole);

  if (box->x - reach >= GST_VIDEO_INFO_WIDTH(info) || box->x + box->width + reach <= 0 ||
      box->y - down >= GST_VIDEO_INFO_HEIGHT(info) || box->y + box->height + down <= 0)
    return FALSE;
  g_array_append_val(self->frame, region);
  g_array_append_val(self->whole, around);
  return TRUE;
}

/* Appends the regions of `detections`; returns the number of objects. */
static guint add_detections(GstCudaFiltersRegions *self, const GstVideoInfo *info,
                            const GArray *detections, gboolean *parts)
{
  const GstCudaFiltersRoiParams *params = &self->running.params;
  guint objects = 0, last_seen = G_MAXUINT, last_added = G_MAXUINT;

  for (guint i = 0; i < detections->len; i++) {
    const GstCudaFiltersDetection *detection =
        &g_array_index(detections, GstCudaFiltersDetection, i);
    const GstCudaFiltersBox box = box_of(params, detection);
    const GstCudaFiltersBox whole =
        gst_cuda_filters_box_grow(&detection->whole, &detection->whole, params->expand);
    const gboolean again = detection->object == last_seen;

    last_seen = detection->object;
    if ((again && params->shape == CF_REGION_ELLIPSE) || !add_region(self, info, &box, &whole))
      continue;
    *parts |= detection->part;
    objects += detection->object != last_added;
    last_added = detection->object;
  }
  return objects;
}

static guint add_fixed(GstCudaFiltersRegions *self, const GstVideoInfo *info)
{
  const GArray *fixed = self->running.fixed;
  guint count = 0;

  for (guint i = 0; i < fixed->len; i++) {
    const CfRegion *region = &g_array_index(fixed, CfRegion, i);
    const GstCudaFiltersBox set = {region->x, region->y, region->width, region->height};
    const GstCudaFiltersBox box =
        gst_cuda_filters_box_grow(&set, &set, self->running.params.expand);

    count += add_region(self, info, &box, &box) ? 1 : 0;
  }
  return count;
}

/* Keeps places for roi-mode=inside only: with `outside` a kept place could show more than was
 * detected. */
static void keep_places(GstCudaFiltersRegions *self)
{
  const GstCudaFiltersRoiParams *params = &self->running.params;
  const GstCudaFiltersSteady how = {.tolerance = params->steady,
                                    .expand = params->expand,
                                    .ellipse = params->shape == CF_REGION_ELLIPSE};

  if (self->may_keep_places && params->mode == GST_CUDA_FILTERS_ROI_INSIDE)
    gst_cuda_filters_steady(&how, self->detections, self->last_detections, self->places);
}

/* Finds the detected regions of this frame, or those held from an earlier one, and the fixed ones.
 * Detections that lie wholly beyond the frame do not count. */
static GstCudaFiltersCoverage find_regions(GstCudaFiltersRegions *self, GstBuffer *buffer,
                                           const GstVideoInfo *info, gdouble rate, gboolean *parts)
{
  const GstClockTime now = GST_BUFFER_PTS(buffer);
  const View view = view_of(buffer, info);
  GstCudaFiltersSearch search = {.types = self->running.types,
                                 .outside =
                                     self->running.params.mode == GST_CUDA_FILTERS_ROI_OUTSIDE,
                                 .found = self->detections,
                                 .rejected = self->rejected};
  GstCudaFiltersCoverage coverage = {0};
  guint objects;

  g_array_set_size(self->detections, 0);
  g_array_set_size(self->frame, 0);
  g_array_set_size(self->whole, 0);
  gst_cuda_filters_detections_find(&search, buffer);
  follow_view(self, &view);
  self->any_detected |= self->detections->len > 0;
  keep_places(self);
  objects = add_detections(self, info, self->detections, parts);
  if (objects > 0) {
    GArray *old = self->last_detections;

    self->last_detections = self->detections;
    self->detections = old;
    self->last_detections_pts = now;
    self->may_keep_places = TRUE;
  } else if (is_held(self, now, rate)) {
    objects = coverage.held = add_detections(self, info, self->last_detections, parts);
  }
  self->covered = objects > 0;
  coverage.missing = objects == 0;
  coverage.regions = objects + add_fixed(self, info);
  return coverage;
}

/* ---- Warnings ---- */

/* Not after roi-mode was set: it may be turned off for a while on purpose. */
static void warn_of_idle_property(GstCudaFiltersRegions *self, GstBaseTransform *element)
{
  const gchar *property = gst_cuda_filters_roi_settings_first_set(&self->running);

  if (!property || self->mode_was_set || self->idle_reported)
    return;
  self->idle_reported = TRUE;
  GST_ELEMENT_WARNING(
      element, RESOURCE, SETTINGS,
      ("%s is set, but has no effect without roi-mode: set roi-mode=inside or roi-mode=outside",
       property),
      ("roi-mode=none filters the whole frame"));
}

static void warn_of_rejected_types(GstCudaFiltersRegions *self, GstBaseTransform *element)
{
  for (; self->rejected_reported < self->rejected->len; self->rejected_reported++) {
    const GQuark type = g_array_index(self->rejected, GQuark, self->rejected_reported);

    GST_ELEMENT_WARNING(
        element, STREAM, FAILED,
        ("a region of type \"%s\" is not %s: roi-types accepts %s (upper and lower case differ)",
         type ? g_quark_to_string(type) : "",
         self->running.params.mode == GST_CUDA_FILTERS_ROI_OUTSIDE ? "left out" : "covered",
         self->running.types_text),
        ("each type is named once, and no more than %d", GST_CUDA_FILTERS_MAX_REJECTED));
  }
}

/* Detections are expected where there are no fixed regions, or with roi-missing=cover. */
static void warn_of_no_detections(GstCudaFiltersRegions *self, GstBaseTransform *element)
{
  const gboolean wanted =
      self->running.fixed->len == 0 || self->running.params.missing == GST_CUDA_FILTERS_ROI_COVER;

  if (self->any_detected || self->loss_reported || !wanted ||
      ++self->frames_without < FRAMES_BEFORE_WARNING)
    return;
  self->loss_reported = TRUE;
  GST_ELEMENT_WARNING(
      element, STREAM, FAILED, ("no frame has had a region of interest so far"),
      ("roi-mode is set, but no frame has a region that roi-types accepts. Converters, scalers "
       "and cudaupload drop regions: put the detector right before this element, or behind "
       "cudaupload. roi-missing=cover covers such frames."));
}

gboolean gst_cuda_filters_regions_must_warn_of_weak_mask(GstCudaFiltersRegions *self,
                                                         gboolean hides, gboolean changed)
{
  self->changed_since |= changed;
  if (hides) {
    self->weakness_reported &= !self->changed_since;
    return FALSE;
  }
  if (self->weakness_reported)
    return FALSE;
  self->weakness_reported = TRUE;
  self->changed_since = FALSE;
  return TRUE;
}

/* ---- Frames ---- */

/* Sets one region, the whole frame, so that settings relative to a region's size apply. */
static void cover_frame(GstCudaFiltersRegions *self, const GstVideoInfo *info, CfRegions *regions)
{
  const GstCudaFiltersBox frame = {0, 0, GST_VIDEO_INFO_WIDTH(info), GST_VIDEO_INFO_HEIGHT(info)};

  g_array_set_size(self->frame, 0);
  g_array_set_size(self->whole, 0);
  add_region(self, info, &frame, &frame);
  *regions = (CfRegions){.shape = CF_REGION_RECTANGLE};
}

GstCudaFiltersCover gst_cuda_filters_regions_update(GstCudaFiltersRegions *self,
                                                    GstBaseTransform *element, GstBuffer *buffer,
                                                    const GstVideoInfo *info, gboolean fields,
                                                    CfRegions *regions)
{
  const GstCudaFiltersRoiParams *params = &self->running.params;
  GstCudaFiltersCoverage coverage;
  gboolean parts = FALSE;

  self->fields = fields;
  if (params->mode == GST_CUDA_FILTERS_ROI_NONE) {
    warn_of_idle_property(self, element);
    if (self->running.hold > 0) /* for frames to come with another mode */
      find_regions(self, buffer, info, element->segment.rate, &parts);
    gst_cuda_filters_coverage_message_reset(self->message);
    return GST_CUDA_FILTERS_COVER_ALL;
  }
  self->mode_was_set = TRUE;
  coverage = find_regions(self, buffer, info, element->segment.rate, &parts);
  warn_of_rejected_types(self, element);
  warn_of_no_detections(self, element);

  *regions = (CfRegions){.shape = params->shape,
                         .feather = params->feather,
                         .outside = params->mode == GST_CUDA_FILTERS_ROI_OUTSIDE};
  if ((coverage.missing && params->missing == GST_CUDA_FILTERS_ROI_COVER) ||
      (regions->outside && self->frame->len == 0)) {
    cover_frame(self, info, regions);
    parts = FALSE;
  }
  regions->region = (const CfRegion *)(void *)self->frame->data;
  regions->whole = parts ? (const CfRegion *)(void *)self->whole->data : NULL;
  regions->count = (int)self->frame->len;
  gst_cuda_filters_coverage_message_post(self->message, element, buffer, info, fields, regions,
                                         coverage);
  return regions->count > 0 ? GST_CUDA_FILTERS_COVER_SOME : GST_CUDA_FILTERS_COVER_NONE;
}
