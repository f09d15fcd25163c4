/* T13: exact search, re-ranking. Ids are int64, distances double. */
#include <string.h>

#include "face.h"
#include <capball/advanced/candidates.h>
#include <capball/advanced/feed.h>

/* Two views at once, as most calls here have them. */
static int take_both(face_rows *base, PyObject *base_object, face_rows *queries, PyObject *query_object,
                     size_t more) {
  if (face_rows_take(base, base_object, "base", 0) < 0) return -1;
  if (face_rows_take(queries, query_object, "queries", base->view.cols - more) == 0) return 0;
  face_rows_drop(base);
  return -1;
}

static void drop_both(face_rows *base, face_rows *queries) {
  face_rows_drop(base);
  face_rows_drop(queries);
}

/* ---- k nearest */

/* metric < 0: codes by the bits in which they differ, T14. */
static cpb_status knn_call(cpb_view base, cpb_view queries, size_t k, int metric, cpb_hit *hits,
                           const cpb_exec *exec, cpb_error *error) {
  return metric < 0 ? cpb_hamming_knn(base, queries, k, hits, exec, error)
                    : cpb_knn(base, queries, k, (cpb_metric)metric, hits, exec, error);
}

static PyObject *knn_of(cpb_view base, cpb_view queries, size_t k, int metric, PyObject **values) {
  face_run run;
  cpb_hit *hits = face_hits_room(queries.rows, k, base.rows);
  if (hits == NULL) return NULL;
  cpb_error error;
  cpb_status status = CPB_OK;
  PyObject *result = NULL;
  if (face_run_begin(&run, values[0], values[1]) == 0) {
    Py_BEGIN_ALLOW_THREADS;
    status = knn_call(base, queries, k, metric, hits, run.how, &error);
    Py_END_ALLOW_THREADS;
    face_run_end(&run);
    result = status == CPB_OK ? face_hits_split(hits, queries.rows, k, values[2]) : face_fail(status, &error);
  }
  PyMem_Free(hits);
  return result;
}

static PyObject *knn(FACE_CALL) {
  static const char *const names[] = {"base", "queries", "k", "metric", "threads", "progress", "out", NULL};
  PyObject *values[7];
  face_rows base, queries;
  size_t k = 10;
  cpb_metric metric = CPB_L2;
  (void)self;
  if (face_arguments("knn", names, 2, args, nargs, kwnames, values) < 0) return NULL;
  if (face_size(values[2], "k", &k) < 0 || face_metric(values[3], &metric) < 0 ||
      take_both(&base, values[0], &queries, values[1], 0) < 0)
    return NULL;
  PyObject *result = knn_of(base.view, queries.view, k, (int)metric, values + 4);
  drop_both(&base, &queries);
  return result;
}

static PyObject *hamming_knn(FACE_CALL) {
  static const char *const names[] = {"codes", "queries", "k", "threads", "progress", "out", NULL};
  PyObject *values[6];
  face_rows codes, queries;
  size_t k = 10;
  (void)self;
  if (face_arguments("hamming_knn", names, 2, args, nargs, kwnames, values) < 0) return NULL;
  if (face_size(values[2], "k", &k) < 0 || take_both(&codes, values[0], &queries, values[1], 0) < 0)
    return NULL;
  PyObject *result = knn_of(codes.view, queries.view, k, -1, values + 3);
  drop_both(&codes, &queries);
  return result;
}

/* ---- candidates put in order by exact distances */

static int candidates_of(PyObject *object, size_t rows, cpb_hit **hits, size_t *count) {
  Py_buffer buffer;
  const uint64_t *ids = face_candidates(object, rows, count, &buffer);
  if (ids == NULL) return -1;
  *hits = face_hits_room(rows, *count, *count);
  for (size_t i = 0; *hits != NULL && i < rows * *count; i++) (*hits)[i] = (cpb_hit){ids[i], 0};
  PyBuffer_Release(&buffer);
  return *hits != NULL ? 0 : -1;
}

/* map = NULL: `base` are the rows themselves, otherwise their images. */
static cpb_status rerank_call(const cpb_map *map, cpb_view base, cpb_view queries, const cpb_hit *candidates,
                              size_t count, size_t k, cpb_hit *hits, const cpb_exec *exec, cpb_error *error) {
  cpb_store store = cpb_store_from_view(base);
  cpb_rerank_options options;
  cpb_rerank_options_init(&options, sizeof options);
  options.k = k;
  options.map = map;
  return cpb_rerank_store(&store, queries, candidates, count, &options, hits, exec, error);
}

