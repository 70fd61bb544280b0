/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cuda/blockavg/regions_generic.cuh"

#include "cuda/blockavg/regions_fused.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* A warp each: what every thread computes anew is most of the work of small tiles. */
#define CF_BLOCKAVG_THREADS 32
#include "cuda/blockavg/dispatch.cuh"
#include "cuda/blockavg/region_footprint.cuh"

extern "C" {
#include "plan/mosaic.h"
}

namespace
{

/* Larger blocks are summed up by several tiles. */
constexpr int kWholePixels = 8192;
constexpr int kWholeRows = 256;
constexpr int kWholeBytes = (kPatchColumns - 2) * kColumnBytes;

/* What tiles of several blocks, or of parts of one, aim at. */
constexpr int kTileBytes = kPatchPixels;

/* Where warps look at the coverage of each sample: rows that each takes at least, and how many
 * warps are enough. */
constexpr int kSoftRows = 4;
constexpr int kSoftWarps = 16384;

/* The picture is divided into so many cells each way to find patches that share blocks. */
constexpr int kCells = 64;

typedef void (*Kernel)(Frame);

template <bool Lean> struct Kernels {
  typedef Kernel Type;
  template <template <int, bool> class Kind, int Channels> static Kernel get()
  {
    return average_patches<Kind, Channels, Lean>;
  }
};

} // namespace

/* What one list of regions comes to, kept until another comes. */
struct CfBlockRegions {
  CfDevice *device;
  CfVideo video;
  CfBlockRectangles *rectangles;

  bool known;         /* whether what follows belongs to these parameters and regions */
  bool vector;        /* so far all rows start at multiples of 16 bytes */
  bool stays;         /* the list came again */
  bool by_rectangles; /* which has its own plan then, and all but the list is unknown here */
  CfBlockavgParams params;
  CfRegions regions;

  int capacity;
  CfRegion *list; /* capacity of each, in one piece */
  CfShape *shapes;
  Patch *patches; /* one more; as many follow while they are sorted */

  CfGrid grid;          /* of the picture */
  int shift_x, shift_y; /* largest subsampling */
  bool large;
  Kernel kernel;
  int tiles;        /* in each plane */
  int most_tiles;   /* of a patch */
  int second_tiles; /* of them, the first: those that a second launch fills */
  int second_patches;
  Frame frame; /* but for pictures, scratch and stage */
};

