/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Block average of regions: the unit of a CTA, and the item of each of its threads. A thread keeps
 * the bytes of its item in registers, adds them to the sums of the unit's blocks in shared memory,
 * and later writes the colours over the same bytes.
 */
#pragma once

#include "cuda/blockavg/frame_kernel.cuh"
#include "cuda/blockavg/regions_plan.h"

extern "C" {
#include "plan/coverage_rule.h"
}

namespace cf::blockavg
{

/* The kernel's parameter, beside the inline BoxList. */
struct FusedFrame : UnitPlan {
  Job job;
  CfCoverageRule coverage;
  const BoxList<kMostRegions> *list; /* in device memory; NULL while regions are few */
};

/* The list of regions, where the kernel has it. */
struct Boxes {
  const BoxList<kInlineRegions> &parameter;
  const BoxList<kMostRegions> *memory; /* NULL: the list is `parameter` */

  __device__ Box operator[](int i) const
  {
    return memory ? memory->box[i] : parameter.box[i];
  }

  __device__ int start(int i) const
  {
    return memory ? memory->start[i] : parameter.start[i];
  }
};

/* Some whole blocks of a footprint in one plane; the same for all threads. */
struct Unit {
  int x, y;                                 /* start of the first block, in luma pixels */
  int width, height;                        /* of a block, in luma pixels */
  int blocks, rows;                         /* blocks side by side, and rows of these */
  int x0, x1;                               /* columns of samples */
  int column0, columns;                     /* columns of 16 bytes */
  int groups;                               /* items along a column in a row of blocks */
  float per_width, per_columns, per_groups; /* reciprocals of width, columns, groups */
};

/* A thread's part of a unit. */
struct Item {
  int row;         /* row of blocks in the unit */
  int offset;      /* of its column, in bytes of a row of the plane */
  int y, rows;     /* rows of samples; rows <= 0: none */
  int first, last; /* blocks of the unit that overlap the column */
};

/* a / divisor rounded down, for a >= 0. Exact if the quotient times the divisor is below 2^20;
 * `reciprocal` may be off by some units in the last place. */
__device__ inline int quotient(int a, float reciprocal)
{
  return (int)(((float)a + 0.5f) * reciprocal);
}

__device__ inline float reciprocal_of(int divisor)
{
  return __fdividef(1.0f, (float)divisor);
}

__device__ inline int unit_left(const Unit &unit, const Plane &plane, int block)
{
  return block_start(block, unit.width, unit.x, plane.shift_x, plane.width);
}

__device__ inline int unit_top(const Unit &unit, const Plane &plane, int row)
{
  return block_start(row, unit.height, unit.y, plane.shift_y, plane.height);
}

__device__ inline int unit_block(const Unit &unit, const Plane &plane, int x)
{
  return quotient((x << plane.shift_x) - unit.x, unit.per_width);
}

/* The shape of a footprint's units in a plane. `level` is 0 for plane 0, else 1. */
template <int C, int PixelBytes>
__device__ inline UnitShape cut_in_plane(const FusedFrame &frame, const Footprint &footprint,
                                         const Plane &plane, int level)
{
  return frame.rule.width > 0
             ? frame.cut[level]
             : unit_shape_of(&footprint, frame.unit_items,
                             item_rows_of(footprint.height, plane.shift_y, C), PixelBytes,
                             plane.shift_x,
                             is_column_aligned(&footprint, PixelBytes, plane.shift_x));
}

/* Unit `index` of a footprint; its `rows` is 0 or less if the footprint has fewer units. */
template <int C, int PixelBytes>
__device__ inline Unit locate_unit(const Footprint &footprint, const UnitShape &cut,
                                   const Plane &plane, int index)
{
  constexpr int kPixels = kColumnBytes / PixelBytes;
  Unit unit;
  const int parts = units_across(&footprint, &cut);
  const int row = parts == 1 ? index : quotient(index, reciprocal_of(parts));
  const int first_column = (index - row * parts) * cut.across, first_row = row * cut.down;

  unit.width = footprint.width;
  unit.height = footprint.height;
  unit.x = footprint.x + first_column * unit.width;
  unit.y = footprint.y + first_row * unit.height;
  unit.blocks = min(cut.across, footprint.columns - first_column);
  unit.rows = min(cut.down, footprint.rows - first_row);
  unit.x0 = unit_left(unit, plane, 0);
  unit.x1 = unit_left(unit, plane, unit.blocks);
  unit.column0 = unit.x0 / kPixels;
  unit.columns = (unit.x1 + kPixels - 1) / kPixels - unit.column0;
  unit.groups = item_rows_of(unit.height, plane.shift_y, C);
  unit.per_width = reciprocal_of(unit.width);
  unit.per_columns = reciprocal_of(unit.columns);
  unit.per_groups = reciprocal_of(unit.groups);
  return unit;
}

template <int PixelBytes, int kRows>
__device__ inline Item locate_item(const Unit &unit, const Plane &plane, int index)
{
  Item item;
  const int down = quotient(index, unit.per_columns);
  const int column = index - down * unit.columns;

  item.row = quotient(down, unit.per_groups);
  const int top = unit_top(unit, plane, item.row);
  const int bottom = unit_top(unit, plane, item.row + 1);
  item.y = top + (down - item.row * unit.groups) * kRows;
  item.rows = min(bottom - item.y, kRows);
  item.offset = (unit.column0 + column) * kColumnBytes;
  const int x = item.offset / PixelBytes;
  item.first = unit_block(unit, plane, max(x, unit.x0));
  item.last = unit_block(unit, plane, min(x + kColumnBytes / PixelBytes, unit.x1) - 1);
  return item;
}

template <int PixelBytes, int kRows>
__device__ inline void load_item(const Plane &plane, const Item &item, uint4 (&v)[kRows])
{
  const int stride = (int)plane.source_stride, available = plane.width * PixelBytes - item.offset;
  const uint8_t *source = plane.source + (ptrdiff_t)item.y * stride + item.offset;

  if (__builtin_expect(available >= kColumnBytes, true)) {
#pragma unroll
    for (int i = 0; i < kRows; i++) {
      if (i < item.rows)
        v[i] = __ldcs((const uint4 *)(source + i * stride));
    }
  } else {
#pragma unroll 1
    for (int i = 0; i < item.rows; i++) {
      const uint4 bytes = load_end(source + i * stride, available);
#pragma unroll
      for (int k = 0; k < kRows; k++)
        v[k] = k == i ? bytes : v[k];
    }
  }
}

/* A mask of 16 bytes: 0xff from byte `first` on. */
__device__ inline uint4 bytes_from(int first)
{
  const int bit = 8 * first;

  return make_uint4(
      __funnelshift_lc(0, ~0u, max(bit, 0)), __funnelshift_lc(0, ~0u, max(bit - 32, 0)),
      __funnelshift_lc(0, ~0u, max(bit - 64, 0)), __funnelshift_lc(0, ~0u, max(bit - 96, 0)));
}

/* A mask of the bytes of an item's column that belong to one block. */
template <int PixelBytes>
__device__ inline uint4 bytes_of_block(const Unit &unit, const Plane &plane, const Item &item,
                                       int block)
{
  const uint4 from = bytes_from(unit_left(unit, plane, block) * PixelBytes - item.offset);
  const uint4 behind = bytes_from(unit_left(unit, plane, block + 1) * PixelBytes - item.offset);

  return make_uint4(from.x & ~behind.x, from.y & ~behind.y, from.z & ~behind.z, from.w & ~behind.w);
}

__device__ inline uint32_t select_bits(uint32_t mask, uint32_t a, uint32_t b)
{
  return (a & mask) | (b & ~mask);
}

__device__ inline uint4 select_bits(const uint4 &mask, const uint4 &a, const uint4 &b)
{
  return make_uint4(select_bits(mask.x, a.x, b.x), select_bits(mask.y, a.y, b.y),
                    select_bits(mask.z, a.z, b.z), select_bits(mask.w, a.w, b.w));
}

/* Adds the item's part of each of its blocks to the sums of the unit. */
template <class Sums, int C, int PixelBytes, int kRows>
__device__ inline void add_item(const Job &job, const Unit &unit, const Plane &plane,
                                const Item &item, const uint4 (&v)[kRows], uint32_t *sums)
{
#pragma unroll 1
  for (int block = item.first; block <= item.last; block++) {
    const uint4 mask = bytes_of_block<PixelBytes>(unit, plane, item, block);
    uint32_t *shared = sums + (item.row * unit.blocks + block) * C;
    uint32_t total[C];
    Sums part;

    part.clear();
#pragma unroll
    for (int i = 0; i < kRows; i++) {
      if (i < item.rows)
        part.add(make_uint4(v[i].x & mask.x, v[i].y & mask.y, v[i].z & mask.z, v[i].w & mask.w),
                 job);
    }
    part.store(total, 1);
#pragma unroll
    for (int k = 0; k < C; k++) {
      if (Sums::kLargest)
        atomicMax(shared + k, total[k]);
      else
        atomicAdd(shared + k, total[k]);
    }
  }
}

/* A word of copies of a pixel. */
template <int PixelBytes> __device__ inline uint32_t repeat(uint32_t colour)
{
  return PixelBytes == 4 ? colour : colour * (PixelBytes == 2 ? 0x00010001u : 0x01010101u);
}

/* The 16 bytes that are written to every row of an item. */
template <int C, int PixelBytes>
__device__ inline uint4 colours_of_item(const Unit &unit, const Plane &plane, const Item &item,
                                        const uint32_t *sums)
{
  uint4 line = make_uint4(0, 0, 0, 0);

#pragma unroll 1
  for (int block = item.first; block <= item.last; block++) {
    const uint32_t w = repeat<PixelBytes>(sums[(item.row * unit.blocks + block) * C]);
    line = select_bits(bytes_of_block<PixelBytes>(unit, plane, item, block), make_uint4(w, w, w, w),
                       line);
  }
  return line;
}

__device__ inline uint32_t word_at(const uint4 &line, int byte)
{
  const uint32_t low = byte & 4 ? line.y : line.x, high = byte & 4 ? line.w : line.z;

  return (byte & 8 ? high : low) >> 8 * (byte & 3);
}

template <int kRows, typename Piece>
__device__ inline void write_rows(uint8_t *destination, ptrdiff_t stride, int begin, int end,
                                  Piece piece)
{
#pragma unroll
  for (int i = 0; i < kRows; i++) {
    if (i >= begin && i < end)
      *(Piece *)(destination + i * stride) = piece;
  }
}

/* Writes those bytes of rows begin .. end - 1 whose bit is set, by aligned stores of 16, 8, 4, 2
 * and 1 bytes. */
template <int kRows>
__device__ inline void write_pieces(uint8_t *destination, ptrdiff_t stride, int begin, int end,
                                    const uint4 &line, unsigned bits)
{
  if (bits == 0xffff) {
    write_rows<kRows>(destination, stride, begin, end, line);
    return;
  }
#pragma unroll 1
  while (bits) {
    const int at = __ffs((int)bits) - 1;
    const unsigned from = bits >> at;

    if (at % 8 == 0 && (from & 0xff) == 0xff) {
      write_rows<kRows>(destination + at, stride, begin, end,
                        at ? make_uint2(line.z, line.w) : make_uint2(line.x, line.y));
      bits &= ~(0xffu << at);
    } else if (at % 4 == 0 && (from & 0xf) == 0xf) {
      write_rows<kRows>(destination + at, stride, begin, end, word_at(line, at));
      bits &= ~(0xfu << at);
    } else if (at % 2 == 0 && (from & 3) == 3) {
      write_rows<kRows>(destination + at, stride, begin, end, (uint16_t)word_at(line, at));
      bits &= ~(3u << at);
    } else {
      write_rows<kRows>(destination + at, stride, begin, end, (uint8_t)word_at(line, at));
      bits &= bits - 1;
    }
  }
}

/* The part of an item in a rectangle of samples: bytes first .. last - 1 of its column, in rows
 * begin .. end - 1. */
struct Extent {
  int first, last, begin, end;

