/* Balls around data: T10, T11, their scores and files. */
#include <string.h>

#include "base/choice_names.h"
#include "face.h"

#include <capball/advanced/rounds.h>

static void free_model(void *held) { cpb_model_free(held); }
static const cpb_model *held(PyObject *self) { return ((face_object *)self)->held; }

static void describe(const cpb_model *model, cpb_model_options *options) {
  cpb_model_options_init(options, sizeof *options);
  cpb_model_describe(model, options);
}

static PyObject *wrap(PyTypeObject *type, void *model) {
  cpb_model_options options;
  describe(model, &options);
  return face_hold(type, model, options.d, 0);
}

/* ---- fit */

static const char *kernel_name(int kind) { return cpb_kernel_names[kind]; }

static const char *method_name(int method) { return cpb_model_method_name((cpb_model_method)(method + 1)); }

/* What options point at; the texts of the names belong to the list. */
typedef struct fit_arrays {
  double *weights;
  PyObject *list;
  const char **columns;
} fit_arrays;

static void drop_arrays(fit_arrays *arrays) {
  PyMem_Free(arrays->weights);
  PyMem_Free(arrays->columns);
  Py_DecRef(arrays->list);
}

static int take_columns(PyObject *value, size_t d, fit_arrays *arrays) {
  if (value == NULL || value == Py_None) return 0;
  arrays->list = PySequence_List(value);
  arrays->columns = arrays->list != NULL ? face_names(arrays->list, d) : NULL;
  return arrays->columns != NULL ? 0 : -1;
}

enum {
  FIT_X,
  FIT_NU,
  FIT_GAP,
  FIT_METHOD,
  FIT_KERNEL,
  FIT_GAMMA,
  FIT_OFFSET,
  FIT_DEGREE,
  FIT_WHITEN,
  FIT_RIDGE,
  FIT_WEIGHTS,
  FIT_STANDARDIZE,
  FIT_COLUMNS,
  FIT_BALLS,
  FIT_SEED,
  FIT_CONTAMINATION,
  FIT_ROBUST,
  FIT_CALIBRATE,
  FIT_THREADS,
  FIT_PROGRESS,
  FIT_ARGUMENTS
};
static const char *const fit_names[] = {
    "x",      "nu",        "gap",     "method",      "kernel",  "gamma", "offset", "degree",
    "whiten", "ridge",     "weights", "standardize", "columns", "balls", "seed",   "contamination",
    "robust", "calibrate", "threads", "progress",    NULL};

static int take_balls(PyObject *value, size_t *balls) {
  bool word = value != NULL && PyUnicode_Check(value);
  if (word && PyUnicode_CompareWithASCIIString(value, "auto") != 0) {
    PyErr_Format(PyExc_ValueError, "balls must be a number or \"auto\", got %R", value);
    return -1;
  }
  if (word) *balls = CPB_BALLS_AUTO;
  return word ? 0 : face_count(value, "balls", balls);
}

static int fit_options(PyObject **v, cpb_model_fit_options *o, fit_arrays *arrays, cpb_view x) {
  int kernel = (int)o->kernel.kind, method = (int)o->method;
  size_t degree = o->kernel.degree, rows = x.rows;
  if (face_double(v[FIT_NU], "nu", &o->nu) < 0 || face_double(v[FIT_GAP], "gap", &o->gap) < 0 ||
      face_choice(v[FIT_METHOD], "method", method_name, 3, &method) < 0 ||
      face_choice(v[FIT_KERNEL], "kernel", kernel_name, 3, &kernel) < 0 ||
      face_double(v[FIT_GAMMA], "gamma", &o->kernel.gamma) < 0 ||
      face_double(v[FIT_OFFSET], "offset", &o->kernel.offset) < 0 ||
      face_size(v[FIT_DEGREE], "degree", &degree) < 0 || face_flag(v[FIT_WHITEN], &o->whiten) < 0 ||
      face_double(v[FIT_RIDGE], "ridge", &o->ridge) < 0 ||
      face_doubles(v[FIT_WEIGHTS], "weights", &rows, &arrays->weights) < 0 ||
      face_flag(v[FIT_STANDARDIZE], &o->standardize) < 0 ||
      take_columns(v[FIT_COLUMNS], x.cols, arrays) < 0 || take_balls(v[FIT_BALLS], &o->balls) < 0 ||
      face_uint64(v[FIT_SEED], "seed", &o->seed) < 0 ||
      face_double(v[FIT_CONTAMINATION], "contamination", &o->contamination) < 0 ||
      face_flag(v[FIT_ROBUST], &o->robust) < 0 || face_flag(v[FIT_CALIBRATE], &o->calibrate) < 0)
    return -1;
  o->method = (cpb_svdd_method)method;
  o->kernel.kind = (cpb_kernel_kind)kernel;
  o->kernel.degree = degree < 1000000 ? (unsigned)degree : 1000000;
  o->weights = arrays->weights;
  o->weight_count = arrays->weights != NULL ? rows : 0;
  o->columns = arrays->columns;
  return 0;
}

