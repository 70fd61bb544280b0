/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which rows of a plane a job makes, and which of the source it may read for them.
 */
#pragma once

#include "engine.h"

/* Rows first .. end - 1 of a plane. */
typedef struct {
  int first, end;
} CfPlaneRows;

/* The rows of plane `plane` that a job makes. */
CfPlaneRows cf_job_plane_rows(const CfVideo *video, int plane, const CfJob *job);

/* The rows of the source of plane `plane` that may be read for those, of which each reads `halo`
 * more to either side, or with -1 any. */
CfPlaneRows cf_job_readable_rows(const CfVideo *video, int plane, const CfJob *job, int halo);

/* CfEngine.halo, in luma rows, from those of each plane; -1 where one of them is. */
int cf_luma_halo(const CfVideo *video, const int *plane_halo);
