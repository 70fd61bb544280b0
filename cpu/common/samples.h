/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Access to single code values of a plane in memory.
 */
#pragma once

#include <string.h>

#include "image.h"

/* A plane of a picture. */
typedef struct {
  const CfFormatInfo *format;
  int width, height, channels;
  uint8_t *data;
  ptrdiff_t stride;
} CfSamples;

static inline CfSamples cf_samples_of(const CfVideo *video, const CfPicture *picture, int p)
{
  const CfFormatInfo *format = cf_format_info(video->format);

  return (CfSamples){format,
                     cf_plane_width(video, p),
                     cf_plane_height(video, p),
                     format->plane[p].channels,
                     picture->data[p],
                     picture->stride[p]};
}

static inline uint8_t *cf_sample_at(const CfSamples *plane, int x, int y, int channel)
{
  return plane->data + y * plane->stride +
         ((ptrdiff_t)x * plane->channels + channel) * cf_sample_bytes(plane->format);
}

static inline int cf_sample_load(const CfSamples *plane, int x, int y, int channel)
{
  const uint8_t *sample = cf_sample_at(plane, x, y, channel);

  return plane->format->bits > 8 ? (sample[0] | sample[1] << 8) >> plane->format->shift : sample[0];
}

/* Stores `value`, rounded down and clamped to 0..max code. */
static inline void cf_sample_store(const CfSamples *plane, int x, int y, int channel, double value)
{
  const double most = cf_max_code(plane->format);
  const int raw = (int)(value > most ? most : value > 0.0 ? value : 0.0) << plane->format->shift;
  uint8_t *sample = cf_sample_at(plane, x, y, channel);

  sample[0] = (uint8_t)raw;
  if (plane->format->bits > 8)
    sample[1] = (uint8_t)(raw >> 8);
}

/* Copies all samples, with the bits below their codes. Planes have the same size and format. */
static inline void cf_samples_copy(const CfSamples *from, const CfSamples *to)
{
  const size_t bytes =
      (size_t)from->width * (size_t)from->channels * (size_t)cf_sample_bytes(from->format);

  for (int y = 0; y < from->height; y++)
    memcpy(cf_sample_at(to, 0, y, 0), cf_sample_at(from, 0, y, 0), bytes);
}
