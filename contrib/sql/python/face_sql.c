/* The functions of databases (sql/common) for capball.duckdb: parsed objects applied to rows, and fits. */
#include <string.h>

#include "face.h"
#include "sql_calls.h"
#include "sql_error.h"
#include "sql_rows.h"

static face_kind object_kind;

static void free_object(void *held) { sql_object_free(held); }

static const char *kind_name(int kind) {
  static const char *const names[] = {"map", "model", "region"};
  return names[kind];
}

static PyObject *new_object(FACE_CALL) {
  static const char *const names[] = {"kind", "text", NULL};
  PyObject *values[2];
  int kind = 0;
  const char *text;
  Py_ssize_t length;
  (void)self;
  if (face_arguments("sql_object", names, 2, args, nargs, kwnames, values) < 0 ||
      face_choice(values[0], "kind", kind_name, 3, &kind) < 0 ||
      face_text(values[1], "text", &text, &length) < 0)
    return NULL;
  sql_object *object;
  cpb_error error;
  cpb_status status = sql_object_new((sql_kind)kind, text, (size_t)length, &object, &error);
  if (status != CPB_OK) return face_fail(status, &error);
  return face_hold(object_kind.type, object, 0, (size_t)kind);
}

/* ---- calls */

static const char *call_name(int call) { return sql_calls[call].name; }

static cpb_view row_of(cpb_view rows, size_t i) {
  rows.data = (const char *)rows.data + i * rows.stride * cpb_dtype_size(rows.dtype);
  rows.rows = 1;
  return rows;
}

static cpb_out out_row_of(cpb_out rows, size_t i) {
  if (rows.data != NULL) rows.data = (char *)rows.data + i * rows.stride * cpb_dtype_size(rows.dtype);
  rows.rows = 1;
  return rows;
}

/* All rows of x; third: their radii or queries. */
typedef struct batch {
  const sql_call *call;
  const sql_object *object;
  cpb_view x, q;
  const double *radii;
  cpb_out vectors;
  double *numbers;
} batch;

static cpb_status run_rows(const batch *b, cpb_error *error) {
  if (b->call->many) {
    sql_answer out = {.vector = b->vectors};
    return b->call->run(b->object, &(sql_arguments){.x = b->x}, &out, error);
  }
  for (size_t i = 0; i < b->x.rows; i++) {
    sql_arguments in = {.x = row_of(b->x, i)};
    if (b->call->third == SQL_QUERY) in.q = row_of(b->q, i);
    if (b->call->third == SQL_RADIUS) in.radius = b->radii[i];
    sql_answer out = {.vector = out_row_of(b->vectors, i)};
    cpb_status status = b->call->run(b->object, &in, &out, error);
    if (status != CPB_OK) return status;
    b->numbers[i] = out.number;
  }
  return CPB_OK;
}

/* (vectors, numbers), None for those that the call does not compute. */
static PyObject *answer(batch *b) {
  face_out vectors = {0}, numbers = {0};
  size_t rows = b->x.rows, length = b->call->length == NULL ? 0 : b->call->length(b->object);
  cpb_dtype dtype = b->call->result == SQL_DOUBLES ? CPB_F64 : b->x.dtype;
  if (face_out_take(&numbers, NULL, "numbers", CPB_F64, rows, 1, FACE_COLUMN) < 0) return NULL;
  if (length > 0 && face_out_take(&vectors, NULL, "vectors", dtype, rows, length, FACE_ROWS) < 0) {
    face_out_drop(&numbers);
    return NULL;
  }
  b->vectors = vectors.out;
  b->numbers = numbers.out.data;
  cpb_error error;
  cpb_status status;
  Py_BEGIN_ALLOW_THREADS;
  status = run_rows(b, &error);
  Py_END_ALLOW_THREADS;
  if (status == CPB_OK)
    return Py_BuildValue("NN", length > 0 ? face_out_done(&vectors) : face_none(), face_out_done(&numbers));
  if (length > 0) face_out_drop(&vectors);
  face_out_drop(&numbers);
  if (!b->call->many) sql_message(&error);
  return face_fail(status, &error);
}

static PyObject *answer_third(batch *b, PyObject *third) {
  face_rows q = {0};
  double *radii = NULL;
  size_t count = b->x.rows;
  PyObject *result = NULL;
  if (b->call->third == SQL_NOTHING) return answer(b);
  if (b->call->third == SQL_QUERY && face_rows_take(&q, third, "query", 0) < 0) return NULL;
  if (b->call->third == SQL_RADIUS && face_doubles(third, "radius", &count, &radii) < 0) return NULL;
  b->q = q.view;
  b->radii = radii;
  if (b->call->third == SQL_QUERY && q.view.rows != b->x.rows)
    PyErr_SetString(PyExc_ValueError, "as many queries as rows are needed");
  else
    result = answer(b);
  if (b->call->third == SQL_QUERY) face_rows_drop(&q);
  PyMem_Free(radii);
  return result;
}

