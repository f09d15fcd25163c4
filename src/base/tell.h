/* Runs a caller's cpb_exec, reports progress to it and asks whether to continue. */
#ifndef CPB_BASE_TELL_H
#define CPB_BASE_TELL_H

#include <stdbool.h>

#include "capball/exec.h"
#include "base/system.h" /* seconds */

/* task(arg, i) for each i < tasks: by the caller's parallel-for, or here in a plain loop. */
void cpb_exec_run(const cpb_exec *exec, size_t tasks, void (*task)(void *arg, size_t i), void *arg);

/* Number of tasks that run at once, >= 1. */
size_t cpb_exec_threads(const cpb_exec *exec);

/* Reports that this share (0 .. 1) of the call is done: CPB_OK to continue, ESTOPPED with its message if the
 * caller wants to stop. Called on the thread that made the call, never inside a task; exec may be NULL. A call
 * that can take longer than a second reports a few times per second; after ESTOPPED it starts nothing new, frees
 * what it has and returns ESTOPPED. */
cpb_status cpb_exec_tell(const cpb_exec *exec, double share, cpb_error *error);

/* The same after some rounds of a call with an unknown number of rounds: `half` rounds count as half of it. */
cpb_status cpb_exec_tell_round(const cpb_exec *exec, size_t rounds, size_t half, cpb_error *error);

/* cpb_exec_run for calls that may take long: reports finished tasks to the caller, and ESTOPPED skips the rest. */
cpb_status cpb_exec_run_told(const cpb_exec *exec, size_t tasks, void (*task)(void *arg, size_t i), void *arg,
                             cpb_error *error);

/* A part of a call that is a call itself: its progress 0 .. 1 is reported as from .. to; from = to suppresses
 * reports but lets the call be stopped. */
typedef struct cpb_exec_part {
  cpb_exec exec;
  const cpb_exec *whole;
  double from, to;
} cpb_exec_part;

/* The exec to pass to that part; a view into *part, NULL for NULL. */
const cpb_exec *cpb_exec_part_of(cpb_exec_part *part, const cpb_exec *whole, double from, double to);
/* The same; *part lives as long as the enclosing block. */
#define CPB_EXEC_PART(of, start, end) cpb_exec_part_of(&(cpb_exec_part){.whole = NULL}, of, start, end)

#endif
