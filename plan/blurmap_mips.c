/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/blurmap_mips.h"

#include <limits.h>

#include "plan/int_math.h"

#define SMALLEST_RATIO 1.5 /* of sigma to the texel of the image that a level reads */

/* With the borders replicate and constant, all texels this far outside the plane are equal. */
#define MARGIN 16

/* Unused texels at the end of each row, so that rows start in different banks of shared memory. The
 * first texel of all lies half as far in, which puts every 8th texel, counted from the fourth
 * before an image's first one, at a multiple of 16 bytes. */
#define ROW_PADDING 8

int cf_mip_log(double sigma)
{
  int log = 0;

  while (log + 1 < CF_MIP_LOGS && sigma >= SMALLEST_RATIO * (2 << log))
    log++;
  return log;
}

int cf_mip_depth(const CfMipImage *image)
{
  return cf_max(image->log_x, image->log_y);
}

/* The index of the image with these logs, added if need be; its ancestors have smaller indices. */
static int find_image(CfMipPlane *plane, int log_x, int log_y)
{
  if (log_x == 0 && log_y == 0)
    return -1;
  for (int i = 0; i < plane->images; i++) {
    if (plane->image[i].log_x == log_x && plane->image[i].log_y == log_y)
      return i;
  }
  /* Halve the axis that is ahead, or both: the first halving of an axis is one of the frame. */
  const int most = cf_max(log_x, log_y);
  const int parent = find_image(plane, log_x - (log_x == most), log_y - (log_y == most));
  plane->image[plane->images] = (CfMipImage){.log_x = log_x, .log_y = log_y, .parent = parent};
  return plane->images++;
}

void cf_mips_choose(CfMipPlane *plane, const CfBlurLevels *levels)
{
  plane->images = plane->groups = 0;
  for (int i = 0; i < levels->count; i++) {
    const int image = find_image(plane, cf_mip_log(levels->level[i].horizontal),
                                 cf_mip_log(levels->level[i].vertical));

    if (i == 0 || image != plane->image_of_group[plane->groups - 1])
      plane->image_of_group[plane->groups++] = image;
    plane->group_of_level[i] = plane->groups - 1;
    if (image >= 0)
      plane->image[image].used = true;
  }
}

/* Texels or samples first..end - 1 along an axis; empty where first = end. */
typedef struct {
  int first, end;
} Span;

static void widen(Span *span, Span other)
{
  if (span->first == span->end) {
    *span = other;
  } else {
    span->first = cf_min(other.first, span->first);
    span->end = cf_max(other.end, span->end);
  }
}

/* The texels that these samples read. */
static Span texels_around(Span samples, int log)
{
  return (Span){(samples.first >> log) - CF_MIP_REACH - 1,
                ((samples.end - 1) >> log) + CF_MIP_REACH + 2};
}

/* The texels of the parent that `span` reads, along an axis that is halved or not. */
static Span read_by(Span span, bool halves)
{
  return halves ? (Span){2 * span.first - 2, 2 * span.end + 2} : span;
}

/* Without what lies beyond the margins, where the border repeats texels. */
static Span useful(Span span, int border, int size, int log)
{
  const int count = (size + (1 << log) - 1) >> log;

  if (border != CF_BORDER_REPLICATE && border != CF_BORDER_CONSTANT)
    return span;
  return (Span){cf_max(span.first, -MARGIN), cf_min(span.end, count + MARGIN)};
}

/* To a multiple of CF_MIP_ALIGNMENT, towards minus infinity. */
static int align_down(int value)
{
  return value & ~(CF_MIP_ALIGNMENT - 1);
}

static bool place_image(CfMipImage *image, Span across, Span down, int channels, uint64_t *texels,
                        CfStatus *status)
{
  image->first_x = across.first;
  image->first_y = down.first;
  image->width = align_down(across.end - across.first + CF_MIP_ALIGNMENT - 1);
  image->height = down.end - down.first;
  image->pitch = image->width + ROW_PADDING;
  image->at = *texels + ROW_PADDING / 2;
  image->channel = (uint64_t)image->pitch * (uint64_t)image->height;
  *texels += (uint64_t)channels * image->channel;
  if (image->channel > INT_MAX || *texels > CF_MIP_MOST_TEXELS)
    return cf_fail(status, CF_ERROR_INVALID,
                   "a blur map of this picture and sigma needs mip images of more than %u texels",
                   (unsigned)CF_MIP_MOST_TEXELS);
  return true;
}

bool cf_mips_place(CfMipPlane *plane, const CfMipArea *area, uint64_t *texels, CfStatus *status)
{
  Span across[CF_MIP_IMAGES] = {{0, 0}}, down[CF_MIP_IMAGES] = {{0, 0}};

  for (int i = plane->images - 1; i >= 0; i--) {
    CfMipImage *image = &plane->image[i];

    if (image->used) {
      widen(&across[i], texels_around((Span){0, area->width}, image->log_x));
      widen(&down[i], texels_around((Span){area->first, area->end}, image->log_y));
    }
    across[i] = useful(across[i], area->border, area->width, image->log_x);
    across[i].first = align_down(across[i].first);
    down[i] = useful(down[i], area->border, area->height, image->log_y);
    if (image->parent >= 0) {
      const CfMipImage *parent = &plane->image[image->parent];

      widen(&across[image->parent], read_by(across[i], image->log_x > parent->log_x));
      widen(&down[image->parent], read_by(down[i], image->log_y > parent->log_y));
    }
    if (!place_image(image, across[i], down[i], area->channels, texels, status))
      return false;
  }
  return true;
}
