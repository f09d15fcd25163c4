/* A small pool of POSIX threads that runs one parallel-for at a time. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "capball/exec.h"
#include "core/fail.h"

struct cpb_pool {
  cpb_exec exec;
  size_t workers;
  pthread_t *threads;
  pthread_mutex_t lock;
  pthread_cond_t wake, idle;
  /* guarded by lock */
  unsigned long round;
  size_t busy;
  int closing;
  /* the job of this round; written before the round starts */
  void (*task)(void *arg, size_t i);
  void *arg;
  size_t tasks;
  atomic_size_t next;
};

static void take_tasks(cpb_pool *pool) {
  for (;;) {
    size_t i = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed);
    if (i >= pool->tasks) return;
    pool->task(pool->arg, i);
  }
}

static void *work(void *argument) {
  cpb_pool *pool = argument;
  unsigned long seen = 0;
  pthread_mutex_lock(&pool->lock);
  for (;;) {
    while (pool->round == seen && !pool->closing) pthread_cond_wait(&pool->wake, &pool->lock);
    if (pool->closing) break;
    seen = pool->round;
    pthread_mutex_unlock(&pool->lock);
    take_tasks(pool);
    pthread_mutex_lock(&pool->lock);
    if (--pool->busy == 0) pthread_cond_signal(&pool->idle);
  }
  pthread_mutex_unlock(&pool->lock);
  return NULL;
}

static void run(void *argument, size_t tasks, void (*task)(void *arg, size_t i), void *arg) {
  cpb_pool *pool = argument;
  if (tasks == 0) return;
  if (tasks == 1 || pool->workers == 0) {
    for (size_t i = 0; i < tasks; i++) task(arg, i);
    return;
  }
  pthread_mutex_lock(&pool->lock);
  pool->task = task;
  pool->arg = arg;
  pool->tasks = tasks;
  atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
  pool->busy = pool->workers;
  pool->round++;
  pthread_cond_broadcast(&pool->wake);
  pthread_mutex_unlock(&pool->lock);
  take_tasks(pool);
  pthread_mutex_lock(&pool->lock);
  while (pool->busy != 0) pthread_cond_wait(&pool->idle, &pool->lock);
  pthread_mutex_unlock(&pool->lock);
}

static size_t processors(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return (size_t)CPU_COUNT(&set);
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? (size_t)online : 1;
}

cpb_status cpb_pool_new(size_t threads, cpb_pool **out, cpb_error *error) {
  enum { MOST = 1024 };
  if (out == NULL) return cpb_fail_missing(error, "pool");
  *out = NULL;
  if (threads > MOST) return cpb_fail_count(error, "pool", threads, "a pool takes at most %d threads", MOST);
  if (threads == 0) threads = processors();
  cpb_pool *pool = calloc(1, sizeof *pool);
  pthread_t *handles = calloc(threads, sizeof *handles);
  if (pool == NULL || handles == NULL) {
    free(pool);
    free(handles);
    return cpb_fail_memory(error, "a pool of %zu threads", threads);
  }
  pool->threads = handles;
  pthread_mutex_init(&pool->lock, NULL);
  pthread_cond_init(&pool->wake, NULL);
  pthread_cond_init(&pool->idle, NULL);
  pool->exec = (cpb_exec){.size = sizeof(cpb_exec), .run = run, .pool = pool, .threads = threads};
  for (; pool->workers + 1 < threads; pool->workers++)
    if (pthread_create(&handles[pool->workers], NULL, work, pool) != 0) {
      size_t got = pool->workers;
      cpb_pool_free(pool);
      return cpb_fail(error, CPB_WHY_THREADS, "", "the system gave %zu of %zu threads", got + 1, threads);
    }
  *out = pool;
  return CPB_OK;
}

void cpb_pool_free(cpb_pool *pool) {
  if (pool == NULL) return;
  pthread_mutex_lock(&pool->lock);
  pool->closing = 1;
  pthread_cond_broadcast(&pool->wake);
  pthread_mutex_unlock(&pool->lock);
  for (size_t i = 0; i < pool->workers; i++) pthread_join(pool->threads[i], NULL);
  pthread_cond_destroy(&pool->idle);
  pthread_cond_destroy(&pool->wake);
  pthread_mutex_destroy(&pool->lock);
  free(pool->threads);
  free(pool);
}

const cpb_exec *cpb_pool_exec(const cpb_pool *pool) { return pool == NULL ? NULL : &pool->exec; }
