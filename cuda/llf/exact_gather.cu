/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * engine=exact of the local Laplacian filter: every coefficient gathered from its own remapped
 * neighbourhood. A coefficient of level l at p is
 *
 *   sum over q of (R(qx) R(qy) - E(qx) E(qy)) r (I(q) - G_l(p)) (I(q) - G_l(p)) / |I(q) - G_l(p)|
 *
 * with R the weights that make the sample of level l, E those of level l + 1 expanded there. Tables
 * of both, for every position of each axis, hold the borders.
 */
#include "cuda/llf/exact.cuh"

namespace cf::llf
{
namespace
{

/* Leaves room for two blocks of a near level. */
constexpr int NEAR_SHARED = 110 * 1024;

/* A level's coefficients are shared out between this many warps where there are few of them. */
constexpr int FAR_TARGET_WARPS = 8192, FAR_MAX_PARTS = 64, FAR_MIN_ROWS = 8;

/* --- kernels --- */

/* What r multiplies a difference by whose length's square this is, and not 0. */
template <CurveShape SHAPE>
__device__ __forceinline__ float remap_factor(const Curve &curve, float square)
{
  const float reciprocal = rsqrt_approx(square), length = square * reciprocal;
  const float detail =
      exp2_approx(fmaf(0.5f * (curve.alpha - 1.0f), log2_approx(square), curve.detail_gain));
  const float lack = __saturatef(fmaf(curve.noise_slope, length, curve.noise_offset));
  const float root = fmaf(lack, lack, -1.0f);
  const float blended = fmaf(root * root, detail - 1.0f, 1.0f);
  const float tone = fmaf(curve.tone_offset, reciprocal, curve.beta);

  if (SHAPE == CurveShape::UPPER_HULL)
    return fmaxf(blended, tone);
  return length <= curve.sigma ? blended : tone;
}

/* Adds r of the difference of `planes` components as a vector, weighted. At level 0 a pixel's own
 * term is r (0) = 0. */
template <int PLANES, bool FINEST, CurveShape SHAPE>
__device__ __forceinline__ void add_tap(const Curve &curve, float2 weight, const float d[PLANES],
                                        float reduced[PLANES], float expanded[PLANES])
{
  if (PLANES == 1) {
    const float value = copysignf(remap_magnitude<SHAPE>(curve, fabsf(d[0])), d[0]);

    if (!FINEST)
      reduced[0] = fmaf(weight.x, value, reduced[0]);
    expanded[0] = fmaf(weight.y, value, expanded[0]);
  } else {
    float square = 1e-30f;

#pragma unroll
    for (int c = 0; c < PLANES; c++)
      square = fmaf(d[c], d[c], square);
    const float factor = remap_factor<SHAPE>(curve, square);
    const float factor_x = weight.x * factor, factor_y = weight.y * factor;
#pragma unroll
    for (int c = 0; c < PLANES; c++) {
      if (!FINEST)
        reduced[c] = fmaf(factor_x, d[c], reduced[c]);
      expanded[c] = fmaf(factor_y, d[c], expanded[c]);
    }
  }
}

/* Planes lie one after the other, `*_size` pixels apart. */
struct Gather {
  const float *image, *gauss;
  float *coefficient;
  size_t image_size, level_size;
  int width, height; /* of the image */
  AxisLevel x, y;
  int parts;
  int shared_bytes, rows; /* that a near kernel may use, and of the image at a time */
  Curve curve;
};

/* Rows of a neighbourhood and their columns' weights, for gather_rows(): columns first, first +
 * STRIDE .. of `columns`. Of these in shared memory some change places, so that those that lanes
 * read, `mask` + 1 apart, lie in different banks. */
template <int PLANES, int PITCH> struct StagedRows {
  static constexpr int STRIDE = 1;
  const float *memory;
  const float2 *weights;
  unsigned weight_step;
  int first, columns, left, mask;

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
    return (row * PLANES + plane) * PITCH;
  }
};

struct ImageRows {
  static constexpr int STRIDE = 32;
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

/* Adds ROWS rows, weighted by weight_y. What depends on the column is made once for all of them. */
template <int PLANES, int ROWS, bool FINEST, CurveShape SHAPE, typename Rows>
__device__ __forceinline__ void gather_rows(const Curve &curve, const Rows &rows,
                                            const float2 *weight_y, const float center[PLANES],
                                            float total[PLANES])
{
  float reduced_row[ROWS][PLANES] = {0}, expanded_row[ROWS][PLANES] = {0};

#pragma unroll 2
  for (int column = rows.first; column < rows.columns; column += Rows::STRIDE) {
    const float2 weight = rows.weight(column);
    const float *const from = rows.at(column);

#pragma unroll
    for (int r = 0; r < ROWS; r++) {
      float d[PLANES];

#pragma unroll
      for (int c = 0; c < PLANES; c++)
        d[c] = from[rows.offset(r, c)] - center[c];
      add_tap<PLANES, FINEST, SHAPE>(curve, weight, d, reduced_row[r], expanded_row[r]);
    }
  }
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
#pragma unroll
    for (int c = 0; c < PLANES; c++)
      total[c] += weight_y[r].x * reduced_row[r][c] - weight_y[r].y * expanded_row[r][c];
  }
}

/* Adds rows `row` .. end - 1: as many at a time as registers allow. `rows_at (row)` gives them. */
template <int PLANES, bool FINEST, CurveShape SHAPE, typename RowsAt>
__device__ __forceinline__ void gather_all(const Curve &curve, int row, int end, RowsAt rows_at,
                                           const float2 *weight_y, const float center[PLANES],
                                           float total[PLANES])
{
  constexpr int MANY = PLANES == 1 ? 7 : 3;

  for (; row + MANY <= end; row += MANY)
    gather_rows<PLANES, MANY, FINEST, SHAPE>(curve, rows_at(row), weight_y + row, center, total);
  for (; row + 2 <= end; row += 2)
    gather_rows<PLANES, 2, FINEST, SHAPE>(curve, rows_at(row), weight_y + row, center, total);
  if (row < end)
    gather_rows<PLANES, 1, FINEST, SHAPE>(curve, rows_at(row), weight_y + row, center, total);
}

/* Rows of the image from `y` on, `columns` of each from `x` on, into shared memory: the planes of a
 * row one after the other. */
template <int PLANES, int PITCH>
__device__ __forceinline__ void stage_rows(float *memory, const Gather &gather, int mask, int x,
                                           int y, int columns, int rows)
{
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;

  for (int row = warp; row < rows * PLANES; row += NEAR_WARPS) {
    const float *const from = gather.image + row % PLANES * gather.image_size +
                              (size_t)(y + row / PLANES) * gather.width + x;
    float *const to = memory + row * PITCH;

    for (int column = lane; column < columns; column += 32)
      to[column ^ (column >> 5 & mask)] = from[column];
  }
}

/* The block's windows are in shared memory, gather.rows rows at a time. A warp makes the even
 * coefficients of a row or the odd ones, which need fewer taps. */
template <int PLANES, bool FINEST, CurveShape SHAPE, int PITCH>
__global__ void __launch_bounds__(32 * NEAR_WARPS, 2)
    near_kernel(const __grid_constant__ Gather gather, int mask)
{
  extern __shared__ float memory[];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, odd = warp % 2;
  const int block_x = blockIdx.x * NEAR_X, block_y = blockIdx.y * NEAR_Y;
  const int x = block_x + 2 * lane + odd, y = block_y + warp / 2;
  const bool inside = x < gather.x.size && y < gather.y.size;
  const size_t index = (size_t)y * gather.x.size + x;
  const int first_x =
      min(gather.x.first[block_x], gather.x.first[min(block_x + 1, gather.x.size - 1)]);
  const int first_y =
      min(gather.y.first[block_y], gather.y.first[min(block_y + 1, gather.y.size - 1)]);
  const int columns = min(gather.x.span, gather.width - first_x);
  const int rows = min(gather.y.span, gather.height - first_y);
  float center[PLANES] = {0}, total[PLANES] = {0};
  const float2 *weight_y = nullptr;
  StagedRows<PLANES, PITCH> window = {};
  int top = rows, count = 0;

  pdl_trigger_then_wait();
  if (inside) {
    top = gather.y.first[y] - first_y;
    count = gather.y.counts[y & 1];
    weight_y = gather.y.weight + (size_t)y * gather.y.count;
    window.weights = gather.x.weight + odd * ((gather.x.size + 1) / 2) + x / 2;
    window.weight_step = gather.x.size;
    window.left = gather.x.first[x] - first_x;
    window.columns = gather.x.counts[odd];
    window.mask = mask;
#pragma unroll
    for (int c = 0; c < PLANES; c++)
      center[c] = gather.gauss[c * gather.level_size + index];
  }

#pragma unroll 1
  for (int staged = 0; staged < rows; staged += gather.rows) {
    const int staged_rows = min(gather.rows, rows - staged);

    if (staged > 0)
      __syncthreads();
    stage_rows<PLANES, PITCH>(memory, gather, mask, first_x, first_y + staged, columns,
                              staged_rows);
    __syncthreads();
    gather_all<PLANES, FINEST, SHAPE>(
        gather.curve, max(staged - top, 0), min(staged + staged_rows - top, count),
        [&](int row) {
          StagedRows<PLANES, PITCH> some = window;
          some.memory = memory + (top + row - staged) * PLANES * PITCH;
          return some;
        },
        weight_y, center, total);
  }

  if (inside) {
#pragma unroll
    for (int c = 0; c < PLANES; c++)
      gather.coefficient[c * gather.level_size + index] = total[c];
  }
}

/* A warp gathers part of the rows of one coefficient, its lanes side by side; the warps of a block
 * the same part of neighbours, which read much the same. */
template <int PLANES, CurveShape SHAPE>
__global__ void __launch_bounds__(32 * FAR_WARPS) far_kernel(const __grid_constant__ Gather gather)
{
  const int lane = threadIdx.x % 32;
  const size_t item = (size_t)blockIdx.x * FAR_WARPS + threadIdx.x / 32;
  const size_t index = item % gather.level_size;
  const int part = (int)(item / gather.level_size);

  pdl_trigger_then_wait();
  if (part >= gather.parts)
    return;

  const int x = (int)(index % gather.x.size), y = (int)(index / gather.x.size);
  const int rows = gather.y.counts[y & 1];
  const float2 *const weight_y = gather.y.weight + (size_t)y * gather.y.count;
  ImageRows window = {};
  float center[PLANES], total[PLANES] = {0};

  window.weights = gather.x.weight + (size_t)x * gather.x.count;
  window.first = lane;
  window.columns = gather.x.counts[x & 1];
  window.width = gather.width;
  window.plane_size = gather.image_size;
#pragma unroll
  for (int c = 0; c < PLANES; c++)
    center[c] = gather.gauss[c * gather.level_size + index];

  gather_all<PLANES, false, SHAPE>(
      gather.curve, (int)((long long)rows * part / gather.parts),
      (int)((long long)rows * (part + 1) / gather.parts),
      [&](int row) {
        ImageRows some = window;
        some.memory =
            gather.image + (size_t)(gather.y.first[y] + row) * gather.width + gather.x.first[x];
        return some;
      },
      weight_y, center, total);

#pragma unroll
  for (int c = 0; c < PLANES; c++) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2)
      total[c] += __shfl_xor_sync(0xffffffffu, total[c], distance);
    if (lane == 0)
      gather.coefficient[(c * gather.level_size + index) * gather.parts + part] = total[c];
  }
}

