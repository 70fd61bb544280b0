/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The Laplacian coefficients of levels 0 and 1 on tensor cores. They do not depend on the coarser
 * levels' collapsed images, so this kernel runs concurrently with the coarse levels.
 */
#include "cuda/llf/mma_laplacian_cta.cuh"

#include <algorithm>

namespace cf::llf
{
namespace
{

/* Threads, with as many registers each as this kernel's, that a CTA leaves room for. */
template <LutKind Kind> constexpr int kLaterThreads = kLeavesRoom<Kind> ? 128 : 0;

/* Persistent CTAs: each fills its LUT once, and its teams compute tile after tile. */
template <LutKind Kind, int Copies>
__global__ void __launch_bounds__(kMostTeams *kThreads + kLaterThreads<Kind>, 1)
    laplacian_fine_kernel(const __grid_constant__ Pixels pixels,
                          const __grid_constant__ Series series,
                          const __grid_constant__ LaplacianFrame frame, bool beside)
{
  extern __shared__ __align__(128) uint8_t memory[];
  LaplacianTeam<Kind, Copies> team(pixels, series, frame, memory);

  begin(beside);
  team.place_first_tile();
  if (team.has_tile())
    team.load();
  fill_rotations<Kind, Copies>(memory, pixels, series);
  __syncthreads();
  while (team.has_tile())
    team.compute_tile();
  end(beside);
}

template <LutKind Kind, int Copies>
bool launch_kernel(Queue *queue, const FramePlan &plan, const Pixels &pixels, const Series &series,
                   const Pyramid &pyramid)
{
  using M = Memory<Kind, Copies>;
  const int across = blocks(pixels.width, kTileX), tiles = across * blocks(pixels.height, kTileY);
  const int teams = M::bytes(kMostTeams) <= queue->gpu.shared_per_block ? kMostTeams : 1;
  const int grid = std::min(tiles, queue->gpu.multiprocessors - plan.reserved_sms);
  const LaplacianFrame frame = {pyramid.level[1],
                                pyramid.level[2],
                                pyramid.tiled[0],
                                pyramid.tiled[1],
                                words_of(pixels),
                                {tiles, across, Step(teams * grid, across),
                                 patches_across(pixels.width),
                                 patches_across(pyramid.level[1].width)}};

  const auto kernel = laplacian_fine_kernel<Kind, Copies>;
  const size_t own_bytes = M::bytes(teams) + kSharedOverhead;
  const size_t later_bytes = kLeavesRoom<Kind> ? CoarseTile::kBytes + kSharedOverhead : 0;

  return prefer_carveout(queue, "llf terms", kernel,
                         carveout_of(queue->gpu, own_bytes + later_bytes)) &&
         launch(queue, "llf terms", kernel, dim3(grid), dim3(teams * kThreads), M::bytes(teams),
                pixels, series, frame, plan.beside_coarse);
}

} // namespace

bool mma_laplacian_fine(Queue *queue, const FramePlan &plan, const Pixels &pixels,
                        const Series &series, const Pyramid &pyramid)
{
  return with_lut_kind(pixels, [&](auto kind) {
    constexpr LutKind kKind = decltype(kind)::kKind;
    constexpr int kMost = kMostCopies<kKind>, kFew = kFewCopies<kKind>;
    static_assert(Memory<kKind, kFew>::bytes(1) <= kMinSharedBytes, "every GPU has room");

    return cf_llf_plan_override.few_copies != 1 &&
                   Memory<kKind, kMost>::bytes(kMostTeams) <= queue->gpu.shared_per_block
               ? launch_kernel<kKind, kMost>(queue, plan, pixels, series, pyramid)
               : launch_kernel<kKind, kFew>(queue, plan, pixels, series, pyramid);
  });
}

} // namespace cf::llf
