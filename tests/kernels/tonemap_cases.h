/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What tests of tone mapping start from: formats, pictures before and after, defaults.
 */
#pragma once

#include "harness.h"
#include "tonemap.h"

static const CfFormat sources[] = {CF_FORMAT_P010_10LE, CF_FORMAT_I420_10LE, CF_FORMAT_P012_LE,
                                   CF_FORMAT_P016_LE,   CF_FORMAT_Y444_10LE, CF_FORMAT_Y444_16LE};
static const CfFormat destinations[] = {CF_FORMAT_NV12, CF_FORMAT_I420, CF_FORMAT_RGBA,
                                        CF_FORMAT_BGRA, CF_FORMAT_P010_10LE};
enum { SOURCES = 6, DESTINATIONS = 5 };

static inline CfTonemapParams defaults(void)
{
  CfTonemapParams params = {0};

  cf_params_init(cf_tonemap.params, &params);
  return params;
}

static inline CfVideo hdr_video(CfFormat format, int width, int height, CfTransfer transfer)
{
  CfVideo video = cf_video(format, width, height);

  video.luma_red = 0.2627;
  video.luma_blue = 0.0593;
  video.transfer = transfer;
  return video;
}

static inline CfVideo sdr_video(CfFormat format, int width, int height)
{
  CfVideo video = cf_video(format, width, height);

  video.luma_red = 0.2126;
  video.luma_blue = 0.0722;
  return video;
}
