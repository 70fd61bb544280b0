/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the rooms of the CUDA local Laplacian filter share: pictures as intensities, pyramid
 * levels, the queue that kernels are put on, and the launchers of each room.
 *
 * The filter is a sum of separable terms: component images c_k(I), reduced to every level, times
 * weights that depend on the intensity of the pixel written. For engine=fast the components are
 * the sines and cosines of the series, for engine=sampled the remapping curves about the sampled
 * intensities; pairs of components travel as words of two halves, four pairs as one 16-byte group,
 * and an image of them is uint4[y][x][group].
 */
#pragma once

#include "cuda/common/context.cuh"
#include "cuda/common/launch.cuh"
#include "cuda/llf/frame_plan.h"
#include "cuda/llf/tuning.h"

#include <cuda_fp16.h>

extern "C" {
#include "plan/llf_plan.h"
}

namespace cf::llf
{

/* --- pictures --- */

struct Channel {
  const uint8_t *from; /* the channel's first sample */
  uint8_t *to;
  ptrdiff_t from_stride, to_stride; /* bytes */
};

/* How what is not filtered follows what is. */
enum class Colour {
  SINGLE, /* one channel is filtered, nothing follows */
  CHROMA, /* luma is filtered, two chroma channels follow its gain */
  RGB,    /* the luma of three channels is filtered, they follow */
};

/* One image to filter: intensity = bias + sum of weight[c] * code[c]. */
struct Pixels {
  int width, height;
  Channel channel[3]; /* filtered; luma, chroma, chroma; or red, green, blue */
  int step[3];        /* samples from one pixel to the next */
  Channel extra;      /* alpha or padding, copied along; from = NULL if there is none */
  int extra_step;
  float weight[3], bias;
  float offset, scale; /* code = offset + scale * intensity, of the filtered channels */
  float max_code;
  float chroma_centre;
  float most_chroma; /* follows: so many codes from the centre, times luma + CF_LLF_GAIN_EPSILON */
  float chroma_unit; /* the intensity of a code of chroma */
  /* protect: of what is left to an end, and without it room for everything. */
  float most_of_room, free_room;
  float strength;
  int shift; /* bits below the significant ones */
  int subsampling_x, subsampling_y;
  Colour colour;
  bool wide; /* 2-byte samples */
};

/* --- pyramids --- */

struct Level {
  int width, height;
  uint4 *groups;    /* component pairs, [y][x][group] */
  float *gauss;     /* the Gaussian pyramid of the intensities */
  float *collapsed; /* what this level and the coarser ones add up to */
};

/* A level's weights, one a cell (CfLlfWeights), in rows of so many blocks. */
struct CellWeights {
  int across, down, pitch;
  __half *plane; /* NULL where there are none */

