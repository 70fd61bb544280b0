/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Second launch of the fp32 pyramid: along each fine row the prefilter, of whose outputs one in D
 * is computed, then the coarse filter. A CTA makes a segment of a row, with these arrays in shared
 * memory: taps, source samples by phase (index modulo D), fine samples, and the fine samples with
 * those beyond the stored ones repeated.
 */
#include "cuda/common/int_math.cuh"
#include "cuda/pyramid/fp32.cuh"

namespace cf::pyramid
{

namespace
{

/* Floats of one phase in shared memory. 4 modulo 8: sort_four() stores to different phases at once,
 * which then have few bank conflicts. */
__host__ __device__ inline int phase_stride(int fine, int span)
{
  return round_up(round_up(fine, 4) + round_up(span + 3, 4) - 4, 8) + 4;
}

/* Adds the prefilter's sums of the segment's fine samples 4 i to 4 i + 3. */
template <int D, int K>
__device__ inline void prefilter_four(const Fp32Job &job, const float *phases, int stride, int i,
                                      float (&sum)[4])
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
        sum[o] = fmaf(job.prefilter[factor_log2(D)][D * k + p], sample[o + k], sum[o]);
    }
  }
}

/* Four coarse samples side by side. */
__device__ inline float4 filter_four(const float *taps, int groups, const float *fine)
{
  float sum[4] = {};
  float4 before = make_float4(0.0f, 0.0f, 0.0f, 0.0f);

  for (int group = 0; group < groups; group++) {
    const float4 four = *(const float4 *)(fine + 4 * group);
    const float4 tap = *(const float4 *)(taps + 4 * group);
    const float sample[4] = {four.x, four.y, four.z, four.w};

    accumulate(sum, sample, before, tap);
    before = tap;
  }
  return make_float4(sum[0], sum[1], sum[2], sum[3]);
}

template <typename Store> struct alignas(4 * sizeof(Store)) StoredFour {
  Store sample[4];
};

/* Stores four source samples by phase. The first is number `i` of the `count` samples that the
 * segment reads; those outside 0 .. count - 1 are not needed. */
template <int D, typename Store>
__device__ inline void sort_four(const StoredFour<Store> &four, int i, int count, float *phases,
                                 int stride)
{
  if (D >= 4 && i % 2 == 0) {
    /* No check against `count`: a phase has room for a few samples more. */
#pragma unroll
    for (int j = 0; j < 4; j += 2) {
      float *to = phases + (i + j) % D * stride + (i + j) / D;

      if (i + j >= 0) {
        to[0] = (float)four.sample[j];
        to[stride] = (float)four.sample[j + 1];
      }
    }
  } else {
#pragma unroll
    for (int j = 0; j < 4; j++) {
      if (i + j >= 0 && i + j < count)
        phases[(i + j) % D * stride + (i + j) / D] = (float)four.sample[j];
    }
  }
}

/* Loads source samples left .. left + count - 1 of a row, which the border may extend, by phase. */
template <int D, typename Store>
__device__ inline void load_phases(const Fp32Axis &axis, const Store *from, int left, int count,
                                   float border, float *phases, int stride)
{
  constexpr int kAtOnce = 4; /* loads in flight per thread */
  const int shift = left & 3, base = left - shift, groups = (count + shift + 3) / 4;
  /* Groups inside .. outside - 1 lie in the row as a whole. */
  const int inside = min(base < 0 ? (3 - base) / 4 : 0, groups);
  const int outside = max(min((axis.size - base) >> 2, groups), inside);

  for (int first = inside + (int)threadIdx.x; first < outside; first += kAtOnce * kThreads) {
    StoredFour<Store> four[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; k++) {
      const int group = first + k * kThreads;
      if (group < outside)
        four[k] = *(const StoredFour<Store> *)(from + base + 4 * group);
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; k++) {
      const int group = first + k * kThreads;
      if (group < outside)
        sort_four<D>(four[k], 4 * group - shift, count, phases, stride);
    }
  }
  for (int i = (int)threadIdx.x; i < inside + groups - outside; i += kThreads) {
    const int group = i < inside ? i : outside + i - inside;
    StoredFour<Store> four;

    for (int j = 0; j < 4; j++) {
      const int folded = fold_index(axis.border, base + 4 * group + j, axis.size);
      four.sample[j] = folded < 0 ? (Store)border : from[folded];
    }
    sort_four<D>(four, 4 * group - shift, count, phases, stride);
  }
}

/* The coarse samples of a CTA: j0 .. j0 + outputs - 1 of one channel of a fine row, which is
 * counted from fine_first. */
struct Segment {
  int channel, row;
  int j0, outputs;

