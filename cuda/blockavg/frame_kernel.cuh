/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Block average of whole frames: the kernel. A CTA sums the columns of a tile, groups of lanes add
 * up each block, and the colours are written over the tile.
 */
#pragma once

#include "cuda/blockavg/reduce.cuh"
#include "cuda/common/int_math.cuh"
#include "cuda/common/launch.cuh"

namespace cf::blockavg
{

/* Some whole blocks side by side: those of a CTA. A column is 16 aligned bytes of a row. */
struct Tile {
  int x0, x1, y0, y1; /* pixels */
  int block0, blocks;
  int column0, columns; /* columns that hold the pixels, the outer ones perhaps in part */
  int row_bytes;        /* of the plane */
  int stride;           /* sums_stride() */
};

/* Words from one sum of a column to its next one, padded against bank conflicts. */
__host__ __device__ inline int sums_stride(int columns)
{
  return round_up(columns, 32) + 4;
}

/* The part of a tile that a thread processes: every Plane.columns-th column and every `step`-th
 * row. */
struct ThreadColumns {
  int column, row; /* the first ones; column is kNoColumn for threads without work */
  int step;        /* rows */
};

constexpr int kNoColumn = 1 << 24;

__device__ inline ThreadColumns columns_of_thread(const Plane &plane)
{
  ThreadColumns own;

  own.step = kThreads / plane.columns;
  own.row = (int)threadIdx.x / plane.columns;
  own.column = own.row < own.step ? (int)threadIdx.x - own.row * plane.columns : kNoColumn;
  return own;
}

template <int PixelBytes> __device__ inline Tile locate_tile(const Plane &plane, int index)
{
  Tile tile;
  const int row = index / plane.tiles_x, across = index - row * plane.tiles_x;
  const int block1 = min((across + 1) * plane.tile_blocks, plane.blocks_x);

  tile.block0 = across * plane.tile_blocks;
  tile.blocks = block1 - tile.block0;
  tile.x0 = block_left(plane, tile.block0);
  tile.x1 = block_left(plane, block1);
  tile.y0 = block_top(plane, row);
  tile.y1 = block_top(plane, row + 1);
  tile.column0 = (int)((size_t)tile.x0 * PixelBytes / kColumnBytes);
  tile.columns =
      (int)(((size_t)tile.x1 * PixelBytes + kColumnBytes - 1) / kColumnBytes) - tile.column0;
  tile.row_bytes = plane.width * PixelBytes;
  tile.stride = sums_stride(tile.columns);
  return tile;
}

/* Loads a column at a row's end: `available` bytes belong to the picture, the others become 0. */
__device__ inline uint4 load_end(const uint8_t *bytes, int available)
{
  uint32_t w[4] = {};

#pragma unroll
  for (int i = 0; i < kColumnBytes; i++)
    w[i / 4] |= i < available ? (uint32_t)bytes[i] << 8 * (i % 4) : 0;
  return make_uint4(w[0], w[1], w[2], w[3]);
}

/* Adds every `step`-th row of a column, from row `down` on. While kLoads rows are left, the loads
 * are unconditional, so that all of them are in flight at once. */
template <class Sums, bool Aligned>
__device__ inline void add_column(const Job &job, const Plane &plane, const Tile &tile, int column,
                                  int down, int step, Sums *sums)
{
  constexpr int kLoads = kInFlight<Aligned>;
  const int rows = tile.y1 - tile.y0;
  const ptrdiff_t stride = plane.source_stride;
  const int offset = (tile.column0 + column) * kColumnBytes, available = tile.row_bytes - offset;
  const uint8_t *source = plane.source + tile.y0 * stride + offset;

  if (available >= kColumnBytes) {
    for (int row = down; row < rows; row += step * kLoads) {
      uint4 v[kLoads];

      if (Aligned && row + (kLoads - 1) * step < rows) {
        const uint8_t *bytes = source + row * stride;
#pragma unroll
        for (int i = 0; i < kLoads; i++, bytes += step * stride)
          v[i] = sums->prepare(__ldcs((const uint4 *)bytes), job);
      } else {
#pragma unroll
        for (int i = 0; i < kLoads; i++) {
          const int y = row + i * step;
          v[i] = y < rows ? sums->prepare(__ldcs((const uint4 *)(source + y * stride)), job)
                          : make_uint4(0, 0, 0, 0);
        }
      }
#pragma unroll
      for (int i = 0; i < kLoads; i++)
        sums->add(v[i], job);
    }
  } else {
    for (int row = down; row < rows; row += step)
      sums->add(sums->prepare(load_end(source + row * stride, available), job), job);
  }
}

/* Stores the sums of all columns to shared memory. Returns Sums::common() of the thread's columns.
 */
template <class Sums, bool Aligned>
__device__ inline uint32_t sum_columns(const Job &job, const Plane &plane, const Tile &tile,
                                       uint32_t *shared)
{
  const ThreadColumns own = columns_of_thread(plane);
  uint32_t common = ~0u;

  for (int base = 0; base < tile.columns; base += plane.columns) {
    const int column = base + own.column;
    Sums sums;

    sums.clear();
    if (column < tile.columns)
      add_column<Sums, Aligned>(job, plane, tile, column, own.row, own.step, &sums);
    common &= sums.common();
    if (column < tile.columns)
      sums.store(shared + (size_t)own.row * Sums::kWords * tile.stride + column, tile.stride);
  }
  return common;
}

/* Adds up one block from the sums of columns, by `lanes` lanes. With `Folded` each column lies in
 * one block, and has one sum for each channel. */
template <class Sums, int C, bool Folded>
__device__ inline void sum_block(const Plane &plane, const Tile &tile, const uint32_t *shared,
                                 int block, int lane, int lanes, uint32_t (&total)[C])
{
  constexpr int kPixelBytes = C * Sums::kSampleBytes;
  constexpr int kSamples = kColumnBytes / Sums::kSampleBytes;
  const int parts = kThreads / plane.columns;
  const int x0 = max(block_left(plane, block), tile.x0);
  const int x1 = min(block_left(plane, block + 1), tile.x1);

  if constexpr (Folded) {
    const int first = x0 * kPixelBytes / kColumnBytes - tile.column0;
    const int end = (x1 * kPixelBytes + kColumnBytes - 1) / kColumnBytes - tile.column0;

    for (int part = 0; part < parts; part++) {
      for (int column = first + lane; column < end; column += lanes) {
#pragma unroll
        for (int k = 0; k < C; k++)
          total[k] += shared[(part * C + k) * tile.stride + column];
      }
    }
  } else {
    for (int part = 0; part < parts; part++) {
      const uint32_t *sums = shared + (size_t)part * Sums::kWords * tile.stride;

#pragma unroll 4
      for (int x = x0 + lane; x < x1; x += lanes) {
        const unsigned sample = (unsigned)(x * C - tile.column0 * kSamples);
#pragma unroll
        for (int k = 0; k < C; k++)
          total[k] += Sums::load(sums + (sample + k) / kSamples, tile.stride,
                                 (int)((sample + k) % kSamples));
      }
    }
  }
}

/* Makes the colours of the tile's blocks from the sums of columns. */
template <class Sums, int C, bool Folded>
__device__ inline void sum_blocks(const Job &job, const Plane &plane, const Tile &tile,
                                  const uint32_t *shared, uint32_t *colours)
{
  int lanes = 32;
  while (lanes > 1 && kThreads / lanes < tile.blocks)
    lanes >>= 1;

  const int groups = kThreads / lanes, lane = threadIdx.x & (lanes - 1);
#pragma unroll 1
  for (int first = 0; first < tile.blocks; first += groups) {
    const int index = first + threadIdx.x / lanes, block = tile.block0 + index;
    uint32_t total[C] = {};

    if (index < tile.blocks)
      sum_block<Sums, C, Folded>(plane, tile, shared, block, lane, lanes, total);
    for (int distance = lanes / 2; distance; distance >>= 1) {
#pragma unroll
      for (int k = 0; k < C; k++)
        total[k] += __shfl_xor_sync(~0u, total[k], distance);
    }
    if (index >= tile.blocks || lane)
      continue;

    const uint32_t area = (uint32_t)(block_left(plane, block + 1) - block_left(plane, block)) *
                          (uint32_t)(tile.y1 - tile.y0);
    if (area) /* blocks smaller than a chroma sample may own none */
      colours[index] = Sums::finish(total, area, job);
  }
}

/* ---- writing the colours ---- */

/* Where blocks start and end on columns. */
template <int PixelBytes>
__device__ inline void fill_aligned(const Plane &plane, const Tile &tile, const uint32_t *colours)
{
  const ThreadColumns own = columns_of_thread(plane);
  const int down = own.row, step = own.step, rows = tile.y1 - tile.y0;
  const ptrdiff_t stride = plane.destination_stride;

  for (int column = own.column; column < tile.columns; column += plane.columns) {
    const int offset = (tile.column0 + column) * kColumnBytes;
    const uint32_t colour = colours[block_at(plane, offset / PixelBytes) - tile.block0];
    const uint32_t w = PixelBytes == 4   ? colour
                       : PixelBytes == 2 ? colour * 0x00010001u
                                         : colour * 0x01010101u;
    uint8_t *destination = plane.destination + tile.y0 * stride + offset;

    if (offset + kColumnBytes <= tile.row_bytes) {
#pragma unroll 8
      for (int row = down; row < rows; row += step)
        __stcs((uint4 *)(destination + row * stride), make_uint4(w, w, w, w));
    } else {
      for (int row = down; row < rows; row += step) {
        for (int i = 0; i < tile.row_bytes - offset; i++)
          destination[row * stride + i] = (uint8_t)(w >> 8 * (i & 3));
      }
    }
  }
}

/* Makes one row of the tile's colours in shared memory, from the first byte of column0 on. */
template <int PixelBytes>
__device__ inline void make_line(const Plane &plane, const Tile &tile, const uint32_t *colours,
                                 uint8_t *line)
{
  const int pixels = (tile.x1 - tile.x0 + kThreads - 1) / kThreads; /* per thread */
  const int first = tile.x0 + (int)threadIdx.x * pixels, end = min(first + pixels, tile.x1);

  if (first >= end)
    return;
  int block = block_at(plane, first);
  int next = block_left(plane, block + 1);
  for (int x = first; x < end; x++) {
    while (x >= next)
      next = block_left(plane, ++block + 1);
    const uint32_t colour = colours[block - tile.block0];
    uint8_t *pixel = line + (x * PixelBytes - tile.column0 * kColumnBytes);
    if (PixelBytes == 4) {
      *(uint32_t *)pixel = colour;
    } else if (PixelBytes == 2) {
      *(uint16_t *)pixel = (uint16_t)colour;
    } else {
#pragma unroll
      for (int i = 0; i < PixelBytes; i++)
        pixel[i] = (uint8_t)(colour >> 8 * i);
    }
  }
}

/* 16 bytes of the line, at any offset. */
__device__ inline uint4 read_line(const uint8_t *line, int offset)
{
  const uint32_t *words = (const uint32_t *)line + (offset >> 2);
  const unsigned bits = 8 * (offset & 3);
  const uint32_t w0 = words[0], w1 = words[1], w2 = words[2], w3 = words[3], w4 = words[4];

  return make_uint4(__funnelshift_r(w0, w1, bits), __funnelshift_r(w1, w2, bits),
                    __funnelshift_r(w2, w3, bits), __funnelshift_r(w3, w4, bits));
}

/* Writes bytes first .. end - 1, of four, to every `step`-th row. */
__device__ inline void fill_word(uint8_t *destination, ptrdiff_t stride, const uint8_t *line,
                                 int first, int end, int row, int rows, int step)
{
  if (first <= 0 && end >= 4) {
    const uint32_t colour = line[0] | line[1] << 8 | line[2] << 16 | (uint32_t)line[3] << 24;

#pragma unroll 2
    for (; row < rows; row += step)
      *(uint32_t *)(destination + row * stride) = colour;
  } else {
#pragma unroll 1
    for (; row < rows; row += step) {
#pragma unroll 1
      for (int i = max(first, 0); i < min(end, 4); i++)
        destination[row * stride + i] = line[i];
    }
  }
}

/* Writes 16 bytes of the line from `at` on, as far as they lie in begin .. end - 1, to every
 * `step`-th row. */
__device__ inline void fill_piece(const Plane &plane, const Tile &tile, const uint8_t *line, int at,
                                  int begin, int end, int row, int step)
{
  const int rows = tile.y1 - tile.y0;
  const ptrdiff_t stride = plane.destination_stride;
  uint8_t *destination =
      plane.destination + tile.y0 * stride + (ptrdiff_t)tile.column0 * kColumnBytes + at;

  if (at >= begin && at + kColumnBytes <= end) {
    const uint4 piece = read_line(line, at);
#pragma unroll 4
    for (; row < rows; row += step)
      __stcs((uint4 *)(destination + row * stride), piece);
  } else {
#pragma unroll 1
    for (int offset = 0; offset < kColumnBytes; offset += 4)
      fill_word(destination + offset, stride, line + at + offset, begin - at - offset,
                end - at - offset, row, rows, step);
  }
}

/* Writes the line to all rows of the tile. */
template <int PixelBytes>
__device__ inline void fill_from_line(const Plane &plane, const Tile &tile, const uint8_t *line)
{
  const ThreadColumns own = columns_of_thread(plane);
  const int begin = tile.x0 * PixelBytes - tile.column0 * kColumnBytes;
  const int end = tile.x1 * PixelBytes - tile.column0 * kColumnBytes;

  for (int at = own.column * kColumnBytes; at < end; at += plane.columns * kColumnBytes)
    fill_piece(plane, tile, line, at, begin, end, own.row, own.step);
}

template <class Sums, int C, bool Folded, bool Aligned>
__device__ inline void colour_tile(const Job &job, const Plane &plane, const Tile &tile,
                                   uint32_t *shared, uint32_t *colours)
{
  sum_columns<Sums, Aligned>(job, plane, tile, shared);
  __syncthreads();
  sum_blocks<Sums, C, Folded>(job, plane, tile, shared, colours);
}

/* For tiles of opaque pixels: by plain sums, with half the memory and time. False if a pixel has
 * alpha below 255. */
__device__ inline bool colour_opaque_tile(const Job &job, const Plane &plane, const Tile &tile,
                                          uint32_t *shared, uint32_t *colours)
{
  const uint32_t common = sum_columns<MeanOpaque, false>(job, plane, tile, shared);

  if (!__syncthreads_and((job.alpha ? common >> 24 : common & 0xff) == 0xff))
    return false;
  sum_blocks<MeanOpaque, 4, false>(job, plane, tile, shared, colours);
  return true;
}

/* Makes the colours of the tile's blocks. */
template <template <int, bool> class Kind, int C, bool Aligned>
__device__ inline void make_colours(const Job &job, const Plane &plane, const Tile &tile,
                                    uint32_t *shared, uint32_t *colours)
{
  if (Aligned && (C == 4 || plane.aligned)) {
    colour_tile<Kind<C, true>, C, true, Aligned>(job, plane, tile, shared, colours);
  } else if (Aligned || !Kind<C, false>::kWeighted ||
             !colour_opaque_tile(job, plane, tile, shared, colours)) {
    colour_tile<Kind<C, false>, C, false, Aligned>(job, plane, tile, shared, colours);
  }
}

template <template <int, bool> class Kind, int C, bool Aligned>
__device__ inline void average_tile(const Job &job, const Plane &plane, int index, uint32_t *shared,
                                    uint32_t *colours)
{
  constexpr int kPixelBytes = C * Kind<C, false>::kSampleBytes;
  const Tile tile = locate_tile<kPixelBytes>(plane, index);

  if (tile.y1 <= tile.y0 || tile.x1 <= tile.x0)
    return;

  make_colours<Kind, C, Aligned>(job, plane, tile, shared, colours);
  __syncthreads();
  if (Aligned && plane.aligned) {
    fill_aligned<kPixelBytes>(plane, tile, colours);
  } else {
    make_line<kPixelBytes>(plane, tile, colours, (uint8_t *)shared);
    __syncthreads();
    fill_from_line<kPixelBytes>(plane, tile, (const uint8_t *)shared);
  }
}

/* Channels = 1 is for planes of one and of two channels, as 4:2:0 formats mix them. `Aligned` is
 * for pictures with Plane.aligned in the first plane; chroma may not be aligned. */
template <template <int, bool> class Kind, int Channels, bool Aligned>
__global__ void __launch_bounds__(kThreads, kResident)
    average_blocks(const __grid_constant__ Job job)
{
  extern __shared__ __align__(16) uint32_t shared[];
  __shared__ uint32_t colours[kTileBlocks];
  int index;
  const Plane &plane = plane_of_cta(job, &Plane::first_tile, &index);

  if constexpr (Channels > 1) {
    average_tile<Kind, Channels, Aligned>(job, plane, index, shared, colours);
  } else {
    if (plane.channels == 2)
      average_tile<Kind, 2, Aligned>(job, plane, index, shared, colours);
    else
      average_tile<Kind, 1, Aligned>(job, plane, index, shared, colours);
  }
}

} // namespace cf::blockavg