static PyObject *fit_rows(PyTypeObject *type, face_rows *rows, PyObject **values) {
  cpb_model_fit_options options;
  cpb_model_fit_options_init(&options, sizeof options);
  fit_arrays arrays = {0};
  face_run run;
  cpb_model *model = NULL;
  cpb_error error;
  cpb_status status = CPB_OK;
  if (fit_options(values, &options, &arrays, rows->view) == 0 &&
      face_run_begin(&run, values[FIT_THREADS], values[FIT_PROGRESS]) == 0) {
    cpb_source source = cpb_source_from_view(rows->view);
    Py_BEGIN_ALLOW_THREADS;
    status = cpb_model_fit(&source, &options, &model, NULL, run.how, &error);
    Py_END_ALLOW_THREADS;
    face_run_end(&run);
  }
  drop_arrays(&arrays);
  if (status != CPB_OK) return face_fail(status, &error);
  return model != NULL ? wrap(type, model) : NULL;
}

static PyObject *model_fit(PyObject *type, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
  PyObject *values[FIT_ARGUMENTS];
  face_rows rows;
  if (face_arguments("fit", fit_names, 1, args, nargs, kwnames, values) < 0) return NULL;
  if (face_rows_take(&rows, values[FIT_X], "x", 0) < 0) return NULL;
  PyObject *result = fit_rows((PyTypeObject *)type, &rows, values);
  face_rows_drop(&rows);
  return result;
}

/* ---- scores */

static PyObject *scores_of(const cpb_model *model, cpb_view x, PyObject **values) {
  face_out out;
  face_run run;
  cpb_dtype dtype;
  if (face_result_dtype(values[2], CPB_F64, &dtype) < 0 ||
      face_out_take(&out, values[1], "out", dtype, x.rows, 1, FACE_COLUMN) < 0)
    return NULL;
  if (face_run_begin(&run, values[3], NULL) < 0) {
    face_out_drop(&out);
    return NULL;
  }
  cpb_error error;
  cpb_status status;
  Py_BEGIN_ALLOW_THREADS;
  status = cpb_model_scores(model, x, out.out, run.how, &error);
  Py_END_ALLOW_THREADS;
  face_run_end(&run);
  return face_out_end(&out, status, &error);
}

static PyObject *model_scores(FACE_CALL) {
  static const char *const names[] = {"x", "out", "dtype", "threads", NULL};
  PyObject *values[4];
  face_rows rows;
  if (face_arguments("scores", names, 1, args, nargs, kwnames, values) < 0) return NULL;
  if (face_rows_take(&rows, values[0], "x", ((face_object *)self)->d) < 0) return NULL;
  PyObject *result = scores_of(held(self), rows.view, values);
  face_rows_drop(&rows);
  return result;
}

/* Of one row: two vectors of d. */
typedef cpb_status (*row_facts)(const cpb_model *model, const double *x, double *first, double *second,
                                cpb_error *error);

/* What each column adds to |W(x-c)|^2, and the centre c. */
static cpb_status parts_and_center(const cpb_model *model, const double *x, double *parts, double *centers,
                                   cpb_error *error) {
  const double *center;
  cpb_model_options o = {.size = sizeof o};
  cpb_status status = cpb_model_parts(model, x, parts, &center, error);
  cpb_model_describe(model, &o);
  if (status == CPB_OK) memcpy(centers, center, o.d * sizeof *centers);
  return status;
}

static cpb_status find_facts(const cpb_model *model, row_facts find, cpb_view x, double *wide, double *first,
                             double *second, cpb_error *error) {
  cpb_status status = CPB_OK;
  cpb_view_widen(x, wide);
  for (size_t at = 0; at < x.rows * x.cols && status == CPB_OK; at += x.cols)
    status = find(model, wide + at, first + at, second + at, error);
  return status;
}

