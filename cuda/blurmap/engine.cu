/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Blur maps on the host: the levels of a field, the plan of its frames, and what goes where.
 */
#include "cuda/blurmap/isolate.cuh"
#include "cuda/blurmap/state.cuh"

#include <stdlib.h>
#include <string.h>

namespace cf::blurmap
{

namespace
{

/* ---- levels ---- */

bool same_sigmas(const CfMapSigmas *a, const CfMapSigmas *b)
{
  return a->horizontal[0] == b->horizontal[0] && a->horizontal[1] == b->horizontal[1] &&
         a->vertical[0] == b->vertical[0] && a->vertical[1] == b->vertical[1];
}

bool is_ready_for(const CfCudaBlurMap *blur, const CfBlurField *field, const CfRegions *regions)
{
  bool ready = blur->ready && blur->border == field->params.border &&
               blur->isolates == cf_blur_field_isolates(field, regions);

  for (int p = 0; ready && p < blur->planes; p++) {
    const CfMapSigmas sigmas = cf_blur_field_sigmas(field, regions, p);
    ready = same_sigmas(&sigmas, &blur->plane[p].sigmas);
  }
  return ready;
}

void make_levels(PlaneState *plane, const CfMapSigmas &sigmas)
{
  plane->sigmas = sigmas;
  plane->copy = -1;
  cf_blur_levels(&plane->levels, &sigmas);
  memcpy(plane->table.lod, plane->levels.position, sizeof plane->table.lod);
  for (int end = 0; end < 2; end++) {
    plane->table.sigma_x[end] = (float)sigmas.horizontal[end];
    plane->table.sigma_y[end] = (float)sigmas.vertical[end];
  }
  for (int i = 0; i < plane->levels.count; i++) {
    if (plane->levels.level[i].horizontal == 0.0 && plane->levels.level[i].vertical == 0.0)
      plane->copy = i;
  }
}

bool plan_mma(CfCudaBlurMap *blur, CfStatus *status)
{
  const CfBlurLevels *levels[CF_MAX_PLANES];

  for (int p = 0; p < blur->planes; p++)
    levels[p] = &blur->plane[p].levels;
  return mma_plan(blur->mma, blur->border, blur->isolates, levels, status);
}

/* Makes the levels of a field, and the plan of its frames. On the host alone. */
bool prepare(CfCudaBlurMap *blur, const CfBlurField *field, const CfRegions *regions,
             CfStatus *status)
{
  FramePlan plan = {};

  if (is_ready_for(blur, field, regions))
    return true;
  blur->ready = blur->placed = false;
  blur->border = field->params.border;
  blur->isolates = cf_blur_field_isolates(field, regions);
  if (!pyramid::plan_channels(&blur->channels, &blur->video, blur->border, status))
    return false;
  plan.mma = blur->mma;
  for (int p = 0; p < blur->planes; p++) {
    make_levels(&blur->plane[p], cf_blur_field_sigmas(field, regions, p));
    plan.mma = plan.mma && mma_suits(&blur->video, p, &blur->plane[p].levels);
  }
  blur->frame_plan = plan;
  if (!(plan.mma ? plan_mma(blur, status) : fp32_describe_levels(blur, status)))
    return false;
  blur->ready = true;
  return true;
}

/* ---- device memory ---- */

bool reserve_values(CfCudaBlurMap *blur, const CfMap *map, CfStatus *status)
{
  const size_t bytes =
      (size_t)cf_map_width(map) * (size_t)cf_map_height(map) * sizeof *blur->values;

  if (bytes <= blur->values_bytes)
    return true;
  uint16_t *larger = (uint16_t *)cf_device_alloc(bytes, status);
  if (!larger)
    return false;
  cf_device_free(blur->values);
  blur->values = larger;
  blur->values_bytes = bytes;
  return true;
}

/* Regions of which sigma-relative makes as large a sigma as it can: the levels of all others are
 * the first of these, and a last one in their place. */
bool prepare_for_any_regions(CfCudaBlurMap *blur, const CfBlurField *field, CfStatus *status)
{
  const CfRegion vast = {0, 0, 1 << 29, 1 << 29};
  CfRegions regions = {};

  regions.region = &vast;
  regions.count = 1;
  return prepare(blur, field, &regions, status) &&
         (!blur->mma ||
          ((blur->frame_plan.mma || plan_mma(blur, status)) && mma_reserve(blur->mma, 1, status)));
}

/* ---- uploads ---- */

bool upload_tables(CfCudaBlurMap *blur, const CfJob *job, CfStatus *status)
{
  if (blur->placed && blur->first_row == job->first_row && blur->rows == job->rows)
    return true;
  blur->placed = false;
  for (int p = 0; p < blur->planes; p++) {
    PlaneState *plane = &blur->plane[p];
    const size_t levels = blur->frame_plan.mma ? 0 : (size_t)plane->levels.count;
    const size_t bytes = offsetof(LevelTable, level) + levels * sizeof plane->table.level[0];

    if (!upload(&blur->tables[p], &plane->table, bytes, job->stream, status))
      return false;
  }
  blur->placed = true;
  blur->looked_up = false;
  blur->first_row = job->first_row;
  blur->rows = job->rows;
  return true;
}

bool upload_values(CfCudaBlurMap *blur, const CfMap *map, void *stream, CfStatus *status)
{
  const size_t bytes =
      (size_t)cf_map_width(map) * (size_t)cf_map_height(map) * sizeof *blur->values;

  return reserve_values(blur, map, status) &&
         upload(blur->values, cf_map_values(map), bytes, stream, status);
}

/* ---- the job ---- */

void describe_plane(const CfCudaBlurMap *blur, const CfBlurField *field, const CfJob *job, int p,
                    MapPlane *to)
{
  const CfFormatInfo *format = cf_format_info(blur->video.format);
  const CfFirPlane *filter = &blur->channels.plane[p];
  const CfPlaneRows rows = cf_job_plane_rows(&blur->video, p, job);

  to->source = job->source.data[p];
  to->destination = job->destination.data[p];
  to->source_stride = job->source.stride[p];
  to->destination_stride = job->destination.stride[p];
  to->width = cf_plane_width(&blur->video, p);
  to->height = cf_plane_height(&blur->video, p);
  to->first = rows.first;
  to->end = rows.end;
  to->channels = format->plane[p].channels;
  to->shift_x = format->plane[p].subsampling_x;
  to->shift_y = format->plane[p].subsampling_y;
  to->alpha = filter->premultiplied ? cf_alpha_channel(&format->plane[p]) : -1;
  for (int c = 0; c < to->channels; c++) {
    to->centre[c] = pyramid::code_centre(format, c == to->alpha);
    to->blank[c] = (float)filter->channel[c].centre;
    to->border[c] = filter->channel[c].border;
    to->padding |= format->plane[p].role[c] == CF_ROLE_PADDING ? 1u << c : 0;
  }
  to->table = &blur->tables[p];
  to->copy = blur->plane[p].copy;
  for (int i = 0; i < blur->plane[p].levels.count; i++) {
    if (blur->plane[p].table.level[i].kind == kPerSample)
      to->per_sample[i / 32] |= 1u << i % 32;
  }
  to->shape = cf_map_shape(&blur->video, &field->params, p);
  to->tiles_x = fp32_tiles_along(to->width);
}

/* Describes a job but for its regions; the number of tiles. */
int describe_job(const CfCudaBlurMap *blur, const CfBlurField *field, const CfJob *job, MapJob *to)
{
  const CfFormatInfo *format = cf_format_info(blur->video.format);
  int tiles = 0;

  memset(to, 0, sizeof *to);
  to->planes = blur->planes;
  to->border = blur->border;
  to->shift = format->shift;
  to->max_code = cf_max_code(format);
  to->luma_width = blur->video.width;
  to->luma_height = blur->video.height;
  to->values = blur->values;
  to->levels = blur->tile_levels;
  memcpy(to->spline, blur->pyramids.spline, sizeof to->spline);
  static_assert(sizeof to->spline == sizeof blur->pyramids.spline, "the factors of pyramids");
  to->mode = cf_blur_field_is_relative(field, job->regions) ? CF_MAP_NONE : field->params.map_mode;
  for (int p = 0; p < blur->planes; p++) {
    MapPlane *plane = &to->plane[p];

    describe_plane(blur, field, job, p, plane);
    plane->first_tile = tiles;
    tiles += plane->tiles_x * fp32_tiles_along(plane->end - plane->first);
  }
  if (to->mode == CF_MAP_LUMA || to->mode == CF_MAP_ALPHA) {
    to->mixer = cf_map_mixer(&blur->video, &field->params);
    for (int i = 0; i < to->mixer.terms; i++)
      to->of_mixer[i] = to->plane[to->mixer.term[i].plane];
  }
  return tiles;
}

/* Of what tiles load around them. Samples with a Gaussian of their own reach as far along both
 * axes, whatever their levels do. */
void largest_radius(const CfCudaBlurMap *blur, int *x, int *y)
{
  *x = *y = 0;
  for (int p = 0; p < blur->planes; p++) {
    const PlaneState *plane = &blur->plane[p];

    for (int i = 0; i < plane->levels.count; i++) {
      const Fp32Level *level = &plane->table.level[i];
      const int own = level->kind == kPerSample ? kPerSampleRadius : 0;

      if (level->kind == kFromPyramid)
        continue;
      *x = max(max(level->radius_x, own), *x);
      *y = max(max(level->radius_y, own), *y);
    }
  }
}

bool find_shapes(const CfCudaBlurMap *blur, const CfBlurField *field, const CfJob *job,
                 MapJob *work, void **scratch, CfStatus *status)
{
  bool alike;

  *scratch = nullptr;
  if (work->mode != CF_MAP_NONE)
    return true;
  work->relative = (float)field->params.sigma_relative;
  work->largest = (float)cf_blur_field_largest_sigma(field, job->regions, &alike);
  return cf_shape_list_make(&work->list, blur->device, &blur->video, job->regions, job->stream,
                            scratch, status);
}

bool run_mma(CfCudaBlurMap *blur, const MapJob *work, void *stream, CfStatus *status)
{
  const bool same_map = blur->looked_up;

  blur->looked_up = false;
  if (!mma_run(blur->mma, work, same_map, stream, status))
    return false;
  blur->looked_up = blur->frame_plan.still;
  return true;
}

bool classify_tiles(CfCudaBlurMap *blur, const MapJob *work, int tiles, void *stream,
                    CfStatus *status)
{
  if (!blur->looked_up && !fp32_classify(work, blur->wide, tiles, stream, status))
    return false;
  blur->looked_up = blur->frame_plan.still;
  return true;
}

bool run_fp32(CfCudaBlurMap *blur, const PyramidMemory *memory, MapJob *work, int tiles,
              void *stream, CfStatus *status)
{
  const size_t bytes = memory->columns + memory->rows + memory->coarse;
  int radius_x, radius_y;

  if (!classify_tiles(blur, work, tiles, stream, status))
    return false;
  uint8_t *scratch =
      bytes ? (uint8_t *)cf_scratch_take(blur->device, bytes, stream, status) : nullptr;
  if (bytes && !scratch)
    return false;
  work->coarse = (const float *)(scratch + memory->columns + memory->rows);
  largest_radius(blur, &radius_x, &radius_y);
  const bool good = fp32_make_pyramids(blur, memory, scratch, stream, status) &&
                    fp32_blend(work, blur->wide, blur->frame_plan.per_sample, tiles, radius_x,
                               radius_y, stream, status);
  return (!scratch || cf_scratch_give(blur->device, scratch, stream, good ? status : nullptr)) &&
         good;
}

/* ---- map_isolate ---- */

constexpr size_t kRowAlignment = 256;

size_t map_stride(const CfVideo *video, int p)
{
  return round_up((size_t)cf_plane_width(video, p) * sizeof(uint16_t), kRowAlignment);
}

/* Of a plane of 16 bits. */
size_t map_bytes(const CfVideo *video, int p)
{
  return map_stride(video, p) * (size_t)cf_plane_height(video, p);
}

bool reserve_maps(CfCudaBlurMap *blur, CfStatus *status)
{
  size_t bytes = 0;

  for (int p = 0; p < blur->planes; p++)
    bytes += map_bytes(&blur->video, p);
  if (!blur->maps)
    blur->maps = (uint8_t *)cf_device_alloc(bytes, status);
  return blur->maps;
}

/* Reads the maps of an isolating job, but for one that stays and has been read. */
bool read_maps(CfCudaBlurMap *blur, MapJob *work, void *stream, CfStatus *status)
{
  uint8_t *next = blur->maps;

  work->isolates = true;
  for (int p = 0; p < blur->planes; p++) {
    work->plane[p].map = (uint16_t *)next;
    work->plane[p].map_stride = (ptrdiff_t)map_stride(&blur->video, p);
    next += map_bytes(&blur->video, p);
  }
  if (!blur->maps_read && !isolate_read_maps(work, blur->wide, stream, status))
    return false;
  blur->maps_read = blur->frame_plan.still;
  return true;
}

/* Of planes of 16 bits, whose map is made anew for each frame: any mode that stays meanwhile. */
CfBlurField field_of_plane(const CfCudaBlurMap *blur, const CfBlurField *field, int p)
{
  const CfMapSigmas sigmas = cf_blur_field_sigmas(field, nullptr, p);
  CfBlurField own = {};

  own.video = blur->plane16[p]->video;
  own.params.sigma = sigmas.horizontal[1];
  own.params.sigma_vertical = sigmas.vertical[1];
  own.params.border = field->params.border;
  own.params.map_mode = CF_MAP_RADIAL;
  return own;
}

bool run_blur(CfCudaBlurMap *blur, const CfBlurField *field, const MapPlane *by, bool changed,
              const CfJob *job, CfStatus *status);

/* Blurs a plane of 16 bits, `from`, by the map of the plane under way. */
bool blur_plane(const CfCudaBlurMap *blur, const CfBlurField *field, const IsolateJob *work,
                uint16_t *from, uint16_t *to, bool changed, void *stream, CfStatus *status)
{
  const CfBlurField own = field_of_plane(blur, field, work->p);
  const MapPlane *plane = &work->map.plane[work->p];
  CfJob job = {};

  job.source.data[0] = (uint8_t *)from;
  job.destination.data[0] = (uint8_t *)to;
  job.source.stride[0] = job.destination.stride[0] = plane->map_stride;
  job.stream = stream;
  return run_blur(blur->plane16[work->p], &own, plane, changed, &job, status);
}

bool isolate_channel(const CfCudaBlurMap *blur, const CfBlurField *field, IsolateJob *work,
                     int channel, void *stream, CfStatus *status)
{
  const bool alpha = channel == work->map.plane[work->p].alpha;

  work->channel = channel;
  return isolate_multiply(work, blur->wide, stream, status) &&
         blur_plane(blur, field, work, work->product, alpha ? work->alpha_weights : work->blurred,
                    false, stream, status) &&
         isolate_divide(work, blur->wide, stream, status);
}

bool isolate_plane(const CfCudaBlurMap *blur, const CfBlurField *field, IsolateJob *work,
                   void *stream, CfStatus *status)
{
  const MapPlane *plane = &work->map.plane[work->p];

  if (!blur_plane(blur, field, work, plane->map, work->weights, true, stream, status) ||
      (plane->alpha >= 0 && !isolate_channel(blur, field, work, plane->alpha, stream, status)))
    return false;
  for (int c = 0; c < plane->channels; c++) {
    if (c != plane->alpha && !(plane->padding >> c & 1) &&
        !isolate_channel(blur, field, work, c, stream, status))
      return false;
  }
  return true;
}

/* Where tensor cores do not serve. */
bool run_isolated(const CfCudaBlurMap *blur, const CfBlurField *field, const MapJob *map,
                  void *stream, CfStatus *status)
{
  const size_t bytes = map_bytes(&blur->video, 0);
  uint8_t *memory = (uint8_t *)cf_scratch_take(blur->device, 4 * bytes, stream, status);
  IsolateJob work = {};
  bool good = memory;

  work.map = *map;
  work.product = (uint16_t *)memory;
  work.blurred = (uint16_t *)(memory + bytes);
  work.weights = (uint16_t *)(memory + 2 * bytes);
  work.alpha_weights = (uint16_t *)(memory + 3 * bytes);
  for (work.p = 0; good && work.p < blur->planes; work.p++)
    good = isolate_plane(blur, field, &work, stream, status);
  return (!memory || cf_scratch_give(blur->device, memory, stream, good ? status : nullptr)) &&
         good;
}

/* Opens what jobs that isolate need. */
bool prepare_isolated(CfCudaBlurMap *blur, const CfBlurField *field, CfStatus *status)
{
  if (!reserve_maps(blur, status))
    return false;
  for (int p = 0; !blur->frame_plan.mma && p < blur->planes; p++) {
    const CfVideo video = cf_video(CF_FORMAT_GRAY16_LE, cf_plane_width(&blur->video, p),
                                   cf_plane_height(&blur->video, p));

    if (!blur->plane16[p])
      blur->plane16[p] = cf_cuda_blur_map_open(&video, blur->device, status);
    if (!blur->plane16[p])
      return false;
    const CfBlurField own = field_of_plane(blur, field, p);
    if (!cf_cuda_blur_map_update(blur->plane16[p], &own, status))
      return false;
  }
  return true;
}

/* The map is a plane of 16 bits, one value a sample. */
void read_values(MapJob *work, const MapPlane *by)
{
  CfMapShape *shape = &work->plane[0].shape;

  work->mode = CF_MAP_FILE;
  work->values = by->map;
  *shape = {};
  shape->mode = CF_MAP_FILE;
  shape->scale_x = shape->scale_y = 1.0f;
  shape->map_width = (int)(by->map_stride / (ptrdiff_t)sizeof(uint16_t));
  shape->map_height = by->height;
}

/* Blurs a job, `by` the map of a plane where that is given. */
bool run_blur(CfCudaBlurMap *blur, const CfBlurField *field, const MapPlane *by, bool changed,
              const CfJob *job, CfStatus *status)
{
  MapJob work;
  void *shapes;

  if (!prepare(blur, field, job->regions, status) ||
      (blur->isolates && !prepare_isolated(blur, field, status)))
    return false;
  if (changed)
    blur->looked_up = blur->maps_read = false;
  blur->frame_plan.still = cf_blur_field_is_still(field) && !job->regions;
  const bool mma = blur->frame_plan.mma;
  const PyramidMemory memory = mma ? PyramidMemory{} : fp32_place_pyramids(blur, job);
  if (!upload_tables(blur, job, status))
    return false;

  const int tiles = describe_job(blur, field, job, &work);
  if (by)
    read_values(&work, by);
  if (blur->isolates && !read_maps(blur, &work, job->stream, status))
    return false;
  if (blur->isolates && !mma)
    return run_isolated(blur, field, &work, job->stream, status);
  if (!find_shapes(blur, field, job, &work, &shapes, status))
    return false;
  const bool good = mma ? run_mma(blur, &work, job->stream, status)
                        : run_fp32(blur, &memory, &work, tiles, job->stream, status);
  return (!shapes || cf_scratch_give(blur->device, shapes, job->stream, good ? status : nullptr)) &&
         good;
}

size_t fp32_tiles_of(const CfVideo *video)
{
  size_t tiles = 0;

  for (int p = 0; p < cf_format_info(video->format)->planes; p++)
    tiles += (size_t)fp32_tiles_along(cf_plane_width(video, p)) *
             (size_t)fp32_tiles_along(cf_plane_height(video, p));
  return tiles;
}

} // namespace

/* Copies of up to this have left pageable memory when the call returns. */
constexpr size_t kChunkBytes = 64 * 1024;

bool upload(void *to, const void *from, size_t bytes, void *stream, CfStatus *status)
{
  for (size_t at = 0; at < bytes; at += kChunkBytes) {
    const size_t count = bytes - at < kChunkBytes ? bytes - at : kChunkBytes;

    if (!cf_cuda_ok(cudaMemcpyAsync((uint8_t *)to + at, (const uint8_t *)from + at, count,
                                    cudaMemcpyHostToDevice, (cudaStream_t)stream),
                    "copying a blur map to the device", status))
      return false;
  }
  return true;
}

} // namespace cf::blurmap

