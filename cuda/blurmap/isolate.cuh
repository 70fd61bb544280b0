/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Blur maps with map_isolate where tensor cores do not serve: the map times the samples is blurred
 * by the map, and so is the map alone, which then divides. All are planes of 16 bits in device
 * memory.
 */
#pragma once

#include "cuda/blurmap/map_types.cuh"

namespace cf::blurmap
{

/* One channel of a plane of a job. The planes of 16 bits have the strides of its map. */
struct IsolateJob {
  MapJob map;
  int p, channel;
  uint16_t *product;                 /* of the map and the channel's share of its largest code */
  uint16_t *blurred;                 /* that, after the blur */
  uint16_t *weights, *alpha_weights; /* the map alone, and times alpha, after the blur */
};

/* Enqueues reading the maps of all planes, MapPlane.map: also where tensor cores serve. */
bool isolate_read_maps(const MapJob *job, bool wide, void *stream, CfStatus *status);

/* Enqueues making the product of the channel under way. */
bool isolate_multiply(const IsolateJob *job, bool wide, void *stream, CfStatus *status);

/* Enqueues writing the channel under way. */
bool isolate_divide(const IsolateJob *job, bool wide, void *stream, CfStatus *status);

} // namespace cf::blurmap
