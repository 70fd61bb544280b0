/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Pictures in host memory whose rows are page-locked.
 */
#pragma once

#include "ladder.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CF_MOST_LOCKED 64

/* Zeroed before its first use. */
typedef struct {
  void *rows[CF_MOST_LOCKED];
  int count;
} CfLocked;

/* Page-locks both pictures of a frame where that has not been done; a cudaError_t. */
int cf_lock_frame(CfLocked *locked, const CfLadderFrame *frame);

/* Gives all pictures back, which must still be there. */
void cf_locked_clear(CfLocked *locked);

#ifdef __cplusplus
}
#endif
