/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Blur maps with map_isolate: the map times the samples is blurred by the map, and so is the map
 * alone, which then divides. All are planes of 16 bits in device memory.
 */
#pragma once

#include "cuda/blurmap/map_types.cuh"

namespace cf::blurmap
{

/* One plane of a job. Strides in bytes; those of the planes of 16 bits are all `stride`. */
struct IsolatePlane {
  const uint8_t *source;
  uint8_t *destination;
  ptrdiff_t source_stride, destination_stride;
  int width, height, channels;
  int first, end; /* rows of the destination */
  int shift, max_code, border;
  int alpha;              /* channel that weighs the others, or -1 */
  int channel;            /* that is under way */
  float blank;            /* its code where nothing is to be seen */
  float sigma_x, sigma_y; /* where the map is 1 */

  ptrdiff_t stride;
  uint16_t *map;                     /* 0..CF_MAP_ONE */
  uint16_t *product;                 /* of the map and the channel's share of its largest code */
  uint16_t *blurred;                 /* that, after the blur */
  uint16_t *weights, *alpha_weights; /* the map alone, and times alpha, after the blur */
};

/* Enqueues reading the map of plane `p` of `job` into `plane->map`. */
bool isolate_read_map(const MapJob *job, int p, const IsolatePlane *plane, bool wide, void *stream,
                      CfStatus *status);

/* Enqueues making the product of the channel under way. */
bool isolate_multiply(const IsolatePlane *plane, bool wide, void *stream, CfStatus *status);

/* Enqueues writing the channel under way. */
bool isolate_divide(const IsolatePlane *plane, bool wide, void *stream, CfStatus *status);

} // namespace cf::blurmap
