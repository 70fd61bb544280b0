/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Blur maps on tensor cores, on the host: which images the levels of a map are made from, where
 * these lie, and the launches.
 */
#include "cuda/blurmap/mip_types.cuh"

#include <stdlib.h>
#include <string.h>

/* Sigma in cells from which on they may be that large. */
#define SMALLEST_RATIO 1.5

/* Of a picture, along each axis, where they are larger than samples. */
#define FEWEST_CELLS 4

/* Images start at a multiple of it, so that a lane's pixels of a frame do. */
#define ALIGNMENT 16

/* As cf_pyramid's: with the borders replicate and constant, cells this far outside are all alike.
 */
#define MARGIN 16

#define MOST_IMAGES 64

/* Of cells that a block makes from a frame: the more, the fewer rows of pixels are read twice, but
 * all blocks should be on SMs at the same time. */
#define FEWEST_ROWS 2
#define MOST_ROWS   16

typedef struct {
  int log_x, log_y;
  int parent; /* index, or -1: the frame */
  bool used;  /* by levels */
  CfCellImage image;
} Node;

typedef struct {
  int nodes;
  Node node[MOST_IMAGES];
  int of_group[kCellGroups]; /* node, or -1 */
  CfCellPlan plan;
} Plane;

struct CfCells {
  CfVideo video;
  CfDevice *device;
  int planes, border;

  CfCellMatrices matrices;
  bool sent;   /* to the device */
  bool placed; /* on the device, for these rows */
  int first[CF_MAX_PLANES], end[CF_MAX_PLANES];
  size_t cells; /* of all images */
  int halvings;
  int of_depth[kCellLogs + 1]; /* the first of each depth, which is 1 for those from the frame */
  int blocks[kCellLogs];
  CfCellHalving halving[CF_MAX_PLANES * MOST_IMAGES];

  bool found;   /* positions and levels, for these rows */
  bool ordered; /* by how long tiles take */
  unsigned frame;

  CfCellPlan *device_plan;
  CfCellHalving *device_halving;
  uint4 *device_matrices;
  size_t device_room;
  uint4 *positions, *levels; /* of the device, of so many warps */
  CfCellStrip *strips;
  CfCellTile *tiles;
  unsigned *order;
  size_t warps;
  unsigned *transparent; /* of the device */
  Plane plane[CF_MAX_PLANES];
};

