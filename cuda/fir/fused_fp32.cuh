/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Separable filter in single precision, for all formats and borders, and all taps whose rows fit
 * shared memory. One launch; each sample is read and written once.
 *
 * A CTA works down a strip in steps of 16 rows. It loads their samples as floats to shared memory,
 * filters them along the row into a ring buffer of rows, filters 16 rows of output from the ring
 * along columns, and stores them. A thread computes 8 neighbouring sums at a time, so that each
 * sample that it loads is used in 8 products; taps are in a sliding window of registers.
 */
#pragma once

#include "cuda/common/int_math.cuh"
#include "cuda/fir/pixel.cuh"

namespace cf::fir
{

constexpr int kFusedThreads = 256;
constexpr int kFusedWarps = kFusedThreads / 32;
constexpr int kFusedStepRows = 16;
constexpr int kFusedOutputs = 8; /* sums that a thread makes at a time, along either axis */
constexpr int kFusedMaxTaps = CF_MAX_TAPS + 1;
constexpr int kFusedTapSlots =
    kFusedMaxTaps + kFusedOutputs; /* a multiple of 8, zeros behind the last tap */

/* The strips of a plane. */
struct FusedStrip {
  int first_block;               /* the first strip's CTA in the grid */
  int across;                    /* strips side by side */
  int rows;                      /* of a strip, a multiple of kFusedStepRows */
  int row_groups, column_groups; /* groups of 8 taps that 8 neighbouring outputs read */
};

/* The kernels' parameter; row[set] and column[set] are the taps (PlaneWork.tap_set). */
struct FusedJob {
  PlaneWork plane[CF_MAX_PLANES];
  FusedStrip strip[CF_MAX_PLANES];
  int planes;
  float row[2][kFusedTapSlots], column[2][kFusedTapSlots];
};

/* Shared memory of one CTA, in floats. Row strides are 1 modulo 32, so that both access patterns
 * of a warp, 8 rows by 4 groups of 8 pixels and 32 neighbouring pixels, have no bank conflicts. */
template <int C> struct FusedLayout {
  static constexpr int kPixels = C >= 3 ? 32 : 128 / C; /* width of a strip */
  static constexpr int kRingStride = kPixels + 1;

  int input_pixels, input_stride, ring_rows;

  __host__ __device__ FusedLayout(const FusedStrip &strip)
  {
    input_pixels = kPixels - kFusedOutputs + strip.row_groups * kFusedOutputs;
    input_stride = (input_pixels + 30) / 32 * 32 + 1;
    ring_rows = lag(strip) * kFusedStepRows;
  }

  /* Steps of filtered rows that one step of output needs. */
  __host__ __device__ static int lag(const FusedStrip &strip)
  {
    return (strip.column_groups + 2) / 2;
  }

  __host__ __device__ int input_floats() const
  {
    return C * kFusedStepRows * input_stride;
  }

  __host__ __device__ int ring_floats() const
  {
    return C * ring_rows * kRingStride;
  }

  /* A multiple of 16 bytes. */
  __host__ __device__ int output_offset() const
  {
    return (input_floats() + ring_floats() + 3) / 4 * 4;
  }

  /* Input, ring, output of a step (sums if they are to be divided by alpha, else samples), and the
   * column map of load_pixels(). */
  __host__ __device__ size_t bytes() const
  {
    return sizeof(float) * ((size_t)output_offset() + kFusedStepRows * kPixels * C) +
           sizeof(int) * (size_t)input_pixels;
  }
};

/* ---- load: samples to floats, borders included ---- */

template <typename Sample> __device__ inline float load_code(const PlaneWork &work, Sample sample)
{
  return (float)(sample >> work.shift);
}

/* A pixel's values as they are summed: less the centre, premultiplied by alpha. */
template <int C, bool Weighted, typename Sample>
__device__ inline void premultiply_pixel(const PlaneWork &work, const Sample *pixel,
                                         float (&value)[C])
{
#pragma unroll
  for (int c = 0; c < C; c++)
    value[c] = load_code(work, pixel[c]);
  if constexpr (Weighted) {
    const float weight = alpha_weight(work.alpha == 0 ? value[0] : value[C - 1]);
#pragma unroll
    for (int c = 0; c < C; c++)
      value[c] = (value[c] - work.transform[c].centre) * (c == work.alpha ? 1.0f : weight);
  } else {
#pragma unroll
    for (int c = 0; c < C; c++)
      value[c] -= work.transform[c].centre;
  }
}

/* Loads 16 rows pixel by pixel, for any border and alignment. column_map[x] is the source column of
 * input pixel x, -1 for the constant border. */
template <int C, bool Weighted, typename Sample>
__device__ inline void load_pixels(const PlaneWork &work, const FusedLayout<C> &layout, int y0,
                                   const int *column_map, float *input)
{
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;

  for (int row = warp; row < kFusedStepRows; row += kFusedWarps) {
    const int y = source_row(work, y0 + row);
    const Sample *source =
        (const Sample *)(work.source + (ptrdiff_t)max(y, 0) * work.source_stride);

    for (int x = lane; x < layout.input_pixels; x += 32) {
      const int from = y < 0 ? -1 : column_map[x];
      float value[C];

      if (from < 0) {
#pragma unroll
        for (int c = 0; c < C; c++)
          value[c] = work.transform[c].border;
      } else {
        premultiply_pixel<C, Weighted>(work, source + (size_t)from * C, value);
      }
#pragma unroll
      for (int c = 0; c < C; c++)
        input[(c * kFusedStepRows + row) * layout.input_stride + x] = value[c];
    }
  }
}

template <int Count, typename Sample>
__device__ inline void unpack_samples(const uint4 &piece, Sample (&samples)[Count])
{
  constexpr int kPerWord = 4 / (int)sizeof(Sample);
  const uint32_t words[4] = {piece.x, piece.y, piece.z, piece.w};

#pragma unroll
  for (int i = 0; i < Count; i++)
    samples[i] = (Sample)(words[i / kPerWord] >> 8 * (int)sizeof(Sample) * (i % kPerWord));
}

/* Loads 16 rows that lie inside the picture's columns, in pieces of 16 bytes: a warp loads 8 rows
 * by 4 pieces at a time. */
template <int C, bool Weighted, typename Sample>
__device__ inline void load_pieces(const PlaneWork &work, const FusedLayout<C> &layout, int x0,
                                   int y0, float *input)
{
  constexpr int kPiecePixels = 16 / (int)sizeof(Sample) / C;
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int row = (warp & 1) * 8 + (lane & 7), y = source_row(work, y0 + row);
  const uint8_t *source = work.source + (ptrdiff_t)max(y, 0) * work.source_stride;
  const int first = x0 / kPiecePixels, end = (x0 + layout.input_pixels - 1) / kPiecePixels + 1;

  for (int piece = first + (warp >> 1) * 4 + (lane >> 3); piece < end;
       piece += kFusedWarps / 2 * 4) {
    Sample samples[kPiecePixels * C];

    if (y >= 0)
      unpack_samples(__ldg((const uint4 *)source + piece), samples);
#pragma unroll
    for (int i = 0; i < kPiecePixels; i++) {
      const int x = piece * kPiecePixels + i - x0;
      float value[C];

      if (y < 0) {
#pragma unroll
        for (int c = 0; c < C; c++)
          value[c] = work.transform[c].border;
      } else {
        premultiply_pixel<C, Weighted>(work, samples + i * C, value);
      }
      if (x >= 0 && x < layout.input_pixels) {
#pragma unroll
        for (int c = 0; c < C; c++)
          input[(c * kFusedStepRows + row) * layout.input_stride + x] = value[c];
      }
    }
  }
}

/* ---- filter: rows to the ring, columns from the ring ---- */

/* The part of a step that a warp filters at a time: one channel, 32 pixels, 8 rows. */
struct WarpTask {
  int channel, pixel, row;

