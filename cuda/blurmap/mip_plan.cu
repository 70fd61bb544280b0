/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Blur maps on tensor cores, on the host: which images the levels of a map are made from, where
 * these lie, and the launches.
 */
#include "cuda/blurmap/mip_types.cuh"

#include <stdlib.h>
#include <string.h>

namespace cf::blurmap
{

/* Sigma in texels from which on they may be that large. */
#define SMALLEST_RATIO 1.5

/* Of a picture, along each axis, where they are larger than samples. */
#define FEWEST_CELLS 4

/* Images start at a multiple of it, so that a lane's pixels of a frame do. */
#define ALIGNMENT 16

/* As cf_pyramid's: with the borders replicate and constant, texels this far outside are all alike.
 */
#define MARGIN 16

#define MOST_IMAGES 64

/* Of texels that a block makes from a frame: the more, the fewer rows of pixels are read twice, but
 * all blocks should be on SMs at the same time. */
#define FEWEST_ROWS 2
#define MOST_ROWS   16

typedef struct {
  int log_x, log_y;
  int parent; /* index, or -1: the frame */
  bool used;  /* by levels */
  MipImage image;
} Node;

typedef struct {
  int nodes;
  Node node[MOST_IMAGES];
  int of_group[CF_MIP_GROUPS]; /* node, or -1 */
  MmaPlane plan;
} Plane;

struct MmaState {
  CfVideo video;
  CfDevice *device;
  int planes, border;

  WeightList matrices;
  bool sent;   /* to the device */
  bool placed; /* on the device, for these rows */
  int first[CF_MAX_PLANES], end[CF_MAX_PLANES];
  size_t texels; /* of all images */
  int passes;
  int of_depth[CF_MIP_LOGS + 1]; /* the first of each depth, which is 1 for those from the frame */
  int blocks[CF_MIP_LOGS];
  MipDownsample pass[CF_MAX_PLANES * MOST_IMAGES];

  bool found;   /* lods and levels, for these rows */
  bool ordered; /* by how long tiles take */
  unsigned frame;

  MmaPlane *device_plan;
  MipDownsample *device_halving;
  uint4 *device_matrices;
  size_t device_room;
  uint4 *lods, *levels; /* of the device, of so many warps */
  StripRecord *strips;
  TileRecord *tiles;
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

