/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The low taps of the blur pyramid of bytes along rows: products of matrices, taps (16 outputs x 16
 * fine samples) by fine samples (16 x 8 rows). In a product four samples next to each other are
 * those of one thread, which loads them at once.
 *
 * Up to D = 8 there are many outputs of few taps, and the warps of a block share samples. From 16
 * on there are few outputs of many taps, and what warps share are these taps' products.
 */
#include "cuda/pyramid/u8mma_taps.cuh"

namespace
{

/* Blocks on a multiprocessor; where D is 4 everywhere so many that those of a 3840x2160 picture run
 * at once. */
constexpr int kBlocks = 8;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr int kBlocksOfFour = 8;
#else
constexpr int kBlocksOfFour = 9;
#endif

/* What a block makes: some outputs of eight rows of one channel. */
struct Segment {
  int channel, row, first; /* row of `rows`, output from coarse_first on */

  __device__ Segment(const CfBytesPlane &plane, int block)
  {
    const int across = cf_bytes_segments(plane), eights = plane.row_pairs / 4;
    const int line = block / across;

    first = (block - line * across) * cf_bytes_segment(plane.x);
    channel = line / eights;
    row = (line - channel * eights) * 8;
  }

  /* The first sample of the first output's first product. */
  __device__ int sample(const CfBytesLine &line) const
  {
    return line.thinning * (line.coarse_first + first) + line.low_first - line.spare;
  }
};

/* Number `i` of fine samples, or of fours of them, of which `count` are inside: itself, or the one
 * that it equals. */
__device__ inline int mirror(const CfBytesLine &line, int i, int count)
{
  if (line.mirrored == 0 || (i >= 0 && i < count))
    return i;
  if (line.border == CF_BORDER_WRAP)
    return i < 0 ? i + count : i - count;
  return i < 0 ? -1 - i : 2 * count - 1 - i;
}

/* A row of fine samples. Those before and after the ones in memory are as the first and last; with
 * `Mirrors` there may be others that they equal. */
template <bool Mirrors> struct FineRow {
  const CfBytesLine &line;
  const float *first;
  int left, last; /* first of the first and of the last four in memory */

  __device__ FineRow(const CfBytesPlane &plane, const Segment &segment, int row) : line(plane.x)
  {
    const int rows = plane.fine_end - plane.fine_first, own = plane.rows_first + segment.row + row;
    int y = own - plane.fine_first;

    if (Mirrors)
      y = mirror(plane.y, min(max(own, plane.wanted_first), plane.wanted_end - 1),
                 plane.y.mirrored) -
          plane.fine_first;
    first =
        plane.fine + ((size_t)segment.channel * rows + min(max(y, 0), rows - 1)) * plane.fine_pitch;
    left = plane.left;
    last = plane.left + plane.fine_pitch - 4;
  }

  __device__ float4 load(int x) const
  {
    if (Mirrors && line.mirrored)
      x = 4 * mirror(line, x >> 2, line.mirrored / 4);
    return __ldcg((const float4 *)(first + (min(max(x, left), last) - left)));
  }

  /* Two and two as halves, and what these leave. */
  __device__ uint4 split(int x, const float4 &loaded) const
  {
    const bool outside = x < left || x > last, mirrored = Mirrors && line.mirrored;
    const float edge = x < left ? loaded.x : loaded.w;
    float4 four = outside && !mirrored ? make_float4(edge, edge, edge, edge) : loaded;

    if (Mirrors && outside && mirrored && line.border == CF_BORDER_REFLECT)
      four = make_float4(loaded.w, loaded.z, loaded.y, loaded.x);
    const uint2 low = cf_split_halves(four.x, four.y), high = cf_split_halves(four.z, four.w);

    return make_uint4(low.x, low.y, high.x, high.y);
  }
};

__device__ inline void multiply(const CfTapMatrix<4> &taps, const uint4 &samples, float (&sum)[4])
{
  taps.multiply(sum, make_uint2(samples.x, samples.y), make_uint2(samples.z, samples.w));
}

/* 16 outputs from `output` on. */
__device__ inline void store(const CfBytesPlane &plane, const Segment &segment, int output,
                             const float (&sum)[4])
{
  const int lane = (int)threadIdx.x % 32;
  uint2 *to =
      plane.rows +
      ((size_t)segment.channel * plane.row_pairs + segment.row / 2 + lane % 4) * plane.columns;

#pragma unroll
  for (int half = 0; half < 2; half++) {
    const int column = segment.first + output + 8 * half + lane / 4;

    if (column < plane.columns)
      to[column] = cf_split_halves(sum[2 * half], sum[2 * half + 1]);
  }
}

/* ---- D up to 8 ---- */

/* Of taps to sigma = 4 D; with two groups, where D is 8, to 8 D. */
template <int Groups> constexpr int kMostChunks = Groups == 2 ? 6 : 4;

/* Eight rows of as many fours that no bank is asked twice. */
template <int Groups> struct SharedSamples {
  static constexpr int kFours = 4 * (Groups * kBytesWarps - 1 + kMostChunks<Groups>);

  uint4 four[8][(kFours + 7) / 8 * 8 + 4];
};

template <bool Mirrors, int Groups>
__device__ inline void share_samples(const CfBytesPlane &plane, const Segment &segment,
                                     SharedSamples<Groups> &samples)
{
  constexpr int kFours = SharedSamples<Groups>::kFours, kAcross = (kFours + 31) / 32;
  constexpr int kRows = 8 / kBytesWarps;
  const int lane = (int)threadIdx.x % 32, x = segment.sample(plane.x) + 4 * lane;
  float4 loaded[kRows][kAcross];

#pragma unroll
  for (int r = 0; r < kRows; r++) {
    const FineRow<Mirrors> row(plane, segment, (int)threadIdx.x / 32 * kRows + r);

#pragma unroll
    for (int i = 0; i < kAcross; i++)
      loaded[r][i] = row.load(x + 128 * i);
  }
#pragma unroll
  for (int r = 0; r < kRows; r++) {
    const int y = (int)threadIdx.x / 32 * kRows + r;
    const FineRow<Mirrors> row(plane, segment, y);

#pragma unroll
    for (int i = 0; i < kAcross; i++) {
      if (32 * i + lane < kFours)
        samples.four[y][32 * i + lane] = row.split(x + 128 * i, loaded[r][i]);
    }
  }
}

template <bool Mirrors, int Groups, typename Taps>
__device__ inline void filter_shared(const CfBytesPlane &plane, const Segment &segment,
                                     const Taps &taps, SharedSamples<Groups> &samples)
{
  const CfBytesLine &line = plane.x;
  const int lane = (int)threadIdx.x % 32, group = (int)threadIdx.x / 32 * Groups;
  const uint4 *from = &samples.four[lane / 4][4 * group + lane % 4];
  float sum[Groups][4] = {};

  share_samples<Mirrors>(plane, segment, samples);
  __syncthreads();
#pragma unroll 1
  for (int chunk = 0; chunk < line.chunks; chunk++) {
    const CfTapMatrix<4> matrix(taps, 1, chunk, line.spare);

#pragma unroll
    for (int i = 0; i < Groups; i++)
      multiply(matrix, from[4 * (chunk + i)], sum[i]);
  }
#pragma unroll
  for (int i = 0; i < Groups; i++)
    store(plane, segment, 16 * (group + i), sum[i]);
}

/* ---- D from 16 on ---- */

constexpr int kTogether = 6; /* loads that are on their way */

/* Sums of the warps that share outputs. */
typedef float4 SharedSums[kBytesWarps][32];

template <bool Mirrors>
__device__ inline void filter_alone(const CfBytesPlane &plane, const Segment &segment,
                                    const CfSharedTaps<> &taps, SharedSums &sums)
{
  const CfBytesLine &line = plane.x;
  const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
  const int log2 = line.factor_log2 - 4; /* of the warps that share 16 outputs */
  const int part = warp & ((1 << log2) - 1), output = warp >> log2 << 4;
  const int end = (part + 1) * line.chunks >> log2;
  const int x = segment.sample(line) + line.thinning * output + lane % 4 * 4;
  const FineRow<Mirrors> row(plane, segment, lane / 4);
  float sum[4] = {};

  for (int first = part * line.chunks >> log2; first < end; first += kTogether) {
    float4 sample[kTogether];

#pragma unroll
    for (int c = 0; c < kTogether; c++) {
      if (first + c < end)
        sample[c] = row.load(x + 16 * (first + c));
    }
    /* Not unrolled: to fetch the instructions would take longer. */
#pragma unroll 1
    for (int chunk = first; chunk < min(first + kTogether, end); chunk++) {
      multiply(CfTapMatrix<4>(taps, line.thinning, chunk, line.spare),
               row.split(x + 16 * chunk, sample[0]), sum);
#pragma unroll
      for (int c = 0; c + 1 < kTogether; c++)
        sample[c] = sample[c + 1];
    }
  }

  sums[warp][lane] = make_float4(sum[0], sum[1], sum[2], sum[3]);
  __syncthreads();
  if (part > 0)
    return;
  for (int i = 1; i < 1 << log2; i++) {
    const float4 other = sums[warp + i][lane];

    sum[0] += other.x;
    sum[1] += other.y;
    sum[2] += other.z;
    sum[3] += other.w;
  }
  store(plane, segment, output, sum);
}

/* ---- kernels ---- */

/* What a block does before it reads samples. */
template <typename Taps>
__device__ inline void begin(const CfBytesJob &job, const CfBytesPlane &plane, Taps &taps)
{
  cf::pdl_trigger();
  cf_share_taps(plane.x, job.low[&plane - job.plane][0], taps.half, taps.rest);
  __syncthreads();
  cf::pdl_wait();
}

template <bool Mirrors>
__global__ void __launch_bounds__(kPyramidThreads, kBlocks)
    low_rows_kernel(const __grid_constant__ CfBytesJob job)
{
  __shared__ CfSharedTaps<> taps;
  __shared__ union {
    SharedSamples<4> four;
    SharedSamples<2> two;
    SharedSums sums;
  } shared;
  int block;
  const CfBytesPlane &plane = cf::plane_of_block(job, &CfBytesPlane::rows_blocks, &block);
  const Segment segment(plane, block);

  begin(job, plane, taps);
  if (plane.x.factor == 4)
    filter_shared<Mirrors>(plane, segment, taps, shared.four);
  else if (plane.x.factor == 8)
    filter_shared<Mirrors>(plane, segment, taps, shared.two);
  else
    filter_alone<Mirrors>(plane, segment, taps, shared.sums);
}

/* D is 4 in all planes. */
template <bool Mirrors>
__global__ void __launch_bounds__(kPyramidThreads, kBlocksOfFour)
    low_rows_of_four_kernel(const __grid_constant__ CfBytesJob job)
{
  __shared__ CfSharedTaps<16 * kMostChunks<4>, 1> taps;
  __shared__ SharedSamples<4> samples;
  int block;
  const CfBytesPlane &plane = cf::plane_of_block(job, &CfBytesPlane::rows_blocks, &block);
  const Segment segment(plane, block);

  begin(job, plane, taps);
  filter_shared<Mirrors>(plane, segment, taps, samples);
}

} // namespace

bool cf_bytes_low(const CfBytesJob *job, int blocks, void *stream, CfStatus *status)
{
  void (*kernel)(CfBytesJob);
  bool mirrors = false, four = true;

  for (int p = 0; p < job->planes; p++) {
    mirrors |= job->plane[p].x.mirrored || job->plane[p].y.mirrored;
    four &= job->plane[p].x.factor == 4;
  }
  if (four)
    kernel = mirrors ? low_rows_of_four_kernel<true> : low_rows_of_four_kernel<false>;
  else
    kernel = mirrors ? low_rows_kernel<true> : low_rows_kernel<false>;
  return cf_bytes_share_memory(kernel, status) &&
         cf::launch_job(kernel, job, blocks, kPyramidThreads, 0, stream, "blurring coarse rows",
                        status);
}
