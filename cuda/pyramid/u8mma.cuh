/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The blur pyramid of plan/pyramid.h on tensor cores, for bytes of 1, 2 or 4 channels, in three
 * launches for all planes of a picture:
 *
 *   down     source codes -> the fine samples, decimated along both axes
 *   low      fine samples -> the low taps along rows
 *   up       these -> the low taps along columns: the coarse samples -> result codes
 *
 * `down` reads the picture once and writes 1/64 of it. The prefilter is the one called boxes: its
 * taps are bytes and halves without rounding, so products of matrices give exact sums straight from
 * the source's bytes. All else are products of matrices of halves and of what these leave.
 */
#pragma once

#include "cuda/fir/types.cuh"
#include "cuda/common/launch.cuh"
#include "cuda/common/half2.cuh"
#include "cuda/common/ptx_async.cuh"
#include "cuda/common/ptx_mma.cuh"
#include "cuda/common/pdl.cuh"
#include "cuda/pyramid/cta.cuh"

extern "C" {
#include "plan/pyramid.h"
}

constexpr int kBytesWarps = kPyramidThreads / 32;
constexpr int kBytesDecimation = 8; /* the largest, and 4 */
constexpr int kBytesThinning = 8;   /* the largest */
constexpr int kBytesLowTaps = 272;  /* the most */
constexpr int kBytesTaps = 32;      /* of the prefilter, zeros included */
constexpr int kBytesTile = 32;      /* columns of results that a warp of `up` makes at once */

/* One axis of one plane. Indices are absolute, as in plan/pyramid.h. */
struct CfBytesLine {
  int size, border;
  int decimation, thinning, factor; /* D1, D2, D */
  int factor_log2;
  float cell; /* 1 / D */
  int prefilter_first, prefilter_count;
  int low_first;
  int chunks; /* of 16 samples that 16 outputs read */
  int spare;  /* of these before the first that outputs read */
  int made_first, made_end;
  int mirrored; /* fine samples in the picture, where those outside equal some of these as the
                 * border says, or 0 */
  int coarse_first, coarse_end;
  int low_count;
};

/* The low taps of an axis: halves, and above them what these leave; the first half, since they are
 * symmetric. */
struct CfBytesLow {
  uint32_t tap[kBytesLowTaps / 2];
};

struct CfBytesPlane {
  const uint8_t *source;
  uint8_t *destination;
  ptrdiff_t source_stride, destination_stride;
  int width, height, channels;
  int alpha;               /* channel that weights the others, or -1 */
  bool source_vector;      /* rows start on 16 bytes */
  bool destination_vector; /* the same */
  uint32_t border;         /* pixels for the constant border, as many as fit */
  float blank[4];          /* where nothing shows */

  int first, end;                   /* rows of the result to make */
  int readable_first, readable_end; /* rows of the source that may be read */
  int wanted_first, wanted_end;     /* made rows that they need */
  int fine_first, fine_end;         /* those, or of those inside what stands for them */
  int coarse_first, coarse_end;     /* coarse rows that they need */
  int left;                         /* first column of fine samples */
  int columns;                      /* coarse ones */

  float *fine;      /* [channel][fine row][fine column] */
  float fine_scale; /* of their numbers to codes */
  uint2 *rows;      /* [channel][pair of rows][coarse column], halves and what they leave */
  int fine_pitch;
  int rows_first, row_pairs; /* of `rows`; the first and last pair repeat the edge */

  int down_blocks, rows_blocks, up_blocks; /* first of each grid */
  int strip;                               /* fine rows of a warp of `down` */
  CfBytesLine x, y;
};

struct CfBytesJob {
  int planes;
  bool overlaps;                    /* launches may */
  uint8_t prefilter[2][kBytesTaps]; /* D1 = 4, 8, times 2 D1^3 */
  CfBytesPlane plane[CF_MAX_PLANES];

  /* Of x and y of each plane. Apart, so that what all warps read first lies close together. */
  CfBytesLow low[CF_MAX_PLANES][2];
};

bool cf_bytes_down(const CfBytesJob *job, int blocks, void *stream, CfStatus *status);
bool cf_bytes_low(const CfBytesJob *job, int blocks, void *stream, CfStatus *status);
bool cf_bytes_up(const CfBytesJob *job, int blocks, void *stream, CfStatus *status);

