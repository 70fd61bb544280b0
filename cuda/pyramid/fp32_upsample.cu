/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Last launch of the fp32 pyramid: the cubic B-spline along rows and columns, to codes. A thread
 * makes a strip of one word of four samples, and keeps the coarse rows that it is between.
 */
#include "cuda/common/alpha.cuh"
#include "cuda/common/int_math.cuh"
#include "cuda/pyramid/fp32.cuh"

namespace cf::pyramid
{

namespace
{

/* The weights of the four coarse samples that phase `phase` of a cell reads. Returns which is the
 * first, from that of the cell. */
__device__ inline int spline_weights(int factor, int phase, float (&to)[4])
{
  const float position = (phase - 0.5f * (float)(factor - 1)) / (float)factor;
  const float f = position - floorf(position), g = 1.0f - f;

  if (factor == 1) {
    to[0] = to[1] = to[3] = 0.0f;
    to[2] = 1.0f;
    return -2;
  }
  to[0] = g * g * g * (1.0f / 6);
  to[1] = (4.0f - 6.0f * f * f + 3.0f * f * f * f) * (1.0f / 6);
  to[2] = (4.0f - 6.0f * g * g + 3.0f * g * g * g) * (1.0f / 6);
  to[3] = f * f * f * (1.0f / 6);
  return 2 * phase < factor ? -2 : -1;
}

/* Four samples next to each other, of one channel after the other, in coarse rows. */
struct Word {
  const Fp32Plane &plane;
  int offset[4][4]; /* [sample][coarse sample] */
  float weight[4][4];

  __device__ Word(const Fp32Plane &plane, int index) : plane(plane)
  {
    const Fp32Axis &axis = plane.x;

#pragma unroll
    for (int j = 0; j < 4; j++) {
      const int sample = min(4 * index + j, plane.samples - 1);
      const int x = sample / plane.channels, cell = x / axis.factor;
      const int first = cell + spline_weights(axis.factor, x - cell * axis.factor, weight[j]);

#pragma unroll
      for (int k = 0; k < 4; k++)
        offset[j][k] =
            (min(max(first + k, axis.coarse_first), axis.coarse_end - 1) - axis.coarse_first) *
                plane.channels +
            sample - x * plane.channels;
    }
  }

  /* What coarse row `y` gives. */
  __device__ void interpolate(int y, float (&value)[4]) const
  {
    const int inside = min(max(y, plane.coarse_first), plane.coarse_end - 1) - plane.coarse_first;
    const float *from = plane.coarse + (size_t)inside * plane.channels *
                                           (plane.x.coarse_end - plane.x.coarse_first);

#pragma unroll
    for (int j = 0; j < 4; j++) {
      value[j] = 0.0f;
#pragma unroll
      for (int k = 0; k < 4; k++)
        value[j] = fmaf(weight[j][k], from[offset[j][k]], value[j]);
    }
  }
};

/* Sums of what differs from the centres, of a whole pixel where alpha weights, to codes. */
__device__ inline void to_codes(const Fp32Plane &plane, const float (&sum)[4], uint32_t (&code)[4])
{
  const bool weighted = plane.alpha >= 0;
  const float alpha = weighted ? (plane.alpha == 0 ? sum[0] : sum[3]) + 255.0f : 255.0f;
  const Unpremultiply unpremultiply(alpha);

#pragma unroll
  for (int j = 0; j < 4; j++) {
    const float value = weighted && j != plane.alpha
                            ? unpremultiply(sum[j], plane.centre[j], plane.transparent_code[j])
                            : sum[j] + plane.centre[j];

    code[j] = (uint32_t)fminf(fmaxf(value + kRoundHalf, 0.0f), (float)plane.max_code)
              << plane.shift;
  }
}

/* The first samples of `code` that lie in the row; the row starts at `to`. */
template <typename Sample>
__device__ inline void store(const Fp32Plane &plane, uint8_t *to, int word,
                             const uint32_t (&code)[4])
{
  const int count = min(4, plane.samples - 4 * word);
  Sample *sample = (Sample *)to + 4 * (size_t)word;

  if (plane.vector && count == 4) {
    if constexpr (sizeof(Sample) == 1)
      *(uint32_t *)sample = code[0] | code[1] << 8 | code[2] << 16 | code[3] << 24;
    else
      *(uint2 *)sample = make_uint2(code[0] | code[1] << 16, code[2] | code[3] << 16);
    return;
  }
#pragma unroll
  for (int j = 0; j < 4; j++) {
    if (j < count)
      sample[j] = (Sample)code[j];
  }
}

template <typename Sample>
__global__ void __launch_bounds__(kThreads, kFp32UpsampleCtasPerSm)
    upsample_kernel(const __grid_constant__ Fp32Job job)
{
  int cta;
  const Fp32Plane &plane = plane_of_block(job, &Fp32Plane::upsample_first_cta, &cta);
  const int words = div_up(plane.samples, 4), across = div_up(words, kThreads);
  const int index = cta % across * kThreads + (int)threadIdx.x;
  const int strip = plane.first / kFp32UpsampleStripRows + cta / across;
  const int first = max(strip * kFp32UpsampleStripRows, plane.first);
  const int end = min((strip + 1) * kFp32UpsampleStripRows, plane.end), D = plane.y.factor;

  pdl_wait();
  if (index >= words)
    return;
  const Word word(plane, index);
  float near[5][4]; /* coarse rows cell - 2 to cell + 2 */

#pragma unroll
  for (int k = 0; k < 4; k++)
    word.interpolate(first / D - 2 + k, near[k + 1]);
  for (int cell = first / D; cell * D < end; cell++) {
#pragma unroll
    for (int k = 0; k < 4; k++) {
#pragma unroll
      for (int j = 0; j < 4; j++)
        near[k][j] = near[k + 1][j];
    }
    word.interpolate(cell + 2, near[4]);
    for (int y = max(cell * D, first); y < min(cell * D + D, end); y++) {
      float weight[4], sum[4] = {};
      uint32_t code[4];
      const bool later = spline_weights(D, y - cell * D, weight) == -1;

#pragma unroll
      for (int k = 0; k < 4; k++) {
#pragma unroll
        for (int j = 0; j < 4; j++)
          sum[j] = fmaf(weight[k], later ? near[k + 1][j] : near[k][j], sum[j]);
      }
      to_codes(plane, sum, code);
      store<Sample>(plane, plane.destination + (ptrdiff_t)y * plane.destination_stride, index,
                    code);
    }
  }
}

} // namespace

bool fp32_upsample(const Fp32Job *job, const Fp32LaunchPlan &plan, void *stream, CfStatus *status)
{
  return launch_job(plan.wide ? upsample_kernel<uint16_t> : upsample_kernel<uint8_t>, job,
                    plan.upsample_ctas, kThreads, 0, stream, "enlarging the blur pyramid", status);
}

} // namespace cf::pyramid
