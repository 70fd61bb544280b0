/* SPDX-License-Identifier: LGPL-2.1-or-later */

/**
 * SECTION:element-cudallf
 * @title: cudallf
 *
 * Edge-aware control of detail and tones: the local Laplacian filter of Paris, Hasinoff and Kautz,
 * with the parameters of MATLAB's locallapfilt. #cudallf:alpha below 1 raises detail, which is
 * differences below #cudallf:sigma; #cudallf:beta below 1 compresses larger differences.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 videotestsrc ! cudallf sigma=0.2 alpha=0.3 ! videoconvert ! autovideosink
 * ]|
 *
 * Since: 0.1
 */

#include "basefilter.h"
#include "elements.h"
#include "llf.h"

G_DECLARE_FINAL_TYPE(GstCudaLlf, gst_cuda_llf, GST, CUDA_LLF, GstCudaFiltersBase)

struct _GstCudaLlf {
  GstCudaFiltersBase parent;
};

G_DEFINE_TYPE(GstCudaLlf, gst_cuda_llf, GST_TYPE_CUDA_FILTERS_BASE);
GST_ELEMENT_REGISTER_DEFINE(cudallf, "cudallf", GST_RANK_NONE, gst_cuda_llf_get_type());

static void gst_cuda_llf_class_init(GstCudaLlfClass *klass)
{
  gst_cuda_filters_base_class_set_effect(GST_CUDA_FILTERS_BASE_CLASS(klass), &cf_llf, "cudallf");
  gst_element_class_set_static_metadata(
      GST_ELEMENT_CLASS(klass), "Local Laplacian filter", "Filter/Effect/Video/Hardware",
      "Raises or smooths detail and compresses or expands tones, without halos",
      "gst-cuda-filters maintainers");
}

static void gst_cuda_llf_init(GstCudaLlf *self)
{
}
