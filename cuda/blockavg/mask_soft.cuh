/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Block average of regions that are ellipses or have a feather: which samples of a unit are
 * written. Items that are fully covered are written by their threads. Items at edges, and those
 * that another region may cover too, are queued; their samples are divided among all threads.
 */
#pragma once

#include "cuda/blockavg/work_item.cuh"

namespace cf::blockavg
{

/* A shape, and reciprocals. */
struct SoftShape {
  CfShape exact;
  float per_square_x, per_square_y, per_step;
};

__device__ inline SoftShape shape_of(const FusedFrame &frame, const Box &box)
{
  const int width = box.x1 - box.x0, height = box.y1 - box.y0;
  SoftShape shape;

  shape.exact.x0 = box.x0;
  shape.exact.y0 = box.y0;
  shape.exact.x1 = box.x1;
  shape.exact.y1 = box.y1;
  shape.exact.centre_x = box.x0 + box.x1;
  shape.exact.centre_y = box.y0 + box.y1;
  shape.exact.square_x = cf_square(width);
  shape.exact.square_y = cf_square(height);
  shape.exact.smaller_axis = min(width, height);
  shape.exact.x = box.x0;
  shape.exact.y = box.y0;
  shape.exact.side = box_side(&frame.rule, &box);
  shape.per_square_x = __fdividef(1.0f, shape.exact.square_x);
  shape.per_square_y = __fdividef(1.0f, shape.exact.square_y);
  shape.per_step = frame.coverage.step > 0.0f ? __fdividef(1.0f, frame.coverage.step) : 0.0f;
  return shape;
}

/* The coverage of a luma pixel by fast arithmetic, or -1 if its error might change the result of
 * cf_shape_coverage(). Pixels farther from the centre along both axes have no larger coverage. */
__device__ inline int estimate(const CfCoverageRule &rule, const SoftShape &shape, int x, int y)
{
  if (!rule.ellipse)
    return cf_rectangle_coverage(&rule, &shape.exact, x, y);

  const float across = (float)(2 * x + 1 - shape.exact.centre_x);
  const float down = (float)(2 * y + 1 - shape.exact.centre_y);
  const float square_x = across * across, square_y = down * down;
  const float square = square_x * shape.per_square_x + square_y * shape.per_square_y;

  /* The distance is length (1 - 1 / s) for s = sqrt(square), without cancellation. */
  const float per_s = rsqrtf(square), squares = square_x + square_y;
  const float length = squares * rsqrtf(squares);
  const float distance = length * __fdividef((square - 1.0f) * per_s, square * per_s + 1.0f);
  const float left = 256.5f - distance * shape.per_step;
  const float doubt = length * 2e-6f * shape.per_step + 1e-3f;
  const float level = floorf(left), above = left - level;

  if (square < 0.9999f)
    return CF_COVERED;
  if (square < 1.0001f)
    return -1;
  if (left < 1.0f - doubt)
    return 0;
  if (left > 256.0f + doubt)
    return CF_COVERED;
  return above > doubt && above < 1.0f - doubt && left > 1.0f ? (int)level : -1;
}

/* The luma pixel of samples first .. last that is nearest to a shape's centre, along one axis. */
__device__ inline int nearest_luma(int first, int last, int shift, int size, int centre)
{
  return min(max(centre >> 1, first << shift), min(((last + 1) << shift) - 1, size - 1));
}

/* The one of these luma pixels that is farthest from the centre. */
__device__ inline int farthest_luma(int first, int last, int shift, int size, int centre)
{
  const int a = nearest_luma(first, first, shift, size, centre);
  const int b = nearest_luma(last, last, shift, size, centre);

  return abs(2 * a + 1 - centre) > abs(2 * b + 1 - centre) ? a : b;
}

/* The coverage of a sample: the largest of its luma pixels. */
__device__ inline int sample_coverage(const FusedFrame &frame, const SoftShape &shape,
                                      const Plane &plane, int x, int y)
{
  const int width = frame.rule.picture_width, height = frame.rule.picture_height;
  const int sx = plane.shift_x, sy = plane.shift_y;
  int most = estimate(frame.coverage, shape, nearest_luma(x, x, sx, width, shape.exact.centre_x),
                      nearest_luma(y, y, sy, height, shape.exact.centre_y));

  if (most >= 0)
    return most;
#pragma unroll 1
  for (int row = y << sy; row < min((y + 1) << sy, height); row++) {
#pragma unroll 1
    for (int column = x << sx; column < min((x + 1) << sx, width); column++)
      most = max(most, cf_shape_coverage(&frame.coverage, &shape.exact, column, row));
  }
  return most;
}

/* The samples that a region may cover. */
__device__ inline Box reach_of(const FootprintRule &rule, const Plane &plane, Box box)
{
  box.x0 = (short)max(box.x0 - rule.reach, 0);
  box.y0 = (short)max(box.y0 - rule.reach, 0);
  box.x1 = (short)min(box.x1 + rule.reach, rule.picture_width);
  box.y1 = (short)min(box.y1 + rule.reach, rule.picture_height);
  return covered_samples(plane, box);
}

__device__ inline bool contains(const Box &box, int x, int y)
{
  return x >= box.x0 && x < box.x1 && y >= box.y0 && y < box.y1;
}

constexpr int kPrepared = 16; /* other regions whose reach and shape are kept */

/* Shared memory of a unit. */
struct SoftUnit {
  bool overlaps; /* another region has blocks in the unit */

  /* These regions; reach and shape of the first kPrepared. */
  int claims;
  uint16_t region[kMostRegions];
  Box reach[kPrepared];
  SoftShape shape[kPrepared];

  /* Items whose samples are tested one by one. */
  int queued;
  struct {
    uint16_t column, y, rows;
  } queue[kMostItems];

