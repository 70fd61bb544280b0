/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Block average. A tile of whole blocks is read once in 16-byte columns, its column sums meet in
 * shared memory, a few lanes add up each block, and the colours are written over the blocks: one
 * launch for all planes. Blocks too large for a tile take two launches: sums, then the fill. Where
 * one colour takes the place of all, regions/blend.cuh writes it.
 *
 * All sums are exact integers. A tile reads only bytes of its own blocks and of columns it shares
 * with a neighbour, whose sums it does not use, so source and destination may be the same.
 */
#include <stdlib.h>

#include "cuda/blockavg/frame_kernel.cuh"
#include "cuda/blockavg/job.cuh"
#include "cuda/blockavg/region_lists.h"
#include "cuda/common/int_math.cuh"
#include "cuda/regions/blend.cuh"

extern "C" {
#include "plan/mosaic.h"
}

namespace cf::blockavg
{

namespace
{

/* The packed 16-bit sums of one thread hold this many rows of 255. */
constexpr int kPackedRows = 257;

/* 65536 pixels of 65535, or of 255 * 255, and the half that rounds still fit 32 bits. */
constexpr int kWholeArea = 65536;
constexpr int kSharedBytes = 38 * 1024; /* beside the colours; 48 KiB need no permission */

typedef void (*Kernel)(Job);

struct State {
  CfVideo video;
  CfDevice *device;
  CfBlockavgParams params;
  Regions *regions;
  Kernel kernel;
  Job job;     /* but for pointers, strides and stage */
  bool copies; /* single pixels: also transparent ones keep their colour */
  bool split;
  int tiles;
  size_t shared_bytes;
  size_t sums; /* of all planes, split only */
  int initial; /* byte that those sums start from */
};

/* The kernel for averages of a format; `Aligned` as average_blocks has it. */
template <bool Aligned> Kernel mean_kernel(const CfFormatInfo *format)
{
  if (cf_sample_bytes(format) == 2)
    return average_blocks<MeanWords, 1, Aligned>;
  if (format->alpha)
    return average_blocks<MeanPremultiplied, 4, Aligned>;
  switch (format->plane[0].channels) {
  case 3:
    return average_blocks<MeanBytes, 3, false>;
  case 4:
    return average_blocks<MeanBytes, 4, Aligned>;
  default:
    return average_blocks<MeanBytes, 1, Aligned>;
  }
}

/* For minima, and maxima as minima of complements. */
Kernel extremum_kernel(const CfFormatInfo *format)
{
  if (cf_sample_bytes(format) == 2)
    return average_blocks<ExtremumWords, 1, false>;
  switch (format->plane[0].channels) {
  case 3:
    return average_blocks<ExtremumBytes, 3, false>;
  case 4:
    return average_blocks<ExtremumBytes, 4, false>;
  default:
    return average_blocks<ExtremumBytes, 1, false>;
  }
}

int columns_of(const CfFormatInfo *format, const Plane *plane, long pixels)
{
  return (int)((pixels * pixel_bytes(format, plane) + kColumnBytes - 1) / kColumnBytes) + 1;
}

/* Bytes that a tile of `columns` needs: its sums, or the line drawn over them.
 */
size_t tile_bytes(const Plane *plane, int words, int columns)
{
  const size_t stride = (size_t)(columns + 31) / 32 * 32 + 4;
  const size_t sums = (size_t)(kThreads / plane->columns) * words * stride * sizeof(uint32_t);
  const size_t line = ((size_t)columns + 2) * kColumnBytes;

  return sums > line ? sums : line;
}

int words_of(const CfFormatInfo *format, int mode, const Plane *plane)
{
  if (plane->aligned)
    return plane->channels;
  if (mode != CF_BLOCKAVG_AVERAGE)
    return 4;
  return format->alpha ? 16 : 8;
}

/* About 8 rows a thread; unaligned tiles are wider, for they lose up to a column at each end. */
int columns_for(int rows, int bytes, bool aligned)
{
  if (rows <= 8)
    return 256;
  if (!aligned)
    return rows <= 32 || bytes == 4 ? 128 : 64;
  return rows <= 16 ? 128 : rows <= 64 ? 64 : 32;
}

/* As many blocks as fill the columns. Tiles that start on a column store no single bytes, for which
 * up to a quarter more tiles are accepted; others are made equally wide. */
int blocks_for(const Plane *plane, int bytes)
{
  const long pixels = (long)plane->columns * kColumnBytes / bytes;
  long blocks = (pixels << plane->shift_x) / plane->block_width;
  int multiple = 1;

  blocks = blocks < 1 ? 1 : blocks > kTileBlocks ? kTileBlocks : blocks;
  while (multiple < 32 &&
         ((long)multiple * plane->block_width % (1 << plane->shift_x) != 0 ||
          ((long)multiple * plane->block_width >> plane->shift_x) * bytes % kColumnBytes != 0))
    multiple *= 2;

  const int across = div_up(plane->blocks_x, (int)blocks);
  const int whole = (int)blocks - (int)blocks % multiple;
  if (whole > 0 && 4 * div_up(plane->blocks_x, whole) <= 5 * across)
    return whole;
  return div_up(plane->blocks_x, across);
}

int block_rows(const Plane *plane)
{
  return (int)((((long)plane->height << plane->shift_y) + plane->block_height - 1) /
               plane->block_height);
}

void plan_blocks(Plane *plane, const CfFormatInfo *format, int mode, const CfGrid *grid)
{
  plane->block_width = grid->width;
  plane->block_height = grid->height;
  plane->blocks_x = (int)((((long)plane->width << plane->shift_x) + grid->width - 1) / grid->width);

  const int bytes = pixel_bytes(format, plane);
  plane->aligned = mode == CF_BLOCKAVG_AVERAGE && plane->channels != 3 &&
                   grid->width % (1 << plane->shift_x) == 0 &&
                   (grid->width >> plane->shift_x) * bytes % kColumnBytes == 0;
}

/* Tiles of whole blocks; false where they would be too large. */
bool plan_whole(State *state, const CfGrid *grid)
{
  const CfFormatInfo *format = cf_format_info(state->video.format);

  state->tiles = 0;
  state->shared_bytes = 0;
  if (grid->height > kWholeRows || (long)grid->width * grid->height > kWholeArea)
    return false;

  for (int p = 0; p < format->planes; p++) {
    Plane *plane = &state->job.plane[p];
    const int rows = (grid->height >> plane->shift_y) + 1;
    const int bytes = pixel_bytes(format, plane);

    plane->columns = columns_for(grid->height >> plane->shift_y, bytes, plane->aligned);
    plane->tile_blocks = blocks_for(plane, bytes);
    plane->slices = 1;
    plane->tiles_x = (plane->blocks_x + plane->tile_blocks - 1) / plane->tile_blocks;
    plane->first_tile = state->tiles;

    const long pixels = ((long)plane->tile_blocks * grid->width >> plane->shift_x) + 1;
    const size_t needed = tile_bytes(plane, words_of(format, state->params.mode, plane),
                                     columns_of(format, plane, pixels));
    if (needed > kSharedBytes || rows > kPackedRows * (kThreads / plane->columns))
      return false;
    state->shared_bytes = needed > state->shared_bytes ? needed : state->shared_bytes;
    state->tiles += plane->tiles_x * block_rows(plane);
  }
  return true;
}

/* Tiles of fixed size, several to a block or several blocks to a tile. */
void plan_split(State *state, const CfGrid *grid)
{
  const CfFormatInfo *format = cf_format_info(state->video.format);

  state->tiles = 0;
  state->shared_bytes = 0;
  state->sums = 0;
  for (int p = 0; p < format->planes; p++) {
    Plane *plane = &state->job.plane[p];
    const int bytes = pixel_bytes(format, plane);
    const int rows = (grid->height >> plane->shift_y) + 1;
    const int blocks_y = block_rows(plane);

    plane->columns = kSplitColumns;
    plane->tile_pixels = kSplitColumns * kColumnBytes / bytes / kColumnBytes * kColumnBytes;
    plane->slices = ((rows < plane->height ? rows : plane->height) + kSplitRows - 1) / kSplitRows;
    plane->tiles_x = (plane->width + plane->tile_pixels - 1) / plane->tile_pixels;
    plane->first_tile = state->tiles;
    state->tiles += plane->tiles_x * blocks_y * plane->slices;
    state->sums += (size_t)blocks_y * plane->blocks_x * plane->channels;

    const size_t needed =
        tile_bytes(plane, words_of(format, state->params.mode, plane), kSplitColumns + 1);
    state->shared_bytes = needed > state->shared_bytes ? needed : state->shared_bytes;
  }
}

bool update_state(void *opaque, const void *params, CfStatus *)
{
  State *state = (State *)opaque;
  const CfBlockavgParams *blockavg = &state->params;
  const CfFormatInfo *format = cf_format_info(state->video.format);

  state->params = *(const CfBlockavgParams *)params;
  const CfGrid grid = cf_mosaic_frame_grid(blockavg, &state->video, false);
  state->initial = blockavg->mode == CF_BLOCKAVG_AVERAGE ? 0 : 0xff;
  state->job = plan_codes(&state->video, blockavg->mode);
  for (int p = 0; p < format->planes; p++)
    plan_blocks(&state->job.plane[p], format, blockavg->mode, &grid);
  state->kernel = blockavg->mode != CF_BLOCKAVG_AVERAGE ? extremum_kernel(format)
                  : state->job.plane[0].aligned         ? mean_kernel<true>(format)
                                                        : mean_kernel<false>(format);
  state->copies = format->alpha && grid.width == 1 && grid.height == 1;
  state->split = !plan_whole(state, &grid);
  if (state->split)
    plan_split(state, &grid);
  return true;
}

void *open_state(const CfVideo *video, const void *params, const CfOpenOptions *options,
                 CfStatus *status)
{
  State *state = (State *)calloc(1, sizeof *state);

  if (!state) {
    cf_fail(status, CF_ERROR_NO_MEMORY, "out of host memory");
    return nullptr;
  }
  state->video = *video;
  state->device = options->device;
  state->regions = open_regions(options->device, video, status);
  if (!state->regions) {
    free(state);
    return nullptr;
  }
  update_state(state, params, status);
  return state;
}

void close_state(void *opaque)
{
  State *state = (State *)opaque;

  close_regions(state->regions);
  free(state);
}

bool launch(const State *state, const Job &job, cudaStream_t stream, CfStatus *status)
{
  state->kernel<<<state->tiles, kThreads, state->shared_bytes, stream>>>(job);
  return cf_cuda_launched("averaging blocks", status);
}

bool run_split(const State *state, Job *job, cudaStream_t stream, CfStatus *status)
{
  const size_t bytes = state->sums * sizeof(unsigned long long);
  unsigned long long *sums =
      (unsigned long long *)cf_scratch_take(state->device, bytes, stream, status);

  if (!sums)
    return false;
  unsigned long long *next = sums;
  for (int p = 0; p < job->planes; p++) {
    Plane *plane = &job->plane[p];
    plane->sums = next;
    next += (size_t)block_rows(plane) * plane->blocks_x * plane->channels;
  }

  bool good = cf_device_fill(sums, state->initial, bytes, stream, status);
  job->stage = kSums;
  good = good && launch(state, *job, stream, status);
  job->stage = kFill;
  good = good && launch(state, *job, stream, status);
  return cf_scratch_give(state->device, sums, stream, good ? status : nullptr) && good;
}

bool copy_picture(const State *state, const CfJob *work, CfStatus *status)
{
  return work->source.data[0] == work->destination.data[0] ||
         cf_copy_picture(CF_COPY_ON_DEVICE, &state->video, &work->destination, &work->source,
                         work->stream, status);
}

bool run_state(void *opaque, const CfJob *work, CfStatus *status)
{
  State *state = (State *)opaque;
  Job job = state->job;

  if (!cf_refuse_capture(work->stream, status))
    return false;
  if (state->params.mode == CF_BLOCKAVG_FILL)
    return cf_cuda_fill(state->device, &state->video, work->regions, &work->source,
                        state->params.fill_color, &work->destination, work->stream, status);
  if (work->regions)
    return run_regions(state->regions, &state->params, work, status);
  if (state->copies)
    return copy_picture(state, work, status);
  set_pictures(&job, work);
  if (state->split)
    return run_split(state, &job, (cudaStream_t)work->stream, status);
  job.stage = kWhole;
  return launch(state, job, (cudaStream_t)work->stream, status);
}

/* Means of whole macropixels, as of pixels of four channels. */
bool run_packed(void *opaque, const CfVideo *video, const CfJob *work, bool *done, CfStatus *status)
{
  State packed = *(const State *)opaque;
  const CfBlockavgParams params = packed.params;

  packed.video = *video;
  *done = !work->regions && params.mode == CF_BLOCKAVG_AVERAGE && video->width % 2 == 0 &&
          cf_mosaic_frame_grid(&params, video, false).width % 2 == 0;
  return !*done || (update_state(&packed, &params, status) && run_state(&packed, work, status));
}

const char *algorithm(const void *opaque)
{
  const State *state = (const State *)opaque;

  return state->params.mode == CF_BLOCKAVG_FILL ? "fill"
         : state->copies                        ? "copy"
         : state->split                         ? "two-pass"
                                                : "one-pass";
}

} // namespace

} // namespace cf::blockavg

extern "C" const CfEngine cf_blockavg_cuda = {
    "cuda", /* name */
    true,   /* device_memory */
    true,   /* in_place */
    cf::blockavg::open_state,
    cf::blockavg::update_state,
    cf::blockavg::run_state,
    cf::blockavg::algorithm,
    cf::blockavg::close_state,
    true,    /* regions */
    nullptr, /* halo */
    cf::blockavg::run_packed,
};