  __device__ WarpTask(int index, int pixels)
  {
    const int across = pixels / 32;
    row = (index & 1) * 8;
    pixel = (index >> 1) % across * 32;
    channel = (index >> 1) / across;
  }
};

template <int C>
__device__ inline void filter_rows(const PlaneWork &work, const FusedLayout<C> &layout,
                                   const FusedStrip &strip, const float *taps, const float *input,
                                   int ring_row, float *ring)
{
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;

  for (int index = warp; index < C * 2 * FusedLayout<C>::kPixels / 32; index += kFusedWarps) {
    const WarpTask task(index, FusedLayout<C>::kPixels);
    const int row = task.row + (lane & 7), pixel = task.pixel + (lane >> 3) * kFusedOutputs;
    const float *samples =
        input + (task.channel * kFusedStepRows + row) * layout.input_stride + pixel;
    float sum[kFusedOutputs] = {}, before[kFusedOutputs], tap[kFusedOutputs] = {};

    if (work.transform[task.channel].action != kFilter)
      continue;
    for (int group = 0; group < strip.row_groups; group++) {
      float sample[kFusedOutputs];
#pragma unroll
      for (int i = 0; i < kFusedOutputs; i++)
        sample[i] = samples[group * kFusedOutputs + i];
      next_taps(before, tap, taps + group * kFusedOutputs);
      accumulate(sum, sample, before, tap);
    }

    float *out = ring + (task.channel * layout.ring_rows + ring_row + row) * layout.kRingStride;
#pragma unroll
    for (int o = 0; o < kFusedOutputs; o++)
      out[pixel + o] = sum[o];
  }
}

/* The sums of the 8 rows of `task` at this lane's pixel, from `ring_row` of the ring on. */
template <int C>
__device__ inline void filter_column(const FusedLayout<C> &layout, const FusedStrip &strip,
                                     const float *taps, const float *ring, const WarpTask &task,
                                     int ring_row, float (&sum)[kFusedOutputs])
{
  const int pixel = task.pixel + (threadIdx.x & 31);
  const float *column = ring + task.channel * layout.ring_rows * layout.kRingStride + pixel;
  float before[kFusedOutputs], tap[kFusedOutputs] = {};
  int row = ring_row + task.row;

  for (int group = 0; group < strip.column_groups; group++) {
    float sample[kFusedOutputs];
#pragma unroll
    for (int i = 0; i < kFusedOutputs; i++)
      sample[i] = column[(row + i) * layout.kRingStride];
    next_taps(before, tap, taps + group * kFusedOutputs);
    accumulate(sum, sample, before, tap);
    row += kFusedOutputs;
    row = row == layout.ring_rows ? 0 : row;
  }
}

/* ---- store: sums to samples, and samples to memory ---- */

/* The source's sample, without bits that are not part of the code. */
template <int C, typename Sample>
__device__ inline uint32_t source_sample(const PlaneWork &work, int x, int y, int channel)
{
  const Sample *row = (const Sample *)(work.source + (ptrdiff_t)y * work.source_stride);

  return row[(size_t)x * C + channel] >> work.shift << work.shift;
}

/* Without alpha: the sums become samples, which are interleaved in shared memory. */
template <int C, typename Sample>
__device__ inline void
filter_columns_to_samples(const PlaneWork &work, const FusedLayout<C> &layout,
                          const FusedStrip &strip, const float *taps, const float *ring,
                          int ring_row, int x0, int y0, Sample *output)
{
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;

  for (int index = warp; index < C * 2 * FusedLayout<C>::kPixels / 32; index += kFusedWarps) {
    const WarpTask task(index, FusedLayout<C>::kPixels);
    const ChannelTransform &transform = work.transform[task.channel];
    const int pixel = task.pixel + lane;
    float sum[kFusedOutputs] = {};

    if (transform.action == kFilter)
      filter_column<C>(layout, strip, taps, ring, task, ring_row, sum);
#pragma unroll
    for (int o = 0; o < kFusedOutputs; o++) {
      const int row = task.row + o;
      const bool inside = x0 + pixel < work.width && y0 + row < work.end;
      uint32_t sample = 0;

      if (work.unsharp && inside)
        sum[o] = add_difference(work,
                                load_code(work, (Sample)source_sample<C, Sample>(
                                                    work, x0 + pixel, y0 + row, task.channel)) -
                                    transform.centre,
                                sum[o]);
      if (transform.action == kFilter)
        sample = to_sample(work, apply_transform(transform, sum[o]));
      else if (transform.action == kCopy && inside)
        sample = source_sample<C, Sample>(work, x0 + pixel, y0 + row, task.channel);
      output[(row * FusedLayout<C>::kPixels + pixel) * C + task.channel] = (Sample)sample;
    }
  }
}

template <int C, typename Sample>
__device__ inline void store_samples(const PlaneWork &work, int x0, int y0, int y1,
                                     const Sample *output)
{
  constexpr int kRowBytes = FusedLayout<C>::kPixels * C * (int)sizeof(Sample);
  constexpr int kPieces = kRowBytes / 16;
  const int first = x0 * C * (int)sizeof(Sample);
  const int valid = min(kRowBytes, work.width * C * (int)sizeof(Sample) - first);

  for (int index = threadIdx.x; index < kFusedStepRows * kPieces; index += kFusedThreads) {
    const int row = index / kPieces, at = index % kPieces * 16;
    const uint8_t *from = (const uint8_t *)output + row * kRowBytes + at;
    uint8_t *to = work.destination + (ptrdiff_t)(y0 + row) * work.destination_stride + first + at;

    if (y0 + row >= y1)
      continue;
    if (work.vector_aligned && at + 16 <= valid) {
      *(uint4 *)to = *(const uint4 *)from;
    } else {
      for (int i = 0; i < min(16, valid - at); i += (int)sizeof(Sample))
        *(Sample *)(to + i) = *(const Sample *)(from + i);
    }
  }
}

/* With alpha: the sums go to shared memory, [channel][row][pixel], for store_unpremultiplied(). */
template <int C>
__device__ inline void filter_columns_to_sums(const PlaneWork &work, const FusedLayout<C> &layout,
                                              const FusedStrip &strip, const float *taps,
                                              const float *ring, int ring_row, float *output)
{
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;

  for (int index = warp; index < C * 2 * FusedLayout<C>::kPixels / 32; index += kFusedWarps) {
    const WarpTask task(index, FusedLayout<C>::kPixels);
    float sum[kFusedOutputs] = {};

    if (work.transform[task.channel].action != kFilter)
      continue;
    filter_column<C>(layout, strip, taps, ring, task, ring_row, sum);
#pragma unroll
    for (int o = 0; o < kFusedOutputs; o++)
      output[(task.channel * kFusedStepRows + task.row + o) * FusedLayout<C>::kPixels + task.pixel +
             lane] = sum[o];
  }
}

/* add_difference() for the sums of a pixel. */
template <int C, typename Sample>
__device__ inline void unsharp_pixel(const PlaneWork &work, int x, int y, float (&sum)[C])
{
  Sample pixel[C];
  float value[C];

#pragma unroll
  for (int c = 0; c < C; c++)
    pixel[c] = (Sample)source_sample<C, Sample>(work, x, y, c);
  premultiply_pixel<C, true>(work, pixel, value);
#pragma unroll
  for (int c = 0; c < C; c++)
    sum[c] = add_difference(work, value[c], sum[c]);
}

template <int C, typename Sample>
__device__ inline void store_unpremultiplied(const PlaneWork &work, int x0, int y0, int y1,
                                             const float *output)
{
  constexpr int kPixels = FusedLayout<C>::kPixels;

  for (int index = threadIdx.x; index < kFusedStepRows * kPixels; index += kFusedThreads) {
    const int row = index / kPixels, x = x0 + index % kPixels, y = y0 + row;
    float sum[C], alpha = 0.0f;

    if (y >= y1 || x >= work.width)
      continue;
#pragma unroll
    for (int c = 0; c < C; c++)
      sum[c] = output[c * kFusedStepRows * kPixels + index];
    if (work.unsharp)
      unsharp_pixel<C, Sample>(work, x, y, sum);
#pragma unroll
    for (int c = 0; c < C; c++) {
      if (c == work.alpha)
        alpha = work.transform[c].action == kFilter
                    ? apply_transform(work.transform[c], sum[c])
                    : (float)(source_sample<C, Sample>(work, x, y, c) >> work.shift);
    }

    Sample sample[C];
#pragma unroll
    for (int c = 0; c < C; c++) {
      const ChannelTransform &transform = work.transform[c];
      float value;

      if (transform.action != kFilter)
        value = (float)(source_sample<C, Sample>(work, x, y, c) >> work.shift);
      else if (c == work.alpha)
        value = alpha;
      else
        value = unpremultiply(transform, sum[c], alpha);
      sample[c] = (Sample)to_sample(work, value);
    }

    Sample *to =
        (Sample *)(work.destination + (ptrdiff_t)y * work.destination_stride) + (size_t)x * C;
    if (work.vector_aligned) {
      static_assert(C * sizeof(Sample) == 4, "a weighted pixel is one word");
      *(uint32_t *)to = sample[0] | sample[1] << 8 | sample[2] << 16 | (uint32_t)sample[3] << 24;
    } else {
#pragma unroll
      for (int c = 0; c < C; c++)
        to[c] = sample[c];
    }
  }
}

} // namespace cf::fir
