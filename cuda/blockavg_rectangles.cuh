/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Block average of rectangles: the kernel. A CUDA block takes a unit, of which the host tells it
 * all that can be known before: a launch lasts for a few microseconds, and half of them could pass
 * before the first load.
 *
 * Each thread has an item, which it keeps in registers: sums meet in shared memory, and the same
 * thread writes the colours over the same bytes.
 */
#pragma once

#include "blockavg_tile.cuh"
#include "blockavg_units.cuh"

namespace
{

/* Units and then covers. */
struct RectangleFrame {
  Job job;
  int units;
  int waiting;        /* units from the first on, which write when all of them have read */
  unsigned *arrived;  /* how many units that wait have been measured, by all frames */
  unsigned awaited;   /* by this frame's end */
  const CfUnit *kept; /* in device memory, or NULL */
};

/* Launches with large parameters take longer: 12 KB cost a microsecond, 24 KB three. Toolkits
 * before CUDA 13 still serve drivers that take 4 KB. */
#if defined(CUDART_VERSION) && CUDART_VERSION >= 13000
constexpr int kCarriedBytes = 11 * 1024;
#else
constexpr int kCarriedBytes = 3072;
#endif

struct CarriedUnits {
  uint4 data[kCarriedBytes / 16];
};

static_assert(sizeof(RectangleFrame) + sizeof(CarriedUnits) <=
                  (kCarriedBytes > 3072 ? 32764 : 4096),
              "what a launch can carry");

/* A thread's part of a unit. */
struct Item {
  int row;         /* of blocks, in the unit */
  int offset;      /* byte in a row where its column starts */
  int y, rows;     /* samples; rows <= 0: none */
  int first, last; /* blocks of the unit that the column has bytes of */
};

/* Exact where the product of both is below 2^32. */
__device__ inline int quotient(int a, uint32_t reciprocal)
{
  return reciprocal ? (int)__umulhi((unsigned)a, reciprocal) : a;
}

__device__ inline int unit_left(const CfUnit &unit, const Plane &plane, int block)
{
  return block_start(block, unit.width, unit.x, plane.shift_x, plane.width);
}

__device__ inline int unit_top(const CfUnit &unit, const Plane &plane, int row)
{
  return block_start(row, unit.height, unit.y, plane.shift_y, plane.height);
}

__device__ inline int unit_block(const CfUnit &unit, const Plane &plane, int x)
{
  return quotient((x << plane.shift_x) - unit.x, unit.per_width);
}

template <int PixelBytes, int kRows>
__device__ inline Item locate_item(const CfUnit &unit, const Plane &plane, int x0, int x1,
                                   int index)
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
  item.first = unit_block(unit, plane, max(x, x0));
  item.last = unit_block(unit, plane, min(x + kColumnBytes / PixelBytes, x1) - 1);
  return item;
}

template <int PixelBytes, int kRows>
__device__ inline void load_item(const Plane &plane, const Item &item, uint4 (&v)[kRows])
{
  const int stride = (int)plane.source_stride;
  const uint8_t *source = plane.source + (ptrdiff_t)item.y * stride + item.offset;
  const int available = plane.width * PixelBytes - item.offset;

  if (__builtin_expect(available >= kColumnBytes, true)) {
#pragma unroll
    for (int i = 0; i < kRows; i++) {
      if (i < item.rows)
        v[i] = __ldcs((const uint4 *)(source + i * stride));
    }
  } else {
#pragma unroll 1
    for (int i = 0; i < item.rows; i++) {
      const uint4 some = load_bytes(source + i * stride, available);
#pragma unroll
      for (int k = 0; k < kRows; k++)
        v[k] = k == i ? some : v[k];
    }
  }
}

/* Ones in the bytes from `first` on. */
__device__ inline uint4 bytes_from(int first)
{
  const int bit = 8 * first;

  return make_uint4(
      __funnelshift_lc(0, ~0u, max(bit, 0)), __funnelshift_lc(0, ~0u, max(bit - 32, 0)),
      __funnelshift_lc(0, ~0u, max(bit - 64, 0)), __funnelshift_lc(0, ~0u, max(bit - 96, 0)));
}

