/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Memory whose parts can be made read-only: a write there ends the process, or fails the work on
 * the device. Also a write of the value that is there already, which no comparison sees. All of it
 * is given back when the process ends.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
  /* The size of the parts, bytes; 0 where there is no such memory. Called first. */
  size_t (*size)(void);

  /* Memory to read and write, aligned to a part; NULL on failure. `bytes` are whole parts. */
  uint8_t *(*map)(size_t bytes);

  /* Makes whole parts read-only, or writable again. */
  bool (*protect)(uint8_t *memory, size_t bytes, bool read_only);
} CfGranules;

extern const CfGranules cf_host_granules;

/* Of the device that cf_cuda_memory opens. Absent (its address is NULL) in builds without CUDA. */
extern const CfGranules cf_cuda_granules __attribute__((weak));
