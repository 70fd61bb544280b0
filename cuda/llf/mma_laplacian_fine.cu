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
__global__ void __launch_bounds__(Variant::MOST_TEAMS *THREADS,
                                  Variant::MOST_TEAMS == 1 ? RESIDENT : 1)
    pixel_terms_kernel(const __grid_constant__ Pixels pixels, const __grid_constant__ Series series,
                       const __grid_constant__ Frame frame, bool beside)
{
  extern __shared__ __align__(128) uint8_t table[];
  LaplacianTeam<Variant> team(pixels, series, frame, table);

  fill_rotations<Variant::key, Variant::COPIES>(table, pixels, series);
  begin(beside);
  if constexpr (Variant::MOST_TEAMS > 1)
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
  constexpr int MOST = Variant::MOST_TEAMS;
  return Memory<Variant>::bytes(MOST) <= gpu.shared_per_block ? MOST : 1;
}

template <typename Variant>
bool launch_kernel(Queue *queue, const Gpu &gpu, const FramePlan &plan, const Pixels &pixels,
                   const Series &series, const Pyramid &pyramid)
{
  using M = Memory<Variant>;
  constexpr Key key = Variant::key;
  constexpr int RESERVED = 1024;
  const int tiles = blocks(pixels.width, TILE_X) * blocks(pixels.height, TILE_Y);
  const int teams = teams_of<Variant>(gpu);
  const int fitting = gpu.shared_per_multiprocessor / (M::bytes(teams) + RESERVED);
  const int most = Variant::MOST_TEAMS > 1 ? 1 : RESIDENT;
  const int beside = fitting < 1 ? 1 : fitting < most ? fitting : most;
  const int resident = beside * (gpu.multiprocessors - plan.reserved_sms);
  const Packing packing = packing_of(pixels);
  const Channel &channel = pixels.channel[0];
  const uintptr_t address =
      ((uintptr_t)channel.from - packing.byte[0]) | (uintptr_t)channel.from_stride;
  PictureRows source = {channel.from - (key == Key::LUMA ? packing.byte[0] : 0), packing,
                        luma_row_of(pixels, packing), (int)channel.from_stride, false};

  source.aligned =
      source.stride == channel.from_stride &&
      (key == Key::LUMA
           ? packing.packed && address % 16 == 0
           : pixels.step[0] == 1 && address % (4 * sizeof(typename KeyOf<key>::Sample)) == 0);
  const int grid = tiles < resident ? tiles : resident, all_teams = teams * grid;
  const int across = blocks(pixels.width, TILE_X);
  const Frame frame = {pyramid.level[1],
                       pyramid.level[2],
                       pyramid.cells[0],
                       pyramid.cells[1],
                       source,
                       {tiles, across, Step(all_teams, across), cells_across(pixels.width),
                        cells_across(pyramid.level[1].width)}};

  return launch(queue, "llf terms", pixel_terms_kernel<Variant>, dim3(grid), dim3(teams * THREADS),
                M::bytes(teams), pixels, series, frame, plan.beside_coarse);
}

/* Calls `function` with the key as a type. */
template <Key value> struct KeyConstant {
  static constexpr Key key = value;
};

template <typename Function> bool with_key(const Pixels &pixels, Function function)
{
  switch (key_of(pixels)) {
  case Key::BYTE:
    return function(KeyConstant<Key::BYTE>());
  case Key::WORD:
    return function(KeyConstant<Key::WORD>());
  default:
    return function(KeyConstant<Key::LUMA>());
  }
}

template <Key key> bool is_joined(const Gpu &gpu, bool large)
{
  return ALWAYS_JOINED<key> || (large && Memory<Kernel<key, MOST_COPIES<key>, 2, true>>::bytes(1) <=
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
  return with_key(pixels, [&](auto key) {
    constexpr Key KEY = decltype(key)::key;
    constexpr int MOST = MOST_COPIES<KEY>;

    if constexpr (KEY == Key::LUMA) {
      if (plan.join_level_1)
        return launch_kernel<Kernel<KEY, MOST, 2, true>>(queue, gpu, plan, pixels, series, pyramid);
      return fits<Kernel<KEY, MOST, 2, false>>(gpu)
                 ? launch_kernel<Kernel<KEY, MOST, 2, false>>(queue, gpu, plan, pixels, series,
                                                              pyramid)
                 : launch_kernel<Kernel<KEY, 1, 1, false>>(queue, gpu, plan, pixels, series,
                                                           pyramid);
    } else {
      return !plan.few_tiles && fits<Kernel<KEY, MOST, 2, true>>(gpu)
                 ? launch_kernel<Kernel<KEY, MOST, 2, true>>(queue, gpu, plan, pixels, series,
                                                             pyramid)
                 : launch_kernel<Kernel<KEY, MOST, 1, true>>(queue, gpu, plan, pixels, series,
                                                             pyramid);
    }
  });
}

template <typename Variant> bool allow_kernel(const Gpu &gpu, CfStatus *status)
{
  const int bytes = Memory<Variant>::bytes(teams_of<Variant>(gpu));

  return allow_shared(gpu, pixel_terms_kernel<Variant>, bytes, status);
}

template <Key key> bool allow_samples(const Gpu &gpu, CfStatus *status)
{
  constexpr int MOST = MOST_COPIES<key>;

  static_assert(Memory<Kernel<key, MOST, 1, true>>::bytes(1) <= LEAST_SHARED, "all GPUs have room");
  return allow_kernel<Kernel<key, MOST, 2, true>>(gpu, status) &&
         allow_kernel<Kernel<key, MOST, 1, true>>(gpu, status);
}

bool allow_luma(const Gpu &gpu, CfStatus *status)
{
  constexpr int MOST = MOST_COPIES<Key::LUMA>;

  static_assert(Memory<Kernel<Key::LUMA, 1, 1, false>>::bytes(1) <= LEAST_SHARED,
                "all GPUs have room");
  return allow_kernel<Kernel<Key::LUMA, MOST, 2, true>>(gpu, status) &&
         allow_kernel<Kernel<Key::LUMA, MOST, 2, false>>(gpu, status) &&
         allow_kernel<Kernel<Key::LUMA, 1, 1, false>>(gpu, status);
}

bool prepare(const Gpu &gpu, CfStatus *status)
{
  return allow_samples<Key::BYTE>(gpu, status) && allow_samples<Key::WORD>(gpu, status) &&
         allow_luma(gpu, status);
}

} // namespace

int tensor_tiles(const Pixels &pixels)
{
  return blocks(pixels.width, TILE_X) * blocks(pixels.height, TILE_Y);
}

bool tensor_prepare_terms(const Gpu &gpu, CfStatus *status)
{
  return prepare(gpu, status);
}

bool tensor_terms_are_joined(const Gpu &gpu, const Pixels &pixels, bool large)
{
  return with_key(pixels, [&](auto key) {
    constexpr Key KEY = decltype(key)::key;

    return is_joined<KEY>(gpu, large);
  });
}

bool tensor_pixel_terms(Queue *queue, const Gpu &gpu, const FramePlan &plan, const Pixels &pixels,
                        const Series &series, const Pyramid &pyramid)
{
  return launch_terms(queue, gpu, plan, pixels, series, pyramid);
}

} // namespace cf::llf
