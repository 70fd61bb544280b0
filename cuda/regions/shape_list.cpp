/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cuda/regions/shape_list.cuh"

namespace
{

constexpr int kChunk = 256;

/* Copies from pageable memory of up to 64 KiB have left it when the call returns. */
bool upload(CfShape *far, const CfShape *shapes, int count, cudaStream_t stream, CfStatus *status)
{
  return cf_cuda_ok(
      cudaMemcpyAsync(far, shapes, (size_t)count * sizeof *shapes, cudaMemcpyHostToDevice, stream),
      "copying regions to the device", status);
}

bool upload_all(CfShape *far, int *total, const CfVideo *video, const CfRegions *regions,
                cudaStream_t stream, CfStatus *status)
{
  CfShape chunk[kChunk];
  int count = 0;

  *total = 0;
  for (int i = 0; i < regions->count; i++) {
    const CfRegion *region = &regions->region[i];

    if (!cf_rect_is_empty(cf_region_bounds(video, regions, region)) &&
        cf_shape_make(&chunk[count], video, regions, region))
      count++;
    if (count == kChunk || (count > 0 && i + 1 == regions->count)) {
      if (!upload(far + *total, chunk, count, stream, status))
        return false;
      *total += count;
      count = 0;
    }
  }
  return true;
}

} // namespace

bool cf_shape_list_make(CfShapeList *list, CfDevice *device, const CfVideo *video,
                        const CfRegions *regions, void *stream, void **scratch, CfStatus *status)
{
  int needed = 0;

  *scratch = nullptr;
  list->rule = cf_coverage_rule(regions);
  list->width = video->width;
  list->height = video->height;
  list->count = 0;
  list->far = nullptr;
  for (int i = 0; i < regions->count; i++) {
    const CfRegion *region = &regions->region[i];
    CfShape shape;

    if (cf_rect_is_empty(cf_region_bounds(video, regions, region)) ||
        !cf_shape_make(&shape, video, regions, region))
      continue;
    if (needed < kFewShapes)
      list->few[needed] = shape;
    needed++;
  }
  if (needed <= kFewShapes) {
    list->count = needed;
    return true;
  }

  CfShape *far =
      (CfShape *)cf_scratch_take(device, (size_t)needed * sizeof(CfShape), stream, status);
  if (!far)
    return false;
  if (!upload_all(far, &list->count, video, regions, (cudaStream_t)stream, status)) {
    cf_scratch_give(device, far, stream, nullptr);
    return false;
  }
  list->far = far;
  *scratch = far;
  return true;
}
