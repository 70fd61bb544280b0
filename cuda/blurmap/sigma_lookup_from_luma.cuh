/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * For the kernel of positions: maps that are the picture's luma or alpha, where it consists of one
 * channel by itself or of pixels of four bytes. A warp finds a tile.
 */
#pragma once

#include "cuda/blurmap/mip_types.cuh"
#include "cuda/blurmap/tile_records.cuh"
#include "cuda/common/half2.cuh"
#include "cuda/common/ptx_async.cuh"
#include "cuda/common/ptx_mma.cuh"
#include "cuda/common/pdl.cuh"

namespace
{

constexpr int kStrips = kCellRows / kCellStrip;
constexpr int kPairs = kCellColumns / 8 * 2; /* of a lane's samples in a strip */

/* A lane's samples as a tile's thread has them: of each product two beside each other, and two 8
 * rows below. */
typedef float Lane[kPairs][2];

enum Kind {
  KIND_ANY,
  KIND_CHANNEL, /* one sample of a plane of one channel */
  KIND_FOUR,    /* the mean of four of them, or of twice two */
  KIND_PIXEL    /* some channels of a pixel of four bytes */
};

__device__ inline Kind kind_of_map(const CfCellJob &job, const CfMapPlane &plane)
{
  const CfMapPlane &of = job.map.of_mixer[0];

  if (!job.by_codes || ((uintptr_t)of.source | (uintptr_t)of.source_stride) % 16 != 0)
    return KIND_ANY;
  if (of.channels == 4)
    return KIND_PIXEL;
  return plane.shift_x ? KIND_FOUR : plane.shift_y ? KIND_ANY : KIND_CHANNEL;
}

/* ---- samples ---- */

/* m of a pixel of four bytes. */
__device__ inline float map_of_pixel(const CfPixelMap &map, uint32_t pixel)
{
  const uint32_t sum =
      (__dp4a(pixel, map.high, 0u) << 8) + __dp4a(pixel, map.low, 0x4b000000u); /* and 2^23 */

  return __saturatef(fmaf(__uint_as_float(sum), map.scale, map.zero));
}

/* As cf_blur_positions; negative where samples are copied. Adding 1.5 2^23 rounds to an integer,
 * here downwards. */
__device__ inline float position_of_map(const CfMapPlane &plane, float m)
{
  constexpr float kRound = 12582912.0f;
  const float rounded = fmaf(m, CF_BLUR_TABLE, kRound - 0.5f);
  const float *entry = plane.table->position + (int)(__float_as_uint(rounded) - 0x4b400000u);
  const float left = __ldg(entry), right = __ldg(entry + 1);
  const float position = fmaf(fmaf(m, CF_BLUR_TABLE, kRound - rounded), right - left, left);

  return fabsf(position - (float)plane.copy) < 0.5f * kCellPosition ? -1.0f : position;
}

/* A lane's two rows in a strip from `y0` on; of rows that are not made, the nearest that is. */
struct Rows {
  int row[2];

