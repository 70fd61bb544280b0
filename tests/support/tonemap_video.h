/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Frames of BT.2020 and of BT.709, as engines are told of them.
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
