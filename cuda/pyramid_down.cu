/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The way down the blur pyramid: columns, then rows.
 */
#include "pyramid.cuh"
#include "tensor_ops.cuh"

namespace
{

/* What follows the samples' size: the type of the samples between columns and rows. Halves cost up
 * to 0.06 codes of 255 each, of which the row prefilter leaves next to nothing. */
template <typename Sample> struct Kind;

template <> struct Kind<uint8_t> {
  typedef uint32_t Word;
  typedef __half Store;
  static constexpr int kCells = kPyramidCells;
};

template <> struct Kind<uint16_t> {
  typedef uint2 Word;
  typedef float Store;
  static constexpr int kCells = kPyramidCellsWide;
};

/* Without decimation the only prefilter tap is 1. */
template <typename Sample, int D> constexpr int kCells = D == 1 ? 1 : Kind<Sample>::kCells;

/* ---- words of four samples ---- */

__device__ inline uint32_t sample_of(uint32_t word, int j)
{
  return word >> 8 * j & 0xff;
}

__device__ inline uint32_t sample_of(uint2 word, int j)
{
  return (j < 2 ? word.x : word.y) >> 16 * (j & 1) & 0xffff;
}

__device__ inline uint32_t pack(const uint8_t *sample, int count)
{
  uint32_t word = 0;

#pragma unroll
  for (int j = 0; j < 4; j++)
    word |= j < count ? (uint32_t)sample[j] << 8 * j : 0;
  return word;
}

__device__ inline uint2 pack(const uint16_t *sample, int count)
{
  uint32_t half[2] = {};

#pragma unroll
  for (int j = 0; j < 4; j++)
    half[j / 2] |= j < count ? (uint32_t)sample[j] << 16 * (j & 1) : 0;
  return make_uint2(half[0], half[1]);
}

/* One word of a column of words. */
template <typename Sample> struct Column {
  typedef typename Kind<Sample>::Word Word;
  const CfPyramidPlane &plane;
  const int index; /* of the word */
  const int count; /* its samples that lie in the row */
  Word border;

  __device__ Column(const CfPyramidPlane &plane, int index)
      : plane(plane), index(index), count(min(4, plane.samples - 4 * index))
  {
    Sample raw[4];

#pragma unroll
    for (int j = 0; j < 4; j++)
      raw[j] = (Sample)plane.border[index % 3 * 4 + j];
    border = pack(raw, 4);
  }

  __device__ const Sample *at(int row) const
  {
    return (const Sample *)(plane.source + (ptrdiff_t)row * plane.source_stride) +
           4 * (size_t)index;
  }

  __device__ Word load(int y) const
  {
    const int folded = cf_fold(plane.y.border, y, plane.height);

    if (folded < 0)
      return border;
    const Sample *from = at(min(max(folded, plane.readable_first), plane.readable_end - 1));
    return plane.vector && count == 4 ? __ldg((const Word *)from) : pack(from, count);
  }

  template <int Rows> __device__ void load(int y, Word (&words)[Rows]) const
  {
    if (y >= plane.readable_first && y + Rows <= plane.readable_end && plane.vector && count == 4) {
      const uint8_t *from = (const uint8_t *)at(y);
#pragma unroll
      for (int i = 0; i < Rows; i++)
        words[i] = __ldg((const Word *)(from + i * plane.source_stride));
    } else {
#pragma unroll
      for (int i = 0; i < Rows; i++)
        words[i] = load(y + i);
    }
  }
};

/* Bytes: 0x4b000000 + v is 2^23 + v as a float. */
__device__ inline void to_floats(const CfPyramidPlane &plane, uint32_t word, float (&value)[4])
{
#pragma unroll
  for (int j = 0; j < 4; j++)
    value[j] =
        __uint_as_float(__byte_perm(word, 0x4b000000, 0x7440 + j)) - (8388608.0f + plane.centre[j]);
}

__device__ inline void to_floats(const CfPyramidPlane &plane, uint2 word, float (&value)[4])
{
#pragma unroll
  for (int j = 0; j < 4; j++)
    value[j] = (float)(sample_of(word, j) >> plane.shift) - plane.centre[j];
}

/* Alpha, which is centred on opaque, weighs the other samples of its pixel. */
__device__ inline void weigh(const CfPyramidPlane &plane, float (&value)[4])
{
  const float weight = cf_weight((plane.alpha == 0 ? value[0] : value[3]) + 255.0f);

  value[0] *= plane.alpha == 0 ? 1.0f : weight;
  value[1] *= weight;
  value[2] *= weight;
  value[3] *= plane.alpha == 0 ? weight : 1.0f;
}

/* ---- columns ---- */

template <typename Store>
__device__ inline void store_columns(const CfPyramidPlane &plane, int word, int row,
                                     const float (&sum)[4])
{
  Store *to = (Store *)plane.columns + (size_t)(row - plane.fine_first) * plane.columns_pitch;

#pragma unroll
  for (int j = 0; j < 4; j++) {
    const int sample = 4 * word + j, x = sample / plane.channels;
    const int channel = sample - x * plane.channels;

    if (sample < plane.samples)
      to[(size_t)channel * plane.columns_rows * plane.columns_pitch + x] = (Store)sum[j];
  }
}

/* One word of a block, and the fine rows of its strip. */
struct Strip {
  int word, first, end;

