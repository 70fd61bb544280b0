/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Pictures for tests: every plane has its own allocation, with guard bytes before, between and
 * after its rows. Running out of memory ends the process.
 */
#pragma once

#include "image.h"

typedef enum {
  CF_LAYOUT_TIGHT,     /* rows follow each other without guards, so that memory checkers see every
                          overrun */
  CF_LAYOUT_ALIGNED,   /* rows start at multiples of 64 bytes */
  CF_LAYOUT_PADDED,    /* one sample off alignment, five samples between rows */
  CF_LAYOUT_UNALIGNED, /* three samples off alignment, 67 samples between rows */
  CF_LAYOUT_COUNT
} CfLayout;

typedef struct {
  CfVideo video;
  CfLayout layout;
  CfPicture planes;                   /* for engines */
  uint8_t *allocation[CF_MAX_PLANES]; /* aligned to 64 bytes */
  size_t bytes[CF_MAX_PLANES];        /* of each allocation, guards included */
} CfTestPicture;

/* A picture with undefined samples and guards set. Freed by cf_picture_free. */
CfTestPicture *cf_picture_new(const CfVideo *video, CfLayout layout);

/* A copy of the samples of `picture` in another layout. */
CfTestPicture *cf_picture_copy(const CfTestPicture *picture, CfLayout layout);

/* A packed picture of `format` with the samples of a planar one. Where the width is odd, the luma
 * sample that belongs to no pixel differs from row to row. */
CfTestPicture *cf_picture_packed(const CfTestPicture *planar, CfFormat format, CfLayout layout);

/* Copies the samples of a packed picture into `planar`. */
void cf_picture_unpack(const CfTestPicture *packed, CfTestPicture *planar);

/* NULL is allowed. */
void cf_picture_free(CfTestPicture *picture);

/* Sets every byte of the samples to a value that filters do not leave, so that unwritten samples
 * show. */
void cf_picture_poison(CfTestPicture *picture);

/* Whether all guard bytes are intact. If not: the plane, row (-1: above the first) and byte, from
 * the row's start, of the first one that changed. */
bool cf_picture_guards(const CfTestPicture *picture, int *plane, long *row, long *byte);

/* A number that changes with any byte of the allocations. */
uint64_t cf_picture_hash(const CfTestPicture *picture);

/* A sample as stored; `x` and `y` in pixels of the plane. */
static inline int cf_picture_raw(const CfTestPicture *picture, int plane, int x, int y, int channel)
{
  const CfFormatInfo *format = cf_format_info(picture->video.format);
  const uint8_t *row = picture->planes.data[plane] + y * picture->planes.stride[plane];
  const size_t index = (size_t)x * (size_t)format->plane[plane].channels + (size_t)channel;

  return format->bits > 8 ? row[2 * index] | row[2 * index + 1] << 8 : row[index];
}

/* The code value of a sample. */
static inline int cf_picture_get(const CfTestPicture *picture, int plane, int x, int y, int channel)
{
  return cf_picture_raw(picture, plane, x, y, channel) >>
         cf_format_info(picture->video.format)->shift;
}

/* Sets a sample to a code value, 0..max code. */
static inline void cf_picture_set(CfTestPicture *picture, int plane, int x, int y, int channel,
                                  int code)
{
  const CfFormatInfo *format = cf_format_info(picture->video.format);
  uint8_t *row = picture->planes.data[plane] + y * picture->planes.stride[plane];
  const size_t index = (size_t)x * (size_t)format->plane[plane].channels + (size_t)channel;
  const int raw = code << format->shift;

  if (format->bits > 8) {
    row[2 * index] = (uint8_t)raw;
    row[2 * index + 1] = (uint8_t)(raw >> 8);
  } else {
    row[index] = (uint8_t)raw;
  }
}
