/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The coarse levels on tensor cores, down and up again, in one kernel. They have a thousandth of
 * the pixels but most of the steps of the pyramid, and each step costs only latency: so all levels
 * stay in shared memory.
 *
 * Where the GPU has thread block clusters, the rows of the finer of these levels are distributed
 * over a cluster (cluster_layout.cuh). Rank 0 has no such rows: it gathers the first level that is
 * small enough for one CTA, and computes the coarser levels down and up again, while the workers
 * compute the Laplacian coefficients of their levels. The workers then collapse these.
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

/* Loads the CTA's rows of level 0, which are contiguous in global and in shared memory. */
__device__ __forceinline__ void load_first(const CoarseLevels &levels, const CoarseMemory &memory,
                                           const LocalLevel &level)
{
  const int from = level.rows.first * level.width;
  const int count = (level.rows.end - level.rows.first) * level.width;
  const uint32_t to = memory.address(level, 0, level.rows.first, 0);
  const uint32_t gauss_to = cf::smem_address(memory.gauss + level.base + from);

  for (int i = threadIdx.x; i < count * kGroups; i += kCoarseThreads)
    cp_async<16>(to + i * kGroupBytes, levels.groups + from * kGroups + i);
  for (int i = threadIdx.x; i < count; i += kCoarseThreads)
    cf::cp_async_zero_fill<4>(gauss_to + i * (int)sizeof(float), levels.gauss + from + i, 4);
  cp_async_commit_and_wait();
}

/* Computes the Laplacian coefficients of levels first..last - 1. The levels do not depend on each
 * other: the warps share the strips of all of them, of 32 x 4 pixels each. */
__device__ __forceinline__ void compute_coefficients(const LocalLevel *held, int first, int last,
                                                     const CoarseMemory &memory,
                                                     const HarmonicFrequencies &turn,
                                                     const Expansion &expansion)
{
  const int lane = threadIdx.x % 32;
  int strip = threadIdx.x / 32, index = first;

  while (index < last) {
    const LocalLevel &fine = held[index], &coarse = held[index + 1];
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
    const int column = min(x + lane / 4 % 4, fine.width - 1);
    OwnRows own = {{}, {}, fine.width - 1 - column};
    float sum[4];

#pragma unroll
    for (int k = 0; k < 2; k++) {
      const int row = min(max(y + lane / 16 + 2 * k, fine.rows.first), fine.rows.end - 1);
      const int pixel = fine.base + row * fine.width + column;

      own.words[k] =
          reinterpret_cast<const uint32_t *>(memory.components) + pixel * (4 * kGroups) + lane % 4;
      own.gauss[k] = memory.gauss + pixel;
    }
    auto own_of = [&](int j) { return own.block(j); };
    strip_coefficients(sum, expansion, turn, lane, own_of, [&](int j, uint32_t *words) {
      const int coarse_x = x / 2 - 1 + 2 * (j + pair) + (lane & 1);

      cf::ldmatrix_x4_trans(*reinterpret_cast<uint32_t(*)[4]>(words),
                            coarse_row +
                                min(max(coarse_x, 0), coarse.width - 1) * (kGroups * kGroupBytes));
    });
#pragma unroll
    for (int q = 0; q < 4; q++) {
      const int to_x = x + strip_pixel_x(lane, q), to_y = y + strip_pixel_y(lane, q);
      if (to_x < fine.width && to_y >= rows.first && to_y < rows.end)
        memory.collapsed[fine.base + to_y * fine.width + to_x] = sum[q];
    }
    strip += kCoarseWarps;
  }
}

/* Adds the expanded coarser level, of which `images` has the collapsed image, to the level's
 * coefficients in `images`. The result goes to `to`, which is where row 0 would be. */
__device__ __forceinline__ void collapse(const LocalLevel &fine, const LocalLevel &coarse,
                                         const float *images, const float *gauss,
                                         const GaussianMix &mix, float *to)
{
  const float *const from = images + coarse.base;
  const float reciprocal = 1.0f / (float)fine.width;
  const Rows rows = fine.collapsed;

  for (int i = threadIdx.x; i < (rows.end - rows.first) * fine.width; i += kCoarseThreads) {
    const int row = (int)(((float)i + 0.5f) * reciprocal), x = i - row * fine.width;
    const int y = rows.first + row;
    const Neighbours at = neighbours(x >> 1, y >> 1, coarse.width, coarse.height);
    float across[3];

#pragma unroll
    for (int k = 0; k < 3; k++) {
      const float *const line = from + (int)at.row[k];
      const float before = line[at.column[0]], here = line[at.column[1]],
                  after = line[at.column[2]];
      across[k] = x & 1 ? expanded_odd(here, after) : expanded_even(before, here, after);
    }
    float collapsed = images[fine.base + y * fine.width + x] +
                      (y & 1 ? expanded_odd(across[1], across[2])
                             : expanded_even(across[0], across[1], across[2]));
    if (mix.share < 1.0f)
      collapsed = fmaf(mix.share, collapsed, mix.gauss * gauss[fine.base + y * fine.width + x]);
    to[y * fine.width + x] = collapsed;
  }
}

