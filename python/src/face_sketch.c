/* T14: binary codes and the search among them. */
#include "face.h"
#include <capball/advanced/estimator.h>

static void free_sketch(void *held) { cpb_sketch_free(held); }
static const cpb_sketch *held(PyObject *self) { return ((face_object *)self)->held; }

static void describe(const cpb_sketch *sketch, cpb_sketch_options *options) {
  cpb_sketch_options_init(options, sizeof *options);
  cpb_sketch_describe(sketch, options);
}

static face_kind sketch_kind;

const cpb_sketch *face_sketch_of(PyObject *object, const char *name) {
  return face_held(object, sketch_kind.type, name, "a Sketch");
}

static PyObject *wrap(PyTypeObject *type, void *sketch) {
  cpb_sketch_options options;
  describe(sketch, &options);
  return face_hold(type, sketch, options.d, options.code_bytes);
}

/* ---- fit */

/* v: x, bits, s, goal, seed, sample, map, threads, progress, bytes, form, certain */
static int fit_options(PyObject **v, cpb_sketch_fit_options *o, cpb_sketch_training *t) {
  if (face_sketch_training(v + 9, t) < 0 || face_size(v[1], "bits", &t->bits) < 0 ||
      face_double(v[2], "s", &o->s) < 0 || face_goal(v[3], &o->goal) < 0 ||
      face_uint64(v[4], "seed", &t->seed) < 0 || face_size(v[5], "sample", &o->sample) < 0)
    return -1;
  if (v[6] != NULL && (o->map = face_map_of(v[6], "map")) == NULL) return -1;
  o->training = t;
  return 0;
}

static PyObject *fit_rows(PyTypeObject *type, face_rows *rows, PyObject **values) {
  cpb_sketch_fit_options options;
  cpb_sketch_fit_options_init(&options, sizeof options);
  cpb_sketch_training training;
  cpb_sketch_training_init(&training, sizeof training);
  face_run run;
  cpb_sketch *sketch = NULL;
  cpb_error error;
  cpb_status status = CPB_OK;
  if (fit_options(values, &options, &training) < 0 || face_run_begin(&run, values[7], values[8]) < 0)
    return NULL;
  cpb_source source = cpb_source_from_view(rows->view);
  Py_BEGIN_ALLOW_THREADS;
  status = cpb_sketch_fit(&source, &options, &sketch, NULL, run.how, &error);
  Py_END_ALLOW_THREADS;
  face_run_end(&run);
  return status == CPB_OK ? wrap(type, sketch) : face_fail(status, &error);
}

static PyObject *sketch_fit(PyObject *type, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
  static const char *const names[] = {"x",       "bits",     "s",     "goal", "seed",    "sample", "map",
                                      "threads", "progress", "bytes", "form", "certain", NULL};
  PyObject *values[12];
  face_rows rows;
  if (face_arguments("fit", names, 1, args, nargs, kwnames, values) < 0) return NULL;
  if (face_rows_take(&rows, values[0], "x", 0) < 0) return NULL;
  PyObject *result = fit_rows((PyTypeObject *)type, &rows, values);
  face_rows_drop(&rows);
  return result;
}

/* ---- codes */

static PyObject *codes_of(const cpb_sketch *sketch, cpb_view x, size_t bytes, PyObject *threads,
                          PyObject *given) {
  face_out codes;
  face_run run;
  if (face_out_take(&codes, given, "out", CPB_U8, x.rows, bytes, FACE_ROWS) < 0) return NULL;
  if (face_run_begin(&run, threads, NULL) < 0) {
    face_out_drop(&codes);
    return NULL;
  }
  cpb_error error;
  cpb_status status;
  Py_BEGIN_ALLOW_THREADS;
  status = cpb_sketch_encode(sketch, x, codes.out.data, run.how, &error);
  Py_END_ALLOW_THREADS;
  face_run_end(&run);
  return face_out_end(&codes, status, &error);
}

