/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Blur maps on tensor cores, for 8-bit formats: frames are halved again and again, and each tile
 * makes the levels that it needs from the halved image of the right size.
 *
 * A cell is a sample of an image whose axes were halved log_x and log_y times by the taps 1 3 3 1
 * over 8; its centre is at 2^log cell + (2^log - 1) / 2. Halving has a variance of
 * (4^log - 1) / 4; what is left of a level's sigma is a Gaussian that reaches over 12 cells at most
 * when the level takes the last image of which a cell is at most sigma / 1.5. That Gaussian is
 * evaluated where samples and cells lie, so one matrix of its values leads from cells along an axis
 * to samples, filtered and interpolated at once: a level of a tile is two products of matrices.
 *
 * What halving folds onto the band of a level: at sigma = 1.5 cells 0.97 of 255 in the worst order
 * of black and white along one axis where a cell is 2 samples, 0.57 where 4, 0.16 and 0.10 for an
 * edge; at 2 cells 0.40 and 0.22, 0.05 and 0.03.
 */
#pragma once

#include "blurmap_tile.cuh"

constexpr int kCellReach = 12;
constexpr int kCellLogs = 8;
constexpr int kCellGroups = 2 * kCellLogs; /* of levels, at most */
constexpr int kCellColumns = 32;           /* samples of a tile */
constexpr int kCellStrip = 16;             /* rows of samples of a product */
constexpr int kCellThreads = 128;

/* The unit of cells in codes. Halves would be off by eight times as much, which shows where large
 * sigmas leave a picture of one gray half way between two codes. */
constexpr float kCellUnit = 1.0f / 128;

/* Strips, of a tile with planes of so many channels, of each warp. */
__host__ __device__ constexpr int cf_cell_strips(int channels)
{
  return channels <= 2 ? 2 : 1;
}

__host__ __device__ constexpr int cf_cell_rows(int channels)
{
  return kCellThreads / 32 * cf_cell_strips(channels) * kCellStrip;
}

/* Which of a tile's columns is column `n` of product `block` of four: of few channels each thread
 * gets 8 samples side by side. */
__host__ __device__ constexpr int cf_cell_column(int channels, int block, int n)
{
  return channels < 4 ? 8 * (n / 2) + 2 * block + n % 2 : 8 * block + n;
}

/* Fixed point, channel by channel, centred as in a pyramid. Beyond its margins an image continues
 * with its outermost cells. */
struct CfCellImage {
  int log_x, log_y;
  int first_x, first_y, width, height; /* cells, margins included; all zero for the frame */
  int pitch;
  size_t at, channel; /* the index of the first cell, the cells of a channel */
};

/* Levels made from the same image follow each other. */
struct CfCellGroup {
  CfCellImage image;
  int first, end;
};

/* The matrices of a level. Rows: 16 samples from `first_row` on, counted from kCellReach cells
 * before the strip's first, in blocks of 16 cells. Columns: 32 samples in the same way, in pairs of
 * blocks. Where a cell is larger than these, matrices differ by where in it they lie. */
struct CfCellLevel {
  int first_row, blocks_down, first_column, pairs_across;
  unsigned blocks_across;                  /* bits of the blocks that are not zero */
  unsigned variants_down, variants_across; /* less 1, a power of two each */
  unsigned down, across;                   /* index of the first uint4 */
};

struct CfCellPlan {
  int groups;
  CfCellGroup group[kCellGroups];
  CfCellLevel level[CF_BLUR_LEVELS];
};

/* One image made from another, or from plane `plane` of the frame (then `from` has no cells). */
struct CfCellHalving {
  int plane;
  int first_block, across; /* blocks, side by side */
  CfCellImage from, to;
};

struct CfCellJob {
  CfMapJob map;
  const CfCellPlan *plan; /* of each plane */
  const uint4 *matrices;
  int16_t *cells;
  const CfCellHalving *halving; /* of this launch */
  int halvings;
};

constexpr int kHalvedRows = 8; /* cells of a block of the launches below, downwards */

/* --- blurmap_halve.cu --- */

/* Cells beside each other that a block makes. */
int cf_cell_block_columns(int channels, bool from_frame, int log_x);

