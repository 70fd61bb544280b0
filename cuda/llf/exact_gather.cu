/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * engine=exact of the local Laplacian filter: every coefficient is gathered from its own remapped
 * neighbourhood. The coefficient of level l at p is
 *
 *   sum over q of (R(qx) R(qy) - E(qx) E(qy)) r (|d|) d / |d|,   d = I(q) - G_l(p)
 *
 * with R the weights of the input samples q in sample p of level l, and E their weights at p in
 * level l + 1 expanded. The tables (exact_weights.cpp) have both for every position of each axis,
 * with borders folded in.
 */
#include "cuda/llf/exact.cuh"
#include "cuda/llf/pixel_io.cuh"
#include "cuda/llf/pyramid_ops.cuh"
#include "cuda/llf/remap_curve.cuh"

#include <algorithm>

namespace cf::llf
{
namespace
{

/* The most shared memory of a CTA that gathers a tile: two such CTAs fit an SM of sm_90. */
constexpr int kTileSharedBytes = 110 * 1024;

/* The neighbourhoods of a coarse level's coefficients are split into up to kMaxParts parts of at
 * least kMinPartRows rows, one warp each, until about kTargetWarps warps gather. */
constexpr int kTargetWarps = 8192, kMaxParts = 64, kMinPartRows = 8;

/* ---- Kernels ---- */

/* r (|d|) / |d| of a vector d, from its squared length, which must not be 0. */
__device__ __forceinline__ float remap_factor(const Curve &curve, float square)
{
  const float reciprocal = rsqrt_approx(square), length = square * reciprocal;
  const float detail =
      exp2_approx(fmaf(0.5f * (curve.alpha - 1.0f), log2_approx(square), curve.detail_gain));
  const float lack = __saturatef(fmaf(curve.noise_slope, length, curve.noise_offset));
  const float root = fmaf(lack, lack, -1.0f);
  const float blended = fmaf(root * root, detail - 1.0f, 1.0f);
  const float tone = fmaf(curve.tone_offset, reciprocal, curve.beta);

  return length <= curve.sigma ? blended : tone;
}

/* Adds r of one difference d = I(q) - G_l(p), a vector of `Planes` components, to the sums of the
 * level (weight.x) and of the next level expanded (weight.y). At level 0 only the latter counts:
 * the former is the pixel's own term, r (0) = 0. */
template <int Planes, bool Finest>
__device__ __forceinline__ void add_tap(const Curve &curve, float2 weight, const float d[Planes],
                                        float reduced[Planes], float expanded[Planes])
{
  if (Planes == 1) {
    const float value = copysignf(remap_magnitude(curve, fabsf(d[0])), d[0]);

    if (!Finest)
      reduced[0] = fmaf(weight.x, value, reduced[0]);
    expanded[0] = fmaf(weight.y, value, expanded[0]);
  } else {
    float square = 1e-30f;

#pragma unroll
    for (int c = 0; c < Planes; c++)
      square = fmaf(d[c], d[c], square);
    const float factor = remap_factor(curve, square);
    const float factor_x = weight.x * factor, factor_y = weight.y * factor;
#pragma unroll
    for (int c = 0; c < Planes; c++) {
      if (!Finest)
        reduced[c] = fmaf(factor_x, d[c], reduced[c]);
      expanded[c] = fmaf(factor_y, d[c], expanded[c]);
    }
  }
}

/* The arguments of the kernel of one level. Images are float [plane][y][x] in device memory. */
struct Gather {
  const float *image;            /* intensities, width x height */
  const float *gauss;            /* their Gaussian at this level */
  float *coefficient;            /* the output, [plane][y][x][part] */
  size_t image_size, level_size; /* pixels of a plane of the image, and of this level */
  int width, height;
  AxisLevel x, y;
  int parts;        /* of a coefficient's neighbourhood; 1 in tiles */
  int shared_bytes; /* in tiles: the most shared memory of a CTA */
  int rows;         /* in tiles: rows of the image that are staged in shared memory at a time */
  Curve curve;
};

/* Rows of a coefficient's neighbourhood, and the weights of their columns, for gather_rows(). The
 * columns that a lane reads are first, first + kStride, .. below `columns`. These rows are in
 * shared memory, [row][plane][Pitch], and swizzled: the lanes of a warp read columns mask + 1
 * apart, which then lie in different banks. */
template <int Planes, int Pitch> struct StagedRows {
  static constexpr int kStride = 1;
  const float *memory;
  const float2 *weights;
  unsigned weight_step;
  int first, columns;
  int left; /* staged columns left of the neighbourhood */
  int mask;

  __device__ __forceinline__ float2 weight(int column) const
  {
    return weights[(unsigned)column * weight_step];
  }

  __device__ __forceinline__ const float *at(int column) const
  {
    const int x = left + column;
    return memory + (x ^ (x >> 5 & mask));
  }

  __device__ __forceinline__ size_t offset(int row, int plane) const
  {
    return (row * Planes + plane) * Pitch;
  }
};

/* The same in global memory, where a lane reads every 32nd column. */
struct ImageRows {
  static constexpr int kStride = 32;
  const float *memory;
  const float2 *weights;
  int first, columns, width;
  size_t plane_size;

