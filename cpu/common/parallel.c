/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "cpu/common/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include "plan/int_math.h"

/* Loops that can run at the same time; a caller that finds no free one runs its items alone. */
#define LOOPS 32

/* How long a thread spins before it sleeps: longer than between the loops of a frame, shorter than
 * between frames. */
#define SPIN_NS 50000

/* Where frames are closer than this, one worker stays awake in between, as long as nobody else
 * wants its processor: waking a worker takes longer than anything else at the start of a loop. */
#define WATCH_NS 2000000

/* Workers that each worker wakes when it joins a loop with room left, so that waking many takes few
 * steps. */
#define WAKE_FAN 3

/* Parts per thread of a loop whose items take equal time, so that a thread that joins late still
 * finds some. */
#define PARTS_A_THREAD 4

/* Of a worker. Small, since bodies keep their scratch in the memory of the engines. */
#define STACK_BYTES (1 << 20)

#define CACHE_LINE 64

/* Loop.state: the number of workers in the loop, the number of workers that may still join (room),
 * and flags. */
#define ONE_HELPER 1u
#define ONE_ROOM   (1u << 12)
#define COUNT_MASK 0xfffu
#define WAITED_FOR (1u << 29) /* the caller sleeps until the last worker leaves */
#define OPEN       (1u << 30) /* there may be parts that no thread has taken */
#define TAKEN      (1u << 31) /* the loop belongs to a caller */

/* A loop. Workers may read `state` at any time, and the other members between joining and leaving:
 * the caller does not return before all workers have left. */
typedef struct {
  _Alignas(CACHE_LINE) atomic_uint state;
  int threads, count, grain, parts;
  CfLoopBody body;
  void *context;
  _Alignas(CACHE_LINE) atomic_int next; /* part to be taken next */
} Loop;

static struct {
  Loop loop[LOOPS];
  _Alignas(CACHE_LINE) atomic_uint published; /* number of loops published so far */
  atomic_int processors;                      /* available when the last engine was opened */
  atomic_int workers;                         /* number of threads in `thread` */
  atomic_int helping;                         /* workers that run a loop */
  atomic_int searching;                       /* workers that are awake and look for a loop */
  atomic_int parked;                          /* workers that sleep */
  atomic_bool refused;                        /* the system refused to start another thread */
  atomic_bool watched;                        /* a worker is in watch() */
  atomic_bool frequent;                       /* the last pause between frames was short */
  _Atomic int64_t ended_ns;                   /* when the last loop ended */
  atomic_bool has_key;
  pthread_key_t index_key; /* cf_thread_index() of workers */
  bool ending;
  pthread_mutex_t mutex; /* guards `thread`, `ending`, and the conditions below */
  pthread_cond_t wake;   /* a loop was published, or the pool ends */
  pthread_cond_t left;   /* the last worker left a loop whose caller sleeps */
  pthread_t thread[CF_MAX_THREADS];
} pool = {.mutex = PTHREAD_MUTEX_INITIALIZER,
          .wake = PTHREAD_COND_INITIALIZER,
          .left = PTHREAD_COND_INITIALIZER};

/* False where the system has no memory for it, which a thread-local variable of a library that was
 * opened at run time would answer by ending the program. Cannot fail a second time. */
static bool set_thread_index(int index)
{
  return pthread_setspecific(pool.index_key, (void *)(intptr_t)index) == 0;
}

static int helpers(unsigned state)
{
  return (int)(state & COUNT_MASK);
}

static int room(unsigned state)
{
  return state & OPEN ? (int)(state / ONE_ROOM & COUNT_MASK) : 0;
}

/* ---- Spinning ---- */

static void relax(void)
{
  for (int i = 0; i < 8; i++) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
  }
}

