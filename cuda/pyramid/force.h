/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Lets tests choose the blur pyramid on CUDA, instead of the rules for GPU, format and sigma.
 */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  CF_PYRAMID_CHOOSE, /* as users get it */
  CF_PYRAMID_U8MMA,  /* tensor cores; "pyramid-u8mma" */
  CF_PYRAMID_FP32,   /* "pyramid-fp32" */
} CfPyramidForce;

/* Engines opened from now on use this pyramid for every blur of one sigma that it supports, and
 * taps for others (algorithm() tells). Not for use by several threads at once. */
void cf_pyramid_force(CfPyramidForce force);

#ifdef __cplusplus
}
#endif