namespace
{

/* ---- images ---- */

int choose_log(double sigma)
{
  int log = 0;

  while (log + 1 < kCellLogs && sigma >= SMALLEST_RATIO * (2 << log))
    log++;
  return log;
}

int depth_of(const Node *node)
{
  return node->log_x > node->log_y ? node->log_x : node->log_y;
}

/* The index of an image; those that it is made from come before it. */
int find_node(Plane *plane, int log_x, int log_y)
{
  if (log_x == 0 && log_y == 0)
    return -1;
  for (int i = 0; i < plane->nodes; i++) {
    if (plane->node[i].log_x == log_x && plane->node[i].log_y == log_y)
      return i;
  }
  const int parent = find_node(plane, log_x > 0 ? log_x - 1 : 0, log_y > 0 ? log_y - 1 : 0);
  Node node = {};
  node.log_x = log_x;
  node.log_y = log_y;
  node.parent = parent;
  plane->node[plane->nodes] = node;
  return plane->nodes++;
}

void group_levels(Plane *plane, const CfBlurLevels *levels)
{
  CfCellPlan *plan = &plane->plan;
  int node = 0;

  plane->nodes = plan->groups = 0;
  for (int i = 0; i < levels->count; i++) {
    const int log_x = choose_log(levels->level[i].horizontal);
    const int log_y = choose_log(levels->level[i].vertical);
    const int next = find_node(plane, log_x, log_y);

    if (i == 0 || next != node) {
      plane->of_group[plan->groups] = next;
      plan->groups++;
    }
    plan->level[i].group = plan->groups - 1;
    node = next;
    if (node >= 0)
      plane->node[node].used = true;
  }
}

/* ---- levels ---- */

bool same_levels(const CfBlurLevels *a, const CfBlurLevels *b)
{
  return a->count == b->count &&
         memcmp(a->level, b->level, (size_t)a->count * sizeof a->level[0]) == 0;
}

bool plan_plane(CfCells *cells, int p, const CfBlurLevels *const *levels, CfStatus *status)
{
  Plane *plane = &cells->plane[p];

  group_levels(plane, levels[p]);
  if (p > 0 && same_levels(levels[p], levels[p - 1])) {
    memcpy(plane->plan.level, cells->plane[p - 1].plan.level, sizeof plane->plan.level);
    return true;
  }
  for (int i = 0; i < levels[p]->count; i++) {
    const CfBlurLevel *blur = &levels[p]->level[i];
    CfCellLevel *level = &plane->plan.level[i];

    const int log_x = choose_log(blur->horizontal), log_y = choose_log(blur->vertical);
    const bool good = cf_cell_add_down(&cells->matrices, blur->vertical, log_y, level, status) &&
                      cf_cell_add_across(&cells->matrices, blur->horizontal, log_x, level, status);
    if (!good)
      return false;
  }
  return true;
}

/* ---- places ---- */

typedef struct {
  int first, end;
} Span;

void widen(Span *span, Span other)
{
  if (span->first == span->end) {
    *span = other;
  } else {
    span->first = other.first < span->first ? other.first : span->first;
    span->end = other.end > span->end ? other.end : span->end;
  }
}

/* Cells around samples first..end - 1. */
Span cells_around(Span samples, int log)
{
  return Span{(samples.first >> log) - kCellReach - 1, ((samples.end - 1) >> log) + kCellReach + 2};
}

/* What halving an image reads. */
Span read_by(Span span, bool halves)
{
  return halves ? Span{2 * span.first - 2, 2 * span.end + 2} : span;
}

Span useful(const CfCells *cells, Span span, int size, int log)
{
  const int count = (size + (1 << log) - 1) >> log;

  if (cells->border != CF_BORDER_REPLICATE && cells->border != CF_BORDER_CONSTANT)
    return span;
  return Span{span.first < -MARGIN ? -MARGIN : span.first,
              span.end > count + MARGIN ? count + MARGIN : span.end};
}

int round_up(int value, int multiple)
{
  return (value + multiple - 1) / multiple * multiple;
}

/* Multiples of ALIGNMENT, also of negative numbers. */
int align_down(int value)
{
  return value & ~(ALIGNMENT - 1);
}

void place_images(CfCells *cells, int p)
{
  Plane *plane = &cells->plane[p];
  const int width = cf_plane_width(&cells->video, p), height = cf_plane_height(&cells->video, p);
  const int channels = cf_format_info(cells->video.format)->plane[p].channels;
  Span across[MOST_IMAGES] = {}, down[MOST_IMAGES] = {};

  for (int i = plane->nodes - 1; i >= 0; i--) {
    Node *node = &plane->node[i];

    if (node->used) {
      widen(&across[i], cells_around(Span{0, width}, node->log_x));
      widen(&down[i], cells_around(Span{cells->first[p], cells->end[p]}, node->log_y));
    }
    across[i] = useful(cells, across[i], width, node->log_x);
    across[i].first = align_down(across[i].first);
    down[i] = useful(cells, down[i], height, node->log_y);
    if (node->parent >= 0) {
      const Node *parent = &plane->node[node->parent];

      widen(&across[node->parent], read_by(across[i], node->log_x > parent->log_x));
      widen(&down[node->parent], read_by(down[i], node->log_y > parent->log_y));
    }

    CfCellImage *image = &node->image;
    image->log_x = node->log_x;
    image->log_y = node->log_y;
    image->first_x = across[i].first;
    image->first_y = down[i].first;
    image->width = round_up(across[i].end - across[i].first, ALIGNMENT);
    image->height = down[i].end - down[i].first;
    image->pitch = image->width + 8;
    image->at = (uint32_t)cells->cells + 4;
    image->channel = (uint32_t)image->pitch * (uint32_t)image->height;
    cells->cells += (size_t)channels * image->channel;
  }
  for (int i = 0; i < plane->plan.groups; i++) {
    const CfCellImage frame = {};

    plane->plan.image[i] = plane->of_group[i] < 0 ? frame : plane->node[plane->of_group[i]].image;
  }
}

/* Adds those of one depth, each block of which makes some rows. */
void list_depth(CfCells *cells, int depth, int rows)
{
  int n = cells->of_depth[depth], blocks = 0;

  for (int p = 0; p < cells->planes; p++) {
    const Plane *plane = &cells->plane[p];
    const int channels = cf_format_info(cells->video.format)->plane[p].channels;

    for (int i = 0; i < plane->nodes; i++) {
      const Node *node = &plane->node[i];
      CfCellHalving halving = {};

      if (depth_of(node) != depth)
        continue;
      const int columns =
          depth == 1 ? cf_cell_frame_columns(channels, node->log_x) : kCellImageColumns;
      halving.plane = p;
      halving.first_block = blocks;
      halving.across = (node->image.width + columns - 1) / columns;
      /* All warps of a block read the same rows. */
      if (depth == 1 && channels > 2)
        halving.across = round_up(halving.across, kCellThreads / 32);
      halving.rows = rows;
      halving.to = node->image;
      if (node->parent >= 0)
        halving.from = plane->node[node->parent].image;
      cells->halving[n++] = halving;
      const int parts = halving.across * ((node->image.height + rows - 1) / rows);
      blocks +=
          depth == 1 ? (parts + kCellThreads / 32 - 1) / (kCellThreads / 32) : parts * channels;
    }
  }
  cells->of_depth[depth + 1] = n;
  cells->blocks[depth] = blocks;
}

void list_halvings(CfCells *cells)
{
  const int channels = cf_format_info(cells->video.format)->plane[0].channels;
  const int room = cells->device->info.multiprocessors * cf_cell_blocks_of_sm(channels);

  cells->of_depth[1] = 0;
  for (int rows = FEWEST_ROWS; rows <= MOST_ROWS; rows++) {
    list_depth(cells, 1, rows);
    if (cells->blocks[1] <= room)
      break;
  }
  for (int depth = 2; depth < kCellLogs; depth++)
    list_depth(cells, depth, kCellImageRows);
}

/* Once for each plan, wherever the rows of regions move. */
bool upload_matrices(CfCells *cells, void *stream, CfStatus *status)
{
  const size_t bytes = cells->matrices.count * sizeof *cells->matrices.data;

  if (cells->sent)
    return true;
  if (cells->device_room < bytes) {
    cf_device_free(cells->device_matrices);
    cells->device_room = 0;
    cells->device_matrices = (uint4 *)cf_device_alloc(bytes, status);
    if (!cells->device_matrices)
      return false;
    cells->device_room = bytes;
  }
  cells->sent = cf_map_upload(cells->device_matrices, cells->matrices.data, bytes, stream, status);
  return cells->sent;
}

bool upload_all(CfCells *cells, void *stream, CfStatus *status)
{
  for (int p = 0; p < cells->planes; p++) {
    if (!cf_map_upload(&cells->device_plan[p], &cells->plane[p].plan, sizeof(CfCellPlan), stream,
                       status))
      return false;
  }
  cells->frame = 0;
  return cf_map_upload(cells->transparent, &cells->frame, sizeof cells->frame, stream, status) &&
         upload_matrices(cells, stream, status) &&
         cf_map_upload(cells->device_halving, cells->halving,
                       (size_t)cells->of_depth[kCellLogs] * sizeof cells->halving[0], stream,
                       status);
}

bool place(CfCells *cells, const CfMapJob *map, void *stream, CfStatus *status)
{
  bool placed = cells->placed;

  for (int p = 0; p < cells->planes; p++) {
    placed = placed && cells->first[p] == map->plane[p].first && cells->end[p] == map->plane[p].end;
    cells->first[p] = map->plane[p].first;
    cells->end[p] = map->plane[p].end;
  }
  if (placed)
    return true;
  cells->placed = cells->found = false;
  cells->cells = 0;
  for (int p = 0; p < cells->planes; p++)
    place_images(cells, p);
  list_halvings(cells);
  cells->placed = upload_all(cells, stream, status);
  return cells->placed;
}

int describe_tiles(const CfCells *cells, CfMapJob *map)
{
  int tiles = 0;

  for (int p = 0; p < cells->planes; p++) {
    CfMapPlane *plane = &map->plane[p];
    const int above = plane->first / kCellStrip * kCellStrip;

    plane->vector = cf_is_vector_aligned(plane->source, plane->source_stride) &&
                    cf_is_vector_aligned(plane->destination, plane->destination_stride);
    plane->tiles_x = (plane->width + kCellColumns - 1) / kCellColumns;
    plane->first_tile = tiles;
    tiles += plane->tiles_x * ((plane->end - above + kCellRows - 1) / kCellRows);
  }
  return tiles;
}

void free_places(CfCells *cells)
{
  cf_device_free(cells->positions);
  cf_device_free(cells->levels);
  cf_device_free(cells->strips);
  cf_device_free(cells->tiles);
  cf_device_free(cells->order);
  cells->positions = cells->levels = nullptr;
  cells->strips = nullptr;
  cells->tiles = nullptr;
  cells->order = nullptr;
  cells->warps = 0;
}

bool make_places(CfCells *cells, int tiles, CfStatus *status)
{
  const size_t warps = (size_t)tiles * (kCellThreads / 32);

  if (warps <= cells->warps)
    return true;
  free_places(cells);
  cells->positions = (uint4 *)cf_device_alloc(warps * 2 * 32 * sizeof *cells->positions, status);
  cells->levels =
      cells->positions ? (uint4 *)cf_device_alloc(warps * sizeof *cells->levels, status) : nullptr;
  cells->strips = cells->levels
                      ? (CfCellStrip *)cf_device_alloc(warps * sizeof *cells->strips, status)
                      : nullptr;
  cells->tiles = cells->strips
                     ? (CfCellTile *)cf_device_alloc((size_t)tiles * sizeof *cells->tiles, status)
                     : nullptr;
  cells->order = cells->tiles
                     ? (unsigned *)cf_device_alloc((size_t)tiles * sizeof *cells->order, status)
                     : nullptr;
  if (!cells->order)
    return false;
  cells->warps = warps;
  cells->found = false;
  return true;
}

/* Sorting pays from the second frame on that a map stays the same. */
void find_positions(CfCells *cells, CfCellJob job, int tiles, bool same_map, void *stream,
                    CfStatus *status)
{
  const bool stays = same_map && cells->found;

  if (stays && cells->ordered)
    return;
  if (stays) {
    cells->found = cf_cell_order(&job, tiles, cells->order, stream, status);
    job.order = cells->order;
  }
  cells->ordered = stays;
  cells->found = (cells->found || !stays) &&
                 cf_cell_positions(&job, cells->device->info.multiprocessors, stream, status);
}

bool halve(CfCells *cells, CfCellJob *job, void *stream, CfStatus *status)
{
  for (int depth = 1; depth < kCellLogs; depth++) {
    const int first = cells->of_depth[depth];

    job->halving = cells->device_halving + first;
    job->halvings = cells->of_depth[depth + 1] - first;
    if (job->halvings == 0)
      break;
    for (int i = 0; i < job->halvings && i < kCellNearHalvings; i++)
      job->near[i] = cells->halving[first + i];
    if (!(depth == 1 ? cf_cell_halve_frame : cf_cell_halve_image)(job, cells->blocks[depth], stream,
                                                                  status))
      return false;
    job->overlaps = cells->device->code >= 90;
  }
  return true;
}

int shared_part(const CfDevice *device)
{
  const int percent = (100 * cf_cell_shared_of_sm() - 1) / device->info.shared_per_sm + 1;

  return percent < 100 ? percent : 100;
}

} // namespace

