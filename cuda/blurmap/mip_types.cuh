/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Blur maps on tensor cores, for 8-bit formats: frames are halved again and again, and each tile
 * makes the levels that it needs from the halved image of the right size.
 *
 * A cell is a sample of an image whose axes were halved log_x and log_y times, first by the taps
 * 1 3 3 1 over 8, then by 1 5 10 10 5 1 over 32; its centre is at 2^log cell + (2^log - 1) / 2.
 * What halving leaves of a level's sigma is a Gaussian that reaches over 12 cells at most when the
 * level takes the last image of which a cell is at most sigma / 1.5. That Gaussian is evaluated
 * where samples and cells lie, so one matrix of its values leads from cells along an axis to
 * samples, filtered and interpolated at once: a level of a tile is two products of matrices.
 *
 * How far that is off at sigma = 1.5 cells, of 255: 0.97 in the worst order of black and white
 * along one axis where a cell is 2 samples, 0.18 where 4 or more, 0.16 and 0.06 for an edge; at 2
 * cells 0.40 and 0.07, 0.05 and 0.02.
 */
#pragma once

#include "cuda/blurmap/fp32_types.cuh"
#include "cuda/common/launch.cuh"

#include <cuda_fp16.h>

constexpr int kCellReach = 12;
constexpr int kCellLogs = 8;
constexpr int kCellGroups = 2 * kCellLogs; /* of levels, at most */
constexpr int kCellColumns = 32;           /* samples of a tile */
constexpr int kCellStrip = 16;             /* rows of samples of a product */
constexpr int kCellThreads = 128;

constexpr int kCellRows = kCellThreads / 32 * kCellStrip; /* of a tile: a strip of each warp */

/* Halves, channel by channel, centred as in a pyramid. Beyond its margins an image continues
 * with its outermost cells. */
struct CfCellImage {
  int log_x, log_y;
  int first_x, first_y, width, height; /* cells, margins included; all zero for the frame */
  int pitch;
  uint32_t at, channel; /* the index of the first cell, the cells of a channel */
};

/* The matrices of a level. Rows: 16 samples from `first_row` on, counted from kCellReach cells
 * before the strip's first, in blocks of 16 cells. Columns: 32 samples in the same way. Where a
 * cell is larger than these, matrices differ by where in it they lie. */
struct alignas(16) CfCellLevel {
  short first_row, blocks_down, first_column, blocks_across;
  unsigned short variants_down, variants_across; /* less 1, a power of two each */
  unsigned down, across;                         /* index of the first uint4 */
  int group;                                     /* of the image */
  int bands; /* where cells are samples along both axes: that 8 samples take something of, or 0 */
};

struct CfCellPlan {
  int groups;
  CfCellImage image[kCellGroups]; /* levels made from the same one follow each other */
  CfCellLevel level[CF_BLUR_LEVELS];
};

/* One image made from another, or from plane `plane` of the frame (then `from` has no cells). */
struct CfCellHalving {
  int plane;
  int first_block;
  int across; /* of blocks side by side, or of warps where they read a frame */
  int rows;   /* of cells, of each of these */
  CfCellImage from, to;
};

constexpr int kCellNearHalvings = 4;

/* A level in a strip of a tile. A tile's windows into images lie one behind another. */
struct alignas(16) CfCellEntry {
  uint32_t down;   /* index of its matrices; group << 24; bands / 2 << 29; three blocks << 31 */
  uint32_t across; /* index; blocks << 24 */
  uint32_t from;   /* its first cell in the window; number << 13; cells are samples << 31 */
  uint32_t cells;  /* of the window's channel; of those of windows before << 13 */
};

constexpr int kCellEntries = 31;
constexpr int kCellFewEntries = 7; /* fetched before their count is known */

struct alignas(16) CfCellStrip {
  uint32_t count;  /* of levels; if more than kCellEntries, they are listed anew */
  uint32_t copies; /* whether samples are copied */
  uint32_t unused[2];
  CfCellEntry entry[kCellEntries];
};

/* The cells of an image that a tile needs, all inside its margins. */
struct alignas(16) CfCellWindow {
  uint32_t from, channel; /* the first, as an index; the cells of a channel of the image */
  uint32_t pitch, rows;   /* of the image; rows, kind << 16 */
};

/* How cells are copied: each row in so many pieces of so many bytes. */
enum CfCellKind {
  CF_CELLS_OF_FRAME, /* they are samples */
  CF_CELLS_7X16,
  CF_CELLS_5X16,
  CF_CELLS_4X16,
  CF_CELLS_8X8,
  CF_CELLS_16X4,
  CF_CELLS_ANYWHERE /* also outside the margins: as the image says */
};

constexpr int kCellWindows = 3;
constexpr unsigned kCellFromFrame = 128;