  __device__ __forceinline__ float2 weight(int column) const
  {
    return weights[column];
  }

  __device__ __forceinline__ const float *at(int column) const
  {
    return memory + column;
  }

  __device__ __forceinline__ size_t offset(int row, int plane) const
  {
    return plane * plane_size + (size_t)(row * width);
  }
};

/* Adds RowCount rows, weighted by weight_y, to `total`. A column's weight is loaded once for all of
 * them. */
template <int Planes, int RowCount, bool Finest, typename Rows>
__device__ __forceinline__ void gather_rows(const Curve &curve, const Rows &rows,
                                            const float2 *weight_y, const float center[Planes],
                                            float total[Planes])
{
  float reduced_row[RowCount][Planes] = {0}, expanded_row[RowCount][Planes] = {0};

#pragma unroll 2
  for (int column = rows.first; column < rows.columns; column += Rows::kStride) {
    const float2 weight = rows.weight(column);
    const float *const from = rows.at(column);

#pragma unroll
    for (int r = 0; r < RowCount; r++) {
      float d[Planes];

#pragma unroll
      for (int c = 0; c < Planes; c++)
        d[c] = from[rows.offset(r, c)] - center[c];
      add_tap<Planes, Finest>(curve, weight, d, reduced_row[r], expanded_row[r]);
    }
  }
#pragma unroll
  for (int r = 0; r < RowCount; r++) {
#pragma unroll
    for (int c = 0; c < Planes; c++)
      total[c] += weight_y[r].x * reduced_row[r][c] - weight_y[r].y * expanded_row[r][c];
  }
}

/* Adds rows row..end - 1, as many at a time as registers allow. rows_at (row) returns the rows from
 * `row` on. */
template <int Planes, bool Finest, typename RowsAt>
__device__ __forceinline__ void gather_all(const Curve &curve, int row, int end, RowsAt rows_at,
                                           const float2 *weight_y, const float center[Planes],
                                           float total[Planes])
{
  constexpr int kRowsAtOnce = Planes == 1 ? 7 : 3;

  for (; row + kRowsAtOnce <= end; row += kRowsAtOnce)
    gather_rows<Planes, kRowsAtOnce, Finest>(curve, rows_at(row), weight_y + row, center, total);
  for (; row + 2 <= end; row += 2)
    gather_rows<Planes, 2, Finest>(curve, rows_at(row), weight_y + row, center, total);
  if (row < end)
    gather_rows<Planes, 1, Finest>(curve, rows_at(row), weight_y + row, center, total);
}

/* Copies columns x..x + columns - 1 of rows y..y + rows - 1 to shared memory, as StagedRows reads
 * them. */
template <int Planes, int Pitch>
__device__ __forceinline__ void stage_rows(float *memory, const Gather &gather, int mask, int x,
                                           int y, int columns, int rows)
{
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;

  for (int row = warp; row < rows * Planes; row += kTileWarps) {
    const float *const from = gather.image + row % Planes * gather.image_size +
                              (size_t)(y + row / Planes) * gather.width + x;
    float *const to = memory + row * Pitch;

    for (int column = lane; column < columns; column += 32)
      to[column ^ (column >> 5 & mask)] = from[column];
  }
}

/* A CTA computes one tile of coefficients of a fine level. The rows of the image that their
 * neighbourhoods cover pass through shared memory, gather.rows at a time. A warp computes the even
 * coefficients of a row, or the odd ones, which have fewer taps. */
template <int Planes, bool Finest, int Pitch>
__global__ void __launch_bounds__(32 * kTileWarps, 2)
    gather_tiles_kernel(const __grid_constant__ Gather gather, int mask)
{
  extern __shared__ float memory[];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, odd = warp % 2;
  const int block_x = blockIdx.x * kTileX, block_y = blockIdx.y * kTileY;
  const int x = block_x + 2 * lane + odd, y = block_y + warp / 2;
  const bool inside = x < gather.x.size && y < gather.y.size;
  const size_t index = (size_t)y * gather.x.size + x;
  const int first_x =
      min(gather.x.first[block_x], gather.x.first[min(block_x + 1, gather.x.size - 1)]);
  const int first_y =
      min(gather.y.first[block_y], gather.y.first[min(block_y + 1, gather.y.size - 1)]);
  const int columns = min(gather.x.span, gather.width - first_x);
  const int rows = min(gather.y.span, gather.height - first_y);
  float center[Planes] = {0}, total[Planes] = {0};
  const float2 *weight_y = nullptr;
  StagedRows<Planes, Pitch> window = {};
  int top = rows, taps = 0; /* rows of the tile above the neighbourhood, and of it */

  pdl_trigger_then_wait();
  if (inside) {
    top = gather.y.first[y] - first_y;
    taps = gather.y.taps[y & 1];
    weight_y = gather.y.weight + (size_t)y * gather.y.most_taps;
    window.weights = gather.x.weight + odd * ((gather.x.size + 1) / 2) + x / 2;
    window.weight_step = gather.x.size;
    window.left = gather.x.first[x] - first_x;
    window.columns = gather.x.taps[odd];
    window.mask = mask;
#pragma unroll
    for (int c = 0; c < Planes; c++)
      center[c] = gather.gauss[c * gather.level_size + index];
  }

#pragma unroll 1
  for (int staged = 0; staged < rows; staged += gather.rows) {
    const int staged_rows = min(gather.rows, rows - staged);

    if (staged > 0)
      __syncthreads(); /* all warps have read the rows before */
    stage_rows<Planes, Pitch>(memory, gather, mask, first_x, first_y + staged, columns,
                              staged_rows);
    __syncthreads();
    gather_all<Planes, Finest>(
        gather.curve, max(staged - top, 0), min(staged + staged_rows - top, taps),
        [&](int row) {
          StagedRows<Planes, Pitch> from_row = window;
          from_row.memory = memory + (top + row - staged) * Planes * Pitch;
          return from_row;
        },
        weight_y, center, total);
  }

  if (inside) {
#pragma unroll
    for (int c = 0; c < Planes; c++)
      gather.coefficient[c * gather.level_size + index] = total[c];
  }
}

/* A warp gathers one part of one coefficient of a coarse level; its lanes read adjacent columns.
 * The warps of a CTA gather the same part of neighbouring coefficients, which share rows in the
 * cache. */
template <int Planes>
__global__ void __launch_bounds__(32 * kWarpGatherWarps)
    gather_by_warps_kernel(const __grid_constant__ Gather gather)
{
  const int lane = threadIdx.x % 32;
  const size_t item = (size_t)blockIdx.x * kWarpGatherWarps + threadIdx.x / 32;
  const size_t index = item % gather.level_size;
  const int part = (int)(item / gather.level_size);

  pdl_trigger_then_wait();
  if (part >= gather.parts)
    return;

  const int x = (int)(index % gather.x.size), y = (int)(index / gather.x.size);
  const int rows = gather.y.taps[y & 1];
  const float2 *const weight_y = gather.y.weight + (size_t)y * gather.y.most_taps;
  ImageRows window = {};
  float center[Planes], total[Planes] = {0};

  window.weights = gather.x.weight + (size_t)x * gather.x.most_taps;
  window.first = lane;
  window.columns = gather.x.taps[x & 1];
  window.width = gather.width;
  window.plane_size = gather.image_size;
#pragma unroll
  for (int c = 0; c < Planes; c++)
    center[c] = gather.gauss[c * gather.level_size + index];

  gather_all<Planes, false>(
      gather.curve, (int)((long long)rows * part / gather.parts),
      (int)((long long)rows * (part + 1) / gather.parts),
      [&](int row) {
        ImageRows from_row = window;
        from_row.memory =
            gather.image + (size_t)(gather.y.first[y] + row) * gather.width + gather.x.first[x];
        return from_row;
      },
      weight_y, center, total);

#pragma unroll
  for (int c = 0; c < Planes; c++) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2)
      total[c] += __shfl_xor_sync(0xffffffffu, total[c], distance);
    if (lane == 0)
      gather.coefficient[(c * gather.level_size + index) * gather.parts + part] = total[c];
  }
}