  __device__ Strip(const CfPyramidPlane &plane, int block)
  {
    const int words = (plane.samples + 3) / 4;
    const int across = (words + kPyramidThreads - 1) / kPyramidThreads;

    word = block % across * kPyramidThreads + (int)threadIdx.x;
    first = plane.fine_first + block / across * plane.strip;
    end = word < words ? min(first + plane.strip, plane.fine_end) : first;
  }
};

template <int K> __device__ inline void next_row(float (&sum)[K][4])
{
#pragma unroll
  for (int j = 0; j < 4; j++) {
#pragma unroll
    for (int k = K - 1; k > 0; k--)
      sum[k][j] = sum[k - 1][j];
    sum[0][j] = 0.0f;
  }
}

/* Tap by tap: 16-bit samples, and all without decimation. */
template <typename Sample, int D>
__device__ inline void filter_columns(const CfPyramidJob &job, const CfPyramidPlane &plane,
                                      int block)
{
  typedef typename Kind<Sample>::Word Word;
  constexpr int K = kCells<Sample, D>;
  const Strip strip(plane, block);
  float sum[K][4] = {};
  Word ahead[D];

  if (strip.first >= strip.end)
    return;
  const Column<Sample> column(plane, strip.word);
  column.load(D * strip.first + plane.y.prefilter_first, ahead);

  /* Cell g is D rows, which have a share in the fine rows g - K + 1 to g. */
  for (int g = strip.first; g < strip.end + K - 1; g++) {
    Word now[D];
#pragma unroll
    for (int p = 0; p < D; p++)
      now[p] = ahead[p];
    column.load(D * (g + 1) + plane.y.prefilter_first, ahead);
#pragma unroll
    for (int p = 0; p < D; p++) {
      float value[4];

      to_floats(plane, now[p], value);
      if (plane.alpha >= 0)
        weigh(plane, value);
#pragma unroll
      for (int k = 0; k < K; k++) {
#pragma unroll
        for (int j = 0; j < 4; j++)
          sum[k][j] = fmaf(job.prefilter[cf_log2(D)][D * k + p], value[j], sum[k][j]);
      }
    }
    if (g - K + 1 >= strip.first)
      store_columns<typename Kind<Sample>::Store>(plane, strip.word, g - K + 1, sum[K - 1]);
    next_row(sum);
  }
}

/* ---- columns of bytes, decimated by 2 once or twice before the taps ---- */

/* Four samples, or sums of them, in halves of two words: the first and third, the others. */
struct Lanes {
  uint32_t even, odd;
};

__device__ inline Lanes lanes_of(uint32_t word)
{
  return {word & 0x00ff00ff, __byte_perm(word, 0, 0x4341)};
}

/* The taps 1 3 3 1, which suppress what decimation by 2 would fold onto a large blur's band. */
__device__ inline Lanes smooth(const Lanes &a, const Lanes &b, const Lanes &c, const Lanes &d)
{
  return {a.even + d.even + 3 * (b.even + c.even), a.odd + d.odd + 3 * (b.odd + c.odd)};
}

struct Four {
  float value[4];
};

__device__ inline Four smooth(const Four &a, const Four &b, const Four &c, const Four &d)
{
  Four sum;

#pragma unroll
  for (int j = 0; j < 4; j++)
    sum.value[j] = fmaf(3.0f, b.value[j] + c.value[j], a.value[j] + d.value[j]);
  return sum;
}

/* Halves one or two times: D + carried samples in, two out, whose weights add up to `kSum`. */
template <int D> struct Halving;

template <> struct Halving<2> {
  static constexpr int kCarried = 0, kSum = 1;
  template <typename T> static __device__ void run(const T (&in)[2], T (&out)[2])
  {
    out[0] = in[0];
    out[1] = in[1];
  }
};

template <> struct Halving<4> {
  static constexpr int kCarried = 2, kSum = 8;
  template <typename T> static __device__ void run(const T (&in)[6], T (&out)[2])
  {
    out[0] = smooth(in[0], in[1], in[2], in[3]);
    out[1] = smooth(in[2], in[3], in[4], in[5]);
  }
};

template <> struct Halving<8> {
  static constexpr int kCarried = 6, kSum = 64;
  template <typename T> static __device__ void run(const T (&in)[14], T (&out)[2])
  {
    T half[6];
#pragma unroll
    for (int i = 0; i < 6; i++)
      half[i] = smooth(in[2 * i], in[2 * i + 1], in[2 * i + 2], in[2 * i + 3]);
    Halving<4>::run(half, out);
  }
};

/* Sums of at most 16 bits are exact floats when they follow 0x4b00. */
template <int D>
__device__ inline void to_floats(const CfPyramidPlane &plane, const Lanes &sum, float (&value)[4])
{
  constexpr float kScale = Halving<D>::kSum;

#pragma unroll
  for (int j = 0; j < 4; j++)
    value[j] = __uint_as_float(
                   __byte_perm(j % 2 ? sum.odd : sum.even, 0x4b000000, j < 2 ? 0x7410 : 0x7432)) -
               (8388608.0f + kScale * plane.centre[j]);
}

template <int N>
__device__ inline bool is_opaque(const CfPyramidPlane &plane, const uint32_t (&words)[N])
{
  const uint32_t mask = plane.alpha == 0 ? 0xffu : 0xff000000u;
  uint32_t all = mask;

#pragma unroll
  for (int i = 0; i < N; i++)
    all &= words[i];
  return all == mask;
}

template <int D, int N>
__device__ inline void halve_weighted(const CfPyramidPlane &plane, const uint32_t (&words)[N],
                                      float (&pair)[2][4])
{
  Four in[N], out[2];

#pragma unroll
  for (int i = 0; i < N; i++) {
    to_floats(plane, words[i], in[i].value);
    weigh(plane, in[i].value);
  }
  Halving<D>::run(in, out);
#pragma unroll
  for (int j = 0; j < 4; j++) {
    pair[0][j] = out[0].value[j];
    pair[1][j] = out[1].value[j];
  }
}

template <int D, int N>
__device__ inline void halve_bytes(const CfPyramidPlane &plane, const uint32_t (&words)[N],
                                   float (&pair)[2][4])
{
  Lanes in[N], out[2];

#pragma unroll
  for (int i = 0; i < N; i++)
    in[i] = lanes_of(words[i]);
  Halving<D>::run(in, out);
  to_floats<D>(plane, out[0], pair[0]);
  to_floats<D>(plane, out[1], pair[1]);
}

template <int D, bool Alpha>
__device__ inline void filter_byte_columns(const CfPyramidJob &job, const CfPyramidPlane &plane,
                                           int block)
{
  constexpr int H = Halving<D>::kCarried, K = kPyramidHalvedTaps / 2;
  const Strip strip(plane, block);
  float sum[K][4] = {};
  uint32_t words[D + H], ahead[D], carried[H > 0 ? H : 1];

  if (strip.first >= strip.end)
    return;
  const Column<uint8_t> column(plane, strip.word);
  const int from = strip.first - K / 2;
  if constexpr (H > 0)
    column.load(D * from - H / 2, carried);
  column.load(D * from + H / 2, ahead);

  /* Cell g is two halved rows, which have a share in the fine rows g - K / 2 to g + K / 2. */
  for (int g = from; g < strip.end + K / 2; g++) {
    float pair[2][4];

#pragma unroll
    for (int p = 0; p < H; p++)
      words[p] = carried[p];
#pragma unroll
    for (int p = 0; p < D; p++)
      words[H + p] = ahead[p];
    if (g + 1 < strip.end + K / 2)
      column.load(D * (g + 1) + H / 2, ahead);
    if (Alpha && !is_opaque(plane, words))
      halve_weighted<D>(plane, words, pair);
    else
      halve_bytes<D>(plane, words, pair);
#pragma unroll
    for (int k = 0; k < K; k++) {
#pragma unroll
      for (int j = 0; j < 4; j++) {
        sum[k][j] = fmaf(job.halved[cf_log2(D)][2 * k], pair[0][j], sum[k][j]);
        sum[k][j] = fmaf(job.halved[cf_log2(D)][2 * k + 1], pair[1][j], sum[k][j]);
      }
    }
    if (g - K / 2 >= strip.first)
      store_columns<__half>(plane, strip.word, g - K / 2, sum[K - 1]);
    next_row(sum);
#pragma unroll
    for (int p = 0; p < H; p++)
      carried[p] = words[D + p];
  }
}

/* Rows and columns of pixels that a block of `columns` makes have their share in results as far as
 * all taps together reach. */
__device__ inline bool is_needed(const CfPyramidPlane &plane, int block)
{
  const int across = ((plane.samples + 3) / 4 + kPyramidThreads - 1) / kPyramidThreads;
  const int first = plane.fine_first + block / across * plane.strip;
  const int left = block % across * (4 * kPyramidThreads) / plane.channels;
  const int right = (block % across + 1) * (4 * kPyramidThreads) / plane.channels;
  const int aside = plane.x.factor * (plane.x.low_count + kPyramidCellsWide + kPyramidMargin);
  const int above = plane.y.factor * (plane.y.low_count + kPyramidMargin);

  return cf_pyramid_is_needed(plane, left - aside, plane.y.factor * first - above, right + aside,
                              plane.y.factor * (first + plane.strip) + above);
}

template <bool Alpha>
__global__ void __launch_bounds__(kPyramidThreads)
    byte_columns_kernel(const __grid_constant__ CfPyramidJob job)
{
  int block;
  const CfPyramidPlane &plane = cf_pyramid_plane(job, &CfPyramidPlane::columns_blocks, &block);

  cf_let_next_kernel_start();
  if (!is_needed(plane, block))
    return;
  switch (plane.y.factor) {
  case 1:
    return filter_columns<uint8_t, 1>(job, plane, block);
  case 2:
    return filter_byte_columns<2, Alpha>(job, plane, block);
  case 4:
    return filter_byte_columns<4, Alpha>(job, plane, block);
  default:
    return filter_byte_columns<8, Alpha>(job, plane, block);
  }
}

__global__ void __launch_bounds__(kPyramidThreads)
    word_columns_kernel(const __grid_constant__ CfPyramidJob job)
{
  int block;
  const CfPyramidPlane &plane = cf_pyramid_plane(job, &CfPyramidPlane::columns_blocks, &block);

  cf_let_next_kernel_start();
  if (!is_needed(plane, block))
    return;
  switch (plane.y.factor) {
  case 1:
    return filter_columns<uint16_t, 1>(job, plane, block);
  case 2:
    return filter_columns<uint16_t, 2>(job, plane, block);
  case 4:
    return filter_columns<uint16_t, 4>(job, plane, block);
  default:
    return filter_columns<uint16_t, 8>(job, plane, block);
  }
}

/* ---- rows ---- */

__host__ __device__ inline int round_up(int value, int multiple)
{
  return (value + multiple - 1) / multiple * multiple;
}

/* Samples of one phase in shared memory. That they are 4 modulo 8 keeps the stores, which go from
 * phase to phase, nearly free of bank conflicts. */
__host__ __device__ inline int phase_stride(int fine, int cells)
{
  return round_up(round_up(fine, 4) + round_up(cells + 3, 4) - 4, 8) + 4;
}

/* Fine samples 4 i to 4 i + 3 of those made, from the source's samples sorted by phase. */
template <int D, int K>
__device__ inline void prefilter_four(const CfPyramidJob &job, const float *phases, int stride,
                                      int i, float (&sum)[4])
{
  constexpr int kQuads = (K + 3 + 3) / 4;

#pragma unroll
  for (int p = 0; p < D; p++) {
    float sample[4 * kQuads];
#pragma unroll
    for (int q = 0; q < kQuads; q++) {
      const float4 four = *(const float4 *)(phases + p * stride + 4 * (i + q));
      sample[4 * q] = four.x;
      sample[4 * q + 1] = four.y;
      sample[4 * q + 2] = four.z;
      sample[4 * q + 3] = four.w;
    }
#pragma unroll
    for (int k = 0; k < K; k++) {
#pragma unroll
      for (int o = 0; o < 4; o++)
        sum[o] = fmaf(job.prefilter[cf_log2(D)][D * k + p], sample[o + k], sum[o]);
    }
  }
}

__device__ inline float4 low_four(const float *taps, int groups, const float *fine)
{
  float sum[4] = {};
  float4 before = make_float4(0.0f, 0.0f, 0.0f, 0.0f);

  for (int group = 0; group < groups; group++) {
    const float4 four = *(const float4 *)(fine + 4 * group);
    const float4 tap = *(const float4 *)(taps + 4 * group);
    const float sample[4] = {four.x, four.y, four.z, four.w};

    cf_pyramid_accumulate(sum, sample, before, tap);
    before = tap;
  }
  return make_float4(sum[0], sum[1], sum[2], sum[3]);
}

template <typename Store> struct alignas(4 * sizeof(Store)) StoredFour {
  Store sample[4];
};

/* Source samples left to left + count - 1, sorted by phase. Many loads are under way at once. */
template <int D, typename Store>
__device__ inline void load_phases(const CfPyramidLine &line, const Store *from, int left,
                                   int count, float border, float *phases, int stride)
{
  constexpr int kAtOnce = 8;
  const int shift = left & 3, groups = (count + shift + 3) / 4;

  for (int first = (int)threadIdx.x; first < groups; first += kAtOnce * kPyramidThreads) {
    StoredFour<Store> four[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; k++) {
      const int group = min(first + k * kPyramidThreads, groups - 1);
      const int x = left - shift + 4 * group;
      if (x >= 0 && x + 4 <= line.size) {
        four[k] = *(const StoredFour<Store> *)(from + x);
      } else {
#pragma unroll
        for (int j = 0; j < 4; j++) {
          const int folded = cf_fold(line.border, x + j, line.size);
          four[k].sample[j] = folded < 0 ? (Store)border : from[folded];
        }
      }
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; k++) {
      const int i = 4 * (first + k * kPyramidThreads) - shift;
#pragma unroll
      for (int j = 0; j < 4; j++) {
        if (i + j >= 0 && i + j < count)
          phases[(i + j) % D * stride + (i + j) / D] = (float)four[k].sample[j];
      }
    }
  }
}

/* What a block of `rows` makes: the same columns of some rows of one channel. */
struct Segment {
  int channel, first, end; /* rows, from fine_first on */
  int j0, outputs;

