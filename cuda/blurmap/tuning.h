/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The blur map's tuned numbers, measured on an NVIDIA H200 (132 SMs, 228 KB of shared memory each)
 * with 3840x2160 NV12 and RGBA. None of them changes a result.
 */
#pragma once

namespace cf::blurmap
{

/* --- mma: mips from the frame --- */

/* Rows of texels that a warp makes from the frame. The more, the fewer rows of pixels are read
 * twice; the most at which all CTAs are resident at once are taken. */
constexpr int kLeastFrameRows = 2, kMostFrameRows = 16;

constexpr int kFrameCtasOfSm = 8;

/* --- mma: mips from mips --- */

constexpr int kDownsampleRows = 16, kDownsampleColumns = 128; /* texels of a CTA */
constexpr int kDownsampleCtasOfSm = 7;

/* Descriptions of images that are parameters of a launch; more are read from device memory. */
constexpr int kInlineDownsamples = 4;

/* --- mma: sigma lookup --- */

constexpr int kLookupCtasOfSm = 6;
constexpr int kLookupRows = 4; /* of a lane, whose loads are under way together */

/* --- mma: tiles --- */

/* The more CTAs, the fewer registers for each thread, and the less of an SM's memory is left to the
 * first-level cache, which holds weights. */
constexpr int kTileCtasOfSm = 4;

/* Texels in shared memory for a tile: three channels where texels are samples. Where they are too
 * few, the tile loads one channel at a time, or one image of one channel. */
constexpr int kSharedTexels = 16 * 1024;

/* Rows of the frame that a warp loads at a time, inside of the plane and at its sides, where code
 * is long. */
constexpr int kInnerRows = 12, kOuterRows = 4;

constexpr int kRecordLevels = 31;   /* of a strip that its record lists */
constexpr int kEarlyLevels = 7;     /* of these, that are loaded before their number is known */
constexpr int kRecordWindows = 3;   /* of a tile that its record lists */
constexpr int kLevelsInShared = 32; /* of a strip in shared memory at a time */

/* --- fp32 --- */

constexpr int kFp32CtasOfSm = 5;

} // namespace cf::blurmap
