/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/plane_rows.h"

#include "plan/int_math.h"
#include "plan/strips.h"

CfPlaneRows cf_job_plane_rows(const CfVideo *video, int plane, const CfJob *job)
{
  if (job->rows == 0)
    return (CfPlaneRows){0, cf_plane_height(video, plane)};

  const CfRows rows = cf_strips_plane_rows(video, plane, (CfRows){job->first_row, job->rows});

  return (CfPlaneRows){rows.first, rows.first + rows.rows};
}

CfPlaneRows cf_job_readable_rows(const CfVideo *video, int plane, const CfJob *job, int halo)
{
  const int height = cf_plane_height(video, plane);
  const CfPlaneRows rows = cf_job_plane_rows(video, plane, job);

  if (job->rows == 0 || halo < 0)
    return (CfPlaneRows){0, height};
  return (CfPlaneRows){cf_clamp(rows.first - halo, 0, height),
                       cf_clamp(rows.end + halo, 0, height)};
}

int cf_luma_halo(const CfVideo *video, const int *plane_halo)
{
  const CfFormatInfo *format = cf_format_info(video->format);
  int halo = 0;

  for (int p = 0; p < format->planes; p++) {
    if (plane_halo[p] < 0)
      return -1;
    const int rows = plane_halo[p] << format->plane[p].subsampling_y;
    halo = cf_max(halo, rows);
  }
  return halo;
}
