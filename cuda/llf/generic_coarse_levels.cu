/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The coarse levels of the local Laplacian filter, down and up again, in one kernel of few blocks:
 * they hold a thousandth of the pixels but most of the steps, whose latency is all they cost. All
 * blocks reduce; then the first makes the smallest levels, in its shared memory, while the others
 * make the terms of the larger ones; and when the terms are there, collapsing is sums of scalars.
 */
#include "cuda/llf/pyramid_ops.cuh"

namespace cf::llf
{
namespace
{

constexpr int THREADS = 1024;

/* More pixels are faster in kernels of their own. */
constexpr int MAX_FIRST_PIXELS = 2100;

/* Levels of no more pixels are left to one block, which keeps them in shared memory. */
constexpr int MAX_SHARED_PIXELS = 100;

/* Blocks of a cluster, as many as a GPU allows of these. */
constexpr int CLUSTERS[] = {16, 8};

struct TailLevel {
  int width, height;
  int first; /* index of its first pixel in shared memory, or -1 */
  uint32_t *pair;
  float *gauss, *collapsed;
};

struct Tail {
  int levels, pairs, pixels; /* in shared memory */
  int last_together;         /* levels up to this one are made by all blocks */
  TailLevel level[CF_LLF_MAX_IMAGES];
};

size_t shared_bytes(const Tail &tail)
{
  return (size_t)tail.pixels * ((size_t)tail.pairs * sizeof(uint32_t) + 2 * sizeof(float));
}

/* In shared memory are the levels that are not made together, but for the first. */
Tail tail_from(const Pyramid &pyramid, int first, bool several)
{
  Tail tail = {};

  tail.levels = pyramid.images - first;
  tail.pairs = 4 * pyramid.groups;
  for (int i = 0; i < tail.levels; i++) {
    const Level &level = pyramid.level[first + i];
    const bool together = several && level.width * level.height > MAX_SHARED_PIXELS;

    if (together)
      tail.last_together = i;
    tail.level[i] = TailLevel{level.width, level.height,   -1, (uint32_t *)level.groups,
                              level.gauss, level.collapsed};
    if (i > tail.last_together) {
      tail.level[i].first = tail.pixels;
      tail.pixels += level.width * level.height;
    }
  }
  return tail;
}

/* Row of pixel `index`; exact for the few thousand pixels here. */
__device__ __forceinline__ int row_of(int index, float reciprocal_width)
{
  return (int)(((float)index + 0.5f) * reciprocal_width);
}

/* The level's pointers, in whichever memory it is. */
__device__ __forceinline__ TailLevel level_at(const Tail &tail, int i, uint32_t *memory)
{
  TailLevel level = tail.level[i];

  if (level.first >= 0) {
    float *const gauss = (float *)(memory + (size_t)tail.pixels * tail.pairs);
    level.pair = memory + (size_t)level.first * tail.pairs;
    level.gauss = gauss + level.first;
    level.collapsed = gauss + tail.pixels + level.first;
  }
  return level;
}

/* Whoever shares the work: LANES threads share a pixel, one pair each; those beyond the pairs add
 * nothing. */
struct Crew {
  int lane, thread, step;
  bool active;
  int from_last, threads; /* one by one, counted from the last */
};

/* All loads of a sum are under way together. The Gaussians are left to threads counted from the
 * last, which have nothing else to do on the coarsest levels. */
__device__ __forceinline__ void reduce_level(const TailLevel &fine, const TailLevel &coarse,
                                             int pairs, const Crew &crew)
{
  const float reciprocal = 1.0f / (float)coarse.width;
  const int count = coarse.width * coarse.height;
  int column[5], row[5];
  auto find_taps = [&](int i) {
    const int y = row_of(i, reciprocal), x = i - y * coarse.width;

#pragma unroll
    for (int k = 0; k < 5; k++) {
      column[k] = mirrored(2 * x - 2 + k, fine.width);
      row[k] = mirrored(2 * y - 2 + k, fine.height) * fine.width;
    }
  };

  for (int i = crew.thread; i < count && crew.active; i += crew.step) {
    float2 rows[5];

    find_taps(i);
#pragma unroll
    for (int k = 0; k < 5; k++) {
      float2 taps[5];
#pragma unroll
      for (int j = 0; j < 5; j++)
        taps[j] = unpack(fine.pair[(row[k] + column[j]) * pairs + crew.lane]);
      rows[k] = reduced(taps[0], taps[1], taps[2], taps[3], taps[4]);
    }
    coarse.pair[i * pairs + crew.lane] = pack(reduced(rows[0], rows[1], rows[2], rows[3], rows[4]));
  }
  for (int i = crew.from_last; i < count; i += crew.threads) {
    float rows[5];

    find_taps(i);
#pragma unroll
    for (int k = 0; k < 5; k++)
      rows[k] = reduced(fine.gauss[row[k] + column[0]], fine.gauss[row[k] + column[1]],
                        fine.gauss[row[k] + column[2]], fine.gauss[row[k] + column[3]],
                        fine.gauss[row[k] + column[4]]);
    coarse.gauss[i] = reduced(rows[0], rows[1], rows[2], rows[3], rows[4]);
  }
}

/* One axis of the expansion: weights of the coarse samples before, at and after a pixel's own. */
__device__ __forceinline__ void expanding_taps(int odd, float taps[3])
{
  taps[0] = odd ? 0.0f : 2 * TAP_EDGE;
  taps[1] = odd ? 2 * TAP_SIDE : 2 * TAP_CENTRE;
  taps[2] = odd ? 2 * TAP_SIDE : 2 * TAP_EDGE;
}

template <typename T>
__device__ __forceinline__ T weighted(const float taps[3], T before, T here, T after)
{
  return sum(sum(scaled(taps[0], before), scaled(taps[1], here)), scaled(taps[2], after));
}

/* The level's terms, in its collapsed image. */
template <int LANES>
__device__ __forceinline__ void make_terms(const TailLevel &fine, const TailLevel &coarse,
                                           int pairs, const Series &series, const Crew &crew)
{
  const float reciprocal = 1.0f / (float)fine.width;
  const int count = fine.width * fine.height, pair = min(crew.lane, pairs - 1);

  /* All threads of a warp go round equally often, for the sums over its lanes. */
  for (int base = 0; base < count; base += crew.step) {
    const int i = min(base + crew.thread, count - 1);
    const int y = row_of(i, reciprocal), x = i - y * fine.width;
    const Neighbours at = neighbours(x >> 1, y >> 1, coarse.width, coarse.height);
    const float2 own = unpack(fine.pair[i * pairs + pair]);
    const float gauss = fine.gauss[i];
    float taps_x[3], taps_y[3], sine, cosine;
    float2 rows[3];

    expanding_taps(x & 1, taps_x);
    expanding_taps(y & 1, taps_y);
#pragma unroll
    for (int k = 0; k < 3; k++) {
      const int row = (int)at.row[k];

      rows[k] = weighted(taps_x, unpack(coarse.pair[(row + at.column[0]) * pairs + pair]),
                         unpack(coarse.pair[(row + at.column[1]) * pairs + pair]),
                         unpack(coarse.pair[(row + at.column[2]) * pairs + pair]));
    }
    const float2 expanded = weighted(taps_y, rows[0], rows[1], rows[2]);
    sincos_turns((float)(pair + 1) * series.turn * gauss, &sine, &cosine);
    float total = crew.active ? cosine * (own.x - expanded.x) - sine * (own.y - expanded.y) : 0.0f;
#pragma unroll
    for (int distance = 1; distance < LANES; distance *= 2)
      total += __shfl_xor_sync(0xffffffffu, total, distance);
    if (crew.lane == 0 && base + crew.thread < count)
      fine.collapsed[i] = total;
  }
}

/* Adds the coarser level, expanded, to the terms; by one block. */
__device__ __forceinline__ void add_coarser(const TailLevel &fine, const TailLevel &coarse)
{
  const float reciprocal = 1.0f / (float)fine.width;

  for (int i = threadIdx.x; i < fine.width * fine.height; i += THREADS) {
    const int y = row_of(i, reciprocal), x = i - y * fine.width;
    const Neighbours at = neighbours(x >> 1, y >> 1, coarse.width, coarse.height);
    const float terms = fine.collapsed[i];
    float taps_x[3], taps_y[3], rows[3];

    expanding_taps(x & 1, taps_x);
    expanding_taps(y & 1, taps_y);
#pragma unroll
    for (int k = 0; k < 3; k++) {
      const float *const row = coarse.collapsed + at.row[k];
      rows[k] = weighted(taps_x, row[at.column[0]], row[at.column[1]], row[at.column[2]]);
    }
    fine.collapsed[i] = terms + weighted(taps_y, rows[0], rows[1], rows[2]);
  }
}

/* Waits for all blocks, which are one cluster. */
__device__ __forceinline__ void await_blocks()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  if (gridDim.x > 1) {
    asm volatile("barrier.cluster.arrive.release.aligned;\n"
                 "barrier.cluster.wait.acquire.aligned;" ::
                     : "memory");
    return;
  }
#endif
  __syncthreads();
}

/* A crew of the blocks from `first` on. */
template <int LANES> __device__ __forceinline__ Crew crew_of(int first, int blocks, int pairs)
{
  const int lane = threadIdx.x % LANES, thread = threadIdx.x / LANES, step = THREADS / LANES;
  const int block = (int)blockIdx.x - first, threads = THREADS * blocks;

  return Crew{lane,
              thread * blocks + block,
              step * blocks,
              lane < pairs,
              threads - 1 - (block * THREADS + (int)threadIdx.x),
              threads};
}

template <int LANES>
__global__ void __launch_bounds__(THREADS)
    tail_kernel(const __grid_constant__ Tail tail, const __grid_constant__ Series series)
{
  extern __shared__ uint32_t memory[];
  const int pairs = tail.pairs, top = tail.levels - 1, last = tail.last_together;
  auto at = [&](int level) { return level_at(tail, level, memory); };

  pdl_trigger_then_wait();
  for (int level = 1; level <= last; level++) {
    reduce_level(at(level - 1), at(level), pairs, crew_of<LANES>(0, (int)gridDim.x, pairs));
    await_blocks();
  }

  if (blockIdx.x > 0) {
    for (int level = 0; level < last; level++)
      make_terms<LANES>(at(level), at(level + 1), pairs, series,
                        crew_of<LANES>(1, (int)gridDim.x - 1, pairs));
  } else {
    const Crew alone = crew_of<LANES>(0, 1, pairs);

    for (int level = last + 1; level <= top; level++) {
      reduce_level(at(level - 1), at(level), pairs, alone);
      __syncthreads();
    }
    for (int level = last; level < top; level++)
      make_terms<LANES>(at(level), at(level + 1), pairs, series, alone);
    const TailLevel coarsest = at(top);
    for (int i = threadIdx.x; i < coarsest.width * coarsest.height; i += THREADS)
      coarsest.collapsed[i] = -series.linear * coarsest.gauss[i];
    for (int level = top - 1; level >= last; level--) {
      __syncthreads();
      add_coarser(at(level), at(level + 1));
    }
  }

  await_blocks();
  if (blockIdx.x > 0)
    return;
  for (int level = last - 1; level >= 0; level--) {
    add_coarser(at(level), at(level + 1));
    __syncthreads();
  }
}

typedef void (*TailKernel)(Tail, Series);

TailKernel kernel_for(int pairs)
{
  return pairs <= 4 ? tail_kernel<4> : pairs <= 8 ? tail_kernel<8> : tail_kernel<16>;
}

} // namespace