  __device__ Segment(const CfPyramidPlane &plane, int block)
  {
    const CfPyramidLine &line = plane.x;
    const int across = (line.coarse_end - line.coarse_first + plane.segment - 1) / plane.segment;
    const int rows = plane.fine_end - plane.fine_first;
    const int groups = (rows + plane.rows_at_once - 1) / plane.rows_at_once;
    const int group = block / across;

    channel = group / groups;
    first = (group - channel * groups) * plane.rows_at_once;
    end = min(first + plane.rows_at_once, rows);
    j0 = line.coarse_first + (block - group * across) * plane.segment;
    outputs = min(plane.segment, line.coarse_end - j0);
  }
};

/* The first and last rows made stand for those beyond. */
__device__ inline bool is_needed(const CfPyramidPlane &plane, const Segment &segment)
{
  const CfPyramidLine &line = plane.y;
  const int last = plane.fine_first + segment.end - 1 - line.low_first;
  const int first = plane.fine_first + segment.first - line.low_first - line.low_count;
  const int top = segment.first == 0 ? line.coarse_first : first;
  const int bottom = segment.end == plane.fine_end - plane.fine_first ? line.coarse_end : last + 1;

  return cf_pyramid_is_needed(
      plane, cf_first_reader(plane.x, segment.j0), cf_first_reader(line, top),
      cf_end_of_readers(plane.x, segment.j0 + segment.outputs), cf_end_of_readers(line, bottom));
}

template <typename Sample, int D>
__device__ inline void filter_row(const CfPyramidJob &job, const CfPyramidPlane &plane,
                                  const Segment &segment, int row, float *taps)
{
  typedef typename Kind<Sample>::Store Store;
  constexpr int K = kCells<Sample, D>;
  const CfPyramidLine &line = plane.x;
  const int wanted = segment.j0 + line.low_first;
  const int f0 = min(max(wanted, line.made_first), line.made_end - 1);
  const int f1 =
      min(max(wanted + segment.outputs - 1 + line.low_count, line.made_first + 1), line.made_end);
  const int fine = f1 - f0;
  const int stride = phase_stride(fine, K);
  const int extended = round_up(segment.outputs, 4) + 4 * line.low_groups;
  const Store *from = (const Store *)plane.columns +
                      (size_t)(segment.channel * plane.columns_rows + row) * plane.columns_pitch;
  const float border =
      (float)(plane.border[segment.channel] >> plane.shift) - plane.centre[segment.channel];
  float *shared = taps + round_up(4 + 4 * line.low_groups, 4);
  float *made = shared + D * stride, *line_samples = made + round_up(fine, 4);
  const int left = D * f0 + line.prefilter_first;

  load_phases<D>(line, from, left, D * (fine + K - 1), border, shared, stride);
  __syncthreads();

  for (int i = (int)threadIdx.x; i < (fine + 3) / 4; i += kPyramidThreads) {
    float sum[4] = {};
    prefilter_four<D, K>(job, shared, stride, i, sum);
    *(float4 *)(made + 4 * i) = make_float4(sum[0], sum[1], sum[2], sum[3]);
  }
  __syncthreads();

  for (int i = (int)threadIdx.x; i < extended; i += kPyramidThreads)
    line_samples[i] = made[min(max(wanted + i - f0, 0), fine - 1)];
  __syncthreads();

  const int rows = plane.fine_end - plane.fine_first;
  float *to = plane.rows + (size_t)(segment.channel * rows + row) * plane.rows_pitch +
              (segment.j0 - line.coarse_first);
  for (int i = (int)threadIdx.x; i < (segment.outputs + 3) / 4; i += kPyramidThreads)
    *(float4 *)(to + 4 * i) = low_four(taps + 4, line.low_groups, line_samples + 4 * i);
}

template <typename Sample, int D>
__device__ inline void filter_rows(const CfPyramidJob &job, const CfPyramidPlane &plane, int block,
                                   float *taps)
{
  const Segment segment(plane, block);

  if (!is_needed(plane, segment))
    return;
  cf_share_low_taps(plane.x, taps);
  for (int row = segment.first; row < segment.end; row++)
    filter_row<Sample, D>(job, plane, segment, row, taps);
}

template <typename Sample>
__global__ void __launch_bounds__(kPyramidThreads)
    rows_kernel(const __grid_constant__ CfPyramidJob job)
{
  extern __shared__ __align__(16) float shared[];
  int block;
  const CfPyramidPlane &plane = cf_pyramid_plane(job, &CfPyramidPlane::rows_blocks, &block);

  cf_let_next_kernel_start();
  cf_wait_for_previous_kernel();
  switch (plane.x.factor) {
  case 1:
    return filter_rows<Sample, 1>(job, plane, block, shared);
  case 2:
    return filter_rows<Sample, 2>(job, plane, block, shared);
  case 4:
    return filter_rows<Sample, 4>(job, plane, block, shared);
  default:
    return filter_rows<Sample, 8>(job, plane, block, shared);
  }
}

} // namespace