/* Two arrays of n rows of d. */
static PyObject *facts_of(const cpb_model *model, row_facts find, cpb_view x) {
  size_t elements = x.cols * x.rows;
  double *wide = PyMem_Calloc(3 * elements + 1, sizeof *wide), *parts = wide + elements;
  if (wide == NULL) return PyErr_NoMemory();
  cpb_error error;
  cpb_status status;
  Py_BEGIN_ALLOW_THREADS;
  status = find_facts(model, find, x, wide, parts, parts + elements, &error);
  Py_END_ALLOW_THREADS;
  PyObject *result = status == CPB_OK ? Py_BuildValue("NN", face_matrix(parts, CPB_F64, x.rows, x.cols),
                                                      face_matrix(parts + elements, CPB_F64, x.rows, x.cols))
                                      : face_fail(status, &error);
  PyMem_Free(wide);
  return result;
}

static PyObject *facts_of_rows(const char *name, row_facts find, FACE_CALL) {
  static const char *const names[] = {"x", NULL};
  PyObject *values[1];
  face_rows rows;
  if (face_arguments(name, names, 1, args, nargs, kwnames, values) < 0) return NULL;
  if (face_rows_take(&rows, values[0], "x", ((face_object *)self)->d) < 0) return NULL;
  PyObject *result = facts_of(held(self), find, rows.view);
  face_rows_drop(&rows);
  return result;
}

static PyObject *model_parts(FACE_CALL) {
  return facts_of_rows("parts", parts_and_center, self, args, nargs, kwnames);
}

static PyObject *model_ranges(FACE_CALL) {
  return facts_of_rows("ranges", cpb_model_ranges, self, args, nargs, kwnames);
}

static PyObject *model_ranks(FACE_CALL) {
  static const char *const names[] = {"scores", NULL};
  PyObject *values[1];
  size_t count = 0;
  double *scores;
  if (face_arguments("ranks", names, 1, args, nargs, kwnames, values) < 0) return NULL;
  if (face_doubles(values[0], "scores", &count, &scores) < 0) return NULL;
  for (size_t i = 0; i < count; i++) scores[i] = cpb_model_rank(held(self), scores[i]);
  PyObject *result = face_array(scores, CPB_F64, count);
  PyMem_Free(scores);
  return result;
}

static PyObject *model_p_values(FACE_CALL) {
  static const char *const names[] = {"scores", NULL};
  PyObject *values[1];
  size_t count = 0;
  double *scores;
  if (face_arguments("p_values", names, 1, args, nargs, kwnames, values) < 0) return NULL;
  if (face_doubles(values[0], "scores", &count, &scores) < 0) return NULL;
  for (size_t i = 0; i < count; i++) scores[i] = cpb_model_p_value(held(self), scores[i]);
  PyObject *result = face_array(scores, CPB_F64, count);
  PyMem_Free(scores);
  return result;
}

static PyObject *model_discoveries(FACE_CALL) {
  static const char *const names[] = {"p", "rate", NULL};
  PyObject *values[2];
  size_t count = 0;
  double *p, rate = 0.1, most = 0;
  cpb_error error;
  (void)self;
  if (face_arguments("discoveries", names, 2, args, nargs, kwnames, values) < 0 ||
      face_double(values[1], "rate", &rate) < 0 || face_doubles(values[0], "p", &count, &p) < 0)
    return NULL;
  cpb_status status = cpb_discoveries(p, count, rate, &most, &error);
  PyMem_Free(p);
  return status == CPB_OK ? PyFloat_FromDouble(most) : face_fail(status, &error);
}

static PyObject *model_verdicts(FACE_CALL) {
  static const char *const names[] = {"scores", NULL};
  PyObject *values[1];
  size_t count = 0;
  double *scores;
  if (face_arguments("verdicts", names, 1, args, nargs, kwnames, values) < 0) return NULL;
  if (face_doubles(values[0], "scores", &count, &scores) < 0) return NULL;
  int64_t *verdicts = PyMem_Calloc(count + 1, sizeof *verdicts);
  for (size_t i = 0; verdicts != NULL && i < count; i++)
    verdicts[i] = cpb_model_is_outlier(held(self), scores[i]) ? -1 : 1;
  PyObject *result = verdicts != NULL ? face_array(verdicts, CPB_I64, count) : PyErr_NoMemory();
  PyMem_Free(verdicts);
  PyMem_Free(scores);
  return result;
}