__global__ void __launch_bounds__(256) intensity_kernel(Pixels pixels, float *image)
{
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;

  pdl_trigger_then_wait();
  if (x < pixels.width && y < pixels.height)
    image[(size_t)y * pixels.width + x] = __saturatef(load_intensity(pixels, x, y));
}

/* The next coarser level of a Gaussian pyramid. blockIdx.z is the plane, here and below. */
__global__ void __launch_bounds__(256)
    reduce_plane_kernel(const float *fine, int fine_width, int fine_height, float *coarse,
                        int width, int height)
{
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;

  pdl_trigger_then_wait();
  if (x >= width || y >= height)
    return;
  fine += (size_t)blockIdx.z * fine_width * fine_height;
  coarse += (size_t)blockIdx.z * width * height;
  coarse[(size_t)y * width + x] = reduced_plane(fine, fine_width, fine_height, x, y);
}

/* collapsed = share * (expanded coarse level + sum of the coefficient's parts)
 *             + (1 - share) * Gaussian. A thread computes a quad. */
__global__ void __launch_bounds__(256)
    collapse_kernel(const float *coarse, const float *parts, int part_count, const float *gauss,
                    float share, float *collapsed, int width, int height)
{
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  const int coarse_width = (width + 1) / 2, coarse_height = (height + 1) / 2;
  const size_t plane = (size_t)blockIdx.z * width * height;
  float expanded[4];

  pdl_trigger_then_wait();
  if (x >= coarse_width || y >= coarse_height)
    return;
  expand_plane(coarse + (size_t)blockIdx.z * coarse_width * coarse_height,
               neighbours(x, y, coarse_width, coarse_height), expanded);
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const int own_x = 2 * x + (i & 1), own_y = 2 * y + (i >> 1);

    if (own_x >= width || own_y >= height)
      continue;
    const size_t index = plane + (size_t)own_y * width + own_x;
    float total = expanded[i];
    for (int part = 0; part < part_count; part++)
      total += parts[index * part_count + part];
    collapsed[index] = share < 1.0f ? fmaf(share, total - gauss[index], gauss[index]) : total;
  }
}

