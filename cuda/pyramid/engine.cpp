/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cuda/pyramid/engine.cuh"
#include "cuda/pyramid/force.h"
#include "cuda/pyramid/fp32.h"
#include "cuda/pyramid/u8mma.h"

#include <stdlib.h>

namespace
{

CfPyramidForce forced = CF_PYRAMID_CHOOSE;

} // namespace

void cf_pyramid_force(CfPyramidForce force)
{
  forced = force;
}

namespace cf::pyramid
{

struct Engine {
  CfVideo video;
  CfDevice *device; /* borrowed */
  CfPyramidForce force;
  bool u8mma; /* whether `u8`, not `fp32`, was set up by the last update() */
  Fp32Job fp32;
  U8Blur u8;
};

namespace
{

bool chooses_u8mma(const Engine *engine, const CfGaussblurParams *params)
{
  return engine->force == CF_PYRAMID_CHOOSE
             ? u8_pays(&engine->video, engine->device, params)
             : engine->force == CF_PYRAMID_U8MMA &&
                   u8_supports(&engine->video, engine->device, params);
}

bool chooses_fp32(const Engine *engine, const CfGaussblurParams *params)
{
  return engine->force == CF_PYRAMID_CHOOSE
             ? fp32_pays(&engine->video, engine->device, params)
             : engine->force == CF_PYRAMID_FP32 && fp32_supports(&engine->video, params);
}

} // namespace

Engine *open(const CfVideo *video, CfDevice *device, CfStatus *status)
{
  Engine *const engine = (Engine *)cf_zeroed(sizeof *engine, status);

  if (!engine)
    return nullptr;
  engine->video = *video;
  engine->device = device;
  engine->force = forced;
  return engine;
}

bool pays(const Engine *engine, const CfGaussblurParams *params)
{
  return chooses_u8mma(engine, params) || chooses_fp32(engine, params);
}

bool update(Engine *engine, const CfGaussblurParams *params, CfStatus *status)
{
  const bool u8mma = chooses_u8mma(engine, params);

  if (!(u8mma ? u8_update(&engine->u8, &engine->video, params, status)
              : fp32_update(&engine->fp32, &engine->video, params, status)))
    return false;
  engine->u8mma = u8mma;
  return true;
}

bool run(Engine *engine, const CfJob *job, CfStatus *status)
{
  return engine->u8mma ? u8_run(&engine->u8, &engine->video, engine->device, job, status)
                       : fp32_run(&engine->fp32, &engine->video, engine->device, job, status);
}

bool run_packed(Engine *engine, const CfVideo *video, const CfJob *job, bool *done,
                CfStatus *status)
{
  *done = false;
  return !engine->u8mma || u8_run_packed(&engine->u8, &engine->video, video->format, engine->device,
                                         job, done, status);
}

int halo(const Engine *engine)
{
  int halo[CF_MAX_PLANES];

  for (int p = 0; p < cf_format_info(engine->video.format)->planes; p++)
    halo[p] = engine->u8mma ? engine->u8.planes.plane[p].y.halo : engine->fp32.plane[p].y.halo;
  return cf_luma_halo(&engine->video, halo);
}

const char *algorithm(const Engine *engine)
{
  return engine->u8mma ? "pyramid-u8mma" : "pyramid-fp32";
}

void close(Engine *engine)
{
  free(engine);
}

} // namespace cf::pyramid