struct alignas(16) CfCellTile {
  uint32_t groups; /* bits */
  uint32_t cells;  /* of its windows */
  uint16_t x, y;   /* in tiles and strips, of the plane */
  uint8_t windows; /* that are listed, all or none; kCellFromFrame if none is of a halved image */
  uint8_t plane;
  uint16_t
      cost; /* how long it takes: of the strip with the most levels their number, or twice it */
  CfCellWindow window[kCellWindows];
};

/* A map that is made of the bytes of a pixel: weights of 15 bits times these are m less than
 * 2^23, which is scaled. */
struct CfPixelMap {
  uint32_t low, high; /* bytes of the weights, where channels are */
  float scale, zero;
};

struct CfCellJob {
  CfMapJob map;
  const CfCellPlan *plan; /* of each plane */
  const uint4 *matrices;
  __half *cells;
  const CfCellHalving *halving; /* of this launch */
  int halvings;
  CfCellHalving near[kCellNearHalvings]; /* the same, if they are that few: at hand at once */

  /* Where samples lie among the levels, for each warp of each tile two words of each thread, eight
   * samples in the order of their products: halves, from the first level that the warp blends on.
   */
  uint4 *positions;
  uint4 *levels;       /* of each warp: bits of those that it blends */
  CfCellStrip *strips; /* of each warp */
  CfCellTile *tiles;
  int tile_count, tiles_at_a_time; /* on all SMs */
  const unsigned *order;           /* which tile's records come when; nullptr: one after another */
  bool by_codes;                   /* one channel is the map, or several of a pixel of four bytes */
  CfPixelMap pixel_map;
  unsigned *transparent; /* is `frame` where frame number `frame` has pixels that are not opaque */
  unsigned frame;        /* from 1 on */
  /* The part of an SM's memory that is shared memory, in percent: what tiles need, and the same for
   * all launches, since blocks of one that want another part cannot start while blocks of another
   * one run. */
  int shared_part;
  bool always_transparent; /* nobody has looked */
  bool overlaps;           /* the next launch may start while the last one runs */
};

constexpr float kCellPosition = 1.0f / 512; /* positions are multiples of it */

/* The position of what is copied, or not made: a half that is far from all levels. Others are not
 * negative. */
constexpr unsigned kCellCopies = 0xfbff;

/* Bit of a warp of which some sample is copied. Levels are fewer. */
constexpr int kCellCopied = CF_BLUR_LEVELS - 1;

constexpr int kCellImageRows = 16; /* of cells that a block makes from cells */

constexpr int kCellImageColumns = 128;

/* --- cuda/blurmap/mip_from_frame.cu --- */

/* Cells beside each other that a warp makes from a frame. */
int cf_cell_frame_columns(int channels, int log_x);

/* Blocks that do so on an SM at the same time. */
int cf_cell_blocks_of_sm(int channels);

bool cf_cell_halve_frame(const CfCellJob *job, int blocks, void *stream, CfStatus *status);

/* --- cuda/blurmap/mip_downsample.cu --- */

bool cf_cell_halve_image(const CfCellJob *job, int blocks, void *stream, CfStatus *status);

/* --- cuda/blurmap/sigma_lookup.cu --- */

/* Finds the positions and levels of all tiles. */
bool cf_cell_positions(const CfCellJob *job, int multiprocessors, void *stream, CfStatus *status);

/* Makes an order for the next time from what was found. */
bool cf_cell_order(const CfCellJob *job, int tiles, unsigned *order, void *stream,
                   CfStatus *status);

/* --- cuda/blurmap/mma_tiles.cu --- */

/* Tiles that an SM makes at the same time. */
int cf_cell_tiles_of_sm(void);

/* Bytes of shared memory that these take, with what the device keeps of it. */
int cf_cell_shared_of_sm(void);

bool cf_cell_tiles(const CfCellJob *job, int tiles, void *stream, CfStatus *status);

/* --- cuda/blurmap/resample_weights.cu --- */

/* Grows by realloc. */
struct CfCellMatrices {
  uint4 *data;
  size_t count, room;
};

/* Add the matrices of a level whose axis has this sigma and is made of cells of 2^log samples. */
bool cf_cell_add_down(CfCellMatrices *matrices, double sigma, int log, CfCellLevel *level,
                      CfStatus *status);
bool cf_cell_add_across(CfCellMatrices *matrices, double sigma, int log, CfCellLevel *level,
                        CfStatus *status);

/* Adds both where cells are samples along both axes. */
bool cf_cell_add_bands(CfCellMatrices *matrices, const CfBlurLevel *blur, CfCellLevel *level,
                       CfStatus *status);

/* --- cuda/blurmap/sigma_lookup_from_luma.cu: maps that are the picture's luma or alpha --- */

/* Whether positions can be found from codes, of one channel or of pixels of four bytes; then of
 * these it says how. */
bool cf_cell_by_codes(const CfMapJob *map, CfPixelMap *pixel_map);

/* Lists the positions of one channel's codes; samples at level `copy` (-1: none) are copied. */
void cf_cell_list_positions(CfMapTable *table, int copy, const CfMapMixer *mixer);

