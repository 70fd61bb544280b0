/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Loops shared among threads: every item runs once, whatever the number of threads, of callers, and
 * of threads that the system allows. The linker replaces pthread_create by __wrap_pthread_create.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"
#include "cpu/common/parallel.h"

#define ITEMS 1000

/* Threads that the system still allows, and threads that were requested. */
static atomic_int allowed = CF_MAX_THREADS, asked;

int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument)
{
  atomic_fetch_add(&asked, 1);
  return atomic_fetch_sub(&allowed, 1) > 0
             ? __real_pthread_create(thread, attributes, start, argument)
             : EAGAIN;
}

typedef struct {
  int threads, count;
  atomic_int runs[ITEMS];             /* per item */
  atomic_bool inside[CF_MAX_THREADS]; /* per index: a thread with it is in the loop */
  atomic_int wrong;                   /* thread indices that were too large, or in use */
} Loop;

static void body(void *context, int first, int end)
{
  Loop *loop = context;
  const int self = cf_thread_index();

  if (self >= loop->threads || atomic_exchange(&loop->inside[self], true)) {
    atomic_fetch_add(&loop->wrong, 1);
    return;
  }
  for (int i = first; i < end; i++)
    atomic_fetch_add(&loop->runs[i], 1);
  atomic_store(&loop->inside[self], false);
}

/* The number of items that did not run exactly once, and of wrong thread indices. */
static int mistakes(int threads, int count, int grain)
{
  Loop *loop = calloc(1, sizeof *loop);
  int wrong;

  loop->threads = threads;
  cf_parallel_for(threads, count, grain, body, loop);
  wrong = atomic_load(&loop->wrong);
  for (int i = 0; i < ITEMS; i++)
    wrong += atomic_load(&loop->runs[i]) != (i < count);
  free(loop);
  return wrong;
}

static void every_item_once(CfTest *test)
{
  static const int threads[] = {1, 2, 3, 7, 40, CF_MAX_THREADS};
  static const int counts[] = {0, 1, 2, 17, ITEMS};
  static const int grains[] = {1, 3, 64, 2000};

  for (int t = 0; t < 6; t++)
    for (int c = 0; c < 5; c++)
      for (int g = 0; g < 4; g++) {
        const int wrong = mistakes(threads[t], counts[c], grains[g]);

        CF_EXPECT(test, wrong == 0, "%d threads, %d items, grain %d: %d mistakes", threads[t],
                  counts[c], grains[g], wrong);
      }
}

static void *call_often(void *wrong)
{
  for (int i = 0; i < 500; i++)
    atomic_fetch_add((atomic_int *)wrong, mistakes(1 + i % 5, ITEMS - i, 1 + i % 50));
  return NULL;
}

/* More callers than the pool has loops. */
static void many_callers(CfTest *test)
{
  pthread_t caller[48];
  atomic_int wrong = 0;

  for (int i = 0; i < 48; i++)
    CF_EXPECT(test, __real_pthread_create(&caller[i], NULL, call_often, &wrong) == 0, "thread %d",
              i);
  for (int i = 0; i < 48; i++)
    pthread_join(caller[i], NULL);
  CF_EXPECT(test, atomic_load(&wrong) == 0, "%d mistakes", atomic_load(&wrong));
}

static void slow_helpers(void *items, int first, int end)
{
  const int index = cf_thread_index();

  nanosleep(&(struct timespec){.tv_nsec = index > 0 ? 50000000 : 5000000}, NULL);
  atomic_fetch_add((atomic_int *)items + (index > 0), end - first);
}

/* After any number of loops another thread takes part, and the caller waits for what it took. */
static void callers_wait_for_helpers(CfTest *test)
{
  atomic_int items[2] = {0};

  for (int i = 0; i < 100; i++)
    mistakes(2, ITEMS, 1);
  cf_parallel_for(2, 60, 1, slow_helpers, items);
  CF_EXPECT(test, items[1] > 0 && items[0] + items[1] == 60, "%d items by callers, %d by helpers",
            items[0], items[1]);
}

/* Runs `check` in a process of its own, whose pool is empty, for a limited time. */
static int in_child(int (*check)(void))
{
  const pid_t child = fork();
  int status = -1;

  if (child == 0) {
    alarm(60);
    _exit(check());
  }
  waitpid(child, &status, 0);
  return status;
}

static int count_mistakes(void)
{
  return mistakes(8, ITEMS, 1) > 0;
}

static int refused_at_once(void)
{
  cf_thread_count(8);
  atomic_store(&allowed, 0);
  return mistakes(8, ITEMS, 1) > 0;
}

