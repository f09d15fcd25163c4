/* What data are like: mergeable statistics, ABID (T9), and transforms fitted to a base (T13). */
#include <string.h>

#include "face.h"
#include <capball/advanced/abid.h>

/* ---- statistics */

static face_kind statistics_kind;

static void free_statistics(void *held) { cpb_statistics_free(held); }
static cpb_statistics *held(PyObject *self) { return ((face_object *)self)->held; }

static PyObject *wrap(PyTypeObject *type, cpb_statistics *statistics) {
  cpb_statistics_options options;
  cpb_statistics_options_init(&options, sizeof options);
  cpb_statistics_describe(statistics, &options);
  return face_hold(type, statistics, options.d, options.dtype);
}

static PyObject *statistics_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  static char *names[] = {"d", "dtype", "sample", "seed", "repeats", NULL};
  PyObject *v[5] = {NULL};
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|OOOO:Statistics", names, &v[0], &v[1], &v[2], &v[3],
                                   &v[4]))
    return NULL;
  cpb_statistics_options options;
  cpb_statistics_options_init(&options, sizeof options);
  options.dtype = CPB_F64;
  if (face_size(v[0], "d", &options.d) < 0 || face_row_dtype(v[1], &options.dtype) < 0 ||
      face_size(v[2], "sample", &options.sample) < 0 || face_uint64(v[3], "seed", &options.seed) < 0 ||
      face_flag(v[4], &options.repeats) < 0)
    return NULL;
  cpb_statistics *statistics;
  cpb_error error;
  cpb_status status = cpb_statistics_new(&options, &statistics, &error);
  return status == CPB_OK ? wrap(type, statistics) : face_fail(status, &error);
}

static PyObject *update_rows(PyObject *self, cpb_view rows, uint64_t first, const uint64_t *ids) {
  cpb_statistics *statistics = held(self);
  cpb_error error;
  cpb_status status;
  if (face_enter((face_object *)self) < 0) return NULL;
  Py_BEGIN_ALLOW_THREADS;
  status = ids != NULL ? cpb_statistics_update_ids(statistics, rows, ids, &error)
                       : cpb_statistics_update(statistics, rows, first, &error);
  Py_END_ALLOW_THREADS;
  face_leave((face_object *)self);
  return status == CPB_OK ? face_none() : face_fail(status, &error);
}

static PyObject *statistics_update(FACE_CALL) {
  static const char *const names[] = {"rows", "first_id", "ids", NULL};
  PyObject *values[3], *result = NULL;
  face_rows rows;
  Py_buffer buffer = {0};
  uint64_t first = 0;
  if (face_arguments("update", names, 1, args, nargs, kwnames, values) < 0) return NULL;
  if (face_uint64(values[1], "first_id", &first) < 0 ||
      face_rows_take(&rows, values[0], "rows", ((face_object *)self)->d) < 0)
    return NULL;
  if (values[2] == NULL || face_ids(values[2], "ids", 1, rows.view.rows, &buffer) == 0) {
    result = update_rows(self, rows.view, first, buffer.buf);
    if (buffer.obj != NULL) PyBuffer_Release(&buffer);
  }
  face_rows_drop(&rows);
  return result;
}

cpb_statistics *face_statistics_of(PyObject *object, const char *name) {
  return face_held(object, statistics_kind.type, name, "Statistics");
}

typedef cpb_status merge_call(cpb_statistics *statistics, const cpb_statistics *from, cpb_error *error);

/* Both are this call's alone; merging an object with itself is for the library to refuse. */
static PyObject *with_other(PyObject *self, PyObject *object, const char *name, merge_call *call) {
  cpb_statistics *from = face_statistics_of(object, name);
  if (from == NULL || face_enter((face_object *)self) < 0) return NULL;
  cpb_error error;
  PyObject *result = NULL;
  if (object == self || face_enter((face_object *)object) == 0) {
    cpb_status status = call(held(self), from, &error);
    result = status == CPB_OK ? face_none() : face_fail(status, &error);
    if (object != self) face_leave((face_object *)object);
  }
  face_leave((face_object *)self);
  return result;
}

static PyObject *statistics_merge(PyObject *self, PyObject *piece) {
  return with_other(self, piece, "piece", cpb_statistics_merge);
}

static PyObject *statistics_restart(PyObject *self, PyObject *whole) {
  return with_other(self, whole, "whole", cpb_statistics_restart);
}

static PyObject *begin_norms(PyObject *self) {
  cpb_error error;
  cpb_status status = cpb_statistics_begin_norms(held(self), &error);
  return status == CPB_OK ? face_none() : face_fail(status, &error);
}