/* values: kind, c, r, W, columns */
static int region_options(PyObject **values, cpb_model_options *o, fit_arrays *arrays, double **numbers) {
  size_t kind = 0, square;
  if (face_size(values[0], "kind", &kind) < 0 || face_doubles(values[1], "c", &o->d, &numbers[0]) < 0 ||
      face_double(values[2], "r", &o->radius) < 0)
    return -1;
  square = o->d * o->d;
  if (face_doubles(values[3], "W", &square, &numbers[1]) < 0 || take_columns(values[4], o->d, arrays) < 0)
    return -1;
  o->method = CPB_MODEL_REGION;
  o->kind = (cpb_region_kind)kind;
  o->center = numbers[0];
  o->whiten = numbers[1];
  o->columns = arrays->columns;
  return 0;
}

static PyObject *model_of_region(PyObject *type, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
  static const char *const names[] = {"kind", "c", "r", "W", "columns", NULL};
  PyObject *values[5];
  cpb_model_options options;
  fit_arrays arrays = {0};
  double *numbers[2] = {NULL, NULL};
  cpb_model *model = NULL;
  cpb_error error;
  cpb_status status = CPB_OK;
  cpb_model_options_init(&options, sizeof options);
  if (face_arguments("of_region", names, 3, args, nargs, kwnames, values) < 0) return NULL;
  if (region_options(values, &options, &arrays, numbers) == 0)
    status = cpb_model_new(&options, &model, &error);
  drop_arrays(&arrays);
  PyMem_Free(numbers[0]);
  PyMem_Free(numbers[1]);
  if (status != CPB_OK) return face_fail(status, &error);
  return model != NULL ? wrap((PyTypeObject *)type, model) : NULL;
}

static PyObject *model_with_threshold(FACE_CALL) {
  static const char *const names[] = {"threshold", NULL};
  PyObject *values[1];
  cpb_model_options options;
  cpb_model *model;
  cpb_error error;
  describe(held(self), &options);
  if (face_arguments("with_threshold", names, 1, args, nargs, kwnames, values) < 0 ||
      face_double(values[0], "threshold", &options.threshold) < 0)
    return NULL;
  cpb_status status = cpb_model_new(&options, &model, &error);
  return status == CPB_OK ? wrap(Py_TYPE(self), model) : face_fail(status, &error);
}

static PyObject *model_with_fill(FACE_CALL) {
  static const char *const names[] = {"fill", NULL};
  PyObject *values[1];
  cpb_model_options options;
  cpb_model *model;
  cpb_error error;
  double *fill = NULL;
  describe(held(self), &options);
  if (face_arguments("with_fill", names, 1, args, nargs, kwnames, values) < 0 ||
      face_doubles(values[0], "fill", &options.d, &fill) < 0)
    return NULL;
  options.fill = fill;
  cpb_status status = cpb_model_new(&options, &model, &error);
  PyMem_Free(fill);
  return status == CPB_OK ? wrap(Py_TYPE(self), model) : face_fail(status, &error);
}

static PyObject *model_cap(PyObject *self, PyObject *unused) {
  (void)unused;
  size_t d = ((face_object *)self)->d;
  cpb_cap cap = {.d = d, .p = PyMem_Malloc((d + 1) * sizeof(double))};
  if (cap.p == NULL) return PyErr_NoMemory();
  double scale;
  cpb_error error;
  cpb_status status = cpb_model_cap(held(self), &scale, &cap, &error);
  PyObject *result = status == CPB_OK ? Py_BuildValue("dNddd", scale, face_array(cap.p, CPB_F64, d + 1),
                                                      cap.b, cap.sigma, cap.a)
                                      : face_fail(status, &error);
  PyMem_Free(cap.p);
  return result;
}

static PyObject *model_to_sql(FACE_CALL) {
  static const char *const arguments[] = {"columns", NULL};
  PyObject *values[1];
  if (face_arguments("to_sql", arguments, 0, args, nargs, kwnames, values) < 0) return NULL;
  PyObject *list = values[0] != NULL ? PySequence_List(values[0]) : NULL;
  const char **names = list != NULL ? face_names(list, ((face_object *)self)->d) : NULL;
  char *text = NULL;
  cpb_error error;
  cpb_status status = CPB_OK;
  PyObject *result = NULL;
  if (!PyErr_Occurred()) {
    status = cpb_model_to_sql(held(self), names, &text, &error);
    result = status == CPB_OK ? face_given_text(text) : face_fail(status, &error);
  }
  PyMem_Free(names);
  Py_DecRef(list);
  return result;
}

