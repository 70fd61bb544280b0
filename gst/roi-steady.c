/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "roi-steady.h"

#include <math.h>

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

static gint compare_places(gconstpointer a, gconstpointer b)
{
  const gint64 left = ((const GstCudaFiltersPlace *)a)->box.x,
               other = ((const GstCudaFiltersPlace *)b)->box.x;

  return (left > other) - (left < other);
}

/* From left to right. */
static void find_places(GArray *places, const GArray *before)
{
  g_array_set_size(places, 0);
  for (guint i = 0; i < before->len; i++) {
    const GstCudaFiltersDetection *one = &g_array_index(before, GstCudaFiltersDetection, i);
    const GstCudaFiltersPlace place = {one->box, i, FALSE};

    if (!one->part)
      g_array_append_val(places, place);
  }
  g_array_sort(places, compare_places);
}

/* The number of places whose left edge is before `left`. */
static guint count_before(const GArray *places, gdouble left)
{
  guint low = 0, high = places->len;

  while (low < high) {
    const guint middle = (low + high) / 2;

    if ((gdouble)g_array_index(places, GstCudaFiltersPlace, middle).box.x < left)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* The nearest place that is not taken, of equals the first detection's; NULL if none is within the
 * tolerance. */
static GstCudaFiltersPlace *find_nearest(const GArray *places, const GstCudaFiltersBox *box,
                                         gdouble tolerance)
{
  const gdouble reach = tolerance * (gdouble)box->width;
  GstCudaFiltersPlace *found = NULL;

  for (guint i = count_before(places, (gdouble)box->x - reach); i < places->len; i++) {
    GstCudaFiltersPlace *place = &g_array_index(places, GstCudaFiltersPlace, i);
    const gdouble apart = distance(&place->box, box);

    if ((gdouble)place->box.x > (gdouble)box->x + reach)
      break;
    if (place->taken || apart > tolerance ||
        (apart == tolerance && (!found || place->index > found->index)))
      continue;
    tolerance = apart;
    found = place;
  }
  return found;
}

void gst_cuda_filters_steady(const GstCudaFiltersSteady *how, GArray *detections,
                             const GArray *before, GArray *places)
{
  find_places(places, before);
  for (guint i = 0; i < detections->len; i++) {
    GstCudaFiltersDetection *detection = &g_array_index(detections, GstCudaFiltersDetection, i);
    GstCudaFiltersPlace *place =
        detection->part ? NULL : find_nearest(places, &detection->box, how->tolerance);

    if (!place)
      continue;
    place->taken = TRUE;
    if (covers(how, &place->box, &detection->box))
      detection->box = detection->whole = place->box;
  }
}
