/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Up the pyramid of the local Laplacian filter: each level's Laplacian coefficients are added to
 * the coarser level, expanded; at level 0 the result is written to the picture, and colours follow.
 * Runs on every GPU; the mma_* kernels replace it where they apply. A thread computes a quad.
 *
 * The `term` of a pixel is S_l of plan/llf_plan.h, or for engine=sampled the interpolated
 * coefficient: without the linear part.
 */
#include "cuda/llf/pixel_io.cuh"
#include "cuda/llf/pyramid_ops.cuh"
#include "cuda/llf/remap_curve.cuh"

namespace cf::llf
{
namespace
{

constexpr int kCtaX = 32, kCtaY = 8;

dim3 quad_grid(int width, int height)
{
  return dim3(blocks((width + 1) / 2, kCtaX), blocks((height + 1) / 2, kCtaY));
}

/* A level and the next coarser one. Level 0 has neither groups nor Gaussian in memory. */
struct Levels {
  Level own, coarse;
  int groups;
};

Levels levels_at(const Pyramid &pyramid, int fine)
{
  return Levels{pyramid.level[fine], pyramid.level[fine + 1], pyramid.groups};
}

/* ---- Terms of a quad ---- */

/* engine=fast: the sum over n of cos (w_n g) L[b_n sin w_n I] - sin (w_n g) L[b_n cos w_n I]. */
__device__ void term_of_quad(const Series &series, const Levels &levels, int x, int y,
                             const float gauss[4], float term[4])
{
  const Level &coarse = levels.coarse, &own = levels.own;
  const int groups = levels.groups;
  const Neighbours at = neighbours(x, y, coarse.width, coarse.height);

#pragma unroll
  for (int i = 0; i < 4; i++)
    term[i] = 0.0f;

  for (int group = 0; group < groups; group++) {
    uint4 coarse_groups[3][3], own_groups[4];

#pragma unroll
    for (int row = 0; row < 3; row++) {
#pragma unroll
      for (int column = 0; column < 3; column++)
        coarse_groups[row][column] =
            coarse.groups[(at.row[row] + at.column[column]) * groups + group];
    }
    if (own.groups) {
#pragma unroll
      for (int i = 0; i < 4; i++) {
        const int own_x = min(2 * x + (i & 1), own.width - 1);
        const int own_y = min(2 * y + (i >> 1), own.height - 1);
        own_groups[i] = own.groups[((size_t)own_y * own.width + own_x) * groups + group];
      }
    }

#pragma unroll
    for (int k = 0; k < 4; k++) {
      const int n = 4 * group + k;
      float2 pairs[3][3], expanded[4];

#pragma unroll
      for (int row = 0; row < 3; row++) {
#pragma unroll
        for (int column = 0; column < 3; column++)
          pairs[row][column] = unpack(word(coarse_groups[row][column], k));
      }
      expand_quad(pairs, expanded);
#pragma unroll
      for (int i = 0; i < 4; i++) {
        float sine, cosine;

        sincos_harmonic(series, n, gauss[i], &sine, &cosine);
        /* At level 0 a pixel's own components cancel in its term, but for their rounding to fp16:
         * the coarser level is rounded, too, so flat areas only cancel with it. */
        const uint32_t here = own.groups
                                  ? word(own_groups[i], k)
                                  : pack(make_float2(series.b[n] * sine, series.b[n] * cosine));
        const float2 laplacian = sum(unpack(here), scaled(-1.0f, expanded[i]));
        term[i] += cosine * laplacian.x - sine * laplacian.y;
      }
    }
  }
}

/* The Laplacian coefficient of the batch's sampled intensity `sample` at pixel i of the quad, in
 * stored units; 0 for samples of other batches. `own` is the pixel's index in the level. */
__device__ float sampled_coefficient(const Samples &samples, const Levels &levels,
                                     const Neighbours &at, int i, size_t own, float gauss,
                                     int sample)
{
  const int16_t *const coarse = (const int16_t *)levels.coarse.groups + sample;
  const int stride = 8 * levels.groups;
  float neighbourhood[3][3], expanded[4];

  if (sample < 0 || sample >= samples.count)
    return 0.0f;
#pragma unroll
  for (int row = 0; row < 3; row++) {
#pragma unroll
    for (int column = 0; column < 3; column++)
      neighbourhood[row][column] = (float)coarse[(at.row[row] + at.column[column]) * stride];
  }
  expand_quad(neighbourhood, expanded);
  const float here = levels.own.groups
                         ? (float)((const int16_t *)levels.own.groups)[own * stride + sample]
                         : rintf(sample_delta(samples, sample, gauss));
  return here - (i == 0 ? expanded[0] : i == 1 ? expanded[1] : i == 2 ? expanded[2] : expanded[3]);
}

/* engine=sampled: interpolates between the coefficients of the two sampled intensities next to g,
 * or adds this batch's part of that sum. */
__device__ void term_of_quad(const Samples &samples, const Levels &levels, int x, int y,
                             const float gauss[4], float term[4])
{
  const Level &coarse = levels.coarse, &own = levels.own;
  const Neighbours at = neighbours(x, y, coarse.width, coarse.height);

#pragma unroll
  for (int i = 0; i < 4; i++) {
    const float position = __saturatef(gauss[i]) * (float)(samples.levels - 1);
    const int lower = min((int)position, samples.levels - 2), sample = lower - samples.first;
    const float weight = position - (float)lower;
    const int own_x = min(2 * x + (i & 1), own.width - 1);
    const int own_y = min(2 * y + (i >> 1), own.height - 1);
    const size_t index = (size_t)own_y * own.width + own_x;

    term[i] =
        ((1.0f - weight) * sampled_coefficient(samples, levels, at, i, index, gauss[i], sample) +
         weight * sampled_coefficient(samples, levels, at, i, index, gauss[i], sample + 1)) *
        __frcp_rn(samples.units);
  }
}

/* ---- Weights ---- */

/* The weights of a level, one per quad, if it has any; and the factor of the linear part, which is
 * weighted with the terms. */
struct QuadWeights {
  CellWeights cells;
  float linear;

