/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The coarse levels on their way down, in shared memory. These levels have so few pixels that the
 * longest sequence of one warp's instructions sets the time. Rows are filtered across by matrix
 * products, 32 pixels per warp, then down, a group per thread; the smallest levels are reduced in
 * one step, a group per thread.
 */
#pragma once

#include "cuda/llf/mma_downsample.cuh"
#include "cuda/llf/cluster_layout.cuh"

namespace cf::llf
{

constexpr int kCoarseThreads = 512, kCoarseWarps = kCoarseThreads / 32;

/* Shared memory behind the ClusterLayout: components and Gaussians of the levels, and of rows
 * filtered across. On the way up the latter are no longer needed: `collapsed` has the levels'
 * Laplacian coefficients in their place, and then the collapsed images. */
struct CoarseMemory {
  uint8_t *components, *filtered;
  float *gauss, *filtered_gauss, *collapsed;

  __device__ CoarseMemory(uint8_t *memory, const CoarseLevels &levels)
      : components(memory), filtered(memory + levels.pixels * kGroups * kGroupBytes),
        gauss(reinterpret_cast<float *>(filtered + levels.filtered_pixels * kGroups * kGroupBytes)),
        filtered_gauss(gauss + levels.pixels), collapsed(reinterpret_cast<float *>(filtered))
  {
  }

