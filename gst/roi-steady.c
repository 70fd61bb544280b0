/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "roi-steady.h"

#include <math.h>
#include <string.h>

/* Limit on the detections of the last frame that are compared. */
#define MAX_PLACES 256

static gint64 right_of(const GstCudaFiltersBox *box)
{
  return box->x + box->width;
}

static gint64 bottom_of(const GstCudaFiltersBox *box)
{
  return box->y + box->height;
}

/* The largest distance between edges of a place and a detection, as a fraction of its sides. */
static gdouble distance(const GstCudaFiltersBox *place, const GstCudaFiltersBox *box)
{
  const gint64 left = ABS(place->x - box->x), right = ABS(right_of(place) - right_of(box));
  const gint64 top = ABS(place->y - box->y), bottom = ABS(bottom_of(place) - bottom_of(box));

  return MAX((gdouble)MAX(left, right) / (gdouble)box->width,
             (gdouble)MAX(top, bottom) / (gdouble)box->height);
}

/* Whether the ellipse in `outer` contains the one in `inner`. Scaled so that `outer` is a unit
 * circle, it does if the distance of the centres plus the larger semi-axis is at most 1. */
static gboolean holds_ellipse(const GstCudaFiltersBox *outer, const GstCudaFiltersBox *inner)
{
  const gdouble width = (gdouble)outer->width, height = (gdouble)outer->height;
  const gdouble across = (gdouble)(inner->x + right_of(inner) - outer->x - right_of(outer));
  const gdouble down = (gdouble)(inner->y + bottom_of(inner) - outer->y - bottom_of(outer));

  return hypot(across / width, down / height) +
             MAX((gdouble)inner->width / width, (gdouble)inner->height / height) <=
         1.0;
}

static gboolean holds(const GstCudaFiltersBox *outer, const GstCudaFiltersBox *inner)
{
  return outer->x <= inner->x && outer->y <= inner->y && right_of(outer) >= right_of(inner) &&
         bottom_of(outer) >= bottom_of(inner);
}

static gboolean covers(const GstCudaFiltersSteady *how, const GstCudaFiltersBox *place,
                       const GstCudaFiltersBox *box)
{
  const GstCudaFiltersBox region = gst_cuda_filters_box_grow(place, place, how->expand);

  return how->ellipse ? holds_ellipse(&region, box) : holds(&region, box);
}

void gst_cuda_filters_steady(const GstCudaFiltersSteady *how, GArray *detections,
                             const GArray *before)
{
  const guint places = MIN(before->len, MAX_PLACES);
  gboolean taken[MAX_PLACES];

  memset(taken, 0, sizeof taken);
  for (guint i = 0; i < detections->len; i++) {
    GstCudaFiltersDetection *detection = &g_array_index(detections, GstCudaFiltersDetection, i);
    gdouble nearest = how->tolerance;
    guint found = places;

    for (guint k = 0; !detection->part && k < places; k++) {
      const GstCudaFiltersDetection *other = &g_array_index(before, GstCudaFiltersDetection, k);
      const gdouble apart = distance(&other->box, &detection->box);

      if (taken[k] || other->part || apart >= nearest)
        continue;
      nearest = apart;
      found = k;
    }
    if (found == places)
      continue;
    taken[found] = TRUE;
    const GstCudaFiltersBox place = g_array_index(before, GstCudaFiltersDetection, found).box;
    if (covers(how, &place, &detection->box))
      detection->box = detection->whole = place;
  }
}
