/* SPDX-License-Identifier: LGPL-2.1-or-later */

/**
 * SECTION:element-cudatonemap
 * @title: cudatonemap
 *
 * Converts HDR (PQ or HLG) to SDR (BT.709). A tone curve brings the large-scale tones to the range
 * of the display, while the local Laplacian filter keeps local contrast. SDR frames pass untouched.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 filesrc location=hdr.mkv ! decodebin ! cudatonemap ! videoconvert ! autovideosink
 * ]|
 *
 * Since: 0.2
 */

#include <string.h>

#include "basefilter.h"
#include "basereport.h"
#include "elements.h"
#include "tonemap-caps.h"
#include "tonemap.h"

G_DECLARE_FINAL_TYPE(GstCudaTonemap, gst_cuda_tonemap, GST, CUDA_TONEMAP, GstCudaFiltersBase)

struct _GstCudaTonemap {
  GstCudaFiltersBase parent;
};

G_DEFINE_TYPE(GstCudaTonemap, gst_cuda_tonemap, GST_TYPE_CUDA_FILTERS_BASE);
GST_ELEMENT_REGISTER_DEFINE(cudatonemap, "cudatonemap", GST_RANK_NONE, gst_cuda_tonemap_get_type());

static gboolean gst_cuda_tonemap_set_info(GstVideoFilter *filter, GstCaps *in_caps,
                                          GstVideoInfo *in_info, GstCaps *out_caps,
                                          GstVideoInfo *out_info)
{
  GstCudaFiltersBase *base = GST_CUDA_FILTERS_BASE(filter);
  CfTonemapParams *params = base->params.values;
  CfStatus status = {CF_OK, ""};

  if (!gst_cuda_filters_tonemap_complete_info(in_caps, in_info, &status)) {
    gst_cuda_filters_base_post_error(base, &status);
    return FALSE;
  }
  GST_OBJECT_LOCK(base);
  params->stream_peak = gst_cuda_filters_tonemap_peak(in_caps);
  params->fields = GST_VIDEO_INFO_IS_INTERLACED(in_info);
  gst_cuda_filters_base_params_changed(base);
  GST_OBJECT_UNLOCK(base);
  return GST_VIDEO_FILTER_CLASS(gst_cuda_tonemap_parent_class)
      ->set_info(filter, in_caps, in_info, out_caps, out_info);
}

/* Whether `meta` describes the HDR input, and is wrong for the SDR output. */
static gboolean describes_hdr(const GstMeta *meta)
{
  const gchar *name = g_type_name(meta->info->api);
  gchar *lower = g_ascii_strdown(name, -1);
  const gboolean hdr = strstr(lower, "hdr") || strstr(lower, "dovi") || strstr(lower, "dolby");

  g_free(lower);
  return hdr || gst_meta_api_type_has_tag(
                    meta->info->api, g_quark_from_static_string(GST_META_TAG_VIDEO_COLORSPACE_STR));
}

static gboolean gst_cuda_tonemap_transform_meta(GstBaseTransform *trans, GstBuffer *output,
                                                GstMeta *meta, GstBuffer *input)
{
  return !describes_hdr(meta) && GST_BASE_TRANSFORM_CLASS(gst_cuda_tonemap_parent_class)
                                     ->transform_meta(trans, output, meta, input);
}

static void gst_cuda_tonemap_class_init(GstCudaTonemapClass *klass)
{
  GstCudaFiltersBaseClass *base_class = GST_CUDA_FILTERS_BASE_CLASS(klass);
  GstBaseTransformClass *trans_class = GST_BASE_TRANSFORM_CLASS(klass);

  gst_cuda_filters_base_class_set_effect(base_class, &cf_tonemap, "cudatonemap");
  gst_element_class_set_static_metadata(
      GST_ELEMENT_CLASS(klass), "Tone mapping", "Filter/Effect/Video/Hardware",
      "Converts HDR (PQ, HLG) to SDR and keeps local contrast", "gst-cuda-filters maintainers");

  base_class->other_caps = gst_cuda_filters_tonemap_other_caps;
  trans_class->passthrough_on_same_caps = TRUE;
  trans_class->transform_meta = GST_DEBUG_FUNCPTR(gst_cuda_tonemap_transform_meta);
  GST_VIDEO_FILTER_CLASS(klass)->set_info = GST_DEBUG_FUNCPTR(gst_cuda_tonemap_set_info);
}

static void gst_cuda_tonemap_init(GstCudaTonemap *self)
{
}
