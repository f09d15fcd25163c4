/* Classifiers of planes on the sphere: scores, probabilities, files. */
#include <string.h>

#include "face.h"

#include <capball/advanced/classes.h>

static void free_classes(void *held) { cpb_classes_free(held); }
static const cpb_classes *held(PyObject *self) { return ((face_object *)self)->held; }

static cpb_classes_options facts_of(const cpb_classes *classes) {
  cpb_classes_options options;
  cpb_classes_options_init(&options, sizeof options);
  cpb_classes_describe(classes, &options);
  return options;
}

static PyObject *wrap(PyTypeObject *type, void *classes) {
  cpb_classes_options options = facts_of(classes);
  return face_hold(type, classes, options.d, options.classes);
}

/* ---- new */

enum { W_ARG, W0_ARG, OWNERS, LABELS, SCALE, CENTER, FACTORS, WHITEN, RULE, COLUMNS, ROWS, ARGUMENTS };
static const char *const argument_names[] = {"w",       "w0",     "owners", "labels",  "s",    "center",
                                             "factors", "whiten", "rule",   "columns", "rows", NULL};

/* What options point at; the texts of the names belong to the lists. */
typedef struct new_arrays {
  double *w, *w0, *center, *factors, *whiten;
  uint64_t *owners;
  PyObject *label_list, *column_list;
  const char **labels, **columns;
} new_arrays;

static void drop_arrays(new_arrays *a) {
  PyMem_Free(a->w);
  PyMem_Free(a->w0);
  PyMem_Free(a->center);
  PyMem_Free(a->factors);
  PyMem_Free(a->whiten);
  PyMem_Free(a->owners);
  PyMem_Free(a->labels);
  PyMem_Free(a->columns);
  Py_DecRef(a->label_list);
  Py_DecRef(a->column_list);
}

static const char *rule_name(int rule) { return cpb_class_rule_name((cpb_class_rule)rule); }

static int take_names(PyObject *value, size_t count, PyObject **list, const char ***names) {
  if (value == NULL) return 0;
  *list = PySequence_List(value);
  *names = *list != NULL ? face_names(*list, count) : NULL;
  return *names != NULL ? 0 : -1;
}

static int take_owners(PyObject *value, size_t planes, new_arrays *a) {
  double *numbers;
  if (face_doubles(value, "owners", &planes, &numbers) < 0) return -1;
  a->owners = PyMem_Calloc(planes + 1, sizeof *a->owners);
  for (size_t k = 0; a->owners != NULL && k < planes; k++)
    a->owners[k] = numbers[k] >= 0 && numbers[k] < 1e9 ? (uint64_t)numbers[k] : UINT64_MAX;
  PyMem_Free(numbers);
  if (a->owners != NULL) return 0;
  PyErr_NoMemory();
  return -1;
}

static int take(PyObject **v, cpb_classes_options *o, new_arrays *a) {
  size_t numbers = 0, square;
  int rule = (int)o->rule;
  Py_ssize_t labels = PySequence_Size(v[LABELS]);
  if (labels < 0 || face_doubles(v[W0_ARG], "w0", &o->planes, &a->w0) < 0 ||
      face_doubles(v[W_ARG], "w", &numbers, &a->w) < 0 || face_double(v[SCALE], "s", &o->s) < 0)
    return -1;
  if (o->planes == 0 || numbers % o->planes != 0 || numbers / o->planes < 2) {
    PyErr_SetString(PyExc_ValueError, "w must be a row of d+1 numbers for each of w0");
    return -1;
  }
  o->d = numbers / o->planes - 1;
  o->classes = (size_t)labels;
  square = o->d * o->d;
  if (take_owners(v[OWNERS], o->planes, a) < 0 || face_doubles(v[CENTER], "center", &o->d, &a->center) < 0 ||
      face_doubles(v[FACTORS], "factors", &o->d, &a->factors) < 0 ||
      face_doubles(v[WHITEN], "whiten", &square, &a->whiten) < 0 ||
      face_choice(v[RULE], "rule", rule_name, CPB_CLASS_RULES, &rule) < 0 ||
      take_names(v[LABELS], o->classes, &a->label_list, &a->labels) < 0 ||
      take_names(v[COLUMNS], o->d, &a->column_list, &a->columns) < 0 ||
      face_uint64(v[ROWS], "rows", &o->rows) < 0)
    return -1;
  o->rule = (cpb_class_rule)rule;
  o->w = a->w;
  o->w0 = a->w0;
  o->owners = a->owners;
  o->center = a->center;
  o->factors = a->factors;
  o->whiten = a->whiten;
  o->labels = a->labels;
  o->columns = a->columns;
  return 0;
}

