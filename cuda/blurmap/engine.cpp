/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Blur maps on the host: the engine's calls, the levels for a field's sigmas, the description of a
 * job.
 */
#include "cuda/blurmap/engine.cuh"
#include "cuda/blurmap/frame_types.cuh"
#include "cuda/pyramid/fp32.h"

extern "C" {
#include "plan/plane_rows.h"
}

#include <stdlib.h>
#include <string.h>

namespace cf::blurmap
{

struct PlaneState {
  CfBlurLevels levels;
  CfMapSigmas sigmas; /* for which `levels` were made */
  int copy;           /* the level of sigma 0, or -1 */
};

} // namespace cf::blurmap

struct CfCudaBlurMap {
  CfVideo video;
  CfDevice *device;
  int planes;

  /* If `ready`, levels and schedule are those of this border and `isolates`, and of
   * PlaneState.sigmas. */
  bool ready;
  int border;
  bool isolates;      /* map_isolate applies */
  CfFirPlan channels; /* used for border, centre and alpha of the channels, not for its taps */
  cf::blurmap::PlaneState plane[CF_MAX_PLANES];
  cf::blurmap::Schedule *schedule;

  bool lods_sent;
  bool same_map; /* the map of the last frame is that of the next one, unless params change */

  /* Device memory. */
  float *lods;      /* [plane][CfBlurLevels.position] */
  uint16_t *values; /* of the map file */
  size_t values_bytes;
};

namespace cf::blurmap
{

namespace
{

constexpr int kLods = CF_BLUR_TABLE + 2; /* entries of CfBlurLevels.position */

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
  for (int i = 0; i < plane->levels.count; i++) {
    if (plane->levels.level[i].horizontal == 0.0 && plane->levels.level[i].vertical == 0.0)
      plane->copy = i;
  }
}

/* Makes levels and schedule for a field, unless they are ready. */
bool prepare(CfCudaBlurMap *blur, const CfBlurField *field, const CfRegions *regions,
             CfStatus *status)
{
  const CfBlurLevels *levels[CF_MAX_PLANES];

  if (is_ready_for(blur, field, regions))
    return true;
  blur->ready = blur->lods_sent = false;
  blur->border = field->params.border;
  blur->isolates = cf_blur_field_isolates(field, regions);
  if (!cf_fir_plan_channels(&blur->channels, &blur->video, (CfBorder)blur->border, status))
    return false;
  for (int p = 0; p < blur->planes; p++) {
    make_levels(&blur->plane[p], cf_blur_field_sigmas(field, regions, p));
    levels[p] = &blur->plane[p].levels;
  }
  blur->ready = schedule_plan(blur->schedule, blur->border, blur->isolates, levels, status);
  return blur->ready;
}

/* ---- uploads ---- */

bool send_lods(CfCudaBlurMap *blur, void *stream, CfStatus *status)
{
  bool sent = true;

  for (int p = 0; !blur->lods_sent && sent && p < blur->planes; p++)
    sent = cf_upload(blur->lods + p * kLods, blur->plane[p].levels.position, kLods * sizeof(float),
                     stream, status);
  blur->lods_sent = sent;
  return sent;
}

bool send_values(CfCudaBlurMap *blur, const CfMap *map, void *stream, CfStatus *status)
{
  const size_t bytes =
      (size_t)cf_map_width(map) * (size_t)cf_map_height(map) * sizeof *blur->values;

  return grow((void **)&blur->values, &blur->values_bytes, bytes, status) &&
         cf_upload(blur->values, cf_map_values(map), bytes, stream, status);
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
    to->transparent_code[c] = (float)filter->channel[c].centre;
    to->border[c] = filter->channel[c].border;
    to->padding |= format->plane[p].role[c] == CF_ROLE_PADDING ? 1u << c : 0;
  }
  to->lod = blur->lods + p * kLods;
  to->copy = blur->plane[p].copy;
  to->shape = cf_map_shape(&blur->video, &field->params, p);
}

