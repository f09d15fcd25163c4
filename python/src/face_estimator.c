/* T14: codes of a principal sketch, prepared for search by estimates. */
#include "base/choice_names.h"
#include "face.h"
#include <capball/advanced/estimator.h>

/* The estimator uses the sketch, which must exist as long. */
typedef struct prepared {
  cpb_estimator *estimator;
  PyObject *sketch;
} prepared;

static void free_prepared(void *held) {
  prepared *p = held;
  if (p == NULL) return;
  cpb_estimator_free(p->estimator);
  Py_XDECREF(p->sketch);
  PyMem_Free(p);
}

static const cpb_estimator *held(PyObject *self) {
  return ((prepared *)((face_object *)self)->held)->estimator;
}

static PyObject *hold(PyTypeObject *type, cpb_estimator *estimator, PyObject *sketch, size_t rows) {
  prepared *p = PyMem_Malloc(sizeof *p);
  if (p == NULL) {
    cpb_estimator_free(estimator);
    return PyErr_NoMemory();
  }
  Py_INCREF(sketch);
  *p = (prepared){estimator, sketch};
  return face_hold(type, p, ((face_object *)sketch)->d, rows);
}

static PyObject *estimator_of(PyObject *type, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
  static const char *const names[] = {"sketch", "codes", NULL};
  PyObject *values[2];
  face_rows codes;
  if (face_arguments("of", names, 2, args, nargs, kwnames, values) < 0) return NULL;
  const cpb_sketch *sketch = face_sketch_of(values[0], "sketch");
  if (sketch == NULL || face_rows_take(&codes, values[1], "codes", ((face_object *)values[0])->n) < 0)
    return NULL;
  cpb_estimator *estimator = NULL;
  cpb_error error;
  cpb_status status;
  Py_BEGIN_ALLOW_THREADS;
  status = cpb_estimator_new(sketch, codes.view, &estimator, &error);
  Py_END_ALLOW_THREADS;
  size_t rows = codes.view.rows;
  face_rows_drop(&codes);
  return status == CPB_OK ? hold((PyTypeObject *)type, estimator, values[0], rows)
                          : face_fail(status, &error);
}

/* ---- search */

static const char *bound_name(int bound) { return cpb_bound_names[bound]; }

/* v: queries, k, base, candidates, bound, confidence */
static int search_options(PyObject **v, cpb_estimator_options *o) {
  int bound = (int)o->bound;
  if (face_size(v[1], "k", &o->k) < 0 || face_size(v[3], "candidates", &o->candidates) < 0 ||
      face_choice(v[4], "bound", bound_name, 3, &bound) < 0 ||
      face_double(v[5], "confidence", &o->confidence) < 0)
    return -1;
  o->bound = (cpb_bound)bound;
  return 0;
}

/* (distances, ids), rows read, proven */
static PyObject *answer_of(const cpb_hit *hits, size_t rows, size_t k, const cpb_estimator_report *report) {
  PyObject *pair = face_hits_split(hits, rows, k, NULL);
  return pair == NULL ? NULL
                      : Py_BuildValue("(NKO)", pair, (unsigned long long)report->rows_read,
                                      report->proven ? Py_True : Py_False);
}

/* v: threads, progress */
static PyObject *search_rows(PyObject *self, cpb_view queries, const cpb_estimator_options *o, PyObject **v) {
  const face_object *of = (const face_object *)self;
  cpb_estimator_report report = {.size = sizeof report};
  cpb_hit *hits = face_hits_room(queries.rows, o->k, of->n);
  face_run run;
  PyObject *result = NULL;
  if (hits != NULL && face_run_begin(&run, v[0], v[1]) == 0) {
    cpb_error error;
    cpb_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = cpb_estimator_search(held(self), queries, o, hits, &report, run.how, &error);
    Py_END_ALLOW_THREADS;
    face_run_end(&run);
    result = status == CPB_OK ? answer_of(hits, queries.rows, o->k, &report) : face_fail(status, &error);
  }
  PyMem_Free(hits);
  return result;
}

static PyObject *estimator_search(FACE_CALL) {
  static const char *const names[] = {"queries",    "k",       "base",     "candidates", "bound",
                                      "confidence", "threads", "progress", NULL};
  PyObject *values[8];
  face_rows queries, base;
  cpb_estimator_options options;
  cpb_estimator_options_init(&options, sizeof options);
  size_t d = ((face_object *)self)->d;
  if (face_arguments("search", names, 1, args, nargs, kwnames, values) < 0 ||
      search_options(values, &options) < 0 || face_rows_take(&queries, values[0], "queries", d) < 0)
    return NULL;
  bool reads = values[2] != NULL;
  if (reads && face_rows_take(&base, values[2], "base", d) < 0) {
    face_rows_drop(&queries);
    return NULL;
  }
  cpb_store store;
  if (reads) store = cpb_store_from_view(base.view);
  options.rows = reads ? &store : NULL;
  PyObject *result = search_rows(self, queries.view, &options, values + 6);
  face_rows_drop(&queries);
  if (reads) face_rows_drop(&base);
  return result;
}

/* ---- bounds */

static PyObject *bounds_of(PyObject *self, cpb_view query, cpb_bound bound, double confidence) {
  size_t rows = ((face_object *)self)->n;
  double *numbers = PyMem_Malloc((3 * rows + 1) * sizeof *numbers);
  if (numbers == NULL) return PyErr_NoMemory();
  cpb_error error;
  cpb_status status;
  Py_BEGIN_ALLOW_THREADS;
  status = cpb_estimator_bounds(held(self), query, bound, confidence, numbers, numbers + rows,
                                numbers + 2 * rows, &error);
  Py_END_ALLOW_THREADS;
  PyObject *result = status == CPB_OK ? face_matrix(numbers, CPB_F64, 3, rows) : face_fail(status, &error);
  PyMem_Free(numbers);
  return result;
}

static PyObject *estimator_bounds(FACE_CALL) {
  static const char *const names[] = {"query", "bound", "confidence", NULL};
  PyObject *values[3];
  face_rows query;
  int bound = CPB_BOUND_CERTAIN;
  double confidence = 0.999;
  if (face_arguments("bounds", names, 1, args, nargs, kwnames, values) < 0 ||
      face_choice(values[1], "bound", bound_name, 3, &bound) < 0 ||
      face_double(values[2], "confidence", &confidence) < 0 ||
      face_rows_take(&query, values[0], "query", ((face_object *)self)->d) < 0)
    return NULL;
  PyObject *result = bounds_of(self, query.view, (cpb_bound)bound, confidence);
  face_rows_drop(&query);
  return result;
}

static PyObject *get_rows(PyObject *self, void *unused) {
  (void)unused;
  return PyLong_FromSize_t(((face_object *)self)->n);
}

static PyGetSetDef estimator_getset[] = {{"rows", get_rows, NULL, "number of codes", NULL},
                                         {NULL, NULL, NULL, NULL, NULL}};

static PyMethodDef estimator_methods[] = {
    FACE_CLASS("of", estimator_of, "codes prepared for search"),
    FACE_METHOD("search", estimator_search, "(distances, ids), rows read, proven"),
    FACE_METHOD("bounds", estimator_bounds, "estimate, low and high of the distance to every code"),
    {NULL, NULL, 0, NULL}};

static face_kind estimator_kind = {.name = "Estimator",
                                   .doc = "codes prepared for search by estimates",
                                   .free_held = free_prepared,
                                   .methods = estimator_methods,
                                   .facts = estimator_getset,
                                   .base = true};

int face_add_estimator(PyObject *module) { return face_add_kind(module, &estimator_kind); }