/* What a method does, while no other thread is in one. */
static PyObject *alone(PyObject *self, PyObject *(*act)(PyObject *self)) {
  if (face_enter((face_object *)self) < 0) return NULL;
  PyObject *result = act(self);
  face_leave((face_object *)self);
  return result;
}

static PyObject *statistics_begin_norms(PyObject *self, PyObject *unused) {
  (void)unused;
  return alone(self, begin_norms);
}

static PyObject *result_of(const cpb_statistics_result *r, size_t d) {
  return Py_BuildValue("{s:K,s:K,s:K,s:N,s:N,s:N,s:N,s:N,s:K,s:d,s:d,s:d}", "rows",
                       (unsigned long long)r->rows, "nan_rows", (unsigned long long)r->nan_rows, "inf_rows",
                       (unsigned long long)r->inf_rows, "mean", face_doubles_or_none(r->mean, d), "low",
                       face_doubles_or_none(r->low, d), "high", face_doubles_or_none(r->high, d), "sample",
                       face_matrix(r->sample.data, r->sample.dtype, r->sample.rows, d), "sample_ids",
                       face_array(r->sample_ids, CPB_I64, r->sample.rows), "norm_rows",
                       (unsigned long long)r->norm_rows, "norm_mean", r->norm_mean, "norm_max", r->norm_max,
                       "norm_median", r->norm_median);
}

static PyObject *finish(PyObject *self) {
  cpb_statistics_result result = {.size = sizeof result};
  cpb_error error;
  cpb_status status = cpb_statistics_finish(held(self), &result, &error);
  return status == CPB_OK ? result_of(&result, ((face_object *)self)->d) : face_fail(status, &error);
}

static PyObject *statistics_finish(PyObject *self, PyObject *unused) {
  (void)unused;
  return alone(self, finish);
}

static PyObject *given_bytes(void *bytes, size_t count) {
  PyObject *result = PyBytes_FromStringAndSize(bytes, (Py_ssize_t)count);
  cpb_free(bytes);
  return result;
}

static PyObject *serialize(PyObject *self) {
  void *bytes;
  size_t count;
  cpb_error error;
  cpb_status status = cpb_statistics_serialize(held(self), &bytes, &count, &error);
  return status == CPB_OK ? given_bytes(bytes, count) : face_fail(status, &error);
}

static PyObject *statistics_serialize(PyObject *self, PyObject *unused) {
  (void)unused;
  return alone(self, serialize);
}

static PyObject *statistics_deserialize(PyObject *type, PyObject *object) {
  Py_buffer buffer;
  if (PyObject_GetBuffer(object, &buffer, PyBUF_SIMPLE) < 0) return NULL;
  cpb_statistics *statistics;
  cpb_error error;
  cpb_status status = cpb_statistics_deserialize(buffer.buf, (size_t)buffer.len, NULL, &statistics, &error);
  PyBuffer_Release(&buffer);
  return status == CPB_OK ? wrap((PyTypeObject *)type, statistics) : face_fail(status, &error);
}

static PyObject *statistics_fact(PyObject *self, void *which) {
  if (*(const char *)which == 'd') return PyLong_FromSize_t(((face_object *)self)->d);
  return PyLong_FromUnsignedLongLong(cpb_statistics_bad_rows(held(self)));
}

static PyGetSetDef statistics_getset[] = {
    {"d", statistics_fact, NULL, "columns", "d"},
    {"bad_rows", statistics_fact, NULL, "rows left out so far: NaN and inf", "b"},
    {NULL, NULL, NULL, NULL, NULL}};

static PyMethodDef statistics_methods[] = {
    FACE_METHOD("update", statistics_update, "takes rows in, numbered from first_id or by ids"),
    {"merge", statistics_merge, METH_O, "adds the rows of another piece"},
    {"restart", statistics_restart, METH_O, "empties this piece for more rows of a whole"},
    {"begin_norms", statistics_begin_norms, METH_NOARGS, "turns to pass 2, the norms about the mean"},
    {"finish", statistics_finish, METH_NOARGS, "what was gathered, as a dict"},
    {"serialize", statistics_serialize, METH_NOARGS, "the state as bytes"},
    {"deserialize", statistics_deserialize, METH_O | METH_CLASS, "statistics from their bytes"},
    {NULL, NULL, 0, NULL}};

static face_kind statistics_kind = {
    .name = "Statistics",
    .doc = "counts, sums, a sample and norms of rows, in pieces that merge",
    .make = statistics_new,
    .free_held = free_statistics,
    .methods = statistics_methods,
    .facts = statistics_getset,
};

