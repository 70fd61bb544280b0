/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Code that the compiler specialises: for instruction sets, and for numbers of channels.
 */
#pragma once

/* Inlined in every caller, and so specialised for its constant arguments. */
#define INLINE static inline __attribute__((always_inline))

/* For functions whose inner loops the compiler vectorises: one copy per x86-64 level, chosen when
 * the library is loaded. Builds with sanitizers keep the plain copy, since sanitizers run before
 * the loader can resolve such functions. Callees must be inlined or be marked too. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                             \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define CF_MULTIVERSION                                                                            \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define CF_MULTIVERSION
#endif

/* Calls function(channels, ...) with a constant number of channels, 1 to 4, so that loops over the
 * channels in inlined functions are unrolled. */
#define CF_FOR_CHANNELS(channels, function, ...)                                                   \
  do {                                                                                             \
    switch (channels) {                                                                            \
    case 1:                                                                                        \
      function(1, __VA_ARGS__);                                                                    \
      break;                                                                                       \
    case 2:                                                                                        \
      function(2, __VA_ARGS__);                                                                    \
      break;                                                                                       \
    case 3:                                                                                        \
      function(3, __VA_ARGS__);                                                                    \
      break;                                                                                       \
    default:                                                                                       \
      function(4, __VA_ARGS__);                                                                    \
    }                                                                                              \
  } while (0)
