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

/* Rounded outwards. */
static void add_area(const FuzzMasks *masks, FuzzAreas *areas, double x, double y, double width,
                     double height)
{
  const double across = ceil(masks->expand * width), down = ceil(masks->expand * height);

  areas->area[areas->count++] =
      (FuzzArea){x - across, y - down, width + 2.0 * across, height + 2.0 * down};
}

static bool reach_into(const FuzzMasks *masks, const CfVideo *video)
{
  for (int i = 0; i < masks->seen_count; i++) {
    const FuzzMeta *meta = &masks->seen[i];
    const double x = (gint32)meta->x, y = (gint32)meta->y;

    if (x < video->width && y < video->height && x + meta->width > 0.0 && y + meta->height > 0.0)
      return true;
  }
  return false;
}

static void see(FuzzMasks *masks, const FuzzFrame *frame)
{
  FuzzMeta fresh[FUZZ_MOST_METAS];
  int count = 0;

  for (int i = 0; i < frame->metas; i++) {
    const FuzzMeta *meta = &frame->meta[i];

    if (meta->width > 0 && meta->height > 0 && is_accepted(masks, meta->type))
      fresh[count++] = *meta;
  }
  if (count > 0) {
    memcpy(masks->seen, fresh, sizeof fresh);
    masks->seen_count = count;
    masks->seen_at = frame->pts;
    masks->beyond = !reach_into(masks, &frame->format->video);
  }
}

static bool is_known(const FuzzMasks *masks, GstClockTime now, bool fresh)
{
  if (fresh)
    return true;
  if (masks->seen_count == 0 || masks->hold == 0)
    return false;
  if (!GST_CLOCK_TIME_IS_VALID(now) || !GST_CLOCK_TIME_IS_VALID(masks->seen_at))
    return true;
  return (now > masks->seen_at ? now - masks->seen_at : masks->seen_at - now) <= masks->hold;
}

static bool has_fresh(const FuzzMasks *masks, const FuzzFrame *frame)
{
  for (int i = 0; i < frame->metas; i++) {
    if (frame->meta[i].width > 0 && frame->meta[i].height > 0 &&
        is_accepted(masks, frame->meta[i].type))
      return true;
  }
  return false;
}

static void add_fixed(const FuzzMasks *masks, FuzzAreas *areas)
{
  gchar **each = g_strsplit(masks->fixed, ";", -1);

  for (gchar **one = each; *one && **one; one++) {
    gchar **number = g_strsplit(*one, ",", -1);

    add_area(masks, areas, g_strtod(number[0], NULL), g_strtod(number[1], NULL),
             g_strtod(number[2], NULL), g_strtod(number[3], NULL));
    g_strfreev(number);
  }
  g_strfreev(each);
}

void fuzz_masks_look(FuzzCase *self, FuzzFrame *frame)
{
  FuzzMasks *masks = &self->masks;
  bool known;

  frame->cover = FUZZ_ALL;
  frame->areas = (FuzzAreas){
      .ellipse = masks->ellipse, .outside = masks->mode == 2, .feather = masks->feather};
  if (!self->kind->regions || masks->mode == 0)
    return;
  see(masks, frame);
  known = is_known(masks, frame->pts, has_fresh(masks, frame));
  for (int i = 0; known && i < masks->seen_count; i++)
    add_area(masks, &frame->areas, (gint32)masks->seen[i].x, (gint32)masks->seen[i].y,
             masks->seen[i].width, masks->seen[i].height);
  if (!known && masks->cover_missing && (!masks->beyond || masks->hold == 0)) {
    /* All of the picture; with `outside` no page says what else fixed regions leave. */
    frame->areas = (FuzzAreas){
        .area = {{0.0, 0.0, frame->format->video.width, frame->format->video.height}}, .count = 1};
    frame->cover = masks->mode == 1 ? FUZZ_SOME : FUZZ_ANY;
    return;
  }
  add_fixed(masks, &frame->areas);
  /* What lies beyond the frame may count as detected, or not. */
  if (masks->seen_count > 0 && masks->beyond && (masks->cover_missing || masks->hold > 0)) {
    frame->cover = FUZZ_ANY;
    return;
  }
  frame->cover = frame->areas.count > 0 ? FUZZ_SOME : masks->mode == 1 ? FUZZ_NONE : FUZZ_ALL;
}
