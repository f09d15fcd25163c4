/* What is gathered in pieces anywhere and brought together: cores (T10), tails (T11), covariances, lists of hits; and
 * what becomes of gathered statistics. */
#include <string.h>

#include "face.h"
#include <capball/advanced/estimator.h>
#include <capball/advanced/fitting.h>
#include <capball/advanced/rounds.h>

/* The same verbs for every kind of piece; NULL where a kind has no such verb. */
typedef struct piece_kind {
  face_kind face;
  cpb_status (*update)(void *held, cpb_view rows, const uint64_t *ids, const double *weights,
                       cpb_error *error);
  cpb_status (*merge)(void *held, const void *piece, cpb_error *error);
  cpb_status (*restart)(void *held, const void *whole, cpb_error *error);
  cpb_status (*solve)(void *held, bool *done, cpb_error *error);
  cpb_status (*serialize)(void *held, void **bytes, size_t *count, cpb_error *error);
  cpb_status (*deserialize)(const void *bytes, size_t count, void **held, cpb_error *error);
  cpb_status (*model)(const void *held, uint64_t rows, double *scores, size_t count, cpb_model **model,
                      cpb_error *error);
} piece_kind;

/* ---- the kinds */

/* What rounds of balls and of SVDD have in common, by the names of their functions. */
#define ROUNDS(kind)                                                                                         \
  static void kind##_free(void *held) { cpb_##kind##_rounds_free(held); }                                    \
  static cpb_status kind##_merge(void *held, const void *piece, cpb_error *error) {                          \
    return cpb_##kind##_rounds_merge(held, piece, error);                                                    \
  }                                                                                                          \
  static cpb_status kind##_restart(void *held, const void *whole, cpb_error *error) {                        \
    return cpb_##kind##_rounds_restart(held, whole, error);                                                  \
  }                                                                                                          \
  static cpb_status kind##_solve(void *held, bool *done, cpb_error *error) {                                 \
    return cpb_##kind##_rounds_solve(held, done, error);                                                     \
  }                                                                                                          \
  static cpb_status kind##_serialize(void *held, void **bytes, size_t *count, cpb_error *error) {            \
    return cpb_##kind##_rounds_serialize(held, bytes, count, error);                                         \
  }                                                                                                          \
  static cpb_status kind##_deserialize(const void *bytes, size_t count, void **held, cpb_error *error) {     \
    cpb_##kind##_rounds *rounds;                                                                             \
    cpb_status status = cpb_##kind##_rounds_deserialize(bytes, count, NULL, &rounds, error);                 \
    *held = rounds;                                                                                          \
    return status;                                                                                           \
  }                                                                                                          \
  static cpb_status kind##_model(const void *held, uint64_t rows, double *scores, size_t count,              \
                                 cpb_model **model, cpb_error *error) {                                      \
    return cpb_model_from_##kind##_rounds(held, rows, scores, count, model, error);                          \
  }

ROUNDS(ball)
ROUNDS(svdd)

static cpb_status ball_update(void *held, cpb_view rows, const uint64_t *ids, const double *weights,
                              cpb_error *error) {
  (void)weights;
  return cpb_ball_rounds_update_ids(held, rows, ids, NULL, error);
}

static cpb_status svdd_update(void *held, cpb_view rows, const uint64_t *ids, const double *weights,
                              cpb_error *error) {
  return cpb_svdd_rounds_update_ids(held, rows, ids, weights, NULL, error);
}

static void covariance_free(void *held) { cpb_covariance_free(held); }

static cpb_status covariance_update(void *held, cpb_view rows, const uint64_t *ids, const double *weights,
                                    cpb_error *error) {
  (void)ids, (void)weights;
  return cpb_covariance_update(held, rows, NULL, error);
}

static cpb_status covariance_merge(void *held, const void *piece, cpb_error *error) {
  return cpb_covariance_merge(held, piece, NULL, error);
}

static cpb_status covariance_serialize(void *held, void **bytes, size_t *count, cpb_error *error) {
  return cpb_covariance_serialize(held, bytes, count, NULL, error);
}

static cpb_status covariance_deserialize(const void *bytes, size_t count, void **held, cpb_error *error) {
  cpb_covariance *covariance;
  cpb_status status = cpb_covariance_deserialize(bytes, count, NULL, &covariance, error);
  *held = covariance;
  return status;
}

