/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Plans and memory of blur maps: which levels are filtered in tiles, and the pyramids of the
 * others.
 */
#include "blurmap.cuh"
#include "blurmap_cells.cuh"
#include "blurmap_tile.cuh"
#include "pyramid.cuh"

extern "C" {
#include "gaussian.h"
}

#include <stdlib.h>
#include <string.h>

/* Sigma in D down to which blends of levels stay accurate. */
#define SMALLEST_RATIO 1.5

/* Coarse samples that a block of `rows` makes. */
#define SMALLEST_SEGMENT 128

typedef struct {
  CfBlurLevels levels;
  CfMapSigmas sigmas;                     /* that they are of */
  CfMapTable table;                       /* of the host, but for the places of coarse samples */
  int copy;                               /* the level that is no blur, or -1 */
  CfPyramidPlane pyramid[CF_BLUR_LEVELS]; /* of the large ones */
} Plane;

struct CfCudaBlurMap {
  CfVideo video;
  CfDevice *device;
  bool wide;
  bool ready;  /* the planes, for `border` */
  bool placed; /* the tables on the device, for this band */
  int first_row, rows;
  int planes, border;
  CfFirPlan plan;
  CfCells *cells;     /* on tensor cores, or NULL */
  bool in_cells;      /* these levels are made there */
  CfPyramidJob job;   /* but for its planes */
  CfMapTable *tables; /* of the device */
  uint4 *tiles;       /* of the device: the levels of each tile */
  bool classified;    /* they hold for the next picture too */
  uint16_t *values;   /* of the device: the file's */
  size_t values_bytes;
  Plane plane[CF_MAX_PLANES];
};