namespace
{

bool reserve(CfBlockRegions *self, int count, CfStatus *status)
{
  if (self->list && count <= self->capacity)
    return true;

  const size_t each = sizeof(CfRegion) + sizeof(CfShape) + 2 * sizeof(Patch);
  void *memory = malloc((size_t)count * each + 2 * sizeof(Patch));
  if (!memory)
    return cf_fail(status, CF_ERROR_NO_MEMORY, "out of host memory");
  free(self->list);
  self->capacity = count;
  self->list = (CfRegion *)memory;
  self->shapes = (CfShape *)(self->list + count);
  self->patches = (Patch *)(self->shapes + count);
  return true;
}

/* The shapes of the regions that matter to the picture, in their order. */
int make_shapes(CfShape *shapes, const CfVideo *video, const CfRegions *regions)
{
  int count = 0;

  for (int i = 0; i < regions->count; i++) {
    const CfRegion *region = &regions->region[i];

    if (!cf_rect_is_empty(cf_region_bounds(video, regions, region)) &&
        cf_shape_make(&shapes[count], video, regions, region))
      count++;
  }
  return count;
}

int cut(int value, int limit)
{
  return value < 0 ? 0 : value > limit ? limit : value;
}

int quotient_up(int a, int b)
{
  return (a + b - 1) / b;
}

/* `shape` -1: the whole picture. The blocks are those of all planes: chroma samples may belong to
 * one before those of their luma pixels. */
Patch make_patch(const CfBlockRegions *self, int shape)
{
  const int reach = self->frame.list.rule.reach;
  const int width = self->video.width, height = self->video.height;
  CfGrid grid = self->grid;
  Patch patch = {};

  patch.shape = shape;
  patch.rect = {0, 0, width, height};
  if (shape >= 0) {
    const CfShape *bounds = &self->shapes[shape];
    patch.side = bounds->side;
    patch.rect = {cut(bounds->x0 - reach, width), cut(bounds->y0 - reach, height),
                  cut(bounds->x1 + reach, width), cut(bounds->y1 + reach, height)};
    if (!self->frame.single)
      grid = cf_mosaic_region_grid(&self->params, bounds);
  }

  const int column0 =
      cf_grid_block(grid.x, grid.width, self->shift_x, patch.rect.x0 >> self->shift_x);
  const int row0 =
      cf_grid_block(grid.y, grid.height, self->shift_y, patch.rect.y0 >> self->shift_y);
  patch.x = grid.x + column0 * grid.width;
  patch.y = grid.y + row0 * grid.height;
  patch.width = grid.width;
  patch.height = grid.height;
  patch.columns = cf_grid_block(grid.x, grid.width, 0, patch.rect.x1 - 1) + 1 - column0;
  patch.rows = cf_grid_block(grid.y, grid.height, 0, patch.rect.y1 - 1) + 1 - row0;
  return patch;
}

bool is_large(const CfBlockRegions *self, const Patch *patch)
{
  const int bytes = pixel_bytes(cf_format_info(self->video.format), &self->frame.job.plane[0]);

  return (long)patch->width * patch->height > kWholePixels || patch->height > kWholeRows ||
         patch->width * bytes > kWholeBytes;
}

/* Blocks of 1x1 in formats with alpha are what they were; other formats may lose unused bits. */
bool changes(const CfBlockRegions *self, const Patch *patch)
{
  return !cf_format_info(self->video.format)->alpha || patch->width > 1 || patch->height > 1;
}

/* Rows of cells, a bit for each cell. */
struct Cells {
  int shift_x, shift_y; /* log2 of a cell's size in pixels */
  uint64_t once[kCells], more[kCells];
};

struct CellSpan {
  int row0, row1;
  uint64_t columns;
};

CellSpan cells_of(const Cells &cells, const CfBlockRegions *self, const Patch &patch)
{
  const int right = self->video.width - 1, bottom = self->video.height - 1;
  const int x0 = cut(patch.x, right) >> cells.shift_x;
  const int x1 = cut(patch.x + patch.columns * patch.width - 1, right) >> cells.shift_x;
  const int y0 = cut(patch.y, bottom) >> cells.shift_y;
  const int y1 = cut(patch.y + patch.rows * patch.height - 1, bottom) >> cells.shift_y;

  return {y0, y1, ~0ull >> (kCells - 1 - x1 + x0) << x0};
}

int cell_shift(int length)
{
  int shift = 0;

  while (quotient_up(length, 1 << shift) > kCells)
    shift++;
  return shift;
}

/* Patches that have a cell in common may share blocks. */
void find_cells(const CfBlockRegions *self, Cells *cells, const Patch *patches, int count)
{
  memset(cells, 0, sizeof *cells);
  cells->shift_x = cell_shift(self->video.width);
  cells->shift_y = cell_shift(self->video.height);
  for (int i = 0; i < count; i++) {
    const CellSpan span = cells_of(*cells, self, patches[i]);
    for (int row = span.row0; row <= span.row1; row++) {
      cells->more[row] |= cells->once[row] & span.columns;
      cells->once[row] |= span.columns;
    }
  }
}

bool may_share(const Cells &cells, const CellSpan &span)
{
  for (int row = span.row0; row <= span.row1; row++) {
    if (cells.more[row] & span.columns)
      return true;
  }
  return false;
}

/* Brings patches that may share blocks to the front, ordered by the cells of their tops: then
 * neighbours are among those of a few cells. */
void sort_patches(CfBlockRegions *self, int count)
{
  const Patch *made = self->patches + self->capacity + 1;
  Patch *sorted = self->patches;
  Cells cells;
  int starts[kCells + 1] = {}, places[kCells];
  int tallest = 0, alone = 0;

  find_cells(self, &cells, made, count);
  for (int i = 0; i < count; i++) {
    const CellSpan span = cells_of(cells, self, made[i]);

    if (!may_share(cells, span))
      continue;
    starts[span.row0 + 1]++;
    tallest = span.row1 - span.row0 > tallest ? span.row1 - span.row0 : tallest;
  }
  for (int row = 0; row < kCells; row++) {
    starts[row + 1] += starts[row];
    places[row] = starts[row];
  }
  self->frame.sharing = starts[kCells];
  for (int i = 0; i < count; i++) {
    const CellSpan span = cells_of(cells, self, made[i]);

    if (may_share(cells, span)) {
      Patch *patch = &sorted[places[span.row0]++];
      *patch = made[i];
      patch->near_first = starts[span.row0 > tallest ? span.row0 - tallest : 0];
      patch->near_end = starts[span.row1 + 1];
    } else {
      sorted[self->frame.sharing + alone++] = made[i];
    }
  }
  self->frame.patches = count;
}

void plan_patches(CfBlockRegions *self)
{
  const bool outside = self->regions.outside;
  const int count = outside ? 1 : self->frame.list.count;
  Patch *made = self->patches + self->capacity + 1;

  self->large = false;
  for (int i = 0; i < count; i++) {
    made[i] = make_patch(self, outside ? -1 : i);
    self->large = self->large || is_large(self, &made[i]);
  }
  sort_patches(self, count);
}

/* Tiles of whole blocks, or of fixed size if any blocks are large; none where nothing changes, but
 * the samples belong to the patch all the same. */
void plan_patch_tiles(const CfBlockRegions *self, Patch *patch, int pixels, bool shares)
{
  patch->slices = 1;
  if (!changes(self, patch)) {
    patch->tiles_x = 0;
    return;
  }
  if (self->large) {
    const int left = cut(patch->x, self->video.width);
    const int right = cut(patch->x + patch->columns * patch->width, self->video.width);
    patch->tiles_x = quotient_up(right - left, pixels);
    patch->slices = (short)quotient_up(cut(patch->height, self->video.height), kSplitRows);
    return;
  }

  int blocks = patch->width < pixels ? pixels / patch->width : 1;
  if (shares && blocks > kSharedBlocks)
    blocks = kSharedBlocks;
  patch->tiles_x = quotient_up(patch->columns, blocks);
  patch->tile_blocks = (short)quotient_up(patch->columns, patch->tiles_x);
}

bool plan_tiles(CfBlockRegions *self, CfStatus *status)
{
  Frame *frame = &self->frame;
  const int bytes = pixel_bytes(cf_format_info(self->video.format), &frame->job.plane[0]);
  const int pixels = kTileBytes / 2 / bytes * 2;
  int64_t tiles = 0, blocks = 0;

  for (int p = 0; p < frame->job.planes; p++)
    frame->job.plane[p].tile_pixels = pixels >> frame->job.plane[p].shift_x;
  self->second_tiles = self->second_patches = self->most_tiles = 0;
  for (int i = 0; i < frame->patches; i++) {
    Patch *patch = &self->patches[i];

    patch->first_tile = (int)tiles;
    patch->first_block = (int)blocks;
    plan_patch_tiles(self, patch, pixels, i < frame->sharing);
    const int64_t own_tiles = (int64_t)patch->tiles_x * patch->rows * patch->slices;
    tiles += own_tiles;
    blocks += (int64_t)patch->columns * patch->rows;
    if (tiles > INT_MAX || blocks > INT_MAX)
      return cf_fail(status, CF_ERROR_NO_MEMORY,
                     "the regions of one frame have more blocks than the GPU can count: use "
                     "larger blocks or fewer regions");
    patch->tiles = (int)own_tiles;
    if (patch->tiles > self->most_tiles)
      self->most_tiles = patch->tiles;
    if (self->large || !frame->hard || (!frame->single && i < frame->sharing)) {
      self->second_tiles = (int)tiles;
      self->second_patches = i + 1;
    }
  }
  self->tiles = (int)tiles;
  frame->even = (int64_t)self->most_tiles * frame->patches <= 2 * tiles && frame->patches <= 65535;
  frame->blocks = (int)blocks;
  return true;
}

/* Slices of tiles whose samples are looked at one by one: enough to fill a large GPU. */
int slices_of(const CfBlockRegions *self)
{
  const int tiles = self->tiles * self->frame.job.planes;
  int rows = 1;

  if (self->frame.hard || tiles > kSoftWarps)
    return 1;
  for (int i = 0; i < self->frame.patches; i++)
    rows = self->patches[i].height > rows ? self->patches[i].height : rows;
  rows = cut(rows, self->large ? kSplitRows : kWholeRows);
  const int slices = quotient_up(cut(rows, self->video.height), kSoftRows);
  return slices * tiles <= kSoftWarps ? slices : kSoftWarps / tiles;
}

/* The lists travel with the launch if they are short enough. */
void fill_in_lists(CfBlockRegions *self)
{
  Frame *frame = &self->frame;

  if (frame->patches <= kFewPatches)
    memcpy(frame->few, self->patches, (size_t)frame->patches * sizeof(Patch));
  if (!frame->hard && frame->list.count <= kFewShapes)
    memcpy(frame->list.few, self->shapes, (size_t)frame->list.count * sizeof(CfShape));
}

bool make_plan(CfBlockRegions *self, CfStatus *status)
{
  const CfFormatInfo *format = cf_format_info(self->video.format);
  const CfRegions *regions = &self->regions;
  Frame *frame = &self->frame;

  frame->list.rule = cf_coverage_rule(regions);
  frame->list.width = self->video.width;
  frame->list.height = self->video.height;
  frame->list.count = make_shapes(self->shapes, &self->video, regions);
  frame->job = plan_codes(&self->video, self->params.mode);
  frame->alpha = cf_alpha_channel(&format->plane[0]);
  frame->hard =
      !regions->outside && regions->shape == CF_REGION_RECTANGLE && frame->list.rule.reach == 0;
  frame->single = cf_mosaic_is_single(&self->params, regions);
  self->grid = cf_mosaic_frame_grid(&self->params, &self->video, regions->field);
  self->shift_x = self->shift_y = 0;
  for (int p = 0; p < frame->job.planes; p++) {
    self->shift_x |= frame->job.plane[p].shift_x;
    self->shift_y |= frame->job.plane[p].shift_y;
  }
  plan_patches(self);
  if (!plan_tiles(self, status))
    return false;
  frame->slices = slices_of(self);
  self->kernel = frame->hard && !self->large
                     ? choose_kernel<Kernels<true>>(format, self->params.mode)
                     : choose_kernel<Kernels<false>>(format, self->params.mode);
  fill_in_lists(self);
  return true;
}

bool is_same(const CfBlockRegions *self, const CfBlockavgParams *params, const CfRegions *regions,
             bool vector)
{
  const CfRegions *last = &self->regions;

  return self->known && self->vector == vector && !regions->whole && !last->whole &&
         regions->count == last->count && regions->shape == last->shape &&
         regions->feather == last->feather && regions->outside == last->outside &&
         regions->field == last->field && memcmp(params, &self->params, sizeof *params) == 0 &&
         (last->count == 0 ||
          memcmp(regions->region, self->list, (size_t)last->count * sizeof(CfRegion)) == 0);
}

bool update_plan(CfBlockRegions *self, const CfBlockavgParams *params, const CfRegions *regions,
                 bool vector, CfStatus *status)
{
  if (is_same(self, params, regions, vector)) {
    if (!self->stays && self->vector)
      self->by_rectangles =
          cf_blockavg_rectangles_plan(self->rectangles, params, &self->regions, true);
    self->stays = true;
    return true;
  }
  self->known = false;
  if (!reserve(self, regions->count, status))
    return false;
  self->params = *params;
  self->vector = vector;
  self->regions = *regions;
  self->regions.region = self->list;
  if (regions->count > 0)
    memcpy(self->list, regions->region, (size_t)regions->count * sizeof(CfRegion));
  self->by_rectangles =
      vector && cf_blockavg_rectangles_plan(self->rectangles, params, &self->regions, false);
  self->stays = false;
  self->known = self->by_rectangles || make_plan(self, status);
  return self->known;
}

/* A second launch is set up while the first still runs, where the GPU can. */
bool launch(CfBlockRegions *self, Stage stage, dim3 tiles, cudaStream_t stream, CfStatus *status)
{
  cudaLaunchConfig_t config = {};
  cudaLaunchAttribute overlap = {};

  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  config.gridDim = tiles;
  config.blockDim = kThreads;
  config.stream = stream;
  config.attrs = &overlap;
  config.numAttrs = stage == kFill && self->device->code >= 90 ? 1 : 0;
  self->frame.job.stage = stage;
  return cf_cuda_ok(cudaLaunchKernelEx(&config, self->kernel, self->frame),
                    "averaging the blocks of regions", status);
}

dim3 grid_of(const CfBlockRegions *self, int tiles, int patches, int slices)
{
  const unsigned planes = (unsigned)self->frame.job.planes;

  if (self->frame.even)
    return dim3((unsigned)(self->most_tiles * slices), planes, (unsigned)patches);
  return dim3((unsigned)(tiles * slices), planes);
}

bool launch_all(CfBlockRegions *self, size_t value_bytes, cudaStream_t stream, CfStatus *status)
{
  const int initial = self->params.mode == CF_BLOCKAVG_AVERAGE ? 0 : 0xff;
  const dim3 first = grid_of(self, self->tiles, self->frame.patches, 1);
  const dim3 second = grid_of(self, self->second_tiles, self->second_patches, self->frame.slices);

  if (self->large && !cf_device_fill(self->frame.sums, initial, value_bytes, stream, status))
    return false;
  return launch(self, self->large ? kSums : kWhole, first, stream, status) &&
         (self->second_tiles == 0 || launch(self, kFill, second, stream, status));
}

bool upload(void *device, const void *host, size_t bytes, cudaStream_t stream, CfStatus *status)
{
  return bytes == 0 ||
         cf_cuda_ok(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream),
                    "copying regions to the device", status);
}

