/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The terms of levels 1 and up on tensor cores, of several levels in one kernel: none depends on
 * another's.
 */
#include "llf_tensor_cells.cuh"
#include "llf_tensor_up.cuh"

namespace llf
{
namespace
{

/* Low tiles for small levels, of which there are few. */
template <int GROUPS> using LevelTile = Tile<GROUPS, 16>;
template <int GROUPS> using LargeLevelTile = Tile<GROUPS, 32>;

constexpr long long LARGE_LEVEL = 1000000; /* pixels */

/* Tiles are counted from level `first` on. */
struct Levels {
  int first, last; /* the last one's terms are not made */
  int first_tile[CF_LLF_MAX_IMAGES], tiles_x[CF_LLF_MAX_IMAGES];
  Level level[CF_LLF_MAX_IMAGES];
  __half *cells; /* level 1's terms; others have theirs in the collapsed image */
  bool beside;
  const unsigned *coarse_begun;
};

/* A lane's words of a pixel. */
template <typename T>
__device__ __forceinline__ const uint32_t *own_words(const Level &own, size_t pixel, int lane)
{
  return reinterpret_cast<const uint32_t *>(own.groups + pixel * T::GROUPS) + lane % 4;
}

/* Levels 3 and up may still be in the making beside this kernel. */
__device__ __forceinline__ void await_coarse_levels(const unsigned *begun)
{
  while (*(volatile const unsigned *)begun == 0) {
  }
  __threadfence();
}

template <typename T>
__global__ void __launch_bounds__(T::THREADS, T::GROUPS == 4 ? 2 : 4)
    level_terms_kernel(const __grid_constant__ Levels levels, const __grid_constant__ Series series)
{
  extern __shared__ __align__(128) uint8_t memory[];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const Expansion expansion(lane);
  const Turn<T::GROUPS> turn(series, lane);
  int index = levels.first;

  while (index + 1 < levels.last && (int)blockIdx.x >= levels.first_tile[index + 1])
    index++;
  const Level &own = levels.level[index], &coarse = levels.level[index + 1];
  const int tile = (int)blockIdx.x - levels.first_tile[index], tiles_x = levels.tiles_x[index];
  const int tile_x = tile % tiles_x * T::FINE_X, tile_y = tile / tiles_x * T::FINE_Y;

  begin(levels.beside);
  if (levels.beside && index > 1)
    await_coarse_levels(levels.coarse_begun);
  CoarseLoader<T>(coarse, (int)threadIdx.x).load(memory, coarse, tile_x, tile_y);
  wait_copies();
  __syncthreads();

  for (int strip = warp; strip < T::FINE_Y / 2; strip += T::WARPS) {
    const int strip_x = strip % 2, strip_y = strip / 2;
    const int x = tile_x + 32 * strip_x, y = tile_y + 4 * strip_y;
    float sum[4];

    if (x >= own.width || y >= own.height)
      continue;
    const int pixel_x = x + lane / 4 % 4, pixel_y = y + lane / 16;
    const size_t row_0 = (size_t)min(pixel_y, own.height - 1) * own.width;
    const size_t row_1 = (size_t)min(pixel_y + 2, own.height - 1) * own.width;
    /* The strip's first pixels; `offset (j)` pixels on are those of block j. */
    const uint32_t *const groups_0 = own_words<T>(own, row_0 + pixel_x, lane);
    const uint32_t *const groups_1 = own_words<T>(own, row_1 + pixel_x, lane);
    const float *const gauss_0 = own.gauss + row_0 + pixel_x;
    const float *const gauss_1 = own.gauss + row_1 + pixel_x;
    auto make = [&](auto offset) {
      Columns<T> columns(memory, strip_x, strip_y, lane);
      expand_strip<T::GROUPS>(
          sum, expansion, lane, [&](int j, uint32_t *words) { columns.load(words, j); },
          [&](int j, int c, uint32_t *self) {
            self[0] = groups_0[(offset(j) * T::GROUPS + c) * 4];
            self[1] = groups_1[(offset(j) * T::GROUPS + c) * 4];
          },
          [&](int j, uint32_t *rotation) {
            rotate<T::GROUPS>(rotation, turn, gauss_0[offset(j)], gauss_1[offset(j)]);
          });
    };

    if (x + 32 <= own.width)
      make([](int j) { return 4 * j; });
    else
      make([&](int j) { return min(pixel_x + 4 * j, own.width - 1) - pixel_x; });
    if (index == 1) {
      store_cells(levels.cells, own.width, cells_across(own.width), x, y, lane, sum);
      continue;
    }
#pragma unroll
    for (int q = 0; q < 4; q++) {
      const int to_x = x + strip_pixel_x(lane, q), to_y = y + strip_pixel_y(lane, q);
      if (to_x < own.width && to_y < own.height)
        own.collapsed[(size_t)to_y * own.width + to_x] = sum[q];
    }
  }
  end(levels.beside);
}

template <typename T>
bool launch_levels(Queue *queue, const Pyramid &pyramid, int first, int last, const Series &series)
{
  Levels levels = {};
  int tiles = 0;

  levels.first = first;
  levels.last = last;
  levels.cells = pyramid.cells[1];
  levels.beside = queue->beside;
  levels.coarse_begun = pyramid.coarse_begun;
  for (int i = first; i <= last; i++) {
    const Level &level = pyramid.level[i];

    levels.level[i] = level;
    levels.first_tile[i] = tiles;
    levels.tiles_x[i] = blocks(level.width, T::FINE_X);
    tiles += i < last ? levels.tiles_x[i] * blocks(level.height, T::FINE_Y) : 0;
  }
  return launch(queue, "llf terms", level_terms_kernel<T>, dim3(tiles), dim3(T::THREADS), T::BYTES,
                levels, series);
}

template <int GROUPS>
bool launch_levels(Queue *queue, const Pyramid &pyramid, int first, int last, const Series &series)
{
  const Level &level = pyramid.level[first];

  return (long long)level.width * level.height > LARGE_LEVEL
             ? launch_levels<LargeLevelTile<GROUPS>>(queue, pyramid, first, last, series)
             : launch_levels<LevelTile<GROUPS>>(queue, pyramid, first, last, series);
}

template <int GROUPS> bool prepare(const Gpu &gpu, CfStatus *status)
{
  return allow_shared(gpu, level_terms_kernel<LevelTile<GROUPS>>, LevelTile<GROUPS>::BYTES,
                      status) &&
         allow_shared(gpu, level_terms_kernel<LargeLevelTile<GROUPS>>,
                      LargeLevelTile<GROUPS>::BYTES, status);
}

} // namespace

bool tensor_prepare_levels(const Gpu &gpu, CfStatus *status)
{
  return prepare<1>(gpu, status) && prepare<2>(gpu, status) && prepare<4>(gpu, status);
}

bool tensor_level_terms(Queue *queue, const Pyramid &pyramid, int first, int last,
                        const Series &series)
{
  if (first >= last)
    return true;
  return pyramid.groups == 1   ? launch_levels<1>(queue, pyramid, first, last, series)
         : pyramid.groups == 2 ? launch_levels<2>(queue, pyramid, first, last, series)
                               : launch_levels<4>(queue, pyramid, first, last, series);
}

} // namespace llf
