/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The tuned numbers of the local Laplacian filter's launch plans, in one table. Measured on an H200
 * SXM (sm_90: 132 SMs, 227 KB of shared memory a CTA, 60 MB of L2 cache): docs/engineering says
 * how.
 */
#pragma once

namespace cf::llf
{

/* Level 3's pixels up to which one kernel makes levels 3 and 4. In larger pictures, and earlier
 * where level 0 takes longer (two bytes a sample, RGB), its Laplacian coefficients are what a frame
 * waits for, and want the SMs that the fused kernel's halos cost. */
constexpr int kFuse34MaxPixelsU8 = 70000, kFuse34MaxPixelsOther = 40000;

/* CTAs of the coarse levels' cluster, each of which fills an SM: at most, and behind the kernel
 * that makes levels 3 and 4, where there is less left to share. */
constexpr int kMaxClusterCtas = 16, kFusedClusterCtas = 8;

/* Pixels of the finest level that one CTA makes alone: above, kernels of its own are faster. */
constexpr int kMaxSingleCtaPixels = 2100;

/* Pixels of a level up to which distributing it over the cluster gains nothing. */
constexpr int kMinDistributedPixels = 150;

/* Passes in which a CTA of the cluster makes its rows of a level, at most. */
constexpr int kMaxPasses = 2;

/* Pixels of a picture from which level 1 does not stay in the L2 cache, and leaves it first. */
constexpr int kLargePicturePixels = 4000000;

/* The coarse levels' CTAs are left an SM each, but no more than one in so many: small MIG slices
 * have few. */
constexpr int kMostReservedShare = 4;

} // namespace cf::llf
