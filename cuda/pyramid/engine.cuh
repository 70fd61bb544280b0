/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Gaussian blurs of one large sigma, for the engine of cudagaussblur: by the u8mma pyramid where
 * it supports format and sigmas, else by the fp32 pyramid (README.md).
 */
#pragma once

#include "cuda/common/context.cuh"

extern "C" {
#include "gaussblur.h"
}

namespace cf::pyramid
{

/* Not for use by several threads at once. */
struct Engine;

/* NULL if memory is short. update() must follow before run(). */
Engine *open(const CfVideo *video, CfDevice *device, CfStatus *status);

/* Whether a pyramid blurs by these params, which have no map, faster than cuda/fir. */
bool pays(const Engine *engine, const CfGaussblurParams *params);

/* Sets sigmas and border, for which pays() is true. On failure the old ones stay in force. */
bool update(Engine *engine, const CfGaussblurParams *params, CfStatus *status);

/* Enqueues a job on its stream. */
bool run(Engine *engine, const CfJob *job, CfStatus *status);

/* CfEngine.run_packed. */
bool run_packed(Engine *engine, const CfVideo *video, const CfJob *job, bool *done,
                CfStatus *status);

/* CfEngine.halo and CfEngine.algorithm ("pyramid-u8mma", "pyramid-fp32"). */
int halo(const Engine *engine);
const char *algorithm(const Engine *engine);

/* NULL is allowed. */
void close(Engine *engine);

} // namespace cf::pyramid
