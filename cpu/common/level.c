/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpu/common/level.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>

static bool has_amx(void)
{
  const unsigned tile = 1u << 24, bytes = 1u << 25; /* CPUID 7.0 EDX: AMX-TILE, AMX-INT8 */
  unsigned a, b, c, d;

  return __builtin_cpu_supports("avx512vbmi") && __get_cpuid_count(7, 0, &a, &b, &c, &d) &&
         (d & tile) && (d & bytes);
}
#endif

CfCpuLevel cf_cpu_processor_level(void)
{
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("ssse3"))
    return CF_CPU_BASELINE;
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
      !__builtin_cpu_supports("bmi") || !__builtin_cpu_supports("bmi2"))
    return CF_CPU_SSSE3;
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512cd") || !__builtin_cpu_supports("avx512dq") ||
      !__builtin_cpu_supports("avx512vl"))
    return CF_CPU_AVX2;
  return has_amx() ? CF_CPU_AMX : CF_CPU_AVX512;
#else
  return CF_CPU_BASELINE;
#endif
}

bool cf_cpu_level_named(const char *name, CfCpuLevel *level)
{
  static const char *const names[] = {"baseline", "ssse3", "avx2", "avx512", "amx"};

  for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
    if (strcmp(name, names[i]) == 0) {
      *level = (CfCpuLevel)i;
      return true;
    }
  }
  return false;
}

static CfCpuLevel find_level(void)
{
  const char *name = getenv("CUDAFILTERS_CPU");
  const CfCpuLevel most = cf_cpu_processor_level();
  CfCpuLevel limit;

  return name && cf_cpu_level_named(name, &limit) && limit < most ? limit : most;
}

/* Computed once: CPUID takes a microsecond, and much longer in virtual machines. */
CfCpuLevel cf_cpu_level(void)
{
  static atomic_int known = -1;
  int level = atomic_load_explicit(&known, memory_order_relaxed);

  if (level < 0) {
    level = (int)find_level();
    atomic_store_explicit(&known, level, memory_order_relaxed);
  }
  return (CfCpuLevel)level;
}
