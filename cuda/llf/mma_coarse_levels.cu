/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The coarse levels on tensor cores, down and up again, in one kernel: they hold a thousandth of
 * the pixels but most of the steps, whose latency is all they cost. So all of them lie in shared
 * memory, and a step is a product or two a warp.
 *
 * Where the GPU has thread CTA clusters, the finer of these levels are distributed over a cluster
 * by rows. Whoever makes a row stores it in the shared memory of all CTAs that need it. Rank 0 has
 * no such rows: it gathers the first level that is small enough for one CTA, and goes down from
 * there and back up while the others make their levels' terms; they go on from there.
 */
#include "cuda/common/grid_flags.cuh"
#include "cuda/common/int_math.cuh"
#include "cuda/llf/mma_coarse_levels.cuh"
#include "cuda/llf/mma_upsample.cuh"

#include <algorithm>
#include <assert.h>

namespace cf::llf
{
namespace
{

/* The rows of the first level lie side by side here and there. */
__device__ __forceinline__ void load_first(const CoarseLevels &job, const CoarseMemory &memory,
                                           const LocalLevel &level)
{
  const int from = level.rows.first * level.width;
  const int count = (level.rows.end - level.rows.first) * level.width;
  const uint32_t to = memory.address(level, 0, level.rows.first, 0);
  const uint32_t gauss_to = cf::smem_address(memory.gauss + level.base + from);

  for (int i = threadIdx.x; i < count * kGroups; i += kCoarseThreads)
    cp_async<16>(to + i * kGroupBytes, job.groups + from * kGroups + i);
  for (int i = threadIdx.x; i < count; i += kCoarseThreads)
    cf::cp_async_zero_fill<4>(gauss_to + i * (int)sizeof(float), job.gauss + from + i, 4);
  cp_async_commit_and_wait();
}

/* The terms of levels first .. last - 1, none of which depends on another's. */
__device__ __forceinline__ void make_terms(const LocalLevel *levels, int first, int last,
                                           const CoarseMemory &memory,
                                           const HarmonicFrequencies &turn,
                                           const Expansion &expansion)
{
  const int lane = threadIdx.x % 32;
  int strip = threadIdx.x / 32, index = first;

  while (index < last) {
    const LocalLevel &fine = levels[index], &coarse = levels[index + 1];
    const Rows rows = fine.collapsed;
    const int begin = rows.first & ~1;
    const int across = (fine.width + 31) / 32;
    const int strips = is_empty(rows) ? 0 : across * ((rows.end - begin + 3) / 4);

    if (strip >= strips) {
      strip -= strips;
      index++;
      continue;
    }
    const int strip_y = strip / across, x = (strip - strip_y * across) * 32;
    const int y = begin + 4 * strip_y;
    const int coarse_y =
        min(max(y / 2 - 1 + (lane % 8 >> 1), coarse.rows.first), coarse.rows.end - 1);
    const int matrix = lane / 8, pair = matrix & 1;
    const uint32_t coarse_row = memory.address(coarse, 0, coarse_y, matrix >> 1);
    OwnRows own = {reinterpret_cast<const uint32_t *>(memory.components) + lane % 4,
                   memory.gauss,
                   {},
                   x + lane / 4 % 4,
                   fine.width};
    float sum[4];

#pragma unroll
    for (int k = 0; k < 2; k++) {
      const int row = min(max(y + lane / 16 + 2 * k, fine.rows.first), fine.rows.end - 1);

      own.first[k] = (uint32_t)(fine.base + row * fine.width);
    }
    expand_strip(sum, expansion, turn, lane, own, [&](int j, uint32_t *words) {
      const int coarse_x = x / 2 - 1 + 2 * (j + pair) + (lane & 1);

      cf::ldmatrix_x4_trans(*reinterpret_cast<uint32_t(*)[4]>(words),
                            coarse_row +
                                min(max(coarse_x, 0), coarse.width - 1) * (kGroups * kGroupBytes));
    });
#pragma unroll
    for (int q = 0; q < 4; q++) {
      const int to_x = x + strip_pixel_x(lane, q), to_y = y + strip_pixel_y(lane, q);
      if (to_x < fine.width && to_y >= rows.first && to_y < rows.end)
        memory.terms[fine.base + to_y * fine.width + to_x] = sum[q];
    }
    strip += kCoarseWarps;
  }
}

/* Adds the coarser level, expanded, to the terms: `to` is where row 0 would be. */
__device__ __forceinline__ void collapse(const LocalLevel &fine, const LocalLevel &coarse,
                                         const float *terms, const float *gauss,
                                         const Settling &settling, float *to)
{
  const float *const from = terms + coarse.base;
  const float reciprocal = 1.0f / (float)fine.width;
  const Rows rows = fine.collapsed;

  for (int i = threadIdx.x; i < (rows.end - rows.first) * fine.width; i += kCoarseThreads) {
    const int row = (int)(((float)i + 0.5f) * reciprocal), x = i - row * fine.width;
    const int y = rows.first + row;
    const Neighbours at = neighbours(x >> 1, y >> 1, coarse.width, coarse.height);
    float made[3];

#pragma unroll
    for (int k = 0; k < 3; k++) {
      const float *const line = from + (int)at.row[k];
      const float before = line[at.column[0]], here = line[at.column[1]],
                  after = line[at.column[2]];
      made[k] = x & 1 ? expanded_odd(here, after) : expanded_even(before, here, after);
    }
    float collapsed =
        terms[fine.base + y * fine.width + x] +
        (y & 1 ? expanded_odd(made[1], made[2]) : expanded_even(made[0], made[1], made[2]));
    if (settling.share < 1.0f)
      collapsed =
          fmaf(settling.share, collapsed, settling.gauss * gauss[fine.base + y * fine.width + x]);
    to[y * fine.width + x] = collapsed;
  }
}

/* Levels last - 1 .. first; the first of all goes to memory. */
__device__ __forceinline__ void collapse_levels(const CoarseLevels &job, const LocalLevel *levels,
                                                int first, int last, const float *gauss,
                                                float *terms)
{
  for (int level = last - 1; level >= first; level--) {
    __syncthreads();
    collapse(levels[level], levels[level + 1], terms, gauss,
             level == job.levels - 2 ? job.last : Settling{1.0f, 0.0f},
             level > 0 ? terms + levels[level].base : job.collapsed);
  }
}

/* The gathered level's collapsed image, to all CTAs that need it. */
__device__ __forceinline__ void
distribute_collapsed(const CoarseLevels &job, const ClusterLayout &layout, const float *terms)
{
  const int level = job.distributed, lane = threadIdx.x % 32;
  const int width = job.level[level].width, across = (width + 31) / 32;
  const uint32_t barrier = cf::smem_address(&layout.barrier[0]);

  for (int task = threadIdx.x / 32; task < across * job.level[level].height; task += kCoarseWarps) {
    int y, part;
    place_task(task, across, &y, &part);
    const int x = part * 32 + lane;
    const uint32_t others = ctas_with_row(job, layout, level, y) & ~1u;

    for (uint32_t ctas = others; ctas && x < width; ctas &= ctas - 1) {
      const int cta = __ffs(ctas) - 1;
      const float *const to = terms + layout.place[level][cta].base + y * width + x;

      store_remote(address_in_cta(cf::smem_address(to), cta),
                   __float_as_uint(terms[layout.place[level][0].base + y * width + x]),
                   address_in_cta(barrier, cta));
    }
  }
}

/* The terms, which may run beside this kernel, learn when all has been made that it begins with.
 * With a gate there is no level that they would wait for. */
__device__ __forceinline__ void set_inputs_ready(const CoarseLevels &job, int cta)
{
  if (cta == 0 && threadIdx.x == 0)
    flag_store_release(job.inputs_ready, 1);
}

/* CTA `cta` of those that have the coarse levels, from when `await_first` returns: then the
 * first of them is there. CTAs of a cluster have not waited for each other till then. */
template <typename AwaitFirst>
__device__ __forceinline__ void run_coarse_levels(const CoarseLevels &job, const Series &series,
                                                  uint8_t *shared, int cta, AwaitFirst await_first)
{
  ClusterLayout *const layout = reinterpret_cast<ClusterLayout *>(shared);
  const LocalLevel *const held = layout->held;
  const CoarseMemory memory(shared + sizeof(ClusterLayout), job);
  const int lane = threadIdx.x % 32;
  const int top = job.levels - 1, rank0_level = job.distributed;

  fill_layout(job, cta, layout);
  if (rank0_level > 0)
    cluster_arrive();
  {
    const Band band(lane);

    __syncthreads();
    if (rank0_level > 0)
      expect_levels(job, cta, kGroups * kGroupBytes + (int)sizeof(float), layout);
    await_first();
    load_first(job, memory, held[0]);
    /* All CTAs are there, and their barriers. */
    if (rank0_level > 0)
      cluster_wait();
    __syncthreads();
    if (!job.gate)
      set_inputs_ready(job, cta);
    for (int level = 1; cta > 0 && level <= rank0_level; level++)
      downsample_distributed(job, *layout, memory, level, band);
    /* While rank 0 waits for the others it makes a level of nothing, so that its instructions are
     * in the cache. */
    const bool gathers = cta == 0 && rank0_level > 0,
               warms_icache = gathers && rank0_level + 1 < top;
#pragma unroll 1
    for (int next = warms_icache ? rank0_level : rank0_level + 1; cta == 0 && next <= top; next++) {
      const int level = next == rank0_level ? rank0_level + 2 : next;

      if (gathers && next == rank0_level + 1)
        mbarrier_wait(&layout->barrier[rank0_level]);
      downsample_rank0(job, memory, held[level - 1], held[level], level, band);
    }
    /* Where the gathered level is the last one. */
    if (gathers)
      mbarrier_wait(&layout->barrier[rank0_level]);
  }
  make_terms(held, cta == 0 ? rank0_level : 0, cta == 0 ? top : rank0_level, memory,
             HarmonicFrequencies(series, lane), Expansion(lane));
  if (cta == 0) {
    const LocalLevel &coarsest = held[top];

    for (int i = threadIdx.x; i < coarsest.width * coarsest.height; i += kCoarseThreads)
      memory.terms[coarsest.base + i] = job.top_gain * memory.gauss[coarsest.base + i];
    collapse_levels(job, held, rank0_level, top, memory.gauss, memory.terms);
    __syncthreads();
    if (rank0_level > 0)
      distribute_collapsed(job, *layout, memory.terms);
  } else {
    mbarrier_wait(&layout->barrier[0]);
    collapse_levels(job, held, 0, rank0_level, memory.gauss, memory.terms);
  }
}

__global__ void __launch_bounds__(kCoarseThreads, 1)
    coarse_levels_kernel(const __grid_constant__ CoarseLevels job,
                         const __grid_constant__ Series series)
{
  extern __shared__ __align__(128) uint8_t shared[];
  const int cta = (int)blockIdx.x;

  if (!job.gate)
    pdl_relay_then_trigger();
  run_coarse_levels(job, series, shared, cta, [&] {
    if (job.gate)
      pdl_wait_then_trigger();
    else
      pdl_wait();
  });
}

/* --- launching --- */

/* Rows of a level have numbers of 16 bits. */
constexpr int kMaxRows = 32767;

/* Of a pixel's components. */
constexpr int kPixelBytes = kGroups * kGroupBytes;

int bytes_of(const CoarseLevels &job)
{
  return (int)sizeof(ClusterLayout) +
         (job.pixels + job.filtered_pixels) * (kPixelBytes + (int)sizeof(float));
}

/* Room for the rows of distributed levels, of which CTAs have different numbers. */
int place_distributed(CoarseLevels *job)
{
  int pixels = 0;

  for (int i = 0; i <= job->distributed && job->distributed > 0; i++) {
    int most = 0;

    for (int cta = 1; cta < job->ctas; cta++) {
      const Rows rows = local_rows(*job, i, cta);
      most = std::max(most, count_of(rows));
    }
    job->level[i].first = pixels;
    pixels += most * job->level[i].width;
  }
  return pixels;
}

/* Of the rows that a CTA filters across at a time. */
int most_filtered_pixels(const CoarseLevels &job)
{
  int pixels = 0;

  for (int i = 1; i < job.levels; i++) {
    const CoarseLevel &level = job.level[i];
    const int fine_height = job.level[i - 1].height;

    if (i > job.distributed) {
      pixels = std::max(pixels, fine_height * level.width);
      continue;
    }
    for (int cta = 1; cta < job.ctas; cta++) {
      const Rows rows = own_rows(job, i, cta);

      for (int first = rows.first; first < rows.end; first += job.rows_per_pass) {
        const Rows pass = {first, std::min(first + job.rows_per_pass, rows.end)};
        pixels = std::max(pixels, count_of(reduced_rows(pass, fine_height)) * level.width);
      }
    }
  }
  return pixels;
}

/* From level `first` on, of which `distributed` are distributed over the CTAs. With `passes` each
 * CTA makes its rows of a level in so many, which need less memory. */
CoarseLevels layout_from(const Pyramid &pyramid, int first, int distributed, int ctas, int passes)
{
  CoarseLevels job = {};
  int rank0_level = 0;

  job.levels = pyramid.images - first;
  job.distributed = distributed;
  job.ctas = distributed > 0 ? ctas : 1;
  job.gate = first == 2;
  job.groups = pyramid.level[first].groups;
  job.gauss = pyramid.level[first].gauss;
  job.collapsed = pyramid.level[first].collapsed;
  job.inputs_ready = &pyramid.progress->coarse_inputs_ready;
  for (int i = 0; i < job.levels; i++) {
    const Level &level = pyramid.level[first + i];

    job.level[i] = CoarseLevel{level.width, level.height, 0};
    rank0_level += i < distributed ? 0 : level.width * level.height;
  }
  job.pixels = std::max(place_distributed(&job), rank0_level);
  place_levels(&job);
#ifdef CF_BOUNDED_SPIN
  assert(all_rows_arrive(job));
#endif
  job.rows_per_pass =
      std::max(1, cf::div_up(pyramid.level[first + 1].height, std::max(1, job.ctas - 1) * passes));
  job.filtered_pixels =
      std::max(most_filtered_pixels(job), cf::div_up(job.pixels * (int)sizeof(float), kPixelBytes));
  return job;
}

/* The same with as many levels distributed as there is room for; false if there is nothing to gain.
 */
bool find_layout(const Gpu &gpu, const Pyramid &pyramid, int first, int ctas, CoarseLevels *job)
{
  const int levels = pyramid.images - first;
  auto pixels_of = [&](int index) {
    return pyramid.level[first + index].width * pyramid.level[first + index].height;
  };
  int distributed = 0;

  if (levels > kMaxLevels || pyramid.level[first].height > kMaxRows ||
      pixels_of(0) / std::max(1, ctas - 1) * kPixelBytes > gpu.shared_per_block)
    return false;
  while (ctas > 1 && distributed < kMaxDistributed && distributed < levels - 1 &&
         pixels_of(distributed) > kMinDistributedPixels)
    distributed++;
  for (int passes = 1; passes <= kMaxPasses; passes++) {
    for (int i = distributed; i >= 0 && pixels_of(i) <= kMaxSingleCtaPixels; i--) {
      *job = layout_from(pyramid, first, i, ctas, passes);
      if (bytes_of(*job) <= gpu.shared_per_block)
        return true;
    }
  }
  return false;
}

int clusters_at_once(const Gpu &gpu)
{
  cudaLaunchAttribute attribute = cluster_attribute(gpu.cluster_ctas);
  cudaLaunchConfig_t config = {};
  int fitting = 0;

  config.gridDim = dim3(gpu.cluster_ctas);
  config.blockDim = dim3(kCoarseThreads);
  config.dynamicSmemBytes = gpu.shared_per_block;
  config.attrs = &attribute;
  config.numAttrs = 1;
  const bool known =
      cudaOccupancyMaxActiveClusters(&fitting, coarse_levels_kernel, &config) == cudaSuccess;
  cudaGetLastError();
  return known ? fitting : 0;
}

constexpr int kPortableCluster = 8;

} // namespace

bool mma_open(Gpu *gpu, CfStatus *status)
{
  gpu->cluster_ctas = gpu->overlaps ? kMaxClusterCtas : 1;
  if (!gpu->overlaps)
    return true;
  if (!cf_cuda_ok(cudaFuncSetAttribute(coarse_levels_kernel,
                                       cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       gpu->shared_per_block),
                  "preparing the local Laplacian kernels", status))
    return false;
  /* Where more CTAs than any GPU takes are refused, as many as all take do; fewer, to one, where
   * those have no room: the plan follows. */
  if (cudaFuncSetAttribute(coarse_levels_kernel, cudaFuncAttributeNonPortableClusterSizeAllowed,
                           1) != cudaSuccess) {
    cudaGetLastError();
    gpu->cluster_ctas = kPortableCluster;
  }
  while (gpu->cluster_ctas > 1 && clusters_at_once(*gpu) < 1)
    gpu->cluster_ctas /= 2;
  return true;
}

int mma_coarse_first_level(const Gpu &gpu, int cluster_ctas, const Pyramid &pyramid, int from)
{
  for (int first = from; first < pyramid.images - 1; first++) {
    CoarseLevels job;

    if (find_layout(gpu, pyramid, first, cluster_ctas, &job))
      return first;
  }
  return pyramid.images - 1;
}

bool mma_coarse_levels(Queue *queue, const FramePlan &plan, const Pyramid &pyramid,
                       const Series &series)
{
  CoarseLevels job;

  find_layout(queue->gpu, pyramid, plan.coarse_first_level, plan.cluster_ctas, &job);
  job.top_gain = -series.linear;
  job.last = Settling{pyramid.last_share, (pyramid.last_share - 1.0f) * series.linear};
  return launch_cluster(queue, "llf coarse levels", coarse_levels_kernel, job.ctas, kCoarseThreads,
                        bytes_of(job), job, series);
}

} // namespace cf::llf
