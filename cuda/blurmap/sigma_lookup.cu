/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where the samples of tiles on tensor cores lie among the levels of a blur map.
 */
#include "cuda/blurmap/mma_device.cuh"
#include "cuda/blurmap/sigma_lookup_per_sample.cuh"
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

/* m of column `x` in rows y0.. of a plane, where the picture's luma or alpha is the map. With
 * `Subsampled` a sample counts 2x2 luma pixels, at the edges or along an axis that is not
 * subsampled some of them twice. Rows and columns beyond the picture read its last ones. */
template <bool Subsampled>
__device__ inline void picture_rows(const MapJob &job, const MapPlane &plane, int x, int y0,
                                    float (&m)[kLookupRows])
{
  const int left = min(x << plane.shift_x, job.luma_width - 1),
            right = min(left + plane.shift_x, job.luma_width - 1);

#pragma unroll 1
  for (int i = 0; i < job.mixer.terms; i++) {
    const MapPlane &of = job.of_mixer[i];
    const uint8_t *channel = of.source + job.mixer.term[i].channel;
    int sum[kLookupRows];

#pragma unroll
    for (int k = 0; k < kLookupRows; k++) {
      const int top = min((y0 + k) << plane.shift_y, job.luma_height - 1);
      const uint8_t *row = channel + (ptrdiff_t)top * of.source_stride;

      sum[k] = __ldg(row + left * of.channels);
      if (Subsampled) {
        const int bottom = min(top + plane.shift_y, job.luma_height - 1);
        const uint8_t *below = channel + (ptrdiff_t)bottom * of.source_stride;

        sum[k] += __ldg(row + right * of.channels) + __ldg(below + left * of.channels) +
                  __ldg(below + right * of.channels);
      }
    }
#pragma unroll
    for (int k = 0; k < kLookupRows; k++)
      m[k] += job.mixer.term[i].weight * (float)sum[k] * (Subsampled ? 0.25f : 1.0f);
  }
#pragma unroll
  for (int k = 0; k < kLookupRows; k++)
    m[k] = __saturatef(m[k]);
}

/* m of column `x` in rows y0..; what it says outside the plane is not used. */
__device__ inline void map_rows(const MapJob &job, const MapPlane &plane,
                                const CfTileShapes &shapes, int x, int y0, float (&m)[kLookupRows])
{
#pragma unroll
  for (int k = 0; k < kLookupRows; k++)
    m[k] = job.mixer.offset;
  if (job.mode == CF_MAP_LUMA || job.mode == CF_MAP_ALPHA) {
    if (plane.shift_x | plane.shift_y)
      picture_rows<true>(job, plane, x, y0, m);
    else
      picture_rows<false>(job, plane, x, y0, m);
  } else if (job.mode == CF_MAP_FILE) {
#pragma unroll
    for (int k = 0; k < kLookupRows; k++)
      m[k] = cf_map_bilinear(&plane.shape, job.values, x, y0 + k);
  } else if (job.mode == CF_MAP_NONE) {
#pragma unroll 1
    for (int k = 0; k < kLookupRows; k++) {
      const float here = region_map(job, plane, shapes, x, y0 + k);
#pragma unroll
      for (int i = 0; i < kLookupRows; i++)
        m[i] = i == k ? here : m[i];
    }
  } else {
#pragma unroll
    for (int k = 0; k < kLookupRows; k++)
      m[k] = cf_map_analytic(&plane.shape, x, y0 + k);
  }
}

/* Finds a strip's lods; bits of its levels. Rows that are not made cost nothing: the last row
 * of tiles is rarely whole. */
