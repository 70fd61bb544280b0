/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pipeline.h"

#include <math.h>
#include <string.h>

static const char *const types[] = {"face", "plate", "person", "x y"};

/* Mostly about the picture, sometimes anywhere. */
static guint32 coordinate(FuzzCase *self, int size)
{
  static const guint32 extremes[] = {0,           1,           0x7fffffff,  0x80000000, 0xffffffff,
                                     0xfffffff8u, 0x20000000u, 0xc0000000u, 2097152u,   16777216u};

  if (fuzz_one_in(self, 8))
    return extremes[fuzz_below(self, G_N_ELEMENTS(extremes))];
  return (guint32)(fuzz_below(self, 2 * size + 2) - size / 2 - 1);
}

static guint32 extent(FuzzCase *self, int size)
{
  static const guint32 extremes[] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0x20000000u, 65536u};

  if (fuzz_one_in(self, 8))
    return extremes[fuzz_below(self, G_N_ELEMENTS(extremes))];
  return (guint32)fuzz_below(self, size + 3);
}

int fuzz_masks_random_metas(FuzzCase *self, FuzzMeta *metas)
{
  const CfVideo *video = &self->format->video;
  const int count = fuzz_one_in(self, 3) ? 0 : fuzz_below(self, FUZZ_MOST_METAS + 1);

  for (int i = 0; i < count; i++)
    metas[i] = (FuzzMeta){coordinate(self, video->width), coordinate(self, video->height),
                          extent(self, video->width), extent(self, video->height),
                          types[fuzz_below(self, G_N_ELEMENTS(types))]};
  return count;
}

/* Properties */

static char *random_fixed(FuzzCase *self)
{
  const CfVideo *video = &self->format->video;
  GString *text = g_string_new("");

  for (int count = fuzz_below(self, 4); count > 0; count--)
    g_string_append_printf(text, "%s%d,%d,%d,%d", text->len ? ";" : "",
                           fuzz_below(self, 2 * video->width) - video->width / 2,
                           fuzz_below(self, 2 * video->height) - video->height / 2,
                           1 + fuzz_below(self, video->width), 1 + fuzz_below(self, video->height));
  return g_string_free(text, FALSE);
}

static void set_formatted(FuzzCase *self, const char *name, double value)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];

  fuzz_settings_set(self, name, g_ascii_dtostr(text, sizeof text, value));
}

static void change_numbers(FuzzCase *self, FuzzMasks *masks)
{
  switch (fuzz_below(self, 3)) {
  case 0:
    masks->expand = fuzz_one_in(self, 3) ? (double[]){0.0, 2.0, 0.5}[fuzz_below(self, 3)]
                                         : fuzz_between(self, 0.0, 1.0);
    set_formatted(self, "roi-expand", masks->expand);
    break;
  case 1:
    masks->feather = fuzz_one_in(self, 2) ? (double[]){0.0, 256.0, 1.0}[fuzz_below(self, 3)]
                                          : fuzz_between(self, 0.0, 12.0);
    set_formatted(self, "roi-feather", masks->feather);
    break;
  default:
    masks->hold = (guint64)fuzz_below(self, 4) * 60 * GST_MSECOND;
    g_object_set(self->element, "roi-hold", masks->hold, NULL);
    fuzz_note(self, "roi-hold=%" G_GUINT64_FORMAT, masks->hold);
    break;
  }
}

static void change_texts(FuzzCase *self, FuzzMasks *masks)
{
  static const char *const types[] = {"", "face", " plate , face ", "x y,,person", "nobody"};

  if (fuzz_one_in(self, 2)) {
    g_free(masks->types);
    masks->types = g_strdup(types[fuzz_below(self, G_N_ELEMENTS(types))]);
    g_object_set(self->element, "roi-types", masks->types, NULL);
    fuzz_note(self, "roi-types=\"%s\"", masks->types);
  } else {
    g_free(masks->fixed);
    masks->fixed = random_fixed(self);
    g_object_set(self->element, "regions", masks->fixed, NULL);
    fuzz_note(self, "regions=\"%s\"", masks->fixed);
  }
}

