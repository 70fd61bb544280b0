/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The engine of cudablockavg. Averages of whole frames are one launch for all planes
 * (frame_kernel.cuh), and so are their minima and maxima, and most lists of regions
 * (regions_fused.h). general.h does all else: large blocks, rows at any address, any list;
 * regions/blend.cuh what else mode=fill has.
 *
 * All sums are exact integers. Every implementation reads a block as a whole before it writes any
 * of it, so source and destination may be the same.
 */
#include <stdlib.h>

#include "cuda/blockavg/frame_kernel.cuh"
#include "cuda/blockavg/general.h"
#include "cuda/blockavg/regions_fused.h"
#include "cuda/common/int_math.cuh"
#include "cuda/regions/blend.cuh"

extern "C" {
#include "plan/mosaic.h"
}

namespace cf::blockavg
{

namespace
{

/* A thread's 16-bit sums of bytes do not overflow up to this many rows. */
constexpr int kPackedRows = 257;

/* Pixels of a block: 65536 samples of 65535, or of 255 * 255, and half the divisor, which rounding
 * adds, fit 32 bits. */
constexpr int kWholeArea = 65536;
constexpr int kSharedBytes = 38 * 1024; /* with the colours below 48 KiB, which need no opt-in */

typedef void (*Kernel)(Job);

struct State {
  CfVideo video;
  CfDevice *device;
  CfBlockavgParams params;
  FusedRegions *fused;
  GeneralMosaic general;
  bool copies; /* blocks of one pixel with alpha: frames are copied, transparent pixels included */
  Kernel kernel; /* for whole frames; NULL: they are done by `general` */
  Job job;       /* without pointers and strides */
  int tiles;
  size_t shared_bytes;
  const char *algorithm; /* of the last job, or that which is planned */
};

/* `Aligned`: see average_blocks(). */
template <bool Aligned> Kernel kernel_for(const CfFormatInfo *format)
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

int pixel_bytes(const CfFormatInfo *format, const Plane *plane)
{
  return plane->channels * cf_sample_bytes(format);
}

/* Shared memory of a tile that is `pixels` wide: its sums or, later in the same place, a row of
 * colours. */
size_t tile_bytes(const CfFormatInfo *format, const Plane *plane, long pixels)
{
  const int words = plane->aligned ? plane->channels : format->alpha ? 16 : 8;
  const int columns = (int)div_up<long>(pixels * pixel_bytes(format, plane), kColumnBytes) + 1;
  const size_t sums =
      (size_t)(kThreads / plane->columns) * words * sums_stride(columns) * sizeof(uint32_t);

  return larger(sums, ((size_t)columns + 2) * kColumnBytes);
}

/* Columns of a tile, for about 8 rows per thread. Unaligned tiles are wider, since up to a column
 * at each end is shared with a neighbour. */
int columns_for(int rows, int bytes, bool aligned)
{
  if (rows <= 8)
    return 256;
  if (!aligned)
    return rows <= 32 || bytes == 4 ? 128 : 64;
  return rows <= 16 ? 128 : rows <= 64 ? 64 : 32;
}

/* Blocks of a tile: as many as fit its columns, or a number with which all tiles start on a column
 * and need no stores of single bytes, if that takes at most a quarter more tiles. */
int blocks_for(const Plane *plane, int bytes)
{
  const long pixels = (long)plane->columns * kColumnBytes / bytes;
  long blocks = (pixels << plane->shift_x) / plane->block_width;
  int multiple = 1;

  blocks = clamp<long>(blocks, 1, kTileBlocks);
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

void plan_blocks(Plane *plane, const CfFormatInfo *format, const CfGrid *grid)
{
  plane->block_width = grid->width;
  plane->block_height = grid->height;
  plane->blocks_x = div_up(plane->width << plane->shift_x, grid->width);

  const int bytes = pixel_bytes(format, plane);
  plane->aligned = plane->channels != 3 && grid->width % (1 << plane->shift_x) == 0 &&
                   (grid->width >> plane->shift_x) * bytes % kColumnBytes == 0;
}

/* Divides planes into tiles of whole blocks; false if blocks are too large. */
bool plan_tiles(State *state, const CfGrid *grid)
{
  const CfFormatInfo *format = cf_format_info(state->video.format);

  state->tiles = 0;
  state->shared_bytes = 0;
  if ((long)grid->width * grid->height > kWholeArea)
    return false;

  for (int p = 0; p < format->planes; p++) {
    Plane *plane = &state->job.plane[p];
    const int rows = (grid->height >> plane->shift_y) + 1;
    const int bytes = pixel_bytes(format, plane);

    plane->columns = columns_for(grid->height >> plane->shift_y, bytes, plane->aligned);
    plane->tile_blocks = blocks_for(plane, bytes);
    plane->tiles_x = div_up(plane->blocks_x, plane->tile_blocks);
    plane->first_tile = state->tiles;

    const long pixels = ((long)plane->tile_blocks * grid->width >> plane->shift_x) + 1;
    const size_t needed = tile_bytes(format, plane, pixels);

    if (needed > kSharedBytes || rows > kPackedRows * (kThreads / plane->columns))
      return false;
    state->shared_bytes = larger(state->shared_bytes, needed);
    state->tiles += plane->tiles_x * div_up(plane->height << plane->shift_y, grid->height);
  }
  return true;
}

bool update_state(void *opaque, const void *params, CfStatus *)
{
  State *state = (State *)opaque;
  const CfBlockavgParams *blockavg = &state->params;
  const CfFormatInfo *format = cf_format_info(state->video.format);

  state->params = *(const CfBlockavgParams *)params;
  const CfGrid grid = cf_mosaic_frame_grid(blockavg, &state->video);
  const bool fills = blockavg->mode == CF_BLOCKAVG_FILL;
  state->copies = format->alpha && grid.width == 1 && grid.height == 1 && !fills;
  state->kernel = nullptr;
  state->algorithm = fills ? "fill" : state->copies ? "copy" : "one-pass";
  if (blockavg->mode != CF_BLOCKAVG_AVERAGE)
    return true;
  state->job = plan_codes(&state->video);
  for (int p = 0; p < format->planes; p++)
    plan_blocks(&state->job.plane[p], format, &grid);
  if (plan_tiles(state, &grid))
    state->kernel =
        state->job.plane[0].aligned ? kernel_for<true>(format) : kernel_for<false>(format);
  return true;
}

void close_state(void *opaque)
{
  State *state = (State *)opaque;

  close_fused(state->fused);
  free(state->general.work);
  free(state);
}

void *open_state(const CfVideo *video, const void *params, const CfOpenOptions *options,
                 CfStatus *status)
{
  State *state = (State *)cf_zeroed(sizeof *state, status);

  if (!state)
    return nullptr;
  state->video = *video;
  state->device = options->device;
  state->fused = open_fused(options->device, video, status);
  state->general = {options->device, *video, nullptr, 0};
  if (!state->fused) {
    close_state(state);
    return nullptr;
  }
  update_state(state, params, status);
  return state;
}

bool run_tiles(const State *state, const CfJob *work, CfStatus *status)
{
  Launch how = {};
  Job job = state->job;

  set_pictures(&job, work);
  how.grid = dim3((unsigned)state->tiles);
  how.block = dim3(kThreads);
  how.shared_bytes = state->shared_bytes;
  how.stream = (cudaStream_t)work->stream;
  return launch(how, "averaging blocks", status, state->kernel, job);
}

bool copy_picture(const State *state, const CfJob *work, CfStatus *status)
{
  return work->source.data[0] == work->destination.data[0] ||
         cf_copy_picture(CF_COPY_ON_DEVICE, &state->video, &work->destination, &work->source,
                         work->stream, status);
}

/* Whether all rows of both pictures are aligned to 16 bytes. */
bool are_vectors(const CfFormatInfo *format, const CfJob *work)
{
  for (int p = 0; p < format->planes; p++) {
    if (!cf_is_vector_aligned(work->source.data[p], work->source.stride[p]) ||
        !cf_is_vector_aligned(work->destination.data[p], work->destination.stride[p]))
      return false;
  }
  return true;
}

bool run_state(void *opaque, const CfJob *work, CfStatus *status)
{
  State *state = (State *)opaque;
  const CfBlockavgParams *params = &state->params;
  const bool vectors = are_vectors(cf_format_info(state->video.format), work);
  const bool fills = params->mode == CF_BLOCKAVG_FILL;

  if (!cf_refuse_capture(work->stream, status))
    return false;
  if (state->copies && !work->regions)
    return copy_picture(state, work, status);
  state->algorithm = fills ? "fill" : "one-pass";
  if (vectors && state->kernel && !work->regions)
    return run_tiles(state, work, status);

  /* Where frame_kernel.cuh does not do a whole frame, it is one region. */
  const CfRegion frame = {0, 0, state->video.width, state->video.height};
  CfRegions whole = {};

  whole.region = &frame;
  whole.count = 1;
  if (vectors && (work->regions || !fills) &&
      plan_fused(state->fused, params, work->regions ? work->regions : &whole))
    return run_fused(state->fused, work, status);
  if (fills)
    return cf_cuda_fill(state->device, &state->video, work->regions, &work->source,
                        params->fill_color, &work->destination, work->stream, status);
  state->algorithm = "general";
  return run_general(&state->general, params, work, status);
}

/* CfEngine.run_packed: averages macropixels as pixels of four channels. */
bool run_packed(void *opaque, const CfVideo *video, const CfJob *work, bool *done, CfStatus *status)
{
  State packed = *(const State *)opaque;
  const CfBlockavgParams params = packed.params;

  packed.video = *video;
  *done = false;
  if (work->regions || params.mode != CF_BLOCKAVG_AVERAGE || video->width % 2 != 0 ||
      cf_mosaic_frame_grid(&params, video).width % 2 != 0 ||
      !are_vectors(cf_format_info(video->format), work))
    return true;
  update_state(&packed, &params, status);
  *done = packed.kernel;
  return !*done || (cf_refuse_capture(work->stream, status) && run_tiles(&packed, work, status));
}

const char *algorithm(const void *opaque)
{
  return ((const State *)opaque)->algorithm;
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