__device__ inline uint4 look_up_strip(const MmaJob &job, const MapPlane &plane, int x0, int y0,
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
      map_rows(job.map, plane, shared->shapes, x, y0 + first, m);
#pragma unroll
    for (int k = 0; k < kLookupRows; k++) {
      const int row = first + k;
      unsigned lod = kNoLod;

      if (x < plane.width && y0 + row >= plane.first && y0 + row < plane.end) {
        lod = rounded_lod(plane, shared->lod, m[k]);
        note(used, lod);
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

/* Two lods as halves from level `first` on; of samples that are copied or not made,
 * kLodCopied. */
__device__ inline uint32_t relative_lods(uint32_t pair, unsigned first)
{
  const uint32_t low = pair & 0xffff, high = pair >> 16;
  const float zero = (float)first;
  const uint32_t both = pack_half2((float)low * kLodStep - zero, (float)high * kLodStep - zero);

  return (low == kNoLod ? kLodCopied : both & 0xffff) |
         (high == kNoLod ? kLodCopied << 16 : both & 0xffff0000);
}

/* Of one strip of a tile. */
__device__ inline int most_levels(const uint4 *of_warps)
{
  int most = 0;

#pragma unroll
  for (int i = 0; i < kThreads / 32; i++) {
    most = max(most, LevelBits(of_warps[i]).count());
  }
  return most;
}

/* The records of tile number `index` of the order. */
__device__ inline void look_up_tile(const MmaJob &job, int index, int p, int tile, Shared *shared)
{
  const MapPlane &plane = job.map.plane[p];
  const int x0 = tile_x(plane, tile), y0 = tile_y(plane, tile);
  const int warp = (int)threadIdx.x / 32;
  const int of_all = index * (kThreads / 32) + warp;
  uint4 *lods = job.lods + (size_t)of_all * 2 * 32 + threadIdx.x % 32;
  uint4 *of_warps = shared->of_strips;

  if (job.map.mode == CF_MAP_NONE)
    cf_find_shapes(job.map.list,
                   {x0 << plane.shift_x, y0 << plane.shift_y, (x0 + kTileColumns) << plane.shift_x,
                    (y0 + kTileRows) << plane.shift_y},
                   &shared->shapes);
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

  const MmaPlane &plan = job.plane[p];
  const LevelBits tile_levels(of_warps);
  const TileGroups groups(plan, tile_levels, y0);
  if (warp == 0)
    groups.describe(plan, p, most_levels(of_warps), x0, y0, &job.tiles[index]);
  StripRecord &strip = job.strips[of_all];
  const int count = groups.list(plan, LevelBits(bits), x0, y0, y0 + warp * kStripRows, 0,
                                kRecordLevels, strip.level);
  /* Tiles fetch so many before they know its count. */
  for (int n = count + (int)threadIdx.x % 32; n < kEarlyLevels; n += 32)
    *(uint4 *)&strip.level[n] = make_uint4(0, 0, 0, 0);
  if (threadIdx.x % 32 == 0)
    *(uint4 *)&strip = make_uint4((unsigned)count, bits.w >> 31, 0, 0);
}

__global__ void __launch_bounds__(kThreads, kLookupCtasOfSm)
    sigma_lookup_kernel(const __grid_constant__ MmaJob job)
{
  __shared__ Shared shared;
  int plane = -1;

#pragma unroll 1
  for (int index = (int)blockIdx.x; index < job.tile_count; index += (int)gridDim.x) {
    const int place = job.order ? (int)job.order[index] : index;
    const int p = plane_of_tile(job.map, place);

    __syncthreads();
    if (p != plane) {
      for (int k = (int)threadIdx.x; k < CF_BLUR_TABLE + 2; k += kThreads)
        shared.lod[k] = __ldg(&job.map.plane[p].table->lod[k]);
      __syncthreads();
    }
    plane = p;
    look_up_tile(job, index, p, place - job.map.plane[p].first_tile, &shared);
  }
}

/* ---- order ---- */

constexpr int kSortThreads = 1024;

constexpr int kCosts = 2 * CF_BLUR_LEVELS + 1;

__device__ inline int bucket_of(const TileRecord &tile)
{
  return kCosts - 1 - tile.cost;
}

/* Tiles that blend many levels come first, lest the last blocks to end are long ones. */
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

bool look_up_sigma(const MmaJob *job, int multiprocessors, void *stream, CfStatus *status)
{
  return launch_mma(sigma_lookup_kernel, job,
                    smaller(multiprocessors * kLookupCtasOfSm, job->tile_count), 0, stream,
                    "reading a blur map", status);
}

bool sort_tiles(const MmaJob *job, unsigned *order, void *stream, CfStatus *status)
{
  sort_tiles_kernel<<<1, kSortThreads, 0, (cudaStream_t)stream>>>(job->tiles, job->tile_count,
                                                                  order);
  return cf_cuda_launched("sorting tiles of a blur map", status);
}

} // namespace cf::blurmap