  __device__ void apply(const Level &coarse, int x, int y, const float gauss[4],
                        float term[4]) const
  {
    float mean[4];

    if (!cells.plane)
      return;
    if (linear != 0.0f) {
      expand_plane(coarse.gauss, neighbours(x, y, coarse.width, coarse.height), mean);
#pragma unroll
      for (int i = 0; i < 4; i++)
        term[i] += linear * (gauss[i] - mean[i]);
    }
    const float weight = __half2float(weight_at(cells, x, y));
#pragma unroll
    for (int i = 0; i < 4; i++)
      term[i] *= weight;
  }
};

/* `linear` is 0 for all batches but the last. */
QuadWeights weights_at(const Pyramid &pyramid, int level, float linear)
{
  return QuadWeights{level < pyramid.weighted ? pyramid.weights[level] : CellWeights{}, linear};
}

/* ---- Levels coarser than 0 ---- */

/* What collapsing adds to a level's terms, and then applies. */
struct Additions {
  bool coarser;  /* the coarser collapsed image, expanded */
  bool previous; /* the level's collapsed image, where earlier batches left their terms */
  GaussianMix mix;
};

template <typename Components>
__global__ void __launch_bounds__(kCtaX *kCtaY)
    collapse_kernel(Levels levels, Components components, QuadWeights weights, Additions additions)
{
  const Level &own = levels.own, &coarse = levels.coarse;
  const int x = blockIdx.x * kCtaX + threadIdx.x, y = blockIdx.y * kCtaY + threadIdx.y;
  float gauss[4], total[4], expanded[4] = {0};

  pdl_trigger_then_wait();
  if (x >= coarse.width || y >= coarse.height)
    return;

#pragma unroll
  for (int i = 0; i < 4; i++)
    gauss[i] = own.gauss[(size_t)min(2 * y + (i >> 1), own.height - 1) * own.width +
                         min(2 * x + (i & 1), own.width - 1)];
  const Neighbours at = neighbours(x, y, coarse.width, coarse.height);

  term_of_quad(components, levels, x, y, gauss, total);
  weights.apply(coarse, x, y, gauss, total);
  if (additions.coarser)
    expand_plane(coarse.collapsed, at, expanded);

#pragma unroll
  for (int i = 0; i < 4; i++) {
    const int own_x = 2 * x + (i & 1), own_y = 2 * y + (i >> 1);

    if (own_x >= own.width || own_y >= own.height)
      continue;
    float *const to = own.collapsed + (size_t)own_y * own.width + own_x;
    const float collapsed = total[i] + expanded[i] + (additions.previous ? *to : 0.0f);
    *to = fmaf(additions.mix.share, collapsed, additions.mix.gauss * gauss[i]);
  }
}

/* ---- Level 0 ---- */

/* Stores a batch's terms in `base`, [height][width]; with `add` they are added to those of earlier
 * batches. */
template <typename Components>
__global__ void __launch_bounds__(kCtaX *kCtaY)
    base_kernel(Pixels pixels, Levels levels, Components components, QuadWeights weights,
                float *base, bool add)
{
  const int x = blockIdx.x * kCtaX + threadIdx.x, y = blockIdx.y * kCtaY + threadIdx.y;
  float luma[4], total[4];

  pdl_trigger_then_wait();
  if (2 * x >= pixels.width || 2 * y >= pixels.height)
    return;
  load_quad(pixels, 2 * x, 2 * y, luma);
#pragma unroll
  for (int i = 0; i < 4; i++)
    luma[i] = __saturatef(luma[i]);
  term_of_quad(components, levels, x, y, luma, total);
  weights.apply(levels.coarse, x, y, luma, total);

#pragma unroll
  for (int i = 0; i < 4; i++) {
    const int own_x = 2 * x + (i & 1), own_y = 2 * y + (i >> 1);

    if (own_x >= pixels.width || own_y >= pixels.height)
      continue;
    float *const to = base + (size_t)own_y * pixels.width + own_x;
    *to = total[i] + (add ? *to : 0.0f);
  }
}

/* Writes the picture: to an intensity I the filter adds share * (base + level 1 expanded) +
 * linear * I. */
__global__ void __launch_bounds__(kCtaX *kCtaY)
    output_kernel(Pixels pixels, RgbFactors factors, const float *base, const float *coarse,
                  float share, float linear)
{
  const int x = blockIdx.x * kCtaX + threadIdx.x, y = blockIdx.y * kCtaY + threadIdx.y;
  const int width = pixels.width, height = pixels.height;
  float luma[4], added[4];

  pdl_trigger_then_wait();
  if (2 * x >= width || 2 * y >= height)
    return;
  load_quad(pixels, 2 * x, 2 * y, luma);
  expand_plane(coarse, neighbours(x, y, (width + 1) / 2, (height + 1) / 2), added);
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const int own_x = min(2 * x + (i & 1), width - 1), own_y = min(2 * y + (i >> 1), height - 1);

    added[i] = fmaf(linear, __saturatef(luma[i]),
                    share * (added[i] + base[(size_t)own_y * width + own_x]));
  }
  store_quad(pixels, factors, 2 * x, 2 * y, added);
}

bool launch_output(Queue *queue, const Pixels &pixels, const float *base, const float *coarse,
                   float share, float linear)
{
  return launch(queue, "llf finish", output_kernel, quad_grid(pixels.width, pixels.height),
                dim3(kCtaX, kCtaY), 0, pixels, rgb_factors_of(pixels, 0.0f), base, coarse, share,
                linear);
}

} // namespace

