/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "worker.h"

#include "filter.h"
#include "formats.h"

enum { FRAME, TOP_FIELD, BOTTOM_FIELD, N_PARTS };

struct _GstCudaFiltersWorker {
  const CfEffect *effect;
  const CfEngine *engine;
  CfVideo video, destination; /* input and output frames */
  CfFilter *filters[N_PARTS]; /* of the fields only if frames may be interlaced */
  const CfRegions *regions;
  gdouble seconds; /* as in CfJob */
  gboolean fresh;
  GArray *field_regions; /* CfRegion: scratch for the regions of a field */
};

static gint field_lines(gint lines, gint field)
{
  return field == TOP_FIELD ? (lines + 1) / 2 : lines / 2;
}

/* Whether both fields have the chroma lines that an engine reads, which are ceil(n / 2) for n luma
 * lines in 4:2:0. Frames whose height is not a multiple of four may have fewer, and are filtered as
 * a whole. */
static gboolean splits_into_fields(const CfVideo *video)
{
  const CfFormatInfo *format = cf_format_info(video->format);

  if (video->height < 2)
    return FALSE;
  for (gint plane = 0; plane < format->planes; plane++) {
    const gint shift = format->plane[plane].subsampling_y;

    for (gint field = TOP_FIELD; field <= BOTTOM_FIELD; field++) {
      const gint needed = (field_lines(video->height, field) + (1 << shift) - 1) >> shift;
      if (needed > field_lines(cf_plane_height(video, plane), field))
        return FALSE;
    }
  }
  return TRUE;
}

static gboolean read_info(const GstVideoInfo *info, CfVideo *video, CfStatus *status)
{
  /* Buffers with several pictures, each with a GstVideoMeta of its own. */
  if (GST_VIDEO_INFO_INTERLACE_MODE(info) == GST_VIDEO_INTERLACE_MODE_FIELDS ||
      GST_VIDEO_INFO_MULTIVIEW_MODE(info) == GST_VIDEO_MULTIVIEW_MODE_SEPARATED)
    return cf_fail(status, CF_ERROR_INVALID,
                   "frames with each field or view in a picture of its own (interlace-mode=fields, "
                   "multiview-mode=separated) are not supported");
  return gst_cuda_filters_video_from_info(info, video) ||
         cf_fail(status, CF_ERROR_INVALID, "format %s is not supported",
                 gst_video_format_to_string(GST_VIDEO_INFO_FORMAT(info)));
}

/* The format and size of `part`, the frame or a field. */
static CfVideo video_of_part(const CfVideo *video, gint part)
{
  CfVideo result = *video;

  if (part != FRAME) {
    result.height = field_lines(video->height, part);
    result.field = true;
  }
  return result;
}

static gboolean open_filter(GstCudaFiltersWorker *worker, gint part, const void *params,
                            const CfOpenOptions *options, CfStatus *status)
{
  const CfVideo video = video_of_part(&worker->video, part);
  const CfVideo destination = video_of_part(&worker->destination, part);
  CfOpenOptions complete = *options;

  if (worker->effect->check_destination)
    complete.destination = &destination;
  worker->filters[part] = cf_filter_open(worker->engine, &video, params, &complete, status);
  return worker->filters[part] != NULL;
}

/* Whether frames with these caps need filters for their fields. */
static gboolean needs_fields(const GstCudaFiltersWorker *worker, const GstVideoInfo *input)
{
  return GST_VIDEO_INFO_IS_INTERLACED(input) && splits_into_fields(&worker->video) &&
         splits_into_fields(&worker->destination);
}

static gboolean open_filters(GstCudaFiltersWorker *worker, gboolean fields, const void *params,
                             const CfOpenOptions *options, CfStatus *status)
{
  return open_filter(worker, FRAME, params, options, status) &&
         (!fields || (open_filter(worker, TOP_FIELD, params, options, status) &&
                      open_filter(worker, BOTTOM_FIELD, params, options, status)));
}

