/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Marks functions in headers that are compiled into the CPU engines and the CUDA kernels alike.
 */
#pragma once

#ifdef __CUDACC__
#define CF_SHARED __host__ __device__ static inline
#else
#define CF_SHARED static inline
#endif
