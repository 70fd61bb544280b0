/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How the coarse levels lie in the shared memory of the blocks of a cluster: who has which rows of
 * which level, where, and how they get there.
 */
#pragma once

#include "cuda/llf/mma_common.cuh"

namespace cf::llf
{

constexpr int MAX_BLOCKS = MAX_TAIL_BLOCKS;

/* Levels that are spread, at most. */
constexpr int MAX_SPREAD = 4;

constexpr int MAX_LEVELS = 16;

/* Rows first .. end - 1 of a level. */
struct Rows {
  int first, end;
};

struct ShortRows {
  short first, end;
};

/* Of levels in shared memory; `first` counts pixels of the memory of a block that has rows of
 * spread levels, or of the first block that of levels behind these. */
struct TailLevel {
  int width, height, first;
};

/* Of a level that is spread or gathered, in a block: where row 0 would be, in pixels of its memory;
 * the rows whose components it needs, those whose collapsed image it needs, and those it makes. */
struct alignas(16) Place {
  int base;
  ShortRows rows, collapsed, own;
};

struct Tail {
  int levels, blocks;
  int spread;                  /* levels before the one that the first block gathers */
  int pixels, filtered_pixels; /* that a block has memory for */
  bool gate;                   /* the first kernel behind level 2, which terms need */
  float top_gain;              /* of the last level's Gaussian, in its collapsed image */
  const uint4 *groups;
  const float *gauss;
  float *collapsed;
  unsigned *begun, *ended;
  TailLevel level[MAX_LEVELS];
  Place place[MAX_SPREAD + 1][MAX_BLOCKS];
};

/* --- who has which rows --- */

__host__ __device__ inline bool is_empty(Rows rows)
{
  return rows.first >= rows.end;
}

__host__ __device__ inline int count_of(Rows rows)
{
  return is_empty(rows) ? 0 : rows.end - rows.first;
}

__host__ __device__ inline Rows clipped(int first, int end, int height)
{
  return Rows{first > 0 ? first : 0, end < height ? end : height};
}

/* The rows of a spread level, or of the gathered one, that a block makes. */
inline Rows own_rows(const Tail &tail, int level, int block)
{
  const int height = tail.level[level].height, crew = tail.blocks - 1;

  return block == 0 ? Rows{0, 0} : Rows{(block - 1) * height / crew, block * height / crew};
}

/* The rows that those of the next level are made of. */
__host__ __device__ inline Rows reduced_rows(Rows rows, int height)
{
  return is_empty(rows) ? rows : clipped(2 * rows.first - 2, 2 * rows.end + 1, height);
}

/* Those whose collapsed image a block needs: its own of the first level, and what these are
 * expanded from. */
inline Rows collapsed_rows(const Tail &tail, int level, int block)
{
  Rows rows = own_rows(tail, 0, block);

  for (int i = 1; i <= level && !is_empty(rows); i++)
    rows = clipped(rows.first / 2 - 1, (rows.end - 1) / 2 + 2, tail.level[i].height);
  return rows;
}

/* Those whose components it needs: these, and what its own of the next level are made of. */
inline Rows local_rows(const Tail &tail, int level, int block)
{
  const int height = tail.level[level].height;

  if (block == 0)
    return Rows{0, level == tail.spread ? height : 0};
  const Rows rows = collapsed_rows(tail, level, block);
  if (level == tail.spread)
    return rows;
  const Rows reduced = reduced_rows(own_rows(tail, level + 1, block), height);
  if (is_empty(rows) || is_empty(reduced))
    return is_empty(rows) ? reduced : rows;
  return Rows{rows.first < reduced.first ? rows.first : reduced.first,
              rows.end > reduced.end ? rows.end : reduced.end};
}

/* Fills in the places: blocks that divide by themselves begin half a microsecond later. */
inline void place_levels(Tail *tail)
{
  auto short_rows = [](Rows rows) { return ShortRows{(short)rows.first, (short)rows.end}; };
  int first = tail->level[tail->spread].width * tail->level[tail->spread].height;

  for (int i = 0; i <= tail->spread; i++) {
    for (int block = 0; block < tail->blocks; block++) {
      const TailLevel &level = tail->level[i];
      const Rows rows = local_rows(*tail, i, block);

      tail->place[i][block] =
          Place{(block == 0 ? 0 : level.first) - rows.first * level.width, short_rows(rows),
                short_rows(block == 0 ? rows : collapsed_rows(*tail, i, block)),
                short_rows(own_rows(*tail, i, block))};
    }
  }
  for (int i = tail->spread + 1; i < tail->levels; i++) {
    tail->level[i].first = first;
    first += tail->level[i].width * tail->level[i].height;
  }
}

/* A level as a block has it in its shared memory. */
struct Held {
  int width, height;
  int base; /* pixels from the memory's first one to where row 0 would be */
  Rows rows, collapsed, own;
};

/* What all blocks hold of the levels that are stored from block to block, and this block of all;
 * and a barrier for each of these levels, which counts the bytes that arrive. That of level 0 is
 * for the gathered level's collapsed image. */
struct alignas(128) Directory {
  Place place[MAX_SPREAD + 1][MAX_BLOCKS];
  uint64_t barrier[MAX_SPREAD + 1];
  Held held[MAX_LEVELS];
};

/* --- between blocks --- */

__device__ __forceinline__ void cluster_arrive()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release;" ::: "memory");
#endif
}

