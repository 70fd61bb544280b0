/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the kernels of the u8mma pyramid share.
 */
#pragma once

#include "cuda/common/border.cuh"
#include "cuda/common/half2.cuh"
#include "cuda/common/launch.cuh"
#include "cuda/common/pdl.cuh"
#include "cuda/common/ptx_mma.cuh"
#include "cuda/pyramid/tuning.h"
#include "cuda/pyramid/u8mma.h"

namespace cf::pyramid
{

inline bool prefer_carveout(void (*kernel)(U8Job), const U8LaunchPlan &plan, CfStatus *status)
{
  return !plan.sets_carveouts || cf::prefer_carveout((const void *)kernel, kU8SharedMemoryPercent,
                                                     "preparing a blur", status);
}

/* A tile of the decimation: the 16 sums of one matrix product along a row, which are the C bytes of
 * 16 / C fine pixels, and the source bytes that they read, in chunks of 64. D is D1. */
template <int C, int D> struct DecimateTile {
  static constexpr int kTaps = 3 * D - 2 + D / 2;
  static constexpr int kFirst = -(kTaps - D) / 2; /* source pixel of the first tap, from D x on */
  static constexpr int kColumns = 16 / C;         /* fine pixels */
  static constexpr int kPixels = 64 / C;          /* source pixels of a chunk */
  static constexpr int kSector = 32 / C;          /* source pixels of a memory sector */
  static constexpr int kBefore = /* source pixels of the first chunk before pixel D x */
      (-kFirst + kSector - 1) / kSector * kSector;
  static constexpr int kSpan = kBefore + D * (kColumns - 1) + kTaps + kFirst;
  static constexpr int kChunks = (kSpan + kPixels - 1) / kPixels;
  static constexpr int kShift = kColumns * D / kPixels; /* chunks from a tile to the next */
};

} // namespace cf::pyramid
