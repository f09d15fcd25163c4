#include <string.h>

#include "face.h"

/* One pool for all calls that name no number of threads; it takes several callers at once and outlives them all. */
static _Atomic(cpb_pool *) shared;

/* Without a GIL two threads may come first: the pool of one of them is kept. */
static cpb_pool *shared_pool(void) {
  cpb_pool *pool = atomic_load(&shared), *made;
  if (pool != NULL) return pool;
  cpb_error error;
  cpb_status status = cpb_pool_new(0, &made, &error);
  if (status != CPB_OK) return face_fail(status, &error), NULL;
  if (atomic_compare_exchange_strong(&shared, &pool, made)) return made;
  cpb_pool_free(made);
  return pool;
}

/* On the thread that made the call, without the GIL: looks for Ctrl-C too. */
static int report_share(void *context, double share) {
  face_run *run = context;
  PyGILState_STATE state = PyGILState_Ensure();
  int stop = PyErr_CheckSignals() < 0;
  if (!stop && run->progress != NULL) {
    PyObject *answer = PyObject_CallFunction(run->progress, "d", share);
    stop = answer == NULL;
    Py_DecRef(answer);
  }
  PyGILState_Release(state);
  return stop;
}

static int choose_pool(face_run *run, PyObject *threads) {
  size_t count = 0;
  if (face_size(threads, "threads", &count) < 0) return -1;
  if (threads == NULL) {
    cpb_pool *pool = shared_pool();
    return pool != NULL ? (run->exec = *cpb_pool_exec(pool), 0) : -1;
  }
  if (count == 1) return 0;
  cpb_error error;
  cpb_status status = cpb_pool_new(count, &run->own, &error);
  if (status != CPB_OK) return face_fail(status, &error), -1;
  run->exec = *cpb_pool_exec(run->own);
  return 0;
}

int face_run_quietly(face_run *run, PyObject *threads) {
  memset(run, 0, sizeof *run);
  cpb_exec_init(&run->exec, sizeof run->exec);
  if (choose_pool(run, threads) < 0) return -1;
  run->how = &run->exec;
  return 0;
}

int face_run_begin(face_run *run, PyObject *threads, PyObject *progress) {
  if (face_run_quietly(run, threads) < 0) return -1;
  run->progress = progress;
  run->exec.progress = report_share;
  run->exec.context = run;
  return 0;
}

void face_run_end(face_run *run) { cpb_pool_free(run->own); }