namespace
{

/* ---- levels ---- */

CfPyramidFactors choose_factors(double sigma)
{
  CfPyramidFactors factors = {1, 1, 0.72, 4.1};

  while (factors.decimation < kPyramidFactor && sigma >= 2 * factors.decimation * SMALLEST_RATIO)
    factors.decimation *= 2;
  return factors;
}

int round_to_four(int value)
{
  return (value + 3) / 4 * 4;
}

int lay_out_gaussian(double sigma, float tap[kMapTaps])
{
  double exact[2 * kMapRadius + 1];
  const int radius = cf_gaussian_radius(sigma), rounded = round_to_four(radius);

  cf_gaussian_taps(sigma, radius, exact);
  for (int i = 0; i <= 2 * radius; i++)
    tap[rounded - radius + i] = (float)exact[i];
  return rounded;
}

CfMapKind kind_of(const double sigma[2], const CfPyramidFactors factors[2])
{
  if (factors[0].decimation > 1 || factors[1].decimation > 1)
    return CF_MAP_LARGE;
  return cf_gaussian_radius(sigma[0]) <= kMapDirectRadius &&
                 cf_gaussian_radius(sigma[1]) <= kMapDirectRadius
             ? CF_MAP_DIRECT
             : CF_MAP_SMALL;
}

bool describe_level(CfCudaBlurMap *blur, int p, int i, CfStatus *status)
{
  Plane *plane = &blur->plane[p];
  CfMapLevel *level = &plane->table.level[i];
  const double sigma[2] = {plane->levels.level[i].horizontal, plane->levels.level[i].vertical};
  const CfPyramidFactors factors[2] = {choose_factors(sigma[0]), choose_factors(sigma[1])};

  memset(level, 0, sizeof *level);
  level->sigma_x = (float)sigma[0];
  level->sigma_y = (float)sigma[1];
  level->kind = kind_of(sigma, factors);
  if (level->kind != CF_MAP_LARGE) {
    level->radius_x = lay_out_gaussian(sigma[0], level->tap_x);
    level->radius_y = lay_out_gaussian(sigma[1], level->tap_y);
    return true;
  }
  blur->job.planes = 0;
  if (!cf_pyramid_describe(&blur->job, &blur->video, p, &blur->plan, sigma, factors, status))
    return false;
  plane->pyramid[i] = blur->job.plane[0];
  level->log_x = cf_log2(factors[0].decimation);
  level->log_y = cf_log2(factors[1].decimation);
  return true;
}

bool describe_levels(CfCudaBlurMap *blur, CfStatus *status)
{
  for (int p = 0; p < blur->planes; p++) {
    const int levels = blur->plane[p].levels.count;

    if (levels > kMapDirectBit)
      return cf_fail(status, CF_ERROR_INVALID, "a blur map of %d levels is too much", levels);
    for (int i = 0; i < levels; i++) {
      if (!describe_level(blur, p, i, status))
        return false;
    }
  }
  return true;
}

bool plan_cells(CfCudaBlurMap *blur, CfStatus *status)
{
  const CfBlurLevels *levels[CF_MAX_PLANES];

  for (int p = 0; p < blur->planes; p++)
    levels[p] = &blur->plane[p].levels;
  return cf_cells_plan(blur->cells, blur->border, levels, status);
}

bool same_sigmas(const CfMapSigmas *a, const CfMapSigmas *b)
{
  return a->horizontal[0] == b->horizontal[0] && a->horizontal[1] == b->horizontal[1] &&
         a->vertical[0] == b->vertical[0] && a->vertical[1] == b->vertical[1];
}

bool is_ready_for(const CfCudaBlurMap *blur, const CfBlurField *field, const CfRegions *regions)
{
  bool ready = blur->ready && blur->border == field->params.border;

  for (int p = 0; ready && p < blur->planes; p++) {
    const CfMapSigmas sigmas = cf_blur_field_sigmas(field, regions, p);
    ready = same_sigmas(&sigmas, &blur->plane[p].sigmas);
  }
  return ready;
}

bool prepare(CfCudaBlurMap *blur, const CfBlurField *field, const CfRegions *regions,
             CfStatus *status)
{
  if (is_ready_for(blur, field, regions))
    return true;
  blur->ready = blur->placed = false;
  blur->border = field->params.border;
  if (!cf_pyramid_channels(&blur->plan, &blur->video, blur->border, status))
    return false;
  blur->in_cells = blur->cells;
  for (int p = 0; p < blur->planes; p++) {
    Plane *plane = &blur->plane[p];

    plane->sigmas = cf_blur_field_sigmas(field, regions, p);
    plane->copy = -1;
    cf_blur_levels(&plane->levels, &plane->sigmas);
    blur->in_cells = blur->in_cells && cf_cells_suit(&blur->video, p, &plane->levels);
    memcpy(plane->table.position, plane->levels.position, sizeof plane->table.position);
    for (int end = 0; end < 2; end++) {
      plane->table.sigma_x[end] = (float)plane->sigmas.horizontal[end];
      plane->table.sigma_y[end] = (float)plane->sigmas.vertical[end];
    }
    for (int i = 0; i < plane->levels.count; i++) {
      if (plane->levels.level[i].horizontal == 0.0 && plane->levels.level[i].vertical == 0.0)
        plane->copy = i;
    }
  }
  if (!(blur->in_cells ? plan_cells(blur, status) : describe_levels(blur, status)))
    return false;
  blur->ready = true;
  return true;
}

/* ---- uploads ---- */

bool upload_tables(CfCudaBlurMap *blur, const CfJob *job, CfStatus *status)
{
  if (blur->placed && blur->first_row == job->first_row && blur->rows == job->rows)
    return true;
  blur->placed = false;
  for (int p = 0; p < blur->planes; p++) {
    const Plane *plane = &blur->plane[p];
    const size_t levels = blur->in_cells ? 0 : (size_t)plane->levels.count;
    const size_t bytes = offsetof(CfMapTable, level) + levels * sizeof plane->table.level[0];

    if (!cf_map_upload(&blur->tables[p], &plane->table, bytes, job->stream, status))
      return false;
  }
  blur->placed = true;
  blur->classified = false;
  blur->first_row = job->first_row;
  blur->rows = job->rows;
  return true;
}

bool upload_values(CfCudaBlurMap *blur, const CfMap *map, void *stream, CfStatus *status)
{
  const size_t bytes =
      (size_t)cf_map_width(map) * (size_t)cf_map_height(map) * sizeof *blur->values;

  if (bytes > blur->values_bytes) {
    cf_device_free(blur->values);
    blur->values_bytes = 0;
    blur->values = (uint16_t *)cf_device_alloc(bytes, status);
    if (!blur->values)
      return false;
    blur->values_bytes = bytes;
  }
  return cf_map_upload(blur->values, cf_map_values(map), bytes, stream, status);
}

/* ---- bands ---- */

struct Rows {
  int first, end;
};

Rows plane_rows(const CfCudaBlurMap *blur, const CfJob *job, int p)
{
  const int shift = cf_format_info(blur->video.format)->plane[p].subsampling_y;
  const int height = cf_plane_height(&blur->video, p);
  const int end = (job->first_row + job->rows + (1 << shift) - 1) >> shift;

  return job->rows == 0 ? Rows{0, height}
                        : Rows{job->first_row >> shift, end < height ? end : height};
}

/* ---- the pyramids of large levels ---- */

/* Levels whose columns are decimated alike follow each other. */
struct Group {
  int first, end;
  int fine_first, fine_end; /* rows for all of them */
};

bool next_group(const Plane *plane, int from, Group *group)
{
  int i = from;

  while (i < plane->levels.count && plane->table.level[i].kind != CF_MAP_LARGE)
    i++;
  if (i == plane->levels.count)
    return false;
  *group = {i, i, plane->pyramid[i].fine_first, plane->pyramid[i].fine_end};
  while (i < plane->levels.count && plane->table.level[i].kind == CF_MAP_LARGE &&
         plane->pyramid[i].y.factor == plane->pyramid[group->first].y.factor) {
    const CfPyramidPlane *pyramid = &plane->pyramid[i++];

    if (pyramid->fine_first < group->fine_first)
      group->fine_first = pyramid->fine_first;
    if (pyramid->fine_end > group->fine_end)
      group->fine_end = pyramid->fine_end;
  }
  group->end = i;
  return true;
}

int larger(int a, int b)
{
  return a > b ? a : b;
}

/* All levels of a group as one, as far as their columns go. */
CfPyramidPlane whole_group(const Plane *plane, const Group *group)
{
  CfPyramidPlane whole = plane->pyramid[group->first];

  for (int i = group->first; i < group->end; i++) {
    const CfPyramidPlane *level = &plane->pyramid[i];

    whole.x.factor = larger(whole.x.factor, level->x.factor);
    whole.x.low_count = larger(whole.x.low_count, level->x.low_count);
    whole.y.low_count = larger(whole.y.low_count, level->y.low_count);
    whole.need_bits.x |= level->need_bits.x;
    whole.need_bits.y |= level->need_bits.y;
    whole.need_bits.z |= level->need_bits.z;
    whole.need_bits.w |= level->need_bits.w;
  }

  whole.fine_first = group->fine_first;
  whole.fine_end = group->fine_end;
  whole.columns_rows = group->fine_end - group->fine_first;
  return whole;
}

/* Memory: what one group needs at a time, then the coarse samples of all levels of all planes. */
struct Memory {
  size_t columns, rows; /* bytes of the largest group, and of the largest chunk of its levels */
  size_t coarse;
};

int chunk_end(const Group *group, int first)
{
  return first + CF_MAX_PLANES < group->end ? first + CF_MAX_PLANES : group->end;
}

void count_group(const CfCudaBlurMap *blur, Plane *plane, const Group *group, Memory *memory)
{
  const CfPyramidPlane whole = whole_group(plane, group);
  const size_t columns = cf_pyramid_columns_bytes(&whole, blur->wide);

  if (columns > memory->columns)
    memory->columns = columns;
  for (int first = group->first; first < group->end; first = chunk_end(group, first)) {
    size_t rows = 0;

    for (int i = first; i < chunk_end(group, first); i++) {
      plane->table.level[i].coarse = memory->coarse / sizeof(float);
      memory->coarse += cf_pyramid_coarse_bytes(&plane->pyramid[i]);
      rows += cf_pyramid_rows_bytes(&plane->pyramid[i]);
    }
    if (rows > memory->rows)
      memory->rows = rows;
  }
}

void place_level(CfMapLevel *level, const CfPyramidPlane *pyramid)
{
  level->first_x = pyramid->x.coarse_first;
  level->first_y = pyramid->coarse_first;
  level->width = pyramid->x.coarse_end - pyramid->x.coarse_first;
  level->height = pyramid->coarse_end - pyramid->coarse_first;
}

int tiles_along(int samples)
{
  return (samples + kMapTile - 1) / kMapTile;
}

/* With the border wrap, samples have their share in tiles at the other side too. */
void place_need(const CfCudaBlurMap *blur, CfPyramidPlane *pyramid, int level, int first_tile)
{
  const unsigned bit = 1u << level % 32;

  pyramid->need = blur->border == CF_BORDER_WRAP ? nullptr : blur->tiles + first_tile;
  pyramid->need_x = tiles_along(pyramid->width);
  pyramid->need_y = tiles_along(pyramid->end - pyramid->first);
  pyramid->need_bits = {level / 32 == 0 ? bit : 0, level / 32 == 1 ? bit : 0,
                        level / 32 == 2 ? bit : 0, level / 32 == 3 ? bit : 0};
}

Memory place_pyramids(CfCudaBlurMap *blur, const CfJob *job)
{
  Memory memory = {};
  int tiles = 0;

  for (int p = 0; p < blur->planes; p++) {
    Plane *plane = &blur->plane[p];
    const Rows rows = plane_rows(blur, job, p);
    Group group;

    for (int i = 0; i < plane->levels.count; i++) {
      if (plane->table.level[i].kind != CF_MAP_LARGE)
        continue;
      cf_pyramid_place_rows(&plane->pyramid[i], rows.first, rows.end, false);
      cf_pyramid_place_picture(&plane->pyramid[i], p, job, blur->wide);
      place_need(blur, &plane->pyramid[i], i, tiles);
      place_level(&plane->table.level[i], &plane->pyramid[i]);
    }
    for (int next = 0; next_group(plane, next, &group); next = group.end)
      count_group(blur, plane, &group, &memory);
    tiles += tiles_along(cf_plane_width(&blur->video, p)) * tiles_along(rows.end - rows.first);
  }
  return memory;
}

bool make_columns(CfCudaBlurMap *blur, const Plane *plane, const Group *group, void *columns,
                  void *stream, CfStatus *status)
{
  CfPyramidJob *job = &blur->job;

  job->planes = 1;
  job->plane[0] = whole_group(plane, group);
  job->plane[0].columns = columns;
  const CfPyramidGrids grids = cf_pyramid_place_blocks(job, blur->wide, blur->device);
  return cf_pyramid_columns(job, blur->wide, grids.columns, stream, status);
}

int within(int value, int low, int high)
{
  return value < low ? low : value > high ? high : value;
}

/* Parts small enough to leave some out, and not many more of them than keep the device busy. */
void divide_work(CfPyramidPlane *pyramid, const CfDevice *device)
{
  const int enough = 16 * device->info.multiprocessors;
  const int columns = pyramid->x.coarse_end - pyramid->x.coarse_first;
  const int fine = pyramid->fine_end - pyramid->fine_first;
  const int segment = round_to_four(larger(SMALLEST_SEGMENT, pyramid->x.low_count));
  const int eights = (pyramid->coarse_end - pyramid->coarse_first) / kPyramidLowRows;

  if (segment < pyramid->segment)
    pyramid->segment = segment;
  pyramid->rows_at_once =
      within(columns / pyramid->segment * fine * pyramid->channels / enough, 1, 16);
  pyramid->low_at_once =
      within(columns / kPyramidLowColumns * eights * pyramid->channels / enough, 1, 8);
}

bool make_chunk(CfCudaBlurMap *blur, const Plane *plane, const Group *group, int first, int end,
                void *columns, uint8_t *rows, float *coarse, void *stream, CfStatus *status)
{
  CfPyramidJob *job = &blur->job;
  const size_t sample = blur->wide ? sizeof(float) : sizeof(uint16_t);

  job->planes = end - first;
  for (int i = first; i < end; i++) {
    CfPyramidPlane *pyramid = &job->plane[i - first];

    *pyramid = plane->pyramid[i];
    pyramid->columns = (uint8_t *)columns + (size_t)(pyramid->fine_first - group->fine_first) *
                                                (size_t)pyramid->columns_pitch * sample;
    pyramid->columns_rows = group->fine_end - group->fine_first;
    pyramid->rows = (float *)rows;
    rows += cf_pyramid_rows_bytes(pyramid);
    pyramid->coarse = coarse + plane->table.level[i].coarse;
    divide_work(pyramid, blur->device);
  }
  const CfPyramidGrids grids = cf_pyramid_place_blocks(job, blur->wide, blur->device);
  return cf_pyramid_rows(job, blur->wide, grids.rows, grids.rows_bytes, stream, status) &&
         cf_pyramid_low(job, grids.low, stream, status);
}

bool make_pyramids(CfCudaBlurMap *blur, const Memory *memory, uint8_t *scratch, void *stream,
                   CfStatus *status)
{
  uint8_t *columns = scratch, *rows = scratch + memory->columns;
  float *coarse = (float *)(rows + memory->rows);

  for (int p = 0; p < blur->planes; p++) {
    const Plane *plane = &blur->plane[p];
    Group group;

    for (int next = 0; next_group(plane, next, &group); next = group.end) {
      if (!make_columns(blur, plane, &group, columns, stream, status))
        return false;
      for (int first = group.first; first < group.end; first = chunk_end(&group, first)) {
        if (!make_chunk(blur, plane, &group, first, chunk_end(&group, first), columns, rows, coarse,
                        stream, status))
          return false;
      }
    }
  }
  return true;
}

/* ---- the tiles ---- */

void describe_plane(const CfCudaBlurMap *blur, const CfBlurField *field, const CfJob *job, int p,
                    CfMapPlane *to)
{
  const CfFormatInfo *format = cf_format_info(blur->video.format);
  const CfFirPlane *filter = &blur->plan.plane[p];
  const Rows rows = plane_rows(blur, job, p);

  to->source = job->source.data[p];
  to->destination = job->destination.data[p];
  to->source_stride = job->source.stride[p];
  to->destination_stride = job->destination.stride[p];
  to->vector = ((uintptr_t)to->destination | (uintptr_t)to->destination_stride) % 4 == 0;
  to->width = cf_plane_width(&blur->video, p);
  to->height = cf_plane_height(&blur->video, p);
  to->first = rows.first;
  to->end = rows.end;
  to->channels = format->plane[p].channels;
  to->shift_x = format->plane[p].subsampling_x;
  to->shift_y = format->plane[p].subsampling_y;
  to->alpha = filter->premultiplied ? cf_alpha_channel(&format->plane[p]) : -1;
  for (int c = 0; c < to->channels; c++) {
    to->centre[c] = cf_pyramid_centre(format, c == to->alpha);
    to->blank[c] = (float)filter->channel[c].centre;
    to->border[c] = filter->channel[c].border;
  }
  to->table = &blur->tables[p];
  to->copy = blur->plane[p].copy;
  for (int i = 0; i < blur->plane[p].levels.count; i++) {
    if (blur->plane[p].table.level[i].kind == CF_MAP_DIRECT)
      to->direct[i / 32] |= 1u << i % 32;
  }
  to->shape = cf_map_shape(&blur->video, &field->params, p);
  to->tiles_x = tiles_along(to->width);
}

/* Describes a job but for its regions; the number of tiles. */
int describe_job(const CfCudaBlurMap *blur, const CfBlurField *field, const CfJob *job,
                 CfMapJob *to)
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
  to->levels = blur->tiles;
  memcpy(to->spline, blur->job.spline, sizeof to->spline);
  to->mode = cf_blur_field_is_relative(field, job->regions) ? CF_MAP_NONE : field->params.map_mode;
  for (int p = 0; p < blur->planes; p++) {
    CfMapPlane *plane = &to->plane[p];

    describe_plane(blur, field, job, p, plane);
    plane->first_tile = tiles;
    tiles += plane->tiles_x * tiles_along(plane->end - plane->first);
  }
  if (to->mode == CF_MAP_LUMA || to->mode == CF_MAP_ALPHA) {
    to->mixer = cf_map_mixer(&blur->video, &field->params);
    for (int i = 0; i < to->mixer.terms; i++)
      to->of_mixer[i] = to->plane[to->mixer.term[i].plane];
  }
  return tiles;
}

