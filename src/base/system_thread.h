/* Threads of the operating system, and what they wait for. */
#ifndef CPB_BASE_SYSTEM_THREAD_H
#define CPB_BASE_SYSTEM_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room for what the system has: its own names are those of src/base/system_thread_*.c, which check that they fit. */
typedef struct cpb_mutex {
  void *room[8];
} cpb_mutex;
typedef struct cpb_shared_lock {
  void *room[25];
} cpb_shared_lock;
typedef struct cpb_condition {
  void *room[12];
} cpb_condition;
typedef struct cpb_thread {
  void *room[1];
} cpb_thread;

bool cpb_mutex_init(cpb_mutex *mutex);
void cpb_mutex_lock(cpb_mutex *mutex);
void cpb_mutex_unlock(cpb_mutex *mutex);
void cpb_mutex_free(cpb_mutex *mutex);

/* Held by one thread alone, or shared by several. */
bool cpb_shared_lock_init(cpb_shared_lock *lock);
void cpb_shared_lock_share(cpb_shared_lock *lock);
void cpb_shared_lock_take(cpb_shared_lock *lock);
void cpb_shared_lock_release(cpb_shared_lock *lock);
void cpb_shared_lock_free(cpb_shared_lock *lock);

/* ---- of the pool (src/base/system_pool_*.c): everything above needs no thread library, where that is separate ---- */

void cpb_condition_init(cpb_condition *condition);
void cpb_condition_wait(cpb_condition *condition, cpb_mutex *mutex);
void cpb_condition_wake_all(cpb_condition *condition);
void cpb_condition_free(cpb_condition *condition);

bool cpb_thread_start(cpb_thread *thread, void *(*work)(void *argument), void *argument);
void cpb_thread_join(cpb_thread *thread);
void cpb_sys_yield(void);

/* Processors that this process may use, >= 1. */
size_t cpb_sys_processors(void);

/* The number of this process. A child of a fork has another, and none of its parent's threads. */
int64_t cpb_sys_process(void);

#endif
