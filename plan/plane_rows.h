/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which rows of a plane a job writes, and which rows of the source it may read for them.
 */
#pragma once

#include "engine.h"

/* Rows first..end - 1 of a plane. */
typedef struct {
  int first, end;
} CfPlaneRows;

/* The rows of the plane that a job writes: all, or those of its band. */
CfPlaneRows cf_job_plane_rows(const CfVideo *video, int plane, const CfJob *job);

/* The rows of the source's plane that the job may read: those it writes and `halo` rows of the
 * plane on either side, or all with a halo of -1. */
CfPlaneRows cf_job_readable_rows(const CfVideo *video, int plane, const CfJob *job, int halo);

/* CfEngine.halo in luma rows, from the halos of the planes in their own rows; -1 where one of these
 * is. */
int cf_luma_halo(const CfVideo *video, const int *plane_halo);
