/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Numbers of both pyramids that were measured, all on an H200 at 3840x2160. None of them changes a
 * result.
 */
#pragma once

namespace cf::pyramid
{

constexpr int kThreads = 128; /* of a CTA in all kernels */
constexpr int kWarps = kThreads / 32;

/* --- which pyramid, or taps: smallest sigmas (fp32_pays, u8_pays) --- */

/* 8 bits, fp32: from here on taps take longer. Theirs grows with sigma; the pyramid's does not. */
constexpr double kFp32LeastSigma = 16.0;
constexpr double kFp32LeastSigmaGray = 20.0;

/* u8mma: pixels of four channels beyond 10 (taps know which pictures are opaque only when they have
 * read them, and one sigma must not change its rounding from frame to frame); planes of bytes from
 * 16 on, where D is no longer 4, of 10 bits as soon as the pyramid is as accurate as taps. */
constexpr double kU8LargestTapsSigmaPixels = 10.0;
constexpr double kU8LeastSigmaPlanes = 16.0;
constexpr double kU8LeastSigmaWidePlanes = 12.0;

/* --- fp32 --- */

/* CTAs on an SM that decimate bytes along columns: more strips read more rows twice. */
constexpr int kFp32VerticalCtasPerSm = 5;

constexpr int kFp32LeastStrip = 4; /* rows that such a CTA makes */

/* Dynamic shared memory of a CTA that decimates along rows, with room for several on an SM. */
constexpr int kFp32HorizontalSharedBytes = 44 * 1024;

constexpr int kFp32UpsampleStripRows = 64; /* result rows of a CTA */

/* --- u8mma --- */

constexpr int kU8DecimateCtasPerSm = 3; /* all at once: more, shorter strips read more rows twice */
constexpr int kU8CoarseFilterCtasPerSm = 8;
constexpr int kU8UpsampleCtasPerSm = 5;

/* The part of an SM's memory that is shared memory, in percent: what the coarse filter and upsample
 * need, and the same for all launches, since CTAs that want another part cannot start while those
 * of another launch run. */
constexpr int kU8SharedMemoryPercent = 44;

} // namespace cf::pyramid