static PyObject *model_to_c(FACE_CALL) {
  static const char *const arguments[] = {"name", NULL};
  PyObject *values[1];
  const char *name = NULL;
  char *text = NULL;
  cpb_error error;
  if (face_arguments("to_c", arguments, 0, args, nargs, kwnames, values) < 0 ||
      (values[0] != NULL && face_text(values[0], "name", &name, NULL) < 0))
    return NULL;
  cpb_status status = cpb_model_to_c(held(self), name, &text, &error);
  return status == CPB_OK ? face_given_text(text) : face_fail(status, &error);
}

/* ---- files and facts */

static cpb_status to_json(const void *model, char **text, cpb_error *error) {
  return cpb_model_to_json(model, text, error);
}

static cpb_status from_json(const char *text, size_t length, const char *name, void **made,
                            cpb_error *error) {
  cpb_model *model;
  cpb_status status = cpb_model_from_json(text, length, name, &model, error);
  *made = model;
  return status;
}

static PyObject *ids_or_none(const uint64_t *ids, size_t count) {
  return ids != NULL ? face_array(ids, CPB_I64, count) : face_none();
}

PyObject *face_names_or_none(const char *const *names, size_t count) {
  if (names == NULL) return face_none();
  PyObject *list = PyList_New((Py_ssize_t)count);
  for (size_t i = 0; list != NULL && i < count; i++) {
    PyObject *name = PyUnicode_DecodeUTF8(names[i], (Py_ssize_t)strlen(names[i]), "replace");
    if (name == NULL || PyList_SetItem(list, (Py_ssize_t)i, name) < 0) {
      Py_DecRef(list);
      return NULL;
    }
  }
  return list;
}

/* A list of its lines. */
static PyObject *notes_of(const char *notes) {
  PyObject *text = PyUnicode_FromString(notes == NULL ? "" : notes);
  PyObject *list = text == NULL ? NULL : PyUnicode_Splitlines(text, 0);
  Py_DecRef(text);
  return list;
}

static PyObject *get_fact(PyObject *self, void *which) {
  cpb_model_options o;
  describe(held(self), &o);
  const char *fact = which;
  if (strcmp(fact, "d") == 0) return PyLong_FromSize_t(o.d);
  if (strcmp(fact, "center") == 0) return face_doubles_or_none(o.center, o.d);
  if (strcmp(fact, "radius") == 0) return PyFloat_FromDouble(o.radius);
  if (strcmp(fact, "threshold") == 0) return PyFloat_FromDouble(o.threshold);
  if (strcmp(fact, "calibrated") == 0) return PyLong_FromUnsignedLongLong(o.calibrated);
  if (strcmp(fact, "robust") == 0) return PyBool_FromLong(o.robust);
  if (strcmp(fact, "notes") == 0) return notes_of(o.notes);
  if (strcmp(fact, "region_kind") == 0) return PyLong_FromLong((long)o.kind);
  if (strcmp(fact, "nu") == 0) return PyFloat_FromDouble(o.nu);
  if (strcmp(fact, "gap") == 0) return PyFloat_FromDouble(o.gap);
  if (strcmp(fact, "lower_bound") == 0) return PyFloat_FromDouble(o.lower_bound);
  if (strcmp(fact, "converged") == 0) return PyBool_FromLong(o.converged);
  if (strcmp(fact, "rows") == 0) return PyLong_FromUnsignedLongLong(o.rows);
  if (strcmp(fact, "method") == 0) return PyUnicode_FromString(cpb_model_method_name(o.method));
  if (strcmp(fact, "kernel") == 0) return PyUnicode_FromString(kernel_name((int)o.kernel.kind));
  if (strcmp(fact, "support") == 0) return PyLong_FromSize_t(o.support);
  if (strcmp(fact, "support_rows") == 0) return ids_or_none(o.support_rows, o.listed);
  if (strcmp(fact, "multipliers") == 0) return face_doubles_or_none(o.multipliers, o.listed);
  if (strcmp(fact, "balls") == 0) return PyLong_FromSize_t(o.balls > 1 ? o.balls : 1);
  if (strcmp(fact, "centers") == 0)
    return o.balls > 1 ? face_matrix(o.centers, CPB_F64, o.balls, o.d) : face_none();
  if (strcmp(fact, "ball_radii") == 0) return face_doubles_or_none(o.ball_radii, o.balls);
  if (strcmp(fact, "ball_gaps") == 0) return face_doubles_or_none(o.ball_gaps, o.balls);
  if (strcmp(fact, "ball_rows") == 0) return ids_or_none(o.ball_rows, o.balls);
  if (strcmp(fact, "columns") == 0) return face_names_or_none(o.columns, o.d);
  if (strcmp(fact, "quantiles") == 0) return face_doubles_or_none(o.quantiles, o.quantile_count);
  return o.whiten != NULL ? face_matrix(o.whiten, CPB_F64, o.d, o.d) : face_none();
}

