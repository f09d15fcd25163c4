/* Maps: T1 T2 T6, their fit, their queries (T13) and their files. */
#include <string.h>

#include "face.h"

static face_kind map_kind;

static void free_map(void *held) { cpb_map_free(held); }

static const cpb_map *held(PyObject *self) { return ((face_object *)self)->held; }

const cpb_map *face_map_of(PyObject *object, const char *name) {
  return face_held(object, map_kind.type, name, "a SphereMap");
}

static void describe(const cpb_map *map, cpb_map_options *options) {
  cpb_map_options_init(options, sizeof *options);
  cpb_map_describe(map, options);
}

static PyObject *wrap(PyTypeObject *type, void *map) {
  cpb_map_options options;
  describe(map, &options);
  return face_hold(type, map, options.d, 0);
}

/* The arrays of a map's options, copied for the call that makes it. */
typedef struct map_arrays {
  double *center, *pole, *whiten, *toward;
} map_arrays;

static void arrays_free(map_arrays *arrays) {
  PyMem_Free(arrays->center);
  PyMem_Free(arrays->pole);
  PyMem_Free(arrays->whiten);
  PyMem_Free(arrays->toward);
}

static int arrays_take(map_arrays *arrays, size_t d, PyObject **values) {
  if (d != 0 && d > (size_t)PY_SSIZE_T_MAX / sizeof(double) / d) return (void)PyErr_NoMemory(), -1;
  size_t more = d + 1, square = d * d;
  return face_doubles(values[0], "center", &d, &arrays->center) < 0 ||
                 face_doubles(values[1], "pole", &more, &arrays->pole) < 0 ||
                 face_doubles(values[2], "whiten", &square, &arrays->whiten) < 0 ||
                 face_doubles(values[3], "toward", &more, &arrays->toward) < 0
             ? -1
             : 0;
}

static PyObject *make(PyTypeObject *type, PyObject **values) {
  cpb_map_options options;
  cpb_map_options_init(&options, sizeof options);
  map_arrays arrays = {0};
  cpb_map *map = NULL;
  cpb_error error;
  cpb_status status = CPB_OK;
  if (face_size(values[0], "d", &options.d) == 0 && face_double(values[1], "s", &options.s) == 0 &&
      arrays_take(&arrays, options.d, values + 2) == 0) {
    options.center = arrays.center;
    options.pole = arrays.pole;
    options.whiten = arrays.whiten;
    options.toward = arrays.toward;
    status = cpb_map_new(&options, &map, &error);
  }
  arrays_free(&arrays);
  if (status != CPB_OK) return face_fail(status, &error);
  return map != NULL ? wrap(type, map) : NULL;
}

static PyObject *map_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  static char *names[] = {"d", "s", "center", "pole", "whiten", "toward", NULL};
  PyObject *values[6] = {NULL};
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO|OOOO:SphereMap", names, &values[0], &values[1],
                                   &values[2], &values[3], &values[4], &values[5]))
    return NULL;
  for (int i = 0; i < 6; i++)
    if (values[i] == Py_None) values[i] = NULL;
  return make(type, values);
}

/* ---- rows */

typedef cpb_status rows_call(const cpb_map *map, cpb_view x, cpb_out y, const cpb_exec *exec,
                             cpb_error *error);

static PyObject *apply(const cpb_map *map, rows_call *call, face_rows *in, size_t cols, PyObject **values) {
  face_out out;
  face_run run;
  cpb_dtype dtype;
  if (face_result_dtype(values[2], face_like(in->view.dtype), &dtype) < 0) return NULL;
  if (face_out_take(&out, values[1], "out", dtype, in->view.rows, cols,
                    in->single ? FACE_ONE_ROW : FACE_ROWS) < 0)
    return NULL;
  if (face_run_quietly(&run, values[3]) < 0) {
    face_out_drop(&out);
    return NULL;
  }
  cpb_error error;
  cpb_status status;
  Py_BEGIN_ALLOW_THREADS;
  status = call(map, in->view, out.out, run.how, &error);
  Py_END_ALLOW_THREADS;
  face_run_end(&run);
  return face_out_end(&out, status, &error);
}

static PyObject *rows_method(PyObject *self, const char *function, rows_call *call, size_t in_cols,
                             size_t out_cols, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
  static const char *const names[] = {"x", "out", "dtype", "threads", NULL};
  PyObject *values[4];
  if (face_arguments(function, names, 1, args, nargs, kwnames, values) < 0) return NULL;
  face_rows in;
  if (face_rows_take(&in, values[0], "x", in_cols) < 0) return NULL;
  PyObject *result = apply(held(self), call, &in, out_cols, values);
  face_rows_drop(&in);
  return result;
}