static PyObject *object_call(FACE_CALL) {
  static const char *const names[] = {"name", "x", "third", NULL};
  PyObject *values[3], *result = NULL;
  face_rows x;
  int call = 0;
  if (face_arguments("call", names, 2, args, nargs, kwnames, values) < 0 ||
      face_choice(values[0], "name", call_name, SQL_CALLS, &call) < 0 ||
      face_rows_take(&x, values[1], "x", 0) < 0)
    return NULL;
  batch b = {.call = &sql_calls[call], .object = ((face_object *)self)->held, .x = x.view};
  if ((sql_kind)((face_object *)self)->n != b.call->kind)
    PyErr_Format(PyExc_TypeError, "%s needs a %s", b.call->name, kind_name((int)b.call->kind));
  else if (x.view.dtype != CPB_F32 && x.view.dtype != CPB_F64)
    PyErr_SetString(PyExc_TypeError, "x must be float32 or float64");
  else
    result = answer_third(&b, values[2]);
  face_rows_drop(&x);
  return result;
}

/* ---- fits */

static const char *fit_name(int fit) {
  static const char *const names[] = {"map", "ball", "svdd", "detector"};
  return names[fit];
}

static PyObject *fit_of(cpb_view x, const int64_t *numbers, const sql_settings *settings, sql_fit fit,
                        PyObject *threads) {
  face_run run;
  cpb_error error;
  char *text = NULL;
  cpb_status status;
  if (face_run_begin(&run, threads, NULL) < 0) return NULL;
  sql_rows *rows = sql_rows_new();
  Py_BEGIN_ALLOW_THREADS;
  status = rows == NULL ? sql_fail(&error, CPB_WHY_MEMORY, "no memory for rows")
                        : sql_rows_add(rows, x, numbers, settings, &error);
  if (status == CPB_OK) status = sql_rows_fit(rows, fit, run.how, &text, &error);
  sql_rows_free(rows);
  Py_END_ALLOW_THREADS;
  face_run_end(&run);
  return status == CPB_OK ? face_given_text(text) : face_fail(status, &error);
}

static PyObject *fit_rows(FACE_CALL) {
  static const char *const names[] = {"fit", "x", "goal", "share", "numbers", "threads", NULL};
  PyObject *values[6], *result = NULL;
  face_rows x;
  int fit = 0;
  Py_buffer numbers;
  sql_settings settings = {0};
  (void)self;
  if (face_arguments("sql_fit", names, 2, args, nargs, kwnames, values) < 0 ||
      face_choice(values[0], "fit", fit_name, 4, &fit) < 0 || face_goal(values[2], &settings.goal) < 0 ||
      face_double(values[3], "share", &settings.share) < 0 || face_rows_take(&x, values[1], "x", 0) < 0)
    return NULL;
  settings.numbered = values[4] != NULL;
  if (x.view.stride != x.view.cols || (x.view.dtype != CPB_F32 && x.view.dtype != CPB_F64))
    PyErr_SetString(PyExc_TypeError, "x must be contiguous rows of float32 or float64");
  else if (!settings.numbered)
    result = fit_of(x.view, NULL, &settings, (sql_fit)fit, values[5]);
  else if (face_ids(values[4], "numbers", 1, x.view.rows, &numbers) == 0) {
    result = fit_of(x.view, numbers.buf, &settings, (sql_fit)fit, values[5]);
    PyBuffer_Release(&numbers);
  }
  face_rows_drop(&x);
  return result;
}

static PyMethodDef object_methods[] = {
    FACE_METHOD("call", object_call, "(vectors, numbers) of a function of databases for every row"),
    {NULL, NULL, 0, NULL}};

static face_kind object_kind = {.name = "SqlObject",
                                .doc = "a map, a model or a region for the functions of databases",
                                .free_held = free_object,
                                .methods = object_methods};

static PyMethodDef functions[] = {
    FACE_METHOD("sql_object", new_object, "a map, a model or a region from its JSON"),
    FACE_METHOD("sql_fit", fit_rows, "the JSON of a map or a model fitted to rows, as in databases"),
    {NULL, NULL, 0, NULL}};

int face_add_sql(PyObject *module) {
  return face_add_kind(module, &object_kind) == 0 ? PyModule_AddFunctions(module, functions) : -1;
}
