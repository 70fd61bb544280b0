/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Looks up sigmas in the map: makes the LODs of all samples, and from these the records of all
 * tiles for blend_tiles(); and sorts tiles by cost.
 */
#include "cuda/blurmap/device.cuh"
#include "cuda/blurmap/map_values.cuh"
#include "cuda/blurmap/tile_records.cuh"
#include "cuda/common/half2.cuh"
#include "cuda/common/int_math.cuh"
#include "cuda/common/ptx_async.cuh"
#include "cuda/common/ptx_mma.cuh"
#include "cuda/common/pdl.cuh"

namespace cf::blurmap
{

namespace
{

/* In this file, LODs are integers, kSteps from one level to the next; kNoLod is that of samples
 * that are copied, or not made. */
constexpr unsigned kNoLod = 65535;
constexpr unsigned kSteps = (unsigned)(1 / kLodStep);

/* Words of a row of LODs, padded so that eight rows lie in different banks. */
constexpr int kLodPitch = kTileColumns / 2 + 4;

struct Shared {
  CfTileShapes shapes;
  uint4 of_strips[kThreads / 32]; /* [warp] a bit for each level of the strip */
  float lod[CF_BLUR_TABLE + 2];   /* MapPlane.lod of the current plane */
  /* [warp][level] whether the strip has samples of it; [warp][row] pairs of LODs. */
  alignas(16) uint8_t used[kThreads / 32][CF_BLUR_LEVELS + 16];
  alignas(16) uint32_t pair[kThreads / 32][kStripRows][kLodPitch];
};

/* The LOD of m as an integer; kNoLod if it is exactly that of the level of sigma 0. */
__device__ inline unsigned rounded_lod(const MapPlane &plane, const float *table, float m)
{
  const unsigned lod = (unsigned)fmaf(lod_of(table, m), 1 / kLodStep, 0.5f);

  return plane.copy >= 0 && lod == (unsigned)plane.copy * kSteps ? kNoLod : lod;
}

/* Marks the one or two levels of a LOD; kNoLod marks kCopiedBit. */
__device__ inline void mark_levels(uint8_t *used, unsigned lod)
{
  static_assert(kNoLod / kSteps == (unsigned)kCopiedBit, "the level that stands for copies");
  used[lod / kSteps] = 1;
  used[(lod + kSteps - 1) / kSteps] = 1;
}

/* Finds the LODs of the warp's strip, to shared->pair, and returns a bit for each of its levels.
 * Rows that are not made are skipped: the last tiles of a plane often have many. */
__device__ inline uint4 look_up_strip(const FrameJob &job, const MapPlane &plane, int x0, int y0,
                                      Shared *shared)
{
  const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32, x = x0 + lane;
  uint8_t *used = shared->used[warp];
  unsigned bits[4];

  ((uint32_t *)used)[lane] = 0;
  __syncwarp();
#pragma unroll 1
  for (int first = 0; first < kStripRows; first += kLookupRows) {
    float m[kLookupRows];

    if (y0 + first < plane.end && y0 + first + kLookupRows > plane.first)
      map_rows<uint8_t>(job.map, plane, shared->shapes, x, y0 + first, m);
#pragma unroll
    for (int k = 0; k < kLookupRows; k++) {
      const int row = first + k;
      unsigned lod = kNoLod;

      if (x < plane.width && y0 + row >= plane.first && y0 + row < plane.end) {
        lod = rounded_lod(plane, shared->lod, m[k]);
        mark_levels(used, lod);
      }
      ((uint16_t *)shared->pair[warp][row])[lane] = (uint16_t)lod;
    }
  }
  __syncwarp();
#pragma unroll
  for (int word = 0; word < 4; word++)
    bits[word] = __ballot_sync(0xffffffffu, used[32 * word + lane]);
  return make_uint4(bits[0], bits[1], bits[2], bits[3]);
}

/* Two LODs as fp16, counted from level `first`; kLodCopied for kNoLod. */
__device__ inline uint32_t relative_lods(uint32_t pair, unsigned first)
{
  const uint32_t low = pair & 0xffff, high = pair >> 16;
  const float zero = (float)first;
  const uint32_t both = pack_half2((float)low * kLodStep - zero, (float)high * kLodStep - zero);

  return (low == kNoLod ? kLodCopied : both & 0xffff) |
         (high == kNoLod ? kLodCopied << 16 : both & 0xffff0000);
}

/* The most levels of a strip of the tile. */
__device__ inline int most_levels(const uint4 *of_warps)
{
  int most = 0;

#pragma unroll
  for (int i = 0; i < kThreads / 32; i++) {
    most = max(most, LevelBits(of_warps[i]).count());
  }
  return most;
}

/* Makes LODs and records of a tile, the `index`-th that blend_tiles() makes. */
__device__ inline void look_up_tile(const FrameJob &job, int index, int p, int tile, Shared *shared)
{
  const MapPlane &plane = job.map.plane[p];
  const int x0 = tile_x(plane, tile), y0 = tile_y(plane, tile);
  const int warp = (int)threadIdx.x / 32;
  const int of_all = index * (kThreads / 32) + warp;
  uint4 *lods = job.lods + (size_t)of_all * 2 * 32 + threadIdx.x % 32;
  uint4 *of_warps = shared->of_strips;

  find_shapes(job.map, plane, x0, y0, kTileColumns, kTileRows, &shared->shapes);
  const uint4 bits = look_up_strip(job, plane, x0, y0 + warp * kStripRows, shared);
  const unsigned first = (unsigned)first_level(LevelBits(bits));
#pragma unroll
  for (int half = 0; half < 2; half++) {
    uint32_t pair[4];

#pragma unroll
    for (int i = 0; i < 4; i++)
      pair[i] = relative_lods(
          shared->pair[warp][sample_y(i % 2 * 2)][(sample_x(2 * half + i / 2, 0)) / 2], first);
    lods[32 * half] = make_uint4(pair[0], pair[1], pair[2], pair[3]);
  }
  if (threadIdx.x % 32 == 0)
    job.levels[of_all] = of_warps[warp] = bits;
  __syncthreads();

  const PlanePlan &plan = job.plane[p];
  const LevelBits tile_levels(of_warps);
  const TileGroups groups(plan, tile_levels, y0);
  if (warp == 0)
    groups.describe(plan, p, most_levels(of_warps), x0, y0, &job.tiles[index]);
  StripRecord &strip = job.strips[of_all];
  const int count = groups.list(plan, LevelBits(bits), x0, y0, y0 + warp * kStripRows, 0,
                                kRecordLevels, strip.level);
  /* blend_tiles() loads this many before it knows the count. */
  for (int n = count + (int)threadIdx.x % 32; n < kEarlyLevels; n += 32)
    *(uint4 *)&strip.level[n] = make_uint4(0, 0, 0, 0);
  if (threadIdx.x % 32 == 0)
    *(uint4 *)&strip = make_uint4((unsigned)count, bits.w >> 31, 0, 0);
}

__global__ void __launch_bounds__(kThreads, kLookupCtasOfSm)
    sigma_lookup_kernel(const __grid_constant__ FrameJob job)
{
  __shared__ Shared shared;
  int plane = -1;

#pragma unroll 1
  for (int index = (int)blockIdx.x; index < job.tile_count; index += (int)gridDim.x) {
    const int tile_number = job.order ? (int)job.order[index] : index;
    const int p = plane_of_tile(job.map, tile_number);

    __syncthreads();
    if (p != plane) {
      for (int k = (int)threadIdx.x; k < CF_BLUR_TABLE + 2; k += kThreads)
        shared.lod[k] = __ldg(&job.map.plane[p].lod[k]);
      __syncthreads();
    }
    plane = p;
    look_up_tile(job, index, p, tile_number - job.map.plane[p].first_tile, &shared);
  }
}

/* ---- order ---- */

constexpr int kSortThreads = 1024;

constexpr int kCosts = 2 * CF_BLUR_LEVELS + 1; /* TileRecord.cost is below */

__device__ inline int bucket_of(const TileRecord &tile)
{
  return kCosts - 1 - tile.cost;
}

/* A counting sort by falling cost, by one CTA: the most expensive tiles start first, so that none
 * of them is still running when all others have ended. */
__global__ void __launch_bounds__(kSortThreads)
    sort_tiles_kernel(const TileRecord *tiles, int count, unsigned *order)
{
  __shared__ unsigned next[kCosts];
  const int thread = (int)threadIdx.x;

  if (thread < kCosts)
    next[thread] = 0;
  __syncthreads();
  for (int i = thread; i < count; i += kSortThreads)
    atomicAdd(&next[bucket_of(tiles[i])], 1u);
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
  for (int i = thread; i < count; i += kSortThreads)
    order[atomicAdd(&next[bucket_of(tiles[i])], 1u)] = (unsigned)i;
}

} // namespace

bool look_up_sigma(const FrameJob *job, int multiprocessors, void *stream, CfStatus *status)
{
  return launch_mma(sigma_lookup_kernel, job,
                    smaller(multiprocessors * kLookupCtasOfSm, job->tile_count), 0, stream,
                    "reading a blur map", status);
}

bool sort_tiles(const FrameJob *job, unsigned *order, void *stream, CfStatus *status)
{
  Launch how = {};

  how.grid = dim3(1);
  how.block = dim3(kSortThreads);
  how.stream = (cudaStream_t)stream;
  return launch(how, "sorting tiles of a blur map", status, sort_tiles_kernel, job->tiles,
                job->tile_count, order);
}

} // namespace cf::blurmap
