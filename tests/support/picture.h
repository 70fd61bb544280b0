/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Pictures for tests: every plane in an allocation of its own, with guard bytes before, between and
 * after the rows. Out of memory ends the process.
 */
#pragma once

#include "image.h"

typedef enum {
  CF_LAYOUT_TIGHT,     /* rows follow each other, no guards: memory checkers see every overrun */
  CF_LAYOUT_ALIGNED,   /* rows start at multiples of 64 bytes */
  CF_LAYOUT_PADDED,    /* one sample off alignment, five samples between rows */
  CF_LAYOUT_UNALIGNED, /* three samples off alignment, 67 samples between rows */
  CF_LAYOUT_COUNT
} CfLayout;

typedef struct {
  CfVideo video;
  CfLayout layout;
  CfPicture planes;                   /* what an engine gets */
  uint8_t *allocation[CF_MAX_PLANES]; /* aligned to 64 bytes */
  size_t bytes[CF_MAX_PLANES];        /* of each allocation, guards included */
} CfTestPicture;

/* Samples are undefined, guards are set. Freed by cf_picture_free. */
CfTestPicture *cf_picture_new(const CfVideo *video, CfLayout layout);

/* A copy of the samples of `picture` in another layout. */
CfTestPicture *cf_picture_copy(const CfTestPicture *picture, CfLayout layout);

/* A packed picture of `format` with the samples of a planar one; the luma that is no pixel's has a
 * value of its own in every row. */
CfTestPicture *cf_picture_packed(const CfTestPicture *planar, CfFormat format, CfLayout layout);

/* The other way round, into `planar`. */
void cf_picture_unpack(const CfTestPicture *packed, CfTestPicture *planar);

/* NULL is allowed. */
void cf_picture_free(CfTestPicture *picture);

/* Sets every byte of the samples to a value that no filter should leave: unwritten ones show. */
void cf_picture_poison(CfTestPicture *picture);

/* Finds the first guard byte that changed; false if there is one, with its place: the row (-1 above
 * the first) and the bytes from the row's start. */
bool cf_picture_guards(const CfTestPicture *picture, int *plane, long *row, long *byte);

/* A number that changes with any byte of the allocations. */
uint64_t cf_picture_hash(const CfTestPicture *picture);

/* Sample as stored, `x` and `y` in the plane's own pixels. */
static inline int cf_picture_raw(const CfTestPicture *picture, int plane, int x, int y, int channel)
{
  const CfFormatInfo *format = cf_format_info(picture->video.format);
  const uint8_t *row = picture->planes.data[plane] + y * picture->planes.stride[plane];
  const size_t index = (size_t)x * (size_t)format->plane[plane].channels + (size_t)channel;

  return format->bits > 8 ? row[2 * index] | row[2 * index + 1] << 8 : row[index];
}

/* Code value of a sample. */
static inline int cf_picture_get(const CfTestPicture *picture, int plane, int x, int y, int channel)
{
  return cf_picture_raw(picture, plane, x, y, channel) >>
         cf_format_info(picture->video.format)->shift;
}

/* Sets a sample to a code value in 0..max code. */
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
