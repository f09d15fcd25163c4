/* How a call is run: its threads and its progress callback.
 *
 * Threads belong to the caller: either a parallel-for of the caller's or the pool below. Results are
 * identical to the last bit for any number of threads: work is split into blocks that do not depend on
 * it, and sums are added in block order. */
#ifndef CAPBALL_EXEC_H
#define CAPBALL_EXEC_H

#include "capball/status.h"

CPB_BEGIN

/** How a call is run; borrowed for the call. NULL means "on this thread, without progress reports".
 *  Initialise it with cpb_exec_init, or copy that of a pool. It never affects results. Members that this
 *  version of the library does not know are ignored. */
typedef struct cpb_exec {
  size_t size; /* sizeof(cpb_exec) */

  /** A parallel-for: run(pool, tasks, task, arg) calls task(arg, i) once for each i < tasks, on any
   *  threads in any order, and returns when all have returned. NULL: on this thread. */
  void (*run)(void *pool, size_t tasks, void (*task)(void *arg, size_t i), void *arg);
  void *pool;
  size_t threads; /* how many tasks run at once; a hint for splitting work */

  /** Called with the completed fraction of the work, 0 .. 1 and never decreasing, by every call that can
   *  take longer than a second, on the thread that made the call. A nonzero return value stops the call
   *  with ESTOPPED, and no partial file is left. NULL: no progress reports. */
  int (*progress)(void *context, double share);
  void *context;
} cpb_exec;

/** On this thread, without progress reports. size = sizeof(cpb_exec) */
CPB_API void cpb_exec_init(cpb_exec *exec, size_t size);

/** A pool of threads-1 workers plus the calling thread. Any number of threads may use one pool at once, and
 *  tasks may use the pool they run on: each caller works on its own tasks, and idle workers join the call that
 *  has the fewest workers. After a fork, the child's first call starts new workers. */
typedef struct cpb_pool cpb_pool;

/** threads = 0: the number of processors available to this process.
 *  The caller owns *pool and frees it. */
CPB_CALL cpb_status cpb_pool_new(size_t threads, cpb_pool **pool, cpb_error *error);
CPB_API void cpb_pool_free(cpb_pool *pool);

/** The pool as a parallel-for; a view into it. NULL for NULL. */
CPB_API const cpb_exec *cpb_pool_exec(const cpb_pool *pool);

CPB_END
#endif
