/* T13: Euclidean search through an engine that is a Python function, and the drift of its rows. */
#include "face.h"
#include <capball/advanced/engine.h>
#include <capball/advanced/fitting.h>

enum {
  WAY,
  BASE,
  QUERIES,
  ASK,
  K,
  CANDIDATES,
  RADIUS,
  TWICE,
  METRIC,
  HELD,
  ALLOWED,
  CERTIFICATE,
  THREADS,
  ASKED
};

static const char *const names[ASKED + 1] = {"way",        "base",        "queries", "ask",    "k",
                                             "candidates", "radius",      "twice",   "metric", "held",
                                             "allowed",    "certificate", "threads", NULL};

static const char *certificate_name(int kind) {
  static const char *const kinds[] = {"none", "engine", "rows"};
  return kinds[kind];
}

/* ---- the engine */

/* Fewer ids than requested are padded; what is more is left out. */
static int copy_ids(PyObject *answer, size_t n, size_t count, uint64_t *ids) {
  Py_buffer buffer;
  if (face_ids(answer, "ids", 2, n, &buffer) < 0) return -1;
  size_t width = (size_t)buffer.shape[1];
  const int64_t *found = buffer.buf;
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < count; j++)
      ids[i * count + j] = j < width ? (uint64_t)found[i * width + j] : CPB_NO_ROW;
  PyBuffer_Release(&buffer);
  return 0;
}

/* On the thread that made the call, without the GIL; what the function raises stays raised. */
static cpb_status ask(void *self, const cpb_engine_question *question, uint64_t *ids, cpb_engine_cost *cost,
                      const cpb_exec *exec, cpb_error *error) {
  PyGILState_STATE state = PyGILState_Ensure();
  cpb_view asked = question->queries;
  PyObject *queries = face_matrix(asked.data, CPB_F32, asked.rows, asked.cols), *answer = NULL;
  (void)exec;
  if (queries != NULL) answer = PyObject_CallFunction(self, "On", queries, (Py_ssize_t)question->count);
  int done = answer != NULL ? copy_ids(answer, asked.rows, question->count, ids) : -1;
  Py_DecRef(queries);
  Py_DecRef(answer);
  PyGILState_Release(state);
  *cost = (cpb_engine_cost){0};
  if (done < 0) error->status = CPB_ESTOPPED;
  return done < 0 ? CPB_ESTOPPED : CPB_OK;
}

/* ---- the call */

typedef struct asking {
  cpb_wrap_options options;
  cpb_engine_calls engine;
  cpb_transform *transform; /* a copy of the map, or .. */
  const cpb_transform *way; /* .. that of the argument */
  face_rows base, queries;
  Py_buffer held, allowed;
} asking;

static int take_way(asking *a, PyObject *way) {
  cpb_error error;
  if ((a->way = face_transform_of(way)) != NULL) return 0;
  const cpb_map *map = face_map_of(way, "way");
  if (map == NULL) return -1;
  cpb_status status = cpb_transform_of_map(map, &a->transform, &error);
  a->way = a->transform;
  return status == CPB_OK ? 0 : (face_fail(status, &error), -1);
}

static int take_allowed(asking *a, PyObject *allowed) {
  if (allowed == NULL) return 0;
  if (PyObject_GetBuffer(allowed, &a->allowed, PyBUF_ND) < 0) return -1;
  a->options.allowed = a->allowed.buf;
  if (a->allowed.itemsize == 1 && (size_t)a->allowed.len == a->base.view.rows) return 0;
  PyErr_Format(PyExc_ValueError, "allowed: a flag for each of %zu rows is wanted", a->base.view.rows);
  return -1;
}

static int take_held(asking *a, PyObject *held) {
  a->options.held_rows = a->base.view.rows;
  if (held == NULL) return 0;
  Py_ssize_t count = PySequence_Size(held);
  if (count < 0 || face_ids(held, "held", 1, (size_t)count, &a->held) < 0) return -1;
  a->options.held = a->held.buf;
  a->options.held_rows = (size_t)count;
  return 0;
}

static int take(asking *a, PyObject **values) {
  int certificate = CPB_CERTIFY_NOTHING;
  cpb_wrap_options *o = &a->options;
  cpb_wrap_options_init(o, sizeof *o);
  if (face_size(values[K], "k", &o->k) < 0 ||
      face_size(values[CANDIDATES], "candidates", &o->candidates) < 0 ||
      face_double(values[RADIUS], "radius", &o->radius) < 0 || face_flag(values[TWICE], &o->twice) < 0 ||
      face_metric(values[METRIC], &o->metric) < 0 ||
      face_choice(values[CERTIFICATE], "certificate", certificate_name, 3, &certificate) < 0)
    return -1;
  o->certificate = (cpb_certificate)certificate;
  a->engine = (cpb_engine_calls){values[ASK], ask};
  if (face_rows_take(&a->base, values[BASE], "base", 0) < 0 ||
      face_rows_take(&a->queries, values[QUERIES], "queries", a->base.view.cols) < 0)
    return -1;
  return take_way(a, values[WAY]) < 0 || take_held(a, values[HELD]) < 0 ||
                 take_allowed(a, values[ALLOWED]) < 0
             ? -1
             : 0;
}

