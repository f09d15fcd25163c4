/* How a call is run: on whose threads, and who is told how far it is.
 *
 * Threads belong to the caller: a parallel-for he brings, or the ready pool here. Every result is the
 * same to the last bit for any number of threads: work is cut into blocks that do not depend on it,
 * and what is summed is summed in the order of the blocks. */
#ifndef CAPBALL_EXEC_H
#define CAPBALL_EXEC_H

#include "capball/status.h"

CPB_BEGIN

/** How a call is run; borrowed for the call. NULL in place of it means "on this thread, nobody is told".
 *  Start from cpb_exec_init, or from a copy of a pool's. None of it is seen in results; members that a
 *  library does not know are not looked at. */
typedef struct cpb_exec {
  size_t size; /* sizeof(cpb_exec) */

  /** A parallel-for: run(pool, tasks, task, arg) calls task(arg, i) once for each i < tasks, on any
   *  threads in any order, and returns when all have returned. NULL: on this thread. */
  void (*run)(void *pool, size_t tasks, void (*task)(void *arg, size_t i), void *arg);
  void *pool;
  size_t threads; /* how many tasks run at once; a hint for cutting work, never seen in results */

  /** Told the share of the call that is done, 0 .. 1 and never less than before, by every call that can
   *  take longer than a second; on the thread that made the call. Another answer than 0 ends the call
   *  with ESTOPPED, and nothing is half-written. NULL: nobody is told. */
  int (*progress)(void *context, double share);
  void *context;
} cpb_exec;

/** On this thread, nobody is told. size = sizeof(cpb_exec) */
CPB_API void cpb_exec_init(cpb_exec *exec, size_t size);

/** A pool of threads-1 workers plus whoever calls. Any number of threads may call through one pool at once,
 *  and tasks may call through the pool they run on: callers work on their own, the workers help where they
 *  are fewest. After a fork the child's first call starts workers of its own. */
typedef struct cpb_pool cpb_pool;

/** threads = 0 takes the number of processors this process may use.
 *  Gives *pool to the caller, who frees it. */
CPB_CALL cpb_status cpb_pool_new(size_t threads, cpb_pool **pool, cpb_error *error);
CPB_API void cpb_pool_free(cpb_pool *pool);

/** The pool as a parallel-for; a view into it. NULL for NULL. */
CPB_API const cpb_exec *cpb_pool_exec(const cpb_pool *pool);

CPB_END
#endif
