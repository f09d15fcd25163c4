#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "base/system_thread.h"

#if !defined(_WIN32) && !defined(__wasi__)
#include <pthread.h>
#include <unistd.h>

_Static_assert(sizeof(pthread_mutex_t) <= sizeof(cpb_mutex), "a mutex fits");
_Static_assert(sizeof(pthread_rwlock_t) <= sizeof(cpb_shared_lock), "a lock fits");

static pthread_mutex_t *mutex_of(cpb_mutex *mutex) { return (void *)mutex->room; }
static pthread_rwlock_t *lock_of(cpb_shared_lock *lock) { return (void *)lock->room; }

bool cpb_mutex_init(cpb_mutex *mutex) { return pthread_mutex_init(mutex_of(mutex), NULL) == 0; }
void cpb_mutex_lock(cpb_mutex *mutex) { pthread_mutex_lock(mutex_of(mutex)); }
void cpb_mutex_unlock(cpb_mutex *mutex) { pthread_mutex_unlock(mutex_of(mutex)); }
void cpb_mutex_free(cpb_mutex *mutex) { pthread_mutex_destroy(mutex_of(mutex)); }

bool cpb_shared_lock_init(cpb_shared_lock *lock) { return pthread_rwlock_init(lock_of(lock), NULL) == 0; }
void cpb_shared_lock_share(cpb_shared_lock *lock) { pthread_rwlock_rdlock(lock_of(lock)); }
void cpb_shared_lock_take(cpb_shared_lock *lock) { pthread_rwlock_wrlock(lock_of(lock)); }
void cpb_shared_lock_release(cpb_shared_lock *lock) { pthread_rwlock_unlock(lock_of(lock)); }
void cpb_shared_lock_free(cpb_shared_lock *lock) { pthread_rwlock_destroy(lock_of(lock)); }

int64_t cpb_sys_process(void) { return getpid(); }

#endif