GstCudaFiltersWorker *gst_cuda_filters_worker_new(const CfEffect *effect, const CfEngine *engine,
                                                  const GstVideoInfo *input,
                                                  const GstVideoInfo *output, const void *params,
                                                  const CfOpenOptions *options, CfStatus *status)
{
  GstCudaFiltersWorker *worker = g_new0(GstCudaFiltersWorker, 1);
  gboolean good;

  worker->field_regions = g_array_new(FALSE, FALSE, sizeof(CfRegion));
  worker->effect = effect;
  worker->engine = engine;
  good = read_info(input, &worker->video, status) &&
         read_info(output, &worker->destination, status) &&
         cf_effect_check(effect, &worker->video, params, status) &&
         (!effect->check_destination ||
          effect->check_destination(&worker->video, &worker->destination, status)) &&
         open_filters(worker, needs_fields(worker, input), params, options, status);
  if (!good) {
    gst_cuda_filters_worker_free(worker);
    return NULL;
  }
  return worker;
}

static gboolean is_same(const CfVideo *a, const CfVideo *b)
{
  return a->format == b->format && a->width == b->width && a->height == b->height &&
         a->range == b->range && a->luma_red == b->luma_red && a->luma_blue == b->luma_blue &&
         a->transfer == b->transfer && a->primaries == b->primaries;
}

gboolean gst_cuda_filters_worker_suits(const GstCudaFiltersWorker *worker,
                                       const GstVideoInfo *input, const GstVideoInfo *output)
{
  CfVideo video, destination;

  return read_info(input, &video, NULL) && is_same(&video, &worker->video) &&
         read_info(output, &destination, NULL) && is_same(&destination, &worker->destination) &&
         needs_fields(worker, input) == (worker->filters[TOP_FIELD] != NULL);
}

void gst_cuda_filters_worker_free(GstCudaFiltersWorker *worker)
{
  for (gint i = 0; i < N_PARTS; i++)
    cf_filter_close(worker->filters[i]);
  g_array_unref(worker->field_regions);
  g_free(worker);
}

gboolean gst_cuda_filters_worker_update(GstCudaFiltersWorker *worker, const void *params,
                                        CfStatus *status)
{
  if (!cf_effect_check(worker->effect, &worker->video, params, status))
    return FALSE;
  for (gint i = 0; i < N_PARTS; i++) {
    if (worker->filters[i] && !cf_filter_update(worker->filters[i], params, status))
      return FALSE;
  }
  return TRUE;
}

/* The planes of `part`: for a field, every other line of the frame. */
static CfPicture picture_of_part(const CfPicture *frame, gint part)
{
  CfPicture picture = *frame;

  for (guint plane = 0; part != FRAME && plane < CF_MAX_PLANES; plane++) {
    if (part == BOTTOM_FIELD && picture.data[plane])
      picture.data[plane] += picture.stride[plane];
    picture.stride[plane] *= 2;
  }
  return picture;
}

void gst_cuda_filters_worker_set_regions(GstCudaFiltersWorker *worker, const CfRegions *regions)
{
  worker->regions = regions;
}

void gst_cuda_filters_worker_set_pace(GstCudaFiltersWorker *worker, gdouble seconds, gboolean fresh)
{
  worker->seconds = seconds;
  worker->fresh = fresh;
}

/* `region` in lines of a field, rounded so that a frame line of the region is filtered in both
 * fields: outwards, and inwards for regions that are left out. */
static CfRegion scale_to_field(CfRegion region, gboolean outside)
{
  const gint64 top = region.y, bottom = top + region.height;
  const gint64 y = (outside ? top + 1 : top) >> 1, end = (outside ? bottom : bottom + 1) >> 1;

  region.y = (gint)y;
  region.height = (gint)(end - y);
  return region;
}

CfRegions gst_cuda_filters_worker_regions_of_field(const CfRegions *regions, GArray *scratch)
{
  const guint count = (guint)regions->count;
  CfRegions scaled = *regions;
  CfRegion *region;

  g_array_set_size(scratch, 2 * count);
  region = (CfRegion *)(void *)scratch->data;
  for (guint i = 0; i < count; i++) {
    region[i] = scale_to_field(regions->region[i], regions->outside);
    if (regions->whole)
      region[count + i] = scale_to_field(regions->whole[i], FALSE);
  }
  scaled.region = region;
  scaled.whole = regions->whole ? region + count : NULL;
  return scaled;
}

