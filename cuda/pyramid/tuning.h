/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Tuned numbers of both pyramids, measured on an H200 at 3840x2160. None of them changes a result.
 */
#pragma once

namespace cf::pyramid
{

constexpr int kThreads = 128; /* of every CTA of both pyramids */
constexpr int kWarps = kThreads / 32;

/* --- smallest sigmas for which a pyramid is faster than taps (fp32_pays, u8_pays) --- */

/* fp32, 8 bits. The time of taps grows with sigma, that of a pyramid does not. */
constexpr double kFp32LeastSigma = 16.0;
constexpr double kFp32LeastSigmaGray = 20.0;

/* u8mma: pixels of four channels above 10 (taps have a faster kernel for opaque pictures, but
 * opacity is known only once pixels are read, and a sigma must not round differently from frame to
 * frame); 8-bit planes from 16 on, where D is above 4; 10-bit planes from where the pyramid is as
 * accurate as taps. */
constexpr double kU8LargestTapsSigmaPixels = 10.0;
constexpr double kU8LeastSigmaPlanes = 16.0;
constexpr double kU8LeastSigmaWidePlanes = 12.0;

/* --- fp32 --- */

/* CTAs per SM of the vertical decimation of 8 bits. With more, strips are shorter, and more source
 * rows are read by two of them. */
constexpr int kFp32VerticalCtasPerSm = 5;

constexpr int kFp32LeastStrip = 4; /* fine rows of such a CTA, at least */

/* Most dynamic shared memory of a CTA of the horizontal decimation: several fit on an SM. */
constexpr int kFp32HorizontalSharedBytes = 44 * 1024;

constexpr int kFp32UpsampleStripRows = 64; /* result rows of a CTA */

/* --- u8mma --- */

constexpr int kU8DecimateCtasPerSm = 3; /* one wave: shorter strips read more rows twice */
constexpr int kU8CoarseFilterCtasPerSm = 8;
constexpr int kU8UpsampleCtasPerSm = 5;

/* Shared memory carveout of an SM, in percent: what the coarse filter and upsample need. It is the
 * same for all launches, since CTAs that need another carveout cannot start while CTAs of an
 * earlier launch run. */
constexpr int kU8SharedMemoryPercent = 44;

} // namespace cf::pyramid
