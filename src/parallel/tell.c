#include "core/sized.h"
#include "parallel/tell.h"

#include "core/fail.h"

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

bool cpb_exec_listens(const cpb_exec *exec) {
  return exec != NULL && exec->size >= offsetof(cpb_exec, context) + sizeof exec->context &&
         exec->progress != NULL;
}

cpb_status cpb_exec_tell(const cpb_exec *exec, double share, cpb_error *error) {
  if (!cpb_exec_listens(exec) || exec->progress(exec->context, share) == 0) return CPB_OK;
  return cpb_fail(error, CPB_WHY_STOPPED, "", "stopped by the caller");
}

static int tell_whole(void *context, double share) {
  const cpb_exec_part *part = context;
  return part->whole->progress(part->whole->context, part->from + (part->to - part->from) * share);
}

const cpb_exec *cpb_exec_part_of(cpb_exec_part *part, const cpb_exec *whole, double from, double to) {
  if (whole == NULL) return NULL;
  *part = (cpb_exec_part){{.size = sizeof part->exec}, whole, from, to};
  part->exec.run = whole->run;
  part->exec.pool = whole->pool;
  part->exec.threads = whole->threads;
  if (cpb_exec_listens(whole)) {
    part->exec.progress = tell_whole;
    part->exec.context = part;
  }
  return &part->exec;
}
