/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Lets tests take either blur pyramid on CUDA, whatever the GPU, the format and sigma.
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

/* States that are opened from now on take this pyramid for every blur of one sigma that it can
 * serve, and taps for others (algorithm() tells). Not for use by several threads at once. */
void cf_pyramid_force(CfPyramidForce force);

#ifdef __cplusplus
}
#endif
