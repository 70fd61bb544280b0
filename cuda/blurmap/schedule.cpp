/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Blur maps on the host: weights and mip images for the levels, device memory, and the launches of
 * a frame.
 */
#include "cuda/blurmap/frame_types.cuh"
#include "cuda/common/int_math.cuh"

#include <stdlib.h>
#include <string.h>

namespace cf::blurmap
{

namespace
{

/* The fewest texels of a mip image along an axis for fp16. If there are fewer, the border repeats
 * each of them often, and with it its rounding error. */
constexpr int kLeastTexels = 4;

constexpr int kWarps = kThreads / 32;

constexpr size_t kRowAlignment = 256;

} // namespace

/* Device memory is used in the order of one stream. */
struct Schedule {
  CfVideo video;
  CfDevice *device;
  int planes, border;
  bool isolates;
  bool mma_supported; /* by GPU and format */
  bool mma;           /* and accurate for these levels; else fp32_tiles.cu makes the frame */

  /* For the levels last planned. `weights` are sent to the device once. */
  CfMipPlane mips[CF_MAX_PLANES];
  PlanePlan plane[CF_MAX_PLANES];
  WeightList weights;
  bool weights_sent;
  bool has_carveouts; /* a frame has set those of its kernels */

  /* For the rows last made; if `placed`, also in device memory. */
  bool placed;
  int first[CF_MAX_PLANES], end[CF_MAX_PLANES];
  uint64_t texels;
  int of_depth[CF_MIP_LOGS + 1]; /* index of the first image of each depth (cf_mip_depth) */
  int ctas[CF_MIP_LOGS];         /* grid of the launch for each depth */
  MipDownsample downsample[CF_MAX_PLANES * CF_MIP_IMAGES];

  /* What in device memory is valid while the map stays the same. */
  bool maps_read;     /* MapPlane.map */
  bool records_valid; /* LODs and records, for these rows */
  bool sorted;        /* records are in the order of cost */
  bool inverse_valid; /* FrameJob.inverse, for these records */
  unsigned frame;     /* number of the last frame */

