/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cuda/regions/shape_list.cuh"

namespace
{

/* Copies from pageable memory of up to 64 KiB have left it when the call returns. */
constexpr int kChunk = 256;

bool make_shape(CfShape *shape, const CfVideo *video, const CfRegions *regions, int i)
{
  const CfRegion *region = &regions->region[i];

  return !cf_rect_is_empty(cf_region_bounds(video, regions, region)) &&
         cf_shape_make(shape, video, regions, region);
}

bool make_far(CfShape *far, int *count, const CfVideo *video, const CfRegions *regions,
              cudaStream_t stream, CfStatus *status)
{
  CfShape chunk[kChunk];
  int held = 0;

  for (int i = 0; i < regions->count; i++) {
    if (make_shape(&chunk[held], video, regions, i))
      held++;
    if (held < kChunk && i + 1 < regions->count)
      continue;
    if (!cf_cuda_ok(cudaMemcpyAsync(far + *count, chunk, (size_t)held * sizeof *chunk,
                                    cudaMemcpyHostToDevice, stream),
                    "copying regions to the device", status))
      return false;
    *count += held;
    held = 0;
  }
  return true;
}

} // namespace

bool cf_shape_list_make(CfShapeList *list, CfDevice *device, const CfVideo *video,
                        const CfRegions *regions, void *stream, void **scratch, CfStatus *status)
{
  *scratch = nullptr;
  list->rule = cf_coverage_rule(regions);
  list->width = video->width;
  list->height = video->height;
  list->count = 0;
  list->far = nullptr;
  if (regions->count <= kArgumentShapes) {
    for (int i = 0; i < regions->count; i++)
      list->count += make_shape(&list->few[list->count], video, regions, i) ? 1 : 0;
    return true;
  }

  CfShape *far =
      (CfShape *)cf_scratch_take(device, (size_t)regions->count * sizeof(CfShape), stream, status);
  if (!far)
    return false;
  if (!make_far(far, &list->count, video, regions, (cudaStream_t)stream, status)) {
    cf_scratch_give(device, far, stream, nullptr);
    return false;
  }
  list->far = far;
  *scratch = far;
  return true;
}