/* Collapses levels last - 1..first in place; level 0 to global memory. */
__device__ __forceinline__ void collapse_levels(const CoarseLevels &levels, const LocalLevel *held,
                                                int first, int last, const float *gauss,
                                                float *images)
{
  for (int level = last - 1; level >= first; level--) {
    __syncthreads();
    collapse(held[level], held[level + 1], images, gauss,
             level == levels.count - 2 ? levels.last : GaussianMix{1.0f, 0.0f},
             level > 0 ? images + held[level].base : levels.collapsed);
  }
}

/* Stores the gathered level's collapsed image to all CTAs that need it. */
__device__ __forceinline__ void
distribute_collapsed(const CoarseLevels &levels, const ClusterLayout &layout, const float *images)
{
  const int level = levels.distributed, lane = threadIdx.x % 32;
  const int width = levels.level[level].width, across = (width + 31) / 32;
  const uint32_t barrier = cf::smem_address(&layout.barrier[0]);

  for (int task = threadIdx.x / 32; task < across * levels.level[level].height;
       task += kCoarseWarps) {
    int y, chunk;
    split_task(task, across, &y, &chunk);
    const int x = chunk * 32 + lane;
    const uint32_t others = ctas_with_row(levels, layout, level, y) & ~1u;

    for (uint32_t ctas = others; ctas && x < width; ctas &= ctas - 1) {
      const int cta = __ffs(ctas) - 1;
      const float *const to = images + layout.place[level][cta].base + y * width + x;

      store_remote(address_in_cta(cf::smem_address(to), cta),
                   __float_as_uint(images[layout.place[level][0].base + y * width + x]),
                   address_in_cta(barrier, cta));
    }
  }
}

/* Tells later grids, which may run concurrently with this one, that all inputs of the coarse levels
 * are complete, and with them what earlier grids wrote. */
__device__ __forceinline__ void set_inputs_ready(const CoarseLevels &levels, int cta)
{
  if (cta == 0 && threadIdx.x == 0)
    set_flag(levels.inputs_ready);
}

/* The work of CTA `cta`. Level 0 is complete in global memory when await_level_0() returns. Until
 * then only the layout is set up, in which CTAs do not wait for each other. */
template <typename AwaitLevel0>
__device__ __forceinline__ void run_coarse_levels(const CoarseLevels &levels, const Series &series,
                                                  uint8_t *shared, int cta,
                                                  AwaitLevel0 await_level_0)
{
  ClusterLayout *const layout = reinterpret_cast<ClusterLayout *>(shared);
  const LocalLevel *const held = layout->held;
  const CoarseMemory memory(shared + sizeof(ClusterLayout), levels);
  const int lane = threadIdx.x % 32;
  const int top = levels.count - 1, rank0_level = levels.distributed;

  fill_layout(levels, cta, layout);
  if (rank0_level > 0)
    cluster_arrive();
  {
    const Band band(lane);

    __syncthreads();
    if (rank0_level > 0)
      expect_levels(levels, cta, kGroups * kGroupBytes + (int)sizeof(float), layout);
    await_level_0();
    load_first(levels, memory, held[0]);
    /* From here on the barriers of all CTAs are initialised. */
    if (rank0_level > 0)
      cluster_wait();
    __syncthreads();
    set_inputs_ready(levels, cta);
    for (int level = 1; cta > 0 && level <= rank0_level; level++)
      downsample_distributed(levels, *layout, memory, level, band);
    /* Before rank 0 waits for the workers' rows it computes a level from whatever its memory holds,
     * so that the instructions are in the cache; that level is computed again later. */
    const bool gathers = cta == 0 && rank0_level > 0,
               warms_icache = gathers && rank0_level + 1 < top;
#pragma unroll 1
    for (int next = warms_icache ? rank0_level : rank0_level + 1; cta == 0 && next <= top; next++) {
      const int level = next == rank0_level ? rank0_level + 2 : next;

      if (gathers && next == rank0_level + 1)
        mbarrier_wait(&layout->barrier[rank0_level]);
      downsample_rank0(levels, memory, held[level - 1], held[level], level, band);
    }
    /* The gathered level may be the coarsest, for which the loop has not waited. */
    if (gathers)
      mbarrier_wait(&layout->barrier[rank0_level]);
  }
  compute_coefficients(held, cta == 0 ? rank0_level : 0, cta == 0 ? top : rank0_level, memory,
                       HarmonicFrequencies(series, lane), Expansion(lane));
  if (cta == 0) {
    const LocalLevel &coarsest = held[top];

    for (int i = threadIdx.x; i < coarsest.width * coarsest.height; i += kCoarseThreads)
      memory.collapsed[coarsest.base + i] = levels.top_gain * memory.gauss[coarsest.base + i];
    collapse_levels(levels, held, rank0_level, top, memory.gauss, memory.collapsed);
    __syncthreads();
    if (rank0_level > 0)
      distribute_collapsed(levels, *layout, memory.collapsed);
  } else {
    mbarrier_wait(&layout->barrier[0]);
    collapse_levels(levels, held, 0, rank0_level, memory.gauss, memory.collapsed);
  }
}