static int64_t now_ns(void)
{
  struct timespec now;

  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Whether the bits `mask` of `word` differ from `was` within SPIN_NS. */
static bool changes_soon(const atomic_uint *word, unsigned mask, unsigned was)
{
  for (const int64_t end = now_ns() + SPIN_NS; now_ns() < end; relax()) {
    if ((atomic_load(word) & mask) != was)
      return true;
  }
  return false;
}

/* ---- Running a loop ---- */

static void run_parts(Loop *loop)
{
  for (int part; (part = atomic_fetch_add(&loop->next, 1)) < loop->parts;) {
    const int first = part * loop->grain;

    loop->body(loop->context, first, first + cf_min(loop->grain, loop->count - first));
  }
  atomic_fetch_and(&loop->state, ~OPEN);
}

/* Wakes up to WAKE_FAN sleeping workers where `wanted` more than those that search are needed. */
static void wake(int wanted)
{
  const int count =
      cf_min(WAKE_FAN, cf_min(wanted - atomic_load(&pool.searching), atomic_load(&pool.parked)));

  if (count <= 0)
    return;
  pthread_mutex_lock(&pool.mutex);
  /* A worker that is about to sleep holds the mutex from its last look at the loops until it waits:
   * after this the signal reaches it. */
  pthread_mutex_unlock(&pool.mutex);
  for (int i = 0; i < count; i++)
    pthread_cond_signal(&pool.wake);
}

/* Joins the loop; false where there is no room. */
static bool enter(Loop *loop)
{
  unsigned state = atomic_load(&loop->state);

  do {
    if (room(state) == 0)
      return false;
  } while (!atomic_compare_exchange_weak(&loop->state, &state, state - ONE_ROOM + ONE_HELPER));
  set_thread_index(loop->threads - room(state));
  atomic_fetch_add(&pool.helping, 1);
  return true;
}

static void leave(Loop *loop)
{
  /* Before the worker leaves, so that a caller that has seen all workers leave finds them idle for
   * its next loop. */
  atomic_fetch_sub(&pool.helping, 1);

  const unsigned before = atomic_fetch_sub(&loop->state, ONE_HELPER);
  if (helpers(before) == 1 && before & WAITED_FOR) {
    pthread_mutex_lock(&pool.mutex);
    pthread_cond_broadcast(&pool.left);
    pthread_mutex_unlock(&pool.mutex);
  }
}

static void wait_for_helpers(Loop *loop)
{
  while (helpers(atomic_load(&loop->state)) > 0) {
    const unsigned state = atomic_load(&loop->state);

    if (changes_soon(&loop->state, COUNT_MASK, state & COUNT_MASK))
      continue;
    atomic_fetch_or(&loop->state, WAITED_FOR);
    pthread_mutex_lock(&pool.mutex);
    while (helpers(atomic_load(&loop->state)) > 0)
      pthread_cond_wait(&pool.left, &pool.mutex);
    pthread_mutex_unlock(&pool.mutex);
  }
}

/* ---- Workers ---- */

/* The loop with room that the fewest workers are in, or NULL. */
static Loop *neediest_loop(void)
{
  Loop *found = NULL;
  int fewest = CF_MAX_THREADS;

  for (int i = 0; i < LOOPS; i++) {
    const unsigned state = atomic_load(&pool.loop[i].state);

    if (room(state) > 0 && helpers(state) < fewest) {
      found = &pool.loop[i];
      fewest = helpers(state);
    }
  }
  return found;
}

/* Runs loops as long as there are any; returns whether there were any. */
static bool help(void)
{
  bool helped = false;

  for (Loop *loop; (loop = neediest_loop()) != NULL;) {
    if (!enter(loop))
      continue;
    wake(room(atomic_load(&loop->state)));
    run_parts(loop);
    leave(loop);
    helped = true;
  }
  return helped;
}

/* Whether a loop is published within WATCH_NS, or has been since `seen`. Gives up once the
 * processor was given to another thread. */
static bool watch(unsigned seen)
{
  int64_t now = now_ns(), before = now;

  for (const int64_t end = now + WATCH_NS; now < end && now - before < SPIN_NS; now = now_ns()) {
    if (atomic_load(&pool.published) != seen)
      return true;
    before = now;
    sched_yield();
  }
  return false;
}

/* Whether a loop is published soon, or has been since `seen`. */
static bool search(unsigned seen)
{
  bool found;

  atomic_fetch_add(&pool.searching, 1);
  found = changes_soon(&pool.published, ~0u, seen);
  if (!found && atomic_load(&pool.frequent) && !atomic_exchange(&pool.watched, true)) {
    found = watch(seen);
    atomic_store(&pool.watched, false);
  }
  atomic_fetch_sub(&pool.searching, 1);
  return found;
}

/* Sleeps until there may be a loop; false when the pool ends. */
static bool park(void)
{
  bool going_on;

  pthread_mutex_lock(&pool.mutex);
  atomic_fetch_add(&pool.parked, 1);
  /* A caller that publishes a loop after this look sees the parked worker, and wakes it. */
  if (!pool.ending && !neediest_loop())
    pthread_cond_wait(&pool.wake, &pool.mutex);
  atomic_fetch_sub(&pool.parked, 1);
  going_on = !pool.ending;
  pthread_mutex_unlock(&pool.mutex);
  return going_on;
}

static void *work(void *unused)
{
  bool going_on = set_thread_index(1);

  while (going_on) {
    const unsigned seen = atomic_load(&pool.published);

    if (!help() || !search(seen))
      going_on = park();
  }
  return unused;
}

static bool start_worker(pthread_t *thread)
{
  sigset_t all, before;
  pthread_attr_t attributes;
  bool good;

  if (pthread_attr_init(&attributes))
    return false;
  pthread_attr_setstacksize(&attributes, STACK_BYTES);
  /* Signals are handled by the program's own threads. */
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  good = pthread_create(thread, &attributes, work, NULL) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
#ifdef __linux__
  if (good)
    pthread_setname_np(*thread, "cudafilters-cpu");
#endif
  return good;
}

/* ---- The life of the pool ---- */

static void before_fork(void)
{
  pthread_mutex_lock(&pool.mutex);
}

static void after_fork(void)
{
  pthread_mutex_unlock(&pool.mutex);
}

/* The child has one thread only; its first loop starts workers again. */
static void after_fork_in_child(void)
{
  for (int i = 0; i < LOOPS; i++)
    atomic_store(&pool.loop[i].state, 0);
  atomic_store(&pool.workers, 0);
  atomic_store(&pool.helping, 0);
  atomic_store(&pool.searching, 0);
  atomic_store(&pool.parked, 0);
  atomic_store(&pool.watched, false);
  pthread_mutex_init(&pool.mutex, NULL);
  pthread_cond_init(&pool.wake, NULL);
  pthread_cond_init(&pool.left, NULL);
}

static void prepare_pool(void)
{
  pthread_atfork(before_fork, after_fork, after_fork_in_child);
  atomic_store(&pool.has_key, pthread_key_create(&pool.index_key, NULL) == 0);
}

/* At the end of the process, and before the library is unloaded, whose code the workers run. */
__attribute__((destructor)) static void end_workers(void)
{
  pthread_mutex_lock(&pool.mutex);
  pool.ending = true;
  pthread_cond_broadcast(&pool.wake);
  pthread_mutex_unlock(&pool.mutex);
  for (int i = 0; i < atomic_load(&pool.workers); i++)
    pthread_join(pool.thread[i], NULL);
  if (atomic_exchange(&pool.has_key, false))
    pthread_key_delete(pool.index_key);
}

static int processors(void)
{
#ifdef __linux__
  cpu_set_t allowed;

  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
    return CPU_COUNT(&allowed);
#endif
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 1 ? (int)online : 1;
}

/* Whether a loop that wants `wanted` workers finds fewer idle ones, and more may be started: as
 * many as it wants, or one per processor. */
static bool workers_lack(int wanted)
{
  const int limit = cf_max(wanted, atomic_load(&pool.processors) - 1);

  return atomic_load(&pool.workers) < cf_min(limit, atomic_load(&pool.helping) + wanted) &&
         !atomic_load(&pool.refused);
}

static void add_workers(int wanted)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;

  pthread_once(&once, prepare_pool);
  pthread_mutex_lock(&pool.mutex);
  while (atomic_load(&pool.has_key) && workers_lack(wanted) && !pool.ending) {
    const int count = atomic_load(&pool.workers);

    if (!start_worker(&pool.thread[count])) {
      atomic_store(&pool.refused, true);
      break;
    }
    atomic_store(&pool.workers, count + 1);
  }
  pthread_mutex_unlock(&pool.mutex);
}

