/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A CUDA runtime that runs no kernel, linked in the place of cudart_static: the host code of cuda/
 * on it makes all its calls, each of which can be made to fail. Memory is the host's.
 */
#pragma once

#include <stdbool.h>

/* Calls are counted from now on, and the one of that number fails with cudaErrorMemoryAllocation;
 * 0: none. Calls that only free do not count. */
void fake_runtime_fail(int call);

int fake_runtime_calls(void);
const char *fake_runtime_failed(void);

/* How often a kernel's carveout has been set. */
int fake_runtime_carveouts(void);

/* Memory, pools, streams and events that were made and not freed. */
int fake_runtime_objects(void);

/* Whether the last error is still there, for somebody who did not make the call to find. */
bool fake_runtime_has_error(void);

/* The generation of the GPU and of the code for it, such as 90. */
void fake_runtime_set_code(int code);
