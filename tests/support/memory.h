/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Device memory for tests and the benchmark: the few operations that they need, and pictures there.
 * All calls come from one thread.
 */
#pragma once

#include "engine.h"
#include "picture.h"

/* The number of time marks. */
#define CF_MARKS 2048

typedef struct {
  /* Opens the first device for this process; precedes all other calls. False, with the reason,
   * where there is none. */
  bool (*open)(CfStatus *status);
  CfDevice *(*device)(void); /* for CfOpenOptions */
  void *(*stream)(void);     /* for CfJob */

  uint8_t *(*alloc)(size_t bytes); /* aligned to 64 bytes or more; NULL on failure */
  void (*free)(uint8_t *memory);

  /* Copies from and to host memory. They run after all work on the stream, and are complete on
   * return. */
  bool (*upload)(uint8_t *device, const uint8_t *host, size_t bytes);
  bool (*download)(uint8_t *host, const uint8_t *device, size_t bytes);

  /* Enqueues a copy of `rows` rows within device memory. */
  bool (*copy)(uint8_t *to, ptrdiff_t to_stride, const uint8_t *from, ptrdiff_t from_stride,
               size_t row_bytes, int rows);

  /* Waits for the stream; false if any work on it has failed. */
  bool (*synchronize)(void);

  /* Stops the stream, at most for a second, until release() is called: what is enqueued meanwhile
   * runs without waiting for the host's launches. Every hold() that succeeds needs a release(). */
  bool (*hold)(void);
  void (*release)(void);

  /* Records time mark `mark` (0..CF_MARKS - 1) on the stream, without waiting. */
  bool (*mark)(int mark);

  /* Milliseconds between two marks that the stream has passed. */
  double (*elapsed_ms)(int from, int to);
} CfMemory;

/* Absent (its address is NULL) in builds without CUDA. */
extern const CfMemory cf_cuda_memory __attribute__((weak));

/* Device memory, opened; NULL, with the reason, where this build or this machine has none. */
const CfMemory *cf_device_memory(CfStatus *status);

/* A picture in device memory, with the layout of its model. */
typedef struct {
  const CfMemory *memory;
  const CfTestPicture *model;
  CfPicture planes;
  uint8_t *allocation[CF_MAX_PLANES];
} CfMirror;

/* Allocates a mirror of `model`, without its content. Freed by cf_mirror_free, also after a
 * failure. */
bool cf_mirror_init(CfMirror *mirror, const CfMemory *memory, const CfTestPicture *model);

void cf_mirror_free(CfMirror *mirror);

/* Copies all bytes, guards included, between the mirror and a picture with the model's layout. */
bool cf_mirror_upload(const CfMirror *mirror, const CfTestPicture *from);
bool cf_mirror_download(const CfMirror *mirror, CfTestPicture *to);
