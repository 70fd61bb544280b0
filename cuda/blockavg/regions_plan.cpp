/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Block average of regions in one launch: makes the plan on the host.
 */
#include "cuda/blockavg/regions_plan.h"

namespace cf::blockavg
{

namespace
{

/* Of a picture: floor_quotient() of larger numbers would not be exact on the GPU. */
constexpr int kLargestSide = 24576;

/* The picture is divided into at most this many cells, to find regions that may have blocks in
 * common. A row of cells is a word of bits. */
constexpr int kCellColumns = 64, kCellRows = 128;

FootprintRule make_rule(const CfVideo *video, const CfBlockavgParams *params,
                        const CfRegions *regions)
{
  const CfFormatInfo *format = cf_format_info(video->format);
  const bool fills = params->mode == CF_BLOCKAVG_FILL;
  FootprintRule rule = {};

  rule.picture_width = video->width;
  rule.picture_height = video->height;
  rule.reach = cf_coverage_rule(regions).reach;
  rule.mask_x = rule.mask_y = ~0;
  for (int p = 0; p < format->planes; p++) {
    rule.mask_x &= ~0u << format->plane[p].subsampling_x;
    rule.mask_y &= ~0u << format->plane[p].subsampling_y;
  }
  rule.single = fills || cf_mosaic_is_single(params, regions);
  if (fills) {
    rule.width = kFillWidth;
    rule.height = kFillHeight;
  } else if (rule.single || params->blocks_across <= 0) {
    const CfGrid grid = cf_mosaic_frame_grid(params, video);
    rule.width = grid.width;
    rule.height = grid.height;
  }
  rule.blocks_across = params->blocks_across;
  rule.anchored = !rule.single && params->anchor == CF_BLOCKAVG_REGION;
  rule.field = video->field;
  return rule;
}

/* The largest square blocks, of blocks_across. */
constexpr int kMostSize = 150;

static_assert(kMostSize * kMostSize <= kWholePixels, "the limit of all blocks");

/* By size of blocks, the largest width and height of a region, 0 if there is none. Index 0 is for
 * blocks of the same size in all regions, the others are for square blocks of that size. */
struct Largest {
  int width[kMostSize + 1], height[kMostSize + 1];
};

/* Lists the boxes of regions that touch the picture. Coordinates that do not fit a short are
 * clipped to the picture if nothing depends on the part outside; else it returns false. */
bool pack_boxes(RegionPlan *list, const CfRegions *regions, Largest *largest)
{
  const FootprintRule rule = list->rule;
  int boxes = 0;

  for (int i = 0; i < regions->count; i++) {
    const CfRegion *region = &regions->region[i];
    int64_t x0 = region->x, y0 = region->y, x1 = x0 + region->width, y1 = y0 + region->height;

    if (x0 >= x1 || y0 >= y1 || x0 - rule.reach >= rule.picture_width ||
        y0 - rule.reach >= rule.picture_height || x1 + rule.reach <= 0 || y1 + rule.reach <= 0)
      continue;
    if (x0 < INT16_MIN || y0 < INT16_MIN || x1 > INT16_MAX || y1 > INT16_MAX) {
      if (list->needs_grid_barrier)
        return false;
      x0 = x0 < 0 ? 0 : x0;
      y0 = y0 < 0 ? 0 : y0;
      x1 = x1 < rule.picture_width ? x1 : rule.picture_width;
      y1 = y1 < rule.picture_height ? y1 : rule.picture_height;
    }
    const Box box = {(short)x0, (short)y0, (short)x1, (short)y1};
    const int size =
        rule.width > 0 ? 0 : cf_mosaic_block_size(box_side(&rule, &box), rule.blocks_across);
    if (size > kMostSize)
      return false;
    list->list.box[boxes++] = box;
    largest->width[size] = larger(largest->width[size], box.x1 - box.x0);
    largest->height[size] = larger(largest->height[size], box.y1 - box.y0);
  }
  list->boxes = boxes;
  return true;
}

/* A footprint as large as any of the regions with this size of blocks. */
Footprint largest_footprint(const FootprintRule *rule, int size, const Largest *largest)
{
  const int width = smaller(largest->width[size] + 2 * rule->reach, rule->picture_width);
  const int height = smaller(largest->height[size] + 2 * rule->reach, rule->picture_height);
  Footprint footprint = {0, 0, size > 0 ? size : rule->width, size > 0 ? size : rule->height, 0, 0};

  footprint.columns = (width + ~rule->mask_x + footprint.width - 2) / footprint.width + 1;
  footprint.rows = (height + ~rule->mask_y + footprint.height - 2) / footprint.height + 1;
  return footprint;
}

/* log2 of the pixels of a cell. */
int cell_shift(int length, int cells)
{
  int shift = 0;

  while ((length - 1) >> shift >= cells)
    shift++;
  return shift;
}

int cell_at(int pixel, int length, int shift)
{
  return smaller(larger(pixel, 0), length - 1) >> shift;
}

/* Whether two regions may have blocks in common: whether they touch the same cell when enlarged by
 * the feather and a block. */
bool may_overlap(const RegionPlan *list)
{
  const FootprintRule rule = list->rule;
  const int margin_x = rule.reach + (rule.width > 0 ? rule.width : kMostSize);
  const int margin_y = rule.reach + (rule.width > 0 ? rule.height : kMostSize);
  const int shift_x = cell_shift(rule.picture_width, kCellColumns);
  const int shift_y = cell_shift(rule.picture_height, kCellRows);
  uint64_t marked[kCellRows] = {}, twice = 0;

  for (int i = 0; i < list->boxes && !twice; i++) {
    const Box box = list->list.box[i];
    const int x0 = cell_at(box.x0 - margin_x, rule.picture_width, shift_x);
    const int x1 = cell_at(box.x1 - 1 + margin_x, rule.picture_width, shift_x);
    const int y0 = cell_at(box.y0 - margin_y, rule.picture_height, shift_y);
    const int y1 = cell_at(box.y1 - 1 + margin_y, rule.picture_height, shift_y);
    const uint64_t columns = ~0ull >> (kCellColumns - 1 - x1 + x0) << x0;

    for (int row = y0; row <= y1; row++) {
      twice |= marked[row] & columns;
      marked[row] |= columns;
    }
  }
  return twice;
}

/* Plane 0, or all other planes, which have the same layout. `bytes`: of a pixel. */
struct PlaneLayout {
  int planes, channels, bytes, shift_x, shift_y;
};

PlaneLayout layout_of(const CfFormatInfo *format, int k)
{
  const CfPlaneFormat *format_plane = &format->plane[k];

  return {k > 0 ? format->planes - 1 : 1, format_plane->channels,
          format_plane->channels * cf_sample_bytes(format), format_plane->subsampling_x,
          format_plane->subsampling_y};
}

UnitShape shape_units(const RegionPlan *list, const PlaneLayout &layout, const Footprint *footprint,
                      bool aligned)
{
  return unit_shape_of(footprint, list->unit_items,
                       item_rows_of(footprint->height, layout.shift_y, layout.channels),
                       layout.bytes, layout.shift_x, aligned);
}

/* Raises units[k] and `items` to those of a footprint, the largest with its size of blocks. */
void reserve_units(RegionPlan *list, int k, const PlaneLayout &layout, const Footprint *footprint)
{
  const bool aligned =
      list->rule.single && is_column_aligned(footprint, layout.bytes, layout.shift_x);
  const UnitShape cut = shape_units(list, layout, footprint, aligned);
  const int groups = item_rows_of(footprint->height, layout.shift_y, layout.channels);
  const int columns =
      columns_touched(cut.across * footprint->width, layout.bytes, layout.shift_x, aligned);
  const int items = columns * groups * cut.down;

  list->cut[k] = cut;
  list->units[k] = larger(list->units[k], units_of(footprint, &cut));
  /* A smaller footprint with blocks of this size may have more rows of blocks in a unit, unless all
   * have the same unit shape. */
  list->items =
      larger(list->items, list->rule.width > 0 || columns * groups > list->unit_items
                              ? items
                              : smaller(columns * groups * footprint->rows, list->unit_items));
}

} // namespace

bool make_region_plan(RegionPlan *list, const CfVideo *video, const CfBlockavgParams *params,
                      const CfRegions *regions)
{
  const CfFormatInfo *format = cf_format_info(video->format);
  Largest largest = {};

  if (regions->count > kMostRegions || video->width > kLargestSide || video->height > kLargestSide)
    return false;
  list->rule = make_rule(video, params, regions);
  /* CfRegions.whole: a Box cannot say of which region it is a part. */
  if (regions->whole && !list->rule.single)
    return false;
  const bool soft = list->rule.reach > 0 || regions->shape != CF_REGION_RECTANGLE;
  list->needs_grid_barrier = soft || !list->rule.single;
  list->units[0] = list->units[1] = list->items = 0;
  if (list->rule.width * list->rule.height > kWholePixels || !pack_boxes(list, regions, &largest))
    return false;
  list->overlaps = list->boxes > 1 && may_overlap(list);
  list->needs_grid_barrier =
      list->needs_grid_barrier && list->overlaps && params->mode != CF_BLOCKAVG_FILL;
  list->unit_items =
      soft && !list->needs_grid_barrier && list->boxes <= kFewShapes ? kFewItems : kUnitItems;
  for (int size = 0; size <= kMostSize; size++) {
    if (largest.width[size] == 0)
      continue;
    const Footprint footprint = largest_footprint(&list->rule, size, &largest);
    for (int k = 0; k < 2 && k < format->planes; k++)
      reserve_units(list, k, layout_of(format, k), &footprint);
  }
  list->ctas = (list->units[0] + (format->planes - 1) * list->units[1]) * list->boxes;
  list->exact_offsets = false;
  return list->items <= kMostItems && (list->ctas <= kMostCtas || count_units(list, video));
}

bool count_units(RegionPlan *list, const CfVideo *video)
{
  const CfFormatInfo *format = cf_format_info(video->format);

  list->exact_offsets = true;
  list->ctas = 0;
  for (int i = 0; i < list->boxes; i++) {
    const Footprint footprint = footprint_of(&list->rule, &list->list.box[i]);

    list->list.start[i] = (uint16_t)list->ctas;
    for (int k = 0; k < 2 && k < format->planes; k++) {
      const PlaneLayout layout = layout_of(format, k);
      const UnitShape cut =
          list->rule.width > 0
              ? list->cut[k]
              : shape_units(list, layout, &footprint,
                            is_column_aligned(&footprint, layout.bytes, layout.shift_x));
      list->ctas += units_of(&footprint, &cut) * layout.planes;
    }
    if (list->ctas > UINT16_MAX)
      return false;
  }
  return true;
}

} // namespace cf::blockavg
