/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "blockavg_units.cuh"

#include <limits.h>
#include <string.h>

extern "C" {
#include "coverage.h"
#include "mosaic.h"
}

namespace
{

/* Larger blocks are summed up by several CUDA blocks. */
constexpr int kWholePixels = 8192;

/* Blocks beside the picture have coordinates of 16 bits too. */
constexpr int kLargestSide = 32767 - kWholePixels;

constexpr int kMostPieces = 64;

/* Longer lists are prepared faster for blockavg_regions.cu, which pays where they change with every
 * job: 100 regions cost 7 us here, and are filled 5 us sooner. */
constexpr int kAtOnce = 48;

/* The picture is divided into so many cells each way to find patches that share blocks. */
constexpr int kCells = 64;

constexpr int kNearWords = kMostPatches / 64;

/* A rectangle of blocks. */
struct Area {
  const CfGrid *grid;
  int x, y; /* luma pixel where the first block starts */
  int columns, rows;
  uint32_t reciprocal;
  bool waits;
  short first_cover[2], covers[2]; /* what of the first plane is to be written, and of others */
};

/* What a region has of the picture. */
struct Patch {
  CfRect rect;   /* luma pixels that it covers */
  CfRect blocks; /* luma pixels of its blocks */
  CfGrid grid;
  int columns, rows; /* of blocks */
  int side;
  bool shares;               /* blocks with others */
  uint64_t near[kNearWords]; /* a bit for each of them */
};

/* For quotient(). */
uint32_t reciprocal_of(int divisor)
{
  return divisor == 1 ? 0 : ~0u / (uint32_t)divisor + 1;
}

int quotient_up(int a, int b)
{
  return (a + b - 1) / b;
}

int cut(int value, int limit)
{
  return value < 0 ? 0 : value > limit ? limit : value;
}

bool overlaps(const CfRect &a, const CfRect &b)
{
  return a.x0 < b.x1 && b.x0 < a.x1 && a.y0 < b.y1 && b.y0 < a.y1;
}

/* A plane of the picture. */
struct PlaneShape {
  int width, height, channels, bytes; /* of a pixel */
  int shift_x, shift_y;
};

struct Maker {
  CfUnitTable *table;
  const CfVideo *video;
  int planes;
  PlaneShape plane[CF_MAX_PLANES];
  int shift_x, shift_y; /* largest subsampling */
  int patches, areas, covers;
  Patch patch[kMostPatches];
  Area area[kMostAreas];
  CfCover cover[kMostCovers];
};

/* The blocks are those of all planes: chroma samples may belong to one before those of their luma
 * pixels. */
void find_blocks(const Maker *self, Patch *patch)
{
  const CfGrid *grid = &patch->grid;
  const int first_x = patch->rect.x0 >> self->shift_x, first_y = patch->rect.y0 >> self->shift_y;
  const int column = cf_grid_block(grid->x, grid->width, self->shift_x, first_x);
  const int row = cf_grid_block(grid->y, grid->height, self->shift_y, first_y);
  const int x = grid->x + column * grid->width, y = grid->y + row * grid->height;

  patch->columns = cf_grid_block(grid->x, grid->width, 0, patch->rect.x1 - 1) + 1 - column;
  patch->rows = cf_grid_block(grid->y, grid->height, 0, patch->rect.y1 - 1) + 1 - row;
  patch->blocks = {x, y, x + patch->columns * grid->width, y + patch->rows * grid->height};
}

bool make_patches(Maker *self, const CfBlockavgParams *params, const CfRegions *regions,
                  bool single)
{
  const CfGrid grid = cf_mosaic_frame_grid(params, self->video, regions->field);

  const int width = self->video->width, height = self->video->height;

  self->patches = 0;
  for (int i = 0; i < regions->count; i++) {
    const CfRegion *region = &regions->region[i];
    Patch *patch = &self->patch[self->patches];
    CfShape shape;

    if (!cf_shape_make(&shape, self->video, regions, region))
      continue;
    patch->rect = {cut(shape.x0, width), cut(shape.y0, height), cut(shape.x1, width),
                   cut(shape.y1, height)};
    if (cf_rect_is_empty(patch->rect))
      continue;
    patch->grid = single ? grid : cf_mosaic_region_grid(params, &shape);
    patch->side = shape.side;
    patch->shares = false;
    if ((long)patch->grid.width * patch->grid.height > kWholePixels)
      return false;
    find_blocks(self, patch);
    self->patches++;
  }
  return true;
}

int cell_shift(int length)
{
  int shift = 0;

  while ((length - 1) >> shift >= kCells)
    shift++;
  return shift;
}

/* The cells that a patch's blocks lie in. */
struct CellSpan {
  int row0, row1;
  uint64_t columns;
};

CellSpan cells_of(const Maker *self, const CfRect &blocks, int shift_x, int shift_y)
{
  const int right = self->video->width - 1, bottom = self->video->height - 1;
  const int x0 = cut(blocks.x0, right) >> shift_x, x1 = cut(blocks.x1 - 1, right) >> shift_x;

  return {cut(blocks.y0, bottom) >> shift_y, cut(blocks.y1 - 1, bottom) >> shift_y,
          ~0ull >> (kCells - 1 - x1 + x0) << x0};
}

/* Patches that share blocks have a cell in common, of which most lists have few; those that have
 * are compared in the order of their first rows of cells. */
void find_sharing(Maker *self)
{
  const int shift_x = cell_shift(self->video->width), shift_y = cell_shift(self->video->height);
  uint64_t once[kCells] = {}, more[kCells] = {};
  CellSpan spans[kMostPatches];
  short starts[kCells + 1] = {}, found[kMostPatches];

  for (int i = 0; i < self->patches; i++) {
    spans[i] = cells_of(self, self->patch[i].blocks, shift_x, shift_y);
    for (int row = spans[i].row0; row <= spans[i].row1; row++) {
      more[row] |= once[row] & spans[i].columns;
      once[row] |= spans[i].columns;
    }
  }
  for (int i = 0; i < self->patches; i++) {
    uint64_t common = 0;

    for (int row = spans[i].row0; row <= spans[i].row1; row++)
      common |= more[row] & spans[i].columns;
    if (common)
      starts[spans[i].row0 + 1]++;
    else
      spans[i].row0 = kCells;
  }
  for (int row = 0; row < kCells; row++)
    starts[row + 1] += starts[row];
  for (int i = 0; i < self->patches; i++) {
    if (spans[i].row0 < kCells) {
      found[starts[spans[i].row0]++] = (short)i;
      memset(self->patch[i].near, 0, sizeof self->patch[i].near);
    }
  }
  for (int i = 0; i < starts[kCells - 1]; i++) {
    Patch *a = &self->patch[found[i]];

    for (int k = i + 1; k < starts[spans[found[i]].row1]; k++) {
      Patch *b = &self->patch[found[k]];

      if (overlaps(a->blocks, b->blocks)) {
        a->shares = b->shares = true;
        a->near[found[k] / 64] |= 1ull << found[k] % 64;
        b->near[found[i] / 64] |= 1ull << found[i] % 64;
      }
    }
  }
}

/* The next of the patches that share blocks with one, from `i` on; -1 after the last. */
int next_near(const Patch *patch, int i)
{
  for (int word = i / 64; word < kNearWords; word++) {
    const uint64_t left = patch->near[word] & (word == i / 64 ? ~0ull << i % 64 : ~0ull);
    if (left)
      return 64 * word + __builtin_ctzll(left);
  }
  return -1;
}

/* The samples that luma pixels belong to. */
CfRect samples_of(const Maker *self, int level, const CfRect &luma)
{
  const PlaneShape *plane = &self->plane[level];
  const int round_x = (1 << plane->shift_x) - 1, round_y = (1 << plane->shift_y) - 1;

  return {luma.x0 >> plane->shift_x, luma.y0 >> plane->shift_y,
          (luma.x1 + round_x) >> plane->shift_x, (luma.y1 + round_y) >> plane->shift_y};
}

/* Of the last area. */
void begin_covers(Maker *self, int level)
{
  self->area[self->areas - 1].first_cover[level] = (short)self->covers;
}

bool add_cover(Maker *self, int level, const CfRect &rect)
{
  if (level >= self->planes)
    return true;
  if (self->covers == kMostCovers)
    return false;
  self->area[self->areas - 1].covers[level]++;
  self->cover[self->covers++] = {(short)rect.x0, (short)rect.y0, (short)rect.x1, (short)rect.y1};
  return true;
}

/* Cuts `hole` out of all pieces; returns how many there are then, kMostPieces if too many. */
int cut_pieces(CfRect *pieces, int count, const CfRect &hole)
{
  int total = 0;
  CfRect made[kMostPieces + 4];

  for (int i = 0; i < count; i++) {
    const CfRect piece = pieces[i];

    if (total >= kMostPieces)
      return kMostPieces;
    if (!overlaps(piece, hole)) {
      made[total++] = piece;
      continue;
    }
    const int y0 = piece.y0 > hole.y0 ? piece.y0 : hole.y0;
    const int y1 = piece.y1 < hole.y1 ? piece.y1 : hole.y1;
    if (piece.y0 < hole.y0)
      made[total++] = {piece.x0, piece.y0, piece.x1, hole.y0};
    if (hole.y1 < piece.y1)
      made[total++] = {piece.x0, hole.y1, piece.x1, piece.y1};
    if (piece.x0 < hole.x0)
      made[total++] = {piece.x0, y0, hole.x0, y1};
    if (hole.x1 < piece.x1)
      made[total++] = {hole.x1, y0, piece.x1, y1};
  }
  if (total >= kMostPieces)
    return kMostPieces;
  memcpy(pieces, made, (size_t)total * sizeof *pieces);
  return total;
}

bool add_area(Maker *self, const CfGrid *grid, int x, int y, int columns, int rows)
{
  if (self->areas == kMostAreas)
    return false;

  Area *area = &self->area[self->areas++];
  const bool alike = self->areas > 1 && area[-1].grid->width == grid->width;
  const uint32_t reciprocal = alike ? area[-1].reciprocal : reciprocal_of(grid->width);
  *area = {grid, x, y, columns, rows, reciprocal, false, {0, 0}, {0, 0}};
  return true;
}

/* Patches that share no blocks. */
bool add_lone_areas(Maker *self)
{
  for (int i = 0; i < self->patches; i++) {
    const Patch *patch = &self->patch[i];

    if (patch->shares)
      continue;
    if (!add_area(self, &patch->grid, patch->blocks.x0, patch->blocks.y0, patch->columns,
                  patch->rows))
      return false;
    for (int level = 0; level < 2; level++) {
      begin_covers(self, level);
      if (!add_cover(self, level, samples_of(self, level, patch->rect)))
        return false;
    }
  }
  return true;
}

/* Patches with grids of their own: what of each plane belongs to one, and to none before it. */
bool add_owned_areas(Maker *self)
{
  for (int i = 0; i < self->patches; i++) {
    const Patch *own = &self->patch[i];

    if (!own->shares)
      continue;
    if (!add_area(self, &own->grid, own->blocks.x0, own->blocks.y0, own->columns, own->rows))
      return false;
    self->area[self->areas - 1].waits = true;
    for (int level = 0; level < 2; level++) {
      CfRect pieces[kMostPieces];
      int count = 1;

      pieces[0] = samples_of(self, level, own->rect);
      for (int k = next_near(own, 0); k >= 0 && count < kMostPieces; k = next_near(own, k + 1)) {
        const Patch *other = &self->patch[k];
        if (other->side > own->side || (other->side == own->side && k < i))
          count = cut_pieces(pieces, count, samples_of(self, level, other->rect));
      }
      if (count == kMostPieces)
        return false;
      begin_covers(self, level);
      for (int k = 0; k < count; k++) {
        if (!add_cover(self, level, pieces[k]))
          return false;
      }
    }
  }
  return true;
}

/* Patches of one grid: blocks belong to the first that has them, which fills them for all. */
bool add_common_areas(Maker *self)
{
  for (int i = 0; i < self->patches; i++) {
    const Patch *own = &self->patch[i];
    CfRect pieces[kMostPieces];
    int count = 1;

    if (!own->shares)
      continue;
    pieces[0] = own->blocks;
    for (int k = next_near(own, 0); k >= 0 && k < i && count < kMostPieces;
         k = next_near(own, k + 1))
      count = cut_pieces(pieces, count, self->patch[k].blocks);
    if (count == kMostPieces)
      return false;
    for (int piece = 0; piece < count; piece++) {
      const CfRect *blocks = &pieces[piece];

      if (!add_area(self, &own->grid, blocks->x0, blocks->y0,
                    (blocks->x1 - blocks->x0) / own->grid.width,
                    (blocks->y1 - blocks->y0) / own->grid.height))
        return false;
      for (int level = 0; level < 2; level++) {
        begin_covers(self, level);
        if (!add_cover(self, level, samples_of(self, level, own->rect)))
          return false;
        for (int k = next_near(own, 0); k >= 0; k = next_near(own, k + 1)) {
          if (overlaps(self->patch[k].blocks, *blocks) &&
              !add_cover(self, level, samples_of(self, level, self->patch[k].rect)))
            return false;
        }
      }
    }
  }
  return true;
}

/* ---- Units ---- */

/* How areas of one size are cut in a plane. */
struct Cut {
  int width, height, columns, rows; /* of the areas */
  int wide;                         /* columns of 16 bytes */
  int across, down;                 /* blocks of a unit */
  int groups;
  uint32_t per_groups;
};

int sample_of(int luma, int shift, int limit)
{
  return cut((luma + (1 << shift) - 1) >> shift, limit);
}

/* Tries some ways to cut the area across, for that which leaves the fewest threads without work. */
void find_cut(Cut *made, const PlaneShape *plane, const Area *area, int wide)
{
  const CfGrid *grid = area->grid;
  int least = INT_MAX;

  if (made->width != grid->width || made->height != grid->height) {
    made->groups = quotient_up((grid->height + (1 << plane->shift_y) - 1) >> plane->shift_y,
                               plane->channels == 4 ? kItemRows<4> : kItemRows<1>);
    made->per_groups = reciprocal_of(made->groups);
  } else if (made->columns == area->columns && made->rows == area->rows && made->wide == wide) {
    return;
  }
  *made = {grid->width,   grid->height, area->columns, area->rows,      wide,
           area->columns, area->rows,   made->groups,  made->per_groups};
  if (wide * made->groups * area->rows <= kUnitItems && area->columns * area->rows <= kUnitBlocks)
    return;

  const int first = quotient_up(wide * made->groups, kUnitItems);
  for (int parts = first; parts < first + 3 && (parts <= area->columns || parts == first);
       parts++) {
    int across = parts < area->columns ? quotient_up(area->columns, parts) : 1;
    across = across < kUnitBlocks ? across : kUnitBlocks;
    const int columns = across < area->columns ? wide * across / area->columns + 1 : wide;
    const int items = columns * made->groups;
    int down = items < kUnitItems ? kUnitItems / items : 1;
    down = down * across <= kUnitBlocks ? down : kUnitBlocks / across;
    const int down_parts = quotient_up(area->rows, down);
    const int cost = quotient_up(area->columns, across) * down_parts * (items > kUnitItems ? 2 : 1);

    if (cost < least) {
      least = cost;
      made->across = across;
      made->down = quotient_up(area->rows, down_parts);
    }
  }
}

bool add_units(Maker *self, const Area *area, int p, int shift, Cut *parts)
{
  const PlaneShape *plane = &self->plane[p];
  const int width = area->grid->width, height = area->grid->height;
  const int round = (1 << shift) - 1, level = p > 0;
  int x0 = sample_of(area->x, plane->shift_x, plane->width);
  int x1 = sample_of(area->x + area->columns * width, plane->shift_x, plane->width);
  CfUnit unit = {};

  if (x0 >= x1)
    return true;
  find_cut(parts, plane, area, ((x1 + round) >> shift) - (x0 >> shift));
  unit.width = (short)width;
  unit.height = (short)height;
  unit.plane = (uint8_t)p;
  unit.covers = (uint8_t)area->covers[level];
  unit.first_cover = area->first_cover[level];
  unit.groups = (short)parts->groups;
  unit.per_width = area->reciprocal;
  unit.per_groups = parts->per_groups;
  for (int block = 0; block < area->columns; block += parts->across, x0 = x1) {
    const int end = block + parts->across < area->columns ? block + parts->across : area->columns;

    x1 = sample_of(area->x + end * width, plane->shift_x, plane->width);
    if (x0 >= x1)
      continue;
    unit.x = (short)(area->x + block * width);
    unit.blocks = (uint8_t)(end - block);
    unit.column0 = (short)(x0 >> shift);
    if (unit.columns != ((x1 + round) >> shift) - (x0 >> shift)) {
      unit.columns = (short)(((x1 + round) >> shift) - (x0 >> shift));
      unit.per_columns = reciprocal_of(unit.columns);
    }
    for (int row = 0; row < area->rows; row += parts->down) {
      unit.rows = (uint8_t)(area->rows - row < parts->down ? area->rows - row : parts->down);
      unit.y = (short)(area->y + row * height);
      const int items = unit.columns * unit.groups * unit.rows;
      if (self->table->units == kMostUnits || items > kMostItems || area->covers[level] > 255)
        return false;
      if (items > self->table->items)
        self->table->items = items;
      self->table->unit[self->table->units++] = unit;
      self->table->waiting += area->waits;
    }
  }
  return true;
}

bool add_all_units(Maker *self)
{
  const CfFormatInfo *format = cf_format_info(self->video->format);
  Cut cuts[CF_MAX_PLANES] = {};
  int shifts[CF_MAX_PLANES]; /* log2 of the pixels of a column */
  const int planes = format->planes;

  for (int p = 0; p < planes; p++)
    shifts[p] = 4 - __builtin_ctz(self->plane[p].bytes);
  self->table->units = self->table->items = self->table->waiting = 0;
  for (int i = 0; i < self->areas; i++) {
    const CfGrid *grid = self->area[i].grid;

    /* Single pixels of formats with alpha are what they were; others may lose unused bits. */
    if (format->alpha && grid->width == 1 && grid->height == 1)
      continue;
    for (int p = 0; p < planes; p++) {
      if (!add_units(self, &self->area[i], p, shifts[p], &cuts[p]))
        return false;
    }
  }
  self->table->covers = self->covers;
  memcpy(self->table->unit + self->table->units, self->cover,
         (size_t)self->covers * sizeof(CfCover));
  return true;
}

void describe_planes(Maker *self)
{
  const CfFormatInfo *format = cf_format_info(self->video->format);

  self->planes = format->planes;
  self->shift_x = self->shift_y = 0;
  for (int p = 0; p < format->planes; p++) {
    const CfPlaneFormat *layout = &format->plane[p];

    self->plane[p] = {cf_plane_width(self->video, p),
                      cf_plane_height(self->video, p),
                      layout->channels,
                      layout->channels * cf_sample_bytes(format),
                      layout->subsampling_x,
                      layout->subsampling_y};
    self->shift_x |= layout->subsampling_x;
    self->shift_y |= layout->subsampling_y;
  }
}

} // namespace

bool cf_unit_table_make(CfUnitTable *table, const CfVideo *video, const CfBlockavgParams *params,
                        const CfRegions *regions, bool stays)
{
  const bool single = cf_mosaic_is_single(params, regions);
  Maker maker; /* 60 KB, most of which short lists leave alone */

  if (regions->count > (stays ? kMostPatches : kAtOnce) || video->width > kLargestSide ||
      video->height > kLargestSide)
    return false;
  maker.table = table;
  maker.video = video;
  maker.areas = maker.covers = 0;
  describe_planes(&maker);
  if (!make_patches(&maker, params, regions, single))
    return false;
  find_sharing(&maker);
  return (single ? add_common_areas(&maker) : add_owned_areas(&maker)) && add_lone_areas(&maker) &&
         add_all_units(&maker);
}
