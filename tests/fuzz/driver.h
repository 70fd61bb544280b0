/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A fuzz target: one function that must survive any bytes, and inputs to start from. driver.c runs
 * it with a fixed seed on any compiler; clang's libFuzzer runs the same function by itself.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Most bytes of an input that the driver makes. */
#define FUZZ_LARGEST_INPUT 4096

/* libFuzzer's name. Aborts where the code under test does what it must not; returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Writes input number `index` into `data`, which holds FUZZ_LARGEST_INPUT bytes, and returns its
 * size; 0 from the first index on that there is no input for. */
size_t fuzz_example(int index, uint8_t *data);

/* Words that mean something to the code under test, for insertions; NULL ends the list. */
extern const char *const fuzz_words[];

/* Aborts with a message unless `condition` holds. */
#define FUZZ_REQUIRE(condition)                                                                    \
  do {                                                                                             \
    if (!(condition))                                                                              \
      fuzz_fail(__FILE__, __LINE__, #condition);                                                   \
  } while (0)

_Noreturn void fuzz_fail(const char *file, int line, const char *condition);
