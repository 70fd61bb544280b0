/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * HDR (BT.2020) and SDR (BT.709) formats for engines of tone mapping.
 */
#pragma once

#include "filter.h"

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