/* ---- the objects */

static piece_kind covariances;

static void *held(PyObject *self) { return ((face_object *)self)->held; }
static const piece_kind *kind_of(PyObject *self) { return (const piece_kind *)((face_object *)self)->kind; }

static PyObject *ball_rounds_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  static char *names[] = {"d", "gap", NULL};
  PyObject *v[2] = {NULL};
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|O:BallRounds", names, &v[0], &v[1])) return NULL;
  cpb_ball_options options;
  cpb_ball_options_init(&options, sizeof options);
  size_t d = 0;
  if (face_size(v[0], "d", &d) < 0 || face_double(v[1], "gap", &options.gap) < 0) return NULL;
  cpb_ball_rounds *rounds;
  cpb_error error;
  cpb_status status = cpb_ball_rounds_new(d, &options, &rounds, &error);
  return status == CPB_OK ? face_hold(type, rounds, d, 0) : face_fail(status, &error);
}

static PyObject *svdd_rounds_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  static char *names[] = {"d", "nu", "gap", "rounds", NULL};
  PyObject *v[4] = {NULL};
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|OOO:SvddRounds", names, &v[0], &v[1], &v[2], &v[3]))
    return NULL;
  cpb_svdd_options options;
  cpb_svdd_options_init(&options, sizeof options);
  size_t d = 0;
  if (face_size(v[0], "d", &d) < 0 || face_double(v[1], "nu", &options.nu) < 0 ||
      face_double(v[2], "gap", &options.gap) < 0 || face_size(v[3], "rounds", &options.max_iterations) < 0)
    return NULL;
  cpb_svdd_rounds *rounds;
  cpb_error error;
  cpb_status status = cpb_svdd_rounds_new(d, &options, &rounds, &error);
  return status == CPB_OK ? face_hold(type, rounds, d, 0) : face_fail(status, &error);
}

static PyObject *covariance_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  static char *names[] = {"d", NULL};
  PyObject *value = NULL;
  size_t d = 0;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O:Covariance", names, &value)) return NULL;
  if (face_size(value, "d", &d) < 0) return NULL;
  cpb_covariance *covariance;
  cpb_error error;
  cpb_status status = cpb_covariance_new(d, &covariance, &error);
  return status == CPB_OK ? face_hold(type, covariance, d, 0) : face_fail(status, &error);
}

/* ---- the verbs */

static PyObject *update_rows(PyObject *self, cpb_view rows, const uint64_t *ids, const double *weights) {
  cpb_error error;
  cpb_status status;
  if (face_enter((face_object *)self) < 0) return NULL;
  Py_BEGIN_ALLOW_THREADS;
  status = kind_of(self)->update(held(self), rows, ids, weights, &error);
  Py_END_ALLOW_THREADS;
  face_leave((face_object *)self);
  return status == CPB_OK ? face_none() : face_fail(status, &error);
}

static PyObject *piece_update(FACE_CALL) {
  static const char *const names[] = {"rows", "ids", "weights", NULL};
  PyObject *v[3], *result = NULL;
  face_rows rows;
  Py_buffer buffer = {0};
  double *weights = NULL;
  bool numbered = kind_of(self) != &covariances;
  if (face_arguments("update", names, numbered ? 2 : 1, args, nargs, kwnames, v) < 0) return NULL;
  if (face_rows_take(&rows, v[0], "rows", ((face_object *)self)->d) < 0) return NULL;
  size_t count = rows.view.rows;
  if ((!numbered || face_ids(v[1], "ids", 1, count, &buffer) == 0) &&
      face_doubles(v[2], "weights", &count, &weights) == 0)
    result = update_rows(self, rows.view, buffer.buf, weights);
  PyMem_Free(weights);
  if (buffer.obj != NULL) PyBuffer_Release(&buffer);
  face_rows_drop(&rows);
  return result;
}

typedef cpb_status merge_call(void *piece, const void *other, cpb_error *error);

