/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * First launch of the fp32 pyramid: the prefilter along columns, of whose output one row in D is
 * computed. A thread makes a strip of fine rows of one column of words of four samples.
 */
#include "cuda/common/alpha.cuh"
#include "cuda/common/int_math.cuh"
#include "cuda/pyramid/fp32.cuh"

namespace cf::pyramid
{

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

/* A column of words: loads the words of its rows, which the border may extend. */
template <typename Sample> struct Column {
  typedef typename Fp32Types<Sample>::Word Word;
  const Fp32Plane &plane;
  const int index; /* of the word in a row */
  const int count; /* of the word's samples that lie in the row */
  Word border;

  __device__ Column(const Fp32Plane &plane, int index)
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
    const int folded = fold_index(plane.y.border, y, plane.height);

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

/* Codes less their centre. */
__device__ inline void to_floats(const Fp32Plane &plane, uint32_t word, float (&value)[4])
{
#pragma unroll
  for (int j = 0; j < 4; j++)
    value[j] =
        __uint_as_float(__byte_perm(word, kWholeBits, 0x7440 + j)) - (kWhole + plane.centre[j]);
}

__device__ inline void to_floats(const Fp32Plane &plane, uint2 word, float (&value)[4])
{
#pragma unroll
  for (int j = 0; j < 4; j++)
    value[j] = (float)(sample_of(word, j) >> plane.shift) - plane.centre[j];
}

/* ---- columns ---- */

/* A thread's word, and the fine rows first .. end - 1 of its strip. */
struct Strip {
  int word, first, end;

  __device__ Strip(const Fp32Plane &plane, int cta)
  {
    const int words = words_of(plane);
    const int across = div_up(words, kThreads);

    word = cta % across * kThreads + (int)threadIdx.x;
    first = plane.fine_first + cta / across * plane.strip;
    end = word < words ? min(first + plane.strip, plane.fine_end) : first;
  }
};

/* Stores the samples of a word to one fine row after the other. Offsets are computed once: the
 * divisions would cost more than the taps of a row. */
template <typename Store> struct FineWord {
  Store *row; /* the next one */
  const int pitch, count;
  int at[4];

  __device__ FineWord(const Fp32Plane &plane, int word, int first)
      : row((Store *)plane.decimated_y +
            (size_t)(first - plane.fine_first) * plane.decimated_y_pitch),
        pitch(plane.decimated_y_pitch), count(min(4, plane.samples - 4 * word))
  {
#pragma unroll
    for (int j = 0; j < 4; j++) {
      const int x = (4 * word + j) / plane.channels, channel = 4 * word + j - x * plane.channels;

      at[j] = channel * plane.decimated_y_rows * plane.decimated_y_pitch + x;
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

/* Moves on by one fine row: sum[k] is that of the fine row which the current D source rows reach by
 * taps D k .. D k + D - 1. */
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

template <typename Sample, int D>
__device__ inline void decimate_columns(const Fp32Job &job, const Fp32Plane &plane, int cta)
{
  typedef typename Fp32Types<Sample>::Word Word;
  constexpr int K = kPrefilterSpan<Sample, D>;
  const Strip strip(plane, cta);
  float sum[K][4] = {};
  Word ahead[D];

  if (strip.first >= strip.end)
    return;
  const Column<Sample> column(plane, strip.word);
  FineWord<typename Fp32Types<Sample>::Store> fine(plane, strip.word, strip.first);
  column.load(D * strip.first + plane.y.prefilter_first, ahead);

  /* Group g is D source rows, which contribute to the fine rows g - K + 1 to g. The rows of the
   * next group are loaded meanwhile. */
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
        premultiply(value, plane.alpha == 0);
#pragma unroll
      for (int k = 0; k < K; k++) {
#pragma unroll
        for (int j = 0; j < 4; j++)
          sum[k][j] = fmaf(job.prefilter[factor_log2(D)][D * k + p], value[j], sum[k][j]);
      }
    }
    if (g - K + 1 >= strip.first)
      fine.store(sum[K - 1]);
    next_row(sum);
  }
}

/* CTAs per SM for __launch_bounds__; for 16-bit samples no bound on the registers. */
template <typename Sample>
constexpr int kVerticalCtas = sizeof(Sample) == 1 ? kFp32VerticalCtasPerSm : 1;

template <typename Sample>
__global__ void __launch_bounds__(kThreads, kVerticalCtas<Sample>)
    decimate_vertical_kernel(const __grid_constant__ Fp32Job job)
{
  int cta;
  const Fp32Plane &plane = plane_of_cta(job, &Fp32Plane::vertical_first_cta, &cta);

  pdl_trigger();
  switch (plane.y.factor) {
  case 1:
    return decimate_columns<Sample, 1>(job, plane, cta);
  case 2:
    return decimate_columns<Sample, 2>(job, plane, cta);
  case 4:
    return decimate_columns<Sample, 4>(job, plane, cta);
  default:
    return decimate_columns<Sample, 8>(job, plane, cta);
  }
}

} // namespace

bool fp32_decimate_vertical(const Fp32Job *job, const Fp32LaunchPlan &plan, void *stream,
                            CfStatus *status)
{
  const auto kernel =
      plan.wide ? decimate_vertical_kernel<uint16_t> : decimate_vertical_kernel<uint8_t>;

  return launch_first(kernel, job, plan.vertical_ctas, kThreads, stream, "decimating columns",
                      status);
}

} // namespace cf::pyramid