  __device__ Segment(const Fp32Plane &plane, int cta)
  {
    const Fp32Axis &axis = plane.x;
    const int across = (axis.coarse_end - axis.coarse_first + plane.segment - 1) / plane.segment;
    const int rows = plane.fine_end - plane.fine_first;
    const int line = cta / across;

    channel = line / rows;
    row = line - channel * rows;
    j0 = axis.coarse_first + (cta - line * across) * plane.segment;
    outputs = min(plane.segment, axis.coarse_end - j0);
  }
};

template <typename Sample, int D>
__device__ inline void filter_row(const Fp32Job &job, const Fp32Plane &plane, int cta, float *taps)
{
  typedef typename Fp32Types<Sample>::Store Store;
  constexpr int K = kPrefilterSpan<Sample, D>;
  const Fp32Axis &axis = plane.x;
  const Segment segment(plane, cta);
  /* Fine samples f0 .. f1 - 1 are computed; those that taps read beyond these repeat the edge. */
  const int wanted = segment.j0 + axis.coarse_taps_first;
  const int f0 = min(max(wanted, axis.stored_first), axis.stored_end - 1);
  const int f1 =
      min(max(wanted + segment.outputs - 1 + axis.coarse_taps_count, axis.stored_first + 1),
          axis.stored_end);
  const int fine = f1 - f0;
  const int stride = phase_stride(fine, K);
  const int extended = round_up(segment.outputs, 4) + 4 * axis.taps_groups;
  const Store *from =
      (const Store *)plane.decimated_y +
      (size_t)(segment.channel * plane.decimated_y_rows + segment.row) * plane.decimated_y_pitch;
  const float border =
      (float)(plane.border[segment.channel] >> plane.shift) - plane.centre[segment.channel];
  float *phases = taps + round_up(4 + 4 * axis.taps_groups, 4);
  float *fine_samples = phases + D * stride, *extended_samples = fine_samples + round_up(fine, 4);
  const int left = D * f0 + axis.prefilter_first;

  stage_taps(axis, taps);
  load_phases<D>(axis, from, left, D * (fine + K - 1), border, phases, stride);
  __syncthreads();

  for (int i = (int)threadIdx.x; i < (fine + 3) / 4; i += kThreads) {
    float sum[4] = {};
    prefilter_four<D, K>(job, phases, stride, i, sum);
    *(float4 *)(fine_samples + 4 * i) = make_float4(sum[0], sum[1], sum[2], sum[3]);
  }
  __syncthreads();

  for (int i = (int)threadIdx.x; i < extended; i += kThreads)
    extended_samples[i] = fine_samples[min(max(wanted + i - f0, 0), fine - 1)];
  __syncthreads();

  const int rows = plane.fine_end - plane.fine_first;
  float *to = plane.coarse_x +
              (size_t)(segment.channel * rows + segment.row) * plane.coarse_x_pitch +
              (segment.j0 - axis.coarse_first);
  for (int i = (int)threadIdx.x; i < (segment.outputs + 3) / 4; i += kThreads)
    *(float4 *)(to + 4 * i) = filter_four(taps + 4, axis.taps_groups, extended_samples + 4 * i);
}

template <typename Sample>
__global__ void __launch_bounds__(kThreads)
    decimate_horizontal_kernel(const __grid_constant__ Fp32Job job)
{
  extern __shared__ __align__(16) float shared[];
  int cta;
  const Fp32Plane &plane = plane_of_cta(job, &Fp32Plane::horizontal_first_cta, &cta);

  pdl_trigger();
  pdl_wait();
  switch (plane.x.factor) {
  case 1:
    return filter_row<Sample, 1>(job, plane, cta, shared);
  case 2:
    return filter_row<Sample, 2>(job, plane, cta, shared);
  case 4:
    return filter_row<Sample, 4>(job, plane, cta, shared);
  default:
    return filter_row<Sample, 8>(job, plane, cta, shared);
  }
}

} // namespace

int fp32_horizontal_shared_bytes(const Fp32Axis *axis, bool wide, int segment)
{
  const int span = axis->factor == 1 ? 1 : wide ? kPrefilterSpan16 : kPrefilterSpan8;
  const int fine = segment + axis->coarse_taps_count;

  return 4 * (axis->factor * phase_stride(fine, span) + round_up(fine, 4) + round_up(segment, 4) +
              8 * axis->taps_groups + 4);
}

bool fp32_decimate_horizontal(const Fp32Job *job, const Fp32LaunchPlan &plan, void *stream,
                              CfStatus *status)
{
  return launch_job(plan.wide ? decimate_horizontal_kernel<uint16_t>
                              : decimate_horizontal_kernel<uint8_t>,
                    job, plan.horizontal_ctas, kThreads, plan.horizontal_shared_bytes, stream,
                    "decimating rows", status);
}

} // namespace cf::pyramid
