/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The low taps along columns, and the way up the blur pyramid.
 */
#include "pyramid.cuh"
#include "tensor_ops.cuh"

namespace
{

/* ---- low taps along columns ---- */

constexpr int kLowColumns = kPyramidLowColumns;
constexpr int kSlices = kPyramidThreads / kLowColumns;

/* What a block makes: quads of rows of 32 coarse columns of one channel. */
struct Part {
  int channel, column, first, end; /* coarse; rows */

  __device__ Part(const CfPyramidPlane &plane, int block)
  {
    const int width = plane.x.coarse_end - plane.x.coarse_first;
    const int across = (width + kLowColumns - 1) / kLowColumns;
    const int rows = 4 * plane.low_at_once;
    const int groups = (plane.coarse_end - plane.coarse_first + rows - 1) / rows;
    const int group = block / across;

    column = block % across * kLowColumns;
    channel = group / groups;
    first = plane.coarse_first + (group - channel * groups) * rows;
    end = min(first + rows, plane.coarse_end);
  }
};

/* Each warp adds up a part of the taps, since with few outputs what takes time is one load after
 * the other. */
__device__ inline void filter_quad(const CfPyramidPlane &plane, const Part &part, int row,
                                   const float *taps, float (*parts)[4][kLowColumns])
{
  const CfPyramidLine &line = plane.y;
  const int width = plane.x.coarse_end - plane.x.coarse_first;
  const int fine_rows = plane.fine_end - plane.fine_first;
  const int lane = (int)threadIdx.x % kLowColumns, slice = (int)threadIdx.x / kLowColumns;
  const int x = part.column + lane;
  const float *from =
      plane.rows + (size_t)part.channel * fine_rows * plane.rows_pitch + min(x, width - 1);
  const int top = row + line.low_first - plane.fine_first, last = fine_rows - 1;
  float sum[4] = {};

#pragma unroll 4
  for (int group = slice; group < line.low_groups; group += kSlices) {
    float sample[4];
#pragma unroll
    for (int i = 0; i < 4; i++)
      sample[i] = from[(size_t)min(max(top + 4 * group + i, 0), last) * plane.rows_pitch];
    cf_pyramid_accumulate(sum, sample, *(const float4 *)(taps + 4 * group),
                          *(const float4 *)(taps + 4 * group + 4));
  }
#pragma unroll
  for (int o = 0; o < 4; o++)
    parts[slice][o][lane] = sum[o];
  __syncthreads();

  /* Now a warp is a row. */
  float total = parts[0][slice][lane];
#pragma unroll
  for (int i = 1; i < kSlices; i++)
    total += parts[i][slice][lane];
  if (x < width && row + slice < part.end)
    plane.coarse[((size_t)(row + slice - plane.coarse_first) * width + x) * plane.channels +
                 part.channel] = total;
}

__device__ inline void filter_low(const CfPyramidPlane &plane, int block, float *taps,
                                  float (*parts)[4][kLowColumns])
{
  const Part part(plane, block);
  const int x = plane.x.coarse_first + part.column;

  if (!cf_pyramid_is_needed(
          plane, cf_first_reader(plane.x, x), cf_first_reader(plane.y, part.first),
          cf_end_of_readers(plane.x, x + kLowColumns), cf_end_of_readers(plane.y, part.end)))
    return;
  cf_share_low_taps(plane.y, taps);
  for (int row = part.first; row < part.end; row += 4) {
    filter_quad(plane, part, row, taps, parts);
    __syncthreads();
  }
}

__global__ void __launch_bounds__(kPyramidThreads)
    low_kernel(const __grid_constant__ CfPyramidJob job)
{
  __shared__ __align__(16) float taps[4 + kPyramidLowTaps];
  __shared__ float parts[kSlices][4][kLowColumns];
  int block;
  const CfPyramidPlane &plane = cf_pyramid_plane(job, &CfPyramidPlane::low_blocks, &block);

  cf_let_next_kernel_start();
  cf_wait_for_previous_kernel();
  filter_low(plane, block, taps, parts);
}

/* ---- up ---- */

/* The result at four neighbouring samples of a coarse row: a pixel of four channels, or samples of
 * which each has weights of its own. */
template <bool Pixel> struct Across {
  const CfPyramidPlane &plane;
  const int width; /* coarse */
  int offset[Pixel ? 1 : 4];
  float weight[Pixel ? 1 : 4][4];

  __device__ Across(const CfPyramidPlane &plane, int word)
      : plane(plane), width(plane.x.coarse_end - plane.x.coarse_first)
  {
    const CfPyramidLine &line = plane.x;

#pragma unroll
    for (int j = 0; j < (Pixel ? 1 : 4); j++) {
      const int sample = min(4 * word + j, plane.samples - 1);
      const int x = Pixel ? word : sample / plane.channels;
      const int channel = Pixel ? 0 : sample - x * plane.channels;
      const int cell = x / line.factor, phase = x - cell * line.factor;

      offset[j] =
          (cell + cf_spline_first(line.factor, phase) - line.coarse_first) * plane.channels +
          channel;
      weigh(line.factor, phase, weight[j]);
    }
  }

  /* The cubic B-spline, as in plan/pyramid.c. */
  __device__ static void weigh(int factor, int phase, float (&to)[4])
  {
    const float position = (phase - 0.5f * (float)(factor - 1)) / (float)factor;
    const float f = position - floorf(position), g = 1.0f - f;

    to[0] = factor == 1 ? 1.0f : g * g * g * (1.0f / 6);
    to[1] = factor == 1 ? 0.0f : (4.0f - 6.0f * f * f + 3.0f * f * f * f) * (1.0f / 6);
    to[2] = factor == 1 ? 0.0f : (4.0f - 6.0f * g * g + 3.0f * g * g * g) * (1.0f / 6);
    to[3] = factor == 1 ? 0.0f : f * f * f * (1.0f / 6);
  }

  /* What a row needs, and what it is: apart, so that loads can be under way during other work. */
  __device__ void fetch(int y, float (&near)[4][4]) const
  {
    const int inside = min(max(y, plane.coarse_first), plane.coarse_end - 1) - plane.coarse_first;
    const float *from = plane.coarse + (size_t)inside * width * plane.channels;
    /* Without decimation there is one tap, and nothing to read for the others. */
    const int step = plane.x.factor == 1 ? 0 : plane.channels;

#pragma unroll
    for (int k = 0; k < 4; k++) {
      if constexpr (Pixel) {
        const float4 four = *(const float4 *)(from + offset[0] + k * step);
        near[k][0] = four.x;
        near[k][1] = four.y;
        near[k][2] = four.z;
        near[k][3] = four.w;
      } else {
#pragma unroll
        for (int j = 0; j < 4; j++)
          near[k][j] = from[offset[j] + k * step];
      }
    }
  }

  __device__ void combine(const float (&near)[4][4], float (&value)[4]) const
  {
#pragma unroll
    for (int j = 0; j < 4; j++) {
      value[j] = 0.0f;
#pragma unroll
      for (int k = 0; k < 4; k++)
        value[j] = fmaf(weight[Pixel ? 0 : j][k], near[k][j], value[j]);
    }
  }
};

/* Halves go up; 12582912 is 1.5 * 2^23, whose unit in the last place is 1. */
__device__ inline uint32_t to_byte(float value)
{
  const float tie = (kPyramidHalf - 0.5f) / 255;
  const float fraction = __saturatef(fmaf(value, 1.0f / 255, tie));

  return __float_as_uint(fmaf(fraction, 255.0f, 12582912.0f));
}

__device__ inline void store_samples(const CfPyramidPlane &plane, uint8_t *row, int word,
                                     const float (&value)[4])
{
  const uint32_t low = __byte_perm(to_byte(value[0]), to_byte(value[1]), 0x0040);
  const uint32_t high = __byte_perm(to_byte(value[2]), to_byte(value[3]), 0x0040);
  const uint32_t bytes = __byte_perm(low, high, 0x5410);

  if (plane.vector && 4 * word + 4 <= plane.samples) {
    *(uint32_t *)(row + 4 * (size_t)word) = bytes;
  } else {
#pragma unroll
    for (int j = 0; j < 4; j++) {
      if (4 * word + j < plane.samples)
        row[4 * (size_t)word + j] = (uint8_t)(bytes >> 8 * j);
    }
  }
}

__device__ inline void store_samples(const CfPyramidPlane &plane, uint16_t *row, int word,
                                     const float (&value)[4])
{
  uint32_t code[4];

#pragma unroll
  for (int j = 0; j < 4; j++)
    code[j] = (uint32_t)fminf(fmaxf(value[j] + kPyramidHalf, 0.0f), (float)plane.max_code)
              << plane.shift;
  if (plane.vector && 4 * word + 4 <= plane.samples) {
    *(uint2 *)(row + 4 * (size_t)word) =
        make_uint2(code[0] | code[1] << 16, code[2] | code[3] << 16);
  } else {
#pragma unroll
    for (int j = 0; j < 4; j++) {
      if (4 * word + j < plane.samples)
        row[4 * (size_t)word + j] = (uint16_t)code[j];
    }
  }
}

/* From sums weighted by alpha to centred samples. */
__device__ inline void unweigh(const CfPyramidPlane &plane, float (&value)[4])
{
  const float alpha = (plane.alpha == 0 ? value[0] : value[3]) + 255.0f;
  const bool colours = alpha >= 0.5f;
  const float divide = __fdividef(1.0f, cf_weight(alpha));

#pragma unroll
  for (int j = 0; j < 4; j++) {
    if (j == 0 ? plane.alpha != 0 : j == 3 ? plane.alpha == 0 : true)
      value[j] = colours ? value[j] * divide : plane.blank[j] - plane.centre[j];
  }
}

/* Alpha is centred on opaque. */
__device__ inline bool is_opaque(const CfPyramidPlane &plane, const float (&near)[5][4])
{
  bool opaque = true;

#pragma unroll
  for (int k = 0; k < 5; k++)
    opaque = opaque && (plane.alpha == 0 ? near[k][0] : near[k][3]) == 0.0f;
  return opaque;
}

/* One of D rows below each other, from the coarse rows cell - 2 to cell + 2. */
template <int D>
__device__ inline void interpolate(const CfPyramidJob &job, const float (&near)[5][4], int p,
                                   float (&value)[4])
{
  const float *weight = &job.spline[cf_log2(D)][4 * p];
  const int k = 2 * p < D ? 0 : 1;

#pragma unroll
  for (int j = 0; j < 4; j++) {
    value[j] = D > 1 ? weight[0] * near[k][j] : near[4][j];
    if (D > 1) {
      value[j] = fmaf(weight[1], near[k + 1][j], value[j]);
      value[j] = fmaf(weight[2], near[k + 2][j], value[j]);
      value[j] = fmaf(weight[3], near[k + 3][j], value[j]);
    }
  }
}

template <typename Sample, bool Alpha, int D>
__device__ inline void make_cell(const CfPyramidJob &job, const CfPyramidPlane &plane,
                                 const float (&near)[5][4], int word, int y, int first, int end)
{
  uint8_t *to = plane.destination + (ptrdiff_t)y * plane.destination_stride;

#pragma unroll
  for (int p = 0; p < D; p++, to += plane.destination_stride) {
    float value[4];

    interpolate<D>(job, near, p, value);
    if (Alpha)
      unweigh(plane, value);
#pragma unroll
    for (int j = 0; j < 4; j++)
      value[j] += plane.centre[j];
    if (y + p >= first && y + p < end)
      store_samples(plane, (Sample *)to, word, value);
  }
}

template <typename Sample, bool Pixel, bool Alpha, int D>
__device__ inline void go_up(const CfPyramidJob &job, const CfPyramidPlane &plane, int block)
{
  constexpr int kAhead = D > 1 ? 2 : 0; /* coarse rows after a cell that it needs */
  const int words = (plane.samples + 3) / 4;
  const int across = (words + kPyramidThreads - 1) / kPyramidThreads;
  const int word = block % across * kPyramidThreads + (int)threadIdx.x;
  const int strip = plane.first / kPyramidUpRows + block / across;
  const int first = max(strip * kPyramidUpRows, plane.first);
  const int end = min((strip + 1) * kPyramidUpRows, plane.end);

  if (word >= words)
    return;
  const Across<Pixel> across_row(plane, word);
  float near[5][4], ahead[4][4];

  if constexpr (D > 1) {
#pragma unroll
    for (int k = 0; k < 4; k++) {
      across_row.fetch(first / D - 2 + k, ahead);
      across_row.combine(ahead, near[k + 1]);
    }
  }
  across_row.fetch(first / D + kAhead, ahead);
  for (int cell = first / D; cell * D < end; cell++) {
#pragma unroll
    for (int k = 0; k < 4; k++) {
#pragma unroll
      for (int j = 0; j < 4; j++)
        near[k][j] = near[k + 1][j];
    }
    across_row.combine(ahead, near[4]);
    across_row.fetch(cell + 1 + kAhead, ahead);
    if (Alpha && !(D > 1 && is_opaque(plane, near)))
      make_cell<Sample, Alpha, D>(job, plane, near, word, cell * D, first, end);
    else
      make_cell<Sample, false, D>(job, plane, near, word, cell * D, first, end);
  }
}

template <typename Sample, bool Pixel, bool Alpha>
__global__ void __launch_bounds__(kPyramidThreads)
    up_kernel(const __grid_constant__ CfPyramidJob job)
{
  int block;
  const CfPyramidPlane &plane = cf_pyramid_plane(job, &CfPyramidPlane::up_blocks, &block);

  cf_wait_for_previous_kernel();
  switch (plane.y.factor) {
  case 1:
    return go_up<Sample, Pixel, Alpha, 1>(job, plane, block);
  case 2:
    return go_up<Sample, Pixel, Alpha, 2>(job, plane, block);
  case 4:
    return go_up<Sample, Pixel, Alpha, 4>(job, plane, block);
  default:
    return go_up<Sample, Pixel, Alpha, 8>(job, plane, block);
  }
}

} // namespace

bool cf_pyramid_low(const CfPyramidJob *job, int blocks, void *stream, CfStatus *status)
{
  return cf_launch_after(low_kernel, blocks, 0, stream, "filtering the blur pyramid", status, *job);
}

bool cf_pyramid_up(const CfPyramidJob *job, bool wide, int blocks, void *stream, CfStatus *status)
{
  void (*kernel)(CfPyramidJob) = up_kernel<uint8_t, false, false>;

  if (wide)
    kernel = up_kernel<uint16_t, false, false>;
  else if (job->plane[0].alpha >= 0)
    kernel = up_kernel<uint8_t, true, true>;
  else if (job->plane[0].channels == 4)
    kernel = up_kernel<uint8_t, true, false>;
  return cf_launch_after(kernel, blocks, 0, stream, "enlarging the blur pyramid", status, *job);
}
