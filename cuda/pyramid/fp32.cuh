/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The blur pyramid of plan/pyramid.h on the GPU, without thinning (D2 = 1), in four launches for
 * all planes of a picture:
 *
 *   columns  source codes -> every D-th row of the column prefilter, one plane a channel
 *   rows     these -> every D-th column of the row prefilter, then the low taps along the row
 *   low      these -> the low taps along columns: the coarse samples, channels interleaved
 *   up       coarse samples -> result codes, by the cubic B-spline
 *
 * Bytes are halved once or twice in 16-bit lanes of integers, two samples an instruction, before
 * the taps of columns see them: for D = 8 that leaves 1.25 multiply-adds a source sample of 6. `up`
 * does 4.5 a result sample. That is less than the tensor cores' work in shared memory would cost in
 * moving it there, so plain single precision serves all GPUs.
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

constexpr int kPyramidFactor = 8;     /* largest D, a power of two */
constexpr int kPyramidLowTaps = 288;  /* zeros included; a multiple of 4 */
constexpr int kPyramidCells = 6;      /* prefilter taps of 8-bit samples in units of D */
constexpr int kPyramidCellsWide = 11; /* of 16-bit samples */
constexpr int kPyramidHalvedTaps = 10;
constexpr int kPyramidColumnsBlocks = 5; /* on an SM: the more, the more rows two strips read */
constexpr int kPyramidTile = 32;         /* of blur maps */

/* One axis of one plane. Indices are absolute, as in plan/pyramid.h. */
struct CfPyramidLine {
  int factor; /* D */
  int size, border;
  int prefilter_first, low_first;
  int low_count, low_groups; /* of 4 taps, with the 3 that only shifted outputs need */
  int made_first, made_end;
  int coarse_first, coarse_end;
  float low[kPyramidLowTaps];
};

struct CfPyramidPlane {
  const uint8_t *source;
  uint8_t *destination;
  ptrdiff_t source_stride, destination_stride;
  int width, height, channels, samples; /* of a row */
  int alpha;                            /* channel that weights the others, or -1 */
  int shift, max_code;
  bool vector;         /* rows start where four samples can be accessed at once */
  float centre[4];     /* of the samples in a word of four: sums are of what differs from it */
  float blank[4];      /* where nothing shows */
  uint16_t border[12]; /* raw samples of three words, for the constant border */

  int first, end;                   /* rows of the result to make */
  int readable_first, readable_end; /* rows of the source that may be read */
  int fine_first, fine_end;         /* made rows that they need */
  int coarse_first, coarse_end;     /* coarse rows that they need */

  /* [channel][fine row][column], [channel][fine row][coarse column],
   * [coarse row][coarse column][channel] */
  void *columns;
  float *rows, *coarse;
  int columns_pitch, rows_pitch; /* elements */
  int columns_rows;              /* of a channel of `columns` */

  /* With `need` only what some tile of the result needs is made: a tile's bits say which levels of
   * a blur map it reads, `need_bits` for which of them this plane stands. */
  const uint4 *need;
  int need_x, need_y; /* tiles, from row `first` on */
  uint4 need_bits;

  int columns_blocks, rows_blocks, low_blocks, up_blocks; /* first of each grid */
  int strip;                                              /* fine rows a block of `columns` makes */
  int segment; /* coarse columns a block of `rows` makes, a multiple of 4 */
  int rows_at_once,
      low_at_once; /* fine rows of a block of `rows`, eights of rows of one of `low` */
  CfPyramidLine x, y;
};

struct CfPyramidJob {
  int planes;
  bool overlaps; /* launches may */

  /* By log2 D, at places that are known when the kernels are compiled: then they are operands of
   * the multiply-adds, and need no loads. */
  float prefilter[4][kPyramidCellsWide * kPyramidFactor]; /* zeros at the end */
  float spline[4][4 * kPyramidFactor];

  /* Columns of bytes are halved by the taps 1 3 3 1 over 8, once for D = 4 and twice for D = 8;
   * these taps, for which they are not divided by 8, follow, and keep one row in two. The three
   * have the variance of `prefilter`. */
  float halved[4][kPyramidHalvedTaps];