bool cf_cell_halve(const CfCellJob *job, bool from_frame, int blocks, void *stream,
                   CfStatus *status);

/* --- blurmap_tensor.cu --- */

bool cf_cell_tiles(const CfCellJob *job, int tiles, void *stream, CfStatus *status);

/* --- blurmap_cells.cu --- */

typedef struct CfCells CfCells;

bool cf_cells_serve(const CfVideo *video, const CfDevice *device);
CfCells *cf_cells_open(const CfVideo *video, CfDevice *device, CfStatus *status);

/* Whether these levels of plane `p` are accurate: where a picture has few cells, each counts many
 * times, and so do its rounding errors. */
bool cf_cells_suit(const CfVideo *video, int p, const CfBlurLevels *levels);

/* Takes over the levels of all planes. */
bool cf_cells_plan(CfCells *cells, int border, const CfBlurLevels *const *levels, CfStatus *status);

/* Filters rows first..end - 1 of each plane, which `map` describes but for its tiles. */
bool cf_cells_run(CfCells *cells, const CfMapJob *map, void *stream, CfStatus *status);
void cf_cells_close(CfCells *cells);

/* --- for the kernels --- */

__device__ inline const CfMapPlane &cf_cell_plane(const CfMapJob &job)
{
  int p = 0;

  while (p + 1 < job.planes && (int)blockIdx.x >= job.plane[p + 1].first_tile)
    p++;
  return job.plane[p];
}

/* The bytes of a pixel of a plane, in the order of its channels; positions may be anywhere. */
template <int C>
__device__ inline uint32_t cf_cell_pixel(const CfMapJob &job, const CfMapPlane &plane, int x, int y)
{
  const int column = cf_fold(job.border, x, plane.width);
  const int row = cf_fold(job.border, y, plane.height);
  uint32_t bytes = 0;

  if (column < 0 || row < 0) {
#pragma unroll
    for (int c = 0; c < C; c++)
      bytes |= (uint32_t)plane.border[c] << 8 * c;
    return bytes;
  }
  const uint8_t *from = plane.source + (ptrdiff_t)row * plane.source_stride + (size_t)column * C;
  if (C == 4 && plane.vector)
    return *(const uint32_t *)from;
#pragma unroll
  for (int c = 0; c < C; c++)
    bytes |= (uint32_t)from[c] << 8 * c;
  return bytes;
}

/* Byte `i` less the centre: 0x4b000000 + v is 2^23 + v. */
__device__ inline float cf_cell_centred(uint32_t bytes, int i, float centre)
{
  return __uint_as_float(__byte_perm(bytes, 0x4b000000u, 0x7650u | (unsigned)i)) -
         (8388608.0f + centre);
}

/* Two numbers of -32768..32767 to the nearest integers: the low bits of 3 * 2^22 + v are those of
 * v. */
__device__ inline uint32_t cf_cell_pack(float low, float high)
{
  return __byte_perm(__float_as_uint(low + 12582912.0f), __float_as_uint(high + 12582912.0f),
                     0x5410);
}

__device__ inline void cf_cell_unpack(uint32_t pair, float *low, float *high)
{
  const uint32_t positive = pair ^ 0x80008000u;

  *low = __uint_as_float(__byte_perm(positive, 0x4b000000u, 0x7610)) - (8388608.0f + 32768.0f);
  *high = __uint_as_float(__byte_perm(positive, 0x4b000000u, 0x7632)) - (8388608.0f + 32768.0f);
}

/* The centred values of a pixel, weighted by alpha unless they are alpha. */
template <int C>
__device__ inline void cf_cell_values(const CfMapPlane &plane, uint32_t bytes, float (&value)[C])
{
#pragma unroll
  for (int c = 0; c < C; c++)
    value[c] = cf_cell_centred(bytes, c, plane.centre[c]);
  if (C == 4 && plane.alpha >= 0) {
    const float weight = cf_weight((plane.alpha == 0 ? value[0] : value[C - 1]) + 255.0f);
#pragma unroll
    for (int c = 0; c < C; c++)
      value[c] *= c == plane.alpha ? 1.0f : weight;
  }
}