void largest_radius(const CfCudaBlurMap *blur, int *x, int *y)
{
  *x = *y = 0;
  for (int p = 0; p < blur->planes; p++) {
    const Plane *plane = &blur->plane[p];

    for (int i = 0; i < plane->levels.count; i++) {
      const CfMapLevel *level = &plane->table.level[i];

      if (level->kind == CF_MAP_LARGE)
        continue;
      *x = level->radius_x > *x ? level->radius_x : *x;
      *y = level->radius_y > *y ? level->radius_y : *y;
    }
  }
}

bool find_shapes(const CfCudaBlurMap *blur, const CfBlurField *field, const CfJob *job,
                 CfMapJob *work, void **scratch, CfStatus *status)
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

bool classify_tiles(CfCudaBlurMap *blur, const CfBlurField *field, const CfJob *job,
                    const CfMapJob *work, int tiles, CfStatus *status)
{
  if (blur->classified)
    return true;
  blur->classified = cf_blur_field_is_still(field) && !job->regions;
  return cf_map_classify(work, blur->wide, tiles, job->stream, status);
}

/* With the memory of pyramids. */
bool make_tiles(CfCudaBlurMap *blur, const Memory *memory, CfMapJob *work, int tiles, void *stream,
                CfStatus *status)
{
  const size_t bytes = memory->columns + memory->rows + memory->coarse;
  int radius_x, radius_y;

  uint8_t *scratch =
      bytes ? (uint8_t *)cf_scratch_take(blur->device, bytes, stream, status) : nullptr;
  if (bytes && !scratch)
    return false;
  work->coarse = (const float *)(scratch + memory->columns + memory->rows);
  largest_radius(blur, &radius_x, &radius_y);
  const bool good = make_pyramids(blur, memory, scratch, stream, status) &&
                    cf_map_filter(work, blur->wide, tiles, radius_x, radius_y, stream, status);
  return (!scratch || cf_scratch_give(blur->device, scratch, stream, good ? status : nullptr)) &&
         good;
}