/* Both are this call's alone; merging a piece with itself is for the library to refuse. */
static PyObject *with_other(PyObject *self, PyObject *object, const char *name, merge_call *call) {
  const void *other = face_held(object, Py_TYPE(self), name, "a piece of the same kind");
  if (other == NULL || face_enter((face_object *)self) < 0) return NULL;
  PyObject *result = NULL;
  cpb_error error;
  if (object == self || face_enter((face_object *)object) == 0) {
    cpb_status status = call(held(self), other, &error);
    result = status == CPB_OK ? face_none() : face_fail(status, &error);
    if (object != self) face_leave((face_object *)object);
  }
  face_leave((face_object *)self);
  return result;
}

static PyObject *piece_merge(PyObject *self, PyObject *piece) {
  return with_other(self, piece, "piece", kind_of(self)->merge);
}

static PyObject *piece_restart(PyObject *self, PyObject *whole) {
  return with_other(self, whole, "whole", kind_of(self)->restart);
}

static PyObject *piece_solve(PyObject *self, PyObject *unused) {
  (void)unused;
  bool done = false;
  cpb_error error;
  cpb_status status;
  if (face_enter((face_object *)self) < 0) return NULL;
  Py_BEGIN_ALLOW_THREADS;
  status = kind_of(self)->solve(held(self), &done, &error);
  Py_END_ALLOW_THREADS;
  face_leave((face_object *)self);
  return status == CPB_OK ? PyBool_FromLong(done) : face_fail(status, &error);
}

static PyObject *piece_serialize(PyObject *self, PyObject *unused) {
  (void)unused;
  void *bytes;
  size_t count;
  cpb_error error;
  if (face_enter((face_object *)self) < 0) return NULL;
  cpb_status status = kind_of(self)->serialize(held(self), &bytes, &count, &error);
  face_leave((face_object *)self);
  if (status != CPB_OK) return face_fail(status, &error);
  PyObject *result = PyBytes_FromStringAndSize(bytes, (Py_ssize_t)count);
  cpb_free(bytes);
  return result;
}

static PyObject *piece_deserialize(PyObject *type, PyObject *const *args, Py_ssize_t nargs,
                                   PyObject *kwnames) {
  static const char *const names[] = {"bytes", "d", NULL};
  PyObject *values[2];
  Py_buffer buffer;
  size_t d = 0;
  if (face_arguments("deserialize", names, 2, args, nargs, kwnames, values) < 0 ||
      face_size(values[1], "d", &d) < 0 || PyObject_GetBuffer(values[0], &buffer, PyBUF_SIMPLE) < 0)
    return NULL;
  void *piece;
  cpb_error error;
  const piece_kind *kind = (const piece_kind *)face_kind_of((PyTypeObject *)type);
  cpb_status status = kind->deserialize(buffer.buf, (size_t)buffer.len, &piece, &error);
  PyBuffer_Release(&buffer);
  return status == CPB_OK ? face_hold((PyTypeObject *)type, piece, d, 0) : face_fail(status, &error);
}

static PyObject *text_of_model(cpb_model *model) {
  char *text;
  cpb_error error;
  cpb_status status = cpb_model_to_json(model, &text, &error);
  cpb_model_free(model);
  return status == CPB_OK ? face_given_text(text) : face_fail(status, &error);
}

static PyObject *piece_model(FACE_CALL) {
  static const char *const names[] = {"rows", "scores", NULL};
  PyObject *v[2];
  uint64_t rows = 0;
  size_t count = 0;
  double *scores = NULL;
  if (face_arguments("model", names, 1, args, nargs, kwnames, v) < 0 ||
      face_uint64(v[0], "rows", &rows) < 0 || face_doubles(v[1], "scores", &count, &scores) < 0)
    return NULL;
  cpb_model *model;
  cpb_error error;
  PyObject *result = NULL;
  if (face_enter((face_object *)self) == 0) {
    cpb_status status =
        kind_of(self)->model(held(self), rows, scores, scores != NULL ? count : 0, &model, &error);
    face_leave((face_object *)self);
    result = status == CPB_OK ? text_of_model(model) : face_fail(status, &error);
  }
  PyMem_Free(scores);
  return result;
}

