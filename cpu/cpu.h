/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What all CPU engines need of the machine: threads, instruction sets, aligned memory.
 */
#pragma once

#include <stddef.h>

#ifdef _OPENMP
#include <omp.h>
#endif

/* Put on functions whose inner loops the compiler vectorises: one copy for each x86-64 level,
 * chosen when the library is loaded. Sanitizers run before the loader can resolve such functions,
 * so their builds keep the plain copy. Callees must be inlined or carry it too; an OpenMP region
 * inside such a function is not multiversioned, so keep the loops in functions of their own. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                             \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define CF_MULTIVERSION                                                                            \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define CF_MULTIVERSION
#endif

#define CF_ALIGNMENT 64

/* The threads that a state opened with CfOpenOptions.threads = `requested` uses, >= 1. */
static inline int cf_thread_count(int requested)
{
#ifdef _OPENMP
  return requested > 0 ? requested : omp_get_max_threads();
#else
  (void)requested;
  return 1;
#endif
}

/* The calling thread's number in its OpenMP team, 0 outside one. */
static inline int cf_thread_index(void)
{
#ifdef _OPENMP
  return omp_get_thread_num();
#else
  return 0;
#endif
}

/* Memory aligned to CF_ALIGNMENT and rounded up to a multiple of it, NULL if there is none; freed
 * by free(). */
void *cf_aligned_alloc(size_t bytes);
