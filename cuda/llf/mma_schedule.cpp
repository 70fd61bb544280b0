/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The launch plan of a frame on tensor cores, and the order of its kernels (cuda/llf/README.md).
 */
#include "cuda/common/int_math.cuh"
#include "cuda/llf/types.cuh"

#include <stdio.h>

CfLlfPlanOverride cf_llf_plan_override = {-1, -1, -1, -1, -1};

namespace cf::llf
{
namespace
{

/* The CTAs of the coarse levels' cluster after the kernel that computes levels 3 and 4; 0 if the
 * pyramid rules that kernel out: level 4 must not be the coarsest, and must fit the cluster. */
int fused_cluster_ctas(const Gpu &gpu, int cluster_ctas, const Pyramid &pyramid)
{
  const int ctas = smaller(cluster_ctas, kFusedClusterCtas);

  return pyramid.images > 5 && mma_coarse_first_level(gpu, ctas, pyramid, 4) == 4 ? ctas : 0;
}

/* The override's choice, unless that is -1; then the plan's. */
int chosen(int forced, int planned)
{
  return forced >= 0 ? forced : planned;
}

} // namespace

bool mma_serves(const Gpu &gpu, const Pixels &pixels, int harmonics)
{
  return harmonics <= 4 * kMmaGroups && lut_kind_of(pixels) != LutKind::kNone &&
         gpu.shared_per_block >= kMinSharedBytes;
}

FramePlan plan_frame(const Gpu &gpu, const Pixels &pixels, const Pyramid &pyramid)
{
  const CfLlfPlanOverride &forced = cf_llf_plan_override;
  const int ctas =
      forced.cluster_ctas >= 0 ? smaller(forced.cluster_ctas, gpu.cluster_ctas) : gpu.cluster_ctas;
  const long long pixels_3 = (long long)pyramid.level[3].width * pyramid.level[3].height;
  const bool u8 = !pixels.wide && pixels.colour != Colour::RGB;
  const int fused_ctas = fused_cluster_ctas(gpu, ctas, pyramid);
  FramePlan plan = {};

  /* Weighted levels cannot be coarse ones: only the output kernel applies weights. */
  plan.coarse_first_level =
      mma_coarse_first_level(gpu, ctas, pyramid, pyramid.weighted > 2 ? pyramid.weighted : 2);
  plan.cluster_ctas = ctas;
  plan.fuse_levels_3_4 =
      fused_ctas > 0 && chosen(forced.fuse_levels_3_4,
                               plan.coarse_first_level > 2 &&
                                   pixels_3 <= (u8 ? kFuse34MaxPixelsU8 : kFuse34MaxPixelsOther));
  if (plan.fuse_levels_3_4) {
    plan.coarse_first_level = 4;
    plan.cluster_ctas = fused_ctas;
  }
  plan.large = chosen(forced.large, (long long)pixels.width * pixels.height > kLargePicturePixels);
  plan.beside_coarse = gpu.overlaps && plan.coarse_first_level < pyramid.images - 1;
  plan.reserved_sms =
      plan.beside_coarse ? smaller(plan.cluster_ctas, gpu.multiprocessors / kMostReservedShare) : 0;
  return plan;
}

void describe_plan(const Gpu &gpu, const Pixels &pixels, const Pyramid &pyramid, int harmonics,
                   char text[64])
{
  const FramePlan plan = plan_frame(gpu, pixels, pyramid);

  if (plan.coarse_first_level == pyramid.images - 1)
    snprintf(text, 64, "sine-%d mma, each level apart", harmonics);
  else
    snprintf(text, 64, "sine-%d mma, %scoarse from level %d on %d CTA%s", harmonics,
             plan.fuse_levels_3_4 ? "levels 3+4 fused, " : "", plan.coarse_first_level,
             plan.cluster_ctas, plan.cluster_ctas == 1 ? "" : "s");
}

bool mma_run(Queue *queue, const Pixels &pixels, const Series &series,
             const CfLlfWeights &weighting, const Pyramid &pyramid)
{
  const FramePlan plan = plan_frame(queue->gpu, pixels, pyramid);
  const int first = plan.coarse_first_level, last = smaller(first, kOutputLevel);
  const float top_gain = -series.linear;

  if (!mma_build_levels_1_2(queue, plan, pixels, series, pyramid, top_gain))
    return false;
  if (plan.fuse_levels_3_4 && !mma_downsample_x2(queue, pyramid, 2, top_gain))
    return false;
  for (int fine = 2; fine < first && !plan.fuse_levels_3_4; fine++) {
    if (!mma_downsample(queue, pyramid, fine, top_gain))
      return false;
  }
  if (pyramid.weighted > 0 && !make_moments(queue, pixels, pyramid, first > 2))
    return false;
  if (first < pyramid.images - 1 && !mma_coarse_levels(queue, plan, pyramid, series))
    return false;
  if (!mma_laplacian_fine(queue, plan, pixels, series, pyramid) ||
      !mma_laplacian_coarse(queue, plan, pixels, pyramid, last, series) ||
      (pyramid.weighted > 0 && !make_weights(queue, weighting, pyramid, plan.beside_coarse)))
    return false;
  for (int fine = first - 1; fine >= kOutputLevel; fine--) {
    if (!collapse_level(queue, series, Batch{true, true, nullptr}, pyramid, fine))
      return false;
  }
  if (pyramid.weighted > 0 && series.linear != 0.0f &&
      !add_linear_terms(queue, pixels, series, pyramid))
    return false;
  return mma_output(queue, pixels, series, pyramid, last);
}

} // namespace cf::llf
