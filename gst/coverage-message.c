/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "coverage-message.h"

#include <string.h>

#include "plan/coverage.h"
#include "worker.h"

struct _GstCudaFiltersCoverageMessage {
  gboolean posted; /* a message with `last` was posted */
  GstCudaFiltersCoverage last;

  /* Size and regions, of the frame or of its fields, that last.covered was computed for. */
  gint width, height;
  CfRegions regions;
  GArray *list;     /* CfRegion */
  GArray *scaled;   /* CfRegion, scratch */
  GArray *outlines; /* CfOutline, scratch */
};

GstCudaFiltersCoverageMessage *gst_cuda_filters_coverage_message_new(void)
{
  GstCudaFiltersCoverageMessage *self = g_new0(GstCudaFiltersCoverageMessage, 1);

  self->list = g_array_new(FALSE, FALSE, sizeof(CfRegion));
  self->scaled = g_array_new(FALSE, FALSE, sizeof(CfRegion));
  self->outlines = g_array_new(FALSE, FALSE, sizeof(CfOutline));
  return self;
}

void gst_cuda_filters_coverage_message_free(GstCudaFiltersCoverageMessage *self)
{
  g_array_unref(self->list);
  g_array_unref(self->scaled);
  g_array_unref(self->outlines);
  g_free(self);
}

void gst_cuda_filters_coverage_message_reset(GstCudaFiltersCoverageMessage *self)
{
  self->posted = FALSE;
}

static gboolean is_known(const GstCudaFiltersCoverageMessage *self, const CfVideo *video,
                         const CfRegions *regions)
{
  const CfRegions *last = &self->regions;

  return self->width == video->width && self->height == video->height &&
         last->count == regions->count && last->shape == regions->shape &&
         last->feather == regions->feather && last->outside == regions->outside &&
         (regions->count == 0 ||
          memcmp(self->list->data, regions->region, (gsize)regions->count * sizeof(CfRegion)) == 0);
}

static gdouble covered_share(GstCudaFiltersCoverageMessage *self, const CfVideo *video,
                             const CfRegions *regions)
{
  if (is_known(self, video, regions))
    return self->last.covered;
  self->width = video->width;
  self->height = video->height;
  self->regions = *regions;
  g_array_set_size(self->list, 0);
  if (regions->count > 0)
    g_array_append_vals(self->list, regions->region, (guint)regions->count);
  g_array_set_size(self->outlines, (guint)regions->count);
  return cf_coverage_share(video, regions, (CfOutline *)(void *)self->outlines->data);
}

static gboolean is_same(const GstCudaFiltersCoverage *a, const GstCudaFiltersCoverage *b)
{
  return a->regions == b->regions && a->held == b->held && a->missing == b->missing &&
         a->covered == b->covered;
}

/* Times have the same names as in the messages of level and videoanalyse. Stream and running time
 * are GST_CLOCK_TIME_NONE where the segment counts bytes or buffers. */
static GstStructure *describe(const GstCudaFiltersCoverage *coverage, const GstSegment *segment,
                              GstBuffer *buffer)
{
  const GstClockTime timestamp = GST_BUFFER_PTS(buffer);
  GstClockTime stream_time = GST_CLOCK_TIME_NONE, running_time = GST_CLOCK_TIME_NONE;

  if (segment->format == GST_FORMAT_TIME) {
    stream_time = gst_segment_to_stream_time(segment, GST_FORMAT_TIME, timestamp);
    running_time = gst_segment_to_running_time(segment, GST_FORMAT_TIME, timestamp);
  }
  return gst_structure_new("cudafilters-coverage", "regions", G_TYPE_UINT, coverage->regions,
                           "held", G_TYPE_UINT, coverage->held, "missing", G_TYPE_BOOLEAN,
                           coverage->missing, "covered", G_TYPE_DOUBLE, coverage->covered,
                           "timestamp", G_TYPE_UINT64, timestamp, "stream-time", G_TYPE_UINT64,
                           stream_time, "running-time", G_TYPE_UINT64, running_time, "duration",
                           G_TYPE_UINT64, GST_BUFFER_DURATION(buffer), NULL);
}

void gst_cuda_filters_coverage_message_post(GstCudaFiltersCoverageMessage *self,
                                            GstBaseTransform *element, GstBuffer *buffer,
                                            const GstVideoInfo *info, gboolean fields,
                                            const CfRegions *regions,
                                            GstCudaFiltersCoverage coverage)
{
  CfVideo video =
      cf_video(CF_FORMAT_GRAY8, GST_VIDEO_INFO_WIDTH(info), GST_VIDEO_INFO_HEIGHT(info));
  CfRegions scaled;

  if (fields) {
    scaled = gst_cuda_filters_worker_regions_of_field(regions, self->scaled);
    regions = &scaled;
    video.height = (video.height + 1) / 2;
  }
  coverage.covered = covered_share(self, &video, regions);
  if (self->posted && is_same(&coverage, &self->last))
    return;
  self->posted = TRUE;
  self->last = coverage;
  gst_element_post_message(
      GST_ELEMENT(element),
      gst_message_new_element(GST_OBJECT(element), describe(&coverage, &element->segment, buffer)));
}
