/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpu/llf/simd.h"

extern const CfLlfKernels cf_llf_kernels_baseline_8, cf_llf_kernels_baseline_16;

#if defined(__x86_64__)

extern const CfLlfKernels cf_llf_kernels_avx2_8, cf_llf_kernels_avx2_16;
extern const CfLlfKernels cf_llf_kernels_avx512_16;

/* What x86-64-v3 and v4 allow the compiler to use. */
static bool has_v3(void)
{
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}

static bool has_v4(void)
{
  return has_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}

const CfLlfKernels *cf_llf_kernels(int components)
{
  __builtin_cpu_init();
  if (components <= 8)
    return has_v3() ? &cf_llf_kernels_avx2_8 : &cf_llf_kernels_baseline_8;
  if (has_v4())
    return &cf_llf_kernels_avx512_16;
  return has_v3() ? &cf_llf_kernels_avx2_16 : &cf_llf_kernels_baseline_16;
}

#else

const CfLlfKernels *cf_llf_kernels(int components)
{
  return components <= 8 ? &cf_llf_kernels_baseline_8 : &cf_llf_kernels_baseline_16;
}

#endif