  CfPyramidPlane plane[CF_MAX_PLANES];
};

/* --- cuda/pyramid/fp32_decimate_vertical.cu, cuda/pyramid/fp32_decimate_horizontal.cu --- */

/* Shared memory of a block of `rows` for `fine` made samples and `coarse` results. */
int cf_pyramid_rows_shared(const CfPyramidLine *line, bool wide, int fine, int coarse);

bool cf_pyramid_columns(const CfPyramidJob *job, bool wide, int blocks, void *stream,
                        CfStatus *status);
bool cf_pyramid_rows(const CfPyramidJob *job, bool wide, int blocks, int bytes, void *stream,
                     CfStatus *status);

/* --- cuda/pyramid/fp32_upsample.cu --- */

constexpr int kPyramidUpRows = 64;     /* of a strip of `up` */
constexpr int kPyramidLowColumns = 32; /* of a block of `low` */
constexpr int kPyramidLowRows = 8;

bool cf_pyramid_low(const CfPyramidJob *job, int blocks, void *stream, CfStatus *status);
bool cf_pyramid_up(const CfPyramidJob *job, bool wide, int blocks, void *stream, CfStatus *status);

/* --- cuda/pyramid/fp32_plan.cu --- */

typedef struct CfCudaPyramid CfCudaPyramid;

CfCudaPyramid *cf_cuda_pyramid_open(const CfVideo *video, CfDevice *device, CfStatus *status);

/* Whether these params, which have no map, are done best by a pyramid. */
bool cf_cuda_pyramid_pays(const CfVideo *video, const CfGaussblurParams *params);

/* Takes over the sigmas and the border, for which it pays. On failure the old ones stay. */
bool cf_cuda_pyramid_update(CfCudaPyramid *pyramid, const CfGaussblurParams *params,
                            CfStatus *status);
bool cf_cuda_pyramid_run(CfCudaPyramid *pyramid, const CfJob *job, CfStatus *status);
int cf_cuda_pyramid_halo(const CfCudaPyramid *pyramid);
void cf_cuda_pyramid_close(CfCudaPyramid *pyramid);

/* What sums of a channel are centred on. Halves are the more accurate the smaller the numbers, so
 * that is the middle of all codes; of alpha that weighs it is opaque, whose weight is then exact.
 */
float cf_pyramid_centre(const CfFormatInfo *format, bool alpha);

/* What happens to the channels of a blur, for the functions below. The caller frees it with
 * cf_fir_plan_free. */
bool cf_pyramid_channels(CfFirPlan *plan, const CfVideo *video, int border, CfStatus *status);

/* Adds plane `p` of the picture to a job, for all of its rows and but for the pointers. All planes
 * of a job have the same prefilter for the same factor. */
bool cf_pyramid_describe(CfPyramidJob *job, const CfVideo *video, int p, const CfFirPlan *plan,
                         const double sigma[2], const CfPyramidFactors factors[2],
                         CfStatus *status);

/* Chooses the rows of the result; with `band` no more of the source is read than they need. */
void cf_pyramid_place_rows(CfPyramidPlane *plane, int first, int end, bool band);

/* Where plane `p` of a job's pictures lies. */
void cf_pyramid_place_picture(CfPyramidPlane *plane, int p, const CfJob *job, bool wide);

/* The grids of a job's launches. */
struct CfPyramidGrids {
  int columns, rows, low, up;
  int rows_bytes;
};

/* Places the blocks of all planes, whose rows are known, on a device. */
CfPyramidGrids cf_pyramid_place_blocks(CfPyramidJob *job, bool wide, const CfDevice *device);

/* The bytes of a plane's intermediate samples. */
size_t cf_pyramid_columns_bytes(const CfPyramidPlane *plane, bool wide);
size_t cf_pyramid_rows_bytes(const CfPyramidPlane *plane);
size_t cf_pyramid_coarse_bytes(const CfPyramidPlane *plane);

/* --- for the launches and kernels --- */

/* What is added before rounding down. The little more than 1/2 turns exact halves up in spite of
 * rounding errors: regular patterns have many. */
constexpr float kPyramidHalf = 0.5f + 1.0f / 2048;