size_t all_tiles(const CfVideo *video)
{
  size_t tiles = 0;

  for (int p = 0; p < cf_format_info(video->format)->planes; p++)
    tiles += (size_t)tiles_along(cf_plane_width(video, p)) *
             (size_t)tiles_along(cf_plane_height(video, p));
  return tiles;
}

} // namespace

/* ---- the calls ---- */

/* Copies of up to this have left pageable memory when the call returns. */
#define CHUNK_BYTES (64 * 1024)

bool cf_map_upload(void *to, const void *from, size_t bytes, void *stream, CfStatus *status)
{
  for (size_t at = 0; at < bytes; at += CHUNK_BYTES) {
    const size_t count = bytes - at < CHUNK_BYTES ? bytes - at : CHUNK_BYTES;

    if (!cf_cuda_ok(cudaMemcpyAsync((uint8_t *)to + at, (const uint8_t *)from + at, count,
                                    cudaMemcpyHostToDevice, (cudaStream_t)stream),
                    "copying a blur map to the device", status))
      return false;
  }
  return true;
}

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
  blur->tables = (CfMapTable *)cf_device_alloc((size_t)blur->planes * sizeof *blur->tables, status);
  blur->tiles = blur->tables
                    ? (uint4 *)cf_device_alloc(all_tiles(video) * sizeof *blur->tiles, status)
                    : nullptr;
  bool good = blur->tiles;
  if (good && cf_cells_serve(video, device)) {
    blur->cells = cf_cells_open(video, device, status);
    good = blur->cells;
  }
  if (!good) {
    cf_cuda_blur_map_close(blur);
    return nullptr;
  }
  return blur;
}

