/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The terms of levels 1 and up on tensor cores, of several levels in one kernel.
 */
#include "llf_tensor_level_tiles.cuh"

namespace llf
{
namespace
{

using AllLevels = Levels<CF_LLF_MAX_IMAGES - 1>;

/* Tiles begin with number `first` of them, and the first `count` count that they have ended. */
struct Early {
  int first, count;
  unsigned *ended;
};

template <typename T>
__global__ void __launch_bounds__(T::THREADS, T::GROUPS == 4 ? 2 : 4)
    level_terms_kernel(const __grid_constant__ AllLevels levels,
                       const __grid_constant__ Series series, bool beside, Early early)
{
  extern __shared__ __align__(128) uint8_t memory[];
  const int lane = threadIdx.x % 32;
  const Expansion expansion(lane);
  const Turn<T::GROUPS> turn(series, lane);
  const int number = early.first + (int)blockIdx.x;

  begin(beside);
  make_level_tile<T, StagedPixels>(
      levels, memory, number < levels.tiles ? number : number - levels.tiles, (int)threadIdx.x,
      expansion, turn, [] { __syncthreads(); },
      [&] {
        if (beside && threadIdx.x == 0)
          await_coarse_levels(levels.coarse_begun);
        __syncthreads();
      });
  if ((int)blockIdx.x < early.count)
    count_ended(early.ended);
  end(beside);
}

/* Those that the picture's first tiles need: of levels 3 and up all, and of level 2 the first. */
template <typename T> Early early_tiles(const AllLevels &levels, int early_rows, unsigned *ended)
{
  const int behind = levels.count > 1 ? levels.first_tile[1] : levels.tiles;

  return Early{behind, levels.tiles - behind + levels.tiles_x[0] * blocks(early_rows, T::FINE_Y),
               ended};
}

template <int GROUPS>
bool launch_levels(Queue *queue, const Pyramid &pyramid, int first, int last, const Series &series,
                   int early_rows)
{
  using T = LevelTile<GROUPS>;
  const AllLevels levels = levels_of<T, CF_LLF_MAX_IMAGES - 1>(pyramid, first, last);
  Early early = {};

  if (queue->ended)
    early = early_tiles<T>(levels, early_rows, queue->ended);
  queue->awaited += early.count;
  return launch(queue, "llf terms", level_terms_kernel<T>, dim3(levels.tiles), dim3(T::THREADS),
                StagedPixels<T>::BYTES, levels, series, queue->beside, early);
}

template <int GROUPS> bool prepare(const Gpu &gpu, CfStatus *status)
{
  using T = LevelTile<GROUPS>;

  return allow_shared(gpu, level_terms_kernel<T>, StagedPixels<T>::BYTES, status);
}

} // namespace

bool tensor_prepare_levels(const Gpu &gpu, CfStatus *status)
{
  return prepare<1>(gpu, status) && prepare<2>(gpu, status) && prepare<4>(gpu, status);
}

bool tensor_level_terms(Queue *queue, const Pyramid &pyramid, int first, int last,
                        const Series &series, int early_rows)
{
  if (first >= last)
    return true;
  return pyramid.groups == 1   ? launch_levels<1>(queue, pyramid, first, last, series, early_rows)
         : pyramid.groups == 2 ? launch_levels<2>(queue, pyramid, first, last, series, early_rows)
                               : launch_levels<4>(queue, pyramid, first, last, series, early_rows);
}

} // namespace llf
