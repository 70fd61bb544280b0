/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * For the kernel of positions: maps that are the picture's luma or alpha, which change with every
 * frame. Where a strip lies inside and rows can be loaded 16 bytes at a time, its map comes from
 * one channel by itself, or from up to three channels of four-byte pixels.
 */
#pragma once

#include "blurmap_cells.cuh"
#include "blurmap_places.cuh"

namespace
{

constexpr unsigned kNowhere = 65535; /* position of what is copied, or not made */

constexpr unsigned kSteps = (unsigned)(1 / kCellPosition); /* from one level to the next */

/* Words of a row of positions, so that those of eight rows lie in different banks. */
constexpr int kPositionPitch = kCellColumns / 2 + 4;

constexpr int kCodeSums = 4 * 255 + 1; /* of four samples of a channel */

/* What a block knows of a plane's map, and what it finds of a tile. */
struct Shared {
  CfTileShapes shapes;
  uint4 of_warps[kCellThreads / 32];
  float position[CF_BLUR_TABLE + 2]; /* of the plane's table */
  uint16_t of_sum[kCodeSums + 3];    /* positions, if the map comes from one channel */
  /* Of each warp: whether it has samples of a level, and positions, in pairs. */
  uint8_t used[kCellThreads / 32][CF_BLUR_LEVELS + 16];
  alignas(16) uint32_t pair[kCellThreads / 32][kCellStrip][kPositionPitch];
};

/* Among the levels; kNowhere if that is the level that copies. */
__device__ inline unsigned rounded_position(const CfMapPlane &plane, const float *table, float m)
{
  const float scaled = m * CF_BLUR_TABLE;
  const int entry = (int)scaled;
  const float left = table[entry];
  const float among = left + (scaled - (float)entry) * (table[entry + 1] - left);
  const unsigned position = (unsigned)fmaf(among, 1 / kCellPosition, 0.5f);

  return plane.copy >= 0 && position == (unsigned)plane.copy * kSteps ? kNowhere : position;
}

/* Notes the one or two levels of a position. The last is no level, but stands for copies. */
__device__ inline void note(uint8_t *used, unsigned position)
{
  static_assert(kNowhere / kSteps == (unsigned)kCellCopied, "the level that stands for copies");
  used[position / kSteps] = 1;
  used[(position + kSteps - 1) / kSteps] = 1;
}

enum Kind {
  KIND_ANY,
  KIND_CHANNEL, /* one sample of a plane of one channel */
  KIND_FOUR,    /* the mean of four of them, or of twice two */
  KIND_PIXEL    /* some channels of a pixel of four bytes */
};

__device__ inline Kind kind_of_map(const CfMapJob &job, const CfMapPlane &plane)
{
  const CfMapPlane &of = job.of_mixer[0];

  if ((job.mode != CF_MAP_LUMA && job.mode != CF_MAP_ALPHA) || job.mixer.terms == 0 ||
      ((uintptr_t)of.source | (uintptr_t)of.source_stride) % 16 != 0)
    return KIND_ANY;
  if (of.channels == 4)
    return plane.shift_x || plane.shift_y ? KIND_ANY : KIND_PIXEL;
  if (of.channels != 1 || job.mixer.terms != 1)
    return KIND_ANY;
  return plane.shift_x ? KIND_FOUR : plane.shift_y ? KIND_ANY : KIND_CHANNEL;
}

/* The positions of all codes, or sums of four. */
__device__ inline void list_positions(const CfMapJob &job, const CfMapPlane &plane, Kind kind,
                                      Shared *shared)
{
  const int count = kind == KIND_FOUR ? kCodeSums : 256;
  const float weight = job.mixer.term[0].weight, share = kind == KIND_FOUR ? 0.25f : 1.0f;

  if (kind != KIND_FOUR && kind != KIND_CHANNEL)
    return;
  for (int i = (int)threadIdx.x; i < count; i += kCellThreads)
    shared->of_sum[i] = (uint16_t)rounded_position(
        plane, shared->position, __saturatef(job.mixer.offset + weight * (float)i * share));
}

__device__ inline uint4 load_four(const CfMapPlane &plane, int byte, int y)
{
  return __ldg((const uint4 *)(plane.source + (ptrdiff_t)y * plane.source_stride + byte));
}

/* A strip from (x0, y0) on: of one channel each lane makes half a row. */
template <bool Sums>
__device__ inline void find_codes(const CfMapJob &job, const CfMapPlane &plane, int x0, int y0,
                                  const uint16_t *of_sum, uint8_t *used,
                                  uint32_t (*pair)[kPositionPitch])
{
  const CfMapPlane &of = job.of_mixer[0];
  const int lane = (int)threadIdx.x % 32, row = lane / 2, half = lane % 2;
  const int y = (y0 + row) << plane.shift_y, x = (x0 + 16 * half) << plane.shift_x;

#pragma unroll
  for (int part = 0; part < (Sums ? 2 : 1); part++) {
    const uint4 upper = load_four(of, x + 16 * part, y);
    const uint4 lower = Sums ? load_four(of, x + 16 * part, y + plane.shift_y) : upper;
    const uint32_t a[4] = {upper.x, upper.y, upper.z, upper.w};
    const uint32_t b[4] = {lower.x, lower.y, lower.z, lower.w};
    uint32_t two[Sums ? 4 : 8];

#pragma unroll
    for (int w = 0; w < 4; w++) {
      if (Sums) {
        two[w] = (a[w] & 0x00ff00ff) + (a[w] >> 8 & 0x00ff00ff) + (b[w] & 0x00ff00ff) +
                 (b[w] >> 8 & 0x00ff00ff);
      } else {
        two[Sums ? 0 : 2 * w] = __byte_perm(a[w], 0, 0x4140);
        two[Sums ? 0 : 2 * w + 1] = __byte_perm(a[w], 0, 0x4342);
      }
    }
#pragma unroll
    for (int i = 0; i < (Sums ? 4 : 8); i++) {
      const unsigned left = of_sum[two[i] & 0xffff], right = of_sum[two[i] >> 16];

      note(used, left);
      note(used, right);
      two[i] = left | right << 16;
    }
#pragma unroll
    for (int i = 0; i < (Sums ? 4 : 8); i += 4)
      *(uint4 *)&pair[row][8 * half + (Sums ? 4 * part : i)] =
          make_uint4(two[i], two[i + 1], two[i + 2], two[i + 3]);
  }
}

/* Of pixels of four bytes each lane makes four side by side, in every fourth row. */
__device__ inline void find_pixels(const CfMapJob &job, const CfMapPlane &plane, int x0, int y0,
                                   const float *table, uint8_t *used,
                                   uint32_t (*pair)[kPositionPitch])
{
  const int lane = (int)threadIdx.x % 32;

#pragma unroll 2
  for (int step = 0; step < kCellStrip / 4; step++) {
    const int row = 4 * step + lane / 8;
    const uint4 four = load_four(job.of_mixer[0], 4 * x0 + lane % 8 * 16, y0 + row);
    const uint32_t pixel[4] = {four.x, four.y, four.z, four.w};
    unsigned position[4];

#pragma unroll
    for (int i = 0; i < 4; i++) {
      float m = job.mixer.offset;

#pragma unroll
      for (int t = 0; t < 3; t++) {
        if (t < job.mixer.terms)
          m += job.mixer.term[t].weight * cf_cell_centred(pixel[i], job.mixer.term[t].channel, 0);
      }
      position[i] = rounded_position(plane, table, __saturatef(m));
      note(used, position[i]);
    }
    *(uint2 *)&pair[row][lane % 8 * 2] =
        make_uint2(position[0] | position[1] << 16, position[2] | position[3] << 16);
  }
}

/* Whether a strip was found so. */
__device__ inline bool find_picture(const CfMapJob &job, const CfMapPlane &plane, Kind kind, int x0,
                                    int y0, Shared *shared)
{
  const int warp = (int)threadIdx.x / 32;
  const int right = (x0 + kCellColumns) << plane.shift_x;
  const int bottom = (y0 + kCellStrip) << plane.shift_y;

  if (kind == KIND_ANY || x0 + kCellColumns > plane.width || y0 < plane.first ||
      y0 + kCellStrip > plane.end || right > job.luma_width || bottom > job.luma_height)
    return false;
  if (kind == KIND_CHANNEL)
    find_codes<false>(job, plane, x0, y0, shared->of_sum, shared->used[warp], shared->pair[warp]);
  else if (kind == KIND_FOUR)
    find_codes<true>(job, plane, x0, y0, shared->of_sum, shared->used[warp], shared->pair[warp]);
  else
    find_pixels(job, plane, x0, y0, shared->position, shared->used[warp], shared->pair[warp]);
  return true;
}

} // namespace