  __host__ __device__ uint32_t index(int x, int y) const
  {
    return (uint32_t)y * (uint32_t)(2 * pitch) + (uint32_t)x;
  }
};

/* Of a level of this size, without a plane: rows are whole pieces of 8 bytes. */
inline CellWeights cell_weights(int width, int height)
{
  const int across = cf_llf_weight_blocks(width);

  return {across, cf_llf_weight_blocks(height), (across + 1) / 2 * 2, nullptr};
}

/* What CTAs of a frame's grids on tensor cores tell those of later ones (grid_flags.cuh), a cache
 * line each. The first kernel resets it. */
struct Progress {
  alignas(128) unsigned coarse_inputs_ready; /* not 0 once all levels' components are made that
                                                others than the coarse levels' kernel make */
  alignas(128) unsigned moments_made;        /* CTAs that have made moments beside other kernels */
};

struct Pyramid {
  int images;
  int groups;                     /* 16-byte groups of one pixel */
  Level level[CF_LLF_MAX_IMAGES]; /* level[0] has no memory */
  int weighted;                   /* levels: the others' have no plane */
  CellWeights weights[CF_LLF_WEIGHTED_LEVELS];
  float2 *moments[CF_LLF_WEIGHTED_LEVELS]; /* of their blocks */
  bool picture_measured;                   /* level 0's are made with levels 1 and 2 */
  float last_share;                        /* CfLlfPyramid */
  __half *cells[2];   /* on tensor cores, coefficients of levels 0 and 1: tiled_fp16.cuh */
  Progress *progress; /* on tensor cores */
};

/* The sine series in single precision. */
struct Series {
  float turn;   /* phase of the first harmonic in turns per full scale */
  float linear; /* coefficient of the linear term */
  float b[CF_LLF_MAX_HARMONICS];
};

/* What a level that has been collapsed becomes: share times it plus `gauss` times its Gaussian. */
struct Settling {
  float share, gauss;
};

/* Of the last level without a weight its share counts, and the first such level takes over the
 * linear part. */
inline Settling settling_of(const Pyramid &pyramid, float linear, int level)
{
  const bool last = level == pyramid.images - 2 && level >= pyramid.weighted;
  const float share = last ? pyramid.last_share : 1.0f;

  return Settling{share, (share - 1.0f) * linear +
                             (level > 0 && level == pyramid.weighted ? linear : 0.0f)};
}

/* The remapping curve: sigma (|d| / sigma)^alpha, blended with |d| below the noise floor, is
 * exp2 (alpha log2 |d| + detail_gain), and beta |d| + tone_offset beyond sigma. What the blend
 * lacks is saturate (noise_slope |d| + noise_offset): 1 up to the floor, 0 from its double on. */
struct Curve {
  float sigma, alpha, beta, detail_gain, tone_offset, noise_slope, noise_offset;
};

/* The samples first .. first + count - 1 of `levels` sampled intensities. Interpolation is exact
 * for the linear part (1 + linear) d of the curve, which therefore goes the way of the series'.
 * What is left is stored as whole numbers, `units` of them to 1. */
struct Samples {
  int first, count, levels;
  float linear, units;
  Curve curve;
};

/* --- kernels in stream order --- */

struct Gpu {
  int multiprocessors;
  int shared_per_block; /* bytes of shared memory that a CTA may have */
  bool overlaps;        /* has programmatic dependent launch, and clusters */
  int cluster_ctas;     /* of the coarse levels on tensor cores at most: mma_open() */
};

/* All kernels here begin with pdl_trigger_then_wait(), so each may be launched before the one in
 * front of it has ended, where the GPU can (`overlaps`). The first of a frame must not: what comes
 * before it in the stream is not ours. */
struct Queue {
  cudaStream_t stream;
  Gpu gpu;
  bool started;
  CfStatus *status;
};

/* Bytes of shared memory that a CTA has unless its kernel allows more. That limit belongs to the
 * kernel, not to a state, so it is always the same: all there is. */
constexpr size_t kPlainSharedBytes = 48 * 1024;

template <typename... Parameters, typename... Arguments>
bool launch_with(Queue *queue, const char *name, void (*kernel)(Parameters...), dim3 grid,
                 dim3 block, size_t shared_bytes, int cluster, Arguments... arguments)
{
  Launch how = {};

  if (shared_bytes > kPlainSharedBytes &&
      !cf_cuda_ok(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       queue->gpu.shared_per_block),
                  name, queue->status))
    return false;
  how.grid = grid;
  how.block = block;
  how.shared_bytes = shared_bytes;
  how.stream = queue->stream;
  how.dependent = queue->gpu.overlaps && queue->started;
  how.cluster = cluster;
  queue->started = true;
  return cf::launch(how, name, queue->status, kernel, arguments...);
}

template <typename... Parameters, typename... Arguments>
bool launch(Queue *queue, const char *name, void (*kernel)(Parameters...), dim3 grid, dim3 block,
            size_t shared_bytes, Arguments... arguments)
{
  return launch_with(queue, name, kernel, grid, block, shared_bytes, 1, arguments...);
}

/* All blocks are one cluster. */
template <typename... Parameters, typename... Arguments>
bool launch_cluster(Queue *queue, const char *name, void (*kernel)(Parameters...), int blocks,
                    int threads, size_t shared_bytes, Arguments... arguments)
{
  return launch_with(queue, name, kernel, dim3(blocks), dim3(threads), shared_bytes, blocks,
                     arguments...);
}