/* ---- the calls ---- */

bool cf_cells_serve(const CfVideo *video, const CfDevice *device)
{
  return cf_sample_bytes(cf_format_info(video->format)) == 1 && device->code >= 80;
}

bool cf_cells_suit(const CfVideo *video, int p, const CfBlurLevels *levels)
{
  const int width = cf_plane_width(video, p), height = cf_plane_height(video, p);
  bool suit = true;

  for (int i = 0; i < levels->count; i++) {
    const int log_x = choose_log(levels->level[i].horizontal);
    const int log_y = choose_log(levels->level[i].vertical);

    suit = suit && (log_x == 0 || width >> log_x >= FEWEST_CELLS) &&
           (log_y == 0 || height >> log_y >= FEWEST_CELLS);
  }
  return suit;
}

CfCells *cf_cells_open(const CfVideo *video, CfDevice *device, CfStatus *status)
{
  CfCells *cells = (CfCells *)calloc(1, sizeof *cells);

  if (!cells) {
    cf_fail(status, CF_ERROR_NO_MEMORY, "no memory for a blur map of %dx%d", video->width,
            video->height);
    return nullptr;
  }
  cells->video = *video;
  cells->device = device;
  cells->planes = cf_format_info(video->format)->planes;
  cells->device_plan =
      (CfCellPlan *)cf_device_alloc((size_t)cells->planes * sizeof *cells->device_plan, status);
  cells->device_halving = cells->device_plan
                              ? (CfCellHalving *)cf_device_alloc(sizeof cells->halving, status)
                              : nullptr;
  cells->transparent = cells->device_halving
                           ? (unsigned *)cf_device_alloc(sizeof *cells->transparent, status)
                           : nullptr;
  if (!cells->transparent) {
    cf_cells_close(cells);
    return nullptr;
  }
  return cells;
}

