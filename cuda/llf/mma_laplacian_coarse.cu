/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The Laplacian coefficients of levels 2 and up on tensor cores: one kernel for several levels,
 * which do not depend on each other, with a tile per CTA.
 */
#include "cuda/common/grid_flags.cuh"
#include "cuda/llf/mma_laplacian_lut.cuh"

namespace cf::llf
{
namespace
{

using T = CoarseTile;
static_assert(T::kFineY / 4 * (T::kFineX / 32) == T::kWarps, "a strip per warp");

constexpr int kCtasPerSm = 4;

constexpr int kMostLevels = CF_LLF_MAX_IMAGES - 1;

/* The levels to compute, and the next coarser one. */
struct Levels {
  int count, tiles;
  int first_tile[kMostLevels], tiles_x[kMostLevels]; /* per level; the CTAs have tiles in order */
  Level level[kMostLevels + 1];
  const unsigned *coarse_inputs_ready;
};

/* With `beside` the kernels that compute levels 3 and up may still run. Each thread waits for the
 * flag before its first load. */
__global__ void __launch_bounds__(T::kThreads, kCtasPerSm)
    laplacian_coarse_kernel(const __grid_constant__ Levels levels,
                            const __grid_constant__ Series series, bool beside)
{
  extern __shared__ __align__(128) uint8_t memory[];
  /* The remainder changes nothing: it tells the compiler the range. */
  const int thread = (int)(threadIdx.x % T::kThreads), lane = thread % 32;
  const Expansion expansion(lane);
  const HarmonicFrequencies turn(series, lane);
  int index = 0;

  begin(beside);
  while (index + 1 < levels.count && (int)blockIdx.x >= levels.first_tile[index + 1])
    index++;
  const Level &own = levels.level[index], &coarse = levels.level[index + 1];
  const int tile = (int)blockIdx.x - levels.first_tile[index], tiles_x = levels.tiles_x[index];
  const int tile_x = tile % tiles_x * T::kFineX, tile_y = tile / tiles_x * T::kFineY;

  if (beside)
    await_flag(levels.coarse_inputs_ready);
  CoarseLoader<T>(memory, thread).load(0, coarse, tile_x, tile_y);

  const int strip_x = thread / 32 % 2, strip_y = thread / 64;
  const int x = tile_x + 32 * strip_x, y = tile_y + 4 * strip_y;
  const int column = min(x + lane / 4 % 4, own.width - 1);
  OwnRows rows = {{}, {}, own.width - 1 - column};
  OwnBlock blocks[8];

#pragma unroll
  for (int k = 0; k < 2; k++) {
    const uint32_t pixel =
        (uint32_t)(min(y + lane / 16 + 2 * k, own.height - 1) * own.width + column);

    rows.words[k] = keep_in_register(reinterpret_cast<const uint32_t *>(own.groups) +
                                     (size_t)pixel * (4 * kGroups) + lane % 4);
    rows.gauss[k] = keep_in_register(own.gauss + pixel);
  }
#pragma unroll
  for (int j = 0; j < 8; j++)
    blocks[j] = rows.block(j);
  cp_async_commit_and_wait();
  __syncthreads();

  if (x < own.width && y < own.height) {
    Columns<T> columns(memory, strip_x, strip_y, lane);
    float sum[4];

    strip_coefficients(
        sum, expansion, turn, lane, [&](int j) { return blocks[j]; },
        [&](int j, uint32_t *words) { columns.load(words, j); });
#pragma unroll
    for (int q = 0; q < 4; q++) {
      const int to_x = x + strip_pixel_x(lane, q), to_y = y + strip_pixel_y(lane, q);
      if (to_x < own.width && to_y < own.height)
        own.collapsed[(uint32_t)(to_y * own.width + to_x)] = sum[q];
    }
  }
  end(beside);
}

/* Levels first..last - 1. */
Levels levels_of(const Pyramid &pyramid, int first, int last)
{
  Levels levels = {};

  levels.count = last - first;
  levels.coarse_inputs_ready = pyramid.coarse_inputs_ready;
  for (int i = 0; i < levels.count; i++) {
    const Level &level = pyramid.level[first + i];

    levels.level[i] = level;
    levels.first_tile[i] = levels.tiles;
    levels.tiles_x[i] = blocks(level.width, T::kFineX);
    levels.tiles += levels.tiles_x[i] * blocks(level.height, T::kFineY);
  }
  levels.level[levels.count] = pyramid.level[last];
  return levels;
}

} // namespace

bool mma_laplacian_coarse(Queue *queue, const FramePlan &plan, const Pixels &pixels,
                          const Pyramid &pyramid, int last, const Series &series)
{
  if (last <= 2)
    return true;
  const Levels levels = levels_of(pyramid, 2, last);
  const bool shares_sms = plan.beside_coarse && with_lut_kind(pixels, [](auto kind) {
                            return kLeavesRoom<decltype(kind)::kKind>;
                          });
  /* Warps read their own pixels through the L1 cache. */
  const int carveout = shares_sms
                           ? cudaSharedmemCarveoutDefault
                           : carveout_of(queue->gpu, kCtasPerSm * (T::kBytes + kSharedOverhead));

  return prefer_carveout(queue, "llf terms", laplacian_coarse_kernel, carveout) &&
         launch(queue, "llf terms", laplacian_coarse_kernel, dim3(levels.tiles), dim3(T::kThreads),
                T::kBytes, levels, series, plan.beside_coarse);
}

} // namespace cf::llf
