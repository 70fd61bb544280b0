/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Tuned numbers of blur maps, measured on an NVIDIA H200 (132 SMs, 228 KB of shared memory each)
 * with 3840x2160 NV12 and RGBA. None of them changes a result.
 */
#pragma once

namespace cf::blurmap
{

/* --- mma: mips from the frame --- */

/* Rows of texels that a warp makes from the frame: the fewest with which all CTAs are resident at
 * once. With more, fewer rows of pixels are read by two warps. */
constexpr int kLeastFrameRows = 2, kMostFrameRows = 16;

constexpr int kFrameCtasOfSm = 8;

/* --- mma: mips from mips --- */

constexpr int kDownsampleRows = 16, kDownsampleColumns = 128; /* texels of a CTA */
constexpr int kDownsampleCtasOfSm = 7;

/* Up to this many MipDownsamples are parameters of a launch; more are read from device memory. */
constexpr int kInlineDownsamples = 4;

/* --- mma: sigma lookup --- */

constexpr int kLookupCtasOfSm = 6;
constexpr int kLookupRows = 4; /* rows whose loads a lane has in flight together */

/* --- mma: tiles --- */

/* More CTAs mean fewer registers for each thread, and a smaller L1 cache, which holds weights. */
constexpr int kTileCtasOfSm = 4;

/* Texels of a tile that fit into shared memory: three channels of the frame's samples. If a tile
 * needs more, it loads one channel at a time, or one image of one channel. */
constexpr int kSharedTexels = 16 * 1024;

/* Rows of the frame that a warp loads at a time: inside the plane, and at its border, whose code is
 * long. */
constexpr int kInnerRows = 12, kOuterRows = 4;

constexpr int kRecordLevels = 31;   /* levels that the record of a strip can list */
constexpr int kEarlyLevels = 7;     /* of these, loaded before their number is known */
constexpr int kRecordWindows = 3;   /* windows that the record of a tile can list */
constexpr int kLevelsInShared = 32; /* levels of a strip in shared memory at a time */

/* --- fp32 --- */

constexpr int kFp32CtasOfSm = 5;

} // namespace cf::blurmap
