/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the host lays out for the kernels of blur maps: the planes of a job, and their maps.
 */
#pragma once

#include "cuda/regions/shape_list.cuh"

#include <cuda_fp16.h>

extern "C" {
#include "plan/blurmap_levels.h"
}

namespace cf::blurmap
{

struct MapPlane {
  const uint8_t *source;
  uint8_t *destination;
  ptrdiff_t source_stride, destination_stride;
  int width, height, channels;
  int first, end;                /* rows to make */
  int shift_x, shift_y;          /* subsampling */
  int alpha;                     /* channel that weights the others, or -1 */
  unsigned padding;              /* bits of channels that nobody reads */
  float centre[CF_MAX_CHANNELS]; /* what fp16 texels are less: half of the largest code */
  float blank[CF_MAX_CHANNELS];  /* codes where nothing shows */
  int border[CF_MAX_CHANNELS];   /* code values */
  const float *lod;              /* CfBlurLevels.position, in device memory */
  int copy;                      /* the level that is no blur at all, or -1 */
  CfMapShape shape;
  __half *map;          /* isolating: m of each sample; or NULL */
  ptrdiff_t map_stride; /* a multiple of 16 bytes */
  int tiles_x, first_tile;
  bool vector; /* rows of source and destination start on 16 bytes */
};

struct MapJob {
  MapPlane plane[CF_MAX_PLANES];
  int planes;
  bool wide; /* samples of two bytes */
  int border, shift, max_code;
  int mode;               /* CfMapMode; CF_MAP_NONE: by regions */
  bool isolates;          /* samples count by their own map values */
  const uint16_t *values; /* of the file */
  CfMapMixer mixer;
  MapPlane of_mixer[3]; /* the planes its terms read: only source, stride and channels count */
  int luma_width, luma_height;
  float relative, largest; /* by regions: m = min(relative * side, 250) / largest */
  CfShapeList list;
};

/* Sees to `bytes` of device memory at `*memory`, which has room for `*room`; what it held is lost.
 */
bool grow(void **memory, size_t *room, size_t bytes, CfStatus *status);

/* Enqueues a copy to the device; the host's memory may change when the call returns. */
bool upload(void *to, const void *from, size_t bytes, void *stream, CfStatus *status);

} // namespace cf::blurmap
