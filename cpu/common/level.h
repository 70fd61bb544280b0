/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The instruction set that the loops compiled once per instruction set run on.
 */
#pragma once

#include <stdbool.h>

/* In ascending order. Processors other than x86-64 have CF_CPU_BASELINE. */
typedef enum {
  CF_CPU_BASELINE,
  CF_CPU_SSSE3,
  CF_CPU_AVX2,   /* all of x86-64-v3 */
  CF_CPU_AVX512, /* all of x86-64-v4 */
  CF_CPU_AMX,    /* AMX-TILE and AMX-INT8 (cpu/fir/amx.h); usable where the system grants it too */
} CfCpuLevel;

/* The level of this processor. Slow in virtual machines, which trap CPUID. */
CfCpuLevel cf_cpu_processor_level(void);

/* The level with this name: "baseline", "ssse3", "avx2", "avx512" or "amx"; false, with `level`
 * untouched, for any other name. */
bool cf_cpu_level_named(const char *name, CfCpuLevel *level);

/* The level to use: that of this processor, or a lower one named by the environment variable
 * CUDAFILTERS_CPU, which is for tests and is read at the first call. From any thread, also in inner
 * loops. Functions with CF_MULTIVERSION do not ask. */
CfCpuLevel cf_cpu_level(void);