static PyObject *rerank_of(const cpb_map *map, cpb_view base, cpb_view queries, PyObject **values) {
  size_t k = 10, count;
  cpb_hit *candidates, *hits;
  face_run run;
  if (face_size(values[3], "k", &k) < 0 || candidates_of(values[2], queries.rows, &candidates, &count) < 0)
    return NULL;
  PyObject *result = NULL;
  if ((hits = face_hits_room(queries.rows, k, count)) != NULL && face_run_begin(&run, values[5], NULL) == 0) {
    cpb_error error;
    cpb_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = rerank_call(map, base, queries, candidates, count, k, hits, run.how, &error);
    Py_END_ALLOW_THREADS;
    face_run_end(&run);
    result = status == CPB_OK ? face_hits_split(hits, queries.rows, k, values[6]) : face_fail(status, &error);
  }
  PyMem_Free(candidates);
  PyMem_Free(hits);
  return result;
}

static PyObject *rerank(FACE_CALL) {
  static const char *const names[] = {"base", "queries", "ids", "k", "map", "threads", "out", NULL};
  PyObject *values[7];
  face_rows base, queries;
  (void)self;
  if (face_arguments("rerank", names, 3, args, nargs, kwnames, values) < 0) return NULL;
  const cpb_map *map = values[4] != NULL ? face_map_of(values[4], "map") : NULL;
  if (values[4] != NULL && map == NULL) return NULL;
  if (take_both(&base, values[0], &queries, values[1], map != NULL) < 0) return NULL;
  PyObject *result = rerank_of(map, base.view, queries.view, values);
  drop_both(&base, &queries);
  return result;
}

/* ---- a search that is fed */

static void free_search(void *held) { cpb_search_free(held); }

static PyObject *search_make(PyTypeObject *type, cpb_view queries, PyObject **values) {
  cpb_search_options options;
  cpb_search_options_init(&options, sizeof options);
  double *limits = NULL;
  size_t n = queries.rows;
  if (face_size(values[1], "k", &options.k) < 0 || face_metric(values[2], &options.metric) < 0 ||
      face_doubles(values[3], "limits", &n, &limits) < 0)
    return NULL;
  options.limits = limits;
  cpb_search *search;
  cpb_error error;
  cpb_status status = cpb_search_new(queries, &options, &search, &error);
  PyMem_Free(limits);
  if (status != CPB_OK) return face_fail(status, &error);
  return face_hold(type, search, queries.cols, queries.rows);
}

static PyObject *search_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  static char *names[] = {"queries", "k", "metric", "limits", NULL};
  PyObject *values[4] = {NULL};
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|OOO:Search", names, &values[0], &values[1], &values[2],
                                   &values[3]))
    return NULL;
  for (int i = 1; i < 4; i++)
    if (values[i] == Py_None) values[i] = NULL;
  face_rows queries;
  if (face_rows_take(&queries, values[0], "queries", 0) < 0) return NULL;
  PyObject *result = search_make(type, queries.view, values);
  face_rows_drop(&queries);
  return result;
}

static cpb_status feed_call(cpb_search *search, cpb_view rows, uint64_t first, const uint64_t *ids,
                            const cpb_exec *exec, cpb_error *error) {
  return ids != NULL ? cpb_search_feed_ids(search, rows, ids, exec, error)
                     : cpb_search_feed(search, rows, first, exec, error);
}

static PyObject *feed_rows(face_object *self, cpb_view rows, uint64_t first, const uint64_t *ids,
                           PyObject **values) {
  face_run run;
  cpb_error error;
  cpb_status status;
  if (face_run_begin(&run, values[3], values[4]) < 0) return NULL;
  if (face_enter(self) < 0) return face_run_end(&run), NULL;
  Py_BEGIN_ALLOW_THREADS;
  status = feed_call(self->held, rows, first, ids, run.how, &error);
  Py_END_ALLOW_THREADS;
  face_leave(self);
  face_run_end(&run);
  if (status != CPB_OK) return face_fail(status, &error);
  return face_none();
}