static PyObject *classes_of(PyObject *type, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
  PyObject *values[ARGUMENTS];
  cpb_classes_options options;
  new_arrays arrays = {0};
  cpb_classes *made = NULL;
  cpb_error error;
  cpb_status status = CPB_OK;
  cpb_classes_options_init(&options, sizeof options);
  if (face_arguments("of", argument_names, 5, args, nargs, kwnames, values) < 0) return NULL;
  if (take(values, &options, &arrays) == 0) status = cpb_classes_new(&options, &made, &error);
  drop_arrays(&arrays);
  if (status != CPB_OK) return face_fail(status, &error);
  return made != NULL ? wrap((PyTypeObject *)type, made) : NULL;
}

/* ---- scores */

static PyObject *scores_into(PyObject *self, cpb_view x, PyObject *threads) {
  face_out out;
  face_run run;
  cpb_error error;
  cpb_status status;
  if (face_out_take(&out, NULL, "out", CPB_F64, x.rows, ((face_object *)self)->n, FACE_ROWS) < 0) return NULL;
  if (face_run_begin(&run, threads, NULL) < 0) {
    face_out_drop(&out);
    return NULL;
  }
  Py_BEGIN_ALLOW_THREADS;
  status = cpb_classes_scores(held(self), x, out.out, run.how, &error);
  Py_END_ALLOW_THREADS;
  face_run_end(&run);
  return face_out_end(&out, status, &error);
}

static PyObject *classes_scores(FACE_CALL) {
  static const char *const names[] = {"x", "threads", NULL};
  PyObject *values[2];
  face_rows rows;
  if (face_arguments("scores", names, 1, args, nargs, kwnames, values) < 0) return NULL;
  if (face_rows_take(&rows, values[0], "x", ((face_object *)self)->d) < 0) return NULL;
  PyObject *result = scores_into(self, rows.view, values[1]);
  face_rows_drop(&rows);
  return result;
}

/* The scores of an argument: rows of as many numbers as there are classes. NULL with an exception. */
static double *take_scores(PyObject *self, PyObject *value, size_t *rows) {
  size_t count = 0, classes = ((face_object *)self)->n;
  double *scores;
  if (face_doubles(value, "scores", &count, &scores) < 0) return NULL;
  *rows = count / classes;
  if (count % classes == 0) return scores;
  PyMem_Free(scores);
  PyErr_Format(PyExc_ValueError, "scores must have %zu columns, one per class", classes);
  return NULL;
}

static PyObject *classes_probabilities(PyObject *self, PyObject *given) {
  size_t rows;
  cpb_error error;
  double *scores = take_scores(self, given, &rows);
  if (scores == NULL) return NULL;
  cpb_status status = cpb_classes_probabilities(held(self), scores, rows, &error);
  PyObject *result = status == CPB_OK ? face_matrix(scores, CPB_F64, rows, ((face_object *)self)->n)
                                      : face_fail(status, &error);
  PyMem_Free(scores);
  return result;
}

static PyObject *classes_verdicts(PyObject *self, PyObject *given) {
  size_t rows, classes = ((face_object *)self)->n;
  double *scores = take_scores(self, given, &rows);
  if (scores == NULL) return NULL;
  int64_t *verdicts = PyMem_Calloc(rows + 1, sizeof *verdicts);
  for (size_t i = 0; verdicts != NULL && i < rows; i++)
    verdicts[i] = (int64_t)cpb_classes_verdict(held(self), scores + i * classes);
  PyObject *result = verdicts != NULL ? face_array(verdicts, CPB_I64, rows) : PyErr_NoMemory();
  PyMem_Free(verdicts);
  PyMem_Free(scores);
  return result;
}

/* ---- SQL and C */

static PyObject *classes_to_sql(FACE_CALL) {
  static const char *const arguments[] = {"columns", NULL};
  PyObject *values[1], *list = NULL, *result = NULL;
  const char **names = NULL;
  char *text = NULL;
  cpb_error error;
  if (face_arguments("to_sql", arguments, 0, args, nargs, kwnames, values) < 0) return NULL;
  if (take_names(values[0], ((face_object *)self)->d, &list, &names) == 0) {
    cpb_status status = cpb_classes_to_sql(held(self), names, &text, &error);
    result = status == CPB_OK ? face_given_text(text) : face_fail(status, &error);
  }
  PyMem_Free(names);
  Py_DecRef(list);
  return result;
}