template <typename Sample, Colour colour>
__global__ void __launch_bounds__(256) intensity_kernel(Pixels pixels, float *image)
{
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;

  pdl_trigger_then_wait();
  if (x < pixels.width && y < pixels.height)
    image[(size_t)y * pixels.width + x] = __saturatef(load_intensity<Sample, colour>(pixels, x, y));
}

/* blockIdx.z counts planes here and below. */
__global__ void __launch_bounds__(256)
    reduce_plane_kernel(const float *fine, int fine_width, int fine_height, float *coarse,
                        int width, int height)
{
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  float rows[5];

  pdl_trigger_then_wait();
  if (x >= width || y >= height)
    return;
  fine += (size_t)blockIdx.z * fine_width * fine_height;
  coarse += (size_t)blockIdx.z * width * height;
#pragma unroll
  for (int j = 0; j < 5; j++) {
    const float *p = fine + (size_t)mirrored(2 * y - 2 + j, fine_height) * fine_width;
    rows[j] =
        reduced(p[mirrored(2 * x - 2, fine_width)], p[mirrored(2 * x - 1, fine_width)], p[2 * x],
                p[mirrored(2 * x + 1, fine_width)], p[mirrored(2 * x + 2, fine_width)]);
  }
  coarse[(size_t)y * width + x] = reduced(rows[0], rows[1], rows[2], rows[3], rows[4]);
}