static PyObject *covariance_finish(PyObject *self, PyObject *unused) {
  (void)unused;
  size_t d = ((face_object *)self)->d;
  face_out mean = {0}, matrix = {0};
  if (face_out_take(&mean, NULL, "mean", CPB_F64, 1, d, FACE_ONE_ROW) < 0 ||
      face_out_take(&matrix, NULL, "covariance", CPB_F64, d, d, FACE_ROWS) < 0) {
    face_out_drop(&mean);
    return NULL;
  }
  cpb_error error;
  cpb_status status = cpb_covariance_finish(held(self), mean.out.data, matrix.out.data, NULL, &error);
  if (status == CPB_OK) return Py_BuildValue("NN", face_out_done(&mean), face_out_done(&matrix));
  face_out_drop(&mean);
  face_out_drop(&matrix);
  return face_fail(status, &error);
}

#define PIECE_VERBS                                                                                          \
  {"merge", piece_merge, METH_O, "adds what another piece has gathered"},                                    \
      {"serialize", piece_serialize, METH_NOARGS, "the state as bytes"},                                     \
      FACE_CLASS("deserialize", piece_deserialize, "a piece of d columns from its bytes")
#define ROUND_VERBS                                                                                          \
  FACE_METHOD("update", piece_update, "takes rows with these ids into the present round"),                   \
      {"restart", piece_restart, METH_O, "an empty piece of the round that the whole is in"},                \
      {"solve", piece_solve, METH_NOARGS, "ends a round; whether it was the last"},                          \
      FACE_METHOD("model", piece_model, "the text of the model's file")

static PyMethodDef round_methods[] = {PIECE_VERBS, ROUND_VERBS, {NULL, NULL, 0, NULL}};
static PyMethodDef covariance_methods[] = {PIECE_VERBS,
                                           FACE_METHOD("update", piece_update, "takes rows in"),
                                           {"finish", covariance_finish, METH_NOARGS, "(mean, covariance)"},
                                           {NULL, NULL, 0, NULL}};

static piece_kind ball_rounds = {{.name = "BallRounds",
                                  .doc = "the smallest ball around rows in pieces, by rounds",
                                  .make = ball_rounds_new,
                                  .free_held = ball_free,
                                  .methods = round_methods},
                                 ball_update,
                                 ball_merge,
                                 ball_restart,
                                 ball_solve,
                                 ball_serialize,
                                 ball_deserialize,
                                 ball_model};
static piece_kind svdd_rounds = {{.name = "SvddRounds",
                                  .doc = "SVDD of rows in pieces, by rounds",
                                  .make = svdd_rounds_new,
                                  .free_held = svdd_free,
                                  .methods = round_methods},
                                 svdd_update,
                                 svdd_merge,
                                 svdd_restart,
                                 svdd_solve,
                                 svdd_serialize,
                                 svdd_deserialize,
                                 svdd_model};
static piece_kind covariances = {.face = {.name = "Covariance",
                                          .doc = "mean and covariance of rows in pieces",
                                          .make = covariance_new,
                                          .free_held = covariance_free,
                                          .methods = covariance_methods},
                                 .update = covariance_update,
                                 .merge = covariance_merge,
                                 .serialize = covariance_serialize,
                                 .deserialize = covariance_deserialize};

/* ---- what becomes of statistics */

/* statistics, s, goal, pole, target, k */
static PyObject *map_text(FACE_CALL) {
  static const char *const names[] = {"statistics", "s", "goal", "pole", "target", "k", "threads", NULL};
  PyObject *v[7];
  cpb_map_fit_options o;
  cpb_map_fit_options_init(&o, sizeof o);
  double *pole = NULL;
  face_run run;
  (void)self;
  if (face_arguments("map_from_statistics", names, 1, args, nargs, kwnames, v) < 0) return NULL;
  if (face_statistics_of(v[0], "statistics") == NULL) return NULL;
  face_object *statistics = (face_object *)v[0];
  size_t more = statistics->d + 1;
  if (face_double(v[1], "s", &o.s) < 0 || face_goal(v[2], &o.goal) < 0 ||
      face_double(v[4], "target", &o.target) < 0 || face_size(v[5], "k", &o.k) < 0 ||
      face_doubles(v[3], "pole", &more, &pole) < 0)
    return NULL;
  o.pole = pole;
  cpb_map *map = NULL;
  char *text = NULL;
  cpb_error error;
  cpb_status status = CPB_OK;
  if (face_run_begin(&run, v[6], NULL) == 0 && face_enter(statistics) == 0) {
    Py_BEGIN_ALLOW_THREADS;
    status = cpb_map_from_statistics(statistics->held, &o, &map, NULL, run.how, &error);
    if (status == CPB_OK) status = cpb_map_to_json(map, NULL, &text, &error);
    Py_END_ALLOW_THREADS;
    face_leave(statistics);
    face_run_end(&run);
  }
  PyMem_Free(pole);
  cpb_map_free(map);
  if (status != CPB_OK) return face_fail(status, &error);
  return text != NULL ? face_given_text(text) : NULL;
}

