/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The coarse levels on tensor cores, down and up again, in one kernel: they hold a thousandth of
 * the pixels but most of the steps, whose latency is all they cost. So all of them lie in shared
 * memory, and a step is a product or two a warp.
 *
 * Where the GPU has thread block clusters, the finer of these levels are spread over a cluster by
 * rows. Whoever makes a row stores it in the shared memory of all blocks that need it. The first
 * block has no such rows: it gathers the first level that is small enough for one block, and goes
 * down from there and back up while the others make their levels' terms; they go on from there.
 */
#include "cuda/llf/mma_coarse_first_level.cuh"
#include "cuda/llf/mma_downsample_x2.cuh"
#include "cuda/llf/mma_upsample.cuh"

#include <algorithm>

namespace cf::llf
{
namespace
{

/* The rows of the first level lie side by side here and there. */
template <int GROUPS>
__device__ __forceinline__ void load_first(const Tail &tail, const TailMemory<GROUPS> &memory,
                                           const Held &level)
{
  const int from = level.rows.first * level.width;
  const int count = (level.rows.end - level.rows.first) * level.width;
  const uint32_t to = memory.address(level, 0, level.rows.first, 0);
  const uint32_t gauss_to = cf::smem_address(memory.gauss + level.base + from);

  for (int i = threadIdx.x; i < count * GROUPS; i += TAIL_THREADS)
    cp_async<16>(to + i * GROUP_BYTES, tail.groups + from * GROUPS + i);
  for (int i = threadIdx.x; i < count; i += TAIL_THREADS)
    cf::cp_async_zero_fill<4>(gauss_to + i * (int)sizeof(float), tail.gauss + from + i, 4);
  cp_async_commit_and_wait();
}

/* The terms of levels first .. last - 1, none of which depends on another's. */
template <int GROUPS>
__device__ __forceinline__ void make_terms(const Held *levels, int first, int last,
                                           const TailMemory<GROUPS> &memory,
                                           const Turn<GROUPS> &turn, const Expansion &expansion)
{
  const int lane = threadIdx.x % 32;
  int strip = threadIdx.x / 32, index = first;

  while (index < last) {
    const Held &fine = levels[index], &coarse = levels[index + 1];
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
    const int own_x = x + lane / 4 % 4;
    auto own_row = [&](int row) { return min(max(row, fine.rows.first), fine.rows.end - 1); };
    const int row_0 = own_row(y + lane / 16), row_1 = own_row(y + lane / 16 + 2);
    const int coarse_y =
        min(max(y / 2 - 1 + (lane % 8 >> 1), coarse.rows.first), coarse.rows.end - 1);
    const int matrix = lane / 8, pair = matrix & 1;
    /* Of a lane's row of the coarser level, and of its words of two rows of the level's own. */
    const uint32_t coarse_row = memory.address(coarse, 0, coarse_y, GROUPS == 1 ? 0 : matrix >> 1);
    const uint32_t *const own_0 = memory.words(fine, 0, row_0, 0) + lane % 4;
    const uint32_t *const own_1 = memory.words(fine, 0, row_1, 0) + lane % 4;
    const float *const gauss_0 = memory.gauss + fine.base + row_0 * fine.width;
    const float *const gauss_1 = memory.gauss + fine.base + row_1 * fine.width;
    auto address = [&](int j) {
      const int coarse_x = x / 2 - 1 + 2 * (j + pair) + (lane & 1);
      return coarse_row + min(max(coarse_x, 0), coarse.width - 1) * (GROUPS * GROUP_BYTES);
    };
    float sum[4];

    expand_strip<GROUPS>(
        sum, expansion, lane,
        [&](int j, uint32_t *words) {
          if constexpr (GROUPS == 1) {
            uint32_t two[2];
            ldmatrix_x2_trans(two, address(j));
            words[0] = two[0];
            words[1] = two[1];
          } else {
#pragma unroll
            for (int c = 0; c < GROUPS; c += 2) {
              uint32_t four[4];
              cf::ldmatrix_x4_trans(four, address(j) + c * GROUP_BYTES);
#pragma unroll
              for (int k = 0; k < 4; k++)
                words[2 * c + k] = four[k];
            }
          }
        },
        [&](int j, int c, uint32_t *self) {
          const int at = (min(own_x + 4 * j, fine.width - 1) * GROUPS + c) * 4;
          self[0] = own_0[at];
          self[1] = own_1[at];
        },
        [&](int j, uint32_t *rotation) {
          const int at = min(own_x + 4 * j, fine.width - 1);
          rotate<GROUPS>(rotation, turn, gauss_0[at], gauss_1[at]);
        });
#pragma unroll
    for (int q = 0; q < 4; q++) {
      const int to_x = x + strip_pixel_x(lane, q), to_y = y + strip_pixel_y(lane, q);
      if (to_x < fine.width && to_y >= rows.first && to_y < rows.end)
        memory.terms[fine.base + to_y * fine.width + to_x] = sum[q];
    }
    strip += TAIL_WARPS;
  }
}

/* Adds the coarser level, expanded, to the terms: `to` is where row 0 would be. */
__device__ __forceinline__ void collapse(const Held &fine, const Held &coarse, const float *terms,
                                         float *to)
{
  const float *const from = terms + coarse.base;
  const float reciprocal = 1.0f / (float)fine.width;
  const Rows rows = fine.collapsed;

  for (int i = threadIdx.x; i < (rows.end - rows.first) * fine.width; i += TAIL_THREADS) {
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
    to[y * fine.width + x] =
        terms[fine.base + y * fine.width + x] +
        (y & 1 ? expanded_odd(made[1], made[2]) : expanded_even(made[0], made[1], made[2]));
  }
}

/* Levels last - 1 .. first; the first of all goes to memory. */
__device__ __forceinline__ void collapse_levels(const Tail &tail, const Held *levels, int first,
                                                int last, float *terms)
{
  for (int level = last - 1; level >= first; level--) {
    __syncthreads();
    collapse(levels[level], levels[level + 1], terms,
             level > 0 ? terms + levels[level].base : tail.collapsed);
  }
}

/* The gathered level's collapsed image, to all blocks that need it. */
__device__ __forceinline__ void spread_collapsed(const Tail &tail, const Directory &directory,
                                                 const float *terms)
{
  const int level = tail.spread, lane = threadIdx.x % 32;
  const int width = tail.level[level].width, across = (width + 31) / 32;
  const uint32_t barrier = cf::smem_address(&directory.barrier[0]);

  for (int task = threadIdx.x / 32; task < across * tail.level[level].height; task += TAIL_WARPS) {
    int y, part;
    place_task(task, across, &y, &part);
    const int x = part * 32 + lane;
    const uint32_t others = blocks_with_row(tail, directory, level, y) & ~1u;

    for (uint32_t blocks = others; blocks && x < width; blocks &= blocks - 1) {
      const int block = __ffs(blocks) - 1;
      const float *const to = terms + directory.place[level][block].base + y * width + x;

      store_in_block(address_in_block(cf::smem_address(to), block),
                     __float_as_uint(terms[directory.place[level][0].base + y * width + x]),
                     address_in_block(barrier, block));
    }
  }
}

/* The terms, which may run beside this kernel, learn when all has been made that it begins with.
 * They begin when all blocks have let them. Without this fence they began earlier, but RGBA
 * 3840x2160 took 170.4 us instead of 168.9. With a gate there is no level that they would wait for,
 * and terms of another component might still be waiting. */
__device__ __forceinline__ void forget_beginning(const Tail &tail)
{
  if (threadIdx.x == 0) {
    *(volatile unsigned *)tail.begun = 0;
    __threadfence();
  }
  __syncthreads();
}

__device__ __forceinline__ void tell_beginning(const Tail &tail, int block)
{
  if (block == 0 && threadIdx.x == 0)
    flag_store_release(tail.begun, 1);
}

/* Block `block` of those that have the coarse levels, from when `await_first` returns: then the
 * first of them is there. With `meets_early` blocks have not waited for each other till then. */
template <int GROUPS, typename AwaitFirst>
__device__ __forceinline__ void run_tail(const Tail &tail, const Series &series, uint8_t *shared,
                                         int block, bool meets_early, AwaitFirst await_first)
{
  Directory *const directory = reinterpret_cast<Directory *>(shared);
  const Held *const held = directory->held;
  const TailMemory<GROUPS> memory(shared + sizeof(Directory), tail);
  const int lane = threadIdx.x % 32;
  const int top = tail.levels - 1, gathered = tail.spread;

  fill_directory(tail, block, directory);
  if (meets_early)
    cluster_arrive();
  {
    const Band band(lane);

    __syncthreads();
    if (gathered > 0)
      expect_levels(tail, block, GROUPS * GROUP_BYTES + (int)sizeof(float), directory);
    await_first();
    load_first<GROUPS>(tail, memory, held[0]);
    /* All blocks are there, and their barriers. */
    if (meets_early)
      cluster_wait();
    __syncthreads();
    if (!tail.gate)
      tell_beginning(tail, block);
    for (int level = 1; block > 0 && level <= gathered; level++)
      reduce_spread<GROUPS>(tail, *directory, memory, level, band);
    /* While the first block waits for the others it makes a level of nothing, so that its
     * instructions are in the cache: the next level takes 1300 clocks then instead of 2600. */
    const bool gathers = block == 0 && gathered > 0, rehearses = gathers && gathered + 1 < top;
#pragma unroll 1
    for (int next = rehearses ? gathered : gathered + 1; block == 0 && next <= top; next++) {
      const int level = next == gathered ? gathered + 2 : next;

      if (gathers && next == gathered + 1)
        await_bytes(&directory->barrier[gathered]);
      reduce_alone<GROUPS>(tail, memory, held[level - 1], held[level], level, band);
    }
    /* Where the gathered level is the last one. */
    if (gathers)
      await_bytes(&directory->barrier[gathered]);
  }
  make_terms<GROUPS>(held, block == 0 ? gathered : 0, block == 0 ? top : gathered, memory,
                     Turn<GROUPS>(series, lane), Expansion(lane));
  if (block == 0) {
    const Held &coarsest = held[top];

    for (int i = threadIdx.x; i < coarsest.width * coarsest.height; i += TAIL_THREADS)
      memory.terms[coarsest.base + i] = tail.top_gain * memory.gauss[coarsest.base + i];
    collapse_levels(tail, held, gathered, top, memory.terms);
    __syncthreads();
    if (gathered > 0)
      spread_collapsed(tail, *directory, memory.terms);
  } else {
    await_bytes(&directory->barrier[0]);
    collapse_levels(tail, held, 0, gathered, memory.terms);
  }
}

template <int GROUPS>
__global__ void __launch_bounds__(TAIL_THREADS, 1)
    tensor_tail_kernel(const __grid_constant__ Tail tail, const __grid_constant__ FirstLevel first,
                       const __grid_constant__ Series series)
{
  extern __shared__ __align__(128) uint8_t shared[];
  const int block = (int)blockIdx.x;
  const bool makes_first = first.tiles > 0;

  if (block == 0 && !tail.gate)
    forget_beginning(tail);
  if (!tail.gate)
    pdl_trigger();
  run_tail<GROUPS>(tail, series, shared, block, tail.spread > 0 && !makes_first, [&] {
    if (tail.gate)
      pdl_wait_then_trigger();
    else
      pdl_trigger_then_wait();
    if (makes_first) {
      make_first_level<GROUPS>(shared + sizeof(Directory), first);
      cluster_arrive();
      cluster_wait();
    }
  });
  count_cta_done(tail.ended);
}

/* With tiles of so many rows 1920x1080 has 105, which have room at once beside a cluster of eight:
 * an H200 has room for 15 such clusters. Of four groups of components there would be too many. */
constexpr int ROWS_BESIDE_TAIL = 10;

/* With the two levels before, whose tiles come first: blocks that wait for others are the last to
 * find room. The terms' blocks follow each of them at once, where behind a kernel of their own they
 * would wait till a cluster has room, and then for each of its blocks. */
template <int GROUPS>
__global__ void __launch_bounds__(TAIL_THREADS, 1)
    tensor_twice_and_tail_kernel(const __grid_constant__ TwiceLevels twice, int twice_blocks,
                                 const __grid_constant__ Tail tail,
                                 const __grid_constant__ Series series)
{
  extern __shared__ __align__(128) uint8_t shared[];
  const int block = (int)blockIdx.x - twice_blocks;

  if (block < 0) {
    if ((int)blockIdx.x < twice.tasks)
      make_twice<GROUPS, ROWS_BESIDE_TAIL>(shared, twice, blockIdx.x);
    return;
  }
  if (block == 0)
    forget_beginning(tail);
  run_tail<GROUPS>(tail, series, shared, block, tail.spread > 0, [&] {
    pdl_wait_then_trigger();
    if (threadIdx.x == 0)
      spin_acquire(twice.ended, twice.tasks);
    __syncthreads();
  });
}

/* --- launching --- */

/* Pixels of the first level, where all levels are in one block and where finer ones are spread; and
 * of the level that is gathered then. One block is slower than kernels of their own above. */
constexpr int MAX_ALONE = 2100, MAX_SPREAD_PIXELS = 32767, MAX_GATHERED = 150;

int bytes_of(const Tail &tail, int groups)
{
  return (int)sizeof(Directory) +
         (tail.pixels + tail.filtered_pixels) * (groups * GROUP_BYTES + (int)sizeof(float));
}

/* Room for the rows of spread levels, of which blocks have different numbers. */
int place_spread(Tail *tail)
{
  int pixels = 0;

  for (int i = 0; i <= tail->spread && tail->spread > 0; i++) {
    int most = 0;

    for (int block = 1; block < tail->blocks; block++) {
      const Rows rows = local_rows(*tail, i, block);
      most = std::max(most, count_of(rows));
    }
    tail->level[i].first = pixels;
    pixels += most * tail->level[i].width;
  }
  return pixels;
}

int most_filtered_pixels(const Tail &tail)
{
  int pixels = 0;

  for (int i = 1; i < tail.levels; i++) {
    const TailLevel &level = tail.level[i];

    for (int block = 0; block < tail.blocks; block++) {
      const Rows rows = i <= tail.spread ? own_rows(tail, i, block)
                        : block == 0     ? Rows{0, level.height}
                                         : Rows{0, 0};
      const Rows from = reduced_rows(rows, tail.level[i - 1].height);
      pixels = std::max(pixels, count_of(from) * level.width);
    }
  }
  return pixels;
}

/* From level `first` on, of which `spread` are spread over the blocks. */
Tail tail_from(const Pyramid &pyramid, int first, int spread, int blocks)
{
  const int group_bytes = pyramid.groups * GROUP_BYTES;
  Tail tail = {};
  int gathered = 0;

  tail.levels = pyramid.images - first;
  tail.spread = spread;
  tail.blocks = spread > 0 ? blocks : 1;
  tail.gate = first == 2;
  tail.groups = pyramid.level[first].groups;
  tail.gauss = pyramid.level[first].gauss;
  tail.collapsed = pyramid.level[first].collapsed;
  tail.begun = pyramid.coarse_begun;
  for (int i = 0; i < tail.levels; i++) {
    const Level &level = pyramid.level[first + i];

    tail.level[i] = TailLevel{level.width, level.height, 0};
    gathered += i < spread ? 0 : level.width * level.height;
  }
  tail.pixels = std::max(place_spread(&tail), gathered);
  place_levels(&tail);
  tail.filtered_pixels =
      std::max(most_filtered_pixels(tail),
               (tail.pixels * (int)sizeof(float) + group_bytes - 1) / group_bytes);
  return tail;
}

/* The same with as many levels spread as there is room for; false if there is nothing to gain. */
bool find_tail(const Gpu &gpu, const Pyramid &pyramid, int first, int blocks, Tail *tail)
{
  const int levels = pyramid.images - first;
  auto pixels_of = [&](int index) {
    return pyramid.level[first + index].width * pyramid.level[first + index].height;
  };
  int spread = 0;

  if (levels > MAX_LEVELS || pixels_of(0) > (blocks > 1 ? MAX_SPREAD_PIXELS : MAX_ALONE))
    return false;
  while (blocks > 1 && spread < MAX_SPREAD && spread < levels - 1 &&
         pixels_of(spread) > MAX_GATHERED)
    spread++;
  for (; spread >= 0 && pixels_of(spread) <= MAX_ALONE; spread--) {
    *tail = tail_from(pyramid, first, spread, blocks);
    if (bytes_of(*tail, pyramid.groups) <= gpu.shared_per_block)
      return true;
  }
  return false;
}

template <int GROUPS>
constexpr int FIRST_BYTES = (int)sizeof(Directory) + FIRST_LEVEL_BYTES<GROUPS>;

template <int GROUPS>
bool launch_tail(Queue *queue, const Tail &tail, const FirstLevel &first, const Series &series)
{
  const int first_bytes = first.tiles > 0 ? FIRST_BYTES<GROUPS> : 0;

  return launch_cluster(queue, "llf coarse levels", tensor_tail_kernel<GROUPS>, tail.blocks,
                        TAIL_THREADS, std::max(bytes_of(tail, GROUPS), first_bytes), tail, first,
                        series);
}

/* Blocks of whole clusters. */
int twice_blocks(const TwiceLevels &twice, int cluster)
{
  return blocks(twice.tasks, cluster) * cluster;
}

template <int GROUPS>
bool launch_twice_and_tail(Queue *queue, const TwiceLevels &twice, const Tail &tail,
                           const Series &series)
{
  static_assert(TwiceTile<GROUPS, ROWS_BESIDE_TAIL>::THREADS == TAIL_THREADS,
                "blocks of one kernel");
  const int before = twice_blocks(twice, tail.blocks);

  return launch_with(queue, "llf coarse levels", tensor_twice_and_tail_kernel<GROUPS>,
                     dim3(before + tail.blocks), dim3(TAIL_THREADS),
                     std::max(bytes_of(tail, GROUPS), TwiceTile<GROUPS, ROWS_BESIDE_TAIL>::BYTES),
                     tail.blocks, twice, before, tail, series);
}

template <typename Kernel> int clusters_at_once(const Gpu &gpu, Kernel kernel, int blocks)
{
  cudaLaunchAttribute attribute = cluster_attribute(blocks);
  cudaLaunchConfig_t config = {};
  int fitting = 0;

  config.gridDim = dim3(blocks);
  config.blockDim = dim3(TAIL_THREADS);
  config.dynamicSmemBytes = gpu.shared_per_block;
  config.attrs = &attribute;
  config.numAttrs = 1;
  const bool known = cudaOccupancyMaxActiveClusters(&fitting, kernel, &config) == cudaSuccess;
  cudaGetLastError();
  return known ? fitting : 0;
}

template <int GROUPS> bool prepare(const Gpu &gpu, int *blocks, CfStatus *status)
{
  if (!allow_shared(gpu, tensor_tail_kernel<GROUPS>, gpu.shared_per_block, status))
    return false;
  if (!gpu.overlaps)
    return true;
  if (!cf_cuda_ok(cudaFuncSetAttribute(tensor_tail_kernel<GROUPS>,
                                       cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
                  "preparing the coarse levels", status))
    return false;
  while (*blocks > 1 && clusters_at_once(gpu, tensor_tail_kernel<GROUPS>, *blocks) < 1)
    *blocks /= 2;
  return true;
}

} // namespace

int tensor_tail_first_level(const Gpu &gpu, int tail_blocks, const Pyramid &pyramid, int from)
{
  for (int first = from; first < pyramid.images - 1; first++) {
    Tail tail;

    if (find_tail(gpu, pyramid, first, tail_blocks, &tail))
      return first;
  }
  return pyramid.images - 1;
}

bool tensor_tail_makes_first(const Gpu &gpu, int tail_blocks, const Pyramid &pyramid, int first)
{
  return tail_blocks > 1 && first >= 4 && first < pyramid.images - 1 &&
         FIRST_BYTES<4> <= gpu.shared_per_block;
}

bool tensor_prepare_tail(const Gpu &gpu, TensorStreams *streams, CfStatus *status)
{
  int *const blocks = &streams->tail_blocks;

  *blocks = gpu.overlaps ? MAX_BLOCKS : 1;
  if (!prepare<1>(gpu, blocks, status) || !prepare<2>(gpu, blocks, status) ||
      !prepare<4>(gpu, blocks, status) ||
      !allow_shared(gpu, tensor_twice_and_tail_kernel<1>, gpu.shared_per_block, status) ||
      !allow_shared(gpu, tensor_twice_and_tail_kernel<2>, gpu.shared_per_block, status))
    return false;
  streams->twice_tail_blocks = std::min(*blocks, TWICE_TAIL_BLOCKS);
  if (gpu.overlaps)
    streams->twice_room =
        streams->twice_tail_blocks *
        clusters_at_once(gpu, tensor_twice_and_tail_kernel<2>, streams->twice_tail_blocks);
  return true;
}

bool tensor_tail(Queue *queue, const Gpu &gpu, int tail_blocks, const Pyramid &pyramid, int first,
                 bool makes_first, const Series &series)
{
  FirstLevel made = {};
  Tail tail;

  find_tail(gpu, pyramid, first, tail_blocks, &tail);
  tail.top_gain = -series.linear;
  tail.ended = queue->ended;
  queue->awaited += tail.blocks;
  if (makes_first)
    made = first_level(pyramid, first, tail.top_gain);
  return pyramid.groups == 1   ? launch_tail<1>(queue, tail, made, series)
         : pyramid.groups == 2 ? launch_tail<2>(queue, tail, made, series)
                               : launch_tail<4>(queue, tail, made, series);
}

bool tensor_twice_fits_tail(const TensorStreams &streams, const Pyramid &pyramid, int first)
{
  const TwiceLevels twice = twice_levels<ROWS_BESIDE_TAIL>(pyramid, first - 2, 0.0f);
  const int cluster = streams.twice_tail_blocks;

  return pyramid.groups <= 2 && twice_blocks(twice, cluster) + cluster <= streams.twice_room;
}

bool tensor_twice_and_tail(Queue *queue, const TensorStreams &streams, const Gpu &gpu,
                           const Pyramid &pyramid, int first, const Series &series)
{
  TwiceLevels twice = twice_levels<ROWS_BESIDE_TAIL>(pyramid, first - 2, -series.linear);
  Tail tail;

  find_tail(gpu, pyramid, first, streams.twice_tail_blocks, &tail);
  tail.top_gain = -series.linear;
  twice.ended = pyramid.ended;
  return pyramid.groups == 1 ? launch_twice_and_tail<1>(queue, twice, tail, series)
                             : launch_twice_and_tail<2>(queue, twice, tail, series);
}

} // namespace cf::llf
