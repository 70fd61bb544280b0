/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where the samples of tiles on tensor cores lie among the levels of a blur map.
 */
#include "blurmap_cells.cuh"
#include "blurmap_places.cuh"
#include "blurmap_strips.cuh"

namespace
{

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

template <int C>
__device__ inline void find_tile(const CfCellJob &job, const CfMapPlane &plane,
                                 CfTileShapes *shapes, uint4 *of_warps)
{
  const int tile = (int)blockIdx.x - plane.first_tile, warp = (int)threadIdx.x / 32;
  const int x0 = cf_cell_tile_x(plane, tile), y0 = cf_cell_tile_y(plane, tile);
  const unsigned copied = (unsigned)plane.copy * (unsigned)(1 / kCellPosition);
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

      position[k] = kCellOutside;
      if (x >= plane.width || y < plane.first || y >= plane.end)
        continue;
      const float among = position_of(plane.table, map_at<uint8_t>(job.map, plane, *shapes, x, y));
      position[k] = (unsigned)fmaf(among, 1 / kCellPosition, 0.5f);
      if (plane.copy >= 0 && position[k] == copied) {
        levels.add(kCellCopied);
        continue;
      }
      const unsigned level = (unsigned)((float)position[k] * kCellPosition);
      levels.add((int)level);
      if ((float)position[k] * kCellPosition > (float)level)
        levels.add((int)level + 1);
    }
    job.positions[cf_cell_positions_of_thread() + 32 * half] =
        make_uint4(position[0] | position[1] << 16, position[2] | position[3] << 16,
                   position[4] | position[5] << 16, position[6] | position[7] << 16);
  }
  const uint4 bits = levels.of_warp();
  if (threadIdx.x % 32 == 0)
    job.levels[blockIdx.x * (kCellThreads / 32) + warp] = of_warps[warp] = bits;
  __syncthreads();

  const CfCellPlan &plan = job.plan[cf_cell_plane(job.map)];
  const CellLevels tile_levels(of_warps);
  const CellGroups groups(plan, tile_levels, y0);
  const int cells = groups.all_cells();
  CfCellStrip &strip = job.strips[blockIdx.x * (kCellThreads / 32) + warp];
  const int count = groups.list(plan, CellLevels(bits), x0, y0, y0 + warp * kCellStrip, 0,
                                kCellEntries, strip.entry);
  /* Tiles fetch a record whole, before they know its count. */
  for (int n = count + (int)threadIdx.x % 32; n < kCellEntries; n += 32)
    *(uint4 *)&strip.entry[n] = make_uint4(0, 0, 0, 0);
  if (threadIdx.x % 32 == 0)
    *(uint4 *)&strip = make_uint4((unsigned)count, bits.w >> 31, groups.needed, (unsigned)cells);
}

__global__ void __launch_bounds__(kCellThreads)
    positions_kernel(const __grid_constant__ CfCellJob job)
{
  __shared__ CfTileShapes shapes;
  __shared__ uint4 of_warps[kCellThreads / 32];
  const CfMapPlane &plane = job.map.plane[cf_cell_plane(job.map)];

  if (plane.channels == 4)
    find_tile<4>(job, plane, &shapes, of_warps);
  else if (plane.channels == 3)
    find_tile<3>(job, plane, &shapes, of_warps);
  else if (plane.channels == 2)
    find_tile<2>(job, plane, &shapes, of_warps);
  else
    find_tile<1>(job, plane, &shapes, of_warps);
}

} // namespace

bool cf_cell_positions(const CfCellJob *job, int tiles, void *stream, CfStatus *status)
{
  return cf_cell_launch(positions_kernel, job, tiles, 0, stream, "reading a blur map", status);
}
