/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where the samples of tiles on tensor cores lie among the levels of a blur map.
 */
#include "blurmap_cells.cuh"
#include "blurmap_places.cuh"
#include "blurmap_strips.cuh"
#include "tensor_ops.cuh"

namespace
{

constexpr unsigned kNowhere = 65535; /* position of what is copied, or not made */

/* Levels of a warp's samples. */
struct LevelBits {
  unsigned bits[4];

  __device__ void add(int level)
  {
#pragma unroll
    for (int word = 0; word < 4; word++)
      bits[word] |= level / 32 == word ? 1u << level % 32 : 0;
  }

  __device__ uint4 of_warp()
  {
#pragma unroll
    for (int word = 0; word < 4; word++) {
#pragma unroll
      for (int other = 16; other > 0; other /= 2)
        bits[word] |= __shfl_xor_sync(0xffffffffu, bits[word], other);
    }
    return make_uint4(bits[0], bits[1], bits[2], bits[3]);
  }
};

/* Two positions as halves from level `first` on; of samples that are copied or not made,
 * kCellCopies. */
__device__ inline uint32_t relative_positions(uint32_t pair, unsigned first)
{
  const uint32_t low = pair & 0xffff, high = pair >> 16;
  const float zero = (float)first;
  const uint32_t both =
      cf_pack_halves((float)low * kCellPosition - zero, (float)high * kCellPosition - zero);

  return (low == kNowhere ? kCellCopies : both & 0xffff) |
         (high == kNowhere ? kCellCopies << 16 : both & 0xffff0000);
}

/* Of one strip of a tile. */
__device__ inline int most_levels(const uint4 *of_warps)
{
  int most = 0;

#pragma unroll
  for (int i = 0; i < kCellThreads / 32; i++) {
    const CellLevels levels(of_warps[i]);
    most = max(most, __popc(levels.bits[0]) + __popc(levels.bits[1]) + __popc(levels.bits[2]) +
                         __popc(levels.bits[3]));
  }
  return most;
}

template <int C>
__device__ inline void find_tile(const CfCellJob &job, int p, int tile, CfTileShapes *shapes,
                                 uint4 *of_warps)
{
  const CfMapPlane &plane = job.map.plane[p];
  const int x0 = cf_cell_tile_x(plane, tile), y0 = cf_cell_tile_y(plane, tile);
  const int warp = (int)threadIdx.x / 32;
  const unsigned copied = (unsigned)plane.copy * (unsigned)(1 / kCellPosition);
  uint4 *positions = job.positions + cf_cell_positions_of_thread();
  LevelBits levels = {};

  if (job.map.mode == CF_MAP_NONE)
    cf_find_shapes(job.map.list,
                   {x0 << plane.shift_x, y0 << plane.shift_y, (x0 + kCellColumns) << plane.shift_x,
                    (y0 + kCellRows) << plane.shift_y},
                   shapes);
#pragma unroll 1
  for (int half = 0; half < 2; half++) {
    unsigned position[8];

#pragma unroll
    for (int k = 0; k < 8; k++) {
      const int block = half * 2 + k / 4, i = k % 4;
      const int x = x0 + cf_cell_sample_x<C>(block, i);
      const int y = y0 + warp * kCellStrip + cf_cell_sample_y(i);

      position[k] = kNowhere;
      if (x >= plane.width || y < plane.first || y >= plane.end)
        continue;
      const float among = position_of(plane.table, map_at<uint8_t>(job.map, plane, *shapes, x, y));
      const unsigned rounded = (unsigned)fmaf(among, 1 / kCellPosition, 0.5f);
      if (plane.copy >= 0 && rounded == copied) {
        levels.add(kCellCopied);
        continue;
      }
      const unsigned level = (unsigned)((float)rounded * kCellPosition);
      position[k] = rounded;
      levels.add((int)level);
      if ((float)rounded * kCellPosition > (float)level)
        levels.add((int)level + 1);
    }
    positions[32 * half] =
        make_uint4(position[0] | position[1] << 16, position[2] | position[3] << 16,
                   position[4] | position[5] << 16, position[6] | position[7] << 16);
  }
  const uint4 bits = levels.of_warp();
  const unsigned first = (unsigned)first_level(CellLevels(bits));
#pragma unroll
  for (int half = 0; half < 2; half++) {
    const uint4 eight = positions[32 * half];

    positions[32 * half] =
        make_uint4(relative_positions(eight.x, first), relative_positions(eight.y, first),
                   relative_positions(eight.z, first), relative_positions(eight.w, first));
  }
  if (threadIdx.x % 32 == 0)
    job.levels[blockIdx.x * (kCellThreads / 32) + warp] = of_warps[warp] = bits;
  __syncthreads();

  const CfCellPlan &plan = job.plan[p];
  const CellLevels tile_levels(of_warps);
  const CellGroups groups(plan, tile_levels, y0);
  if (warp == 0)
    groups.describe(plan, p, most_levels(of_warps), x0, y0, &job.tiles[blockIdx.x]);
  CfCellStrip &strip = job.strips[blockIdx.x * (kCellThreads / 32) + warp];
  const int count = groups.list(plan, CellLevels(bits), x0, y0, y0 + warp * kCellStrip, 0,
                                kCellEntries, strip.entry);
  /* Tiles fetch so many before they know its count. */
  for (int n = count + (int)threadIdx.x % 32; n < kCellFewEntries; n += 32)
    *(uint4 *)&strip.entry[n] = make_uint4(0, 0, 0, 0);
  if (threadIdx.x % 32 == 0)
    *(uint4 *)&strip = make_uint4((unsigned)count, bits.w >> 31, 0, 0);
}

__global__ void __launch_bounds__(kCellThreads)
    positions_kernel(const __grid_constant__ CfCellJob job)
{
  __shared__ CfTileShapes shapes;
  __shared__ uint4 of_warps[kCellThreads / 32];
  const int place = job.order ? (int)job.order[blockIdx.x] : (int)blockIdx.x;
  const int p = cf_cell_plane(job.map, place), tile = place - job.map.plane[p].first_tile;

  switch (job.map.plane[p].channels) {
  case 4:
    find_tile<4>(job, p, tile, &shapes, of_warps);
    break;
  case 3:
    find_tile<3>(job, p, tile, &shapes, of_warps);
    break;
  case 2:
    find_tile<2>(job, p, tile, &shapes, of_warps);
    break;
  default:
    find_tile<1>(job, p, tile, &shapes, of_warps);
  }
}

/* ---- order ---- */

constexpr int kOrderThreads = 1024;

constexpr int kCosts = 2 * CF_BLUR_LEVELS + 1;

__device__ inline int place_of(const CfCellTile &tile)
{
  return kCosts - 1 - tile.cost;
}

/* Tiles that blend many levels come first, lest the last blocks to end are long ones. */
__global__ void __launch_bounds__(kOrderThreads)
    order_kernel(const CfCellTile *tiles, int count, unsigned *order)
{
  __shared__ unsigned next[kCosts];
  const int thread = (int)threadIdx.x;

  if (thread < kCosts)
    next[thread] = 0;
  __syncthreads();
  for (int i = thread; i < count; i += kOrderThreads)
    atomicAdd(&next[place_of(tiles[i])], 1u);
  __syncthreads();
  if (thread == 0) {
    unsigned before = 0;

    for (int i = 0; i < kCosts; i++) {
      const unsigned here = next[i];
      next[i] = before;
      before += here;
    }
  }
  __syncthreads();
  for (int i = thread; i < count; i += kOrderThreads)
    order[atomicAdd(&next[place_of(tiles[i])], 1u)] = (unsigned)i;
}

} // namespace

bool cf_cell_positions(const CfCellJob *job, int tiles, void *stream, CfStatus *status)
{
  return cf_cell_launch(positions_kernel, job, tiles, 0, stream, "reading a blur map", status);
}

bool cf_cell_order(const CfCellJob *job, int tiles, unsigned *order, void *stream, CfStatus *status)
{
  order_kernel<<<1, kOrderThreads, 0, (cudaStream_t)stream>>>(job->tiles, tiles, order);
  return cf_cuda_launched("sorting tiles of a blur map", status);
}
