/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Block average. A tile of whole blocks is read once in 16-byte columns, its column sums meet in
 * shared memory, a few lanes add up each block, and the colours are written over the blocks: one
 * launch for all planes. Blocks too large for a tile take two launches: sums, then the fill.
 *
 * All sums are exact integers. A tile reads only bytes of its own blocks and of columns it shares
 * with a neighbour, whose sums it does not use, so source and destination may be the same.
 */
#include "device.cuh"

#include <stdlib.h>
#include <string.h>

extern "C" {
#include "blockavg.h"
}

namespace
{

constexpr int kThreads = 256;
constexpr int kColumnBytes = 16;
constexpr int kTileBlocks = 2048; /* most blocks side by side in a tile */

/* Measured on an H200: 8 loads in flight a thread and 4 blocks resident on an SM are best. More
 * residents spill registers, fewer leave too little memory traffic under way. */
constexpr int kInFlight = 8;
constexpr int kResident = 4;

/* The packed 16-bit sums of one thread hold this many rows of 255. */
constexpr int kPackedRows = 257;

/* 65536 pixels of 65535, or of 255 * 255, and the half that rounds still fit 32 bits. */
constexpr int kWholeArea = 65536;
constexpr int kWholeRows = 128;         /* taller blocks give too few tiles to fill a GPU */
constexpr int kSharedBytes = 38 * 1024; /* beside the colours; 48 KiB need no permission */

constexpr int kSplitColumns = 64;
constexpr int kSplitRows = 64;

enum Stage {
  kWhole, /* tiles of whole blocks: sums and fill */
  kSums,  /* tiles of fixed size add to the sums in memory */
  kFill,  /* the same tiles take their colours from those sums */
};

struct Plane {
  const uint8_t *source;
  uint8_t *destination;
  ptrdiff_t source_stride, destination_stride;
  unsigned long long *sums; /* [block row][block][channel], kSums and kFill */
  int width, height, channels;
  int block_width, block_height; /* luma pixels */
  int shift_x, shift_y;
  int blocks_x;
  int tile_blocks; /* kWhole: blocks side by side in a tile */
  int tile_pixels; /* else: pixels side by side, whole columns */
  int slices;      /* tiles that share the height of a block */
  int tiles_x, first_tile;
  int columns;  /* handled side by side; a power of two */
  bool aligned; /* every block starts on a column */
  bool vector;  /* source and destination rows start on 16 bytes */
};

struct Job {
  Plane plane[CF_MAX_PLANES];
  int planes;
  Stage stage;
  int shift;      /* of code values in their 16-bit samples */
  uint32_t mask;  /* of a code value, in both halves */
  uint32_t flip;  /* all bits of the codes: the maximum is the complement's minimum */
  int alpha;      /* its channel, 0 or 3 */
  uint32_t empty; /* colour of blocks without any alpha */
};

__host__ __device__ inline int block_start(int block, int size, int shift, int limit)
{
  const unsigned start = ((unsigned)block * (unsigned)size + (1u << shift) - 1) >> shift;

  return start < (unsigned)limit ? (int)start : limit;
}

/* ---- what is computed: sums of one 16-byte column over rows, kept apart for each sample or
 * ---- folded to one sum a channel where the column lies within one block */

__device__ inline uint32_t word(const uint4 &v, int i)
{
  return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w;
}

/* Gathers the bytes of channel `k` of the four pixels in `v`. */
__device__ inline uint32_t gather_channel(const uint4 &v, int k)
{
  const uint32_t pick = (uint32_t)(k | (4 + k) << 4);

  return __byte_perm(__byte_perm(v.x, v.y, pick), __byte_perm(v.z, v.w, pick), 0x5410);
}

template <int C, bool Folded> struct MeanBytes {
  static constexpr int kSampleBytes = 1, kWords = Folded ? C : 8;
  static constexpr uint32_t kNeutral = 0;
  uint32_t sum[kWords];

  __device__ void clear()
  {
#pragma unroll
    for (int i = 0; i < kWords; i++)
      sum[i] = 0;
  }

  __device__ static uint4 prepare(uint4 v, const Job &)
  {
    return v;
  }

  __device__ void add(const uint4 &v, const Job &)
  {
    if constexpr (!Folded) {
#pragma unroll
      for (int i = 0; i < 4; i++) {
        sum[2 * i] += word(v, i) & 0x00ff00ffu;
        sum[2 * i + 1] += word(v, i) >> 8 & 0x00ff00ffu;
      }
    } else if constexpr (C == 4) {
#pragma unroll
      for (int k = 0; k < 4; k++)
        sum[k] = __dp4a(gather_channel(v, k), 0x01010101u, sum[k]);
    } else {
#pragma unroll
      for (int i = 0; i < 4; i++) {
#pragma unroll
        for (int k = 0; k < C; k++)
          sum[k] = __dp4a(word(v, i), C == 1 ? 0x01010101u : 0x00010001u << 8 * k, sum[k]);
      }
    }
  }

  __device__ void store(uint32_t *shared, int stride) const
  {
#pragma unroll
    for (int i = 0; i < kWords; i++)
      shared[i * stride] = sum[i];
  }

  __device__ static uint32_t load(const uint32_t *shared, int stride, int sample)
  {
    const uint32_t pair = shared[((sample >> 2) * 2 + (sample & 1)) * stride];

    return sample & 2 ? pair >> 16 : pair & 0xffff;
  }

  __device__ static uint32_t combine(uint32_t a, uint32_t b)
  {
    return a + b;
  }

  template <typename Sum>
  __device__ static uint32_t finish(const Sum (&total)[C], Sum area, const Job &)
  {
    uint32_t colour = 0;

#pragma unroll
    for (int k = 0; k < C; k++)
      colour |= (uint32_t)((total[k] + area / 2) / area) << 8 * k;
    return colour;
  }
};

template <int C, bool Folded> struct MeanWords {
  static constexpr int kSampleBytes = 2, kWords = Folded ? C : 8;
  static constexpr uint32_t kNeutral = 0;
  uint32_t sum[kWords];

  __device__ void clear()
  {
#pragma unroll
    for (int i = 0; i < kWords; i++)
      sum[i] = 0;
  }

  __device__ static uint4 prepare(uint4 v, const Job &job)
  {
    return make_uint4(v.x >> job.shift & job.mask, v.y >> job.shift & job.mask,
                      v.z >> job.shift & job.mask, v.w >> job.shift & job.mask);
  }

  __device__ void add(const uint4 &v, const Job &)
  {
#pragma unroll
    for (int i = 0; i < 8; i++) {
      const uint32_t w = word(v, i / 2);
      sum[Folded ? i % C : i] += i & 1 ? w >> 16 : w & 0xffff;
    }
  }

  __device__ void store(uint32_t *shared, int stride) const
  {
#pragma unroll
    for (int i = 0; i < kWords; i++)
      shared[i * stride] = sum[i];
  }

  __device__ static uint32_t load(const uint32_t *shared, int stride, int sample)
  {
    return shared[sample * stride];
  }

  __device__ static uint32_t combine(uint32_t a, uint32_t b)
  {
    return a + b;
  }

  template <typename Sum>
  __device__ static uint32_t finish(const Sum (&total)[C], Sum area, const Job &job)
  {
    uint32_t colour = 0;

#pragma unroll
    for (int k = 0; k < C; k++)
      colour |= (uint32_t)((total[k] + area / 2) / area) << job.shift << 16 * k;
    return colour;
  }
};

/* Colours weighted by alpha; four 8-bit channels, alpha first or last. */
template <int C, bool Folded> struct MeanPremultiplied {
  static constexpr int kSampleBytes = 1, kWords = Folded ? 4 : 16;
  static constexpr uint32_t kNeutral = 0;
  uint32_t sum[kWords];

  __device__ void clear()
  {
#pragma unroll
    for (int i = 0; i < kWords; i++)
      sum[i] = 0;
  }

  __device__ static uint4 prepare(uint4 v, const Job &)
  {
    return v;
  }

  __device__ void add(const uint4 &v, const Job &job)
  {
    if constexpr (Folded) {
      const uint32_t alpha = job.alpha ? gather_channel(v, 3) : gather_channel(v, 0);
#pragma unroll
      for (int k = 0; k < 4; k++)
        sum[k] = __dp4a(gather_channel(v, k), k == job.alpha ? 0x01010101u : alpha, sum[k]);
    } else {
#pragma unroll
      for (int i = 0; i < 4; i++) {
        const uint32_t pixel = word(v, i), alpha = job.alpha ? pixel >> 24 : pixel & 0xff;
#pragma unroll
        for (int k = 0; k < 4; k++)
          sum[4 * i + k] += (pixel >> 8 * k & 0xff) * (k == job.alpha ? 1 : alpha);
      }
    }
  }

  __device__ void store(uint32_t *shared, int stride) const
  {
#pragma unroll
    for (int i = 0; i < kWords; i++)
      shared[i * stride] = sum[i];
  }

  __device__ static uint32_t load(const uint32_t *shared, int stride, int sample)
  {
    return shared[sample * stride];
  }

  __device__ static uint32_t combine(uint32_t a, uint32_t b)
  {
    return a + b;
  }

  template <typename Sum>
  __device__ static uint32_t finish(const Sum (&total)[C], Sum area, const Job &job)
  {
    const Sum alpha = job.alpha ? total[C - 1] : total[0];
    uint32_t colour = 0;

    if (alpha == 0)
      return job.empty;
#pragma unroll
    for (int k = 0; k < C; k++) {
      const Sum divisor = k == job.alpha ? area : alpha;
      colour |= (uint32_t)((total[k] + divisor / 2) / divisor) << 8 * k;
    }
    return colour;
  }
};

/* The minimum, of complemented codes for the maximum. */
template <int C, bool Folded, int SampleBytes> struct Extremum {
  static constexpr int kSampleBytes = SampleBytes, kWords = Folded ? C : 4;
  static constexpr int kPerWord = 4 / SampleBytes;
  static constexpr uint32_t kNeutral = ~0u;
  uint32_t least[4];

  __device__ void clear()
  {
#pragma unroll
    for (int i = 0; i < 4; i++)
      least[i] = kNeutral;
  }

  __device__ static uint4 prepare(uint4 v, const Job &job)
  {
    return make_uint4(
        (v.x >> job.shift & job.mask) ^ job.flip, (v.y >> job.shift & job.mask) ^ job.flip,
        (v.z >> job.shift & job.mask) ^ job.flip, (v.w >> job.shift & job.mask) ^ job.flip);
  }

  __device__ void add(const uint4 &v, const Job &)
  {
#pragma unroll
    for (int i = 0; i < 4; i++)
      least[i] = SampleBytes == 1 ? __vminu4(least[i], word(v, i)) : __vminu2(least[i], word(v, i));
  }

  __device__ static uint32_t unpack(uint32_t packed, int sample)
  {
    return SampleBytes == 1 ? packed >> 8 * (sample % 4) & 0xff
                            : packed >> 16 * (sample % 2) & 0xffff;
  }

  __device__ void store(uint32_t *shared, int stride) const
  {
    if constexpr (Folded) {
#pragma unroll
      for (int k = 0; k < C; k++) {
        uint32_t folded = kNeutral;
#pragma unroll
        for (int i = k; i < 4 * kPerWord; i += C)
          folded = combine(folded, unpack(least[i / kPerWord], i));
        shared[k * stride] = folded;
      }
    } else {
#pragma unroll
      for (int i = 0; i < 4; i++)
        shared[i * stride] = least[i];
    }
  }

  __device__ static uint32_t load(const uint32_t *shared, int stride, int sample)
  {
    return unpack(shared[sample / kPerWord * stride], sample);
  }

  __device__ static uint32_t combine(uint32_t a, uint32_t b)
  {
    return min(a, b);
  }

  template <typename Sum>
  __device__ static uint32_t finish(const Sum (&total)[C], Sum, const Job &job)
  {
    uint32_t colour = 0;

#pragma unroll
    for (int k = 0; k < C; k++)
      colour |= ((uint32_t)total[k] ^ unpack(job.flip, 0)) << job.shift << 8 * SampleBytes * k;
    return colour;
  }
};

template <int C, bool Folded> using ExtremumBytes = Extremum<C, Folded, 1>;
template <int C, bool Folded> using ExtremumWords = Extremum<C, Folded, 2>;

/* ---- the tile ---- */

struct Tile {
  int x0, x1, y0, y1;       /* pixels */
  int block0, blocks;       /* its blocks side by side, whole or not */
  int block_row, area_rows; /* rows of the whole block */
  int column0, columns;     /* 16-byte columns that hold its pixels */
  int row_bytes;            /* of the plane */
  int stride;               /* words between the sums of neighbouring samples, free of conflicts */
};

template <int PixelBytes>
__device__ inline Tile locate_tile(const Plane &plane, Stage stage, int index)
{
  Tile tile;
  const int row = index / plane.tiles_x, across = index - row * plane.tiles_x;
  int slice = 0;

  tile.block_row = row;
  if (stage != kWhole) {
    tile.block_row = row / plane.slices;
    slice = row - tile.block_row * plane.slices;
  }
  const int top = block_start(tile.block_row, plane.block_height, plane.shift_y, plane.height);
  const int bottom =
      block_start(tile.block_row + 1, plane.block_height, plane.shift_y, plane.height);
  tile.area_rows = bottom - top;

  int block1;
  if (stage == kWhole) {
    tile.block0 = across * plane.tile_blocks;
    block1 = min(tile.block0 + plane.tile_blocks, plane.blocks_x);
    tile.x0 = block_start(tile.block0, plane.block_width, plane.shift_x, plane.width);
    tile.x1 = block_start(block1, plane.block_width, plane.shift_x, plane.width);
    tile.y0 = top;
    tile.y1 = bottom;
  } else {
    tile.x0 = across * plane.tile_pixels;
    tile.x1 = min(tile.x0 + plane.tile_pixels, plane.width);
    tile.block0 = (int)(((unsigned)tile.x0 << plane.shift_x) / (unsigned)plane.block_width);
    block1 = (int)(((unsigned)(tile.x1 - 1) << plane.shift_x) / (unsigned)plane.block_width) + 1;
    tile.y0 = min(top + slice * kSplitRows, bottom);
    tile.y1 = min(tile.y0 + kSplitRows, bottom);
  }
  tile.blocks = block1 - tile.block0;
  tile.column0 = (int)((size_t)tile.x0 * PixelBytes / kColumnBytes);
  tile.columns =
      (int)(((size_t)tile.x1 * PixelBytes + kColumnBytes - 1) / kColumnBytes) - tile.column0;
  tile.row_bytes = plane.width * PixelBytes;
  tile.stride = (tile.columns + 31) / 32 * 32 + 4;
  return tile;
}

/* 16 bytes from any address; those from `available` on read as anything and are not touched. */
__device__ inline uint4 load_bytes(const uint8_t *bytes, int available)
{
  const unsigned misaligned = (unsigned)(uintptr_t)bytes & 3;
  const uint32_t *words = (const uint32_t *)(bytes - misaligned);
  uint32_t w[5];

  if (available >= 19 || (available >= 16 && misaligned == 0)) {
#pragma unroll
    for (int i = 0; i < 4; i++)
      w[i] = words[i];
    w[4] = misaligned ? words[4] : 0;
#pragma unroll
    for (int i = 0; i < 4; i++)
      w[i] = __funnelshift_r(w[i], w[i + 1], 8 * misaligned);
  } else {
#pragma unroll
    for (int i = 0; i < 4; i++) {
      w[i] = 0;
#pragma unroll
      for (int b = 0; b < 4; b++)
        w[i] |= 4 * i + b < available ? (uint32_t)bytes[4 * i + b] << 8 * b : 0;
    }
  }
  return make_uint4(w[0], w[1], w[2], w[3]);
}

/* Sets the bytes from `available` on to those of `neutral`. */
__device__ inline uint32_t neutralise(uint32_t w, int available, uint32_t neutral)
{
  if (available >= 4)
    return w;
  const uint32_t keep = available <= 0 ? 0 : (1u << 8 * available) - 1;
  return (w & keep) | (neutral & ~keep);
}

template <class Sums>
__device__ inline void sum_columns(const Job &job, const Plane &plane, const Tile &tile,
                                   uint32_t *shared)
{
  const int across = threadIdx.x & (plane.columns - 1), down = threadIdx.x / plane.columns;
  const int step = kThreads / plane.columns, rows = tile.y1 - tile.y0;
  const ptrdiff_t stride = plane.source_stride;
  const uint4 neutral = make_uint4(Sums::kNeutral, Sums::kNeutral, Sums::kNeutral, Sums::kNeutral);

  for (int column = across; column < tile.columns; column += plane.columns) {
    const int offset = (tile.column0 + column) * kColumnBytes, available = tile.row_bytes - offset;
    const uint8_t *source = plane.source + tile.y0 * stride + offset;
    Sums sums;

    sums.clear();
    if (plane.vector && available >= kColumnBytes) {
      for (int row = down; row < rows; row += step * kInFlight) {
        uint4 v[kInFlight];
#pragma unroll
        for (int i = 0; i < kInFlight; i++) {
          const int y = row + i * step;
          v[i] =
              y < rows ? Sums::prepare(__ldcs((const uint4 *)(source + y * stride)), job) : neutral;
        }
#pragma unroll
        for (int i = 0; i < kInFlight; i++)
          sums.add(v[i], job);
      }
    } else {
#pragma unroll 2
      for (int row = down; row < rows; row += step) {
        uint4 v = Sums::prepare(load_bytes(source + row * stride, available), job);
        v.x = neutralise(v.x, available, Sums::kNeutral);
        v.y = neutralise(v.y, available - 4, Sums::kNeutral);
        v.z = neutralise(v.z, available - 8, Sums::kNeutral);
        v.w = neutralise(v.w, available - 12, Sums::kNeutral);
        sums.add(v, job);
      }
    }
    sums.store(shared + (size_t)down * Sums::kWords * tile.stride + column, tile.stride);
  }
}

/* The lanes of a group add up the part of one block that lies in the tile. */
template <class Sums, int C, bool Folded>
__device__ inline void sum_block(const Plane &plane, const Tile &tile, const uint32_t *shared,
                                 int block, int lane, int lanes, uint32_t (&total)[C])
{
  constexpr int kPixelBytes = C * Sums::kSampleBytes;
  constexpr int kSamples = kColumnBytes / Sums::kSampleBytes;
  const int parts = kThreads / plane.columns;
  const int x0 = max(block_start(block, plane.block_width, plane.shift_x, plane.width), tile.x0);
  const int x1 =
      min(block_start(block + 1, plane.block_width, plane.shift_x, plane.width), tile.x1);

  if constexpr (Folded) {
    const int first = x0 * kPixelBytes / kColumnBytes - tile.column0;
    const int end = (x1 * kPixelBytes + kColumnBytes - 1) / kColumnBytes - tile.column0;

    for (int part = 0; part < parts; part++) {
      for (int column = first + lane; column < end; column += lanes) {
#pragma unroll
        for (int k = 0; k < C; k++)
          total[k] = Sums::combine(total[k], shared[(part * C + k) * tile.stride + column]);
      }
    }
  } else {
    for (int part = 0; part < parts; part++) {
      const uint32_t *sums = shared + (size_t)part * Sums::kWords * tile.stride;

      for (int x = x0 + lane; x < x1; x += lanes) {
        const unsigned sample = (unsigned)(x * C - tile.column0 * kSamples);
#pragma unroll
        for (int k = 0; k < C; k++)
          total[k] = Sums::combine(total[k], Sums::load(sums + (sample + k) / kSamples, tile.stride,
                                                        (int)((sample + k) % kSamples)));
      }
    }
  }
}

__device__ inline uint32_t block_area(const Plane &plane, const Tile &tile, int block)
{
  const int x0 = block_start(block, plane.block_width, plane.shift_x, plane.width);
  const int x1 = block_start(block + 1, plane.block_width, plane.shift_x, plane.width);

  return (uint32_t)(x1 - x0) * (uint32_t)tile.area_rows;
}

__device__ inline unsigned long long *block_sums(const Plane &plane, const Tile &tile, int block)
{
  return plane.sums + ((size_t)tile.block_row * plane.blocks_x + block) * plane.channels;
}

template <class Sums, int C, bool Folded>
__device__ inline void sum_blocks(const Job &job, const Plane &plane, const Tile &tile,
                                  const uint32_t *shared, uint32_t *colours)
{
  int lanes = 32;
  while (lanes > 1 && kThreads / lanes < tile.blocks)
    lanes >>= 1;

  const int groups = kThreads / lanes, lane = threadIdx.x & (lanes - 1);
  for (int first = 0; first < tile.blocks; first += groups) {
    const int index = first + threadIdx.x / lanes, block = tile.block0 + index;
    uint32_t total[C];

#pragma unroll
    for (int k = 0; k < C; k++)
      total[k] = Sums::kNeutral;
    if (index < tile.blocks)
      sum_block<Sums, C, Folded>(plane, tile, shared, block, lane, lanes, total);
    for (int distance = lanes / 2; distance; distance >>= 1) {
#pragma unroll
      for (int k = 0; k < C; k++)
        total[k] = Sums::combine(total[k], __shfl_xor_sync(~0u, total[k], distance));
    }
    if (index >= tile.blocks || lane)
      continue;

    if (job.stage == kWhole) {
      const uint32_t area = block_area(plane, tile, block);
      if (area) /* blocks smaller than a chroma sample may own none */
        colours[index] = Sums::template finish<uint32_t>(total, area, job);
    } else {
      unsigned long long *sums = block_sums(plane, tile, block);
#pragma unroll
      for (int k = 0; k < C; k++) {
        if (Sums::kNeutral)
          atomicMin(sums + k, (unsigned long long)total[k]);
        else
          atomicAdd(sums + k, (unsigned long long)total[k]);
      }
    }
  }
}

template <class Sums, int C>
__device__ inline void load_colours(const Job &job, const Plane &plane, const Tile &tile,
                                    uint32_t *colours)
{
  for (int index = threadIdx.x; index < tile.blocks; index += kThreads) {
    const int block = tile.block0 + index;
    const unsigned long long *sums = block_sums(plane, tile, block);
    const unsigned long long area = block_area(plane, tile, block);
    unsigned long long total[C];

#pragma unroll
    for (int k = 0; k < C; k++)
      total[k] = sums[k];
    if (area)
      colours[index] = Sums::template finish<unsigned long long>(total, area, job);
  }
}

/* ---- the fill ---- */

template <int PixelBytes>
__device__ inline void fill_aligned(const Plane &plane, const Tile &tile, const uint32_t *colours)
{
  const int across = threadIdx.x & (plane.columns - 1), down = threadIdx.x / plane.columns;
  const int step = kThreads / plane.columns, rows = tile.y1 - tile.y0;
  const ptrdiff_t stride = plane.destination_stride;

  for (int column = across; column < tile.columns; column += plane.columns) {
    const int offset = (tile.column0 + column) * kColumnBytes;
    const unsigned x = (unsigned)(offset / PixelBytes) << plane.shift_x;
    const uint32_t colour = colours[(int)(x / (unsigned)plane.block_width) - tile.block0];
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

/* One row of the tile as bytes, from the first byte of its first column on. */
template <int PixelBytes>
__device__ inline void draw_line(const Plane &plane, const Tile &tile, const uint32_t *colours,
                                 uint8_t *line)
{
  const int share = (tile.x1 - tile.x0 + kThreads - 1) / kThreads;
  const int first = tile.x0 + (int)threadIdx.x * share, end = min(first + share, tile.x1);

  if (first >= end)
    return;
  int block = (int)(((unsigned)first << plane.shift_x) / (unsigned)plane.block_width);
  int next = block_start(block + 1, plane.block_width, plane.shift_x, plane.width);
  for (int x = first; x < end; x++) {
    while (x >= next)
      next = block_start(++block + 1, plane.block_width, plane.shift_x, plane.width);
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

__device__ inline uint4 read_line(const uint8_t *line, int offset)
{
  const uint32_t *words = (const uint32_t *)line + (offset >> 2);
  const unsigned bits = 8 * (offset & 3);
  const uint32_t w0 = words[0], w1 = words[1], w2 = words[2], w3 = words[3], w4 = words[4];

  return make_uint4(__funnelshift_r(w0, w1, bits), __funnelshift_r(w1, w2, bits),
                    __funnelshift_r(w2, w3, bits), __funnelshift_r(w3, w4, bits));
}

/* Writes the line to every row in aligned 16-byte pieces, and bytewise at the tile's ends. */
template <int PixelBytes>
__device__ inline void fill_from_line(const Plane &plane, const Tile &tile, const uint8_t *line)
{
  const int across = threadIdx.x & (plane.columns - 1), down = threadIdx.x / plane.columns;
  const int step = kThreads / plane.columns, rows = tile.y1 - tile.y0;
  const int begin = tile.x0 * PixelBytes - tile.column0 * kColumnBytes;
  const int end = tile.x1 * PixelBytes - tile.column0 * kColumnBytes;

  for (int row = down; row < rows; row += step) {
    uint8_t *destination = plane.destination + (tile.y0 + row) * plane.destination_stride +
                           (size_t)tile.column0 * kColumnBytes;
    const int shift = (int)((uintptr_t)destination & (kColumnBytes - 1));

    for (int at = across * kColumnBytes - shift; at < end; at += plane.columns * kColumnBytes) {
      if (at >= begin && at + kColumnBytes <= end) {
        __stcs((uint4 *)(destination + at), read_line(line, at));
      } else {
        for (int i = max(at, begin); i < min(at + kColumnBytes, end); i++)
          destination[i] = line[i];
      }
    }
  }
}

template <template <int, bool> class Kind, int C>
__device__ inline void average_tile(const Job &job, const Plane &plane, int index, uint32_t *shared,
                                    uint32_t *colours)
{
  constexpr int kPixelBytes = C * Kind<C, false>::kSampleBytes;
  const Tile tile = locate_tile<kPixelBytes>(plane, job.stage, index);

  if (tile.y1 <= tile.y0 || tile.x1 <= tile.x0)
    return;

  if (job.stage == kFill) {
    load_colours<Kind<C, false>, C>(job, plane, tile, colours);
  } else {
    if (C != 3 && plane.aligned) {
      sum_columns<Kind<C == 3 ? 1 : C, true>>(job, plane, tile, shared);
      __syncthreads();
      sum_blocks<Kind<C, C != 3>, C, C != 3>(job, plane, tile, shared, colours);
    } else {
      sum_columns<Kind<C, false>>(job, plane, tile, shared);
      __syncthreads();
      sum_blocks<Kind<C, false>, C, false>(job, plane, tile, shared, colours);
    }
    if (job.stage == kSums)
      return;
  }
  __syncthreads();

  if (C != 3 && plane.aligned && plane.vector) {
    fill_aligned<C == 3 ? 1 : kPixelBytes>(plane, tile, colours);
  } else {
    draw_line<kPixelBytes>(plane, tile, colours, (uint8_t *)shared);
    __syncthreads();
    fill_from_line<kPixelBytes>(plane, tile, (const uint8_t *)shared);
  }
}

/* Channels = 1 serves planes of one and of two channels, as 4:2:0 formats mix them. */
template <template <int, bool> class Kind, int Channels>
__global__ void __launch_bounds__(kThreads, kResident)
    average_blocks(const __grid_constant__ Job job)
{
  extern __shared__ __align__(16) uint32_t shared[];
  __shared__ uint32_t colours[kTileBlocks];
  int p = 0;

  while (p + 1 < job.planes && (int)blockIdx.x >= job.plane[p + 1].first_tile)
    p++;
  const Plane &plane = job.plane[p];
  const int index = (int)blockIdx.x - plane.first_tile;

  if constexpr (Channels > 1) {
    average_tile<Kind, Channels>(job, plane, index, shared, colours);
  } else {
    if (plane.channels == 2)
      average_tile<Kind, 2>(job, plane, index, shared, colours);
    else
      average_tile<Kind, 1>(job, plane, index, shared, colours);
  }
}

/* ---- the host's side ---- */

typedef void (*Kernel)(Job);

struct State {
  CfVideo video;
  CfDevice *device;
  Kernel kernel;
  Job job; /* but for pointers, strides and stage */
  bool split;
  int tiles;
  size_t shared_bytes;
  size_t sums; /* of all planes, split only */
  int initial; /* byte that those sums start from */
};

template <template <int, bool> class Bytes, template <int, bool> class Words>
Kernel kernel_of(const CfFormatInfo *format)
{
  if (cf_sample_bytes(format) == 2)
    return average_blocks<Words, 1>;
  switch (format->plane[0].channels) {
  case 3:
    return average_blocks<Bytes, 3>;
  case 4:
    return average_blocks<Bytes, 4>;
  default:
    return average_blocks<Bytes, 1>;
  }
}

Kernel choose_kernel(const CfFormatInfo *format, int mode)
{
  if (mode != CF_BLOCKAVG_AVERAGE)
    return kernel_of<ExtremumBytes, ExtremumWords>(format);
  if (format->alpha)
    return average_blocks<MeanPremultiplied, 4>;
  return kernel_of<MeanBytes, MeanWords>(format);
}

void plan_codes(Job *job, const CfVideo *video, int mode)
{
  const CfFormatInfo *format = cf_format_info(video->format);
  const uint32_t code = (uint32_t)cf_max_code(format);
  const CfPlaneFormat *plane = &format->plane[0];
  const int alpha = cf_alpha_channel(plane);

  job->shift = format->shift;
  job->mask = format->bits > 8 ? code * 0x00010001u : ~0u;
  job->flip = mode == CF_BLOCKAVG_MAX ? job->mask : 0;
  job->alpha = alpha < 0 ? 0 : alpha;
  for (int k = 0; k < plane->channels; k++) {
    if (plane->role[k] == CF_ROLE_CHROMA_BLUE || plane->role[k] == CF_ROLE_CHROMA_RED)
      job->empty |= (uint32_t)cf_chroma_centre(video) << 8 * k;
  }
}

int pixel_bytes(const CfFormatInfo *format, const Plane *plane)
{
  return plane->channels * cf_sample_bytes(format);
}

int columns_of(const CfFormatInfo *format, const Plane *plane, long pixels)
{
  return (int)((pixels * pixel_bytes(format, plane) + kColumnBytes - 1) / kColumnBytes) + 1;
}

/* Bytes that a tile of `columns` needs: its sums, or the line drawn over them. */
size_t tile_bytes(const Plane *plane, int words, int columns)
{
  const size_t stride = (size_t)(columns + 31) / 32 * 32 + 4;
  const size_t sums = (size_t)(kThreads / plane->columns) * words * stride * sizeof(uint32_t);
  const size_t line = ((size_t)columns + 2) * kColumnBytes;

  return sums > line ? sums : line;
}

int words_of(const CfFormatInfo *format, int mode, const Plane *plane)
{
  if (plane->aligned)
    return plane->channels;
  if (mode != CF_BLOCKAVG_AVERAGE)
    return 4;
  return format->alpha ? 16 : 8;
}

/* About 8 rows a thread; unaligned tiles are wide, for they lose up to a column at each end. */
int columns_for(int rows, int bytes, bool aligned)
{
  if (rows <= 8)
    return 256;
  if (!aligned)
    return bytes == 4 ? 128 : 256;
  return rows <= 16 ? 128 : rows <= 64 ? 64 : 32;
}

/* As many blocks as fill the columns, and where possible so many that tiles start on a column. */
int blocks_for(const Plane *plane, int bytes)
{
  const long pixels = (long)plane->columns * kColumnBytes / bytes;
  long blocks = (pixels << plane->shift_x) / plane->block_width;
  int multiple = 1;

  blocks = blocks < 1 ? 1 : blocks > kTileBlocks ? kTileBlocks : blocks;
  while (multiple < 32 &&
         ((long)multiple * plane->block_width % (1 << plane->shift_x) != 0 ||
          ((long)multiple * plane->block_width >> plane->shift_x) * bytes % kColumnBytes != 0))
    multiple *= 2;
  return (int)(blocks > multiple ? blocks - blocks % multiple : blocks);
}

int block_rows(const Plane *plane)
{
  return (int)((((long)plane->height << plane->shift_y) + plane->block_height - 1) /
               plane->block_height);
}

void plan_plane(Plane *plane, const CfVideo *video, int index, const CfBlockavgParams *params)
{
  const CfFormatInfo *format = cf_format_info(video->format);
  const CfPlaneFormat *layout = &format->plane[index];

  plane->width = cf_plane_width(video, index);
  plane->height = cf_plane_height(video, index);
  plane->channels = layout->channels;
  plane->block_width = params->block_width;
  plane->block_height = params->block_height;
  plane->shift_x = layout->subsampling_x;
  plane->shift_y = layout->subsampling_y;
  plane->blocks_x = (int)((((long)plane->width << plane->shift_x) + params->block_width - 1) /
                          params->block_width);

  const int bytes = pixel_bytes(format, plane);
  plane->aligned = layout->channels != 3 && params->block_width % (1 << plane->shift_x) == 0 &&
                   (params->block_width >> plane->shift_x) * bytes % kColumnBytes == 0;
}

/* Tiles of whole blocks; false where they would be too large. */
bool plan_whole(State *state, const CfBlockavgParams *params)
{
  const CfFormatInfo *format = cf_format_info(state->video.format);

  state->tiles = 0;
  state->shared_bytes = 0;
  if (params->block_height > kWholeRows ||
      (long)params->block_width * params->block_height > kWholeArea)
    return false;

  for (int p = 0; p < format->planes; p++) {
    Plane *plane = &state->job.plane[p];
    const int rows = (params->block_height >> plane->shift_y) + 1;
    const int bytes = pixel_bytes(format, plane);

    plane->columns = columns_for(params->block_height >> plane->shift_y, bytes, plane->aligned);
    plane->tile_blocks = blocks_for(plane, bytes);
    plane->slices = 1;
    plane->tiles_x = (plane->blocks_x + plane->tile_blocks - 1) / plane->tile_blocks;
    plane->first_tile = state->tiles;

    const long pixels = ((long)plane->tile_blocks * params->block_width >> plane->shift_x) + 1;
    const size_t needed =
        tile_bytes(plane, words_of(format, params->mode, plane), columns_of(format, plane, pixels));
    if (needed > kSharedBytes || rows > kPackedRows * (kThreads / plane->columns))
      return false;
    state->shared_bytes = needed > state->shared_bytes ? needed : state->shared_bytes;
    state->tiles += plane->tiles_x * block_rows(plane);
  }
  return true;
}

/* Tiles of fixed size, several to a block or several blocks to a tile. */
void plan_split(State *state, const CfBlockavgParams *params)
{
  const CfFormatInfo *format = cf_format_info(state->video.format);

  state->tiles = 0;
  state->shared_bytes = 0;
  state->sums = 0;
  for (int p = 0; p < format->planes; p++) {
    Plane *plane = &state->job.plane[p];
    const int bytes = pixel_bytes(format, plane);
    const int rows = (params->block_height >> plane->shift_y) + 1;
    const int blocks_y = block_rows(plane);

    plane->columns = kSplitColumns;
    plane->tile_pixels = kSplitColumns * kColumnBytes / bytes / kColumnBytes * kColumnBytes;
    plane->slices = ((rows < plane->height ? rows : plane->height) + kSplitRows - 1) / kSplitRows;
    plane->tiles_x = (plane->width + plane->tile_pixels - 1) / plane->tile_pixels;
    plane->first_tile = state->tiles;
    state->tiles += plane->tiles_x * blocks_y * plane->slices;
    state->sums += (size_t)blocks_y * plane->blocks_x * plane->channels;

    const size_t needed =
        tile_bytes(plane, words_of(format, params->mode, plane), kSplitColumns + 1);
    state->shared_bytes = needed > state->shared_bytes ? needed : state->shared_bytes;
  }
}

bool update_state(void *opaque, const void *params, CfStatus *)
{
  State *state = (State *)opaque;
  const CfBlockavgParams *blockavg = (const CfBlockavgParams *)params;
  const CfFormatInfo *format = cf_format_info(state->video.format);

  memset(&state->job, 0, sizeof state->job);
  state->kernel = choose_kernel(format, blockavg->mode);
  state->initial = blockavg->mode == CF_BLOCKAVG_AVERAGE ? 0 : 0xff;
  state->job.planes = format->planes;
  plan_codes(&state->job, &state->video, blockavg->mode);
  for (int p = 0; p < format->planes; p++)
    plan_plane(&state->job.plane[p], &state->video, p, blockavg);
  state->split = !plan_whole(state, blockavg);
  if (state->split)
    plan_split(state, blockavg);
  return true;
}

void *open_state(const CfVideo *video, const void *params, const CfOpenOptions *options,
                 CfStatus *status)
{
  State *state = (State *)calloc(1, sizeof *state);

  if (!state) {
    cf_fail(status, CF_ERROR_NO_MEMORY, "out of host memory");
    return nullptr;
  }
  state->video = *video;
  state->device = options->device;
  update_state(state, params, status);
  return state;
}

void close_state(void *state)
{
  free(state);
}

bool launch(const State *state, const Job &job, cudaStream_t stream, CfStatus *status)
{
  state->kernel<<<state->tiles, kThreads, state->shared_bytes, stream>>>(job);
  return cf_cuda_launched("averaging blocks", status);
}

bool run_split(const State *state, Job *job, cudaStream_t stream, CfStatus *status)
{
  const size_t bytes = state->sums * sizeof(unsigned long long);
  unsigned long long *sums =
      (unsigned long long *)cf_scratch_take(state->device, bytes, stream, status);

  if (!sums)
    return false;
  unsigned long long *next = sums;
  for (int p = 0; p < job->planes; p++) {
    Plane *plane = &job->plane[p];
    plane->sums = next;
    next += (size_t)block_rows(plane) * plane->blocks_x * plane->channels;
  }

  bool good = cf_device_fill(sums, state->initial, bytes, stream, status);
  job->stage = kSums;
  good = good && launch(state, *job, stream, status);
  job->stage = kFill;
  good = good && launch(state, *job, stream, status);
  return cf_scratch_give(state->device, sums, stream, good ? status : nullptr) && good;
}

bool run_state(void *opaque, const CfJob *work, CfStatus *status)
{
  const State *state = (const State *)opaque;
  Job job = state->job;

  for (int p = 0; p < job.planes; p++) {
    Plane *plane = &job.plane[p];
    plane->source = work->source.data[p];
    plane->source_stride = work->source.stride[p];
    plane->destination = work->destination.data[p];
    plane->destination_stride = work->destination.stride[p];
    plane->vector = cf_is_vector_aligned(plane->source, plane->source_stride) &&
                    cf_is_vector_aligned(plane->destination, plane->destination_stride);
  }
  if (state->split)
    return run_split(state, &job, (cudaStream_t)work->stream, status);
  job.stage = kWhole;
  return launch(state, job, (cudaStream_t)work->stream, status);
}

const char *algorithm(const void *state)
{
  return ((const State *)state)->split ? "two-pass" : "one-pass";
}

} // namespace

extern "C" const CfEngine cf_blockavg_cuda = {
    "cuda", true, true, open_state, update_state, run_state, algorithm, close_state,
};
