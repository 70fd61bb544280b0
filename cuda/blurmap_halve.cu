/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Halves frames and their halved images, by the taps 1 3 3 1 over 8 along one axis or both.
 */
#include "blurmap_cells.cuh"

namespace
{

constexpr int kLanes = 30; /* of a warp that make cells of a frame: the outer ones only load */

__device__ inline const CfCellHalving &halving_of_block(const CfCellJob &job, int *block)
{
  int i = 0;

  while (i + 1 < job.halvings && (int)blockIdx.x >= job.halving[i + 1].first_block)
    i++;
  *block = (int)blockIdx.x - job.halving[i].first_block;
  return job.halving[i];
}

/* ---- frames ---- */

/* Pixels that a lane reads at a time, in four words; of three channels in three. */
template <int C> constexpr int kPixels = C == 3 ? 4 : 16 / C;
template <int C> constexpr int kWords = C == 3 ? 3 : 4;

template <int C> __device__ inline uint32_t pixel_of(const uint32_t (&words)[kWords<C>], int i)
{
  if (C == 4)
    return words[i];
  const int byte = i * C, shift = byte % 4 * 8;
  const uint32_t low = words[byte / 4], high = words[min(byte / 4 + 1, kWords<C> - 1)];
  return __funnelshift_r(low, high, (unsigned)shift);
}

template <int C>
__device__ inline void load_pixels(const CfMapJob &job, const CfMapPlane &plane, int x, int y,
                                   uint32_t (&words)[kWords<C>])
{
  const int row = cf_fold(job.border, y, plane.height);

  if (plane.vector && row >= 0 && x >= 0 && x + kPixels<C> <= plane.width) {
    const uint8_t *from = plane.source + (ptrdiff_t)row * plane.source_stride + (ptrdiff_t)x * C;
    if (C == 3) {
#pragma unroll
      for (int i = 0; i < kWords<C>; i++)
        words[i] = __ldg((const uint32_t *)from + i);
    } else {
      const uint4 four = __ldg((const uint4 *)from);
      words[0] = four.x;
      words[1] = four.y;
      words[2] = four.z;
      words[kWords<C> - 1] = four.w;
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < kWords<C>; i++)
    words[i] = 0;
#pragma unroll
  for (int i = 0; i < kPixels<C>; i++) {
    const uint32_t pixel = cf_cell_pixel<C>(job, plane, x + i, y);
#pragma unroll
    for (int c = 0; c < C; c++)
      words[(i * C + c) / 4] |= (pixel >> 8 * c & 255) << (i * C + c) % 4 * 8;
  }
}

/* One row's cells of a lane; not yet divided. */
template <int C, bool Halves>
__device__ inline void add_across(const CfMapJob &job, const CfMapPlane &plane, int x, int y,
                                  float (&cell)[kPixels<C> / (Halves ? 2 : 1)][C])
{
  constexpr int P = kPixels<C>;
  uint32_t words[kWords<C>];
  float value[P + 2][C];

  load_pixels<C>(job, plane, x, y, words);
#pragma unroll
  for (int i = 0; i < P; i++)
    cf_cell_values<C>(plane, pixel_of<C>(words, i), value[1 + i]);
  if (!Halves) {
#pragma unroll
    for (int i = 0; i < P; i++) {
#pragma unroll
      for (int c = 0; c < C; c++)
        cell[Halves ? 0 : i][c] = value[1 + i][c];
    }
    return;
  }
  const uint32_t before = __shfl_up_sync(0xffffffffu, pixel_of<C>(words, P - 1), 1);
  const uint32_t after = __shfl_down_sync(0xffffffffu, pixel_of<C>(words, 0), 1);
  cf_cell_values<C>(plane, before, value[0]);
  cf_cell_values<C>(plane, after, value[P + 1]);
#pragma unroll
  for (int i = 0; i < P / 2; i++) {
#pragma unroll
    for (int c = 0; c < C; c++)
      cell[i][c] = fmaf(3.0f, value[2 * i + 1][c] + value[2 * i + 2][c],
                        value[2 * i][c] + value[2 * i + 3][c]);
  }
}

template <int C, int Cells>
__device__ inline void store_cells(const CfCellImage &image, int16_t *cells, int column, int row,
                                   float scale, const float (&cell)[Cells][C])
{
#pragma unroll
  for (int c = 0; c < C; c++) {
    uint32_t *to = (uint32_t *)(cells + image.at + c * image.channel +
                                (size_t)row * (size_t)image.pitch + (size_t)column);
#pragma unroll
    for (int i = 0; i < Cells / 2; i++)
      to[i] = cf_cell_pack(scale * cell[2 * i][c], scale * cell[2 * i + 1][c]);
  }
}

/* A warp's cells: kLanes lanes side by side, kHalvedRows rows. */
template <int C, bool Across, bool Down>
__device__ inline void halve_strip(const CfCellJob &job, const CfMapPlane &plane,
                                   const CfCellImage &to, int strip, int first)
{
  constexpr int kCells = kPixels<C> / (Across ? 2 : 1);
  constexpr float kScale = (Across ? 0.125f : 1.0f) * (Down ? 0.125f : 1.0f) / kCellUnit;
  const int lane = (int)threadIdx.x % 32, group = strip * kLanes + lane - 1;
  const int x = (to.first_x << (Across ? 1 : 0)) + group * kPixels<C>, column = group * kCells;
  const bool stores = lane > 0 && lane <= kLanes && column < to.pitch;
  const int end = min(first + kHalvedRows, to.height);
  float row[4][kCells][C];

  if (Down) {
    add_across<C, Across>(job.map, plane, x, 2 * (to.first_y + first) - 1, row[0]);
    add_across<C, Across>(job.map, plane, x, 2 * (to.first_y + first), row[1]);
  }
  for (int y = first; y < end; y++) {
    float cell[kCells][C];

    if (!Down) {
      add_across<C, Across>(job.map, plane, x, to.first_y + y, cell);
    } else {
      add_across<C, Across>(job.map, plane, x, 2 * (to.first_y + y) + 1, row[2]);
      add_across<C, Across>(job.map, plane, x, 2 * (to.first_y + y) + 2, row[3]);
#pragma unroll
      for (int i = 0; i < kCells; i++) {
#pragma unroll
        for (int c = 0; c < C; c++) {
          cell[i][c] = fmaf(3.0f, row[1][i][c] + row[2][i][c], row[0][i][c] + row[3][i][c]);
          row[0][i][c] = row[2][i][c];
          row[1][i][c] = row[3][i][c];
        }
      }
    }
    if (stores)
      store_cells<C, kCells>(to, job.cells, column, y, kScale, cell);
  }
}

template <int C>
__device__ inline void halve_plane(const CfCellJob &job, const CfCellHalving &halving, int block)
{
  const CfMapPlane &plane = job.map.plane[halving.plane];
  const CfCellImage &to = halving.to;
  const int strip = block % halving.across * (kCellThreads / 32) + (int)threadIdx.x / 32;
  const int first = block / halving.across * kHalvedRows;

  if (to.log_x && to.log_y)
    halve_strip<C, true, true>(job, plane, to, strip, first);
  else if (to.log_x)
    halve_strip<C, true, false>(job, plane, to, strip, first);
  else
    halve_strip<C, false, true>(job, plane, to, strip, first);
}

/* Planes have `A` or `B` channels. */
template <int A, int B>
__global__ void __launch_bounds__(kCellThreads)
    halve_frame_kernel(const __grid_constant__ CfCellJob job)
{
  int block;
  const CfCellHalving &halving = halving_of_block(job, &block);

  if (A == B || job.map.plane[halving.plane].channels == A)
    halve_plane<A>(job, halving, block);
  else
    halve_plane<B>(job, halving, block);
}

/* ---- images ---- */

constexpr int kImageColumns = 64; /* cells of a block, two of each thread in a row */

__device__ inline float cell_at(const CfCellImage &image, const int16_t *cells, int x, int y)
{
  const int column = min(max(x - image.first_x, 0), image.width - 1);
  const int row = min(max(y - image.first_y, 0), image.height - 1);

  return (float)cells[(size_t)row * (size_t)image.pitch + (size_t)column];
}

/* The taps 1 5 10 10 5 1 over 32, of as many values as there are before and after the cell. */
__device__ inline float add_six(float a, float b, float c, float d, float e, float f)
{
  return fmaf(10.0f / 32, c + d, fmaf(5.0f / 32, b + e, 1.0f / 32 * (a + f)));
}

/* Two cells side by side, the first in column `x`, even, of a row of the finer image. */
__device__ inline void add_image_across(const CfCellImage &image, const int16_t *cells, int x,
                                        int y, bool halves, float (&sum)[2])
{
  const int column = x - image.first_x, row = y - image.first_y;
  float value[8];

  if (!halves) {
    sum[0] = cell_at(image, cells, x, y);
    sum[1] = cell_at(image, cells, x + 1, y);
    return;
  }
  if (column >= 2 && column + 6 <= image.width && row >= 0 && row < image.height) {
    const uint32_t *from =
        (const uint32_t *)(cells + (size_t)row * (size_t)image.pitch + (size_t)(column - 2));

#pragma unroll
    for (int i = 0; i < 4; i++)
      cf_cell_unpack(__ldg(from + i), &value[2 * i], &value[2 * i + 1]);
  } else {
#pragma unroll
    for (int i = 0; i < 8; i++)
      value[i] = cell_at(image, cells, x - 2 + i, y);
  }
#pragma unroll
  for (int i = 0; i < 2; i++)
    sum[i] = add_six(value[2 * i], value[2 * i + 1], value[2 * i + 2], value[2 * i + 3],
                     value[2 * i + 4], value[2 * i + 5]);
}

__global__ void __launch_bounds__(kCellThreads)
    halve_image_kernel(const __grid_constant__ CfCellJob job)
{
  int block;
  const CfCellHalving &halving = halving_of_block(job, &block);
  const CfCellImage &from = halving.from, &to = halving.to;
  const int rows = (to.height + kHalvedRows - 1) / kHalvedRows;
  const int channel = block / (halving.across * rows), place = block % (halving.across * rows);
  const int column = place % halving.across * kImageColumns + (int)threadIdx.x % 32 * 2;
  const int first = place / halving.across * kHalvedRows;
  const bool across = to.log_x > from.log_x, down = to.log_y > from.log_y;
  const int16_t *source = job.cells + from.at + channel * from.channel;
  int16_t *target = job.cells + to.at + channel * to.channel;

  if (column >= to.pitch)
    return;
  for (int row = first + (int)threadIdx.x / 32; row < min(first + kHalvedRows, to.height);
       row += kCellThreads / 32) {
    const int x = (to.first_x + column) << (across ? 1 : 0), y = to.first_y + row;
    float sum[2], line[6][2];

    if (!down) {
      add_image_across(from, source, x, y, across, sum);
    } else {
#pragma unroll
      for (int i = 0; i < 6; i++)
        add_image_across(from, source, x, 2 * y - 2 + i, across, line[i]);
#pragma unroll
      for (int i = 0; i < 2; i++)
        sum[i] = add_six(line[0][i], line[1][i], line[2][i], line[3][i], line[4][i], line[5][i]);
    }
    *(uint32_t *)(target + (size_t)row * (size_t)to.pitch + (size_t)column) =
        cf_cell_pack(sum[0], sum[1]);
  }
}

} // namespace

int cf_cell_block_columns(int channels, bool from_frame, int log_x)
{
  const int pixels = channels == 3 ? 4 : 16 / channels;

  return from_frame ? kCellThreads / 32 * kLanes * pixels / (log_x ? 2 : 1) : kImageColumns;
}

bool cf_cell_halve(const CfCellJob *job, bool from_frame, int blocks, void *stream,
                   CfStatus *status)
{
  const int first = job->map.plane[0].channels;

  if (!from_frame)
    halve_image_kernel<<<blocks, kCellThreads, 0, (cudaStream_t)stream>>>(*job);
  else if (first == 4)
    halve_frame_kernel<4, 4><<<blocks, kCellThreads, 0, (cudaStream_t)stream>>>(*job);
  else if (first == 3)
    halve_frame_kernel<3, 3><<<blocks, kCellThreads, 0, (cudaStream_t)stream>>>(*job);
  else if (job->map.planes > 1 && job->map.plane[1].channels == 2)
    halve_frame_kernel<1, 2><<<blocks, kCellThreads, 0, (cudaStream_t)stream>>>(*job);
  else
    halve_frame_kernel<1, 1><<<blocks, kCellThreads, 0, (cudaStream_t)stream>>>(*job);
  return cf_cuda_launched("halving a picture", status);
}
