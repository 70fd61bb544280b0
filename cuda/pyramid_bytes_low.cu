/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The low taps of the blur pyramid of bytes along rows: products of matrices, taps (16 outputs x 16
 * fine samples) by fine samples (16 x 8 rows).
 */
#include "pyramid_bytes_taps.cuh"

namespace
{

constexpr int kTogether = 10;                             /* loads that are on their way */
constexpr int kGroups = kBytesSegment / 16 / kBytesWarps; /* of 16 outputs, of a warp */

/* Up to kBytesSegment outputs of eight rows of one channel. */
struct Segment {
  int channel, row, first, count; /* row of `rows`, output from coarse_first on */

  __device__ Segment(const CfBytesPlane &plane, int block)
  {
    const int across = (plane.columns + kBytesSegment - 1) / kBytesSegment;
    const int eights = plane.row_pairs / 4;

    first = block % across * kBytesSegment;
    count = min(kBytesSegment, plane.columns - first);
    channel = block / across / eights;
    row = (block / across - channel * eights) * 8;
  }
};

/* Pairs of samples of a row from `first` on, as halves and what these leave. */
__device__ inline void share_samples(const CfBytesPlane &plane, const Segment &segment, int first,
                                     int pairs, int stride, uint2 *samples)
{
  const int rows = plane.fine_end - plane.fine_first, last = plane.x.made_end - 1;

  const int count = 8 * 32 * ((pairs + 31) / 32);

  for (int start = (int)threadIdx.x; start < count; start += kTogether * kPyramidThreads) {
    float2 sample[kTogether];

#pragma unroll
    for (int i = 0; i < kTogether; i++) {
      const int at = start + i * kPyramidThreads, row = at / 32 % 8;
      const int y = plane.rows_first + segment.row + row - plane.fine_first;
      const float *from =
          plane.fine +
          ((size_t)segment.channel * rows + min(max(y, 0), rows - 1)) * plane.fine_pitch -
          plane.left;
      const int x = first + 2 * (at / 256 * 32 + at % 32);

      sample[i].x = __ldcg(from + min(max(x, plane.x.made_first), last));
      sample[i].y = __ldcg(from + min(max(x + 1, plane.x.made_first), last));
    }
#pragma unroll
    for (int i = 0; i < kTogether; i++) {
      const int at = start + i * kPyramidThreads, pair = at / 256 * 32 + at % 32;

      if (pair < pairs)
        samples[at / 32 % 8 * stride + pair] =
            cf_split_halves(plane.fine_scale * sample[i].x, plane.fine_scale * sample[i].y);
    }
  }
}

__global__ void __launch_bounds__(kPyramidThreads)
    low_rows_kernel(const __grid_constant__ CfBytesJob job)
{
  extern __shared__ __align__(16) uint2 samples[];
  __shared__ CfSharedTaps taps;
  int block;
  const CfBytesPlane &plane = cf_plane_of_block(job, &CfBytesPlane::rows_blocks, &block);
  const CfBytesLine &line = plane.x;
  const Segment segment(plane, block);
  const int lane = (int)threadIdx.x % 32, thinning = line.thinning, stride = line.stride;
  const int group = (int)threadIdx.x / 32 * kGroups;
  float sum[kGroups][4] = {};

  cf_let_next_kernel_start();
  cf_share_taps(line, taps);
  cf_wait_for_previous_kernel();
  share_samples(plane, segment, thinning * (line.coarse_first + segment.first) + line.low_first,
                8 * (thinning * (kBytesSegment / 16 - 1) + line.chunks), stride, samples);
  __syncthreads();

  const uint2 *from = samples + lane / 4 * stride + 8 * thinning * group + lane % 4;
  for (int chunk = 0; chunk < line.chunks; chunk++) {
    const CfTapMatrix matrix(taps, thinning, chunk, 0);

#pragma unroll
    for (int i = 0; i < kGroups; i++) {
      const uint2 *at = from + 8 * (chunk + thinning * i);
      const uint2 first = at[0], second = at[4];

      matrix.multiply(sum[i], first, second);
    }
  }

  uint2 *to =
      plane.rows +
      ((size_t)segment.channel * plane.row_pairs + segment.row / 2 + lane % 4) * plane.columns +
      segment.first;
#pragma unroll
  for (int i = 0; i < kGroups; i++) {
#pragma unroll
    for (int half = 0; half < 2; half++) {
      const int column = 16 * (group + i) + 8 * half + lane / 4;
      if (column < segment.count)
        to[column] = cf_split_halves(sum[i][2 * half], sum[i][2 * half + 1]);
    }
  }
}

} // namespace

bool cf_bytes_low(const CfBytesJob *job, int blocks, int bytes, void *stream, CfStatus *status)
{
  return cf_launch_after(low_rows_kernel, job, blocks, bytes, stream, "blurring coarse rows",
                         status);
}