/* collapsed = expanded coarse + the sum of the parts of each coefficient. */
__global__ void __launch_bounds__(256)
    collapse_kernel(const float *coarse, const float *parts, int part_count, float *collapsed,
                    int width, int height)
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
    collapsed[index] = total;
  }
}

/* --- scratch --- */

int part_count(const CfLlfPyramid &shape, int level)
{
  const long long coefficients = (long long)shape.width[level] * shape.height[level];
  const int rows = shape.height[0] < 4 << (level + 1) ? shape.height[0] : 4 << (level + 1);
  long long parts = (FAR_TARGET_WARPS + coefficients - 1) / coefficients;

  if (level < FAR_LEVEL)
    return 1;
  parts = parts < FAR_MAX_PARTS ? parts : FAR_MAX_PARTS;
  parts = parts < rows / FAR_MIN_ROWS ? parts : rows / FAR_MIN_ROWS;
  return parts > 1 ? (int)parts : 1;
}

struct Layout {
  size_t bytes;
  float *image; /* Gaussian of level 0 */
  float *gauss[CF_LLF_MAX_IMAGES], *coefficient[CF_LLF_MAX_IMAGES], *collapsed[CF_LLF_MAX_IMAGES];
};

Layout layout(const CfLlfPyramid &shape, int planes, void *scratch)
{
  Layout layout = {};
  auto take = [&](size_t floats) {
    float *const memory = (float *)((uint8_t *)scratch + layout.bytes);
    layout.bytes += (floats * sizeof(float) + 255) / 256 * 256;
    return memory;
  };

  for (int level = 0; level < shape.images; level++) {
    const size_t size = (size_t)shape.width[level] * shape.height[level] * planes;

    layout.gauss[level] = take(size);
    if (level == shape.images - 1) {
      layout.collapsed[level] = layout.gauss[level];
      continue;
    }
    layout.coefficient[level] = take(size * part_count(shape, level));
    if (level > 0)
      layout.collapsed[level] = take(size);
  }
  return layout;
}

