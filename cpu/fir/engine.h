/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The CPU engine of plan/fir.h: gaussblur and sepconv differ only in how they fill the plan.
 * `plane` is a plane of the format, samples and rectangles are the plane's. All calls for one
 * CfCpuFir come from one thread at a time; runs work on the pool's threads (common/parallel.h).
 */
#pragma once

#include "plan/coverage.h"
#include "plan/fir.h"

typedef struct CfCpuFir CfCpuFir;

/* NULL without memory, with the reason. It has no plan yet; closed by cf_cpu_fir_close. */
CfCpuFir *cf_cpu_fir_open(const CfVideo *video, const CfOpenOptions *options, CfStatus *status);

/* The video it was opened for. */
const CfVideo *cf_cpu_fir_video(const CfCpuFir *fir);

/* A plan to fill, which cf_cpu_fir_commit then puts in force; until then the old one is. The engine
 * owns it. */
CfFirPlan *cf_cpu_fir_next_plan(CfCpuFir *fir);

/* Allocates only where the plan needs more memory than any before. On failure the old plan stays in
 * force. */
bool cf_cpu_fir_commit(CfCpuFir *fir, CfStatus *status);

/* Whether the next plan filters a plane, where it is opaque, with matrix products or as bytes. */
bool cf_cpu_fir_is_fast(const CfCpuFir *fir, int plane);

typedef enum {
  CF_FIR_WHOLE,
  CF_FIR_IF_OPAQUE, /* only in pictures whose pixels are all opaque */
  CF_FIR_NOTHING,   /* neither filtered nor copied */
} CfFirShare;

/* How much of a plane is filtered from the next commit on. */
void cf_cpu_fir_share(CfCpuFir *fir, int plane, CfFirShare share);

/* Makes only the samples in one rectangle a plane; with NULL, all. False where a plane with
 * CF_FIR_IF_OPAQUE was not opaque: then some of it was made. */
bool cf_cpu_fir_run_within(CfCpuFir *fir, const CfJob *job, const CfRect *within);

/* The run, algorithm and close of engines whose state is a CfCpuFir. */
bool cf_cpu_fir_run(void *state, const CfJob *job, CfStatus *status);
const char *cf_cpu_fir_algorithm(const void *state);
void cf_cpu_fir_close(void *state);
