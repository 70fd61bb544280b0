/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The order of a frame's kernels on tensor cores.
 */
#include "cuda/common/int_math.cuh"
#include "cuda/llf/types.cuh"

#include <stdio.h>

CfLlfPlanOverride cf_llf_plan_override = {-1, -1, -1, -1, -1};

namespace cf::llf
{
namespace
{

/* Levels 3 to `last`. */
bool reduce_levels(Queue *queue, const Series &series, const Pyramid &pyramid, int last)
{
  for (int fine = 2; fine < last; fine++) {
    if (!mma_downsample(queue, pyramid, fine, -series.linear))
      return false;
  }
  return true;
}

/* Components of levels 3 and up, as far as the coarse levels' kernel does not make them. */
bool run_downsamples(Queue *queue, const FramePlan &plan, const Series &series,
                     const Pyramid &pyramid)
{
  return plan.fuse_levels_3_4 ? mma_downsample_x2(queue, pyramid, 2, -series.linear)
                              : reduce_levels(queue, series, pyramid, plan.coarse_first_level);
}

/* From them the collapsed image of the coarse levels' first. */
bool run_coarse(Queue *queue, const Gpu &gpu, const FramePlan &plan, const Series &series,
                const Pyramid &pyramid)
{
  const int first = plan.coarse_first_level;

  return first == pyramid.images - 1 ||
         mma_coarse_levels(queue, gpu, plan.cluster_ctas, pyramid, first, series);
}

/* From collapsed level `last` down to the one that the last kernel begins with. */
bool expand_levels(Queue *queue, const Series &series, const Pyramid &pyramid, int last)
{
  for (int fine = last - 1; fine >= kOutputLevel; fine--) {
    if (!expand(queue, pyramid, fine, series))
      return false;
  }
  return true;
}

/* Laplacian coefficients of the finer levels. */
bool run_terms(Queue *queue, const Gpu &gpu, const FramePlan &plan, const Pixels &pixels,
               const Series &series, const Pyramid &pyramid)
{
  return mma_laplacian_fine(queue, gpu, plan, pixels, series, pyramid) &&
         mma_laplacian_coarse(queue, plan, pyramid, plan.join_level_1 ? 2 : 1,
                              smaller(plan.coarse_first_level, kOutputLevel), series);
}

/* CTAs of the coarse levels behind the kernel that makes levels 3 and 4; 0 where levels do not
 * allow that kernel. The last of all levels is made by another. */
int fused_cluster_ctas(const Gpu &gpu, int cluster_ctas, const Pyramid &pyramid)
{
  const int ctas = smaller(cluster_ctas, kFusedClusterCtas);

  return pyramid.images > 5 && mma_coarse_first_level(gpu, ctas, pyramid, 4) == 4 ? ctas : 0;
}

/* An override's choice, or the plan's own. */
int chosen(int forced, int own)
{
  return forced >= 0 ? forced : own;
}

} // namespace

bool mma_serves(const Gpu &gpu, const Pixels &pixels, int harmonics)
{
  return harmonics <= 4 * kMmaGroups && lut_kind_of(pixels) != LutKind::kNone &&
         gpu.shared_per_block >= kMinSharedBytes;
}

bool mma_open(const Gpu &gpu, int *cluster_ctas, CfStatus *status)
{
  return mma_prepare_build(gpu, status) && mma_prepare_downsample(gpu, status) &&
         mma_prepare_downsample_x2(gpu, status) && mma_prepare_laplacian_fine(gpu, status) &&
         mma_prepare_laplacian_coarse(gpu, status) &&
         mma_prepare_coarse_levels(gpu, cluster_ctas, status);
}

FramePlan plan_frame(const Gpu &gpu, int cluster_ctas, const Pixels &pixels, const Pyramid &pyramid)
{
  const CfLlfPlanOverride &forced = cf_llf_plan_override;
  const long long picture = (long long)pixels.width * pixels.height;
  const long long level_3 = (long long)pyramid.level[3].width * pyramid.level[3].height;
  const bool u8 = !pixels.wide && pixels.colour != Colour::RGB;
  const int ctas =
      forced.cluster_ctas >= 0 ? smaller(forced.cluster_ctas, cluster_ctas) : cluster_ctas;
  const int fused_ctas = fused_cluster_ctas(gpu, ctas, pyramid);
  FramePlan plan = {};

  /* Levels with weights are collapsed with the picture. */
  plan.coarse_first_level =
      mma_coarse_first_level(gpu, ctas, pyramid, pyramid.weighted > 2 ? pyramid.weighted : 2);
  plan.cluster_ctas = ctas;
  plan.fuse_levels_3_4 =
      fused_ctas > 0 && chosen(forced.fuse_levels_3_4,
                               plan.coarse_first_level > 2 &&
                                   level_3 <= (u8 ? kFuse34MaxPixelsU8 : kFuse34MaxPixelsOther));
  if (plan.fuse_levels_3_4) {
    plan.coarse_first_level = 4;
    plan.cluster_ctas = fused_ctas;
  }
  plan.large = chosen(forced.large, picture > kLargePicturePixels);
  plan.few_tiles =
      chosen(forced.few_tiles, mma_tiles_of_picture(pixels) < kMinTilesPerSm * gpu.multiprocessors);
  plan.join_level_1 = mma_joins_level_1(gpu, pixels, plan.large);
  plan.beside_coarse = gpu.overlaps && plan.coarse_first_level < pyramid.images - 1;
  plan.reserved_sms =
      plan.beside_coarse ? smaller(plan.cluster_ctas, gpu.multiprocessors / kMostReservedShare) : 0;
  return plan;
}

void describe_plan(const Gpu &gpu, int cluster_ctas, const Pixels &pixels,
                   const CfLlfPyramid &shape, int weighted, int harmonics, char text[64])
{
  Pyramid pyramid = {};

  pyramid.weighted = weighted;
  pyramid.images = shape.images;
  pyramid.groups = kMmaGroups;
  for (int i = 0; i < shape.images; i++) {
    pyramid.level[i].width = shape.width[i];
    pyramid.level[i].height = shape.height[i];
  }
  const FramePlan plan = plan_frame(gpu, cluster_ctas, pixels, pyramid);

  if (plan.coarse_first_level == shape.images - 1)
    snprintf(text, 64, "sine-%d mma, each level apart", harmonics);
  else
    snprintf(text, 64, "sine-%d mma, %scoarse from level %d on %d CTA%s", harmonics,
             plan.fuse_levels_3_4 ? "levels 3+4 fused, " : "", plan.coarse_first_level,
             plan.cluster_ctas, plan.cluster_ctas == 1 ? "" : "s");
}

bool mma_run(Queue *queue, int cluster_ctas, const Gpu &gpu, const Pixels &pixels,
             const Series &series, const Weighting &weighting, const Pyramid &pyramid)
{
  const FramePlan plan = plan_frame(gpu, cluster_ctas, pixels, pyramid);
  const int first = plan.coarse_first_level;

  return mma_build_levels_1_2(queue, gpu, plan, pixels, series, pyramid, -series.linear) &&
         run_downsamples(queue, plan, series, pyramid) &&
         (pyramid.weighted == 0 ||
          make_weights(queue, pixels, weighting, pyramid, plan.beside_coarse)) &&
         run_coarse(queue, gpu, plan, series, pyramid) &&
         run_terms(queue, gpu, plan, pixels, series, pyramid) &&
         expand_levels(queue, series, pyramid, first) &&
         (pyramid.weighted == 0 || series.linear == 0.0f ||
          add_linear_terms(queue, pixels, series, pyramid)) &&
         mma_output(queue, pixels, series, pyramid, smaller(first, kOutputLevel));
}

} // namespace cf::llf