  PlanePlan *device_plane;
  MipDownsample *device_downsample;
  uint4 *device_weights;
  size_t device_weights_bytes;
  size_t lod_bytes;
  uint4 *lods, *levels;
  StripRecord *strips;
  TileRecord *tiles;
  unsigned *order;
  unsigned *transparent;
  uint8_t *maps; /* place_maps(); allocated by the first plan with map_isolate */
};

namespace
{

const CfPlaneFormat *plane_format(const Schedule *state, int p)
{
  return &cf_format_info(state->video.format)->plane[p];
}

int texel_channels(const Schedule *state, int p)
{
  return plane_format(state, p)->channels + (state->isolates && !state->mma ? 1 : 0);
}

/* ---- levels ---- */

bool same_levels(const CfBlurLevels *a, const CfBlurLevels *b)
{
  return a->count == b->count &&
         memcmp(a->level, b->level, (size_t)a->count * sizeof a->level[0]) == 0;
}

bool mma_suits(const Schedule *state, int p, const CfBlurLevels *levels)
{
  const int width = cf_plane_width(&state->video, p), height = cf_plane_height(&state->video, p);
  bool suits = true;

  for (int i = 0; i < levels->count; i++) {
    const int log_x = cf_mip_log(levels->level[i].horizontal);
    const int log_y = cf_mip_log(levels->level[i].vertical);

    suits = suits && (log_x == 0 || width >> log_x >= kLeastTexels) &&
            (log_y == 0 || height >> log_y >= kLeastTexels);
  }
  return suits;
}

bool plan_plane(Schedule *state, int p, const CfBlurLevels *const *levels, CfStatus *status)
{
  PlanePlan *plane = &state->plane[p];
  const CfMipPlane *mips = &state->mips[p];

  cf_mips_choose(&state->mips[p], levels[p]);
  plane->groups = mips->groups;
  if (p > 0 && same_levels(levels[p], levels[p - 1])) {
    memcpy(plane->level, state->plane[p - 1].level, sizeof plane->level);
    return true;
  }
  for (int i = 0; i < levels[p]->count; i++) {
    const CfBlurLevel *level = &levels[p]->level[i];
    LevelWeights *weights = &plane->level[i];

    weights->group = mips->group_of_level[i];
    weights->sigma_x = (float)level->horizontal;
    weights->sigma_y = (float)level->vertical;
    if (state->mma && (!add_weights_down(&state->weights, level->vertical,
                                         cf_mip_log(level->vertical), weights, status) ||
                       !add_weights_across(&state->weights, level->horizontal,
                                           cf_mip_log(level->horizontal), weights, status)))
      return false;
  }
  return true;
}

/* ---- images ---- */

CfMipArea area_of(const Schedule *state, int p, int first, int end)
{
  return {cf_plane_width(&state->video, p),
          cf_plane_height(&state->video, p),
          texel_channels(state, p),
          first,
          end,
          state->border};
}

/* Fails if a job of all rows would have too many texels. */
bool check_whole_picture(Schedule *state, CfStatus *status)
{
  uint64_t texels = 0;

  for (int p = 0; p < state->planes; p++) {
    const CfMipArea whole = area_of(state, p, 0, cf_plane_height(&state->video, p));

    if (!cf_mips_place(&state->mips[p], &whole, &texels, status))
      return false;
  }
  return true;
}

MipImage image_for_kernels(const CfMipImage &image)
{
  return {image.log_x,  image.log_y, image.first_x,      image.first_y,          image.width,
          image.height, image.pitch, (uint32_t)image.at, (uint32_t)image.channel};
}

bool place_images(Schedule *state, int p, CfStatus *status)
{
  CfMipPlane *mips = &state->mips[p];
  const CfMipArea area = area_of(state, p, state->first[p], state->end[p]);

  if (!cf_mips_place(mips, &area, &state->texels, status))
    return false;
  for (int i = 0; i < mips->groups; i++) {
    const int image = mips->image_of_group[i];

    state->plane[p].image[i] = image < 0 ? MipImage{} : image_for_kernels(mips->image[image]);
  }
  return true;
}

/* Appends the images of one depth. Each CTA makes `rows` rows of texels of one channel; each warp,
 * in downsample_frame(), `rows` rows of all channels. */
void list_depth(Schedule *state, int depth, int rows)
{
  const bool by_warps = depth == 1 && state->mma;
  int n = state->of_depth[depth], ctas = 0;

  for (int p = 0; p < state->planes; p++) {
    const CfMipPlane *mips = &state->mips[p];
    const int channels = texel_channels(state, p);

    for (int i = 0; i < mips->images; i++) {
      const CfMipImage *image = &mips->image[i];
      MipDownsample downsample = {};

      if (cf_mip_depth(image) != depth)
        continue;
      downsample.plane = p;
      downsample.first_cta = ctas;
      downsample.across =
          div_up(image->width,
                 by_warps ? frame_texels_of_warp(plane_format(state, p)->channels, image->log_x)
                          : kDownsampleColumns);
      /* All warps of a CTA read the same rows of pixels. */
      if (by_warps && channels > 2)
        downsample.across = round_up(downsample.across, kWarps);
      downsample.rows = rows;
      downsample.to = image_for_kernels(*image);
      if (image->parent >= 0)
        downsample.from = image_for_kernels(mips->image[image->parent]);
      state->downsample[n++] = downsample;
      const int parts = downsample.across * div_up(image->height, rows);
      ctas += by_warps ? div_up(parts, kWarps) : parts * channels;
    }
  }
  state->of_depth[depth + 1] = n;
  state->ctas[depth] = ctas;
}

void list_downsamples(Schedule *state)
{
  const int resident = state->device->info.multiprocessors * kFrameCtasOfSm;

  state->of_depth[1] = 0;
  for (int rows = kLeastFrameRows; rows <= kMostFrameRows; rows++) {
    list_depth(state, 1, rows);
    if (state->ctas[1] <= resident)
      break;
  }
  for (int depth = 2; depth < CF_MIP_LOGS; depth++)
    list_depth(state, depth, kDownsampleRows);
}

/* ---- device memory ---- */

size_t row_bytes(const Schedule *state, int p, size_t pixel)
{
  return round_up((size_t)cf_plane_width(&state->video, p) * pixel, kRowAlignment);
}

/* Sets the pointers of `map` (unless NULL) into state->maps: after a white row, which
 * make_inverse() uses as source of all planes, the map of each plane. Returns the offset behind
 * these, where FrameJob.inverse is. */
size_t place_maps(const Schedule *state, MapJob *map)
{
  size_t bytes = row_bytes(state, 0, CF_MAX_CHANNELS);

  for (int p = 0; p < state->planes; p++) {
    const size_t stride = row_bytes(state, p, sizeof(__half));

    if (map) {
      map->plane[p].map = (__half *)(state->maps + bytes);
      map->plane[p].map_stride = (ptrdiff_t)stride;
    }
    bytes += stride * (size_t)cf_plane_height(&state->video, p);
  }
  return bytes;
}

bool send_weights(Schedule *state, void *stream, CfStatus *status)
{
  if (state->weights_sent)
    return true;
  const size_t bytes = state->weights.count * sizeof *state->weights.data;

  state->weights_sent =
      grow((void **)&state->device_weights, &state->device_weights_bytes, bytes, status) &&
      cf_upload(state->device_weights, state->weights.data, bytes, stream, status);
  return state->weights_sent;
}

bool send_plan(Schedule *state, void *stream, CfStatus *status)
{
  if (state->isolates &&
      !cf_device_fill(state->maps, 0xff, row_bytes(state, 0, CF_MAX_CHANNELS), stream, status))
    return false;
  for (int p = 0; p < state->planes; p++) {
    if (!cf_upload(&state->device_plane[p], &state->plane[p], sizeof(PlanePlan), stream, status))
      return false;
  }
  state->frame = 0;
  return cf_upload(state->transparent, &state->frame, sizeof state->frame, stream, status) &&
         send_weights(state, stream, status) &&
         cf_upload(state->device_downsample, state->downsample,
                   (size_t)state->of_depth[CF_MIP_LOGS] * sizeof state->downsample[0], stream,
                   status);
}

/* Places mip images for the rows of a job, and sends the plan to the device, unless that is done.
 */
bool place(Schedule *state, const MapJob *map, void *stream, CfStatus *status)
{
  bool placed = state->placed;

  for (int p = 0; p < state->planes; p++) {
    placed = placed && state->first[p] == map->plane[p].first && state->end[p] == map->plane[p].end;
    state->first[p] = map->plane[p].first;
    state->end[p] = map->plane[p].end;
  }
  if (placed)
    return true;
  state->placed = state->records_valid = false;
  state->texels = 0;
  for (int p = 0; p < state->planes; p++) {
    if (!place_images(state, p, status))
      return false;
  }
  list_downsamples(state);
  state->placed = send_plan(state, stream, status);
  return state->placed;
}

int tiles_of_plane(int width, int first, int end)
{
  return div_up(width, kTileColumns) * div_up(end - first / kStripRows * kStripRows, kTileRows);
}

template <typename T> bool allocate(T **to, size_t count, CfStatus *status)
{
  *to = (T *)cf_device_alloc(count * sizeof **to, status);
  return *to;
}

/* For the whole picture: no job has more tiles. */
bool allocate_records(Schedule *state, CfStatus *status)
{
  size_t tiles = 0;

  for (int p = 0; p < state->planes; p++)
    tiles += (size_t)tiles_of_plane(cf_plane_width(&state->video, p), 0,
                                    cf_plane_height(&state->video, p));
  const size_t strips = tiles * kWarps;
  const size_t lods = strips * 2 * 32;
  state->lod_bytes = lods * sizeof *state->lods;
  return allocate(&state->lods, lods, status) && allocate(&state->levels, strips, status) &&
         allocate(&state->strips, strips, status) && allocate(&state->tiles, tiles, status) &&
         allocate(&state->order, tiles, status);
}

/* ---- launches ---- */

void describe_tiles(const Schedule *state, FrameJob *job)
{
  job->tile_count = 0;
  for (int p = 0; p < state->planes; p++) {
    MapPlane *plane = &job->map.plane[p];

    plane->vector = cf_is_vector_aligned(plane->source, plane->source_stride) &&
                    cf_is_vector_aligned(plane->destination, plane->destination_stride);
    plane->tiles_x = div_up(plane->width, kTileColumns);
    plane->first_tile = job->tile_count;
    job->tile_count += tiles_of_plane(plane->width, plane->first, plane->end);
  }
}

int shared_percent(const Schedule *state)
{
  return smaller(div_up(100 * tile_shared_bytes_of_sm(), state->device->info.shared_per_sm), 100);
}

void describe_job(Schedule *state, const MapJob *map, FrameJob *job)
{
  memset(job, 0, sizeof *job);
  job->map = *map;
  describe_tiles(state, job);
  job->map.isolates = state->isolates;
  if (state->isolates)
    job->inverse = (uint4 *)(state->maps + place_maps(state, &job->map));
  job->plane = state->device_plane;
  job->weights = state->device_weights;
  job->lods = state->lods;
  job->levels = state->levels;
  job->strips = state->strips;
  job->tiles = state->tiles;
  job->shared_percent = state->has_carveouts ? -1 : shared_percent(state);
  job->transparent = state->transparent;
  job->frame = ++state->frame;
  job->always_transparent = state->of_depth[1] == state->of_depth[2];
}

/* Makes LODs and records, unless they are valid. For a map that stays the same they are made twice:
 * in its first frame, and in its second in the order of cost. */
bool make_records(Schedule *state, FrameJob job, bool same_map, void *stream, CfStatus *status)
{
  const bool stays = same_map && state->records_valid;

  if (stays && state->sorted)
    return true;
  state->records_valid = state->inverse_valid = false;
  if (stays && !sort_tiles(&job, state->order, stream, status))
    return false;
  job.order = stays ? state->order : nullptr;
  state->sorted = stays;
  state->records_valid = look_up_sigma(&job, state->device->info.multiprocessors, stream, status);
  return state->records_valid;
}

/* With map_isolate, makes MapPlane.map; once for a map that stays the same. */
bool make_maps(Schedule *state, const FrameJob *job, bool same_map, void *stream, CfStatus *status)
{
  if (!state->isolates || (same_map && state->maps_read))
    return true;
  state->maps_read = read_maps(job, stream, status);
  return state->maps_read;
}

bool make_mips(Schedule *state, FrameJob *job, void *stream, CfStatus *status)
{
  for (int depth = 1; depth < CF_MIP_LOGS; depth++) {
    const int first = state->of_depth[depth];

    job->downsample = state->device_downsample + first;
    job->downsamples = state->of_depth[depth + 1] - first;
    if (job->downsamples == 0)
      break;
    for (int i = 0; i < job->downsamples && i < kInlineDownsamples; i++)
      job->inline_downsample[i] = state->downsample[first + i];
    if (!(!state->mma ? downsample_fp32
          : depth > 1 ? downsample_mips
                      : downsample_frame)(job, state->ctas[depth], stream, status))
      return false;
    job->overlaps = state->mma && state->device->code >= 90;
  }
  return true;
}

/* With map_isolate, makes FrameJob.inverse, unless it is valid: blurs a white picture times the
 * map. */
bool make_inverse(Schedule *state, const FrameJob *job, void *stream, CfStatus *status)
{
  FrameJob white = *job;

  if (!state->isolates || !state->mma || state->inverse_valid)
    return true;
  for (int p = 0; p < state->planes; p++) {
    white.map.plane[p].source = state->maps;
    white.map.plane[p].source_stride = 0;
    white.map.plane[p].alpha = -1;
    white.map.plane[p].padding = ~1u; /* one channel is enough */
  }
  state->inverse_valid =
      make_mips(state, &white, stream, status) && blend_map(&white, stream, status);
  return state->inverse_valid;
}

} // namespace

/* ---- the calls ---- */

Schedule *schedule_open(const CfVideo *video, CfDevice *device, CfStatus *status)
{
  Schedule *state = (Schedule *)cf_zeroed(sizeof *state, status);

  if (!state)
    return nullptr;
  state->video = *video;
  state->device = device;
  state->planes = cf_format_info(video->format)->planes;
  state->mma_supported = cf_sample_bytes(cf_format_info(video->format)) == 1 && device->code >= 80;
  if (!allocate(&state->device_plane, (size_t)state->planes, status) ||
      !allocate(&state->device_downsample, sizeof state->downsample / sizeof state->downsample[0],
                status) ||
      !allocate(&state->transparent, 1, status) ||
      (state->mma_supported && !allocate_records(state, status))) {
    schedule_close(state);
    return nullptr;
  }
  return state;
}

bool schedule_plan(Schedule *state, int border, bool isolates, const CfBlurLevels *const *levels,
                   CfStatus *status)
{
  state->placed = state->weights_sent = state->has_carveouts = false;
  state->border = border;
  state->isolates = isolates;
  state->mma = state->mma_supported;
  state->weights.count = 0;
  for (int p = 0; p < state->planes; p++)
    state->mma = state->mma && mma_suits(state, p, levels[p]);
  for (int p = 0; p < state->planes; p++) {
    if (!plan_plane(state, p, levels, status))
      return false;
  }
  if (isolates && !state->maps)
    state->maps = (uint8_t *)cf_device_alloc(place_maps(state, nullptr) + state->lod_bytes, status);
  return (!isolates || state->maps) && check_whole_picture(state, status);
}

bool schedule_uses_mma(const Schedule *state)
{
  return state->mma;
}

bool schedule_run(Schedule *state, const MapJob *map, bool same_map, void *stream, CfStatus *status)
{
  FrameJob job;

  if (!place(state, map, stream, status))
    return false;
  describe_job(state, map, &job);
  const size_t bytes = state->texels * (state->mma ? sizeof(__half) : sizeof(float));
  return cf_with_scratch(state->device, bytes, stream, status, [&](uint8_t *texels) {
    job.texels = (__half *)texels;
    state->has_carveouts = make_maps(state, &job, same_map, stream, status) &&
                           (!state->mma || make_records(state, job, same_map, stream, status)) &&
                           make_inverse(state, &job, stream, status) &&
                           make_mips(state, &job, stream, status) &&
                           (state->mma ? blend_tiles : blend_fp32)(&job, stream, status);
    return state->has_carveouts;
  });
}

void schedule_close(Schedule *state)
{
  if (!state)
    return;
  cf_device_free(state->device_plane);
  cf_device_free(state->device_downsample);
  cf_device_free(state->device_weights);
  cf_device_free(state->lods);
  cf_device_free(state->levels);
  cf_device_free(state->strips);
  cf_device_free(state->tiles);
  cf_device_free(state->order);
  cf_device_free(state->transparent);
  cf_device_free(state->maps);
  free(state->weights.data);
  free(state);
}

} // namespace cf::blurmap
