/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Programmatic dependent launch (sm_90 and newer; elsewhere these functions do nothing, and the
 * grids of a stream run one after the other). A grid launched with the attribute (launch.cuh) may
 * start as soon as all CTAs of the stream's previous grid have triggered or ended.
 *
 * What may be read when:
 * - after pdl_wait(): everything that all earlier grids of the stream wrote;
 * - without pdl_wait(): what was written before a release fence that every CTA of the previous grid
 *   issued before its trigger (PTX ISA, griddepcontrol). pdl_wait_then_trigger() is such a trigger.
 *
 * A grid that does not wait may end before earlier grids do. The last grid of a frame therefore
 * waits in at least one CTA.
 */
#pragma once

#include <cuda_runtime.h>

namespace cf
{

/* Lets the next grid start once all CTAs of this one have called this or ended. The next grid must
 * call pdl_wait() before it reads results of this one. */
__device__ inline void pdl_trigger()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

/* Waits until all earlier grids of the stream have ended and their writes are visible. */
__device__ inline void pdl_wait()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}

/* The usual start of a kernel: the next grid is launched early, and waits at its own start. */
__device__ inline void pdl_trigger_then_wait()
{
  pdl_trigger();
  pdl_wait();
}

/* One thread's trigger counts for its CTA. */
__device__ inline void release_then_trigger()
{
  if (threadIdx.x + threadIdx.y + threadIdx.z == 0) {
    __threadfence();
    pdl_trigger();
  }
}

/* Waits for the earlier grids, and only then lets the next one start: that one may read the results
 * of the earlier grids without a pdl_wait() of its own. They are released to it by the fence of one
 * thread per CTA, which has itself waited before. */
__device__ inline void pdl_wait_then_trigger()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  pdl_wait();
  release_then_trigger();
#endif
}

/* Lets the next grid start and releases to it what was released to this one: for grids between
 * one with pdl_wait_then_trigger() and those that read without waiting. */
__device__ inline void pdl_relay_then_trigger()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  release_then_trigger();
#endif
}

} // namespace cf
