/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The terms of levels 1 and up on tensor cores, of several levels in one kernel.
 */
#include "cuda/llf/mma_laplacian_tile.cuh"

#include <algorithm>

namespace cf::llf
{
namespace
{

using AllLevels = Levels<CF_LLF_MAX_IMAGES - 1>;

/* The order of two levels' tiles where the picture's first tiles begin early: what these need of
 * the coarser level and of the finer one comes first, and counts that it has ended. */
struct Early {
  int coarse, fine, all_coarse, all_fine; /* tiles: those needed, and all */
  unsigned *ended;

  __device__ __forceinline__ int tile(int number) const
  {
    const int needed = coarse + fine;

    return number < coarse              ? all_fine + number
           : number < needed            ? number - coarse
           : number < all_coarse + fine ? all_fine + number - fine
                                        : number - all_coarse;
  }
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

  begin(beside);
  make_level_tile<T, StagedPixels>(levels, memory, early.tile((int)blockIdx.x), (int)threadIdx.x,
                                   expansion, turn, beside, [] { __syncthreads(); });
  if ((int)blockIdx.x < early.coarse + early.fine)
    count_cta_done(early.ended);
  end(beside);
}

template <typename T> Early early_tiles(const AllLevels &levels, int picture_rows, unsigned *ended)
{
  const int all_fine = levels.first_tile[1], all_coarse = levels.tiles - all_fine;
  auto tiles = [&](int index, int all) {
    const int rows = tensor_finish_needed_rows(picture_rows, levels.first + index);

    return std::min(levels.tiles_x[index] * blocks(rows, T::FINE_Y), all);
  };

  return Early{tiles(1, all_coarse), tiles(0, all_fine), all_coarse, all_fine, ended};
}

template <int GROUPS>
bool launch_levels(Queue *queue, const Pyramid &pyramid, int first, int last, const Series &series,
                   int picture_rows)
{
  using T = LevelTile<GROUPS>;
  const AllLevels levels = levels_of<T, CF_LLF_MAX_IMAGES - 1>(pyramid, first, last);
  Early early = {};

  if (queue->ended)
    early = early_tiles<T>(levels, picture_rows, queue->ended);
  queue->awaited += early.coarse + early.fine;
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
                        const Series &series, int picture_rows)
{
  if (first >= last)
    return true;
  return pyramid.groups == 1 ? launch_levels<1>(queue, pyramid, first, last, series, picture_rows)
         : pyramid.groups == 2
             ? launch_levels<2>(queue, pyramid, first, last, series, picture_rows)
             : launch_levels<4>(queue, pyramid, first, last, series, picture_rows);
}

} // namespace cf::llf
