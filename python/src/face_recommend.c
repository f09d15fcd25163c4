/* T13: every transform measured on a sample; what was measured as plain Python objects. */
#include "face.h"

static const char *engine_name(int engine) { return cpb_engine_name((cpb_engine)engine); }

static PyObject *row_of(const cpb_recommend_row *row, size_t curve_count) {
  return Py_BuildValue(
      "{s:s,s:d,s:s,s:s,s:N,s:d,s:d,s:K,s:K,s:n,s:N}", "transform", row->name, "scale", row->scale, "index",
      cpb_engine_name(row->index), "metric", cpb_metric_name(row->metric), "ball", PyBool_FromLong(row->ball),
      "recall", row->recall, "recall_error", row->recall_error, "candidates_for_99",
      (unsigned long long)row->candidates_for_99, "candidates_most", (unsigned long long)row->candidates_most,
      "bytes", (Py_ssize_t)row->bytes, "curve", face_array(row->curve, CPB_F64, curve_count));
}

static PyObject *rows_of(const cpb_recommendation_facts *facts) {
  PyObject *list = PyList_New(0);
  for (size_t i = 0; list != NULL && i < facts->count; i++) {
    PyObject *row = row_of(facts->rows[i], facts->curve_count);
    if (row == NULL || PyList_Append(list, row) < 0) {
      Py_DecRef(list);
      list = NULL;
    }
    Py_DecRef(row);
  }
  return list;
}

static PyObject *facts_of(const cpb_recommendation *recommendation) {
  cpb_recommendation_facts f = {.size = sizeof f};
  cpb_recommendation_describe(recommendation, &f);
  PyObject *rows = rows_of(&f);
  if (rows == NULL) return NULL;
  return Py_BuildValue("{s:n,s:n,s:n,s:d,s:d,s:N,s:N,s:n,s:n,s:n,s:n,s:N}", "k", (Py_ssize_t)f.k, "base_rows",
                       (Py_ssize_t)f.base_rows, "queries", (Py_ssize_t)f.queries, "norm_mean", f.norm_mean,
                       "radius", f.radius, "candidates", face_array(f.candidates, CPB_I64, f.curve_count),
                       "rows", rows, "pick", (Py_ssize_t)f.pick, "rival", (Py_ssize_t)f.rival, "for_cosine",
                       (Py_ssize_t)f.for_cosine, "for_growing", (Py_ssize_t)f.for_growing, "poor",
                       PyBool_FromLong(f.poor));
}

static const char *metric_name(int metric) { return cpb_metric_name((cpb_metric)metric); }

/* v: base, queries, k, engine, sample, most_queries, seed, skip_bad, threads, progress, metric */
static int take_options(PyObject **v, cpb_recommend_options *options, bool *skip_bad) {
  int engine = CPB_ENGINE_FLOAT;
  cpb_recommend_options_init(options, sizeof *options);
  if (face_size(v[2], "k", &options->k) < 0 ||
      face_choice(v[3], "engine", engine_name, CPB_ENGINES, &engine) < 0 ||
      face_size(v[4], "sample", &options->sample) < 0 ||
      face_size(v[5], "most_queries", &options->queries) < 0 ||
      face_uint64(v[6], "seed", &options->seed) < 0 || face_flag(v[7], skip_bad) < 0 ||
      (v[10] != NULL && face_choice(v[10], "metric", metric_name, CPB_METRICS, &options->metric) < 0))
    return -1;
  options->engine = (cpb_engine)engine;
  return 0;
}

static PyObject *measure(cpb_view base, const cpb_view *queries, PyObject **values) {
  cpb_recommend_options options;
  bool skip_bad = false;
  face_run run;
  if (take_options(values, &options, &skip_bad) < 0 || face_run_begin(&run, values[8], values[9]) < 0)
    return NULL;
  cpb_source rows = cpb_source_from_view(base),
             asking = cpb_source_from_view(queries != NULL ? *queries : base);
  cpb_recommendation *recommendation = NULL;
  cpb_error error;
  cpb_status status;
  Py_BEGIN_ALLOW_THREADS;
  status = cpb_recommend_fit(&rows, queries != NULL ? &asking : NULL, skip_bad, &options, &recommendation,
                             run.how, &error);
  Py_END_ALLOW_THREADS;
  face_run_end(&run);
  if (status != CPB_OK) return face_fail(status, &error);
  PyObject *result = facts_of(recommendation);
  cpb_recommendation_free(recommendation);
  return result;
}

static PyObject *recommend(FACE_CALL) {
  static const char *const names[] = {"base", "queries",  "k",       "engine",   "sample", "most_queries",
                                      "seed", "skip_bad", "threads", "progress", "metric", NULL};
  PyObject *values[11], *result = NULL;
  face_rows base, queries;
  (void)self;
  if (face_arguments("recommend", names, 1, args, nargs, kwnames, values) < 0) return NULL;
  if (face_rows_take(&base, values[0], "base", 0) < 0) return NULL;
  if (values[1] == NULL) {
    result = measure(base.view, NULL, values);
  } else if (face_rows_take(&queries, values[1], "queries", base.view.cols) == 0) {
    result = measure(base.view, &queries.view, values);
    face_rows_drop(&queries);
  }
  face_rows_drop(&base);
  return result;
}

static PyMethodDef functions[] = {
    FACE_METHOD("recommend", recommend, "every transform measured on a sample of the rows"),
    {NULL, NULL, 0, NULL}};

int face_add_recommend(PyObject *module) { return PyModule_AddFunctions(module, functions); }
