/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What was tuned by measuring, on an NVIDIA H200 (sm_90, 132 SMs, 227 KiB of shared memory a CTA),
 * with frames of 3840x2160. docs/engineering has the figures. Correctness depends on none of it.
 */
#pragma once

namespace cf::fir
{

/* Sizes of kernels: taps are in 16s (tap tiles), so that a size reaches 8 (tap_tiles - 1) samples
 * to either side: up to 17, 33, 49, 81, 129 taps. */
constexpr int kTapTiles[] = {2, 3, 4, 6, 9};

/* Up to so many, four warps have two blocks of 16 pixels of four channels each, and the filtered
 * rows that wait for the columns of weighted colours in registers; above, eight warps have a block,
 * and such rows in shared memory. With fewer channels four warps have 64 bytes each. */
constexpr int kMaxFewTapTiles = 3;

/* Opaque pixels: up to so many tap tiles all warps do the same (mma_kernel_uniform.cuh). */
constexpr int kMaxUniformTapTiles = 4;

/* With alpha they do but for these (mma_kernel_warp_specialized.cuh). */
constexpr int kSpecializedAlphaTapTiles = 6;

/* Of the warp-specialised kernels, the warps of each role. Warp i runs on quarter i % 4 of an SM,
 * so that each quarter has some of each. */
constexpr int kLoadWarps = 4, kRowWarps = 4, kColumnWarps = 8;

/* How many times longer a step of a strip at the picture's left or right border takes, where pixels
 * are folded or replicated: its strips are so much lower. */
constexpr double kOuterCost = 1.2;

/* For __launch_bounds__: bytes of shared memory of an SM, of which a CTA takes 1 KiB for itself,
 * and the registers a thread needs without spills. */
constexpr int kSmSharedBytes = 233472, kCtaReservedBytes = 1024, kSmRegisters = 65536;
constexpr int kRegistersOfUniform = 128, kRegistersOfOthers = 80;

/* --- fused_fp32 --- */

constexpr int kFusedResident = 4;      /* CTAs of an SM that registers are meant for */
constexpr int kFusedMinimumStrip = 64; /* rows */

} // namespace cf::fir
