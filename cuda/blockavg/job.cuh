/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Block average: the part of a job that frames and regions prepare alike, on the host.
 */
#pragma once

#include "cuda/blockavg/reduce.cuh"

extern "C" {
#include "blockavg.h"
}

namespace cf::blockavg
{

/* A job but for blocks, tiles and pictures. */
inline Job plan_codes(const CfVideo *video, int mode)
{
  const CfFormatInfo *format = cf_format_info(video->format);
  const uint32_t code = (uint32_t)cf_max_code(format);
  const int alpha = cf_alpha_channel(&format->plane[0]);
  Job job = {};

  job.planes = format->planes;
  job.shift = format->shift;
  job.mask = format->bits > 8 ? code * 0x00010001u : ~0u;
  job.flip = mode == CF_BLOCKAVG_MAX ? job.mask : 0;
  job.alpha = alpha < 0 ? 0 : alpha;
  for (int k = 0; k < format->plane[0].channels; k++) {
    const CfRole role = format->plane[0].role[k];
    if (role == CF_ROLE_CHROMA_BLUE || role == CF_ROLE_CHROMA_RED)
      job.empty |= (uint32_t)cf_chroma_centre(video) << 8 * k;
    if (format->packed && role == CF_ROLE_LUMA)
      job.lumas |= 1u << k;
  }
  for (int p = 0; p < format->planes; p++) {
    const CfPlaneFormat *layout = &format->plane[p];
    job.plane[p].width = cf_plane_width(video, p);
    job.plane[p].height = cf_plane_height(video, p);
    job.plane[p].channels = layout->channels;
    job.plane[p].shift_x = layout->subsampling_x;
    job.plane[p].shift_y = layout->subsampling_y;
  }
  return job;
}

inline int pixel_bytes(const CfFormatInfo *format, const Plane *plane)
{
  return plane->channels * cf_sample_bytes(format);
}

inline void set_pictures(Job *job, const CfJob *work)
{
  for (int p = 0; p < job->planes; p++) {
    Plane *plane = &job->plane[p];

    plane->source = work->source.data[p];
    plane->source_stride = work->source.stride[p];
    plane->destination = work->destination.data[p];
    plane->destination_stride = work->destination.stride[p];
    plane->vector = cf_is_vector_aligned(plane->source, plane->source_stride) &&
                    cf_is_vector_aligned(plane->destination, plane->destination_stride);
  }
}

} // namespace cf::blockavg