/* ---- Loops ---- */

int cf_thread_count(int requested)
{
  const int available = processors();

  atomic_store(&pool.processors, cf_min(available, CF_MAX_THREADS));
  /* A thread that the system refused before may be allowed by now. */
  atomic_store(&pool.refused, false);
  return cf_min(CF_MAX_THREADS, requested > 0 ? cf_min(requested, 4 * available) : available);
}

int cf_thread_index(void)
{
  return atomic_load(&pool.has_key) ? (int)(intptr_t)pthread_getspecific(pool.index_key) : 0;
}

/* A pause below SPIN_NS is one within a frame, and says nothing about the time between frames. */
static void note_pause(void)
{
  const int64_t pause = now_ns() - atomic_load(&pool.ended_ns);

  if (pause > SPIN_NS)
    atomic_store(&pool.frequent, pause < WATCH_NS);
}

static Loop *take_loop(void)
{
  for (int i = 0; i < LOOPS; i++) {
    unsigned nobody = 0;

    if (atomic_compare_exchange_strong(&pool.loop[i].state, &nobody, TAKEN))
      return &pool.loop[i];
  }
  return NULL;
}

void cf_parallel_for(int threads, int count, int grain, CfLoopBody body, void *context)
{
  const int parts = count / grain + (count % grain > 0), team = cf_min(threads, parts);
  Loop *loop;

  if (count <= 0)
    return;
  if (team <= 1 || !(loop = take_loop())) {
    body(context, 0, count);
    return;
  }
  loop->threads = team;
  loop->count = count;
  loop->grain = grain;
  loop->parts = parts;
  loop->body = body;
  loop->context = context;
  atomic_store(&loop->next, 0);
  atomic_store(&loop->state, TAKEN | OPEN | (unsigned)(team - 1) * ONE_ROOM);
  atomic_fetch_add(&pool.published, 1);
  note_pause();
  if (workers_lack(team - 1))
    add_workers(team - 1);
  /* A worker that searches wakes the others sooner than the caller, who has to start working. */
  if (atomic_load(&pool.searching) == 0)
    wake(team - 1);
  run_parts(loop);
  wait_for_helpers(loop);
  atomic_store(&loop->state, 0);
  atomic_store(&pool.ended_ns, now_ns());
}

void cf_parallel_evenly(int threads, int count, CfLoopBody body, void *context)
{
  cf_parallel_for(threads, count, cf_max(1, count / (PARTS_A_THREAD * threads)), body, context);
}
