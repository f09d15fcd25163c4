/* A small pool of threads. Any number of callers may run a parallel-for at the same time: each works on its
 * own tasks, and a free worker joins the one with the fewest helpers. */
#include <stdatomic.h>
#include <stdlib.h>

#include "capball/exec.h"
#include "base/fail.h"
#include "base/system_thread.h"

/* One parallel-for, on its caller's stack. */
typedef struct job {
  void (*task)(void *arg, size_t i);
  void *arg;
  size_t tasks;
  atomic_size_t next;
  /* guarded by the pool's lock */
  size_t helpers;
  struct job *after;
} job;

struct cpb_pool {
  cpb_exec exec;
  size_t workers;
  _Atomic int64_t owner; /* the process that owns these threads; -pid while it restarts them after a fork */
  cpb_mutex lock;
  cpb_condition wake, left;
  /* guarded by lock */
  job *jobs;
  int closing;
  cpb_thread threads[]; /* of the workers */
};

static void take_tasks(job *of) {
  for (;;) {
    size_t i = atomic_fetch_add_explicit(&of->next, 1, memory_order_relaxed);
    if (i >= of->tasks) return;
    of->task(of->arg, i);
  }
}

/* The job with the fewest helpers among those with tasks left. */
static job *job_in_need(const cpb_pool *pool) {
  job *found = NULL;
  for (job *j = pool->jobs; j != NULL; j = j->after)
    if (atomic_load_explicit(&j->next, memory_order_relaxed) < j->tasks &&
        (found == NULL || j->helpers < found->helpers))
      found = j;
  return found;
}

static void *work(void *argument) {
  cpb_pool *pool = argument;
  cpb_mutex_lock(&pool->lock);
  while (!pool->closing) {
    job *of = job_in_need(pool);
    if (of == NULL) {
      cpb_condition_wait(&pool->wake, &pool->lock);
      continue;
    }
    of->helpers++;
    cpb_mutex_unlock(&pool->lock);
    take_tasks(of);
    cpb_mutex_lock(&pool->lock);
    if (--of->helpers == 0) cpb_condition_wake_all(&pool->left);
  }
  cpb_mutex_unlock(&pool->lock);
  return NULL;
}

/* Starts as many workers as the system allows, at most the number requested. */
static void start_workers(cpb_pool *pool) {
  cpb_mutex_init(&pool->lock);
  cpb_condition_init(&pool->wake);
  cpb_condition_init(&pool->left);
  pool->jobs = NULL;
  for (pool->workers = 0; pool->workers + 1 < pool->exec.threads; pool->workers++)
    if (!cpb_thread_start(&pool->threads[pool->workers], work, pool)) return;
}

/* A fork does not copy the workers, and may leave a lock held forever: the first call of the child starts its own. */
static void own_workers(cpb_pool *pool) {
  int64_t me = cpb_sys_process(), owner = atomic_load(&pool->owner);
  if (owner == me) return;
  if (owner != -me && atomic_compare_exchange_strong(&pool->owner, &owner, -me)) {
    start_workers(pool);
    atomic_store(&pool->owner, me);
  }
  while (atomic_load(&pool->owner) != me) cpb_sys_yield();
}

/* Once all tasks are taken: lets nobody else join, and waits for the helpers. */
static void leave(cpb_pool *pool, job *of) {
  cpb_mutex_lock(&pool->lock);
  job **at = &pool->jobs;
  while (*at != of) at = &(*at)->after;
  *at = of->after;
  while (of->helpers != 0) cpb_condition_wait(&pool->left, &pool->lock);
  cpb_mutex_unlock(&pool->lock);
}

static void run(void *argument, size_t tasks, void (*task)(void *arg, size_t i), void *arg) {
  cpb_pool *pool = argument;
  job mine = {.task = task, .arg = arg, .tasks = tasks};
  if (tasks <= 1 || pool->exec.threads == 1) {
    take_tasks(&mine);
    return;
  }
  own_workers(pool);
  cpb_mutex_lock(&pool->lock);
  mine.after = pool->jobs;
  pool->jobs = &mine;
  cpb_condition_wake_all(&pool->wake);
  cpb_mutex_unlock(&pool->lock);
  take_tasks(&mine);
  leave(pool, &mine);
}

cpb_status cpb_pool_new(size_t threads, cpb_pool **out, cpb_error *error) {
  enum { MOST = 1024 };
  if (out == NULL) return cpb_fail_missing(error, "pool");
  *out = NULL;
  if (threads > MOST)
    return cpb_fail_count(error, "threads", threads, "a pool takes at most %d threads", MOST);
  if (threads == 0) threads = cpb_sys_processors();
  cpb_pool *pool = calloc(1, sizeof *pool + threads * sizeof *pool->threads);
  if (pool == NULL) return cpb_fail_memory(error, "a pool of %zu threads", threads);
  pool->exec = (cpb_exec){.size = sizeof(cpb_exec), .run = run, .pool = pool, .threads = threads};
  start_workers(pool);
  atomic_init(&pool->owner, cpb_sys_process());
  if (pool->workers + 1 < threads) {
    size_t got = pool->workers;
    cpb_pool_free(pool);
    return cpb_fail(error, CPB_WHY_THREADS, "threads", "the system gave %zu of %zu threads", got + 1,
                    threads);
  }
  *out = pool;
  return CPB_OK;
}

static void end_workers(cpb_pool *pool) {
  cpb_mutex_lock(&pool->lock);
  pool->closing = 1;
  cpb_condition_wake_all(&pool->wake);
  cpb_mutex_unlock(&pool->lock);
  for (size_t i = 0; i < pool->workers; i++) cpb_thread_join(&pool->threads[i]);
  cpb_condition_free(&pool->left);
  cpb_condition_free(&pool->wake);
  cpb_mutex_free(&pool->lock);
}

void cpb_pool_free(cpb_pool *pool) {
  if (pool == NULL) return;
  if (atomic_load(&pool->owner) == cpb_sys_process())
    end_workers(pool); /* otherwise they stayed with the parent */
  free(pool);
}

const cpb_exec *cpb_pool_exec(const cpb_pool *pool) { return pool == NULL ? NULL : &pool->exec; }