/* ---- ABID */

static PyObject *abid_numbers(cpb_view x, const double *center, const double *s, size_t count,
                              PyObject **values) {
  bool distinct = false;
  face_run run;
  face_out out;
  if (face_flag(values[3], &distinct) < 0 || face_run_begin(&run, values[4], values[5]) < 0) return NULL;
  size_t numbers = s != NULL ? count : 1;
  if (face_out_take(&out, NULL, "abid", CPB_F64, 1, numbers, FACE_ONE_ROW) < 0) {
    face_run_end(&run);
    return NULL;
  }
  cpb_pairs pairs = distinct ? CPB_PAIRS_DISTINCT : CPB_PAIRS_ALL;
  cpb_error error;
  cpb_status status;
  Py_BEGIN_ALLOW_THREADS;
  status = s != NULL ? cpb_abid_embedded(x, center, pairs, (cpb_abid_scales){s, count, out.out.data, NULL},
                                         run.how, &error)
                     : cpb_abid_original(x, center, pairs, out.out.data, run.how, &error);
  Py_END_ALLOW_THREADS;
  face_run_end(&run);
  return face_out_end(&out, status, &error);
}

static PyObject *abid(FACE_CALL) {
  static const char *const names[] = {"x", "s", "center", "distinct", "threads", "progress", NULL};
  PyObject *values[6], *result = NULL;
  face_rows x;
  double *s = NULL, *center = NULL;
  size_t count = 0;
  (void)self;
  if (face_arguments("abid", names, 1, args, nargs, kwnames, values) < 0) return NULL;
  if (face_rows_take(&x, values[0], "x", 0) < 0) return NULL;
  size_t d = x.view.cols;
  if (face_doubles(values[1], "s", &count, &s) == 0 && face_doubles(values[2], "center", &d, &center) == 0)
    result = abid_numbers(x.view, center, s, count, values);
  PyMem_Free(s);
  PyMem_Free(center);
  face_rows_drop(&x);
  return result;
}

/* ---- transforms */

static void free_transform(void *held) { cpb_transform_free(held); }

static const char *kind_name(int kind) { return cpb_transform_about((cpb_transform_kind)kind).name; }

static void describe(PyObject *self, cpb_transform_options *options) {
  cpb_transform_options_init(options, sizeof *options);
  cpb_transform_describe(((face_object *)self)->held, options);
}

static PyObject *transform_wrap(PyTypeObject *type, cpb_transform *transform, size_t d) {
  return face_hold(type, transform, d, cpb_transform_cols(transform));
}

static PyObject *transform_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  static char *names[] = {"kind", "d", "center", "max_norm", NULL};
  PyObject *v[4] = {NULL};
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO|OO:Transform", names, &v[0], &v[1], &v[2], &v[3]))
    return NULL;
  cpb_transform_options options;
  cpb_transform_options_init(&options, sizeof options);
  int kind = 0;
  double *center = NULL;
  if (face_choice(v[0], "kind", kind_name, CPB_TRANSFORMS, &kind) < 0 ||
      face_size(v[1], "d", &options.d) < 0 ||
      face_doubles(v[2] == Py_None ? NULL : v[2], "center", &options.d, &center) < 0 ||
      face_double(v[3] == Py_None ? NULL : v[3], "max_norm", &options.max_norm) < 0) {
    PyMem_Free(center);
    return NULL;
  }
  options.kind = (cpb_transform_kind)kind;
  options.center = center;
  cpb_transform *transform;
  cpb_error error;
  cpb_status status = cpb_transform_new(&options, &transform, &error);
  PyMem_Free(center);
  return status == CPB_OK ? transform_wrap(type, transform, options.d) : face_fail(status, &error);
}

static PyObject *transform_fit(PyObject *type, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
  static const char *const names[] = {"kind", "base", "threads", NULL};
  PyObject *values[3];
  int kind = 0;
  face_rows base;
  face_run run;
  if (face_arguments("fit", names, 2, args, nargs, kwnames, values) < 0 ||
      face_choice(values[0], "kind", kind_name, CPB_TRANSFORMS, &kind) < 0 ||
      face_rows_take(&base, values[1], "base", 0) < 0)
    return NULL;
  if (face_run_begin(&run, values[2], NULL) < 0) {
    face_rows_drop(&base);
    return NULL;
  }
  cpb_source source = cpb_source_from_view(base.view);
  cpb_transform *transform;
  cpb_error error;
  cpb_status status;
  Py_BEGIN_ALLOW_THREADS;
  status = cpb_transform_fit(&source, (cpb_transform_kind)kind, false, &transform, run.how, &error);
  Py_END_ALLOW_THREADS;
  face_run_end(&run);
  size_t d = base.view.cols;
  face_rows_drop(&base);
  return status == CPB_OK ? transform_wrap((PyTypeObject *)type, transform, d) : face_fail(status, &error);
}

