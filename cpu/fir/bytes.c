/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpu/common/level.h"
#include "cpu/fir/line_ops.h"

#if defined(__x86_64__)

extern const CfLines cf_lines_bytes_ssse3, cf_lines_bytes_avx2, cf_lines_bytes_avx512;

const CfLines *cf_lines_bytes(void)
{
  const CfCpuLevel level = cf_cpu_level();

  return level >= CF_CPU_AVX512  ? &cf_lines_bytes_avx512
         : level >= CF_CPU_AVX2  ? &cf_lines_bytes_avx2
         : level >= CF_CPU_SSSE3 ? &cf_lines_bytes_ssse3
                                 : NULL;
}

#elif defined(__aarch64__)

extern const CfLines cf_lines_bytes_neon;

const CfLines *cf_lines_bytes(void)
{
  return &cf_lines_bytes_neon;
}

#else

const CfLines *cf_lines_bytes(void)
{
  return NULL;
}

#endif
