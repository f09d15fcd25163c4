#include "base/blocks.h"

#include "base/fail.h"
#include "base/tell.h"

void cpb_record_fault(cpb_first_fault *first, size_t row, int fault) {
  if (fault != 0) cpb_report_largest(&first->key, ~((uint64_t)row * 8 + (uint64_t)fault));
}

cpb_status cpb_fault_report(size_t row, int fault, const char *argument, cpb_error *error) {
  static const struct {
    cpb_reason reason;
    const char *predicate;
  } said[] = {
      [CPB_FAULT_NAN] = {CPB_WHY_ROW_NAN, "holds NaN"},
      [CPB_FAULT_INFINITE] = {CPB_WHY_ROW_INFINITE, "holds inf"},
      [CPB_FAULT_POLE] = {CPB_WHY_ROW_POLE, "is the pole -v, the image of infinity: it has no inverse"},
      [CPB_FAULT_ZERO] = {CPB_WHY_ROW_ZERO, "is 0: it has no direction"},
      [CPB_FAULT_RANGE] = {CPB_WHY_ROW_RANGE, "has a result too large for the output's type"},
      [CPB_FAULT_LONG] = {CPB_WHY_ROW_LONG, "is longer than the longest row allowed"}};
  return cpb_fail_row(error, said[fault].reason, argument, row, "%s", said[fault].predicate);
}

cpb_status cpb_first_fault_report(const cpb_first_fault *first, const char *name, cpb_error *error) {
  uint64_t key = ~atomic_load(&first->key);
  return key == UINT64_MAX ? CPB_OK : cpb_fault_report((size_t)(key / 8), (int)(key % 8), name, error);
}

size_t cpb_blocks_count(const cpb_blocks *blocks) {
  return blocks->rows / blocks->per_block + (blocks->rows % blocks->per_block != 0);
}

static void run_block(void *arg, size_t i) {
  const cpb_blocks *blocks = arg;
  size_t first = i * blocks->per_block, left = blocks->rows - first;
  blocks->body(blocks->arg, i, first, left < blocks->per_block ? left : blocks->per_block);
}

void cpb_blocks_run(const cpb_blocks *blocks, const cpb_exec *exec) {
  cpb_exec_run(exec, cpb_blocks_count(blocks), run_block, (void *)(uintptr_t)blocks);
}

cpb_status cpb_blocks_run_told(const cpb_blocks *blocks, const cpb_exec *exec, cpb_error *error) {
  return cpb_exec_run_told(exec, cpb_blocks_count(blocks), run_block, (void *)(uintptr_t)blocks, error);
}

size_t cpb_blocks_rows(size_t elements_per_row) {
  enum { ELEMENTS = 1 << 16, STEP = 64 };
  size_t rows = ELEMENTS / (elements_per_row == 0 ? 1 : elements_per_row) / STEP * STEP;
  return rows == 0 ? STEP : rows;
}

typedef struct row_run {
  int (*task)(void *job, size_t row);
  void *job;
  cpb_first_fault fault;
} row_run;

static void run_rows(void *arg, size_t block, size_t first, size_t count) {
  (void)block;
  row_run *run = arg;
  for (size_t row = first; row < first + count; row++)
    cpb_record_fault(&run->fault, row, run->task(run->job, row));
}

cpb_status cpb_rows_run(size_t rows, size_t elements_per_row, int (*task)(void *job, size_t row), void *job,
                        const char *name, const cpb_exec *exec, cpb_error *error) {
  row_run run = {.task = task, .job = job};
  cpb_blocks_run(&(cpb_blocks){rows, cpb_blocks_rows(elements_per_row), run_rows, &run}, exec);
  return cpb_first_fault_report(&run.fault, name, error);
}

cpb_status cpb_rows_run_told(size_t rows, size_t elements_per_row, int (*task)(void *job, size_t row),
                             void *job, const char *name, const cpb_exec *exec, cpb_error *error) {
  row_run run = {.task = task, .job = job};
  cpb_blocks blocks = {rows, cpb_blocks_rows(elements_per_row), run_rows, &run};
  cpb_status status = cpb_blocks_run_told(&blocks, exec, error);
  return status == CPB_OK ? cpb_first_fault_report(&run.fault, name, error) : status;
}

/* Tasks that may fail. */
typedef struct attempts {
  cpb_status (*task)(void *arg, size_t i, cpb_error *error);
  void *arg;
  _Atomic size_t failed; /* the first; SIZE_MAX: none */
} attempts;

static void attempt(void *arg, size_t i) {
  attempts *a = arg;
  if (a->task(a->arg, i, NULL) != CPB_OK) cpb_report_least(&a->failed, i);
}

cpb_status cpb_exec_try(const cpb_exec *exec, size_t tasks,
                        cpb_status (*task)(void *arg, size_t i, cpb_error *error), void *arg,
                        cpb_error *error) {
  attempts a = {task, arg, SIZE_MAX};
  cpb_exec_run(exec, tasks, attempt, &a);
  size_t failed = atomic_load(&a.failed);
  if (failed == SIZE_MAX) return CPB_OK;
  cpb_status status = task(arg, failed, error);
  /* a task that no longer fails was short of memory that is available now */
  return status == CPB_OK ? cpb_fail_memory(error, "one of %zu tasks", tasks) : status;
}