dim3 pixel_grid(int width, int height, int planes)
{
  return dim3(blocks(width, 32), blocks(height, 8), planes);
}

/* Of a level's windows side by side, which span 2^(level + 1) (NEAR_X - 2) + the even count. */
constexpr int NEAR_PITCH[FAR_LEVEL] = {72, 152, 296};

template <int PLANES, bool FINEST, CurveShape SHAPE, int PITCH>
bool launch_near(Queue *queue, Gather gather, int level, const char *name)
{
  constexpr int ROW_BYTES = PLANES * PITCH * (int)sizeof(float);
  const auto kernel = near_kernel<PLANES, FINEST, SHAPE, PITCH>;
  const int most = gather.shared_bytes / ROW_BYTES;
  const int passes = (gather.y.span + most - 1) / most;

  gather.rows = (gather.y.span + passes - 1) / passes;
  /* The limit belongs to the kernel, so it is always the same. */
  return cf_cuda_ok(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                         gather.shared_bytes),
                    name, queue->status) &&
         launch(queue, name, kernel,
                dim3(blocks(gather.x.size, NEAR_X), blocks(gather.y.size, NEAR_Y)),
                dim3(32 * NEAR_WARPS), gather.rows * ROW_BYTES, gather, (2 << level) - 1);
}

