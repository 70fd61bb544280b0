/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The CPU engine of plan/fir.h; gaussblur and sepconv differ only in how they fill the plan.
 * `plane` is a plane of the format; samples and rectangles are those of the plane. All calls for
 * one CfCpuFir come from one thread at a time; runs use the threads of the pool
 * (cpu/common/parallel.h).
 */
#pragma once

#include "plan/coverage.h"
#include "plan/fir.h"

typedef struct CfCpuFir CfCpuFir;

/* NULL when out of memory, with CF_ERROR_NO_MEMORY. Has no plan until the first commit; closed by
 * cf_cpu_fir_close. */
CfCpuFir *cf_cpu_fir_open(const CfVideo *video, const CfOpenOptions *options, CfStatus *status);

/* The video that it was opened for. */
const CfVideo *cf_cpu_fir_video(const CfCpuFir *fir);

/* The plan to fill in for the next cf_cpu_fir_commit, owned by the engine. Until then the current
 * plan stays in force. */
CfFirPlan *cf_cpu_fir_next_plan(CfCpuFir *fir);

/* Puts the next plan in force. Allocates only where it needs more memory than any before. On
 * failure the current plan stays in force. */
bool cf_cpu_fir_commit(CfCpuFir *fir, CfStatus *status);

/* Whether the next plan filters a plane, as far as it is opaque, as `fir-matrix` or `fir-fixed`. */
bool cf_cpu_fir_is_fast(const CfCpuFir *fir, int plane);

typedef enum {
  CF_FIR_WHOLE,
  CF_FIR_IF_OPAQUE, /* only if all pixels of the picture are opaque */
  CF_FIR_NOTHING,   /* neither filtered nor copied */
} CfFirShare;

/* Which part of a plane is filtered from the next commit on; CF_FIR_WHOLE at first. */
void cf_cpu_fir_share(CfCpuFir *fir, int plane, CfFirShare share);

/* Writes only the samples in one rectangle per plane; NULL: all samples. False where a plane with
 * CF_FIR_IF_OPAQUE was not opaque; then it is written in part. */
bool cf_cpu_fir_run_within(CfCpuFir *fir, const CfJob *job, const CfRect *within);

/* CfEngine's run, algorithm and close, for engines whose state is a CfCpuFir. */
bool cf_cpu_fir_run(void *state, const CfJob *job, CfStatus *status);
const char *cf_cpu_fir_algorithm(const void *state);
void cf_cpu_fir_close(void *state);
