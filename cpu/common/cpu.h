/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Instruction sets: one build of a function for each x86-64 level.
 */
#pragma once

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
