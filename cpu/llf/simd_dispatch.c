/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpu/common/level.h"
#include "cpu/llf/simd.h"

extern const CfLlfKernels cf_llf_kernels_baseline_8, cf_llf_kernels_baseline_16;

#if defined(__x86_64__)

extern const CfLlfKernels cf_llf_kernels_avx2_8, cf_llf_kernels_avx2_16;
extern const CfLlfKernels cf_llf_kernels_avx512_16;

const CfLlfKernels *cf_llf_kernels(int components)
{
  const CfCpuLevel level = cf_cpu_level();

  if (components <= 8)
    return level >= CF_CPU_AVX2 ? &cf_llf_kernels_avx2_8 : &cf_llf_kernels_baseline_8;
  if (level >= CF_CPU_AVX512)
    return &cf_llf_kernels_avx512_16;
  return level >= CF_CPU_AVX2 ? &cf_llf_kernels_avx2_16 : &cf_llf_kernels_baseline_16;
}

#else

const CfLlfKernels *cf_llf_kernels(int components)
{
  return components <= 8 ? &cf_llf_kernels_baseline_8 : &cf_llf_kernels_baseline_16;
}

#endif