void fuzz_masks_change(FuzzCase *self)
{
  FuzzMasks *masks = &self->masks;

  switch (fuzz_below(self, 6)) {
  case 0:
    masks->mode = fuzz_below(self, 3);
    fuzz_settings_set(self, "roi-mode", (const char *[]){"none", "inside", "outside"}[masks->mode]);
    break;
  case 1:
    masks->ellipse = fuzz_one_in(self, 2);
    fuzz_settings_set(self, "roi-shape", masks->ellipse ? "ellipse" : "rectangle");
    break;
  case 2:
    masks->cover_missing = fuzz_one_in(self, 2);
    fuzz_settings_set(self, "roi-missing", masks->cover_missing ? "cover" : "pass");
    break;
  case 3:
  case 4:
    change_texts(self, masks);
    break;
  default:
    change_numbers(self, masks);
    break;
  }
}

void fuzz_masks_forget(FuzzCase *self)
{
  self->masks.seen_count = 0;
  self->masks.seen_at = GST_CLOCK_TIME_NONE;
  self->masks.covered = false;
}

void fuzz_masks_free(FuzzCase *self)
{
  g_clear_pointer(&self->masks.types, g_free);
  g_clear_pointer(&self->masks.fixed, g_free);
}

/* Areas */

static bool is_accepted(const FuzzMasks *masks, const char *type)
{
  gchar **names = g_strsplit(masks->types, ",", -1);
  bool any = false, found = false;

  for (gchar **name = names; *name; name++) {
    g_strstrip(*name);
    any = any || **name;
    found = found || strcmp(*name, type) == 0;
  }
  g_strfreev(names);
  return found || !any;
}

/* Adds an area, rounded outwards, unless it lies beyond the frame with all of its feather, which is
 * in lines of a field there. */
static bool add_area(const FuzzMasks *masks, const FuzzFormat *format, FuzzAreas *areas,
                     FuzzArea area)
{
  const double across = ceil(masks->expand * area.width), down = ceil(masks->expand * area.height);
  const double reach = areas->outside ? 0.0 : ceil(areas->feather);
  const double reach_down = fuzz_has_fields(format) ? 2.0 * reach : reach;

  area = (FuzzArea){area.x - across, area.y - down, area.width + 2.0 * across,
                    area.height + 2.0 * down};
  if (area.x - reach >= format->video.width || area.x + area.width + reach <= 0.0 ||
      area.y - reach_down >= format->video.height || area.y + area.height + reach_down <= 0.0)
    return false;
  areas->area[areas->count++] = area;
  return true;
}

static bool add_areas(const FuzzMasks *masks, FuzzFrame *frame, const FuzzArea *area, int count)
{
  bool any = false;

  for (int i = 0; i < count; i++)
    any = add_area(masks, frame->format, &frame->areas, area[i]) || any;
  return any;
}

/* A side of an area in pixels of frames of another size, rounded outwards, or inwards. */
static void scale(double *start, double *length, int to, int from, bool inwards)
{
  const double end = (*start + *length) * to / from;

  *start = inwards ? ceil(*start * to / from) : floor(*start * to / from);
  *length = fmax((inwards ? floor(end) : ceil(end)) - *start, 1.0);
}

static void scale_seen(FuzzMasks *masks, const CfVideo *video)
{
  for (int i = 0; i < masks->seen_count; i++) {
    FuzzArea *area = &masks->seen[i];

    if (video->width == masks->seen_width && video->height == masks->seen_height)
      return;
    scale(&area->x, &area->width, video->width, masks->seen_width, masks->mode == 2);
    scale(&area->y, &area->height, video->height, masks->seen_height, masks->mode == 2);
  }
  masks->seen_width = video->width;
  masks->seen_height = video->height;
}

