/* Threads belong to the caller: a parallel-for he brings, or the ready pool here.
 *
 * Every result is the same to the last bit for any number of threads: work is cut into blocks that
 * do not depend on it, and what is summed is summed in the order of the blocks. */
#ifndef CAPBALL_EXEC_H
#define CAPBALL_EXEC_H

#include "capball/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A parallel-for: run(pool, tasks, task, arg) calls task(arg, i) once for each i < tasks, on any
 *  threads in any order, and returns when all have returned. NULL in place of a cpb_exec means
 *  "on this thread". */
typedef struct cpb_exec {
  void (*run)(void *pool, size_t tasks, void (*task)(void *arg, size_t i), void *arg);
  void *pool;
  size_t threads; /* how many tasks run at once; a hint for cutting work, never seen in results */
} cpb_exec;

/** A pool of threads-1 workers plus the calling thread. One caller at a time. */
typedef struct cpb_pool cpb_pool;

/** threads = 0 takes the number of processors this process may use.
 *  Gives *pool to the caller, who frees it. */
CPB_API cpb_status cpb_pool_new(size_t threads, cpb_pool **pool, cpb_error *error);
CPB_API void cpb_pool_free(cpb_pool *pool);

/** The pool as a parallel-for; a view into it. NULL for NULL. */
CPB_API const cpb_exec *cpb_pool_exec(const cpb_pool *pool);

#ifdef __cplusplus
}
#endif
#endif