static PyObject *sketch_encode(FACE_CALL) {
  static const char *const names[] = {"x", "threads", "out", NULL};
  PyObject *values[3];
  face_rows rows;
  face_object *object = (face_object *)self;
  if (face_arguments("encode", names, 1, args, nargs, kwnames, values) < 0) return NULL;
  if (face_rows_take(&rows, values[0], "x", object->d) < 0) return NULL;
  PyObject *result = codes_of(held(self), rows.view, object->n, values[1], values[2]);
  face_rows_drop(&rows);
  return result;
}

/* ---- files and facts */

static cpb_status to_json(const void *sketch, char **text, cpb_error *error) {
  return cpb_sketch_to_json(sketch, text, error);
}

static cpb_status from_json(const char *text, size_t length, const char *name, void **made,
                            cpb_error *error) {
  cpb_sketch *sketch;
  cpb_status status = cpb_sketch_from_json(text, length, name, &sketch, error);
  *made = sketch;
  return status;
}

static PyObject *get_fact(PyObject *self, void *which) {
  cpb_sketch_options o;
  describe(held(self), &o);
  switch (*(const char *)which) {
  case 'd': return PyLong_FromSize_t(o.d);
  case 'b': return PyLong_FromSize_t(o.bits);
  case 's': return PyFloat_FromDouble(o.s);
  case 'k': return PyUnicode_FromString(cpb_sketch_kind_name(o.kind));
  case 'c': return face_doubles_or_none(o.center, o.d);
  case 'p': return PyLong_FromSize_t(o.bits_per);
  case 'y': return PyLong_FromSize_t(o.code_bytes);
  case 'f':
    if (o.kind != CPB_SKETCH_JOINED) Py_RETURN_NONE;
    return PyUnicode_FromString(cpb_estimator_form_name(o.form));
  case 'r':
    if (!(o.recall[0] >= 0)) Py_RETURN_NONE;
    return Py_BuildValue("(dd)", o.recall[0], o.recall[1]);
  case 'e':
    return PyBool_FromLong(o.kind == CPB_SKETCH_PRINCIPAL || (o.kind == CPB_SKETCH_JOINED && o.numbers > 0));
  default:
    return face_matrix(o.normals, CPB_F64, o.kind == CPB_SKETCH_JOINED ? o.directions : o.bits / o.bits_per,
                       o.d + 1);
  }
}

static PyGetSetDef sketch_getset[] = {
    {"d", get_fact, NULL, "columns of the data", "d"},
    {"bits", get_fact, NULL, "bits of a code", "b"},
    {"s", get_fact, NULL, "the scale", "s"},
    {"kind", get_fact, NULL, "the kind of a code", "k"},
    {"form", get_fact, NULL, "what bytes of a joined code are of, or None", "f"},
    {"recall", get_fact, NULL, "of the 10 nearest of held-out rows among 10 and among 100 estimates, or None",
     "r"},
    {"has_bounds", get_fact, NULL, "whether codes have bounds of their errors", "e"},
    {"center", get_fact, NULL, "m, or None for 0", "c"},
    {"bits_per", get_fact, NULL, "bits per direction of a principal sketch", "p"},
    {"code_bytes", get_fact, NULL, "bytes of a code", "y"},
    {"normals", get_fact, NULL, "directions, rows of d+1", "n"},
    {NULL, NULL, NULL, NULL, NULL}};

static PyMethodDef sketch_methods[] = {FACE_CLASS("fit", sketch_fit, "a sketch trained on rows"),
                                       FACE_METHOD("encode", sketch_encode, "codes of rows, code_bytes each"),
                                       FACE_JSON("sketch"),
                                       {NULL, NULL, 0, NULL}};

static face_kind sketch_kind = {.name = "Sketch",
                                .doc = "short codes of rows",
                                .free_held = free_sketch,
                                .methods = sketch_methods,
                                .facts = sketch_getset,
                                .base = true,
                                .to_json = to_json,
                                .from_json = from_json,
                                .wrap = wrap};

int face_add_sketch(PyObject *module) { return face_add_kind(module, &sketch_kind); }