static PyObject *classes_to_c(FACE_CALL) {
  static const char *const arguments[] = {"name", NULL};
  PyObject *values[1];
  const char *name = NULL;
  char *text = NULL;
  cpb_error error;
  if (face_arguments("to_c", arguments, 0, args, nargs, kwnames, values) < 0 ||
      (values[0] != NULL && face_text(values[0], "name", &name, NULL) < 0))
    return NULL;
  cpb_status status = cpb_classes_to_c(held(self), name, &text, &error);
  return status == CPB_OK ? face_given_text(text) : face_fail(status, &error);
}

/* ---- files and facts */

static cpb_status to_json(const void *classes, char **text, cpb_error *error) {
  return cpb_classes_to_json(classes, text, error);
}

static cpb_status from_json(const char *text, size_t length, const char *name, void **made,
                            cpb_error *error) {
  cpb_classes *classes;
  cpb_status status = cpb_classes_from_json(text, length, name, &classes, error);
  *made = classes;
  return status;
}

static PyObject *get_fact(PyObject *self, void *which) {
  cpb_classes_options o = facts_of(held(self));
  const char *fact = which;
  if (strcmp(fact, "d") == 0) return PyLong_FromSize_t(o.d);
  if (strcmp(fact, "s") == 0) return PyFloat_FromDouble(o.s);
  if (strcmp(fact, "rows") == 0) return PyLong_FromUnsignedLongLong(o.rows);
  if (strcmp(fact, "rule") == 0) return PyUnicode_FromString(cpb_class_rule_name(o.rule));
  if (strcmp(fact, "labels") == 0) return face_names_or_none(o.labels, o.classes);
  if (strcmp(fact, "columns") == 0) return face_names_or_none(o.columns, o.d);
  if (strcmp(fact, "owners") == 0) return face_array(o.owners, CPB_I64, o.planes);
  if (strcmp(fact, "w") == 0) return face_matrix(o.w, CPB_F64, o.planes, o.d + 1);
  if (strcmp(fact, "w0") == 0) return face_array(o.w0, CPB_F64, o.planes);
  if (strcmp(fact, "center") == 0) return face_doubles_or_none(o.center, o.d);
  if (strcmp(fact, "factors") == 0) return face_doubles_or_none(o.factors, o.d);
  return o.whiten != NULL ? face_matrix(o.whiten, CPB_F64, o.d, o.d) : face_none();
}

#define FACT(name, doc)                                                                                      \
  { name, get_fact, NULL, doc, name }
static PyGetSetDef classes_getset[] = {FACT("d", "columns of the data"),
                                       FACT("s", "the scale of the embedding"),
                                       FACT("rows", "rows of the training data; 0: unknown"),
                                       FACT("rule", "softmax, one-vs-rest, largest"),
                                       FACT("labels", "names of the classes"),
                                       FACT("columns", "names of the columns, or None"),
                                       FACT("owners", "the class of each plane"),
                                       FACT("w", "normals of the planes, d+1 numbers each"),
                                       FACT("w0", "their offsets"),
                                       FACT("center", "m, or None for 0"),
                                       FACT("factors", "g, a number per column, or None for 1"),
                                       FACT("whiten", "W, or None for I"),
                                       {NULL, NULL, NULL, NULL, NULL}};

static PyMethodDef classes_methods[] = {
    FACE_CLASS("of", classes_of, "a classifier of these planes"),
    FACE_METHOD("scores", classes_scores, "the score of every row for every class"),
    {"probabilities", classes_probabilities, METH_O, "scores as probabilities"},
    {"verdicts", classes_verdicts, METH_O, "the number of the class with the largest score"},
    FACE_METHOD("to_sql", classes_to_sql, "the class of a row as an expression on columns"),
    FACE_METHOD("to_c", classes_to_c, "the class of a row as a function of C"),
    FACE_JSON("classes"),
    {NULL, NULL, 0, NULL}};

static face_kind classes_kind = {.name = "Classes",
                                 .doc = "classes as balls",
                                 .free_held = free_classes,
                                 .methods = classes_methods,
                                 .facts = classes_getset,
                                 .base = true,
                                 .to_json = to_json,
                                 .from_json = from_json,
                                 .wrap = wrap};

int face_add_classes(PyObject *module) { return face_add_kind(module, &classes_kind); }
