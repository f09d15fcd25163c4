#include "base/system_thread.h"

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <process.h>
#include <stdlib.h>

_Static_assert(sizeof(SRWLOCK) <= sizeof(void *) && sizeof(CONDITION_VARIABLE) <= sizeof(cpb_condition),
               "locks fit");

static SRWLOCK *mutex_of(cpb_mutex *mutex) { return (void *)&mutex->room[0]; }

bool cpb_mutex_init(cpb_mutex *mutex) {
  InitializeSRWLock(mutex_of(mutex));
  return true;
}
void cpb_mutex_lock(cpb_mutex *mutex) { AcquireSRWLockExclusive(mutex_of(mutex)); }
void cpb_mutex_unlock(cpb_mutex *mutex) { ReleaseSRWLockExclusive(mutex_of(mutex)); }
void cpb_mutex_free(cpb_mutex *mutex) { (void)mutex; }

/* room[1]: not NULL while one thread holds it alone; only that one writes it. */
static SRWLOCK *lock_of(cpb_shared_lock *lock) { return (void *)&lock->room[0]; }

bool cpb_shared_lock_init(cpb_shared_lock *lock) {
  InitializeSRWLock(lock_of(lock));
  lock->room[1] = NULL;
  return true;
}
void cpb_shared_lock_share(cpb_shared_lock *lock) { AcquireSRWLockShared(lock_of(lock)); }
void cpb_shared_lock_take(cpb_shared_lock *lock) {
  AcquireSRWLockExclusive(lock_of(lock));
  lock->room[1] = lock;
}
void cpb_shared_lock_release(cpb_shared_lock *lock) {
  if (lock->room[1] == NULL) {
    ReleaseSRWLockShared(lock_of(lock));
    return;
  }
  lock->room[1] = NULL;
  ReleaseSRWLockExclusive(lock_of(lock));
}
void cpb_shared_lock_free(cpb_shared_lock *lock) { (void)lock; }

static CONDITION_VARIABLE *condition_of(cpb_condition *condition) { return (void *)condition->room; }

void cpb_condition_init(cpb_condition *condition) { InitializeConditionVariable(condition_of(condition)); }
void cpb_condition_wait(cpb_condition *condition, cpb_mutex *mutex) {
  SleepConditionVariableSRW(condition_of(condition), mutex_of(mutex), INFINITE, 0);
}
void cpb_condition_wake_all(cpb_condition *condition) { WakeAllConditionVariable(condition_of(condition)); }
void cpb_condition_free(cpb_condition *condition) { (void)condition; }

typedef struct start {
  void *(*work)(void *argument);
  void *argument;
} start;

static unsigned __stdcall begin(void *argument) {
  start of = *(start *)argument;
  free(argument);
  of.work(of.argument);
  return 0;
}

bool cpb_thread_start(cpb_thread *thread, void *(*work)(void *argument), void *argument) {
  start *of = malloc(sizeof *of);
  if (of == NULL) return false;
  *of = (start){work, argument};
  thread->room[0] = (void *)_beginthreadex(NULL, 0, begin, of, 0, NULL);
  if (thread->room[0] == NULL) free(of);
  return thread->room[0] != NULL;
}

void cpb_thread_join(cpb_thread *thread) {
  WaitForSingleObject(thread->room[0], INFINITE);
  CloseHandle(thread->room[0]);
}

void cpb_sys_yield(void) { SwitchToThread(); }

size_t cpb_sys_processors(void) {
  DWORD_PTR own = 0, all = 0;
  size_t count = 0;
  if (GetProcessAffinityMask(GetCurrentProcess(), &own, &all))
    for (; own != 0; own &= own - 1) count++;
  return count > 0 ? count : 1;
}

int64_t cpb_sys_process(void) { return (int64_t)GetCurrentProcessId(); }

#endif
