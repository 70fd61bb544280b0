/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Numbers tuned on an NVIDIA H200 (sm_90, 132 SMs, 227 KiB of shared memory for a CTA) with frames
 * of 3840x2160; docs/engineering has the figures. Correctness depends on none of them.
 */
#pragma once

namespace cf::fir
{

/* Kernels are compiled for these numbers of tap tiles. A tap tile is a Toeplitz matrix of 16 x 16,
 * and n of them reach 8 (n - 1) samples to either side: up to 17, 33, 49, 81, 129 taps. */
constexpr int kTapTiles[] = {2, 3, 4, 6, 9};

/* Pixels of four channels: up to this many tap tiles a CTA has four warps with two blocks of 16
 * pixels each, and with alpha keeps filtered rows of colours in registers. Above, it has eight
 * warps with one block, and keeps them in shared memory. With fewer channels it always has four
 * warps with 64 bytes each. */
constexpr int kMaxFewTapTiles = 3;

/* Opaque pixels: up to this many tap tiles all warps do the same work (mma_kernel_uniform.cuh). */
constexpr int kMaxUniformTapTiles = 4;

/* Pixels with alpha: warps are specialised for this number of tap tiles only. */
constexpr int kSpecializedAlphaTapTiles = 6;

/* Warps of each role in the warp-specialised kernels: multiples of 4, since warp i runs on the SM's
 * partition i % 4, so that each partition has all roles. */
constexpr int kLoadWarps = 4, kRowWarps = 4, kColumnWarps = 8;

/* The relative time of a step of a strip at the picture's left or right border, where pixels
 * outside are made. Those strips have fewer rows accordingly. */
constexpr double kOuterCost = 1.2;

/* For __launch_bounds__: the shared memory of an SM, the part that each CTA takes for the system,
 * and the registers that a thread needs without spills. */
constexpr int kSmSharedBytes = 233472, kCtaReservedBytes = 1024, kSmRegisters = 65536;
constexpr int kRegistersOfUniform = 128, kRegistersOfOthers = 80;

/* --- fused_fp32 --- */

constexpr int kFusedResident = 4;      /* CTAs per SM, for __launch_bounds__ */
constexpr int kFusedMinimumStrip = 64; /* rows */

} // namespace cf::fir
