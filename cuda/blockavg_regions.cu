/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "blockavg_regions.cuh"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Patches are small: many small CUDA blocks keep more memory traffic under way. */
#define CF_BLOCKAVG_THREADS 128
#include "blockavg_kernels.cuh"
#include "blockavg_patch.cuh"

extern "C" {
#include "mosaic.h"
}

namespace
{

/* Larger blocks are summed up by several tiles. */
constexpr int kWholePixels = 16384;
constexpr int kWholeRows = 256;
constexpr int kWholeBytes = (kPatchColumns - 2) * kColumnBytes;

/* What tiles of several blocks, or of parts of one, aim at: enough of them even of few regions. */
constexpr int kTileBytes = 640;

/* The picture is divided into so many cells each way to find patches that share blocks. */
constexpr int kCells = 64;

static_assert(sizeof(Frame) <= 4096, "older drivers take no larger parameters");

typedef void (*Kernel)(Frame);

struct Kernels {
  typedef Kernel Type;
  template <template <int, bool> class Kind, int Channels> static Kernel get()
  {
    return average_patches<Kind, Channels>;
  }
};

struct Work {
  CfDevice *device;
  const CfVideo *video;
  const CfBlockavgParams *params;
  const CfRegions *regions;
  void *stream;
  CfGrid grid;          /* of the picture */
  int shift_x, shift_y; /* largest subsampling */
  CfShape *shapes;      /* list.count of them, then the patches, in one piece */
  Patch *patches;
  int tiles;        /* in each plane */
  int shared_tiles; /* of them, the first: those of patches that are not alone */
  Frame frame;
};

bool reserve(CfBlockRegionTables *tables, size_t bytes, CfStatus *status)
{
  if (bytes <= tables->bytes)
    return true;
  void *larger = realloc(tables->memory, bytes);
  if (!larger)
    return cf_fail(status, CF_ERROR_NO_MEMORY, "out of host memory");
  tables->memory = larger;
  tables->bytes = bytes;
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

/* `shape` -1: the whole picture. The blocks are those of all planes: chroma
 * samples may belong to one before those of their luma pixels. */
Patch make_patch(const Work *work, int shape)
{
  const int reach = work->frame.list.rule.reach;
  const int width = work->video->width, height = work->video->height;
  CfGrid grid = work->grid;
  Patch patch = {};

  patch.shape = shape;
  patch.rect = {0, 0, width, height};
  if (shape >= 0) {
    const CfShape *bounds = &work->shapes[shape];
    patch.rect = {cut(bounds->x0 - reach, width), cut(bounds->y0 - reach, height),
                  cut(bounds->x1 + reach, width), cut(bounds->y1 + reach, height)};
    if (!work->frame.single)
      grid = cf_mosaic_region_grid(work->params, bounds);
  }

  const int column0 =
      cf_grid_block(grid.x, grid.width, work->shift_x, patch.rect.x0 >> work->shift_x);
  const int row0 =
      cf_grid_block(grid.y, grid.height, work->shift_y, patch.rect.y0 >> work->shift_y);
  patch.x = grid.x + column0 * grid.width;
  patch.y = grid.y + row0 * grid.height;
  patch.width = grid.width;
  patch.height = grid.height;
  patch.columns = cf_grid_block(grid.x, grid.width, 0, patch.rect.x1 - 1) + 1 - column0;
  patch.rows = cf_grid_block(grid.y, grid.height, 0, patch.rect.y1 - 1) + 1 - row0;
  return patch;
}

bool has_large_blocks(const Work *work)
{
  const int bytes = pixel_bytes(cf_format_info(work->video->format), &work->frame.job.plane[0]);

  for (int i = 0; i < work->frame.patches; i++) {
    const Patch *patch = &work->patches[i];
    if ((long)patch->width * patch->height > kWholePixels || patch->height > kWholeRows ||
        patch->width * bytes > kWholeBytes)
      return true;
  }
  return false;
}

/* Rows of cells, a bit for each cell. */
struct Cells {
  int width, height; /* of a cell in pixels */
  uint64_t once[kCells], more[kCells];
};

struct CellSpan {
  int row0, row1;
  uint64_t columns;
};

CellSpan cells_of(const Cells &cells, const Work *work, const Patch &patch)
{
  const int x0 = cut(patch.x, work->video->width - 1) / cells.width;
  const int x1 =
      cut(patch.x + patch.columns * patch.width - 1, work->video->width - 1) / cells.width;
  const int y0 = cut(patch.y, work->video->height - 1) / cells.height;
  const int y1 =
      cut(patch.y + patch.rows * patch.height - 1, work->video->height - 1) / cells.height;

  return {y0, y1, ~0ull >> (kCells - 1 - x1 + x0) << x0};
}

/* Patches that have a cell in common may share blocks. */
void find_alone(const Work *work, int count)
{
  Cells cells = {};

  cells.width = quotient_up(work->video->width, kCells);
  cells.height = quotient_up(work->video->height, kCells);
  for (int i = 0; i < count; i++) {
    const CellSpan span = cells_of(cells, work, work->patches[i]);
    for (int row = span.row0; row <= span.row1; row++) {
      cells.more[row] |= cells.once[row] & span.columns;
      cells.once[row] |= span.columns;
    }
  }
  for (int i = 0; i < count; i++) {
    const CellSpan span = cells_of(cells, work, work->patches[i]);
    work->patches[i].alone = true;
    for (int row = span.row0; row <= span.row1; row++) {
      if (cells.more[row] & span.columns)
        work->patches[i].alone = false;
    }
  }
}

/* Blocks of 1x1 in formats with alpha are what they were; other formats may
 * lose unused bits. */
bool changes(const Work *work, const Patch *patch)
{
  return !cf_format_info(work->video->format)->alpha || patch->width > 1 || patch->height > 1;
}

/* Brings patches that share blocks to the front, and drops those that change
 * nothing. */
int sort_patches(const Work *work, int count)
{
  Patch *patches = work->patches;
  int front = 0, kept = 0;

  for (int i = 0; i < count; i++) {
    const Patch patch = patches[i];

    if (!changes(work, &patch))
      continue;
    patches[kept++] = patches[front];
    if (patch.alone)
      patches[kept - 1] = patch;
    else
      patches[front++] = patch;
  }
  return kept;
}

void plan_patches(Work *work)
{
  const bool outside = work->regions->outside;
  const int count = outside ? 1 : work->frame.list.count;

  for (int i = 0; i < count; i++)
    work->patches[i] = make_patch(work, outside ? -1 : i);
  find_alone(work, count);
  work->frame.patches = sort_patches(work, count);
}

bool plan_tiles(Work *work, bool large, CfStatus *status)
{
  Frame *frame = &work->frame;
  const int bytes = pixel_bytes(cf_format_info(work->video->format), &frame->job.plane[0]);
  const int pixels = kTileBytes / 2 / bytes * 2;
  int64_t tiles = 0, blocks = 0;

  for (int p = 0; p < frame->job.planes; p++)
    frame->job.plane[p].tile_pixels = pixels >> frame->job.plane[p].shift_x;
  for (int i = 0; i < frame->patches; i++) {
    Patch *patch = &work->patches[i];

    patch->first_tile = (int)tiles;
    patch->first_block = (int)blocks;
    patch->slices = 1;
    if (large) {
      const int left = cut(patch->x, work->video->width);
      const int right = cut(patch->x + patch->columns * patch->width, work->video->width);
      patch->tiles_x = quotient_up(right - left, pixels);
      patch->slices = quotient_up(cut(patch->height, work->video->height), kSplitRows);
    } else {
      patch->tile_blocks = patch->width < pixels ? pixels / patch->width : 1;
      patch->tiles_x = quotient_up(patch->columns, patch->tile_blocks);
      patch->tile_blocks = quotient_up(patch->columns, patch->tiles_x);
    }
    tiles += (int64_t)patch->tiles_x * patch->rows * patch->slices;
    blocks += (int64_t)patch->columns * patch->rows;
    if (tiles > INT_MAX || blocks > INT_MAX)
      return cf_fail(status, CF_ERROR_NO_MEMORY,
                     "the regions of one frame have more blocks than the GPU can count: use "
                     "larger blocks or fewer regions");
    if (large || !patch->alone)
      work->shared_tiles = (int)tiles;
  }
  work->tiles = (int)tiles;
  frame->blocks = (int)blocks;
  return true;
}

bool launch(const Work *work, Stage stage, int tiles, CfStatus *status)
{
  const Kernel kernel =
      choose_kernel<Kernels>(cf_format_info(work->video->format), work->params->mode);
  Frame frame = work->frame;

  frame.job.stage = stage;
  kernel<<<dim3((unsigned)tiles, (unsigned)frame.job.planes), kThreads, 0,
           (cudaStream_t)work->stream>>>(frame);
  return cf_cuda_launched("averaging the blocks of regions", status);
}

bool launch_all(const Work *work, size_t value_bytes, CfStatus *status)
{
  const int initial = work->params->mode == CF_BLOCKAVG_AVERAGE ? 0 : 0xff;

  if (work->frame.sums)
    return cf_device_fill(work->frame.sums, initial, value_bytes, work->stream, status) &&
           launch(work, kSums, work->tiles, status) && launch(work, kFill, work->tiles, status);
  return launch(work, kWhole, work->tiles, status) &&
         (work->shared_tiles == 0 || launch(work, kFill, work->shared_tiles, status));
}

/* The lists, where they do not travel with the launches. */
bool upload(Work *work, uint8_t *scratch, size_t bytes, CfStatus *status)
{
  Frame *frame = &work->frame;

  if (bytes == 0) {
    memcpy(frame->list.few, work->shapes, (size_t)frame->list.count * sizeof(CfShape));
    memcpy(frame->few, work->patches, (size_t)frame->patches * sizeof(Patch));
    return true;
  }
  frame->list.far = (const CfShape *)scratch;
  frame->far = (const Patch *)(frame->list.far + frame->list.count);
  return cf_cuda_ok(cudaMemcpyAsync(scratch, work->shapes, bytes, cudaMemcpyHostToDevice,
                                    (cudaStream_t)work->stream),
                    "copying regions to the device", status);
}

/* Scratch on the device: the lists, and values of blocks that one launch leaves
 * to the next. */
bool run_tiles(Work *work, bool large, CfStatus *status)
{
  Frame *frame = &work->frame;
  const size_t list_bytes =
      frame->list.count > kFewShapes
          ? (size_t)frame->list.count * sizeof(CfShape) + (size_t)frame->patches * sizeof(Patch)
          : 0;
  const size_t blocks = (size_t)frame->job.planes * frame->blocks;
  const size_t value_bytes = blocks * (large ? CF_MAX_CHANNELS * sizeof *frame->sums
                                             : (work->shared_tiles > 0) * sizeof *frame->colours);
  uint8_t *scratch = nullptr;

  if (list_bytes + value_bytes > 0) {
    scratch =
        (uint8_t *)cf_scratch_take(work->device, list_bytes + value_bytes, work->stream, status);
    if (!scratch)
      return false;
  }
  if (large)
    frame->sums = (unsigned long long *)(scratch + list_bytes);
  else
    frame->colours = (uint32_t *)(scratch + list_bytes);

  const bool good =
      upload(work, scratch, list_bytes, status) && launch_all(work, value_bytes, status);
  return (!scratch ||
          cf_scratch_give(work->device, scratch, work->stream, good ? status : nullptr)) &&
         good;
}

} // namespace

void cf_blockavg_regions_free(CfBlockRegionTables *tables)
{
  free(tables->memory);
}

bool cf_blockavg_regions_run(CfBlockRegionTables *tables, CfDevice *device, const CfVideo *video,
                             const CfBlockavgParams *params, const CfJob *job, CfStatus *status)
{
  const CfRegions *regions = job->regions;
  const size_t count = (size_t)regions->count;
  Work work = {device, video, params, regions, job->stream};
  Frame *frame = &work.frame;

  if (job->source.data[0] != job->destination.data[0] &&
      !cf_copy_picture(CF_COPY_ON_DEVICE, video, &job->destination, &job->source, job->stream,
                       status))
    return false;
  if (!reserve(tables, count * sizeof(CfShape) + (count + 1) * sizeof(Patch), status))
    return false;

  work.shapes = (CfShape *)tables->memory;
  frame->list.rule = cf_coverage_rule(regions);
  frame->list.width = video->width;
  frame->list.height = video->height;
  frame->list.count = make_shapes(work.shapes, video, regions);
  work.patches = (Patch *)(work.shapes + frame->list.count);
  frame->job = plan_codes(video, params->mode);
  set_pictures(&frame->job, job);
  frame->alpha = cf_alpha_channel(&cf_format_info(video->format)->plane[0]);
  frame->single = cf_mosaic_is_single(params, regions);
  work.grid = cf_mosaic_frame_grid(params, video, regions->field);
  for (int p = 0; p < frame->job.planes; p++) {
    work.shift_x |= frame->job.plane[p].shift_x;
    work.shift_y |= frame->job.plane[p].shift_y;
  }
  plan_patches(&work);
  if (frame->patches == 0)
    return true;

  const bool large = has_large_blocks(&work);
  return plan_tiles(&work, large, status) && run_tiles(&work, large, status);
}
