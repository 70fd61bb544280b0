/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cuda/regions/shape_list.cuh"

namespace
{

constexpr int kChunk = 256; /* shapes copied at once */

/* Makes shape `i`; false if it does not touch the picture. */
bool make_shape(CfShape *shape, const CfVideo *video, const CfRegions *regions, int i)
{
  const CfRegion *region = &regions->region[i];

  return !cf_rect_is_empty(cf_region_bounds(video, regions, region)) &&
         cf_shape_make(shape, video, regions, region);
}

/* Makes the shapes in device memory, and counts them. */
bool upload_shapes(CfShape *shapes, int *count, const CfVideo *video, const CfRegions *regions,
                   void *stream, CfStatus *status)
{
  CfShape chunk[kChunk];
  int held = 0;

  for (int i = 0; i < regions->count; i++) {
    if (make_shape(&chunk[held], video, regions, i))
      held++;
    if (held < kChunk && i + 1 < regions->count)
      continue;
    if (!cf_upload(shapes + *count, chunk, (size_t)held * sizeof *chunk, stream, status))
      return false;
    *count += held;
    held = 0;
  }
  return true;
}

} // namespace

bool cf_shape_list_make(CfShapeList *list, CfShape *memory, const CfVideo *video,
                        const CfRegions *regions, void *stream, CfStatus *status)
{
  list->rule = cf_coverage_rule(regions);
  list->width = video->width;
  list->height = video->height;
  list->count = 0;
  list->device_shapes = nullptr;
  if (regions->count > kInlineShapes) {
    list->device_shapes = memory;
    return upload_shapes(memory, &list->count, video, regions, stream, status);
  }
  for (int i = 0; i < regions->count; i++)
    list->count += make_shape(&list->inline_shapes[list->count], video, regions, i) ? 1 : 0;
  return true;
}