template <typename Components>
bool collapse_level(Queue *queue, const Components &components, const Batch &batch,
                    const Pyramid &pyramid, int fine)
{
  const Level &own = pyramid.level[fine];
  const float linear = batch.last ? components.linear : 0.0f;
  const GaussianMix mix =
      batch.last ? gaussian_mix_of(pyramid, linear, fine) : GaussianMix{1.0f, 0.0f};

  return launch(queue, "llf expand", collapse_kernel<Components>, quad_grid(own.width, own.height),
                dim3(kCtaX, kCtaY), 0, levels_at(pyramid, fine), components,
                weights_at(pyramid, fine, linear), Additions{batch.last, !batch.first, mix});
}

template <typename Components>
bool write_output(Queue *queue, const Pixels &pixels, const Components &components,
                  const Batch &batch, const Pyramid &pyramid)
{
  const QuadWeights weights = weights_at(pyramid, 0, batch.last ? components.linear : 0.0f);

  return launch(queue, "llf level 0", base_kernel<Components>,
                quad_grid(pixels.width, pixels.height), dim3(kCtaX, kCtaY), 0, pixels,
                levels_at(pyramid, 0), components, weights, batch.base, !batch.first) &&
         (!batch.last || launch_output(queue, pixels, batch.base, pyramid.level[1].collapsed, 1.0f,
                                       weights.cells.plane ? 0.0f : components.linear));
}

bool write_plane(Queue *queue, const Pixels &pixels, const float *base, const float *collapsed,
                 float share)
{
  return launch_output(queue, pixels, base, collapsed, share, -share);
}

template bool collapse_level(Queue *, const Series &, const Batch &, const Pyramid &, int);
template bool collapse_level(Queue *, const Samples &, const Batch &, const Pyramid &, int);
template bool write_output(Queue *, const Pixels &, const Series &, const Batch &, const Pyramid &);
template bool write_output(Queue *, const Pixels &, const Samples &, const Batch &,
                           const Pyramid &);

} // namespace cf::llf