inline int blocks(int items, int per_block)
{
  return (items + per_block - 1) / per_block;
}

/* --- launchers; all return false with the queue's status filled --- */

/* engine=sampled may take several batches, which go through the same memory: the levels' collapsed
 * images hold the sum over the batches so far, and the last batch adds the coarser levels. `base`
 * does so for level 0, NULL where there is one batch, as always of a series. */
struct Batch {
  bool first, last;
  float *base;
};

/* For every GPU, with Components = Series or Samples. */

/* Components of the intensities, reduced to level 1, with the Gaussian's level 1. Where level 1 is
 * the last, its collapsed image is top_gain times the Gaussian. */
template <typename Components>
bool analyse(Queue *queue, const Pixels &pixels, const Components &components,
             const Pyramid &pyramid, float top_gain);

/* Level `fine` + 1 from level `fine` >= 1, as above. */
template <typename Components>
bool reduce(Queue *queue, const Components &components, const Pyramid &pyramid, int fine,
            float top_gain);

/* Collapsed level `fine` >= 1 from the coarser one and the components of both. */
template <typename Components>
bool expand(Queue *queue, const Components &components, const Batch &batch, const Pyramid &pyramid,
            int fine);

/* Level 0 and colour, to the destination; of a batch that is not the last, to its base. */
template <typename Components>
bool finish(Queue *queue, const Pixels &pixels, const Components &components, const Batch &batch,
            const Pyramid &pyramid);

/* The moments of all levels that have weights, from the picture and the Gaussians; the weights,
 * from the moments. With `beside` they run beside earlier kernels, as those of cuda/llf/README.md.
 */
bool make_moments(Queue *queue, const Pixels &pixels, const Pyramid &pyramid, bool beside);
bool make_weights(Queue *queue, const CfLlfWeights &weighting, const Pyramid &pyramid, bool beside);

/* On tensor cores the linear part of weighted levels: linear times the Laplacian coefficients of
 * the picture is added to theirs, and the first level without weights is settled. */
bool add_linear_terms(Queue *queue, const Pixels &pixels, const Series &series,
                      const Pyramid &pyramid);

/* --- engine=fast on tensor cores (sm_80 and newer): cuda/llf/README.md --- */

/* The smallest pyramid that these kernels take, and groups of components of a pixel. */
constexpr int kMmaMinImages = 4, kMmaGroups = 2;

/* The last kernel begins at this level at the coarsest. */
constexpr int kOutputLevel = 4;

/* Bytes of shared memory that a CTA may have on all GPUs from sm_80 on. */
constexpr int kMinSharedBytes = 99 * 1024;

/* What numbers the rows of level 0's LUT: 8-bit codes, codes of up to 10 bits, codes of 16 bits
 * from black to white, or the luma of 8-bit RGB, which is rounded to the LUT's rows everywhere but
 * in the term that is linear in it. Others have none. */
enum class LutKind { kU8, kU10, kU16, kRgbLuma, kNone };

/* A LUT of codes needs a code for black. */
inline LutKind lut_kind_of(const Pixels &pixels)
{
  if (pixels.colour == Colour::RGB)
    return pixels.wide ? LutKind::kNone : LutKind::kRgbLuma;
  if (pixels.max_code == 65535.0f && pixels.scale == 65535.0f && pixels.colour == Colour::SINGLE)
    return LutKind::kU16;
  if (pixels.max_code >= 1024.0f || pixels.offset != (float)(int)pixels.offset)
    return LutKind::kNone;
  return pixels.wide ? LutKind::kU10 : LutKind::kU8;
}

/* Whether these kernels take a picture: its intensities index a LUT (codes of up to 10 bits, one of
 * which is black, of 16 bits, or the luma of 8-bit RGB) and there are at most 8 harmonics. Of fewer
 * the coefficients of the rest are 0, whose components are exactly 0 on every level. */
bool mma_serves(const Gpu &gpu, const Pixels &pixels, int harmonics);

/* Finds how many CTAs the coarse levels' cluster may have: 1 where the GPU has no clusters or none
 * with so much shared memory. Once in a context. */
bool mma_open(Gpu *gpu, CfStatus *status);