template <int PLANES, CurveShape SHAPE>
bool launch_near(Queue *queue, const Gather &gather, int level, const char *name)
{
  switch (level) {
  case 0:
    return launch_near<PLANES, true, SHAPE, NEAR_PITCH[0]>(queue, gather, level, name);
  case 1:
    return launch_near<PLANES, false, SHAPE, NEAR_PITCH[1]>(queue, gather, level, name);
  default:
    return launch_near<PLANES, false, SHAPE, NEAR_PITCH[2]>(queue, gather, level, name);
  }
}

template <int PLANES, CurveShape SHAPE>
bool launch_far(Queue *queue, const Gather &gather, const char *name)
{
  const size_t warps = gather.level_size * gather.parts;

  return launch(queue, name, far_kernel<PLANES, SHAPE>,
                dim3((unsigned)((warps + FAR_WARPS - 1) / FAR_WARPS)), dim3(32 * FAR_WARPS), 0,
                gather);
}

template <int PLANES, CurveShape SHAPE>
bool gather_level(Queue *queue, const Gather &gather, int level, const char *name)
{
  return level < FAR_LEVEL ? launch_near<PLANES, SHAPE>(queue, gather, level, name)
                           : launch_far<PLANES, SHAPE>(queue, gather, name);
}

template <int PLANES>
bool gather_level(Queue *queue, const Gather &gather, int level, const char *name)
{
  return is_upper_hull(gather.curve)
             ? gather_level<PLANES, CurveShape::UPPER_HULL>(queue, gather, level, name)
             : gather_level<PLANES, CurveShape::ANY>(queue, gather, level, name);
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

    if (!with_pixel_types(pixels[plane], [&](auto sample, auto colour) {
          return launch(queue, "llf intensities",
                        intensity_kernel<typename decltype(sample)::type, decltype(colour)::colour>,
                        pixel_grid(shape.width[0], shape.height[0], 1), dim3(32, 8), 0,
                        pixels[plane], image);
        }))
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
    gather.shared_bytes =
        tables.shared_per_block < NEAR_SHARED ? tables.shared_per_block : NEAR_SHARED;
    gather.curve = curve;
    if (!(planes == 1 ? gather_level<1>(queue, gather, level, "llf gather")
                      : gather_level<3>(queue, gather, level, "llf gather RGB")))
      return false;
    if (level > 0 && !launch(queue, "llf collapse", collapse_kernel,
                             pixel_grid((width + 1) / 2, (height + 1) / 2, planes), dim3(32, 8), 0,
                             (const float *)memory.collapsed[level + 1],
                             (const float *)memory.coefficient[level], gather.parts,
                             memory.collapsed[level], width, height))
      return false;
  }

  const size_t coarse_size = (size_t)shape.width[1] * shape.height[1];
  for (int plane = 0; plane < planes; plane++) {
    if (!finish_planes(queue, pixels[plane], memory.coefficient[0] + plane * image_size,
                       memory.collapsed[1] + plane * coarse_size))
      return false;
  }
  return true;
}

} // namespace cf::llf
