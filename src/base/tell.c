#include "base/tell.h"

#include "base/fail.h"
#include "base/sized.h"

void cpb_exec_init(cpb_exec *exec, size_t size) {
  cpb_sized_init(exec, size, &(cpb_exec){.threads = 1}, sizeof *exec);
}

void cpb_exec_run(const cpb_exec *exec, size_t tasks, void (*task)(void *arg, size_t i), void *arg) {
  if (exec != NULL && exec->run != NULL && tasks > 1) {
    exec->run(exec->pool, tasks, task, arg);
    return;
  }
  for (size_t i = 0; i < tasks; i++) task(arg, i);
}

size_t cpb_exec_threads(const cpb_exec *exec) {
  return exec == NULL || exec->run == NULL || exec->threads == 0 ? 1 : exec->threads;
}

static bool listens(const cpb_exec *exec) {
  return exec != NULL && exec->size >= offsetof(cpb_exec, context) + sizeof exec->context &&
         exec->progress != NULL;
}

cpb_status cpb_exec_tell(const cpb_exec *exec, double share, cpb_error *error) {
  if (!listens(exec) || exec->progress(exec->context, share) == 0) return CPB_OK;
  return cpb_fail(error, CPB_WHY_STOPPED, "", "stopped by the caller");
}

cpb_status cpb_exec_tell_round(const cpb_exec *exec, size_t rounds, size_t half, cpb_error *error) {
  return cpb_exec_tell(exec, (double)rounds / (double)(rounds + half), error);
}

/* The tasks between two reports of progress. */
typedef struct stretch {
  void (*task)(void *arg, size_t i);
  void *arg;
  size_t from;
} stretch;

static void run_in_stretch(void *arg, size_t i) {
  const stretch *s = arg;
  s->task(s->arg, s->from + i);
}

cpb_status cpb_exec_run_told(const cpb_exec *exec, size_t tasks, void (*task)(void *arg, size_t i), void *arg,
                             cpb_error *error) {
  enum { STRETCHES = 100, TASKS_PER_THREAD = 4 };
  size_t least = TASKS_PER_THREAD * cpb_exec_threads(exec);
  size_t step = tasks / STRETCHES < least ? least : tasks / STRETCHES;
  cpb_status status = cpb_exec_tell(exec, 0, error);
  if (!listens(exec)) step = tasks;
  for (size_t from = 0; status == CPB_OK && from < tasks; from += step) {
    stretch s = {task, arg, from};
    size_t here = tasks - from < step ? tasks - from : step;
    cpb_exec_run(exec, here, run_in_stretch, &s);
    status = cpb_exec_tell(exec, (double)(from + here) / (double)tasks, error);
  }
  return status;
}

static int tell_whole(void *context, double share) {
  const cpb_exec_part *part = context;
  double told = share < 1 ? part->from + (part->to - part->from) * share : part->to;
  return part->whole->progress(part->whole->context, told < part->to ? told : part->to);
}

const cpb_exec *cpb_exec_part_of(cpb_exec_part *part, const cpb_exec *whole, double from, double to) {
  if (whole == NULL) return NULL;
  *part = (cpb_exec_part){{.size = sizeof part->exec}, whole, from, to};
  part->exec.run = whole->run;
  part->exec.pool = whole->pool;
  part->exec.threads = whole->threads;
  if (listens(whole)) {
    part->exec.progress = tell_whole;
    part->exec.context = part;
  }
  return &part->exec;
}