/* The plan of a frame. Of `pyramid` only the sizes count. */
FramePlan plan_frame(const Gpu &gpu, const Pixels &pixels, const Pyramid &pyramid);

/* The plan in at most 63 characters, for algorithm(). */
void describe_plan(const Gpu &gpu, const Pixels &pixels, const Pyramid &pyramid, int harmonics,
                   char text[64]);

/* Enqueues a frame's kernels. */
bool mma_run(Queue *queue, const Pixels &pixels, const Series &series,
             const CfLlfWeights &weighting, const Pyramid &pyramid);

/* mma_run()'s parts in stream order. Where a level is the last of all, its collapsed image is
 * top_gain times its Gaussian. */

/* Components and Gaussians of levels 1 and 2, from the picture. */
bool mma_build_levels_1_2(Queue *queue, const FramePlan &plan, const Pixels &pixels,
                          const Series &series, const Pyramid &pyramid, float top_gain);

/* Those of level `fine` + 1, from level `fine` >= 2. */
bool mma_downsample(Queue *queue, const Pyramid &pyramid, int fine, float top_gain);

/* Those of levels `fine` + 1 and + 2, of which the second is not the last. */
bool mma_downsample_x2(Queue *queue, const Pyramid &pyramid, int fine, float top_gain);

/* From the components and Gaussian of level plan.coarse_first_level to its collapsed image, in one
 * cluster. */
bool mma_coarse_levels(Queue *queue, const FramePlan &plan, const Pyramid &pyramid,
                       const Series &series);

/* The first level from `from` on with which that fits; the last image where none does. */
int mma_coarse_first_level(const Gpu &gpu, int cluster_ctas, const Pyramid &pyramid, int from);

/* The Laplacian coefficients of levels 0 and 1, in tiles of 8 x 4 (tiled_fp16.cuh); of levels 2 ..
 * last - 1, in `collapsed`. A level's need its own components and the next level's. */
bool mma_laplacian_fine(Queue *queue, const FramePlan &plan, const Pixels &pixels,
                        const Series &series, const Pyramid &pyramid);
bool mma_laplacian_coarse(Queue *queue, const FramePlan &plan, const Pyramid &pyramid, int last,
                          const Series &series);

/* The picture, from the coefficients of levels below `last` <= kOutputLevel and that level's
 * collapsed image. */
bool mma_output(Queue *queue, const Pixels &pixels, const Series &series, const Pyramid &pyramid,
                int last);

/* Level 0 is `base`, [height][width], plus the expanded level 1, of which the picture gets a share.
 */
bool finish_planes(Queue *queue, const Pixels &pixels, const float *base, const float *collapsed,
                   float share);

/* --- engine=exact --- */

/* One axis of a level: what its samples are made of. Sample i of the reduced image, and the same
 * place of the next level expanded, are sums over counts[i % 2] samples of level 0 from first[i]
 * on, weighted by .x and .y. */
struct AxisLevel {
  int size;
  int counts[2]; /* of even and of odd samples */
  int count;     /* weights of a sample that there is room for */
  int span;      /* of level 0, what a block's samples need together */
  const int *first;
  const float2 *weight; /* [i][tap], or for the x axis of the first levels [tap][i % 2][i / 2] */
};

struct ExactTables {
  void *memory; /* device */
  AxisLevel x[CF_LLF_MAX_IMAGES], y[CF_LLF_MAX_IMAGES];
};

/* Allocates and uploads the tables of a picture at full depth; close accepts zeroed tables. */
bool exact_open(int width, int height, ExactTables *tables, CfStatus *status);
void exact_close(ExactTables *tables);

/* Scratch that exact_run() needs for `planes` intensity planes: 1, or 3 whose distance is that of
 * the vectors they make. */
size_t exact_scratch_bytes(const CfLlfPyramid &shape, int planes);

/* Filters pixels[0 .. planes - 1]; pixels[0] may be of any colour where planes is 1. */
bool exact_run(Queue *queue, const ExactTables &tables, const CfLlfPyramid &shape,
               const Pixels *pixels, int planes, const Curve &curve, void *scratch);

} // namespace cf::llf