static void drop(asking *a) {
  cpb_transform_free(a->transform);
  face_rows_drop(&a->base);
  face_rows_drop(&a->queries);
  if (a->held.obj != NULL) PyBuffer_Release(&a->held);
  if (a->allowed.obj != NULL) PyBuffer_Release(&a->allowed);
}

static PyObject *search(asking *a, PyObject *threads, cpb_hit *hits) {
  size_t n = a->queries.view.rows;
  face_run run;
  face_out proven;
  cpb_error error;
  cpb_status status;
  if (face_run_begin(&run, threads, NULL) < 0) return NULL;
  if (face_out_take(&proven, NULL, "proven", CPB_U8, 1, n, FACE_ONE_ROW) < 0) return face_run_end(&run), NULL;
  a->options.proven = proven.out.data;
  for (size_t i = 0; i < n; i++) a->options.proven[i] = false;
  Py_BEGIN_ALLOW_THREADS;
  status =
      cpb_engine_wrap(a->base.view, a->queries.view, a->way, &a->engine, &a->options, hits, run.how, &error);
  Py_END_ALLOW_THREADS;
  face_run_end(&run);
  PyObject *flags = face_out_done(&proven);
  PyObject *found = status == CPB_OK && !PyErr_Occurred() ? face_hits_split(hits, n, a->options.k, NULL)
                                                          : face_fail(status, &error);
  if (found != NULL) return Py_BuildValue("NN", found, flags);
  Py_DecRef(flags);
  return NULL;
}

static PyObject *engine_search(FACE_CALL) {
  PyObject *values[ASKED], *result = NULL;
  asking a = {.way = NULL};
  (void)self;
  if (face_arguments("engine_search", names, HELD, args, nargs, kwnames, values) < 0) return NULL;
  if (take(&a, values) == 0) {
    cpb_hit *hits = face_hits_room(a.queries.view.rows, a.options.k, a.base.view.rows);
    if (hits != NULL) result = search(&a, values[THREADS], hits);
    PyMem_Free(hits);
  }
  drop(&a);
  return result;
}

/* ---- drift */

static PyObject *drift_of(cpb_view rows, PyObject **values) {
  size_t d = rows.cols, size = d + 2;
  double norm = 0, drift = 0, *center = NULL, *sums = NULL;
  bool leave = false;
  PyObject *result = NULL;
  cpb_error error;
  if (face_double(values[1], "norm", &norm) == 0 && face_flag(values[4], &leave) == 0 &&
      face_doubles(values[0], "center", &d, &center) == 0 &&
      face_doubles(values[3], "sums", &size, &sums) == 0) {
    cpb_status status = cpb_fit_drift(center, norm, rows, leave ? -1 : 1, sums, &drift, &error);
    result = status == CPB_OK ? Py_BuildValue("dN", drift, face_array(sums, CPB_F64, size))
                              : face_fail(status, &error);
  }
  PyMem_Free(center);
  PyMem_Free(sums);
  return result;
}

static PyObject *fit_drift(FACE_CALL) {
  static const char *const arguments[] = {"center", "norm", "rows", "sums", "leave", NULL};
  PyObject *values[5], *result = NULL;
  face_rows rows;
  (void)self;
  if (face_arguments("fit_drift", arguments, 4, args, nargs, kwnames, values) < 0) return NULL;
  if (face_rows_take(&rows, values[2], "rows", 0) < 0) return NULL;
  result = drift_of(rows.view, values);
  face_rows_drop(&rows);
  return result;
}

static PyMethodDef functions[] = {
    FACE_METHOD("engine_search", engine_search, "((distances, ids), proven) through an engine"),
    FACE_METHOD("fit_drift", fit_drift, "(drift, sums): how far rows have left those of a fit"),
    {NULL, NULL, 0, NULL}};

int face_add_engine(PyObject *module) {
  return PyModule_AddFunctions(module, functions) < 0 ||
                 PyModule_AddObject(module, "drift", PyFloat_FromDouble(CPB_DRIFT)) < 0
             ? -1
             : 0;
}
