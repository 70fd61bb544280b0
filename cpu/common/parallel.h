/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Loops that several threads share. All engines of the process share one pool of workers. Workers
 * sleep while there is nothing to do; only where frames come back to back does one stay awake in
 * between, as long as no other thread wants its processor. A loop never waits for a worker to join:
 * its caller runs the parts that nobody else has taken, so on a busy machine, or where the system
 * allows no more threads, fewer threads take part.
 */
#pragma once

/* Runs items first..end - 1 of a loop. Called by several threads at once, each with items of its
 * own. Must not start a loop. */
typedef void (*CfLoopBody)(void *context, int first, int end);

/* The number of threads, >= 1, for a state that is opened with CfOpenOptions.threads = `requested`:
 * for 0 all processors, else at most four per processor; at most CF_MAX_THREADS. */
int cf_thread_count(int requested);

#define CF_MAX_THREADS 256 /* of one loop */

/* Runs items 0..count - 1 in parts of `grain` items, on the calling thread and up to `threads` - 1
 * workers; returns when all items have been run. `threads` is at most CF_MAX_THREADS, `grain` >= 1.
 * Where the caller is alone, `body` gets all items at once. Callable from any threads at the same
 * time. */
void cf_parallel_for(int threads, int count, int grain, CfLoopBody body, void *context);

/* The same, with a grain that gives each thread several equal parts. */
void cf_parallel_evenly(int threads, int count, CfLoopBody body, void *context);

/* The calling thread's index in the loop that it runs, 0..threads - 1, different for all threads of
 * a loop; 0 outside of loops. */
int cf_thread_index(void);