#define FACT(name, doc)                                                                                      \
  { name, get_fact, NULL, doc, name }
static PyGetSetDef model_getset[] = {
    FACT("d", "columns of the data"),
    FACT("center", "c, in the unit of the data; None with a kernel"),
    FACT("radius", "r, not squared, in the unit of W(x-c)"),
    FACT("whiten", "W, or None for I"),
    FACT("threshold", "the score below which a row is an outlier; 0 without contamination"),
    FACT("robust", "whether it was fitted by the recipe for outliers"),
    FACT("calibrated", "number of scores of rows that the fit had not seen, behind p-values; 0: none"),
    FACT("notes", "what such a fit did about rows and columns, a sentence each"),
    FACT("nu", "the share that may lie outside; 0 for the enclosing ball"),
    FACT("gap", "the relative gap between the bounds of the fit"),
    FACT("lower_bound", "of the radius (enclosing ball) or of the objective (SVDD)"),
    FACT("converged", "whether the wanted gap was reached"),
    FACT("rows", "rows of the training data"),
    FACT("method", "ball, exact, cap-svm, cap-svm-paper, region"),
    FACT("region_kind", "1: |W(x-c)| <= r, 2: <c,x> >= r, 3: |W(x-c)| >= r"),
    FACT("kernel", "linear, rbf, polynomial"),
    FACT("support", "number of support vectors"),
    FACT("support_rows", "their row numbers, or None"),
    FACT("multipliers", "theirs, or None"),
    FACT("balls", "number of balls"),
    FACT("centers", "of several balls the centres, a row each; else None"),
    FACT("ball_radii", "of several balls each one's own radius; scores are by `radius`"),
    FACT("ball_gaps", "of several balls each one's own gap"),
    FACT("ball_rows", "of several balls the rows that each was fitted to"),
    FACT("columns", "names of the columns, or None"),
    FACT("quantiles", "of the training scores, ascending"),
    {NULL, NULL, NULL, NULL, NULL}};

static PyMethodDef model_methods[] = {
    FACE_CLASS("fit", model_fit, "the smallest enclosing ball of rows, or SVDD with nu"),
    FACE_METHOD("scores", model_scores, "r^2 - |W(x-c)|^2 of every row; >= 0 is inside"),
    FACE_METHOD(
        "ranges", model_ranges,
        "ranges(x): for each column of each row the numbers, from and to, with which the row would be "
        "ordinary, its other columns as they are; both are the nearest number where none is enough"),
    FACE_METHOD("parts", model_parts,
                "(parts, centers): what each column adds to |W(x-c)|^2, and the nearest centre c"),
    FACE_METHOD("ranks", model_ranks, "the share of the training rows that score no more"),
    FACE_METHOD("p_values", model_p_values, "p of each score: how often a new ordinary row scores no more"),
    FACE_METHOD("discoveries", model_discoveries,
                "the largest of the p-values that are discoveries at a false-discovery rate; 0: none"),
    FACE_METHOD("verdicts", model_verdicts, "-1 for scores below the threshold, outliers, and 1 for others"),
    FACE_METHOD("with_threshold", model_with_threshold, "the same ball with another threshold"),
    FACE_METHOD("with_fill", model_with_fill, "the same with numbers for empty cells, in files"),
    FACE_METHOD("to_sql", model_to_sql, "the rows that are no outliers as a condition on columns"),
    FACE_METHOD("to_c", model_to_c, "the same condition as a function of C"),
    FACE_CLASS("of_region", model_of_region, "the model of a given region"),
    {"_cap", model_cap, METH_NOARGS, "(scale, p, b, sigma, a) of the ball"},
    FACE_JSON("model"),
    {NULL, NULL, 0, NULL}};

static face_kind model_kind = {.name = "Model",
                               .doc = "a ball around data",
                               .free_held = free_model,
                               .methods = model_methods,
                               .facts = model_getset,
                               .base = true,
                               .to_json = to_json,
                               .from_json = from_json,
                               .wrap = wrap};

int face_add_learn(PyObject *module) { return face_add_kind(module, &model_kind); }
