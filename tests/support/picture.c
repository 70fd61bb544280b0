/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "picture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALIGNMENT 64

/* Planes of CF_LAYOUT_ALIGNED start on pages of their own, so that each can be page-locked by
 * itself. */
#define PAGE 4096

typedef struct {
  size_t before; /* bytes from the start of the allocation to the first row */
  size_t stride;
  size_t after; /* bytes after the stride of the last row */
} Placement;

static Placement place(CfLayout layout, size_t row_bytes, size_t sample_bytes)
{
  const size_t aligned = (row_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;

  switch (layout) {
  case CF_LAYOUT_ALIGNED:
    return (Placement){4 * ALIGNMENT, aligned, 4 * ALIGNMENT};
  case CF_LAYOUT_PADDED:
    return (Placement){4 * ALIGNMENT + sample_bytes, row_bytes + 5 * sample_bytes, 4 * ALIGNMENT};
  case CF_LAYOUT_UNALIGNED:
    return (Placement){4 * ALIGNMENT + 3 * sample_bytes, row_bytes + 67 * sample_bytes,
                       4 * ALIGNMENT};
  case CF_LAYOUT_TIGHT:
  default:
    return (Placement){0, row_bytes, 0};
  }
}

static uint8_t *allocate(size_t alignment, size_t bytes)
{
  void *memory = NULL;

  if (posix_memalign(&memory, alignment, bytes ? bytes : 1) != 0) {
    fprintf(stderr, "no memory for a test picture of %zu bytes\n", bytes);
    exit(EXIT_FAILURE);
  }
  return memory;
}

/* The value of a guard byte, which depends on its position, so that copies of whole rows do not
 * restore it. */
static uint8_t guard(size_t position)
{
  return (uint8_t)(position * 149 >> 3 ^ 0xa5);
}

/* The first guard byte of a plane at `position` or after it; bytes[plane] if there is none. */
static size_t next_guard(const CfTestPicture *picture, int plane, size_t position)
{
  const size_t before = (size_t)(picture->planes.data[plane] - picture->allocation[plane]);
  const size_t stride = (size_t)picture->planes.stride[plane];
  const size_t row_bytes = cf_row_bytes(&picture->video, plane);
  const size_t rows = (size_t)cf_plane_height(&picture->video, plane);

  if (position >= before && position < before + rows * stride) {
    const size_t row = (position - before) / stride;
    if (position - before - row * stride < row_bytes)
      position = before + row * stride + row_bytes;
    if (row_bytes == stride)
      position = before + rows * stride;
  }
  return position < picture->bytes[plane] ? position : picture->bytes[plane];
}

CfTestPicture *cf_picture_new(const CfVideo *video, CfLayout layout)
{
  const CfFormatInfo *format = cf_format_info(video->format);
  CfTestPicture *picture = (CfTestPicture *)allocate(ALIGNMENT, sizeof *picture);

  *picture = (CfTestPicture){.video = *video, .layout = layout};
  for (int plane = 0; plane < format->planes; plane++) {
    const Placement placement =
        place(layout, cf_row_bytes(video, plane), (size_t)cf_sample_bytes(format));
    const size_t rows = (size_t)cf_plane_height(video, plane);

    picture->bytes[plane] = placement.before + rows * placement.stride + placement.after;
    picture->allocation[plane] =
        allocate(layout == CF_LAYOUT_ALIGNED ? PAGE : ALIGNMENT, picture->bytes[plane]);
    picture->planes.data[plane] = picture->allocation[plane] + placement.before;
    picture->planes.stride[plane] = (ptrdiff_t)placement.stride;
    for (size_t i = next_guard(picture, plane, 0); i < picture->bytes[plane];
         i = next_guard(picture, plane, i + 1))
      picture->allocation[plane][i] = guard(i);
  }
  cf_picture_poison(picture);
  return picture;
}

CfTestPicture *cf_picture_copy(const CfTestPicture *picture, CfLayout layout)
{
  CfTestPicture *copy = cf_picture_new(&picture->video, layout);

  for (int plane = 0; plane < cf_format_info(picture->video.format)->planes; plane++) {
    for (int y = 0; y < cf_plane_height(&picture->video, plane); y++)
      memcpy(copy->planes.data[plane] + y * copy->planes.stride[plane],
             picture->planes.data[plane] + y * picture->planes.stride[plane],
             cf_row_bytes(&picture->video, plane));
  }
  return copy;
}

/* The channel of the macropixel that holds sample `x` of plane `plane` of Y42B. */
static int channel_of(const CfTestPicture *packed, int plane, int x)
{
  static const CfRole roles[] = {CF_ROLE_LUMA, CF_ROLE_CHROMA_BLUE, CF_ROLE_CHROMA_RED};
  const CfPlaneFormat *format = &cf_format_info(packed->video.format)->plane[0];
  int channel = 0;

  while (format->role[channel] != roles[plane])
    channel++;
  return plane == 0 && x % 2 ? channel + 2 : channel;
}

CfTestPicture *cf_picture_packed(const CfTestPicture *planar, CfFormat format, CfLayout layout)
{
  CfVideo video = planar->video;
  CfTestPicture *packed;

  video.format = format;
  packed = cf_picture_new(&video, layout);
  for (int y = 0; y < video.height; y++) {
    for (int plane = 0; plane < 3; plane++) {
      for (int x = 0; x < cf_plane_width(&planar->video, plane); x++)
        cf_picture_set(packed, 0, plane ? x : x / 2, y, channel_of(packed, plane, x),
                       cf_picture_get(planar, plane, x, y, 0));
    }
    if (video.width % 2)
      cf_picture_set(packed, 0, video.width / 2, y, channel_of(packed, 0, 1), (37 + 11 * y) & 255);
  }
  return packed;
}

void cf_picture_unpack(const CfTestPicture *packed, CfTestPicture *planar)
{
  for (int plane = 0; plane < 3; plane++) {
    for (int y = 0; y < planar->video.height; y++) {
      for (int x = 0; x < cf_plane_width(&planar->video, plane); x++)
        cf_picture_set(
            planar, plane, x, y, 0,
            cf_picture_get(packed, 0, plane ? x : x / 2, y, channel_of(packed, plane, x)));
    }
  }
}

void cf_picture_free(CfTestPicture *picture)
{
  if (!picture)
    return;
  for (int plane = 0; plane < CF_MAX_PLANES; plane++)
    free(picture->allocation[plane]);
  free(picture);
}

void cf_picture_poison(CfTestPicture *picture)
{
  for (int plane = 0; plane < cf_format_info(picture->video.format)->planes; plane++) {
    const size_t row_bytes = cf_row_bytes(&picture->video, plane);

    for (int y = 0; y < cf_plane_height(&picture->video, plane); y++) {
      uint8_t *row = picture->planes.data[plane] + y * picture->planes.stride[plane];
      for (size_t i = 0; i < row_bytes; i++)
        row[i] = (uint8_t)(0x35 + 101 * i + 57 * (size_t)y);
    }
  }
}

bool cf_picture_guards(const CfTestPicture *picture, int *plane, long *row, long *byte)
{
  for (int p = 0; p < cf_format_info(picture->video.format)->planes; p++) {
    const uint8_t *memory = picture->allocation[p];

    for (size_t i = next_guard(picture, p, 0); i < picture->bytes[p];
         i = next_guard(picture, p, i + 1)) {
      if (memory[i] != guard(i)) {
        const long offset = (long)(memory + i - picture->planes.data[p]);
        *plane = p;
        *row = offset < 0 ? -1 : offset / picture->planes.stride[p];
        *byte = offset - *row * picture->planes.stride[p];
        return false;
      }
    }
  }
  return true;
}

uint64_t cf_picture_hash(const CfTestPicture *picture)
{
  uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a, eight bytes at a time */

  for (int plane = 0; plane < cf_format_info(picture->video.format)->planes; plane++) {
    const uint8_t *memory = picture->allocation[plane];
    size_t i = 0;

    for (; i + 8 <= picture->bytes[plane]; i += 8) {
      uint64_t word;
      memcpy(&word, memory + i, 8);
      hash = (hash ^ word) * UINT64_C(1099511628211);
      hash ^= hash >> 29;
    }
    for (; i < picture->bytes[plane]; i++)
      hash = (hash ^ memory[i]) * UINT64_C(1099511628211);
  }
  return hash;
}
