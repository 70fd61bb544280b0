/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What was tuned by measuring, on an NVIDIA H200 (sm_90, 132 SMs, 227 KiB of shared memory a CTA),
 * with frames of 3840x2160. docs/engineering has the figures. Correctness depends on none of it.
 */
#pragma once

namespace cf::fir
{

/* --- kernels on tensor cores --- */

/* One row a size of kernels; taps are in 16s (tap tiles), so that a size reaches 8 (tap_tiles - 1)
 * samples to either side. A CTA's strip is `warps` times `warp_blocks` blocks of 16 pixels wide in
 * four channels; with fewer channels four warps have 64 bytes each. */
struct MmaTuning {
  int tap_tiles;
  int warp_blocks, warps; /* four channels: blocks of 16 pixels of a warp, warps of a CTA */

  /* The kernels that know alpha. */
  int alpha_stages;         /* steps of rows that are copied ahead */
  int alpha_fp16_sets;      /* of planes: 2 save a barrier a step, 1 lets more CTAs be resident */
  bool registers_hold_rows; /* filtered rows wait for the columns there, not in shared memory */
  bool alpha_specialized;   /* each warp has a role; the above is then of the rest of strips only */
};

constexpr MmaTuning kMmaTuning[] = {
    {2, 2, 4, 1, 2, true, false},  /* up to 17 taps */
    {3, 2, 4, 1, 2, true, false},  /* 33 */
    {4, 1, 8, 1, 2, false, false}, /* 49 */
    {6, 1, 8, 2, 1, false, true},  /* 81 */
    {9, 1, 8, 2, 1, false, false}, /* 129 */
};

/* Opaque pixels: up to so many tap tiles all warps do the same (MmaKernel::kUniform). */
constexpr int kMaxUniformTapTiles = 4;

/* Of the warp-specialised kernels, the warps of each role. Warp i runs on quarter i % 4 of an SM,
 * so that each quarter has some of each. */
constexpr int kLoadWarps = 4, kRowWarps = 4, kColumnWarps = 8;

/* How many times longer a step of a strip at the picture's left or right border takes, whose pixels
 * outside are copied one by one: its strips are so much lower. Where whole 16-byte pieces are
 * replicated (kReplicated...) the cost is that of the few warps that load. */
constexpr double kOuterCostUpTo33Taps = 1.2, kOuterCostUniform = 1.2, kOuterCostOther = 1.4;
constexpr double kReplicatedOuterCostOpaque = 1.2, kReplicatedOuterCost = 1.0;

/* For __launch_bounds__: bytes of shared memory of an SM, of which a CTA takes 1 KiB for itself,
 * and the registers a thread needs without spills. */
constexpr int kSmSharedBytes = 233472, kCtaReservedBytes = 1024, kSmRegisters = 65536;
constexpr int kRegistersOfUniform = 128, kRegistersOfOthers = 80;

/* --- kernels in single precision --- */

constexpr int kFusedResident = 4;      /* CTAs of an SM that registers are meant for */
constexpr int kFusedMinimumStrip = 64; /* rows */

} // namespace cf::fir
