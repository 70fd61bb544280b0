/* SPDX-License-Identifier: LGPL-2.1-or-later */

/**
 * SECTION:element-cudablockavg
 * @title: cudablockavg
 *
 * A mosaic: blocks of #cudablockavg:block-width by #cudablockavg:block-height luma pixels, each of
 * which shows the exact mean of its pixels, rounded half up. With #cudablockavg:roi-mode only
 * regions are covered, such as faces that a detector has found.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 videotestsrc ! cudablockavg block-width=16 block-height=16 ! videoconvert !
 * autovideosink
 * ]|
 *
 * Since: 0.1
 */

#include "basefilter.h"
#include "blockavg.h"
#include "elements.h"

G_DECLARE_FINAL_TYPE(GstCudaBlockAvg, gst_cuda_block_avg, GST, CUDA_BLOCK_AVG, GstCudaFiltersBase)

struct _GstCudaBlockAvg {
  GstCudaFiltersBase parent;
};

G_DEFINE_TYPE(GstCudaBlockAvg, gst_cuda_block_avg, GST_TYPE_CUDA_FILTERS_BASE);
GST_ELEMENT_REGISTER_DEFINE(cudablockavg, "cudablockavg", GST_RANK_NONE,
                            gst_cuda_block_avg_get_type());

static void gst_cuda_block_avg_class_init(GstCudaBlockAvgClass *klass)
{
  gst_cuda_filters_base_class_set_effect(GST_CUDA_FILTERS_BASE_CLASS(klass), &cf_blockavg,
                                         "cudablockavg");
  gst_element_class_set_static_metadata(
      GST_ELEMENT_CLASS(klass), "Block average", "Filter/Effect/Video/Hardware",
      "Mosaic of the frame or of regions: blocks of their mean, minimum, maximum or one colour",
      "gst-cuda-filters maintainers");
}

static void gst_cuda_block_avg_init(GstCudaBlockAvg *self)
{
}
