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
#include "llf_device.cuh"

#include <stdlib.h>
#include <string.h>

extern "C" {
#include "llf-axis.h"
}

namespace llf
{
namespace
{

/* Below this level a thread gathers a coefficient, from it on warps do. */
constexpr int FAR_LEVEL = 3;
constexpr int NEAR_X = 32, NEAR_Y = 8, FAR_WARPS = 8;

/* On these levels neighbours' windows are so close that even and odd coefficients are worth
 * separating. */
constexpr int SPLIT_LEVELS = 2;

/* A level's coefficients are shared out between this many warps where there are few of them. */
constexpr int FAR_TARGET_WARPS = 8192, FAR_MAX_PARTS = 64, FAR_MIN_ROWS = 8;

/* --- tables --- */

/* Memory handed out so far, and its host image once its size is known. */
struct Packer {
  size_t used;
  uint8_t *host;
};

size_t reserve(Packer *packer, size_t bytes)
{
  const size_t offset = packer->used;

  packer->used += (bytes + 255) / 256 * 256;
  return offset;
}

/* The taps that sample i needs, moved to begin with one that is not 0 if there is room. */
struct Taps {
  int first, count;
};

Taps needed_taps(const CfLlfOperator &reduced, const CfLlfOperator &expanded, int i)
{
  int begin = expanded.first[i], end = begin + expanded.width;
  auto is_zero = [&](int input) {
    return cf_llf_weight_or_zero(&reduced, i, input) == 0.0 &&
           cf_llf_weight_or_zero(&expanded, i, input) == 0.0;
  };

  while (begin + expanded.width < expanded.inputs && begin + 1 < end && is_zero(begin))
    begin++;
  while (end - 1 > begin && is_zero(end - 1))
    end--;
  return Taps{begin, end - begin};
}

/* The pointers are offsets until the device memory is there. */
void pack_level(Packer *packer, const CfLlfOperator &reduced, const CfLlfOperator &expanded,
                bool by_tap, AxisLevel *to)
{
  const int size = expanded.outputs, count = expanded.width, even = (size + 1) / 2;
  const size_t first = reserve(packer, (size_t)size * sizeof(int));
  const size_t weight = reserve(packer, (size_t)size * count * sizeof(float2));

  to->size = size;
  to->count = count;
  to->counts[0] = to->counts[1] = 0;
  to->first = (const int *)first;
  to->weight = (const float2 *)weight;
  if (!packer->host)
    return;
  int *const firsts = (int *)(packer->host + first);
  float2 *const packed = (float2 *)(packer->host + weight);
  for (int i = 0; i < size; i++) {
    const Taps taps = needed_taps(reduced, expanded, i);

    firsts[i] = taps.first;
    if (taps.count > to->counts[i % 2])
      to->counts[i % 2] = taps.count;
    for (int k = 0; k < count; k++) {
      const int input = taps.first + k;

      packed[by_tap ? (size_t)k * size + i % 2 * even + i / 2 : (size_t)i * count + k] =
          make_float2((float)cf_llf_weight_or_zero(&reduced, i, input),
                      (float)cf_llf_weight_or_zero(&expanded, i, input));
    }
  }
}

void pack_tables(Packer *packer, const CfLlfAxis &x, const CfLlfAxis &y, int images,
                 ExactTables *tables)
{
  for (int level = 0; level + 1 < images; level++) {
    pack_level(packer, x.reduced[level], x.expanded[level], level < FAR_LEVEL, &tables->x[level]);
    pack_level(packer, y.reduced[level], y.expanded[level], false, &tables->y[level]);
  }
}

void place(AxisLevel *level, uint8_t *memory)
{
  level->first = (const int *)(memory + (size_t)level->first);
  level->weight = (const float2 *)(memory + (size_t)level->weight);
}

bool upload_tables(const CfLlfAxis &x, const CfLlfAxis &y, int images, ExactTables *tables,
                   CfStatus *status)
{
  Packer packer = {};

  pack_tables(&packer, x, y, images, tables);
  const size_t bytes = packer.used;
  if (bytes == 0)
    return true;
  packer.used = 0;
  packer.host = (uint8_t *)malloc(bytes);
  if (!packer.host)
    return cf_fail(status, CF_ERROR_NO_MEMORY, "out of host memory");
  pack_tables(&packer, x, y, images, tables);

  tables->memory = cf_device_alloc(bytes, status);
  const bool uploaded = tables->memory && cf_cuda_ok(cudaMemcpy(tables->memory, packer.host, bytes,
                                                                cudaMemcpyHostToDevice),
                                                     "uploading the filter's weights", status);
  free(packer.host);
  for (int level = 0; level + 1 < images; level++) {
    place(&tables->x[level], (uint8_t *)tables->memory);
    place(&tables->y[level], (uint8_t *)tables->memory);
  }
  return uploaded;
}

/* --- kernels --- */

/* r of the difference of `planes` components as a vector, in place. */
template <int PLANES>
__device__ __forceinline__ void remap_vector(const Curve &curve, float d[PLANES])
{
  if (PLANES == 1) {
    d[0] = copysignf(remap_magnitude(curve, fabsf(d[0])), d[0]);
  } else {
    float square = 0.0f;

#pragma unroll
    for (int c = 0; c < PLANES; c++)
      square = fmaf(d[c], d[c], square);
    const float reciprocal = rsqrtf(fmaxf(square, 1e-30f));
    const float factor = reciprocal * remap_magnitude(curve, square * reciprocal);
#pragma unroll
    for (int c = 0; c < PLANES; c++)
      d[c] *= factor;
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
  Curve curve;
};

/* Adds ROWS rows of a coefficient's neighbourhood. At level 0 a pixel's own term is r (0) = 0. */
template <int PLANES, int ROWS, bool FINEST>
__device__ __forceinline__ void
gather_rows(const Gather &gather, const float *from, const float2 *weight_x, int count,
            const float2 *weight_y, const float center[PLANES], float total[PLANES])
{
  float reduced_row[ROWS][PLANES] = {0}, expanded_row[ROWS][PLANES] = {0};

  for (int k = 0; k < count; k++) {
    const float2 weight = weight_x[(size_t)k * gather.x.size];

#pragma unroll
    for (int r = 0; r < ROWS; r++) {
      float d[PLANES];

#pragma unroll
      for (int c = 0; c < PLANES; c++)
        d[c] = from[c * gather.image_size + (size_t)r * gather.width + k] - center[c];
      remap_vector<PLANES>(gather.curve, d);
#pragma unroll
      for (int c = 0; c < PLANES; c++) {
        if (!FINEST)
          reduced_row[r][c] = fmaf(weight.x, d[c], reduced_row[r][c]);
        expanded_row[r][c] = fmaf(weight.y, d[c], expanded_row[r][c]);
      }
    }
  }
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
#pragma unroll
    for (int c = 0; c < PLANES; c++)
      total[c] += weight_y[r].x * reduced_row[r][c] - weight_y[r].y * expanded_row[r][c];
  }
}

/* With `split`, threads side by side make every other coefficient, blockIdx.z the even or the odd
 * ones: these need fewer taps, but reads lie twice as far apart. */
template <int PLANES, bool FINEST>
__global__ void __launch_bounds__(NEAR_X *NEAR_Y) near_kernel(Gather gather, bool split)
{
  constexpr int ROWS = 3;
  const int column = blockIdx.x * NEAR_X + threadIdx.x, y = blockIdx.y * NEAR_Y + threadIdx.y;
  const int x = split ? 2 * column + (int)blockIdx.z : column;

  await_previous();
  if (x >= gather.x.size || y >= gather.y.size)
    return;

  const size_t index = (size_t)y * gather.x.size + x;
  const int columns = split ? gather.x.counts[x & 1] : gather.x.count,
            rows = gather.y.counts[y & 1];
  const float2 *const weight_x = gather.x.weight + (x & 1) * ((gather.x.size + 1) / 2) + x / 2;
  const float2 *const weight_y = gather.y.weight + (size_t)y * gather.y.count;
  const float *const from =
      gather.image + (size_t)gather.y.first[y] * gather.width + gather.x.first[x];
  float center[PLANES], total[PLANES] = {0};

#pragma unroll
  for (int c = 0; c < PLANES; c++)
    center[c] = gather.gauss[c * gather.level_size + index];

  int row = 0;
  for (; row + ROWS <= rows; row += ROWS)
    gather_rows<PLANES, ROWS, FINEST>(gather, from + (size_t)row * gather.width, weight_x, columns,
                                      weight_y + row, center, total);
  for (; row < rows; row++)
    gather_rows<PLANES, 1, FINEST>(gather, from + (size_t)row * gather.width, weight_x, columns,
                                   weight_y + row, center, total);
#pragma unroll
  for (int c = 0; c < PLANES; c++)
    gather.coefficient[c * gather.level_size + index] = total[c];
}

/* A warp gathers part of the rows of one coefficient, its lanes side by side. */
template <int PLANES> __global__ void __launch_bounds__(32 * FAR_WARPS) far_kernel(Gather gather)
{
  const int lane = threadIdx.x % 32;
  const size_t item = (size_t)blockIdx.x * FAR_WARPS + threadIdx.x / 32;
  const size_t index = item / gather.parts;
  const int part = (int)(item % gather.parts);

  await_previous();
  if (index >= gather.level_size)
    return;

  const int x = (int)(index % gather.x.size), y = (int)(index / gather.x.size);
  const int begin = (int)((long long)gather.y.count * part / gather.parts);
  const int end = (int)((long long)gather.y.count * (part + 1) / gather.parts);
  const float2 *const weight_x = gather.x.weight + (size_t)x * gather.x.count;
  const float2 *const weight_y = gather.y.weight + (size_t)y * gather.y.count;
  const float *const from =
      gather.image + (size_t)gather.y.first[y] * gather.width + gather.x.first[x];
  float center[PLANES], total[PLANES] = {0};

#pragma unroll
  for (int c = 0; c < PLANES; c++)
    center[c] = gather.gauss[c * gather.level_size + index];

  for (int k = lane; k < gather.x.count; k += 32) {
    float reduced_column[PLANES] = {0}, expanded_column[PLANES] = {0};

#pragma unroll 4
    for (int row = begin; row < end; row++) {
      const float2 w = weight_y[row];
      float d[PLANES];

#pragma unroll
      for (int c = 0; c < PLANES; c++)
        d[c] = from[c * gather.image_size + (size_t)row * gather.width + k] - center[c];
      remap_vector<PLANES>(gather.curve, d);
#pragma unroll
      for (int c = 0; c < PLANES; c++) {
        reduced_column[c] = fmaf(w.x, d[c], reduced_column[c]);
        expanded_column[c] = fmaf(w.y, d[c], expanded_column[c]);
      }
    }
#pragma unroll
    for (int c = 0; c < PLANES; c++)
      total[c] += weight_x[k].x * reduced_column[c] - weight_x[k].y * expanded_column[c];
  }

#pragma unroll
  for (int c = 0; c < PLANES; c++) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2)
      total[c] += __shfl_xor_sync(0xffffffffu, total[c], distance);
    if (lane == 0)
      gather.coefficient[c * gather.level_size * gather.parts + item] = total[c];
  }
}