  __device__ void reset()
  {
    claims = queued = 0;
    overlaps = false;
  }
};

__device__ inline void find_others(const FusedFrame &frame, const Boxes &boxes, int own,
                                   const Unit &unit, const Plane &plane, SoftUnit *soft)
{
#pragma unroll 1
  for (int i = (int)threadIdx.x; i < frame.boxes; i += (int)blockDim.x) {
    Footprint footprint;

    if (i == own || !overlaps_unit(frame.rule, boxes[i], unit, &footprint))
      continue;
    const int at = atomicAdd(&soft->claims, 1);
    soft->overlaps = true;
    soft->region[at] = (uint16_t)i;
    if (at < kPrepared) {
      soft->reach[at] = reach_of(frame.rule, plane, boxes[i]);
      soft->shape[at] = shape_of(frame, boxes[i]);
    }
  }
}

__device__ inline Box claim_at(const FusedFrame &frame, const Boxes &boxes, const Plane &plane,
                               const SoftUnit &soft, int i)
{
  return i < kPrepared ? soft.reach[i] : reach_of(frame.rule, plane, boxes[soft.region[i]]);
}

/* The bytes of an item that the region may cover, if all of these are fully covered and no other
 * region may cover them. Else none; the item is then queued, unless its coverage is 0. */
template <int PixelBytes>
__device__ inline Extent own_extent(const FusedFrame &frame, const Boxes &boxes, int own,
                                    const Unit &unit, const Plane &plane, const Item &item,
                                    SoftUnit *soft)
{
  const SoftShape shape = shape_of(frame, boxes[own]);
  const Extent extent =
      extent_in_item<PixelBytes>(unit, item, reach_of(frame.rule, plane, boxes[own]));
  bool claimed = false;

  if (extent.is_empty())
    return extent;
#pragma unroll 1
  for (int i = 0; i < soft->claims && !claimed; i++)
    claimed =
        !extent_in_item<PixelBytes>(unit, item, claim_at(frame, boxes, plane, *soft, i)).is_empty();

  const int width = frame.rule.picture_width, height = frame.rule.picture_height;
  const int sx = plane.shift_x, sy = plane.shift_y;
  const int centre_x = shape.exact.centre_x, centre_y = shape.exact.centre_y;
  const int x0 = (item.offset + extent.first) / PixelBytes, y0 = item.y + extent.begin;
  const int x1 = (item.offset + extent.last) / PixelBytes - 1, y1 = item.y + extent.end - 1;

  if (!claimed && estimate(frame.coverage, shape, farthest_luma(x0, x1, sx, width, centre_x),
                           farthest_luma(y0, y1, sy, height, centre_y)) == CF_COVERED)
    return extent;
  if (estimate(frame.coverage, shape, nearest_luma(x0, x1, sx, width, centre_x),
               nearest_luma(y0, y1, sy, height, centre_y)) != 0)
    soft->queue[atomicAdd(&soft->queued, 1)] = {(uint16_t)(item.offset / kColumnBytes),
                                                (uint16_t)item.y, (uint16_t)item.rows};
  return {};
}

template <int, int kRows>
__device__ inline void write_item(const Unit &, const Plane &plane, const Item &item,
                                  const uint4 &line, const Extent &own, const SoftUnit &)
{
  write_extent<kRows>(plane, item, line, own);
}

/* Whether a sample belongs to another region than `own`. */
__device__ inline bool belongs_to_other(const FusedFrame &frame, const Boxes &boxes, int own,
                                        const SoftShape &shape, const Plane &plane, int x, int y,
                                        int coverage, const SoftUnit &soft)
{
#pragma unroll 1
  for (int i = 0; i < soft.claims; i++) {
    if (!contains(claim_at(frame, boxes, plane, soft, i), x, y))
      continue;
    const int index = soft.region[i];
    const SoftShape rival = i < kPrepared ? soft.shape[i] : shape_of(frame, boxes[index]);
    const int other = sample_coverage(frame, rival, plane, x, y);
    if (other > coverage ||
        (other == coverage && cf_owns_before(rival.exact.side, index, shape.exact.side, own)))
      return true;
  }
  return false;
}

/* Writes the samples of queued items; by all threads of the CTA. */
template <int C, int kRows, typename Sample>
__device__ inline void write_queued(const FusedFrame &frame, const Boxes &boxes, int own,
                                    const Unit &unit, const Plane &plane, const uint32_t *colours,
                                    const SoftUnit &soft)
{
  const SoftShape shape = shape_of(frame, boxes[own]);
  constexpr int kAcross = kColumnBytes / (C * (int)sizeof(Sample)), kSamples = kAcross * kRows;
  const float per_height = reciprocal_of(unit.height);

#pragma unroll 1
  for (int i = (int)threadIdx.x; i < soft.queued * kSamples; i += (int)blockDim.x) {
    const auto &item = soft.queue[i / kSamples];
    const int row = i % kSamples / kAcross;
    const int x = item.column * kAcross + i % kAcross, y = item.y + row;

    if (row >= item.rows || x < unit.x0 || x >= unit.x1)
      continue;
    const int coverage = sample_coverage(frame, shape, plane, x, y);
    if (coverage == 0 || belongs_to_other(frame, boxes, own, shape, plane, x, y, coverage, soft))
      continue;
    const int block = quotient((y << plane.shift_y) - unit.y, per_height) * unit.blocks +
                      unit_block(unit, plane, x);
    write_pixel(frame.job, C, (const Sample *)(plane.source + y * plane.source_stride) + x * C,
                (Sample *)(plane.destination + y * plane.destination_stride) + x * C,
                colours[block * C], coverage);
  }
}

} // namespace cf::blockavg
