/* Running a caller's cpb_exec, telling it how far a call is, and hearing whether to go on. */
#ifndef CPB_PARALLEL_TELL_H
#define CPB_PARALLEL_TELL_H

#include <stdbool.h>

#include "capball/exec.h"

/* task(arg, i) for each i < tasks: by the caller's parallel-for, or here one after the other. */
void cpb_exec_run(const cpb_exec *exec, size_t tasks, void (*task)(void *arg, size_t i), void *arg);

/* Seconds of the clock, from some beginning. */
double cpb_seconds_now(void);

/* How many tasks run at once, >= 1. */
size_t cpb_exec_threads(const cpb_exec *exec);

/* Whether anybody wants to be told. */
bool cpb_exec_listens(const cpb_exec *exec);

/* Tells that this share (0 .. 1) of the call is done: CPB_OK to go on, ESTOPPED with its sentence when the
 * caller has had enough. On the thread that made the call, never inside a task; exec may be NULL. A call
 * that can take longer than a second tells a few times a second, begins nothing new after ESTOPPED, frees
 * what it has and returns it. */
cpb_status cpb_exec_tell(const cpb_exec *exec, double share, cpb_error *error);

/* The same after some rounds of a call that does not know how many it will take: half of it after `half`. */
cpb_status cpb_exec_tell_round(const cpb_exec *exec, size_t rounds, size_t half, cpb_error *error);

/* The sentence of a stop that came up through functions without one. */
cpb_status cpb_fail_stopped(cpb_error *error);

/* cpb_exec_run for calls that may take long: the caller is told of tasks done, and ESTOPPED leaves the rest. */
cpb_status cpb_exec_run_told(const cpb_exec *exec, size_t tasks, void (*task)(void *arg, size_t i), void *arg,
                             cpb_error *error);

/* A part of a call that is a call itself: what it tells as 0 .. 1 arrives as from .. to; from = to
 * keeps it quiet but lets it be stopped. */
typedef struct cpb_exec_part {
  cpb_exec exec;
  const cpb_exec *whole;
  double from, to;
} cpb_exec_part;

/* The exec to hand to that part; a view into *part, NULL for NULL. */
const cpb_exec *cpb_exec_part_of(cpb_exec_part *part, const cpb_exec *whole, double from, double to);

#endif