static int refused_later(void)
{
  cf_thread_count(8);
  atomic_store(&allowed, 2);
  return mistakes(8, ITEMS, 1) + mistakes(8, ITEMS, 1) > 0;
}

static int refusals_are_few(void)
{
  cf_thread_count(8);
  atomic_store(&allowed, 0);
  for (int i = 0; i < 100; i++)
    mistakes(8, ITEMS, 1);
  return atomic_load(&asked) > 1;
}

static int threads_are_kept(void)
{
  cf_thread_count(3);
  for (int i = 0; i < 1000; i++)
    mistakes(3, ITEMS, 1);
  return atomic_load(&asked) != 2;
}

static int refusals_end(void)
{
  cf_thread_count(8);
  atomic_store(&allowed, 0);
  mistakes(8, ITEMS, 1);
  atomic_store(&allowed, 8);
  cf_thread_count(8);
  mistakes(8, ITEMS, 1);
  return atomic_load(&asked) < 3;
}

static int signals_are_the_programs(void)
{
  sigset_t after, one;

  mistakes(4, ITEMS, 1);
  pthread_sigmask(SIG_SETMASK, NULL, &after);
  sigemptyset(&one);
  sigaddset(&one, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &one, NULL);
  kill(getpid(), SIGUSR1); /* ends the process if a worker takes it */
  nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  return sigismember(&after, SIGUSR2);
}

static int numbers_are_as_asked(void)
{
  const int count = cf_thread_count(40000);

  return cf_thread_count(1) != 1 || cf_thread_count(3) != 3 || count > CF_MAX_THREADS ||
         count > 4 * sysconf(_SC_NPROCESSORS_ONLN);
}

static int waiting_costs_nothing(void)
{
  const struct timespec pause = {.tv_nsec = 300 * 1000 * 1000};

  mistakes(4, ITEMS, 1);
  nanosleep(&(struct timespec){.tv_nsec = 20 * 1000 * 1000}, NULL);
  const clock_t before = clock();
  nanosleep(&pause, NULL);
  return clock() - before > CLOCKS_PER_SEC / 100;
}

static void work_100_us(void *context, int first, int end)
{
  struct timespec now;

  (void)context;
  for (int i = first; i < end; i++) {
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    for (const long start = now.tv_nsec; labs(now.tv_nsec - start) < 100000;)
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  }
}

/* Frames with 0.8 ms of work, 20 ms apart, should take 40 ms of processor time and little more. */
static int rare_frames_cost_little(void)
{
  const clock_t before = clock();

  for (int frame = 0; frame < 50; frame++) {
    cf_parallel_for(2, 8, 1, work_100_us, NULL);
    nanosleep(&(struct timespec){.tv_nsec = 20 * 1000 * 1000}, NULL);
  }
  return clock() - before > CLOCKS_PER_SEC / 13;
}

/* Each in a process that was forked while the pool had workers. */
static void in_a_forked_process(CfTest *test)
{
  const struct {
    const char *name;
    int (*check)(void);
  } checks[] = {
      {"runs loops", count_mistakes},
      {"runs them where no thread is allowed", refused_at_once},
      {"runs them where two are", refused_later},
      {"does not ask again and again", refusals_are_few},
      {"keeps its threads", threads_are_kept},
      {"asks again for other filters", refusals_end},
      {"leaves signals to the program", signals_are_the_programs},
      {"has the threads that are asked for, within bounds", numbers_are_as_asked},
      {"does not spin while it waits", waiting_costs_nothing},
      {"does not spin between rare frames", rare_frames_cost_little},
  };

  mistakes(4, ITEMS, 1);
  for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
    atomic_store(&allowed, CF_MAX_THREADS);
    atomic_store(&asked, 0);
    const int status = in_child(checks[i].check);
    CF_EXPECT(test, status == 0, "\"%s\": status %#x", checks[i].name, (unsigned)status);
  }
  CF_EXPECT(test, mistakes(4, ITEMS, 1) == 0, "the parent's pool");
}

static const CfTestCase cases[] = {
    {"every-item-once", every_item_once, CF_ONCE},
    {"many-callers", many_callers, CF_ONCE},
    {"callers-wait-for-helpers", callers_wait_for_helpers, CF_ONCE},
    {"in-a-forked-process", in_a_forked_process, CF_ONCE},
    {0},
};

int main(int argc, char **argv)
{
  const CfTestSuite suite = {NULL, cases};

  return cf_test_main(&suite, argc, argv);
}