/* ---- the calls ---- */

using namespace cf::blurmap;

CfCudaBlurMap *cf_cuda_blur_map_open(const CfVideo *video, CfDevice *device, CfStatus *status)
{
  CfCudaBlurMap *blur = (CfCudaBlurMap *)calloc(1, sizeof *blur);

  if (!blur) {
    cf_fail(status, CF_ERROR_NO_MEMORY, "no memory for a blur map of %dx%d", video->width,
            video->height);
    return nullptr;
  }
  blur->video = *video;
  blur->device = device;
  blur->wide = cf_sample_bytes(cf_format_info(video->format)) == 2;
  blur->planes = cf_format_info(video->format)->planes;
  blur->tables = (LevelTable *)cf_device_alloc((size_t)blur->planes * sizeof *blur->tables, status);
  blur->tile_levels =
      blur->tables
          ? (uint4 *)cf_device_alloc(fp32_tiles_of(video) * sizeof *blur->tile_levels, status)
          : nullptr;
  bool good = blur->tile_levels;
  if (good && mma_serves(video, device)) {
    blur->mma = mma_open(video, device, status);
    good = blur->mma;
  }
  if (!good) {
    cf_cuda_blur_map_close(blur);
    return nullptr;
  }
  return blur;
}

bool cf_cuda_blur_map_update(CfCudaBlurMap *blur, const CfBlurField *field, CfStatus *status)
{
  CfGaussblurParams uniform;

  if (field->params.sigma_relative > 0.0 && !prepare_for_any_regions(blur, field, status))
    return false;
  if (!cf_blur_field_varies(field, nullptr, &uniform))
    return true;
  if (field->params.map_mode == CF_MAP_FILE && !reserve_values(blur, field->params.map, status))
    return false;
  return prepare(blur, field, nullptr, status) &&
         (!blur->isolates || prepare_isolated(blur, field, status)) &&
         (!blur->frame_plan.mma || mma_reserve(blur->mma, 0, status));
}

bool cf_cuda_blur_map_run(CfCudaBlurMap *blur, const CfBlurField *field, bool changed,
                          const CfJob *job, CfStatus *status)
{
  if (field->params.map_mode == CF_MAP_FILE && changed &&
      !upload_values(blur, field->params.map, job->stream, status))
    return false;
  return run_blur(blur, field, nullptr, changed, job, status);
}

const char *cf_cuda_blur_map_algorithm(const CfCudaBlurMap *blur)
{
  return blur->frame_plan.mma        ? "levels-mma"
         : blur->frame_plan.pyramids ? "levels-fp32-pyramid"
                                     : "levels-fp32";
}

void cf_cuda_blur_map_close(CfCudaBlurMap *blur)
{
  if (!blur)
    return;
  for (CfCudaBlurMap *plane : blur->plane16)
    cf_cuda_blur_map_close(plane);
  mma_close(blur->mma);
  cf_device_free(blur->tables);
  cf_device_free(blur->tile_levels);
  cf_device_free(blur->values);
  cf_device_free(blur->maps);
  cf_fir_plan_free(&blur->channels);
  free(blur);
}
