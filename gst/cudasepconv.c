/* SPDX-License-Identifier: LGPL-2.1-or-later */

/**
 * SECTION:element-cudasepconv
 * @title: cudasepconv
 *
 * Any separable filter: #cudasepconv:row-kernel along rows and #cudasepconv:column-kernel along
 * columns, or a #cudasepconv:preset. The first tap is that of the leftmost or topmost sample
 * (correlation, as in OpenCV).
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 videotestsrc ! cudasepconv row-kernel="<1,4,6,4,1>" column-kernel="<1,4,6,4,1>"
 * normalize=true ! videoconvert ! autovideosink
 * ]|
 *
 * Since: 0.1
 */

#include "basefilter.h"
#include "elements.h"
#include "sepconv.h"

G_DECLARE_FINAL_TYPE(GstCudaSepConv, gst_cuda_sep_conv, GST, CUDA_SEP_CONV, GstCudaFiltersBase)

struct _GstCudaSepConv {
  GstCudaFiltersBase parent;
};

G_DEFINE_TYPE(GstCudaSepConv, gst_cuda_sep_conv, GST_TYPE_CUDA_FILTERS_BASE);
GST_ELEMENT_REGISTER_DEFINE(cudasepconv, "cudasepconv", GST_RANK_NONE,
                            gst_cuda_sep_conv_get_type());

static void gst_cuda_sep_conv_class_init(GstCudaSepConvClass *klass)
{
  gst_cuda_filters_base_class_set_effect(GST_CUDA_FILTERS_BASE_CLASS(klass), &cf_sepconv,
                                         "cudasepconv");
  gst_cuda_filters_base_class_limit_memory(GST_CUDA_FILTERS_BASE_CLASS(klass));
  gst_element_class_set_static_metadata(
      GST_ELEMENT_CLASS(klass), "Separable convolution", "Filter/Effect/Video/Hardware",
      "Filters rows and columns with kernels of up to 255 taps, or with presets",
      "gst-cuda-filters maintainers");
}

static void gst_cuda_sep_conv_init(GstCudaSepConv *self)
{
}
