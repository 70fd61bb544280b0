/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Code shared by all effects: checks of parameters and jobs, and look-up of effects by name.
 */
#include <string.h>

#include "blockavg.h"
#include "gaussblur.h"
#include "llf.h"
#include "sepconv.h"
#include "tonemap.h"

bool cf_effect_check(const CfEffect *effect, const CfVideo *video, const void *params,
                     CfStatus *status)
{
  return cf_video_check(video, status) && cf_params_check(effect->params, params, status) &&
         (!effect->check || effect->check(video, params, status));
}

static bool check_plane(const CfEngine *engine, const CfVideo *video, const CfPicture *picture,
                        int p, CfStatus *status)
{
  const ptrdiff_t stride = picture->stride[p], row = (ptrdiff_t)cf_row_bytes(video, p);
  const bool odd = cf_sample_bytes(cf_format_info(video->format)) == 2 &&
                   (((uintptr_t)picture->data[p] | (uintptr_t)stride) & 1);

  if (!picture->data[p])
    return cf_fail(status, CF_ERROR_INVALID, "plane %d of a picture is missing", p);
  if ((stride < row && -stride < row) || (engine->device_memory && stride < 0))
    return cf_fail(status, CF_ERROR_INVALID,
                   "plane %d of a picture has a stride of %td bytes, allowed are %td and more%s", p,
                   stride, row, engine->device_memory ? "" : ", or so many below 0");
  if (engine->device_memory && odd)
    return cf_fail(status, CF_ERROR_INVALID,
                   "plane %d of a picture is at an odd address or has an odd stride, which samples "
                   "of 16 bits in device memory must not have",
                   p);
  return true;
}

/* Source and destination may share no plane, or all planes if the engine filters in place. */
static bool check_sharing(const CfEngine *engine, const CfVideo *video, const CfJob *job,
                          CfStatus *status)
{
  const int planes = cf_format_info(video->format)->planes;
  const bool in_place = cf_engine_works_in_place(engine, job->regions);
  int shared = 0, same = 0;

  for (int p = 0; p < planes; p++) {
    const bool is_shared = job->source.data[p] == job->destination.data[p];

    shared += is_shared;
    same += is_shared && job->source.stride[p] == job->destination.stride[p];
  }
  if (shared == 0 || (in_place && same == planes))
    return true;
  return cf_fail(status, CF_ERROR_INVALID,
                 in_place ? "source and destination share some planes, allowed are none or "
                            "all of them with the same strides"
                          : "source and destination share planes, but the engine does not "
                            "filter in place");
}

static bool check_band(const CfEngine *engine, const CfVideo *video, const CfJob *job,
                       CfStatus *status)
{
  const int first = job->first_row, rows = job->rows;

  if (first == 0 && rows == 0)
    return true;
  if (!engine->halo || job->regions)
    return cf_fail(status, CF_ERROR_INVALID, "%s",
                   engine->halo ? "rows first_row and on are not filtered in regions"
                                : "the engine knows no first_row and rows");
  if (first >= 0 && first % 2 == 0 && rows > 0 && rows <= video->height - first &&
      (rows % 2 == 0 || first + rows == video->height))
    return true;
  return cf_fail(status, CF_ERROR_INVALID,
                 "rows %d to %d of %d, allowed are even numbers but for the last rows", first,
                 first + rows, video->height);
}

static bool check_planes(const CfEngine *engine, const CfVideo *video, const CfPicture *picture,
                         CfStatus *status)
{
  for (int p = 0; p < cf_format_info(video->format)->planes; p++) {
    if (!check_plane(engine, video, picture, p, status))
      return false;
  }
  return true;
}

bool cf_job_check(const CfEngine *engine, const CfVideo *video, const CfVideo *destination,
                  const CfJob *job, CfStatus *status)
{
  if (!check_planes(engine, video, &job->source, status) ||
      !check_planes(engine, destination ? destination : video, &job->destination, status))
    return false;
  if (job->regions && !engine->regions)
    return cf_fail(status, CF_ERROR_INVALID, "the engine knows no regions");
  return check_sharing(engine, video, job, status) && check_band(engine, video, job, status);
}

const CfEngine *cf_effect_engine(const CfEffect *effect, const char *name)
{
  for (const CfEngine *const *engine = effect->engines; *engine; engine++) {
    if (strcmp((*engine)->name, name) == 0)
      return *engine;
  }
  return NULL;
}

const CfEffect *cf_effect(const char *name)
{
  static const CfEffect *const effects[] = {&cf_llf, &cf_gaussblur, &cf_blockavg, &cf_sepconv,
                                            &cf_tonemap};

  for (size_t i = 0; i < sizeof effects / sizeof effects[0]; i++) {
    if (strcmp(effects[i]->name, name) == 0)
      return effects[i];
  }
  return NULL;
}
