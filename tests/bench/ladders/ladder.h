/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A ladder is one filter, written again and again, each rung with one idea more than the one before
 * it. All rungs filter pictures of one plane of bytes, and make what the effect makes that the
 * ladder names; tests/bench/ladders/README.md says what the rungs teach.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One picture's work. Strides are bytes. */
typedef struct {
  const uint8_t *source;
  ptrdiff_t source_stride;
  uint8_t *destination;
  ptrdiff_t destination_stride;
  int width, height;
  void *stream; /* cudaStream_t; of ladders on host memory NULL */
} CfLadderFrame;

typedef struct {
  const char *name;
  const char *teaches; /* one sentence */
  int warps;           /* of a block, where the ladder varies them, else 0 */

  /* Enqueues the filter of a picture, or on host memory filters it; returns a cudaError_t. */
  int (*run)(void *state, const CfLadderFrame *frame);
} CfRung;

typedef struct {
  const char *name, *title;
  int width, height;    /* of the pictures that are timed */
  bool host_memory;     /* pictures are in host memory */
  const char *effect;   /* what makes the same picture: its name, */
  const char *settings; /* and NAME=VALUE, separated by spaces */
  double tolerance;     /* code values that rungs may differ from it */
  const CfRung *rungs;
  int rung_count;

  /* What all rungs need for pictures of a size; a cudaError_t. *state may be NULL. */
  int (*open)(int width, int height, void **state);
  void (*close)(void *state);
} CfLadder;

extern const CfLadder cf_ladder_blur_map, cf_ladder_block_mean, cf_ladder_separable,
    cf_ladder_bands, cf_ladder_convolution, cf_ladder_matrix;

#ifdef __cplusplus
}
#endif