/* --- cuda/blurmap/mip_plan.cu --- */

typedef struct CfCells CfCells;

bool cf_cells_serve(const CfVideo *video, const CfDevice *device);
CfCells *cf_cells_open(const CfVideo *video, CfDevice *device, CfStatus *status);

/* Whether these levels of plane `p` are accurate: where a picture has few cells, each counts many
 * times, and so do its rounding errors. */
bool cf_cells_suit(const CfVideo *video, int p, const CfBlurLevels *levels);

/* Takes over the levels of all planes. */
bool cf_cells_plan(CfCells *cells, int border, const CfBlurLevels *const *levels, CfStatus *status);

/* Filters rows first..end - 1 of each plane, which `map` describes but for its tiles. With
 * `same_map` what it says of these rows is what it said the last time. */
bool cf_cells_run(CfCells *cells, const CfMapJob *map, bool same_map, void *stream,
                  CfStatus *status);
void cf_cells_close(CfCells *cells);

/* --- for the launches and kernels --- */

inline bool cf_cell_launch(void (*kernel)(CfCellJob), const CfCellJob *job, int blocks, int bytes,
                           void *stream, const char *doing, CfStatus *status)
{
  return cf_cuda_ok(cudaFuncSetAttribute((const void *)kernel,
                                         cudaFuncAttributePreferredSharedMemoryCarveout,
                                         job->shared_part),
                    doing, status) &&
         cf::launch_job(kernel, job, blocks, kCellThreads, bytes, stream, doing, status);
}

__device__ inline CfCellHalving cf_cell_halving_of_block(const CfCellJob &job, int *block)
{
  const bool near = job.halvings <= kCellNearHalvings;
  int i = 0;

  while (i + 1 < job.halvings &&
         (int)blockIdx.x >= (near ? job.near : job.halving)[i + 1].first_block)
    i++;
  const CfCellHalving halving = near ? job.near[i] : job.halving[i];
  *block = (int)blockIdx.x - halving.first_block;
  return halving;
}

/* A tile's first column, and its first row: strips start at multiples of kCellStrip. */
__device__ inline int cf_cell_tile_x(const CfMapPlane &plane, int tile)
{
  return tile % plane.tiles_x * kCellColumns;
}

__device__ inline int cf_cell_tile_y(const CfMapPlane &plane, int tile)
{
  return plane.first / kCellStrip * kCellStrip + tile / plane.tiles_x * kCellRows;
}

/* Column and row, in a strip, of a thread's result `i` of product `block`: two columns in row
 * `lane / 4`, then two 8 rows below. */
__device__ inline int cf_cell_sample_x(int block, int i)
{
  return 8 * block + 2 * ((int)threadIdx.x % 4) + i % 2;
}

__device__ inline int cf_cell_sample_y(int i)
{
  return (int)threadIdx.x % 32 / 4 + i / 2 * 8;
}

/* The first of a thread's words. */
__device__ inline size_t cf_cell_positions_of_thread()
{
  const size_t warp = (size_t)blockIdx.x * (kCellThreads / 32) + threadIdx.x / 32;

  return warp * 2 * 32 + threadIdx.x % 32;
}

__device__ inline int cf_cell_plane(const CfMapJob &job, int tile)
{
  int p = 0;

  while (p + 1 < job.planes && tile >= job.plane[p + 1].first_tile)
    p++;
  return p;
}

/* The bytes of a pixel of a plane, in the order of its channels. */
template <int C>
__device__ inline uint32_t cf_cell_inner_pixel(const CfMapPlane &plane, int x, int y)
{
  const uint8_t *from = plane.source + (ptrdiff_t)y * plane.source_stride + (ptrdiff_t)x * C;
  uint32_t bytes = 0;

  if (C == 4 && plane.vector)
    return __ldg((const uint32_t *)from);
#pragma unroll
  for (int c = 0; c < C; c++)
    bytes |= (uint32_t)__ldg(from + c) << 8 * c;
  return bytes;
}

/* The same where folding led to, which may be the colour of a constant border. Without branches, so
 * that many pixels load at a time. */
template <int C>
__device__ inline uint32_t cf_cell_folded_pixel(const CfMapPlane &plane, int column, int row)
{
  const uint32_t inner = cf_cell_inner_pixel<C>(plane, max(column, 0), max(row, 0));
  uint32_t outer = 0;

#pragma unroll
  for (int c = 0; c < C; c++)
    outer |= (uint32_t)plane.border[c] << 8 * c;
  return (column | row) < 0 ? outer : inner;
}

/* Byte `i` less the centre: 0x4b000000 + v is 2^23 + v. */
__device__ inline float cf_cell_centred(uint32_t bytes, int i, float centre)
{
  return __uint_as_float(__byte_perm(bytes, 0x4b000000u, 0x7650u | (unsigned)i)) -
         (8388608.0f + centre);
}
