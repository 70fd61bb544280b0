/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Regions for kernels: the list of a frame's shapes (plan/coverage.h). A CTA first finds those that
 * may touch its tile, then asks these how much they cover a sample.
 */
#pragma once

#include "cuda/common/context.cuh"

extern "C" {
#include "plan/coverage.h"
}

/* Up to this many shapes are part of the kernel's parameters; longer lists are in scratch memory.
 */
constexpr int kInlineShapes = 24;

/* Capacity of a tile's list. If more shapes may touch the tile, each sample asks the whole list. */
constexpr int kTileShapes = 64;

struct CfShapeList {
  CfCoverageRule rule;
  int width, height; /* luma pixels of the picture */
  int count;
  const CfShape *device_shapes; /* in device memory; NULL while they are few */
  CfShape inline_shapes[kInlineShapes];
};

/* Makes the list of the regions that touch the picture, in their order. `memory` has room for all
 * regions, and is used if these are more than kInlineShapes. */
bool cf_shape_list_make(CfShapeList *list, CfShape *memory, const CfVideo *video,
                        const CfRegions *regions, void *stream, CfStatus *status);

/* Makes the list, unless `regions` is NULL, and enqueues what `use` () enqueues, which may read the
 * list. */
template <typename Use>
bool cf_with_shapes(CfShapeList *list, CfDevice *device, const CfVideo *video,
                    const CfRegions *regions, void *stream, CfStatus *status, Use use)
{
  const int count = regions && regions->count > kInlineShapes ? regions->count : 0;

  return cf_with_scratch(device, (size_t)count * sizeof(CfShape), stream, status,
                         [&](uint8_t *memory) {
                           return (!regions || cf_shape_list_make(list, (CfShape *)memory, video,
                                                                  regions, stream, status)) &&
                                  use();
                         });
}

#ifdef __CUDACC__

/* The shapes that may touch a tile, in shared memory, in any order. */
struct CfTileShapes {
  int count; /* of shapes found; `index` is incomplete if this is more than kTileShapes */
  int index[kTileShapes];
};

__device__ inline const CfShape &cf_shape_at(const CfShapeList &list, int i)
{
  return list.device_shapes ? list.device_shapes[i] : list.inline_shapes[i];
}

/* Finds the shapes of a tile, in luma pixels. By all threads of a one-dimensional CTA; ends with a
 * barrier. */
__device__ inline void cf_find_shapes(const CfShapeList &list, CfRect tile, CfTileShapes *found)
{
  if (threadIdx.x == 0)
    found->count = 0;
  __syncthreads();
  for (int i = (int)threadIdx.x; i < list.count; i += (int)blockDim.x) {
    const CfShape &shape = cf_shape_at(list, i);

    if (shape.x0 - list.rule.reach < tile.x1 && shape.x1 + list.rule.reach > tile.x0 &&
        shape.y0 - list.rule.reach < tile.y1 && shape.y1 + list.rule.reach > tile.y0) {
      const int at = atomicAdd(&found->count, 1);
      if (at < kTileShapes)
        found->index[at] = i;
    }
  }
  __syncthreads();
}

/* A sample's coverage, and the index of the shape that covers it (meaningless with `outside`). */
struct CfCovered {
  int coverage, owner;
};

/* Adds shape `i` of the list to the coverage of luma pixel (x, y). The owner is the shape with the
 * largest coverage; `*side` is its side. */
__device__ inline void cf_add_shape(const CfShapeList &list, int i, int x, int y,
                                    CfCovered *covered, int *side)
{
  const CfShape &shape = cf_shape_at(list, i);
  const int reach = list.rule.reach;

  if (x < shape.x0 - reach || x >= shape.x1 + reach || y < shape.y0 - reach ||
      y >= shape.y1 + reach)
    return;

  const int coverage = cf_shape_coverage(&list.rule, &shape, x, y);
  if (list.rule.outside) {
    covered->coverage = min(covered->coverage, coverage);
  } else if (coverage > covered->coverage ||
             (coverage == covered->coverage && coverage > 0 &&
              cf_owns_before(shape.side, i, *side, covered->owner))) {
    covered->coverage = coverage;
    covered->owner = i;
    *side = shape.side;
  }
}

/* The coverage of luma pixel (x, y), and the owner's `*side`. */
__device__ inline CfCovered cf_luma_coverage(const CfShapeList &list, const CfTileShapes &shapes,
                                             int x, int y, int *side)
{
  CfCovered covered = {list.rule.outside ? CF_COVERED : 0, 0};

  *side = 0;
  if (shapes.count <= kTileShapes) {
#pragma unroll 1
    for (int i = 0; i < shapes.count; i++)
      cf_add_shape(list, shapes.index[i], x, y, &covered, side);
  } else {
#pragma unroll 1
    for (int i = 0; i < list.count; i++)
      cf_add_shape(list, i, x, y, &covered, side);
  }
  return covered;
}

/* The coverage of a sample of a plane with these subsamplings: the largest of its luma pixels. */
__device__ inline CfCovered cf_sample_coverage(const CfShapeList &list, const CfTileShapes &shapes,
                                               int x, int y, int shift_x, int shift_y)
{
  CfCovered most = {-1, 0};
  int most_side = 0;

  for (int j = y << shift_y; j < (y + 1) << shift_y && j < list.height; j++) {
    for (int i = x << shift_x; i < (x + 1) << shift_x && i < list.width; i++) {
      int side;
      const CfCovered one = cf_luma_coverage(list, shapes, i, j, &side);

      if (one.coverage > most.coverage ||
          (one.coverage == most.coverage &&
           cf_owns_before(side, one.owner, most_side, most.owner))) {
        most = one;
        most_side = side;
      }
    }
  }
  return most;
}

/* Whether no sample of a tile can be covered. */
__device__ inline bool cf_is_untouched(const CfShapeList &list, const CfTileShapes &shapes)
{
  return !list.rule.outside && shapes.count == 0;
}

#endif
