/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/strips.h"

#include "plan/int_math.h"

/* A picture is cut into quarters where strips then have a size between these limits: only the first
 * copy in and the last copy out do not overlap with other work. Kernels take as long for smaller
 * strips; larger strips leave late. */
#define STRIPS_OF_A_PICTURE 4
#define LEAST_STRIP_BYTES   ((size_t)4 << 20)
#define MOST_STRIP_BYTES    ((size_t)16 << 20)

/* The most strips of a picture; more gain nothing. */
#define MAX_STRIPS 64

/* Strips with this many times the rows of the halo cost the kernels little more than whole
 * pictures. */
#define ROWS_PER_HALO 4

/* One strip arrives, one is filtered, one leaves; two slots still keep the bus busy. */
#define MAX_SLOTS 3
#define MIN_SLOTS 2

typedef struct {
  CfVideo source, result;
} Videos;

static int even_up(int rows)
{
  return rows + (rows & 1);
}

/* The halo rounded up to a power of two. While a sigma is animated its halo changes; in steps,
 * pictures are seldom cut anew. */
static int stepped_halo(int halo)
{
  int stepped = halo > 0 ? 2 : 0;

  while (stepped < halo)
    stepped *= 2;
  return stepped;
}

CfRows cf_strips_plane_rows(const CfVideo *video, int plane, CfRows rows)
{
  const int shift = cf_format_info(video->format)->plane[plane].subsampling_y;
  const int first = rows.first >> shift;
  const int end = (rows.first + rows.rows + (1 << shift) - 1) >> shift;

  return (CfRows){first, end - first};
}

size_t cf_strips_lay_out(const CfVideo *video, int rows, uint8_t *memory, CfPicture *picture)
{
  size_t used = 0;

  for (int plane = 0; plane < cf_format_info(video->format)->planes; plane++) {
    const size_t row = (cf_row_bytes(video, plane) + CF_STRIPS_ROW_ALIGNMENT - 1) /
                       CF_STRIPS_ROW_ALIGNMENT * CF_STRIPS_ROW_ALIGNMENT;

    if (picture) {
      picture->data[plane] = memory + used;
      picture->stride[plane] = (ptrdiff_t)row;
    }
    used += row * (size_t)cf_strips_plane_rows(video, plane, (CfRows){0, rows}).rows;
  }
  return used;
}

/* Cuts into strips of at most `rows` rows (even), all of about the same size. */
static void cut(CfStrips *strips, const Videos *videos, int halo, int rows, int slots)
{
  const CfVideo *video = &videos->source;
  const int height = video->height;

  strips->video = *video;
  strips->result = videos->result;
  strips->slots = slots;
  strips->rows = height;
  strips->count = 1;
  strips->halo = 0;
  if (rows < height) {
    strips->count = (height + rows - 1) / rows;
    strips->rows = even_up((height + strips->count - 1) / strips->count);
    strips->halo = halo;
  }
  strips->source_rows = cf_min(strips->rows + 2 * strips->halo, height);
  strips->source_bytes = cf_strips_lay_out(video, strips->source_rows, NULL, NULL);
  strips->result_bytes = cf_strips_lay_out(&videos->result, strips->rows, NULL, NULL);
}

size_t cf_strips_bytes(const CfStrips *strips)
{
  return (size_t)strips->slots * (strips->source_bytes + strips->result_bytes);
}

/* The most rows of a strip, even, with which the slots stay within `limit`; 0 if none do. A source
 * slot also holds the halo, `halo` rows on both sides. */
static int rows_within(const Videos *videos, int halo, int slots, size_t limit)
{
  const size_t source_pair = cf_strips_lay_out(&videos->source, 2, NULL, NULL);
  const size_t result_pair = cf_strips_lay_out(&videos->result, 2, NULL, NULL);
  const size_t slot = limit / (size_t)slots, halo_bytes = (size_t)halo * source_pair;
  const size_t pairs = slot < halo_bytes ? 0 : (slot - halo_bytes) / (source_pair + result_pair);

  return 2 * (int)(pairs < (size_t)videos->source.height ? pairs : (size_t)videos->source.height);
}

static size_t preferred_bytes(const CfVideo *video)
{
  const size_t bytes = cf_strips_lay_out(video, video->height, NULL, NULL) / STRIPS_OF_A_PICTURE;

  if (bytes < LEAST_STRIP_BYTES)
    return LEAST_STRIP_BYTES;
  return bytes < MOST_STRIP_BYTES ? bytes : MOST_STRIP_BYTES;
}

/* The rows of a strip where memory does not matter. */
static int preferred_rows(const CfVideo *video, int halo)
{
  const size_t pairs = preferred_bytes(video) / cf_strips_lay_out(video, 2, NULL, NULL);
  const int rows = pairs < (size_t)video->height ? 2 * (int)pairs : video->height;

  return even_up(cf_max(cf_max(rows, ROWS_PER_HALO * halo), video->height / MAX_STRIPS + 1));
}

static bool refuse(const Videos *videos, int halo, size_t limit, CfStatus *status)
{
  const CfVideo *video = &videos->source;
  CfStrips narrowest;

  if (halo < 0) {
    cut(&narrowest, videos, 0, video->height, MIN_SLOTS);
    return cf_fail(status, CF_ERROR_NO_MEMORY,
                   "these settings filter frames of %dx%d as a whole, which takes %zu bytes of "
                   "device memory, but max-device-memory is %zu: raise it, use smaller frames or "
                   "backend=cpu",
                   video->width, video->height, cf_strips_bytes(&narrowest), limit);
  }
  cut(&narrowest, videos, stepped_halo(halo), 2, MIN_SLOTS);
  return cf_fail(status, CF_ERROR_NO_MEMORY,
                 "max-device-memory is %zu, but frames of %dx%d take %zu bytes with these settings "
                 "even in the narrowest strips: raise it",
                 limit, video->width, video->height, cf_strips_bytes(&narrowest));
}

bool cf_strips_plan(CfStrips *strips, const CfVideo *video, const CfVideo *result, int halo,
                    size_t limit, CfStatus *status)
{
  const Videos videos = {*video, result ? *result : *video};
  const int stepped = stepped_halo(halo);
  const int preferred = halo < 0 ? video->height : preferred_rows(video, stepped);

  for (int slots = MAX_SLOTS; slots >= MIN_SLOTS; slots--) {
    const int rows = limit ? rows_within(&videos, stepped, slots, limit) : preferred;

    cut(strips, &videos, stepped, preferred, slots);
    if (!limit || cf_strips_bytes(strips) <= limit)
      return true;
    if (halo >= 0 && rows >= 2 && (rows >= stepped || slots == MIN_SLOTS)) {
      cut(strips, &videos, stepped, cf_min(rows, preferred), slots);
      return true;
    }
  }
  return refuse(&videos, halo, limit, status);
}

CfStrip cf_strips_strip(const CfStrips *strips, int index)
{
  const int height = strips->video.height;
  const int first = index * strips->rows, end = cf_min(first + strips->rows, height);
  const int held = cf_max(first - strips->halo, 0);
  const int arriving = index > 0 ? cf_min(first + strips->halo, height) : 0;
  const int held_end = cf_min(end + strips->halo, height);
  CfStrip strip;

  strip.made = (CfRows){first, end - first};
  strip.held = (CfRows){held, held_end - held};
  strip.carried = (CfRows){held, arriving - held};
  strip.arriving = (CfRows){arriving, held_end - arriving};
  return strip;
}