/* Describes a job, without the list of its regions. */
void describe_job(const CfCudaBlurMap *blur, const CfBlurField *field, const CfJob *job, MapJob *to)
{
  const CfFormatInfo *format = cf_format_info(blur->video.format);

  memset(to, 0, sizeof *to);
  to->planes = blur->planes;
  to->wide = cf_sample_bytes(format) == 2;
  to->border = blur->border;
  to->shift = format->shift;
  to->max_code = cf_max_code(format);
  to->luma_width = blur->video.width;
  to->luma_height = blur->video.height;
  to->values = blur->values;
  to->mode = cf_blur_field_is_relative(field, job->regions) ? CF_MAP_NONE : field->params.map_mode;
  for (int p = 0; p < blur->planes; p++)
    describe_plane(blur, field, job, p, &to->plane[p]);
  if (to->mode == CF_MAP_NONE) {
    bool alike;

    to->relative = (float)field->params.sigma_relative;
    to->largest = (float)cf_blur_field_largest_sigma(field, job->regions, &alike);
  }
  if (to->mode == CF_MAP_LUMA || to->mode == CF_MAP_ALPHA) {
    to->mixer = cf_map_mixer(&blur->video, &field->params);
    for (int i = 0; i < to->mixer.terms; i++)
      to->of_mixer[i] = to->plane[to->mixer.term[i].plane];
  }
}

} // namespace

bool grow(void **memory, size_t *room, size_t bytes, CfStatus *status)
{
  if (bytes <= *room)
    return true;
  void *larger = cf_device_alloc(bytes, status);
  if (!larger)
    return false;
  cf_device_free(*memory);
  *memory = larger;
  *room = bytes;
  return true;
}

} // namespace cf::blurmap

/* ---- the calls ---- */

using namespace cf::blurmap;

CfCudaBlurMap *cf_cuda_blur_map_open(const CfVideo *video, CfDevice *device, CfStatus *status)
{
  CfCudaBlurMap *blur = (CfCudaBlurMap *)cf_zeroed(sizeof *blur, status);

  if (!blur)
    return nullptr;
  blur->video = *video;
  blur->device = device;
  blur->planes = cf_format_info(video->format)->planes;
  blur->lods = (float *)cf_device_alloc((size_t)blur->planes * kLods * sizeof *blur->lods, status);
  blur->schedule = blur->lods ? schedule_open(video, device, status) : nullptr;
  if (!blur->schedule) {
    cf_cuda_blur_map_close(blur);
    return nullptr;
  }
  return blur;
}

bool cf_cuda_blur_map_run(CfCudaBlurMap *blur, const CfBlurField *field, bool changed,
                          const CfJob *job, CfStatus *status)
{
  const bool same_map = blur->same_map && !changed;
  MapJob work;

  blur->same_map = false;
  if ((field->params.map_mode == CF_MAP_FILE && changed &&
       !send_values(blur, field->params.map, job->stream, status)) ||
      !prepare(blur, field, job->regions, status) || !send_lods(blur, job->stream, status))
    return false;
  describe_job(blur, field, job, &work);
  const bool good =
      cf_with_shapes(&work.list, blur->device, &blur->video,
                     work.mode == CF_MAP_NONE ? job->regions : nullptr, job->stream, status, [&] {
                       return schedule_run(blur->schedule, &work, same_map, job->stream, status);
                     });
  blur->same_map = good && cf_blur_field_is_still(field) && !job->regions;
  return good;
}

const char *cf_cuda_blur_map_algorithm(const CfCudaBlurMap *blur)
{
  return schedule_uses_mma(blur->schedule) ? "levels" : "levels-fp32";
}

void cf_cuda_blur_map_close(CfCudaBlurMap *blur)
{
  if (!blur)
    return;
  schedule_close(blur->schedule);
  cf_device_free(blur->lods);
  cf_device_free(blur->values);
  cf_fir_plan_free(&blur->channels);
  free(blur);
}
