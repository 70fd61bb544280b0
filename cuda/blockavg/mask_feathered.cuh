/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Block average of regions: what is written of a unit where the regions are ellipses or have a
 * feather. Each row of samples has a span that is covered throughout, which is written in whole
 * pieces, within one beyond which nothing is covered. What is between them is looked at sample by
 * sample.
 */
#pragma once

#include "cuda/blockavg/work_item.cuh"
#include "cuda/blockavg/samples.cuh"

namespace cf::blockavg
{

/* One shape, and what saves divisions. */
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

/* How much a pixel is covered, if rounding cannot make a difference to cf_shape_coverage, or -1.
 * The pixels that lie farther from the centre both ways are then covered no more. */
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

/* Of a sample's most covered luma pixel. */
__device__ inline int sample_coverage(const FusedFrame &frame, const SoftShape &shape,
                                      const Plane &plane, int x, int y)
{
  const int x0 = x << plane.shift_x, y0 = y << plane.shift_y;
  const int x1 = min(x0 + plane.shift_x, frame.rule.picture_width - 1);
  const int y1 = min(y0 + plane.shift_y, frame.rule.picture_height - 1);
  int most = estimate(frame.coverage, shape, 2 * x0 + 1 < shape.exact.centre_x ? x1 : x0,
                      2 * y0 + 1 < shape.exact.centre_y ? y1 : y0);

  if (most >= 0)
    return most;
#pragma unroll 1
  for (int row = y0; row <= y1; row++) {
#pragma unroll 1
    for (int column = x0; column <= x1; column++)
      most = max(most, cf_shape_coverage(&frame.coverage, &shape.exact, column, row));
  }
  return most;
}

/* Samples first..last - 1, of which all are covered, within begin..end - 1, of which some may be.
 */
struct Span {
  int begin, first, last, end;
};

/* Of a row of luma pixels. */
__device__ inline Span luma_span(const CfCoverageRule &rule, const SoftShape &shape, int y)
{
  const int reach = rule.reach;
  const CfShape &exact = shape.exact;
  Span span;

  if (y < exact.y0 - reach || y >= exact.y1 + reach)
    return {0, 0, 0, 0};
  if (!rule.ellipse) {
    const bool inside = y >= exact.y0 && y < exact.y1;
    return {exact.x0 - reach, inside ? exact.x0 : exact.x1, exact.x1, exact.x1 + reach};
  }

  /* Nothing is covered beyond an ellipse whose semi-axes are longer by the feather: the radius at
   * an angle, as a function of both, is homogeneous and concave. */
  const float down = (float)abs(2 * y + 1 - exact.centre_y);
  const float inner = 0.9998f - down * down * shape.per_square_y;
  const float outer_x = (float)(exact.x1 - exact.x0 + 2 * reach);
  const float outer_y = (float)(exact.y1 - exact.y0 + 2 * reach);
  const float outer = 1.0002f - __fdividef(down * down, outer_y * outer_y);
  const float half_outer = sqrtf(fmaxf(outer, 0.0f)) * outer_x;
  const float half_inner = sqrtf(fmaxf(inner, 0.0f) * exact.square_x);

  span.begin = (exact.centre_x - 3 - (int)half_outer) >> 1;
  span.end = (exact.centre_x + 5 + (int)half_outer) >> 1;
  span.first = (exact.centre_x + 3 - (int)half_inner) >> 1;
  span.last = (exact.centre_x - 3 + (int)half_inner) >> 1;
  if (inner <= 0.0f || span.first >= span.last)
    span.first = span.last = span.end;
  return span;
}

/* Of a row of samples, within the unit. A sample is as covered as the most covered luma pixel. */
__device__ inline Span sample_span(const FusedFrame &frame, const SoftShape &shape,
                                   const Plane &plane, const Unit &unit, int y)
{
  const int sx = plane.shift_x;
  const int row = y << plane.shift_y;
  Span span = luma_span(frame.coverage, shape, row);

  if (plane.shift_y && row + 1 < frame.rule.picture_height) {
    const Span next = luma_span(frame.coverage, shape, row + 1);
    const bool some = span.end > span.begin, more = next.end > next.begin;

    if (!some) {
      span = next;
    } else if (more) {
      const bool full = span.last > span.first, fuller = next.last > next.first;
      span.begin = min(span.begin, next.begin);
      span.end = max(span.end, next.end);
      span.first = full && fuller ? min(span.first, next.first) : fuller ? next.first : span.first;
      span.last = full && fuller ? max(span.last, next.last) : fuller ? next.last : span.last;
    }
  }
  if (span.end <= span.begin)
    return {unit.x0, unit.x0, unit.x0, unit.x0};
  const bool full = span.last > span.first;
  span.begin = min(max(span.begin >> sx, unit.x0), unit.x1);
  span.end = min(max((span.end + sx) >> sx, span.begin), unit.x1);
  span.first = full ? min(max(span.first >> sx, span.begin), span.end) : span.end;
  span.last = full ? min(max((span.last + sx) >> sx, span.first), span.end) : span.end;
  return span;
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

constexpr int kPrepared = 16;

/* Samples of a row that are looked at one by one go in chunks of so many. */
constexpr int kChunk = 8;

/* What the threads of a unit share. */
struct SoftUnit {
  Span span[kSoftRows];     /* of its rows */
  int chunk[kSoftRows + 1]; /* the first of each */
  bool overlaps;            /* any region that shares blocks with it */

  /* Regions that may claim samples of it, the first ones prepared. */
  int claims;
  uint8_t region[kMostRegions];
  Box reach[kPrepared];
  SoftShape shape[kPrepared];
};

__device__ inline void find_claims(const FusedFrame &frame, const Box *boxes, int own,
                                   const Unit &unit, const Plane &plane, SoftUnit *soft)
{
#pragma unroll 1
  for (int i = (int)threadIdx.x; i < frame.boxes; i += (int)blockDim.x) {
    Footprint footprint;

    if (i == own || !shares(frame.rule, boxes[i], unit, &footprint))
      continue;
    const int at = atomicAdd(&soft->claims, 1);
    soft->overlaps = true;
    soft->region[at] = (uint8_t)i;
    if (at < kPrepared) {
      soft->reach[at] = reach_of(frame.rule, plane, boxes[i]);
      soft->shape[at] = shape_of(frame, boxes[i]);
    }
  }
}

__device__ inline Box claim_at(const FusedFrame &frame, const Box *boxes, const Plane &plane,
                               const SoftUnit &soft, int i)
{
  return i < kPrepared ? soft.reach[i] : reach_of(frame.rule, plane, boxes[soft.region[i]]);
}

/* The spans of the unit's rows; all threads together. */
__device__ inline void find_spans(const FusedFrame &frame, const SoftShape &shape,
                                  const Plane &plane, const Unit &unit, int top, int rows,
                                  SoftUnit *soft)
{
#pragma unroll 1
  for (int i = (int)threadIdx.x; i < rows; i += (int)blockDim.x)
    soft->span[i] = sample_span(frame, shape, plane, unit, top + i);
}

/* Counts the chunks; the lanes of the first warp together. */
__device__ inline void find_chunks(int rows, SoftUnit *soft)
{
  const int lane = (int)threadIdx.x;
  int before = 0;

#pragma unroll 1
  for (int base = 0; base < rows; base += 32) {
    const int row = base + lane;
    int chunks = 0;

    if (row < rows) {
      const Span span = soft->span[row];
      chunks = (span.end - span.last + span.first - span.begin + kChunk - 1) / kChunk;
    }
    int sum = chunks;
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
      const int other = __shfl_up_sync(~0u, sum, distance);
      sum += lane >= distance ? other : 0;
    }
    if (row < rows)
      soft->chunk[row] = before + sum - chunks;
    before += __shfl_sync(~0u, sum, 31);
  }
  if (lane == 0)
    soft->chunk[rows] = before;
}

/* Whether a sample belongs to another region. */
__device__ inline bool is_lost(const FusedFrame &frame, const Box *boxes, int own,
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
        (other == coverage && (rival.exact.side > shape.exact.side ||
                               (rival.exact.side == shape.exact.side && index < own))))
      return true;
  }
  return false;
}