__device__ __forceinline__ void cluster_wait()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
#endif
}

/* A barrier that opens when so many bytes have been stored with store_in_block(): unlike a barrier
 * of the cluster it needs no fence, which takes as long as the rest of a step. */
__device__ __forceinline__ void create_barrier(uint64_t *barrier)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\n\t"
               "fence.mbarrier_init.release.cluster;"
               :
               : "r"(cf::smem_address(barrier))
               : "memory");
#endif
}

__device__ __forceinline__ void expect_bytes(uint64_t *barrier, int bytes)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
               :
               : "r"(cf::smem_address(barrier)), "r"(bytes)
               : "memory");
#endif
}

__device__ __forceinline__ void await_bytes(const uint64_t *barrier)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  uint32_t open = 0;

  while (!open)
    asm volatile("{\n\t"
                 ".reg .pred p;\n\t"
                 "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\n\t"
                 "selp.u32 %0, 1, 0, p;\n\t"
                 "}"
                 : "=r"(open)
                 : "r"(cf::smem_address(barrier))
                 : "memory");
#endif
}

__device__ __forceinline__ uint32_t address_in_block(uint32_t address, int block)
{
  uint32_t there = address;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(block));
#endif
  return there;
}

/* Both addresses are in the same block. */
__device__ __forceinline__ void store_in_block(uint32_t to, uint32_t word, uint32_t barrier)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];"
               :
               : "r"(to), "r"(word), "r"(barrier)
               : "memory");
#endif
}

__device__ __forceinline__ void store_in_block(uint32_t to, uint4 words, uint32_t barrier)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, "
               "%4}, [%5];"
               :
               : "r"(to), "r"(words.x), "r"(words.y), "r"(words.z), "r"(words.w), "r"(barrier)
               : "memory");
#endif
}

/* --- what there is --- */

__device__ __forceinline__ Rows rows_of(ShortRows rows)
{
  return Rows{rows.first, rows.end};
}

__device__ inline void fill_directory(const Tail &tail, int block, Directory *directory)
{
  const int level = (int)threadIdx.x / MAX_BLOCKS, other = (int)threadIdx.x % MAX_BLOCKS;

  if (level >= tail.levels || other >= tail.blocks)
    return;
  const TailLevel &at = tail.level[level];
  Held *const held = &directory->held[level];
  if (level <= tail.spread) {
    const Place place = tail.place[level][other];

    directory->place[level][other] = place;
    if (other == block) {
      *held = Held{
          at.width,          at.height, place.base, rows_of(place.rows), rows_of(place.collapsed),
          rows_of(place.own)};
      create_barrier(&directory->barrier[level]);
    }
  } else if (other == 0) {
    /* That only the first block has. */
    const Rows rows = {0, at.height};
    *held = Held{at.width, at.height, at.first, rows, rows, rows};
  }
}

/* What will be stored in this block: `pixel_bytes` are those of a pixel's components and Gaussian.
 */
__device__ __forceinline__ void expect_levels(const Tail &tail, int block, int pixel_bytes,
                                              Directory *directory)
{
  const int level = (int)threadIdx.x;
  const Held &gathered = directory->held[tail.spread];

  if (level > tail.spread)
    return;
  const Held &held = directory->held[level];
  const int collapsed = block == 0 ? 0 : count_of(gathered.collapsed) * gathered.width;

  expect_bytes(&directory->barrier[level], level > 0
                                               ? count_of(held.rows) * held.width * pixel_bytes
                                               : collapsed * (int)sizeof(float));
}

/* The blocks that need a row of a spread or gathered level, one bit each, from a whole warp. */
__device__ __forceinline__ uint32_t blocks_with_row(const Tail &tail, const Directory &directory,
                                                    int level, int y)
{
  const int block = (int)threadIdx.x % 32;
  const ShortRows rows = directory.place[level][block % MAX_BLOCKS].rows;

  return __ballot_sync(~0u, block < tail.blocks && y >= rows.first && y < rows.end);
}

} // namespace cf::llf