/* Scratch on the device: values of blocks that one launch leaves to the next, and long lists. */
bool run_plan(CfBlockRegions *self, cudaStream_t stream, CfStatus *status)
{
  Frame *frame = &self->frame;
  const size_t blocks = (size_t)frame->job.planes * frame->blocks;
  const size_t value_bytes = self->second_tiles == 0 ? 0
                             : self->large ? blocks * CF_MAX_CHANNELS * sizeof *frame->sums
                                           : (blocks + 1) / 2 * 2 * sizeof *frame->colours;
  const size_t patch_bytes =
      frame->patches > kFewPatches ? (size_t)frame->patches * sizeof(Patch) : 0;
  const size_t shape_bytes =
      !frame->hard && frame->list.count > kFewShapes ? frame->list.count * sizeof(CfShape) : 0;
  const size_t bytes = value_bytes + patch_bytes + shape_bytes;
  uint8_t *scratch = nullptr;

  if (bytes > 0) {
    scratch = (uint8_t *)cf_scratch_take(self->device, bytes, stream, status);
    if (!scratch)
      return false;
  }
  frame->sums = self->large ? (unsigned long long *)scratch : nullptr;
  frame->colours = self->large ? nullptr : (uint32_t *)scratch;
  frame->far = patch_bytes > 0 ? (const Patch *)(scratch + value_bytes) : nullptr;
  frame->list.far =
      shape_bytes > 0 ? (const CfShape *)(scratch + value_bytes + patch_bytes) : nullptr;

  const bool good =
      upload(scratch + value_bytes, self->patches, patch_bytes, stream, status) &&
      upload(scratch + value_bytes + patch_bytes, self->shapes, shape_bytes, stream, status) &&
      launch_all(self, value_bytes, stream, status);
  return (!scratch || cf_scratch_give(self->device, scratch, stream, good ? status : nullptr)) &&
         good;
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

CfBlockRegions *cf_blockavg_regions_new(CfDevice *device, const CfVideo *video, CfStatus *status)
{
  CfBlockRegions *self = (CfBlockRegions *)calloc(1, sizeof *self);

  if (!self) {
    cf_fail(status, CF_ERROR_NO_MEMORY, "out of host memory");
    return nullptr;
  }
  self->device = device;
  self->video = *video;
  self->rectangles = cf_blockavg_rectangles_new(device, video, status);
  if (!self->rectangles) {
    free(self);
    return nullptr;
  }
  return self;
}

void cf_blockavg_regions_free(CfBlockRegions *self)
{
  if (self) {
    cf_blockavg_rectangles_free(self->rectangles);
    free(self->list);
  }
  free(self);
}

bool cf_blockavg_regions_run(CfBlockRegions *self, const CfBlockavgParams *params, const CfJob *job,
                             CfStatus *status)
{
  const int planes = cf_format_info(self->video.format)->planes;

  if (!update_plan(self, params, job->regions, are_vectors(job, planes), status))
    return false;
  if (self->by_rectangles)
    return cf_blockavg_rectangles_run(self->rectangles, job, status);
  if (job->source.data[0] != job->destination.data[0] &&
      !cf_copy_picture(CF_COPY_ON_DEVICE, &self->video, &job->destination, &job->source,
                       job->stream, status))
    return false;
  if (self->tiles == 0)
    return true;
  set_pictures(&self->frame.job, job);
  return run_plan(self, (cudaStream_t)job->stream, status);
}