bool cf_cells_plan(CfCells *cells, int border, const CfBlurLevels *const *levels, CfStatus *status)
{
  cells->placed = cells->sent = false;
  cells->border = border;
  cells->matrices.count = 0;
  for (int p = 0; p < cells->planes; p++) {
    if (!plan_plane(cells, p, levels, status))
      return false;
  }
  return true;
}

bool cf_cells_run(CfCells *cells, const CfMapJob *map, bool same_map, void *stream,
                  CfStatus *status)
{
  CfCellJob job;

  memset(&job, 0, sizeof job);
  job.map = *map;
  const int tiles = describe_tiles(cells, &job.map);
  if (!place(cells, map, stream, status) || !make_places(cells, tiles, status))
    return false;
  job.plan = cells->device_plan;
  job.matrices = cells->device_matrices;
  job.positions = cells->positions;
  job.levels = cells->levels;
  job.strips = cells->strips;
  job.tiles = cells->tiles;
  job.tile_count = tiles;
  job.shared_part = shared_part(cells->device);
  job.transparent = cells->transparent;
  job.frame = ++cells->frame;
  job.always_transparent = cells->of_depth[1] == cells->of_depth[2];
  if (cells->cells > 0) {
    job.cells =
        (__half *)cf_scratch_take(cells->device, cells->cells * sizeof(__half), stream, status);
    if (!job.cells)
      return false;
  }
  find_positions(cells, job, tiles, same_map, stream, status);
  const bool good = cells->found && halve(cells, &job, stream, status) &&
                    cf_cell_tiles(&job, tiles, stream, status);
  return (!job.cells ||
          cf_scratch_give(cells->device, job.cells, stream, good ? status : nullptr)) &&
         good;
}

void cf_cells_close(CfCells *cells)
{
  if (!cells)
    return;
  cf_device_free(cells->device_plan);
  cf_device_free(cells->device_halving);
  cf_device_free(cells->device_matrices);
  free_places(cells);
  cf_device_free(cells->transparent);
  free(cells->matrices.data);
  free(cells);
}