static int sketch_options(PyObject **v, cpb_sketch_fit_options *o, cpb_sketch_training *t) {
  if (face_sketch_training(v + 7, t) < 0 || face_size(v[1], "bits", &t->bits) < 0 ||
      face_double(v[2], "s", &o->s) < 0 || face_goal(v[3], &o->goal) < 0 ||
      face_uint64(v[4], "seed", &t->seed) < 0)
    return -1;
  if (v[5] != NULL && (o->map = face_map_of(v[5], "map")) == NULL) return -1;
  o->training = t;
  return 0;
}

static PyObject *sketch_text(FACE_CALL) {
  static const char *const names[] = {"statistics", "bits",  "s",    "goal",    "seed", "map",
                                      "threads",    "bytes", "form", "certain", NULL};
  PyObject *v[10];
  cpb_sketch_fit_options o;
  cpb_sketch_training training;
  cpb_sketch_fit_options_init(&o, sizeof o);
  cpb_sketch_training_init(&training, sizeof training);
  face_run run;
  (void)self;
  if (face_arguments("sketch_from_statistics", names, 1, args, nargs, kwnames, v) < 0 ||
      face_statistics_of(v[0], "statistics") == NULL || sketch_options(v, &o, &training) < 0 ||
      face_run_begin(&run, v[6], NULL) < 0)
    return NULL;
  face_object *statistics = (face_object *)v[0];
  if (face_enter(statistics) < 0) return face_run_end(&run), NULL;
  cpb_sketch *sketch = NULL;
  char *text = NULL;
  cpb_error error;
  cpb_status status;
  Py_BEGIN_ALLOW_THREADS;
  status = cpb_sketch_from_statistics(statistics->held, &o, &sketch, NULL, run.how, &error);
  if (status == CPB_OK) status = cpb_sketch_to_json(sketch, &text, &error);
  Py_END_ALLOW_THREADS;
  face_leave(statistics);
  face_run_end(&run);
  cpb_sketch_free(sketch);
  return status == CPB_OK ? face_given_text(text) : face_fail(status, &error);
}

/* ---- ids and hits */

static PyObject *rows_hash(PyObject *self, PyObject *object) {
  face_rows rows;
  face_out ids;
  (void)self;
  if (face_rows_take(&rows, object, "rows", 0) < 0) return NULL;
  cpb_status status = CPB_OK;
  cpb_error error;
  PyObject *result = NULL;
  if (face_out_take(&ids, NULL, "ids", CPB_I64, 1, rows.view.rows, FACE_ONE_ROW) == 0) {
    Py_BEGIN_ALLOW_THREADS;
    status = cpb_rows_hash(rows.view, ids.out.data, &error);
    Py_END_ALLOW_THREADS;
    result = status == CPB_OK ? face_out_done(&ids) : face_fail(status, &error);
    if (status != CPB_OK) face_out_drop(&ids);
  }
  face_rows_drop(&rows);
  return result;
}

static int numbers_of(PyObject *object, const char *name, const char *formats, Py_buffer *buffer) {
  if (PyObject_GetBuffer(object, buffer, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) < 0) return -1;
  const char *format = buffer->format != NULL ? buffer->format : "";
  if (buffer->ndim == 1 && buffer->itemsize == 8 && (uintptr_t)buffer->buf % 8 == 0 && format[0] != 0 &&
      format[1] == 0 && strchr(formats, format[0]) != NULL)
    return 0;
  PyBuffer_Release(buffer);
  PyErr_Format(PyExc_TypeError, "%s must be aligned numbers of 64 bits in one dimension", name);
  return -1;
}