template <typename Sample, Colour colour>
__global__ void __launch_bounds__(256) intensity_kernel(Pixels pixels, float *image)
{
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;

  await_previous();
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

  await_previous();
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

  await_previous();
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

template <int PLANES>
bool gather_level(Queue *queue, const Gather &gather, int level, const char *name)
{
  if (level < FAR_LEVEL) {
    const bool split = level < SPLIT_LEVELS;
    const int columns = split ? (gather.x.size + 1) / 2 : gather.x.size;
    const dim3 grid = pixel_grid(columns, gather.y.size, split ? 2 : 1);

    return level == 0 ? launch(queue, name, near_kernel<PLANES, true>, grid, dim3(NEAR_X, NEAR_Y),
                               0, gather, split)
                      : launch(queue, name, near_kernel<PLANES, false>, grid, dim3(NEAR_X, NEAR_Y),
                               0, gather, split);
  }

  const size_t warps = gather.level_size * gather.parts;
  return launch(queue, name, far_kernel<PLANES>,
                dim3((unsigned)((warps + FAR_WARPS - 1) / FAR_WARPS)), dim3(32 * FAR_WARPS), 0,
                gather);
}

} // namespace

bool exact_open(int width, int height, ExactTables *tables, CfStatus *status)
{
  const CfLlfPyramid shape = cf_llf_pyramid(width, height, 0);
  CfLlfAxis *const axes = (CfLlfAxis *)calloc(2, sizeof *axes);

  *tables = ExactTables{};
  if (!axes)
    return cf_fail(status, CF_ERROR_NO_MEMORY, "out of host memory");
  const bool built = cf_llf_axis_open(&axes[0], shape.width, shape.images) &&
                     cf_llf_axis_open(&axes[1], shape.height, shape.images);
  const bool ready = built ? upload_tables(axes[0], axes[1], shape.images, tables, status)
                           : cf_fail(status, CF_ERROR_NO_MEMORY, "out of host memory");
  cf_llf_axis_free(&axes[0]);
  cf_llf_axis_free(&axes[1]);
  free(axes);
  return ready;
}

void exact_close(ExactTables *tables)
{
  cf_device_free(tables->memory);
  tables->memory = nullptr;
}

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

} // namespace llf
