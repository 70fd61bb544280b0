/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the files of the CUDA local Laplacian filter share: pictures as intensities, pyramid levels,
 * the queue that kernels are launched through, and each file's launchers.
 *
 * The filter is a sum of separable terms: component images c_k(I), reduced to every level, times
 * factors that depend on the intensity of the output pixel. For engine=fast the components are the
 * sines and cosines of the series, for engine=sampled the remapping curves about the sampled
 * intensities. Two components (a pair) share a 32-bit word, as two fp16 numbers or two 16-bit
 * integers; four pairs form a 16-byte group. A component image is uint4[y][x][group].
 */
#pragma once

#include "cuda/common/context.cuh"
#include "cuda/common/launch.cuh"
#include "cuda/llf/frame_plan.h"
#include "cuda/llf/tuning.h"

#include <algorithm>
#include <cuda_fp16.h>

extern "C" {
#include "plan/llf_plan.h"
}

namespace cf::llf
{

/* ---- Pictures ---- */

struct Channel {
  const uint8_t *from; /* the channel's first sample */
  uint8_t *to;
  ptrdiff_t from_stride, to_stride; /* bytes */
};

/* How the other channels follow the filtered one. */
enum class Colour {
  SINGLE, /* one channel is filtered, nothing follows */
  CHROMA, /* luma is filtered, two chroma channels follow its gain */
  RGB,    /* the luma of three channels is filtered, they follow */
};

/* One image to filter: intensity = bias + sum of weight[c] * code[c]. */
struct Pixels {
  int width, height;
  Channel channel[3]; /* SINGLE: [0]; CHROMA: luma, blue and red chroma; RGB: red, green, blue */
  int step[3];        /* samples from one pixel of a channel to the next */
  Channel extra;      /* alpha or padding, which is copied; from = NULL if there is none */
  int extra_step;
  float weight[3], bias;
  float offset, scale; /* of the filtered channels: code = offset + scale * intensity */
  float max_code;
  float chroma_centre;
  float most_chroma; /* codes: chroma follows up to most_chroma * (luma + CF_LLF_GAIN_EPSILON) */
  float chroma_unit; /* intensity per code of chroma */
  float red_of_red, blue_of_blue, green_of_blue, green_of_red; /* CfLlfColours, per code */
  /* protect: a value may change by most_of_room * (its distance to black or white) + free_room.
   * Without protect free_room is more than any change. */
  float most_of_room, free_room;
  float strength;
  int shift; /* unused bits below a sample's code */
  int subsampling_x, subsampling_y;
  Colour colour;
  bool wide; /* 2-byte samples */
};

/* ---- Pyramids ---- */

struct Level {
  int width, height;
  uint4 *groups;    /* components, [y][x][group] */
  float *gauss;     /* Gaussian pyramid of the intensities, G_l of plan/llf_plan.h */
  float *collapsed; /* D_l or E_l of plan/llf_plan.h: this level plus the coarser ones, expanded */
};

/* The weights of a level, one per cell of 2 x 2 samples (CfLlfWeights): a block has 2 x 2 cells. */
struct CellWeights {
  int across, down, pitch; /* blocks; pitch: of a row in memory */
  __half *plane;           /* NULL: the level has no weights */

