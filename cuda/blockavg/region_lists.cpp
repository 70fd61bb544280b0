/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cuda/blockavg/region_lists.h"

#include <stdlib.h>
#include <string.h>

#include "cuda/blockavg/regions_fused.h"
#include "cuda/blockavg/regions_general.h"

namespace cf::blockavg
{

struct Regions {
  CfVideo video;
  FusedRegions *fused;
  GeneralRegions *general;

  bool known;  /* `fused` has a plan for these parameters and regions */
  bool vector; /* for pictures whose rows start at multiples of 16 bytes */
  bool stays;  /* the list came again */
  CfBlockavgParams params;
  CfRegions regions;
  int capacity;
  CfRegion *list; /* a copy of the regions; capacity of them */
};

namespace
{

bool reserve(Regions *self, int count, CfStatus *status)
{
  if (count <= self->capacity)
    return true;

  CfRegion *list = (CfRegion *)malloc((size_t)count * sizeof *list);
  if (!list)
    return cf_fail(status, CF_ERROR_NO_MEMORY, "out of host memory");
  free(self->list);
  self->list = list;
  self->capacity = count;
  return true;
}

bool is_same(const Regions *self, const CfBlockavgParams *params, const CfRegions *regions)
{
  const CfRegions *last = &self->regions;

  return self->known && !regions->whole && !last->whole && regions->count == last->count &&
         regions->shape == last->shape && regions->feather == last->feather &&
         regions->outside == last->outside && regions->field == last->field &&
         memcmp(params, &self->params, sizeof *params) == 0 &&
         (last->count == 0 ||
          memcmp(regions->region, self->list, (size_t)last->count * sizeof(CfRegion)) == 0);
}

/* Whether `fused` serves the list; false also on failure, which leaves `status` filled. */
bool plan(Regions *self, const CfBlockavgParams *params, const CfRegions *regions, CfStatus *status)
{
  if (is_same(self, params, regions)) {
    if (!self->stays)
      self->known = plan_fused(self->fused, params, &self->regions, true);
    self->stays = true;
    return self->known;
  }
  self->known = false;
  if (!reserve(self, regions->count, status))
    return false;
  self->params = *params;
  self->regions = *regions;
  self->regions.region = self->list;
  if (regions->count > 0)
    memcpy(self->list, regions->region, (size_t)regions->count * sizeof(CfRegion));
  self->stays = false;
  self->known = plan_fused(self->fused, params, &self->regions, false);
  return self->known;
}

bool are_vectors(const CfJob *job, int planes)
{
  for (int p = 0; p < planes; p++) {
    if (!cf_is_vector_aligned(job->source.data[p], job->source.stride[p]) ||
        !cf_is_vector_aligned(job->destination.data[p], job->destination.stride[p]))
      return false;
  }
  return true;
}

} // namespace

Regions *open_regions(CfDevice *device, const CfVideo *video, CfStatus *status)
{
  Regions *self = (Regions *)calloc(1, sizeof *self);

  if (!self) {
    cf_fail(status, CF_ERROR_NO_MEMORY, "out of host memory");
    return nullptr;
  }
  self->video = *video;
  self->fused = open_fused(device, video, status);
  self->general = self->fused ? open_general(device, video, status) : nullptr;
  if (!self->general) {
    close_regions(self);
    return nullptr;
  }
  return self;
}

void close_regions(Regions *self)
{
  if (self) {
    close_fused(self->fused);
    close_general(self->general);
    free(self->list);
  }
  free(self);
}

bool run_regions(Regions *self, const CfBlockavgParams *params, const CfJob *job, CfStatus *status)
{
  const int planes = cf_format_info(self->video.format)->planes;

  if (are_vectors(job, planes) && plan(self, params, job->regions, status))
    return run_fused(self->fused, job, status);
  return run_general(self->general, params, job, status);
}

} // namespace cf::blockavg