/* The lists of a merge: list i in lims[i] .. lims[i+1] of the hits. */
typedef struct hit_lists {
  cpb_hit *hits, *best; /* total, and room for the result behind them */
  const cpb_hit **lists;
  size_t *counts, n;
} hit_lists;

static void lists_free(hit_lists *l) {
  PyMem_Free(l->hits);
  PyMem_Free(l->lists);
  PyMem_Free(l->counts);
}

static int lists_take(hit_lists *l, const int64_t *lims, const int64_t *ids, const double *values, size_t k) {
  size_t total = (size_t)lims[l->n];
  l->hits = face_hits_room(1, total + k + 1, SIZE_MAX);
  l->lists = PyMem_Calloc(l->n + 1, sizeof *l->lists);
  l->counts = PyMem_Calloc(l->n + 1, sizeof *l->counts);
  if (l->hits == NULL || l->lists == NULL || l->counts == NULL) return PyErr_NoMemory(), -1;
  l->best = l->hits + total;
  for (size_t i = 0; i < total; i++) l->hits[i] = (cpb_hit){(uint64_t)ids[i], values[i]};
  for (size_t i = 0; i < l->n; i++) {
    l->lists[i] = l->hits + lims[i];
    l->counts[i] = (size_t)(lims[i + 1] - lims[i]);
  }
  return 0;
}

static PyObject *merge_lists(hit_lists *l, cpb_metric metric, size_t k) {
  size_t found;
  cpb_error error;
  cpb_status status = cpb_hits_merge(l->lists, l->counts, l->n, metric, k, l->best, &found, &error);
  return status == CPB_OK ? face_hits_split(l->best, 1, found, NULL) : face_fail(status, &error);
}

static bool lims_fit(const int64_t *lims, size_t n, size_t total) {
  for (size_t i = 0; i < n; i++)
    if (lims[i + 1] < lims[i]) return false;
  return lims[0] == 0 && (size_t)lims[n] == total;
}

static PyObject *hits_merge(FACE_CALL) {
  static const char *const names[] = {"lims", "ids", "distances", "k", "metric", NULL};
  PyObject *v[5], *result = NULL;
  Py_buffer b[3];
  size_t k = 10;
  cpb_metric metric = CPB_L2;
  (void)self;
  if (face_arguments("hits_merge", names, 3, args, nargs, kwnames, v) < 0 || face_size(v[3], "k", &k) < 0 ||
      face_metric(v[4], &metric) < 0)
    return NULL;
  int taken = 0;
  while (taken < 3 && numbers_of(v[taken], names[taken], taken < 2 ? "lq" : "d", &b[taken]) == 0) taken++;
  if (taken == 3) {
    size_t n = (size_t)b[0].shape[0], total = (size_t)b[1].shape[0];
    if (n == 0 || total != (size_t)b[2].shape[0] || !lims_fit(b[0].buf, n - 1, total))
      PyErr_SetString(PyExc_ValueError, "lims, ids and distances do not fit together");
    else {
      hit_lists lists = {.n = n - 1};
      k = k < total ? k : total;
      if (lists_take(&lists, b[0].buf, b[1].buf, b[2].buf, k) == 0) result = merge_lists(&lists, metric, k);
      lists_free(&lists);
    }
  }
  while (taken-- > 0) PyBuffer_Release(&b[taken]);
  return result;
}

static PyMethodDef functions[] = {
    FACE_METHOD("map_from_statistics", map_text, "the text of a map file, from gathered statistics"),
    FACE_METHOD("sketch_from_statistics", sketch_text, "the text of a sketch file, from gathered statistics"),
    {"rows_hash", rows_hash, METH_O, "ids for rows that have none"},
    FACE_METHOD("hits_merge", hits_merge, "(distances, ids) of the k nearest of several lists, as one row"),
    {NULL, NULL, 0, NULL}};

int face_add_pieces(PyObject *module) {
  bool added = face_add_kind(module, &ball_rounds.face) == 0 &&
               face_add_kind(module, &svdd_rounds.face) == 0 && face_add_kind(module, &covariances.face) == 0;
  return added ? PyModule_AddFunctions(module, functions) : -1;
}
