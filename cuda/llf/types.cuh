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
  int shift;         /* bits below the significant ones */
  int subsampling_x, subsampling_y;
  Colour colour;
  bool wide; /* 2-byte samples */
};

/* In pictures of up to four million pixels the chain of coarse levels is most of what a frame waits
 * for, in larger ones the work on the finest levels. */
inline bool is_large(const Pixels &pixels)
{
  return (long long)pixels.width * pixels.height > 4000000;
}

/* --- pyramids --- */

struct Level {
  int width, height;
  uint4 *groups;    /* component pairs, [y][x][group] */
  float *gauss;     /* the Gaussian pyramid of the intensities */
  float *collapsed; /* what this level and the coarser ones add up to */
};

/* The strips in which levels 1 and 2 are made at once: `across` in a row, each `width` x `rows`
 * pixels of level 2, and a word for each that is not 0 when it is there. Of several groups of
 * components those of the first come first. Without `done` they are there when their kernel has
 * ended. */
struct Strips {
  unsigned *done;
  int across, count, width, rows;
};

/* What all strips have at least. */
constexpr int LEAST_STRIP_WIDTH = 21, LEAST_STRIP_ROWS = 3;

struct Pyramid {
  int images;
  int groups;                     /* 16-byte groups of one pixel */
  Level level[CF_LLF_MAX_IMAGES]; /* level[0] has no memory */
  __half *cells[2];               /* on tensor cores, the terms of levels 0 and 1 */
  unsigned *coarse_begun;         /* on tensor cores, not 0 once all levels' components are made
                                     that others than the coarse levels' kernel make */
  unsigned *strips_done;          /* on tensor cores, for Strips */
  unsigned *ended;                /* on tensor cores, blocks that somebody waits for */
};

/* The sine series in single precision. */
struct Series {
  float turn;   /* phase of the first harmonic in turns per full scale */
  float linear; /* coefficient of the linear term */
  float b[CF_LLF_MAX_HARMONICS];
};

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

/* All kernels here begin with pdl_trigger_then_wait(), so each may be launched before the one in
 * front of it has ended, where the GPU can (`overlaps`). The first of a frame must not: what comes
 * before it in the stream is not ours. With `beside`, those that can do not wait for the one in
 * front of them but work beside it: see pdl_wait_then_trigger(). */
struct Queue {
  cudaStream_t stream;
  bool overlaps, started, beside;
  CfStatus *status;
  int left; /* multiprocessors that kernels `beside` others leave to the coarse levels */
  /* Where it is not NULL, blocks that end count there, and `awaited` is how many will. */
  unsigned *ended;
  int awaited;
};

