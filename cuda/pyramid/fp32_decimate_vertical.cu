/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The way down the blur pyramid: columns.
 */
#include "cuda/pyramid/fp32.cuh"

namespace
{

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
  typedef typename CfPyramidKind<Sample>::Word Word;
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
    const int folded = cf::fold_index(plane.y.border, y, plane.height);

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

/* Where the samples of a word go in a fine row. Divisions would cost more than a row's taps. */
template <typename Store> struct FineWord {
  Store *row; /* the next one */
  const int pitch, count;
  int at[4];

  __device__ FineWord(const CfPyramidPlane &plane, int word, int first)
      : row((Store *)plane.columns + (size_t)(first - plane.fine_first) * plane.columns_pitch),
        pitch(plane.columns_pitch), count(min(4, plane.samples - 4 * word))
  {
#pragma unroll
    for (int j = 0; j < 4; j++) {
      const int x = (4 * word + j) / plane.channels, channel = 4 * word + j - x * plane.channels;

      at[j] = channel * plane.columns_rows * plane.columns_pitch + x;
    }
  }

  __device__ void store(const float (&sum)[4])
  {
#pragma unroll
    for (int j = 0; j < 4; j++) {
      if (j < count)
        row[at[j]] = (Store)sum[j];
    }
    row += pitch;
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
  typedef typename CfPyramidKind<Sample>::Word Word;
  constexpr int K = kPyramidCellsOf<Sample, D>;
  const Strip strip(plane, block);
  float sum[K][4] = {};
  Word ahead[D];

  if (strip.first >= strip.end)
    return;
  const Column<Sample> column(plane, strip.word);
  FineWord<typename CfPyramidKind<Sample>::Store> fine(plane, strip.word, strip.first);
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
      fine.store(sum[K - 1]);
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
  FineWord<__half> fine(plane, strip.word, strip.first);
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
      fine.store(sum[K - 1]);
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
  const int aside = plane.x.factor * (plane.x.low_count + kPyramidCellsWide);
  const int above = plane.y.factor * (plane.y.low_count + kPyramidCellsWide + kPyramidSpill);

  return cf_pyramid_is_needed(plane, left - aside, plane.y.factor * first - above, right + aside,
                              plane.y.factor * (first + plane.strip) + above);
}

template <bool Alpha>
__global__ void __launch_bounds__(kPyramidThreads, kPyramidColumnsBlocks)
    byte_columns_kernel(const __grid_constant__ CfPyramidJob job)
{
  int block;
  const CfPyramidPlane &plane = cf::plane_of_block(job, &CfPyramidPlane::columns_blocks, &block);

  cf::pdl_trigger();
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
  const CfPyramidPlane &plane = cf::plane_of_block(job, &CfPyramidPlane::columns_blocks, &block);

  cf::pdl_trigger();
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

} // namespace

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
