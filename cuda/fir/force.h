/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Lets tests choose the method of the separable filter on CUDA, instead of the rules for GPU and
 * frames.
 */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  CF_FIR_CHOOSE,     /* as users get it */
  CF_FIR_MMA_OPAQUE, /* tensor cores, kernels for opaque pixels: uniform up to 49 taps, then
                        warp-specialised; "fir-tensor" */
  CF_FIR_MMA_ALPHA, /* tensor cores, the kernels that know alpha, for four channels; "fir-tensor" */
  CF_FIR_FUSED_FP32,    /* "fir-float" */
  CF_FIR_TWO_PASS_FP32, /* "fir-two-pass" */
  CF_FIR_TWO_PASS_FP64, /* "fir-double" */
} CfFirForce;

/* Engines opened from now on use this method for every job that it supports, and the next slower
 * one for others (algorithm() tells). Not for use by several threads at once. */
void cf_fir_force(CfFirForce force);

#ifdef __cplusplus
}
#endif
