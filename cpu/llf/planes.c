/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The loops of the fast and the sampled filter, over tasks of rows (planes_rows.h).
 */
#include "cpu/common/parallel.h"
#include "cpu/llf/planes_rows.h"
#include "plan/int_math.h"

/* Rows of level 1 per task: even, at least 6. Smaller tasks load more rows of the picture twice;
 * larger ones are shared out less evenly. */
#define ROWS_A_TASK 8

/* Images with fewer pixels are filtered by one thread: waking others takes longer. */
#define SERIAL_PIXELS 32768

/* ---- Two levels in one loop ---- */

/* A step that produces rows of level 1, and one that consumes them while they are still in a cache:
 * level 2 on the way down, the picture on the way up. Either may be missing. */
typedef struct {
  void (*produce)(const Run *run, Worker *worker, int from, int to);
  void (*consume)(const Run *run, Worker *worker, int from, int to);
  int step, reach; /* result i of `consume` reads rows step * i - reach .. step * i + reach */
  int results;     /* results of `consume`: i = 0..results - 1 */
} Steps;

static int tasks(const Run *run)
{
  return (run->pyramid->height[1] + ROWS_A_TASK - 1) / ROWS_A_TASK;
}

/* The first result that reads no row of the task before; end_of_own() is the first that reads a row
 * of the task after. */
static int first_own(const Steps *steps, int task)
{
  return task == 0 ? 0 : (task * ROWS_A_TASK + steps->reach + steps->step - 1) / steps->step;
}

static int end_of_own(const Run *run, const Steps *steps, int task)
{
  const int own = ((task + 1) * ROWS_A_TASK - steps->reach - 1) / steps->step + 1;

  return task == tasks(run) - 1 || own > steps->results ? steps->results : own;
}

/* Whether the other task at the border between `task` and the next has ended before this one. The
 * atomic makes the rows of that task visible to this one (release/acquire). */
static bool is_later(const Run *run, int task)
{
  return atomic_fetch_add(&run->planes->sides[task], 1) == 1;
}

/* Results that read rows of two tasks are computed by the one that ends later: no thread waits. */
static void run_task(const Run *run, const Steps *steps, int task)
{
  Worker *worker = cf_llf_start_worker(run);
  const int from = task * ROWS_A_TASK, to = from + ROWS_A_TASK, end = run->pyramid->height[1];

  if (steps->produce)
    steps->produce(run, worker, from, cf_min(to, end));
  if (!steps->consume)
    return;
  steps->consume(run, worker, first_own(steps, task), end_of_own(run, steps, task));
  if (task > 0 && is_later(run, task - 1))
    steps->consume(run, worker, end_of_own(run, steps, task - 1), first_own(steps, task));
  if (task < tasks(run) - 1 && is_later(run, task))
    steps->consume(run, worker, end_of_own(run, steps, task), first_own(steps, task + 1));
}

static int threads_for(const Run *run, int level)
{
  const CfLlfPyramid *pyramid = run->pyramid;

  return pyramid->width[level] * pyramid->height[level] < SERIAL_PIXELS ? 1 : run->planes->threads;
}

/* The context of a loop: over the tasks of `steps`, or over the rows of `level`. */
typedef struct {
  const Run *run;
  const Steps *steps;
  int level;
} LoopContext;

static void run_tasks(void *context, int first, int end)
{
  const LoopContext *loop = context;

  for (int task = first; task < end; task++)
    run_task(loop->run, loop->steps, task);
}

static void run_steps(const Run *run, const Steps *steps)
{
  for (int task = 0; task < tasks(run); task++)
    atomic_store(&run->planes->sides[task], 0);
  cf_parallel_for(threads_for(run, 0), tasks(run), 1, run_tasks, &(LoopContext){run, steps, 0});
}

/* ---- An image ---- */

static void reduce_rows(const Run *run, Worker *worker, int from, int to)
{
  for (int y = from; y < to; y++)
    cf_llf_reduce_row(run, worker, 2, y);
}

/* Computes rows from..to - 1 of the differences of level 1; `from` is even. */
static void finish_rows(const Run *run, Worker *worker, int from, int to)
{
  for (int pair = from / 2; pair < (to + 1) / 2; pair++)
    cf_llf_finish_pair(run, worker, 1, pair);
}

static void finish_picture_pairs(const Run *run, Worker *worker, int from, int to)
{
  for (int pair = from; pair < to; pair++)
    cf_llf_finish_pair(run, worker, 0, pair);
}

static void reduce_level(void *context, int first, int end)
{
  const LoopContext *loop = context;

  for (int y = first; y < end; y++)
    cf_llf_reduce_row(loop->run, &loop->run->planes->worker[cf_thread_index()], loop->level, y);
}

static void reduce_pyramids(const Run *run)
{
  const CfLlfPyramid *pyramid = run->pyramid;
  const bool more = pyramid->images > 2;
  const Steps steps = {.produce = cf_llf_analyse_rows,
                       .consume = more ? reduce_rows : NULL,
                       .step = 2,
                       .reach = 2,
                       .results = more ? pyramid->height[2] : 0};

  run_steps(run, &steps);
  for (int level = 3; level < pyramid->images; level++)
    cf_parallel_evenly(threads_for(run, level - 1), pyramid->height[level], reduce_level,
                       &(LoopContext){run, NULL, level});
}

static void finish_level(void *context, int first, int end)
{
  const LoopContext *loop = context;

  for (int pair = first; pair < end; pair++)
    cf_llf_finish_pair(loop->run, cf_llf_start_worker(loop->run), loop->level, pair);
}

static void collapse_pyramid(const Run *run)
{
  const CfLlfPyramid *pyramid = run->pyramid;
  const int top = pyramid->images - 1;
  const Steps steps = {.produce = top > 1 ? finish_rows : NULL,
                       .consume = finish_picture_pairs,
                       .step = 1,
                       .reach = 1,
                       .results = pyramid->height[1]};

  for (int y = 0; y < pyramid->height[top]; y++)
    cf_llf_start_difference(run, y);
  for (int level = top - 1; level > 1; level--)
    cf_parallel_for(threads_for(run, level), pyramid->height[level + 1], 8, finish_level,
                    &(LoopContext){run, NULL, level});
  run_steps(run, &steps);
}

void cf_llf_planes_run(CfLlfPlanes *planes, const CfLlfTables *tables, const CfLlfPyramid *pyramid,
                       const CfLlfWeights *weights, const CfLlfImage *image)
{
  Run run = {
      .planes = planes, .tables = tables, .pyramid = pyramid, .weights = weights, .image = image};

  for (int group = 0; group < tables->groups; group++) {
    run.group = &tables->group[group];
    run.first_group = group == 0;
    run.last_group = group == tables->groups - 1;
    reduce_pyramids(&run);
    collapse_pyramid(&run);
  }
}