/* ---- Scratch memory ---- */

/* The parts that each coefficient's neighbourhood is split into. */
int part_count(const CfLlfPyramid &shape, int level)
{
  const long long coefficients = (long long)shape.width[level] * shape.height[level];
  const int rows = shape.height[0] < 4 << (level + 1) ? shape.height[0] : 4 << (level + 1);
  long long parts = (kTargetWarps + coefficients - 1) / coefficients;

  if (level < kWarpGatherLevel)
    return 1;
  parts = parts < kMaxParts ? parts : kMaxParts;
  parts = parts < rows / kMinPartRows ? parts : rows / kMinPartRows;
  return parts > 1 ? (int)parts : 1;
}

struct Layout {
  size_t bytes;
  /* Per level; gauss[0] is the picture, and the coarsest level is its own collapsed image. */
  float *gauss[CF_LLF_MAX_IMAGES], *coefficient[CF_LLF_MAX_IMAGES], *collapsed[CF_LLF_MAX_IMAGES];
};

Layout layout(const CfLlfPyramid &shape, int planes, void *scratch)
{
  Layout layout = {};
  auto allocate = [&](size_t floats) {
    float *const memory = (float *)((uint8_t *)scratch + layout.bytes);
    layout.bytes += (floats * sizeof(float) + 255) / 256 * 256;
    return memory;
  };

  for (int level = 0; level < shape.images; level++) {
    const size_t size = (size_t)shape.width[level] * shape.height[level] * planes;

    layout.gauss[level] = allocate(size);
    if (level == shape.images - 1) {
      layout.collapsed[level] = layout.gauss[level];
      continue;
    }
    layout.coefficient[level] = allocate(size * part_count(shape, level));
    if (level > 0)
      layout.collapsed[level] = allocate(size);
  }
  return layout;
}

dim3 pixel_grid(int width, int height, int planes)
{
  return dim3(blocks(width, 32), blocks(height, 8), planes);
}

/* ---- Launches ---- */

/* Floats of a staged row, by level. The neighbourhoods of a tile cover 2^level (kTileX - 2) samples
 * plus the taps of an even sample. */
constexpr int kTilePitch[kWarpGatherLevel] = {72, 152, 296};

