/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The launch plan of a frame of engine=fast on tensor cores: which kernels run, and on how many
 * CTAs. plan_frame() derives it from the GPU, the format and the pyramid, so the plan of a state
 * changes with its parameters only. cuda/llf/README.md has the diagram.
 */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* For tests: replaces choices of plan_frame() and of the engine, process-wide; -1 leaves a choice
 * to them. Set it before a state is opened, and keep it until the state's frames are done. */
typedef struct {
  int cluster_ctas;    /* the most CTAs of the coarse levels: 1, 2, 4, 8 or 16 */
  int fuse_levels_3_4; /* 0 or 1; 1 only counts if the pyramid has these levels */
  int large;           /* 0 or 1: treat the picture as one of over four million pixels */
  int few_copies;      /* 1: lay out level 0's LUT as for GPUs with little shared memory */
  int tensor_cores;    /* 0: use none */
} CfLlfPlanOverride;

extern CfLlfPlanOverride cf_llf_plan_override;

#ifdef __cplusplus
}

namespace cf::llf
{

struct FramePlan {
  /* The finest level of the coarse levels' kernel, which reads this level's components and writes
   * its collapsed image; the pyramid's coarsest level where there is no such kernel. */
  int coarse_first_level;
  int cluster_ctas;     /* the most CTAs of that kernel, which is one cluster */
  bool fuse_levels_3_4; /* one kernel computes both levels; else each has a kernel */
  bool large;           /* store level 1 with the L2 policy evict-first */
  /* The Laplacian kernels run concurrently with the coarse levels' kernel: they do not wait for it,
   * and leave `reserved_sms` SMs to it. */
  bool beside_coarse;
  int reserved_sms;
};

} // namespace cf::llf
#endif