  while (log + 1 < CF_MIP_LOGS && sigma >= SMALLEST_RATIO * (2 << log))
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
  MmaPlane *plan = &plane->plan;
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

bool plan_plane(MmaState *texels, int p, const CfBlurLevels *const *levels, CfStatus *status)
{
  Plane *plane = &texels->plane[p];

  group_levels(plane, levels[p]);
  if (p > 0 && same_levels(levels[p], levels[p - 1])) {
    memcpy(plane->plan.level, texels->plane[p - 1].plan.level, sizeof plane->plan.level);
    return true;
  }
  for (int i = 0; i < levels[p]->count; i++) {
    const CfBlurLevel *blur = &levels[p]->level[i];
    LevelWeights *level = &plane->plan.level[i];

    const int log_x = choose_log(blur->horizontal), log_y = choose_log(blur->vertical);
    const bool good = add_weights_down(&texels->matrices, blur->vertical, log_y, level, status) &&
                      add_weights_across(&texels->matrices, blur->horizontal, log_x, level, status);
    if (!good)
      return false;
  }
  return true;
}

/* ---- lods ---- */

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
Span texels_around(Span samples, int log)
{
  return Span{(samples.first >> log) - CF_MIP_REACH - 1, ((samples.end - 1) >> log) + CF_MIP_REACH + 2};
}

/* What pass an image reads. */
Span read_by(Span span, bool halves)
{
  return halves ? Span{2 * span.first - 2, 2 * span.end + 2} : span;
}

Span useful(const MmaState *texels, Span span, int size, int log)
{
  const int count = (size + (1 << log) - 1) >> log;

  if (texels->border != CF_BORDER_REPLICATE && texels->border != CF_BORDER_CONSTANT)
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

void place_images(MmaState *texels, int p)
{
  Plane *plane = &texels->plane[p];
  const int width = cf_plane_width(&texels->video, p), height = cf_plane_height(&texels->video, p);
  const int channels = cf_format_info(texels->video.format)->plane[p].channels;
  Span across[MOST_IMAGES] = {}, down[MOST_IMAGES] = {};

  for (int i = plane->nodes - 1; i >= 0; i--) {
    Node *node = &plane->node[i];

    if (node->used) {
      widen(&across[i], texels_around(Span{0, width}, node->log_x));
      widen(&down[i], texels_around(Span{texels->first[p], texels->end[p]}, node->log_y));
    }
    across[i] = useful(texels, across[i], width, node->log_x);
    across[i].first = align_down(across[i].first);
    down[i] = useful(texels, down[i], height, node->log_y);
    if (node->parent >= 0) {
      const Node *parent = &plane->node[node->parent];

      widen(&across[node->parent], read_by(across[i], node->log_x > parent->log_x));
      widen(&down[node->parent], read_by(down[i], node->log_y > parent->log_y));
    }

    MipImage *image = &node->image;
    image->log_x = node->log_x;
    image->log_y = node->log_y;
    image->first_x = across[i].first;
    image->first_y = down[i].first;
    image->width = round_up(across[i].end - across[i].first, ALIGNMENT);
    image->height = down[i].end - down[i].first;
    image->pitch = image->width + 8;
    image->at = (uint32_t)texels->texels + 4;
    image->channel = (uint32_t)image->pitch * (uint32_t)image->height;
    texels->texels += (size_t)channels * image->channel;
  }
  for (int i = 0; i < plane->plan.groups; i++) {
    const MipImage frame = {};

    plane->plan.image[i] = plane->of_group[i] < 0 ? frame : plane->node[plane->of_group[i]].image;
  }
}

/* Adds those of one depth, each block of which makes some rows. */
void list_depth(MmaState *texels, int depth, int rows)
{
  int n = texels->of_depth[depth], blocks = 0;

  for (int p = 0; p < texels->planes; p++) {
    const Plane *plane = &texels->plane[p];
    const int channels = cf_format_info(texels->video.format)->plane[p].channels;

    for (int i = 0; i < plane->nodes; i++) {
      const Node *node = &plane->node[i];
      MipDownsample pass = {};

      if (depth_of(node) != depth)
        continue;
      const int columns =
          depth == 1 ? frame_texels_of_warp(channels, node->log_x) : kDownsampleColumns;
      pass.plane = p;
      pass.first_block = blocks;
      pass.across = (node->image.width + columns - 1) / columns;
      /* All warps of a block read the same rows. */
      if (depth == 1 && channels > 2)
        pass.across = round_up(pass.across, kThreads / 32);
      pass.rows = rows;
      pass.to = node->image;
      if (node->parent >= 0)
        pass.from = plane->node[node->parent].image;
      texels->pass[n++] = pass;
      const int parts = pass.across * ((node->image.height + rows - 1) / rows);
      blocks +=
          depth == 1 ? (parts + kThreads / 32 - 1) / (kThreads / 32) : parts * channels;
    }
  }
  texels->of_depth[depth + 1] = n;
  texels->blocks[depth] = blocks;
}

void list_halvings(MmaState *texels)
{
  const int channels = cf_format_info(texels->video.format)->plane[0].channels;
  const int room = texels->device->info.multiprocessors * frame_ctas_of_sm(channels);

  texels->of_depth[1] = 0;
  for (int rows = FEWEST_ROWS; rows <= MOST_ROWS; rows++) {
    list_depth(texels, 1, rows);
    if (texels->blocks[1] <= room)
      break;
  }
  for (int depth = 2; depth < CF_MIP_LOGS; depth++)
    list_depth(texels, depth, kDownsampleRows);
}

/* Once for each plan, wherever the rows of regions move. */
bool upload_matrices(MmaState *texels, void *stream, CfStatus *status)
{
  const size_t bytes = texels->matrices.count * sizeof *texels->matrices.data;

  if (texels->sent)
    return true;
  if (texels->device_room < bytes) {
    cf_device_free(texels->device_matrices);
    texels->device_room = 0;
    texels->device_matrices = (uint4 *)cf_device_alloc(bytes, status);
    if (!texels->device_matrices)
      return false;
    texels->device_room = bytes;
  }
  texels->sent = upload(texels->device_matrices, texels->matrices.data, bytes, stream, status);
  return texels->sent;
}

bool upload_all(MmaState *texels, void *stream, CfStatus *status)
{
  for (int p = 0; p < texels->planes; p++) {
    if (!upload(&texels->device_plan[p], &texels->plane[p].plan, sizeof(MmaPlane), stream,
                       status))
      return false;
  }
  texels->frame = 0;
  return upload(texels->transparent, &texels->frame, sizeof texels->frame, stream, status) &&
         upload_matrices(texels, stream, status) &&
         upload(texels->device_halving, texels->pass,
                       (size_t)texels->of_depth[CF_MIP_LOGS] * sizeof texels->pass[0], stream,
                       status);
}

bool place(MmaState *texels, const MapJob *map, void *stream, CfStatus *status)
{
  bool placed = texels->placed;

  for (int p = 0; p < texels->planes; p++) {
    placed = placed && texels->first[p] == map->plane[p].first && texels->end[p] == map->plane[p].end;
    texels->first[p] = map->plane[p].first;
    texels->end[p] = map->plane[p].end;
  }
  if (placed)
    return true;
  texels->placed = texels->found = false;
  texels->texels = 0;
  for (int p = 0; p < texels->planes; p++)
    place_images(texels, p);
  list_halvings(texels);
  texels->placed = upload_all(texels, stream, status);
  return texels->placed;
}

int describe_tiles(const MmaState *texels, MapJob *map)
{
  int tiles = 0;

  for (int p = 0; p < texels->planes; p++) {
    MapPlane *plane = &map->plane[p];
    const int above = plane->first / kStripRows * kStripRows;

    plane->vector = cf_is_vector_aligned(plane->source, plane->source_stride) &&
                    cf_is_vector_aligned(plane->destination, plane->destination_stride);
    plane->tiles_x = (plane->width + kTileColumns - 1) / kTileColumns;
    plane->first_tile = tiles;
    tiles += plane->tiles_x * ((plane->end - above + kTileRows - 1) / kTileRows);
  }
  return tiles;
}

void free_places(MmaState *texels)
{
  cf_device_free(texels->lods);
  cf_device_free(texels->levels);
  cf_device_free(texels->strips);
  cf_device_free(texels->tiles);
  cf_device_free(texels->order);
  texels->lods = texels->levels = nullptr;
  texels->strips = nullptr;
  texels->tiles = nullptr;
  texels->order = nullptr;
  texels->warps = 0;
}

bool make_places(MmaState *texels, int tiles, CfStatus *status)
{
  const size_t warps = (size_t)tiles * (kThreads / 32);

  if (warps <= texels->warps)
    return true;
  free_places(texels);
  texels->lods = (uint4 *)cf_device_alloc(warps * 2 * 32 * sizeof *texels->lods, status);
  texels->levels =
      texels->lods ? (uint4 *)cf_device_alloc(warps * sizeof *texels->levels, status) : nullptr;
  texels->strips = texels->levels
                      ? (StripRecord *)cf_device_alloc(warps * sizeof *texels->strips, status)
                      : nullptr;
  texels->tiles = texels->strips
                     ? (TileRecord *)cf_device_alloc((size_t)tiles * sizeof *texels->tiles, status)
                     : nullptr;
  texels->order = texels->tiles
                     ? (unsigned *)cf_device_alloc((size_t)tiles * sizeof *texels->order, status)
                     : nullptr;
  if (!texels->order)
    return false;
  texels->warps = warps;
  texels->found = false;
  return true;
}

/* Sorting pays from the second frame on that a map stays the same. */
void find_positions(MmaState *texels, MmaJob job, int tiles, bool same_map, void *stream,
                    CfStatus *status)
{
  const bool stays = same_map && texels->found;

  if (stays && texels->ordered)
    return;
  if (stays) {
    texels->found = sort_tiles(&job, tiles, texels->order, stream, status);
    job.order = texels->order;
  }
  texels->ordered = stays;
  texels->found = (texels->found || !stays) &&
                 look_up_sigma(&job, texels->device->info.multiprocessors, stream, status);
}

bool halve(MmaState *texels, MmaJob *job, void *stream, CfStatus *status)
{
  for (int depth = 1; depth < CF_MIP_LOGS; depth++) {
    const int first = texels->of_depth[depth];

    job->pass = texels->device_halving + first;
    job->passes = texels->of_depth[depth + 1] - first;
    if (job->passes == 0)
      break;
    for (int i = 0; i < job->passes && i < kInlineDownsamples; i++)
      job->inline_pass[i] = texels->pass[first + i];
    if (!(depth == 1 ? downsample_frame : downsample_mip)(job, texels->blocks[depth], stream,
                                                                  status))
      return false;
    job->overlaps = texels->device->code >= 90;
  }
  return true;
}

int shared_part(const CfDevice *device)
{
  const int percent = (100 * tiles_shared_of_sm() - 1) / device->info.shared_per_sm + 1;

  return percent < 100 ? percent : 100;
}

} // namespace

/* ---- the calls ---- */

bool mma_serves(const CfVideo *video, const CfDevice *device)
{
  return cf_sample_bytes(cf_format_info(video->format)) == 1 && device->code >= 80;
}

bool mma_suits(const CfVideo *video, int p, const CfBlurLevels *levels)
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

MmaState *mma_open(const CfVideo *video, CfDevice *device, CfStatus *status)
{
  MmaState *texels = (MmaState *)calloc(1, sizeof *texels);

  if (!texels) {
    cf_fail(status, CF_ERROR_NO_MEMORY, "no memory for a blur map of %dx%d", video->width,
            video->height);
    return nullptr;
  }
  texels->video = *video;
  texels->device = device;
  texels->planes = cf_format_info(video->format)->planes;
  texels->device_plan =
      (MmaPlane *)cf_device_alloc((size_t)texels->planes * sizeof *texels->device_plan, status);
  texels->device_halving = texels->device_plan
                              ? (MipDownsample *)cf_device_alloc(sizeof texels->pass, status)
                              : nullptr;
  texels->transparent = texels->device_halving
                           ? (unsigned *)cf_device_alloc(sizeof *texels->transparent, status)
                           : nullptr;
  if (!texels->transparent) {
    mma_close(texels);
    return nullptr;
  }
  return texels;
}

bool mma_plan(MmaState *texels, int border, const CfBlurLevels *const *levels, CfStatus *status)
{
  texels->placed = texels->sent = false;
  texels->border = border;
  texels->matrices.count = 0;
  for (int p = 0; p < texels->planes; p++) {
    if (!plan_plane(texels, p, levels, status))
      return false;
  }
  return true;
}

bool mma_run(MmaState *texels, const MapJob *map, bool same_map, void *stream,
                  CfStatus *status)
{
  MmaJob job;

  memset(&job, 0, sizeof job);
  job.map = *map;
  const int tiles = describe_tiles(texels, &job.map);
  if (!place(texels, map, stream, status) || !make_places(texels, tiles, status))
    return false;
  job.plan = texels->device_plan;
  job.matrices = texels->device_matrices;
  job.lods = texels->lods;
  job.levels = texels->levels;
  job.strips = texels->strips;
  job.tiles = texels->tiles;
  job.tile_count = tiles;
  job.shared_part = shared_part(texels->device);
  job.transparent = texels->transparent;
  job.frame = ++texels->frame;
  job.always_transparent = texels->of_depth[1] == texels->of_depth[2];
  if (texels->texels > 0) {
    job.texels =
        (__half *)cf_scratch_take(texels->device, texels->texels * sizeof(__half), stream, status);
    if (!job.texels)
      return false;
  }
  find_positions(texels, job, tiles, same_map, stream, status);
  const bool good = texels->found && halve(texels, &job, stream, status) &&
                    blend_tiles(&job, tiles, stream, status);
  return (!job.texels ||
          cf_scratch_give(texels->device, job.texels, stream, good ? status : nullptr)) &&
         good;
}

void mma_close(MmaState *texels)
{
  if (!texels)
    return;
  cf_device_free(texels->device_plan);
  cf_device_free(texels->device_halving);
  cf_device_free(texels->device_matrices);
  free_places(texels);
  cf_device_free(texels->transparent);
  free(texels->matrices.data);
  free(texels);
}

} // namespace cf::blurmap
