/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where the samples of tiles on tensor cores lie among the levels of a blur map.
 */
#include "cuda/blurmap/mip_types.cuh"
#include "cuda/blurmap/sigma_lookup_from_luma.cuh"
#include "cuda/blurmap/sigma_lookup_per_sample.cuh"
#include "cuda/blurmap/tile_records.cuh"
#include "cuda/common/half2.cuh"
#include "cuda/common/ptx_async.cuh"
#include "cuda/common/ptx_mma.cuh"
#include "cuda/common/pdl.cuh"

namespace
{

/* What picture_map says of bytes. Samples of subsampled planes count four of others, at the edges
 * some of them twice. */
__device__ inline float byte_map(const CfMapJob &job, const CfMapPlane &plane, int x, int y)
{
  const bool several = plane.shift_x | plane.shift_y;
  const int left = min(x << plane.shift_x, job.luma_width - 1),
            right = min(left + plane.shift_x, job.luma_width - 1);
  const int top = y << plane.shift_y, bottom = min(top + plane.shift_y, job.luma_height - 1);
  float m = job.mixer.offset;

#pragma unroll 1
  for (int i = 0; i < job.mixer.terms; i++) {
    const CfMapPlane &of = job.of_mixer[i];
    const uint8_t *row = of.source + (ptrdiff_t)top * of.source_stride + job.mixer.term[i].channel;
    int sum = __ldg(row + left * of.channels);

    if (several) {
      const uint8_t *below = row + (ptrdiff_t)(bottom - top) * of.source_stride;

      sum += __ldg(row + right * of.channels) + __ldg(below + left * of.channels) +
             __ldg(below + right * of.channels);
    }
    m += job.mixer.term[i].weight * (float)sum * (several ? 0.25f : 1.0f);
  }
  return __saturatef(m);
}

__device__ inline float byte_map_at(const CfMapJob &job, const CfMapPlane &plane,
                                    const CfTileShapes &shapes, int x, int y)
{
  if (job.mode == CF_MAP_LUMA || job.mode == CF_MAP_ALPHA)
    return byte_map(job, plane, x, y);
  if (job.mode == CF_MAP_FILE)
    return cf_map_bilinear(&plane.shape, job.values, x, y);
  return job.mode == CF_MAP_NONE ? region_map(job, plane, shapes, x, y)
                                 : cf_map_analytic(&plane.shape, x, y);
}

/* Finds a strip's positions; bits of its levels. */
__device__ inline uint4 find_strip(const CfCellJob &job, const CfMapPlane &plane, int x0, int y0,
                                   Shared *shared)
{
  const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
  uint8_t *used = shared->used[warp];
  unsigned bits[4];

  ((uint32_t *)used)[lane] = 0;
  __syncwarp();
#pragma unroll 2
  for (int row = 0; row < kCellStrip; row++) {
    const int x = x0 + lane, y = y0 + row;
    unsigned position = kNowhere;

    if (x < plane.width && y >= plane.first && y < plane.end) {
      position = rounded_position(plane, shared->position,
                                  byte_map_at(job.map, plane, shared->shapes, x, y));
      note(used, position);
    }
    ((uint16_t *)shared->pair[warp][row])[lane] = (uint16_t)position;
  }
  __syncwarp();
#pragma unroll
  for (int word = 0; word < 4; word++)
    bits[word] = __ballot_sync(0xffffffffu, used[32 * word + lane]);
  return make_uint4(bits[0], bits[1], bits[2], bits[3]);
}

/* Two positions as halves from level `first` on; of samples that are copied or not made,
 * kCellCopies. */
__device__ inline uint32_t relative_positions(uint32_t pair, unsigned first)
{
  const uint32_t low = pair & 0xffff, high = pair >> 16;
  const float zero = (float)first;
  const uint32_t both =
      cf::pack_half2((float)low * kCellPosition - zero, (float)high * kCellPosition - zero);

  return (low == kNowhere ? kCellCopies : both & 0xffff) |
         (high == kNowhere ? kCellCopies << 16 : both & 0xffff0000);
}

/* Of one strip of a tile. */
__device__ inline int most_levels(const uint4 *of_warps)
{
  int most = 0;

#pragma unroll
  for (int i = 0; i < kCellThreads / 32; i++) {
    most = max(most, CellLevels(of_warps[i]).count());
  }
  return most;
}

/* The records of tile number `index` of the order. */
__device__ inline void find_tile(const CfCellJob &job, int index, int p, int tile, Shared *shared)
{
  const CfMapPlane &plane = job.map.plane[p];
  const int x0 = cf_cell_tile_x(plane, tile), y0 = cf_cell_tile_y(plane, tile);
  const int warp = (int)threadIdx.x / 32;
  const int of_all = index * (kCellThreads / 32) + warp;
  uint4 *positions = job.positions + (size_t)of_all * 2 * 32 + threadIdx.x % 32;
  uint4 *of_warps = shared->of_strips[0];

  if (job.map.mode == CF_MAP_NONE)
    cf_find_shapes(job.map.list,
                   {x0 << plane.shift_x, y0 << plane.shift_y, (x0 + kCellColumns) << plane.shift_x,
                    (y0 + kCellRows) << plane.shift_y},
                   &shared->shapes);
  const uint4 bits = find_strip(job, plane, x0, y0 + warp * kCellStrip, shared);
  const unsigned first = (unsigned)first_level(CellLevels(bits));
#pragma unroll
  for (int half = 0; half < 2; half++) {
    uint32_t pair[4];

#pragma unroll
    for (int i = 0; i < 4; i++)
      pair[i] = relative_positions(shared->pair[warp][cf_cell_sample_y(i % 2 * 2)]
                                               [(cf_cell_sample_x(2 * half + i / 2, 0)) / 2],
                                   first);
    positions[32 * half] = make_uint4(pair[0], pair[1], pair[2], pair[3]);
  }
  if (threadIdx.x % 32 == 0)
    job.levels[of_all] = of_warps[warp] = bits;
  __syncthreads();

  const CfCellPlan &plan = job.plan[p];
  const CellLevels tile_levels(of_warps);
  const CellGroups groups(plan, tile_levels, y0);
  if (warp == 0)
    groups.describe(plan, p, most_levels(of_warps), x0, y0, &job.tiles[index]);
  CfCellStrip &strip = job.strips[of_all];
  const int count = groups.list(plan, CellLevels(bits), x0, y0, y0 + warp * kCellStrip, 0,
                                kCellEntries, strip.entry);
  /* Tiles fetch so many before they know its count. */
  for (int n = count + (int)threadIdx.x % 32; n < kCellFewEntries; n += 32)
    *(uint4 *)&strip.entry[n] = make_uint4(0, 0, 0, 0);
  if (threadIdx.x % 32 == 0)
    *(uint4 *)&strip = make_uint4((unsigned)count, bits.w >> 31, 0, 0);
}

constexpr int kBlocksOfSM = 6;

__global__ void __launch_bounds__(kCellThreads, kBlocksOfSM)
    positions_kernel(const __grid_constant__ CfCellJob job)
{
  __shared__ Shared shared;
  const int warp = (int)threadIdx.x / 32, blocks = (int)gridDim.x;
  int plane = -1;

#pragma unroll 1
  for (int first = (int)blockIdx.x; first < job.tile_count; first += kCellThreads / 32 * blocks) {
    const int own = first + warp * blocks;
    const bool found =
        own >= job.tile_count || find_by_codes(job, own, shared.of_strips[warp], shared.used[warp]);

    if (threadIdx.x % 32 == 0)
      shared.slow[warp] = found ? -1 : own;
    __syncthreads();
#pragma unroll 1
    for (int i = 0; i < kCellThreads / 32; i++) {
      const int index = shared.slow[i];

      if (index < 0)
        continue;
      const int place = job.order ? (int)job.order[index] : index;
      const int p = cf_cell_plane(job.map, place);

      if (p != plane) {
        for (int k = (int)threadIdx.x; k < CF_BLUR_TABLE + 2; k += kCellThreads)
          shared.position[k] = __ldg(&job.map.plane[p].table->position[k]);
        __syncthreads();
      }
      plane = p;
      find_tile(job, index, p, place - job.map.plane[p].first_tile, &shared);
      __syncthreads();
    }
    __syncthreads();
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

bool cf_cell_positions(const CfCellJob *job, int multiprocessors, void *stream, CfStatus *status)
{
  const int blocks = multiprocessors * kBlocksOfSM;

  return cf_cell_launch(positions_kernel, job, blocks < job->tile_count ? blocks : job->tile_count,
                        0, stream, "reading a blur map", status);
}

bool cf_cell_order(const CfCellJob *job, int tiles, unsigned *order, void *stream, CfStatus *status)
{
  order_kernel<<<1, kOrderThreads, 0, (cudaStream_t)stream>>>(job->tiles, tiles, order);
  return cf_cuda_launched("sorting tiles of a blur map", status);
}
