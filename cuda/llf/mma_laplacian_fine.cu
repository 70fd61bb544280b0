/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The terms of levels 0 and 1 on tensor cores. They do not depend on the coarser levels' collapsed
 * images, so these kernels run beside the chain of small ones that make them.
 */
#include "cuda/llf/mma_laplacian_cta.cuh"

#include <algorithm>
#include <type_traits>

namespace cf::llf
{
namespace
{

/* CTAs stay for many tiles, since the table is dear, and load the next one meanwhile. */
template <typename Variant>
__global__ void __launch_bounds__(Variant::kMostTeams *kThreads,
                                  Variant::kMostTeams == 1 ? kResident : 1)
    laplacian_fine_kernel(const __grid_constant__ Pixels pixels,
                          const __grid_constant__ Series series,
                          const __grid_constant__ Frame frame, bool beside)
{
  extern __shared__ __align__(128) uint8_t table[];
  LaplacianTeam<Variant> team(pixels, series, frame, table);

  fill_rotations<Variant::Kind, Variant::kCopies>(table, pixels, series);
  begin(beside);
  if constexpr (Variant::kMostTeams > 1)
    __syncthreads();
  team.place_first_tile();
  if (team.has_tile())
    team.load();
  while (team.has_tile())
    team.make_tile();
  end(beside);
}

/* --- launching --- */

template <typename Variant> int teams_of(const Gpu &gpu)
{
  constexpr int kMost = Variant::kMostTeams;
  return Memory<Variant>::bytes(kMost) <= gpu.shared_per_block ? kMost : 1;
}

template <typename Variant>
bool launch_kernel(Queue *queue, const Gpu &gpu, const FramePlan &plan, const Pixels &pixels,
                   const Series &series, const Pyramid &pyramid)
{
  using M = Memory<Variant>;
  constexpr LutKind Kind = Variant::Kind;
  constexpr int kReserved = 1024;
  const int tiles = blocks(pixels.width, kTileX) * blocks(pixels.height, kTileY);
  const int teams = teams_of<Variant>(gpu);
  const int fitting = gpu.shared_per_multiprocessor / (M::bytes(teams) + kReserved);
  const int most = Variant::kMostTeams > 1 ? 1 : kResident;
  const int beside = fitting < 1 ? 1 : fitting < most ? fitting : most;
  const int resident = beside * (gpu.multiprocessors - plan.reserved_sms);
  const Packing packing = packing_of(pixels);
  const Channel &channel = pixels.channel[0];
  const uintptr_t address =
      ((uintptr_t)channel.from - packing.byte[0]) | (uintptr_t)channel.from_stride;
  PictureRows source = {channel.from - (Kind == LutKind::kRgbLuma ? packing.byte[0] : 0), packing,
                        luma_row_of(pixels, packing), (int)channel.from_stride, false};

  source.aligned =
      source.stride == channel.from_stride &&
      (Kind == LutKind::kRgbLuma
           ? packing.packed && address % 16 == 0
           : pixels.step[0] == 1 && address % (4 * sizeof(typename LutOf<Kind>::Sample)) == 0);
  const int grid = tiles < resident ? tiles : resident, all_teams = teams * grid;
  const int across = blocks(pixels.width, kTileX);
  const Frame frame = {pyramid.level[1],
                       pyramid.level[2],
                       pyramid.cells[0],
                       pyramid.cells[1],
                       source,
                       {tiles, across, Step(all_teams, across), cells_across(pixels.width),
                        cells_across(pyramid.level[1].width)}};

  return launch(queue, "llf terms", laplacian_fine_kernel<Variant>, dim3(grid),
                dim3(teams * kThreads), M::bytes(teams), pixels, series, frame, plan.beside_coarse);
}

/* Calls `function` with the Kind as a type. */
template <LutKind value> struct LutConstant {
  static constexpr LutKind Kind = value;
};

template <typename Function> bool with_lut_kind(const Pixels &pixels, Function function)
{
  switch (lut_kind_of(pixels)) {
  case LutKind::kU8:
    return function(LutConstant<LutKind::kU8>());
  case LutKind::kU10:
    return function(LutConstant<LutKind::kU10>());
  case LutKind::kU16:
    return function(LutConstant<LutKind::kU16>());
  default:
    return function(LutConstant<LutKind::kRgbLuma>());
  }
}

template <LutKind Kind> bool is_joined(const Gpu &gpu, bool large)
{
  return kAlwaysJoined<Kind> ||
         (large && Memory<LaplacianKernel<Kind, kMostCopies<Kind>, 2, true>>::bytes(1) <=
                       gpu.shared_per_block);
}

template <typename Variant> bool fits(const Gpu &gpu)
{
  return Memory<Variant>::bytes(1) <= gpu.shared_per_block;
}

/* The kernels that there are: see prepare(). */
bool launch_terms(Queue *queue, const Gpu &gpu, const FramePlan &plan, const Pixels &pixels,
                  const Series &series, const Pyramid &pyramid)
{
  return with_lut_kind(pixels, [&](auto Kind) {
    constexpr LutKind kKey = decltype(Kind)::Kind;
    constexpr int kMost = kMostCopies<kKey>;

    if constexpr (kKey == LutKind::kRgbLuma) {
      if (plan.join_level_1)
        return launch_kernel<LaplacianKernel<kKey, kMost, 2, true>>(queue, gpu, plan, pixels,
                                                                    series, pyramid);
      return fits<LaplacianKernel<kKey, kMost, 2, false>>(gpu)
                 ? launch_kernel<LaplacianKernel<kKey, kMost, 2, false>>(queue, gpu, plan, pixels,
                                                                         series, pyramid)
                 : launch_kernel<LaplacianKernel<kKey, 1, 1, false>>(queue, gpu, plan, pixels,
                                                                     series, pyramid);
    } else {
      return !plan.few_tiles && fits<LaplacianKernel<kKey, kMost, 2, true>>(gpu)
                 ? launch_kernel<LaplacianKernel<kKey, kMost, 2, true>>(queue, gpu, plan, pixels,
                                                                        series, pyramid)
                 : launch_kernel<LaplacianKernel<kKey, kMost, 1, true>>(queue, gpu, plan, pixels,
                                                                        series, pyramid);
    }
  });
}

template <typename Variant> bool allow_kernel(const Gpu &gpu, CfStatus *status)
{
  const int bytes = Memory<Variant>::bytes(teams_of<Variant>(gpu));

  return allow_shared(gpu, laplacian_fine_kernel<Variant>, bytes, status);
}

template <LutKind Kind> bool allow_samples(const Gpu &gpu, CfStatus *status)
{
  constexpr int kMost = kMostCopies<Kind>;

  static_assert(Memory<LaplacianKernel<Kind, kMost, 1, true>>::bytes(1) <= kMinSharedBytes,
                "all GPUs have room");
  return allow_kernel<LaplacianKernel<Kind, kMost, 2, true>>(gpu, status) &&
         allow_kernel<LaplacianKernel<Kind, kMost, 1, true>>(gpu, status);
}

bool allow_luma(const Gpu &gpu, CfStatus *status)
{
  constexpr int kMost = kMostCopies<LutKind::kRgbLuma>;

  static_assert(Memory<LaplacianKernel<LutKind::kRgbLuma, 1, 1, false>>::bytes(1) <=
                    kMinSharedBytes,
                "all GPUs have room");
  return allow_kernel<LaplacianKernel<LutKind::kRgbLuma, kMost, 2, true>>(gpu, status) &&
         allow_kernel<LaplacianKernel<LutKind::kRgbLuma, kMost, 2, false>>(gpu, status) &&
         allow_kernel<LaplacianKernel<LutKind::kRgbLuma, 1, 1, false>>(gpu, status);
}

bool prepare(const Gpu &gpu, CfStatus *status)
{
  return allow_samples<LutKind::kU8>(gpu, status) && allow_samples<LutKind::kU10>(gpu, status) &&
         allow_samples<LutKind::kU16>(gpu, status) && allow_luma(gpu, status);
}

} // namespace

int mma_tiles_of_picture(const Pixels &pixels)
{
  return blocks(pixels.width, kTileX) * blocks(pixels.height, kTileY);
}

bool mma_prepare_laplacian_fine(const Gpu &gpu, CfStatus *status)
{
  return prepare(gpu, status);
}

bool mma_joins_level_1(const Gpu &gpu, const Pixels &pixels, bool large)
{
  return with_lut_kind(pixels, [&](auto Kind) {
    constexpr LutKind kKey = decltype(Kind)::Kind;

    return is_joined<kKey>(gpu, large);
  });
}

bool mma_laplacian_fine(Queue *queue, const Gpu &gpu, const FramePlan &plan, const Pixels &pixels,
                        const Series &series, const Pyramid &pyramid)
{
  return launch_terms(queue, gpu, plan, pixels, series, pyramid);
}

} // namespace cf::llf
