/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What all CPU engines need of the machine: instruction sets and aligned memory; threads are in
 * parallel.h.
 */
#pragma once

#include <stddef.h>

/* Put on functions whose inner loops the compiler vectorises: one copy for each x86-64 level,
 * chosen when the library is loaded. Sanitizers run before the loader can resolve such functions,
 * so their builds keep the plain copy. Callees must be inlined or carry it too. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                             \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define CF_MULTIVERSION                                                                            \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define CF_MULTIVERSION
#endif

#define CF_ALIGNMENT 64

/* Memory aligned to CF_ALIGNMENT and rounded up to a multiple of it, NULL if there is none; freed
 * by free(). */
void *cf_aligned_alloc(size_t bytes);