/* --- cuda/pyramid/u8mma_plan.cu --- */

typedef struct CfCudaBytePyramid CfCudaBytePyramid;

/* Whether these params, which have no map, can be done this way on this device. */
bool cf_cuda_byte_pyramid_can(const CfVideo *video, const CfDevice *device,
                              const CfGaussblurParams *params);

CfCudaBytePyramid *cf_cuda_byte_pyramid_open(const CfVideo *video, CfDevice *device,
                                             CfStatus *status);

/* Takes over the sigmas and the border, for which it can. On failure the old ones stay. */
bool cf_cuda_byte_pyramid_update(CfCudaBytePyramid *pyramid, const CfGaussblurParams *params,
                                 CfStatus *status);
bool cf_cuda_byte_pyramid_run(CfCudaBytePyramid *pyramid, const CfJob *job, CfStatus *status);

/* Rows above and below its own that a row of the result reads, or -1 for any. */
int cf_cuda_byte_pyramid_halo(const CfCudaBytePyramid *pyramid);
void cf_cuda_byte_pyramid_close(CfCudaBytePyramid *pyramid);

/* --- for the launches and kernels --- */

/* The part of an SM's memory that is shared memory, in percent: what `low` and `up` need, and the
 * same for all launches, since blocks of one that want another part cannot start while blocks of
 * another one run. */
constexpr int kBytesSharedPart = 44;

inline bool cf_bytes_share_memory(void (*kernel)(CfBytesJob), CfStatus *status)
{
  return cf_cuda_ok(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                         kBytesSharedPart),
                    "preparing a blur", status);
}

/* What the sums of a channel are of: what differs from the middle of all codes, since halves are
 * the more accurate the smaller the numbers; of alpha that weighs, from opaque, whose weight is
 * then exact. */
__device__ inline float cf_bytes_centre(const CfBytesPlane &plane, int channel)
{
  return channel == plane.alpha ? 255.0f : 128.0f;
}

/* Outputs of a block of the low taps along rows. */
__host__ __device__ inline int cf_bytes_segment(const CfBytesLine &line)
{
  return 1024 >> line.factor_log2;
}

__host__ __device__ inline int cf_bytes_segments(const CfBytesPlane &plane)
{
  return (plane.columns + cf_bytes_segment(plane.x) - 1) >> (10 - plane.x.factor_log2);
}

/* Groups of columns that a warp of `up` makes one after the other: where coarse rows are enough for
 * few rows, so many that all CUDA blocks are on the GPU at once. */
__host__ __device__ inline int cf_bytes_groups(int channels, int factor)
{
  return channels < 4 && factor <= 8 ? 2 : 1;
}

/* Tiles of 16 rows that a warp of `up` makes one below the other, from 16 coarse rows. */
__host__ __device__ inline int cf_bytes_stack(int factor)
{
  return factor == 4 ? 3 : factor == 8 ? 6 : 8;
}

/* Where the warps of `down` find what they read: geometry that follows from the number of channels
 * and from D1. A tile is 16 fine samples of one row, all channels of some columns. */
template <int C, int D> struct CfBytesTile {
  static constexpr int kTaps = 3 * D - 2 + D / 2;
  static constexpr int kFirst = -(kTaps - D) / 2;
  static constexpr int kColumns = 16 / C; /* fine */
  static constexpr int kPixels = 64 / C;  /* of a chunk, 64 bytes of a row */
  static constexpr int kSector = 32 / C;  /* pixels that memory gives at once */
  static constexpr int kBefore = (-kFirst + kSector - 1) / kSector * kSector;
  static constexpr int kSpan = kBefore + D * (kColumns - 1) + kTaps + kFirst;
  static constexpr int kChunks = (kSpan + kPixels - 1) / kPixels;
  static constexpr int kShift = kColumns * D / kPixels; /* chunks from a tile to the next */
};

constexpr int kBytesTiles = 2; /* that a warp of `down` makes, side by side */

/* Of `down` on a multiprocessor, all at once: more, shorter strips read more rows twice. */
constexpr int kBytesDownBlocks = 3;