/* The first level that fits, not below `from`; or the number of images if there is nothing to
 * gain. */
int tail_first_level(const Pyramid &pyramid, int from, int shared_per_block)
{
  for (int first = from; first < pyramid.images - 1; first++) {
    if (pyramid.level[first].width * pyramid.level[first].height <= MAX_FIRST_PIXELS &&
        shared_bytes(tail_from(pyramid, first, false)) <= (size_t)shared_per_block)
      return first;
  }
  return pyramid.images;
}

/* The limits belong to the kernel, not to a state, so they are always the GPU's. */
bool tail_prepare(bool clusters, int shared_per_block, int *tail_blocks, CfStatus *status)
{
  for (const TailKernel kernel : {kernel_for(4), kernel_for(8), kernel_for(16)}) {
    if (!cf_cuda_ok(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                         shared_per_block),
                    "preparing the coarse levels", status) ||
        (clusters && !cf_cuda_ok(cudaFuncSetAttribute(
                                     kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
                                 "preparing the coarse levels", status)))
      return false;
  }

  *tail_blocks = 1;
  for (const int blocks : CLUSTERS) {
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attribute = cluster_attribute(blocks);
    int fitting = 0;

    if (!clusters || *tail_blocks > 1)
      break;
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(THREADS);
    /* Shared memory for the few levels of one block is next to nothing. */
    config.dynamicSmemBytes = MAX_SHARED_PIXELS * 4 * 16 * sizeof(uint32_t);
    config.attrs = &attribute;
    config.numAttrs = 1;
    if (cudaOccupancyMaxActiveClusters(&fitting, kernel_for(16), &config) == cudaSuccess &&
        fitting > 0)
      *tail_blocks = blocks;
  }
  cudaGetLastError();
  return true;
}

bool tail(Queue *queue, int tail_blocks, const Pyramid &pyramid, int first, const Series &series)
{
  Tail tail = tail_from(pyramid, first, tail_blocks > 1);
  /* A level of few pixels needs no others. */
  const int blocks = tail.last_together > 0 ? tail_blocks : 1;

  if (blocks == 1)
    tail = tail_from(pyramid, first, false);
  return launch_cluster(queue, "llf coarse levels", kernel_for(tail.pairs), blocks, THREADS,
                        shared_bytes(tail), tail, series);
}

} // namespace cf::llf