/* The bytes of an item that are covered throughout, and that no other region may claim. */
template <int PixelBytes, int kRows>
__device__ inline ItemMask<kRows>
full_bytes(const FusedFrame &frame, const Box *boxes, const SoftShape &shape, const Plane &plane,
           const Unit &unit, int top, const Item &item, const SoftUnit &soft)
{
  ItemMask<kRows> mask = no_bytes<kRows>();

#pragma unroll
  for (int i = 0; i < kRows; i++) {
    if (i >= item.rows)
      break;
    const Span span = soft.span[item.y + i - top];
    const int first = max(span.first * PixelBytes - item.offset, 0);
    const int last = min(span.last * PixelBytes - item.offset, kColumnBytes);

    if (first < last)
      mask.word[i / 4] |= (uint64_t)(0xffffu >> (kColumnBytes - last) & 0xffffu << first)
                          << 16 * (i % 4);
  }
#pragma unroll 1
  for (int i = 0; i < soft.claims; i++) {
    const Extent other =
        extent_in_item<PixelBytes>(unit, item, claim_at(frame, boxes, plane, soft, i));

    if (other.first < other.last && other.begin < other.end) {
      const ItemMask<kRows> bytes = bytes_of<kRows>(other);
#pragma unroll
      for (int k = 0; k < kRows / 4; k++)
        mask.word[k] &= ~bytes.word[k];
    }
  }
  return mask;
}

