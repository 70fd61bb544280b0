/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which of the loops that are compiled once for each instruction set run.
 */
#pragma once

#include <stdbool.h>

/* From the least to the most. Other processors than x86-64 have CF_CPU_BASELINE. */
typedef enum {
  CF_CPU_BASELINE,
  CF_CPU_SSSE3,
  CF_CPU_AVX2,   /* all of x86-64-v3 */
  CF_CPU_AVX512, /* all of x86-64-v4 */
  CF_CPU_AMX,    /* as cpu/fir/amx.h uses it, where the system grants it too */
} CfCpuLevel;

/* What this processor has. Slow in virtual machines, which trap CPUID. */
CfCpuLevel cf_cpu_processor_level(void);

/* "baseline", "ssse3", "avx2", "avx512" or "amx"; false, `level` untouched, for any other name. */
bool cf_cpu_level_named(const char *name, CfCpuLevel *level);

/* What this processor has, but no more than what the environment variable CUDAFILTERS_CPU, for
 * tests, names in lower case; it is read at the first call. From any thread, also in inner loops.
 * Functions with CF_MULTIVERSION do not ask. */
CfCpuLevel cf_cpu_level(void);