  __device__ bool is_empty() const
  {
    return first >= last || begin >= end;
  }

  /* A bit for each byte of a row; not for an empty extent. */
  __device__ unsigned bits() const
  {
    return 0xffffu >> (kColumnBytes - last) & 0xffffu << first;
  }
};

template <int PixelBytes>
__device__ inline Extent extent_in_item(const Unit &unit, const Item &item, const Box &rect)
{
  const int left = max(unit.x0, (int)rect.x0), right = min(unit.x1, (int)rect.x1);

  return {max(left * PixelBytes - item.offset, 0),
          min(right * PixelBytes - item.offset, kColumnBytes), max(rect.y0 - item.y, 0),
          min(rect.y1 - item.y, item.rows)};
}

__device__ inline uint8_t *destination_of(const Plane &plane, const Item &item)
{
  return plane.destination + item.y * plane.destination_stride + item.offset;
}

template <int kRows>
__device__ inline void write_extent(const Plane &plane, const Item &item, const uint4 &line,
                                    const Extent &extent)
{
  if (!extent.is_empty())
    write_pieces<kRows>(destination_of(plane, item), plane.destination_stride, extent.begin,
                        extent.end, line, extent.bits());
}

/* Makes the colours of the unit's blocks; each replaces the first of its block's sums. */
template <class Sums, int C>
__device__ inline void finish_blocks(const Job &job, const Unit &unit, const Plane &plane,
                                     uint32_t *sums)
{
#pragma unroll 1
  for (int i = (int)threadIdx.x; i < unit.blocks * unit.rows; i += (int)blockDim.x) {
    const int row = quotient(i, reciprocal_of(unit.blocks));
    const int block = i - row * unit.blocks;
    const uint32_t pixels =
        (uint32_t)((unit_left(unit, plane, block + 1) - unit_left(unit, plane, block)) *
                   (unit_top(unit, plane, row + 1) - unit_top(unit, plane, row)));
    uint32_t total[C];

#pragma unroll
    for (int k = 0; k < C; k++)
      total[k] = sums[i * C + k];
    if (pixels) /* blocks smaller than a chroma sample may own none */
      sums[i * C] = job.fills ? plane.fill : Sums::finish(total, pixels, job);
  }
}

/* The samples to which the luma pixels of a box belong. */
__device__ inline Box covered_samples(const Plane &plane, const Box &box)
{
  return {(short)(box.x0 >> plane.shift_x), (short)(box.y0 >> plane.shift_y),
          (short)((box.x1 + (1 << plane.shift_x) - 1) >> plane.shift_x),
          (short)((box.y1 + (1 << plane.shift_y) - 1) >> plane.shift_y)};
}

/* Whether a region's footprint, which is returned, overlaps the blocks of a unit. */
__device__ inline bool overlaps_unit(const FootprintRule &rule, const Box &box, const Unit &unit,
                                     Footprint *footprint)
{
  const int right = unit.x + unit.blocks * unit.width, bottom = unit.y + unit.rows * unit.height;
  const int margin_x = rule.reach + (rule.width > 0 ? rule.width : box.x1 - box.x0);
  const int margin_y = rule.reach + (rule.width > 0 ? rule.height : box.y1 - box.y0);

  if (box.x0 - margin_x > right || box.x1 + margin_x < unit.x || box.y0 - margin_y > bottom ||
      box.y1 + margin_y < unit.y)
    return false;
  *footprint = footprint_of(&rule, &box);
  return footprint->x < right && footprint->x + footprint->columns * footprint->width > unit.x &&
         footprint->y < bottom && footprint->y + footprint->rows * footprint->height > unit.y;
}

} // namespace cf::blockavg