/* The bytes of a column that belong to one block. */
template <int PixelBytes>
__device__ inline uint4 bytes_of_block(const CfUnit &unit, const Plane &plane, const Item &item,
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
__device__ inline void add_item(const Job &job, const CfUnit &unit, const Plane &plane,
                                const Item &item, const uint4 (&v)[kRows], uint32_t *sums)
{
  const uint4 neutral = make_uint4(Sums::kNeutral, Sums::kNeutral, Sums::kNeutral, Sums::kNeutral);

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
        part.add(select_bits(mask, v[i], neutral), job);
    }
    part.store(total, 1);
#pragma unroll
    for (int k = 0; k < C; k++) {
      if (Sums::kNeutral)
        atomicMin(shared + k, total[k]);
      else
        atomicAdd(shared + k, total[k]);
    }
  }
}

template <int PixelBytes> __device__ inline uint32_t spread(uint32_t colour)
{
  return PixelBytes == 4 ? colour : colour * (PixelBytes == 2 ? 0x00010001u : 0x01010101u);
}

/* What an item's rows become, all alike. */
template <int C, int PixelBytes>
__device__ inline uint4 colours_of_item(const CfUnit &unit, const Plane &plane, const Item &item,
                                        const uint32_t *sums)
{
  uint4 line = make_uint4(0, 0, 0, 0);

#pragma unroll 1
  for (int block = item.first; block <= item.last; block++) {
    const uint32_t w = spread<PixelBytes>(sums[(item.row * unit.blocks + block) * C]);
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

/* The bytes first..end - 1 of a column that reach one of its ends, in powers of two: these lie on
 * multiples of their sizes. */
template <int kRows>
__device__ inline void write_end(uint8_t *destination, ptrdiff_t stride, int begin, int end,
                                 const uint4 &line, int first, int count)
{
  const bool right = first > 0;

  if (count & 8) {
    const int at = right ? 8 : 0;
    write_rows<kRows>(destination + at, stride, begin, end,
                      right ? make_uint2(line.z, line.w) : make_uint2(line.x, line.y));
  }
  if (count & 4) {
    const int at = right ? 16 - (count & 12) : count & 8;
    write_rows<kRows>(destination + at, stride, begin, end, word_at(line, at));
  }
  if (count & 2) {
    const int at = right ? 16 - (count & 14) : count & 12;
    write_rows<kRows>(destination + at, stride, begin, end, (uint16_t)word_at(line, at));
  }
  if (count & 1) {
    const int at = right ? 16 - count : count & 14;
    write_rows<kRows>(destination + at, stride, begin, end, (uint8_t)word_at(line, at));
  }
}

template <int PixelBytes, int kRows>
__device__ inline void write_item(const Plane &plane, const CfCover &cover, const Item &item,
                                  const uint4 &line, int x0, int x1)
{
  const int left = max(x0, (int)cover.x0), right = min(x1, (int)cover.x1);
  const int first = max(left * PixelBytes - item.offset, 0);
  const int last = min(right * PixelBytes - item.offset, kColumnBytes);
  const int begin = max(cover.y0 - item.y, 0);
  const int end = min(cover.y1 - item.y, item.rows);
  const int stride = (int)plane.destination_stride;
  uint8_t *destination = plane.destination + (ptrdiff_t)item.y * stride + item.offset;

  if (first >= last || begin >= end)
    return;
  if ((first > 0 && last < kColumnBytes)) {
#pragma unroll 1
    for (int i = begin; i < end; i++) {
#pragma unroll 1
      for (int at = first; at < last; at++)
        destination[i * stride + at] = (uint8_t)word_at(line, at);
    }
  } else if (last - first < kColumnBytes) {
    write_end<kRows>(destination, stride, begin, end, line, first, last - first);
  } else {
    write_rows<kRows>(destination, stride, begin, end, line);
  }
}

/* Colours of the unit's blocks, each in place of the first of its sums. */
template <class Sums, int C>
__device__ inline void finish_blocks(const Job &job, const CfUnit &unit, const Plane &plane,
                                     uint32_t *sums)
{
#pragma unroll 1
  for (int i = (int)threadIdx.x; i < unit.blocks * unit.rows; i += (int)blockDim.x) {
    const int row = i / unit.blocks;
    const int block = i - row * unit.blocks;
    const uint32_t pixels =
        (uint32_t)((unit_left(unit, plane, block + 1) - unit_left(unit, plane, block)) *
                   (unit_top(unit, plane, row + 1) - unit_top(unit, plane, row)));
    uint32_t total[C];

#pragma unroll
    for (int k = 0; k < C; k++)
      total[k] = sums[i * C + k];
    if (pixels) /* blocks smaller than a chroma sample may own none */
      sums[i * C] = Sums::template finish<uint32_t>(total, pixels, job);
  }
}

/* All CUDA blocks of the launch are on the GPU at once. */
__device__ inline void wait_for_others(const RectangleFrame &frame)
{
  if (threadIdx.x == 0) {
    volatile unsigned *arrived = frame.arrived;

    __threadfence();
    atomicAdd(frame.arrived, 1);
    while ((int)(*arrived - frame.awaited) < 0)
      ;
    __threadfence();
  }
}

template <template <int, bool> class Kind, int C>
__device__ inline void average_unit(const RectangleFrame &frame, const CfUnit &unit,
                                    const CfCover *covers, uint32_t *sums)
{
  typedef Kind<C, true> Sums;
  constexpr int kPixelBytes = C * Sums::kSampleBytes, kRows = kItemRows<C>;
  const Plane &plane = frame.job.plane[unit.plane];

#pragma unroll 1
  for (int i = (int)threadIdx.x; i < unit.blocks * unit.rows * C; i += (int)blockDim.x)
    sums[i] = Sums::kNeutral;

  const int x0 = unit_left(unit, plane, 0), x1 = unit_left(unit, plane, unit.blocks);
  const Item item = locate_item<kPixelBytes, kRows>(unit, plane, x0, x1, (int)threadIdx.x);
  const bool has = (int)threadIdx.x < unit.columns * unit.groups * unit.rows;
  uint4 v[kRows];

  if (has)
    load_item<kPixelBytes, kRows>(plane, item, v);
  __syncthreads();
  if (has) {
#pragma unroll
    for (int k = 0; k < kRows; k++)
      v[k] = Sums::prepare(v[k], frame.job);
    add_item<Sums, C, kPixelBytes, kRows>(frame.job, unit, plane, item, v, sums);
  }
  __syncthreads();
  finish_blocks<Sums, C>(frame.job, unit, plane, sums);
  if ((int)blockIdx.x < frame.waiting)
    wait_for_others(frame);
  __syncthreads();
  if (has) {
    const uint4 line = colours_of_item<C, kPixelBytes>(unit, plane, item, sums);

#pragma unroll 1
    for (int k = 0; k < unit.covers; k++)
      write_item<kPixelBytes, kRows>(plane, covers[k], item, line, x0, x1);
  }
}

/* Channels = 1 as in average_blocks. */
template <template <int, bool> class Kind, int Channels>
__device__ inline void average_unit_of(const RectangleFrame &frame, const CfUnit *units)
{
  __shared__ uint32_t sums[kUnitBlocks * (Channels > 1 ? Channels : 2)];
  const CfUnit unit = units[blockIdx.x];
  const CfCover *covers = (const CfCover *)(units + frame.units) + unit.first_cover;

  if constexpr (Channels > 1) {
    average_unit<Kind, Channels>(frame, unit, covers, sums);
  } else {
    if (frame.job.plane[unit.plane].channels == 2)
      average_unit<Kind, 2>(frame, unit, covers, sums);
    else
      average_unit<Kind, 1>(frame, unit, covers, sums);
  }
}

template <template <int, bool> class Kind, int Channels>
__global__ void __launch_bounds__(kMostItems)
    average_kept(const __grid_constant__ RectangleFrame frame)
{
  average_unit_of<Kind, Channels>(frame, frame.kept);
}

template <template <int, bool> class Kind, int Channels>
__global__ void __launch_bounds__(kMostItems)
    average_carried(const __grid_constant__ RectangleFrame frame,
                    const __grid_constant__ CarriedUnits units)
{
  average_unit_of<Kind, Channels>(frame, (const CfUnit *)units.data);
}

} // namespace
