/* What the sphere does to the angles between rows (T8 T9), and how far neighbours usually are (T13). */
#include "face.h"
#include <capball/advanced/fitting.h>

static PyObject *cosines_result(const cpb_cosines *found) {
  return Py_BuildValue("dNNddd", found->s, face_array(found->before, CPB_F64, found->pairs),
                       face_array(found->after, CPB_F64, found->pairs), found->correlation, found->slope,
                       found->rms);
}

/* values: x, s, sample, seed, skip_bad, threads, progress */
static PyObject *cosines_of(cpb_view x, PyObject **values) {
  cpb_cosines_options options;
  cpb_cosines_options_init(&options, sizeof options);
  cpb_cosines found = {.size = sizeof found};
  face_run run;
  if (face_double(values[1], "s", &options.s) < 0 || face_size(values[2], "sample", &options.sample) < 0 ||
      face_uint64(values[3], "seed", &options.seed) < 0 || face_flag(values[4], &options.skip_bad) < 0 ||
      face_run_begin(&run, values[5], values[6]) < 0)
    return NULL;
  cpb_source source = cpb_source_from_view(x);
  cpb_error error;
  cpb_status status;
  Py_BEGIN_ALLOW_THREADS;
  status = cpb_cosines_fit(&source, &options, &found, run.how, &error);
  Py_END_ALLOW_THREADS;
  face_run_end(&run);
  PyObject *result = status == CPB_OK ? cosines_result(&found) : face_fail(status, &error);
  cpb_free(found.before);
  cpb_free(found.after);
  return result;
}

static PyObject *cosines(FACE_CALL) {
  static const char *const names[] = {"x", "s", "sample", "seed", "skip_bad", "threads", "progress", NULL};
  PyObject *values[7];
  face_rows x;
  (void)self;
  if (face_arguments("cosines", names, 1, args, nargs, kwnames, values) < 0) return NULL;
  if (face_rows_take(&x, values[0], "x", 0) < 0) return NULL;
  PyObject *result = cosines_of(x.view, values);
  face_rows_drop(&x);
  return result;
}

static PyObject *radius_of(const cpb_map *map, cpb_view queries, cpb_view base, PyObject **values) {
  size_t k = 10;
  double radius = 0;
  face_run run;
  if (face_size(values[3], "k", &k) < 0 || face_run_begin(&run, values[4], NULL) < 0) return NULL;
  cpb_source asking = cpb_source_from_view(queries), rows = cpb_source_from_view(base);
  cpb_error error;
  cpb_status status;
  Py_BEGIN_ALLOW_THREADS;
  status = cpb_radius_fit(map, &asking, &rows, k, &radius, run.how, &error);
  Py_END_ALLOW_THREADS;
  face_run_end(&run);
  return status == CPB_OK ? PyFloat_FromDouble(radius) : face_fail(status, &error);
}

static PyObject *usual_radius(FACE_CALL) {
  static const char *const names[] = {"map", "queries", "base", "k", "threads", NULL};
  PyObject *values[5], *result = NULL;
  face_rows queries, base;
  (void)self;
  if (face_arguments("usual_radius", names, 3, args, nargs, kwnames, values) < 0) return NULL;
  const cpb_map *map = face_map_of(values[0], "map");
  if (map == NULL || face_rows_take(&queries, values[1], "queries", 0) < 0) return NULL;
  if (face_rows_take(&base, values[2], "base", queries.view.cols) == 0) {
    result = radius_of(map, queries.view, base.view, values);
    face_rows_drop(&base);
  }
  face_rows_drop(&queries);
  return result;
}

static PyMethodDef functions[] = {
    FACE_METHOD("cosines", cosines, "(s, before, after, correlation, slope, rms) of pairs of rows"),
    FACE_METHOD("usual_radius", usual_radius, "the median distance of the k-th neighbour"),
    {NULL, NULL, 0, NULL}};

int face_add_cosines(PyObject *module) { return PyModule_AddFunctions(module, functions); }
