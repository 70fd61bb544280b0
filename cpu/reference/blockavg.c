/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The definition of the block average, computed literally in integers.
 */
#include "blockavg.h"

#include <stdlib.h>

typedef struct {
  CfVideo video;
  CfBlockavgParams params;
} State;

/* The samples x0 <= x < x1, y0 <= y < y1 of one plane. */
typedef struct {
  int x0, y0, x1, y1;
} Block;

/* One plane of the job. */
typedef struct {
  const CfVideo *video;
  const CfFormatInfo *format;
  const CfPlaneFormat *info;
  const uint8_t *source;
  ptrdiff_t source_stride;
  uint8_t *destination;
  ptrdiff_t destination_stride;
} Plane;

static uint64_t read_code(const Plane *plane, int x, int y, int channel)
{
  const uint8_t *row = plane->source + y * plane->source_stride;
  const ptrdiff_t i = (ptrdiff_t)x * plane->info->channels + channel;

  if (plane->format->bits > 8)
    return (uint64_t)(row[2 * i] | row[2 * i + 1] << 8) >> plane->format->shift;
  return row[i];
}

static void write_code(const Plane *plane, int x, int y, int channel, uint64_t code)
{
  uint8_t *row = plane->destination + y * plane->destination_stride;
  const ptrdiff_t i = (ptrdiff_t)x * plane->info->channels + channel;
  const uint64_t raw = code << plane->format->shift;

  if (plane->format->bits > 8) {
    row[2 * i] = (uint8_t)raw;
    row[2 * i + 1] = (uint8_t)(raw >> 8);
  } else {
    row[i] = (uint8_t)raw;
  }
}

/* `empty` where nothing has any weight. */
static uint64_t rounded_quotient(uint64_t sum, uint64_t weight, uint64_t empty)
{
  return weight ? (2 * sum + weight) / (2 * weight) : empty;
}

static uint64_t average(const Plane *plane, const Block *block, int channel)
{
  const int alpha = cf_alpha_channel(plane->info);
  const CfRole role = plane->info->role[channel];
  const bool chroma = role == CF_ROLE_CHROMA_BLUE || role == CF_ROLE_CHROMA_RED;
  const bool weighted = alpha >= 0 && channel != alpha;
  uint64_t sum = 0, weight = 0;

  for (int y = block->y0; y < block->y1; y++) {
    for (int x = block->x0; x < block->x1; x++) {
      const uint64_t share = weighted ? read_code(plane, x, y, alpha) : 1;
      sum += share * read_code(plane, x, y, channel);
      weight += share;
    }
  }
  return rounded_quotient(sum, weight, chroma ? (uint64_t)cf_chroma_centre(plane->video) : 0);
}

static uint64_t extreme(const Plane *plane, const Block *block, int channel, bool largest)
{
  uint64_t result = read_code(plane, block->x0, block->y0, channel);

  for (int y = block->y0; y < block->y1; y++) {
    for (int x = block->x0; x < block->x1; x++) {
      const uint64_t code = read_code(plane, x, y, channel);
      if (largest ? code > result : code < result)
        result = code;
    }
  }
  return result;
}

static void fill(const Plane *plane, const Block *block, const uint64_t *codes)
{
  for (int y = block->y0; y < block->y1; y++) {
    for (int x = block->x0; x < block->x1; x++) {
      for (int channel = 0; channel < plane->info->channels; channel++)
        write_code(plane, x, y, channel, codes[channel]);
    }
  }
}

static void filter_block(const Plane *plane, const Block *block, int mode)
{
  uint64_t codes[CF_MAX_CHANNELS];

  for (int channel = 0; channel < plane->info->channels; channel++)
    codes[channel] = mode == CF_BLOCKAVG_AVERAGE
                         ? average(plane, block, channel)
                         : extreme(plane, block, channel, mode == CF_BLOCKAVG_MAX);
  fill(plane, block, codes);
}

static void copy_plane(const Plane *plane, int width, int height)
{
  for (int y = 0; y < height; y++) {
    for (int x = 0; x < width; x++) {
      for (int channel = 0; channel < plane->info->channels; channel++)
        write_code(plane, x, y, channel, read_code(plane, x, y, channel));
    }
  }
}

/* The first sample after `start` whose luma pixel is in another block, at most `size`. */
static int block_end(int start, int size, int subsampling, int block_size)
{
  int end = start;

  while (end < size && (end << subsampling) / block_size == (start << subsampling) / block_size)
    end++;
  return end;
}

static bool run(void *user_data, const CfJob *job, CfStatus *status)
{
  const State *state = user_data;
  const CfVideo *video = &state->video;
  const CfBlockavgParams *params = &state->params;
  const CfFormatInfo *format = cf_format_info(video->format);

  (void)status;
  for (int p = 0; p < format->planes; p++) {
    const int width = cf_plane_width(video, p), height = cf_plane_height(video, p);
    const Plane plane = {.video = video,
                         .format = format,
                         .info = &format->plane[p],
                         .source = job->source.data[p],
                         .source_stride = job->source.stride[p],
                         .destination = job->destination.data[p],
                         .destination_stride = job->destination.stride[p]};
    Block block;

    if (params->block_width == 1 && params->block_height == 1) {
      copy_plane(&plane, width, height);
      continue;
    }
    for (block.y0 = 0; block.y0 < height; block.y0 = block.y1) {
      block.y1 = block_end(block.y0, height, plane.info->subsampling_y, params->block_height);
      for (block.x0 = 0; block.x0 < width; block.x0 = block.x1) {
        block.x1 = block_end(block.x0, width, plane.info->subsampling_x, params->block_width);
        filter_block(&plane, &block, params->mode);
      }
    }
  }
  return true;
}

static bool update(void *user_data, const void *params, CfStatus *status)
{
  State *state = user_data;

  (void)status;
  state->params = *(const CfBlockavgParams *)params;
  return true;
}

static void *open_state(const CfVideo *video, const void *params, const CfOpenOptions *options,
                        CfStatus *status)
{
  State *state = malloc(sizeof *state);

  (void)options;
  if (!state) {
    cf_fail(status, CF_ERROR_NO_MEMORY, "blockavg: no memory for its state");
    return NULL;
  }
  state->video = *video;
  update(state, params, status);
  return state;
}

static const char *algorithm(const void *state)
{
  (void)state;
  return "integer";
}

const CfEngine cf_blockavg_reference = {
    .name = "reference",
    .in_place = true,
    .open = open_state,
    .update = update,
    .run = run,
    .algorithm = algorithm,
    .close = free,
};