  __device__ Rows(const CfMapPlane &plane, int y0)
  {
#pragma unroll
    for (int i = 0; i < 2; i++)
      row[i] = min(max(y0 + cf_cell_sample_y(2 * i), plane.first), plane.end - 1);
  }
};

__device__ inline void find_pixels(const CfPixelMap &map, const CfMapPlane &plane, int x,
                                   const Rows &rows, Lane &positions)
{
  const uint8_t *from[2];
  uint2 pixels[kPairs];

#pragma unroll
  for (int i = 0; i < 2; i++)
    from[i] = plane.source + (ptrdiff_t)rows.row[i] * plane.source_stride + 4 * x;

#pragma unroll
  for (int i = 0; i < kPairs; i++)
    pixels[i] = __ldg((const uint2 *)(from[i % 2] + 32 * (i / 2)));
#pragma unroll
  for (int i = 0; i < kPairs; i++) {
    positions[i][0] = position_of_map(plane, map_of_pixel(map, pixels[i].x));
    positions[i][1] = position_of_map(plane, map_of_pixel(map, pixels[i].y));
  }
}

template <bool Four>
__device__ inline void find_codes(const CfMapPlane &of, const CfMapPlane &plane, int x,
                                  const Rows &rows, Lane &positions)
{
  const ptrdiff_t below = plane.shift_y ? of.source_stride : 0;
  const uint8_t *from[2];
  uint32_t upper[kPairs], lower[kPairs];

#pragma unroll
  for (int i = 0; i < 2; i++)
    from[i] = of.source + (ptrdiff_t)(rows.row[i] << plane.shift_y) * of.source_stride +
              (x << plane.shift_x);
#pragma unroll
  for (int i = 0; i < kPairs; i++) {
    const uint8_t *pair = from[i % 2] + (Four ? 16 : 8) * (i / 2);

    upper[i] = Four ? __ldg((const uint32_t *)pair) : __ldg((const uint16_t *)pair);
    lower[i] = Four ? __ldg((const uint32_t *)(pair + below)) : 0;
  }
#pragma unroll
  for (int i = 0; i < kPairs; i++) {
    const uint32_t left =
        Four ? __dp4a(lower[i], 0x0101u, __dp4a(upper[i], 0x0101u, 0u)) : 4 * (upper[i] & 255);
    const uint32_t right = Four ? __dp4a(lower[i], 0x01010000u, __dp4a(upper[i], 0x01010000u, 0u))
                                : 4 * (upper[i] >> 8);

    positions[i][0] = __ldg(&plane.table->by_sum[left]);
    positions[i][1] = __ldg(&plane.table->by_sum[right]);
  }
}

/* ---- strips ---- */

__device__ inline float least_of_warp(float value)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  return __int_as_float(__reduce_min_sync(0xffffffffu, __float_as_int(value)));
#else
  return value;
#endif
}

__device__ inline float most_of_warp(float value)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  return __int_as_float(__reduce_max_sync(0xffffffffu, __float_as_int(value)));
#else
  return value;
#endif
}

/* Bits of `count` levels, 31 at most, from `first` on. */
__device__ inline uint4 bits_of_range(int first, int count)
{
  const uint32_t mask = (1u << count) - 1;
  const uint32_t low = mask << first % 32, high = first % 32 ? mask >> (32 - first % 32) : 0;
  const int word = first / 32;

  return make_uint4(word == 0 ? low : 0,
                    word == 1   ? low
                    : word == 0 ? high
                                : 0,
                    word == 2   ? low
                    : word == 1 ? high
                                : 0,
                    word == 3   ? low
                    : word == 2 ? high
                                : 0);
}

/* Those that samples lie between, one by one. */
__device__ inline uint4 bits_of_samples(const Lane &positions, uint8_t *used)
{
  const int lane = (int)threadIdx.x % 32;
  uint32_t bits[4];

  __syncwarp();
  ((uint32_t *)used)[lane] = 0;
  __syncwarp();
#pragma unroll
  for (int i = 0; i < 2 * kPairs; i++) {
    const float position = positions[i / 2][i % 2];

    used[position < 0.0f ? kCellCopied : (int)position] = 1;
    used[position < 0.0f ? kCellCopied : (int)ceilf(position)] = 1;
  }
  __syncwarp();
#pragma unroll
  for (int word = 0; word < 4; word++)
    bits[word] = __ballot_sync(0xffffffffu, used[32 * word + lane]);
  return make_uint4(bits[0], bits[1], bits[2], bits[3]);
}

/* What a strip blends. */
struct StripLevels {
  uint4 bits;
  int first, count;
  bool consecutive; /* and at most kCellFewEntries; no or all samples are copied */

  __device__ StripLevels(const Lane &positions, uint8_t *used)
  {
    float least = positions[0][0], most = least;

#pragma unroll
    for (int i = 1; i < 2 * kPairs; i++) {
      least = fminf(least, positions[i / 2][i % 2]);
      most = fmaxf(most, positions[i / 2][i % 2]);
    }
    least = least_of_warp(least);
    most = most_of_warp(most);
    first = (int)fmaxf(least, 0.0f);
    count = most < 0.0f ? 0 : (int)ceilf(most) - first + 1;
    consecutive = (least >= 0.0f || most < 0.0f) && count <= kCellFewEntries;
    if (consecutive) {
      bits = bits_of_range(first, count);
      bits.w |= most < 0.0f ? 1u << 31 : 0;
      return;
    }
    bits = bits_of_samples(positions, used);
    const CellLevels levels(bits);
    first = first_level(levels);
    count = levels.count();
  }
};