/* Whether one of the first `count` regions that may claim samples may claim this. */
__device__ inline bool is_claimed(const FusedFrame &frame, const Box *boxes, const Plane &plane,
                                  int x, int y, const SoftUnit &soft, int count)
{
#pragma unroll 1
  for (int i = 0; i < count; i++) {
    if (contains(claim_at(frame, boxes, plane, soft, i), x, y))
      return true;
  }
  return false;
}

/* Samples that may be covered in part. */
template <int C, typename Sample>
__device__ inline void write_edges(const FusedFrame &frame, const Box *boxes, int own,
                                   const SoftShape &shape, const Unit &unit, const Plane &plane,
                                   int top, int rows, const uint32_t *sums, const SoftUnit &soft)
{
  const float per_height = reciprocal_of(unit.height);

#pragma unroll 1
  for (int i = (int)threadIdx.x; i < soft.chunk[rows] * kChunk; i += (int)blockDim.x) {
    int row = 0;

#pragma unroll 1
    for (int step = 1 << (31 - __clz(rows)); step > 0; step /= 2)
      row += row + step < rows && soft.chunk[row + step] <= i / kChunk ? step : 0;
    const Span span = soft.span[row];
    const int at = span.begin + i - soft.chunk[row] * kChunk;
    const int x = at < span.first ? at : at + span.last - span.first, y = top + row;
    if (x >= span.end)
      continue;

    SamplePixel<Sample, C> source;
    source.load(plane, x, y);
    const int coverage = sample_coverage(frame, shape, plane, x, y);
    if (coverage == 0 || is_lost(frame, boxes, own, shape, plane, x, y, coverage, soft))
      continue;
    const int block = quotient((y << plane.shift_y) - unit.y, per_height) * unit.blocks +
                      unit_block(unit, plane, x);
    write_mixed<Sample, C>(frame.job, frame.alpha, plane, x, y, source,
                           (const Sample *)&sums[block * C], coverage);
  }
}

/* Samples of a row that are covered throughout, but may belong to other regions. */
template <int C, typename Sample>
__device__ inline void write_contested(const FusedFrame &frame, const Box *boxes, int own,
                                       const SoftShape &shape, const Unit &unit, const Plane &plane,
                                       int y, const Span &span, const uint32_t *colours,
                                       const SoftUnit &soft)
{
#pragma unroll 1
  for (int i = 0; i < soft.claims; i++) {
    const Box reach = claim_at(frame, boxes, plane, soft, i);

    if (y < reach.y0 || y >= reach.y1)
      continue;
#pragma unroll 1
    for (int x = max(span.first, (int)reach.x0) + (int)threadIdx.x % 32;
         x < min(span.last, (int)reach.x1); x += 32) {
      if (!is_claimed(frame, boxes, plane, x, y, soft, i) &&
          !is_lost(frame, boxes, own, shape, plane, x, y, CF_COVERED, soft))
        write_sample<Sample, C>(frame.job, frame.alpha, plane, x, y,
                                (const Sample *)&colours[unit_block(unit, plane, x) * C],
                                CF_COVERED);
    }
  }
}

/* What full_bytes() leaves. */
template <int C, typename Sample>
__device__ inline void write_samples(const FusedFrame &frame, const Box *boxes, int own,
                                     const SoftShape &shape, const Unit &unit, const Plane &plane,
                                     int top, int rows, const uint32_t *sums, const SoftUnit &soft)
{
  const float per_height = reciprocal_of(unit.height);

  write_edges<C, Sample>(frame, boxes, own, shape, unit, plane, top, rows, sums, soft);
  if (soft.claims == 0)
    return;
#pragma unroll 1
  for (int i = (int)threadIdx.x / 32; i < rows; i += (int)blockDim.x / 32) {
    const int row = quotient(((top + i) << plane.shift_y) - unit.y, per_height);

    write_contested<C, Sample>(frame, boxes, own, shape, unit, plane, top + i, soft.span[i],
                               sums + row * unit.blocks * C, soft);
  }
}

} // namespace cf::blockavg