template <typename... Parameters, typename... Arguments>
bool launch_with(Queue *queue, const char *name, void (*kernel)(Parameters...), dim3 grid,
                 dim3 block, size_t shared_bytes, int cluster, Arguments... arguments)
{
  Launch how = {};

  how.grid = grid;
  how.block = block;
  how.shared_bytes = shared_bytes;
  how.stream = queue->stream;
  how.dependent = queue->overlaps && queue->started;
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

/* Components of the intensities, reduced to level 1, with the Gaussian's level 1. Where level 1 is
 * the last, its collapsed image is top_gain times the Gaussian. */
bool analyse(Queue *queue, const Pixels &pixels, const Series &series, const Pyramid &pyramid,
             float top_gain);
bool analyse(Queue *queue, const Pixels &pixels, const Samples &samples, const Pyramid &pyramid,
             float top_gain);

/* Level `fine` + 1 from level `fine` >= 1, as above. */
bool reduce(Queue *queue, const Pyramid &pyramid, int fine, float top_gain);
bool reduce_samples(Queue *queue, const Pyramid &pyramid, int fine, float top_gain);

/* Collapsed level `fine` >= 1 from the coarser one and the components of both. */
bool expand(Queue *queue, const Pyramid &pyramid, int fine, const Series &series);

/* Level 0 and colour, to the destination. */
bool finish(Queue *queue, const Pixels &pixels, const Series &series, const Pyramid &pyramid);

/* All of the coarse levels in one kernel of few blocks: from the components and Gaussian of level
 * `first` to its collapsed image. tail_prepare() says how many blocks the GPU runs together; more
 * than one need `clusters` (sm_90). */
int tail_first_level(const Pyramid &pyramid, int from, int shared_per_block);
bool tail_prepare(bool clusters, int shared_per_block, int *tail_blocks, CfStatus *status);
bool tail(Queue *queue, int tail_blocks, const Pyramid &pyramid, int first, const Series &series);

/* Blocks of that kernel at the most, each of which fills a multiprocessor; and where two more
 * levels are made in it. */
constexpr int MAX_TAIL_BLOCKS = 16, TWICE_TAIL_BLOCKS = 8;

/* The same on tensor cores (sm_80 and newer), where groups are 1, 2 or 4 and pyramids have at least
 * TENSOR_MIN_IMAGES. */
struct Gpu {
  int multiprocessors, shared_per_multiprocessor, shared_per_block; /* bytes of shared memory */
  bool overlaps; /* has programmatic dependent launch, and clusters */
};

constexpr int TENSOR_MIN_IMAGES = 3;

/* A stream for the chain of coarse levels, and what streams wait for; and how many blocks the
 * kernel of the coarse levels has, alone and where two more levels are made in it, and how many of
 * the latter run at once. */
struct TensorStreams {
  cudaStream_t chain;
  void *analysed, *reduced_once, *reduced, *collapsed;
  int tail_blocks, twice_tail_blocks, twice_room;
};

/* Opens the streams and prepares all kernels, once in a context; close accepts zeros. */
bool tensor_open(const Gpu &gpu, TensorStreams *streams, CfStatus *status);
void tensor_close(TensorStreams *streams);

/* A frame's kernels: those that follow. */
bool tensor_run(Queue *queue, const TensorStreams &streams, const Gpu &gpu, const Pixels &pixels,
                const Series &series, const Pyramid &pyramid);

bool tensor_prepare_analyse(const Gpu &gpu, CfStatus *status);
bool tensor_prepare_reduce(const Gpu &gpu, CfStatus *status);
bool tensor_prepare_twice(const Gpu &gpu, CfStatus *status);
bool tensor_prepare_terms(const Gpu &gpu, CfStatus *status);
bool tensor_prepare_levels(const Gpu &gpu, CfStatus *status);
bool tensor_prepare_tail(const Gpu &gpu, TensorStreams *streams, CfStatus *status);
/* Fills in `strips`, with `done` where level 2 is made of them and they tell that they are there.
 */
bool tensor_analyse(Queue *queue, const Gpu &gpu, const Pixels &pixels, const Series &series,
                    const Pyramid &pyramid, float top_gain, Strips *strips);
/* Whether tensor_analyse() makes level 2 as well. */
bool tensor_analysis_reduces(const Gpu &gpu, const Pixels &pixels, const Pyramid &pyramid);
/* Level `fine` + 1; of level 2 by strips as they come. */
bool tensor_reduce(Queue *queue, const Pyramid &pyramid, int fine, float top_gain,
                   const Strips &strips);

/* Levels `fine` + 1 and + 2 at once, of which the second is not the last. */
bool tensor_reduce_twice(Queue *queue, const Pyramid &pyramid, int fine, float top_gain);

/* What a level adds to the coarser ones depends on its own components and the next level's only:
 * the terms of level 0 and, where they are joined, of level 1, in cells; those of levels first ..
 * last - 1, of level 1 in cells, of others in their collapsed images. Level 0's may take those of
 * levels from 2 on along, from first to last - 1. Where blocks count, those of coarser levels do
 * that what the picture's first rows need is made of. */
bool tensor_terms_are_joined(const Gpu &gpu, const Pixels &pixels, const Pyramid &pyramid);
bool tensor_terms_take_levels(const Gpu &gpu, const Pixels &pixels, const Pyramid &pyramid);
bool tensor_pixel_terms(Queue *queue, const Gpu &gpu, const Pixels &pixels, const Series &series,
                        const Pyramid &pyramid, int first, int last);
bool tensor_level_terms(Queue *queue, const Pyramid &pyramid, int first, int last,
                        const Series &series, int picture_rows);

/* All of the coarse levels in one kernel: from the components and Gaussian of level `first` to its
 * collapsed image. The first level that fits is not below `from`; it is the last where there is
 * nothing to gain. It can make that level itself where another kernel is between it and level 2. */
int tensor_tail_first_level(const Gpu &gpu, int tail_blocks, const Pyramid &pyramid, int from);
bool tensor_tail_makes_first(const Gpu &gpu, int tail_blocks, const Pyramid &pyramid, int first);
bool tensor_tail(Queue *queue, const Gpu &gpu, int tail_blocks, const Pyramid &pyramid, int first,
                 bool makes_first, const Series &series);
/* The same with the two levels before the first one; and whether all of that has room at once. */
bool tensor_twice_fits_tail(const TensorStreams &streams, const Pyramid &pyramid, int first);
bool tensor_twice_and_tail(Queue *queue, const TensorStreams &streams, const Gpu &gpu,
                           const Pyramid &pyramid, int first, const Series &series);

/* Adds the terms of levels 3 to `last`, which is collapsed already, in the place of level 3's
 * Gaussian; where the last is 3 or less it stays. Then the picture, whose first tiles wait for the
 * queue's count, where there is one, and for no kernel's end: so many rows, which need so many of a
 * coarser level, or all. */
bool tensor_collapse(Queue *queue, const Pyramid &pyramid, int last);
int tensor_finish_early_rows(const Gpu &gpu, const Pixels &pixels);
int tensor_finish_needed_rows(int picture_rows, int level);
bool tensor_finish(Queue *queue, const Gpu &gpu, const Pixels &pixels, const Series &series,
                   const Pyramid &pyramid, int last);

/* engine=sampled. Several batches of samples go through the same memory: the levels' collapsed
 * images hold the sum over the batches so far, and the last batch adds the coarser levels.
 * `base` does so for level 0, NULL where there is one batch. */
bool expand_samples(Queue *queue, const Pyramid &pyramid, int fine, const Samples &samples,
                    bool first_batch, bool last_batch);
bool expand_samples_base(Queue *queue, const Pixels &pixels, const Pyramid &pyramid,
                         const Samples &samples, float *base, bool first_batch);
bool finish_samples(Queue *queue, const Pixels &pixels, const Pyramid &pyramid,
                    const Samples &samples, const float *base);

/* Level 0 is `base`, [height][width], plus the expanded level 1. */
bool finish_planes(Queue *queue, const Pixels &pixels, const float *base, const float *collapsed);

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
  int shared_per_block;
  AxisLevel x[CF_LLF_MAX_IMAGES], y[CF_LLF_MAX_IMAGES];
};

/* Allocates and uploads the tables of a picture at full depth; close accepts zeroed tables. */
bool exact_open(int width, int height, int shared_per_block, ExactTables *tables, CfStatus *status);
void exact_close(ExactTables *tables);

/* Scratch that exact_run() needs for `planes` intensity planes: 1, or 3 whose distance is that of
 * the vectors they make. */
size_t exact_scratch_bytes(const CfLlfPyramid &shape, int planes);

/* Filters pixels[0 .. planes - 1]; pixels[0] may be of any colour where planes is 1. */
bool exact_run(Queue *queue, const ExactTables &tables, const CfLlfPyramid &shape,
               const Pixels *pixels, int planes, const Curve &curve, void *scratch);

} // namespace cf::llf
