/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Memory whose parts can be made read-only. A write there, even of the value that is already there,
 * ends the process or fails the work on the device. The memory is released when the process ends.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
  /* The size of a part in bytes; 0 where there is no such memory. Called first. */
  size_t (*size)(void);

  /* Readable and writable memory, aligned to a part; NULL on failure. `bytes` is a multiple of a
   * part. */
  uint8_t *(*map)(size_t bytes);

  /* Makes parts read-only, or writable again. */
  bool (*protect)(uint8_t *memory, size_t bytes, bool read_only);
} CfGranules;

extern const CfGranules cf_host_granules;

/* Memory of the device that cf_cuda_memory has opened. Absent (its address is NULL) in builds
 * without CUDA. */
extern const CfGranules cf_cuda_granules __attribute__((weak));
