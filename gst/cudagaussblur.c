/* SPDX-License-Identifier: LGPL-2.1-or-later */

/**
 * SECTION:element-cudagaussblur
 * @title: cudagaussblur
 *
 * A Gaussian within one code value of its definition for every #cudagaussblur:sigma. Chroma is
 * blurred with its subsampled sigma; colours are blurred premultiplied by alpha. A negative sigma
 * sharpens as the gaussianblur element does.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 videotestsrc ! cudagaussblur sigma=4 ! videoconvert ! autovideosink
 * ]|
 *
 * Since: 0.1
 */

#include "cudagaussblur.h"

#include "gaussblur.h"

struct _GstCudaGaussBlur {
  GstCudaFiltersBase parent;
};

G_DEFINE_TYPE(GstCudaGaussBlur, gst_cuda_gauss_blur, GST_TYPE_CUDA_FILTERS_BASE);
GST_ELEMENT_REGISTER_DEFINE(cudagaussblur, "cudagaussblur", GST_RANK_NONE,
                            gst_cuda_gauss_blur_get_type());

static void gst_cuda_gauss_blur_class_init(GstCudaGaussBlurClass *klass)
{
  gst_cuda_filters_base_class_set_effect(GST_CUDA_FILTERS_BASE_CLASS(klass), &cf_gaussblur);
  gst_element_class_set_static_metadata(
      GST_ELEMENT_CLASS(klass), "Gaussian blur", "Filter/Effect/Video/Hardware",
      "Blurs (or sharpens) with an exact Gaussian of any size, on CUDA or the CPU",
      "gst-cuda-filters maintainers");
}

static void gst_cuda_gauss_blur_init(GstCudaGaussBlur *self)
{
}
