/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cuda/regions/shape_list.cuh"

namespace
{

/* Shapes copied at once: below 64 KiB. cudaMemcpyAsync() of that much pageable memory has read it
 * when it returns, so that the stack may hold it. */
constexpr int kChunk = 256;
static_assert(kChunk * sizeof(CfShape) <= 64 * 1024, "copies of more than 64 KiB may be deferred");

/* Makes shape `i`; false if it does not touch the picture. */
bool make_shape(CfShape *shape, const CfVideo *video, const CfRegions *regions, int i)
{
  const CfRegion *region = &regions->region[i];

  return !cf_rect_is_empty(cf_region_bounds(video, regions, region)) &&
         cf_shape_make(shape, video, regions, region);
}

/* Makes the shapes in device memory, and counts them. */
bool upload_shapes(CfShape *shapes, int *count, const CfVideo *video, const CfRegions *regions,
                   cudaStream_t stream, CfStatus *status)
{
  CfShape chunk[kChunk];
  int held = 0;

  for (int i = 0; i < regions->count; i++) {
    if (make_shape(&chunk[held], video, regions, i))
      held++;
    if (held < kChunk && i + 1 < regions->count)
      continue;
    if (!cf_cuda_ok(cudaMemcpyAsync(shapes + *count, chunk, (size_t)held * sizeof *chunk,
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
  list->device_shapes = nullptr;
  if (regions->count <= kInlineShapes) {
    for (int i = 0; i < regions->count; i++)
      list->count += make_shape(&list->inline_shapes[list->count], video, regions, i) ? 1 : 0;
    return true;
  }

  CfShape *device_shapes =
      (CfShape *)cf_scratch_take(device, (size_t)regions->count * sizeof(CfShape), stream, status);
  if (!device_shapes)
    return false;
  if (!upload_shapes(device_shapes, &list->count, video, regions, (cudaStream_t)stream, status)) {
    cf_scratch_give(device, device_shapes, stream, nullptr);
    return false;
  }
  list->device_shapes = device_shapes;
  *scratch = device_shapes;
  return true;
}