template <int Planes, bool Finest, int Pitch>
bool launch_tiles(Queue *queue, Gather gather, int level, const char *name)
{
  constexpr int kRowBytes = Planes * Pitch * (int)sizeof(float);
  const auto kernel = gather_tiles_kernel<Planes, Finest, Pitch>;
  const int max_rows = gather.shared_bytes / kRowBytes;
  const int passes = (gather.y.span + max_rows - 1) / max_rows;

  gather.rows = (gather.y.span + passes - 1) / passes;
  return launch(queue, name, kernel,
                dim3(blocks(gather.x.size, kTileX), blocks(gather.y.size, kTileY)),
                dim3(32 * kTileWarps), gather.rows * kRowBytes, gather, (2 << level) - 1);
}

template <int Planes>
bool launch_tiles(Queue *queue, const Gather &gather, int level, const char *name)
{
  switch (level) {
  case 0:
    return launch_tiles<Planes, true, kTilePitch[0]>(queue, gather, level, name);
  case 1:
    return launch_tiles<Planes, false, kTilePitch[1]>(queue, gather, level, name);
  default:
    return launch_tiles<Planes, false, kTilePitch[2]>(queue, gather, level, name);
  }
}

template <int Planes> bool launch_warps(Queue *queue, const Gather &gather, const char *name)
{
  const size_t warps = gather.level_size * gather.parts;

  return launch(queue, name, gather_by_warps_kernel<Planes>,
                dim3((unsigned)((warps + kWarpGatherWarps - 1) / kWarpGatherWarps)),
                dim3(32 * kWarpGatherWarps), 0, gather);
}

template <int Planes>
bool gather_level(Queue *queue, const Gather &gather, int level, const char *name)
{
  return level < kWarpGatherLevel ? launch_tiles<Planes>(queue, gather, level, name)
                                  : launch_warps<Planes>(queue, gather, name);
}

} // namespace

size_t exact_scratch_bytes(const CfLlfPyramid &shape, int planes)
{
  return layout(shape, planes, nullptr).bytes;
}

bool exact_run(Queue *queue, const ExactTables &tables, const CfLlfPyramid &shape,
               const Pixels *pixels, int planes, const Curve &curve, void *scratch)
{
  const Layout memory = layout(shape, planes, scratch);
  const size_t image_size = (size_t)shape.width[0] * shape.height[0];
  const int top = shape.images - 1;

  for (int plane = 0; plane < planes; plane++) {
    float *const image = memory.gauss[0] + plane * image_size;

    if (!launch(queue, "llf intensities", intensity_kernel,
                pixel_grid(shape.width[0], shape.height[0], 1), dim3(32, 8), 0, pixels[plane],
                image))
      return false;
  }
  for (int level = 1; level <= top; level++) {
    if (!launch(queue, "llf reduce", reduce_plane_kernel,
                pixel_grid(shape.width[level], shape.height[level], planes), dim3(32, 8), 0,
                (const float *)memory.gauss[level - 1], shape.width[level - 1],
                shape.height[level - 1], memory.gauss[level], shape.width[level],
                shape.height[level]))
      return false;
  }

  for (int level = top - 1; level >= 0; level--) {
    const int width = shape.width[level], height = shape.height[level];
    const float share = level == top - 1 ? (float)shape.last_share : 1.0f;
    Gather gather = {};

    gather.image = memory.gauss[0];
    gather.gauss = memory.gauss[level];
    gather.coefficient = memory.coefficient[level];
    gather.image_size = image_size;
    gather.level_size = (size_t)width * height;
    gather.width = shape.width[0];
    gather.height = shape.height[0];
    gather.x = tables.x[level];
    gather.y = tables.y[level];
    gather.parts = part_count(shape, level);
    gather.shared_bytes = std::min(queue->gpu.shared_per_block, kTileSharedBytes);
    gather.curve = curve;
    if (!(planes == 1 ? gather_level<1>(queue, gather, level, "llf gather")
                      : gather_level<3>(queue, gather, level, "llf gather RGB")))
      return false;
    if (level > 0 &&
        !launch(queue, "llf collapse", collapse_kernel,
                pixel_grid((width + 1) / 2, (height + 1) / 2, planes), dim3(32, 8), 0,
                (const float *)memory.collapsed[level + 1],
                (const float *)memory.coefficient[level], gather.parts,
                (const float *)memory.gauss[level], share, memory.collapsed[level], width, height))
      return false;
  }

  const size_t coarse_size = (size_t)shape.width[1] * shape.height[1];
  for (int plane = 0; plane < planes; plane++) {
    if (!write_plane(queue, pixels[plane], memory.coefficient[0] + plane * image_size,
                     memory.collapsed[1] + plane * coarse_size,
                     top == 1 ? (float)shape.last_share : 1.0f))
      return false;
  }
  return true;
}

} // namespace cf::llf
