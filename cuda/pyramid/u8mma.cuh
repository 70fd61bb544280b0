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

inline bool set_shared_memory_share(void (*kernel)(U8Job), CfStatus *status)
{
  return cf_cuda_ok(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                         kU8SharedMemoryPercent),
                    "preparing a blur", status);
}

/* Where the warps that decimate find what they read: geometry that follows from the bytes of a
 * pixel and from D1. A tile is 16 sums of one row, all bytes of some columns. */
template <int C, int D> struct DecimateTile {
  static constexpr int kTaps = 3 * D - 2 + D / 2;
  static constexpr int kFirst = -(kTaps - D) / 2;
  static constexpr int kColumns = 16 / C; /* fine */
  static constexpr int kPixels = 64 / C;  /* of a chunk, 64 bytes of a row */
  static constexpr int kSector = 32 / C;  /* pixels that memory gives at once */
  static constexpr int kBefore = (-kFirst + kSector - 1) / kSector * kSector;
  static constexpr int kSpan = kBefore + D * (kColumns - 1) + kTaps + kFirst;
  static constexpr int kChunks = (kSpan + kPixels - 1) / kPixels;
  static constexpr int kShift = kColumns * D / kPixels; /* chunks from a tile to the next */
};

} // namespace cf::pyramid