  /* The shared memory address of a pixel's group. */
  __device__ uint32_t address(const LocalLevel &level, int x, int y, int group) const
  {
    return cf::smem_address(components) +
           ((level.base + y * level.width + x) * kGroups + group) * kGroupBytes;
  }
};

/* The row and the column of task number `task`, with `across` tasks in a row. */
__device__ __forceinline__ void split_task(int task, int across, int *row, int *column)
{
  *row = (int)(((float)task + 0.5f) * reciprocal_approx((float)across));
  *column = task - *row * across;
}

/* Filters across the rows of `fine` that reduce to `rows` of `level`, to memory.filtered and
 * .filtered_gauss: 32 pixels of a row per warp. The Gaussian begins with the last warps, which have
 * the fewest rows of components. */
__device__ __forceinline__ void filter_across(const CoarseLevels &levels,
                                              const CoarseMemory &memory, const LocalLevel &fine,
                                              int level, Rows rows, const Band &band)
{
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int width = levels.level[level].width, across = (width + 31) / 32;
  const Rows from = reduced_rows(rows, fine.height);
  const int count = count_of(from);

  for (int task = warp; task < across * count; task += kCoarseWarps) {
    int row, chunk;
    split_task(task, across, &row, &chunk);
    const int x = chunk * 32;
    const uint32_t line = memory.address(fine, 0, from.first + row, 0);
    uint32_t pixels[5][2 * kGroups];
    RowFragments coarse;

#pragma unroll
    for (int j = 0; j < 5; j++) {
      const int fine_x = mirrored(2 * x - 2 + 16 * j + lane % 16, fine.width);
      const uint32_t at = line + fine_x * (kGroups * kGroupBytes);

      cf::ldmatrix_x4_trans(pixels[j], at + lane / 16 * kGroupBytes);
    }
    band.filter(pixels, &coarse);

    uint8_t *const to =
        memory.filtered + ((row * width + x + lane / 4) * kGroups) * kGroupBytes + lane % 4 * 4;
#pragma unroll
    for (int i = 0; i < 4; i++) {
      if (x + 8 * i + lane / 4 >= width)
        continue;
#pragma unroll
      for (int c = 0; c < kGroups; c++)
        *reinterpret_cast<uint32_t *>(to + (8 * i * kGroups + c) * kGroupBytes) =
            coarse.word[i / 2][2 * c + i % 2];
    }
  }
  for (int task = kCoarseWarps - 1 - warp; task < across * count; task += kCoarseWarps) {
    int row, chunk;
    split_task(task, across, &row, &chunk);
    const int x = chunk * 32 + lane;
    const float *const line = memory.gauss + fine.base + (from.first + row) * fine.width;

    if (x < width)
      memory.filtered_gauss[row * width + x] = reduced(
          line[mirrored(2 * x - 2, fine.width)], line[mirrored(2 * x - 1, fine.width)], line[2 * x],
          line[mirrored(2 * x + 1, fine.width)], line[mirrored(2 * x + 2, fine.width)]);
  }
}

/* A group reduced from five, in fp16. */
__device__ __forceinline__ uint4 reduced_group(const uint4 (&rows)[5])
{
  const uint32_t edge = cf::pack_half2(kHalfEdge, kHalfEdge),
                 side = cf::pack_half2(kHalfSide, kHalfSide),
                 centre = cf::pack_half2(kHalfCentre, kHalfCentre);
  uint32_t sum[4];

#pragma unroll
  for (int k = 0; k < 4; k++) {
    sum[k] = hmul2_bits(edge, word(rows[0], k));
    sum[k] = hfma2_bits(side, word(rows[1], k), sum[k]);
    sum[k] = hfma2_bits(centre, word(rows[2], k), sum[k]);
    sum[k] = hfma2_bits(side, word(rows[3], k), sum[k]);
    sum[k] = hfma2_bits(edge, word(rows[4], k), sum[k]);
  }
  return make_uint4(sum[0], sum[1], sum[2], sum[3]);
}

/* Filters the result of filter_across() down, and passes `rows` of `level` to store (y, i, group)
 * and store_gauss (y, x, value). A whole warp calls these together, for 32 consecutive i or x, of
 * which some may be beyond the row's end. */
template <typename Store, typename StoreGauss>
__device__ __forceinline__ void filter_down(const CoarseLevels &levels, const CoarseMemory &memory,
                                            int level, Rows rows, Store store,
                                            StoreGauss store_gauss)
{
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int width = levels.level[level].width, count = count_of(rows);
  const int fine_height = levels.level[level - 1].height;
  const int first = reduced_rows(rows, fine_height).first;
  const int across = (width * kGroups + 31) / 32, gauss_across = (width + 31) / 32;

  for (int task = warp; task < across * count; task += kCoarseWarps) {
    int row, chunk;
    split_task(task, across, &row, &chunk);
    const int y = rows.first + row, i = chunk * 32 + lane;
    uint4 lines[5];

#pragma unroll
    for (int k = 0; k < 5; k++)
      lines[k] = reinterpret_cast<const uint4 *>(
          memory.filtered)[(mirrored(2 * y - 2 + k, fine_height) - first) * width * kGroups +
                           min(i, width * kGroups - 1)];
    store(y, i, reduced_group(lines));
  }
  for (int task = kCoarseWarps - 1 - warp; task < gauss_across * count; task += kCoarseWarps) {
    int row, chunk;
    split_task(task, gauss_across, &row, &chunk);
    const int y = rows.first + row, x = chunk * 32 + lane;
    float lines[5];

#pragma unroll
    for (int k = 0; k < 5; k++)
      lines[k] = memory.filtered_gauss[(mirrored(2 * y - 2 + k, fine_height) - first) * width +
                                       min(x, width - 1)];
    store_gauss(y, x, reduced(lines[0], lines[1], lines[2], lines[3], lines[4]));
  }
}

/* Computes the CTA's own rows of a level that is distributed, or gathered by rank 0, stores each to
 * all CTAs that need it, and waits until all rows that this CTA needs have arrived. */
__device__ __forceinline__ void downsample_distributed(const CoarseLevels &levels,
                                                       const ClusterLayout &layout,
                                                       const CoarseMemory &memory, int level,
                                                       const Band &band)
{
  const Rows rows = layout.held[level].own;
  const int width = levels.level[level].width;
  const uint32_t barrier = cf::smem_address(&layout.barrier[level]);
  /* Value i of row y, which has `per_pixel` values for a pixel; `to` is the first row's address. */
  auto store_value = [&](int y, int i, int per_pixel, uint32_t to, auto value) {
    for (uint32_t ctas = ctas_with_row(levels, layout, level, y); ctas; ctas &= ctas - 1) {
      const int cta = __ffs(ctas) - 1;
      const int at = (layout.place[level][cta].base + y * width) * per_pixel + i;

      if (i < width * per_pixel)
        store_remote(address_in_cta(to + at * (int)sizeof value, cta), value,
                     address_in_cta(barrier, cta));
    }
  };

  for (int first = rows.first; first < rows.end; first += levels.rows_per_pass) {
    const Rows pass = {first, min(first + levels.rows_per_pass, rows.end)};

    filter_across(levels, memory, layout.held[level - 1], level, pass, band);
    __syncthreads();
    filter_down(
        levels, memory, level, pass,
        [&](int y, int i, uint4 group) {
          store_value(y, i, kGroups, cf::smem_address(memory.components), group);
        },
        [&](int y, int x, float value) {
          store_value(y, x, 1, cf::smem_address(memory.gauss), __float_as_uint(value));
        });
    __syncthreads();
  }
  mbarrier_wait(&layout.barrier[level]);
}

/* Reduces a level with at most one group or Gaussian per thread, in one step: groups from the first
 * thread on, Gaussians from the last thread back. */
__device__ __forceinline__ void downsample_small(const CoarseMemory &memory, const LocalLevel &fine,
                                                 const LocalLevel &coarse)
{
  const int pixels = coarse.width * coarse.height, last = kCoarseThreads - 1 - (int)threadIdx.x;
  const bool components = (int)threadIdx.x < pixels * kGroups;
  const int i = components ? (int)threadIdx.x / kGroups : last;
  int row, x, columns[5], lines[5];

  if (i >= pixels)
    return;
  split_task(i, coarse.width, &row, &x);
#pragma unroll
  for (int k = 0; k < 5; k++) {
    columns[k] = mirrored(2 * x - 2 + k, fine.width);
    lines[k] = fine.base + mirrored(2 * row - 2 + k, fine.height) * fine.width;
  }
  if (components) {
    uint4 *const groups = reinterpret_cast<uint4 *>(memory.components) + threadIdx.x % kGroups;
    uint4 down[5];

#pragma unroll
    for (int k = 0; k < 5; k++) {
      uint4 across[5];
#pragma unroll
      for (int j = 0; j < 5; j++)
        across[j] = groups[(lines[k] + columns[j]) * kGroups];
      down[k] = reduced_group(across);
    }
    groups[(coarse.base + i) * kGroups] = reduced_group(down);
  } else {
    float down[5];

#pragma unroll
    for (int k = 0; k < 5; k++) {
      const float *const line = memory.gauss + lines[k];
      down[k] = reduced(line[columns[0]], line[columns[1]], line[columns[2]], line[columns[3]],
                        line[columns[4]]);
    }
    memory.gauss[coarse.base + i] = reduced(down[0], down[1], down[2], down[3], down[4]);
  }
}

/* Computes a level that only this CTA has. */
__device__ __forceinline__ void downsample_rank0(const CoarseLevels &levels,
                                                 const CoarseMemory &memory, const LocalLevel &fine,
                                                 const LocalLevel &coarse, int level,
                                                 const Band &band)
{
  const int width = coarse.width;

  if (width * coarse.height * (kGroups + 1) <= kCoarseThreads) {
    downsample_small(memory, fine, coarse);
    __syncthreads();
    return;
  }
  filter_across(levels, memory, fine, level, coarse.rows, band);
  __syncthreads();
  filter_down(
      levels, memory, level, coarse.rows,
      [&](int y, int i, uint4 group) {
        if (i < width * kGroups)
          reinterpret_cast<uint4 *>(memory.components)[(coarse.base + y * width) * kGroups + i] =
              group;
      },
      [&](int y, int x, float value) {
        if (x < width)
          memory.gauss[coarse.base + y * width + x] = value;
      });
  __syncthreads();
}

} // namespace cf::llf