static PyObject *map_embed(FACE_CALL) {
  size_t d = ((face_object *)self)->d;
  return rows_method(self, "embed", cpb_map_embed, d, d + 1, args, nargs, kwnames);
}

static PyObject *map_unembed(FACE_CALL) {
  size_t d = ((face_object *)self)->d;
  return rows_method(self, "unembed", cpb_map_unembed, d + 1, d, args, nargs, kwnames);
}

/* ---- fit */

static int fit_options(PyObject **v, cpb_map_fit_options *options, double **center, double **pole,
                       size_t cols) {
  size_t d = cols, more = cols + 1;
  bool centred = true;
  if (v[3] != NULL && (v[3] == Py_True || v[3] == Py_False)) {
    centred = v[3] == Py_True;
    v[3] = NULL;
  }
  if (face_double(v[1], "s", &options->s) < 0 || face_goal(v[2], &options->goal) < 0 ||
      face_doubles(v[3], "center", &d, center) < 0 || face_doubles(v[4], "pole", &more, pole) < 0 ||
      face_flag(v[5], &options->whiten) < 0 || face_double(v[6], "ridge", &options->ridge) < 0 ||
      face_double(v[7], "target", &options->target) < 0 || face_size(v[8], "k", &options->k) < 0 ||
      face_size(v[9], "sample", &options->sample) < 0 || face_uint64(v[10], "seed", &options->seed) < 0 ||
      face_flag(v[11], &options->spherical) < 0 || face_flag(v[12], &options->skip_bad) < 0)
    return -1;
  options->center = *center;
  options->pole = *pole;
  options->centring = *center != NULL ? CPB_CENTRE_GIVEN : centred ? CPB_CENTRE_MEAN : CPB_CENTRE_NONE;
  return 0;
}

static PyObject *fit_rows(PyTypeObject *type, face_rows *rows, PyObject **values) {
  cpb_map_fit_options options;
  cpb_map_fit_options_init(&options, sizeof options);
  double *center = NULL, *pole = NULL;
  face_run run;
  cpb_map *map = NULL;
  cpb_error error;
  cpb_status status = CPB_OK;
  if (fit_options(values, &options, &center, &pole, rows->view.cols) == 0 &&
      face_run_begin(&run, values[13], values[14]) == 0) {
    cpb_source source = cpb_source_from_view(rows->view);
    Py_BEGIN_ALLOW_THREADS;
    status = cpb_map_fit(&source, &options, &map, NULL, run.how, &error);
    Py_END_ALLOW_THREADS;
    face_run_end(&run);
  }
  PyMem_Free(center);
  PyMem_Free(pole);
  if (status != CPB_OK) return face_fail(status, &error);
  return map != NULL ? wrap(type, map) : NULL;
}

static PyObject *map_fit(PyObject *type, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
  static const char *const names[] = {"x",        "s",       "goal",     "center", "pole", "whiten",
                                      "ridge",    "target",  "k",        "sample", "seed", "spherical",
                                      "skip_bad", "threads", "progress", NULL};
  PyObject *values[15];
  face_rows rows;
  if (face_arguments("fit", names, 1, args, nargs, kwnames, values) < 0) return NULL;
  if (face_rows_take(&rows, values[0], "x", 0) < 0) return NULL;
  PyObject *result = fit_rows((PyTypeObject *)type, &rows, values);
  face_rows_drop(&rows);
  return result;
}

/* ---- queries, T13 */

/* n radii: one number for all, or one for each. */
static double *radii_of(PyObject *value, size_t n) {
  double one = 0, *radii = NULL;
  if (value != NULL && PySequence_Check(value)) {
    face_doubles(value, "radius", &n, &radii);
    return radii;
  }
  if (face_double(value, "radius", &one) < 0) return NULL;
  radii = PyMem_Malloc((n != 0 ? n : 1) * sizeof *radii);
  if (radii == NULL) PyErr_NoMemory();
  for (size_t i = 0; radii != NULL && i < n; i++) radii[i] = one;
  return radii;
}

/* b is written as an array of doubles. */
static bool is_packed_f64(const cpb_out *b) {
  if (b->dtype == CPB_F64 && b->stride == 1) return true;
  PyErr_Format(PyExc_TypeError, "out: b must be numbers of type float64 that lie side by side");
  return false;
}