static gboolean run_part(GstCudaFiltersWorker *worker, gint part, const CfJob *frame,
                         CfStatus *status)
{
  const CfVideo video = video_of_part(&worker->video, part);
  const CfVideo destination = video_of_part(&worker->destination, part);
  CfJob job = *frame;
  CfRegions scaled;

  if (worker->regions && !worker->engine->regions)
    return cf_fail(status, CF_ERROR_FAILED, "%s on %s cannot filter regions: set roi-mode=none",
                   worker->effect->name, worker->engine->name);
  job.regions = worker->regions;
  job.seconds = worker->seconds;
  job.fresh = worker->fresh;
  if (job.regions && part != FRAME) {
    scaled = gst_cuda_filters_worker_regions_of_field(job.regions, worker->field_regions);
    job.regions = &scaled;
  }
  job.source = picture_of_part(&frame->source, part);
  job.destination = picture_of_part(&frame->destination, part);
  return cf_job_check(worker->engine, &video, &destination, &job, status) &&
         cf_filter_run(worker->filters[part], &job, status);
}

static gboolean has_fields(const GstCudaFiltersWorker *worker, gboolean interlaced)
{
  return interlaced && worker->filters[TOP_FIELD];
}

gboolean gst_cuda_filters_worker_splits(const GstCudaFiltersWorker *worker,
                                        const GstVideoInfo *info, GstBuffer *buffer)
{
  return has_fields(worker, GST_VIDEO_INFO_INTERLACE_MODE(info) != GST_VIDEO_INTERLACE_MODE_MIXED ||
                                GST_BUFFER_FLAG_IS_SET(buffer, GST_VIDEO_BUFFER_FLAG_INTERLACED));
}

gboolean gst_cuda_filters_worker_run_job(GstCudaFiltersWorker *worker, const CfJob *job,
                                         gboolean interlaced, CfStatus *status)
{
  if (has_fields(worker, interlaced))
    return run_part(worker, TOP_FIELD, job, status) && run_part(worker, BOTTOM_FIELD, job, status);
  return run_part(worker, FRAME, job, status);
}

gboolean gst_cuda_filters_worker_run(GstCudaFiltersWorker *worker,
                                     const GstCudaFiltersFrames *frames, void *stream,
                                     CfStatus *status)
{
  const CfJob job = {.source = gst_cuda_filters_frame_picture(&frames->source),
                     .destination = gst_cuda_filters_frame_picture(&frames->destination),
                     .stream = stream};

  return gst_cuda_filters_worker_run_job(worker, &job,
                                         GST_VIDEO_FRAME_IS_INTERLACED(&frames->source), status);
}

gint gst_cuda_filters_worker_halo(const GstCudaFiltersWorker *worker, gboolean interlaced)
{
  if (worker->regions || has_fields(worker, interlaced))
    return -1;
  return cf_filter_halo(worker->filters[FRAME]);
}

const CfVideo *gst_cuda_filters_worker_video(const GstCudaFiltersWorker *worker)
{
  return &worker->video;
}

const CfVideo *gst_cuda_filters_worker_destination(const GstCudaFiltersWorker *worker)
{
  return &worker->destination;
}

const CfEngine *gst_cuda_filters_worker_engine(const GstCudaFiltersWorker *worker)
{
  return worker->engine;
}

gboolean gst_cuda_filters_worker_works_in_place(const GstCudaFiltersWorker *worker)
{
  return cf_engine_works_in_place(worker->engine, worker->regions);
}

const gchar *gst_cuda_filters_worker_algorithm(const GstCudaFiltersWorker *worker)
{
  /* Interned, since an engine may overwrite the name in its state with the next parameters, while
   * another thread reads it. */
  return g_intern_string(cf_filter_algorithm(worker->filters[FRAME]));
}
