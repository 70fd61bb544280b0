/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The planes of a job and their maps, as the host describes them to the kernels of blur maps.
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
  int first, end;                /* rows to make: first .. end - 1 */
  int shift_x, shift_y;          /* subsampling */
  int alpha;                     /* channel by which the others are premultiplied, or -1 */
  unsigned padding;              /* a bit for each channel that is padding */
  float centre[CF_MAX_CHANNELS]; /* subtracted from codes in fp16 texels */
  float transparent_code[CF_MAX_CHANNELS]; /* where alpha is 0 */
  int border[CF_MAX_CHANNELS];             /* codes of the constant border */
  const float *lod;                        /* CfBlurLevels.position, in device memory */
  int copy;                                /* the level of sigma 0, or -1 */
  CfMapShape shape;
  __half *map;          /* with map_isolate the map's value of each sample, else NULL */
  ptrdiff_t map_stride; /* a multiple of 16 bytes */
  int tiles_x, first_tile;
  bool vector; /* rows of source and destination are aligned to 16 bytes */
};

struct MapJob {
  MapPlane plane[CF_MAX_PLANES];
  int planes;
  bool wide; /* samples of two bytes */
  int border, shift, max_code;
  int mode;               /* CfMapMode; CF_MAP_NONE: sigma_relative, by regions */
  bool isolates;          /* map_isolate: samples are weighted by their own map values */
  const uint16_t *values; /* of the map file */
  CfMapMixer mixer;
  MapPlane of_mixer[3]; /* the plane of each term: only source, stride and channels are used */
  int luma_width, luma_height;
  float relative, largest; /* by regions, m = min(relative * side, CF_LARGEST_SIGMA) / largest */
  CfShapeList list;
};

/* Makes the device memory at `*memory`, of `*room` bytes, at least `bytes` long; its contents are
 * lost if it grows. */
bool grow(void **memory, size_t *room, size_t bytes, CfStatus *status);

} // namespace cf::blurmap
