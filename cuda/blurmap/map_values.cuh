/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The map's value m, 0 .. 1, of samples, for the kernels of blur maps.
 */
#pragma once

#include "cuda/blurmap/map_types.cuh"

namespace cf::blurmap
{

template <typename Sample>
__device__ inline int code_at(const MapJob &job, const MapPlane &plane, int x, int y, int channel)
{
  const Sample *row = (const Sample *)(plane.source + (ptrdiff_t)y * plane.source_stride);

  return (int)__ldg(row + (size_t)x * plane.channels + channel) >> job.shift;
}

/* Adds the mixer's terms, for a map that is the picture's luma or alpha. With `Subsampled` the
 * value of a sample is the mean of 2x2 luma pixels, of which some are the same at the edges or
 * along an axis that is not subsampled. Indices are clamped to the picture. */
template <typename Sample, bool Subsampled, int Rows>
__device__ inline void picture_rows(const MapJob &job, const MapPlane &plane, int x, int y0,
                                    float (&m)[Rows])
{
  const int left = min(x << plane.shift_x, job.luma_width - 1),
            right = min(left + plane.shift_x, job.luma_width - 1);

#pragma unroll 1
  for (int i = 0; i < job.mixer.terms; i++) {
    const MapPlane &of = job.of_mixer[i];
    const int channel = job.mixer.term[i].channel;
    int sum[Rows];

#pragma unroll
    for (int k = 0; k < Rows; k++) {
      const int top = min((y0 + k) << plane.shift_y, job.luma_height - 1);
      const int bottom = min(top + plane.shift_y, job.luma_height - 1);

      sum[k] = code_at<Sample>(job, of, left, top, channel);
      if (Subsampled)
        sum[k] += code_at<Sample>(job, of, right, top, channel) +
                  code_at<Sample>(job, of, left, bottom, channel) +
                  code_at<Sample>(job, of, right, bottom, channel);
    }
#pragma unroll
    for (int k = 0; k < Rows; k++)
      m[k] += job.mixer.term[i].weight * (float)sum[k] * (Subsampled ? 0.25f : 1.0f);
  }
#pragma unroll
  for (int k = 0; k < Rows; k++)
    m[k] = __saturatef(m[k]);
}

/* m by the size of the region that covers the sample. */
__device__ inline float region_map(const MapJob &job, const MapPlane &plane,
                                   const CfTileShapes &shapes, int x, int y)
{
  const CfCovered covered =
      cf_sample_coverage(job.list, shapes, x, y, plane.shift_x, plane.shift_y);

  if (covered.coverage <= 0)
    return 0.0f;
  const int side = cf_shape_at(job.list, covered.owner).side;
  return fminf(fminf(job.relative * (float)side, (float)CF_LARGEST_SIGMA) / job.largest, 1.0f);
}

/* For maps by regions: finds the shapes that may touch `width` x `height` samples. By all threads
 * of a CTA. */
__device__ inline void find_shapes(const MapJob &job, const MapPlane &plane, int x0, int y0,
                                   int width, int height, CfTileShapes *shapes)
{
  if (job.mode == CF_MAP_NONE)
    cf_find_shapes(job.list,
                   {x0 << plane.shift_x, y0 << plane.shift_y, (x0 + width) << plane.shift_x,
                    (y0 + height) << plane.shift_y},
                   shapes);
}

/* m of the samples in column `x`, rows y0 .. y0 + Rows - 1. Outside the plane it is any number. */
template <typename Sample, int Rows>
__device__ inline void map_rows(const MapJob &job, const MapPlane &plane,
                                const CfTileShapes &shapes, int x, int y0, float (&m)[Rows])
{
#pragma unroll
  for (int k = 0; k < Rows; k++)
    m[k] = job.mixer.offset;
  if (job.mode == CF_MAP_LUMA || job.mode == CF_MAP_ALPHA) {
    if (plane.shift_x | plane.shift_y)
      picture_rows<Sample, true>(job, plane, x, y0, m);
    else
      picture_rows<Sample, false>(job, plane, x, y0, m);
  } else if (job.mode == CF_MAP_FILE) {
#pragma unroll
    for (int k = 0; k < Rows; k++)
      m[k] = cf_map_bilinear(&plane.shape, job.values, x, y0 + k);
  } else if (job.mode == CF_MAP_NONE) {
#pragma unroll 1
    for (int k = 0; k < Rows; k++) {
      const float here = region_map(job, plane, shapes, x, y0 + k);
#pragma unroll
      for (int i = 0; i < Rows; i++)
        m[i] = i == k ? here : m[i];
    }
  } else {
#pragma unroll
    for (int k = 0; k < Rows; k++)
      m[k] = cf_map_analytic(&plane.shape, x, y0 + k);
  }
}

/* The LOD of m; `lod` is CfBlurLevels.position. */
__device__ inline float lod_of(const float *lod, float m)
{
  const float scaled = m * CF_BLUR_TABLE;
  const int entry = (int)scaled;

  return lod[entry] + (scaled - (float)entry) * (lod[entry + 1] - lod[entry]);
}

} // namespace cf::blurmap