bool cf_cuda_blur_map_run(CfCudaBlurMap *blur, const CfBlurField *field, bool changed,
                          const CfJob *job, CfStatus *status)
{
  if (!prepare(blur, field, job->regions, status))
    return false;

  if (changed)
    blur->classified = false;
  const Memory memory = blur->in_cells ? Memory{} : place_pyramids(blur, job);
  if (field->params.map_mode == CF_MAP_FILE && changed &&
      !upload_values(blur, field->params.map, job->stream, status))
    return false;
  if (!upload_tables(blur, job, status))
    return false;

  CfMapJob work;
  const int tiles = describe_job(blur, field, job, &work);
  void *shapes;
  if (!find_shapes(blur, field, job, &work, &shapes, status))
    return false;
  const bool good = blur->in_cells
                        ? cf_cells_run(blur->cells, &work, job->stream, status)
                        : classify_tiles(blur, field, job, &work, tiles, status) &&
                              make_tiles(blur, &memory, &work, tiles, job->stream, status);
  return (!shapes || cf_scratch_give(blur->device, shapes, job->stream, good ? status : nullptr)) &&
         good;
}

void cf_cuda_blur_map_close(CfCudaBlurMap *blur)
{
  if (!blur)
    return;
  cf_cells_close(blur->cells);
  cf_device_free(blur->tables);
  cf_device_free(blur->tiles);
  cf_device_free(blur->values);
  cf_fir_plan_free(&blur->plan);
  free(blur);
}
