/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Blurs of one large sigma, for the engine of cudagaussblur: the u8mma pyramid where it serves,
 * else the fp32 one (README.md).
 */
#pragma once

#include "cuda/common/context.cuh"

extern "C" {
#include "gaussblur.h"
}

namespace cf::pyramid
{

/* Belongs to one caller at a time. */
struct Engine;

/* NULL without memory. It has no sigma yet. */
Engine *open(const CfVideo *video, CfDevice *device, CfStatus *status);

/* Whether a pyramid blurs by these params, which have no map, faster than taps do. */
bool pays(const Engine *engine, const CfGaussblurParams *params);

/* Takes over sigmas and border, for which it pays. On failure the old ones stay. */
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
