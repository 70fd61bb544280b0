/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "formats.h"

gboolean gst_cuda_filters_format_from_gst(GstVideoFormat format, CfFormat *result)
{
  const char *name = gst_video_format_to_string(format);

  return name && cf_format_from_name(name, result);
}

static CfTransfer transfer_from_gst(GstVideoTransferFunction transfer)
{
  switch (transfer) {
  case GST_VIDEO_TRANSFER_SMPTE2084:
    return CF_TRANSFER_PQ;
  case GST_VIDEO_TRANSFER_ARIB_STD_B67:
    return CF_TRANSFER_HLG;
  default:
    return CF_TRANSFER_SDR;
  }
}

static CfPrimaries primaries_from_gst(GstVideoColorPrimaries primaries)
{
  switch (primaries) {
  case GST_VIDEO_COLOR_PRIMARIES_SMPTEEG432:
    return CF_PRIMARIES_P3;
  case GST_VIDEO_COLOR_PRIMARIES_SMPTERP431:
    return CF_PRIMARIES_P3_DCI;
  case GST_VIDEO_COLOR_PRIMARIES_BT709:
    return CF_PRIMARIES_709;
  default:
    return CF_PRIMARIES_2020;
  }
}

gboolean gst_cuda_filters_video_from_info(const GstVideoInfo *info, CfVideo *video)
{
  const GstVideoColorimetry *colorimetry = &info->colorimetry;
  CfFormat format;
  gdouble luma_red, luma_blue;

  if (!gst_cuda_filters_format_from_gst(GST_VIDEO_INFO_FORMAT(info), &format))
    return FALSE;

  *video = cf_video(format, GST_VIDEO_INFO_WIDTH(info), GST_VIDEO_INFO_HEIGHT(info));
  if (!GST_VIDEO_INFO_IS_RGB(info)) {
    if (colorimetry->range != GST_VIDEO_COLOR_RANGE_UNKNOWN)
      video->range =
          colorimetry->range == GST_VIDEO_COLOR_RANGE_0_255 ? CF_RANGE_FULL : CF_RANGE_LIMITED;
    video->transfer = transfer_from_gst(colorimetry->transfer);
    video->primaries = primaries_from_gst(colorimetry->primaries);
    if (gst_video_color_matrix_get_Kr_Kb(colorimetry->matrix, &luma_red, &luma_blue)) {
      video->luma_red = luma_red;
      video->luma_blue = luma_blue;
    }
  }
  return TRUE;
}

GstCaps *gst_cuda_filters_system_caps(void)
{
  GstVideoFormat formats[CF_FORMAT_COUNT];

  for (int i = 0; i < CF_FORMAT_COUNT; i++)
    formats[i] = gst_video_format_from_string(cf_format_info((CfFormat)i)->name);
  return gst_video_make_raw_caps(formats, CF_FORMAT_COUNT);
}
