/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The launch plan of a frame of engine=fast on tensor cores: which kernels run, and how wide. Made
 * by plan_frame() from the GPU and the pyramid alone, so a state's plan changes with its parameters
 * only. cuda/llf/README.md has the diagram.
 */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* For tests: what plan_frame() and the engine take instead of what they would choose, process-wide;
 * -1: their own choice. Set it before a state is opened and leave it until the state's frames are
 * done. */
typedef struct {
  int cluster_ctas;    /* CTAs of the coarse levels at most: 1, 2, 4, 8 or 16 */
  int fuse_levels_3_4; /* 0 or 1; 1 holds where the pyramid has the levels */
  int large;           /* 0 or 1: as a picture of over four million pixels */
  int few_copies; /* 1: the tables of level 0's coefficients as GPUs with little memory have them */
  int tensor_cores; /* 0: none */
} CfLlfPlanOverride;

extern CfLlfPlanOverride cf_llf_plan_override;

#ifdef __cplusplus
}

namespace cf::llf
{

struct FramePlan {
  /* The finest level that the coarse levels' kernel holds; the coarsest of all where there is no
   * such kernel. It takes that level's components, and gives its collapsed image. */
  int coarse_first_level;
  int cluster_ctas;     /* of the coarse levels' kernel, which is one cluster of so many at most */
  bool fuse_levels_3_4; /* one kernel makes both, else each level has one */
  bool large;           /* level 1 leaves the L2 cache first */
  /* The Laplacian kernels run beside the coarse levels' kernel: they do not wait for it, and leave
   * it `reserved_sms`. */
  bool beside_coarse;
  int reserved_sms;
};

} // namespace cf::llf
#endif