/* Whether some tile that touches x0..x1 - 1, y0..y1 - 1 needs this plane. All threads of the block
 * get the same answer. */
__device__ inline bool cf_pyramid_is_needed(const CfPyramidPlane &plane, int x0, int y0, int x1,
                                            int y1)
{
  if (!plane.need)
    return true;
  const int left = max(x0, 0) / kPyramidTile, top = max(y0 - plane.first, 0) / kPyramidTile;
  const int right = min((max(x1, 0) + kPyramidTile - 1) / kPyramidTile, plane.need_x);
  const int bottom =
      min((max(y1 - plane.first, 0) + kPyramidTile - 1) / kPyramidTile, plane.need_y);
  const int across = max(right - left, 0), tiles = across * max(bottom - top, 0);
  const uint4 bits = plane.need_bits;
  bool needed = false;

  for (int i = (int)threadIdx.x; i < tiles; i += kPyramidThreads) {
    const uint4 tile = __ldg(plane.need + (top + i / across) * plane.need_x + left + i % across);
    needed |= (tile.x & bits.x) | (tile.y & bits.y) | (tile.z & bits.z) | (tile.w & bits.w);
  }
  return __syncthreads_or(needed) != 0;
}

/* The samples that read coarse samples first..end - 1 are this many of these away at most. Eights
 * of low taps read more rows than they need; what zeros multiply there must be numbers too. */
constexpr int kPyramidReach = 3;
constexpr int kPyramidSpill = 2 * kPyramidLowRows;

__device__ inline int cf_first_reader(const CfPyramidLine &line, int first, int spill)
{
  return (first - kPyramidReach - spill) * line.factor;
}

__device__ inline int cf_end_of_readers(const CfPyramidLine &line, int end, int spill)
{
  return (end + kPyramidReach + spill) * line.factor;
}

/* The row of `low` that is made first. */
__host__ __device__ inline int cf_first_eight(const CfPyramidPlane &plane)
{
  return plane.coarse_first & ~(kPyramidLowRows - 1);
}

__host__ __device__ constexpr int cf_log2(int factor)
{
  return factor >= 8 ? 3 : factor >= 4 ? 2 : factor >= 2 ? 1 : 0;
}

/* The first coarse sample that phase `p` reads, from that of its cell. */
__device__ inline int cf_spline_first(int factor, int p)
{
  return factor == 1 ? 0 : 2 * p < factor ? -2 : -1;
}

/* 4 samples into 4 sums that lie one sample apart; the taps and the 4 before them. */
__device__ inline void cf_pyramid_accumulate(float (&sum)[4], const float (&sample)[4],
                                             const float4 &before, const float4 &taps)
{
  const float tap[8] = {before.x, before.y, before.z, before.w, taps.x, taps.y, taps.z, taps.w};

#pragma unroll
  for (int i = 0; i < 4; i++) {
#pragma unroll
    for (int o = 0; o < 4; o++)
      sum[o] = fmaf(sample[i], tap[4 + i - o], sum[o]);
  }
}

/* The low taps after 4 zeros, in shared memory. Ends with a barrier. */
__device__ inline void cf_share_low_taps(const CfPyramidLine &line, float *shared)
{
  for (int i = (int)threadIdx.x; i < 4 + 4 * line.low_groups; i += kPyramidThreads)
    shared[i] = i < 4 ? 0.0f : line.low[i - 4];
  __syncthreads();
}

/* What follows the samples' size: the type of the samples between columns and rows. Halves cost up
 * to 0.06 codes of 255 each, of which the row prefilter leaves next to nothing. */
template <typename Sample> struct CfPyramidKind;

template <> struct CfPyramidKind<uint8_t> {
  typedef uint32_t Word;
  typedef __half Store;
  static constexpr int kCells = kPyramidCells;
};

template <> struct CfPyramidKind<uint16_t> {
  typedef uint2 Word;
  typedef float Store;
  static constexpr int kCells = kPyramidCellsWide;
};

/* Without decimation the only prefilter tap is 1. */
template <typename Sample, int D>
constexpr int kPyramidCellsOf = D == 1 ? 1 : CfPyramidKind<Sample>::kCells;