  /* Of cell (x, y). */
  __host__ __device__ uint32_t index(int x, int y) const
  {
    return (uint32_t)y * (uint32_t)(2 * pitch) + (uint32_t)x;
  }
};

/* The layout for a level of this size, without a plane. Rows of cells are multiples of 8 bytes. */
inline CellWeights cell_weights(int width, int height)
{
  const int across = cf_llf_weight_blocks(width);

  return {across, cf_llf_weight_blocks(height), (across + 1) / 2 * 2, nullptr};
}

struct Pyramid {
  int images;
  int groups;                     /* 16-byte groups of one pixel */
  Level level[CF_LLF_MAX_IMAGES]; /* level[0] has no memory */
  int weighted;                   /* levels 0..weighted - 1 have weights */
  CellWeights weights[CF_LLF_WEIGHTED_LEVELS];
  float2 *moments[CF_LLF_WEIGHTED_LEVELS]; /* mean and mean square of their blocks */
  bool builds_moments;                     /* mma_build_levels_1_2() computes those of level 0 */
  float last_share;                        /* CfLlfPyramid */
  /* Only on tensor cores. */
  __half *tiled[2]; /* coefficients of levels 0 and 1: tiled_fp16.cuh */
  /* The flag (grid_flags.cuh) that components up to coarse_first_level and moments are complete.
   * The frame's first kernel resets it. */
  unsigned *coarse_inputs_ready;
};

/* The sine series in single precision. */
struct Series {
  float turn;   /* frequency of the first harmonic, in turns per full scale */
  float linear; /* coefficient of the linear term */
  float b[CF_LLF_MAX_HARMONICS];
};

/* The Gaussian terms of plan/llf_plan.h: a level's collapsed image is replaced by
 * share * collapsed + gauss * Gaussian. */
struct GaussianMix {
  float share, gauss;
};

/* share < 1: the last Laplacian level, if it has no weights and `reach` ends in it. The first level
 * without weights takes over the linear part of the weighted ones. */
inline GaussianMix gaussian_mix_of(const Pyramid &pyramid, float linear, int level)
{
  const bool last = level == pyramid.images - 2 && level >= pyramid.weighted;
  const float share = last ? pyramid.last_share : 1.0f;

  return GaussianMix{share, (share - 1.0f) * linear +
                                (level > 0 && level == pyramid.weighted ? linear : 0.0f)};
}

/* The remapping curve r (|d|). Up to sigma: sigma (|d| / sigma)^alpha, computed as
 * exp2 (alpha log2 |d| + detail_gain), and blended with |d| around the noise floor, where the share
 * of |d| follows from saturate (noise_slope |d| + noise_offset): 1 up to the floor, 0 from its
 * double on. Beyond sigma: beta |d| + tone_offset. */
struct Curve {
  float sigma, alpha, beta, detail_gain, tone_offset, noise_slope, noise_offset;
};

/* One batch of engine=sampled: samples first..first + count - 1 of `levels` sampled intensities.
 * The linear part (1 + linear) d of the curve is treated as that of the series, since interpolation
 * between samples is exact for it. The rest of the curve is stored in 16-bit integers, in steps of
 * 1 / units. */
struct Samples {
  int first, count, levels;
  float linear, units;
  Curve curve;
};

/* ---- Kernels in stream order ---- */

struct Gpu {
  int multiprocessors;
  int shared_per_block; /* the most shared memory of a CTA, in bytes */
  bool overlaps;        /* sm_90 and newer: programmatic dependent launch, and clusters */
  int cluster_ctas;     /* the most CTAs of the coarse levels' cluster: mma_open() */
};

/* The stream of one frame. Every kernel here synchronises by pdl.cuh, so each is launched with
 * programmatic dependent launch where the GPU has it (`overlaps`). The first of a frame is not: it
 * must not start before work in the stream that is not the filter's has ended. */
struct Queue {
  cudaStream_t stream;
  Gpu gpu;
  bool started;        /* a kernel of this frame has been launched */
  bool sets_carveouts; /* prefer_carveout() has an effect */
  CfStatus *status;
};

/* The shared memory that a CTA may have without cudaFuncSetAttribute(). That attribute belongs to
 * the kernel, which all states share, so it is always set to the GPU's maximum. */
constexpr size_t kPlainSharedBytes = 48 * 1024;

/* The shared memory that a CTA occupies beyond its own, in bytes. */
constexpr size_t kSharedOverhead = 1024;

/* The carveout, in percent, of `bytes` of shared memory per SM; the rest is L1 cache. */
inline int carveout_of(const Gpu &gpu, size_t bytes)
{
  const size_t most = (size_t)gpu.shared_per_block + kSharedOverhead;
  return (int)std::min<size_t>(100, (100 * bytes + most - 1) / most);
}

/* See cf::prefer_carveout(). */
template <typename... Parameters>
bool prefer_carveout(Queue *queue, const char *name, void (*kernel)(Parameters...), int percent)
{
  return !queue->sets_carveouts ||
         cf::prefer_carveout((const void *)kernel, percent, name, queue->status);
}

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

/* ---- Launchers; where one fails, it returns false with the queue's status filled ---- */

/* engine=sampled may need several batches, which use the same memory: the levels' collapsed images
 * accumulate the coefficients of all batches so far, and the last batch adds the coarser levels.
 * `base`, [height][width], does the same for level 0. */
struct Batch {
  bool first, last;
  float *base;
};

/* The next four run on every GPU, with Components = Series or Samples. */

/* Level 1's components and Gaussian, from the picture. Where level 1 is the coarsest, its collapsed
 * image becomes top_gain times its Gaussian. */
template <typename Components>
bool build_level_1(Queue *queue, const Pixels &pixels, const Components &components,
                   const Pyramid &pyramid, float top_gain);

/* The same for level `fine` + 1, from level `fine` >= 1. */
template <typename Components>
bool reduce_level(Queue *queue, const Components &components, const Pyramid &pyramid, int fine,
                  float top_gain);

/* Collapses level `fine` >= 1: from the coarser collapsed image, and the components of both. */
template <typename Components>
bool collapse_level(Queue *queue, const Components &components, const Batch &batch,
                    const Pyramid &pyramid, int fine);

/* Makes batch.base, or adds to it; after the last batch collapses level 0, and writes the picture
 * with its colours. */
template <typename Components>
bool write_output(Queue *queue, const Pixels &pixels, const Components &components,
                  const Batch &batch, const Pyramid &pyramid);

/* The moments of all levels that have weights, from the picture and the Gaussians; the weights,
 * from the moments. With `beside` they run concurrently with earlier kernels: cuda/llf/README.md.
 */
bool make_moments(Queue *queue, const Pixels &pixels, const Pyramid &pyramid, bool beside);
bool make_weights(Queue *queue, const CfLlfWeights &weighting, const Pyramid &pyramid, bool beside);

/* On tensor cores, the linear part of the weighted levels: adds series.linear times the Laplacian
 * coefficients of the picture to theirs, and the Gaussian term to the first level without weights.
 */
bool add_linear_terms(Queue *queue, const Pixels &pixels, const Series &series,
                      const Pyramid &pyramid);

/* ---- engine=fast on tensor cores (sm_80 and newer): cuda/llf/README.md ---- */

/* The fewest images of a pyramid that these kernels filter, and the groups per pixel: 8 harmonics.
 */
constexpr int kMmaMinImages = 4, kMmaGroups = 2;

/* The coarsest level that the output kernel can start from. */
constexpr int kOutputLevel = 4;

/* Shared memory that a CTA may have on every GPU from sm_80 on, in bytes. */
constexpr int kMinSharedBytes = 99 * 1024;

/* What indexes level 0's LUT: 8-bit codes, codes of up to 10 bits, full-range codes of 16 bits, or
 * the luma of 8-bit RGB, which is rounded to the LUT's entries everywhere but in the filter's
 * linear term. kNone: pictures without a LUT. */
enum class LutKind { kU8, kU10, kU16, kRgbLuma, kNone };

/* Black must be a whole code. */
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

/* Whether these kernels can filter a picture: it has a LUT, and there are at most 8 harmonics.
 * Where there are fewer, the components of the missing ones are exactly 0 on every level. */
bool mma_serves(const Gpu &gpu, const Pixels &pixels, int harmonics);

/* Sets gpu->cluster_ctas: 1 where the GPU has no clusters, or none with the shared memory that the
 * coarse levels need. Once per context. */
bool mma_open(Gpu *gpu, CfStatus *status);

/* The plan of a frame; reads only the sizes of `pyramid`. */
FramePlan plan_frame(const Gpu &gpu, const Pixels &pixels, const Pyramid &pyramid);

/* The plan as text of at most 63 characters, for algorithm(). */
void describe_plan(const Gpu &gpu, const Pixels &pixels, const Pyramid &pyramid, int harmonics,
                   char text[64]);

/* Enqueues a frame's kernels. */
bool mma_run(Queue *queue, const Pixels &pixels, const Series &series,
             const CfLlfWeights &weighting, const Pyramid &pyramid);

/* The steps of mma_run() in stream order. The collapsed image of the pyramid's coarsest level is
 * top_gain times its Gaussian. */

/* Components and Gaussians of levels 1 and 2, from the picture. */
bool mma_build_levels_1_2(Queue *queue, const FramePlan &plan, const Pixels &pixels,
                          const Series &series, const Pyramid &pyramid, float top_gain);

/* Components and Gaussian of level `fine` + 1, from level `fine` >= 2. */
bool mma_downsample(Queue *queue, const Pyramid &pyramid, int fine, float top_gain);

/* The same for levels `fine` + 1 and `fine` + 2; the latter must not be the coarsest of all. */
bool mma_downsample_x2(Queue *queue, const Pyramid &pyramid, int fine, float top_gain);

/* The collapsed image of level plan.coarse_first_level, from its components and Gaussian, by one
 * cluster. */
bool mma_coarse_levels(Queue *queue, const FramePlan &plan, const Pyramid &pyramid,
                       const Series &series);

/* The finest level, `from` or coarser, that fits the shared memory of such a cluster; the pyramid's
 * coarsest image if none does. */
int mma_coarse_first_level(const Gpu &gpu, int cluster_ctas, const Pyramid &pyramid, int from);

/* The Laplacian coefficients of levels 0 and 1, to `tiled`; of levels 2..last - 1, to `collapsed`.
 * They are computed from the components of the level and of the next coarser one. */
bool mma_laplacian_fine(Queue *queue, const FramePlan &plan, const Pixels &pixels,
                        const Series &series, const Pyramid &pyramid);
bool mma_laplacian_coarse(Queue *queue, const FramePlan &plan, const Pixels &pixels,
                          const Pyramid &pyramid, int last, const Series &series);

/* Writes the picture, from the coefficients of levels 0..last - 1 and the collapsed image of level
 * `last` <= kOutputLevel. */
bool mma_output(Queue *queue, const Pixels &pixels, const Series &series, const Pyramid &pyramid,
                int last);

/* For engine=exact: writes one component. `base`, [height][width], has level 0's coefficients, and
 * `collapsed` level 1; the picture moves by `share` of the way to their sum. */
bool write_plane(Queue *queue, const Pixels &pixels, const float *base, const float *collapsed,
                 float share);

/* ---- engine=exact ---- */

/* The weights of one axis of a level. Sample i of the Gaussian level, and sample i of the next
 * coarser level expanded, are sums over taps[i % 2] samples of level 0, from first[i] on, with
 * weights .x and .y. */
struct AxisLevel {
  int size;
  int taps[2];   /* of even and of odd samples */
  int most_taps; /* weights stored per sample */
  int span;      /* the most samples of level 0 that the samples of one CTA's tile read */
  const int *first;
  const float2 *weight; /* [i][tap], or [tap][i % 2][i / 2] for the x axis of levels in tiles */
};

struct ExactTables {
  void *memory; /* device */
  AxisLevel x[CF_LLF_MAX_IMAGES], y[CF_LLF_MAX_IMAGES];
};

/* Allocates and uploads the tables of a picture at full depth; close accepts zeroed tables. */
bool exact_open(int width, int height, ExactTables *tables, CfStatus *status);
void exact_close(ExactTables *tables);

/* Bytes of scratch for exact_run(). `planes` is 1, or 3 for colour vectors: then the remapping
 * curve applies to the length of a difference. */
size_t exact_scratch_bytes(const CfLlfPyramid &shape, int planes);

/* Filters pixels[0..planes - 1]. With one plane, pixels[0].colour may be any; with three, SINGLE.
 */
bool exact_run(Queue *queue, const ExactTables &tables, const CfLlfPyramid &shape,
               const Pixels *pixels, int planes, const Curve &curve, void *scratch);

} // namespace cf::llf