__device__ inline void store_positions(const Lane &positions, int first, uint4 *to)
{
  const float zero = (float)first;
  uint32_t pair[kPairs];

#pragma unroll
  for (int i = 0; i < kPairs; i++)
    pair[i] = cf::pack_half2(positions[i][0] - zero, positions[i][1] - zero);
  to[0] = make_uint4(pair[0], pair[1], pair[2], pair[3]);
  to[32] = make_uint4(pair[4], pair[5], pair[6], pair[7]);
}

/* ---- tiles ---- */

/* Whether all columns of a tile are, and all samples of its plane are of whole pixels. */
__device__ inline bool is_inside(const CfMapJob &job, const CfMapPlane &plane, int x0)
{
  return x0 + kCellColumns <= plane.width &&
         (x0 + kCellColumns) << plane.shift_x <= job.luma_width &&
         plane.height << plane.shift_y <= job.luma_height;
}

/* The records of tile number `index`. False if it is none of those that this can find. */
__device__ inline bool find_by_codes(const CfCellJob &job, int index, uint4 *bits, uint8_t *used)
{
  static_assert(32 / kStrips == kCellFewEntries + 1, "a strip's head and entries");
  const int p = cf_cell_plane(job.map, index), tile = index - job.map.plane[p].first_tile;
  const CfMapPlane &plane = job.map.plane[p];
  const CfCellPlan &plan = job.plan[p];
  const Kind kind = kind_of_map(job, plane);
  const int x0 = cf_cell_tile_x(plane, tile), y0 = cf_cell_tile_y(plane, tile);
  const int lane = (int)threadIdx.x % 32, own = lane / (kCellFewEntries + 1),
            place = lane % (kCellFewEntries + 1);
  int first = 0, count = 0, most = 0;
  unsigned scattered = 0;

  if (kind == KIND_ANY || !is_inside(job.map, plane, x0))
    return false;
  __syncwarp();
#pragma unroll 1
  for (int s = 0; s < kStrips; s++) {
    const int x = x0 + cf_cell_sample_x(0, 0), y = y0 + s * kCellStrip;
    const Rows rows(plane, y);
    Lane positions;

    if (y >= plane.end || y + kCellStrip <= plane.first) {
      if (lane == 0)
        bits[s] = job.levels[index * kStrips + s] = make_uint4(0, 0, 0, 0);
      continue;
    }
    if (kind == KIND_PIXEL)
      find_pixels(job.pixel_map, plane, x, rows, positions);
    else if (kind == KIND_FOUR)
      find_codes<true>(job.map.of_mixer[0], plane, x, rows, positions);
    else
      find_codes<false>(job.map.of_mixer[0], plane, x, rows, positions);
    const StripLevels levels(positions, used);

    store_positions(positions, levels.first,
                    job.positions + (size_t)(index * kStrips + s) * 2 * 32 + lane);
    if (lane == 0)
      bits[s] = job.levels[index * kStrips + s] = levels.bits;
    first = own == s ? levels.first : first;
    count = own == s ? levels.count : count;
    most = max(most, levels.count);
    scattered |= levels.consecutive ? 0 : 1u << s;
  }
  __syncwarp();

  const CellGroups groups(plan, CellLevels(bits), y0);
  const bool used_here = place > 0 && place <= count && !(scattered >> own & 1);
  const CfCellLevel level = plan.level[used_here ? first + place - 1 : 0];
  const CfCellEntry entry = groups.entry_of(level, place - 1, x0, y0, y0 + own * kCellStrip);
  uint4 words = used_here ? *(const uint4 *)&entry : make_uint4(0, 0, 0, 0);
  if (place == 0)
    words = make_uint4((unsigned)count, bits[own].w >> 31, 0, 0);

  groups.describe(plan, p, most, x0, y0, &job.tiles[index]);
  ((uint4 *)&job.strips[index * kStrips + own])[place] = words;
  __syncwarp();
#pragma unroll 1
  for (; scattered; scattered &= scattered - 1) {
    const int s = __ffs((int)scattered) - 1;

    groups.list(plan, CellLevels(bits[s]), x0, y0, y0 + s * kCellStrip, 0, kCellEntries,
                job.strips[index * kStrips + s].entry);
  }
  return true;
}

} // namespace
