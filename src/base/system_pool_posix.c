#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* the processors that a process may use */
#endif
#include "base/system_thread.h"

#if !defined(_WIN32) && !defined(__wasi__)
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

_Static_assert(sizeof(pthread_cond_t) <= sizeof(cpb_condition), "a condition fits");
_Static_assert(sizeof(pthread_t) <= sizeof(cpb_thread), "a thread fits");

static pthread_cond_t *condition_of(cpb_condition *condition) { return (void *)condition->room; }
static pthread_t *thread_of(cpb_thread *thread) { return (void *)thread->room; }

void cpb_condition_init(cpb_condition *condition) { pthread_cond_init(condition_of(condition), NULL); }
void cpb_condition_wait(cpb_condition *condition, cpb_mutex *mutex) {
  pthread_cond_wait(condition_of(condition), (void *)mutex->room);
}
void cpb_condition_wake_all(cpb_condition *condition) { pthread_cond_broadcast(condition_of(condition)); }
void cpb_condition_free(cpb_condition *condition) { pthread_cond_destroy(condition_of(condition)); }

bool cpb_thread_start(cpb_thread *thread, void *(*work)(void *argument), void *argument) {
  return pthread_create(thread_of(thread), NULL, work, argument) == 0;
}
void cpb_thread_join(cpb_thread *thread) { pthread_join(*thread_of(thread), NULL); }
void cpb_sys_yield(void) { sched_yield(); }

size_t cpb_sys_processors(void) {
#ifdef CPU_COUNT
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return (size_t)CPU_COUNT(&set);
#endif
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? (size_t)online : 1;
}

#endif