static PyObject *apply_rows(PyObject *self, cpb_role role, face_rows *x, PyObject **values) {
  face_object *object = (face_object *)self;
  face_out out;
  face_run run;
  cpb_dtype dtype;
  if (face_result_dtype(values[2], face_like(x->view.dtype), &dtype) < 0 ||
      face_out_take(&out, values[1], "out", dtype, x->view.rows, object->n,
                    x->single ? FACE_ONE_ROW : FACE_ROWS) < 0)
    return NULL;
  if (face_run_quietly(&run, values[3]) < 0) {
    face_out_drop(&out);
    return NULL;
  }
  cpb_error error;
  cpb_status status;
  Py_BEGIN_ALLOW_THREADS;
  status = cpb_transform_apply(object->held, role, x->view, out.out, run.how, &error);
  Py_END_ALLOW_THREADS;
  face_run_end(&run);
  return face_out_end(&out, status, &error);
}

static PyObject *apply_as(PyObject *self, cpb_role role, const char *function, PyObject *const *args,
                          Py_ssize_t nargs, PyObject *kwnames) {
  static const char *const names[] = {"x", "out", "dtype", "threads", NULL};
  PyObject *values[4];
  face_rows x;
  if (face_arguments(function, names, 1, args, nargs, kwnames, values) < 0) return NULL;
  if (face_rows_take(&x, values[0], "x", ((face_object *)self)->d) < 0) return NULL;
  PyObject *result = apply_rows(self, role, &x, values);
  face_rows_drop(&x);
  return result;
}

static PyObject *transform_embed(FACE_CALL) {
  return apply_as(self, CPB_ROLE_BASE, "embed", args, nargs, kwnames);
}
static PyObject *transform_query(FACE_CALL) {
  return apply_as(self, CPB_ROLE_QUERY, "query", args, nargs, kwnames);
}

static PyObject *transform_fact(PyObject *self, void *which) {
  cpb_transform_options o;
  describe(self, &o);
  switch (*(const char *)which) {
  case 'd': return PyLong_FromSize_t(o.d);
  case 'k': return PyUnicode_FromString(kind_name((int)o.kind));
  case 'm': return PyUnicode_FromString(cpb_metric_name(cpb_transform_about(o.kind).metric));
  case 'c': return face_doubles_or_none(o.center, o.d);
  default: return PyFloat_FromDouble(o.max_norm);
  }
}

static PyGetSetDef transform_getset[] = {
    {"d", transform_fact, NULL, "columns of the data", "d"},
    {"kind", transform_fact, NULL, "none, center, normalize, lift-ip, ..", "k"},
    {"metric", transform_fact, NULL, "how transformed rows are compared", "m"},
    {"center", transform_fact, NULL, "m, or None for 0", "c"},
    {"max_norm", transform_fact, NULL, "L, the longest row of the base", "L"},
    {NULL, NULL, NULL, NULL, NULL}};

static PyMethodDef transform_methods[] = {
    FACE_CLASS("fit", transform_fit, "a transform of a kind for this base"),
    FACE_METHOD("embed", transform_embed, "rows of the base, transformed"),
    FACE_METHOD("query", transform_query, "queries, transformed"),
    {NULL, NULL, 0, NULL}};

static face_kind transform_kind = {
    .name = "Transform",
    .doc = "rivals of the sphere, and exact lifts",
    .make = transform_new,
    .free_held = free_transform,
    .methods = transform_methods,
    .facts = transform_getset,
    .base = true,
};

const cpb_transform *face_transform_of(PyObject *object) {
  int is = PyObject_IsInstance(object, (PyObject *)transform_kind.type);
  if (is < 0) PyErr_Clear();
  return is > 0 ? ((face_object *)object)->held : NULL;
}

static PyMethodDef functions[] = {
    FACE_METHOD("abid", abid, "ABID of the rows, or with s of their images at each scale"),
    {NULL, NULL, 0, NULL}};

int face_add_scale(PyObject *module) {
  bool added = face_add_kind(module, &statistics_kind) == 0 && face_add_kind(module, &transform_kind) == 0;
  return added ? PyModule_AddFunctions(module, functions) : -1;
}
