/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The two blur pyramids as the engine of cudagaussblur calls them.
 */
#pragma once

#include "cuda/common/context.cuh"

extern "C" {
#include "gaussblur.h"
}

/* --- single precision: all formats and GPUs --- */

typedef struct CfCudaPyramid CfCudaPyramid;

CfCudaPyramid *cf_cuda_pyramid_open(const CfVideo *video, CfDevice *device, CfStatus *status);

/* Whether these params, which have no map, are done best by a pyramid. */
bool cf_cuda_pyramid_pays(const CfVideo *video, const CfGaussblurParams *params);

/* Takes over the sigmas and the border, for which it pays. On failure the old ones stay. */
bool cf_cuda_pyramid_update(CfCudaPyramid *pyramid, const CfGaussblurParams *params,
                            CfStatus *status);
bool cf_cuda_pyramid_run(CfCudaPyramid *pyramid, const CfJob *job, CfStatus *status);
int cf_cuda_pyramid_halo(const CfCudaPyramid *pyramid);
void cf_cuda_pyramid_close(CfCudaPyramid *pyramid);

/* --- bytes on tensor cores --- */

typedef struct CfCudaBytePyramid CfCudaBytePyramid;

/* Whether these params, which have no map, can be done this way on this device. */
bool cf_cuda_byte_pyramid_can(const CfVideo *video, const CfDevice *device,
                              const CfGaussblurParams *params);

CfCudaBytePyramid *cf_cuda_byte_pyramid_open(const CfVideo *video, CfDevice *device,
                                             CfStatus *status);

/* Takes over the sigmas and the border, for which it can. On failure the old ones stay. */
bool cf_cuda_byte_pyramid_update(CfCudaBytePyramid *pyramid, const CfGaussblurParams *params,
                                 CfStatus *status);
bool cf_cuda_byte_pyramid_run(CfCudaBytePyramid *pyramid, const CfJob *job, CfStatus *status);

/* Rows above and below its own that a row of the result reads, or -1 for any. */
int cf_cuda_byte_pyramid_halo(const CfCudaBytePyramid *pyramid);
void cf_cuda_byte_pyramid_close(CfCudaBytePyramid *pyramid);
