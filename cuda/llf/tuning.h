/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The tuned thresholds of the local Laplacian filter's launch plans. They are for an H200 SXM
 * (sm_90: 132 SMs, 227 KB of shared memory per CTA, 60 MB of L2 cache); docs/engineering says how
 * they were measured.
 */
#pragma once

namespace cf::llf
{

/* One kernel computes levels 3 and 4 if level 3 has at most this many pixels. In larger pictures,
 * and in smaller ones if level 0 takes longer (two bytes per sample, RGB), the Laplacian
 * coefficients of level 0 are the critical path, and recomputing the fused kernel's halos would
 * take SMs from them. */
constexpr int kFuse34MaxPixelsU8 = 70000, kFuse34MaxPixelsOther = 40000;

/* The most CTAs of the coarse levels' cluster, each of which fills an SM: in general, and after the
 * kernel that computes levels 3 and 4, where fewer rows are left to share. */
constexpr int kMaxClusterCtas = 16, kFusedClusterCtas = 10;

/* The most pixels of a level that one CTA computes alone: a larger one is faster in a kernel of its
 * own. */
constexpr int kMaxSingleCtaPixels = 2100;

/* A level of at most this many pixels is not distributed over the cluster: that would gain nothing.
 */
constexpr int kMinDistributedPixels = 150;

/* The most passes in which a CTA of the cluster computes its rows of a level. */
constexpr int kMaxPasses = 2;

/* In pictures of more than this many pixels level 1 does not fit the L2 cache, and is stored
 * evict-first. */
constexpr int kLargePicturePixels = 4000000;

/* One SM is reserved for each CTA of the coarse levels, but at most 1 / kMostReservedShare of all:
 * small MIG slices have few. */
constexpr int kMostReservedShare = 4;

} // namespace cf::llf