__global__ void __launch_bounds__(kCoarseThreads, 1)
    coarse_levels_kernel(const __grid_constant__ CoarseLevels levels,
                         const __grid_constant__ Series series)
{
  extern __shared__ __align__(128) uint8_t shared[];
  const int cta = (int)blockIdx.x;

  if (!levels.releases_fine)
    pdl_relay_then_trigger();
  run_coarse_levels(levels, series, shared, cta, [&] {
    if (levels.releases_fine)
      pdl_wait_then_trigger();
    else
      pdl_wait();
  });
}

/* ---- Launching ---- */

/* ShortRows holds row numbers in 16 bits. */
constexpr int kMaxRows = 32767;

/* Bytes of a pixel's components. */
constexpr int kPixelBytes = kGroups * kGroupBytes;

int shared_bytes_of(const CoarseLevels &levels)
{
  return (int)sizeof(ClusterLayout) +
         (levels.pixels + levels.filtered_pixels) * (kPixelBytes + (int)sizeof(float));
}

/* Sets `first` of the distributed levels and of the gathered one, with room for the most rows that
 * any worker has. Returns the pixels that they take. */
int place_distributed(CoarseLevels *levels)
{
  int pixels = 0;

  for (int i = 0; i <= levels->distributed && levels->distributed > 0; i++) {
    int most_rows = 0;

    for (int cta = 1; cta < levels->ctas; cta++) {
      const Rows rows = local_rows(*levels, i, cta);
      most_rows = std::max(most_rows, count_of(rows));
    }
    levels->level[i].first = pixels;
    pixels += most_rows * levels->level[i].width;
  }
  return pixels;
}

/* The most pixels that a CTA filters across at a time. */
int most_filtered_pixels(const CoarseLevels &levels)
{
  int pixels = 0;

  for (int i = 1; i < levels.count; i++) {
    const CoarseLevel &level = levels.level[i];
    const int fine_height = levels.level[i - 1].height;

    if (i > levels.distributed) {
      pixels = std::max(pixels, fine_height * level.width);
      continue;
    }
    for (int cta = 1; cta < levels.ctas; cta++) {
      const Rows rows = own_rows(levels, i, cta);

      for (int first = rows.first; first < rows.end; first += levels.rows_per_pass) {
        const Rows pass = {first, std::min(first + levels.rows_per_pass, rows.end)};
        pixels = std::max(pixels, count_of(reduced_rows(pass, fine_height)) * level.width);
      }
    }
  }
  return pixels;
}

/* The layout of the levels from `first` on, with `distributed` of them distributed. A CTA computes
 * its rows of a level in up to `passes` passes: more passes need less memory. */
