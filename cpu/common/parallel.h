/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Loops that several threads share. All engines of the process share one pool of workers, which
 * sleep while there is nothing to do; only where frames come back to back does one of them stay
 * awake in between, as long as no other thread wants its processor. A loop never waits for a worker
 * to come: its caller runs what nobody else has taken, so a busy machine, or one that allows no
 * more threads, only means that fewer take part.
 */
#pragma once

/* Runs items first .. end - 1 of a loop. Called by several threads at once, each with items of its
 * own; starts no loop itself. */
typedef void (*CfLoopBody)(void *context, int first, int end);

/* The threads that a state opened with CfOpenOptions.threads = `requested` counts with, >= 1: all
 * processors for 0, and no more than four for each processor, or CF_MAX_THREADS. */
int cf_thread_count(int requested);

#define CF_MAX_THREADS 256 /* that share one loop */

/* Runs items 0 .. count - 1, `grain` at a time, by the calling thread and up to `threads` - 1
 * workers, and returns when all have been run. `threads` is at most CF_MAX_THREADS, `grain` >= 1;
 * body is also called with more items than `grain` where the caller is alone. Callable from any
 * threads at once. */
void cf_parallel_for(int threads, int count, int grain, CfLoopBody body, void *context);

/* With a grain that gives each thread several equal parts of the loop. */
void cf_parallel_evenly(int threads, int count, CfLoopBody body, void *context);

/* The calling thread's number in the loop it runs, 0 .. threads - 1: no two threads of a loop have
 * the same. 0 outside of loops. */
int cf_thread_index(void);