int cf_pyramid_rows_shared(const CfPyramidLine *line, bool wide, int fine, int coarse)
{
  const int cells = line->factor == 1 ? 1 : wide ? kPyramidCellsWide : kPyramidCells;

  return 4 * (line->factor * phase_stride(fine, cells) + round_up(fine, 4) + round_up(coarse, 4) +
              8 * line->low_groups + 4);
}

bool cf_pyramid_columns(const CfPyramidJob *job, bool wide, int blocks, void *stream,
                        CfStatus *status)
{
  const cudaStream_t on = (cudaStream_t)stream;

  if (wide)
    word_columns_kernel<<<blocks, kPyramidThreads, 0, on>>>(*job);
  else if (job->plane[0].alpha >= 0)
    byte_columns_kernel<true><<<blocks, kPyramidThreads, 0, on>>>(*job);
  else
    byte_columns_kernel<false><<<blocks, kPyramidThreads, 0, on>>>(*job);
  return cf_cuda_launched("decimating columns", status);
}

bool cf_pyramid_rows(const CfPyramidJob *job, bool wide, int blocks, int bytes, void *stream,
                     CfStatus *status)
{
  return cf_launch_after(wide ? rows_kernel<uint16_t> : rows_kernel<uint8_t>, blocks, bytes, stream,
                         "decimating rows", status, *job);
}