CoarseLevels layout_from(const Pyramid &pyramid, int first, int distributed, int ctas, int passes)
{
  CoarseLevels levels = {};
  int rank0_pixels = 0;

  levels.count = pyramid.images - first;
  levels.distributed = distributed;
  levels.ctas = distributed > 0 ? ctas : 1;
  levels.releases_fine = first == 2;
  levels.groups = pyramid.level[first].groups;
  levels.gauss = pyramid.level[first].gauss;
  levels.collapsed = pyramid.level[first].collapsed;
  levels.inputs_ready = pyramid.coarse_inputs_ready;
  for (int i = 0; i < levels.count; i++) {
    const Level &level = pyramid.level[first + i];

    levels.level[i] = CoarseLevel{level.width, level.height, 0};
    rank0_pixels += i < distributed ? 0 : level.width * level.height;
  }
  levels.pixels = std::max(place_distributed(&levels), rank0_pixels);
  place_levels(&levels);
#ifdef CF_BOUNDED_SPIN
  assert(all_rows_arrive(levels));
#endif
  levels.rows_per_pass = std::max(
      1, cf::div_up(pyramid.level[first + 1].height, std::max(1, levels.ctas - 1) * passes));
  levels.filtered_pixels = std::max(most_filtered_pixels(levels),
                                    cf::div_up(levels.pixels * (int)sizeof(float), kPixelBytes));
  return levels;
}

/* The layout in as few passes as possible, then with as many levels distributed as possible. False
 * if none fits shared memory, or rank 0 would have more than kMaxSingleCtaPixels of a level. */
bool find_layout(const Gpu &gpu, const Pyramid &pyramid, int first, int ctas, CoarseLevels *levels)
{
  const int count = pyramid.images - first;
  auto pixels_of = [&](int index) {
    return pyramid.level[first + index].width * pyramid.level[first + index].height;
  };
  int distributed = 0;

  if (count > kMaxLevels || pyramid.level[first].height > kMaxRows ||
      pixels_of(0) / std::max(1, ctas - 1) * kPixelBytes > gpu.shared_per_block)
    return false;
  while (ctas > 1 && distributed < kMaxDistributed && distributed < count - 1 &&
         pixels_of(distributed) > kMinDistributedPixels)
    distributed++;
  for (int passes = 1; passes <= kMaxPasses; passes++) {
    for (int i = distributed; i >= 0 && pixels_of(i) <= kMaxSingleCtaPixels; i--) {
      *levels = layout_from(pyramid, first, i, ctas, passes);
      if (shared_bytes_of(*levels) <= gpu.shared_per_block)
        return true;
    }
  }
  return false;
}

/* How many clusters of gpu.cluster_ctas CTAs with all shared memory can run at once; 0 if the query
 * fails. */
int most_active_clusters(const Gpu &gpu)
{
  cudaLaunchAttribute attribute = cluster_attribute(gpu.cluster_ctas);
  cudaLaunchConfig_t config = {};
  int active = 0;

  config.gridDim = dim3(gpu.cluster_ctas);
  config.blockDim = dim3(kCoarseThreads);
  config.dynamicSmemBytes = gpu.shared_per_block;
  config.attrs = &attribute;
  config.numAttrs = 1;
  const bool known =
      cudaOccupancyMaxActiveClusters(&active, coarse_levels_kernel, &config) == cudaSuccess;
  cudaGetLastError();
  return known ? active : 0;
}

/* CTAs of a cluster that every GPU with clusters supports. */
constexpr int kPortableClusterCtas = 8;

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
  /* Larger clusters need permission. Where no cluster of a size can run, as in a small MIG slice,
   * the size is halved, down to 1. */
  if (cudaFuncSetAttribute(coarse_levels_kernel, cudaFuncAttributeNonPortableClusterSizeAllowed,
                           1) != cudaSuccess) {
    cudaGetLastError();
    gpu->cluster_ctas = kPortableClusterCtas;
  }
  while (gpu->cluster_ctas > 1 && most_active_clusters(*gpu) < 1)
    gpu->cluster_ctas /= 2;
  return true;
}

int mma_coarse_first_level(const Gpu &gpu, int cluster_ctas, const Pyramid &pyramid, int from)
{
  for (int first = from; first < pyramid.images - 1; first++) {
    CoarseLevels levels;

    if (find_layout(gpu, pyramid, first, cluster_ctas, &levels))
      return first;
  }
  return pyramid.images - 1;
}

bool mma_coarse_levels(Queue *queue, const FramePlan &plan, const Pyramid &pyramid,
                       const Series &series)
{
  CoarseLevels levels;

  find_layout(queue->gpu, pyramid, plan.coarse_first_level, plan.cluster_ctas, &levels);
  levels.top_gain = -series.linear;
  levels.last = GaussianMix{pyramid.last_share, (pyramid.last_share - 1.0f) * series.linear};
  return launch_cluster(queue, "llf coarse levels", coarse_levels_kernel, levels.ctas,
                        kCoarseThreads, shared_bytes_of(levels), levels, series);
}

} // namespace cf::llf
