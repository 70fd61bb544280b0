/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The terms of levels 2 and up on tensor cores, of several levels in one kernel, a tile a CTA: none
 * depends on another's.
 */
#include "cuda/common/grid_flags.cuh"
#include "cuda/llf/mma_upsample.cuh"

namespace cf::llf
{
namespace
{

/* Low tiles, since small levels have few. */
using T = Tile<16>;

constexpr int kMostLevels = CF_LLF_MAX_IMAGES - 1;

/* Levels from `first` on, and the one behind the last. */
struct Levels {
  int count, tiles;
  int first_tile[kMostLevels], tiles_x[kMostLevels];
  Level level[kMostLevels + 1];
  const unsigned *coarse_inputs_ready;
};

/* --- a level's own pixels --- */

/* From shared memory, where all of a tile's come at once, in rows that begin in different banks.
 * Few at a time are enough then: blocks are so short that they wait for instructions, too. */
struct StagedPixels {
  static constexpr int kPitch = (T::kFineX * kGroups + 1) * kGroupBytes;
  static constexpr int kGaussPitch = (T::kFineX + 4) * (int)sizeof(float);
  static constexpr int kOwn = (T::kBytes + 127) / 128 * 128, kGauss = kOwn + T::kFineY * kPitch;
  static constexpr int kBytes = kGauss + T::kFineY * kGaussPitch, kTogether = 2;

  const uint8_t *groups, *gauss;

  /* Starts to load them. What is beyond the level's border is some of the level's: a product
   * spreads what a strip has of it there, times zero, and what is no number would stay one. */
  __device__ __forceinline__ static void start(uint8_t *memory, const Level &own, int tile_x,
                                               int tile_y, int thread)
  {
    const uint32_t to = cf::smem_address(memory);
    const int width = own.width - tile_x, height = own.height - tile_y;
    const size_t first = (size_t)tile_y * own.width + tile_x;

    start_pieces<T::kFineX * kGroups>(to + kOwn, kPitch, own.groups + first * kGroups,
                                      own.width * kGroups, width * kGroups, height, thread);
    if (own.width % 4 == 0)
      start_pieces<T::kFineX / 4>(to + kGauss, kGaussPitch,
                                  reinterpret_cast<const uint4 *>(own.gauss + first), own.width / 4,
                                  width / 4, height, thread);
    else
      start_words(to + kGauss, own.gauss + first, own.width, width, height, thread);
  }

  /* kAcross of 16 bytes a row: a thread's are one above the other. */
  template <int Across>
  __device__ __forceinline__ static void start_pieces(uint32_t to, int to_pitch, const uint4 *from,
                                                      int pitch, int width, int height, int thread)
  {
    constexpr int kStep = T::kThreads / Across;
    const int column = thread % Across, row = thread / Across;

    to += row * to_pitch + column * kGroupBytes;
    from += column < width ? column : 0;
#pragma unroll
    for (int k = 0; k < T::kFineY; k += kStep)
      cp_async<16>(to + k * to_pitch, from + (ptrdiff_t)min(row + k, height - 1) * pitch);
  }

  __device__ __forceinline__ static void start_words(uint32_t to, const float *from, int pitch,
                                                     int width, int height, int thread)
  {
#pragma unroll 1
    for (int i = thread; i < T::kFineX * T::kFineY; i += T::kThreads) {
      const int row = i / T::kFineX, column = i % T::kFineX;

      cf::cp_async_zero_fill<4>(
          to + row * kGaussPitch + column * (int)sizeof(float),
          from + (ptrdiff_t)min(row, height - 1) * pitch + (column < width ? column : 0), 4);
    }
  }

  __device__ __forceinline__ StagedPixels(const uint8_t *memory, int x, int y, int lane)
  {
    const int column = x + lane / 4 % 4, row = y + lane / 16;

    groups = memory + kOwn + row * kPitch + column * kGroups * kGroupBytes + lane % 4 * 4;
    gauss = memory + kGauss + row * kGaussPitch + column * (int)sizeof(float);
  }

  __device__ __forceinline__ uint32_t word(int k, int j, int c) const
  {
    return *reinterpret_cast<const uint32_t *>(groups + 2 * k * kPitch +
                                               (4 * j * kGroups + c) * kGroupBytes);
  }

  __device__ __forceinline__ float intensity(int k, int j) const
  {
    return reinterpret_cast<const float *>(gauss + 2 * k * kGaussPitch)[4 * j];
  }
};

/* --- tiles --- */

/* Levels 3 and up may still be in the making `beside` this kernel: every thread polls the flag
 * itself, before any load, since a fence after cp.async would wait for the copies. */
__global__ void __launch_bounds__(T::kThreads, 4)
    laplacian_coarse_kernel(const __grid_constant__ Levels levels,
                            const __grid_constant__ Series series, bool beside)
{
  extern __shared__ __align__(128) uint8_t memory[];
  const int thread = (int)threadIdx.x, lane = thread % 32;
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
    spin_acquire(levels.coarse_inputs_ready, 1);
  StagedPixels::start(memory, own, tile_x, tile_y, thread);
  CoarseLoader<T>(coarse, thread).load(memory, coarse, tile_x, tile_y);
  cp_async_commit_and_wait();
  __syncthreads();

  for (int strip = thread / 32; strip < T::kFineY / 2; strip += T::kWarps) {
    const int strip_x = strip % 2, strip_y = strip / 2;
    const int x = tile_x + 32 * strip_x, y = tile_y + 4 * strip_y;
    float sum[4];

    if (x >= own.width || y >= own.height)
      continue;
    const StagedPixels pixels(memory, 32 * strip_x, 4 * strip_y, lane);
    Columns<T> columns(memory, strip_x, strip_y, lane);

    expand_strip<StagedPixels::kTogether>(
        sum, expansion, lane, [&](int j, uint32_t *words) { columns.load(words, j); },
        [&](int j, int c, uint32_t *self) {
          self[0] = pixels.word(0, j, c);
          self[1] = pixels.word(1, j, c);
        },
        [&](int j, uint32_t *rotation) {
          rotate(rotation, turn, pixels.intensity(0, j), pixels.intensity(1, j));
        });
#pragma unroll
    for (int q = 0; q < 4; q++) {
      const int to_x = x + strip_pixel_x(lane, q), to_y = y + strip_pixel_y(lane, q);
      if (to_x < own.width && to_y < own.height)
        own.collapsed[(size_t)to_y * own.width + to_x] = sum[q];
    }
  }
  end(beside);
}

/* Levels first .. last - 1. */
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

bool mma_laplacian_coarse(Queue *queue, const FramePlan &plan, const Pyramid &pyramid, int last,
                          const Series &series)
{
  if (last <= 2)
    return true;
  const Levels levels = levels_of(pyramid, 2, last);
  return launch(queue, "llf terms", laplacian_coarse_kernel, dim3(levels.tiles), dim3(T::kThreads),
                StagedPixels::kBytes, levels, series, plan.beside_coarse);
}

} // namespace cf::llf