static PyObject *caps_of(const cpb_map *map, size_t d, face_rows *q, PyObject **values) {
  cpb_dtype dtype;
  face_out p = {0}, b = {0};
  face_run run;
  PyObject *given[2];
  if (face_pair(values[4], "(p, b)", given) < 0) return NULL;
  double *radii = radii_of(values[1], q->view.rows);
  if (radii == NULL) return NULL;
  cpb_error error;
  cpb_status status = CPB_OK;
  bool ready = face_result_dtype(values[2], face_like(q->view.dtype), &dtype) == 0 &&
               face_out_take(&p, given[0], "out", dtype, q->view.rows, d + 1,
                             q->single ? FACE_ONE_ROW : FACE_ROWS) == 0 &&
               face_out_take(&b, given[1], "out", CPB_F64, q->view.rows, 1, FACE_COLUMN) == 0 &&
               is_packed_f64(&b.out) && face_run_quietly(&run, values[3]) == 0;
  if (ready) {
    Py_BEGIN_ALLOW_THREADS;
    status = cpb_query_caps(map, q->view, radii, p.out, b.out.data, NULL, run.how, &error);
    Py_END_ALLOW_THREADS;
    face_run_end(&run);
    if (status != CPB_OK) face_fail(status, &error);
  }
  PyMem_Free(radii);
  if (ready && status == CPB_OK) return Py_BuildValue("NN", face_out_done(&p), face_out_done(&b));
  face_out_drop(&p);
  face_out_drop(&b);
  return NULL;
}

static PyObject *map_query(FACE_CALL) {
  static const char *const names[] = {"q", "radius", "dtype", "threads", "out", NULL};
  PyObject *values[5];
  face_rows q;
  size_t d = ((face_object *)self)->d;
  if (face_arguments("query", names, 1, args, nargs, kwnames, values) < 0) return NULL;
  if (face_rows_take(&q, values[0], "q", d) < 0) return NULL;
  PyObject *result = caps_of(held(self), d, &q, values);
  face_rows_drop(&q);
  return result;
}

/* ---- files */

static cpb_status to_json(const void *map, char **text, cpb_error *error) {
  return cpb_map_to_json(map, NULL, text, error);
}

static cpb_status from_json(const char *text, size_t length, const char *name, void **made,
                            cpb_error *error) {
  cpb_map *map;
  cpb_status status = cpb_map_from_json(text, length, name, &map, error);
  *made = map;
  return status;
}

/* ---- what it is */

static PyObject *get_d(PyObject *self, void *unused) {
  (void)unused;
  return PyLong_FromSize_t(((face_object *)self)->d);
}

static PyObject *get_s(PyObject *self, void *unused) {
  (void)unused;
  cpb_map_options options;
  describe(held(self), &options);
  return PyFloat_FromDouble(options.s);
}

static PyObject *get_array(PyObject *self, void *which) {
  cpb_map_options o;
  describe(held(self), &o);
  switch (*(const char *)which) {
  case 'c': return face_doubles_or_none(o.center, o.d);
  case 'p': return face_doubles_or_none(o.pole, o.d + 1);
  case 't': return face_doubles_or_none(o.toward, o.d + 1);
  default: return o.whiten != NULL ? face_matrix(o.whiten, CPB_F64, o.d, o.d) : face_none();
  }
}

static PyGetSetDef map_getset[] = {
    {"d", get_d, NULL, "columns of the data", NULL},
    {"s", get_s, NULL, "the scale, in the unit of W(x-m)", NULL},
    {"center", get_array, NULL, "m: d numbers, or None for 0", "c"},
    {"pole", get_array, NULL, "v: d+1 numbers, or None for e = (0,..,0,1)", "p"},
    {"whiten", get_array, NULL, "W: d x d numbers, or None for I", "w"},
    {"toward", get_array, NULL, "the direction that is turned onto e, or None", "t"},
    {NULL, NULL, NULL, NULL, NULL}};

static PyMethodDef map_methods[] = {
    FACE_METHOD("embed", map_embed, "y = S(W(x-m)) = (2 s z, s^2-|z|^2)/(|z|^2+s^2) of every row"),
    FACE_METHOD("unembed", map_unembed, "x with S(x) = y/|y| of every row"),
    FACE_METHOD("query", map_query, "(p, b) with |x-q| <= radius  <=>  <p,S(x)> >= b"),
    FACE_CLASS("fit", map_fit, "a map from rows"),
    FACE_JSON("map"),
    FACE_METHOD("_cap", face_map_cap, "the cap of a region, as numbers"),
    FACE_METHOD("_region", face_map_region, "the region of a cap, as numbers"),
    {NULL, NULL, 0, NULL}};

static face_kind map_kind = {.name = "Map",
                             .doc = "a map between R^d and the unit sphere of R^(d+1)",
                             .make = map_new,
                             .free_held = free_map,
                             .methods = map_methods,
                             .facts = map_getset,
                             .base = true,
                             .to_json = to_json,
                             .from_json = from_json,
                             .wrap = wrap};

int face_add_map(PyObject *module) { return face_add_kind(module, &map_kind); }