static PyObject *search_feed(FACE_CALL) {
  static const char *const names[] = {"rows", "first_id", "ids", "threads", "progress", NULL};
  PyObject *values[5], *result = NULL;
  face_rows rows;
  Py_buffer buffer = {0};
  uint64_t first = 0;
  face_object *search = (face_object *)self;
  if (face_arguments("feed", names, 1, args, nargs, kwnames, values) < 0) return NULL;
  if (face_uint64(values[1], "first_id", &first) < 0 ||
      face_rows_take(&rows, values[0], "rows", search->d) < 0)
    return NULL;
  if (values[2] == NULL || face_ids(values[2], "ids", 1, rows.view.rows, &buffer) == 0) {
    result = feed_rows(search, rows.view, first, buffer.buf, values);
    if (buffer.obj != NULL) PyBuffer_Release(&buffer);
  }
  face_rows_drop(&rows);
  return result;
}

/* The hits of all queries one after the other: (lims, ids, distances), query i's in lims[i] .. lims[i+1]. */
static size_t count_hits(face_object *self, int64_t *lims, cpb_status *status, cpb_error *error) {
  size_t total = 0;
  lims[0] = 0;
  for (size_t i = 0; i < self->n && *status == CPB_OK; i++) {
    const cpb_hit *hits;
    size_t count = 0;
    *status = cpb_search_hits(self->held, i, &hits, &count, error);
    total += count;
    lims[i + 1] = (int64_t)total;
  }
  return total;
}

static void copy_hits(face_object *self, int64_t *ids, double *values) {
  size_t at = 0;
  for (size_t i = 0; i < self->n; i++) {
    const cpb_hit *hits;
    size_t count;
    if (cpb_search_hits(self->held, i, &hits, &count, NULL) != CPB_OK) return;
    for (size_t j = 0; j < count; j++, at++) {
      ids[at] = (int64_t)hits[j].id;
      values[at] = hits[j].value;
    }
  }
}

static PyObject *all_hits(face_object *self) {
  face_out lims, ids = {0}, values = {0};
  if (face_out_take(&lims, NULL, "lims", CPB_I64, 1, self->n + 1, FACE_ONE_ROW) < 0) return NULL;
  cpb_error error;
  cpb_status status = CPB_OK;
  size_t total = count_hits(self, lims.out.data, &status, &error);
  if (status != CPB_OK) {
    face_out_drop(&lims);
    return face_fail(status, &error);
  }
  if (face_out_take(&ids, NULL, "ids", CPB_I64, 1, total, FACE_ONE_ROW) < 0 ||
      face_out_take(&values, NULL, "distances", CPB_F64, 1, total, FACE_ONE_ROW) < 0) {
    face_out_drop(&lims);
    face_out_drop(&ids);
    face_out_drop(&values);
    return NULL;
  }
  copy_hits(self, ids.out.data, values.out.data);
  return Py_BuildValue("NNN", face_out_done(&lims), face_out_done(&ids), face_out_done(&values));
}

static PyObject *search_result(PyObject *self, PyObject *unused) {
  (void)unused;
  if (face_enter((face_object *)self) < 0) return NULL;
  PyObject *result = all_hits((face_object *)self);
  face_leave((face_object *)self);
  return result;
}

static PyMethodDef search_methods[] = {
    FACE_METHOD("feed", search_feed, "offers rows of the base, numbered from first_id or by ids"),
    {"result", search_result, METH_NOARGS, "(lims, ids, distances) of all queries, nearest first"},
    {NULL, NULL, 0, NULL}};

static face_kind search_kind = {
    .name = "Search",
    .doc = "exact search of a base that comes in blocks",
    .base = true,
    .make = search_new,
    .free_held = free_search,
    .methods = search_methods,
};

static PyMethodDef functions[] = {
    FACE_METHOD("knn", knn, "(distances, ids) of the k nearest rows"),
    FACE_METHOD("hamming_knn", hamming_knn, "(bits, ids) of the k codes that differ in the fewest bits"),
    FACE_METHOD("rerank", rerank, "(distances, ids) of the k nearest candidates, by exact distances"),
    {NULL, NULL, 0, NULL}};

int face_add_search(PyObject *module) {
  return face_add_kind(module, &search_kind) == 0 ? PyModule_AddFunctions(module, functions) : -1;
}
