/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The way of the source into the plain filter: samples to floats, borders included.
 */
#pragma once

#include "cuda/fir/fused_fp32.cuh"

template <typename Sample>
__device__ inline float cf_plain_load_code(const CfFirWork &work, Sample sample)
{
  return (float)(sample >> work.shift);
}

/* A pixel's values as the sums run over them: around the centre, weighted by alpha. */
template <int C, bool Weighted, typename Sample>
__device__ inline void cf_plain_weigh_pixel(const CfFirWork &work, const Sample *pixel,
                                            float (&value)[C])
{
#pragma unroll
  for (int c = 0; c < C; c++)
    value[c] = cf_plain_load_code(work, pixel[c]);
  if constexpr (Weighted) {
    const float weight = cf_weight(work.alpha == 0 ? value[0] : value[C - 1]);
#pragma unroll
    for (int c = 0; c < C; c++)
      value[c] = (value[c] - work.tone[c].centre) * (c == work.alpha ? 1.0f : weight);
  } else {
#pragma unroll
    for (int c = 0; c < C; c++)
      value[c] -= work.tone[c].centre;
  }
}

/* Any border and alignment: pixel by pixel, through the map of columns. */
template <int C, bool Weighted, typename Sample>
__device__ inline void cf_plain_load_pixels(const CfFirWork &work, const CfPlainLayout<C> &layout,
                                            int y0, const int *column_map, float *input)
{
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;

  for (int row = warp; row < kPlainStep; row += kPlainWarps) {
    const int y = cf_source_row(work, y0 + row);
    const Sample *source =
        (const Sample *)(work.source + (ptrdiff_t)max(y, 0) * work.source_stride);

    for (int x = lane; x < layout.input_pixels; x += 32) {
      const int from = y < 0 ? -1 : column_map[x];
      float value[C];

      if (from < 0) {
#pragma unroll
        for (int c = 0; c < C; c++)
          value[c] = work.tone[c].border;
      } else {
        cf_plain_weigh_pixel<C, Weighted>(work, source + (size_t)from * C, value);
      }
#pragma unroll
      for (int c = 0; c < C; c++)
        input[(c * kPlainStep + row) * layout.input_stride + x] = value[c];
    }
  }
}

template <int Count, typename Sample>
__device__ inline void cf_plain_unpack(const uint4 &piece, Sample (&samples)[Count])
{
  constexpr int kPerWord = 4 / (int)sizeof(Sample);
  const uint32_t words[4] = {piece.x, piece.y, piece.z, piece.w};

#pragma unroll
  for (int i = 0; i < Count; i++)
    samples[i] = (Sample)(words[i / kPerWord] >> 8 * (int)sizeof(Sample) * (i % kPerWord));
}

/* Inside the picture's columns: 16 bytes at a time, a warp on 8 rows by 4 pieces. */
template <int C, bool Weighted, typename Sample>
__device__ inline void cf_plain_load_pieces(const CfFirWork &work, const CfPlainLayout<C> &layout,
                                            int x0, int y0, float *input)
{
  constexpr int kPiecePixels = 16 / (int)sizeof(Sample) / C;
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int row = (warp & 1) * 8 + (lane & 7), y = cf_source_row(work, y0 + row);
  const uint8_t *source = work.source + (ptrdiff_t)max(y, 0) * work.source_stride;
  const int first = x0 / kPiecePixels, end = (x0 + layout.input_pixels - 1) / kPiecePixels + 1;

  for (int piece = first + (warp >> 1) * 4 + (lane >> 3); piece < end;
       piece += kPlainWarps / 2 * 4) {
    Sample samples[kPiecePixels * C];

    if (y >= 0)
      cf_plain_unpack(__ldg((const uint4 *)source + piece), samples);
#pragma unroll
    for (int i = 0; i < kPiecePixels; i++) {
      const int x = piece * kPiecePixels + i - x0;
      float value[C];

      if (y < 0) {
#pragma unroll
        for (int c = 0; c < C; c++)
          value[c] = work.tone[c].border;
      } else {
        cf_plain_weigh_pixel<C, Weighted>(work, samples + i * C, value);
      }
      if (x >= 0 && x < layout.input_pixels) {
#pragma unroll
        for (int c = 0; c < C; c++)
          input[(c * kPlainStep + row) * layout.input_stride + x] = value[c];
      }
    }
  }
}