/* Where the age of what was seen cannot be known, it is held, and from now on. */
static bool is_held(FuzzMasks *masks, GstClockTime now)
{
  const GstClockTime seen = masks->seen_at;

  if (masks->seen_count == 0 || masks->hold == 0)
    return false;
  if (!GST_CLOCK_TIME_IS_VALID(now))
    return true;
  if (GST_CLOCK_TIME_IS_VALID(seen)) {
    if ((now > seen ? now - seen : seen - now) <= masks->hold)
      return true;
    if (now > seen || masks->backwards || !masks->covered)
      return false;
  }
  masks->seen_at = now;
  return true;
}

/* Adds the areas of what is detected in the frame, or was in one that is held; false if there is
 * nothing of either. */
static bool add_detected(FuzzMasks *masks, FuzzFrame *frame)
{
  FuzzArea fresh[FUZZ_MOST_METAS];
  const char *type[FUZZ_MOST_METAS];
  int count = 0;

  scale_seen(masks, &frame->format->video);
  for (int i = 0; i < frame->metas; i++) {
    const FuzzMeta *meta = &frame->meta[i];

    type[count] = meta->type;
    if (meta->width > 0 && meta->height > 0 && is_accepted(masks, meta->type))
      fresh[count++] = (FuzzArea){(gint32)meta->x, (gint32)meta->y, meta->width, meta->height};
  }
  if (add_areas(masks, frame, fresh, count)) {
    memcpy(masks->seen, fresh, sizeof fresh);
    memcpy(masks->seen_type, type, sizeof type);
    masks->seen_count = count;
    masks->seen_at = frame->pts;
    masks->covered = true;
  } else {
    masks->covered =
        is_held(masks, frame->pts) && add_areas(masks, frame, masks->seen, masks->seen_count);
  }
  return masks->covered;
}

/* Of types that are not accepted any more. */
static void forget_types(FuzzMasks *masks)
{
  int kept = 0;

  for (int i = 0; i < masks->seen_count; i++) {
    masks->seen[kept] = masks->seen[i];
    masks->seen_type[kept] = masks->seen_type[i];
    kept += is_accepted(masks, masks->seen_type[i]);
  }
  masks->seen_count = kept;
}

static void add_fixed(const FuzzMasks *masks, FuzzFrame *frame)
{
  gchar **each = g_strsplit(masks->fixed, ";", -1);

  for (gchar **one = each; *one && **one; one++) {
    gchar **number = g_strsplit(*one, ",", -1);
    const FuzzArea area = {g_strtod(number[0], NULL), g_strtod(number[1], NULL),
                           g_strtod(number[2], NULL), g_strtod(number[3], NULL)};

    add_area(masks, frame->format, &frame->areas, area);
    g_strfreev(number);
  }
  g_strfreev(each);
}

void fuzz_masks_look(FuzzCase *self, FuzzFrame *frame)
{
  FuzzMasks *masks = &self->masks;

  frame->cover = FUZZ_ALL;
  frame->areas = (FuzzAreas){
      .ellipse = masks->ellipse, .outside = masks->mode == 2, .feather = masks->feather};
  forget_types(masks);
  if (self->kind->regions && masks->mode == 0 && masks->hold > 0) {
    FuzzFrame unseen = *frame;

    add_detected(masks, &unseen);
  }
  if (!self->kind->regions || masks->mode == 0)
    return;
  if (!add_detected(masks, frame) && masks->cover_missing) {
    /* All of the picture. */
    frame->areas = (FuzzAreas){
        .area = {{0.0, 0.0, frame->format->video.width, frame->format->video.height}}, .count = 1};
    frame->cover = FUZZ_SOME;
    return;
  }
  add_fixed(masks, frame);
  frame->cover = frame->areas.count > 0 ? FUZZ_SOME : masks->mode == 1 ? FUZZ_NONE : FUZZ_ALL;
}
